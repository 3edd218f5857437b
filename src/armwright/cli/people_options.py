# SPDX-License-Identifier: Apache-2.0
"""``--people`` of ``run program``: limits of contact by body region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from armwright.cli.failures import fail
from armwright.cli.option_words import numbers

if TYPE_CHECKING:
    from armwright.programs.outcome import ProgramRun
    from armwright.programs.outcome.people_contact import PersonContact


@dataclass(frozen=True)
class PeopleOptions:
    """Whom the arm may meet, and what they may bear."""

    people: Annotated[
        list[str] | None,
        typer.Option(
            "--people",
            metavar="REGION=N[,N/CM2]",
            help="Quasi-static limits of a body region, from your copy of ISO/TS 15066: chest=…, hand=…; repeat it.",
        ),
    ] = None
    contact_area: Annotated[
        float | None, typer.Option("--contact-area", metavar="CM2", help="Of a contact, for limits of pressure.")
    ] = None

    def contacts(self, outcome: ProgramRun) -> tuple[PersonContact, ...] | None:
        """Return the worst contact of every move; None if nobody asked."""
        if self.people is None:
            return None
        from armwright.programs.outcome.people_contact import RegionLimit, people_contacts

        limits = []
        for word in self.people:
            region, sign, value = word.partition("=")
            values = numbers(value, f"--people {word!r}") if sign and value else ()
            if len(values) not in (1, 2):
                fail(f"--people {word}: expected REGION=FORCE in N, or REGION=FORCE,PRESSURE with N/cm²")
            limits.append(RegionLimit(region, *(float(x) for x in values)))
        return people_contacts(outcome, limits, self.contact_area)
