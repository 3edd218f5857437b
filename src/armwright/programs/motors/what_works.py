# SPDX-License-Identifier: Apache-2.0
"""What would work: how fast, with which load and with which motors a program can be run as it was meant.

`feasible_override` searches the speed, of the program and of each move: steps from slow to fast, then halving.
`largest_payload`, `needed_motors` and `sensitivity` ask for load, motors and cycle time. All questions are put to one
compiled loop in which the arm follows the wish exactly, whatever it takes. Then a flag in one move has nothing to do
with a lag from another. Where it flags nothing, Algorithm 1 returns the wish unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.programs.motors.motor_cycle import Algorithm, unlimited
from armwright.programs.motors.motor_loop import run_columns, run_variants
from armwright.robot.loaded_tree import PAYLOAD_SIZE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.programs.motors.motor_demand import Demand
    from armwright.programs.motors.motor_limits import Basis
    from armwright.programs.motors.motor_run import MotorRun
    from armwright.robot.model import Robot
    from armwright.types import Array

EXACT = Algorithm(rule=unlimited, clip=False)
SEARCH_ROUNDS, LOOKS_PER_ROUND = 3, 12  # each round tries LOOKS values in the bracket: in the end 1/13³ of its width


def exact(robot: Robot, demands: Demand | Sequence[Demand], basis: Basis = "motors") -> list[MotorRun]:
    """Run demands with the arm exactly on its way; flags tell what is beyond the limits."""
    return run_variants(robot, demands, "unlimited", algorithm=EXACT, basis=basis)


def exact_flags(robot: Robot, demands: Sequence[Demand], basis: Basis) -> list[NDArray[np.bool_]]:
    """Return the torque and speed flags of every cycle of each demand, (T, 2n)."""
    return [rows > 0.5 for rows in run_columns(robot, demands, EXACT, basis, ("saturated", "clipped"))]


class Needed(NamedTuple):
    """Motors that the program would take, as factors (n,) of those in the sheet; up to 1 they suffice.

    Gear, rotor inertia and friction are those of the sheet: a larger motor has a heavier rotor, which is not counted.
    """

    torque: Array
    speed: Array


@names_culprit
def needed_motors(robot: Robot, demand: Demand, basis: Basis = "motors") -> Needed:
    """Return the least torque and speed that every motor must have, over what it has, for the program as it is.

    Example:
        >>> needed_motors(robot, demand).torque  # (n,) factors of the sheet's torque limits
    """
    run = exact(robot, demand, basis)[0]
    return Needed(run.torque_use.max(axis=0), run.speed_use.max(axis=0))


@names_culprit
def largest_payload(
    robot: Robot, demand: Demand, com: ArrayLike = (0.0, 0.0, 0.0), basis: Basis = "motors", *, most: float = 1000.0
) -> float:
    """Return the largest point mass [kg] on the tool with which nothing is flagged, NaN if even 0 kg is too much.

    Args:
        robot: the arm.
        demand: the program; the mass comes on top of its own payload, at every moment.
        com: where the mass sits, tool frame (3,) [m].
        basis: what is checked.
        most: largest mass to look at [kg].

    Example:
        >>> largest_payload(robot, demand, com=(0.0, 0.0, 0.1))  # [kg]
    """
    own = np.zeros((demand.cycles, PAYLOAD_SIZE)) if demand.payload is None else np.asarray(demand.payload)
    at = np.asarray(com, dtype=np.float64)

    def flagged(masses: Array) -> NDArray[np.bool_]:
        return flagged_any(robot, _carrying(demand, [_joined(own, float(m), at) for m in masses]), basis)

    return least_flagged(flagged, np.concatenate([[0.0], np.geomspace(1e-3 * most, most, 2 * LOOKS_PER_ROUND)]))


def flagged_any(robot: Robot, demands: Sequence[Demand], basis: Basis = "motors") -> NDArray[np.bool_]:
    """Return whether anything is flagged in each demand (B,), with the arm exactly on its way."""
    return np.array([bool(flags.any()) for flags in exact_flags(robot, demands, basis)])


def _carrying(demand: Demand, loads: list[Array]) -> list[Demand]:
    return [replace(demand, payload=load) for load in loads]


def least_flagged(flagged: Callable[[Array], NDArray[np.bool_]], grid: Array) -> float:
    """Return the largest value not flagged below the first that is; NaN if the first is, the last if none is."""
    for _ in range(SEARCH_ROUNDS):
        hit = np.flatnonzero(flagged(grid))
        if not hit.size:
            return float(grid[-1])
        if hit[0] == 0:
            return float("nan")
        grid = np.linspace(grid[hit[0] - 1], grid[hit[0]], LOOKS_PER_ROUND + 2)
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

    Example:
        >>> [row.torque.max() for row in sensitivity(robot, demand)]
    """
    out = []
    for factor in periods:
        out.append(sensitivity_to_cycle(robot, demand.at_period(factor * demand.dt), basis))
    own = np.zeros((demand.cycles, PAYLOAD_SIZE)) if demand.payload is None else np.asarray(demand.payload)
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
    """Return payload rows (T, 10) with a point mass added: masses, centre and inertia of both together."""
    total = own[:, :1] + mass
    share = np.divide(own[:, :1], total, out=np.zeros_like(total), where=total > 0.0)
    centre = share * own[:, 1:4] + (1.0 - share) * com
    apart = own[:, 1:4] - com
    reduced = np.divide(own[:, :1] * mass, total, out=np.zeros_like(total), where=total > 0.0)[:, 0]
    square, (x, y, z) = (apart**2).sum(axis=1), apart.T
    extra = [square - x * x, square - y * y, square - z * z, -x * y, -x * z, -y * z]
    return np.column_stack([total, centre, own[:, 4:] + reduced[:, None] * np.column_stack(extra)])


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.motors.motor_demand import Demand
    from armwright.programs.motors.motor_limits import Basis
    from armwright.robot.model import Robot
    from armwright.types import Array

    At = Callable[[float, int | None], Demand]

