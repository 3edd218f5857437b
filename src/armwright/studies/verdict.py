"""The verdict on an item, computed from the printed digits and the computed values. Only the reason is prose."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from armwright.studies.digits import match
from armwright.studies.item import Claim, Formula, Item, Numbers

Kind = Literal["agrees", "document in error", "cannot be determined", "not run", "failed"]


class Verdict(NamedTuple):
    """Kind, reason (empty for plain agreement), and whether the document's own way gives the print (None: no way)."""

    kind: Kind
    reason: str = ""
    reproduced: bool | None = None

    @property
    def text(self) -> str:
        """As the table shows it."""
        return (
            f"{self.kind}: {self.reason}"
            if self.reason and self.kind != "agrees"
            else (f"{self.kind} ({self.reason})" if self.reason else self.kind)
        )


def judge(item: Item, as_published: Any, correct: Any) -> Verdict:
    """Compare what is printed with what was computed.

    Args:
        item: with its print.
        as_published: value computed the document's way, None if there is none.
        correct: the right value, None if there is none.
    """
    printed = item.printed
    if isinstance(printed, Numbers):
        reproduced = None if as_published is None else _digits(printed, as_published) != "no"
        if correct is None:
            return Verdict("cannot be determined", item.reason, reproduced)
        way = _digits(printed, correct)
        if way == "no":
            return Verdict("document in error", item.reason, reproduced)
        return Verdict("agrees", "last place cut off, not rounded" if way == "truncated" else "", reproduced)
    if isinstance(printed, Claim):
        reproduced = None if as_published is None else _same(printed.value, as_published)
        if correct is None:
            return Verdict("cannot be determined", item.reason, reproduced)
        right = _same(printed.value, correct)
        return Verdict("agrees" if right else "document in error", "" if right else item.reason, reproduced)
    if isinstance(printed, Formula) and as_published is not None and correct is not None:
        x, y = np.asarray(as_published, dtype=np.float64), np.asarray(correct, dtype=np.float64)
        scale = float(np.max(np.abs(y), initial=1e-300))
        near = x.shape == y.shape and float(np.max(np.abs(x - y), initial=0.0)) <= printed.tolerance * scale
        return Verdict("agrees" if near else "document in error", "" if near else item.reason, None)
    return Verdict("cannot be determined", item.reason, None)


def _digits(printed: Numbers, value: Any) -> str:
    return match(printed.numbers, value, up_to_sign=printed.up_to_sign)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b)
