# SPDX-License-Identifier: Apache-2.0
"""Cut a serial chain out of a tree by naming its base and its tip."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.robot.frames import place_of
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Frame
from armwright.robot.tables.assemble import home_links, orthonormal
from armwright.spatial import inverse, rotate_inertia, sum_bodies

if TYPE_CHECKING:
    from armwright.types import Array


def _link(robot: Robot, name: str | None, role: str) -> tuple[int, Array]:
    """Body and pose on it of the link or frame that is to be an end of the chain."""
    try:
        return place_of(robot, name)
    except InputError as error:
        raise InputError(f"chain: no {role}: {error}") from None


def _path(robot: Robot, base: int, tip: int) -> list[int]:
    """Bodies after `base` up to `tip`, base first."""
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
    """Motors of the kept joints; motor i is taken to belong to joint i."""
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
    )
