# SPDX-License-Identifier: Apache-2.0
"""``armwright tour``: the library in one minute, on one arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import Json, duration_option, out_option
from armwright.cli.output import NEGATIVE, say, say_json, table

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

START = {"ur5": (-1.1, 0.6, 1.2, 1.9, -1.4, -0.1)}  # a lively fall that rounding does not turn into another one


@arm_command(default="ur5")
def tour(
    arm: Robot,
    out: Annotated[Path, out_option("FOLDER", "For the picture.")] = Path("out"),
    duration: Annotated[float, duration_option("Of the fall.", least=0.01, most=120.0)] = 10.0,
    json: Json = False,
) -> None:
    """Load an arm, show its sheet, its pose, that all formulations agree, and let it fall without losing energy."""
    import numpy as np

    from armwright.cli import compare, describe
    from armwright.cli import free_fall as falling
    from armwright.dynamics.compare_methods import compare as compare_all
    from armwright.dynamics.compare_methods import worst_disagreement
    from armwright.kinematics.forward import fk

    out.mkdir(parents=True, exist_ok=True)
    if not json:
        say(lead="1. The arm describes itself")
        describe.print_sheet(arm)
        say(lead="2. Forward kinematics")
    q = start_of(arm)
    T = fk(arm, q)
    if not json:
        table(
            f"T_base_tool at q = ({', '.join(f'{x:g}' for x in q)})",
            ["x", "y", "z", "origin [m]"],
            [[f"{x:.5f}" for x in row] for row in T],
            left=0,
        )
        say(lead="3. One arm, every formulation")
    rows = compare_all(arm, 20, naive=False)
    worst = worst_disagreement(rows)
    if not json:
        compare.print_rows(arm.name, rows)
        say(f"worst disagreement {worst:.1e}, relative")
        say()
        say(lead=f"4. A free fall of {duration:g} s, motors and friction off")
    record = falling.fall(arm, q, duration)
    picture = out / "free_fall.png"
    falling.plot(arm, record, picture)
    agree = worst <= compare.AGREEMENT_TOLERANCE
    if json:
        say_json(
            {
                "robot": arm.name,
                "q": q,
                "T_base_tool": T,
                "worst_disagreement": worst,
                "agree": agree,
                "seconds": duration,
                "energy_drift": falling.drift(record),
                "picture": str(picture),
            }
        )
    else:
        fastest = float(np.abs(record["qd"]).max())
        peak = record["kinetic"].max()
        say(
            f"energy drift {falling.drift(record):.1e} of the kinetic peak of {peak:.1f} J over {duration:g} s "
            f"(RK4, 1 ms; the fastest joint reached {fastest:.0f} rad/s)"
        )
        say(f"picture: {picture}")
    if not agree:
        raise typer.Exit(NEGATIVE)


def start_of(robot: Robot) -> Array:
    """A position from which the arm can fall: a known one, or a tenth of a turn in every joint."""
    import numpy as np

    known = START.get(robot.name)
    middle = np.full(robot.n, 0.6)
    return np.array(known) if known and len(known) == robot.n else np.clip(middle, robot.lower, robot.upper)
