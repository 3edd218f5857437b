# SPDX-License-Identifier: Apache-2.0
"""How a run feels: its loop with law, observers and surroundings, its detector, and thresholds learned before it.

`set_up` makes the loop once for both kinds of runs, `find_observer` and `find_detector` take monitors by name with the
numbers that suit a run, `learned_from` gets thresholds from contact-free motion where the run will be, by the same
loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.choices import DETECTORS, OBSERVERS
from armwright.contact.detectors import ThresholdFit, check_above_noise, learn_thresholds
from armwright.contact.doubt.doubt_filter import SAMPLE
from armwright.contact.doubt.model_errors import layout_of
from armwright.contact.monitor import Monitor
from armwright.contact.monitor_makers import ObserverOptions, is_learned
from armwright.contact.wrench_estimate import LENGTH, damped_wrench, wrench_observer
from armwright.control import computed_torque
from armwright.control.law import as_law, check_gains
from armwright.errors import InputError, TraceError
from armwright.exploration.model_doubt import ModelDoubt, SelfKnowledge, corrected, known_from
from armwright.exploration.simulated_ride import SimulatedRide, samples_since
from armwright.robot.load import load
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from armwright.exploration.explore_options import ControlLoop, Sensing
    from armwright.exploration.surroundings import Surroundings
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation.session import Session
    from armwright.types import Array, Outputs, Traced
    from armwright.world.world import World

OMEGA = (22.5, 22.5, 37.5, 60.0, 67.5, 75.0)
"""Natural frequencies of the controller [rad/s], base to tool: those of 000, tuned there for a UR5. They rise as
the inertia beyond the joint falls; at 500 Hz the fastest is sampled 42 times a period."""
WRENCH_DAMPING = 0.02  # [m] of the tool's force near singular configurations, the default of `wrench_observer`


def omega(n: int) -> Array:
    """Natural frequencies (n,) of the controller; arms with another number of joints get the slowest throughout."""
    return np.array(OMEGA) if n == len(OMEGA) else np.full(n, OMEGA[0])


def find_observer(
    observer: str | Monitor | Sequence[Monitor] | None, robot: Robot, q: Array, kp: Array, rate: float
) -> list[Monitor]:
    """Return the observer as a list of monitors whose last gives ``tau_ext``.

    Args:
        observer: a name of `OBSERVERS`, monitors, or None for the closed-loop error estimate.
        robot: the controller's model.
        q: configuration (n,) at which the scaled-error baseline is tuned.
        kp: K_0 of the controller (n,).
        rate: ticks per second.
    """
    if isinstance(observer, Monitor):
        return [observer]
    if observer is not None and not isinstance(observer, str):
        return list(observer)

    def refuse(valid: str) -> InputError:
        return InputError(f"observer must be one of {valid}, or monitors; got {observer!r}")

    return [OBSERVERS.find(observer or "closed-loop", refuse)(ObserverOptions(robot, q, kp, rate))]


def find_detector(detector: str | Monitor | None, fit: ThresholdFit | None) -> Monitor:
    """Return a detector: by name, as it is, or by default learned thresholds, the norm where nothing was learned."""
    if isinstance(detector, Monitor):
        return detector
    if detector is None:
        detector = "norm" if fit is None else "adaptive"

    def refuse(valid: str) -> InputError:
        return InputError(f"detector must be one of {valid}, or a monitor; got {detector!r}")

    make = DETECTORS.find(detector, refuse)
    made: Monitor = make(fit) if is_learned(make) else make()
    return made


def needs_learning(detector: str | Monitor | None, observer: str | Monitor | Sequence[Monitor] | None) -> bool:
    """Whether thresholds have to be learned from contact-free motion first."""
    if detector is None:
        return not (observer is None or observer == "closed-loop")
    return isinstance(detector, str) and DETECTORS.knows(detector) and is_learned(DETECTORS.find(detector))


def tool_estimate(kinematics: Robot | None) -> Monitor:
    """Tool force (3,) from ``tau_ext``; by the Jacobian of `kinematics` where that is not the controller's model."""
    if kinematics is None:
        return wrench_observer()
    return replace(wrench_observer(), function=partial(_force_estimate, kinematics))


def _force_estimate(kinematics: Robot, q: Traced, tau_ext: Traced) -> Outputs:
    return {"wrench_ext": damped_wrench(kinematics, q, tau_ext, WRENCH_DAMPING, LENGTH, force_only=True)}


NOISES = ("position_noise", "velocity_noise", "position_resolution", "velocity_resolution")


@dataclass(frozen=True, eq=False)
class Setup:
    """A loop that listens: everything but the detector.

    Attributes:
        loop: with the observers as its monitors; the last one gives ``tau_ext``.
        believed: the controller's model of the arm.
        sensing: as asked for. q0: where the arm begins (n,).
        seed: of noise. learn_seed: of the motions that thresholds are learned from.
        known: what a rehearsal taught about the errors of the model; None where the arm did not rehearse, or believes
            its model.
    """

    loop: Loop
    believed: Robot
    sensing: Sensing
    q0: Array
    seed: int
    learn_seed: int
    known: SelfKnowledge | None = None

    @property
    def robot(self) -> Robot:
        """The plant."""
        return self.loop.robot

    def quiet(self) -> Loop:
        """The loop without surroundings, which never stops."""
        return replace(self.loop, wrench=None, external=None, stop_on_alarm=False)


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
    made = Loop(
        robots=(arm,),
        law=law,
        model=believed,
        rate=loop.rate,
        substeps=loop.substeps,
        continuous=continuous,
        drive=loop.drive,
        friction=loop.friction,
        sensors=sensing.sensors,
        wrench=around.wrenches,
        external=around.external,
        monitors=tuple(observers),
        plant=around.lanes,
    )
    return Setup(made, believed, sensing, q0, seed, seed if sensing.learn_seed is None else sensing.learn_seed)


