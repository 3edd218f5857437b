# SPDX-License-Identifier: Apache-2.0
"""How fast: minimum durations against document 003, and time-optimal motions that touch limits and break none."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright import motion
from armwright.errors import InputError, NotSupportedError
from armwright.motion.arm_limits import torque_limits
from armwright.motion.path_speeds import largest_speeds

START, GOAL = np.array([-1.0, 0, -1, -1, -1, -1]), np.array([0.0, 1, 0, 0, 0, 0])
EFFORT = np.array([500.0, 500, 500, 350, 350, 350])
MU2 = 10.198553  # largest eigenvalue of A over the limits, 003 E5


def rubbed(viscous, coulomb, dead_zone=0.0):
    """A UR5 with friction in its joints."""
    robot = aw.load("ur5")
    joints = [
        replace(j, friction=aw.robot.Friction(float(v), float(c), dead_zone))
        for j, v, c in zip(robot.joints, viscous, coulomb, strict=True)
    ]
    return replace(robot, joints=tuple(joints))


VISCOUS, COULOMB = np.array([15.0, 15, 10, 3, 3, 3]), np.array([10.0, 15, 8, 3, 3, 3])


def waypoints(seed, count):
    return np.array([0, -1.5, 1.5, -1, -1.5, 0]) + 0.5 * np.random.default_rng(seed).normal(size=(count, 6))


def densest_use(robot, trajectory, per_piece=201):
    """Largest |tau|/effort at many instants of every piece, the ends left out (friction jumps at rest)."""
    tau = aw.inverse_dynamics(robot, *trajectory.within(np.linspace(1e-7, 1 - 1e-7, per_piece)))
    return np.abs(tau).max((0, 1)) / np.array([j.limits.effort for j in robot.joints])


def test_minimal_time_of_003(cea):
    assert motion.quintic_duration(START, GOAL, acceleration=EFFORT / MU2) == pytest.approx(0.410161, abs=2e-6)
    shortest = motion.minimum_duration(cea, START, GOAL)
    assert shortest == pytest.approx(0.4114, abs=5e-5)
    use = motion.torque_use(cea, motion.quintic(START, GOAL, 0.4102))
    assert use.peak[1] == pytest.approx(502.2, abs=0.05)
    assert "joint_2" in use.message
    assert motion.torque_use(cea, motion.quintic(START, GOAL, shortest)).worst == pytest.approx(1.0, abs=1e-8)
    half = motion.torque_use(cea, motion.quintic(START, GOAL, 0.5)).use
    np.testing.assert_allclose(half, [0.46, 0.757, 0.17, 0.11, 0.11, 0.11], atol=5e-3)


def test_quintic_peaks_of_003():
    p = motion.quintic(START, GOAL, 0.5).peaks()
    np.testing.assert_allclose(p.qd, 15 / (8 * 0.5), rtol=1e-12)
    np.testing.assert_allclose(p.qdd, 10 / (np.sqrt(3) * 0.25), rtol=1e-12)
    np.testing.assert_allclose(p.qd_time, 0.25, atol=1e-7)
    v, a = np.array([1.0, 2, 3, 4, 5, 6]), np.array([9.0, 8, 7, 6, 5, 4])
    T = motion.quintic_duration(START, 3 * GOAL, v, a)
    p = motion.quintic(START, 3 * GOAL, T).peaks()
    assert max((p.qd / v).max(), (p.qdd / a).max()) == pytest.approx(1.0, rel=1e-12)


def test_minimum_duration_keeps_other_limits_too(cea):
    T = motion.minimum_duration(cea, START, GOAL, velocity=2.0)
    assert pytest.approx(15 / 16, rel=1e-12) == T
    assert motion.minimum_duration(cea, START, GOAL, torque=1e4) < 0.41


def test_torque_that_cannot_even_hold_the_arm_is_refused(cea):
    with pytest.raises(InputError, match="joint 'joint_2' uses"):
        motion.minimum_duration(cea, START, GOAL, torque=50.0)
    with pytest.raises(InputError, match="path: at s = "):
        motion.time_optimal(cea, [START, GOAL], torque=50.0)


def test_coupled_motors_count():
    """RL15: motor torques are gear^-T tau, with coupling between joints, and gears that rub by the load they carry."""
    robot = aw.load("rl15")
    limits = torque_limits(robot)
    assert any(label.startswith("motor") for label in limits.labels)
    m = motion.quintic(np.zeros(6), 0.5 * np.ones(6), 0.8)
    t = np.linspace(0, 0.8, 4001)[1:-1]
    q, qd, qdd = m.evaluate(t)
    K, motors = robot.actuators.gear, robot.actuators
    load = aw.inverse_dynamics(robot, q, qd, qdd, friction=False, rotors=False) @ np.linalg.inv(K)
    motor = load + motors.load_friction * np.sign(qd @ K.T) * np.abs(load)
    motor = motor + motors.rotor_inertia * (qdd @ K.T) + motors.viscous * (qd @ K.T)
    want = (np.abs(motor) / robot.actuators.torque_limit).max(0)
    got = motion.torque_use(robot, m).use[[k for k, label in enumerate(limits.labels) if label.startswith("motor")]]
    np.testing.assert_allclose(got, want[np.isfinite(robot.actuators.torque_limit)], rtol=1e-4)


def test_time_optimal_touches_the_limits_and_beats_the_quintic(cea):
    m = motion.time_optimal(cea, [START, GOAL])
    assert m.duration < 0.8 * motion.minimum_duration(cea, START, GOAL)
    assert m.duration == pytest.approx(0.3171, abs=2e-4)
    use = densest_use(cea, m.trajectory)
    assert use.max() <= 1.0 + 1e-8
    assert use.max() > 0.9999
    # bang-bang: at nearly every instant some joint is at its limit
    t = np.linspace(0, m.duration, 1001)[1:-1]
    at = (np.abs(aw.inverse_dynamics(cea, *m.trajectory.evaluate(t))) / EFFORT).max(1)
    assert np.mean(at > 0.98) > 0.95
    q = m.trajectory.evaluate(t).q
    np.testing.assert_allclose(q, START + (q[:, :1] + 1) * (GOAL - START), atol=1e-12)  # never off the path
    for got, want in zip((*m.trajectory.start[:2], *m.trajectory.end[:2]), (START, 0, GOAL, 0), strict=True):
        np.testing.assert_allclose(got, want + np.zeros(6), atol=1e-9)


@pytest.mark.parametrize(
    ("viscous", "coulomb", "dead_zone"),
    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 0.01), (3, 1, 0)],
    ids=["none", "viscous", "coulomb", "both", "dead zone", "heavy"],
)
def test_friction_in_time_optimal_motions(viscous, coulomb, dead_zone):
    robot = rubbed(viscous * VISCOUS, coulomb * COULOMB, dead_zone)
    for seed, count in ((1, 3), (2, 5)):
        Q = waypoints(seed, count)
        m = motion.time_optimal(robot, Q, velocity=np.inf, acceleration=np.inf, grid=200)  # torque alone
        use = densest_use(robot, m.trajectory)
        assert use.max() <= 1.0 + 1e-6
        assert m.use <= 1.0
        assert use.max() > 0.999
        assert 1.0 <= m.slow_down < 1.02
        # it still goes where it should: every waypoint is passed
        q = m.trajectory.evaluate(np.linspace(0, m.duration, 20001)).q
        assert np.abs(q[:, None] - Q).max(-1).min(0).max() < 1e-3


def test_ignoring_viscous_friction_breaks_the_limits():
    """What the iteration is for: the motion planned without viscous friction is too fast for an arm that has it."""
    Q = waypoints(1, 3)
    plain, robot = rubbed(0 * VISCOUS, COULOMB), rubbed(VISCOUS, COULOMB)
    naive, right = (motion.time_optimal(arm, Q, acceleration=np.inf, grid=200) for arm in (plain, robot))
    assert densest_use(robot, naive.trajectory).max() > 1.05
    assert right.duration > naive.duration
    assert right.iterations > 1


def test_velocity_and_acceleration_limits_hold_between_grid_points():
    robot = rubbed(VISCOUS, COULOMB)
    m = motion.time_optimal(robot, waypoints(4, 4), velocity=2.0, acceleration=8.0, grid=100)
    p = m.trajectory.peaks()
    assert p.qd.max() <= 2.0 * (1 + 1e-12)
    assert p.qdd.max() <= 8.0 * (1 + 1e-12)
    assert p.qd.max() > 1.98


def test_finer_grids_converge(cea):
    T = [motion.time_optimal(cea, [START, GOAL], grid=n).duration for n in (50, 100, 200, 400)]
    steps = -np.diff(T)
    assert (steps > 0).all()  # limits at both ends of every interval: coarse grids are slower, never too fast
    assert steps[2] < steps[1] < steps[0]


def test_toppra_agrees(cea):
    pytest.importorskip("toppra", reason="extra [time]")
    for robot, path in ((cea, [START, GOAL]), (rubbed(VISCOUS, COULOMB), waypoints(2, 5))):
        ours, theirs = (motion.time_optimal(robot, path, grid=200, solver=s) for s in ("reachability", "toppra"))
        assert theirs.duration == pytest.approx(ours.duration, rel=2e-5)


def test_reachability_against_linear_programs():
    """Largest speeds by the simplex method on a small grid: maximise Σx under all limits at once."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    for _ in range(5):
        N, k = 12, 6
        s = np.concatenate([[0.0], np.cumsum(rng.uniform(0.02, 0.06, N))])
        # steps so fine that a higher speed now never costs speed later: there the largest speeds are the optimum
        a, b = rng.uniform(0.5, 1.5, (N, k)) * rng.choice([-1, 1], (N, k)), rng.normal(size=(N, k))
        a, b = np.concatenate([a, -a], 1), np.concatenate([b, -b], 1)  # |a u + b x| ≤ 1, as torque limits are
        c = -np.ones_like(a)
        h = np.diff(s)[:, None]
        alpha = a / (2 * h)
        A = np.zeros((N, 2 * k, N + 1))
        for i in range(N):
            A[i, :, i], A[i, :, i + 1] = b[i] - alpha[i], alpha[i]
        bounds = [(0, 0), *[(0, None)] * (N - 1), (0, 0)]
        best = linprog(-np.ones(N + 1), A.reshape(-1, N + 1), -c.reshape(-1), bounds=bounds)
        x = largest_speeds(s, a, b, c)
        assert (np.einsum("ikj,j->ik", A, x) + c).max() < 1e-9
        np.testing.assert_allclose(x, best.x, atol=1e-7)