SLOWEST_FACTOR, SLOW_FACTOR, FASTEST_FACTOR = 0.02, 0.2, 8.0
FACTOR_STEPS = 24  # from SLOW to FASTEST
STEP_HALVINGS = 11  # of a step: to 1e-4
EASE = 0.99  # factor by which a program is slowed until nothing is flagged


@dataclass(frozen=True, slots=True)
class Override:
    """Largest override at which nothing is flagged.

    Attributes:
        program: of the whole program; 0 if even `SLOWEST_FACTOR` is flagged.
        moves: number of a move → the largest override of the program at which none of its own cycles is flagged.
        limited_by: number of the move and index of the motor that come first beyond `program`; None if nothing does.
    """

    program: float
    moves: dict[int, float]
    limited_by: tuple[int, int] | None


@names_culprit
def feasible_override(robot: Robot, demand: Demand, basis: Basis = "motors", *, at: At | None = None) -> Override:
    """Find how fast a program can be run, and each of its moves, on the same path.

    From slow to fast, the first of `FACTOR_STEPS` overrides that is flagged ends the search, and the step before it is
    halved down to 1e-4. Standing still must be possible: gravity alone may be more than the motors have. In a path with
    corners it is partly chance whether a cycle meets one, so that its overrides are rough; at that of the program
    nothing is flagged.

    Args:
        robot: the arm.
        demand: the program.
        basis: what is checked.
        at: the demand at an override; all of it (None), or at least one move, with two cycles before it. By default
            `demand.at_override`, which knows the path by its samples only.

    Example:
        >>> feasible_override(robot, demand).program  # 1.2: the program could run 20 % faster
    """
    sampled: At = at or (lambda x, _: demand.at_override(x))
    moves = np.unique(demand.moves)
    grid = np.geomspace(SLOW_FACTOR, FASTEST_FACTOR, FACTOR_STEPS)
    flagged = _whole(robot, sampled, grid, moves, basis)
    if flagged[0].any():  # slow programs are long: tried only if necessary
        slower = np.geomspace(SLOWEST_FACTOR, SLOW_FACTOR, FACTOR_STEPS // 2 + 1)[:-1]
        grid = np.concatenate([slower, grid])
        flagged = np.concatenate([_whole(robot, sampled, slower, moves, basis), flagged])
    first = np.where(flagged.any(axis=0), np.argmax(flagged, axis=0), len(grid))
    low = np.where(first > 0, grid[np.maximum(first - 1, 0)], 0.0)
    high = np.where(first < len(grid), grid[np.minimum(first, len(grid) - 1)], np.inf)
    between = np.flatnonzero((low > 0.0) & np.isfinite(high))
    for _ in range(STEP_HALVINGS if between.size else 0):
        middle = 0.5 * (low[between] + high[between])
        looks = [sampled(float(x), int(m)) for x, m in zip(middle, moves[between], strict=True)]
        hit = _of_moves(exact_flags(robot, looks, basis), looks, moves[between])
        low[between], high[between] = np.where(hit, low[between], middle), np.where(hit, middle, high[between])
    slowest = int(np.argmin(low))
    by = None
    if np.isfinite(high[slowest]):
        run = exact(robot, sampled(float(high[slowest]), int(moves[slowest])), basis)[0]
        worst = np.maximum(run.torque_use, run.speed_use) * (run.demand.moves == moves[slowest])[:, None]
        by = (int(moves[slowest]), int(np.argmax(worst.max(axis=0))))
    reach = np.where(np.isfinite(high), low, FASTEST_FACTOR)
    program = float(reach.min())
    while program > SLOWEST_FACTOR and _whole(robot, sampled, np.array([program]), moves, basis).any():
        program *= EASE
    return Override(
        program if program > SLOWEST_FACTOR else 0.0, dict(zip(moves.tolist(), reach.tolist(), strict=True)), by
    )


def _whole(robot: Robot, at: At, overrides: Array, moves: NDArray[np.int64], basis: Basis) -> NDArray[np.bool_]:
    """Return whether a cycle of each move is flagged at each override of the whole program, (overrides, moves)."""
    demands = [at(float(x), None) for x in overrides]
    flags = exact_flags(robot, demands, basis)
    return np.array([np.isin(moves, d.moves[f.any(axis=1)]) for f, d in zip(flags, demands, strict=True)])


def _of_moves(
    flags: Sequence[NDArray[np.bool_]], demands: Sequence[Demand], moves: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether a cycle of its own move is flagged in each demand, (B,)."""
    parts = zip(flags, demands, moves, strict=True)
    return np.array([bool(f[d.moves == move].any()) for f, d, move in parts])
