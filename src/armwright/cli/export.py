# SPDX-License-Identifier: Apache-2.0
"""``armwright export``: an arm's equations as source code, or the arm in another format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.arms import Base, Implausible, RobotName, Tip, load_arm
from armwright.cli.failures import fail
from armwright.cli.output import Json, as_json, say_json, say_source, tell, write_text

if TYPE_CHECKING:
    from armwright.robot.model import Robot

CODE = ("c", "numpy", "sympy", "latex", "matlab", "jax", "llvm")
FORMATS = ("urdf", "mjcf", "sheet", "dh", "mdh", "screws")
EQUATIONS = (
    "rnea",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "gravity_torque",
    "bias",
    "fk",
    "jacobian",
    "fk_jacobian",
)


def export(
    robot: RobotName,
    to: Annotated[str, typer.Option("--to", help=f"Code: {', '.join(CODE)}. Description: {', '.join(FORMATS)}.")],
    what: Annotated[str, typer.Option("--what", help=f"Which equations: {', '.join(EQUATIONS)}.")] = "rnea",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; standard output if omitted.")] = None,
    implausible: Implausible = "refuse",
    base: Base = None,
    tip: Tip = None,
    json: Json = False,
) -> None:
    """Write an arm's equations as code, or the arm itself in another format."""
    if to not in CODE + FORMATS:
        fail(f"--to {to}: choose from {', '.join(CODE + FORMATS)}")
    if what not in EQUATIONS:
        fail(f"--what {what}: choose from {', '.join(EQUATIONS)}")
    arm = load_arm(robot, implausible, base, tip)
    answer: dict[str, Any] = {"robot": arm.name, "to": to}
    if to in FORMATS:
        text = described(arm, to)
    else:
        from armwright.robot.kernels import kernel

        function, regroup = equations(what)
        compiled = kernel(arm, function, regroup=regroup)
        text = compiled.source(to)
        answer |= {"what": what, "operations": compiled.counts._asdict()}
    if out is not None:
        write_text(out, text)
        answer["file"] = str(out)
    else:
        answer["text"] = text
    if json:
        say_json(answer)
    elif out is None:
        say_source(text)
    else:
        tell(f"wrote {out} ({len(text.splitlines())} lines)")


def equations(what: str) -> tuple[Callable[..., Any], bool]:
    """Return the algorithm behind a name of `EQUATIONS` and whether its inertias may be regrouped."""
    from armwright.dynamics.crba import crba, crba_forward
    from armwright.dynamics.lagrange import coriolis_matrix
    from armwright.dynamics.newton_euler import bias, gravity_torque, rnea
    from armwright.kinematics.forward import tool_pose
    from armwright.kinematics.jacobian import frame_jacobian, pose_jacobian

    table: dict[str, tuple[Callable[..., Any], bool]] = {
        "rnea": (rnea, True),
        "forward_dynamics": (crba_forward, True),
        "mass_matrix": (crba, True),
        "coriolis_matrix": (coriolis_matrix, True),
        "gravity_torque": (gravity_torque, True),
        "bias": (bias, True),
        "fk": (tool_pose, False),
        "jacobian": (frame_jacobian, False),
        "fk_jacobian": (pose_jacobian, False),
    }
    return table[what]


def described(robot: Robot, to: str) -> str:
    """Write the arm as URDF, MJCF or TOML sheet, or its DH/MDH/screw parameters as JSON."""
    result = getattr(robot, f"to_{to}")()
    return result if isinstance(result, str) else as_json(fields(result))


def fields(value: Any) -> Any:
    """Turn dataclasses and named tuples into dictionaries."""
    import dataclasses

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: fields(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return {name: fields(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {name: fields(item) for name, item in value.items()}
    return [fields(item) for item in value] if isinstance(value, list | tuple) else value
