# SPDX-License-Identifier: Apache-2.0
"""Touch on a plant that is not ours: MuJoCo integrates the arm and makes the contacts, the observers only listen.

The arm follows computed torque at 1 kHz. Observers get measured joint angles and velocities and the commanded torque;
what they say is held against MuJoCo's own contact forces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact import tool_wrench
from armwright.contact.detectors import learn_thresholds
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import closed_loop_error_observer, momentum_kalman_observer, momentum_observer
from armwright.detection.study_contacts import tool_moves
from armwright.dynamics import crba, gravity_torque
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion import Reference
from armwright.robot.kernels import kernel
from armwright.robot.parts import Friction

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
from support.mujoco_plants import (  # noqa: E402  (needs mujoco)
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
OBSERVERS = {
    "momentum": momentum_observer(GAIN),
    "Kalman": momentum_kalman_observer(300.0, 1e-3 * np.diag(crba(GEARED, np.full(6, 0.8))), torque_noise=0.05),
    "closed loop": closed_loop_error_observer(W**2),
}
MASS, RUB = 0.02, 0.05  # how far the true masses and frictions may be from the model's
REST = slice(-100, None)  # the last 0.1 s of a run, pressing


def press(robot, surface, seed, *, substeps=2, **options):
    """Move into the surface at about 0.2 m/s and go on pressing for 0.6 s."""
    motion = tool_moves(BARE, 1, speed=0.25, travel=0.1, seed=seed)[0]
    elastic, arm = (options.pop(name, None) for name in ("elastic", "arm"))
    model, _ = obstructed(robot, motion, surface, share=0.75, elastic=elastic, arm=arm)
    model.opt.timestep = DT / substeps
    return drive(robot, model, motion, np.random.default_rng(seed), until=motion.duration + 0.6, **options)


def observed(robot, run, name="momentum"):
    return run_monitors(OBSERVERS[name], robot, run.time, run.q, run.qd, run.tau, run.ref)["tau_ext"]


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
    errors = []
    for substeps in (2, 4):
        run = press(BARE, Surface(shape), seed, sensors=IDEAL_SENSORS, substeps=substeps)
        got = observed(BARE, run)
        errors.append(np.abs(got - filtered(run)).max())
        assert errors[-1] < 1e-3 * np.abs(run.contact_torque).max()
        truth = run.contact_torque[REST]
        assert np.abs(got[REST] - truth).max() < 0.01 * np.abs(truth).max()
    assert errors[1] < 0.65 * errors[0]  # what is left is MuJoCo's, whose steps are of first order


@pytest.mark.parametrize("seed, shape", [(0, "box"), (7, "sphere")])
def test_kalman_follows_an_impact_momentum_lags_closed_loop_lags_more(seed, shape):
    """Root mean square error of the first 50 ms, sensors ideal: lags of about 1, 10 (1/K) and up to 89 ms (2/ω)."""
    run = press(OILED, Surface(shape), seed, sensors=IDEAL_SENSORS)
    first = slice(run.first, run.first + 50)
    names = ("Kalman", "momentum", "closed loop")
    errors = [(observed(OILED, run, name) - run.contact_torque)[first] for name in names]
    kalman, momentum, loop = (np.sqrt((error**2).mean()) for error in errors)
    assert kalman < 0.2 * momentum
    assert momentum < loop


@pytest.mark.parametrize("seed", [1, 4])
def test_pressing_with_noisy_sensors(seed):
    """Right model, viscous friction, mean of 0.1 s: torque to 1 %, force to 2 % (friction on the ball turns it)."""
    run = press(OILED, Surface("plane"), seed)
    truth, force = run.contact_torque[REST].mean(axis=0), run.contact_force[REST].mean(axis=0)
    assert np.linalg.norm(force) > 20.0
    for name in ("momentum", "Kalman"):
        got = observed(OILED, run, name)[REST].mean(axis=0)
        assert np.abs(got - truth).max() < 0.01 * np.abs(truth).max()
        said = tool_wrench(OILED, run.q[REST].mean(axis=0), got, force_only=True).wrench[:3]
        assert np.linalg.norm(said - force) < 0.02 * np.linalg.norm(force)


def test_closed_loop_estimate_is_off_by_what_a_limit_withholds():
    """A wrist presses with its 28 N m: the tracking error grows on, and with it the estimate."""
    run = press(OILED, Surface("plane"), 302)
    withheld = (run.asked - run.tau)[REST].mean(axis=0)
    error = (observed(OILED, run, "closed loop") - run.contact_torque)[REST].mean(axis=0)
    assert np.abs(withheld).max() > 10.0
    np.testing.assert_allclose(error, -withheld, atol=0.03 * np.abs(withheld).max())


@pytest.mark.parametrize("elastic", [None, SPRINGS], ids=["rigid", "elastic"])
@pytest.mark.parametrize("seed", [2, 5])
def test_dry_friction_hides_no_more_than_itself(seed, elastic):
    """At rest a joint may hold any torque up to its Coulomb friction: that, and the error of the weight, is all."""
    arm = disturbed(GEARED, np.random.default_rng(seed), MASS, RUB)
    run = press(GEARED, Surface("box"), seed, arm=arm, elastic=elastic)
    q, true_q = run.q[REST].mean(axis=0), run.true_q[REST].mean(axis=0)
    got = observed(GEARED, run)[REST].mean(axis=0)
    truth = run.contact_torque[REST].mean(axis=0)
    dry = np.array([joint.friction.coulomb for joint in arm.joints])
    weight = np.abs(gravity_torque(GEARED, q) - gravity_torque(arm, true_q))
    bound = dry + weight + 0.01 * np.abs(truth).max()
    assert (np.abs(got - truth) < bound).all()
    force = run.contact_force[REST].mean(axis=0)
    said = tool_wrench(GEARED, q, got, force_only=True).wrench[:3]
    assert np.linalg.norm(said - force) < tool_force_bound(GEARED, q, bound) + 0.02 * np.linalg.norm(force)


@pytest.mark.parametrize("seed", [1, 6])
def test_what_elastic_joints_take_from_the_torque(seed):
    """Measured at the motor: at rest the error is the weight's, g(θ) − g(q); in motion that of the spring's momentum.

    r = K/(s + K) JᵀF − K s/(s + K) M_link (q̇ − θ̇) + small, and K s/(s + K) gives at most 2 K times its largest input.
    """
    run = press(OILED, Surface("box"), seed, sensors=IDEAL_SENSORS, elastic=SPRINGS)
    error = observed(OILED, run) - filtered(run)
    sag = gravity_torque(OILED, run.q) - gravity_torque(OILED, run.true_q)
    assert np.abs(sag[REST]).max() > 0.01
    np.testing.assert_allclose(error[REST], sag[REST], atol=0.05 * np.abs(sag[REST]).max() + 0.01)
    twist = np.gradient(run.true_q - run.q, DT, axis=0)
    links = kernel(BARE, crba)(run.q)
    carried = np.abs(np.einsum("tij,tj->ti", links, twist)).max(axis=0)
    assert (np.abs(error).max(axis=0) < 2.0 * GAIN * carried + np.abs(sag).max(axis=0) + 0.5).all()
    assert np.abs(error).max() > 0.1 * np.abs(run.contact_torque).max()  # lost while the springs ring: 0.1 % when rigid


APPROACHES = [  # highest tool speed [m/s] of the move, surface
    (speed, Surface(shape, *surface))
    for surface in ((4e4, 40.0), (1e3, 5.0))
    for speed, shape in ((0.2, "box"), (0.35, "sphere"), (0.5, "plane"))
]
LATEST = {  # [ms] after the first touch, on hard and on soft surfaces
    "rigid": {"momentum": (5, 35), "Kalman": (5, 40), "closed loop": (20, 60)},
    "elastic": {"momentum": (20, 60), "Kalman": (25, 90), "closed loop": (60, 100)},
}


def move(seed, speed):
    return tool_moves(BARE, 1, speed=speed, travel=0.15, seed=seed)[0]


def stacked(parts, names):
    return [np.stack([getattr(part, name) for part in parts]) for name in names]


@dataclass(frozen=True)
class Trial:
    """One arm in MuJoCo: thresholds by observer, contact-free runs, and runs into each surface of APPROACHES."""

    fits: dict
    free: list
    contacts: list

    def watched(self, run, name):
        chain = [OBSERVERS[name], self.fits[name].detector()]
        return run_monitors(chain, GEARED, run.time, run.q, run.qd, run.tau, run.ref)

    def delays(self, name):
        """Ticks (6,) from MuJoCo's first touch to the first alarm; negative: an alarm before it."""
        alarms = [np.flatnonzero(self.watched(run, name)["alarm"] >= 0.0) for run in self.contacts]
        pairs = zip(alarms, self.contacts, strict=True)
        return np.array([found[0] - run.first if len(found) else np.inf for found, run in pairs])


