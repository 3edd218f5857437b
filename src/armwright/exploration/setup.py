# SPDX-License-Identifier: Apache-2.0
"""The loop of a run, put together once for both kinds: law, observers, surroundings; then detector and session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import check_above_noise
from armwright.contact.monitor import as_chain
from armwright.control import computed_torque
from armwright.control.law import as_law, check_gains
from armwright.errors import InputError
from armwright.exploration.sensing import find_detector, find_observer, omega, tool_estimate
from armwright.robot.load import load
from armwright.robot.tree import tree_of
from armwright.simulation.integrators import method as find_method
from armwright.simulation.loop_stages import Ingredients
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.contact.detectors import ThresholdFit
    from armwright.contact.monitor import Monitor
    from armwright.exploration.options import ControlLoop, Sensing
    from armwright.exploration.surroundings import Surroundings
    from armwright.robot.model import Robot
    from armwright.types import Array

NOISES = ("position_noise", "velocity_noise", "position_resolution", "velocity_resolution")


@dataclass(frozen=True, eq=False)
class Setup:
    """A loop that listens: everything but the detector.

    Attributes:
        robot: the plant. believed: the controller's model of it.
        parts: of the loop, the observers as its monitors. observers: the same, the last one gives ``tau_ext``.
        sensing: as asked for. q0: where the arm begins (n,).
        substeps: of the loop. seed: of noise. learn_seed: of the motions that thresholds are learned from.
    """

    robot: Robot
    believed: Robot
    parts: Ingredients
    observers: tuple[Monitor, ...]
    sensing: Sensing
    q0: Array
    substeps: int
    seed: int
    learn_seed: int

    def quiet(self) -> Ingredients:
        """The parts of the loop without surroundings, which never stops."""
        return replace(self.parts, wrenches=None, external=None, stop_on_alarm=False)


@lru_cache(maxsize=8)
def _catalogued(name: str) -> Robot:
    return load(name)


def arm_of(robot: Robot | str) -> Robot:
    """Return the arm; one by name from the catalogue is the same object every time, and with it its compiled loops."""
    if not isinstance(robot, str):
        return robot
    return load(robot) if Path(robot).suffix else _catalogued(robot)


def set_up(
    arm: Robot, around: Surroundings, loop: ControlLoop, sensing: Sensing, q0: Array, *, held: bool, seed: int
) -> Setup:
    """Put the loop together up to its observers.

    Args:
        arm: the plant.
        around: what it may bump into.
        loop: as asked for.
        sensing: as asked for, the observer chosen.
        q0: where the arm begins (n,).
        held: whether the torque has to be held between ticks, whatever the observer.
        seed: of the run.
    """
    believed, w = loop.model or arm, omega(arm.n)
    law = as_law(loop.law) if loop.law is not None else computed_torque(w * w, 2.0 * w)
    check_gains(law, arm.n)
    plain = sensing.sensors is None and not held and sensing.observer == "closed-loop"
    continuous = plain if loop.continuous is None else loop.continuous
    if continuous and sensing.sensors is not None:
        raise InputError("explore: sensors sample once per tick; they need a law that is held (continuous=False)")
    observers = find_observer(sensing.observer, believed, q0, law.gains.get("kp", w * w), loop.rate)
    parts = Ingredients(
        lanes=around.lanes,
        model=tree_of(believed, regroup=True),
        law=law,
        method=find_method("rk4"),
        period=1.0 / loop.rate,
        continuous=continuous,
        drive=loop.drive,
        friction=loop.friction,
        sensors=sensing.sensors,
        wrenches=around.wrenches,
        external=around.external,
        model_key=believed,
        monitors=as_chain(observers),
    )
    learn_seed = seed if sensing.learn_seed is None else sensing.learn_seed
    return Setup(arm, believed, parts, tuple(observers), sensing, q0, int(loop.substeps), seed, learn_seed)


def session_of(
    setup: Setup, fit: ThresholdFit | None, kinematics: Robot | None = None
) -> tuple[Session, Sequence[Monitor]]:
    """Add the detector and begin at rest; return the session and its monitors, the detector last.

    Args:
        setup: the loop that listens.
        fit: learned thresholds; None if none were.
        kinematics: the arm whose Jacobian turns torques into the tool's force, if not the controller's model.
    """
    watch = [*setup.observers, tool_estimate(kinematics)]
    detector = find_detector(setup.sensing.detector, fit)
    if setup.sensing.sensors is not None:
        noise = {name: getattr(setup.sensing.sensors, name) for name in NOISES}
        rate = 1.0 / setup.parts.period
        check_above_noise(watch, detector, setup.believed, setup.q0, rate=rate, seed=setup.seed, **noise)
    watch.append(detector)
    parts = replace(setup.parts, monitors=as_chain(watch))
    session = Session([setup.robot], parts, count=1, substeps=setup.substeps, every=1, seeds=[setup.seed])
    session.start(np.concatenate([setup.q0, np.zeros(parts.size - setup.robot.n)]), {}, parts.lanes.values)
    return session, watch


def said(setup: Setup, watch: Sequence[Monitor], world: Any) -> dict[str, Any]:
    """What the settings of every run say, JSON-able."""
    return {
        "robot": setup.robot.name,
        "world": world.name if world is not None else "force function",
        "observer": watch[0].name,
        "detector": watch[-1].name,
        "detector_gains": {k: np.asarray(v).tolist() for k, v in watch[-1].gains.items()},
    }
