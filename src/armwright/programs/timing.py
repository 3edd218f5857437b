# SPDX-License-Identifier: Apache-2.0
"""When the arm is where on its route: laws of motion from stop to stop, and ℓ(t) of the whole program.

`words_law` is the fastest law that keeps the program's words. `fastest_law` is the time-optimal one at the limit of the
motors, whatever the words say. `clock` joins the sections and the waits at the stops into the travelled length ℓ(t).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, ProgramError
from armwright.kinematics import fk
from armwright.motion.arm_limits import speed_limits, torque_limits
from armwright.motion.path_limits import PathLimits, path_limits
from armwright.motion.path_speeds import largest_speeds
from armwright.motion.scaling import time_scaled
from armwright.motion.speed_profile import Profile, averaged, fastest, over_time
from armwright.motion.time_optimal_path import iterate, split
from armwright.motion.trajectory import Reference, Trajectory
from armwright.programs.legs import refusal, tool_of
from armwright.programs.program import Duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.pace import Pace
    from armwright.programs.program import Payload, Program
    from armwright.programs.route import Route
    from armwright.robot.model import Robot
    from armwright.types import Array

SECTION_FRACTIONS = np.array([1e-6, 0.25, 0.5, 0.75, 1.0 - 1e-6])  # at the very ends another move's limits may count
EASED_FRACTIONS = np.linspace(1e-6, 1.0 - 1e-6, 65)  # of an averaged law, on rounded corners that begin within a piece


LEAP_CYCLES = 2  # of rest, and what is left of one, before the arm is set down behind a gap: it ends at rest in them


def clock(
    route: Route,
    law: Profile,
    *,
    window: Array | None = None,
    pace: Pace | None = None,
    override: float = 1.0,
    cycle: float = 0.01,
) -> Trajectory:
    """Return ℓ(t), one coordinate, each section slowed down until a pace is kept between the law's grid points, too.

    Args:
        route: the way.
        law: along it.
        window: (sections,) [s] over which the law is averaged; None for none.
        pace: None to take the law as it is.
        override: factor on the resulting speed of everything but the waits.
        cycle: [s]; behind a gap the arm begins anew with one of them.
    """
    breaks, pieces, now = [np.zeros(1)], [], 0.0

    def add(part: Trajectory) -> None:
        nonlocal now
        breaks.append(now + part.breaks[1:])
        pieces.append(np.pad(part.coefficients, ((0, 0), (0, 4 - part.coefficients.shape[1]), (0, 0))))
        now = float(breaks[-1][-1])

    if route.waits[0] > 0.0:
        add(_rest(0.0, route.waits[0]))
    looks = SECTION_FRACTIONS if window is None else EASED_FRACTIONS
    cut = np.searchsorted(law.origin, [first for first, _ in route.sections] + [route.owner.size])
    for k, (first, last) in enumerate(route.sections):
        at = slice(cut[k], cut[k + 1])
        part = over_time(Profile(law.s[cut[k] : cut[k + 1] + 1], law.x[cut[k] : cut[k + 1] + 1], law.origin[at]))
        if window is not None:
            part = averaged(part, float(window[k]))
        part = part if pace is None else _kept(route, pace, part, first, last, looks)
        add(part if override == 1.0 else time_scaled(part, 1.0 / override))
        if route.waits[last] > 0.0:
            add(_rest(float(route.curve.breaks[last]), route.waits[last]))
        if route.leaps[last]:
            begins = cycle * (np.ceil(now / cycle - 1e-9) + LEAP_CYCLES)
            add(_rest(float(route.curve.breaks[last]), begins - now))
    return Trajectory(np.concatenate(breaks), np.concatenate(pieces))


def joints_at(route: Route, time: Trajectory, t: Array) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Return joints, their derivatives (..., n) and the move under way (...) at times t (...)."""
    s, sd, sdd = (part[..., 0] for part in time.evaluate(t))
    s = np.clip(s, 0.0, route.curve.duration)
    piece = np.searchsorted(route.curve.breaks[1:-1], s, side="right")
    # standing at a stop is still part of the move that led there
    behind = np.maximum(np.searchsorted(route.curve.breaks, s - 1e-12 * route.curve.duration, side="right") - 1, 0)
    for at, begins in zip(np.flatnonzero(route.leaps), leap_times(route, time), strict=True):
        piece, behind = (np.where(t < begins, np.minimum(k, at - 1), np.maximum(k, at)) for k in (piece, behind))
    q, dq, ddq = route.curve.on_pieces(piece, s - route.curve.breaks[piece])
    owner = np.where(sd == 0.0, route.owner[np.minimum(behind, route.owner.size - 1)], route.owner[piece])
    return q, dq * sd[..., None], ddq * sd[..., None] ** 2 + dq * sdd[..., None], owner


