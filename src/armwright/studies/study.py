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
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Shown(NamedTuple):
    """A computed answer with the numbers behind it: "yes" alone tells a reader nothing.

    Attributes:
        value: what is judged. text: what is shown after it, "20.9 N against 13.4 N".
    """

    value: Any
    text: str


class Supposed(NamedTuple):
    """One way to read a print that leaves something open, and what comes out of it.

    Attributes:
        text: what is supposed: "settled means within 2 %".
        compute: the value under this supposition.
    """

    text: str
    compute: Compute


@dataclass(frozen=True)
class Item:
    """One printed statement.

    Attributes:
        id: "Q4a", in the document's numbering.
        title: what is asked.
        printed: what the document says.
        as_published: computes the document's own way, mistakes included; None where it prints no way.
        correct: computes the right value; None where there is none to be had. Both may return `Shown`.
        readings: in place of `correct` where the verdict turns on something that the document does not say. All are
            computed; if they disagree about the print, it cannot be determined.
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
    readings: tuple[Supposed, ...] = ()
    reason: str = ""
    faults: tuple[str, ...] = ()
    rule: str = ""
    notes: Callable[[], Sequence[str]] | None = None
    pictures: tuple[Picture, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a tolerance that was chosen without giving a rule, and readings that are no alternatives."""
        if self.readings and (self.correct is not None or len(self.readings) < 2):
            raise InputError(f"item {self.id}: readings are two or more, and stand in place of `correct`")
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
        about: a paragraph for a reader who has never seen the document: who built what, what came out, what the study
            adds.
        items: in the document's order.
        remarks: slips of the document that need no computation, and what we have to say beyond it.
        sources: what was used beyond the document's text.
    """

    id: str
    title: str
    document: str
    items: tuple[Item, ...]
    about: str = ""
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
