# SPDX-License-Identifier: Apache-2.0
"""Motion instructions as a program calls them, one after the other: limits, blends at run time, arcs, speeds, stops."""

from functools import partial

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, InputError
from armwright.lab.controller import instructed_moves as ur
from armwright.lab.controller import path_law
from armwright.lab.controller.controller import CONTROLLER_TICK, Controller
from armwright.lab.controller.controller_states import ControllerEvent, ControllerState
from armwright.lab.lab_plant import LabPlant
from armwright.spatial.rotations import exp_so3, log_so3

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])


@pytest.fixture(scope="module")
def compiled():
    return LabPlant(aw.load("ur5"), q0=HOME)


@pytest.fixture
def c(compiled):
    compiled.live.reset(HOME)
    compiled.tcp[...] = 0.0
    return Controller(compiled, e_series=True)


class Script:
    """A program of instructions; the next one is called when the one before has returned. `calls`: when each was."""

    def __init__(self, c, *instructions):
        self.c, self.left, self.calls, self.planning = c, list(instructions), [], None

    def tick(self):
        if self.planning is None and self.left and (not self.calls or self.c.instructed):
            self.calls.append(self.c.ticks)
            self.planning = self.left.pop(0)()
        if self.planning is not None:  # a way of the tool
            try:
                next(self.planning)
            except StopIteration as planned:
                self.planning = None
                planned.value()

    def close(self):
        self.left.clear()
        self.planning = None


def begun(planning):
    """Plan a move along a way of the tool at once, and begin it; return how often the planning paused."""
    pauses = 0
    while True:
        try:
            next(planning)
            pauses += 1
        except StopIteration as planned:
            planned.value()
            return pauses


class Run:
    """Joints, TCP poses, speeds of all ticks of a program until the arm rests."""

    def __init__(self, c, *instructions, most=20.0, state=ControllerState.PLAYING):
        assert c.handle(ControllerEvent.PLAY)
        c.program = self.script = Script(c, *instructions)
        q, qd, poses = [], [], []
        while True:
            c.tick()
            q.append(c.reference.q)
            qd.append(c.reference.qd)
            poses.append(c.target_pose())
            if not self.script.left and self.script.planning is None and not c.moving:
                break
            assert c.time < most
        assert c.state is state, c.messages
        self.q, self.qd, self.poses = np.array(q), np.array(qd), np.array(poses)
        self.points = self.poses[:, :3]
        self.speed = np.linalg.norm(np.diff(self.points, axis=0), axis=1) / CONTROLLER_TICK
        self.push = np.abs(np.diff(self.qd, axis=0)).max() / CONTROLLER_TICK
        self.time = len(q) * CONTROLLER_TICK
        assert (np.abs(self.qd) <= 1.001 * c.most_speed).all()


def shifted(pose, *d):
    return np.array(pose) + np.array([*d, *[0.0] * (6 - len(d))])


# limits


@pytest.mark.parametrize(
    ("wrist", "move"),
    [(-1.57, [0, 0.3, 0.1, 0, 0, 0]), (-1.57, [0, 0.3, 0.1, 0, 0.9, 0]), (-0.05, [0, 0.2, 0, 0, 0, 0])],
)
def test_a_line_that_is_too_fast_slows_down_to_the_joints_limits(c, wrist, move):
    q0 = HOME.copy()
    q0[4] = wrist  # the last one passes near a singularity
    c.plant.live.reset(q0)
    c.settle()
    start = c.target_pose()
    goal = shifted(start, *move)
    seen = Run(c, partial(ur.movel, c, goal, 1.2, 0.25, t=0.05))
    assert np.abs(c.target_pose()[:3] - goal[:3]).max() < 1e-6
    share = np.abs(seen.qd / c.most_speed).max()
    assert 0.6 < share <= 1.0  # and no slower than that
    assert seen.push < 1.05 * c.most_acceleration.max()
    way = goal[:3] - start[:3]
    off = np.cross(seen.points - start[:3], way / np.linalg.norm(way))
    assert np.abs(off).max() < 1e-5  # it stays on its line


def test_an_easy_line_takes_the_time_of_its_trapezoid(c):
    seen = Run(c, partial(ur.movel, c, shifted(c.target_pose(), 0.1, 0.1), 1.0, 0.2))
    assert seen.time == pytest.approx(np.sqrt(0.02) / 0.2 + 0.2 / 1.0, abs=0.006)


