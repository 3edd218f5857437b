# SPDX-License-Identifier: Apache-2.0
"""`Pace`: how fast each piece of a route may be passed, by the program's own words and by joint and motor speeds.

Everything is linear in u = s̈ and x = ṡ², s the travelled length: x ≤ cap, |u| ≤ push, and |q′u + q″x| within the
joints' accelerations where these have to be kept on a way that bends. Where a corner is rounded, the acceleration of
the tool, |p′u + p″x|, is within the written one (`Bends`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.kinematics import jacobian, jacobian_dot
from armwright.motion.motion_inputs import bounds
from armwright.motion.speed_profile import widest
from armwright.programs.legs import tool_of
from armwright.programs.program import Duration, Fraction, LeadingAxis, ToolRate
from armwright.programs.reading import Note
from armwright.robot.model import Robot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.programs.program import Program
    from armwright.programs.route import Route
    from armwright.types import Array

MOTORS = 1  # the last row of speed limits that belong to joints and motors
RATED_SPEED_SECONDS = (
    0.25  # where a sheet gives no acceleration, a joint is taken to reach its rated speed in this time [s]
)


class Ratings(NamedTuple):
    """Ratings of joints: speed, acceleration (n,), and motor speeds as rows (k, n) with |rows @ qd| ≤ 1."""

    speed: Array
    acceleration: Array
    motors: Array


class Bends(NamedTuple):
    """Rounded corners: tool point (m, 3) [m] in the arm's own tool frame, written acceleration (m,) [m/s²] or inf."""

    robot: Robot
    point: Array
    most: Array

    def slopes(self, piece: NDArray[np.int64], q: Array, dq: Array, ddq: Array) -> Array:
        """Return p′ along itself, p″ along p′, and p″ across it, (..., 3), at joints (..., n) on pieces (...)."""
        point = self.point[piece]
        J, dJ = jacobian(self.robot, q, point=point), jacobian_dot(self.robot, q, dq, point=point)
        first = np.einsum("...ij,...j->...i", J[..., :3, :], dq)
        second = np.einsum("...ij,...j->...i", J[..., :3, :], ddq) + np.einsum("...ij,...j->...i", dJ[..., :3, :], dq)
        size = np.linalg.norm(first, axis=-1)
        along = np.einsum("...i,...i->...", first, second) / np.where(size > 0.0, size, 1.0)
        across = np.sqrt(np.maximum(np.einsum("...i,...i->...", second, second) - along**2, 0.0))
        return np.stack([size, along, across], axis=-1)


class Pace(NamedTuple):
    """Limits of a route: cap (m,) [m²/s²], push (m,) [m/s²]; weight (m, n) with |weight·q̈| ≤ 1 on pieces that bend.

    `shaped` (m,) are pieces whose cap comes from the bends of the way (speeds of joints and motors on tool moves): it
    stands for a curve, so the law is not to climb to it and back inside every piece.
    """

    cap: Array
    push: Array
    weight: Array
    shaped: NDArray[np.bool_]
    bends: Bends


def ratings(robot: Robot, acceleration: ArrayLike | None, notes: list[Note]) -> Ratings:
    """Return joint and motor ratings of an arm; `acceleration` (n,) or scalar replaces the sheet's."""
    speed = np.array([joint.limits.velocity for joint in robot.joints])
    rated = np.array([joint.limits.acceleration for joint in robot.joints])
    if acceleration is not None:
        rated = bounds(acceleration, "acceleration", robot.n)
    missing = ~np.isfinite(rated) & np.isfinite(speed)
    if missing.any():
        joints = ", ".join(str(j + 1) for j in np.flatnonzero(missing))
        text = (
            f"{robot.name!r} has no rated acceleration of joints {joints}: they are taken to reach their rated speed "
            f"in {RATED_SPEED_SECONDS} s (our assumption; give acceleration=… instead)"
        )
        notes.append(Note(0, text))
        rated = np.where(missing, speed / RATED_SPEED_SECONDS, rated)
    motor = np.asarray(robot.actuators.speed_limit, dtype=np.float64)
    known = np.isfinite(motor) & (motor > 0.0)
    return Ratings(speed, rated, np.asarray(robot.actuators.gear)[known] / motor[known, None])


