# SPDX-License-Identifier: Apache-2.0
"""What each law promises: its torque, and the rate of its storage function along the motion of the arm."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright import control
from armwright.control.adaptive import link_parameters
from armwright.control.task_error import spring_moment
from armwright.control.two_velocities import passive_regressor, passive_torque, sliding
from armwright.dynamics import crba, parameters
from armwright.dynamics.lagrange import coriolis_matrix
from armwright.errors import InputError
from armwright.motion.trajectory import Reference
from armwright.robot.load import load
from armwright.robot.tree import tree_of
from armwright.robot.variations import add_payload
from armwright.spatial import exp_so3, log_so3
from support.arms import random_arm

UR5, CEA = load("ur5"), load("cea")
Q, QD = np.array([0.3, -1.1, 1.2, 0.4, 0.9, -0.5]), np.array([0.5, -0.4, 0.7, 0.3, -0.6, 0.8])
WRENCH = np.array([5.0, -3.0, 2.0, 0.4, 0.3, -0.2])


def moving(t):
    """A smooth reference near Q."""
    phase, w = np.arange(6.0), np.array([1.0, 1.3, 0.7, 1.1, 0.9, 1.7])
    return Reference(
        Q + 0.2 + 0.1 * np.sin(w * t + phase), 0.1 * w * np.cos(w * t + phase), -0.1 * w**2 * np.sin(w * t + phase)
    )


def resting(t):
    return Reference(Q + np.array([0.2, -0.1, 0.15, 0.1, -0.2, 0.3]), np.zeros(6), np.zeros(6))


def rates(law, robot, reference, q=Q, qd=QD, memory=None, wrench=None, measured=False, model=None):
    """dV/dt along the arm's own motion by central differences, the acceleration and the torque."""
    model = model or robot
    memory = dict(control.initial_memory(law, robot.n), **(memory or {}))
    action = control.evaluate_law(
        law, model, 0.4, q, qd, reference(0.4), memory, dt=1.0, wrench=wrench if measured else None
    )
    qdd = aw.forward_dynamics(robot, q, qd, action.tau, wrench)

    def V(s):
        kept = {k: memory[k] + s * (action.memory[k] - memory[k]) for k in memory}
        return control.storage(law, robot, 0.4 + s, q + s * qd, qd + s * qdd, reference(0.4 + s), kept)

    h = 1e-6  # fourth-order difference: light wrists accelerate hard
    return (8.0 * (V(h) - V(-h)) - (V(2 * h) - V(-2 * h))) / (12.0 * h), qdd, action.tau


def friction(robot, qd):
    return aw.bias(robot, Q, qd) - aw.bias(robot, Q, qd, friction=False)


def test_zero_torque_and_damping_lose_energy_as_they_say():
    for robot in (UR5, CEA):
        lost = QD @ friction(robot, QD)
        assert rates(control.zero(), robot, resting)[0] == pytest.approx(-lost, rel=1e-6, abs=1e-6)
        law = control.damping([1.0, 2.0, 0.5, 0.3, 0.2, 0.1])
        expected = -QD @ (law.gains["k"] * QD) - lost
        assert rates(law, robot, resting)[0] == pytest.approx(expected, rel=1e-6)


def test_a_constant_torque_changes_its_storage_by_friction_alone():
    tau = np.array([3.0, -20.0, 5.0, -1.0, 0.5, 0.2])
    for robot in (UR5, CEA):
        law = control.constant(tau)
        rate, _, given = rates(law, robot, moving)  # the reference is not used
        assert (given == tau).all()
        assert rate == pytest.approx(-QD @ friction(robot, QD), rel=1e-6, abs=1e-6)
    assert (control.evaluate_law(control.constant(2.5), UR5, 0.0, Q, QD, resting(0)).tau == 2.5).all()


@pytest.mark.parametrize(
    ("tau", "hint"),
    [([1.0, np.nan], "tau: every entry must be finite"), ("much", "tau: expected numbers"), ([], "got shape (0,)")],
)
def test_a_torque_that_is_none_is_refused(tau, hint):
    with pytest.raises(InputError) as error:
        control.constant(tau)
    assert hint in str(error.value)


def test_a_torque_for_another_number_of_joints_is_refused():
    with pytest.raises(InputError, match=r"gain tau: expected \(6,\) or a scalar, got \(5,\)"):
        aw.simulate(UR5, control.constant(np.ones(5)), duration=0.1)


