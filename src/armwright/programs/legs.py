# SPDX-License-Identifier: Apache-2.0
"""From moves to geometry: each move becomes a leg, straight in joint space or a segment of the tool's path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, ProgramError
from armwright.kinematics import fk, ik
from armwright.kinematics.extent import farthest
from armwright.kinematics.ik_limits import SLACK, fit_turns
from armwright.motion.cartesian_path import ZERO_LENGTH, CartesianPath, circle_about, circle_via, line
from armwright.motion.joint_curve import closed_form
from armwright.motion.tool_path import ON_THE_SPOT, Segment, segment_of, spline_segments
from armwright.programs.impossible_moves import MoveImpossibleError
from armwright.programs.posture_status import by_status, fit_status, has_status, status_of, words_of
from armwright.programs.program import Joints, Pose, Stop, Tangent
from armwright.programs.reading import Note
from armwright.spatial import apply, exp_so3, inverse, log_so3

if TYPE_CHECKING:
    from armwright.programs.program import Blend, Move, Program
    from armwright.robot.model import Robot
    from armwright.types import Array

LOOKS = np.linspace(0.0, 1.0, 17)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Leg:
    """The way of one move.

    Attributes:
        index: of the move in the program.
        length: its share of the path [m]: of a tool segment as programmed, of a joint move the travel of its tool.
        segment: what the tool does, or None for a joint move, which goes straight from q[0] to q[1] (2, n).
        q: joints at both ends of a joint move; empty for a tool segment.
        T_end: (4, 4) T_base_tool at the end of a tool segment.
        blend: what happens at its end.
        wait: how long to rest after it [s].
    """

    index: int
    length: float
    segment: Segment | None
    q: Array
    T_end: Array
    blend: Blend
    wait: float = 0.0


class Walker:
    """Turns moves into legs, with the notes and errors that belong to them."""

    def __init__(self, robot: Robot, program: Program) -> None:
        """Solve all pose targets of joint moves at once."""
        self.robot, self.program = robot, program
        self.notes: list[Note] = []
        self._noted: set[Note] = set()
        self.postures = _postures(robot, program)
        self.sharp: list[Move] = []  # that are to be passed, but end at a corner: the arm stops there
        self.start_rank, self.start_options = 0, 1  # which of the postures at the first target is tried, of how many

    def note(self, move: Move, text: str) -> None:
        """Add a note about a move for the user; in a loop once."""
        note = Note(move.line, text)
        if not move.line or note not in self._noted:
            self._noted.add(note)
            self.notes.append(note)

    def begin_anew(self) -> None:
        """Forget what was noted, before the whole program is laid once more."""
        self.notes.clear()
        self._noted.clear()
        self.sharp.clear()

    def refuse(self, move: Move, message: str, valid: str = "") -> ProgramError:
        """Return an error that names the line and the move's text."""
        return refusal(self.program, move, message, valid)

    def impossible(self, move: Move, message: str, valid: str = "") -> MoveImpossibleError:
        """Return the error of a move that the arm cannot make."""
        return impossible(self.program, move, message, valid)

    def joint_leg(self, index: int, q: Array) -> Leg | None:
        """Return the leg of a joint move from joints q (n,); None if it has no length."""
        move = self.program.moves[index]
        goal = self.joint_goal(index, q)
        turn = float(np.abs(goal - q).max())
        if turn < ZERO_LENGTH:
            self.note(move, "the move has no length and is left out: the arm is there already")
            return None
        p = (fk(self.robot, q + LOOKS * (goal - q)) @ tool_of(move))[:, :3, 3]
        travel = float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum())
        return Leg(index, max(travel, ON_THE_SPOT * turn), None, np.stack([q, goal]), np.eye(4), move.blend)

    def joint_goal(self, index: int, q: Array) -> Array:
        """Return the joints (n,) at the end of a joint move from q (n,); refuse what is outside their ranges."""
        move, goal = self.program.moves[index], self._goal(index, q)
        low, high = self.robot.lower - SLACK, self.robot.upper + SLACK
        outside = (goal < low) | (goal > high)
        if outside.any():
            j = int(np.argmax(outside))
            joint = self.robot.joints[j]
            raise self.impossible(
                move,
                f"joint {j + 1} ({joint.name!r}) of {self.robot.name!r} would stand at {np.degrees(goal[j]):.2f}°, "
                "outside its range",
                f"{np.degrees(self.robot.lower[j]):.2f}° to {np.degrees(self.robot.upper[j]):.2f}°",
            )
        return goal

    def _goal(self, index: int, q: Array) -> Array:
        """Return the joints (n,) at the end of a joint move that begins at q (n,)."""
        move = self.program.moves[index]
        target = move.target
        if isinstance(target, Joints):
            goal = q.copy()
            known = np.flatnonzero(target.known)
            goal[known] = target.q[known]
            return goal
        options = self.postures.get(index)
        if options is None:  # the target keeps the arm's orientation, or there is no closed form
            T = pose_of(move, fk(self.robot, q) @ tool_of(move))
            closed = closed_form(self.robot)
            found: Any = ik(self.robot, flange_of(move, T), seed=q, limits=not closed)
            options = found.solutions if closed else found.solutions[found.within_limits]
        if options.shape[0] == 0:
            raise out_of_reach(self, move, pose_of(move, fk(self.robot, q) @ tool_of(move)), q)
        return self._posture(move, options, q)

    def _posture(self, move: Move, options: Array, q: Array) -> Array:
        """Return the posture (n,) of a target by its status, else the nearest to q (n,)."""
        near = nearest_posture(self.robot, options, q)
        status, language = getattr(move.target, "status", ()), self.program.language
        if not has_status(self.robot, status, language):
            return near
        found, turns = by_status(self.robot, options, q, status, language)
        words = words_of(status, language)
        if found is None:
            self.note(
                move,
                f"no posture within the joint limits reaches the target with its status {words}: the nearest one is "
                f"taken, {words_of(status_of(self.robot, near, language), language)}",
            )
            return near
        if not turns:
            self.note(
                move,
                f"no posture has the turns of its status {words}: the one with its shoulder, elbow and wrist is taken "
                f"that is nearest, {words_of(status_of(self.robot, found, language), language)}",
            )
        elif not fit_status(self.robot, q[None], status, language).branch[0]:
            self.note(move, f"its status {words} asks for another posture than the arm comes in: the arm changes it")
        return found

    def check_status(self, index: int, q: Array) -> None:
        """Note where a tool move ends at joints q (n,) in another posture than its status says.

        Only RAPID watches it (ConfL); in KRL the posture of LIN and CIRC is that of their start.
        """
        move, language = self.program.moves[index], self.program.language
        status = getattr(move.target, "status", ())
        if language != "rapid" or not has_status(self.robot, status, language):
            return
        if not fit_status(self.robot, q[None], status, language).branch[0]:
            is_now = words_of(status_of(self.robot, q, language), language)
            self.note(
                move,
                f"the tool's path ends in the posture {is_now}, not in its status {words_of(status, language)}: the "
                "path decides, a controller that watches it (ConfL) would stop here",
            )

    def goal_pose(self, move: Move, T_now: Array) -> Array:
        """Return T_base_tool (4, 4) at the target of a tool move; joints mean the pose that they have."""
        if isinstance(move.target, Joints):
            q = move.target.q
            if q.size != self.robot.n or not all(move.target.known):
                raise self.refuse(move, f"a tool move to {q.size} joints", f"all {self.robot.n} joints, or a pose")
            return np.asarray(fk(self.robot, q) @ tool_of(move))
        return pose_of(move, T_now)

    def tool_leg(self, index: int, T: Array) -> Leg | None:
        """Return the leg of a line or an arc from the tool pose T (4, 4); None if it has no length."""
        move = self.program.moves[index]
        end = self.goal_pose(move, T)
        if move.kind == "line" and _coincide(T, end):
            self.note(move, "the move has no length and is left out: the tool is there already")
            return None
        try:
            path = line(T, end) if move.kind == "line" else _arc(move, T, end)
        except InputError as error:
            raise self.impossible(move, str(error)) from error
        segment = segment_of(path, with_path=move.orientation == "with_path")
        if move.arc_angle is not None:
            end = path.T_end
        if move.orientation == "with_path" and isinstance(move.target, Pose) and not move.target.oriented:
            segment = replace(segment, turn=np.zeros(3))
            end[:3, :3] = exp_so3(segment.spin) @ T[:3, :3]
        return Leg(index, segment.length, segment, np.zeros((0, 0)), end, move.blend)

    def spline_legs(self, first: int, last: int, T: Array, tangent: Array | None) -> list[Leg]:
        """Return the legs of spline moves first … last − 1, one smooth curve from the tool pose T (4, 4)."""
        moves = self.program.moves
        poses, indices = [T], []
        for index in range(first, last):
            pose = self.goal_pose(moves[index], poses[-1])
            if np.linalg.norm(pose[:3, 3] - poses[-1][:3, 3]) < ZERO_LENGTH:
                self.note(moves[index], "the spline point coincides with the one before and is left out")
                continue
            poses.append(pose)
            indices.append(index)
        if not indices:
            return []
        P, R = np.array([T[:3, 3] for T in poses]), np.array([T[:3, :3] for T in poses])
        turns = np.array([log_so3(b @ a.T) for a, b in pairwise(R)])
        segments = spline_segments(P, R[:-1], turns, tangents=(tangent, None))
        # inside the curve the points are passed, whatever their blend says
        blends = [*(Tangent() for _ in indices[1:]), moves[indices[-1]].blend]
        parts = zip(indices, segments, poses[1:], blends, strict=True)
        return [Leg(k, s.length, s, np.zeros((0, 0)), T, blend) for k, s, T, blend in parts]