def test_a_line_out_of_reach_comes_to_a_protective_stop_within_the_limits(c):
    out = c.target_pose() * np.array([1.0, 1.0, 1.0, 1, 1, 1]) + np.array([-0.8, 0, 0, 0, 0, 0])
    seen = Run(c, partial(ur.movel, c, out, 1.2, 0.5), state=ControllerState.STOPPED)
    assert "out of reach or singular" in c.why and seen.time < 3.0


@pytest.mark.parametrize("kind", [ur.movel, ur.movep, ur.optimovel])
def test_a_line_to_where_no_arm_reaches_is_a_protective_stop_not_an_error(c, kind):
    far = shifted(c.target_pose(), -9.0)
    Run(c, partial(kind, c, far, 0.5, 0.5), state=ControllerState.STOPPED)
    assert "path" in c.why


def test_a_joint_move_is_as_fast_as_its_slowest_joint_allows():
    with pytest.warns(ArmwrightWarning, match="assumed"):
        c = Controller(LabPlant(aw.load("ur10e"), q0=HOME), e_series=True)
    fast, slow = c.most_speed.max(), c.most_speed.min()
    assert fast > 1.2 * slow
    Run(c, partial(ur.movej, c, HOME + np.array([0, 0, 0, 0, 0, 1.5]), 40.0, 99.0))
    wrist = Run(c, partial(ur.movej, c, HOME, 40.0, 99.0))
    base = Run(c, partial(ur.movej, c, HOME + np.array([1.5, 0, 0, 0, 0, 0]), 40.0, 99.0))
    assert np.abs(wrist.qd).max() == pytest.approx(fast, rel=1e-3)
    assert np.abs(base.qd).max() == pytest.approx(slow, rel=1e-3)


# blends at run time


def corner(c, r, kinds=("movel", "movel"), v=0.2, last=0.0):
    start = c.target_pose()
    first, second = shifted(start, 0, 0.15), shifted(start, 0, 0.15, 0.15, 0, 0, 0.3)
    calls = [
        partial(getattr(ur, kind), c, goal, 1.0, v, r=radius)
        for kind, goal, radius in zip(kinds, (first, second), (r, last), strict=True)
    ]
    return Run(c, *calls), start[:3], first[:3], second[:3]


@pytest.mark.parametrize("kinds", [("movel", "movel"), ("movep", "movep"), ("movel", "movep")])
@pytest.mark.parametrize("r", [0.01, 0.03, 0.06])
def test_the_program_goes_on_where_the_zone_begins_and_the_arm_does_not_stop(c, kinds, r):
    seen, start, waypoint, end = corner(c, r, kinds)
    told = seen.points[seen.script.calls[1] - seen.script.calls[0] - 1]
    assert np.linalg.norm(told - waypoint) == pytest.approx(r, abs=0.0011)
    far = np.linalg.norm(seen.points - waypoint, axis=1) > r + 1e-4
    off_first = np.linalg.norm((seen.points - start)[:, [0, 2]], axis=1)
    off_second = np.linalg.norm((seen.points - waypoint)[:, [0, 1]], axis=1)
    assert np.minimum(off_first, off_second)[far].max() < 1e-5
    assert np.linalg.norm(seen.points - waypoint, axis=1).min() > 0.2 * r  # it is cut
    assert seen.speed.max() < 0.2 * 1.01 and seen.speed[50:-150].min() > 0.45 * min(0.2, np.sqrt(2 * r))
    assert seen.push < 25.0  # no jump of speed [rad/s²]
    assert np.allclose(seen.points[-1], end, atol=1e-6)


def test_radii_save_time_and_that_of_the_last_move_does_nothing(c):
    times = {}
    for r in (0.0, 0.02, 0.06):
        c.plant.live.reset(HOME)
        c.settle()
        times[r] = corner(c, r)[0].time
    assert times[0.0] > times[0.02] > times[0.06]
    c.plant.live.reset(HOME)
    c.settle()
    assert corner(c, 0.06, last=0.05)[0].time == pytest.approx(times[0.06], abs=CONTROLLER_TICK)


def test_a_straight_line_in_pieces_keeps_its_speed(c):
    start = c.target_pose()
    goals = [shifted(start, 0, 0.05 * k) for k in range(1, 6)]
    radii = [0.02] * 4 + [0.0]
    seen = Run(c, *[partial(ur.movel, c, goal, 1.0, 0.1, r=r) for goal, r in zip(goals, radii, strict=True)])
    ramp = round(0.1 / 1.0 / CONTROLLER_TICK)
    assert np.allclose(seen.speed[ramp + 2 : -ramp - 8], 0.1, rtol=5e-3)


