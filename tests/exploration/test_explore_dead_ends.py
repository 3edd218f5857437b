# SPDX-License-Identifier: Apache-2.0
"""Where explorations used to get stuck: errors on the way, goals inside an obstacle, pockets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from armwright.cli import main
from armwright.contact.ground_truth import clearance
from armwright.errors import InputError
from armwright.exploration.arm.touch_map import empty_map
from armwright.exploration.exploration import explore
from armwright.exploration.exploration_result import OUTCOMES
from armwright.exploration.explore_options import ArmTask, Budget, map_of
from armwright.exploration.grid.grid_worlds import ask_oracles
from armwright.kinematics import fk, fk_all
from armwright.planning import Hopfield, RRTConnect, true_map
from armwright.robot.load import load
from armwright.robot.parts import Limits
from armwright.world.shapes import Cylinder, Sphere
from armwright.world.world import World
from armwright.world.world_catalogue import load_world

PATCH = load_world("pillars").tool_task


def ball_on_the_way(arm, q0, q1, radius=0.05):
    """A ball that the tip meets half-way."""
    at = fk(arm, 0.5 * (np.array(q0) + q1))[:3, 3]
    return World((Sphere(name="ball", centre=tuple(at), radius=radius, stiffness=2e4, damping=50.0),), name="ball")


class Fails:
    """A planner that works once and then never again."""

    def __init__(self, planner):
        self.planner, self.count = planner, 0

    @property
    def name(self):
        return "fails"

    def plan(self, *arguments):
        self.count += 1
        if self.count > 1:
            raise ZeroDivisionError("the planner has a fault")
        return self.planner(*arguments)


class FailsOnGrids(Fails):
    space = "grid"

    def __call__(self, where, start, goal):
        return self.plan(where, start, goal)


class FailsInJoints(Fails):
    space = "joint"

    def __call__(self, colliding, start, goal, lower, upper):
        return self.plan(colliding, start, goal, lower, upper)


def test_an_error_on_the_way_keeps_what_was_recorded(planar2):
    q0, q1 = [0.2, 0.6], [1.4, 0.6]
    with pytest.raises(ZeroDivisionError, match="has a fault") as caught:
        explore(planar2, ball_on_the_way(planar2, q0, q1), ArmTask(q0, q1), planner=FailsInJoints(RRTConnect()))
    recording = caught.value.recording
    assert recording.time[-1] > 0.5 and np.abs(recording["q"][0] - q0).max() < 1e-9
    with pytest.raises(ZeroDivisionError, match="has a fault") as caught:
        explore("ur5-ragazzon", "A", planner=FailsOnGrids(Hopfield()))
    assert caught.value.recording.time[-1] > 0.5
    assert "error.recording" in caught.value.__notes__[0]


def test_the_command_writes_what_was_recorded(tmp_path, monkeypatch, capsys):
    fault = FailsOnGrids(Hopfield())
    monkeypatch.setattr("armwright.exploration.grid.grid_job.find_grid_planner", lambda *a, **k: fault)
    assert main(["run", "collision", "--robot", "ur5-ragazzon", "-o", str(tmp_path / "kept")]) != 0
    assert (tmp_path / "kept" / "recording.npz").stat().st_size > 1000
    assert "recorded until the error" in capsys.readouterr().err


def test_an_arm_that_was_pushed_beyond_the_search_goes_on(planar2):
    """It begins at a joint's limit: the first contact leaves it a little beyond."""
    q0, q1 = np.array([0.2, 0.6]), np.array([1.4, 0.6])
    joints = (planar2.joints[0], replace(planar2.joints[1], limits=Limits(-2.0, 0.6)))
    arm = replace(planar2, joints=joints)
    run = explore(arm, ball_on_the_way(arm, q0, q1), ArmTask(q0, q1), budget=Budget(60.0))
    assert run.outcome in OUTCOMES and run.contacts
    assert (run.recording["q"][:, 1] > 0.6).any(), "it really was beyond"


def test_the_trainer_explores_or_is_refused_at_once():
    """Its tool moves on a circle only: a map of tool cells is refused, in joint space it runs."""
    arm = load("sdt")
    with pytest.raises(InputError, match="has a configuration to start near for ur5"):
        explore(arm, "A")
    at = tuple(fk(arm, [0.5, 0.0, 0.0, 0.0])[:3, 3])
    world = World((Sphere(name="ball", centre=at, radius=0.05, damping=500.0),))
    run = explore(arm, world, ArmTask([0.0] * 4, [1.0, 0.5, 0.3, -0.4]), budget=Budget(6.0))
    assert run.outcome in OUTCOMES and len(run.contacts) and len(run.recording)


