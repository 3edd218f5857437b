# SPDX-License-Identifier: Apache-2.0
"""A run in numbers, move by move: what limited it, how far it was off, what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.programs.motors.result import MotorRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class MoveSummary:
    """What one move, or the whole program (move None), came to.

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
    """Sum up one move of a run, or all of it."""
    rows = np.arange(run.demand.cycles) if move is None else np.flatnonzero(run.demand.moves == move)
    if not rows.size:
        known = ", ".join(map(str, np.unique(run.demand.moves)))
        raise InputError(f"the run has no move {move}; it has {known}")
    dt = run.demand.dt

    def largest(values: Any) -> Any:
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
    """Sum up every move, in the order of their numbers."""
    return [summarise(run, int(move)) for move in np.unique(run.demand.moves)]


def verdict(run: MotorRun) -> str:
    """One sentence for a person."""
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