def test_radii_that_overlap_shrink(c):
    start = c.target_pose()
    goals = [shifted(start, 0, 0.04), shifted(start, 0, 0.04, 0.04), shifted(start, 0, 0.08, 0.04)]
    seen = Run(c, *[partial(ur.movel, c, goal, 1.0, 0.1, r=0.1) for goal in goals])
    for goal in goals[:2]:
        assert np.linalg.norm(seen.points - goal[:3], axis=1).min() < 0.02
    assert np.allclose(seen.points[-1], goals[-1][:3], atol=1e-6) and seen.push < 25.0


def test_if_nothing_comes_the_arm_rests_at_its_goal(c):
    goal = shifted(c.target_pose(), 0, 0.1)
    seen = Run(c, partial(ur.movel, c, goal, 1.0, 0.2, r=0.05))
    assert np.allclose(seen.points[-1], goal[:3], atol=1e-6)


@pytest.mark.parametrize("kinds", ["jl", "lj", "jj", "cl", "lc"])
def test_joints_lines_and_arcs_blend_into_one_another(c, kinds):
    start, there = c.target_pose(), HOME + np.array([0.25, 0.1, -0.1, 0.0, 0.1, 0.2])
    goal = c.plant.pose_of(there)
    back = HOME + np.array([0.3, -0.1, 0.2, 0.1, 0, 0])

    def call(kind, where, r):
        pose = c.plant.pose_of(where)
        if kind == "j":
            return partial(ur.movej, c, where, 1.4, 1.0, r=r)
        if kind == "l":
            return partial(ur.movel, c, pose, 1.2, 0.25, r=r)
        middle = 0.5 * (pose + (start if r else goal)) + np.array([0, 0, 0.05, 0, 0, 0])
        return partial(ur.movec, c, middle, pose, 1.2, 0.25, r=r)

    seen = Run(c, call(kinds[0], there, 0.04), call(kinds[1], back, 0.0))
    assert seen.speed[60:-120].min() > 0.01 and seen.push < 40.0
    near = np.linalg.norm(seen.points - goal[:3], axis=1).min()
    assert 1e-4 < near < 0.04
    assert np.allclose(seen.q[-1], back, atol=1e-5)


def test_a_pause_in_a_blend_goes_on_to_the_same_end(c):
    start = c.target_pose()
    first, second = shifted(start, 0, 0.15), shifted(start, 0, 0.15, 0.15)
    assert c.handle(ControllerEvent.PLAY)
    c.program = Script(c, partial(ur.movel, c, first, 1.0, 0.2, r=0.05), partial(ur.movel, c, second, 1.0, 0.2))
    while c.program.left:
        c.tick()
    for _ in range(60):
        c.tick()
    c.handle(ControllerEvent.PAUSE)
    for _ in range(300):
        c.tick()
    assert not c.reference.qd.any() and c.moving
    c.handle(ControllerEvent.PLAY)
    while c.moving:
        c.tick()
    assert np.allclose(c.target_pose()[:3], second[:3], atol=1e-6)


# arcs


@pytest.mark.parametrize("mode", [0, 1])
def test_movec_goes_on_the_circle_of_its_three_points(c, mode):
    start = c.target_pose()
    via, end = shifted(start, 0, 0.1, 0.1), shifted(start, 0, 0.2, 0.0, 0, 0, 0.4)
    seen = Run(c, partial(ur.movec, c, via, end, 1.0, 0.2, mode=mode))
    centre = start[:3] + np.array([0, 0.1, 0])
    assert np.allclose(np.linalg.norm(seen.points - centre, axis=1), 0.1, atol=1e-5)
    assert np.linalg.norm(seen.points - via[:3], axis=1).min() < 2e-3
    assert np.allclose(seen.points[-1], end[:3], atol=1e-6)
    first, last = exp_so3(start[3:]), exp_so3(seen.poses[-1, 3:])
    if mode == 0:
        assert np.allclose(last, exp_so3(end[3:]), atol=1e-6)
    else:  # half a circle turns the tool by π about the circle's axis
        turn = log_so3(last @ first.T)
        assert np.allclose(np.abs(turn), [np.pi, 0, 0], atol=1e-5)


def test_movec_refuses_what_is_no_circle(c):
    start = c.target_pose()
    with pytest.raises(InputError, match="movec"):
        next(ur.movec(c, shifted(start, 0, 0.1), shifted(start, 0, 0.2), 1.0, 0.2))
    with pytest.raises(InputError, match="mode"):
        ur.movec(c, shifted(start, 0, 0.1, 0.1), shifted(start, 0, 0.2), 1.0, 0.2, mode=2)


# shares of what the joints can do


