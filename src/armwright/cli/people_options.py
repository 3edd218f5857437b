# SPDX-License-Identifier: Apache-2.0
"""``--people`` of ``run program``: limits of contact by body region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from armwright.cli.failures import fail
from armwright.cli.option_words import numbers

if TYPE_CHECKING:
    from armwright.programs.outcome import ProgramRun
    from armwright.programs.outcome.body_limits import RegionLimit
    from armwright.programs.outcome.people_contact import PersonContact
    from armwright.programs.outcome.report_part import ReportPart


@dataclass(frozen=True)
class PeopleOptions:
    """Whom the arm may meet, and what they may bear."""

    people: Annotated[
        list[str] | None,
        typer.Option(
            "--people",
            metavar="REGION[=N[,N/CM2]]",
            help="Region of the body, or area, that the tool may meet: hand, palm, chest=100 (own limits); all.",
        ),
    ] = None
    contact_area: Annotated[
        float | None, typer.Option("--contact-area", metavar="CM2", help="Of a contact, for limits of pressure.")
    ] = None

    def met(self, outcome: ProgramRun) -> PeopleMet | None:
        """Return the worst contact of every move; None if nobody asked."""
        if self.people is None:
            return None
        from armwright.programs.outcome.people_contact import people_contacts

        limits = self.limits()
        return PeopleMet(people_contacts(outcome, limits, self.contact_area), limits, self.contact_area)

    def limits(self) -> tuple[RegionLimit, ...]:
        """Return the limits that were asked for; one that is named later replaces an earlier one of its region."""
        from armwright.programs.outcome.body_limits import limit_of_body, limits_of_body

        found: dict[tuple[str, str], RegionLimit] = {}
        for word in self.people or ():
            region, sign, value = word.partition("=")
            if region == "all" and not sign:
                many = limits_of_body()
            else:
                values = numbers(value, f"--people {word!r}") if value else ()
                if bool(sign) != bool(len(values)) or len(values) > 2:
                    fail(f"--people {word}: expected REGION, REGION=FORCE in N, or REGION=FORCE,PRESSURE with N/cm²")
                many = (limit_of_body(region, *(float(x) for x in values)),)
            area = region if region not in ("all", many[0].region) else ""
            found |= {(limit.region, area): limit for limit in many}
        return tuple(found.values())


class PeopleMet(NamedTuple):
    """Whom the tool meets in every move, by which limits, on which contact area [cm²]."""

    contacts: tuple[PersonContact, ...]
    limits: tuple[RegionLimit, ...]
    area: float | None

    @property
    def exceeded(self) -> bool:
        """Return whether a limit is exceeded."""
        return any(row.use > 1.0 for row in self.contacts)

    def words(self, outcome: ProgramRun) -> tuple[str, ...]:
        """Return what is to be said of it."""
        from armwright.programs.outcome.people_contact import people_words

        return people_words(outcome, *self)

    def figures(self, outcome: ProgramRun) -> dict[str, Any]:
        """Return it as plain numbers."""
        from armwright.programs.outcome.people_contact import people_figures

        return people_figures(outcome, *self)

    def part(self, outcome: ProgramRun) -> ReportPart:
        """Return a section of the report."""
        from armwright.programs.outcome.people_contact import PEOPLE_HEADS, people_cells
        from armwright.programs.outcome.report_part import ReportPart

        return ReportPart(
            "People beside the arm", self.words(outcome), PEOPLE_HEADS, people_cells(outcome, self.contacts)
        )
