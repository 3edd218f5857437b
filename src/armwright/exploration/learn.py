# SPDX-License-Identifier: Apache-2.0
"""Thresholds learned before a run: contact-free motion over the same map, by the same loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import ThresholdFit, learn_thresholds
from armwright.errors import InputError, TraceError
from armwright.exploration.motion import Hand, timed_motion
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.motion import Trajectory
    from armwright.planning.grid.occupancy import GridMap
    from armwright.robot.model import Robot
    from armwright.simulation.loop_stages import Ingredients
    from armwright.types import Array

MOTIONS, POINTS = 4, 40  # half of the motions shape the thresholds, half raise them
STRIDE = 3  # cells between postures at most
LANES = 8  # runs of every motion, with noise of their own: they cost as much as one
TRIES = 10  # times the points that are looked for
REST = 2.0  # [s] of standing still at the end: the noise alone must not reach the thresholds either


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
    """Move the arm over the map without obstacles and learn what the observer says then; see `learn_thresholds`.

    Motions begin in random cells and lead to random cells, so that they cover the map as the runs will: thresholds that
    were learned in one corner of it are too tight in another, where the arm is stretched and its inertia larger.
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
    size = float(np.min(np.asarray(grid.grid.cell_size)))
    motions = []
    for k in range(MOTIONS):
        rows = _wander(hand, grid, q0, np.random.default_rng([seed, 7, k]))
        motions.append(timed_motion(hand, rows, pace, size)[0])
    return learned_from(motions, robot, believed, quiet, substeps, seed)


def _wander(hand: Hand, grid: GridMap, q0: Any, rng: np.random.Generator) -> Array:
    """Postures (m, n) from a random cell to others, a few cells at a time; from q0 where IK finds none."""
    g = grid.grid
    free = np.argwhere(~grid.blocked()) + g.first
    rows, here, goal = [q0], g.cell(hand.place(q0)), free[rng.integers(len(free))]
    begun = False
    for _ in range(TRIES * POINTS):
        if len(rows) > POINTS:
            break
        near = free[np.abs(free - here).max(axis=1) <= STRIDE]
        cell = goal if not begun else near[int(np.argmin(np.linalg.norm(near - goal, axis=1)))]
        try:
            row = hand.postures(g.centre(cell)[None], rows[-1], ["cell"])[0]
        except InputError:
            row = None
        if row is not None and (not begun or np.abs(row - rows[-1]).max() < 1.0):
            rows = [*rows, row] if begun else [row]
            here, begun = cell, True
        if row is None or (here == goal).all():
            goal = free[rng.integers(len(free))]
    return np.array(rows)


def learned_from(
    motions: Sequence[Trajectory], robot: Robot, believed: Robot, quiet: Ingredients, substeps: int, seed: int
) -> ThresholdFit:
    """Drive motions, stand still for a while after each, and learn thresholds from what the observer said meanwhile."""
    stacks, refs = [], []
    for k, motion in enumerate(motions):
        session = _session(robot, quiet, substeps, np.random.SeedSequence([seed, 8, k]))
        session.follow(motion)
        start = np.concatenate([motion.evaluate(0.0).q, np.zeros(quiet.size - robot.n)])
        session.start(start, {}, session.parts.lanes.values)
        session.run(motion.duration + REST)
        said = session.recordings()
        stacks.append(said["tau_ext"])
        refs.append(session.reference_at(said.time))
    return learn_thresholds(stacks, refs, quiet.period, believed)


def _session(robot: Robot, quiet: Ingredients, substeps: int, seed: np.random.SeedSequence) -> Session:
    """Return several runs side by side; one where noise does not tell them apart, or the law cannot be traced."""
    seeds = [int(s) for s in seed.generate_state(LANES, np.uint64) >> 1]
    noisy = quiet.sensors is not None and quiet.sensors.noisy
    for count in (LANES, 1) if noisy else (1,):
        lanes = replace(quiet.lanes, values=np.repeat(np.asarray(quiet.lanes.values)[:1], count, axis=0))
        parts = replace(quiet, lanes=lanes)
        try:
            return Session(
                [robot], parts, count=count, substeps=int(substeps), every=1, seeds=seeds[:count], batch=True
            )
        except TraceError:
            if count == 1:
                raise
    raise AssertionError("one run is always tried")
