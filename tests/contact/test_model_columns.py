# SPDX-License-Identifier: Apache-2.0
"""The columns of a model's errors are what the momentum observer says of an arm that has these errors."""

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact.doubt.model_columns import doubt_monitors
from armwright.contact.doubt.model_errors import Doubts, layout_of, prior_of
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import momentum_observer
from armwright.detection import study_law, tool_moves
from armwright.errors import NotSupportedError
from armwright.robot.tree import tree_of
from armwright.simulation.control_loop import Loop

LAW = study_law(225.0, 30.0)


def moved(plant: aw.Robot, model: aw.Robot, law=LAW):
    """A second of motion of the plant under a law that knows only the model."""
    motion = tool_moves(model, 1, seed=3)[0]
    loop = Loop(robots=(plant,), law=law, model=model, rate=1000.0, substeps=4)
    session = loop.session(motion.evaluate(0.0).q, reference=motion, check_step=False)
    session.run(min(motion.duration, 1.0))
    return session.recording()


def told(model: aw.Robot, run, theta) -> np.ndarray:
    chain = list(doubt_monitors(model, 50.0))
    chain[1] = replace(chain[1], memory={**chain[1].memory, "theta": theta})
    return run_monitors(chain, model, run.time, run["q"], run["qd"], run["tau"])["tau_ext"]


@pytest.mark.parametrize(
    ("name", "centre", "most"), [("panda", (0.0, 0.0, 0.0), 1e-9), ("ur5", (0.03, -0.02, 0.05), 0.05)]
)
def test_a_load_of_four_numbers_is_the_observer_of_an_arm_that_knows_it(name, centre, most):
    # the load's own inertia m c² is not among the four: 8e-3 kg m² here
    model, centre = aw.load(name).with_friction().with_rotors(0.1), np.array(centre)
    heavy = model.with_payload(2.0, centre)
    run = moved(heavy, model)
    layout = layout_of(model)
    theta = np.zeros(layout.size)
    assert np.abs(told(model, run, theta)).max() > 5.0
    theta[:4] = [2.0, *(2.0 * centre)]
    knowing = run_monitors(momentum_observer(50.0), heavy, run.time, run["q"], run["qd"], run["tau"])["tau_ext"]
    assert np.abs(told(model, run, theta) - knowing).max() < most
    assert np.abs(knowing).max() < 0.1


def test_wrong_masses_and_centres_are_explained_at_rest_by_regrouped_moments():
    model = aw.load("ur5").with_friction().with_rotors(0.1)
    rng = np.random.default_rng(5)
    bodies = tuple(
        replace(b, mass=b.mass * rng.uniform(0.8, 1.2), com=np.asarray(b.com) + rng.normal(0, 0.02, 3))
        for b in model.bodies
    )
    plant = replace(model, bodies=bodies)
    layout, (a, b) = layout_of(model), (tree_of(x, regroup=True) for x in (plant, model))
    theta = np.zeros(layout.size)
    for k, (body, axis) in enumerate(layout.moments):
        theta[4 + k] = a.m[body] - b.m[body] if axis < 0 else a.h[body][axis] - b.h[body][axis]
    for q in rng.uniform(-2, 2, size=(8, 6)):
        still, ticks = np.zeros((400, 6)), np.arange(400) * 1e-3
        tau = np.tile(aw.gravity_torque(plant, q), (400, 1))
        chain = list(doubt_monitors(model, 50.0))
        chain[1] = replace(chain[1], memory={**chain[1].memory, "theta": theta})
        left = run_monitors(chain, model, ticks, np.tile(q, (400, 1)), still, tau)["tau_ext"][-1]
        assert np.abs(left).max() < 1e-9


def test_missing_friction_and_wrong_gains_are_explained_while_the_joints_move():
    model = aw.load("ur5").with_rotors(0.1)
    n = model.n
    layout, rng = layout_of(model), np.random.default_rng(2)
    gain, dry, wet = rng.uniform(-0.05, 0.05, n), rng.uniform(0, 3, n), rng.uniform(0, 2, n)
    theta = np.zeros(layout.size)
    theta[layout.gain], theta[layout.coulomb], theta[layout.viscous] = gain, dry, wet
    t = np.arange(2000) * 1e-3
    qd = np.ones((2000, n)) * 0.3 * np.sign(rng.normal(size=n))
    q = rng.uniform(-1, 1, n) + t[:, None] * qd
    needed = aw.inverse_dynamics(model, q, qd, np.zeros_like(q)) + dry * np.sign(qd) + wet * qd
    chain = list(doubt_monitors(model, 50.0))
    chain[1] = replace(chain[1], memory={**chain[1].memory, "theta": theta})
    left = run_monitors(chain, model, t, q, qd, needed / (1.0 + gain))["tau_ext"]
    assert np.abs(left[500:]).max() < 0.03  # of 60 N m: the held torque lags half a tick


def test_priors_are_those_of_masses_and_centres():
    robot = aw.load("ur5")
    P = prior_of(robot, Doubts())
    assert np.linalg.eigvalsh(P).min() >= -1e-12
    doubled = prior_of(robot, Doubts(mass=0.2, centre=0.02))
    at = slice(4, layout_of(robot).bodies)
    assert np.allclose(doubled[at, at], 4.0 * P[at, at])


def test_a_tool_that_no_joint_moves_is_refused():
    robot = aw.load("ur5")
    with pytest.raises(NotSupportedError, match="fixed root link"):
        layout_of(replace(robot, tip=-1))