def leap_times(route: Route, time: Trajectory) -> list[float]:
    """Return when [s] the arm begins anew behind each gap: where ℓ(t) leaves that stop."""
    if not route.leaps.any():
        return []
    moving = np.flatnonzero(np.abs(time.coefficients[:, 1:]).any(axis=(1, 2)))
    leaves = time.coefficients[moving, 0, 0]
    near = 1e-12 * route.curve.duration
    return [float(time.breaks[moving[np.searchsorted(leaves, s - near)]]) for s in route.curve.breaks[route.leaps]]


def when(route: Route, time: Trajectory) -> Array:
    """Return the first time (m+1,) [s] at which each break of the route is reached."""
    t, s = time.breaks, np.append(time.coefficients[:, 0, 0], time.end.q[0])
    target = route.curve.breaks
    near = 1e-12 * s[-1]
    k = np.minimum(np.searchsorted(s, target - near, side="left"), s.size - 1)
    met = np.abs(s[k] - target) <= near  # a break of the law, all stops among them
    low, high = t[np.maximum(k - 1, 0)].copy(), t[k].copy()
    for _ in range(60 if not met.all() else 0):  # s(t) rises inside the piece
        middle = 0.5 * (low + high)
        below = time.evaluate(middle).q[:, 0] < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.where(met, t[k], high))


def _rest(s: float, seconds: float) -> Trajectory:
    return Trajectory(np.array([0.0, seconds]), np.array([[[s]]]))


def _kept(route: Route, pace: Pace, part: Trajectory, first: int, last: int, looks: Array) -> Trajectory:
    """Return the law slowed down until a pace's limits hold at five places per piece."""
    s, sd, sdd = (value[..., 0] for value in part.within(SECTION_FRACTIONS))
    curve, s = route.part(first, last), s - route.curve.breaks[first]
    piece = np.searchsorted(curve.breaks[1:-1], s, side="right")
    _, dq, ddq = curve.on_pieces(piece, s - curve.breaks[piece])
    cap, push, weight = (limit[first:last][piece] for limit in (pace.cap, pace.push, pace.weight))
    qdd = dq * sdd[..., None] + ddq * sd[..., None] ** 2
    use = max(
        float((sd / np.sqrt(cap)).max()) ** 2,
        float((np.abs(sdd) / push).max()),
        float(np.abs(qdd * weight).max(initial=0.0)),
    )
    use = max(use, _bend_use(curve, pace, part.within(looks), (first, last), float(route.curve.breaks[first])))
    if use <= 1.0 + 1e-9:
        return part
    return time_scaled(part, float(np.sqrt(use)))


def _bend_use(curve: Trajectory, pace: Pace, law: Reference, knots: tuple[int, int], start: float) -> float:
    """Return the largest acceleration of the tool on rounded corners of a section, over the written one."""
    bound = pace.bends.most[slice(*knots)]
    if not np.isfinite(bound).any():
        return 0.0
    s, sd, sdd = (value[..., 0] for value in law)
    s = s - start
    piece = np.searchsorted(curve.breaks[1:-1], s, side="right")
    at = np.isfinite(bound[piece])
    if not at.any():
        return 0.0
    piece, s, x, u = piece[at], s[at], sd[at] ** 2, sdd[at]
    size, along, across = np.moveaxis(
        pace.bends.slopes(knots[0] + piece, *curve.on_pieces(piece, s - curve.breaks[piece])), -1, 0
    )
    return float((np.hypot(size * u + along * x, across * x) / bound[piece]).max())


LIMIT_FACTOR = 1.0 + 1e-9
FINER = 3


