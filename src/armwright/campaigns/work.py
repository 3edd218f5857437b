# SPDX-License-Identifier: Apache-2.0
"""A chunk of items computed, in whatever process: an item that raises costs one marked row, not its neighbours."""

from __future__ import annotations

from typing import Any

from armwright.campaigns.kind import Kind, Rows, find_kind
from armwright.campaigns.plan import Plan, plan_of
from armwright.campaigns.table import RAISED, good_rows, joined, marked_row


class Worker:
    """A kind started for a plan; it keeps robots, kernels and loops from chunk to chunk."""

    def __init__(self, plan: Plan, prepared: bytes) -> None:
        """Start the kind."""
        self.plan: Plan = plan
        self.kind: Kind = find_kind(plan.kind)
        self._rows: Rows = self.kind.start(plan, prepared)

    def table(self, first: int, last: int) -> Any:
        """Return the rows of items first ≤ item < last."""
        try:
            return good_rows(self.kind, first, last, self._rows(first, last))
        except Exception as error:  # noqa: BLE001 — a user's kind may raise anything; the row says what
            if last - first == 1:
                return marked_row(self.kind, first, RAISED, f"{type(error).__name__}: {error}")
        middle = (first + last) // 2  # rows do not depend on the chunk, so the good ones come out the same
        return joined([self.table(first, middle), self.table(middle, last)])


def worker_of(plan: str, prepared: bytes) -> Worker:
    """Return a worker for a plan's text."""
    return Worker(plan_of(plan), prepared)
