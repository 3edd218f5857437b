# SPDX-License-Identifier: Apache-2.0
"""Rounded corners keep the acceleration that the program writes, and are passed as fast as it allows."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.kinematics import fk, jacobian, jacobian_dot
from armwright.programs import Distance, Fraction, Move, Pose, ToolRate
from support.moves import HOME, joints, run, shifted, to


def tool_motion(plan, count=4001):
    """Speed and size of the acceleration of the tool [m/s, m/s²] at many instants (count,), and these."""
    t = np.linspace(0.0, plan.duration, count)[1:-1]
    q, qd, qdd, _ = plan.at(t)
    J, dJ = jacobian(plan.robot, q), jacobian_dot(plan.robot, q, qd)
    a = (J @ qdd[..., None] + dJ @ qd[..., None])[:, :3, 0]
    return t, np.linalg.norm((J @ qd[..., None])[:, :3, 0], axis=1), np.linalg.norm(a, axis=1)


def test_random_corners_keep_the_written_acceleration(ur5):
    """Angles of 10° to 165°, zones, speeds and accelerations of any ratio; between two lines, and from line to arc."""
    rng = np.random.default_rng(27)
    T = fk(ur5, HOME)
    for k in range(16):
        theta, roll = np.radians(rng.uniform(10.0, 165.0)), rng.uniform(0.0, 2.0 * np.pi)
        across = np.array([np.cos(roll), 0.0, np.sin(roll)])
        d = np.cos(theta) * np.array([0.0, 1.0, 0.0]) + np.sin(theta) * across
        words = {"speed": ToolRate(rng.uniform(0.05, 0.4)), "acceleration": ToolRate(rng.uniform(0.5, 3.0))}
        corner = shifted(T, 0.0, 0.06, 0.0)
        second = to(shifted(corner, *(0.06 * d)), **words)
        if k % 4 == 3:
            via = Pose(shifted(corner, *(0.03 * d + 0.004 * np.cross(d, across))))
            second = Move("arc", Pose(shifted(corner, *(0.06 * d))), via=via, **words)
        blend = Distance(rng.uniform(0.003, 0.03))
        plan = run(ur5, to(corner, blend=blend, **words), second)
        assert np.count_nonzero(plan.route.stops) == 2
        _, _, a = tool_motion(plan)
        bound = words["acceleration"].linear
        if k % 4 == 3:  # beyond the blend the arc's own bend is its programmer's
            t, _, a = tool_motion(plan)
            a = a[t < plan.moves[0].end]
        assert a.max() <= bound * (1.0 + 1e-3), (k, np.degrees(theta), blend, words)


@pytest.mark.parametrize("theta", [60.0, 90.0, 120.0])
def test_a_corner_is_entered_as_fast_as_its_parabola_allows(ur5, theta):
    """√(a d/sin(θ/2)), which is √(√2 a d) at 90°, and cos(θ/2) of it in the middle."""
    a, d, T = 1.2, 0.02, fk(ur5, HOME)
    words = {"speed": ToolRate(0.5), "acceleration": ToolRate(a)}
    x = np.radians(theta)
    corner = shifted(T, 0.0, 0.0, 0.15)
    plan = run(
        ur5,
        to(corner, blend=Distance(d), **words),
        to(shifted(corner, 0.0, 0.15 * np.sin(x), 0.15 * np.cos(x)), **words),
    )
    t, v, _ = tool_motion(plan)
    slowest = v[(t > 0.5 * plan.moves[0].end) & (t < 1.5 * plan.moves[0].end)].min()
    assert slowest == pytest.approx(np.cos(0.5 * x) * np.sqrt(a * d / np.sin(0.5 * x)), rel=0.03)


def test_a_slow_corner_is_twice_continuous(ur5):
    """Where the written acceleration suffices for it, the blend is the C² one, at the written speed."""
    T = fk(ur5, HOME)
    words = {"speed": ToolRate(0.1), "acceleration": ToolRate(1.0)}
    plan = run(
        ur5,
        to(shifted(T, 0, 0, 0.1), blend=Distance(0.03), **words),
        to(shifted(T, 0, 0.12, 0.1), **words),
    )
    assert np.abs(plan.route.curve.jumps()[:, :3]).max() < 1e-6
    t, v, a = tool_motion(plan)
    corner = np.abs(t - plan.moves[0].end) < 0.3
    assert v[corner].min() > 0.1 - 1e-4 and a.max() <= 1.0 + 1e-3


def test_a_bounded_jerk_keeps_the_acceleration_of_the_corner(ur5):
    T = fk(ur5, HOME)
    words = {"speed": ToolRate(0.3), "acceleration": ToolRate(1.0)}
    moves = (to(shifted(T, 0, 0, 0.1), blend=Distance(0.02), **words), to(shifted(T, 0, 0.12, 0.1), **words))
    eased, plain = run(ur5, *moves, jerk=20.0), run(ur5, *moves)
    assert tool_motion(eased)[2].max() <= 1.0 + 1e-3
    assert plain.duration < eased.duration < 2.0 * plain.duration


def test_a_joint_move_flows_into_a_line_within_its_acceleration(ur5):
    T = fk(ur5, HOME)
    words = {"speed": ToolRate(0.3), "acceleration": ToolRate(0.8)}
    plan = run(
        ur5,
        joints(HOME, blend=Distance(0.02)),
        to(shifted(T, 0, 0.1, 0.1), **words),
        start=HOME + np.array([0.4, 0.2, -0.2, 0.1, 0.0, 0.3]),
    )
    t, _, a = tool_motion(plan)
    assert a[t > plan.moves[1].start + 1e-6].max() <= 0.8 * (1.0 + 1e-3)
    assert isinstance(plan.program.moves[0].speed, Fraction)