def test_cartesian_path_as_fast_as_the_motors_allow():
    robot = aw.load("ur5")
    q = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.4])
    T = aw.fk(robot, q)
    goal = T.copy()
    goal[:3, 3] += [0.1, 0.3, -0.1]
    line = motion.line(T, goal)
    path = motion.follow_path(robot, line, motion.path_law(line, "constant", duration=1.0), q0=q).trajectory
    m = motion.time_optimal(robot, path, grid=150)
    P = aw.fk(robot, m.trajectory.evaluate(np.linspace(0, m.duration, 500)).q)[:, :3, 3] - T[:3, 3]
    assert np.linalg.norm(np.cross(P, line.chord / line.length), axis=1).max() < 1e-6
    assert densest_use(robot, m.trajectory).max() <= 1.0 + 1e-6


def test_what_cannot_be_planned_is_refused(cea, monkeypatch):
    for call, says in (
        (lambda: motion.time_optimal(cea, motion.quintic(START, GOAL, 1.0)), "stands still"),
        (lambda: motion.time_optimal(cea, [START, START]), "coincide"),
        (lambda: motion.time_optimal(cea, [START, GOAL * np.nan]), "finite"),
        (lambda: motion.time_optimal(cea, [START[:3], GOAL[:3]]), "3 joints"),
        (lambda: motion.time_optimal(cea, [START, GOAL], grid=3), "grid"),
        (lambda: motion.time_optimal(cea, [START, GOAL], torque=0.0), "torque: every limit"),
        (lambda: motion.time_optimal(cea, [START, GOAL], velocity=-1.0), "velocity: every limit"),
        (lambda: motion.time_optimal(cea, [START, GOAL], solver="magic"), "solver must be"),
        (lambda: motion.torque_use(cea, motion.hold([0.0], 1.0)), "1 joints"),
        (lambda: motion.minimum_duration(cea, START, START), "coincide"),
        (lambda: torque_limits(aw.load("planar2"), [1.0]), "torque"),
    ):
        with pytest.raises(InputError, match=says):
            call()
    corner = motion.joint_path([START, GOAL]).then(motion.joint_path([GOAL, START]), order=0)
    with pytest.raises(InputError, match="corner"):
        motion.time_optimal(cea, corner)
    monkeypatch.setitem(sys.modules, "toppra", None)
    monkeypatch.setitem(sys.modules, "toppra.algorithm", None)
    with pytest.raises(NotSupportedError, match=r"armwright\[time"):
        motion.time_optimal(cea, [START, GOAL], solver="toppra")


