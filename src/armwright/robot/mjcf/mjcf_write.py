# SPDX-License-Identifier: Apache-2.0
"""Write a `Robot` as MJCF for MuJoCo: same frames, masses, rotor inertia, friction and gravity.

What MuJoCo cannot hold is refused (massless moving bodies, inertias that break its triangle rule) or, where only a part
is lost, said in a warning (coupled gears, friction dead zones, mimic joints as soft constraints).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.errors import NotSupportedError, tell_user
from armwright.robot.link_frames import motion
from armwright.robot.model import Robot
from armwright.robot.parts import Body, Limits
from armwright.robot.urdf.urdf_write import leaders, numbers, quoted, unique
from armwright.spatial.quaternions import wxyz_from_rotation

if TYPE_CHECKING:
    from armwright.types import Array

SMALLEST_MASS = 1e-15  # MuJoCo's mjMINVAL: lighter moving bodies are refused by its compiler
PADDING = 1e-14  # kg, kg m²: just above it, and far below what float64 resolves in the mass matrix of an arm
_OPEN_RANGE = 1e9


def write_mjcf(robot: Robot, *, massless: Literal["refuse", "pad"] = "refuse") -> str:
    """Return the robot as an MJCF document.

    The world frame is the robot's base frame; the tool is the site "tool", named frames are sites, too; every joint has
    a motor that applies its torque one to one. Joints and bodies keep their names.

    Args:
        robot: the arm.
        massless: MuJoCo has no massless moving bodies: "refuse" them, or "pad" mass and moments of inertia to 1e-14.

    Raises:
        NotSupportedError: for bodies that MuJoCo's compiler refuses; the message says which and why.
    """
    first = leaders(robot)
    children: dict[int, list[int]] = {}
    for i, body in enumerate(robot.bodies):
        _check_inertia(body, massless)
        children.setdefault(body.parent, []).append(i)
    _warn_losses(robot, first)
    taken = {joint.name for joint in robot.joints}
    names = {
        i: robot.joints[body.joint].name if first[body.joint] == i else unique(f"{body.name}_joint", taken)
        for i, body in enumerate(robot.bodies)
    }
    lines = [
        f"<mujoco model={quoted(robot.name)}>",
        '  <compiler angle="radian" autolimits="true" inertiafromgeom="false"/>',
        f'  <option gravity="{numbers(robot.gravity)}"/>',
        "  <worldbody>",
    ]
    # Depth first without recursion: a number opens a body, a text closes one.
    sites = _sites(robot)
    lines += [f"    {site}" for site in sites.get(-1, [])]
    stack: list[int | str] = [*children.get(-1, [])[::-1]]
    depth = 2
    if len(stack) > 1:  # several arms on one base are one machine, which readers know by its one body in the world
        lines.append(f"    <body name={quoted(unique('root', {body.name for body in robot.bodies}))}>")
        stack.insert(0, "</body>")
        depth = 3
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            depth -= 1
            lines.append("  " * depth + item)
            continue
        pad = "  " * depth
        opening, *content = _body(robot, item, names[item], first[robot.bodies[item].joint] == item)
        lines += [pad + opening, *(f"{pad}  {line}" for line in content)]
        lines += [f"{pad}  {site}" for site in sites.get(item, [])]
        depth += 1
        stack += ["</body>", *children.get(item, [])[::-1]]
    lines.append("  </worldbody>")
    lines += _equalities(robot, names, first) + _motors(robot)
    return "\n".join([*lines, "</mujoco>", ""])


def _sites(robot: Robot) -> dict[int, list[str]]:
    """Return the tool and the named frames, by the body that carries them."""
    places = [(frame.name, frame.parent, frame.T_parent_frame) for frame in robot.frames]
    if "tool" not in (name for name, _, _ in places):
        places.insert(0, ("tool", robot.tip, robot.T_tip_tool))
    sites: dict[int, list[str]] = {}
    for name, body, T in places:
        pose = _pose(robot.T_base_root @ T if body < 0 else T)
        sites.setdefault(body, []).append(f"<site name={quoted(name)} {pose}/>")
    return sites


def pose_words(T: Array) -> dict[str, str]:
    """Return a pose as attributes."""
    return {"pos": numbers(T[:3, 3]), "quat": numbers(wxyz_from_rotation(T[:3, :3]))}


def _pose(T: Array) -> str:
    return " ".join(f'{key}="{value}"' for key, value in pose_words(T).items())


def _principal(inertia: Array) -> tuple[Array, Array]:
    """Principal moments and a right-handed rotation to their axes."""
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    return moments, axes


def _check_inertia(body: Body, massless: str) -> None:
    moments, _ = _principal(body.inertia)
    if massless != "pad" and (body.mass < SMALLEST_MASS or moments[0] < SMALLEST_MASS):
        raise NotSupportedError(
            f"body {body.name!r}: mass {body.mass:g} kg, smallest principal inertia {moments[0]:g} "
            f"kg m²; MuJoCo needs more than {SMALLEST_MASS:g} of both for every moving body "
            '(massless="pad" writes 1e-14)'
        )
    if moments[0] + moments[1] < moments[2] - SMALLEST_MASS - PADDING * (massless == "pad"):
        raise NotSupportedError(
            f"body {body.name!r}: principal inertias {moments.tolist()} break the triangle "
            "inequality, which MuJoCo insists on"
        )


def _body(robot: Robot, i: int, joint_name: str, leads: bool) -> list[str]:
    body, joint = robot.bodies[i], robot.joints[robot.bodies[i].joint]
    T = robot.T_base_root @ body.T_parent_joint if body.parent < 0 else body.T_parent_joint
    axis = body.axis
    if leads:
        axis, T = body.ratio * axis, T @ motion(joint.kind, body.axis, body.offset)
    T = T @ body.T_joint_link
    # MuJoCo states the joint in the moved body's own frame.
    R, p = body.T_joint_link[:3, :3], body.T_joint_link[:3, 3]
    opening = f"<body name={quoted(body.name)} {_pose(T)}>"
    moments, axes = _principal(body.inertia)
    moments = np.maximum(moments, PADDING)  # reached only where `write_mjcf` was asked to
    inertial = (
        f'<inertial mass="{numbers(max(body.mass, PADDING))}" pos="{numbers(body.com)}" '
        f'quat="{numbers(wxyz_from_rotation(axes))}" diaginertia="{numbers(moments)}"/>'
    )
    kind = "hinge" if joint.kind == "revolute" else "slide"
    line = f'<joint name={quoted(joint_name)} type="{kind}" axis="{numbers(R.T @ axis)}" pos="{numbers(-R.T @ p)}"'
    if leads:
        j = body.joint
        line += (
            f' armature="{numbers(robot.tree.armature[j, j])}" damping="{numbers(robot.tree.viscous[j, j])}"'
            f' frictionloss="{numbers(joint.friction.coulomb)}"{_range(joint.limits)}'
        )
    return [opening, inertial, line + "/>"]


def _range(limits: Limits) -> str:
    if limits.lower == -np.inf and limits.upper == np.inf:
        return ""
    if limits.lower == limits.upper:
        raise NotSupportedError(f"limits: lower and upper are both {limits.lower:g}; MuJoCo needs lower < upper")
    return f' range="{numbers(np.clip([limits.lower, limits.upper], -_OPEN_RANGE, _OPEN_RANGE))}"'


def _equalities(robot: Robot, names: dict[int, str], first: dict[int, int]) -> list[str]:
    rows = [
        f"    <joint joint1={quoted(names[i])} joint2={quoted(names[first[body.joint]])} "
        f'polycoef="{numbers([body.offset, body.ratio, 0, 0, 0])}"/>'
        for i, body in enumerate(robot.bodies)
        if first[body.joint] != i
    ]
    return ["  <equality>", *rows, "  </equality>"] if rows else []


def _motors(robot: Robot) -> list[str]:
    rows = []
    for joint in robot.joints:
        effort = joint.limits.effort
        span = f' forcerange="{numbers([-effort, effort])}"' if 0.0 < effort < np.inf else ""
        rows.append(f"    <motor name={quoted(joint.name)} joint={quoted(joint.name)}{span}/>")
    return ["  <actuator>", *rows, "  </actuator>"] if rows else []


def _warn_losses(robot: Robot, first: dict[int, int]) -> None:
    def off_diagonal(A: Array) -> bool:
        return bool(np.abs(A - np.diag(np.diag(A))).max(initial=0.0) > 0.0)

    losses = []
    if off_diagonal(robot.tree.armature):
        losses.append("rotor inertia that couples joints (only its diagonal is written as armature)")
    if off_diagonal(robot.tree.viscous):
        losses.append("motor friction that couples joints (only its diagonal is written as damping)")
    if any(joint.friction.dead_zone > 0.0 for joint in robot.joints):
        losses.append("the dead zone of Coulomb friction")
    if np.count_nonzero(robot.actuators.load_friction):
        losses.append("load-dependent friction")
    if len(first) < len(robot.bodies):
        losses.append("mimic joints as exact relations (written as soft equality constraints, one more joint each)")
    for loss in losses:
        tell_user(f"robot {robot.name!r}: MJCF cannot hold {loss}")
