# SPDX-License-Identifier: Apache-2.0
"""What the arm comes near along its tracked motion: the floor, its own body, the shapes of a world.

The links are the capsules of `armwright.world`, estimated from joints and inertia; the last ends at the arm's tool
frame, and the program's tool is a line from there to its tip. Between cycles the joints are taken as straight, in steps
over which no end of a capsule moves more than `STEP`. Estimated radii are trusted to a factor of two: where the links
overlap even with half of them the arm collides, where they overlap with the whole ones alone it may.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics import fk
from armwright.kinematics.forward import fk_all
from armwright.planning.obstacles import contact_capsules
from armwright.programs.outcome.way_results import NearPair, WayClearance, WayContact
from armwright.programs.program import Joints
from armwright.world.arm_capsules import LinkCapsules, has_extent, link_ends
from armwright.world.axis_gaps import axis_gaps, pair_gaps
from armwright.world.shapes import HalfSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.shapes import Shape

STEP = 5e-3  # [m] that ends of capsules move between two looks
MOST_STEPS = 16  # looks in a cycle
TOUCH_DEPTH = 5e-4  # [m] that still counts as touching: what tracking adds to a tool that is put down
FLOOR = "the floor"
SURE_SHARE = 0.5  # of the estimated radii, within which an overlap is a collision for sure
SAMPLED_POSTURES = 200  # random postures that tell which parts always overlap
MERGED_LOOKS = 8  # looks without contact that still belong to one contact
NEAREST_PAIRS = 3
TOOL = "the tool"


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two things along the way: distance of their axes (N,), and the radii in between."""

    part: str
    other: str
    axes: Array
    radius: float


def clearance_of(outcome: ProgramRun) -> WayClearance:
    """Look at the arm along its tracked motion, up to where the drive would stop."""
    robot = outcome.robot
    if not has_extent(robot):
        why = f"no shapes are known of the bodies of {robot.name!r}: its links have no extent"
        return WayClearance((), (why,), (), (), 0)
    links = _links(robot)
    q, time, move = outcome.way
    said = move >= _first_said(outcome)  # before, the posture is ours and not the program's
    if not said.any():
        why = "nothing says in which posture the arm reaches its places: --start says where it begins"
        return WayClearance((), (why,), (), (), 0)
    q, time, move = _looks(robot, links, q[said], time[said], move[said])
    ends = link_ends(fk_all(robot, q), links)
    tips = _tool_ends(outcome, q, move)
    floor, unchecked = _floor(outcome, links)
    shapes: list[tuple[str, Shape]] = [] if floor is None else [(FLOOR, floor)]
    shapes += [] if outcome.world is None else [(shape.name, shape) for shape in outcome.world.shapes]
    checked = [FLOOR] if floor is not None else []
    checked += ["its own body"]
    checked += [] if outcome.world is None else [f"world {outcome.world.name!r}"]
    if outcome.world is None:
        unchecked.append("nothing else is known of what stands around the arm: --world names it")
    if outcome.start_assumed:
        unchecked.append(
            "where the arm stands at first is not known: its way to its first known joints was not checked"
        )
    pairs = [*_own_pairs(robot, links, ends, tips), *_shape_pairs(robot, links, ends, tips, shapes)]
    near = sorted(_nearest(pairs, time, move), key=lambda pair: pair.distance)[:NEAREST_PAIRS]
    contacts = sorted((c for pair in pairs for c in _contacts(pair, time, move)), key=lambda c: (c.start, -c.depth))
    return WayClearance(tuple(checked), tuple(unchecked), tuple(near), tuple(contacts), len(q))


def _first_said(outcome: ProgramRun) -> int:
    """Return the first move in a posture that the program or its user says: behind the first target of joints."""
    if not outcome.start_assumed:
        return 0
    return next(
        (
            k + 1
            for k, move in enumerate(outcome.program.moves)
            if isinstance(move.target, Joints) and all(move.target.known)
        ),
        len(outcome.program.moves),
    )


