# SPDX-License-Identifier: Apache-2.0
"""`run_study`: run the items of a study, judge each, and compare the verdicts with those on record.

Items run one after the other, surviving failures and interruption. `judge` computes the verdict from the printed digits
and the computed values; only the reason is prose. `recorded`, `changes` and `record` keep what every item is known to
come out as, so that a change is noticed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from armwright.errors import ArmwrightError
from armwright.files import write_file
from armwright.html_text import html_table
from armwright.studies.printed_numbers import match, write_value
from armwright.studies.study import Claim, Formula, Item, Numbers, Shown, Span, Study

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Kind = Literal["agrees", "agrees when corrected", "document in error", "cannot be determined", "not run", "failed"]
OWN_WAY = "the document's own way does not give it"


class Verdict(NamedTuple):
    """The verdict on an item.

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
        """Return the verdict as the table shows it."""
        plain = self.kind == "agrees"
        text = (
            (f"{self.kind} ({self.reason})" if plain else f"{self.kind}: {self.reason}") if self.reason else self.kind
        )
        return f"{text} [judged by: {self.rule}]" if self.rule else text


def judge(
    item: Item, as_published: ArrayLike | None, correct: ArrayLike | None, readings: Sequence[ArrayLike] = ()
) -> Verdict:
    """Compare what is printed with what was computed.

    Args:
        item: with its print.
        as_published: value computed the document's way, None if there is none.
        correct: the right value, None if there is none.
        readings: the values of `item.readings`: a print that they disagree about cannot be determined.
    """
    verdicts = [_judge(item, as_published, value) for value in readings] or [_judge(item, as_published, correct)]
    first = verdicts[0]
    if any(verdict.kind != first.kind for verdict in verdicts):
        first = Verdict("cannot be determined", item.reason, first.reproduced)
    return first._replace(rule=item.rule)


def _judge(item: Item, as_published: ArrayLike | None, correct: ArrayLike | None) -> Verdict:
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
    """Return that the print is right; say so if the document's own way contradicts it."""
    if reproduced is False:
        return Verdict("agrees when corrected", item.reason or OWN_WAY, reproduced)
    return Verdict("agrees", how, reproduced)


def _digits(printed: Numbers, value: ArrayLike) -> str:
    return match(printed.numbers, value, up_to_sign=printed.up_to_sign)


def _same(printed: Any, value: ArrayLike) -> bool:
    return bool(printed.value == value)


def _covers(printed: Any, value: Any) -> bool:
    (low, high), (unit, _) = printed.numbers
    lowest, highest = value
    return bool(lowest <= low + 0.5 * unit and highest >= high - 0.5 * unit)


