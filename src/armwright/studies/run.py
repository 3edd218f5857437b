# SPDX-License-Identifier: Apache-2.0
"""Running a study: item after item, surviving failures and interruption."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

import numpy as np

from armwright.errors import ArmwrightError
from armwright.studies.digits import write_value
from armwright.studies.item import Item, Numbers, Span, Study
from armwright.studies.verdict import Verdict, judge


@dataclass(frozen=True, eq=False)
class Result:
    """What came of one item."""

    item: Item
    verdict: Verdict
    as_published: Any = None
    correct: Any = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def write(self, value: Any) -> str:
        """Write one of the values with digits that suit the print."""
        printed = self.item.printed
        unit = float(np.min(printed.numbers.units)) if isinstance(printed, Numbers | Span) else None
        return write_value(value, unit)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "item": self.item.id,
            "title": self.item.title,
            "printed": self.item.printed.text,
            "unit": self.item.printed.unit,
            "as_published": _plain(self.as_published),
            "correct": _plain(self.correct),
            "verdict": self.verdict.kind,
            "reason": self.verdict.reason,
            "reproduced": self.verdict.reproduced,
            "rule": self.verdict.rule,
            "faults": list(self.item.faults) if self.verdict.kind == "document in error" else [],
            "notes": list(self.notes),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a study. `interrupted` tells that items at the end were not run."""

    study: Study
    results: tuple[Result, ...]
    interrupted: bool = False

    @property
    def seconds(self) -> float:
        """Time of all items."""
        return sum(result.seconds for result in self.results)

    def counts(self) -> dict[str, int]:
        """Number of items of each kind of verdict."""
        kinds = [result.verdict.kind for result in self.results]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def faults(self) -> dict[str, tuple[str, ...]]:
        """Distinct faults of the document → the items that show them; an item that names none is its own fault."""
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
        notes = tuple(item.notes()) if item.notes is not None else ()
        verdict = judge(item, as_published, correct)
    except ArmwrightError as error:
        return Result(item, Verdict("failed", str(error)), seconds=time.perf_counter() - start)
    except Exception as error:  # noqa: BLE001 - one broken item must not take the others with it; exit code 1 tells
        return Result(item, Verdict("failed", f"{type(error).__name__}: {error}"), seconds=time.perf_counter() - start)
    return Result(item, verdict, as_published, correct, notes, time.perf_counter() - start)


def run_study(study: Study, only: Sequence[str] = (), tell: Callable[[Result], None] | None = None) -> Outcome:
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
    return Outcome(study, tuple(results), interrupted)


def choose(study: Study, only: Sequence[str]) -> tuple[Item, ...]:
    """Return the items that `only` names, in the document's order; all if it is empty."""
    if not only:
        return study.items
    wanted: set[str] = set()
    for name in only:
        family = [i.id for i in study.items if i.id.rstrip(ascii_lowercase).lower() == name.lower()]
        wanted.update(family or [study.item(name).id])
    return tuple(item for item in study.items if item.id in wanted)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value
