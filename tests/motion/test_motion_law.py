# SPDX-License-Identifier: Apache-2.0
"""Laws along a path: the exact envelope, moving ends, bounded jerk, and the limits that motors add."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armwright import motion
from armwright.errors import InputError
from armwright.kinematics import jacobian
from armwright.motion.arm_limits import needed, torque_limits
from armwright.motion.path_limits import ToolLimits
from armwright.motion.path_speeds import largest_speeds
from armwright.motion.speed_profile import averaged, fastest, over_time

positive = st.floats(0.05, 5.0)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_envelope_keeps_its_bounds_and_is_the_largest(cells):
    """Between grid points too; and no slower than reachability finds on a grid that is a hundred times finer."""
    h, cap, push = (np.array(column) for column in zip(*cells, strict=True))
    s = np.concatenate([[0.0], np.cumsum(h)])
    law = fastest(s, cap, push)
    assert law.x[0] == law.x[-1] == 0.0
    assert (np.diff(law.s) > 0.0).all()
    ends = np.maximum(law.x[1:], law.x[:-1])
    assert (ends <= cap[law.origin] * (1 + 1e-9)).all()
    assert (np.abs(law.push) <= push[law.origin] * (1 + 1e-6)).all()
    fine = np.unique(np.concatenate([np.linspace(a, b, 101) for a, b in pairwise(s)]))
    cell = np.searchsorted(s[1:-1], 0.5 * (fine[1:] + fine[:-1]))
    a = np.stack([1 / push[cell], -1 / push[cell], np.zeros(cell.size), 2 * np.diff(fine) / cap[cell]], axis=1)
    b = np.stack([np.zeros(cell.size)] * 2 + [1 / cap[cell]] * 2, axis=1)
    x = largest_speeds(fine, a, b, np.full_like(a, -1.0))
    assert (np.interp(fine, law.s, law.x) >= x * (1 - 1e-6) - 1e-9).all()
    times = 2 * np.diff(fine) / (np.sqrt(x[1:]) + np.sqrt(x[:-1]))
    assert law.times.sum() <= times.sum() * (1 + 1e-9)
    assert law.times.sum() >= times.sum() * 0.97


def test_envelope_of_one_cell_is_the_trapezoid():
    law = fastest(np.array([0.0, 2.0]), np.array([0.25]), np.array([1.0]))
    assert law.times.sum() == pytest.approx(0.5 + 0.5 + (2.0 - 0.25) / 0.5, rel=1e-12)
    short = fastest(np.array([0.0, 0.2]), np.array([25.0]), np.array([1.0]))
    assert short.times.sum() == pytest.approx(2.0 * np.sqrt(0.2), rel=1e-12)
    moving = fastest(np.array([0.0, 2.0]), np.array([0.25]), np.array([1.0]), start=0.25, end=0.25)
    assert moving.times.sum() == pytest.approx(4.0, rel=1e-12)


def test_moving_ends_of_reachability():
    s = np.linspace(0.0, 1.0, 11)
    a = np.tile([1.0, -1.0, 0.0], (10, 1))
    b = np.tile([0.0, 0.0, 1.0], (10, 1))
    c = np.tile([-1.0, -1.0, -1.0], (10, 1))
    x = largest_speeds(s, a, b, c, start=0.5, end=0.2)
    assert x[0] == 0.5 and x[-1] == pytest.approx(0.2)
    assert (np.abs(np.diff(x)) <= 0.2 + 1e-12).all() and x.max() <= 1.0 + 1e-12
    with pytest.raises(InputError, match="cannot be started with speed 2 within the limits; valid is 0 to 1"):
        largest_speeds(s, a, b, c, start=4.0)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=5), st.floats(0.05, 0.5))
@settings(max_examples=40, deadline=None)
def test_average_bounds_the_jerk(cells, window):
    """s̃ ends where s ends, so much later; its s̈ is continuous and its jerk at most the change of s̈ over the window."""
    h, cap, push = (np.array(column) for column in zip(*cells, strict=True))
    law = over_time(fastest(np.concatenate([[0.0], np.cumsum(h)]), cap, push))
    smooth = averaged(law, window)
    assert smooth.duration == pytest.approx(law.duration + window, rel=1e-9)
    assert smooth.end.q[0] == pytest.approx(h.sum(), rel=1e-9)
    assert abs(smooth.end.qd[0]) < 1e-9 and smooth.start.qd[0] == pytest.approx(0.0, abs=1e-12)
    if smooth.breaks.size > 2:
        assert np.abs(smooth.jumps()[:, :3]).max() < 1e-7 * (1.0 + push.max() / window)
    assert 6 * np.abs(smooth.coefficients[:, 3]).max() <= 2 * push.max() / window * (1 + 1e-6)
    t = np.linspace(0.0, smooth.duration, 200)
    late = law.evaluate(t).q - smooth.evaluate(t).q
    assert (late >= -1e-9).all()


A, B = np.radians([40, 40, -30, -30, -50, 30.0]), np.radians([-40, 0, 0, 80, -95, -60.0])


def test_load_friction_counts_and_is_kept(rl15):
    """The motion planned without the gears' friction asks too much of a motor that has it; the one planned with it not.

    Which of them takes longer is open: friction hinders speeding up and helps braking.
    """
    ideal = replace(rl15, actuators=replace(rl15.actuators, load_friction=np.zeros(6)))
    worst = []
    for arm in (rl15, ideal):
        m = motion.time_optimal(arm, [A, B], acceleration=np.inf, grid=150).trajectory
        t = np.linspace(0.0, m.duration, 2001)[1:-1]
        worst.append(needed(rl15, torque_limits(rl15), *m.evaluate(t))[1].max())
    assert 0.9 < worst[0] <= 1.0 + 1e-6
    assert worst[1] > 1.02


def test_rows_of_load_friction_agree_with_toppra(rl15):
    pytest.importorskip("toppra", reason="extra [time] is not installed")
    ours, theirs = (
        motion.time_optimal(rl15, [A, B], acceleration=np.inf, grid=100, solver=name)
        for name in ("reachability", "toppra")
    )
    assert ours.duration == pytest.approx(theirs.duration, rel=2e-3)


def test_wrench_counts(rl15):
    """A wrench that leaves the arm no strength is refused; one that it can bear changes the fastest motion."""
    push = np.array([300.0, 0.0, -400.0, 0.0, 0.0, 0.0])
    free, pushed = (motion.time_optimal(rl15, [A, B], acceleration=np.inf, grid=100, wrench=w) for w in (None, push))
    assert abs(free.duration - pushed.duration) > 1e-3 * free.duration
    m = pushed.trajectory
    t = np.linspace(0.0, m.duration, 1001)[1:-1]
    assert needed(rl15, torque_limits(rl15), *m.evaluate(t), push)[1].max() <= 1.0 + 1e-6
    with pytest.raises(InputError, match="path"):
        motion.time_optimal(rl15, [A, B], grid=100, wrench=100 * push)


def test_tool_speed_and_acceleration_are_kept(rl15):
    point = np.array([0.12, 0.12, 0.35])
    limits = ToolLimits(0.5, 1.0, point)
    best = motion.time_optimal(rl15, [A, B], grid=200, tool=limits)
    assert {"speed of the tool", "acceleration of the tool"} <= set(best.limiting)
    m = best.trajectory
    t = np.linspace(0.0, m.duration, 4001)
    q, qd, _ = m.evaluate(t)
    speed = np.linalg.norm((jacobian(rl15, q, point=point)[:, :3] @ qd[..., None])[..., 0], axis=1)
    assert 0.49 < speed.max() <= 0.5 * (1 + 2e-3)
    assert np.abs(np.diff(speed) / np.diff(t)).max() <= 1.0 * 1.02


def test_ends_may_move(rl15):
    """Two halves of one path, met at speed, take as long as the whole, and the joints pass without a jump."""
    path = motion.joint_path([A, B])
    whole = motion.time_optimal(rl15, path, grid=200, velocity=1.0, acceleration=2.0)
    assert max(whole.use, 0.0) < 1.0  # speeds and accelerations rule here, so halves and whole can be compared
    half = 0.5 * path.duration
    first = motion.joint_path([A, 0.5 * (A + B)])
    v = float(np.interp(half, whole.s, whole.sd))
    part = motion.time_optimal(rl15, first, grid=200, velocity=1.0, acceleration=2.0, ends=(0.0, v * 0.999))
    assert part.duration == pytest.approx(0.5 * whole.duration, rel=2e-2)
    assert np.linalg.norm(part.trajectory.end.qd) == pytest.approx(v * 0.999 * np.linalg.norm(first.start.qd), rel=1e-6)
    with pytest.raises(InputError, match="ends: two path speeds"):
        motion.time_optimal(rl15, first, ends=(-1.0, 0.0))
