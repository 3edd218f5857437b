# SPDX-License-Identifier: Apache-2.0
"""Thresholds learned before a run: contact-free motion where the run will be, by the same loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.detectors import ThresholdFit, learn_thresholds
from armwright.errors import TraceError
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.exploration.setup import Setup
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation.loop_stages import Ingredients

MOTIONS = 4  # each half of them judges the thresholds that the other half shapes: the least that gives two of each
LANES = 8  # runs of every motion, with noise of their own: the widest vector, so they cost as much as one
REST = 2.0  # [s] of standing still at the end, a thousand ticks: the noise alone must not reach the thresholds either


def learned_from(motions: Sequence[Trajectory], setup: Setup) -> ThresholdFit:
    """Drive motions, stand still for a while after each, and learn thresholds from what the observer said meanwhile."""
    stacks, refs = [], []
    robot, quiet, seed = setup.robot, setup.quiet(), setup.learn_seed
    for k, motion in enumerate(motions):
        session = _session(robot, quiet, setup.substeps, np.random.SeedSequence([seed, 8, k]))
        session.follow(motion)
        start = np.concatenate([motion.evaluate(0.0).q, np.zeros(quiet.size - robot.n)])
        session.start(start, {}, session.parts.lanes.values)
        session.run(motion.duration + REST)
        said = session.recordings()
        stacks.append(np.array(said["tau_ext"]))  # a copy: a view would keep the whole log
        refs.append(session.reference_at(said.time))
    return learn_thresholds(stacks, refs, quiet.period, setup.believed)


def _session(robot: Robot, quiet: Ingredients, substeps: int, seed: np.random.SeedSequence) -> Session:
    """Return several runs side by side; one where noise does not tell them apart, or the law cannot be traced."""
    seeds = [int(s) for s in seed.generate_state(LANES, np.uint64) >> 1]
    noisy = quiet.sensors is not None and quiet.sensors.noisy
    for count in (LANES, 1) if noisy else (1,):
        lanes = replace(quiet.lanes, values=np.repeat(np.asarray(quiet.lanes.values)[:1], count, axis=0))
        parts = replace(quiet, lanes=lanes)
        try:
            return Session([robot], parts, count=count, substeps=substeps, every=1, seeds=seeds[:count], batch=True)
        except TraceError:
            if count == 1:
                raise
    raise AssertionError("one run is always tried")
