# SPDX-License-Identifier: Apache-2.0
"""Cartesian moves: the tool is on the path, joints stay on one branch, what cannot be followed is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright import motion
from armwright.errors import InputError
from armwright.spatial import rot_x, rotation_angle

UR5_START = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.4])


def shifted(T, by, turn=0.0):
    out = T.copy()
    out[:3, 3] += by
    out[:3, :3] = rot_x(turn) @ T[:3, :3]
    return out


def paths(robot, q):
    T = aw.fk(robot, q)
    goal = shifted(T, [0.1, 0.2, -0.1], 0.5)
    return {
        "line": motion.line(T, goal),
        "via": motion.circle_via(T, T[:3, 3] + [0.1, 0.0, 0.05], goal),
        "about": motion.circle_about(T, T[:3, 3] + [0.1, 0.0, 0.0], [0, 0, 1], 2 * np.pi),
        "spot": motion.line(T, shifted(T, [0, 0, 0], 0.4)),
    }


@pytest.mark.parametrize("name", ["line", "via", "about", "spot"])
def test_path_geometry(ur5, name):
    p = paths(ur5, UR5_START)[name]
    h, s = 1e-5, np.linspace(0.05, 0.95, 7)
    a, now, b = p.at(s - h), p.at(s), p.at(s + h)
    np.testing.assert_allclose((b.T - a.T)[:, :3, 3] / (2 * h), now.dX[:, :3], atol=1e-8)
    np.testing.assert_allclose((b.dX - a.dX) / (2 * h), now.ddX, atol=1e-7)
    Rd = (b.T - a.T)[:, :3, :3] / (2 * h) @ np.swapaxes(now.T[:, :3, :3], 1, 2)
    np.testing.assert_allclose(np.stack([Rd[:, 2, 1], Rd[:, 0, 2], Rd[:, 1, 0]], 1), now.dX[:, 3:], atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(now.dX[:, :3], axis=1), p.length, atol=1e-12)
    np.testing.assert_array_equal(p.at(0.0).T, p.T_start)


def test_arc_goes_through_its_points_and_slerp_is_even(ur5):
    T = aw.fk(ur5, UR5_START)
    goal, via = shifted(T, [0.1, 0.2, -0.1], 0.5), T[:3, 3] + [0.1, 0.0, 0.05]
    p = motion.circle_via(T, via, goal)
    np.testing.assert_allclose(p.T_end, goal, atol=1e-12)
    along = p.at(np.linspace(0, 1, 20001)).T[:, :3, 3]
    assert np.linalg.norm(along - via, axis=1).min() < 1e-4
    np.testing.assert_allclose(np.linalg.norm(along - p.centre, axis=1), p.radius, atol=1e-12)
    third = p.at(1 / 3).T[:3, :3] @ T[:3, :3].T
    assert rotation_angle(third) == pytest.approx(0.5 / 3, abs=1e-12)
    turning = motion.circle_about(T, T[:3, 3] + [0.1, 0, 0], [0, 0, 2], np.pi / 2, "turn")
    np.testing.assert_allclose(turning.T_end[:3, 3], T[:3, 3] + [0.1, -0.1, 0], atol=1e-12)
    np.testing.assert_allclose(turning.T_end[:3, :3] @ T[:3, :3].T, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


LAWS = [
    {"duration": 1.0},
    {"profile": "trapezoid", "speed": 0.5, "acceleration": 2.0},
    {"profile": "constant", "speed": 0.3},
]


@pytest.mark.parametrize("law", LAWS, ids=["quintic", "trapezoid", "constant"])
@pytest.mark.parametrize("name", ["line", "via", "about", "spot"])
def test_the_tool_keeps_to_the_path(ur5, name, law):
    p = paths(ur5, UR5_START)[name]
    m = motion.follow_path(ur5, p, motion.path_law(p, **law), q0=UR5_START)
    np.testing.assert_allclose(m.trajectory.start.q, UR5_START, atol=1e-9)
    t = np.linspace(0, m.law.duration, 3001)  # not the instants that the function looked at
    q, qd, _ = m.trajectory.evaluate(t)
    s = m.law.evaluate(t)
    want = p.at(np.clip(s.q[:, 0], 0, 1))
    T = aw.fk(ur5, q)
    off = np.linalg.norm(T[:, :3, 3] - want.T[:, :3, 3], axis=1).max()
    assert off <= 1.05 * m.position_deviation + 1e-12
    assert m.position_deviation < 1e-6
    assert m.rotation_deviation < 1e-6
    np.testing.assert_allclose(T[:, :3, :3], want.T[:, :3, :3], atol=2e-6)
    # the tool moves as the law says
    np.testing.assert_allclose(aw.twist(ur5, q, qd), want.dX * s.qd, atol=1e-3 * np.abs(want.dX * s.qd).max())
    if law.get("profile") == "trapezoid":
        assert m.trajectory.continuity(1e-6) == 1  # acceleration steps where the law's does
    else:
        assert m.trajectory.continuity(1e-6) >= 2
    if law.get("profile") == "constant" and p.length:
        np.testing.assert_allclose(np.linalg.norm(aw.twist(ur5, q, qd)[:, :3], axis=1), 0.3, rtol=1e-4)


def test_knots_carry_exact_acceleration(ur5):
    p = paths(ur5, UR5_START)["via"]
    m = motion.follow_path(ur5, p, motion.path_law(p, duration=1.0), q0=UR5_START)
    t = m.trajectory.breaks
    q, qd, qdd = m.trajectory.evaluate(t)
    s, sd, sdd = (x for x in m.law.evaluate(t))
    want = p.at(np.clip(s[:, 0], 0, 1))
    np.testing.assert_allclose(aw.kinematics.acceleration(ur5, q, qd, qdd), want.ddX * sd**2 + want.dX * sdd, atol=1e-8)


@pytest.mark.parametrize("name", ["panda", "cea", "puma560", "rl15", "planar3"])
def test_other_arms(name):
    """Closed forms with a spherical wrist, a redundant arm, a planar arm with fewer joints than six."""
    robot = aw.load(name)
    lower, upper = np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0)
    q = lower + (upper - lower) * np.linspace(0.35, 0.6, robot.n)
    p = motion.line(aw.fk(robot, q), aw.fk(robot, q + 0.15))
    m = motion.follow_path(robot, p, motion.path_law(p, duration=1.0), q0=q)
    t = np.linspace(0, 1, 333)
    np.testing.assert_allclose(aw.fk(robot, m.trajectory.evaluate(t).q), p.at(m.law.evaluate(t).q[:, 0]).T, atol=2e-6)


def test_line_of_document_003():
    """E3, position only at 1 m/s: joint 5 alone leaves its limits, by 0.328 rad; the path itself is kept."""
    robot = aw.load("cea")
    q0 = np.array([-0.5, 0, -0.5, -0.5, -0.5, -0.5]) * np.pi
    T = aw.fk(robot, q0)
    p = motion.line(T, shifted(T, np.array([0.64, -0.10, 1.14]) - T[:3, 3]))
    assert p.length == pytest.approx(1.270118, abs=1e-6)
    law = motion.path_law(p, "constant", speed=1.0)
    m = motion.follow_path(robot, p, law, q0=q0, position_only=True, limits=False)
    peaks = m.trajectory.peaks()
    below = robot.lower - peaks.q_lower
    assert below[4] == pytest.approx(0.328, abs=3e-3)
    assert (np.delete(np.maximum(below, peaks.q_upper - robot.upper), 4) <= 1e-9).all()
    # the document steps 1 mm at a time; the exact solution differs from its samples by its step
    np.testing.assert_allclose(
        m.trajectory.end.q, [-0.02365, 0.88852, -0.66637, -2.10409, -1.39827, -1.57080], atol=2e-3
    )
    assert m.position_deviation < 1e-6
    with pytest.raises(InputError, match=r"joint 4 \('joint_5'\).*leaves its limits.*s = 0\.0"):
        motion.follow_path(robot, p, law, q0=q0, position_only=True)


def test_least_joint_speed_of_a_redundant_arm_is_an_exact_solution():
    """The pieces meet q, qd and qdd of q' = J⁺x': between knots they agree with it, so no drift is hidden."""
    robot = aw.load("panda")
    q0 = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])
    T = aw.fk(robot, q0)
    p = motion.line(T, shifted(T, [0.1, 0.15, -0.1], 0.3))
    m = motion.follow_path(robot, p, motion.path_law(p, "constant", duration=1.0), q0=q0)
    t = np.linspace(0, 1, 41)[1:-1]
    q, qd, _ = m.trajectory.evaluate(t)
    least = np.einsum("nij,nj->ni", np.linalg.pinv(aw.jacobian(robot, q)), p.at(t).dX)
    # the knots minimise the speed with metres and radians as they are: a pseudo-inverse knows no weights at full rank
    np.testing.assert_allclose(qd, least, atol=1e-5)


def test_singularity_on_the_way_is_named(ur5):
    """The tool turned about the axis of joint 5 takes q5 from -0.4 through 0, where joints 4 and 6 align."""
    q = np.array([0.3, -1.2, 1.4, -1.0, -0.4, 0.4])
    T, column = aw.fk(ur5, q), aw.jacobian(ur5, q)[:, 4]
    centre = T[:3, 3] + np.cross(column[3:], column[:3])
    for angle in (0.8, 0.7, 1.1):
        p = motion.circle_about(T, centre, column[3:], angle, "turn")
        with pytest.raises(InputError, match=r"singularity.*s = (0\.\d+).*joint \d \('wrist_[13]'\)") as caught:
            motion.follow_path(ur5, p, motion.path_law(p, duration=1.0), q0=q)
        s = float(str(caught.value).split("s = ")[1].split(":")[0])
        assert s == pytest.approx(0.4 / angle, abs=0.02)


def test_passing_close_to_a_singularity_stays_on_the_branch(ur5):
    q = np.array([0.3, -1.2, 1.4, -1.0, -0.4, 0.4])
    flipped = q.copy()
    flipped[4] = 0.4
    p = motion.line(aw.fk(ur5, q), aw.fk(ur5, flipped))
    m = motion.follow_path(ur5, p, motion.path_law(p, duration=1.0), q0=q)
    assert m.conditioning < 0.005
    assert m.trajectory.peaks().q_upper[4] < 0.0  # q5 never changes sign: joints 4 and 6 turn instead
    assert m.position_deviation < 1e-6
    with pytest.raises(InputError, match="singularity"):
        motion.follow_path(ur5, p, motion.path_law(p, duration=1.0), q0=q, singular_below=0.01)


def test_unreachable_point_is_named(ur5):
    T = aw.fk(ur5, UR5_START)
    p = motion.line(T, shifted(T, [1.5, 0.0, 0.0]))
    with pytest.raises(InputError, match=r"(beyond|at) s = 0\.\d+.*joint \d \('\w+'\)") as caught:
        motion.follow_path(ur5, p, motion.path_law(p, duration=1.0), q0=UR5_START, limits=False)
    s = float(str(caught.value).split("s = ")[1].split()[0].strip(":"))
    assert aw.ik(ur5, p.at(s - 0.02).T, limits=False).ok
    assert not aw.ik(ur5, p.at(s + 0.02).T, limits=False).ok


def test_a_joint_keeps_turning_until_its_limit():
    """Past ±180° the nearest turn is taken, not the one that inverse kinematics happens to return."""
    free = aw.load("planar2")
    limits = aw.robot.Limits(lower=-3.5, upper=3.5)
    bounded = replace(free, joints=tuple(replace(joint, limits=limits) for joint in free.joints))
    q0 = np.array([3.0, 0.5])
    p = motion.circle_about(aw.fk(free, q0), np.zeros(3), aw.jacobian(free, q0)[3:, 0], 1.0, "turn")
    law = motion.path_law(p, "constant", duration=1.0)
    m = motion.follow_path(free, p, law, q0=q0)
    np.testing.assert_allclose(m.trajectory.end.q, [4.0, 0.5], atol=1e-8)
    with pytest.raises(InputError, match=r"joint 0 .* leaves its limits .* at s = 0\.5"):
        motion.follow_path(bounded, p, law, q0=q0)


def test_bad_input(ur5):
    T = aw.fk(ur5, UR5_START)
    p = motion.line(T, shifted(T, [0.1, 0, 0]))
    origin = T[:3, 3]
    for call, says in (
        (lambda: motion.line(T, T), "coincide"),
        (lambda: motion.line(T * np.nan, T), "finite"),
        (lambda: motion.line(2 * T, T), "pose|rotation"),
        (lambda: motion.line([T, T], T), "one pose"),
        (lambda: motion.circle_via(T, origin, shifted(T, [0.1, 0, 0])), "three different"),
        (lambda: motion.circle_via(T, origin + np.array([0.05, 0, 0]), shifted(T, [0.1, 0, 0])), "one line"),
        (lambda: motion.circle_about(T, origin, [0, 0, 1], 1.0), "radius is zero"),
        (lambda: motion.circle_about(T, [0, 0, 0], [0, 0, 0], 1.0), "normal"),
        (lambda: motion.circle_about(T, [0, 0, 0], [0, 0, 1], 0.0), "angle"),
        (lambda: motion.circle_about(T, [0, 0, 0], [0, 0, 1], 1.0, "free"), "orientation"),
        (lambda: motion.path_law(p), "either duration or speed"),
        (lambda: motion.path_law(p, duration=1.0, speed=1.0), "either duration or speed"),
        (lambda: motion.path_law(p, duration=0.0), "duration"),
        (lambda: motion.path_law(p, "trapezoid", speed=1.0), "acceleration"),
        (lambda: motion.path_law(p, "sine", duration=1.0), "profile"),
        (lambda: motion.follow_path(ur5, p, motion.quintic([0], [0.5], 1.0)), "from 0 to 1"),
        (lambda: motion.follow_path(ur5, p, motion.path_law(p, duration=1.0), q0=[0.0]), "q0"),
        (lambda: motion.follow_path(ur5, p, motion.path_law(p, duration=1.0), tolerance=0.0), "tolerance"),
    ):
        with pytest.raises(InputError, match=says):
            call()
