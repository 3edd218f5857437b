# SPDX-License-Identifier: Apache-2.0
"""`Route`: the whole program as one curve of the joints over the travelled length, corners rounded and stops marked.

Moves of the tool that follow one another are one tool path, solved in one call; joint moves are straight. Where a joint
move is blended with anything, the corner is rounded in joint space (`corners`). A tool path that the arm cannot follow
is refused with line, millimetre, joint and the nearest thing that works (`path_refusal`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, NotSupportedError, ProgramError
from armwright.kinematics import fk, ik
from armwright.motion.corner_blend import TANGENT_ANGLE, corner_angles, join
from armwright.motion.joint_curve import along
from armwright.motion.path_error import PathError
from armwright.motion.trajectory import Trajectory
from armwright.programs.corners import CornerRun, chain, fit_zones, sharp_words, stops_at_corners, tool_corner
from armwright.programs.impossible_moves import ImpossibleMove, MoveImpossibleError
from armwright.programs.legs import Walker, rested, tool_of
from armwright.programs.program import Stop, Tangent
from armwright.programs.program_start import known_target, standing_at
from armwright.programs.reading import Note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.tool_path import ToolPath
    from armwright.programs.legs import Leg
    from armwright.programs.program import Move, Program
    from armwright.robot.model import Robot
    from armwright.types import Array


def path_refusal(
    walker: Walker, legs: list[Leg], path: ToolPath, tool: Array, q: Array, error: PathError
) -> MoveImpossibleError:
    """Return the error of a program for a tool path that an arm cannot follow."""
    k = _leg_at(path, legs, error)
    into = error.sigma - path.corners[k]
    move = walker.program.moves[legs[k].index]
    message = f"{1e3 * into:.1f} mm into this move of {1e3 * legs[k].length:.1f} mm {error.what}"
    refused = walker.impossible(move, message, _what_works(walker, path, tool, q, error, into))
    refused.leg = k
    return refused


def _leg_at(path: ToolPath, legs: list[Leg], error: PathError) -> int:
    """Return which of the legs of a tool path the arm cannot follow."""
    return min(int(np.searchsorted(path.corners[1:], error.sigma, side="left")), len(legs) - 1)


def _what_works(walker: Walker, path: ToolPath, tool: Array, q: Array, error: PathError, into: float) -> str:
    """Return the nearest thing that works: another posture at the start, a joint move, or the part in reach."""
    if error.reason == "reach":
        return f"targets up to {1e3 * into:.1f} mm along this move, or a shorter tool"
    found: Any = ik(walker.robot, path.T_start @ np.linalg.inv(tool), seed=q, limits=True, restarts=0)
    for other in found.solutions[found.within_limits][1:]:
        try:
            along(walker.robot, path, other, tool)
        except InputError:
            continue
        angles = ", ".join(f"{value:.2f}" for value in np.degrees(other))
        return f"the same path from the posture ({angles})°, reached by a joint move before it"
    return "a joint move (PTP, MoveJ, movej) past this place, or another orientation of the tool"


TURNING_BACK = np.radians(170.0)  # beyond this a corner cannot be passed at a useful speed


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """The path of the arm, without its timing.

    Attributes:
        curve: joints by the travelled length ℓ [m], quintic pieces; only where the arm stops may the direction jump.
        owner: (m,) index of the move that each piece belongs to.
        rounded: (m,) pieces of corners rounded in joint space.
        blended: (m,) pieces of all corners that are rounded.
        stops: (m+1,) where the arm is at rest, both ends included.
        waits: (m+1,) how long it stays there [s].
        notes: what had to be changed or assumed.
        leaps: (m+1,) stops at which the arm is set down elsewhere, behind moves that are not known: there q jumps.
        unchecked: indices of moves whose way is not known, and that the route leaves out.
        impossible: moves that the arm cannot make, and that the route leaves out.
    """

    curve: Trajectory
    owner: NDArray[np.int64]
    rounded: NDArray[np.bool_]
    stops: NDArray[np.bool_]
    waits: Array
    notes: tuple[Note, ...]
    leaps: NDArray[np.bool_]
    blended: NDArray[np.bool_]
    unchecked: tuple[int, ...] = ()
    impossible: tuple[ImpossibleMove, ...] = ()

    @property
    def sections(self) -> list[tuple[int, int]]:
        """Return first and last knot of every section between stops."""
        at = np.flatnonzero(self.stops).tolist()
        return list(pairwise(at))

    def part(self, first: int, last: int) -> Trajectory:
        """Return the curve between two of its knots, its length counted from the first."""
        breaks = self.curve.breaks[first : last + 1]
        return Trajectory(breaks - breaks[0], self.curve.coefficients[first:last])


def route(robot: Robot, program: Program, q_start: Array | None = None, *, leave_out: bool = False) -> Route:
    """Lay the way of a program from joints q_start (n,); None begins at its first target (see `program_start`).

    With `leave_out` moves that the arm cannot make are left out, as those that are not known, if any other can be made.

    Raises:
        ProgramError: a move that cannot be made; names line, place on the move, joint, and what would work.
    """
    walker = Walker(robot, program)
    laid = _first_that_works(walker, q_start, leave_out=leave_out)
    if not laid.runs:
        if laid.unchecked:
            gaps = program.reading.gaps if program.reading is not None else ()
            why = f"; line {gaps[0].line} is not known: {gaps[0].reason}" if gaps else ""
            raise ProgramError(
                f"nothing to check: the way to the only target that is known is not known itself{why}",
                file=program.file,
                line=program.moves[laid.unchecked[0]].line,
                valid="where the arm begins (--start home, --start with its joints; start_q), or a second target",
            )
        raise ProgramError(
            "every move that is known leads to where the arm stands already: there is nothing to check",
            file=program.file,
            line=next(move.line for move in program.moves if move.kind != "wait"),
            valid="a move that leads away, or another --start (start_q)",
        )
    whole, waits, begins = chain(walker, laid.runs)
    waits[0] += laid.first_wait
    if walker.sharp:
        walker.note(walker.sharp[0], sharp_words(len(walker.sharp)))
    breaks = np.concatenate([[0.0], np.cumsum(whole.h)])
    stops = np.concatenate([[True], whole.stop])
    leaps = np.zeros(stops.size, dtype=bool)
    leaps[[begins[run] for run in laid.anew if 0 < run < len(laid.runs)]] = True
    return Route(
        Trajectory(breaks, whole.c),
        whole.owner,
        whole.rounded,
        stops,
        waits,
        tuple(walker.notes),
        leaps,
        whole.blended,
        tuple(laid.unchecked),
        tuple(ImpossibleMove(k, error.words, error.valid) for k, error in sorted(laid.impossible.items())),
    )


@dataclass(slots=True)
class _Laid:
    """What was laid so far: runs, those that begin anew, moves left out and why, and the wait before all [s]."""

    runs: list[CornerRun] = field(default_factory=list)
    anew: list[int] = field(default_factory=list)
    unchecked: list[int] = field(default_factory=list)
    impossible: dict[int, MoveImpossibleError] = field(default_factory=dict)
    leave_out: bool = False
    first_wait: float = 0.0


MOST_POSTURES = 8  # at the first target that are tried for a program with moves that cannot be made


def _first_that_works(walker: Walker, q_start: Array | None, *, leave_out: bool) -> _Laid:
    """Lay the way from q_start, or from the first of the postures at the first target from which it can be followed.

    If there is none, `leave_out` takes the one from which the fewest moves cannot be made.
    """
    refused: ProgramError | None = None
    while True:
        laid = _Laid()
        try:
            _lay(walker, laid, q_start)
        except ProgramError as error:
            refused = refused or error
            walker.start_rank += 1
            if isinstance(error.__cause__, PathError) and walker.start_rank < walker.start_options:
                walker.begin_anew()
                continue
            if leave_out and isinstance(refused, MoveImpossibleError):
                return _fewest_left_out(walker, q_start, refused)
            raise refused from error
        return laid


def _fewest_left_out(walker: Walker, q_start: Array | None, refused: ProgramError) -> _Laid:
    """Lay the way without the moves that cannot be made, as few as the first posture's choice allows."""
    ranks, fewest = range(min(walker.start_rank, MOST_POSTURES)), 0
    left_out: list[int] = []
    for rank in (*ranks, None):
        if rank is None:
            fewest = int(np.argmin(left_out))
            if fewest == ranks[-1]:
                break  # it was the last one laid
        walker.start_rank = fewest if rank is None else rank
        walker.begin_anew()
        laid = _Laid(leave_out=True)
        _lay(walker, laid, q_start)
        left_out.append(len(laid.impossible))
    if not laid.runs:
        raise refused
    return laid


