# SPDX-License-Identifier: Apache-2.0
"""How far an arm's numbers can be trusted: one class per quantity, and the width that goes with it.

`CLASSES` is the one table. Its widths are judgement, not measurement, with one exception: masses made from CAD of one
arm were found 28 % below its weight. A sheet says its classes in ``[provenance]``::

    [provenance]
    inertia = "maker-verified"
    effort = "identified"
    effort_width = { value = 0.06, unit = "-", source = "paper table 3" }   # its own sigma

What is "assumed" is shown, and used for no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from armwright.schema.quantities import scalar, take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from armwright.schema.toml_text import Source, Table

QUANTITIES = ("inertia", "effort", "speed", "rotor", "friction")


class Worth(NamedTuple):
    """A class of data: relative width (None: not used at all) and how a sentence names it."""

    width: float | None
    words: str


CLASSES: dict[str, Worth] = {
    "maker-verified": Worth(0.05, "of the maker, verified"),
    "maker": Worth(0.10, "of the maker"),
    "identified": Worth(0.10, "identified"),
    "published": Worth(0.15, "published"),
    "rounded": Worth(0.30, "of the maker, rounded"),
    "cad": Worth(0.30, "estimated from CAD"),
    "assumed": Worth(None, "assumed"),
}
LARGEST_WIDTH = 1.0  # a limit known to ± 100 % says nothing


@dataclass(frozen=True, slots=True)
class Provenance:
    """Class of one quantity, and its relative width; None where it is used for no verdict."""

    kind: str
    width: float | None

    @property
    def words(self) -> str:
        """Return how a sentence names it."""
        return CLASSES[self.kind].words


def read_provenance(tree: Table, sources: dict[str, Source]) -> dict[str, Provenance]:
    """Return what section ``[provenance]`` of a sheet says, by quantity; sources of widths go to `sources`."""
    table = tree.table("provenance")
    if table is None:
        return {}
    table.only(*QUANTITIES, *(f"{name}_width" for name in QUANTITIES))
    found = {}
    for name in QUANTITIES:
        q = take(table, f"{name}_width")
        if name not in table.entries:
            if q is not None:
                raise table.refuse(
                    f"{name}_width needs {name} = the class of the data", "required key", f"{name}_width"
                )
            continue
        kind = table.text_of(name)
        if kind not in CLASSES:
            raise table.refuse(f"unknown class {kind[:60]!r}; valid: {', '.join(CLASSES)}", "provenance", name)
        width = CLASSES[kind].width
        if q is not None:
            if width is None:
                raise q.refuse("what is assumed is not used, and has no width", "provenance")
            width = scalar(q, ("number",), minimum=0.0)
            if width >= LARGEST_WIDTH:
                raise q.refuse(f"a width is a share below {LARGEST_WIDTH:g}, got {width:g}", "range")
            if q.source is not None:
                sources[q.path] = q.source
        found[name] = Provenance(kind, width)
    return found


def provenance_words(known: Mapping[str, Provenance]) -> tuple[str, ...]:
    """Return one line per quantity, e.g. "inertia of the maker, verified, ± 5 %"."""
    return tuple(
        f"{name} {said.words}, {'used for no verdict' if said.width is None else f'± {100 * said.width:.3g} %'}"
        for name, said in known.items()
    )
