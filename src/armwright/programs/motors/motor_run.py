# SPDX-License-Identifier: Apache-2.0
"""`MotorRun`: what the motors made of a program, cycle by cycle, and its summaries move by move.

`MotorRun` holds the cycles after Algorithm 1 (001). `summarise` and `by_move` say what limited a move, how far
the tool was off and what it took; `verdict` says it in a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.public import joint_reactions
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.programs.motors.motor_cycle import Algorithm
from armwright.programs.motors.motor_demand import Demand
from armwright.programs.motors.motor_limits import Drives
from armwright.robot.inertia_needed import has_inertia
from armwright.robot.model import Robot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armwright.types import Array

    Flags = NDArray[np.bool_]

NEIGHBOUR_CYCLES = 100  # cycles before and after, searched for the nearest point of the wished path
ANOTHER_PASS = 0.01  # of the way along the path that another place must be nearer than this one to be taken instead


class Deviation(NamedTuple):
    """Distance of the tool from where it should be at the end of each cycle, each (T,).

    Attributes:
        position: from the wished place of that moment [m].
        angle: from the wished orientation of that moment [rad].
        path: from the wished path, whenever it is reached [m]: zero for an arm that is merely late.
        behind: how late it is [m]: length of the path from the place of it that is nearest to the tool to the wished
            place of that moment.
    """

    position: Array
    angle: Array
    path: Array
    behind: Array


@dataclass(frozen=True, eq=False)
class MotorRun:
    """One program (T cycles, n joints) after Algorithm 1.

    Attributes:
        robot, demand, drives, algorithm: what was run.
        q, qd: (T, n) at the end of each cycle. qdd: (T, n) during it.
        heat: (T, n) thermal state at its end, 1 where the continuous torque leads in the long run; 0 where
            the sheet lacks the data (see `drives.heat_is_known`).
        torque, wanted: (T, n) motor torques applied, and those that the wish would have taken [N m].
        limit: (T, n) torque that was at hand [N m].
        saturated, clipped: (T, n) where a motor was at its torque limit; where a wished speed was cut.
        before: position and speed (T, n) each where the forces of `torque` and `qdd` were taken, if that is not the
            beginning of the cycle: a drive's last step of it.
    """

    robot: Robot
    demand: Demand
    drives: Drives
    algorithm: Algorithm
    q: Array
    qd: Array
    heat: Array
    qdd: Array
    torque: Array
    wanted: Array
    limit: Array
    saturated: Flags
    clipped: Flags
    before: tuple[Array, Array] | None = None

    @property
    def time(self) -> Array:
        """Return (T,) the end of each cycle [s]."""
        return self.demand.time

    @property
    def feasible(self) -> bool:
        """Return whether no motor met its torque limit and no speed was cut."""
        return not (self.saturated.any() or self.clipped.any())

    @cached_property
    def motor_speed(self) -> Array:
        """Return (T, n) K q̇ at the end of each cycle [rad/s]."""
        return self.qd @ self.drives.actuators.gear.T

    @cached_property
    def torque_use(self) -> Array:
        """Return (T, n) |wanted torque| over the torque at hand; above 1 the motor could not follow."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.wanted == 0.0, 0.0, np.abs(self.wanted) / self.limit)

    @cached_property
    def speed_use(self) -> Array:
        """Return (T, n) the larger of |q̇|/limit of the joint and |K q̇|/limit of its motor; 0 where there is none."""
        joint = np.abs(self.qd) / self.drives.speed
        return np.maximum(joint, np.abs(self.motor_speed) / self.drives.actuators.speed_limit)

    @cached_property
    def lag(self) -> Array:
        """Return (T, n) wished minus achieved position at the end of each cycle [rad or m]."""
        return self.demand.q[1:] - self.q

    @cached_property
    def power(self) -> Array:
        """Return (T, n) motor torque times motor speed at the end of the cycle [W]; negative while the motor brakes."""
        return self.torque * self.motor_speed

    @property
    def energy(self) -> Array:
        """Return (n,) the work that the motor shafts gave [J]."""
        return np.asarray(np.maximum(self.power, 0.0).sum(axis=0) * self.demand.dt)

    @property
    def regenerated(self) -> Array:
        """Return (n,) the work that came back to the motor shafts [J]."""
        return np.asarray(np.maximum(-self.power, 0.0).sum(axis=0) * self.demand.dt)

    @property
    def rms(self) -> Array:
        """Return (n,) the root mean square of the motor torques [N m]."""
        return np.asarray(np.sqrt(np.mean(self.torque**2, axis=0)))

    @cached_property
    def starts(self) -> tuple[Array, Array]:
        """Return (T, n) position and speed where the forces of each cycle are taken: at its beginning."""
        if self.before is not None:
            return self.before
        return (
            np.concatenate([self.demand.q[:1], self.q[:-1]]),
            np.concatenate([np.zeros((1, self.robot.n)), self.qd[:-1]]),
        )

    @cached_property
    def reactions(self) -> Array:
        """Return (T, nb, 6) the wrench [f; n] through every joint, joint frame, at the achieved motion (001 eq. 32).

        It is what the parent exerts on the body; see `armwright.dynamics.joint_reactions`. NaN for arms without masses.
        """
        q, qd = self.starts
        payload = self.demand.payload
        out = np.full((self.demand.cycles, len(self.robot.bodies), 6), np.nan)
        if not has_inertia(self.robot):
            return out
        if payload is None:
            groups = [(self.robot, np.arange(self.demand.cycles))]
        else:
            kinds, which = np.unique(payload, axis=0, return_inverse=True)
            groups = [(loaded_robot(self.robot, kind), np.flatnonzero(which == k)) for k, kind in enumerate(kinds)]
        for robot, rows in groups:
            wrench = None if self.demand.wrench is None else self.demand.wrench[rows]
            out[rows] = joint_reactions(robot, q[rows], qd[rows], self.qdd[rows], wrench)
        return out

    @cached_property
    def deviation(self) -> Deviation:
        """Return how far the tool is from the wished place, orientation and path."""
        wished, got = fk(self.robot, self.demand.q), fk(self.robot, self.q)
        before, there = wished[:-1].copy(), wished[1:]
        if self.demand.leaps is not None:
            before[self.demand.leaps] = there[self.demand.leaps]
        if self.demand.tool is not None:
            before, there, got = before @ self.demand.tool, there @ self.demand.tool, got @ self.demand.tool
        turn = np.einsum("kji,kjl->kil", there[:, :3, :3], got[:, :3, :3])
        # from the axis as well as from the trace: arccos alone is blind below 1e-8 rad
        axis = np.stack([turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]])
        angle = np.arctan2(np.linalg.norm(axis, axis=0), np.trace(turn, axis1=1, axis2=2) - 1.0)
        position = np.linalg.norm(got[:, :3, 3] - there[:, :3, 3], axis=1)
        return Deviation(position, angle, *_from_path(got[:, :3, 3], before[:, :3, 3], there[:, :3, 3], position))