def _lay(walker: Walker, laid: _Laid, start: Array | None) -> None:
    """Lay joint moves one by one, tool moves with one tool together, with their joints."""
    moves, reading = walker.program.moves, walker.program.reading
    gaps = {gap.before for gap in reading.gaps} if reading is not None else set()
    runs = laid.runs
    legs: list[Leg] = []  # tool moves not yet solved
    before = q = start  # joints before what is not known, and now
    lost, k, led = start is None, 0, ""
    whole = any(map(known_target, moves))  # a target that leaves nothing open; else the first one has to do
    while k <= len(moves):
        move = moves[k] if k < len(moves) else None
        if legs and q is not None and (move is None or k in gaps or not _goes_on(walker, legs, move)):
            if move is not None and k in gaps:
                _stop_here(walker, runs, legs, 0.0, why="is led on by a move that is not known")
            q, broken = _tool_runs(walker, laid, legs, q)
            legs = []
            if broken is not None:  # everything behind it once more, from where the arm then is
                lost, before, k, led = True, q, broken + 1, CANNOT
                continue
        if move is None:
            break
        last = k + 1
        if k in gaps and q is not None:
            _stop_here(walker, runs, legs, 0.0, why="is led on by a move that is not known")
            lost, before, led = True, q, NOT_KNOWN
        if move.kind == "wait":
            seconds = getattr(move.speed, "seconds", 0.0)
            if not (lost and runs) and not _stop_here(walker, runs, legs, seconds, why="waits there"):
                laid.first_wait += seconds
            k = last
            continue
        try:
            if lost:
                if known_target(move) or (before is None and not whole):
                    q, lost = standing_at(walker, k, before, led=led), False
                    laid.anew.append(len(runs))
                else:
                    walker.note(move, "where it begins is not known, and it names no whole target: left out")
                laid.unchecked.append(k)
                k = last
                continue
            assert q is not None
            if move.kind == "joint":
                leg = walker.joint_leg(k, q)
                new = [] if leg is None else [leg]
                if leg is not None:
                    runs.append(CornerRun.straight(leg))
                    q = leg.q[1]
            else:
                T = legs[-1].T_end if legs else fk(walker.robot, q) @ tool_of(move)
                if move.kind == "spline":
                    while last < len(moves) and moves[last].kind == "spline" and last not in gaps:
                        last += 1
                    new = walker.spline_legs(k, last, T, _direction(legs))
                else:
                    leg = walker.tool_leg(k, T)
                    new = [] if leg is None else [leg]
                legs += new
        except MoveImpossibleError as error:
            if not laid.leave_out:
                raise
            laid.impossible[k] = error
            if q is not None and not lost:
                _stop_here(walker, runs, legs, 0.0, why="cannot go on")
                if legs:
                    q, broken = _tool_runs(walker, laid, legs, q)
                    legs = []
                    if broken is not None:  # not from here, but from where the arm begins anew, if at all
                        del laid.impossible[k]
                        last = broken + 1
                before = q
            lost, led, k = True, CANNOT, last
            continue
        if not new and isinstance(move.blend, Stop):
            _stop_here(walker, runs, legs, 0.0, why="the next move has no length")
        k = last


