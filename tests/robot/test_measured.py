# SPDX-License-Identifier: Apache-2.0
"""Measured drives: kept by the sheet, applied only when asked for, found by the arm's data and not by its name."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, DescriptionError, InputError
from armwright.robot import CurrentMap, Friction, Measured
from armwright.robot.measured import ASSUMED_ROTORS, as_measured, current_map, drives_of, same_axes
from armwright.robot.sheet.sheet_read import robot_from_text

TWO = """
name = "two"
[sources]
book = "A. Author, Textbook, 2001"
[geometry]
kind = "dh"
source = "book table 1"
columns = ["theta", "d", "a", "alpha"]
units = ["deg", "mm", "mm", "deg"]
rows = [[0, 0, 400, 0], [0, 0, 300, 0]]
"""
SOURCE = Path(aw.__file__).parent


def friction(robot):
    return [joint.friction for joint in robot.joints]


def test_the_sheet_keeps_what_was_measured_and_its_equations_do_not_have_it(ur5):
    assert not any(part.viscous or part.coulomb for part in friction(ur5))
    assert not ur5.actuators.rotor_inertia.any()
    model_c = aw.load("ur5-kufieta-c")
    assert ur5.measured.friction == tuple(friction(model_c))
    np.testing.assert_array_equal(ur5.measured.current.k, model_c.actuators.torque_constant)
    assert "Kufieta" in ur5.measured.source
    assert "rotor inertia: assumed" in ur5.measured.source


def test_measured_drives_do_not_make_another_robot(ur5):
    bare = replace(ur5, measured=None)
    assert bare == ur5
    assert bare.known is ur5.known  # kernels are shared


def test_a_ur5_under_another_name_gets_the_measured_drives(ur5, tmp_path):
    (tmp_path / "cell.toml").write_text('name = "cell-7"\nextends = "ur5"\n', encoding="utf-8")
    others = {
        "renamed": replace(ur5, name="left-arm"),
        "extended": aw.load(tmp_path / "cell.toml"),
        "urdf": aw.Robot.from_urdf(ur5.to_urdf().replace('name="ur5"', 'name="anything"')),
        "moved": replace(ur5, measured=None, name="x").with_base(aw.fk(ur5, np.ones(6))).with_tool(np.eye(4)),
    }
    wanted = as_measured(ur5)
    for case, arm in others.items():
        assert arm.name != "ur5", case
        got = as_measured(arm)
        assert friction(got) == friction(wanted), case
        np.testing.assert_array_equal(got.actuators.rotor_inertia, wanted.actuators.rotor_inertia)
        np.testing.assert_array_equal(current_map(arm).k, ur5.measured.current.k)
        np.testing.assert_array_equal(current_map(arm).b, ur5.measured.current.b)
    assert "same axes, ur5" in drives_of(others["urdf"]).source


def test_another_arm_under_the_name_of_a_ur5_does_not(ur5):
    for name in ("ur5e", "ur3", "irb140"):
        impostor = replace(aw.load(name), name="ur5")
        assert not same_axes(impostor, ur5)
        with pytest.warns(ArmwrightWarning, match=r"nothing measured .* assumed: .*10 N m/A"):
            got = as_measured(impostor)
        assert friction(got) == friction(impostor)
        np.testing.assert_array_equal(current_map(impostor).k, 10.0)


def test_what_is_described_wins_and_nothing_is_applied_twice(ur5):
    own = ur5.with_friction(1.0, 2.0, 0.1).with_rotors(0.3)
    assert as_measured(own) == own
    once = as_measured(ur5)
    assert as_measured(once) == once
    assert once.measured == ur5.measured
    plain = aw.load("planar3")
    with pytest.warns(ArmwrightWarning, match="rotors of 0.1"):
        assert np.allclose(np.diag(as_measured(plain).tree.armature), ASSUMED_ROTORS)


@pytest.mark.parametrize("name", ["ur5", "ur5-kufieta-c", "ur5-ragazzon"])
def test_a_sheet_that_is_written_and_read_again_keeps_the_table(name):
    robot = aw.load(name)
    again = robot_from_text(robot.to_sheet())
    assert again.measured == robot.measured
    assert {k: v for k, v in again.sources.items() if k.startswith("measured.")} == {
        k: v for k, v in robot.sources.items() if k.startswith("measured.")
    }
    assert again.to_sheet() == robot.to_sheet()


def test_a_cut_chain_keeps_the_drives_of_its_joints(ur5):
    cut = ur5.chain(tip="forearm").measured
    assert cut.friction == ur5.measured.friction[:3]
    np.testing.assert_array_equal(cut.current.b, ur5.measured.current.b[:3])


def test_copies_and_pickles_keep_the_table(ur5):
    for other in (pickle.loads(pickle.dumps(ur5)), copy.deepcopy(ur5)):  # noqa: S301 - our own
        assert other.measured == ur5.measured


def test_a_written_table_without_another_sheet():
    robot = robot_from_text(
        TWO
        + """
[measured]
source = "book p. 3"
viscous = { value = [1, 2], unit = "N m s/rad" }
torque_constant = { value = 5, unit = "N m/A" }
rotor_inertia = { value = 1e6, unit = "g mm^2" }
"""
    )
    assert robot.measured == Measured(
        (Friction(1.0), Friction(2.0)),
        CurrentMap([5.0, 5.0], [0.0, 0.0]),
        np.array([1e-3, 1e-3]),
        "viscous, torque constant, rotor inertia: A. Author, Textbook, 2001, p. 3",
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('torque_offset = { value = 1, unit = "N m" }', "torque constant of every joint"),
        ("torque_constant = 5", "with its unit"),
        ('torque_constant = { value = -5, unit = "N m/A" }', "at least 0"),
        ('torque_constant = { value = 5, unit = "kg" }', "kg"),
        ("speed = 1", "unknown key 'speed'"),
        ('from = "nobody"', "cannot take measured drives from 'nobody'.*nearest"),
        ('from = "ur5"', "cannot take measured drives from 'ur5'"),  # six joints
        ("from = 5", "from must be text"),
    ],
)
def test_a_defective_table_is_refused_with_its_line(lines, message):
    with pytest.raises(DescriptionError, match=f"(?s)sheet:1[1-9].*measured.*{message}"):
        robot_from_text(f"{TWO}[measured]\n{lines}\n")


def test_drives_of_another_number_of_joints_are_refused(ur5):
    with pytest.raises(InputError, match="6 joints, the arm has 3"):
        replace(aw.load("planar3"), measured=ur5.measured)


def test_every_number_of_004_stands_in_one_place():
    rows = {"friction": r"7\.2, *5\.5, *5\.7", "k": r"7\.5, *6\.8, *7\.1", "b": r"-?0\.61, *16(\.0)?, *4\.5"}
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.toml")]
    texts = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in files}
    found = {row: sorted(name for name, text in texts.items() if re.search(what, text)) for row, what in rows.items()}
    assert found == {
        "friction": ["catalogue/ur5-kufieta-c.toml"],
        "k": ["catalogue/ur5-kufieta-c.toml"],
        "b": ["catalogue/ur5.toml"],
    }