def nearest_posture(robot: Robot, options: Array, q: Array) -> Array:
    """Return the one of postures (K, n) that is nearest to q (n,), full turns counted, within the limits if it can."""
    fitted = fit_turns(robot, options, np.broadcast_to(q, options.shape), True)
    far = np.linalg.norm(fitted.q - q, axis=1) + np.where(fitted.inside, 0.0, 1e6)
    return np.asarray(fitted.q[np.argmin(far)])


def refusal(program: Program, move: Move, message: str, valid: str = "") -> ProgramError:
    """Return an error about one move of a program."""
    return ProgramError(message, file=program.file, line=move.line, word=move.text, valid=valid)


def impossible(program: Program, move: Move, message: str, valid: str = "") -> MoveImpossibleError:
    """Return the error of a move that an arm cannot make."""
    return MoveImpossibleError(message, file=program.file, line=move.line, word=move.text, valid=valid)


def out_of_reach(walker: Walker, move: Move, T: Array, q: Array) -> MoveImpossibleError:
    """Return the error of a target T (4, 4) T_base_tool that no posture reaches; `q` (n,) is where the arm was."""
    robot = walker.robot
    goal = flange_of(move, T)
    away, most = float(np.linalg.norm(goal[:3, 3])), robot.memo("farthest", farthest)
    said = f"the target {_named(move.target)}is out of reach of {robot.name!r}"
    if away > most:  # joint angles of a closest approach would tell nothing
        return walker.impossible(
            move,
            f"{said}: its flange would be {away:.3g} m from the base, and comes no farther than {most:.3g} m",
            f"places within {most:.3g} m of the base, or a base, work object or part that lies nearer",
        )
    closest: Any = ik(robot, goal, seed=q, limits=False)
    posture = fit_turns(robot, closest.closest[None], q[None], True).q[0]
    return walker.impossible(
        move,
        f"{said}: the closest approach misses it by {1e3 * closest.closest_position_error:.1f} mm and "
        f"{np.degrees(closest.closest_rotation_error):.1f}°",
        f"joints {np.round(np.degrees(posture), 2).tolist()}° come closest",
    )


