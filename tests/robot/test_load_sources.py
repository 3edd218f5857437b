# SPDX-License-Identifier: Apache-2.0
"""`load` takes texts, xacro files and names of robot_descriptions, and says what it needs for them."""

from __future__ import annotations

import sys

import pytest

import armwright as aw
from armwright.errors import DescriptionError, InputError, NotSupportedError
from support.places import DATA

ARM = (DATA / "arm.urdf").read_text(encoding="utf-8")
XACRO = """<robot name="bar" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find parts)/link.xacro"/>
  <xacro:arg name="length" default="0.5"/>
  <link name="base"/>
  <xacro:part name="bar" length="$(arg length)"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/></joint>
  <link name="tip"/>
  <joint name="end" type="fixed"><parent link="bar"/><child link="tip"/><origin xyz="$(arg length) 0 0"/></joint>
</robot>"""
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="part" params="name length">
  <link name="${name}"><inertial><origin xyz="${length/2} 0 0"/><mass value="${2*length}"/>
  <inertia ixx="1e-3" ixy="0" ixz="0" iyy="${length**2/6}" iyz="0" izz="${length**2/6}"/></inertial></link>
</xacro:macro></robot>"""


def test_texts_are_descriptions():
    robot = aw.load("ur5")
    assert aw.load(robot.to_sheet()) == robot
    assert aw.load(ARM) == aw.load(DATA / "arm.urdf")
    assert aw.load("\n" + ARM).n == 3
    assert aw.load(robot.to_mjcf()).n == 6
    with pytest.raises(DescriptionError, match=r"<text>:\d+"):
        aw.load("name = 3\n")
    with pytest.raises(DescriptionError, match="expected <robot>"):
        aw.load("<html/>")


@pytest.fixture
def bar(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/link.xacro").write_text(PART, encoding="utf-8")
    (tmp_path / "bars/urdf").mkdir(parents=True)
    (tmp_path / "bars/package.xml").write_text("<package/>", encoding="utf-8")
    file = tmp_path / "bars/urdf/bar.urdf.xacro"
    file.write_text(XACRO, encoding="utf-8")
    return file


def test_xacro_is_expanded_with_arguments_and_packages(bar, tmp_path):
    pytest.importorskip("xacro", reason="xacro is not installed")
    robot = aw.load(bar)  # the package beside its own
    assert robot.T_tip_tool[0, 3] == 0.5 and robot.bodies[0].mass == 1.0
    longer = aw.load(bar, arguments={"length": "0.8"}, package_roots=[tmp_path])
    assert longer.T_tip_tool[0, 3] == 0.8 and longer.bodies[0].inertia[1, 1] == pytest.approx(0.64 / 6)
    with pytest.raises(DescriptionError, match=r"bar.urdf.xacro: xacro says: .*package 'parts' is in none of") as error:
        aw.load(bar, package_roots=[tmp_path / "bars"])
    assert error.value.rule == "xacro"
    bar.write_text(XACRO.replace('type="continuous"', 'type="ball"'), encoding="utf-8")
    with pytest.raises(DescriptionError, match=r"bar.urdf.xacro \(expanded\):\d+: <joint name=\"turn\">"):
        aw.load(bar)
    with pytest.raises(InputError, match="arguments are those of a xacro file"):
        aw.load("ur5", arguments={"length": "1"})


def test_without_xacro_the_extra_is_named(bar, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(NotSupportedError, match=r"pip install 'armwright\[xacro\]'"):
        aw.load(bar)


def test_names_of_robot_descriptions_are_asked_for_only_when_used(tmp_path, monkeypatch):
    """A package of that name with one arm in it, as the real one has them after fetching."""
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "arm_description.py").write_text(
        f"URDF_PATH, PACKAGE_PATH = {str(DATA / 'arm.urdf')!r}, {str(tmp_path)!r}\n", encoding="utf-8"
    )
    (package / "broken_description.py").write_text("raise OSError('no network')\n", encoding="utf-8")
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert aw.load("arm_description") == aw.load(DATA / "arm.urdf")
    with pytest.raises(DescriptionError, match="has no 'none_description'"):
        aw.load("none_description")
    with pytest.raises(DescriptionError, match="could not fetch 'broken_description': no network"):
        aw.load("broken_description")
    for name in ("robot_descriptions", "robot_descriptions.arm_description"):
        sys.modules.pop(name, None)


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(DescriptionError, match=r"no robot 'ur6' in the catalogue.*ur5"):
        aw.load("ur6")
