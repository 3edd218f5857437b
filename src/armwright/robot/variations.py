# SPDX-License-Identifier: Apache-2.0
"""The same arm with something changed: a load, other numbers, one more frame, or a chain cut out of its tree.

`add_payload` joins a rigid load with the last body, exactly. `set_rotors`, `set_friction` and `set_parameters` change
numbers: rotors, friction, or all of them from a parameter vector, as a fit finds them. `add_frame` names one more
place. `chain` cuts a serial chain out of a tree by its base and its tip.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import number, numbers
from armwright.errors import InputError, NotSupportedError
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Frame, Friction, frozen, frozen_pose
from armwright.robot.tables.serial_chain import home_links, orthonormal
from armwright.spatial import inverse, rotate_inertia, sum_bodies

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


def add_payload(robot: Robot, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> Robot:
    """Return `robot` with a rigid load on its tip: the tip body gets the mass, centre and inertia of both together.

    Args:
        robot: the arm.
        mass: mass of the load [kg], ≥ 0.
        com: its centre of mass in the **tool** frame [m].
        inertia: 3×3 about that centre, tool axes [kg m²]; a point mass if omitted.

    >>> robot.with_payload(2.0, com=(0.0, 0.0, 0.05))
    """
    mass = number(mass, "payload: mass")
    if not (np.isfinite(mass) and mass >= 0.0):
        raise InputError(f"payload: mass must be finite and ≥ 0, got {mass}")
    if robot.tip < 0:
        raise NotSupportedError(f"payload: the tool of {robot.name!r} is on its fixed root link; no joint feels it")
    centre = frozen(com, (3,), "payload com")
    tensor = np.zeros((3, 3)) if inertia is None else frozen(inertia, (3, 3), "payload inertia")
    if np.abs(tensor - tensor.T).max() > 1e-12 * max(1.0, float(np.abs(tensor).max())):
        raise InputError("payload inertia: must be symmetric")
    T = robot.T_tip_tool
    R = T[:3, :3]
    body = robot.bodies[robot.tip]
    load = (float(mass), R @ centre + T[:3, 3], R @ tensor @ R.T)
    total = sum_bodies([(body.mass, body.com, body.inertia), load])
    both = np.asarray(total.inertia)
    loaded = replace(body, mass=float(total.mass), com=total.com, inertia=0.5 * (both + both.T))
    bodies = (*robot.bodies[: robot.tip], loaded, *robot.bodies[robot.tip + 1 :])
    return replace(robot, bodies=bodies)


def set_parameters(robot: Robot, parameters: ArrayLike, torque_constant: ArrayLike | None = None) -> Robot:
    """Return `robot` with these parameters, in the order of `armwright.dynamics.parameters`.

    Args:
        robot: the arm.
        parameters: (10 nb + 4n,): for every body m, m·c, I about the link origin (xx, xy, yy, xz, yz, zz); viscous and
            Coulomb friction of every joint; rotor inertia and viscous friction of every motor.
        torque_constant: (n,) motor side [N m/A]; unchanged if omitted.
    """
    nb, n = len(robot.bodies), robot.n
    p = frozen(parameters, (10 * nb + 4 * n,), "parameters")
    bodies = []
    for i, body in enumerate(robot.bodies):
        m, h, (xx, xy, yy, xz, yz, zz) = p[10 * i], p[10 * i + 1 : 10 * i + 4], p[10 * i + 4 : 10 * i + 10]
        if m < 0.0 or (m == 0.0 and np.any(h != 0.0)):
            raise InputError(f"parameters: body {body.name!r} has mass {m:g} and first moment {h.tolist()}")
        c = h / m if m > 0.0 else np.zeros(3)
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        central = about - m * (float(c @ c) * np.eye(3) - np.outer(c, c))
        bodies.append(replace(body, mass=float(m), com=c, inertia=0.5 * (central + central.T)))
    viscous, coulomb, rotor, motor = p[10 * nb :].reshape(4, n)
    joints = [
        replace(joint, friction=Friction(v, c, joint.friction.dead_zone))
        for joint, v, c in zip(robot.joints, viscous, coulomb, strict=True)
    ]
    constant = robot.actuators.torque_constant if torque_constant is None else frozen(torque_constant, (n,), "constant")
    actuators = replace(robot.actuators, rotor_inertia=rotor, viscous=motor, torque_constant=constant)
    return replace(robot, bodies=tuple(bodies), joints=tuple(joints), actuators=actuators)


def set_rotors(robot: Robot, inertia: ArrayLike) -> Robot:
    """Return `robot` with rotors of this inertia, scalar or (n,) [kg m²], as it is felt at the joint.

    Descriptions often lack it. At the joint it is the rotor's own times the square of the gear ratio, about 0.1 for
    arms like the UR5 (what MuJoCo Menagerie gives the UR5e), more than the links beyond a wrist have.

    >>> robot.with_rotors(0.1)
    """
    reflected = _per_joint(robot, inertia, "rotors: inertia", "kg m²")
    gear = robot.actuators.gear
    if np.any(gear - np.diag(np.diag(gear))):
        raise InputError(f"rotors: the motors of {robot.name!r} are coupled; give their inertia in the sheet")
    return replace(robot, actuators=replace(robot.actuators, rotor_inertia=reflected / np.diag(gear) ** 2))


def set_friction(robot: Robot, viscous: ArrayLike, coulomb: ArrayLike, dead_zone: ArrayLike) -> Robot:
    """Return `robot` with friction in its joints in place of its own, each scalar or (n,).

    Args:
        robot: the arm.
        viscous: [N m s/rad].
        coulomb: dry friction [N m].
        dead_zone: speed up to which dry friction is left out [rad/s].

    >>> robot.with_friction(viscous=0.5, coulomb=2.0)
    """
    columns = (
        _per_joint(robot, viscous, "friction: viscous", "N m s/rad"),
        _per_joint(robot, coulomb, "friction: coulomb", "N m"),
        _per_joint(robot, dead_zone, "friction: dead_zone", "rad/s"),
    )
    joints = [
        replace(joint, friction=Friction(*map(float, values)))
        for joint, *values in zip(robot.joints, *columns, strict=True)
    ]
    return replace(robot, joints=tuple(joints))


def _per_joint(robot: Robot, value: ArrayLike, what: str, unit: str) -> Array:
    array = numbers(value, what)
    if array.shape not in ((), (robot.n,)):
        raise InputError(f"{what} must be one number or {robot.n} of them, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise InputError(f"{what} must be finite and ≥ 0 {unit}, got {array.tolist()}")
    return np.broadcast_to(array, (robot.n,))


def place_of(robot: Robot, name: str | None) -> tuple[int, Array]:
    """Return the body that carries a frame (-1: the root link) and the frame's pose in that body's link frame."""
    for index, body in enumerate(robot.bodies):
        if body.name == name:
            return index, np.eye(4)
    for frame in robot.frames:
        if frame.name == name:
            return frame.parent, frame.T_parent_frame
    if name is None or name == "tool":
        return robot.tip, robot.T_tip_tool
    raise InputError(
        f"robot {robot.name!r} has no link {name!r}, nor such a frame; valid: {', '.join(robot.frame_names)}"
    )


def add_frame(robot: Robot, name: str, T_parent_frame: ArrayLike, parent: str | None = None) -> Robot:
    """Return the same arm with one more frame.

    Args:
        robot: the arm.
        name: not yet taken by a link or a frame.
        T_parent_frame: its pose (4, 4) in the frame `parent`.
        parent: one of `Robot.frame_names`; the tool if omitted.

    >>> robot.with_frame("camera", np.eye(4), parent="wrist_3")
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"frame: a name is needed, got {name!r}")
    body, T = place_of(robot, parent)
    pose = T @ frozen_pose(T_parent_frame, f"frame {name!r}: T_parent_frame")
    return replace(robot, frames=(*robot.frames, Frame(name, body, pose)))


