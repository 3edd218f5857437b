# SPDX-License-Identifier: Apache-2.0
"""Arms and surroundings as pages read them: plain data for JSON, SI, base frame, poses as 16 numbers by rows.

The page's own forward kinematics (`page/kinematics.js`) reads `robot_spec`; its scene (`page/scene.js`) draws both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.recording.pictures.skeleton import upright
from armwright.recording.signals import plain
from armwright.world.arm_capsules import DEFAULT_RADIUS_SHARE, LinkCapsule, has_extent, link_capsules, tool_point
from armwright.world.shapes import Mesh, Shape, kind_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

SURFACE = {"stiffness", "damping", "friction"}
MOST_MESH_TRIANGLES = 2_000
"""Triangles of one mesh on a page; a larger one is drawn as its bounding box, so that pages stay small."""


def robot_spec(robot: Robot, capsules: Sequence[LinkCapsule] | None = None) -> dict[str, Any]:
    """Return what a page needs to pose and draw an arm.

    Args:
        robot: the arm.
        capsules: shapes of its links; `world.link_capsules` by default, which contacts are simulated with; a ball at
            the tool for an arm whose links have no extent (a bare gantry).

    Returns:
        ``joints`` (name, kind, unit, limits or None), ``bodies`` (the kinematic law of `robot.parts`), ``tip``,
        ``T_base_root``, ``T_tip_tool``, ``T_display_base`` (turns gravity down the page's z axis), ``capsules`` (body,
        link, start and end in the link frame, radius), ``extent`` (length of the stretched arm [m]).
    """
    parts = _drawn(robot) if capsules is None else tuple(capsules)
    return {
        "name": robot.name,
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind,
                "unit": "rad" if joint.kind == "revolute" else "m",
                "lower": _finite(joint.limits.lower),
                "upper": _finite(joint.limits.upper),
                "velocity": _finite(joint.limits.velocity),
                "effort": _finite(joint.limits.effort),
            }
            for joint in robot.joints
        ],
        "bodies": [
            {
                "name": body.name,
                "parent": body.parent,
                "joint": body.joint,
                "prismatic": robot.joints[body.joint].kind == "prismatic",
                "axis": body.axis.tolist(),
                "ratio": body.ratio,
                "offset": body.offset,
                "T_parent_joint": _pose(body.T_parent_joint),
                "T_joint_link": _pose(body.T_joint_link),
            }
            for body in robot.bodies
        ],
        "tip": robot.tip,
        "T_base_root": _pose(robot.T_base_root),
        "T_tip_tool": _pose(robot.T_tip_tool),
        "T_display_base": _pose(upright(robot)),
        "capsules": [
            {
                "body": part.body,
                "link": part.link,
                "start": list(part.start),
                "end": list(part.end),
                "radius": part.radius,
            }
            for part in parts
        ],
        "extent": _extent(robot),
    }


def _drawn(robot: Robot) -> tuple[LinkCapsule, ...]:
    """Return the capsules of the links; without any extent a ball at the tool, as large as a link would be thick."""
    if has_extent(robot) or robot.tip < 0:
        return link_capsules(robot)
    return (tool_point(robot, DEFAULT_RADIUS_SHARE * _extent(robot)),)


def world_spec(world: World | Iterable[Shape] | None) -> list[dict[str, Any]]:
    """Return the shapes as pages draw them: ``kind``, ``name`` and the numbers of each; None for an endless height."""
    return [_shape(shape) for shape in (world if world is not None else ())]


def _shape(shape: Shape) -> dict[str, Any]:
    kind = kind_of(shape)
    if isinstance(shape, Mesh) and len(shape.triangles) > MOST_MESH_TRIANGLES:
        return _shape(shape.bounding_box())
    numbers = {f.name: getattr(shape, f.name) for f in fields(shape) if f.name not in SURFACE}
    finite = {name: _finite(value) if isinstance(value, float) else value for name, value in numbers.items()}
    return {"kind": kind, **plain(finite)}


def _pose(T: Array) -> list[float]:
    return [float(x) for x in np.asarray(T).ravel()]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _extent(robot: Robot) -> float:
    """Sum of the distances from joint to joint along the branch of the tool, and to the tool [m]; at least 0.1."""
    total, body, ahead = 0.0, robot.tip, robot.T_tip_tool  # pose of the next joint, or of the tool, in the link frame
    while body >= 0:
        part = robot.bodies[body]
        total += float(np.linalg.norm((part.T_joint_link @ ahead)[:3, 3])) + _travel(robot, body)
        body, ahead = part.parent, part.T_parent_joint
    return max(total + float(np.linalg.norm(ahead[:3, 3])), 0.1)


def _travel(robot: Robot, body: int) -> float:
    """Return how far a sliding joint may carry its body [m]; 0 for a turning one."""
    joint = robot.joints[robot.bodies[body].joint]
    ends = [abs(x) for x in (joint.limits.lower, joint.limits.upper) if math.isfinite(x)]
    return max(ends, default=0.0) if joint.kind == "prismatic" else 0.0
