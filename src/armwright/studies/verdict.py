# SPDX-License-Identifier: Apache-2.0
"""The verdict on an item, computed from the printed digits and the computed values. Only the reason is prose."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from armwright.studies.digits import match
from armwright.studies.item import Claim, Formula, Item, Numbers, Span

Kind = Literal["agrees", "agrees when corrected", "document in error", "cannot be determined", "not run", "failed"]
OWN_WAY = "the document's own way does not give it"


class Verdict(NamedTuple):
    """What an item comes out as.

    Attributes:
        kind: "agrees when corrected" is said of a print that is right though the document's own way contradicts it.
        reason: prose; empty for plain agreement.
        reproduced: whether the document's own way gives the print (None: no way).
        rule: what we chose in order to judge (`Item.rule`).
    """

    kind: Kind
    reason: str = ""
    reproduced: bool | None = None
    rule: str = ""

    @property
    def text(self) -> str:
        """As the table shows it."""
        plain = self.kind == "agrees"
        text = (
            (f"{self.kind} ({self.reason})" if plain else f"{self.kind}: {self.reason}") if self.reason else self.kind
        )
        return f"{text} [judged by: {self.rule}]" if self.rule else text


def judge(item: Item, as_published: Any, correct: Any) -> Verdict:
    """Compare what is printed with what was computed.

    Args:
        item: with its print.
        as_published: value computed the document's way, None if there is none.
        correct: the right value, None if there is none.
    """
    return _judge(item, as_published, correct)._replace(rule=item.rule)


def _judge(item: Item, as_published: Any, correct: Any) -> Verdict:
    printed = item.printed
    if isinstance(printed, Numbers):
        own = None if as_published is None else _digits(printed, as_published)
        reproduced = None if own is None else own != "no"
        if correct is None:
            return Verdict("cannot be determined", item.reason, reproduced)
        way = _digits(printed, correct)
        # digits that the document's own way rounds to were not cut off from another value
        if way == "no" or (way == "truncated" and own == "rounded"):
            return Verdict("document in error", item.reason, reproduced)
        return _right(item, reproduced, "last place cut off, not rounded" if way == "truncated" else "")
    if isinstance(printed, Claim | Span):
        holds = _covers if isinstance(printed, Span) else _same
        reproduced = None if as_published is None else holds(printed, as_published)
        if correct is None:
            return Verdict("cannot be determined", item.reason, reproduced)
        if not holds(printed, correct):
            return Verdict("document in error", item.reason, reproduced)
        return _right(item, reproduced)
    if isinstance(printed, Formula) and as_published is not None and correct is not None:
        x, y = np.asarray(as_published, dtype=np.float64), np.asarray(correct, dtype=np.float64)
        scale = float(np.max(np.abs(y), initial=1e-300))
        near = x.shape == y.shape and float(np.max(np.abs(x - y), initial=0.0)) <= printed.tolerance * scale
        return Verdict("agrees" if near else "document in error", "" if near else item.reason, None)
    return Verdict("cannot be determined", item.reason, None)


def _right(item: Item, reproduced: bool | None, how: str = "") -> Verdict:
    """The print is right; say so if the document's own way contradicts it."""
    if reproduced is False:
        return Verdict("agrees when corrected", item.reason or OWN_WAY, reproduced)
    return Verdict("agrees", how, reproduced)


def _digits(printed: Numbers, value: Any) -> str:
    return match(printed.numbers, value, up_to_sign=printed.up_to_sign)


def _same(printed: Any, value: Any) -> bool:
    return bool(printed.value == value)


def _covers(printed: Any, value: Any) -> bool:
    (low, high), (unit, _) = printed.numbers
    lowest, highest = value
    return bool(lowest <= low + 0.5 * unit and highest >= high - 0.5 * unit)
