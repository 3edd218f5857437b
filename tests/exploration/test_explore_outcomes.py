# SPDX-License-Identifier: Apache-2.0
"""What an exploration says at its end: where the arm stands, what it could not do, and what it pushed too hard."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.detection.study_contacts import ur5_sensors
from armwright.exploration.exploration import explore
from armwright.exploration.exploration_result import HARD_FORCE, OUTCOMES
from armwright.exploration.explore_options import Budget, ControlLoop, GridTask, Sensing, map_of
from armwright.exploration.pictures.exploration_report import sentence
from armwright.planning.grid.grid_map import grid_map
from armwright.robot.load import load
from armwright.world.shapes import Box, Cylinder
from armwright.world.world import World
from armwright.world.world_catalogue import load_world

PATCH = load_world("pillars").tool_task
EMPTY = World((), name="empty", tool_task=PATCH)
LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{axis}" type="prismatic"><parent link="{parent}"/><child link="{name}"/><axis xyz="{along}"/>
<limit lower="-1" upper="1" effort="500" velocity="1"/></joint>"""
WHERE = grid_map((16, 12), (0.0, 0.0, 0.2), 0.05, first=1, ring=True)
TASK = GridTask(where=WHERE, start=(3, 6), goal=(14, 6), near=[0.15, 0.3, 0.2])
WALL = Box(name="wall", centre=(0.4, 0.3, 0.2), size=(0.05, 0.3, 0.4), stiffness=1e5)


@pytest.fixture(scope="module")
def gantry(tmp_path_factory):
    """Three sliding joints whose frames coincide, and no geometry at all."""
    parts = [("x", "frame", "1 0 0", 20), ("y", "bridge", "0 1 0", 10), ("z", "carriage", "0 0 1", 4)]
    names = ("bridge", "carriage", "ram")
    links = [
        LINK.format(name=name, mass=mass, axis=axis, parent=parent, along=along)
        for name, (axis, parent, along, mass) in zip(names, parts, strict=True)
    ]
    file = tmp_path_factory.mktemp("gantry") / "gantry.urdf"
    file.write_text(f'<robot name="gantry"><link name="frame"/>{"".join(links)}</robot>', encoding="utf-8")
    return load(file)


@pytest.fixture(scope="module")
def gantry_run(gantry):
    return explore(gantry, World((WALL,), name="wall"), TASK)


def test_the_tool_of_a_gantry_without_geometry_finds_its_way_around_a_wall(gantry_run, tmp_path):
    assert gantry_run.outcome == "reached" and gantry_run.contacts
    assert {contact.shape for contact in gantry_run.contacts} == {"wall"}
    assert gantry_run.replay(tmp_path / "replay.html").stat().st_size > 1000


@pytest.mark.parametrize("reaction", ["retract", "slide"])
def test_it_does_so_with_every_reaction(gantry, reaction):
    assert explore(gantry, World((WALL,), name="wall"), TASK, reaction=reaction).outcome == "reached"


def test_its_links_cannot_touch_and_that_is_refused(gantry):
    with pytest.raises(Exception, match=r"links without any extent.*contact='tool'"):
        explore(gantry, World((WALL,), name="wall"), replace(TASK, contact="links"))


def test_a_push_above_a_hundred_newtons_is_a_warning(gantry_run):
    """The bridge is heavy: it strikes the wall with v √(k m) ≈ 200 N."""
    m = gantry_run.metrics()
    assert m["largest_force_n"] > HARD_FORCE == 100.0
    assert len(gantry_run.warnings) == 1 and f"{m['largest_force_n']:.0f} N" in gantry_run.warnings[0]
    assert m["warnings"] == list(gantry_run.warnings) and f"Warning: {gantry_run.warnings[0]}." in sentence(gantry_run)
    soft = explore("ur5", World((), name="empty", tool_task=PATCH))
    assert soft.warnings == () and "Warning" not in sentence(soft)


def test_an_arm_that_sags_under_an_unknown_load_closes_in_on_its_goal():
    """It used to wait beside the goal until its time was out, and to mark the goal's cell as blocked."""
    arm = load("ur5")
    run = explore(arm.with_payload(2.0), EMPTY, loop=ControlLoop(model=arm), sensing=Sensing(observer="momentum"))
    assert run.outcome == "reached" and not run.contacts
    assert run.metrics()["goal_error_m"] < 1e-3 and run.metrics()["simulated_s"] < 30.0


def test_not_arrived_is_an_outcome_that_names_where_the_arm_stands():
    """A tolerance far below what its sensors resolve: no correction helps."""
    run = explore("ur5", EMPTY, sensing=Sensing(sensors=ur5_sensors()), budget=Budget(tolerance=1e-8))
    assert run.outcome == "not arrived" and run.outcome in OUTCOMES
    assert not run.contacts and "nothing was felt" in run.message
    error = np.linalg.norm(run.recording["tool"][-1] - run.goal_point)
    assert run.metrics()["goal_error_m"] == pytest.approx(error, abs=1e-12)
    assert f"stands {1e3 * error:.1f} mm from the goal" in run.message


def test_every_ending_says_how_far_the_tool_stands_from_the_goal():
    reached = explore("ur5", "pillars")
    assert reached.outcome == "reached" and "mm from the goal" in reached.message and "mm from it" in sentence(reached)
    late = explore("ur5", "pillars", budget=Budget(3.0))
    far = np.linalg.norm(late.recording["tool"][-1] - late.goal_point)
    assert late.outcome == "out of time" and f"stands {1e3 * far:.1f} mm" in late.message


def closed(at, radius, count):
    """A ring of touching cylinders about a point."""
    angles = 2.0 * np.pi * np.arange(count) / count
    posts = [
        Cylinder(name=f"post-{k}", centre=(at[0] + radius * np.cos(a), at[1] + radius * np.sin(a), 0.0), radius=0.02)
        for k, a in enumerate(angles)
    ]
    return World(tuple(posts), name="ring", tool_task=PATCH)


def test_messages_call_the_present_cell_by_its_name():
    """The planner's start is where the tool stands now, not where the run began."""
    grid = map_of(PATCH).grid
    run = explore("ur5", closed(grid.centre(PATCH.goal), 0.09, 20))
    here = tuple(int(c) for c in grid.cell(run.recording["tool"][-1]))
    assert run.outcome == "unreachable" and here != PATCH.start
    assert f"from the present cell {here} to the goal cell {PATCH.goal}" in run.message
    assert "start" not in run.message
    at = grid.centre(PATCH.goal)
    post = Cylinder(name="post", centre=(at[0], at[1], 0.0), radius=0.005)
    run = explore("ur5", World((post,), name="in the goal", tool_task=PATCH))
    here = tuple(int(c) for c in grid.cell(run.recording["tool"][-1]))
    assert run.outcome == "unreachable" and here != PATCH.goal
    assert f"the goal cell {PATCH.goal} was felt to be blocked; the present cell is {here}" in run.message