def pace(robot: Robot, program: Program, route: Route, rated: Ratings, *, keep_acceleration: bool) -> Pace:
    """Turn the words of a program into limits on its route.

    Joint moves, and corners rounded in joint space, keep the joints' rated accelerations; tool moves keep them only if
    their acceleration is a share of the arm's, or with `keep_acceleration`: the tool's own acceleration rules there.
    """
    moves, owner = program.moves, route.owner
    q, dq, ddq = route.curve.within([0.0, 0.5, 1.0])
    tools = np.array([tool_of(move)[:3, 3] for move in moves])[owner]
    J = jacobian(robot, q, point=np.repeat(tools[:, None], 3, axis=1))
    twist = np.einsum("mfij,mfj->mfi", J, dq)
    travel, turn = (
        np.linalg.norm(twist[..., :3], axis=-1).max(axis=1),
        np.linalg.norm(twist[..., 3:], axis=-1).max(axis=1),
    )
    tooled = np.array([move.kind != "joint" for move in moves])[owner]
    length = np.bincount(owner, np.diff(route.curve.breaks), minlength=len(moves))

    v, a = (_words(program, name)[:, owner] for name in ("speed", "acceleration"))
    v[0] = np.minimum(v[0], 1.0)
    size = np.abs(dq).max(axis=1)  # (m, n), at both ends and in the middle
    leading = size.max(axis=1)
    straight = ~tooled & ~route.rounded
    reach = np.where(straight, 1.0, travel)  # a straight joint move counts by its mean speed of travel
    with np.errstate(divide="ignore", invalid="ignore"):
        rated_speed = np.nan_to_num(size / rated.speed).max(axis=1)
        motors = np.abs(dq @ rated.motors.T).max(axis=(1, 2), initial=0.0)
        slow = np.stack([rated_speed / v[0], motors, leading / v[1], reach / v[2], turn / v[3]])
        slow[4] = np.where(tooled, slow[4], 0.0)
        # a move alone between stops is stretched to its duration afterwards; among others it has a mean speed
        slow = np.concatenate([slow, np.where(_alone(route), 0.0, v[4] / length[owner])[None]])
        # a turn on the spot has no travel to accelerate: the joints' ratings bound it unless its own turning does
        keep = ~tooled | route.rounded | np.isfinite(a[0]) | ((travel < 1e-9) & np.isinf(a[3])) | keep_acceleration
        need = np.where(keep[:, None], rated.acceleration * np.minimum(a[0], 1.0)[:, None], np.inf)
        need = np.minimum(need, a[1][:, None])
        hard = np.stack([(size / need).max(axis=1), reach / a[2], np.where(tooled, turn / a[3], 0.0)])
    slow, hard = np.nan_to_num(slow, posinf=0.0), np.nan_to_num(hard, posinf=0.0)
    with np.errstate(divide="ignore"):
        cap, push = 1.0 / slow.max(axis=0) ** 2, 1.0 / hard.max(axis=0)
    bent = (np.abs(ddq).max(axis=(1, 2)) > 0.0)[:, None]
    shaped = bent[:, 0] & (slow.argmax(axis=0) <= MOTORS)
    bends = Bends(robot, tools, np.where(route.blended & tooled, a[2], np.inf))
    return Pace(cap, push, np.where(bent & np.isfinite(need), 1.0 / need, 0.0), shaped, bends)


def scaled(limits: Pace, speed: float, ramps: float) -> Pace:
    """Return limits of speeds times `speed` and of accelerations times `ramps`."""
    bends = limits.bends._replace(most=ramps * limits.bends.most)
    return limits._replace(
        cap=speed**2 * limits.cap, push=ramps * limits.push, weight=limits.weight / ramps, bends=bends
    )


def eased(route: Route, limits: Pace, jerk: float) -> tuple[Pace, Array]:
    """Return limits for a law that is averaged over time later, and the windows (sections,) [s] that bound its jerk.

    Averaging mixes the speeds of a window's time, so each limit also holds that far before and after.
    """
    cap, push, window = limits.cap.copy(), limits.push.copy(), []
    for first, last in route.sections:
        w = 2.0 * float(limits.push[first:last].max()) / jerk
        s, reach = route.curve.breaks[first : last + 1], w * float(np.sqrt(limits.cap[first:last].max()))
        cap[first:last] = widest(s, limits.cap[first:last], reach)
        push[first:last] = widest(s, limits.push[first:last], reach)
        window.append(w)
    return limits._replace(cap=cap, push=push), np.array(window)


def _alone(route: Route) -> NDArray[np.bool_]:
    """Return which pieces (m,) belong to moves that have a section between stops to themselves."""
    out = np.zeros(route.owner.size, dtype=bool)
    for first, last in route.sections:
        out[first:last] = route.owner[first] == route.owner[last - 1]
    return out


def _words(program: Program, name: str) -> Array:
    """Return a program's speeds or accelerations (5, moves): fraction, leading axis, linear, angular, duration.

    inf where not said, 0 for durations.
    """
    out = np.full((5, len(program.moves)), np.inf)
    out[4] = 0.0
    for k, move in enumerate(program.moves):
        word = getattr(move, name)
        if isinstance(word, Fraction):
            out[0, k] = word.value
        elif isinstance(word, LeadingAxis):
            out[1, k] = word.value
        elif isinstance(word, ToolRate):
            out[2, k] = word.linear
            if word.angular is not None:
                out[3, k] = word.angular
        elif isinstance(word, Duration):
            out[4, k] = word.seconds
    return out
