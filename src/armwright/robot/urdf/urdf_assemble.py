# SPDX-License-Identifier: Apache-2.0
"""Links and joints of a tree made into a `Robot`: what is fixed is merged, what moves is numbered, names are kept.

`check_bodies` asks whether the bodies can exist. What is welded together is judged together, because only the whole
moves as one: a camera of 1 g with the moments of a brick changes nothing when it is fixed to a forearm, and a link that
never moves shows no inertia at all; neither is a reason to refuse an arm.

`read_extras` and `with_transmissions` read what plain URDF cannot say: <transmission> and Armwright's own <armwright>
element. URDF readers skip elements they do not know, so a written arm keeps its motors, gravity and order of
coordinates:

    <armwright tip="tool" unnamed="base tool" gravity="0 0 -9.81">
      <coordinate joint="j1" dead_zone="0" gear="50 0" rotor_inertia="1e-4" viscous="0" …/>
      …one for each coordinate, in their order; row i of `gear` turns joint speeds into the speed of motor i
    </armwright>

`unnamed` lists links that the writer had to invent: they are no frames of the arm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.errors import DescriptionError, InputError, tell_user
from armwright.robot.inertia_needed import has_inertia, singular_joint
from armwright.robot.link_frames import motion
from armwright.robot.model import EARTH_GRAVITY, Robot
from armwright.robot.parts import Actuators, Body, Frame, Friction, Joint
from armwright.robot.tables.serial_chain import orthonormal
from armwright.robot.urdf.urdf_elements import JointData, LinkData, Mimic, RigidMass, implausible, negative_moment
from armwright.robot.urdf.urdf_tree import LinkTree, mimic_laws
from armwright.schema.xml_text import (
    MAX_COEFFICIENT,
    MAX_RATIO,
    XmlNode,
    attribute,
    bound,
    not_negative,
    shown,
    to_number,
    vector,
)

if TYPE_CHECKING:
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
        """Return the heaviest link that has the fault by itself, else the heaviest."""
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


def _moments(inertial: XmlNode) -> XmlNode:
    """Return the element that states the moments; MJCF has none of its own for them."""
    return inertial.one("inertia") or inertial


def _rule(found: tuple[str, str] | None) -> str | None:
    return None if found is None else found[1]


MAX_COORDINATES = 1000
PLAIN = ("rotor_inertia", "viscous", "load_friction", "torque_constant")
OPEN = ("torque_limit", "speed_limit", "current_limit", "continuous_torque", "thermal_time")
CURVE = ("curve_speed", "curve_torque")


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """Content of <armwright>: None or empty where the file says nothing."""

    tip: str | None
    unnamed: frozenset[str]
    gravity: Array
    order: tuple[str, ...]
    dead_zone: Array
    actuators: Actuators | None
    node: XmlNode | None


def read_extras(root: XmlNode) -> Extras:
    """Read the <armwright> element of a <robot>, if there is one."""
    node = root.one("armwright")
    if node is None:
        return Extras(None, frozenset(), np.array(EARTH_GRAVITY), (), np.zeros(0), None, None)
    gravity = vector(node, "gravity", 1e4, default=np.array(EARTH_GRAVITY))
    rows = node.all("coordinate")
    if len(rows) > MAX_COORDINATES:
        rows[MAX_COORDINATES].fail(f"more than {MAX_COORDINATES} coordinates", "link-count")
    order = tuple(attribute(row, "joint") for row in rows)
    n = len(rows)
    for i, row in enumerate(rows):
        if order[i] in order[:i]:
            row.fail(f"joint {shown(order[i])} is listed twice", "unique-names")
    dead_zone = np.array([not_negative(row, "dead_zone", MAX_COEFFICIENT, default=0.0) for row in rows])
    actuators = None
    if n:
        unit = np.eye(n)
        gear = np.array([vector(row, "gear", MAX_RATIO, count=n, default=unit[i]) for i, row in enumerate(rows)])
        values = {
            name: np.array([not_negative(row, name, MAX_COEFFICIENT, default=0.0) for row in rows]) for name in PLAIN
        }
        values |= {name: np.array([bound(row, name, default=np.inf) for row in rows]) for name in OPEN}
        for name in OPEN:
            if (values[name] < 0.0).any():
                rows[int(np.argmin(values[name]))].fail(f"{name} is negative; it must be ≥ 0", "not-negative")
        for name in CURVE:
            points = len((rows[0].attributes.get(name) or "").split())
            values[name] = np.array(
                [vector(row, name, MAX_COEFFICIENT, count=points) for row in rows] if points else np.zeros((n, 0))
            )
        try:
            actuators = Actuators(gear=gear, **values)
        except InputError as error:
            rows[0].fail(str(error), "torque-speed-curve")
    unnamed = frozenset((node.attributes.get("unnamed") or "").split())
    return Extras(node.attributes.get("tip"), unnamed, gravity, order, dead_zone, actuators, node)


def select(extras: Extras, names: list[str]) -> tuple[Actuators, Array]:
    """Return actuators and dead zones of the coordinates `names`, taken from all those that the file lists."""
    if extras.actuators is None or extras.node is None:
        return Actuators.none(len(names)), np.zeros(len(names))
    missing = [name for name in names if name not in extras.order]
    if missing:
        extras.node.fail(
            f"joint {shown(missing[0])} is not among the listed coordinates; list all of them", "known-joint"
        )
    kept = np.array([extras.order.index(name) for name in names], dtype=int)
    gone = np.array([i for i, name in enumerate(extras.order) if name not in names], dtype=int)
    K = extras.actuators.gear
    if np.count_nonzero(K[np.ix_(kept, gone)]) or np.count_nonzero(K[np.ix_(gone, kept)]):
        extras.node.fail("the gears couple these joints with joints that are left out", "coupled-gears")
    return extras.actuators.of(kept), extras.dead_zone[kept]


def with_transmissions(root: XmlNode, names: list[str], actuators: Actuators, *, lenient: bool = False) -> Actuators:
    """Take the gear ratio of simple transmissions (one joint, one motor); every other kind is left alone.

    With `lenient`, a ratio that is no number is left alone, too, with a warning.
    """
    gear, index = actuators.gear.copy(), {name: i for i, name in enumerate(names)}
    for node in root.all("transmission"):
        kind = node.one("type")
        label = (node.attributes.get("type") or "") if kind is None else kind.text
        joints, motors = node.all("joint"), node.all("actuator")
        if "SimpleTransmission" not in label or len(joints) != 1 or len(motors) != 1:
            continue
        name = attribute(joints[0], "name")
        stated = motors[0].one("mechanicalReduction") or joints[0].one("mechanicalReduction")
        if stated is None or name not in index:
            continue
        try:
            ratio = to_number(stated, "mechanicalReduction", stated.text, MAX_RATIO)
        except DescriptionError as error:
            if not lenient:
                raise
            tell_user(f"{error}; taken as 1")
            continue
        if ratio == 0.0:
            stated.fail("mechanicalReduction = 0: the motor would not turn", "gear-ratio")
        gear[index[name], index[name]] = ratio
    return replace(actuators, gear=gear)


def beside(tree: LinkTree, tip: str) -> dict[str, float]:
    """Return the joints not on the way to the tip, with the displacement at which the cut chain carries them."""
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
        verdict: what to do with implausible bodies.
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
