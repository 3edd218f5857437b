# SPDX-License-Identifier: Apache-2.0
"""``armwright identify --wire``: dry run, consent, excitation, fit, rehearsal of bands with an arm on the wire.

Not a safety function.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armwright.cli.failures import fail
from armwright.cli.option_words import Seed
from armwright.cli.output import NEGATIVE, say, tell
from armwright.cli.wire_driving import (
    DRY_RUN_PAGE,
    WireWatched,
    consented,
    fence_of,
    held_by,
    ready_to_ask,
    wire_address,
)

if TYPE_CHECKING:
    from armwright.identify.identified import Identified
    from armwright.live.wire_identifying import IdentifyJob, IdentifyOutcome
    from armwright.robot.model import Robot


RIDES = "-rides"  # behind the model's name: the folder of what was recorded for it


@dataclass(frozen=True)
class WireIdentifying(WireWatched):
    """Options of an identification of an arm on the wire."""

    tool_speed: Annotated[float, typer.Option(metavar="M/S", help="With --wire: of the tool, 0.1 at most.")] = 0.1
    span: Annotated[
        float,
        typer.Option(metavar="RAD", help="With --wire: most that a joint leaves where it stands, to either side."),
    ] = 0.6
    period: Annotated[
        float, typer.Option(metavar="SECONDS", min=5.0, help="With --wire: of the motion that is looked for.")
    ] = 25.0
    unfelt: Annotated[
        bool, typer.Option("--unfelt", help="With --wire: feel nothing until the model is found; it is confirmed.")
    ] = False
    seed: Seed = 0


def identify_there(arm: Robot, asked: WireIdentifying, out: Path | None) -> tuple[Identified, IdentifyOutcome] | None:
    """Show the dry run, ask, excite, fit, rehearse; None after a dry run."""
    from armwright.live.wire_dry_run import dry_run_page
    from armwright.live.wire_identifying import IdentifyCare, identify_job

    assert asked.wire is not None
    ready_to_ask(asked, out, "FILE.json for the model, page, recordings")
    care = IdentifyCare(
        fence_of(asked.fence),
        asked.tool_speed,
        asked.force,
        asked.span,
        asked.period,
        asked.rehearse,
        felt=not asked.unfelt,
    )
    tell("armwright: looking for a motion; nothing moves")
    job = identify_job(wire_address(asked.wire), arm, care=care, seed=asked.seed)
    folder = None if out is None else out.with_name(out.stem + RIDES)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        page = dry_run_page(job.dry_run, arm, folder / DRY_RUN_PAGE, job.sentences())
        tell(f"armwright: {page} plays where the arm may go; nothing has moved")
    if asked.dry_run:
        say(f"dry run: {job.dry_run.sentence()}")
        return None
    return _moved(job, asked, folder)


def _moved(job: IdentifyJob, asked: WireIdentifying, folder: Path | None) -> tuple[Identified, IdentifyOutcome]:
    from armwright.live.wire_identifying import identify_wire

    host = job.address.host
    given = consented(asked, host, job.sentences())
    held = held_by(asked, host)
    if held is not None:
        tell(f"armwright: hold {held.name} now, and for as long as the arm moves; letting go ends the job")
    kept = "" if folder is None else f"; what was recorded is in {folder}"
    try:
        with held or nullcontext():
            found = identify_wire(job, given, held=held, out=folder, tell=lambda text: tell(f"armwright: {text}"))
    except KeyboardInterrupt:
        tell(f"armwright: interrupted: the arm was brought to rest{kept}")
        raise
    if found.model is None:
        fail(f"{found.outcome}: {found.message}{kept}", NEGATIVE, kind="NotIdentified")
    return found.model, found
