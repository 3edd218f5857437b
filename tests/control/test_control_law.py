# SPDX-License-Identifier: Apache-2.0
"""Laws as objects: wrapping, shapes, memory, the same numbers on floats and compiled, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright import control
from armwright.motion.trajectory import Reference
from armwright.robot.load import load
from armwright.robot.tree import tree_of
from support.laws import CEA, EVERY, QD, REF, SIX, UR5, Q


@pytest.mark.parametrize("make", EVERY, ids=range(len(EVERY)))
def test_floats_and_compiled_code_agree(make):
    law = make()
    memory = {k: v + 0.01 * np.arange(v.size) for k, v in control.initial_memory(law, 6).items()}
    action = control.evaluate_law(law, CEA, 2.0, Q, QD, REF, memory, dt=1e-3)
    out = control.law_kernel(law, CEA, dt=1e-3)(2.0, Q, QD, *REF, *memory.values())
    tau, *kept = out if isinstance(out, tuple) else (out,)
    scale = max(1.0, np.abs(action.tau).max())
    np.testing.assert_allclose(tau, action.tau, atol=1e-9 * scale)
    for found, label in zip(kept, memory, strict=True):
        np.testing.assert_allclose(found, action.memory[label], rtol=1e-9, atol=1e-12)
    assert len(law.doc) > 40
    if law.storage is not None:
        values = [control.storage(law, arm, 2.0, Q, QD, REF, memory) for arm in (CEA, tree_of(CEA))]
        assert values[0] == pytest.approx(values[1], rel=1e-12)
        assert np.isfinite(values[0])


def test_a_law_compiled_takes_batches():
    kernel = control.law_kernel(control.computed_torque(SIX, 2.0), UR5)
    q = Q + 0.1 * np.random.default_rng(0).normal(size=(5, 6))
    tau = kernel(0.0, q, QD, *REF)
    one = control.evaluate_law(control.computed_torque(SIX, 2.0), UR5, 0.0, q[3], QD, REF).tau
    np.testing.assert_allclose(tau[3], one, rtol=1e-9, atol=1e-10)


def test_a_users_function_becomes_a_law():
    def mine(q, qd, ref, kp, kd=20.0):
        return kp * (ref.q - q) - kd * qd

    law = control.as_law(mine, kp=100.0)
    assert law.name == "mine"
    assert dict(law.gains) == {"kp": 100.0}
    expected = 100.0 * (REF.q - Q) - 20.0 * QD
    np.testing.assert_allclose(control.evaluate_law(law, UR5, 0.0, Q, QD, REF).tau, expected)
    np.testing.assert_allclose(control.law_kernel(law, UR5)(0.0, Q, QD, *REF), expected, rtol=1e-14, atol=1e-14)
    softer = control.as_law(law, kp=np.full(6, 50.0), name="softer")
    np.testing.assert_allclose(control.evaluate_law(softer, UR5, 0.0, Q, QD, REF).tau, expected - 50.0 * (REF.q - Q))
    plain = control.evaluate_law(lambda q, ref: ref.q - q, UR5, 0.0, Q, QD, REF)
    np.testing.assert_allclose(plain.tau, REF.q - Q)


def test_a_users_memory_is_kept():
    def filtered(qd, dt, speed, cutoff):
        speed = speed + dt * cutoff * (qd - speed)
        return -speed, {"speed": speed}

    law = control.as_law(filtered, memory={"speed": 0.0}, cutoff=100.0)
    memory = None
    for _ in range(3):
        tau, memory = control.evaluate_law(law, UR5, 0.0, Q, QD, REF, memory, dt=1e-3)
    np.testing.assert_allclose(tau, -(1.0 - 0.9**3) * QD)


def test_pid_does_not_wind_up():
    robot = load("planar2")
    dt, target = 5e-3, np.array([0.6, 0.4])
    far = Reference(target + 50.0, np.zeros(2), np.zeros(2))
    q = qd = np.zeros(2)
    hold = np.abs(aw.gravity_torque(robot, target))
    limit = np.maximum(3.0 * hold, 1.0)
    bound = {}
    for mode in ("conditional", "back-calculation", "none"):
        law = control.pid(200.0, 400.0, 40.0, limit=limit, anti_windup=mode, tracking_time=0.05)
        memory = control.initial_memory(law, 2)
        for _ in range(400):  # two seconds against the limit
            tau, memory = control.evaluate_law(law, robot, 0.0, q, qd, far, memory, dt=dt)
            assert (np.abs(tau) <= limit).all()
        bound[mode] = np.abs(memory["integral"]).max()
    assert bound["conditional"] == 0.0  # it was beyond the limit from the start
    error = 50.0 + target
    settled = limit + 0.05 * 400.0 * error - 200.0 * error
    assert bound["back-calculation"] == pytest.approx(np.abs(settled).max(), rel=1e-6)
    assert bound["none"] == pytest.approx(2.0 * 400.0 * error.max(), rel=1e-6)


def test_pid_settles_without_steady_error():
    robot = load("planar2")
    ref = Reference(np.array([0.6, 0.4]), np.zeros(2), np.zeros(2))
    M = aw.mass_matrix(robot, ref.q)
    kp, kd = control.inertia_gains(robot, ref.q, 10.0)
    law = control.pid(kp, 3.0 * kp, kd, limit=1.5 * np.abs(aw.gravity_torque(robot, ref.q)).max() + M.max() * 20.0)
    kernel, dt = control.law_kernel(law, robot, dt=4e-3), 4e-3
    q, qd, z = ref.q + 0.2, np.zeros(2), np.zeros(2)
    for k in range(2500):
        tau, z = kernel(k * dt, q, qd, *ref, z)
        qd = qd + dt * aw.forward_dynamics(robot, q, qd, tau)
        q = q + dt * qd
    np.testing.assert_allclose(q, ref.q, atol=1e-5)
    np.testing.assert_allclose(z, aw.gravity_torque(robot, ref.q), rtol=1e-2, atol=1e-2)


def test_frequency_gains():
    kp, kd = control.frequency_gains([22.5, 75.0])
    np.testing.assert_allclose(kp, [506.25, 5625.0])
    np.testing.assert_allclose(kd, [45.0, 150.0])
    kp, kd = control.inertia_gains(UR5, Q, 10.0, 0.7)
    np.testing.assert_allclose(kp, 100.0 * np.diag(aw.mass_matrix(UR5, Q)))
    np.testing.assert_allclose(kd / kp, 2 * 0.7 / 10.0)


# 003, table of §3 and E8
KP, KD = [5000.0, 8000.0, 5500.0, 800.0, 5500.0, 2500.0], [1000.0, 1000.0, 500.0, 100.0, 100.0, 500.0]
START, GOAL = np.array([-1.0, 0, -1, -1, -1, -1]), np.array([0.0, 1, 0, 0, 0, 0])


def test_sampling_trap_of_003():
    loop = control.linearise(CEA, control.pd_gravity(KP, KD), START)
    assert control.loop_poles(loop)[0].real == pytest.approx(-8690.0, rel=1e-3)
    for dt, radius in ((1e-3, 7.0), (2.5e-4, 1.13), (2e-4, 0.999)):
        assert control.spectral_radius(CEA, START, KP, KD, dt) == pytest.approx(radius, rel=3e-3)
    assert control.hold_limit(CEA, GOAL, KP, KD) == pytest.approx(0.232e-3, rel=3e-3)
    limit = control.hold_limit(CEA, START, KP, KD)
    assert (
        control.spectral_radius(CEA, START, KP, KD, 0.999 * limit)
        < 1.0
        < control.spectral_radius(CEA, START, KP, KD, 1.001 * limit)
    )


def test_hold_limit_of_a_double_integrator_is_known():
    # e¨ held: z² − (2 − kd h − kp h²/2) z + 1 − kd h + kp h²/2, stable for h < 2/kd and h < 2 kd/kp (Jury)
    floating = replace(UR5, gravity=np.zeros(3))
    for kp, kd in ((100.0, 50.0), (10000.0, 20.0)):
        limit = control.loop_hold_limit(control.linearise(floating, control.computed_torque(kp, kd), Q))
        assert limit == pytest.approx(min(2.0 / kd, 2.0 * kd / kp), rel=1e-6)
    assert control.loop_hold_limit(control.linearise(UR5, control.computed_torque(100.0, 0.0), Q)) == 0.0
    assert control.loop_hold_limit(control.linearise(UR5, control.zero(), Q)) == np.inf


def test_held_loop_grows_as_the_radius_says():
    loop = control.linearise(CEA, control.pd_gravity(KP, KD), START)
    dt, rng = 4e-4, np.random.default_rng(0)
    q, qd = START + 1e-9 * rng.normal(size=6), np.zeros(6)
    ref = Reference(START, np.zeros(6), np.zeros(6))
    kernel = control.law_kernel(control.pd_gravity(KP, KD), CEA)
    sizes = []
    for _ in range(14):
        tau = kernel(0.0, q, qd, *ref)
        for _ in range(10):
            h = dt / 10
            a = aw.forward_dynamics(CEA, q, qd, tau)
            b = aw.forward_dynamics(CEA, q + 0.5 * h * qd, qd + 0.5 * h * a, tau)
            q, qd = q + h * (qd + 0.5 * h * a), qd + h * b
        sizes.append(np.linalg.norm(qd))
    assert sizes[-1] / sizes[-2] == pytest.approx(control.hold_radius(loop, dt), rel=0.02)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: control.pd([1.0, 2.0, 3.0], 1.0), r"kp: expected \(6,\) or a scalar, got \(3,\)"),
        (lambda: control.pd(np.ones((4, 6)), 1.0), r"kp: expected \(6,\) or a scalar"),
        (lambda: control.pd(-1.0, 1.0), "kp: every entry must be finite and ≥ 0"),
        (lambda: control.pd(1.0, np.nan), "kd: every entry must be finite"),
        (lambda: control.pd("stiff", 1.0), "kp: expected numbers"),
        (lambda: control.sliding_mode(1.0, 1.0, 1.0, 0.0), "epsilon: every entry must be finite and > 0"),
        (lambda: control.impedance([1.0, 2.0], 1.0), r"stiffness: expected a scalar, \(6,\)"),
        (lambda: control.impedance(1.0, 1.0, inertia=1.0, joint_damping=1.0), "exclude each other"),
        (lambda: control.task_space(1.0, 1.0, orientation="roll"), "orientation: expected one of"),
        (lambda: control.task_space(1.0, 1.0, axes=(0, 0)), "axes: expected different numbers"),
        (lambda: control.task_space(1.0, 1.0, goal=2.0 * np.eye(4)), "goal"),
        (lambda: control.pid(1.0, 1.0, 1.0, anti_windup="back-calculation"), "needs limit"),
        (lambda: control.pid(1.0, 1.0, 1.0, anti_windup="magic"), "anti_windup: expected one of"),
        (lambda: control.pid(1.0, 1.0, 1.0), "needs dt"),
        (lambda: control.pd_gravity(1.0, 1.0, at="home"), "at: expected one of"),
        (lambda: control.damping(([0.0, 0.0], [1.0, 2.0])), "times must be finite and increase"),
        (lambda: control.adaptive(UR5, 1.0, 1.0, 1.0, start=np.zeros(3)), r"start must have shape \(60,\)"),
        (lambda: control.adaptive(UR5, 1.0, 1.0, 1.0, lower=100.0), "outside"),
        (lambda: control.as_law(lambda q, stiffness: q), "'stiffness' has no value"),
        (lambda: control.as_law(lambda q: q, kp=1.0), "no parameter kp"),
        (lambda: control.as_law(lambda q, t: q, t=1.0), "already a signal"),
        (lambda: control.as_law(control.pd(1.0, 1.0), ki=1.0), "no gain ki; it has kp, kd"),
        (lambda: control.as_law(3.0), "expected a Law or a function"),
        (lambda: control.as_law(lambda q: q[:3]), r"must return a torque per joint, shape \(6,\), got \(3,\)"),
        (lambda: control.as_law(lambda q: (q, {"z": q})), "must hold the memory"),
        (
            lambda: control.as_law(lambda q, z: (q, {"z": 1.0}), memory={"z": 0.0}),
            r"memory z starts as \(6,\), became \(\)",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(aw.InputError, match=message):
        control.evaluate_law(make(), UR5, 0.0, Q, QD, REF)


def test_batches_of_gains_are_checked_against_the_batch():
    law = control.pd(np.ones((4, 6)), np.ones((4, 1)))
    assert control.check_gains(law, 6, batch=4)["kp"].shape == (4, 6)
    with pytest.raises(aw.InputError, match=r"\(5, 6\) or \(5, 1\), got \(4, 6\)"):
        control.check_gains(law, 6, batch=5)


def test_wrong_instants_are_named():
    law = control.pd(1.0, 1.0)
    with pytest.raises(aw.InputError, match=r"q: expected shape \(6,\), got \(5,\)"):
        control.evaluate_law(law, UR5, 0.0, Q[:5], QD, REF)
    with pytest.raises(aw.InputError, match="qd: every entry must be finite"):
        control.evaluate_law(law, UR5, 0.0, Q, QD * np.nan, REF)
    with pytest.raises(aw.InputError, match=r"ref.qd: expected shape \(6,\)"):
        control.evaluate_law(law, UR5, 0.0, Q, QD, Reference(Q, 0.0, Q))
    with pytest.raises(aw.InputError, match="no memory z; it has"):
        control.evaluate_law(law, UR5, 0.0, Q, QD, REF, {"z": 1.0})
    with pytest.raises(aw.InputError, match="has no storage function"):
        control.storage(control.feedforward(1.0, 1.0), UR5, 0.0, Q, QD, REF)
