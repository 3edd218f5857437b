# SPDX-License-Identifier: Apache-2.0
"""``armwright run collision`` with arms that no world was made for: it runs, or says which option to give."""

from __future__ import annotations

import json

import pytest

from armwright.cli import main
from armwright.robot.load import load
from armwright.robot.urdf.urdf_write import write_urdf

IRB140 = ("1.6,-0.3,0,0,1,0", "0.4,-0.3,0,0,1,0")
PANDA = ("1.2,0,0,-2.2,0,2.2,0.8", "2.2,0,0,-2.2,0,2.2,0.8")


def run(capsys, *words):
    code = main(["run", "collision", *words, "--duration", "20", "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out)


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "my.urdf"
    path.write_text(write_urdf(load("irb140")), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("robot, joints", [("irb140", 6), ("panda", 7), ("my.urdf", 6), ("planar2", 2)])
@pytest.mark.parametrize("world", ["A", "bench"])
def test_without_a_task_the_options_are_named(capsys, urdf, robot, joints, world):
    code, said = run(capsys, "--robot", urdf if robot == "my.urdf" else robot, "--world", world)
    message = said["error"]["message"]
    assert code == 2 and "ur5" in message
    assert all(option in message for option in ("--start", "--goal", "--near")) and f"{joints} joint" in message
    assert ("--grid" in message) == (world == "bench"), "layout A has a map, the bench has none"


@pytest.mark.parametrize(
    "robot, ends", [pytest.param("irb140", IRB140, marks=pytest.mark.thorough), ("panda", PANDA), ("my.urdf", IRB140)]
)
def test_the_whole_arm_goes_where_it_is_told(capsys, urdf, robot, ends):
    name = urdf if robot == "my.urdf" else robot
    code, said = run(capsys, "--robot", name, "--start", ends[0], "--goal", ends[1])
    assert code == 0 and said["outcome"] == "reached" and said["settings"]["planner"] == "rrt-connect"
    assert said["settings"]["q_start"] == [float(x) for x in ends[0].split(",")]


def test_the_tool_of_another_arm_goes_from_where_it_is_on_a_map(capsys):
    on_map = ("--near", "0,0.2,0.3,0,1,0", "--grid", "14x14@0.35,-0.2,0.458/0.03", "--goal", "9,9c")
    code, said = run(capsys, "--robot", "irb140", *on_map)
    assert code == 0 and said["outcome"] == "reached" and said["settings"]["start"] == [5, 8]
    for wrong, words in (
        (("--near", "0,0.2"), "--near '0,0.2': expected 6 numbers"),
        (("--near", "0,0.2,0.3,0,1,0", "--world", "bench"), "no map of its own"),
        (("--near", "0,0.2,0.3,0,1,0", "--grid", "14x14@0.35,-0.2,0.458/0.03"), "--goal"),
        (("--near", "here"), "--near 'here'"),
        (("--touching", "tool", "--planner", "rrt-connect"), "--touching tool"),
        (("--start", "1,2,x,4,5,6"), "--start"),
    ):
        code, said = run(capsys, "--robot", "irb140", *wrong)
        assert code == 2 and words in said["error"]["message"]


def test_random_worlds_for_another_arm_are_refused_with_the_option(capsys):
    assert main(["run", "worlds", "--robot", "irb140", "--count", "1", "--jobs", "1"]) == 2
    assert "give near, 6 joint coordinates" in capsys.readouterr().err