def test_optimovej_uses_a_share_of_every_joints_limits(c):
    goal = HOME + np.array([1.0, 0.2, 0, 0, 0, 2.0])
    half = Run(c, partial(ur.optimovej, c, goal, 0.3, 0.5))
    assert np.abs(half.qd / c.most_speed).max() == pytest.approx(0.5, rel=1e-3)
    full = Run(c, partial(ur.optimovej, c, HOME, 0.3, 1.0))
    assert full.time < half.time and np.abs(full.qd / c.most_speed).max() <= 1.0
    with pytest.raises(InputError, match="lie in"):
        ur.optimovej(c, goal, 0.3, 1.5)


def test_optimovel_is_a_line_as_fast_as_a_share_of_the_joints_limits(c):
    start = c.target_pose()
    goal = shifted(start, 0, 0.3, 0.1)
    seen = Run(c, partial(ur.optimovel, c, goal, 0.5, 0.5))
    share = np.abs(seen.qd / c.most_speed).max()
    assert 0.4 < share <= 0.5
    way = (goal - start)[:3]
    assert np.abs(np.cross(seen.points - start[:3], way / np.linalg.norm(way))).max() < 1e-5


# speeds, servoing, stops


def test_speedj_returns_after_its_time_keeps_the_speed_a_step_and_brakes(c):
    seen = Run(c, partial(ur.speedj, c, [0.2, 0, 0, 0, 0, 0], 2.0, 0.5))
    kept = np.flatnonzero(np.isclose(seen.qd[:, 0], 0.2))
    assert kept[-1] + 1 == pytest.approx(0.5 / CONTROLLER_TICK + 1, abs=1)
    brakes = np.diff(seen.qd[kept[-1] :, 0]) / CONTROLLER_TICK
    assert brakes.min() == pytest.approx(-2.0, rel=1e-6)


def test_speedj_again_and_again_is_one_even_speed(c):
    again = [partial(ur.speedj, c, [0.2, 0, 0, 0, 0, 0], 2.0, 0.002) for _ in range(200)]
    seen = Run(c, *again)
    assert np.diff(seen.script.calls).max() == 1  # a step each
    rising = round(0.1 / CONTROLLER_TICK)
    assert np.allclose(seen.qd[rising:200, 0], 0.2)


def test_time_of_speedj_is_scaled_by_the_slider_and_that_of_servoj_is_not(c):
    c.registers.speed = 0.5
    seen = Run(c, *[partial(ur.speedj, c, [0.2, 0, 0, 0, 0, 0], 2.0, 0.002) for _ in range(100)])
    assert set(np.diff(seen.script.calls)) == {2}
    assert np.abs(seen.qd).max() == pytest.approx(0.1)
    goal = c.reference.q.copy()
    seen = Run(c, *[partial(ur.servoj, c, goal + np.array([0, 0, 0, 0, 0, 0.001 * k]), 0.002) for k in range(100)])
    assert set(np.diff(seen.script.calls)) == {1}


def test_speedj_without_a_time_returns_when_the_speed_is_reached(c):
    seen = Run(c, partial(ur.speedj, c, [0.3, 0, 0, 0, 0, 0], 1.0), partial(ur.stopj, c, 3.0))
    assert seen.script.calls[1] - seen.script.calls[0] == pytest.approx(0.3 / 1.0 / CONTROLLER_TICK, abs=2)
    assert np.abs(seen.qd[:, 0]).max() == pytest.approx(0.3)


def test_speedl_keeps_the_speed_of_the_tool_and_stopl_brakes_it_in_its_direction(c):
    seen = Run(
        c,
        partial(ur.speedl, c, [0, 0.1, 0.05, 0, 0, 0], 0.5, 0.6),
        partial(ur.stopl, c, 1.0),
    )
    way = np.array([0, 0.1, 0.05]) / np.hypot(0.1, 0.05)
    assert seen.speed.max() == pytest.approx(np.hypot(0.1, 0.05), rel=1e-3)
    assert np.abs(np.cross(seen.points - seen.points[0], way)).max() < 1e-5


def test_stopl_stays_on_the_line_and_takes_the_way_of_its_deceleration(c):
    start = c.target_pose()
    assert c.handle(ControllerEvent.PLAY)
    begun(ur.movel(c, shifted(start, 0, 0.3), 1.0, 0.2))
    for _ in range(250):
        c.tick()
    before = c.target_pose()
    ur.stopl(c, 0.5)
    points = []
    while c.moving:
        c.tick()
        points.append(c.target_pose()[:3])
    assert np.linalg.norm(points[-1] - before[:3]) == pytest.approx(0.2**2 / (2 * 0.5), abs=1e-3)
    assert np.abs((np.array(points) - start[:3])[:, [0, 2]]).max() < 1e-5