NOT_KNOWN, CANNOT = "that are not known", "that the arm cannot make"


def _goes_on(walker: Walker, legs: list[Leg], move: Move) -> bool:
    """Return whether a move belongs to the tool path of the legs before it; a wait leaves that open."""
    if move.kind == "wait":
        return True
    return move.kind != "joint" and np.array_equal(tool_of(move), tool_of(walker.program.moves[legs[-1].index]))


def _tool_runs(walker: Walker, laid: _Laid, legs: list[Leg], q: Array) -> tuple[Array, int | None]:
    """Solve consecutive tool moves from joints q (n,); return the joints at their end.

    Where the arm cannot follow, that is the end of the last move that it can make, and the number of the next.
    """
    try:
        laid.runs.append(_tool_run(walker, legs, q))
    except MoveImpossibleError as error:
        if not laid.leave_out:
            raise
        k = error.leg
        if k:
            made = [*legs[: k - 1], rested(legs[k - 1])]
            q, earlier = _tool_runs(walker, laid, made, q)
            if earlier is not None:
                return q, earlier
        laid.impossible[legs[k].index] = error
        return q, legs[k].index
    return laid.runs[-1].q_end, None


def _stop_here(walker: Walker, runs: list[CornerRun], legs: list[Leg], seconds: float, why: str) -> bool:
    """Rest after the last leg; return False if there is none yet."""
    holder = legs or (runs[-1].legs if runs else [])
    if not holder:
        return False
    leg = holder[-1]
    if not isinstance(leg.blend, Stop):
        walker.note(walker.program.moves[leg.index], f"its blend is left out, for the arm {why}")
    holder[-1] = rested(leg, seconds)
    return True