def test_drop_test_gain_of_000():
    law = control.damping()
    for t, k in ((0.0, 1.0), (5.0, 0.5), (9.8, 0.02), (9.9, 0.02), (60.0, 0.02)):
        np.testing.assert_allclose(control.evaluate_law(law, UR5, t, Q, QD, resting(0)).tau, -k * QD, rtol=1e-12)
    written = control.damping(lambda t: np.where(t <= 9.8, 1.0 - 0.1 * t, 0.02))
    kernel = control.law_kernel(written, UR5)
    for t in (0.0, 3.3, 9.79, 12.0):
        ref = resting(0)
        expected = control.evaluate_law(law, UR5, t, Q, QD, ref).tau
        np.testing.assert_allclose(kernel(t, Q, QD, *ref), expected, rtol=1e-12)


@pytest.mark.parametrize("robot", [UR5, CEA])
@pytest.mark.parametrize(
    "law", [control.pd(80.0, 12.0), control.pd_gravity(80.0, 12.0), control.pd_gravity(80.0, 12.0, at="reference")]
)
def test_pd_laws_dissipate_what_damping_and_friction_take(robot, law):
    Vd, _, _ = rates(law, robot, resting)
    assert Vd == pytest.approx(-QD @ (12.0 * QD) - QD @ friction(robot, QD), rel=1e-6)


def test_pd_gravity_rests_at_the_target_and_pd_sags_below_it():
    ref = Reference(Q, np.zeros(6), np.zeros(6))
    held = control.evaluate_law(control.pd_gravity(50.0, 20.0), UR5, 0.0, Q, np.zeros(6), ref).tau
    np.testing.assert_allclose(aw.forward_dynamics(UR5, Q, np.zeros(6), held), 0.0, atol=1e-11)
    free = control.evaluate_law(control.pd(50.0, 20.0), UR5, 0.0, Q, np.zeros(6), ref).tau
    assert np.abs(aw.forward_dynamics(UR5, Q, np.zeros(6), free)).max() > 1.0
    np.testing.assert_array_equal(free, 0.0)


def test_feedforward_is_exact_on_the_reference():
    ref = moving(0.7)
    law = control.feedforward(100.0, 20.0)
    qdd = aw.forward_dynamics(CEA, ref.q, ref.qd, control.evaluate_law(law, CEA, 0.7, ref.q, ref.qd, ref).tau)
    np.testing.assert_allclose(qdd, ref.qdd, atol=1e-10)


@pytest.mark.parametrize("robot", [UR5, CEA])
def test_computed_torque_makes_the_error_linear(robot):
    gains = control.frequency_gains([10.0, 12.0, 9.0, 20.0, 25.0, 30.0])
    law = control.computed_torque(*gains, friction="measured")
    kp, kd = law.gains["kp"], law.gains["kd"]
    ref = moving(0.4)
    Vd, qdd, _ = rates(law, robot, moving)
    np.testing.assert_allclose(qdd, ref.qdd - kp * (Q - ref.q) - kd * (QD - ref.qd), rtol=1e-10, atol=1e-10)
    ed = QD - ref.qd
    assert Vd == pytest.approx(-ed @ (kd * ed), rel=1e-6)


def tool_acceleration(robot, qdd):
    return aw.kinematics.acceleration(robot, Q, QD, qdd)


def test_task_space_makes_the_tool_error_linear():
    gains = [40.0, 50.0, 60.0, 70.0, 70.0, 70.0], [12.0, 13.0, 14.0, 15.0, 16.0, 17.0]
    law = control.task_space(*gains, friction="measured")
    Vd, qdd, _ = rates(law, CEA, moving)
    ref = moving(0.4)
    T, T_d = aw.fk(CEA, Q), aw.fk(CEA, ref.q)
    e = np.concatenate([T_d[:3, 3] - T[:3, 3], log_so3(T_d[:3, :3] @ T[:3, :3].T)])
    ed = aw.twist(CEA, ref.q, ref.qd) - aw.twist(CEA, Q, QD)
    wanted = aw.kinematics.acceleration(CEA, ref.q, ref.qd, ref.qdd) + law.gains["kp"] * e + law.gains["kd"] * ed
    np.testing.assert_allclose(tool_acceleration(CEA, qdd), wanted, rtol=1e-10, atol=1e-10)
    assert Vd == pytest.approx(-ed @ (law.gains["kd"] * ed), rel=1e-6)