def words_law(route: Route, pace: Pace) -> Profile:
    """Return the fastest law under a pace, at rest where the route stops.

    Caps and pushes alone give the exact trapezoids of `fastest`. Where the way bends and joints must keep an
    acceleration, a section that breaks it is solved again with those rows by reachability, on the same grid.
    """
    parts = []
    for first, last in route.sections:
        s, piece = _grid(route, pace, first, last)
        part = fastest(s, pace.cap[piece], pace.push[piece], straight=pace.shaped[piece])
        part = Profile(part.s, part.x, piece[part.origin])
        rows = _rows(route, pace, part)
        parts.append(part if rows is None else Profile(part.s, largest_speeds(part.s, *rows), part.origin))
    return joined(parts)


def _grid(route: Route, pace: Pace, first: int, last: int) -> tuple[Array, NDArray[np.int64]]:
    """Return the grid of a section and the piece of each interval: finer where accelerations must hold on a bend."""
    fine = pace.weight[first:last].any(axis=1) | np.isfinite(pace.bends.most[first:last])
    count = np.where(fine, FINER, 1)
    piece = np.repeat(np.arange(first, last), count)
    inside = np.arange(piece.size) - np.repeat(np.cumsum(count) - count, count)
    breaks = route.curve.breaks
    s = breaks[piece] + (breaks[piece + 1] - breaks[piece]) * inside / count[piece - first]
    return np.append(s, breaks[last]), piece


def joined(parts: list[Profile]) -> Profile:
    """Return the laws of consecutive sections, each from rest to rest, as one."""
    s = np.concatenate([parts[0].s[:1], *(part.s[1:] for part in parts)])
    x = np.concatenate([parts[0].x[:1], *(part.x[1:] for part in parts)])
    return Profile(s, x, np.concatenate([part.origin for part in parts]))


def _rows(route: Route, pace: Pace, law: Profile) -> tuple[Array, Array, Array] | None:
    """Return the limits as rows a u + b x + c ≤ 0 of the law's intervals, each (N, k); None if the law keeps them."""
    weight = pace.weight[law.origin][:, None]
    bent = np.isfinite(pace.bends.most[law.origin])
    if not (weight.any() or bent.any()):
        return None
    h = np.diff(law.s)
    start = route.curve.breaks[law.origin]
    ends = np.stack([law.s[:-1] - start, law.s[1:] - start], axis=1)
    first, last = int(law.origin[0]), int(law.origin[-1]) + 1
    q, dq, ddq = route.part(first, last).on_pieces(np.repeat(law.origin[:, None] - first, 2, axis=1), ends)
    inertia, curve = dq * weight, ddq * weight
    x = np.stack([law.x[:-1], law.x[1:]], axis=1)[..., None]
    tool, bend = _bend_rows(pace, law, bent, q, dq, ddq)
    asked = np.abs(inertia * law.push[:, None, None] + curve * x).max(initial=0.0)
    turned = (tool * law.push[:, None, None] + bend * x).max(initial=0.0)
    if max(asked, turned) <= LIMIT_FACTOR:
        return None
    reach = np.stack([np.zeros_like(h), 2.0 * h], axis=1)
    a = (inertia + reach[..., None] * curve).reshape(h.size, -1)
    b = curve.reshape(h.size, -1)
    push, cap = 1.0 / pace.push[law.origin], 1.0 / pace.cap[law.origin]
    a_tool, b_tool = (tool + reach[..., None] * bend).reshape(h.size, -1), bend.reshape(h.size, -1)
    a = np.concatenate([a, -a, push[:, None], -push[:, None], reach * cap[:, None], a_tool], axis=1)
    b = np.concatenate([b, -b, np.zeros((h.size, 2)), np.repeat(cap[:, None], 2, axis=1), b_tool], axis=1)
    return a, b, np.full_like(a, -1.0)


OCTAGON = np.sqrt(2.0) - 1.0


