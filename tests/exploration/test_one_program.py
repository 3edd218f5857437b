# SPDX-License-Identifier: Apache-2.0
"""The room as it promises to be: one program with two sides, small functions, nothing of a document in the library."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from armwright.exploration import ArmTask, GridTask, Rules, explore
from armwright.exploration.arm.arm_run import ArmRun
from armwright.exploration.exploration import planner_space, space_of
from armwright.exploration.exploration_run import ExplorationRun
from armwright.exploration.grid.grid_run import GridRun
from armwright.planning import GRID_PLANNERS, JOINT_PLANNERS, AStar, RRTConnect
from armwright.robot.load import load
from armwright.studies.doc000_collision.rules import Published
from armwright.world.world import World
from armwright.world.world_catalogue import load_world
from support.places import ROOT
from support.syntax_trees import nodes

ROOM = ROOT / "src" / "armwright" / "exploration"
FILES = sorted(ROOM.rglob("*.py"))
ORDER = ("drive", "leg", "watch", "touched", "end", "out_of_time", "tell")


def test_what_a_run_is_stands_once():
    """Both sides answer questions; neither changes the order of things."""
    for side in (GridRun, ArmRun):
        assert issubclass(side, ExplorationRun)
        assert not [name for name in ORDER if name in vars(side)]
        assert all(
            getattr(side, name) is not getattr(ExplorationRun, name) for name in ExplorationRun.__abstractmethods__
        )


def test_functions_are_short_and_files_have_names_of_their_own():
    names = Counter(path.name for path in FILES if path.name != "__init__.py")
    assert names and not [name for name, count in names.items() if count > 1]
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = sum(a.arg not in ("self", "cls") for a in given)
                assert count <= 10, f"{path.name}: {node.name} has {count} parameters"
                lines = (node.end_lineno or 0) - node.lineno + 1
                assert lines <= 80, f"{path.name}: {node.name} has {lines} lines"


def test_nothing_as_published_is_in_the_library():
    for room in ("exploration", "planning", "contact", "world", "motion"):
        for path in (ROOT / "src" / "armwright" / room).rglob("*.py"):
            words = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
            words |= {node.name for node in nodes(path) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
            assert not [w for w in words if w.endswith("_000") or "published" in w.lower()], path


def test_planners_declare_their_space():
    assert {planner_space(name) for name in GRID_PLANNERS} == {"grid"} == {planner_space(AStar())}
    assert {planner_space(name) for name in JOINT_PLANNERS} == {"joint"} == {planner_space(RRTConnect())}
    assert all(kind.space == "joint" for kind in JOINT_PLANNERS.values())


@pytest.mark.parametrize(
    "robot, world, task, planner, side",
    [
        ("ur5", "bench", None, None, "joint"),
        ("ur5", "layout-a", None, None, "grid"),
        ("panda", "bench", None, None, "grid"),
        ("ur5", "bench", GridTask(), None, "grid"),
        ("ur5", "layout-a", ArmTask(), None, "joint"),
        ("ur5", "layout-a", None, "rrt-connect", "joint"),
        ("ur5", "bench", None, "dijkstra", "grid"),
    ],
)
def test_task_then_planner_then_world_choose_the_side(robot, world, task, planner, side):
    assert space_of(load(robot), load_world(world), task, planner) == side


def test_rules_are_a_strategy_of_the_grid_alone():
    """A rule that varies reaches the program as an object: here the cell beside the tool's is marked as well."""

    class Wary(Rules):
        def mark(self, run, known, contact):
            u, v = contact.cell
            return super().mark(run, known, contact).with_felt((u, v + 1))

    plain, wary = (explore("ur5", "A", reaction=rules) for rules in ("back off", Wary()))
    assert plain.reached and wary.reached
    assert all(wary.maps[-1].felt[wary.maps[-1].grid.index((u, v + 1))] for u, v in wary.cells)
    with pytest.raises(ValueError, match="whole arm"):
        explore("ur5", "bench", reaction=Published())


def test_a_world_of_ones_own_needs_no_file():
    task = load_world("pillars").tool_task
    run = explore("ur5", World(name="empty", tool_task=task))
    assert run.reached and run.start == task.start and run.goal == task.goal and not run.contacts