def tool_of(move: Move) -> Array:
    """Return T_flange_tool (4, 4) of a move."""
    return np.eye(4) if move.T_flange_tool is None else np.asarray(move.T_flange_tool)


def pose_of(move: Move, T_now: Array) -> Array:
    """Return T_base_tool (4, 4) at a move's target; T_now (4, 4) at its start has what the target leaves open."""
    assert isinstance(move.target, Pose)
    T = placed(move, move.target, T_now)
    if not move.target.oriented or move.orientation == "fixed":
        T[:3, :3] = T_now[:3, :3]
    return T


def placed(move: Move, target: Pose, T_now: Array) -> Array:
    """Return T_base_tool (4, 4) of a target; its free coordinates count from T_now (4, 4)."""
    T = np.array(target.T)
    if any(target.free):
        free = np.flatnonzero(target.free)
        T[free, 3] += apply(inverse(move.T_base_frame), T_now[:3, 3])[free]
    return np.array(move.T_base_frame @ T)


def rested(leg: Leg, wait: float = 0.0) -> Leg:
    """Return the same leg with a stop, and a longer wait, after it."""
    return replace(leg, blend=Stop(), wait=leg.wait + wait)


def flange_of(move: Move, T: Array) -> Array:
    """Return T_base_flange (4, 4) where the tool of a move is at T (4, 4)."""
    return np.asarray(T @ np.linalg.inv(tool_of(move)))


def _named(target: Any) -> str:
    return f"{target.name!r} " if getattr(target, "name", "") else ""


def _coincide(a: Array, b: Array) -> bool:
    return (
        float(np.linalg.norm(a[:3, 3] - b[:3, 3])) < ZERO_LENGTH
        and float(np.abs(a[:3, :3] - b[:3, :3]).max()) < ZERO_LENGTH
    )


def _arc(move: Move, T: Array, end: Array) -> CartesianPath:
    """Return the arc of a move; refuse with the reason where there is none."""
    assert move.via is not None
    via = placed(move, move.via, T)[:3, 3]
    if np.linalg.norm(end[:3, 3] - T[:3, 3]) < ZERO_LENGTH:
        raise InputError(
            "start and end of the circle coincide: three points of which two are one name no circle. "
            "Write a full circle as two arcs, or as an arc with an angle of 360°"
        )
    path = circle_via(T, via, end)
    if move.arc_angle is None:
        return path
    return circle_about(T, path.centre, path.normal, move.arc_angle, end[:3, :3])


def _postures(robot: Robot, program: Program) -> dict[int, Array]:
    """Return all postures (K, n) that reach the pose targets of joint moves, by move; one call for the program."""
    posed = [
        k
        for k, move in enumerate(program.moves)
        if move.kind == "joint"
        and isinstance(move.target, Pose)
        and move.target.oriented
        and not any(move.target.free)
        and move.orientation != "fixed"
    ]
    if not (posed and closed_form(robot)):
        return {}
    T = np.array([flange_of(program.moves[k], pose_of(program.moves[k], np.eye(4))) for k in posed])
    found: Any = ik(robot, T, limits=False, restarts=0)
    return {k: found.solutions[i, : found.count[i]] for i, k in enumerate(posed)}
