# SPDX-License-Identifier: Apache-2.0
"""Benchmark of this library's closed loops.

A loop is compiled once, as the peers' models are built once; the runs are timed. ``loop/simulate`` and the long runs
are the exception: whole calls of `simulate`, with its checks and the recording.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.bench import lab_armwright, motors_armwright, programs_armwright
from armwright.bench.loop_task import CHECKED_TICKS, DURATION, KD, KP, PERIOD, waypoints
from armwright.bench.prepare_arms import arm
from armwright.bench.protocol import case
from armwright.control import computed_torque, inertia_gains, pd, pd_gravity
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.poe import poe_inverse, poe_mass
from armwright.errors import ArmwrightWarning
from armwright.exploration.explore_options import Budget
from armwright.motion import quintic_spline
from armwright.robot.load import load
from armwright.simulation import JointSensors, Loop, simulate, step_stages, system
from armwright.studies.doc000_collision.rules import explore_published

if TYPE_CHECKING:
    from armwright.control.law import Law
    from armwright.exploration.exploration_result import Exploration
    from armwright.motion import Trajectory
    from armwright.motion.trajectory import Reference
    from armwright.recording.batch import Recordings
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.simulation.session import Session
    from armwright.types import Array, Traced


SIMULATIONS, ARMS = 1000, 200
LONG_RUN_SECONDS = 50.0
IRB140_KP, IRB140_KD = (50.0, 50.0, 50.0, 50.0, 50.0, 60.0), (20.0, 20.0, 20.0, 20.0, 20.0, 22.0)
IRB140_GOAL = (np.pi / 2, 0.0, -np.pi / 2, np.pi, np.pi / 2, -np.pi)


def own_law(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference) -> Traced:
    """Return computed torque as a user writes it; traced."""
    return rnea(arm, q, qd, ref.qdd + KP * (ref.q - q) + KD * (ref.qd - qd))


class Runner:
    """Runs a compiled loop from the same start again and again."""

    def __init__(self, loop: Loop, reference: Trajectory, duration: float = DURATION, **start: Any) -> None:
        self.session = loop.session(reference=reference, **start)
        self.reference, self.duration = reference, duration
        self.x = self.session.state

    def __call__(self) -> Session:
        session = self.session
        session.log.forget(session.log.count)
        session.loop.set("x", self.x)
        session.follow(self.reference)
        session.run(self.duration)
        return session


class ExponentialSystem(system.System):
    """The arm by products of exponentials (002) instead of Newton and Euler: every torque and every mass matrix."""

    def needed(self, q: Traced, qd: Traced, qdd: Traced, wrenches: Traced | None, *, dry: bool) -> Traced:
        return poe_inverse(self.tree, q, qd, qdd)

    def mass_matrix(self, q: Traced) -> Traced:
        return poe_mass(self.tree, q)


def register(task: dict[str, Any]) -> None:
    """Register all loop cases."""
    robot, path, law = arm("ur5"), quintic_spline(waypoints(), DURATION), computed_torque(KP, KD)
    q0 = task["q0"]

    def state_of(law: Law | Callable[..., Traced]) -> Array:
        run = simulate(robot, law, path, CHECKED_TICKS * PERIOD, q0=q0)
        return np.concatenate([run["q"][-1], run["qd"][-1]])

    built_in, expected = state_of(law), task["state"]
    case("loop/computed_torque", Runner(Loop.of(robot, law), path, q0=q0), expected, got=built_in, note="compiled loop")
    case("loop/simulate", lambda: simulate(robot, law, path, q0=q0), expected, got=built_in, note="whole call")
    case("loop/own_law", Runner(Loop.of(robot, own_law), path, q0=q0), expected, got=state_of(own_law), note="traced")
    _batches(robot, law, path, q0)
    _callback(robot, path, q0)
    _stiff()
    _recording(robot, law, q0)
    _explore()
    motors_armwright.register()
    programs_armwright.register()
    lab_armwright.register()


def _batches(robot: Robot, law: Law, path: Trajectory, q0: Array) -> None:
    """Time one at a time and a thousand together, from different starts and, with noisy encoders, different seeds."""
    starts = q0 + np.random.default_rng(5).uniform(-0.05, 0.05, (SIMULATIONS, 6))
    sensors = JointSensors(position_noise=1e-4, velocity_noise=1e-3)
    for label, loop in (("", Loop.of(robot, law)), ("_noisy", Loop.of(robot, law, sensors=sensors))):
        one = Runner(loop, path, q0=starts[7], seed=7, every=100)
        many = Runner(loop, path, q0=starts, seed=0, every=100)
        alone, together = one().recording()["q"][-1], many().recordings()["q"][:, -1]
        case(f"loop/one{label}", one, together[7], got=alone, note="one at a time")
        case(
            f"loop/many{label}",
            many,
            alone,
            got=together[7],
            items=SIMULATIONS,
            note=f"{SIMULATIONS} simulations, per simulation",
        )

    def call(q0: Array, seed: int) -> Recording:
        return simulate(robot, law, path, q0=q0, seed=seed, every=100, sensors=sensors)

    alone, together = call(starts[7], 7)["q"][-1], call(starts, 0)["q"][:, -1]
    case("loop/call_noisy", lambda: call(starts[7], 7), together[7], got=alone, note="whole call")
    arms = [robot.with_payload(m) for m in np.linspace(0.0, 3.0, ARMS)]
    first = simulate(arms[7], law, path, q0=q0, model=robot, every=100)["q"][-1]

    def loaded() -> Recordings:
        return simulate(arms, law, path, q0=q0, model=robot, every=100)

    case("loop/call_arms", loaded, first, got=loaded()["q"][7, -1], items=ARMS, note=f"{ARMS} payloads, per simulation")
    same = simulate(robot, law, path, q0=starts[:ARMS], every=100)["q"][7, -1]
    case(
        "loop/call_arm",
        lambda: simulate(robot, law, path, q0=starts[:ARMS], every=100),
        same,
        got=simulate(robot, law, path, q0=starts[7], every=100)["q"][-1],
        items=ARMS,
        note=f"{ARMS} starts, per simulation",
    )
    case("loop/call_many_noisy", lambda: call(starts, 0), alone, got=together[7], items=SIMULATIONS, note="whole call")


def _callback(robot: Robot, path: Trajectory, q0: Array) -> None:
    kp, kd = inertia_gains(robot, q0, 10.0)

    def python_law(q: Array, qd: Array, ref: Reference) -> Array:
        """Branch on a value, so that this law cannot be traced and is called once per tick."""
        if abs(q[0]) > 10.0:
            return 0.0 * q
        return kp * (ref.q - q) + kd * (ref.qd - qd)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmwrightWarning)
        run = Runner(Loop.of(robot, python_law), path, q0=q0)
        called = simulate(robot, python_law, path, 0.2, q0=q0)["q"][-1]

    expected = simulate(robot, pd(kp, kd), path, 0.2, q0=q0)["q"][-1]
    case("loop/callback", run, expected, got=called, note="Python law, 1 kHz")


def _explore() -> None:
    """Time 000's run through its first layout, planning, inverse kinematics and recording included."""

    def run() -> Exploration:
        return explore_published("ur5-ragazzon-published", "A", budget=Budget(50.0))

    found = run()
    got = np.array([len(found.contacts), found.arrival])
    case("loop/explore_000", run, np.array([11, 34.7]), got=got, tolerance=3e-3, note="whole call")