def trial(seed, elastic):
    """An arm whose masses and friction the model knows only roughly; 16 moves and rests teach the thresholds.

    The moves that are judged are others.
    """
    rng = np.random.default_rng(seed)
    arm = disturbed(GEARED, rng, MASS, RUB)
    model = plant(arm, elastic=elastic)
    numbered = enumerate(np.linspace(0.2, 0.5, 16))
    runs = [drive(GEARED, model, move(1000 * seed + k, speed), rng, until=1.5) for k, speed in numbered]
    signals, ref = stacked(runs, ("q", "qd", "tau")), Reference(*stacked([r.ref for r in runs], ("q", "qd", "qdd")))
    fits = {}
    for name, observer in OBSERVERS.items():
        said = run_monitors(observer, GEARED, runs[0].time, *signals, ref)["tau_ext"]
        fits[name] = learn_thresholds(said, ref, DT, GEARED, margin=2.0)
    numbered = enumerate((0.25, 0.45))
    free = [drive(GEARED, model, move(1000 * seed + 500 + k, speed), rng, until=1.5) for k, speed in numbered]
    contacts = []
    for k, (speed, surface) in enumerate(APPROACHES):
        motion = move(1000 * seed + 700 + k, speed)
        model, _ = obstructed(GEARED, motion, surface, elastic=elastic, arm=arm)
        contacts.append(drive(GEARED, model, motion, rng, until=1.5, touching=0.2))
    return Trial(fits, free, contacts)