def deep_u(seed):
    """A cup of upright cylinders on 000's patch that opens towards the start, the goal behind its bottom."""
    rng = np.random.default_rng([seed, 31])
    grid = map_of(PATCH).grid
    cell = float(grid.cell_size[0])
    while True:
        bottom, depth, width = rng.uniform(12.5, 15.5), rng.uniform(7.0, 11.0), rng.uniform(5.0, 9.0)
        low = rng.uniform(4.5, 6.0)
        shapes = []
        for u0, v0, u1, v1 in (
            (bottom, low, bottom, low + width),
            (bottom - depth, low, bottom - 0.8, low),
            (bottom - depth, low + width, bottom - 0.8, low + width),
        ):
            count = int(np.ceil(max(abs(u1 - u0), abs(v1 - v0)) / 0.8)) + 1
            for u, v in zip(np.linspace(u0, u1, count), np.linspace(v0, v1, count), strict=True):
                at = grid.centre((1, 1)) + cell * ((u - 1.0) * grid.axes[0] + (v - 1.0) * grid.axes[1])
                name = f"post-{len(shapes)}"
                shapes.append(Cylinder(name=name, centre=(at[0], at[1], 0.0), radius=0.6 * cell))
        world = World(tuple(shapes), name=f"deep-u-{seed}", tool_task=PATCH)
        if ask_oracles(world) == "solvable" and low < 11.0 < low + width:
            return world


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.thorough) for k in (1, 2))])
def test_a_slide_finds_the_way_out_of_a_deep_cup(seed):
    run = explore("ur5", deep_u(seed), reaction="slide", budget=Budget(240.0))
    assert run.outcome == "reached" and len(run.contacts) <= 12
    felt, near = np.asarray(run.maps[-1].felt), np.asarray(true_map(map_of(PATCH), run.world, touching=True).felt)
    assert not (felt.astype(bool) & ~grown(near.astype(bool))).any(), "nothing is marked where nothing stands"


def grown(mask):
    """A mask and its neighbours."""
    return ndimage.binary_dilation(mask, np.ones((3, 3)))


def pillar_in_the_goal(arm, seed):
    """A pillar through the tool or the forearm of the goal configuration, start and goal."""
    rng = np.random.default_rng([seed, 77])
    while True:
        q0 = np.array(
            [rng.uniform(-3, 3), rng.uniform(-1.5, -0.9), rng.uniform(1.0, 1.8), rng.uniform(-0.9, 0.3), 1.57, 0]
        )
        q1 = q0 + rng.normal(0.0, 0.15, 6)
        q1[0] = q0[0] + rng.choice([-1, 1]) * rng.uniform(0.9, 1.8)
        T, tool = fk_all(arm, q1), fk(arm, q1)[:3, 3]
        at = tool if rng.uniform() < 0.5 else 0.5 * (T[2, :3, 3] + T[3, :3, 3])
        radius = float(
            rng.uniform(0.03, 0.05)
        )  # thinner than the links: what is felt of it lies inside the goal configuration
        shape = Cylinder(
            name="pillar", centre=(at[0], at[1], 0.3), radius=radius, height=0.6, damping=200.0, friction=0.2
        )
        world = World((shape,), name=f"pillar-{seed}")
        try:
            far = clearance(arm, world, np.stack([q0, q1]))
        except InputError:
            continue
        if far[0] > 0.1 and far[1] < -0.02 and tool[2] > 0.05:
            return world, q0, q1


@pytest.mark.parametrize("seed", [3, *(pytest.param(k, marks=pytest.mark.thorough) for k in (0, 8, 9))])
def test_a_goal_inside_a_pillar_is_unreachable_and_that_is_confirmed(seed):
    arm = load("ur5")
    world, q0, q1 = pillar_in_the_goal(arm, seed)
    run = explore(arm, world, ArmTask(q0, q1), budget=Budget(120.0))
    assert run.outcome == "unreachable" and "goal configuration" in run.message
    assert len(run.contacts) >= 2, "felt more than once; the outcome says that it was not for ever"


def test_one_mark_is_no_verdict():
    """A single sure mark inside the goal configuration, where nothing is: the arm tries past it and arrives."""
    arm = load("ur5")
    q0 = np.array([0.3, -1.2, 1.4, -0.5, 1.57, 0.0])
    q1 = q0 + np.array([1.2, 0.1, -0.1, 0.0, 0.0, 0.0])
    known = empty_map(arm, q0, q1[None])
    place = fk_all(arm, q1)[3, :3, 3][None]
    one = known.with_contact(place, np.ones(1), True, 0, q0 + 0.4, q0[None])
    assert one.arm(margin=0.0, trust="sure").clearance(q1) < 0.0
    assert not one.shut(q1[None]) and one.arm(margin=0.0, trust="confirmed", crowded=False).clearance(q1) > 0.0
    doubt = one.with_contact(place + 0.01, np.full(1, 0.1), False, 1, q0 + 0.6, q0[None])
    assert not doubt.confirmed.any(), "a contact that was there with 10 % confirms nothing"
    two = one.with_contact(place + 0.01, np.ones(1), True, 1, q0 + 0.6, q0[None])
    assert two.shut(q1[None]) and two.arm(margin=0.0, trust="confirmed").clearance(q1) < 0.0


@pytest.mark.parametrize("name", ["xarm7", "ur5"])
def test_an_arm_that_felt_nothing_is_not_in_its_own_way(name):
    """Start and goal are free as far as an arm knows that knows nothing but itself, however folded it is there."""
    arm, rng, margin = load(name), np.random.default_rng(3), ArmTask().margin
    low, high = np.maximum(arm.lower, -2.5), np.minimum(arm.upper, 2.5)
    pairs = []
    for _ in range(60):
        q = rng.uniform(low, high, (2, arm.n))
        known = empty_map(arm, q[0], q[1:], margin)
        pairs.append(len(known.pairs))
        assert not known.arm(margin=margin)(q).any()
    assert max(pairs) > 0, "links are still kept apart where they can be"
