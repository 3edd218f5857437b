# SPDX-License-Identifier: Apache-2.0
"""What a surface did not hold back is told: in paths of a point, in simulations, in explorations."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import armwright as aw
from armwright.contact import contact_wrench
from armwright.contact.contact_flags import contact_flags
from armwright.contact.passages import passages
from armwright.control import computed_torque
from armwright.errors import ArmwrightWarning
from armwright.exploration.exploration_result import told_of_solids
from armwright.motion import quintic
from armwright.world.arm_capsules import tool_point
from armwright.world.shapes import Cylinder, Sphere
from armwright.world.world import World
from support.random_unions import block, fly, rotation


def closed_room(rng):
    """A closed room of six walls with a partition: its world, which of three spaces points lie in, places to start."""
    w, a = float(rng.choice([0.003, 0.01, 0.02, 0.04])), rng.uniform(0.08, 0.2, 3)
    e = float(rng.choice([0.0, 0.5 * w, w]))  # how far the walls overlap
    middle = rng.uniform(-0.4, 0.4) * a[0]
    R = rotation(rng) if rng.uniform() < 0.5 else np.eye(3)
    x, y, z = a
    walls = (
        block("x-", [-x - w, -y - w, -z - w], [-x, y + w, z + w], R),
        block("x+", [x, -y - w, -z - w], [x + w, y + w, z + w], R),
        block("y-", [-x - e, -y - w, -z - w], [x + e, -y, z + w], R),
        block("y+", [-x - e, y, -z - w], [x + e, y + w, z + w], R),
        block("z-", [-x - e, -y - e, -z - w], [x + e, y + e, -z], R),
        block("z+", [-x - e, -y - e, z], [x + e, y + e, z + w], R),
        block("partition", [middle - 0.5 * w, -y - e, -z - e], [middle + 0.5 * w, y + e, z + e], R),
    )

    def space(X):
        p = X @ R
        out = np.full(len(p), -1)
        within = (np.abs(p) < a).all(axis=1)
        out[within & (p[:, 0] < middle - 0.5 * w)] = 0
        out[within & (p[:, 0] > middle + 0.5 * w)] = 1
        out[(np.abs(p) > a + w).any(axis=1)] = 2
        return out

    low, high = -a + 1e-3, np.array([middle - 0.5 * w, y, z]) - 1e-3
    return World(walls), space, lambda n: (low + rng.uniform(size=(n, 3)) * (high - low)) @ R.T, w


@pytest.mark.parametrize("room", range(4))
def test_every_shot_through_a_wall_is_told_and_no_other(room):
    rng = np.random.default_rng([24, room])
    world, space, places, w = closed_room(rng)
    step = float(rng.choice([1e-3, 2.5e-4]))
    limit = 0.5 * w * np.sqrt(1e5 / 5.0)  # [m/s] that the wall holds
    speed = limit * 10.0 ** rng.uniform(-0.7, 0.9, 25)
    way = rng.normal(size=(25, 3))
    way *= (speed / np.linalg.norm(way, axis=1))[:, None]
    paths, _ = fly(world.shapes, places(25), way, step, 200)
    through = 0
    for path in paths:
        where = space(path)
        left = where[where >= 0]
        passed = bool((np.diff(left) != 0).any())
        told = passages(world, path)
        assert bool(told) == passed or where[-1] < 0, "still inside a wall: either is right"
        assert passed <= bool(told)
        through += passed
    assert 0 < through < 25


def straight(*points, step=1e-3):
    """A path through points, one row for every `step` [m]."""
    out = [np.array([points[0]], dtype=float)]
    for a, b in pairwise(points):
        a, b = np.array(a, dtype=float), np.array(b, dtype=float)
        out.append(a + np.linspace(0.0, 1.0, max(int(np.linalg.norm(b - a) / step), 1) + 1)[1:, None] * (b - a))
    return np.concatenate(out)


def test_sliding_round_ends_and_edges_is_no_passage():
    wall = World((block("wall", [-0.2, -0.01, -0.2], [0.2, 0.01, 0.2]),))
    d = 0.002
    end = straight(
        [0, 0.02, 0],
        [0, 0.01 - d, 0],
        [0.2 - d, 0.01 - d, 0],
        [0.2 - d, d - 0.01, 0],
        [0.1, d - 0.01, 0],
        [0.1, -0.02, 0],
    )
    assert passages(wall, end) == (), "round the end of a wall, 2 mm deep"
    assert passages(wall, straight([0.21, 0.0, 0.0], [0.19, 0.02, 0.0])) == (), "across its edge"
    assert passages(wall, straight([0.0, 0.02, 0.0], [0.0, -0.001, 0.0], [0.05, 0.02, 0.0])) == (), (
        "past the middle and back"
    )
    pillar = World((Cylinder(name="pillar", centre=(0.0, 0.0, 0.0), radius=0.05),))
    turn = np.linspace(-0.3, np.pi + 0.3, 500)
    around = np.stack([0.048 * np.cos(turn), 0.048 * np.sin(turn), 0.0 * turn], axis=1)
    assert passages(pillar, np.concatenate([[[0.06, -0.03, 0.0]], around, [[-0.06, -0.03, 0.0]]])) == (), (
        "round a pillar"
    )


@pytest.mark.parametrize("step", [1e-3, 7e-3, 0.05])
def test_straight_through_is_told_whatever_the_step(step):
    wall = World((block("wall", [-0.2, -0.01, -0.2], [0.2, 0.01, 0.2]),))
    for x in (0.0, 0.185, 0.193):  # also near its end
        (found,) = passages(wall, straight([x, 0.0205, 0.0], [x, -0.0313, 0.0], step=step))
        assert found.shape == "wall" and found.depth > 0.006
        np.testing.assert_allclose([found.entry[1], found.leaving[1]], [0.01, -0.01], atol=1e-9)
    ball = World((Sphere(name="ball", centre=(0.0, 0.0, 0.0), radius=0.02),))
    assert len(passages(ball, straight([0.004, 0.0305, 0.0], [0.004, -0.0405, 0.0], step=step))) == 1
    corner = World(
        (block("a", [-0.2, -0.02, -0.2], [0.0, 0.0, 0.2]), block("b", [-0.02, -0.02, -0.2], [0.0, 0.2, 0.2]))
    )
    assert len(passages(corner, straight([-0.03, 0.01, 0.0], [0.01, -0.03, 0.0], step=step))) == 1, "through the corner"


def test_simulations_tell():
    robot = aw.load("ur5")
    q = np.array([0.0, -1.2, 1.6, -0.5, 1.5, 0.0])
    end = q + np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    (x, y, z), to = aw.fk(robot, q)[:3, 3], aw.fk(robot, end)[:3, 3]
    side = 0.5 * (y + to[1])
    wall = World((block("wall", [x - 0.4, side - 0.01, z - 0.1], [x + 0.4, side + 0.01, z + 0.1]),))
    touch, law = contact_wrench(robot, wall, capsules=(tool_point(robot),)), computed_torque(400.0, 40.0)
    slow = aw.simulate(robot, law, quintic(q, end, 3.0), wrench=touch, check_step=False)
    assert slow.outcome == "end" and slow.events == ()
    fast = aw.simulate(robot, law, quintic(q, end, 0.1), 0.15, wrench=touch, check_step=False)
    assert fast.outcome == "pushed through"
    (event,) = fast.events
    assert event.name.startswith("pushed through 'wall': 'wrist_3'") and 0.0 < event.time < 0.15
    with pytest.warns(ArmwrightWarning, match="did not hold in 2 of 2 simulations"):
        both = aw.simulate(robot, law, quintic(q, end, 0.1), 0.15, wrench=touch, check_step=False, count=2)
    assert [flag["simulation"] for flag in both.settings["contact_flags"]] == [0, 1]


def test_a_link_whose_axis_lies_in_a_solid_is_sunk():
    robot = aw.load("ur5")
    q = np.linspace(0.0, 1e-4, 5)[:, None] + np.array([0.0, -1.2, 1.6, -0.5, 1.5, 0.0])
    tip = aw.fk(robot, q[2])[:3, 3]
    near = World((Sphere(name="ball", centre=tuple(tip + np.array([0.0, 0.0, 0.055])), radius=0.05),))
    deep = World((Sphere(name="ball", centre=tuple(tip + np.array([0.0, 0.0, 0.02])), radius=0.05),))
    ball = (tool_point(robot, 0.01),)
    time = np.arange(5) * 1e-3
    assert contact_flags(robot, near, time, q, ball) == (), "touching alone is no flag"
    (flag,) = contact_flags(robot, deep, time, q, ball)
    assert (flag.kind, flag.link, flag.shape) == ("sunk", "wrist_3", "ball") and flag.depth > 0.01


def test_an_exploration_that_came_through_a_wall_did_not_reach_its_goal():
    robot = aw.load("ur5")
    run = aw.simulate(robot, None, np.zeros(6), 0.01, check_step=False)
    q = np.linspace(0.0, 0.5, 400)[:, None] * np.eye(6)[0] + np.array([0.0, -1.2, 1.6, -0.5, 1.5, 0.0])
    (x, y, z), to = aw.fk(robot, q[0])[:3, 3], aw.fk(robot, q[-1])[:3, 3]
    side = 0.5 * (y + to[1])
    wall = World((block("wall", [x - 0.4, side - 0.01, z - 0.1], [x + 0.4, side + 0.01, z + 0.1]),))
    flags = contact_flags(robot, wall, np.arange(400) * 1e-3, q, (tool_point(robot),))
    recording, outcome, message = told_of_solids(run, "reached", "", flags)
    assert outcome == recording.outcome == "pushed through" and "'wall'" in message
    assert recording.events[-1].name.startswith("pushed through 'wall'")
    assert told_of_solids(run, "unreachable", "so", flags)[1:] == ("unreachable", "so"), "other outcomes stay, and warn"
    assert told_of_solids(run, "reached", "", ())[1] == "reached"


def test_a_passage_in_the_plane_of_a_seam_is_told_with_its_row():
    wall = World((block("l", [-0.01, -0.2, -0.2], [0.01, 0.0, 0.2]), block("r", [-0.01, 0.0, -0.2], [0.01, 0.2, 0.3])))
    for step in (1e-3, 0.2):
        path = straight([0.05, 0.0, 0.0], [-0.05, 0.0, 0.0], step=step)
        assert len(passages(wall, path)) == 1, "the seam belongs to both"
        lost = np.concatenate([np.full((5, 3), np.nan), path])
        assert passages(wall, lost)[0].row == passages(wall, path)[0].row + 5


def test_a_line_tool_that_touches_is_not_sunk():
    robot = aw.load("ur5")
    q = np.linspace(0.0, 1e-4, 5)[:, None] + np.array([0.0, -1.2, 1.6, -0.5, 1.5, 0.0])
    tip = aw.fk(robot, q[2])[:3, 3]
    world = World((Sphere(name="ball", centre=tuple(tip + np.array([0.0, 0.0, 0.0495])), radius=0.05),))
    point = tool_point(robot)
    line = replace(point, start=tuple(np.array(point.end) + np.array([0.05, 0.0, 0.0])))
    assert contact_flags(robot, world, np.arange(5) * 1e-3, q, (line,)) == ()
