# SPDX-License-Identifier: Apache-2.0
"""``armwright calibrate``: where an arm's joint axes really are, from a tracker's measurements or touches of points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from armwright.cli.failures import fail
from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import Json
from armwright.cli.output import say, say_json, table, tell
from armwright.files import read_regular, write_file

if TYPE_CHECKING:
    from armwright.cli.option_groups import NamedArm
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True)
class CalibrationOptions:
    """What the measurements are, and how far arms differ from their description."""

    measured_noise: Annotated[
        float | None,
        typer.Option(metavar="MM", help="Of a measured coordinate; from what is left by default.", min=0.0),
    ] = None
    unit: Annotated[Literal["m", "mm"], typer.Option(help="Of x, y and z in the table.")] = "m"
    tool_width: Annotated[
        float, typer.Option(metavar="MM", help="How well the measured point on the tool is known.", min=1e-3)
    ] = 0.5
    angles: Annotated[
        Literal["radians", "degrees"] | None, typer.Option(help="Of joint positions whose unit is not said.")
    ] = None
    leave_out: Annotated[
        int,
        typer.Option("--leave-out", metavar="K", help="Judge on every K-th row, left out; 0: none.", min=0),
    ] = 5
    corrected: Annotated[
        Path | None, typer.Option(metavar="FILE.urdf", help="ROBOT's own URDF with the displaced joints.")
    ] = None


@arm_command()
def calibrate(
    *,
    arm: Robot,
    measured: Annotated[Path, typer.Argument(metavar="TABLE", help="Joints with x, y, z, or with the touched point.")],
    asked: CalibrationOptions,
    named: NamedArm,
    json: Json = False,
) -> None:
    """Find where an arm's joint axes are: milliradians and millimetres, with intervals, into its own URDF."""
    import numpy as np

    from armwright.identify.tracker_table import read_tracker_table
    from armwright.kinematics.kinematic_calibration import CalibrationWidths
    from armwright.kinematics.kinematic_calibration import calibrate as find

    read = read_tracker_table(measured, arm, length_unit=asked.unit, degrees=asked.angles == "degrees")
    tell(f"armwright: {read.account}")
    noise = None if asked.measured_noise is None else 1e-3 * asked.measured_noise
    rows = np.arange(len(read.q))
    out = rows % asked.leave_out == asked.leave_out - 1 if asked.leave_out > 1 and read.touched is None else rows < 0
    places = None if read.measured is None else read.measured[~out]
    found = find(
        arm,
        read.q[~out],
        places,
        touched=read.touched,
        noise=noise,
        widths=CalibrationWidths(tool=1e-3 * asked.tool_width),
    )
    told = None
    if out.any() and read.measured is not None:
        goal = read.measured[out][:, :3, 3] if read.measured.ndim == 3 else read.measured[out]
        off, spread = found.place(read.q[out]) - goal, found.deviation_at(read.q[out])
        told = 1e3 * np.array([np.sqrt((x**2).sum(axis=1).mean()) for x in (off, np.hypot(spread, found.noise))])
    if asked.corrected is not None:
        _write(asked.corrected, named.word, found.displacements, arm)
    if json:
        say_json(
            {
                "rms_before": found.before,
                "rms_after": found.after,
                "noise": found.noise,
                "left_out": None if told is None else {"rms": 1e-3 * told[0], "predicted": 1e-3 * told[1]},
                "joints": [joint.name for joint in arm.joints],
                "displacements": found.displacements,
                "deviations": found.deviations,
                "base": found.base,
                "tool": found.tool,
                "points": found.points,
            }
        )
        return
    cells = [
        [f"{1e3 * x:.3f} ± {2e3 * s:.2g}" for x, s in zip(row, spread, strict=True)]
        for row, spread in zip(found.displacements, found.deviations, strict=True)
    ]
    head = ["joint", "x mm", "y mm", "z mm", "about x mrad", "about y mrad", "about z mrad"]
    table(
        f"{arm.name}: displacements of the joints' frames",
        head,
        [[j.name, *c] for j, c in zip(arm.joints, cells, strict=True)],
    )
    say(f"{1e3 * found.before:.3f} mm rms before, {1e3 * found.after:.3f} mm after; noise {1e3 * found.noise:.3f} mm")
    if told is not None:
        say(f"on {int(out.sum())} rows left out: {told[0]:.3f} mm rms, {told[1]:.3f} mm expected")


def _write(path: Path, robot_word: str, displacements: Array, arm: Robot) -> None:
    from armwright.robot.corrected_xml import displaced_urdf
    from armwright.schema.xml_text import MAX_BYTES

    source = Path(robot_word)
    if not source.is_file():
        fail(f"--corrected: {robot_word} is an arm of the catalogue; name a URDF file as ROBOT")
    text = read_regular(source, MAX_BYTES).decode("utf-8-sig")
    write_file(path, displaced_urdf(text, [joint.name for joint in arm.joints], displacements, str(source)))
