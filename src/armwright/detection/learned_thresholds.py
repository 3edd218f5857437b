# SPDX-License-Identifier: Apache-2.0
"""Thresholds for one controller with its observer, learned in simulation: on arms that are not quite their model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from armwright.contact.detectors import ThresholdFit, TwoSpeed, TwoSpeedFit
from armwright.contact.detectors.threshold_learning import DEFAULT_FALSE_ALARMS
from armwright.detection.detection_settings import REACH_SHARE
from armwright.detection.studied_arm import study_arm
from armwright.detection.study_contacts import reach, tool_moves, ur5_sensors
from armwright.detection.study_runs import StudyBench
from armwright.detection.threshold_rehearsal import rehearse
from armwright.detection.varied_arms import Spread

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.control.law import Law
    from armwright.robot.model import Robot

MOVES, RUNS = 24, 192
"""Moves to rehearse, and runs of arms among them."""
TRAVEL = 0.15  # [m] of the tool in a move, where the arm is not too small for it


class LearnedThresholds(NamedTuple):
    """Thresholds of one per joint, and of the two-speed detector; in words what they were learned from."""

    fit: ThresholdFit
    two_speed: TwoSpeedFit
    words: str


def learned_thresholds(
    robot: Robot, law: Law, observers: Sequence[Monitor], rate: float, *, kind: TwoSpeed | None = None, seed: int = 0
) -> LearnedThresholds:
    """Let arms follow moves of the tool under a law without contact, and learn what its observer then says.

    Masses are 10 % and friction coefficients 20 % off the model, at random for every run; sensors are those of a UR5.
    Friction and rotors are the description's alone, since the controller knows no others: an arm that is described
    without them gives thresholds that a real one will exceed.

    Args:
        robot: the controller's model.
        law: the controller.
        observers: the last one says ``tau_ext``.
        rate: ticks per second.
        kind: settings of the two-speed detector.
        seed: of moves and arms.

    Raises:
        InputError: for an arm that cannot be simulated or whose tool cannot move.
    """
    studied = study_arm(robot, as_described=True, name="learned thresholds")
    spread = Spread()
    bench = StudyBench(studied.robot, law, ur5_sensors(), spread, rate)
    moves = tool_moves(studied.robot, MOVES, seed=seed, travel=min(TRAVEL, REACH_SHARE * reach(studied.robot)))
    chain = tuple(observers)
    found = rehearse(bench, moves, {"": chain}, {"": kind or TwoSpeed()}, runs=RUNS, seed=seed)
    fit = found.fits[""]
    words = (
        f"learned on {found.runs} simulated runs of {MOVES} moves, {60.0 * fit.hours:.0f} minutes, for at most "
        f"{DEFAULT_FALSE_ALARMS:g} false alarms an hour; masses ± {100 * spread.mass:.0f} % and friction "
        f"± {100 * spread.friction:.0f} % off the model; friction {studied.basis['friction']}; rotors "
        f"{studied.basis['rotors']}"
    )
    return LearnedThresholds(fit, found.two_speed["", ""], words)
