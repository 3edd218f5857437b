# SPDX-License-Identifier: Apache-2.0
"""The sheet: what it accepts, what it computes, and how it refuses."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armwright.errors import ArmwrightError, ArmwrightWarning, DescriptionError, InputError
from armwright.robot.load import load, robots
from armwright.robot.model import Robot
from armwright.robot.sheet.sheet_read import read_sheet, robot_from_text
from armwright.robot.sheet.sheet_write import write_sheet
from armwright.schema.quantities import UNITS, to_si
from armwright.spatial.inertia import cylinder_inertia, parallel_axis
from support.texts import texts

SHEET = """\
name = "two"
title = "Two links"
notes = "made for tests"
gravity = { value = [0, 0, -9.81], unit = "m/s^2", source = "book p. 1" }

[sources]
book = "A. Author, Textbook, 2001"
own = "measured here"

[geometry]
kind = "dh"
source = "book table 1"
columns = ["theta", "d", "a", "alpha"]
units = ["deg", "mm", "mm", "deg"]
rows = [
    [0, 100, 0, 90],
    [-90, 0, 425, 0],
]

[tool]
pose = { value = [0, 0, 50], unit = "mm", rpy = [0, 90, 0], rpy_unit = "deg" }

[joints]
names = ["waist", "shoulder"]
source = "book table 2"
lower = { value = -180, unit = "deg" }
upper = { value = [180, 90], unit = "deg" }
velocity = { value = 60, unit = "rpm", note = "corrected" }
effort = { value = [150, 28], unit = "N m", source = "own" }
viscous = { value = 0.5, unit = "N m s/rad" }

[actuators]
source = "own"
gear = { value = [[100, 0], [1, 50]], unit = "-" }
rotor_inertia = { value = 1e-4, unit = "kg m^2" }
torque_limit = { value = [5, inf], unit = "N m" }

[bodies.column]
source = "book table 3"
mass = { value = 3.7, unit = "kg" }
com = { value = [0, -25.61, 1.93], unit = "mm" }
inertia = { value = [0.02, 0.02, 0.03, 0.001, 0, 0], unit = "kg m^2", about = "origin" }