def _bend_rows(
    pace: Pace, law: Profile, bent: NDArray[np.bool_], q: Array, dq: Array, ddq: Array
) -> tuple[Array, Array]:
    """Return factors of u and of x (N, 2, 4) that keep the tool's acceleration, at both ends of the law's intervals.

    Along the path it is |p′|u + p″·t x, across it |p″ₙ| x, and the length of the two is bounded: a circle, in which an
    octagon with its corners on it is kept, |along| + (√2 − 1) across ≤ most and (√2 − 1)|along| + across ≤ most. So a
    corner of θ between two lines, rounded over d by a parabola, is entered at about √(a d/sin(θ/2)), √(√2 a d) at 90°:
    at σ̇ = v its acceleration is sin(θ/2) v²/d all the way.
    """
    tool, bend = np.zeros((2, law.origin.size, 2, 4))
    if bent.any():
        piece = np.repeat(law.origin[bent][:, None], 2, axis=1)
        slopes = pace.bends.slopes(piece, q[bent], dq[bent], ddq[bent]) / pace.bends.most[piece][..., None]
        size, along, across = np.moveaxis(slopes, -1, 0)
        rows = [(sign * share, rest) for sign in (1.0, -1.0) for share, rest in ((1.0, OCTAGON), (OCTAGON, 1.0))]
        tool[bent] = np.stack([share * size for share, _ in rows], axis=-1)
        bend[bent] = np.stack([share * along + rest * across for share, rest in rows], axis=-1)
    return tool, bend


def check_bounded(robot: Robot, program: Program, route: Route, pace: Pace) -> None:
    """Refuse moves whose speed or acceleration nothing bounds."""
    for value, what in ((pace.cap, "speed"), (pace.push, "acceleration")):
        free = ~np.isfinite(value)
        if free.any():
            move = program.moves[int(route.owner[np.argmax(free)])]
            raise refusal(
                program,
                move,
                f"nothing bounds the {what} of this move: {robot.name!r} has no rated joint {what}s and the "
                "program gives none in m/s",
                f"a sheet with joint {what}s, or a {what} word of the tool",
            )


def stretched(program: Program, route: Route, law: Profile) -> Profile:
    """Slow sections of a single move that names its own duration down to it; refuse durations that are too short."""
    moves = program.moves
    x, times = law.x.copy(), law.times
    short: dict[int, tuple[float, float]] = {}
    for first, last in route.sections:
        move = moves[int(route.owner[first])]
        word = move.speed
        alone = route.owner[first] == route.owner[last - 1]  # owners follow one another in order
        if not (alone and isinstance(word, Duration) and word.seconds > 0.0):
            continue
        begin, end = np.searchsorted(law.origin, [first, last])
        needs = float(times[begin:end].sum())
        if needs > word.seconds * (1.0 + 1e-9):
            short[int(route.owner[first])] = word.seconds, needs
            continue
        x[begin : end + 1] *= (needs / word.seconds) ** 2
    if short:
        (number, (told, needs)), *others = short.items()
        said = [f"line {moves[k].line}: {a:g} s, {b:.4f} s" for k, (a, b) in others[:MOST_TOLD]]
        left = f"; and {len(others) - MOST_TOLD} more" if len(others) > MOST_TOLD else ""
        more = f" [{len(others)} more are too short: {'; '.join(said)}{left}]" if others else ""
        raise refusal(
            program,
            moves[number],
            f"the move is to take {told:g} s, but joints and motors need {needs:.4f} s at least{more}",
            f"durations from {needs:.4f} s on",
        )
    return Profile(law.s, x, law.origin)


MOST_TOLD = 8  # moves that are too short, in one message
GRID_SPACING, LEAST_GRID_POINTS = 0.003, 100  # of even grid points [m], and how many a section has at least


