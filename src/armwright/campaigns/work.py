# SPDX-License-Identifier: Apache-2.0
"""`Worker`: computes a chunk of items in any process; an item that raises costs one marked row, not its neighbours.

`canary` is a fingerprint of a machine's arithmetic and of what writes its files: where it differs, bytes may differ.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from armwright.campaigns.campaign_plan import CampaignPlan, plan_of
from armwright.campaigns.chunk_file import RAISED, Chunk, chunk_of, good_rows, joined, marked_row, writer
from armwright.campaigns.kind import Kind, Rows, kind_at, kind_of
from armwright.errors import InputError, SimulationError

CANARY_STATES = 33  # not a multiple of any number of lanes, so that the tail is computed as well
DIFFERS = (
    "arithmetic differs from that of the campaign's first rows, or its pyarrow does; files of both would not be "
    "reproducible: run on machines of one kind with the same packages, or allow it with --mixed"
)


@cache
def canary() -> str:
    """Return a fingerprint of compiled code (sines, divisions, lanes and tail), NumPy's linear algebra and pyarrow."""
    from armwright.dynamics import forward_dynamics  # imported here: a coordinator computes nothing itself
    from armwright.robot.load import load

    q, qd, tau = np.random.default_rng(1).uniform(-3.0, 3.0, (3, CANARY_STATES, 6))
    found = forward_dynamics(load("ur5"), q, qd, tau)
    product = q.T @ qd @ np.linalg.inv(tau.T @ tau)
    parts = (found.tobytes(), product.tobytes(), writer().encode())
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()


WORKER_START_SECONDS = 120.0  # [s] in which a worker has to be ready: it may compile loops on a busy machine


class PreparedWork(NamedTuple):
    """What a kind prepared for all items, and a fingerprint of the arithmetic it was done with."""

    data: bytes
    canary: str


def prepared_here(plan: CampaignPlan, kind: Kind) -> PreparedWork:
    """Prepare a campaign in this process, and start its kind once: what cannot start leaves no folder."""
    mark = canary()  # first: it needs the same packages as the rows
    data = kind.prepare(plan)
    kind.start(plan, data)
    return PreparedWork(data, mark)


class Worker:
    """A kind started for a plan; it keeps robots, kernels and loops from chunk to chunk."""

    def __init__(self, plan: CampaignPlan, prepared: bytes, kind: Kind | None = None) -> None:
        """Start the kind; the one that the plan names unless it is given."""
        self.plan: CampaignPlan = plan
        self.kind: Kind = kind_of(plan, kind)
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


def checked_worker(plan: CampaignPlan, kind: Kind, prepared: bytes, digest: str, expected: str) -> Worker:
    """Return a worker, if this machine has the same version of the kind and, unless empty, the expected canary."""
    if plan.digest(kind.version) != digest:
        raise InputError(f"a worker has another version of kind {plan.kind!r}; install the same package everywhere")
    if expected and canary() != expected:
        raise SimulationError(f"a worker's {DIFFERS}")
    return Worker(plan, prepared, kind)


def worker_of(plan: str, place: str, prepared: bytes, digest: str, expected: str) -> Worker:
    """Return a worker for a plan's text and the place of its kind (`armwright.campaigns.kind.place_of`)."""
    wanted = plan_of(plan)
    return checked_worker(wanted, kind_at(wanted.kind, place), prepared, digest, expected)


@contextlib.contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """End this **process** if the block takes longer: code that hangs, compiled or not, listens to nothing else."""
    with open(os.devnull, "w", encoding="utf-8") as quiet:
        faulthandler.dump_traceback_later(seconds, exit=True, file=quiet)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