def test_task_space_in_euler_angles_as_in_004():
    law = control.task_space(40.0, 12.0, orientation="zyz")
    Vd, qdd, _ = rates(law, UR5, moving)
    ref = moving(0.4)
    J, Jd = aw.kinematics.analytic_jacobian(UR5, Q, "zyz"), _analytic_dot(UR5, Q, QD)
    J_d, Jd_d = aw.kinematics.analytic_jacobian(UR5, ref.q, "zyz"), _analytic_dot(UR5, ref.q, ref.qd)
    ed = J_d @ ref.qd - J @ QD
    edd = J_d @ ref.qdd + Jd_d @ ref.qd - J @ qdd - Jd @ QD
    e = -(edd + 12.0 * ed) / 40.0  # what the linear error equation says the error is
    np.testing.assert_allclose(e[:3], aw.fk(UR5, ref.q)[:3, 3] - aw.fk(UR5, Q)[:3, 3], atol=1e-10)
    assert Vd == pytest.approx(-12.0 * ed @ ed, rel=1e-6)


def _analytic_dot(robot, q, qd):
    from armwright.kinematics import analytic_jacobian_dot

    return analytic_jacobian_dot(robot, q, qd, "zyz")


def test_task_space_of_few_axes_and_of_a_redundant_arm():
    planar = load("planar2")
    q, qd, ref = np.array([0.4, 0.9]), np.array([0.3, -0.2]), Reference(np.array([0.5, 0.7]), np.zeros(2), np.zeros(2))
    T = aw.fk(planar, q)
    rows = [k for k in range(3) if np.abs(aw.jacobian(planar, q)[k]).max() > 1e-6]
    law = control.task_space(30.0, 11.0, axes=rows)
    qdd = aw.forward_dynamics(planar, q, qd, control.evaluate_law(law, planar, 0.0, q, qd, ref).tau)
    wanted = 30.0 * (aw.fk(planar, ref.q) - T)[rows, 3] - 11.0 * aw.twist(planar, q, qd)[rows]
    np.testing.assert_allclose(aw.kinematics.acceleration(planar, q, qd, qdd)[rows], wanted, rtol=1e-10, atol=1e-10)
    with pytest.raises(aw.InputError, match="at least 6 joints"):
        control.evaluate_law(control.task_space(30.0, 11.0), planar, 0.0, q, qd, ref)
    panda = load("panda")
    q = np.array([0.1, -0.4, 0.2, -1.9, 0.3, 1.6, 0.2])
    qd = aw.jacobian(panda, q)
    null = np.linalg.svd(qd)[2][-1]  # a self-motion: the tool stands still, only the null-space term acts
    ref = Reference(q, np.zeros(7), np.zeros(7))
    law = control.task_space(30.0, 11.0, kp_null=4.0, kd_null=3.0)
    tau = control.evaluate_law(law, panda, 0.0, q, null, ref).tau
    assert null @ aw.forward_dynamics(panda, q, null, tau) == pytest.approx(-3.0, rel=1e-9)


def test_task_space_stays_bounded_in_a_singularity():
    q = np.array([0.0, -1.0, 0.0, 0.3, 0.0, 0.0])  # elbow straight and wrist aligned
    ref = Reference(q + 0.01, np.zeros(6), np.zeros(6))
    tau = control.evaluate_law(control.task_space(100.0, 20.0), UR5, 0.0, q, np.zeros(6), ref).tau
    assert np.abs(aw.forward_dynamics(UR5, q, np.zeros(6), tau)).max() < 100.0 * 0.5 * np.sqrt(6) / (2 * 0.02)


@pytest.mark.parametrize("stiffness", [[300.0, 400.0, 500.0, 20.0, 20.0, 20.0], [300.0, 400.0, 500.0, 20.0, 5.0, 40.0]])
def test_impedance_is_passive_towards_the_world(stiffness):
    xd = aw.twist(CEA, Q, QD)
    lost = -xd @ (30.0 * xd) - QD @ (0.5 * QD) + xd @ WRENCH
    for speed, own in (("measured", 0.0), ("reference", QD @ friction(CEA, QD))):
        law = control.impedance(stiffness, 30.0, joint_damping=0.5, friction=speed)
        assert rates(law, CEA, resting, wrench=WRENCH)[0] == pytest.approx(lost - own, rel=1e-6)
    fixed = control.impedance(stiffness, 30.0, joint_damping=0.5, goal=aw.fk(CEA, resting(0).q))
    np.testing.assert_allclose(
        *(control.evaluate_law(x, CEA, 0.0, Q, QD, resting(0)).tau for x in (law, fixed)), rtol=1e-9, atol=1e-9
    )


