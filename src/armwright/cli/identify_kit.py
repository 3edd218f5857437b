# SPDX-License-Identifier: Apache-2.0
"""What ``identify`` does beside a fit: the page, the arm's own description corrected, friction followed over days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.cli.failures import fail
from armwright.cli.log_options import LogReading, read_told
from armwright.cli.output import say_json, table
from armwright.files import write_file

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.identify.validation import Held
    from armwright.robot.model import Robot


def updated_arm(words: dict[str, Any]) -> Robot | None:
    """With --update the model is the arm, and the word in ROBOT's place is the first log."""
    if words["update"] is None:
        return None
    from armwright.identify.model_file import load_model

    words["logs"] = [Path(words["robot"]), *(words["logs"] or [])]
    return load_model(words["update"]).robot


def follow_friction(
    path: Path, logs: list[Path], out: Path | None, sheet: Path | None, reading: LogReading, *, json: bool
) -> None:
    """Follow a model's friction to new logs, one after the other, and tell what changed."""
    from armwright.identify.friction_update import UPDATE_HEADS, update_friction
    from armwright.identify.model_file import load_model, save_model

    model, found = load_model(path), []
    for name in logs:
        found.append(update_friction(model, read_told(name, reading, model.robot)))
        model = found[-1].model
    if out is not None:
        save_model(model, out)
    if sheet is not None:
        write_file(sheet, model.robot.to_sheet())
    if json:
        say_json({"updated": [one.as_plain() for one in found]})
        return
    for one in found:
        table(f"{one.log}: friction followed, N m s and N m", list(UPDATE_HEADS), one.rows())


def write_kit(
    model: Identified,
    logs: list[Log],
    report: Path | None,
    corrected: Path | None,
    robot_word: str,
    carried: list[PayloadEstimate | None] | None,
    held: tuple[Held, ...],
) -> None:
    """Write the page, and the arm's own description with what was identified."""
    if corrected is not None:
        from armwright.files import read_regular
        from armwright.identify.plain_friction import corrected_robot, plain_friction
        from armwright.robot.corrected_xml import corrected_xml
        from armwright.schema.xml_text import MAX_BYTES

        source = Path(robot_word)
        if not source.is_file():
            fail(f"--corrected: {robot_word} is an arm of the catalogue; name a URDF or MJCF file as ROBOT")
        text = read_regular(source, MAX_BYTES).decode("utf-8-sig")
        write_file(corrected, corrected_xml(text, corrected_robot(model, plain_friction(model, logs)), str(source)))
    if report is not None and report.suffix.lower() in (".html", ".htm"):
        from armwright.identify.kit_report import kit_report

        kit_report(model, logs, report, payloads=carried, held=held)
