"""Thresholds learned before a run: contact-free motion over the same map, by the same loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import ThresholdFit, learn_thresholds
from armwright.errors import InputError
from armwright.motion.reference import Reference
from armwright.simulation.exploration.motion import Hand, timed_motion
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.motion import Trajectory
    from armwright.planning.occupancy import GridMap
    from armwright.robot.model import Robot
    from armwright.simulation.plan import Ingredients

RUNS, POINTS = 8, 10
MARGIN = 1.5
TRIES = 200
REST = 10.0  # [s] of standing still at the end: the noise alone must not reach the thresholds either


def learned_thresholds(
    robot: Robot,
    believed: Robot,
    parts: Ingredients,
    hand: Hand,
    grid: GridMap,
    q0: Any,
    pace: float,
    substeps: int,
    seed: int,
) -> ThresholdFit:
    """Move the arm over the map without obstacles and learn what the observer says then.

    What was learned is kept with the robot: the same question a second time costs nothing.

    Args:
        robot: the plant.
        believed: the controller's model of it.
        parts: of the loop, observers as its monitors; its surroundings are left out.
        hand: the arm that FK and IK see.
        grid: the map: the motions lead through its cells.
        q0: where the arm begins (n,).
        pace: seconds per cell.
        substeps: of the loop.
        seed: of the cells and of the noise.
    """
    quiet = replace(parts, wrenches=None, external=None, stop_on_alarm=False)
    loop, g = quiet.key(), grid.grid
    if loop is None:
        return _learn(robot, believed, quiet, hand, grid, q0, pace, substeps, seed)
    arrays = (q0, hand.rotation, g.origin, g.axes, g.cell_size, grid.blocked())
    key = (
        "thresholds",
        loop,
        hand.robot,
        g.shape,
        g.first,
        pace,
        substeps,
        seed,
        *(np.asarray(a).tobytes() for a in arrays),
    )
    return robot.memo(key, lambda arm: _learn(arm, believed, quiet, hand, grid, q0, pace, substeps, seed))


def _learn(
    robot: Robot,
    believed: Robot,
    quiet: Ingredients,
    hand: Hand,
    grid: GridMap,
    q0: Any,
    pace: float,
    substeps: int,
    seed: int,
) -> ThresholdFit:
    rng = np.random.default_rng([seed, 7])
    g = grid.grid
    size = float(np.min(np.asarray(g.cell_size)))
    rows, here = [q0], g.cell(hand.place(q0))
    free = np.argwhere(~grid.blocked()) + g.first
    for _ in range(TRIES):
        if len(rows) > RUNS * POINTS:
            break
        near = free[np.abs(free - here).max(axis=1) <= 3]
        cell = near[rng.integers(len(near))]
        try:
            row = hand.postures(g.centre(cell)[None], rows[-1], ["cell"])[0]
        except InputError:
            continue
        if np.abs(row - rows[-1]).max() < 1.0:
            rows.append(row)
            here = cell
    motion, _ = timed_motion(hand, np.array(rows), pace, size)
    return learned_from(motion, robot, believed, quiet, q0, substeps, seed)


def learned_from(
    motion: Trajectory, robot: Robot, believed: Robot, quiet: Ingredients, q0: Any, substeps: int, seed: int
) -> ThresholdFit:
    """Drive a motion, stand still for a while, and learn thresholds from what the observer said meanwhile."""
    session = Session([robot], quiet, count=1, substeps=int(substeps), every=1, seeds=[seed + 1])
    session.follow(motion)
    session.start(np.concatenate([q0, np.zeros(quiet.size - robot.n)]), {}, quiet.lanes.values)
    session.run(motion.duration + REST)
    recording = session.recording()
    length = len(recording) // RUNS

    def runs(name: str) -> Any:
        return recording[name][: RUNS * length].reshape(RUNS, length, robot.n)

    ref = Reference(*(runs(name) for name in ("q_ref", "qd_ref", "qdd_ref")))
    return learn_thresholds(runs("tau_ext"), ref, quiet.period, believed, margin=MARGIN)