def _direction(legs: list[Leg]) -> Array | None:
    """Return the unit direction at the end of the legs so far, if the next curve is to go on in it."""
    if not legs or not isinstance(legs[-1].blend, Tangent) or legs[-1].segment is None or legs[-1].segment.still:
        return None
    path = join([legs[-1].segment], [])
    d = path.at(path.length, before=True).dX[:3]
    return np.asarray(d / np.linalg.norm(d))


def _tool_run(walker: Walker, legs: list[Leg], q: Array) -> CornerRun:
    """Return the joints along consecutive tool moves from joints q (n,)."""
    moves = walker.program.moves
    segments = [leg.segment for leg in legs if leg.segment is not None]
    angles = corner_angles(segments)
    for k, (first, second) in enumerate(pairwise(segments)):
        if isinstance(legs[k].blend, Tangent) and angles[k] > TANGENT_ANGLE and stops_at_corners(walker):
            walker.sharp.append(moves[legs[k].index])
            legs[k] = rested(legs[k])
        passed = not isinstance(legs[k].blend, Stop)
        back = angles[k] > TURNING_BACK and not isinstance(legs[k].blend, Tangent)
        if passed and (back or first.still != second.still):
            why = "the path turns back" if back else "travel meets a turn on the spot"
            walker.note(moves[legs[k].index], f"{why} at its end: the arm stops there")
            legs[k] = rested(legs[k])
    zone = fit_zones(walker, legs)
    for k, leg in enumerate(legs[:-1]):
        if isinstance(leg.blend, Tangent) and angles[k] > TANGENT_ANGLE:
            raise walker.refuse(
                moves[leg.index],
                f"it is to be passed without rounding, but meets the next move (line {moves[legs[k + 1].index].line}) "
                f"at a corner of {np.degrees(angles[k]):.3f}°, and 0.1° is the most that is taken for none",
                "a blend over a distance (c_cp, a zone, a radius), or a stop",
            )
    joints = [
        tool_corner(a, b, (moves[a.index], moves[b.index]), float(d))
        for a, b, d in zip(legs[:-1], legs[1:], zone[1:-1], strict=True)
    ]
    path = join(segments, joints)
    tool = tool_of(moves[legs[0].index])
    try:
        curve = along(walker.robot, path, q, tool)
    except NotSupportedError as error:
        raise walker.refuse(moves[legs[0].index], str(error), "joint moves only, or another arm") from error
    except PathError as error:
        raise path_refusal(walker, legs, path, tool, q, error) from error
    ends = np.minimum(np.searchsorted(curve.sigma, path.corners[1:] - 1e-12), curve.sigma.size - 1)
    for leg, q_end in zip(legs, curve.motion.evaluate(curve.motion.breaks[ends]).q, strict=True):
        walker.check_status(leg.index, q_end)
    return CornerRun.tool(
        legs, curve, path.corners, zone * [0.0, *(not c.stop and c.before > 0.0 for c in joints), 0.0]
    )
