"""Touch on a plant that is not ours: MuJoCo integrates the arm and makes the contacts, the observers only listen.

The arm follows computed torque at 1 kHz. Observers get measured joint angles and velocities and the commanded torque;
what they say is held against MuJoCo's own contact forces.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact import tool_wrench
from armwright.contact.detectors import learn_thresholds
from armwright.contact.observers import closed_loop_error_observer, momentum_kalman_observer, momentum_observer
from armwright.contact.offline import run_monitors
from armwright.dynamics import crba, gravity_torque
from armwright.kinematics.jacobian import frame_jacobian
from armwright.motion import Reference
from armwright.robot.kernels import kernel
from armwright.robot.parts import Friction
from armwright.simulation.detection.study import tool_moves

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
from mujoco_plants import (  # noqa: E402  (needs mujoco)
    DT,
    IDEAL_SENSORS,
    Elastic,
    Surface,
    W,
    contact_truth,
    disturbed,
    drive,
    geared,
    obstructed,
    plant,
)

GAIN = 100.0  # of the momentum observer [1/s]
BARE = aw.load("ur5")  # no rotors, no friction
GEARED = geared(BARE)
OILED = replace(GEARED, joints=tuple(replace(j, friction=Friction(j.friction.viscous)) for j in GEARED.joints))
SPRINGS = Elastic(np.full(6, 1e4), np.full(6, 5.0))  # harmonic drives of a UR5's size
MASS, RUB = 0.02, 0.05  # how far the true masses and frictions may be from the model's
REST = slice(-100, None)  # the last 0.1 s of a run, pressing


def press(robot, surface, seed, **options):
    """Move into the surface at about 0.2 m/s and go on pressing for 0.6 s."""
    motion = tool_moves(BARE, 1, speed=0.25, travel=0.1, seed=seed)[0]
    elastic, arm = (options.pop(name, None) for name in ("elastic", "arm"))
    model, _ = obstructed(robot, motion, surface, share=0.75, elastic=elastic, arm=arm)
    return drive(robot, model, motion, np.random.default_rng(seed), until=motion.duration + 0.6, **options)


def momentum(robot, run):
    return run_monitors(momentum_observer(GAIN), robot, run.time, run.q, run.qd, run.tau)["tau_ext"]


def filtered(run):
    """What the momentum observer promises: ṙ = K (truth − r)."""
    out, a = np.zeros_like(run.contact_torque), np.exp(-GAIN * DT)
    for k in range(1, len(out)):
        out[k] = a * out[k - 1] + (1.0 - a) * run.contact_torque[k]
    return out


def tool_force_bound(robot, q, torque_error):
    """Largest error [N] of a force that `tool_wrench` fits to torques that are off by up to `torque_error` (n,)."""
    inverse = np.linalg.pinv(kernel(robot, frame_jacobian)(q)[:3].T)
    return np.linalg.norm(np.abs(inverse) @ torque_error)


def test_contact_truth_is_mujocos_constraint_force():
    """Without joint friction and limits, MuJoCo's constraint forces are the contact's alone."""
    motion = tool_moves(BARE, 1, seed=3)[0]
    model, _ = obstructed(BARE, motion, Surface("box"))
    data = mujoco.MjData(model)
    data.qpos[:] = motion.evaluate(0.61 * motion.duration)[0]
    mujoco.mj_forward(model, data)
    torque, force = contact_truth(model, data, range(6))
    assert np.linalg.norm(force) > 1.0
    np.testing.assert_allclose(torque, data.qfrc_constraint, atol=1e-9 * np.abs(torque).max())


@pytest.mark.parametrize("seed, shape", [(0, "box"), (3, "sphere"), (7, "plane")])
def test_momentum_observer_is_the_filtered_contact_torque(seed, shape):
    """At every tick, the impact included: MuJoCo's JᵀF behind the filter, and 1 % of the torque itself at rest."""
    run = press(BARE, Surface(shape), seed, sensors=IDEAL_SENSORS)
    got = momentum(BARE, run)
    assert np.abs(run.contact_torque).max() > 8.0
    assert np.abs(got - filtered(run)).max() < 0.02  # N m; MuJoCo's steps are of first order
    truth = run.contact_torque[REST]
    assert np.abs(got[REST] - truth).max() < 0.01 * np.abs(truth).max()


@pytest.mark.parametrize("seed", [1, 4])
def test_pressing_force_with_noisy_sensors(seed):
    """Right model, viscous friction: over 0.1 s the torque to 1 %, the tool force to 2 % (the ball's friction turns it)."""
    run = press(OILED, Surface("plane"), seed)
    got, truth, force = momentum(OILED, run)[REST], run.contact_torque[REST], run.contact_force[REST].mean(axis=0)
    assert np.linalg.norm(force) > 20.0
    assert np.abs((got - truth).mean(axis=0)).max() < 0.01 * np.abs(truth).max()
    said = tool_wrench(OILED, run.q[REST], got, force_only=True).wrench[:, :3].mean(axis=0)
    assert np.linalg.norm(said - force) < 0.02 * np.linalg.norm(force)


@pytest.mark.parametrize("elastic", [None, SPRINGS], ids=["rigid", "elastic"])
@pytest.mark.parametrize("seed", [2, 5])
def test_dry_friction_hides_no_more_than_itself(seed, elastic):
    """At rest a joint may hold any torque up to its Coulomb friction: that, and the error of the weight, is all."""
    arm = disturbed(GEARED, np.random.default_rng(seed), MASS, RUB)
    run = press(GEARED, Surface("box"), seed, arm=arm, elastic=elastic)
    q, true_q = run.q[REST].mean(axis=0), run.true_q[REST].mean(axis=0)
    got = momentum(GEARED, run)[REST].mean(axis=0)
    weight = np.abs(gravity_torque(GEARED, q) - gravity_torque(arm, true_q))
    bound = np.array([joint.friction.coulomb for joint in arm.joints]) + weight + 0.01 * np.abs(run.contact_torque[REST]).max()
    assert (np.abs(got - run.contact_torque[REST].mean(axis=0)) < bound).all()
    force = run.contact_force[REST].mean(axis=0)
    said = tool_wrench(GEARED, q, got, force_only=True).wrench[:3]
    assert np.linalg.norm(said - force) < tool_force_bound(GEARED, q, bound) + 0.02 * np.linalg.norm(force)


@pytest.mark.parametrize("seed", [1, 6])
def test_what_elastic_joints_take_from_the_torque(seed):
    """Measured at the motor: at rest the error is the weight's, g(θ) − g(q); in motion that of the spring's momentum.

    r = K/(s + K) (JᵀF) − K s/(s + K) (M_link (q̇ − θ̇)) + small; a high-pass at K never exceeds twice its input.
    """
    run = press(OILED, Surface("box"), seed, sensors=IDEAL_SENSORS, elastic=SPRINGS)
    error = momentum(OILED, run) - filtered(run)
    sag = gravity_torque(OILED, run.q) - gravity_torque(OILED, run.true_q)
    assert np.abs(sag[REST]).max() > 0.01
    np.testing.assert_allclose(error[REST], sag[REST], atol=0.05 * np.abs(sag[REST]).max() + 0.01)
    twist = np.gradient(run.true_q - run.q, DT, axis=0)
    links = kernel(BARE, crba)(run.q)
    carried = np.abs(np.einsum("tij,tj->ti", links, twist)).max(axis=0)
    assert (np.abs(error).max(axis=0) < 2.0 * GAIN * carried + np.abs(sag).max(axis=0) + 0.5).all()
    assert np.abs(error).max() > 5.0  # what a rigid arm shows to 0.02 N m is lost while the springs ring