@dataclass(frozen=True, eq=False)
class Result:
    """The result of one item."""

    item: Item
    verdict: Verdict
    as_published: ArrayLike | Shown | None = None
    correct: ArrayLike | Shown | None = None
    readings: tuple[ArrayLike | Shown, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def write(self, value: ArrayLike | Shown | None) -> str:
        """Write one of the values with digits that suit the print."""
        if isinstance(value, Shown):
            return f"{self.write(value.value)}: {value.text}"
        printed = self.item.printed
        unit = float(np.min(printed.numbers.units)) if isinstance(printed, Numbers | Span) else None
        return write_value(value, unit)

    def write_published(self) -> str:
        """Write the value of the document's own way."""
        return self.write(self.as_published)

    def write_correct(self) -> str:
        """Write the right value: of arrays the largest difference, of a print that can be read in ways, all of them."""
        if self.item.readings:
            ways = zip(self.item.readings, self.readings, strict=False)
            return "; ".join(f"{reading.text}: {self.write(value)}" for reading, value in ways) or "–"
        difference = largest_difference(self.as_published, self.correct)
        return difference if difference is not None else self.write(self.correct)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data, for JSON."""
        return {
            "item": self.item.id,
            "title": self.item.title,
            "printed": self.item.printed.text,
            "unit": self.item.printed.unit,
            "as_published": _plain(self.as_published),
            "correct": _plain(self.correct),
            "readings": {
                reading.text: _plain(value) for reading, value in zip(self.item.readings, self.readings, strict=False)
            },
            "verdict": self.verdict.kind,
            "reason": self.verdict.reason,
            "reproduced": self.verdict.reproduced,
            "rule": self.verdict.rule,
            "faults": list(self.item.faults) if self.verdict.kind == "document in error" else [],
            "notes": list(self.notes),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, eq=False)
class StudyOutcome:
    """The outcome of a study. `interrupted` tells that items at the end were not run."""

    study: Study
    results: tuple[Result, ...]
    interrupted: bool = False

    def __repr__(self) -> str:
        """Return one line: the document, and how its items came out."""
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts().items())
        return f"StudyOutcome({self.study.id}: {counts}{', interrupted' if self.interrupted else ''})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per item."""
        rows = [
            (r.item.id, r.item.title, f"{r.item.printed.text} {r.item.printed.unit}", r.write_correct(), r.verdict.kind)
            for r in self.results
        ]
        return html_table(repr(self), ("item", "subject", "printed", "recomputed", "verdict"), rows)

    @property
    def seconds(self) -> float:
        """Return the time of all items [s]."""
        return sum(result.seconds for result in self.results)

    def counts(self) -> dict[str, int]:
        """Return the number of items of each kind of verdict."""
        kinds = [result.verdict.kind for result in self.results]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def faults(self) -> dict[str, tuple[str, ...]]:
        """Return the document's distinct faults → items that show them; an item that names none is its own fault."""
        found: dict[str, tuple[str, ...]] = {}
        for result in self.results:
            if result.verdict.kind == "document in error":
                for fault in result.item.faults or (result.item.title,):
                    found[fault] = (*found.get(fault, ()), result.item.id)
        return found


def run_item(item: Item) -> Result:
    """Compute both values of an item and judge them; an error on the way becomes the verdict "failed"."""
    start = time.perf_counter()
    try:
        as_published = item.as_published() if item.as_published is not None else None
        correct = item.correct() if item.correct is not None else None
        readings = tuple(reading.compute() for reading in item.readings)
        notes = tuple(item.notes()) if item.notes is not None else ()
        verdict = judge(item, judged(as_published), judged(correct), [judged(reading) for reading in readings])
    except ArmwrightError as error:
        return Result(item, Verdict("failed", str(error)), seconds=time.perf_counter() - start)
    except Exception as error:  # noqa: BLE001 - one broken item must not take the others with it; exit code 1 tells
        return Result(item, Verdict("failed", f"{type(error).__name__}: {error}"), seconds=time.perf_counter() - start)
    return Result(item, verdict, as_published, correct, readings, notes, time.perf_counter() - start)


def run_study(study: Study, only: Sequence[str] = (), tell: Callable[[Result], None] | None = None) -> StudyOutcome:
    """Run all items, or those named; after Ctrl-C the rest is marked as not run.

    Args:
        study: the study.
        only: ids of items; a prefix up to the letter names all of a question ("Q8" for Q8a, Q8b, …).
        tell: called with every result.
    """
    items = choose(study, only)
    results: list[Result] = []
    interrupted = False
    for item in items:
        if not interrupted:
            try:
                results.append(run_item(item))
                if tell is not None:
                    tell(results[-1])
                continue
            except KeyboardInterrupt:
                interrupted = True
        results = results[: items.index(item)]
        results.append(Result(item, Verdict("not run", "interrupted")))
    return StudyOutcome(study, tuple(results), interrupted)


def choose(study: Study, only: Sequence[str]) -> tuple[Item, ...]:
    """Return the items that `only` names, in the document's order; all if it is empty."""
    if not only:
        return study.items
    wanted: set[str] = set()
    for name in only:
        family = [i.id for i in study.items if i.id.rstrip(ascii_lowercase).lower() == name.lower()]
        wanted.update(family or [study.item(name).id])
    return tuple(item for item in study.items if item.id in wanted)


def largest_difference(as_published: ArrayLike | Shown | None, correct: ArrayLike | Shown | None) -> str | None:
    """Say where two arrays of two or more axes differ most; None for anything else: a norm would tell nothing."""
    if not (isinstance(as_published, np.ndarray) and isinstance(correct, np.ndarray)):
        return None
    if correct.ndim < 2 or as_published.shape != correct.shape:
        return None
    x, y = np.asarray(as_published, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    place = np.unravel_index(int(np.argmax(np.abs(x - y))), y.shape)
    entry = ", ".join(str(k + 1) for k in place)
    values = f"{y[place]:.6g} for {x[place]:.6g}"
    return f"largest difference {abs(x[place] - y[place]):.3g}, entry ({entry}): {values}"


def judged(found: object) -> Any:  # what a computation may return is as wide as what it may be compared with
    """Return what is judged of a computed answer: itself, without the numbers that are shown with it."""
    return found.value if isinstance(found, Shown) else found


def _plain(value: object) -> object:
    if isinstance(value, Shown):
        return {"value": _plain(value.value), "shown": value.text}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value


class Change(NamedTuple):
    """An item whose verdict is not the recorded one ("" where none is recorded)."""

    item: str
    recorded: str
    now: str


def recorded(study: str) -> dict[str, str]:
    """Return item → recorded verdict of a study; empty if none was ever recorded."""
    file = resources.files("armwright.studies").joinpath("records", f"{study}.json")
    if not file.is_file():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    return {str(key): str(value) for key, value in found.items()}


def changes(outcome: StudyOutcome, known: Mapping[str, str] | None = None) -> list[Change]:
    """List the items that came out other than recorded; items that were not run do not count."""
    before = recorded(outcome.study.id) if known is None else known
    out = []
    for result in outcome.results:
        now = result.verdict.kind
        if now != "not run" and before.get(result.item.id, "") != now:
            out.append(Change(result.item.id, before.get(result.item.id, ""), now))
    return out


def record(outcome: StudyOutcome) -> Path:
    """Write the verdicts of a complete run into the package (for developers)."""
    if outcome.interrupted or len(outcome.results) != len(outcome.study.items):
        raise ArmwrightError(f"study {outcome.study.id}: only a complete run can be recorded")
    folder = Path(str(resources.files("armwright.studies"))) / "records"
    file = folder / f"{outcome.study.id}.json"
    text = json.dumps({result.item.id: result.verdict.kind for result in outcome.results}, indent=1) + "\n"
    write_file(file, text)
    return file