[bodies.arm]
source = "book table 3"
mass = { value = 2.0, unit = "kg" }
com = { value = [-200, 0, 0], unit = "mm" }
[bodies.arm.inertia]
kind = "cylinders"
centres = "com"
columns = ["axis", "mass", "height", "radius", "x", "y", "z"]
units = ["-", "kg", "mm", "mm", "mm", "mm", "mm"]
rows = [["x", 1.5, 300, 40, -50, 0, 0], ["z", 0.5, 100, 60, 150, 0, 0]]
"""


SCREWS = """\
name = "slider"
[geometry]
kind = "screws"
columns = ["vx", "vy", "vz", "wx", "wy", "wz"]
units = ["m", "m", "m", "-", "-", "-"]
rows = [[0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]]
home = { value = [0.5, 0, 0.7], unit = "m" }
[joints]
kinds = ["revolute", "prismatic"]
upper = { value = [180, 300], unit = ["deg", "mm"] }
[bodies.a]
mass = { value = 1, unit = "kg" }
inertia = { value = [0.01, 0.01, 0.01], unit = "kg m^2", about = "com" }
[bodies.b]
mass = { value = 1, unit = "kg" }
com = { value = [0.5, 0, 0.7], unit = "m" }
inertia = { kind = "point" }
"""


def changed(old: str, new: str) -> str:
    assert old in SHEET
    return SHEET.replace(old, new, 1)


def test_numbers_arrive_in_si_with_their_sources() -> None:
    robot = robot_from_text(SHEET)
    assert robot.bodies[1].T_joint_link[1, 3] == -0.425
    assert robot.joints[0].limits.velocity == 2.0 * math.pi
    assert [joint.limits.upper for joint in robot.joints] == [math.pi, math.pi / 2]
    assert robot.actuators.gear.tolist() == [[100.0, 0.0], [1.0, 50.0]]
    assert robot.actuators.torque_limit.tolist() == [5.0, math.inf]
    tool = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0.05], [0, 0, 0, 1]]
    np.testing.assert_allclose(robot.T_tip_tool, tool, atol=1e-15)
    source = robot.sources["joints.velocity"]
    assert (source.document, source.place, source.note) == ("A. Author, Textbook, 2001", "table 2", "corrected")
    assert robot.sources["joints.effort"].document == "measured here"
    assert {"geometry.rows", "bodies.arm.mass", "bodies.arm.inertia", "gravity", "actuators.gear"} <= set(robot.sources)


def test_inertia_generators() -> None:
    column, arm = robot_from_text(SHEET).bodies
    c = np.array([0.0, -0.02561, 0.00193])
    about_origin = np.array([[0.02, 0.001, 0.0], [0.001, 0.02, 0.0], [0.0, 0.0, 0.03]])
    np.testing.assert_allclose(parallel_axis(column.inertia, 3.7, c), about_origin, atol=1e-17)
    parts = parallel_axis(cylinder_inertia(1.5, 0.04, 0.3, "x"), 1.5, [-0.05, 0, 0])
    parts = parts + parallel_axis(cylinder_inertia(0.5, 0.06, 0.1, "z"), 0.5, [0.15, 0, 0])
    np.testing.assert_allclose(arm.inertia, parts, rtol=1e-14)
    # The same cylinders placed in the link frame imply mass, centre and the same tensor.
    text = changed('centres = "com"', 'centres = "link"').replace('["x", 1.5, 300, 40, -50', '["x", 1.5, 300, 40, -250')
    text = text.replace("60, 150, 0, 0]", "60, -50, 0, 0]")
    implied = text.replace('mass = { value = 2.0, unit = "kg" }\ncom = { value = [-200, 0, 0], unit = "mm" }\n', "")
    for sheet in (text, implied):
        other = robot_from_text(sheet).bodies[1]
        assert other.mass == 2.0
        np.testing.assert_allclose(other.com, arm.com, atol=1e-16)
        np.testing.assert_allclose(other.inertia, arm.inertia, rtol=1e-13, atol=1e-17)


@pytest.mark.parametrize(
    ("value", "unit", "si"),
    [
        (90, "deg", math.pi / 2),
        (425, "mm", 0.425),
        (392.25, "mm", 0.39225),
        (30, "rpm", math.pi),
        (30, "1/min", math.pi),
        (180, "deg/s", math.pi),
        (1e9, "g mm^2", 1.0),
        (3.7, "kg", 3.7),
        (101, "N m/A", 101.0),
    ],
)
def test_units_convert_exactly(value: float, unit: str, si: float) -> None:
    assert to_si(value, unit) == si


DEFECTS = {
    "syntax": (changed('name = "two"', "name = two"), "TOML syntax", 1),
    "duplicate body": (SHEET + "\n[bodies.arm]\n", "TOML syntax", None),
    "unknown unit": (changed('3.7, unit = "kg"', '3.7, unit = "lb"'), "unit", 40),
    "wrong dimension": (changed('3.7, unit = "kg"', '3.7, unit = "m"'), "unit", 40),
    "no unit": (changed('3.7, unit = "kg"', "3.7"), "unit", 40),
    "bare number": (changed('{ value = 3.7, unit = "kg" }', "3.7"), "quantity", 40),
    "NaN": (changed("3.7", "nan"), "finite", 40),
    "infinite": (changed("3.7", "inf"), "finite", 40),
    "huge": (changed("3.7", "1e300"), "magnitude", 40),
    "digits": (changed("3.7", "1" + "0" * 400), "number", 40),
    "text": (changed("value = 3.7", 'value = "heavy"'), "number", 40),
    "truth": (changed("value = 3.7", "value = true"), "number", 40),
    "negative mass": (changed("3.7", "-3.7"), "range", 40),
    "short vector": (changed("[0, -25.61, 1.93]", "[0, -25.61]"), "length", 41),
    "short row": (changed("[-90, 0, 425, 0]", "[-90, 0, 425]"), "length", 15),
    "columns": (changed('["theta", "d", "a", "alpha"]', '["theta", "d", "a", "beta"]'), "columns", None),
    "column unit": (changed('["deg", "mm", "mm", "deg"]', '["deg", "mm", "kg", "deg"]'), "unit", None),
    "unknown key": (changed("mass = { value = 3.7", "weight = { value = 3.7"), "unknown key", 40),
    "unknown key in quantity": (changed('unit = "kg" }', 'unit = "kg", units = 3 }'), "unknown key", 40),
    "unknown section": (SHEET + "\n[colour]\nred = 1\n", "unknown key", None),
    "unknown source": (changed('"book table 3"', '"bible table 3"'), "source", 39),
    "no about": (changed(', about = "origin"', ""), "about", 42),
    "no geometry": (changed("[geometry]", "[geometri]"), "unknown key", None),
    "too few bodies": (SHEET[: SHEET.index("[bodies.arm]")], "length", None),
    "kind": (changed('kind = "dh"', 'kind = "dhh"'), "kind", 11),
    "limits swapped": (changed("lower = { value = -180", "lower = { value = 200"), "limits ordered", 26),
    "negative speed": (changed("value = 60", "value = -60"), "range", 28),
    "names repeated": (changed('["waist", "shoulder"]', '["waist", "waist"]'), "unique names", 24),
    "gear singular": (changed("[[100, 0], [1, 50]]", "[[100, 0], [1, 0]]"), "gear", 34),
    "gear shape": (changed("[[100, 0], [1, 50]]", "[[100, 0, 0], [1, 50, 0]]"), "length", 34),
    "asymmetric": (changed("[0.02, 0.02, 0.03, 0.001, 0, 0]", "[[1, 0, 0.1], [0, 1, 0], [0, 0, 1]]"), "symmetric", 42),
    "extends nothing": ('extends = "nobody"\n' + SHEET, "extends", 1),
    "extends a path": ('extends = "../secret"\n' + SHEET, "extends", 1),
    "oversize": (SHEET + "#" * 1_000_001, "size", None),
    "deep": ("name = " + "[" * 5000 + "]" * 5000, "TOML syntax", None),
    "deep tables": ("a" + ".a" * 500 + " = 1\n" + SHEET, "depth", None),
    "endless key": (SHEET + '\n["' + 'a b" . "' * 100_000 + 'a"]\n', "depth", 55),
    "endless key in a value": (changed("3.7", "{ " + "a." * 300_000 + "a = 1 }"), "depth", 40),
    "many bodies": (SHEET + "".join(f"\n[bodies.b{i}]\n" for i in range(300)), "rows", None),
    "impossible tensor": (changed("[0.02, 0.02, 0.03, 0.001, 0, 0]", "[0.01, 0.02, 0.5]"), "triangle inequality", 42),
}


def test_screws_with_units_joint_by_joint() -> None:
    robot = robot_from_text(SCREWS)
    assert [joint.limits.upper for joint in robot.joints] == [math.pi, 0.3]
    for old, new, rule in (
        ("0, 0, 1]", "0, 0, 2]", "screws"),
        ("[0, 0, 0, 0", "[0, 0, 1, 0", "screws"),
        ('"prismatic"', '"revolute"', "unit"),
        ("[joints]", "[tool]\n[joints]", "screws"),
    ):
        with pytest.raises(DescriptionError) as caught:
            robot_from_text(SCREWS.replace(old, new, 1))
        assert caught.value.rule == rule


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_refused_with_line_and_rule(defect: str) -> None:
    text, rule, line = DEFECTS[defect]
    with pytest.raises(DescriptionError) as caught:
        robot_from_text(text, "two.toml")
    assert caught.value.rule == rule, str(caught.value)
    assert str(caught.value).startswith("two.toml")
    if line is not None:
        assert re.match(rf"two\.toml:{line}\b", str(caught.value)), str(caught.value)


def test_messages_say_what_would_be_valid() -> None:
    with pytest.raises(DescriptionError, match=r"two:40: bodies\.column\.mass: unknown unit 'lb'; valid here: kg, g"):
        robot_from_text(changed('3.7, unit = "kg"', '3.7, unit = "lb"'), "two")
    with pytest.raises(DescriptionError, match="valid keys here: mass, com, inertia, data_origin"):
        robot_from_text(changed("mass = { value = 3.7", "weight = { value = 3.7"))


def test_implausible_loads_with_a_warning_when_asked() -> None:
    text = DEFECTS["impossible tensor"][0]
    with pytest.warns(ArmwrightWarning, match="largest exceeds the sum"):
        assert robot_from_text(text, implausible="warn").n == 2
    with pytest.raises(InputError, match="implausible"):
        robot_from_text(SHEET, implausible="maybe")  # type: ignore[arg-type]


def test_extends_overrides_and_keeps_each_citation(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SHEET, encoding="utf-8")
    child = tmp_path / "heavy.toml"
    child.write_text(
        'name = "heavy"\nextends = "two"\n[sources]\nscale = "kitchen scale"\n'
        '[bodies.arm]\nsource = "scale Tuesday"\nmass = { value = 5, unit = "kg" }\n',
        encoding="utf-8",
    )
    robot = read_sheet(child)
    assert (robot.name, robot.bodies[1].mass, robot.bodies[0].mass) == ("heavy", 5.0, 3.7)
    assert robot.sources["bodies.arm.mass"].document == "kitchen scale"
    assert robot.sources["bodies.arm.com"].document == "A. Author, Textbook, 2001"
    mine = tmp_path / "ur5.toml"
    mine.write_text('name = "my ur5"\nextends = "ur5"\n', encoding="utf-8")
    assert read_sheet(mine).bodies[2].mass == 2.33
    (tmp_path / "two.toml").write_text('extends = "heavy"\n' + SHEET, encoding="utf-8")
    with pytest.raises(DescriptionError, match=r"circle.*heavy\.toml") as caught:
        read_sheet(child)
    assert caught.value.rule == "extends"


def test_load_finds_names_and_files(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SHEET, encoding="utf-8")
    assert load(tmp_path / "two.toml").name == "two"
    assert load("ur5").n == 6
    with pytest.raises(DescriptionError, match=r"no robot 'ur-5'.*nearest: ur5"):
        load("ur-5")
    with pytest.raises(DescriptionError, match="cannot read"):
        load(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(DescriptionError, match="UTF-8"):
        load(tmp_path / "latin.toml")
    with pytest.raises(InputError, match="base and tip"):
        load("ur5", tip="wrist_3")
    with pytest.raises(InputError):
        load(5)  # type: ignore[arg-type]
    with pytest.raises(DescriptionError):
        load("ur5\0")
    entry = next(entry for entry in robots() if entry.name == "panda")
    assert entry.n == 7
    assert "Gaz" in entry.source


FRAGMENTS = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1e-300",
    "[]",
    "[[]]",
    '""',
    "{}",
    "true",
    "1979-05-27",
    "9" * 400,
    '"mm"',
    "kind",
    "value",
    "rows",
    ".",
    "=",
    "[",
    "]",
    "[bodies.arm]",
    "[tool]",
    'extends = "ur5"',
    "\n",
    "\x00",
    "é",
]


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_mutation_gives_a_robot_or_an_armwright_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([SHEET, SCREWS, write_sheet(robot_from_text(SHEET))]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        if data.draw(st.booleans()):
            tokens = [m.span() for m in re.finditer(r"[-\w.^/]+|\[[^\[\]]*\]", text)]
            start, end = data.draw(st.sampled_from(tokens))
        else:
            end = min(len(text), start + data.draw(st.integers(0, 30)))
        text = text[:start] + data.draw(st.sampled_from(FRAGMENTS) | texts(5)) + text[end:]
    try:
        robot = robot_from_text(text)
    except ArmwrightError:
        return
    assert isinstance(robot, Robot)
    assert np.isfinite(robot.tree.J).all()


def test_every_unit_has_a_dimension_and_a_positive_factor() -> None:
    assert all(up > 0 and down > 0 for _, up, down in UNITS.values())
