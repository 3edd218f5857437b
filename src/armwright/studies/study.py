# SPDX-License-Identifier: Apache-2.0
"""`Study`: a list of items; an item is one printed statement of a document with the computations that judge it.

What is printed is `Numbers`, a `Span`, a `Claim`, a `Formula`, or `Undetermined`. `MODULES` names the documents that
are executable: one module or package each, imported when asked for (`load_study`).
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.studies.printed_numbers import PrintedNumbers, read_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Compute = Callable[[], Any]
FORMULA_ROUNDING = 1e-9
"""Relative difference between two evaluations of the same formula that rounding explains."""


@dataclass(frozen=True)
class Numbers:
    """Printed numbers. `text` is what the document prints.

    Attributes:
        text: the print; its digits give the tolerance.
        unit: of measure, for people.
        up_to_sign: whether the negative vector is as good.
        reading: a resolution per number, in place of the last printed place: of a drawn curve, or of numbers that the
            print was computed from. A choice of ours, so the item says it in `rule`.
    """

    text: str
    unit: str = ""
    up_to_sign: bool = False
    reading: tuple[float, ...] | None = None

    @cached_property
    def numbers(self) -> PrintedNumbers:
        """Return the values and the size of their last places."""
        read = read_numbers(self.text)
        if self.reading is None:
            return read
        if len(self.reading) != read.values.size:
            raise InputError(
                f"{self.text!r} holds {read.values.size} numbers, {len(self.reading)} resolutions are given"
            )
        return PrintedNumbers(read.values, np.array(self.reading))


@dataclass(frozen=True)
class Span:
    """A printed range that something spreads over, "0.2–0.5".

    The lowest and the highest value that can occur are computed; they must reach both printed ends, to half a unit in
    the last printed place.
    """

    text: str
    unit: str = ""

    @cached_property
    def numbers(self) -> PrintedNumbers:
        """Return both ends and the size of their last places."""
        read = read_numbers(self.text)
        if read.values.size != 2 or read.values[0] > read.values[1]:
            raise InputError(f"{self.text!r} is no range: two numbers are wanted, the lower one first")
        return read


@dataclass(frozen=True)
class Claim:
    """A printed statement in words, and the value (yes/no, a word, a whole number) that it amounts to."""

    text: str
    value: bool | str | int = True
    unit: str = ""


@dataclass(frozen=True)
class Formula:
    """A printed formula or table: `as_published` evaluates it, and the verdict compares that with `correct`.

    Attributes:
        text: the formula.
        tolerance: of the comparison, relative to the largest entry: rounding only. Another one is a choice of ours, so
            the item says it in `rule`.
    """

    text: str
    unit: str = ""
    tolerance: float = FORMULA_ROUNDING


@dataclass(frozen=True)
class Undetermined:
    """Something printed that no computation can judge: a drawing without numbers, a time on another machine."""

    text: str
    unit: str = ""


Printed = Numbers | Span | Claim | Formula | Undetermined


@dataclass(frozen=True)
class Picture:
    """A figure of the report: a caption and a function that returns a matplotlib Figure."""

    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Item:
    """One printed statement.

    Attributes:
        id: "Q4a", in the document's numbering.
        title: what is asked.
        printed: what the document says.
        as_published: computes the document's own way, mistakes included; None where it prints no way.
        correct: computes the right value; None where there is none to be had.
        reason: prose for a verdict other than "agrees": why the print is wrong, or why it cannot be judged.
        faults: what is wrong in the document, in words that are the same wherever the same fault shows: items in error
            are many, faults are counted once.
        rule: how words became a test, wherever we chose something that is not printed (a threshold, a band, a
            stand-in), and why; shown with the verdict.
        notes: computes further lines for the report.
        pictures: figures of the report.
    """

    id: str
    title: str
    printed: Printed
    as_published: Compute | None = None
    correct: Compute | None = None
    reason: str = ""
    faults: tuple[str, ...] = ()
    rule: str = ""
    notes: Callable[[], Sequence[str]] | None = None
    pictures: tuple[Picture, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a tolerance that was chosen without giving a rule."""
        printed = self.printed
        read = isinstance(printed, Numbers) and printed.reading is not None
        wide = isinstance(printed, Formula) and printed.tolerance != FORMULA_ROUNDING
        if (read or wide) and not self.rule:
            raise InputError(f"item {self.id}: a chosen reading or tolerance needs a rule that says why")


@dataclass(frozen=True)
class Study:
    """A document made executable.

    Attributes:
        id: "003". title: for people. document: its bibliographic line.
        items: in the document's order.
        remarks: slips of the document that need no computation, and what we have to say beyond it.
        sources: what was used beyond the document's text.
    """

    id: str
    title: str
    document: str
    items: tuple[Item, ...]
    remarks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that ids are unique."""
        ids = [item.id for item in self.items]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise InputError(f"study {self.id}: item {', '.join(twice)} is there twice")

    def item(self, name: str) -> Item:
        """Return the item of this id."""
        for item in self.items:
            if item.id.lower() == name.lower():
                return item
        raise InputError(f"study {self.id} has no item {name!r}; it has {', '.join(i.id for i in self.items)}")


MODULES = {
    "003": "doc003_rob315",
    "002": "doc002_irb140",
    "000": "doc000_collision",
    "001": "doc001_erfd",
    "004": "doc004_force",
}
"""Document number → module of this package that holds ``STUDY``. Modules that are not there are not offered."""


def available() -> tuple[str, ...]:
    """Return the numbers of the documents that can be run."""
    return tuple(name for name, module in MODULES.items() if importlib.util.find_spec(f"{__package__}.{module}"))


def load_study(name: str) -> Study:
    """Return a study by its document number."""
    if name not in available():
        raise InputError(f"no study {name!r}; there are {', '.join(available())} (and 'all')")
    study = importlib.import_module(f"{__package__}.{MODULES[name]}").STUDY
    if not isinstance(study, Study) or study.id != name:
        raise InputError(f"studies.{MODULES[name]}: STUDY must be a Study with id {name!r}")
    return study
