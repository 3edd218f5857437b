# SPDX-License-Identifier: Apache-2.0
"""What MuJoCo makes of an MJCF file, we make of it: poses, mass matrix, bias forces; what is no arm is refused."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import rnea
from armwright.errors import ArmwrightWarning, DescriptionError, InputError
from armwright.kinematics.forward import frame_pose
from armwright.kinematics.frame_names import body_index
from armwright.robot.mjcf.mjcf_read import read_mjcf
from armwright.robot.mjcf.mjcf_write import write_mjcf
from support.arms import random_robot

# every way to write a pose, an inertia and a default that an arm may use
ARM = """<mujoco model="everything">
  <compiler eulerseq="XyZ" boundmass="0.05" boundinertia="1e-4"/>
  <option gravity="0.5 0 -9.7"/>
  <default>
    <joint armature="0.01" damping="0.2"/>
    <geom density="800" size="0.04"/>
    <default class="strong">
      <joint armature="0.3" frictionloss="1.5" range="-120 150"/>
      <motor forcerange="-50 80"/>
      <default class="slim"><geom type="capsule" size="0.02 0.1"/></default>
    </default>
  </default>
  <worldbody>
    <site name="corner" pos="1 2 3"/>
    <geom type="plane" size="1 1 1"/>
    <body name="stand" pos="0.1 0 0.2" euler="10 20 30">
      <geom type="box" size="0.1 0.1 0.2"/>
      <body name="shoulder" pos="0 0 0.3" axisangle="1 1 0 40" childclass="strong">
        <inertial pos="0.02 0 0.05" mass="3" fullinertia="0.02 0.03 0.025 0.001 -0.002 0.003"/>
        <joint name="j1" axis="0 0.2 1"/>
        <geom type="mesh" mesh="lost" mass="0"/>
        <body name="upper" pos="0.05 0 0.1" xyaxes="0 1 0 -1 0 0.3">
          <joint name="j2" axis="1 0 0" pos="0 0.02 -0.03" ref="25"/>
          <joint name="j3" class="main" axis="0 1 0" pos="0.01 0 0"/>
          <geom class="slim" fromto="0 0 0 0.05 0.1 0.3"/>
          <geom type="ellipsoid" size="0.03 0.05 0.02" pos="0 0 0.1" zaxis="1 1 1"/>
          <frame pos="0 0 0.2" euler="0 0 45">
            <geom type="cylinder" size="0.03 0.06" mass="0.7" quat="1 1 0 0"/>
            <geom type="box" fromto="0 0 0 0.1 0 0" size="0.01 0.02 0.04"/>
            <site name="camera" pos="0 0.05 0" euler="90 0 0"/>
            <body name="fore" pos="0 0 0.1">
              <joint name="slide" type="slide" axis="0 0 1" range="-0.1 0.2" ref="0.05"/>
              <geom type="box" size="0.02 0.03 0.1" group="1"/>
              <geom type="sphere" pos="0.1 0 0"/>
              <body name="cap" pos="0 0.1 0">
                <inertial pos="0 0.01 0" euler="0 40 0" mass="0.2" diaginertia="2e-4 3e-4 2.5e-4"/>
              </body>
              <site name="tool" pos="0 0 0.1"/>
            </body>
          </frame>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="j1" class="strong" gear="2"/><position joint="slide" forcerange="-9 9"/></actuator>
