# SPDX-License-Identifier: Apache-2.0
"""From cells to motions: exact line of sight, corners cut in free cells only, one branch, limits kept."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import armwright as aw
from armwright.errors import InputError
from armwright.planning import Hopfield, plan_motion, waypoint_motion
from armwright.planning.grid.line_of_sight import cut_corners, sees, segment_cells
from armwright.planning.waypoints import blocked_on_the_way, densified, joint_waypoints, path_points
from armwright.studies.doc000_collision.hopfield_published import HopfieldPublished
from armwright.studies.doc000_collision.setting import GOAL_CELL, START_CELL, R_t, generated, patch

Q0 = [2.5518, -1.1193, 2.5704, 0.1198, 1.5708, -0.5898]
WALL = [(10, v) for v in range(1, 13)]


def meets(a, b, cell):
    """Does the segment meet the closed box of a cell? In rationals, by clipping the parameter interval axis by axis."""
    low, high = Fraction(0), Fraction(1)
    for x, y, c in zip(a, b, cell, strict=True):
        x, y = Fraction(x), Fraction(y)
        left, right = Fraction(c) - Fraction(1, 2), Fraction(c) + Fraction(1, 2)
        if x == y:
            if not left <= x <= right:
                return False
        else:
            t = sorted([(left - x) / (y - x), (right - x) / (y - x)])
            low, high = max(low, t[0]), min(high, t[1])
    return low <= high


numbers = st.one_of(
    st.integers(-4, 4), st.integers(-8, 8).map(lambda k: k / 2), st.floats(-4, 4, allow_subnormal=False)
)


@given(st.data(), st.sampled_from([2, 3]))
def test_a_segment_touches_exactly_the_cells_that_it_meets(data, dim):
    a, b = (tuple(data.draw(numbers) for _ in range(dim)) for _ in range(2))
    ranges = [range(int(np.floor(min(x, y))) - 1, int(np.ceil(max(x, y))) + 2) for x, y in zip(a, b, strict=True)]
    assert set(segment_cells(a, b)) == {c for c in product(*ranges) if meets(a, b, c)}


@pytest.mark.parametrize("shape, filled", [((20, 20), 0.25), ((9, 9, 9), 0.3)])
def test_cut_corners_never_enter_blocked_cells(shape, filled):
    rng = np.random.default_rng(1)
    shorter = 0
    for _ in range(40):
        blocked = rng.random(shape) < filled
        start, goal = (0,) * len(shape), tuple(s - 1 for s in shape)
        blocked[start] = blocked[goal] = False
        plan = Hopfield()(blocked, start, goal)
        if not plan.ok:
            continue
        kept = [plan.path[i] for i in cut_corners(blocked, plan.path)]
        assert kept[0] == start and kept[-1] == goal
        for a, b in pairwise(kept):
            assert sees(blocked, a, b)
            low, high = np.minimum(a, b), np.maximum(a, b) + 1  # the segment cannot leave this box of cells
            part = blocked[tuple(slice(i, j) for i, j in zip(low, high, strict=True))]
            assert not any(meets(a, b, cell) for cell in (np.argwhere(part) + low).tolist())
        shorter += len(kept) < len(plan.path)
    assert shorter > 15


def test_corner_of_a_blocked_cell_is_not_free():
    blocked = np.zeros((3, 3), dtype=bool)
    blocked[1, 0] = True
    assert not sees(blocked, (0, 0), (1, 1)) and sees(blocked, (0, 1), (2, 1)) and not sees(blocked, (0, 0), (0, 3))


def test_legs_through_the_patch_of_000():
    where = patch().with_felt(*WALL)
    plan = Hopfield()(where, START_CELL, GOAL_CELL)
    full = path_points(where, plan.path, cut=False)
    cut = path_points(where, plan.path)
    near = path_points(where, plan.path, start=where.grid.centre(START_CELL) + np.array([0.004, -0.006, 0.0]))
    assert len(full) == 25 and len(cut) < 7 and np.linalg.norm(near[0] - full[0]) < 0.008
    length = [np.linalg.norm(np.diff(p, axis=0), axis=1).sum() for p in (full, cut)]
    assert length[1] < 0.85 * length[0]
    dense = densified(cut, 0.01)
    assert np.linalg.norm(np.diff(dense, axis=0), axis=1).max() <= 0.01 + 1e-12
    assert all((np.abs(dense - p).max(axis=1) < 1e-12).any() for p in cut)


@pytest.fixture(scope="module")
def robot():
    return aw.load("ur5-ragazzon")


def test_waypoints_stay_on_the_branch_of_000(robot):
    where = patch()
    cells = np.array([(u, v) for u in range(1, 21) for v in (range(1, 21) if u % 2 else range(20, 0, -1))])
    start = np.argwhere((cells == START_CELL).all(axis=1))[0, 0]
    points = where.grid.centre(cells)
    rows = np.concatenate(
        [
            joint_waypoints(robot, points[start::-1], Q0, R_tool=R_t)[::-1],
            joint_waypoints(robot, points[start:], Q0, R_tool=R_t)[1:],
        ]
    )
    T = aw.fk(robot, rows)
    assert np.abs(T[:, :3, 3] - points).max() < 1e-9 and np.abs(T[:, :3, 2] - [0, 0, -1]).max() < 1e-9
    np.testing.assert_allclose(rows[:, 4], np.pi / 2, atol=1e-9)  # 000: q5 = 90° throughout
    goal = rows[(cells == GOAL_CELL).all(axis=1)][0]
    np.testing.assert_allclose(goal, [2.8072, -0.5362, 1.1447, 0.9623, 1.5708, -0.3344], atol=1e-4)


def test_unreachable_and_jumping_waypoints_are_named(robot):
    good = patch().grid.centre([(2, 11), (3, 11)])
    with pytest.raises(InputError, match=r"waypoint 2 of 3 at \[2\.0, 0\.0, 0\.0\]"):
        joint_waypoints(robot, [*good, [2.0, 0.0, 0.0]], Q0, R_tool=R_t)
    with pytest.raises(InputError, match=r"waypoint 1 of 2.*another branch"):
        joint_waypoints(robot, patch().grid.centre([(2, 11), (19, 2)]), Q0, R_tool=R_t, most_step=0.3)
    with pytest.raises(InputError, match=r"the end at \[2\.0, 0\.0, 0\.0\] m cannot be reached"):
        joint_waypoints(robot, [*good, [2.0, 0.0, 0.0]], Q0, R_tool=R_t, names=["a", "b", "the end"])
    far = patch().grid.centre([(19, 2)])
    assert np.abs(joint_waypoints(robot, far, Q0, R_tool=R_t, most_step=0.3, first_step=np.inf) - Q0).max() > 0.3
    kept = aw.fk(robot, joint_waypoints(robot, good, Q0))[:, :3, :3]
    assert np.abs(kept - aw.fk(robot, Q0)[:3, :3]).max() < 1e-9, "by default the tool is held as at the start"
    with pytest.raises(InputError, match="points"):
        joint_waypoints(robot, np.full((2, 3), np.nan), Q0)
    with pytest.raises(InputError, match="path: it is empty"):
        path_points(patch(), ())


def test_motion_keeps_limits_takes_over_speed_and_stays_in_free_cells(robot):
    where = patch().with_felt(*WALL)
    plan = Hopfield()(where, START_CELL, GOAL_CELL)
    Q = joint_waypoints(robot, path_points(where, plan.path, spacing=0.0263), Q0)
    for qd0 in (None, [0.05, -0.02, 0.0, 0.1, 0.0, 0.0]):
        motion = waypoint_motion(robot, Q, velocity=0.5, acceleration=2.0, qd0=qd0)
        peaks = motion.peaks()
        assert max(peaks.qd.max() / 0.5, peaks.qdd.max() / 2.0) == pytest.approx(1.0, abs=2e-3)
        assert (peaks.qd <= 0.5 + 1e-9).all() and (peaks.qdd <= 2.0 + 1e-9).all()
        np.testing.assert_allclose(motion.evaluate(0.0).qd, np.zeros(6) if qd0 is None else qd0, atol=1e-12)
        assert blocked_on_the_way(robot, motion, where) == []
    straight = waypoint_motion(robot, Q[[0, -1]], velocity=0.5)
    assert blocked_on_the_way(robot, straight, where)  # the check can fail: this one drives through the wall
    times = np.linspace(0.0, 9.0, len(Q))
    timed = waypoint_motion(robot, Q, times=times)
    np.testing.assert_allclose(timed.evaluate(times).q, Q, atol=1e-12)
    assert generated(Q).duration == np.floor(len(Q) / 2 + 0.5)


def test_plan_motion_from_where_the_arm_is(robot):
    where = patch().with_felt(*WALL)
    planned = plan_motion(robot, where, Hopfield(), Q0, GOAL_CELL, velocity=0.5, acceleration=2.0)
    assert planned.ok and planned.waypoints[0].tolist() == Q0 and "free" not in planned.message
    end = aw.fk(robot, planned.motion.evaluate(planned.motion.duration).q)[:3, 3]
    np.testing.assert_allclose(end, where.grid.centre(GOAL_CELL), atol=1e-9)
    document = plan_motion(robot, where, HopfieldPublished(), Q0, GOAL_CELL, cut=False, duration=13.0, R_tool=R_t)
    assert len(document.waypoints) == 26 and generated(document.waypoints).duration == 13.0  # 25 cells, round(N/2) s
    boxed = plan_motion(robot, where.with_felt((3, 11), (2, 12), (2, 10)), Hopfield(), Q0, GOAL_CELL)
    assert not boxed.ok and boxed.motion is None and boxed.plan.status == "unreachable"
    inside = where.with_felt(START_CELL)
    assert plan_motion(robot, inside, Hopfield(), Q0, GOAL_CELL).plan.status == "start blocked"
    backed = plan_motion(robot, inside, Hopfield(), Q0, GOAL_CELL, start=(3, 11), velocity=0.5)
    assert backed.ok and backed.plan.path[0] == (3, 11)
    centre = joint_waypoints(robot, [where.grid.centre(START_CELL)], Q0)[0]
    still = plan_motion(robot, where, Hopfield(), centre, START_CELL)
    assert still.ok and still.motion is None and still.message == "already there"