def ride_of(
    setup: Setup, fit: ThresholdFit | None, kinematics: Robot | None = None
) -> tuple[SimulatedRide, Sequence[Monitor]]:
    """Add the detector and begin at rest; return the ride and its monitors, the detector last.

    Args:
        setup: the loop that listens.
        fit: learned thresholds; None if none were.
        kinematics: the arm whose Jacobian turns torques into the tool's force, if not the controller's model.
    """
    watch = [*setup.loop.monitors, tool_estimate(kinematics)]
    detector = find_detector(setup.sensing.detector, fit)
    if setup.sensing.sensors is not None:
        noise = {name: getattr(setup.sensing.sensors, name) for name in NOISES}
        rate = 1.0 / setup.loop.period
        check_above_noise(watch, detector, setup.believed, setup.q0, rate=rate, seed=setup.seed, **noise)
    watch.append(detector)
    loop = replace(setup.loop, monitors=tuple(watch))
    return SimulatedRide(loop.session(setup.q0, seed=setup.seed, check_step=False)), watch


def said(setup: Setup, watch: Sequence[Monitor], world: World | None) -> dict[str, Any]:
    """What the settings of every run say, JSON-able."""
    return {
        "robot": setup.robot.name,
        "world": world.name if world is not None else "force function",
        "observer": watch[0].name,
        "detector": watch[-1].name,
        "detector_gains": {k: np.asarray(v).tolist() for k, v in watch[-1].gains.items()},
        "load": _load_words(setup),
    }


def _load_words(setup: Setup) -> str:
    """Return what is done about errors of the model, in words: "estimate", "none", or why they cannot be estimated."""
    if setup.sensing.load == "estimate" and not doubts_model(setup):
        why = f"a control rate below {1.0 / SAMPLE:g} Hz" if setup.believed.tip >= 0 else "no joint moves the tool"
        return f"none: {why}"
    return str(setup.sensing.load)


KNOWING_SECONDS = 15.0  # [s] of motion that an arm learns its own errors from: the load is known after six
REHEARSED_MOTIONS = (
    4  # each half of them judges the thresholds that the other half shapes: the least that gives two of each
)
RUNS_PER_MOTION = 8  # runs of every motion, with noise of their own: the widest vector, so they cost as much as one
REST_SECONDS = (
    2.0  # [s] of standing still at the end, a thousand ticks: the noise alone must not reach the thresholds either
)


def learned_from(motions: Sequence[Trajectory], setup: Setup) -> ThresholdFit:
    """Drive motions, stand still for a while after each, and learn thresholds from what the observer said meanwhile."""
    stacks, refs = [], []
    quiet = setup.quiet()
    for k, motion in enumerate(motions):
        session = _session(quiet, motion, np.random.SeedSequence([setup.learn_seed, 8, k]))
        session.run(motion.duration + REST_SECONDS)
        said = session.recordings()
        stacks.append(np.array(said["tau_ext"]))  # a copy: a view would keep the whole log
        refs.append(session.reference_at(said.time))
    return learn_thresholds(stacks, refs, quiet.period, setup.believed)


def self_knowledge(setup: Setup, motion: Trajectory) -> SelfKnowledge | None:
    """Drive a motion with nothing in the way, and learn from it what the model does not have: load and friction."""
    if not doubts_model(setup):
        return None
    session = _session(setup.quiet(), motion, np.random.SeedSequence([setup.learn_seed, 10]))
    session.run(min(motion.duration, KNOWING_SECONDS))
    return known_from(setup.believed, samples_since(session, 0), session.parts.period)


def knowing(setup: Setup, known: SelfKnowledge | None) -> Setup:
    """Return the loop with what a rehearsal taught; law and observers use a corrected model where errors are clear."""
    if known is None:
        return setup
    loop = setup.loop
    if known.used.any():
        loop = replace(loop, believed=corrected(setup.believed, layout_of(setup.believed), known.used))
    return replace(setup, loop=loop, known=known)


def doubts_model(setup: Setup) -> bool:
    """Return whether a run may doubt its model: it is asked to, and it has one that a filter can follow."""
    asked = setup.sensing.load == "estimate" and setup.believed.tip >= 0
    return asked and SAMPLE * setup.loop.rate >= 1.0


def doubt_of(setup: Setup, ride: SimulatedRide) -> ModelDoubt | None:
    """Return what a run knows about its model when it begins; None if it does not doubt it."""
    if not doubts_model(setup) or ride.session.called:
        return None
    return ModelDoubt(ride, setup.believed, setup.known)


def _session(quiet: Loop, motion: Trajectory, seed: np.random.SeedSequence) -> Session:
    """Return several runs side by side; one where noise does not tell them apart, or the law cannot be traced."""
    seeds = [int(s) for s in seed.generate_state(RUNS_PER_MOTION, np.uint64) >> 1]
    noisy = quiet.sensors is not None and quiet.sensors.noisy
    for count in (RUNS_PER_MOTION, 1) if noisy else (1,):
        try:
            return quiet.session(reference=motion, count=count, seed=seeds[:count], check_step=False)
        except TraceError:
            if count == 1:
                raise
    raise AssertionError("one run is always tried")
