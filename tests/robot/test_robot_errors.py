# SPDX-License-Identifier: Apache-2.0
"""Robots that cannot be: every rule of their parts is told by an error that names the part and what would be valid."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, DescriptionError, InputError, NotSupportedError
from armwright.robot import Actuators, Body, Friction, Joint, Limits, Robot
from armwright.robot.sheet.sheet_read import robot_from_text
from armwright.robot.tables.dh import from_dh, from_mdh, to_dh
from armwright.robot.urdf.urdf_read import read_urdf
from armwright.robot.variations import add_payload
from armwright.schema import xml_text as xml_safe

TWO = (Joint("a"), Joint("b"))
EYE = np.eye(4)


def chain(**changes):
    parts = {"joints": TWO, "bodies": (Body("one", -1, 0, EYE), Body("two", 0, 1, EYE)), "actuators": Actuators.none(2)}
    return Robot("arm", **{**parts, "tip": 1, **changes})


def motors(**changes):
    return replace(Actuators.none(2), **changes)


TURNED = np.diag([1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: chain(joints=(Joint("a"), Joint("a"))), "joint names must be unique, repeated: a"),
        (lambda: chain(bodies=(Body("x", -1, 0, EYE), Body("x", 0, 1, EYE))), "body names must be unique, repeated: x"),
        (lambda: chain(bodies=(Body("x", 0, 0, EYE), Body("y", 0, 1, EYE))), "'x': parent index 0 must lie in -1…-1"),
        (lambda: chain(bodies=(Body("x", -1, 0, EYE), Body("y", 0, 2, EYE))), "'y': joint index 2 must lie in 0…1"),
        (lambda: chain(bodies=(Body("x", -1, 0, EYE),), tip=0), "joint 'b' moves no body"),
        (lambda: chain(tip=2), "tip index 2 must lie in -1…1"),
        (lambda: chain(actuators=Actuators.none(3)), r"actuators.rotor_inertia: expected shape \(2,\)"),
        (lambda: chain(actuators=motors(gear=np.ones((2, 3)))), r"actuators.gear: expected shape \(2, 2\)"),
        (lambda: chain(joints=list(TWO)), "names must be text, joints and bodies tuples"),
        (lambda: motors(viscous=[0.0, np.nan]), "actuators.viscous: NaN"),
        (lambda: Body("x", -1, 0, "pose"), r"'x': T_parent_joint: expected numbers of shape \(4, 4\)"),
        (lambda: Body("x", -1, 0, np.eye(3)), r"expected shape \(4, 4\), got \(3, 3\)"),
        (lambda: Body("x", -1, 0, EYE, com=[0.0, np.inf, 0.0]), "'x': com: every entry must be finite"),
        (lambda: Body("x", -1, 0, TURNED), "T_parent_joint: upper-left 3×3 block is not a rotation"),
        (lambda: Body("x", -1, 0, 2.0 * EYE), r"last row must be \[0, 0, 0, 1\]"),
        (lambda: Body("x", -1, 0, EYE, axis=[0.0, 0.0, 2.0]), "'x': axis must have unit length"),
        (lambda: Body("x", -1, 0, EYE, inertia=np.triu(np.ones((3, 3)))), "'x': inertia must be symmetric"),
        (lambda: Body("x", -1, 0, EYE, mass=np.nan), "'x': mass must be finite, got nan"),
        (lambda: Limits(effort=-1.0), "limits: effort must be ≥ 0, got -1.0"),
        (lambda: Limits(1.0, -1.0), r"lower \(1.0\) must not exceed upper \(-1.0\)"),
        (lambda: Friction(coulomb=-0.1), "friction: coulomb must be finite and ≥ 0"),
        (lambda: from_dh(np.zeros((2, 4)), colour="red"), "unknown: colour; a chain takes .*name"),
        (lambda: aw.fk("ur5", np.zeros(6)), r"fk: robot must be a Robot, got 'ur5'.*armwright.load\('ur5'\)"),
        (lambda: aw.compile(lambda q, speed: q * speed, chain()), r"parameter 'speed' needs a shape .*shapes="),
    ],
)
def test_what_is_no_robot_is_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()


def test_a_tool_that_no_joint_moves_takes_no_payload_and_has_no_table():
    with pytest.raises(NotSupportedError, match="'arm' is on its fixed root link"):
        add_payload(chain(tip=-1), 1.0)
    with pytest.raises(NotSupportedError, match="the tool of robot 'arm' is not on its last body"):
        to_dh(chain(tip=0))


@pytest.mark.parametrize(
    "text, where, rule",
    [
        ("name = 'x'\nsize = ?", "sheet.toml:2", "TOML syntax"),
        ("x = " + "9" * 5000, "sheet.toml", "TOML syntax"),
        ("sources = 3", "sheet.toml:1", "source"),
        ("[sources]\na = 1", "sheet.toml:1", "source"),
        ("name = 'x'\nsource = 4", "sheet.toml:2", "type"),
        ("[" + ".".join("abcdefghijklmnop") + "]", "sheet.toml", "depth"),
    ],
)
def test_sheets_that_are_none_are_refused_with_file_line_and_rule(text, where, rule):
    with pytest.raises(DescriptionError) as caught:
        robot_from_text(text, "sheet.toml")
    assert caught.value.where.startswith(where) and caught.value.rule == rule


@pytest.mark.parametrize(
    "source, where, rule",
    [
        ("  \n", "<text>:1", "well-formed"),
        (b"", "<text>:1", "well-formed"),
        ("<!-- nothing -->", "<text>:1", "well-formed"),
        ("<robot>\ud800</robot>", "<text>:1", "utf-8"),
        (b"<robot>\xff</robot>", "<text>:1", "utf-8"),
    ],
)
def test_urdfs_without_content_are_refused(source, where, rule):
    with pytest.raises(DescriptionError) as caught:
        read_urdf(source)
    assert (caught.value.where, caught.value.rule) == (where, rule)


def test_urdfs_of_another_kind_and_size_are_refused(monkeypatch):
    with pytest.raises(InputError, match="expected a path, text or bytes, got int"):
        read_urdf(3)
    monkeypatch.setattr(xml_safe, "MAX_BYTES", 2**20)
    with pytest.raises(DescriptionError, match="larger than 1 MiB"):
        read_urdf("<robot>" + " " * 2**20 + "</robot>")


def test_angles_of_a_dh_table_in_degrees_are_told():
    """90 is a sound number of radians; nobody means it."""
    with pytest.warns(ArmwrightWarning, match=r"alpha of row 1 is 90, more than a full turn; that looks like degrees"):
        from_dh([[0.0, 0.1, 0.0, 90.0], [0.0, 0.0, 0.4, 0.0]])
    with pytest.warns(ArmwrightWarning, match=r"theta of row 2 is -180, .*looks like degrees"):
        from_mdh([[0.0, 0.0, 0.0, 0.1], [np.pi / 2, 0.3, -180.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_dh([[np.pi, 20.0, -30.0, -np.pi / 2], [2.0 * np.pi, 0.0, 0.4, 0.0]])  # metres may be large