@pytest.fixture(scope="module")
def trials():
    return {"rigid": trial(1, None), "elastic": trial(1, SPRINGS)}


@pytest.mark.parametrize("name", OBSERVERS)
@pytest.mark.parametrize("kind", LATEST)
def test_contacts_alarm_in_time_and_nothing_else_does(trials, kind, name):
    delays = trials[kind].delays(name)
    hard, soft = LATEST[kind][name]
    assert (delays >= 0).all()
    assert (DT * delays <= 1e-3 * np.repeat([hard, soft], 3)).all()
    assert all((trials[kind].watched(run, name)["alarm"] < 0.0).all() for run in trials[kind].free)


def test_no_later_than_the_filter_reaches_twice_the_threshold(trials):
    """While the model's errors stay below the threshold, as they do without contact, |r| exceeds it by then."""
    fit = trials["rigid"].fits["momentum"]
    for run, delay in zip(trials["rigid"].contacts, trials["rigid"].delays("momentum"), strict=True):
        weight = np.abs(gravity_torque(GEARED, run.ref.q))
        threshold = fit.a + fit.b * np.abs(run.ref.qd) + fit.c * np.abs(run.ref.qdd) + fit.d * weight
        certain = np.flatnonzero((np.abs(filtered(run)) > 2.0 * threshold).any(axis=1))
        assert delay <= certain[0] - run.first


@pytest.mark.parametrize("name", OBSERVERS)
def test_elastic_joints_cost_time(trials, name):
    """The touch first winds up the springs: later, on average by less than half a swing of a rotor on its spring."""
    lost = DT * (trials["elastic"].delays(name) - trials["rigid"].delays(name)).mean()
    assert 0.0 < lost < np.pi * np.sqrt(GEARED.tree.armature[0, 0] / SPRINGS.stiffness[0])
