# SPDX-License-Identifier: Apache-2.0
"""Observers of external torque: identities of their equations, and what they say of simulated contacts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

import armwright as aw
from armwright.contact.detectors import joint_detector
from armwright.contact.monitor import Monitor, as_chain, evaluate_monitor
from armwright.contact.monitor_run import rising_edges, run_monitors
from armwright.contact.observers import (
    CurrentMap,
    DeadZoneFriction,
    closed_loop_error_observer,
    disturbance_observer,
    generalised_momentum,
    momentum_kalman_observer,
    momentum_observer,
    scaled_error_observer,
    ur5_current_map,
    ur5_friction,
)
from armwright.contact.observers.momentum_kalman import steady_gain
from armwright.control import computed_torque
from armwright.dynamics import crba, rnea
from armwright.dynamics.coriolis import coriolis
from armwright.errors import InputError
from armwright.graph import derivative_matrix
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion import Reference, quintic
from armwright.robot.kernels import compile as compile_for
from armwright.robot.tree import tree_of
from armwright.simulation import simulate
from support.arms import random_arm

W = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0])  # 000's controller frequencies
LAW = computed_torque(W**2, 2.0 * W)
Q0 = np.array([0.3, -1.2, 1.4, -0.9, 1.2, 0.2])
Q1 = np.array([0.9, -1.6, 1.0, -0.3, 0.9, 0.6])
PUSH = np.array([12.0, -7.0, 9.0, 0.4, -0.3, 0.5])
FORCE = np.array([2.0, -1.3, 1.7, 0.0, 0.0, 0.0])


def applied(robot, rec, names=("q", "qd", "tau")):
    return [rec[name] for name in names], Reference(rec["q_ref"], rec["qd_ref"], rec["qdd_ref"])


def observed(observer, robot, rec):
    (q, qd, tau), ref = applied(robot, rec)
    return run_monitors(observer, robot, rec.time, q, qd, tau, ref)["tau_ext"]


def torque_of(robot, q, wrench):
    J = compile_for(frame_jacobian, robot)(q)
    return np.einsum("tij,ti->tj", J, np.broadcast_to(wrench, (len(q), 6)))


@pytest.mark.parametrize("name", ["ur5", "ur5-kufieta-c", "puma560", "rl15", "panda", "planar3"])
def test_momentum_needs_no_coriolis_matrix(name):
    robot = aw.load(name)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, robot.n))
    p, transport = generalised_momentum(robot, q, qd)
    M = crba(robot, q)
    np.testing.assert_allclose(p, M @ qd, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(transport, coriolis(robot, q, qd).T @ qd, rtol=1e-10, atol=1e-11)

    def gradient(arm, q, qd):
        return derivative_matrix(0.5 * (qd @ (crba(arm, q) @ qd)), q)

    np.testing.assert_allclose(transport, compile_for(gradient, robot)(q, qd), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("shape", ["chain", "tree", "mimic"])
@pytest.mark.parametrize("seed", range(6))
def test_momentum_of_any_arm(shape, seed):
    """Prismatic joints, branches, shared coordinates, coupled motors; base inertial parameters give the same."""
    robot = random_arm(seed, 1 + seed, shape=shape, drives="coupled")
    q, qd = np.random.default_rng(seed).normal(size=(2, robot.n))
    for tree in (robot.tree, tree_of(robot, regroup=True)):
        p, transport = generalised_momentum(tree, q, qd)
        np.testing.assert_allclose(p, crba(robot, q) @ qd, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(transport, coriolis(robot, q, qd).T @ qd, rtol=1e-10, atol=1e-10)


def test_reason_of_000_for_dropping_it_is_unfounded(ur5):
    """Cᵀq̇ = Ṁq̇ − Cq̇ whatever factor C is taken: with one for which Ṁ − 2C is far from skew it is the same vector."""
    rng = np.random.default_rng(4)
    q, qd, a, b = rng.normal(size=(4, ur5.n))
    C = coriolis(ur5, q, qd)
    C_bad = C + np.outer(a, b - qd * (b @ qd) / (qd @ qd))  # the same C q̇, another matrix
    h = 1e-6
    Md = (crba(ur5, q + h * qd) - crba(ur5, q - h * qd)) / (2.0 * h)
    np.testing.assert_allclose(C_bad @ qd, C @ qd, atol=1e-12)
    skew = Md - 2.0 * C_bad
    assert np.abs(skew + skew.T).max() > 0.1
    assert np.abs(C_bad.T @ qd - C.T @ qd).max() > 0.1  # transposing the bad factor would indeed be wrong,
    Cqd = rnea(ur5, q, qd, np.zeros(6), gravity=False, friction=False)  # but recursion gives C q̇ without any factor
    np.testing.assert_allclose(Md @ qd - Cqd, generalised_momentum(ur5, q, qd).transport, atol=1e-8)


@pytest.mark.parametrize(
    "make",
    [
        lambda rate: momentum_observer(40.0),
        lambda rate: disturbance_observer(40.0),
        lambda rate: momentum_kalman_observer(3.0, 1e-3, rate=rate),
    ],
    ids=["momentum", "disturbance", "Kalman"],
)
def test_perfect_model_without_contact_gives_zero(ur5, make):
    errors = []
    for rate in (500.0, 1000.0):
        rec = simulate(ur5, LAW, quintic(Q0, Q1, 0.5), rate=rate, substeps=4)
        errors.append(np.abs(observed(make(rate), ur5, rec)).max())
    assert errors[1] < 2e-3
    assert errors[1] < 0.35 * errors[0]  # second order in the period


def test_closed_loop_error_is_zero_without_contact(ur5):
    rec = simulate(ur5, LAW, quintic(Q0, Q1, 0.5), continuous=True, substeps=2)
    assert np.abs(observed(closed_loop_error_observer(W**2), ur5, rec)).max() < 1e-6


@pytest.mark.parametrize("name", ["ur5", "ur5-kufieta-c"])
def test_momentum_observer_is_first_order_filter_of_the_truth(name):
    robot = aw.load(name)
    K = np.array([20.0, 40.0, 60.0, 80.0, 100.0, 250.0])
    qd = np.full(6, 0.4)  # dry friction would change its value within ticks where a joint comes to rest
    rec = simulate(
        robot, LAW, quintic(Q0, Q0 + 0.6 * qd, 0.6, qd0=qd, qd1=qd), wrench=FORCE, substeps=4, qd0=qd, check_step=False
    )
    assert rec["qd"].min() > 0.05
    truth = torque_of(robot, rec["q"], FORCE)
    got = observed(momentum_observer(K), robot, rec)
    a = np.exp(-K * 1e-3)
    expected = np.zeros_like(got)
    for k in range(1, len(got)):
        expected[k] = a * expected[k - 1] + (1.0 - a) * 0.5 * (truth[k - 1] + truth[k])
    scale = np.abs(truth).max()
    assert np.abs(got - expected).max() < 2e-3 * scale
    assert np.abs(got[-1] - truth[-1]).max() < 2e-2 * scale
    assert (np.sign(got[-1]) == np.sign(truth[-1]))[:5].all()  # a force at the tool origin does not turn joint 6


@pytest.mark.parametrize(
    "observer",
    [
        momentum_observer(60.0),
        disturbance_observer(60.0),
        momentum_kalman_observer(200.0, 1e-2),
        closed_loop_error_observer(W**2),
    ],
)
def test_observers_converge_to_a_constant_push(ur5, observer):
    rec = simulate(ur5, LAW, Q0, duration=1.5, wrench=PUSH)
    truth = torque_of(ur5, rec["q"][-1:], PUSH)[0]
    # the loop holds its torque: at rest nothing is left but the estimate's own error
    np.testing.assert_allclose(observed(observer, ur5, rec)[-1], truth, rtol=1e-4, atol=1e-4)


def test_scaled_error_is_right_at_one_pose_only(ur5):
    stiffness = np.diag(crba(ur5, Q0)) * W**2
    near, far = (
        simulate(ur5, LAW, pose, duration=1.5, wrench=PUSH)
        for pose in (Q0, Q1 + np.array([0.0, 0.9, -1.2, 0.0, 0.0, 0.0]))
    )
    errors = []
    for rec in (near, far):
        truth = torque_of(ur5, rec["q"][-1:], PUSH)[0]
        for observer in (closed_loop_error_observer(W**2), scaled_error_observer(stiffness)):
            errors.append(np.abs(observed(observer, ur5, rec)[-1] - truth).max() / np.abs(truth).max())
    assert max(errors[0], errors[2]) < 1e-4 < 0.1 < errors[3]


def test_closed_loop_estimate_is_the_filtered_truth(ur5):
    """000 eq. 5.5: F̂ against ω²/(s + ω)² applied to M⁻¹JᵀF, joint by joint: an identity of the loop, RMS < 1 %."""

    def push(t):
        return np.array([20.0 * np.sin(9.0 * t), 15.0 * np.sin(14.0 * t), 10.0 * np.sin(5.0 * t), 0.0, 0.0, 0.0])

    rec = simulate(ur5, LAW, quintic(Q0, Q1, 1.0), wrench=push, continuous=True, substeps=2)
    wrench = np.array([push(t) for t in rec.time])
    M = compile_for(crba, ur5)(rec["q"])
    r = np.linalg.solve(M, torque_of(ur5, rec["q"], wrench)[..., None])[..., 0]
    x, v, h, filtered = np.zeros(6), np.zeros(6), 1e-3, [np.zeros(6)]
    for k in range(len(r) - 1):  # ẍ = ω²(r − x) − 2ω ẋ, RK4 with r linear within ticks

        def rate(s, x, v, k=k):
            return v, W**2 * (r[k] + s * (r[k + 1] - r[k]) - x) - 2.0 * W * v

        a1 = rate(0.0, x, v)
        a2 = rate(0.5, x + 0.5 * h * a1[0], v + 0.5 * h * a1[1])
        a3 = rate(0.5, x + 0.5 * h * a2[0], v + 0.5 * h * a2[1])
        a4 = rate(1.0, x + h * a3[0], v + h * a3[1])
        x = x + h / 6.0 * (a1[0] + 2.0 * a2[0] + 2.0 * a3[0] + a4[0])
        v = v + h / 6.0 * (a1[1] + 2.0 * a2[1] + 2.0 * a3[1] + a4[1])
        filtered.append(x)
    Jt = np.swapaxes(compile_for(frame_jacobian, ur5)(rec["q"]), -1, -2)
    expected = np.linalg.solve(Jt, M @ np.array(filtered)[..., None])[..., 0]
    F_hat = np.linalg.solve(Jt, observed(closed_loop_error_observer(W**2), ur5, rec)[..., None])[..., 0]
    relative = np.sqrt(np.mean((F_hat - expected) ** 2) / np.mean(expected**2))
    assert relative < 1e-4


def test_kalman_gain_and_consistency():
    """The innovation of a matched filter is white, and the error of tau_ext has the variance that Riccati says."""
    dt, walk, noise = 1e-3, 40.0, 2e-3
    K = steady_gain(walk, 0.0, noise, dt)
    # closed form of the α–β filter: K1 = α, K2 dt = β with β² /(1 − α) = Λ², Λ = walk·dt^{3/2}/noise, α from β
    assert K[1] ** 2 * dt**2 / (1.0 - K[0]) == pytest.approx((walk * dt**1.5 / noise) ** 2, rel=1e-9)
    robot = aw.load("planar2")
    rng = np.random.default_rng(0)
    T = 60_000
    f = np.cumsum(rng.normal(size=T)) * walk * np.sqrt(dt)
    M = crba(robot, np.zeros(2))
    q = np.zeros((T, 2))
    p = np.concatenate([[0.0], np.cumsum(f[:-1]) * dt])  # impulse of f held within ticks
    measured = np.stack([p, 0.0 * p], axis=1) + rng.normal(size=(T, 2)) * noise
    qd = measured @ np.linalg.inv(M)
    tau = -compile_for(lambda arm, q, qd: generalised_momentum(arm, q, qd).transport, robot)(q, qd)
    tau = tau + rnea(robot, np.zeros(2), np.zeros(2), np.zeros(2), friction=False)
    mean = 0.5 * (tau[1:] + tau[:-1])  # the model's trapezoid, so that the bias cancels exactly
    held = np.concatenate([mean, mean[-1:]])
    got = run_monitors(momentum_kalman_observer(walk, noise, friction=False), robot, dt * np.arange(T), q, qd, held)
    error = got["tau_ext"][2000:, 0] - f[2000:]
    F = np.array([[1.0, dt], [0.0, 1.0]])
    B = np.eye(2) - np.outer(K, [1.0, 0.0])
    A = B @ F
    P = solve_discrete_lyapunov(A, B @ np.diag([0.0, walk**2 * dt]) @ B.T + noise**2 * np.outer(K, K))
    assert np.std(error) == pytest.approx(np.sqrt(P[1, 1]), rel=0.1)


def test_motor_current_is_a_torque_source(ur5):
    robot = aw.load("ur5-kufieta-c").with_rotors(0.1)
    rec = simulate(robot, LAW, quintic(Q0, Q1, 0.5), wrench=PUSH, substeps=3, integrator="semi-implicit")
    mapping = ur5_current_map()
    current = mapping.current(rec["tau"])
    direct = observed(momentum_observer(40.0), robot, rec)
    through = run_monitors(momentum_observer(40.0), robot, rec.time, rec["q"], rec["qd"], mapping.torque(current))
    np.testing.assert_allclose(through["tau_ext"], direct, atol=1e-9)
    qd = np.array([0.5, -0.3, 0.01, -0.02, 0.2, -1.0])
    friction = ur5_friction()(qd)
    np.testing.assert_allclose(friction[:4], [7.2 * 1.5, -5.5 * 1.3, 5.7 * 0.01, -0.7 * 0.02])
    own = run_monitors(
        momentum_observer(40.0, friction=ur5_friction()), robot, rec.time, rec["q"], rec["qd"], rec["tau"]
    )
    np.testing.assert_allclose(own["tau_ext"], direct, atol=1e-9)  # the sheet has the same friction
    with pytest.raises(InputError, match="k ≠ 0"):
        CurrentMap(np.zeros(6), np.zeros(6))
    with pytest.raises(InputError, match="6 joints"):
        DeadZoneFriction((1.0,) * 6, (1.0,) * 6)(np.zeros(3))


def test_offline_equals_tick_by_tick(ur5):
    chain = [
        momentum_observer(30.0),
        momentum_kalman_observer(50.0, 1e-3),
        disturbance_observer(30.0),
        closed_loop_error_observer(W**2),
    ]
    rec = simulate(ur5, LAW, quintic(Q0, Q1, 0.03), wrench=PUSH)
    (q, qd, tau), ref = applied(ur5, rec)
    fast = run_monitors(chain, ur5, rec.time, q, qd, tau, ref)
    assert set(fast) == {f"{m.name}.tau_ext" for m in chain}
    memory = None
    for k in range(len(rec.time)):
        signals = {"t": rec.time[k], "dt": 1e-3, "q": q[k], "qd": qd[k], "tau": tau[k], "q_ref": ref.q[k]}
        slow, memory = evaluate_monitor(chain, ur5, signals, memory)
        for name in fast:
            np.testing.assert_allclose(fast[name][k], slow[name], rtol=1e-8, atol=1e-8)


def test_offline_equals_what_ran_beside_the_controller(ur5):
    def push(t):
        return np.where(t > 0.25, 30.0, 0.0) * np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    chain = [momentum_observer(60.0), joint_detector(3.0)]
    rec = simulate(ur5, LAW, quintic(Q0, Q1, 0.6), wrench=push, monitors=chain)
    assert rec.outcome == "alarm" and 0.25 < rec.time[-1] < 0.265
    keep = slice(0, -1)  # the last row is the state after the alarm's tick
    signals = [rec[name][keep] for name in ("q", "qd", "tau")]
    after = run_monitors(chain, ur5, rec.time[keep], *signals)
    np.testing.assert_allclose(after["tau_ext"], rec["tau_ext"][keep], rtol=1e-12, atol=1e-12)
    assert after["alarm"][-1] >= 0.0 and (after["alarm"][:-1] < 0.0).all()


def test_many_runs_and_chunks_give_the_same(ur5, monkeypatch):
    rec = simulate(
        ur5, LAW, quintic(Q0, Q1, 0.2), count=11, q0=Q0 + 0.01 * np.random.default_rng(1).normal(size=(11, 6))
    )
    args = (ur5, rec.time, rec["q"], rec["qd"], rec["tau"])
    whole = run_monitors(momentum_observer(30.0), *args)["tau_ext"]
    monkeypatch.setattr("armwright.contact.monitor_run.NUMBERS_AT_ONCE", 7 * 11 * 24)
    np.testing.assert_array_equal(run_monitors(momentum_observer(30.0), *args)["tau_ext"], whole)
    one = run_monitors(momentum_observer(30.0), ur5, rec.time, rec["q"][3], rec["qd"][3], rec["tau"][3])["tau_ext"]
    np.testing.assert_allclose(one, whole[3], atol=1e-10)


def test_what_a_monitor_must_be():
    with pytest.raises(InputError, match="no parameter gain"):
        Monitor("m", lambda q: {"x": q}, {"gain": 1.0}, outputs=("x",))
    with pytest.raises(InputError, match="named twice"):
        Monitor("m", lambda q, tau: {"tau": q}, {"tau": 1.0}, outputs=("x",))
    with pytest.raises(InputError, match="reads tau_ext"):
        as_chain(Monitor("m", lambda tau_ext: {"x": tau_ext}, outputs=("x",)))
    robot = aw.load("planar2")
    with pytest.raises(InputError, match="equal steps"):
        run_monitors(momentum_observer(1.0), robot, [0.0, 1.0, 3.0], *np.zeros((3, 3, 2)))
    with pytest.raises(InputError, match="ref="):
        run_monitors(closed_loop_error_observer(1.0), robot, [0.0, 1.0, 2.0], *np.zeros((3, 3, 2)))
    with pytest.raises(InputError, match="NaN"):
        run_monitors(momentum_observer(1.0), robot, [0.0, 1.0, 2.0], *np.full((3, 3, 2), np.nan))
    with pytest.raises(InputError, match="gain"):
        momentum_observer(-3.0)
    with pytest.raises(InputError, match="made for dt"):
        run_monitors(momentum_kalman_observer(1.0, 1.0), robot, [0.0, 1.0, 2.0], *np.zeros((3, 3, 2)))
    np.testing.assert_array_equal(rising_edges([0.0, 1.0, -1.0, -1.0, 0.0]), [True, False, False, False, True])
