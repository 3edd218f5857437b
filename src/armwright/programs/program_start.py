# SPDX-License-Identifier: Apache-2.0
"""Where a plan begins, at first and behind each gap: at rest in the first target that is known.

How the arm came there nobody can say, so the way to that target is no part of the plan. The posture is the target's own
if it is one of joints; else the one that its status names; else, at first, the one farthest from being singular among
those that keep `RANGE_MARGIN` of every joint's range and can follow the path behind it; behind a gap the one nearest to
where the arm was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.kinematics import fk, ik, jacobian
from armwright.kinematics.extent import weights
from armwright.kinematics.ik_limits import SLACK, fit_turns, middle
from armwright.motion.joint_curve import closed_form
from armwright.programs.legs import flange_of, impossible, nearest_posture, out_of_reach, pose_of, tool_of
from armwright.programs.posture_status import by_status, has_status, words_of
from armwright.programs.program import Joints, Pose

if TYPE_CHECKING:
    from armwright.programs.legs import Walker
    from armwright.programs.program import Move
    from armwright.robot.model import Robot
    from armwright.types import Array

RANGE_MARGIN = 0.05  # of each joint's range, at both of its ends
STARTS_TRIED = 24  # seeds from which arms without closed-form inverse kinematics look for postures
ANOTHER_POSTURE = 0.3  # [rad or m] by which a joint differs in what counts as another posture
DOWN = np.diag([1.0, -1.0, -1.0])  # the tool points to the floor, its x axis along that of the base


def known_target(move: Move) -> bool:
    """Return whether a move's target says all that a plan needs to begin there; of a place, its position will do."""
    if isinstance(move.target, Joints):
        return all(move.target.known)
    return isinstance(move.target, Pose) and not any(move.target.free)


def standing_at(walker: Walker, index: int, before: Array | None, *, led: str = "that are not known") -> Array:
    """Return the posture (n,) in which a plan begins at the target of a move, and note it.

    Args:
        walker: has the arm and the program, and takes the note.
        index: of the move.
        before: (n,) where the arm was before a gap; None at first.
        led: what moves lead to this target, for the note.

    Raises:
        ProgramError: a target out of reach or outside the joint limits.
    """
    move, robot = walker.program.moves[index], walker.robot
    at = middle(robot) if before is None else before
    if isinstance(move.target, Joints):
        q = walker.joint_goal(index, at)
        lacking = "" if known_target(move) and move.target.q.size == robot.n else "; joints that it leaves out at "
        lacking += "" if not lacking else "the middle of their range" if before is None else "where they were"
        why = f"the joints of that target{lacking}"
    else:
        q, why = _of_pose(walker, index, at, first=before is None)
    angles = ", ".join(f"{value:.2f}" for value in np.round(np.degrees(q), 2) + 0.0)
    if before is None:
        walker.note(
            move,
            "nothing says where the arm is at first: the plan begins at rest in the first target, and the way there is "
            f"not checked (--start says where it begins); posture ({angles})°: {why}",
        )
    else:
        walker.note(
            move,
            f"the way to this target leads through moves {led}: the plan begins anew at rest in it, and "
            f"the way there is not checked; posture ({angles})°: {why}",
        )
    return q


def _of_pose(walker: Walker, index: int, at: Array, *, first: bool) -> tuple[Array, str]:
    """Return a posture (n,) that reaches the pose of a move, and why it is this one."""
    move, robot, language = walker.program.moves[index], walker.robot, walker.program.language
    assert isinstance(move.target, Pose)
    T_now = fk(robot, at) @ tool_of(move)
    T = pose_of(move, T_now)
    options = solved(robot, flange_of(move, T), at)
    open_turn = not move.target.oriented or move.orientation == "fixed"
    turned = ""
    if open_turn:
        turned = ", the tool turned as in the middle of the ranges" if first else ", the tool turned as before"
        if first and not len(options):
            T[:3, :3] = DOWN
            options, turned = solved(robot, flange_of(move, T), at), ", the tool pointing down"
    if not len(options):
        raise out_of_reach(walker, move, T, at)
    status = move.target.status
    if has_status(robot, status, language):
        found, _ = by_status(robot, options, at, status, language)
        words = words_of(status, language)
        if found is not None:
            return found, f"the one of its status {words}"
        walker.note(move, f"no posture within the joint limits reaches the target with its status {words}")
    if not first:
        q, why = nearest_posture(robot, options, at), f"the nearest to where the arm was{turned}"
    else:
        by_rank = agile(robot, options, at)
        walker.start_options = len(by_rank)
        q, why = by_rank[walker.start_rank], f"the farthest from a singular one{turned}"
        if walker.start_rank:
            why += ", of those from which the program can go on"
    outside = (q < robot.lower - SLACK) | (q > robot.upper + SLACK)
    if outside.any():
        j = int(np.argmax(outside))
        raise impossible(
            walker.program,
            move,
            f"joint {j + 1} ({robot.joints[j].name!r}) of {robot.name!r} would stand at {np.degrees(q[j]):.2f}°, "
            "outside its range",
            f"{np.degrees(robot.lower[j]):.2f}° to {np.degrees(robot.upper[j]):.2f}°",
        )
    return q, why


def solved(robot: Robot, T: Array, seed: Array) -> Array:
    """Return postures (K, n) that bring the flange to T (4, 4)."""
    if closed_form(robot):
        found: Any = ik(robot, T, seed=seed, limits=False, restarts=0)
        return np.asarray(found.solutions)
    found = ik(robot, T, seed=seed, limits=True)
    here: Array = np.asarray(found.solutions[found.within_limits])
    return np.concatenate([here, _others(robot, T, here)])


def _others(robot: Robot, T: Array, known: Array) -> Array:
    """Return further postures (K, n) within the limits, far from each other, of an arm without a closed form.

    They come from seeds spread over the joints' ranges, always the same ones.
    """
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    low, high = np.where(bounded, robot.lower, -np.pi), np.where(bounded, robot.upper, np.pi)
    seeds = np.random.default_rng(0).uniform(low, high, (STARTS_TRIED, robot.n))
    tried: Any = ik(robot, np.broadcast_to(T, (STARTS_TRIED, 4, 4)), seed=seeds, limits=True, restarts=0)
    out: list[Array] = []
    for q in tried.solutions[:, 0][tried.ok]:
        if all(np.abs(q - other).max() > ANOTHER_POSTURE for other in (*known, *out)):
            out.append(q)
    return np.array(out).reshape(-1, robot.n)


def agile(robot: Robot, options: Array, at: Array) -> Array:
    """Return postures by the smallest singular value of the weighted Jacobian, largest first, away from the limits.

    None outside the limits, unless there is no other.
    """
    fitted = fit_turns(robot, options, np.broadcast_to(at, options.shape), True)
    q = fitted.q
    with np.errstate(invalid="ignore"):
        margin = RANGE_MARGIN * (robot.upper - robot.lower)
    margin = np.where(np.isfinite(margin), margin, 0.0)
    roomy = ((q >= robot.lower + margin) & (q <= robot.upper - margin)).all(axis=1)
    least = np.linalg.svd(jacobian(robot, q) * weights(robot)[:, None], compute_uv=False)[:, -1]
    # nearer than rounding no posture is better than another: the nearest to the middle, so that a run repeats
    score = np.round(least / max(float(least.max()), 1e-300), 6) - 1e-9 * np.linalg.norm(q - at, axis=1)
    order = np.argsort(-(score + 10.0 * roomy + 100.0 * fitted.inside), kind="stable")
    return np.asarray(q[order][: max(1, int(fitted.inside.sum()))])