def _links(robot: Robot) -> LinkCapsules:
    """Return the capsules; the round end of the last one is drawn back, so that it ends at the tool frame."""
    links = contact_capsules(robot)
    b = np.array(links.b)
    tool = robot.T_tip_tool[:3, 3]
    for k in np.flatnonzero(links.body == robot.tip):
        along = b[k] - links.a[k]
        size = float(np.linalg.norm(along))
        if size > 0.0 and np.allclose(b[k], tool, atol=1e-9):
            b[k] -= along * min(1.0, links.radius[k] / size)
    return LinkCapsules(links.body, links.a, b, links.radius)


def _looks(
    robot: Robot, links: LinkCapsules, q: Array, time: Array, move: NDArray[np.int64]
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return joints, times and moves with looks between the cycles wherever the arm is fast."""
    ends = link_ends(fk_all(robot, q), links)
    if len(q) < 2:
        return q, time, move
    moved = np.linalg.norm(np.diff(ends, axis=0), axis=-1).reshape(len(q) - 1, -1).max(axis=1, initial=0.0)
    steps = np.clip(np.ceil(moved / STEP), 1, MOST_STEPS).astype(int)
    at = np.concatenate([*(k + np.arange(n) / n for k, n in enumerate(steps.tolist())), [len(q) - 1.0]])
    low = np.minimum(at.astype(int), len(q) - 2)
    share = at - low
    mixed = q[low] + share[:, None] * (q[low + 1] - q[low])
    return mixed, time[low] + share * (time[low + 1] - time[low]), move[np.ceil(at - 1e-12).astype(int)]


def _tool_ends(outcome: ProgramRun, q: Array, move: NDArray[np.int64]) -> Array | None:
    """Return the program's tool as a line (N, 2, 3) from the arm's tool frame to its tip; None without tools."""
    from armwright.programs.legs import tool_of

    offsets = np.array([tool_of(one)[:3, 3] for one in outcome.program.moves])
    if not np.abs(offsets).max(initial=0.0) > 0.0:
        return None
    T = fk(outcome.robot, q)
    tip = T[:, :3, 3] + np.einsum("nij,nj->ni", T[:, :3, :3], offsets[move])
    return np.stack([T[:, :3, 3], tip], axis=1)


def _floor(outcome: ProgramRun, links: LinkCapsules) -> tuple[HalfSpace | None, list[str]]:
    """Return the floor, or why there is none."""
    robot, height = outcome.robot, outcome.floor
    if height is None:
        return None, ["the floor was not asked for"]
    first = robot.bodies[0]
    axis = robot.T_base_root[:3, :3] @ first.T_parent_joint[:3, :3] @ first.axis
    up = np.array([0.0, 0.0, 1.0])
    if robot.joints[first.joint].kind != "revolute" or abs(float(axis @ up)) < 1.0 - 1e-6:
        return None, ["the floor was not checked: the first joint does not turn about the base's z axis"]
    plane = HalfSpace(name=FLOOR, point=(0.0, 0.0, height), normal=(0.0, 0.0, 1.0))
    q = _postures(robot)
    ends = link_ends(fk_all(robot, q), links)
    for k in range(links.body.size):
        under = axis_gaps(plane, ends[:, k, 0], ends[:, k, 1]) < SURE_SHARE * links.radius[k]
        if under.all() and robot.bodies[links.body[k]].parent >= 0:
            name = robot.bodies[links.body[k]].name
            why = (
                f"the floor was not checked: {name} would always be in a floor at {height:g} m of the base, so the "
                "sheet's base does not stand on it; --floor Z says where it is"
            )
            return None, [why]
    return plane, []


def _postures(robot: Robot) -> Array:
    """Return random postures within the joint ranges, or one turn where a joint has none."""
    low, high = (
        np.array([np.clip(getattr(j.limits, end), -np.pi, np.pi) for j in robot.joints]) for end in ("lower", "upper")
    )
    return np.asarray(np.random.default_rng(0).uniform(low, high, (SAMPLED_POSTURES, robot.n)))


def _own_pairs(robot: Robot, links: LinkCapsules, ends: Array, tips: Array | None) -> Iterator[_Pair]:
    """Yield pairs of links that can come nearer: no neighbours, and not overlapping in all postures."""
    body, radius, names = links.body, links.radius, [b.name for b in robot.bodies]
    for i, j in robot.memo(("own pairs", links), _apart, links):
        axes = pair_gaps(*(ends[:, k, e] for k in (i, j) for e in (0, 1)))
        yield _Pair(names[body[j]], names[body[i]], axes, float(radius[i] + radius[j]))
    if tips is None:
        return
    last = set(np.flatnonzero(body == robot.tip).tolist())
    kept = {i for i, j in robot.memo(("own pairs", links), _apart, links) if j in last}
    for i in sorted(kept):
        axes = pair_gaps(tips[:, 0], tips[:, 1], ends[:, i, 0], ends[:, i, 1])
        yield _Pair(TOOL, names[body[i]], axes, float(radius[i]))


def _apart(robot: Robot, links: LinkCapsules) -> tuple[tuple[int, int], ...]:
    ends = link_ends(fk_all(robot, _postures(robot)), links)
    out = []
    for i in range(links.body.size):
        for j in range(i + 1, links.body.size):
            a, b = int(links.body[i]), int(links.body[j])
            if a == b or robot.bodies[b].parent == a or robot.bodies[a].parent == b:
                continue
            gap = pair_gaps(*(ends[:, k, e] for k in (i, j) for e in (0, 1)))
            if not (gap < links.radius[i] + links.radius[j]).all() and np.ptp(gap) > STEP:
                out.append((i, j))
    return tuple(out)


def _shape_pairs(
    robot: Robot, links: LinkCapsules, ends: Array, tips: Array | None, shapes: list[tuple[str, Shape]]
) -> Iterator[_Pair]:
    """Yield every link and the tool against every shape; what stands on a floor is not asked whether it touches it."""
    for name, shape in shapes:
        for k in range(links.body.size):
            if isinstance(shape, HalfSpace) and robot.bodies[links.body[k]].parent < 0:
                continue
            near = 2.0 * float(links.radius[k])
            axes = axis_gaps(shape, ends[:, k, 0], ends[:, k, 1], near)
            yield _Pair(robot.bodies[links.body[k]].name, name, axes, float(links.radius[k]))
        if tips is not None:
            yield _Pair(TOOL, name, axis_gaps(shape, tips[:, 0], tips[:, 1], TOUCH_DEPTH), 0.0)


def _nearest(pairs: list[_Pair], time: Array, move: NDArray[np.int64]) -> list[NearPair]:
    """Return one row per pair of names."""
    best: dict[tuple[str, str], NearPair] = {}
    for pair in pairs:
        k = int(np.argmin(pair.axes))
        row = NearPair(pair.part, pair.other, float(pair.axes[k]) - pair.radius, float(time[k]), int(move[k]))
        key = (pair.part, pair.other)
        if key not in best or row.distance < best[key].distance:
            best[key] = row
    return list(best.values())


def _contacts(pair: _Pair, time: Array, move: NDArray[np.int64]) -> Iterator[WayContact]:
    gap = pair.axes - pair.radius
    at = np.flatnonzero(gap < -TOUCH_DEPTH)
    if not at.size:
        return
    cuts = np.flatnonzero(np.diff(at) > MERGED_LOOKS + 1)
    for first, last in zip(at[np.r_[0, cuts + 1]].tolist(), at[np.r_[cuts, at.size - 1]].tolist(), strict=True):
        k = first + int(np.argmin(gap[first : last + 1]))
        sure = bool(pair.axes[k] < SURE_SHARE * pair.radius - TOUCH_DEPTH)
        times = float(time[first]), float(time[last]), float(time[k])
        yield WayContact(pair.part, pair.other, sure, *times, -float(gap[k]), int(move[k]))
