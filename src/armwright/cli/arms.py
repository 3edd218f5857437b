# SPDX-License-Identifier: Apache-2.0
"""Which arm: the words that every command about a robot takes, and what they load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from armwright.robot.model import Robot

WHICH = "Catalogue name, or path of a URDF, MJCF, xacro or TOML sheet."
RobotName = Annotated[str, typer.Argument(metavar="ROBOT", help=WHICH)]
Implausible = Annotated[
    str,
    typer.Option(
        metavar="refuse|warn", help="Bodies that no matter can form: refuse the arm, or warn and take it as written."
    ),
]
Base = Annotated[
    str | None, typer.Option(metavar="LINK", help="URDF, MJCF: the link to stand on; the root by default.")
]
Tip = Annotated[
    str | None,
    typer.Option(
        metavar="LINK", help="URDF, MJCF: the link that carries the tool; joints beside the chain are locked."
    ),
]


def load_options(implausible: str, base: str | None, tip: str | None) -> dict[str, Any]:
    """Return how `load` is to read an arm, without what it would do anyway."""
    given = {"implausible": None if implausible == "refuse" else implausible, "base": base, "tip": tip}
    return {name: value for name, value in given.items() if value is not None}


def load_arm(robot: str, implausible: str, base: str | None, tip: str | None) -> Robot:
    """Load the arm that the options name."""
    from armwright.robot.load import load

    return load(robot, **load_options(implausible, base, tip))
