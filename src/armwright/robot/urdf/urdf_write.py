# SPDX-License-Identifier: Apache-2.0
"""Write a `Robot` as URDF that reads back to the same tool pose, mass matrix and torques (1e-12).

URDF puts link frames on their joints: where a link frame of the robot stands elsewhere (standard DH), the body is
re-expressed in its joint frame. Named frames are links without mass; one that stands where the base or the tool does
is that link, otherwise these are called "base" and "tool". What URDF has no words for (motors, gravity, the order of
coordinates, which links were never named) goes into one <armwright> element, which other readers skip (see
`armwright.robot.urdf.urdf_assemble`). Provenance and notes are not written: a sheet keeps those.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.robot.link_frames import motion
from armwright.robot.model import EARTH_GRAVITY, Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint, Limits
from armwright.robot.urdf.urdf_assemble import CURVE, OPEN, PLAIN
from armwright.schema.xml_text import UNBOUNDED
from armwright.spatial.euler import rpy_from_rotation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def quoted(name: str) -> str:
    """Return a name as an XML attribute value, quotes included; characters that XML cannot hold are refused."""
    if not name.strip() or _CONTROL.search(name):
        raise InputError(f"name {name!r} cannot be written to XML: it is empty or holds control characters")
    return quoteattr(name)


def numbers(values: ArrayLike) -> str:
    """Return decimals that read back to the same float64."""
    return " ".join(repr(float(value) + 0.0) for value in np.ravel(np.asarray(values, dtype=np.float64)))


def unique(name: str, taken: set[str]) -> str:
    """Return `name`, with a number behind it if it is taken; the result is taken from now on."""
    label, count = name, 2
    while label in taken:
        label, count = f"{name}_{count}", count + 1
    taken.add(label)
    return label


def leaders(robot: Robot) -> dict[int, int]:
    """Return for each coordinate the body that its own joint carries: ratio ±1, before bodies that mimic it."""
    found: dict[int, int] = {}
    for wanted in ((1.0,), (-1.0,)):
        for i, body in enumerate(robot.bodies):
            if body.ratio in wanted:
                found.setdefault(body.joint, i)
    for j, joint in enumerate(robot.joints):
        if j not in found:
            raise NotSupportedError(
                f"joint {joint.name!r}: no body moves with ratio ±1, so none can carry the "
                "joint that the others mimic; rescale the coordinate"
            )
    return found


def write_urdf(robot: Robot) -> str:
    """Return the robot as a URDF document.

    Raises:
        NotSupportedError: if a shared coordinate moves no body one to one.
        InputError: if a name cannot be written to XML.
    """
    first = leaders(robot)
    named = {frame.name for frame in robot.frames}
    links = {body.name for body in robot.bodies} | named
    joint_names = {joint.name for joint in robot.joints}
    moved = not np.array_equal(robot.T_base_root, np.eye(4))
    base = (None if moved else _named(robot, -1, np.eye(4))) or unique("base", links)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<robot name={quoted(robot.name)}>",
        f"  <link name={quoted(base)}/>",
    ]
    root = base
    if moved:
        root = _named(robot, -1, np.eye(4)) or unique("root", links)
        lines.append(f"  <link name={quoted(root)}/>")
        lines += _fixed(unique("base_to_root", joint_names), base, root, robot.T_base_root)
    for i, body in enumerate(robot.bodies):
        lines += _link(body)
        lines += _joint(robot, i, first[body.joint], root, joint_names)
    tool = _named(robot, robot.tip, robot.T_tip_tool) or unique("tool", links)
    ends = [
        (frame.name, frame.parent, frame.T_parent_frame) for frame in robot.frames if frame.name not in (base, root)
    ]
    if tool not in named:
        ends.append((tool, robot.tip, robot.T_tip_tool))
    for name, i, T_link_end in ends:
        T = robot.bodies[i].T_joint_link @ T_link_end if i >= 0 else T_link_end
        lines.append(f"  <link name={quoted(name)}/>")
        lines += _fixed(unique(f"to_{name}", joint_names), robot.bodies[i].name if i >= 0 else root, name, T)
    unnamed = sorted({base, root, tool} - named)
    return "\n".join([*lines, *_extras(robot, tool, unnamed, first), "</robot>", ""])


def _named(robot: Robot, body: int, T: Array) -> str | None:
    """Return the robot's own name for a place on a body, if it has one: the first that stands exactly there."""
    here = (f.name for f in robot.frames if f.parent == body and np.array_equal(f.T_parent_frame, T))
    return next(here, None)


def _origin(T: Array) -> str:
    return f'<origin xyz="{numbers(T[:3, 3])}" rpy="{numbers(rpy_from_rotation(T[:3, :3]).angles)}"/>'


def _fixed(name: str, parent: str, child: str, T: Array) -> list[str]:
    return [
        f'  <joint name={quoted(name)} type="fixed">',
        f"    <parent link={quoted(parent)}/>",
        f"    <child link={quoted(child)}/>",
        f"    {_origin(T)}",
        "  </joint>",
    ]