def _stiff() -> None:
    """Time 002's first closed loop: 5 s, poles down to -22,700 1/s, by both formulations."""
    robot, law = load("irb140"), pd_gravity(IRB140_KP, IRB140_KD)
    loop = Loop.of(robot, law, integrator="rodas3", continuous=True)
    goal = np.array(IRB140_GOAL)
    runs = {"loop/irb140": _still(loop, goal)}
    original = step_stages.System  # type: ignore[attr-defined]
    try:
        step_stages.System = ExponentialSystem  # type: ignore[attr-defined]
        runs["loop/irb140_exponentials"] = _still(
            replace(loop, robots=(replace(robot, name="irb140 by exponentials"),)), goal
        )
    finally:
        step_stages.System = original  # type: ignore[attr-defined]
    # the same task with an explicit integrator and steps that resolve the fastest mode
    check = simulate(robot, law, goal, 5.0, q0=np.zeros(6), continuous=True, rate=10000.0, every=500)["q"][-1]
    for name, run in runs.items():
        case(name, run, check, got=run().state[0, :6], note="rodas3, 1 ms, continuous", tolerance=1e-5)


def _still(loop: Loop, goal: Array) -> Callable[[], Session]:
    """Return a run from zero towards a constant configuration; the reference does not change."""
    session = loop.session(np.zeros(6), reference=goal)
    x = session.state

    def run() -> Session:
        session.log.forget(session.log.count)
        session.loop.set("x", x)
        session.run(5.0)
        return session

    return run


def _recording(robot: Robot, law: Law, q0: Array) -> None:
    """Time 50 s at 1 kHz, whole calls: next to nothing kept, every tick kept, and saved."""
    path, folder = quintic_spline(waypoints(), LONG_RUN_SECONDS), Path(tempfile.mkdtemp(prefix="armwright-bench-"))

    def run(every: int = 1) -> Recording:
        return simulate(robot, law, path, q0=q0, every=every)

    few, full = run(500), run()
    cases: dict[str, Callable[[], Any]] = {
        "loop/long_unrecorded": lambda: run(500),
        "loop/long": run,
        "loop/long_npz": lambda: run().save(folder / "run.npz"),
    }
    if find_spec("mcap") is not None:
        cases["loop/long_mcap"] = lambda: run().save(folder / "run.mcap")
    for name, function in cases.items():
        case(name, function, few["q"], got=full["q"][::500], note="50 s, whole call")
