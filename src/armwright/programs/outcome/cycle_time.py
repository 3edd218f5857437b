# SPDX-License-Identifier: Apache-2.0
"""Cycle time with an interval, from times that were measured on the real controller.

A controller may differ from our planner in three ways: its speeds are a share σ of the written ones, its accelerations
a share ρ, and it takes δ seconds at every stop. Few measured times cannot tell these apart, and each mixture that fits
them says another cycle time: the interval spans them all, within `Bounds`. Motion along the same way with speeds σ and
accelerations ρ takes 1/σ of its time with accelerations ρ/σ² alone (time scaling), so a curve A(ρ) per measured line
is all that is planned again: T = B + A(ρ/σ²)/σ + δ·stops, with waits and written durations B. T falls with σ and ρ, so
the corners of a cell of a grid of (σ, ρ) enclose all times in it, and a cell stays if some δ fits every measured time
within the digits it was written with. Nothing is said of controllers that differ otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator

from armwright.errors import InputError
from armwright.programs.program import Duration
from armwright.programs.program_plan import move_times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from armwright.programs.program_plan import ProgramPlan
    from armwright.types import Array

KNOTS = 17  # plans from which the curves are drawn
CELLS = (60, 120)  # of speeds and accelerations
HALVINGS = 40
FEWEST_TO_CHECK = 3  # measured times, of which each is then compared with what the others say


class Bounds(NamedTuple):
    """How far a controller may differ: shares of speeds and of accelerations, and seconds at a stop."""

    speeds: tuple[float, float] = (0.5, 1.1)
    accelerations: tuple[float, float] = (0.1, 3.0)
    stops: tuple[float, float] = (0.0, 1.0)

    @property
    def words(self) -> str:
        """In percent and seconds."""
        (s0, s1), (a0, a1), (d0, d1) = self
        return (
            f"speeds {100 * s0:g} to {100 * s1:g} % of the written ones, accelerations {100 * a0:g} to {100 * a1:g} %, "
            f"{d0:g} to {d1:g} s at every stop"
        )


USUAL = Bounds()


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """How long lines of a program took: from line `first` to line `last`, waits and all passes of them together.

    `seconds` is right to ± `digits` [s]. `first` 0 stands for the whole program.
    """

    first: int
    last: int
    seconds: float
    digits: float

    @property
    def words(self) -> str:
        """The lines: ``line 12``, ``lines 12 to 20`` or ``the program``."""
        if not self.first:
            return "the program"
        return f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"


@dataclass(frozen=True, slots=True)
class CycleTime:
    """What measured times say about the cycle time.

    Attributes:
        planned: cycle time of the plan [s].
        low, high: [s] of all controllers within the bounds that fit the measured times.
        unexplained: [s] by how much none fits them; 0 if one does.
        within: how many measured times lie in what the others say, of how many; None with fewer than three.
        bounds: of what was tried.
    """

    planned: float
    low: float
    high: float
    unexplained: float
    within: tuple[int, int] | None
    bounds: Bounds

    @property
    def words(self) -> list[str]:
        """Sentences for people."""
        said = [
            f"cycle time by the measured times: {self.low:.4g} to {self.high:.4g} s, as planned {self.planned:.4g} s "
            f"(controllers with {self.bounds.words})"
        ]
        if self.unexplained:
            said.append(
                f"none of these fits the measured times better than {self.unexplained:.2g} s: the controller differs "
                "otherwise, too, and its cycle time may lie outside"
            )
        if self.within is not None:
            said.append(f"{self.within[0]} of {self.within[1]} measured times lie in what the others say")
        return said

    def figures(self) -> dict[str, Any]:
        """Return it for JSON [s]."""
        return {
            "planned": self.planned,
            "low": self.low,
            "high": self.high,
            "unexplained": self.unexplained,
            "within": self.within,
            "bounds": self.bounds._asdict(),
        }


class _Curves(NamedTuple):
    """Times of several parts (k,) of a program: fixed (k,) [s], moved(log ρ) → (..., k) [s], and stops (k,)."""

    fixed: Array
    moved: Callable[[Array], Array]
    stops: Array

    def at(self, speed: Array, ramps: Array) -> Array:
        """Return the times (..., k) without what stops take, at shares (...) of speeds and accelerations."""
        return np.asarray(self.fixed + self.moved(np.log(ramps / speed**2)) / speed[..., None])


def cycle_time(plan: ProgramPlan, measured: Sequence[MeasuredTime], bounds: Bounds = USUAL) -> CycleTime:
    """Return the cycle time that measured times of lines lead to; see the module's text.

    Raises:
        InputError: a line without a move, or a time that is none.

    Example:
        >>> cycle_time(plan, [MeasuredTime(12, 12, 3.4, 0.05)]).high  # [s]
    """
    if not measured:
        raise InputError("measured: no times; valid here: one or more, such as --measured 12=3.4")
    planned = move_times(plan)
    rows = np.array([_moves_of(plan, one) for one in measured])
    for one, row in zip(measured, rows, strict=True):
        if not (np.isfinite(one.seconds) and one.seconds > 0.0 and one.digits >= 0.0):
            raise InputError(f"measured: {one.words} took {one.seconds:g} s; valid here: seconds above 0")
        if not (row @ planned) > 0.0:
            lines = sorted({move.line for move, time in zip(plan.program.moves, planned, strict=True) if time > 0.0})
            raise InputError(f"measured: nothing takes time in {one.words}; valid here: a line of {_listed(lines)}")
    curves = _curves(plan, np.vstack([rows, np.ones(planned.size)]), bounds)
    seconds, digits = np.array([one.seconds for one in measured]), np.array([one.digits for one in measured])
    everyone = np.arange(seconds.size)
    low, high, unexplained = _span(curves, seconds, digits, everyone, -1, bounds)
    within = None
    if seconds.size >= FEWEST_TO_CHECK:
        inside = 0
        for k in range(seconds.size):
            least, most, _ = _span(curves, seconds, digits, everyone[everyone != k], k, bounds)
            inside += bool(least - digits[k] <= seconds[k] <= most + digits[k])
        within = (inside, seconds.size)
    return CycleTime(float(planned.sum()), low, high, unexplained, within, bounds)


def _moves_of(plan: ProgramPlan, one: MeasuredTime) -> Array:
    lines = np.array([move.line for move in plan.program.moves])
    taken = np.ones(lines.size, dtype=bool) if not one.first else (one.first <= lines) & (lines <= one.last)
    return np.asarray(taken, dtype=np.float64)


def _listed(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:12]))
    return f"{shown} …" if len(lines) > 12 else shown


def _curves(plan: ProgramPlan, rows: Array, bounds: Bounds) -> _Curves:
    """Plan the program again with other accelerations, and draw the times of the moves in each row (k, moves)."""
    waits = plan.route.waits
    fixed = np.zeros(len(plan.program.moves))
    owners = plan.route.owner[np.minimum(np.arange(waits.size), plan.route.owner.size - 1)]
    np.add.at(fixed, owners, waits)
    said = np.array([isinstance(move.speed, Duration) for move in plan.program.moves])
    planned = move_times(plan)
    fixed = np.where(said, planned, np.minimum(fixed, planned))
    (s0, s1), (a0, a1), _ = bounds
    knots = np.linspace(np.log(a0 / s1**2), np.log(a1 / s0**2), KNOTS)
    moved = np.array([np.where(said, 0.0, move_times(plan, ramps=float(np.exp(x))) - fixed) for x in knots])
    curve = PchipInterpolator(knots, moved @ rows.T, axis=0)
    return _Curves(rows @ fixed, curve, rows @ _stops(plan))


def _stops(plan: ProgramPlan) -> Array:
    """Return how often the arm comes to rest at the end of each move (moves,)."""
    ends = [plan.route.owner[last - 1] for _, last in plan.route.sections]
    return np.bincount(ends, minlength=len(plan.program.moves)).astype(np.float64)


def _span(
    curves: _Curves, seconds: Array, digits: Array, used: NDArray[np.int64], wanted: int, bounds: Bounds
) -> tuple[float, float, float]:
    """Return the least and largest time [s] of the part `wanted`, and by how much the parts `used` do not fit."""
    speeds, ramps = (np.geomspace(*ends, count + 1) for ends, count in zip(bounds[:2], CELLS, strict=True))
    times = curves.at(*np.meshgrid(speeds, ramps, indexing="ij"))
    slowest, quickest = times[:-1, :-1], times[1:, 1:]  # of each cell
    stops = curves.stops[used]

    def whiles(slack: float) -> tuple[Array, Array]:
        """Return from when to when [s] the time at stops fits, in each cell."""
        room = digits[used] + slack
        least, most = seconds[used] - room - slowest[..., used], seconds[used] + room - quickest[..., used]
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(stops > 0.0, least / stops, np.where(least > 0.0, np.inf, -np.inf))
            most = np.where(stops > 0.0, most / stops, np.where(most < 0.0, -np.inf, np.inf))
        return np.maximum(least.max(axis=-1), bounds.stops[0]), np.minimum(most.min(axis=-1), bounds.stops[1])

    def fits(slack: float) -> bool:
        least, most = whiles(slack)
        return bool((least <= most).any())

    slack = 0.0
    if not fits(0.0):
        low, slack = 0.0, float(np.max(seconds) + times.max())
        for _ in range(HALVINGS):
            middle = 0.5 * (low + slack)
            low, slack = (low, middle) if fits(middle) else (middle, slack)
    least, most = whiles(slack)
    fit = least <= most
    low_times = quickest[fit, wanted] + least[fit] * curves.stops[wanted]
    high_times = slowest[fit, wanted] + most[fit] * curves.stops[wanted]
    return float(low_times.min()), float(high_times.max()), slack