def test_the_acceleration_limits_of_the_arm_hold_by_default_and_are_named():
    robot = aw.load("ur5")
    bound = np.array([joint.limits.acceleration for joint in robot.joints])
    m = motion.time_optimal(robot, waypoints(1, 3), grid=100)
    assert 0.99 < (m.trajectory.peaks().qdd / bound).max() <= 1.0 + 1e-9
    joint = robot.joints[int((m.trajectory.peaks().qdd / bound).argmax())].name
    assert f"acceleration of joint {joint!r}" in m.limiting
    free = motion.time_optimal(robot, waypoints(1, 3), acceleration=np.inf, grid=100)
    assert free.duration < m.duration
    assert not any(label.startswith("acceleration") for label in free.limiting)


@pytest.mark.parametrize("name", ["ur5", "panda", "rl15"])
def test_the_speed_limits_of_joints_and_motors_hold_by_default(name):
    """UR5 and Panda: printed joint speeds. RL15: motors coupled by their gears, whose speeds are what is printed."""
    robot = aw.load(name)
    low, high = np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0)
    Q = np.stack([0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high])
    m = motion.time_optimal(robot, Q, grid=100)
    free = motion.time_optimal(robot, Q, velocity=np.inf, grid=100)
    qd = m.trajectory.evaluate(np.linspace(0.0, m.duration, 4001)).qd
    joint = np.abs(qd) / [joint.limits.velocity for joint in robot.joints]
    motor = np.abs(qd @ robot.actuators.gear.T) / robot.actuators.speed_limit
    use = max(joint.max(), motor.max())
    assert 0.99 < use <= 1.0 + 1e-9
    assert any(label.startswith("speed of") for label in m.limiting)
    assert free.duration < m.duration  # it was the speed that held it back
    assert motion.time_optimal(robot, Q, velocity=1.0, grid=100).trajectory.peaks().qd.max() <= 1.0 + 1e-12


def test_a_joint_that_may_not_move_is_named(cea):
    still = replace(
        cea,
        joints=tuple(
            replace(joint, limits=replace(joint.limits, velocity=0.0)) if k == 2 else joint
            for k, joint in enumerate(cea.joints)
        ),
    )
    with pytest.raises(InputError, match=f"{cea.joints[2].name}.*limit 0; give velocity"):
        motion.time_optimal(still, [START, GOAL])
