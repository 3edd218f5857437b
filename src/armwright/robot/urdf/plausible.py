# SPDX-License-Identifier: Apache-2.0
"""Whether the bodies of a URDF can exist. What is welded together is judged together: only the whole moves as one.

A camera of 1 g with the moments of a brick changes nothing when it is fixed to a forearm, and a link that never moves
shows no inertia at all; neither is a reason to refuse an arm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from armwright.errors import tell_user
from armwright.robot.urdf.elements import LinkData
from armwright.robot.urdf.inertia import RigidMass, implausible, negative_moment
from armwright.robot.urdf.tree import LinkTree
from armwright.robot.urdf.xml_safe import Node

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

Verdict = Literal["refuse", "warn"]
Places = dict[str, tuple[int, "Array"]]
"""Where each link went: the body that it is part of (-1: the root) and its pose in that body's frame."""


def check_bodies(tree: LinkTree, robot: Robot, places: Places, verdict: Verdict) -> None:
    """Refuse bodies that no matter can form, or warn about them; a negative moment of a body is always refused."""
    for index in range(-1, len(robot.bodies)):
        members = [tree.links[name] for name, (body, _) in places.items() if body == index]
        stated = [link for link in members if link.inertial is not None]
        if index >= 0 and stated:
            _judge_whole(robot, index, members, places, verdict)
        for link in stated:
            reason = negative_moment(link.mass)
            if reason is not None and link.inertial is not None:
                why = "the link never moves" if index < 0 else "it is fixed to others, and together they are sound"
                where = _moments(link.inertial).where
                tell_user(f"{where}: {reason}; {why}, so it has no effect [inertia-positive]")


def _judge_whole(robot: Robot, index: int, members: list[LinkData], places: Places, verdict: Verdict) -> None:
    body = robot.bodies[index]
    whole = RigidMass(body.mass, body.com, body.inertia)
    ends = [child.T_parent_joint[:3, 3] for child in robot.bodies if child.parent == index]
    ends += [places[link.name][1][:3, 3] for link in members if link.name != body.name]
    R, p = body.T_joint_link[:3, :3], body.T_joint_link[:3, 3]
    joint, axis = -R.T @ p, R.T @ body.axis if robot.joints[body.joint].kind == "revolute" else None
    extent = max(2.0 * link.radius for link in members)

    def findings(mass: RigidMass) -> tuple[str, str] | None:
        return implausible(mass, joint=joint, axis=axis, ends=ends, extent=extent)

    def culprit(found: tuple[str, str] | None) -> LinkData:
        """The heaviest link that has the fault by itself, else the heaviest."""
        stated = [link for link in members if link.inertial is not None]
        alone = [link for link in stated if found is None and negative_moment(link.mass)]
        alone += [link for link in stated if found and _rule(findings(link.mass)) == found[1]]
        return max(alone or stated, key=lambda link: link.mass.mass)

    reason = negative_moment(whole)
    if reason is not None:
        link = culprit(None)
        if link.inertial is not None:
            _moments(link.inertial).fail(reason, "inertia-positive")
    found = findings(whole)
    if found is None:
        return
    link = culprit(found)
    if link.inertial is None:
        return
    joined = "" if len(members) == 1 else f" (with what is fixed to it: {len(members)} links)"
    if verdict == "refuse":
        link.inertial.fail(f'{found[0]}{joined}; implausible="warn" loads it anyway', found[1])
    tell_user(f"{link.inertial.where}: {found[0]}{joined} [{found[1]}]")


def _moments(inertial: Node) -> Node:
    """The element that states the moments; MJCF has none of its own for them."""
    return inertial.one("inertia") or inertial


def _rule(found: tuple[str, str] | None) -> str | None:
    return None if found is None else found[1]
