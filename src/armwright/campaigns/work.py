# SPDX-License-Identifier: Apache-2.0
"""A chunk of items computed, in whatever process: an item that raises costs one marked row, not its neighbours."""

from __future__ import annotations

import contextlib
import faulthandler
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from armwright.campaigns.canary import DIFFERS, canary
from armwright.campaigns.chunk_file import Chunk, chunk_of
from armwright.campaigns.kind import Kind, Rows, find_kind
from armwright.campaigns.plan import Plan, plan_of
from armwright.campaigns.table import RAISED, good_rows, joined, marked_row
from armwright.errors import InputError, SimulationError

START = 120.0  # [s] in which a worker has to be ready: it may compile loops on a busy machine


class Prepared(NamedTuple):
    """What a kind prepared for all items, and a fingerprint of the arithmetic it was done with."""

    data: bytes
    canary: str


def prepared_here(plan: Plan) -> Prepared:
    """Prepare a campaign in this process, and start its kind once: what cannot start shall occupy no folder."""
    mark = canary()  # first: it needs the same packages as the rows
    kind = find_kind(plan.kind)
    data = kind.prepare(plan)
    kind.start(plan, data)
    return Prepared(data, mark)


class Worker:
    """A kind started for a plan; it keeps robots, kernels and loops from chunk to chunk."""

    def __init__(self, plan: Plan, prepared: bytes) -> None:
        """Start the kind."""
        self.plan: Plan = plan
        self.kind: Kind = find_kind(plan.kind)
        self._digest = plan.digest(self.kind.version)
        self._rows: Rows = self.kind.start(plan, prepared)

    def chunk(self, first: int, last: int) -> Chunk:
        """Return the rows of items first ≤ item < last as the content of their file."""
        return chunk_of(self.table(first, last), self._digest)

    def table(self, first: int, last: int) -> Any:
        """Return the rows of items first ≤ item < last."""
        try:
            return good_rows(self.kind, first, last, self._rows(first, last))
        except Exception as error:  # noqa: BLE001 — a user's kind may raise anything; the row says what
            if last - first == 1:
                return marked_row(self.kind, first, RAISED, f"{type(error).__name__}: {error}")
        middle = (first + last) // 2  # rows do not depend on the chunk, so the good ones come out the same
        return joined([self.table(first, middle), self.table(middle, last)])


def worker_of(plan: str, prepared: bytes, digest: str, expected: str) -> Worker:
    """Return a worker for a plan's text, if this machine has the same kind and, unless empty, the expected canary."""
    wanted = plan_of(plan)
    if wanted.digest(find_kind(wanted.kind).version) != digest:
        raise InputError(f"a worker has another version of kind {wanted.kind!r}; install the same package everywhere")
    if expected and canary() != expected:
        raise SimulationError(f"a worker's {DIFFERS}")
    return Worker(wanted, prepared)


@contextlib.contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """End this **process** if the block takes longer: code that hangs, compiled or not, listens to nothing else."""
    with open(os.devnull, "w") as quiet:
        faulthandler.dump_traceback_later(seconds, exit=True, file=quiet)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
