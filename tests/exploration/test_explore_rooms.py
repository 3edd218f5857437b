# SPDX-License-Identifier: Apache-2.0
"""Inside corners: nothing goes through a wall, and a slide leaves them; rooms and their oracle."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.campaigns.kinds.worlds_kind import DEFAULTS, cases_of
from armwright.choices import OBSERVERS, REACTIONS
from armwright.errors import InputError
from armwright.exploration.exploration import explore
from armwright.exploration.exploration_result import longest_stand
from armwright.exploration.explore_options import Budget, map_of
from armwright.exploration.grid.grid_worlds import ask_oracles, distances
from armwright.exploration.grid.room_worlds import ROOM_KINDS, ROOM_VARIANTS, numbered_room, random_room
from armwright.world.shape_distance import signed_distance
from armwright.world.shapes import Box, Sphere
from armwright.world.world import World

SLIDE_STANDS = 2.5  # [s] patience of a slide (1.5), letting go (0.3), setting out: longer is being stuck


def test_the_oracle_knows_closed_rooms_from_open_ones():
    """Drawn with their kinds in turn; the search on the true map knows nothing of how a room was drawn."""
    for number in range(2 * len(ROOM_KINDS)):
        world = numbered_room(number, seed=500 + number)
        closed = "closed" in world.name
        assert world.name.split("-")[0] == ROOM_KINDS[number % len(ROOM_KINDS)]
        assert ask_oracles(world) == ("unsolvable" if closed else "solvable"), world.name
    with pytest.raises(InputError, match="kind must be one of L, T"):
        random_room(0, kind="O")


def test_distances_of_the_oracle_are_those_of_the_shapes():
    rng = np.random.default_rng(5)
    boxes = tuple(
        Box(name=f"b{k}", centre=tuple(rng.uniform(-1, 1, 3)), size=tuple(rng.uniform(0.1, 0.9, 3))) for k in range(4)
    )
    points = rng.uniform(-1.5, 1.5, (200, 3))
    right = [min(float(signed_distance(box, p)) for box in boxes) for p in points]
    assert np.abs(distances(World(boxes), points) - right).max() < 1e-12
    ball = Sphere(name="ball", centre=(0.0, 0.0, 0.0), radius=0.1)
    with pytest.raises(InputError, match="cylinders and boxes only"):
        distances(World((ball,)), points)


def test_every_observer_meets_every_reaction_in_every_room():
    cases = cases_of({**DEFAULTS, "task": "rooms"}, 7)
    assert len(ROOM_VARIANTS) == len(list(OBSERVERS)) * len(list(REACTIONS)) == 20
    seen = {cases.case(item).variant for item in range(20)}
    assert seen == set(ROOM_VARIANTS) and len({cases.case(item).seed for item in range(20)}) == 1
    assert [cases.number(item) for item in (0, 19, 20, 239)] == [0, 0, 1, 11]


def corner_room(u, v, mouth, k, high=None):
    """An L whose back wall spans the map, or a U: faces in cells, 20 mm of wall; the arms reach through the back."""
    task = random_room(0).tool_task
    cell, origin = task.size, np.asarray(map_of(task).grid.centre((1, 1)))[:2] - task.size
    half = 0.01 / cell

    def wall(name, u0, v0, u1, v1):
        low, high_ = origin + cell * np.array([u0, v0]), origin + cell * np.array([u1, v1])
        size = (*(high_ - low), 0.4)
        return Box(name=name, centre=(*(0.5 * (low + high_)), 0.0), size=size, stiffness=k)

    span = (-1.0, 22.0) if high is None else (v - half, high + half)
    walls = [wall("back", u - half, span[0], u + half, span[1]), wall("low", mouth, v - half, u + half, v + half)]
    walls += [] if high is None else [wall("high", mouth, high - half, u + half, high + half)]
    return World(tuple(walls), name="corner", tool_task=task)


@pytest.mark.parametrize(
    ("u", "v", "mouth", "k"),
    [(15.04, 6.06, 7.7, 6e4), pytest.param(15.13, 8.17, 2.05, 2e5, marks=pytest.mark.thorough)],
)
def test_a_slide_leaves_the_corner_of_a_room_without_a_way_and_says_so(u, v, mouth, k):
    """These ended "out of time" after 90 s, sliding along the same walls again and again."""
    world = corner_room(u, v, mouth, k)
    assert ask_oracles(world) == "unsolvable"
    slid = explore("ur5", world, reaction="slide", budget=Budget(90.0))
    gentle = explore("ur5", world, budget=Budget(90.0))
    assert slid.outcome == gentle.outcome == "unreachable"
    assert slid.metrics()["longest_stand_s"] < SLIDE_STANDS
    assert slid.metrics()["largest_force_n"] <= 3.0 * gentle.metrics()["largest_force_n"] and not slid.warnings
    back = np.asarray(world["back"].centre) - 0.5 * np.asarray(world["back"].size)
    assert slid.recording["tool"][:, 0].max() < back[0] + 2e-3, "the tool never was behind the wall"


def test_a_slide_finds_the_way_out_of_a_room_that_is_shaped_like_a_u():
    run = explore("ur5", corner_room(14.0, 5.0, 7.0, 1e5, high=14.0), reaction="slide", budget=Budget(90.0))
    assert run.outcome == "reached" and run.metrics()["longest_stand_s"] < SLIDE_STANDS
    assert run.metrics()["false_alarms"] == 0 and len(run.contacts) <= 10


def test_standing_is_counted_while_the_tool_touches_and_does_not_move_on():
    time = np.arange(0.0, 10.0, 2e-3)
    tool = np.zeros((len(time), 3))
    tool[:, 0] = np.where(time < 3.0, 0.05 * time, np.where(time < 7.0, 0.15, 0.15 + 0.05 * (time - 7.0)))
    assert longest_stand(time, tool, np.ones(len(time))) == pytest.approx(4.0, abs=0.25)
    assert longest_stand(time, tool, np.where(time < 5.0, 1.0, 0.0)) == pytest.approx(2.0, abs=0.25)
    assert longest_stand(time, tool, np.zeros(len(time))) == 0.0 == longest_stand(time[:1], tool[:1], np.ones(1))
