# SPDX-License-Identifier: Apache-2.0
"""What would work: with what load, with which motors a program can be run as it was meant; for how fast see `override`.

All questions are put to one compiled loop in which the arm follows the wish exactly, whatever it takes: then a flag in
one move has nothing to do with a lag from another. Where it flags nothing, Algorithm 1 returns the wish unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.programs.motors.cycle import Algorithm
from armwright.programs.motors.payload import SIZE
from armwright.programs.motors.rules import unlimited
from armwright.programs.motors.run import run_columns, run_variants

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.programs.motors.demand import Demand
    from armwright.programs.motors.drives import Basis
    from armwright.programs.motors.result import MotorRun
    from armwright.robot.model import Robot
    from armwright.types import Array

EXACT = Algorithm(rule=unlimited, clip=False)
ROUNDS, LOOKS = 3, 12  # each round puts LOOKS values into the bracket: 13³ of its width


def exact(robot: Robot, demands: Demand | Sequence[Demand], basis: Basis = "motors") -> list[MotorRun]:
    """Run demands with the arm exactly on its way; flags tell what is beyond the limits."""
    return run_variants(robot, demands, "unlimited", algorithm=EXACT, basis=basis)


def exact_flags(robot: Robot, demands: Sequence[Demand], basis: Basis) -> list[NDArray[np.bool_]]:
    """Torque and speed flags of every cycle of each demand, (T, 2n)."""
    return [rows > 0.5 for rows in run_columns(robot, demands, EXACT, basis, ("saturated", "clipped"))]


class Needed(NamedTuple):
    """Motors that the program would take, as factors (n,) of those in the sheet; 1 and less is enough.

    Gear, rotor inertia and friction are those of the sheet: a larger motor has a heavier rotor, which is not counted.
    """

    torque: Array
    speed: Array


@names_culprit
def needed_motors(robot: Robot, demand: Demand, basis: Basis = "motors") -> Needed:
    """Return the least torque and speed that every motor must have, over what it has, for the program as it is."""
    run = exact(robot, demand, basis)[0]
    return Needed(run.torque_use.max(axis=0), run.speed_use.max(axis=0))


@names_culprit
def largest_payload(
    robot: Robot, demand: Demand, com: ArrayLike = (0.0, 0.0, 0.0), basis: Basis = "motors", *, most: float = 1000.0
) -> float:
    """Return the largest point mass [kg] on the tool with which nothing is flagged, NaN if even none is too much.

    Args:
        robot: the arm.
        demand: the program; the mass comes on top of its own payload, at every moment.
        com: where the mass sits, tool frame (3,) [m].
        basis: what is checked.
        most: largest mass to look at [kg].
    """
    own = np.zeros((demand.cycles, SIZE)) if demand.payload is None else np.asarray(demand.payload)
    at = np.asarray(com, dtype=np.float64)

    def flagged(masses: Array) -> NDArray[np.bool_]:
        return flagged_any(robot, _carrying(demand, [_joined(own, float(m), at) for m in masses]), basis)

    return least_flagged(flagged, np.concatenate([[0.0], np.geomspace(1e-3 * most, most, 2 * LOOKS)]))


def flagged_any(robot: Robot, demands: Sequence[Demand], basis: Basis = "motors") -> NDArray[np.bool_]:
    """Whether anything is flagged in each of some demands with the arm exactly on its way, (B,)."""
    return np.array([bool(flags.any()) for flags in exact_flags(robot, demands, basis)])


def _carrying(demand: Demand, loads: list[Array]) -> list[Demand]:
    return [replace(demand, payload=load) for load in loads]


def least_flagged(flagged: Callable[[Array], NDArray[np.bool_]], grid: Array) -> float:
    """Largest value that is not flagged below the first one that is; NaN if the first is, the last if none is."""
    for _ in range(ROUNDS):
        hit = np.flatnonzero(flagged(grid))
        if not hit.size:
            return float(grid[-1])
        if hit[0] == 0:
            return float("nan")
        grid = np.linspace(grid[hit[0] - 1], grid[hit[0]], LOOKS + 2)
    return float(grid[0])


class Sensitivity(NamedTuple):
    """One variation: what was changed and to what, largest use (n,) of torque and of speed, cycles flagged."""

    what: str
    value: float
    torque: Array
    speed: Array
    flagged: int


@names_culprit
def sensitivity(
    robot: Robot,
    demand: Demand,
    *,
    periods: Sequence[float] = (0.25, 0.5, 1.0, 2.0),
    payloads: Sequence[float] = (0.0, 1.0, 5.0),
    com: ArrayLike = (0.0, 0.0, 0.0),
    basis: Basis = "motors",
) -> list[Sensitivity]:
    """Tell how much of every motor is used when the cycle is longer or shorter, or the load larger.

    A corner in the wish is an acceleration that grows as 1/Δt: what changes much with Δt is a corner, not a load.

    Args:
        robot: the arm.
        demand: the program.
        basis: what is checked.
        periods: lengths of the cycle, as factors of the program's.
        payloads: point masses [kg] at `com` in the tool frame, on top of what the program carries.
        com: (3,) [m].
    """
    out = []
    for factor in periods:
        out.append(sensitivity_to_cycle(robot, demand.at_period(factor * demand.dt), basis))
    own = np.zeros((demand.cycles, SIZE)) if demand.payload is None else np.asarray(demand.payload)
    loads = [_joined(own, mass, np.asarray(com, dtype=np.float64)) for mass in payloads]
    runs = exact(robot, _carrying(demand, loads), basis) if loads else []
    return out + [_summed("payload", mass, run) for mass, run in zip(payloads, runs, strict=True)]


def sensitivity_to_cycle(robot: Robot, demand: Demand, basis: Basis = "motors") -> Sensitivity:
    """Tell how much of every motor a demand uses, as the row of its own cycle time."""
    return _summed("dt", demand.dt, exact(robot, demand, basis)[0])


def _summed(what: str, value: float, run: MotorRun) -> Sensitivity:
    flags = (run.saturated | run.clipped).any(axis=1)
    return Sensitivity(what, value, run.torque_use.max(axis=0), run.speed_use.max(axis=0), int(flags.sum()))


def _joined(own: Array, mass: float, com: Array) -> Array:
    """Payload rows (T, 10) with a point mass added: masses, centre and inertia of both together."""
    total = own[:, :1] + mass
    share = np.divide(own[:, :1], total, out=np.zeros_like(total), where=total > 0.0)
    centre = share * own[:, 1:4] + (1.0 - share) * com
    apart = own[:, 1:4] - com
    reduced = np.divide(own[:, :1] * mass, total, out=np.zeros_like(total), where=total > 0.0)[:, 0]
    square, (x, y, z) = (apart**2).sum(axis=1), apart.T
    extra = [square - x * x, square - y * y, square - z * z, -x * y, -x * z, -y * z]
    return np.column_stack([total, centre, own[:, 4:] + reduced[:, None] * np.column_stack(extra)])