def _link(body: Body) -> list[str]:
    """Write the body in its joint frame."""
    T = body.T_joint_link
    com, inertia = T[:3, :3] @ body.com + T[:3, 3], T[:3, :3] @ body.inertia @ T[:3, :3].T
    if body.mass == 0.0 and not inertia.any():
        return [f"  <link name={quoted(body.name)}/>"]
    moments = " ".join(
        f'i{"xyz"[a]}{"xyz"[b]}="{numbers(0.5 * (inertia[a, b] + inertia[b, a]))}"'
        for a in range(3)
        for b in range(a, 3)
    )
    return [
        f"  <link name={quoted(body.name)}>",
        "    <inertial>",
        f'      <origin xyz="{numbers(com)}"/>',
        f'      <mass value="{numbers(body.mass)}"/>',
        f"      <inertia {moments}/>",
        "    </inertial>",
        "  </link>",
    ]


def _joint(robot: Robot, i: int, leader: int, root: str, taken: set[str]) -> list[str]:
    body, joint = robot.bodies[i], robot.joints[robot.bodies[i].joint]
    parent = robot.bodies[body.parent] if body.parent >= 0 else None
    T = body.T_parent_joint if parent is None else parent.T_joint_link @ body.T_parent_joint
    axis, ratio, offset = body.axis, body.ratio, body.offset
    name = joint.name if i == leader else unique(f"{body.name}_joint", taken)
    if i == leader:  # offset and a reversed sign are constants of the joint's own frame and axis
        axis, T = ratio * axis, T @ motion(joint.kind, body.axis, offset)
    free = joint.kind == "revolute" and joint.limits.lower == -np.inf and joint.limits.upper == np.inf
    kind = "continuous" if free else joint.kind
    lines = [
        f'  <joint name={quoted(name)} type="{kind}">',
        f"    <parent link={quoted(root if parent is None else parent.name)}/>",
        f"    <child link={quoted(body.name)}/>",
        f"    {_origin(T)}",
        f'    <axis xyz="{numbers(axis)}"/>',
    ]
    lines += _limit(joint.limits if i == leader else _followed(joint.limits, ratio, offset), free)
    if i != leader:
        law = f'multiplier="{numbers(ratio)}" offset="{numbers(offset)}"'
        lines.append(f"    <mimic joint={quoted(joint.name)} {law}/>")
    elif joint.friction != Friction():
        lines.append(
            f'    <dynamics damping="{numbers(joint.friction.viscous)}" friction="{numbers(joint.friction.coulomb)}"/>'
        )
    return [*lines, "  </joint>"]


def _followed(limits: Limits, ratio: float, offset: float) -> Limits:
    """Return the limits of a joint that mimics one with these limits."""
    ends = [ratio * end + offset if ratio else offset for end in (limits.lower, limits.upper)]
    return Limits(min(ends), max(ends), abs(ratio) * limits.velocity if ratio else 0.0, effort=limits.effort)


def _limit(limits: Limits, free: bool) -> list[str]:
    def cut(value: float) -> str:
        return numbers(np.clip(value, -UNBOUNDED, UNBOUNDED))  # readers of other tools take no "inf"

    if free and limits.velocity == limits.effort == limits.acceleration == np.inf:
        return []
    position = "" if free else f'lower="{cut(limits.lower)}" upper="{cut(limits.upper)}" '
    more = "" if limits.acceleration == np.inf else f' acceleration="{cut(limits.acceleration)}"'
    return [f'    <limit {position}effort="{cut(limits.effort)}" velocity="{cut(limits.velocity)}"{more}/>']


def _extras(robot: Robot, tool: str, unnamed: list[str], first: dict[int, int]) -> list[str]:
    gravity = "" if np.array_equal(robot.gravity, EARTH_GRAVITY) else f' gravity="{numbers(robot.gravity)}"'
    own = f" unnamed={quoted(' '.join(unnamed))}" if unnamed else ""
    opening = f"  <armwright tip={quoted(tool)}{own}{gravity}"
    motors, ideal = robot.actuators, Actuators.none(robot.n)
    plain = all(np.array_equal(getattr(motors, name), getattr(ideal, name)) for name in ("gear", *PLAIN, *OPEN, *CURVE))
    still = all(joint.friction.dead_zone == 0.0 for joint in robot.joints)
    if plain and still and _in_reading_order(robot, first):
        return [f"{opening}/>"]
    rows = [
        f"    <coordinate joint={quoted(joint.name)}{_motor(motors, i, joint)}/>"
        for i, joint in enumerate(robot.joints)
    ]
    return [f"{opening}>", *rows, "  </armwright>"]


def _motor(motors: Actuators, i: int, joint: Joint) -> str:
    values = {"dead_zone": joint.friction.dead_zone, "gear": motors.gear[i]}
    values |= {name: getattr(motors, name)[i] for name in PLAIN}
    values |= {name: np.minimum(getattr(motors, name)[i], UNBOUNDED) for name in OPEN}
    values |= {name: getattr(motors, name)[i] for name in CURVE if getattr(motors, name).size}
    return "".join(f' {name}="{numbers(value)}"' for name, value in values.items())


def _in_reading_order(robot: Robot, first: dict[int, int]) -> bool:
    """Return whether a depth-first reader numbers the coordinates as this robot does."""
    children: dict[int, list[int]] = {}
    for i, body in enumerate(robot.bodies):
        children.setdefault(body.parent, []).append(i)
    order, stack = [], children.get(-1, [])[::-1]
    while stack:
        i = stack.pop()
        order += [robot.bodies[i].joint] if first[robot.bodies[i].joint] == i else []
        stack += children.get(i, [])[::-1]
    return order == list(range(robot.n))