def test_servoj_goes_evenly_between_targets_that_come_seldom(c):
    goals = [HOME + np.array([0.004 * k, 0, 0, 0, 0, 0]) for k in range(1, 101)]
    seen = Run(c, *[partial(ur.servoj, c, goal, 0.02, 0.03, 2000.0) for goal in goals])
    assert set(np.diff(seen.script.calls)) == {10}
    even = seen.qd[300:900, 0]
    assert np.allclose(even, 0.2, rtol=0.02)


@pytest.mark.parametrize("kind", ["movej", "movel"])
def test_a_move_from_a_speed_brakes_first_nothing_jumps_and_it_gets_there(c, kind):
    goal = HOME + 0.2
    there = goal if kind == "movej" else c.plant.pose_of(goal)
    move = partial(getattr(ur, kind), c, there, 1.2, 0.2)
    seen = Run(c, partial(ur.speedj, c, [0.5, 0.2, 0, 0, 0, 0], 2.0, 0.4), move)
    assert seen.push < 8.0 and np.allclose(seen.q[-1], goal, atol=1e-5)


# planning, a part in every tick


def planned_with(c, monkeypatch, most, what):
    """Run something with so many calls of Newton's method in a tick; the most calls that one tick made, and the run."""
    calls, towards = [0] * 20_000, c.plant.towards

    def counted(q, pose, rounds=2):
        calls[c.ticks] += 1
        return towards(q, pose, rounds)

    monkeypatch.setattr(path_law, "SAMPLED_AT_ONCE", most)
    monkeypatch.setattr(c.plant, "towards", counted)
    seen = what(c)
    monkeypatch.setattr(c.plant, "towards", towards)
    return max(calls), seen


def test_a_tick_plans_a_bounded_part_of_a_way(c, monkeypatch):
    c.plant.live.reset(HOME + np.array([0, 0, 0, 0, 1.52, 0]))  # near a singularity: samples are close there
    c.settle()
    goal = shifted(c.target_pose(), 0, 0.2)
    most, seen = planned_with(c, monkeypatch, 20, lambda c: Run(c, partial(ur.movel, c, goal, 1.2, 0.25)))
    assert most <= 20 + path_law.SAMPLE_ROUNDS + 4  # and those of a step of the motion
    assert np.abs(c.target_pose() - goal).max() < 1e-6
    assert (seen.qd[:3] == 0.0).all(), "nothing moves before the way is known"


def around_a_corner(c, r=0.05):
    return corner(c, r)


def test_a_bend_that_is_planned_while_the_arm_goes_on_is_the_same_path(compiled, monkeypatch):
    paths = []
    for most in (10_000, 30):
        compiled.live.reset(HOME)
        compiled.tcp[...] = 0.0
        c = Controller(compiled, e_series=True)
        calls, (seen, *_) = planned_with(c, monkeypatch, most, around_a_corner)
        assert most > 1000 or calls < most + 8
        assert seen.push < 1.05 * c.most_acceleration.max()
        paths.append(seen)
    at_once, bit_by_bit = paths
    near = [np.abs(at_once.points - p).max(axis=1).min() for p in bit_by_bit.points]
    assert max(near) < 3e-3, "the bend begins a few ticks later"
    assert bit_by_bit.speed[100:-100].min() > 0.1, "and the arm does not stop at the corner"
    assert np.diff(bit_by_bit.speed).min() > -1.05 * 1.0 * CONTROLLER_TICK - 1e-6, "it never brakes harder than told"
    assert bit_by_bit.time - at_once.time < 0.05


def test_a_bend_keeps_its_speed_whatever_the_slider_says(c):
    c.registers.speed = 0.5
    seen, *_ = corner(c, 0.05)
    change = np.abs(np.diff(np.convolve(seen.speed, np.ones(3) / 3, "valid"))).max()
    assert change < 2.0 * 1.0 * CONTROLLER_TICK, "nothing jumps where the second line takes over"


def test_a_line_after_one_that_cannot_be_followed_is_never_begun(c):
    out = c.target_pose() + np.array([-0.8, 0, 0, 0, 0, 0])
    back = c.target_pose()
    calls = [partial(ur.movel, c, out, 1.2, 0.5, r=0.3), partial(ur.movel, c, back, 1.2, 0.5)]
    Run(c, *calls, state=ControllerState.STOPPED)
    assert "out of reach or singular" in c.why
