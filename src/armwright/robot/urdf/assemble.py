# SPDX-License-Identifier: Apache-2.0
"""Links and joints of a tree made into a `Robot`: what is fixed is merged, what moves is numbered, names are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import tell_user
from armwright.robot.inertia_needed import has_inertia, singular_joint
from armwright.robot.link_frames import motion
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Frame, Friction, Joint
from armwright.robot.tables.assemble import orthonormal
from armwright.robot.urdf.elements import JointData, LinkData, Mimic
from armwright.robot.urdf.inertia import RigidMass
from armwright.robot.urdf.plausible import Places, Verdict, check_bodies
from armwright.robot.urdf.tree import LinkTree, mimic_laws
from armwright.robot.urdf.xml_safe import shown

if TYPE_CHECKING:
    from armwright.types import Array


def beside(tree: LinkTree, tip: str) -> dict[str, float]:
    """Joints not on the way to the tip, with the displacement at which the cut chain carries them."""
    laws = mimic_laws(tree)
    by_name = {joint.name: joint for joint in tree.joints}
    kept = {joint.name for joint in tree.path(tip) if joint.kind != "fixed"}
    locked: dict[str, float] = {}
    for name, law in laws.items():
        joint = by_name[name]
        if (name in kept) != (law.leader in kept):
            (joint.node.one("mimic") or joint.node).fail(
                f"joint {shown(name)} and its leader {shown(law.leader)} are not both in the "
                "chain to the tip; read_urdf(…, tip=…) without base= keeps the whole tree",
                "mimic-cut",
            )
        if name not in kept:
            limits = by_name[law.leader].limits
            locked[name] = law.ratio * float(np.clip(0.0, limits.lower, limits.upper)) + law.offset
    if locked:
        names = ", ".join(locked)
        tell_user(f"cut from {tree.root!r} to {tip!r}: locked beside the chain, mass kept: {names}")
    return locked


def assemble(
    title: str,
    tree: LinkTree,
    tip: str,
    *,
    locked: dict[str, float],
    motors: Callable[[list[str]], tuple[Actuators, Array]],
    gravity: Array,
    order: tuple[str, ...] = (),
    unnamed: frozenset[str] = frozenset(),
    verdict: Verdict = "refuse",
) -> Robot:
    """Merge what is fixed, number what moves, and build the `Robot`; refuse bodies that cannot be.

    Args:
        title: name of the robot.
        tree: its links and joints.
        tip: link that becomes the tool.
        locked: joints that do not move, with their displacements (see `beside`).
        motors: gives actuators and dead zones (n,) of the coordinates with these names.
        gravity: (3,) [m/s²].
        order: names of coordinates, where they are not to be numbered as the tree is read.
        unnamed: links that are not to become frames.
        verdict: on implausible bodies.
    """
    laws = {name: law for name, law in mimic_laws(tree).items() if name not in locked}
    by_name = {joint.name: joint for joint in tree.joints}
    names = [name for name, law in laws.items() if law.leader == name]
    if order:
        names.sort(key=lambda name: order.index(name) if name in order else 0)
    places: Places = {tree.root: (-1, np.eye(4))}
    masses: list[RigidMass] = []
    moved: list[tuple[JointData, int, Array]] = []
    for joint in tree.joints:
        body, T_body_parent = places[joint.parent]
        T_body_joint = T_body_parent @ joint.T_parent_joint
        link: LinkData = tree.links[joint.child]
        if joint.name in laws:
            places[joint.child] = (len(moved), np.eye(4))
            moved.append((joint, body, T_body_joint))
            masses.append(link.mass)
            continue
        T_body_link = T_body_joint @ motion(joint.kind, joint.axis, locked.get(joint.name, 0.0)) @ joint.T_joint_link
        places[joint.child] = (body, T_body_link)
        if body >= 0:
            masses[body] = masses[body].welded(link.mass.seen_from(T_body_link))
    bodies = tuple(
        Body(
            name=joint.child,
            parent=parent,
            joint=names.index(laws[joint.name].leader),
            T_parent_joint=T,
            axis=joint.axis,
            T_joint_link=joint.T_joint_link,
            mass=mass.mass,
            com=mass.com,
            inertia=mass.inertia,
            ratio=laws[joint.name].ratio,
            offset=laws[joint.name].offset,
        )
        for (joint, parent, T), mass in zip(moved, masses, strict=True)
    )
    actuators, dead_zone = motors(names)
    joints = tuple(
        Joint(
            name,
            "prismatic" if by_name[name].kind == "prismatic" else "revolute",
            by_name[name].limits,
            _friction(name, laws, by_name, float(dead)),
        )
        for name, dead in zip(names, dead_zone, strict=True)
    )
    tip_body, T_tip_tool = places[tip]
    robot = Robot(
        name=title,
        joints=joints,
        bodies=bodies,
        actuators=actuators,
        tip=tip_body,
        T_tip_tool=T_tip_tool,
        gravity=gravity,
        frames=_frames(places, {body.name for body in bodies} | unnamed),
    )
    check_bodies(tree, robot, places, verdict)
    if has_inertia(robot):
        _warn_if_singular(tree, robot)
    return robot


def _warn_if_singular(tree: LinkTree, robot: Robot) -> None:
    """Say which joint moves nothing; `forward_dynamics` will refuse, everything else is defined."""
    bad = singular_joint(robot)
    if bad is None:
        return
    index, place = bad
    joint = next(joint for joint in tree.joints if joint.name == robot.joints[index].name)
    tell_user(
        f"{joint.node.where}: the mass matrix is singular {place}: this joint, perhaps together with others, can move "
        "without moving any inertia, so there is no forward dynamics; give a link that it carries mass or inertia "
        "[mass-matrix-positive]"
    )


def _frames(links: Places, known: set[str]) -> tuple[Frame, ...]:
    """Links that move with another one: frames, under their own names."""
    return tuple(Frame(name, body, orthonormal(T)) for name, (body, T) in links.items() if name not in known)


def _friction(name: str, laws: dict[str, Mimic], by_name: dict[str, JointData], dead_zone: float) -> Friction:
    """Friction felt at a coordinate: its own joint's and, through their ratios, that of the joints which follow it."""
    viscous = coulomb = 0.0
    for follower, law in laws.items():
        if law.leader == name:
            viscous += law.ratio**2 * by_name[follower].friction.viscous
            coulomb += abs(law.ratio) * by_name[follower].friction.coulomb
    return Friction(viscous, coulomb, dead_zone)