def fastest_law(robot: Robot, program: Program, route: Route, *, share: float = 1.0) -> Profile:
    """Return the time-optimal law on a route, from stop to stop, under motor torques and joint and motor speeds.

    Gears, coupling, rotors, viscous and load-proportional friction, each move's payload and wrench count. The limits
    hold at the grid points; between them they may be exceeded a little, so a check cycle by cycle should follow.

    Args:
        robot: the arm; joint efforts serve where it has no motor data.
        program: for payloads, wrenches and lines.
        route: its way.
        share: of every torque limit that may be used, in (0, 1].
    """
    if not 0.0 < share <= 1.0:
        raise InputError(f"share: expected a share of the torque limits in (0, 1], got {share!r}")
    if not (np.isfinite(robot.actuators.torque_limit).any() or any(np.isfinite(j.limits.effort) for j in robot.joints)):
        raise InputError(
            f"law 'fastest': the sheet of {robot.name!r} has neither motor torques nor joint efforts, so nothing is "
            "known of what its motors can do; use law 'words'"
        )
    limits = torque_limits(robot)
    limits = replace(limits, bound=share * limits.bound)
    speeds, free = speed_limits(robot), np.full(robot.n, np.inf)
    parts = []
    for first, last in route.sections:
        start = route.curve.breaks[first]
        section = route.part(first, last)
        pieces = split(section, max(LEAST_GRID_POINTS, int(section.duration / GRID_SPACING)), limits)
        middle = 0.5 * (pieces.breaks[1:] + pieces.breaks[:-1])
        origin = first + np.searchsorted(section.breaks[1:-1], middle, side="right")
        owner = route.owner[origin]
        wrench = flange_wrench(robot, program, pieces.within([0.0, 1.0]).q, np.stack([owner, owner], axis=1))
        rows = None
        for load in {program.moves[k].payload: None for k in owner}:  # in order, each once
            with_load = path_limits(loaded(robot, load), pieces, limits, speeds, free, wrench=wrench)
            carried = np.array([program.moves[k].payload == load for k in owner])
            rows = with_load if rows is None else _mixed(rows, with_load, carried)
        assert rows is not None
        try:
            x, _ = iterate(largest_speeds, pieces.breaks, rows, 40, 1e-6)
        except InputError as error:
            raise _too_weak(program, robot, route, owner, pieces, error) from error
        parts.append(Profile(start + pieces.breaks, x, origin))
    return joined(parts)


def loaded(robot: Robot, payload: Payload | None) -> Robot:
    """Return the arm with the payload of a move."""
    if payload is None or payload.mass == 0.0:
        return robot
    return robot.with_payload(payload.mass, payload.com, payload.inertia)


def flange_wrench(robot: Robot, program: Program, q: Array, move: NDArray[np.int64]) -> Array | None:
    """Return the world's wrench (..., 6) on the arm's tool frame at joints q (..., n) during moves (...), base axes.

    Wrenches of a program act at its own tool point, in base axes or in those of its tool; None if there are none.
    """
    wrench = np.array([np.zeros(6) if m.wrench is None else m.wrench for m in program.moves])[move]
    if not wrench.any():
        return None
    tools = np.array([tool_of(m) for m in program.moves])[move]
    R = fk(robot, q)[..., :3, :3]
    arm = np.einsum("...ij,...j->...i", R, tools[..., :3, 3])
    force, moment = wrench[..., :3], wrench[..., 3:]
    turning = np.array([m.wrench_frame == "tool" for m in program.moves])[move]
    if turning.any():
        R_base_tool = np.where(turning[..., None, None], R @ tools[..., :3, :3], np.eye(3))
        force, moment = (np.einsum("...ij,...j->...i", R_base_tool, part) for part in (force, moment))
    return np.concatenate([force, moment + np.cross(arm, force)], axis=-1)


def _mixed(a: PathLimits, b: PathLimits, take: NDArray[np.bool_]) -> PathLimits:
    """Return the limits of a where `take` (N,) is False, of b where it is True."""
    names = ("inertia", "curve", "viscous", "gravity", "coulomb")
    parts: dict[str, Any] = {}
    for name in names:
        old, new = getattr(a, name), getattr(b, name)
        parts[name] = np.where(take.reshape(-1, *[1] * (old.ndim - 1)), new, old)
    return replace(a, **parts)


def _too_weak(
    program: Program, robot: Robot, route: Route, owner: NDArray[np.int64], pieces: Trajectory, error: InputError
) -> ProgramError:
    """Return the error for a place at which the motors cannot hold the arm at any speed."""
    text = str(error)
    place = text.partition("s = ")[2].partition(" ")[0]
    at = float(place) if place else 0.0
    k = min(int(np.searchsorted(pieces.breaks[1:-1], at, side="right")), owner.size - 1)
    move = program.moves[int(owner[k])]
    return refusal(
        program,
        move,
        f"the motors of {robot.name!r} cannot carry the arm along this move at any speed ({text})",
        "a smaller payload or wrench, or stronger motors",
    )