</mujoco>"""
MESH = '<geom type="mesh" mesh="lost" mass="0"/>'  # MuJoCo itself would look for the file


def dense(mujoco, model, data):
    M, unit, column = np.zeros((model.nv, model.nv)), np.eye(model.nv), np.zeros(model.nv)
    for i in range(model.nv):
        mujoco.mj_mulM(model, data, column, unit[i])
        M[:, i] = column
    return M


def assert_mujoco_agrees(robot, text):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = mujoco.MjModel.from_xml_string(text)
    data, rng = mujoco.MjData(model), np.random.default_rng(5)
    assert robot.joint_names == tuple(model.joint(i).name for i in range(model.njnt))
    named = [(model.body(i).name, data.body(i)) for i in range(1, model.nbody)]
    named += [(model.site(i).name, data.site(i)) for i in range(model.nsite)]
    for _ in range(3):
        q, qd = rng.uniform(-1.5, 1.5, (2, robot.n))
        data.qpos[:], data.qvel[:] = q, qd
        mujoco.mj_forward(model, data)
        for name, found in named:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = found.xmat.reshape(3, 3), found.xpos
            ours = np.asarray(frame_pose(robot, q, body_index(robot, name)), dtype=np.float64)
            np.testing.assert_allclose(ours, T, atol=1e-12, err_msg=name)
        M = crba(robot, q)
        np.testing.assert_allclose(M, dense(mujoco, model, data), atol=1e-12 * np.abs(M).max())
        bias = rnea(robot, q, qd, np.zeros(robot.n), friction=False)
        np.testing.assert_allclose(bias, data.qfrc_bias, atol=1e-11 * np.abs(bias).max())


def test_everything_that_an_arm_may_say():
    robot = read_mjcf(ARM)
    assert_mujoco_agrees(robot, ARM.replace(MESH, ""))
    assert set(robot.frame_names) >= {"world", "corner", "stand", "camera", "cap"} and robot.is_chain
    one, two, three, four = robot.joints
    assert (one.limits.lower, one.limits.upper) == pytest.approx(np.deg2rad([-120, 150]))
    assert (one.limits.effort, four.limits.effort) == (160.0, 9.0)
    assert (one.friction.coulomb, two.friction.coulomb, three.friction.coulomb) == (1.5, 1.5, 0.0)
    assert [joint.friction.viscous for joint in robot.joints] == [0.2] * 4
    assert robot.actuators.rotor_inertia.tolist() == [0.3, 0.3, 0.01, 0.3]
    assert (four.limits.lower, four.limits.upper, three.limits.upper) == (-0.1, 0.2, np.inf)


@pytest.mark.parametrize("seed, branches", [(21, False), (22, True)])
def test_what_we_write_we_read(seed, branches):
    robot = random_robot(seed, 5, branches=branches).with_frame("camera", np.eye(4))
    text = write_mjcf(robot)
    back = read_mjcf(text)
    assert_mujoco_agrees(back, text)
    assert {body.name for body in back.bodies} == {body.name for body in robot.bodies}
    q = np.linspace(-1.0, 1.0, robot.n)
    named = dict(zip(robot.joint_names, q, strict=True))
    other = np.array([named[name] for name in back.joint_names])
    np.testing.assert_allclose(frame_pose(back, other), frame_pose(robot, q), atol=1e-12)


def test_linear_equalities_are_shared_coordinates():
    joints = '<equality><joint joint1="j3" joint2="j2" polycoef="0.1 -2"/></equality></mujoco>'
    robot, free = read_mjcf(ARM.replace("</mujoco>", joints)), read_mjcf(ARM)
    q = np.array([0.3, 0.4, 0.01])
    j3 = 0.1 - 2.0 * (q[1] - np.deg2rad(25))
    full, G = np.array([q[0], q[1], j3, q[2]]), np.array([[1, 0, 0], [0, 1, 0], [0, -2, 0], [0, 0, 1]])
    np.testing.assert_allclose(frame_pose(robot, q), frame_pose(free, full), atol=1e-14)
    M = crba(free, full, rotors=False)
    np.testing.assert_allclose(crba(robot, q, rotors=False), G.T @ M @ G, atol=1e-12)


def test_load_tells_mjcf_from_urdf_and_follows_includes(tmp_path):
    head, tail = ARM.split("<worldbody>", 1)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/world.xml").write_text(
        f"<mujocoinclude><worldbody>{tail.split('<actuator>')[0]}</mujocoinclude>", encoding="utf-8"
    )
    model = tmp_path / "model.xml"
    model.write_text(f'{head}<include file="parts/world.xml"/></mujoco>', encoding="utf-8")
    assert aw.load(model).bodies == read_mjcf(ARM).bodies
    with pytest.warns(ArmwrightWarning, match="locked beside the chain, mass kept: slide"):
        arm = aw.load(model, base="shoulder", tip="upper")
    assert (arm.n, arm.frames[0].name) == (2, "shoulder")
    for name in ("../secret.xml", "/etc/passwd"):
        model.write_text(f'{head}<include file="{name}"/></mujoco>', encoding="utf-8")
        with pytest.raises(DescriptionError, match="path-inside-root"):
            aw.load(model)
    with pytest.raises(InputError, match="no body 'elbow'; bodies are stand, shoulder"):
        read_mjcf(ARM, base="elbow")


REFUSED = {
    "free": ('<joint name="j1" axis="0 0.2 1"/>', '<freejoint name="j1"/>', "joint-type", "an arm stands on something"),
    "ball": ('type="slide"', 'type="ball"', "joint-type", "three hinges"),
    "several": (
        "</worldbody>",
        '<body name="b"><joint/></body></worldbody>',
        "single-root",
        "2 machines, 'stand', 'b'",
    ),
    "mesh": ('mesh="lost" mass="0"/>', 'mesh="lost"/><joint/>', "mesh-inertia", "give the body its <inertial>"),
    "loop": (
        "<actuator>",
        '<equality><weld body1="fore" body2="stand"/></equality><actuator>',
        "closed-loop",
        "closes a loop",
    ),
    "class": ('<geom class="slim"', '<geom class="slam"', "known-class", "classes are main, strong, slim"),
    "range": ('range="-0.1 0.2"', 'range="0.2 -0.1"', "limit-order", "must be less than"),
    "mass": ('mass="0.7"', 'mass="-0.7"', "not-negative", "negative"),
    "nan": ('mass="3"', 'mass="nan"', "finite-number", "not finite"),
    "replicate": (
        '<site name="tool"',
        '<replicate count="3"/><site name="tool"',
        "mjcf-element",
        "write the whole model",
    ),
    "total": ("boundmass", 'settotalmass="3" boundmass', "compiler", "rescales"),
    "moment": ("0.02 0.03 0.025 0.001", "-0.02 0.03 0.025 0.001", "inertia-triangle", "break the triangle"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_arm_is_refused_with_place_and_rule(name, tmp_path):
    old, new, rule, words = REFUSED[name]
    assert old in ARM
    text = ARM.replace(old, new, 1)
    if name == "mesh":  # the body has an inertial, which would do
        text = text.replace("<compiler ", '<compiler inertiafromgeom="true" ').replace("<joint/>", "")
    file = tmp_path / "model.xml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DescriptionError, match=words) as caught:
        aw.load(file)
    assert caught.value.rule == rule
    assert caught.value.where.startswith(f"{file}:") and "<" in caught.value.where


def test_what_an_arm_here_does_not_have_is_named():
    text = ARM.replace('name="j1" axis', 'name="j1" stiffness="3" axis').replace(
        'name="fore"', 'name="fore" gravcomp="1"'
    )
    with pytest.warns(ArmwrightWarning, match=r"left out.*gravity compensation.*springs"):
        read_mjcf(text)