def _link(robot: Robot, name: str | None, role: str) -> tuple[int, Array]:
    """Return body and pose on it of the link or frame that becomes an end of the chain."""
    try:
        return place_of(robot, name)
    except InputError as error:
        raise InputError(f"chain: no {role}: {error}") from None


def _path(robot: Robot, base: int, tip: int) -> list[int]:
    """Return the bodies after `base` up to `tip`, base first."""
    path: list[int] = []
    i = tip
    while i != base:
        if i < 0:
            above = ", ".join(repr(robot.bodies[k].name) for k in reversed(path))
            raise InputError(
                f"chain: no path from {robot.bodies[base].name!r} out to {robot.bodies[tip].name!r} in robot "
                f"{robot.name!r}; links on the way from the root to that tip: {above}"
            )
        path.append(i)
        i = robot.bodies[i].parent
    return path[::-1]


def _cut_actuators(robot: Robot, kept: list[int]) -> Actuators:
    """Return the motors of the kept joints; motor i is taken to belong to joint i."""
    a = robot.actuators
    others = [i for i in range(robot.n) if i not in kept]
    if np.any(a.gear[np.ix_(others, kept)]):
        raise NotSupportedError(
            f"chain: gears of robot {robot.name!r} couple joints of the chain to motors of joints outside it; "
            "include those joints in the chain"
        )
    return a.of(kept)


