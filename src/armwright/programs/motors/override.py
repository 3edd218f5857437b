# SPDX-License-Identifier: Apache-2.0
"""How fast a program can be run on its path, and each move of it: steps from slow to fast, then halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.programs.motors.feasible import exact, exact_flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.motors.demand import Demand
    from armwright.programs.motors.drives import Basis
    from armwright.robot.model import Robot
    from armwright.types import Array

    At = Callable[[float, int | None], Demand]

SLOWEST, SLOW, FASTEST = 0.02, 0.2, 8.0
STEPS = 24  # from SLOW to FASTEST
HALVINGS = 11  # of a step: to 1e-4
EASE = 0.99  # by which a program is slowed until nothing at all is flagged


@dataclass(frozen=True, slots=True)
class Override:
    """Largest override at which nothing is flagged.

    Attributes:
        program: of the whole program; 0 if even `SLOWEST` is flagged.
        moves: number of a move → the largest override of the program at which none of its own cycles is flagged.
        limited_by: number of the move and index of the motor that come first beyond `program`; None if nothing does.
    """

    program: float
    moves: dict[int, float]
    limited_by: tuple[int, int] | None


@names_culprit
def feasible_override(robot: Robot, demand: Demand, basis: Basis = "motors", *, at: At | None = None) -> Override:
    """Find how fast a program can be run, and each of its moves, on the same path.

    From slow to fast, the first of `STEPS` overrides that is flagged ends the search, and the step before it is halved
    down to 1e-4. Standing still must be possible: gravity alone may be more than the motors have. In a path with
    corners it is partly chance whether a cycle meets one, so that its overrides are rough; at that of the program
    nothing is flagged.

    Args:
        robot: the arm.
        demand: the program.
        basis: what is checked.
        at: the demand at an override; all of it (None), or at least one move, with two cycles before it. By default
            `demand.at_override`, which knows the path by its samples only.
    """
    sampled: At = at or (lambda x, _: demand.at_override(x))
    moves = np.unique(demand.moves)
    grid = np.geomspace(SLOW, FASTEST, STEPS)
    flagged = _whole(robot, sampled, grid, moves, basis)
    if flagged[0].any():  # slow programs are long ones: looked at only if it must be
        slower = np.geomspace(SLOWEST, SLOW, STEPS // 2 + 1)[:-1]
        grid = np.concatenate([slower, grid])
        flagged = np.concatenate([_whole(robot, sampled, slower, moves, basis), flagged])
    first = np.where(flagged.any(axis=0), np.argmax(flagged, axis=0), len(grid))
    low = np.where(first > 0, grid[np.maximum(first - 1, 0)], 0.0)
    high = np.where(first < len(grid), grid[np.minimum(first, len(grid) - 1)], np.inf)
    between = np.flatnonzero((low > 0.0) & np.isfinite(high))
    for _ in range(HALVINGS if between.size else 0):
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
    reach = np.where(np.isfinite(high), low, FASTEST)
    program = float(reach.min())
    while program > SLOWEST and _whole(robot, sampled, np.array([program]), moves, basis).any():
        program *= EASE
    return Override(program if program > SLOWEST else 0.0, dict(zip(moves.tolist(), reach.tolist(), strict=True)), by)


def _whole(robot: Robot, at: At, overrides: Array, moves: NDArray[np.int64], basis: Basis) -> NDArray[np.bool_]:
    """Whether a cycle of each move is flagged at each override of the whole program, (overrides, moves)."""
    demands = [at(float(x), None) for x in overrides]
    flags = exact_flags(robot, demands, basis)
    return np.array([np.isin(moves, d.moves[f.any(axis=1)]) for f, d in zip(flags, demands, strict=True)])


def _of_moves(
    flags: Sequence[NDArray[np.bool_]], demands: Sequence[Demand], moves: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether a cycle of its own move is flagged in each demand, (B,)."""
    parts = zip(flags, demands, moves, strict=True)
    return np.array([bool(f[d.moves == move].any()) for f, d, move in parts])