def stitched(demand: Demand, parts: Sequence[tuple[int, MotorRun]]) -> MotorRun:
    """Return the runs of what lies between the leaps of a demand as one; each comes with its first cycle.

    In a leap the arm stands at the new place, and nothing is wanted of its motors.
    """
    one = parts[0][1]
    rows: dict[str, Any] = {}
    for name in ("q", "qd", "heat", "qdd", "torque", "wanted", "limit", "saturated", "clipped"):
        column = np.zeros((demand.cycles, demand.n), dtype=getattr(one, name).dtype)
        if name == "q":
            column[:] = demand.q[1:]
        elif name == "limit":
            column[:] = one.drives.torque_at(np.zeros(demand.n))
        rows[name] = column
    before = None if one.before is None else (demand.q[:-1].copy(), np.zeros((demand.cycles, demand.n)))
    for first, run in parts:
        here = slice(first, min(first + run.demand.cycles, demand.cycles))
        many = here.stop - here.start
        for name, column in rows.items():
            column[here] = getattr(run, name)[:many]
        if before is not None and run.before is not None:
            before[0][here], before[1][here] = run.before[0][:many], run.before[1][:many]
    return MotorRun(one.robot, demand, one.drives, one.algorithm, **rows, before=before)


def loaded_robot(robot: Robot, payload: Array) -> Robot:
    """Return the robot with a load (10,) on its tool, see `motor_cycle`; itself where that has no mass."""
    m, x, y, z, xx, yy, zz, xy, xz, yz = (float(v) for v in payload)
    return robot.with_payload(m, (x, y, z), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) if m else robot


def _from_path(points: Array, starts: Array, ends: Array, far: Array) -> tuple[Array, Array]:
    """Return how far (T,) points are from the straight pieces starts–ends, each (T, 3), and behind along them [m].

    Where the path comes back to the same place (down and up again) the passes are equally near: behind is counted to
    the one that is near along the path, too.
    """
    best, cost, cycles = far.copy(), far.copy(), len(points)
    length = np.linalg.norm(ends - starts, axis=1)
    travelled = np.cumsum(length)  # at the end of each piece
    nearest_at = travelled.copy()
    late = np.flatnonzero(far > 1e-12)
    for step in sorted(range(-NEIGHBOUR_CYCLES, NEIGHBOUR_CYCLES + 1), key=abs):  # of equal places the one nearest now
        rows = late[(late + step >= 0) & (late + step < cycles)]
        if not rows.size:
            continue
        piece = rows + step
        a, along, size = starts[piece], ends[piece] - starts[piece], length[piece]
        share = np.einsum("ki,ki->k", points[rows] - a, along) / np.where(size > 0.0, size, 1.0) ** 2
        share = np.clip(share, 0.0, 1.0)
        distance = np.linalg.norm(points[rows] - a - share[:, None] * along, axis=1)
        best[rows] = np.minimum(best[rows], distance)
        at = travelled[piece] - (1.0 - share) * size
        price = distance + ANOTHER_PASS * np.abs(travelled[rows] - at)
        nearer = price < cost[rows]
        better = rows[nearer]
        cost[better], nearest_at[better] = price[nearer], at[nearer]
    return best, np.maximum(0.0, travelled - nearest_at)