def _carried(robot: Robot, path: list[int], kept: list[int]) -> dict[int, list[int]]:
    """Bodies outside the chain by the body of the chain that carries them; those on fixed ground are left out."""
    on_path = set(path)
    carried: dict[int, list[int]] = {i: [] for i in path}
    for k, body in enumerate(robot.bodies):
        if k in on_path:
            continue
        i, mimics = k, False
        while i >= 0 and i not in on_path:
            mimics = mimics or robot.bodies[i].joint in kept
            i = robot.bodies[i].parent
        if i < 0:
            continue
        if mimics:
            raise NotSupportedError(
                f"chain: link {body.name!r} is outside the chain but moves with one of its joints (mimic), so it "
                "cannot be frozen; drop=True leaves it out"
            )
        carried[i].append(k)
    return carried


def _joined(robot: Robot, body: Body, index: int, load: list[int], links: list[Array]) -> Body:
    """Add the frozen bodies `load` to a body of the chain."""
    parts = [(body.mass, body.com, body.inertia)]
    for k in load:
        other = robot.bodies[k]
        T = inverse(links[index]) @ links[k]
        R = T[:3, :3]
        parts.append((other.mass, R @ other.com + T[:3, 3], rotate_inertia(R, other.inertia)))
    total = sum_bodies(parts)
    tensor = np.asarray(total.inertia)
    return replace(body, mass=float(total.mass), com=total.com, inertia=0.5 * (tensor + tensor.T))


def _frames(robot: Robot, path: list[int], first: int, links: list[Array], drop: bool) -> list[Frame]:
    """Frames of the chain: those of its bodies; links and frames of what is merged into it, as they are at q = 0."""
    places = [(body.name, i, np.eye(4)) for i, body in enumerate(robot.bodies) if i not in path]
    places += [(frame.name, frame.parent, frame.T_parent_frame) for frame in robot.frames]
    found = []
    for name, i, T in places:
        carrier = i
        while carrier >= 0 and carrier not in path:
            carrier = robot.bodies[carrier].parent
        if drop and i not in (*path, first, -1):
            continue
        ground = carrier if carrier >= 0 else first
        T_ground = links[ground] if ground >= 0 else np.eye(4)
        T_root = links[i] if i >= 0 else np.eye(4)
        pose = T if i == ground else orthonormal(inverse(T_ground) @ T_root @ T)
        found.append(Frame(name, path.index(carrier) if carrier >= 0 else -1, pose))
    return found


def chain(robot: Robot, base: str | None = None, tip: str | None = None, *, drop: bool = False) -> Robot:
    """Cut the serial chain from link `base` to link `tip` out of a tree.

    Joints outside the chain are frozen at q = 0. What they carry is merged into the body of the chain it hangs on, so
    that the result has the dynamics of the whole machine with those joints locked. The link `base` becomes the fixed
    root, at the place it has at q = 0; base frame and gravity stay as they are.

    Args:
        robot: any arm or tree.
        base: name of the link to stand on; the root link if omitted.
        tip: name of the link or frame to end at, which becomes the tool; the tool as it is if omitted, or if this is
            the link that carries it.
        drop: leave side branches out, with their mass, instead of merging them.

    Raises:
        InputError: for unknown names, or if `tip` does not hang on `base`.
    """
    first = -1 if base is None else _link(robot, base, "base")[0]
    last, T_tool = _link(robot, tip, "tip")
    if last == robot.tip >= 0 and tip == robot.bodies[last].name:
        T_tool = robot.T_tip_tool
    path = _path(robot, first, last)
    kept = list(dict.fromkeys(robot.bodies[i].joint for i in path))
    _, links = home_links(robot)
    carried = {i: [] for i in path} if drop else _carried(robot, path, kept)
    bodies = []
    for place, i in enumerate(path):
        body = robot.bodies[i]
        if carried[i]:
            body = _joined(robot, body, i, carried[i], links)
        bodies.append(replace(body, parent=place - 1, joint=kept.index(body.joint)))
    gone = {body.name for i, body in enumerate(robot.bodies) if i not in path}
    gone_joints = {joint.name for i, joint in enumerate(robot.joints) if i not in kept}
    sources = {
        key: source
        for key, source in robot.sources.items()
        if not any(key.startswith(f"bodies.{name}.") for name in gone)
        and not any(key.startswith(f"joints.{name}.") for name in gone_joints)
    }
    return Robot(
        name=robot.name,
        joints=tuple(robot.joints[i] for i in kept),
        bodies=tuple(bodies),
        actuators=_cut_actuators(robot, kept),
        T_base_root=robot.T_base_root if first < 0 else orthonormal(robot.T_base_root @ links[first]),
        tip=len(path) - 1,
        T_tip_tool=T_tool,
        gravity=robot.gravity,
        frames=tuple(_frames(robot, path, first, links, drop)),
        sources=sources,
        notes=robot.notes,
        measured=robot.measured and robot.measured.of(kept),
    )
