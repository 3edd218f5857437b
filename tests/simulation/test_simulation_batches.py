# SPDX-License-Identifier: Apache-2.0
"""B simulations at once are B single ones: states, gains, robots, seeds."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from armwright.control import computed_torque, pd_gravity, pid
from armwright.errors import InputError, SimulationError
from armwright.motion import quintic
from armwright.recording.batch import Recordings
from armwright.recording.recording import Recording
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Friction
from armwright.robot.tree import tree_of, trees_of
from armwright.simulation import JointSensors, Loop, drive_of, session, simulate

B = 11  # not a multiple of any SIMD width


@pytest.fixture(scope="module")
def robot(ur5):
    return ur5


@pytest.fixture(scope="module")
def path():
    return quintic(np.zeros(6), [0.5, -0.5, 0.4, 0.3, -0.2, 0.6], 0.3)


SOME = (0, 4, B - 1)  # each single run with its own constants is compiled anew


def agree(batch, singles, tolerance=1e-12):
    assert len(batch) == B
    for k, single in (singles if isinstance(singles, dict) else dict(enumerate(singles))).items():
        for name in ("q", "qd", "tau"):
            assert batch[name][k].shape == single[name].shape
            scale = max(1.0, np.abs(single[name]).max())
            assert np.abs(batch[name][k] - single[name]).max() < tolerance * scale, (k, name)


def test_initial_states(robot, path):
    rng = np.random.default_rng(0)
    q0, qd0 = 0.1 * rng.normal(size=(B, 6)), 0.1 * rng.normal(size=(B, 6))
    law = computed_torque(400.0, 40.0)
    batch = simulate(robot, law, path, q0=q0, qd0=qd0)
    agree(batch, [simulate(robot, law, path, q0=a, qd0=b) for a, b in zip(q0, qd0, strict=True)])
    assert np.abs(batch["q"][0] - batch["q"][1]).max() > 0.01
    assert batch[3].robot is robot and (batch[3]["q"] == batch["q"][3]).all()


@pytest.mark.parametrize("shape", ["joints", "one"])
def test_gains(robot, path, shape):
    kp = np.linspace(100.0, 400.0, B)[:, None] * (np.ones((1, 6)) if shape == "joints" else np.ones((1, 1)))
    batch = simulate(robot, computed_torque(kp, 40.0), path, q0=np.full(6, 0.05))
    alone = {k: computed_torque(kp[k] if shape == "joints" else kp[k, 0], 40.0) for k in SOME}
    agree(batch, {k: simulate(robot, law, path, q0=np.full(6, 0.05)) for k, law in alone.items()})


def heavier(robot, factor, viscous, coulomb):
    """Another load, other friction; same shape."""
    bodies = tuple(replace(b, mass=b.mass * factor, inertia=b.inertia * factor) for b in robot.bodies)
    joints = tuple(replace(j, friction=Friction(viscous=viscous, coulomb=coulomb)) for j in robot.joints)
    return replace(robot, bodies=bodies, joints=joints)


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "rodas3"])
def test_robots(robot, path, integrator):
    """Masses and friction are inputs of one compiled loop."""
    rng = np.random.default_rng(1)
    arms = [heavier(robot, m, v, c) for m, v, c in rng.uniform([0.8, 1e-3, 1e-4], [1.2, 2e-2, 1e-3], (B, 3))]
    law, options = (
        pd_gravity(50.0, [5.0, 5, 5, 1, 1, 0.1]),
        {"model": robot, "integrator": integrator, "qd0": np.full(6, 0.5)},
    )
    batch = simulate(arms, law, path, 0.1, **options)
    agree(batch, {k: simulate(arms[k], law, path, 0.1, **options) for k in SOME}, 1e-11)
    assert np.abs(batch["q"][0] - batch["q"][1]).max() > 1e-4
    assert batch[2].robot is arms[2]
    # afterwards one of the robots alone still runs
    assert np.abs(simulate(arms[0], law, path, 0.1, **options)["q"] - batch["q"][0]).max() < 1e-11


def test_each_robot_is_its_own_model_by_default(robot, path):
    arms = [heavier(robot, m, 0.0, 0.0) for m in np.linspace(0.8, 1.3, B)]
    batch = simulate(arms, computed_torque(400.0, 40.0), path)
    agree(batch, {k: simulate(arms[k], computed_torque(400.0, 40.0), path) for k in SOME}, 1e-11)
    assert np.abs(batch["error"]).max() < 2e-3  # the model cancels each arm exactly; what is left is the hold
    wrong = simulate(arms, computed_torque(400.0, 40.0), path, model=arms[0])
    assert np.abs(wrong["error"][-1]).max() > 5.0 * np.abs(wrong["error"][0]).max()


def test_robots_of_another_shape_are_refused(robot, path):
    with pytest.raises(InputError, match="simulate: robot 1"):
        simulate([robot, load("irb140")], None, None, 0.1)
    lax = replace(robot, joints=tuple(replace(j, friction=Friction(coulomb=1.0, dead_zone=0.1)) for j in robot.joints))
    with pytest.raises(InputError, match="dead_zone"):
        simulate([robot, lax], None, None, 0.1)


def test_seeds(robot, path):
    """Simulation k of a batch has the noise of a single run with seed + k."""
    law, sensors = computed_torque(100.0, 20.0), JointSensors(position_noise=1e-4)
    batch = simulate(robot, law, path, sensors=sensors, count=B, seed=40)
    agree(batch, [simulate(robot, law, path, sensors=sensors, seed=40 + k) for k in range(B)])
    chosen = simulate(robot, law, path, sensors=sensors, seed=[42, 40])
    assert np.abs(chosen["q"][0] - batch["q"][2]).max() < 1e-12
    assert np.abs(batch["q"][0] - batch["q"][1]).max() > 1e-6
    assert batch[4].seed == 44


def test_memory_drive_and_adaptive_steps(robot, path):
    """A law with memory, motors with a lag; every lane has its own step."""
    law = pid([50.0, 50, 50, 5, 3, 0.1], 5.0, [10.0, 10, 10, 0.5, 0.2, 0.004])
    q0 = 0.05 * np.random.default_rng(3).normal(size=(B, 6))
    for integrator in ("rk4", "dopri5", "rodas3-adaptive"):
        options = {"drive": drive_of(robot, time_constant=0.002), "integrator": integrator}
        batch = simulate(robot, law, path, 0.1, q0=q0, **options)
        agree(batch, {k: simulate(robot, law, path, 0.1, q0=q0[k], **options) for k in SOME}, 1e-9)


def test_numbers_that_do_not_match_are_refused(robot, path):
    law = computed_torque(np.full((4, 6), 100.0), 20.0)
    with pytest.raises(InputError, match="3 initial states for 4"):
        simulate(robot, law, path, q0=np.zeros((3, 6)))
    with pytest.raises(InputError, match="events stop one simulation"):
        simulate(robot, law, path, events={"x": lambda q: q[0]})


def test_divergence_in_a_batch_names_the_simulation(robot, path):
    gains = np.full((B, 6), 5.0)
    gains[7] = -5000.0

    def law(q, qd, ref, kd):
        return 10.0 * (ref.q - q) - kd * np.array([1.0, 1.0, 1.0, 0.05, 0.02, 0.002]) * qd

    from armwright.control import as_law

    with pytest.raises(SimulationError, match=r"diverged .*simulation 7") as error:
        simulate(robot, as_law(law, kd=gains), path, check_step=False)
    runs = error.value.recording
    assert runs.lengths[7] < len(runs.time) and np.isfinite(runs[7]["q"]).all()


def test_a_batch_of_one_is_a_batch(robot, path):
    law = computed_torque(400.0, 40.0)
    alone = simulate(robot, law, path)
    for batch in (simulate(robot, law, path, count=1), simulate([robot], law, path)):
        assert isinstance(alone, Recording) and isinstance(batch, Recordings) and len(batch) == 1
        np.testing.assert_array_equal(batch["q"][0], alone["q"])
        np.testing.assert_array_equal(batch[0]["tau"], alone["tau"])
    with pytest.raises(InputError, match="events stop one simulation"):
        simulate(robot, law, path, count=1, events={"far": lambda q: q[0] - 0.1})


def test_a_session_gives_a_recording_or_recordings(robot, path):
    law = computed_torque(400.0, 40.0)
    loop = Loop.of(robot, law)
    single, several = loop.session(reference=path), loop.session(reference=path, count=2)
    for running in (single, several):
        running.run(0.01)
    assert isinstance(single.recording(), Recording) and len(several.recordings()) == 2
    with pytest.raises(InputError, match=r"runs a batch of 2; take its recordings\(\)"):
        several.recording()
    with pytest.raises(InputError, match=r"a single simulation; take its recording\(\)"):
        single.recordings()


def test_trees_of_many_arms_are_those_of_each_alone():
    """Loads, tools and bases mixed: shared frames and common passes leave no bit different."""
    arms = []
    for name in ("ur5", "irb140", "panda"):
        arm = load(name)
        arms += [arm, *(arm.with_payload(m, (0.01 * m, 0.02, 0.0)) for m in (0.3, 1.7)), arm.with_base(_tilted())]
    together = trees_of([Robot(**_fields(arm), name=f"{arm.name} once more") for arm in arms])
    for arm, tree in zip(arms, together, strict=True):
        alone = tree_of(arm, regroup=True)
        for part in [part for part in fields(tree) if part.name != "parts"]:  # the robots' names differ
            assert np.array_equal(getattr(tree, part.name), getattr(alone, part.name)), (arm, part.name)


def _tilted():
    return np.array([[0.0, 0.0, 1.0, 0.1], [0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.4], [0.0, 0.0, 0.0, 1.0]])


def _fields(arm):
    return {f.name: getattr(arm, f.name) for f in fields(arm) if f.init and f.name != "name"}


def test_batches_of_other_loads_use_the_same_loop(monkeypatch):
    """The loop holds what the arms have in common; the numbers in which they differ are its inputs."""
    arm, traced, whole = load("ur5"), [], session.loop_plan
    monkeypatch.setattr(session, "loop_plan", lambda *a: traced.append(1) or whole(*a))
    q0 = np.array([0.3, -1.2, 1.1, 0.2, 0.4, 0.1])

    def drop(loads):
        return simulate([arm.with_payload(m) for m in loads], duration=0.03, q0=q0, every=30)["q"][:, -1]

    first, second = drop([0.5, 1.25]), drop([2.0, 0.75])
    assert len(traced) == 1
    assert not np.array_equal(first, second)
    alone = [simulate(arm.with_payload(m), duration=0.03, q0=q0)["q"][-1] for m in (0.5, 1.25, 2.0, 0.75)]
    assert np.allclose([*first, *second], alone, rtol=0.0, atol=1e-12)


def test_arms_with_named_frames_run_alone_and_in_batches():
    arm = load("planar2").with_frame("camera", np.eye(4), "link_2")
    alone = simulate(arm, None, None, 0.02, q0=[0.1, 0.2])
    assert np.array_equal(alone["q"], simulate(load("planar2"), None, None, 0.02, q0=[0.1, 0.2])["q"])
    both = simulate([arm, arm.with_payload(1.0)], None, None, 0.02, q0=[0.1, 0.2])
    assert np.array_equal(both[0]["q"], alone["q"])
    with pytest.raises(InputError, match="named frames"):
        simulate([arm, load("planar2")], None, None, 0.02)


def test_equal_sensors_share_a_loop(robot):
    """Loops and thresholds are kept by what sensors are, not by which object: many runs take no more memory."""
    law, q0 = computed_torque(100.0, 20.0), np.zeros(robot.n)

    def run(sensors):
        return simulate(robot, law, q0, 0.05, q0=q0, sensors=sensors, seed=3)["q"]

    first, known = run(JointSensors(position_noise=[1e-4] * robot.n, delay=1)), len(robot.known)
    assert np.array_equal(run(JointSensors(position_noise=np.full(robot.n, 1e-4), delay=1)), first)
    assert len(robot.known) == known
    assert not np.array_equal(run(JointSensors(position_noise=[2e-4] * robot.n, delay=1)), first)
    assert len({JointSensors(), JointSensors(), JointSensors(delay=1)}) == 2
