# SPDX-License-Identifier: Apache-2.0
"""A corrected description: the numbers of the model in Pinocchio and MuJoCo, everything else as its author wrote it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, NotSupportedError
from armwright.robot.corrected_xml import corrected_xml
from armwright.schema.xml_edit import edited, elements

URDF = """<?xml version="1.0"?>
<!-- drawn by hand, 1 < 2 -->
<robot name="two">
  <link name="base"/>
  <link name="upper">
    <visual><geometry><mesh filename="upper.stl"/></geometry></visual>
    <inertial><origin xyz="0.1 0 0"/><mass value="2"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link   name='lower' />
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/><dynamics friction="9"/></joint>
  <joint name="b" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.5 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <joint name="fixed" type="fixed"><parent link="lower"/><child link="tool"/>
    <origin xyz="0.2 0 0.1" rpy="0.3 0 0"/></joint>
</robot>
"""
MJCF = """<mujoco model="two"><!-- kept -->
  <compiler angle="radian" inertiafromgeom="true"/>
  <worldbody>
    <body name="upper"><joint name="a" axis="0 1 0" range="-2 2" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/>
      <body name="lower" pos="0.5 0 0"><joint name="b" axis="0 0 1"/><geom type="box" size="0.1 0.02 0.02" mass="1"/>
        <body name="tool" pos="0.2 0 0.1"><geom type="sphere" size="0.03" mass="0.4"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def changed(robot):
    """The arm with other bodies, friction and rotors, as a fit finds them."""
    rng = np.random.default_rng(4)
    bodies = []
    for body in robot.bodies:
        A = 0.1 * rng.normal(size=(3, 3))
        spread = A @ A.T + 0.05 * np.eye(3)
        tensor = np.trace(spread) * np.eye(3) - spread
        com = body.com + 0.01 * rng.normal(size=3)
        bodies.append(replace(body, mass=body.mass * 1.3 + 0.1, com=com, inertia=0.5 * (tensor + tensor.T)))
    motors = replace(robot.actuators, rotor_inertia=np.array([0.3, 0.2]), gear=np.eye(2))
    return replace(robot, bodies=tuple(bodies), actuators=motors).with_friction([1.5, 0.7], [4.0, 2.0])


def states(n, rows=20):
    return np.random.default_rng(1).uniform(-1.5, 1.5, (3, rows, n))


def test_a_urdf_gets_the_model_and_keeps_the_rest(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(URDF, encoding="utf-8")
    robot = changed(aw.load(str(path)))
    text = corrected_xml(URDF, robot)
    (tmp_path / "new.urdf").write_text(text, encoding="utf-8")
    again = aw.load(str(tmp_path / "new.urdf"))
    q, qd, qdd = states(2)
    np.testing.assert_allclose(
        aw.inverse_dynamics(again, q, qd, qdd), aw.inverse_dynamics(robot, q, qd, qdd), rtol=0, atol=1e-11
    )
    for kept in ("<!-- drawn by hand, 1 < 2 -->", "upper.stl", 'lower="-2" upper="2" effort="50"'):
        assert kept in text
    assert [p.attributes["name"] for p in elements(text).children if "name" in p.attributes] == [
        p.attributes["name"] for p in elements(URDF).children if "name" in p.attributes
    ]
    assert {f.name for f in again.frames} == {f.name for f in robot.frames}


def test_a_corrected_urdf_in_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="the extra [check] is not installed")
    robot = changed(aw.Robot.from_urdf(URDF))
    model = pin.buildModelFromXML(corrected_xml(URDF, robot))
    model.armature = np.diag(robot.tree.armature).copy()  # URDF has no word for it
    data, free = model.createData(), robot.with_friction([0.0, 0.0], [0.0, 0.0])
    for q, qd, qdd in zip(*states(2), strict=True):
        np.testing.assert_allclose(pin.rnea(model, data, q, qd, qdd), aw.inverse_dynamics(free, q, qd, qdd), atol=1e-9)


def test_a_corrected_mjcf_in_mujoco():
    mujoco = pytest.importorskip("mujoco", reason="the extra [check] is not installed")
    robot = changed(aw.Robot.from_mjcf(MJCF))
    text = corrected_xml(MJCF, robot)
    assert "<!-- kept -->" in text and 'type="capsule"' in text
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    np.testing.assert_allclose(model.dof_frictionloss, [4.0, 2.0])
    wet = robot.with_friction([1.5, 0.7], [0.0, 0.0])  # inverse dynamics of MuJoCo leaves frictionloss to its solver
    model.dof_frictionloss[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    for q, qd, qdd in zip(*states(2), strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(data.qfrc_inverse, aw.inverse_dynamics(wet, q, qd, qdd), atol=1e-9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (URDF.replace('"upper"', '"other"'), "no link 'upper'"),
        (MJCF.replace("<compiler", '<include file="x.xml"/><compiler'), "includes"),
        (MJCF.replace("<compiler", '<compiler settotalmass="3"/><compiler'), "settotalmass"),
        ("<thing/>", "neither"),
    ],
)
def test_what_cannot_be_corrected_is_refused(text, said):
    robot = changed(aw.Robot.from_mjcf(MJCF) if "mujoco" in text else aw.Robot.from_urdf(URDF))
    with pytest.raises((InputError, NotSupportedError), match=said):
        corrected_xml(text, robot)


def test_nothing_but_what_is_named_changes():
    root = elements(URDF)
    assert edited(URDF, []) == URDF
    ends = [place for place in root.walk() if place.tag == "mass"]
    text = edited(URDF, [(place.start, place.end, '<mass value="7"/>') for place in ends])
    assert re.sub(r'<mass value="7"/>', "M", text) == re.sub(r'<mass value="[\d.]+"/>', "M", URDF)