def test_impedance_with_chosen_inertia_meets_the_wrench_with_it():
    M_d = np.array([5.0, 6.0, 7.0, 0.3, 0.4, 0.5])
    law = control.impedance([300.0] * 3 + [20.0] * 3, 30.0, inertia=M_d, friction="measured")
    Vd, qdd, _ = rates(law, CEA, moving, wrench=WRENCH, measured=True)
    ref = moving(0.4)
    T, T_d = aw.fk(CEA, Q), aw.fk(CEA, ref.q)
    e = np.concatenate([T_d[:3, 3] - T[:3, 3], log_so3(T_d[:3, :3] @ T[:3, :3].T)])
    ed = aw.twist(CEA, ref.q, ref.qd) - aw.twist(CEA, Q, QD)
    edd = aw.kinematics.acceleration(CEA, ref.q, ref.qd, ref.qdd) - aw.kinematics.acceleration(CEA, Q, QD, qdd)
    np.testing.assert_allclose(
        M_d * edd + 30.0 * ed + np.array([300.0] * 3 + [20.0] * 3) * e, -WRENCH, rtol=1e-9, atol=1e-9
    )
    assert Vd == pytest.approx(-ed @ (30.0 * ed) - ed @ WRENCH, rel=1e-6)


@pytest.mark.parametrize("size", [1e-3, 0.3, 0.6, 2.9])
def test_spring_moment_is_the_gradient_of_its_energy(size):
    rng = np.random.default_rng(3)
    axis, k, w = rng.normal(size=3), np.array([2.0, 5.0, 9.0]), rng.normal(size=3)
    phi = size * axis / np.linalg.norm(axis)

    def energy(s):  # the tool turns by s·w, the target stays: R_d Rᵀ exp(−s w)
        v = log_so3(exp_so3(phi) @ exp_so3(-s * w))
        return 0.5 * v @ (k * v)

    h = 1e-6
    assert spring_moment(phi, k) @ w == pytest.approx(-(energy(h) - energy(-h)) / (2 * h), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("shape", ["chain", "tree", "mimic"])
def test_passive_torque_has_the_christoffel_matrix(shape):
    robot = random_arm(5, 5, shape=shape, drives="coupled")
    rng = np.random.default_rng(1)
    q, qd, qd_r, qdd_r = rng.normal(size=(4, 5))
    expected = crba(robot, q) @ qdd_r + coriolis_matrix(robot, q, qd) @ qd_r + aw.gravity_torque(robot, q)
    np.testing.assert_allclose(passive_torque(robot, q, qd, qd_r, qdd_r), expected, rtol=1e-10, atol=1e-10)
    pi = link_parameters(robot)
    np.testing.assert_allclose(pi, parameters(robot)[: len(pi)], rtol=1e-10, atol=1e-10)
    rigid = passive_regressor(robot, q, qd, qd_r, qdd_r) @ pi + robot.tree.armature @ qdd_r
    np.testing.assert_allclose(rigid, expected, rtol=1e-10, atol=1e-10)


def test_sliding_mode_with_an_exact_model_and_with_a_wrong_one():
    k, lam, epsilon = 8.0, np.array([4.0, 5.0, 6.0, 7.0, 8.0, 9.0]), 0.5
    s, qd_r, qdd_r = sliding(Q, QD, moving(0.4), lam)
    Vd, _, _ = rates(control.sliding_mode(k, lam, 0.0, epsilon, friction="measured"), CEA, moving)
    assert Vd == pytest.approx(-s @ (k * s), rel=1e-6)
    damped = s @ (friction(CEA, QD) - friction(CEA, qd_r))  # friction at the reference's speed leaves this
    assert damped > 0.0
    Vd, _, _ = rates(control.sliding_mode(k, lam, 0.0, epsilon), CEA, moving)
    assert Vd == pytest.approx(-s @ (k * s) - damped, rel=1e-6)
    loaded = add_payload(CEA, 2.0, com=[0.0, 0.05, 0.1])
    d = control.torque_mismatch(CEA, loaded, Q, QD, qd_r, qdd_r)
    bound = np.abs(d).max()
    law = control.sliding_mode(k, lam, bound, epsilon, friction="measured")
    Vd, _, _ = rates(law, loaded, moving, model=CEA)
    sat = np.clip(s / epsilon, -1.0, 1.0)
    assert Vd == pytest.approx(-s @ (k * s) + s @ (d - bound * sat), rel=1e-6)
    assert Vd <= -s @ (k * s) + 6 * bound * epsilon / 4


def test_lyapunov_redesign_adds_its_term_to_computed_torque():
    kp, kd = control.frequency_gains([8.0, 9.0, 10.0, 11.0, 12.0, 13.0])
    plain, same = control.computed_torque(kp, kd), control.lyapunov_redesign(kp, kd, 0.0, 0.01)
    ref = moving(0.4)
    np.testing.assert_array_equal(*(control.evaluate_law(x, CEA, 0.4, Q, QD, ref).tau for x in (plain, same)))
    loaded = add_payload(CEA, 0.5)
    e, ed = Q - ref.q, QD - ref.qd
    w = 0.5 * e + ed / kd
    for epsilon in (1e-3, 10.0):
        rho = 20.0
        delta = -rho * w / max(np.linalg.norm(w), epsilon)
        eta = control.acceleration_mismatch(CEA, loaded, Q, QD, ref.qdd - kp * e - kd * ed + delta)
        assert np.linalg.norm(eta) < rho
        law = control.lyapunov_redesign(kp, kd, rho, epsilon, friction="measured")
        Vd, qdd, _ = rates(law, loaded, moving, model=CEA)
        np.testing.assert_allclose(qdd - ref.qdd + kd * ed + kp * e, delta + eta, rtol=1e-9)
        assert Vd == pytest.approx(-e @ (kp * e) - ed @ ed + 2 * w @ (delta + eta), rel=1e-6)
        assert Vd <= -e @ (kp * e) - ed @ ed + rho * epsilon / 2


@pytest.mark.parametrize("form", ["links", "base"])
@pytest.mark.parametrize("friction", ["known", "adapt"])
def test_adaptive_law_never_raises_its_storage(form, friction):
    robot = random_arm(7, 3, prismatic=0.0)
    rng = np.random.default_rng(4)
    q, qd = rng.normal(size=(2, 3))
    names = control.adaptive_parameters(robot, form=form, friction=friction)
    true = np.array(list(names.values()))
    rate = control.adaptation_rates(robot, 0.5, form=form, friction=friction)
    start = true + 0.3 * rng.normal(size=true.shape)
    options = {"form": form, "friction": friction, "start": start}
    law, measured = (
        control.adaptive(robot, 5.0, 4.0, rate, friction_at=v, **options) for v in ("reference", "measured")
    )

    def reference(t):
        return Reference(np.sin(t + np.arange(3.0)), np.cos(t + np.arange(3.0)), -np.sin(t + np.arange(3.0)))

    s = sliding(q, qd, reference(0.4), 4.0)[0]
    assert rates(measured, robot, reference, q, qd)[0] == pytest.approx(-s @ (5.0 * s), rel=1e-6)
    Vd, _, tau = rates(law, robot, reference, q, qd)
    assert Vd <= -s @ (5.0 * s)
    exact = control.evaluate_law(law, robot, 0.4, q, qd, reference(0.4), {"estimate": true}, dt=1e-3)
    passive = control.evaluate_law(control.sliding_mode(5.0, 4.0, 0.0, 1.0), robot, 0.4, q, qd, reference(0.4)).tau
    np.testing.assert_allclose(exact.tau, passive, rtol=1e-9)
    assert np.abs(tau - exact.tau).max() > 1e-3


def test_adaptive_storage_takes_a_regrouped_arm_as_well():
    robot = random_arm(7, 3, prismatic=0.0, drives="none")
    law = control.adaptive(robot, 5.0, 4.0, 1.0, form="base")
    q, qd = np.random.default_rng(4).normal(size=(2, 3))
    ref = Reference(q, np.zeros(3), np.zeros(3))
    values = [control.storage(law, arm, 0.0, q, qd, ref) for arm in (robot, tree_of(robot, regroup=True))]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_projection_keeps_estimates_in_their_box_and_storage_falling():
    robot = random_arm(7, 3, prismatic=0.0, drives="none")
    true = np.array(list(control.adaptive_parameters(robot).values()))
    law = control.adaptive(robot, 5.0, 4.0, 50.0, start=true + 0.05, lower=true - 0.1, upper=true + 0.1)
    dt, q, qd = 1e-3, np.array([0.3, -0.2, 0.1]), np.zeros(3)
    memory, kernel = control.initial_memory(law, 3), control.law_kernel(law, robot, dt=dt)
    estimate = memory["estimate"]
    for k in range(1500):
        t = k * dt
        ref = Reference(np.sin(2 * t) * np.ones(3), 2 * np.cos(2 * t) * np.ones(3), -4 * np.sin(2 * t) * np.ones(3))
        tau, estimate = kernel(t, q, qd, *ref, estimate)
        qdd = aw.forward_dynamics(robot, q, qd, tau)
        qd = qd + dt * qdd
        q = q + dt * qd
        assert (estimate >= true - 0.1).all()
        assert (estimate <= true + 0.1).all()
    assert np.abs(estimate - true - 0.05).max() > 0.1  # some estimates did move, up to the side of the box
    assert np.abs(q - np.sin(2 * 1500 * dt)).max() < 0.05
