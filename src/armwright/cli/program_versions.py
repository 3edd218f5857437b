# SPDX-License-Identifier: Apache-2.0
"""``armwright compare-programs``: what changed between two versions of a robot program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armwright.cli.failures import fail
from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import Json, out_option, robot_option
from armwright.cli.output import NEGATIVE, say, say_json
from armwright.cli.program_command import CycleOptions, Mounting, arm_told, run_options
from armwright.cli.program_reading import MOST_SHOWN, GcodeOptions

if TYPE_CHECKING:
    from armwright.programs.outcome.version_comparison import VersionComparison
    from armwright.robot.model import Robot


@arm_command(robot=Annotated[str, robot_option()])
def compare_programs(
    *,
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The old version of a robot program.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The new version.")],
    arm: Robot,
    reading: GcodeOptions,
    cycles: CycleOptions,
    mounting: Mounting,
    out: Annotated[Path | None, out_option("FILE.html", "Report, one page.")] = None,
    json: Json = False,
) -> None:
    """Compare two versions of a robot program on an arm: moves, time, torque use, path.

    Exit code 0 if neither moves nor path changed, 1 if they did.
    """
    from armwright.programs import read_program
    from armwright.programs.outcome import run_program
    from armwright.programs.outcome.version_comparison import (
        change_cells,
        compare_versions,
        version_figures,
        version_words,
    )

    if out is not None and (out.suffix.lower() not in (".html", ".htm") or not out.parent.is_dir()):
        fail(f"--out {out}: expected a name that ends in .html, in a folder that exists")
    options = run_options(arm, cycles, mounting)
    told = reading.said() | arm_told(arm, options)
    versions = [read_program(file, reading.language, **told) for file in (before, after)]
    for file, version in zip((before, after), versions, strict=True):
        if not any(move.kind != "wait" for move in version.moves):
            read = f": {version.reading.words}" if version.reading is not None and version.reading.reached else ""
            fail(f"{file}: no move of it is known{read}; nothing can be compared")
    runs = [run_program(arm, version, cycles.cycle, **options) for version in versions]
    found = compare_versions(*runs)
    if json:
        say_json({**version_figures(found), "files": [] if out is None else [str(out)]})
    else:
        for words in version_words(found):
            say(words)
        for cells in change_cells(found)[:MOST_SHOWN]:
            say(
                f"{cells[3]} ({cells[4]} s before, {cells[5]} s after){f': {cells[6]}' if cells[6] else ''}",
                lead=_lead(cells),
            )
        if len(found.changes) > MOST_SHOWN:
            say(f"… and {len(found.changes) - MOST_SHOWN} changes more (--json and the report have all of them)")
    if out is not None:
        _write_page(found, f"{before.name} and {after.name} on {arm.name}", out)
        if not json:
            say(f"wrote {out}")
    if not found.same:
        raise typer.Exit(NEGATIVE)


def _lead(cells: list[str]) -> str:
    """Return what happened to a move and in which lines."""
    kind, before, after = cells[:3]
    return f"{kind}, line {after if kind == 'added' else before if kind == 'removed' else f'{before} → {after}'}: "


def _write_page(found: VersionComparison, title: str, out: Path) -> None:
    from armwright.programs.outcome.version_comparison import CHANGE_HEADS, change_cells, version_words
    from armwright.recording.pictures.html_page import Page

    page = Page(title).section("What changed").listed(version_words(found))
    if found.changes:
        page.section("Moves").table(CHANGE_HEADS, change_cells(found))
    page.section("Before").paragraph(found.before.verdict).section("After").paragraph(found.after.verdict)
    page.write(out)