@dataclass(frozen=True, slots=True, eq=False)
class MoveSummary:
    """Summary of one move, or of the whole program (move None).

    Attributes:
        move: its number. cycles, start, end: how many, from when to when [s].
        saturated, clipped: (n,) cycles at the torque limit, cycles in which the speed was cut.
        torque_use, speed_use: (n,) largest |wanted torque| and speed over what there is.
        limiting: index of the motor that is used most. cause: "torque", "speed" or "" if nothing was flagged.
        lag: (n,) largest [rad or m].
        position, angle, path: largest deviation of the tool [m], [rad], and from the path [m].
        rms, peak: (n,) motor torque [N m]. heat: (n,) largest thermal state, NaN where the sheet lacks the data.
        energy, regenerated: (n,) work of the motor shafts [J], and work that came back to them.
        reaction: (nb, 2) largest force [N] and moment [N m] through every joint.
    """

    move: int | None
    cycles: int
    start: float
    end: float
    saturated: NDArray[np.int64]
    clipped: NDArray[np.int64]
    torque_use: Array
    speed_use: Array
    limiting: int
    cause: str
    lag: Array
    position: float
    angle: float
    path: float
    rms: Array
    peak: Array
    heat: Array
    energy: Array
    regenerated: Array
    reaction: Array


def summarise(run: MotorRun, move: int | None = None) -> MoveSummary:
    """Sum up one move of a run, or all of it.

    Example:
        >>> summarise(run).rms  # of the whole program; summarise(run, 3) of move 3
    """
    rows = np.arange(run.demand.cycles) if move is None else np.flatnonzero(run.demand.moves == move)
    if not rows.size:
        known = ", ".join(map(str, np.unique(run.demand.moves)))
        raise InputError(f"the run has no move {move}; it has {known}")
    dt = run.demand.dt

    def largest(values: Array) -> Array:
        return np.abs(values[rows]).max(axis=0)

    torque, speed = largest(run.torque_use), largest(run.speed_use)
    saturated, clipped = run.saturated[rows].sum(axis=0), run.clipped[rows].sum(axis=0)
    by_torque, by_speed = bool(saturated.any()), bool(clipped.any())
    cause = "" if not (by_torque or by_speed) else "torque" if by_torque else "speed"
    use = speed if cause == "speed" else torque if cause == "torque" else np.maximum(torque, speed)
    power = run.power[rows]
    reaction = np.linalg.norm(run.reactions[rows].reshape(rows.size, -1, 2, 3), axis=3).max(axis=0)
    return MoveSummary(
        move=move,
        cycles=int(rows.size),
        start=float(rows[0] * dt),
        end=float((rows[-1] + 1) * dt),
        saturated=saturated,
        clipped=clipped,
        torque_use=torque,
        speed_use=speed,
        limiting=int(np.argmax(use)),
        cause=cause,
        lag=largest(run.lag),
        position=float(largest(run.deviation.position)),
        angle=float(largest(run.deviation.angle)),
        path=float(largest(run.deviation.path)),
        rms=np.sqrt(np.mean(run.torque[rows] ** 2, axis=0)),
        peak=largest(run.torque),
        heat=np.where(run.drives.heat_is_known, largest(run.heat), np.nan),
        energy=np.maximum(power, 0.0).sum(axis=0) * dt,
        regenerated=np.maximum(-power, 0.0).sum(axis=0) * dt,
        reaction=reaction,
    )


def by_move(run: MotorRun) -> list[MoveSummary]:
    """Sum up every move, in the order of their numbers.

    Example:
        >>> [summary.limiting for summary in by_move(run)]
    """
    return [summarise(run, int(move)) for move in np.unique(run.demand.moves)]


def verdict(run: MotorRun) -> str:
    """Return one sentence that says whether the motors follow, and if not, what limits them first.

    Example:
        >>> print(verdict(run_motors(robot, demand)))
    """
    names = [joint.name for joint in run.robot.joints]
    basis = "motor" if run.drives.basis == "motors" else "joint"
    if run.feasible:
        use = np.maximum(run.torque_use, run.speed_use)
        k = int(np.argmax(use.max(axis=0)))
        return f"feasible: the most used {basis} is that of {names[k]!r}, {100 * use.max():.3g} % ({run.drives.says})"
    flagged = (run.saturated | run.clipped).any(axis=1)
    first = int(np.argmax(flagged))
    which = int(np.argmax(run.saturated[first] | run.clipped[first]))
    what = "torque" if run.saturated[first, which] else "speed"
    off = run.deviation
    when = f"first at {first * run.demand.dt:.3f} s in move {run.demand.moves[first]}"
    return (
        f"not feasible: {int(flagged.sum())} of {flagged.size} cycles are limited, {when} by the {what} of "
        f"{names[which]!r}; the tool is up to {1000 * off.position.max():.3g} mm and "
        f"{np.rad2deg(off.angle.max()):.3g}° off ({run.drives.says})"
    )
