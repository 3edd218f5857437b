# SPDX-License-Identifier: Apache-2.0
"""MuJoCo loads what we write, and gives the same poses, mass matrix and bias forces."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import rnea
from armwright.errors import ArmwrightWarning, NotSupportedError
from armwright.kinematics.forward import tool_pose
from armwright.robot.mjcf.mjcf_write import write_mjcf
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Friction, Limits
from armwright.robot.urdf.urdf_read import read_urdf
from support.arms import random_robot, states
from support.places import DATA
from support.twins import mujoco_twin

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

ROBOTS = [random_robot(11, 1), random_robot(12, 6), random_robot(13, 9), random_robot(14, 8, branches=True)]


def dense_mass_matrix(model: object, data: object) -> np.ndarray:
    """M as MuJoCo has it at the current state."""
    nv = model.nv  # type: ignore[attr-defined]
    M, unit, column = np.zeros((nv, nv)), np.eye(nv), np.zeros(nv)
    for i in range(nv):
        mujoco.mj_mulM(model, data, column, unit[i])
        M[:, i] = column
    return M


def assert_mujoco_agrees(robot: Robot, text: str) -> None:
    model, data, order = mujoco_twin(mujoco, robot, text)
    assert model.nv == robot.n
    ideal = replace(robot, joints=tuple(replace(joint, friction=Friction()) for joint in robot.joints))
    for seed in range(3):
        q, qd, _ = states(robot, seed)
        data.qpos[order], data.qvel[order] = q, qd
        mujoco.mj_forward(model, data)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = data.site("tool").xmat.reshape(3, 3), data.site("tool").xpos
        assert np.abs(T - tool_pose(robot, q)).max() < 1e-12
        M = crba(robot, q)
        assert np.abs(dense_mass_matrix(model, data)[np.ix_(order, order)] - M).max() < 1e-12 * np.abs(M).max()
        bias = rnea(ideal, q, qd, np.zeros(robot.n))
        assert np.abs(data.qfrc_bias[order] - bias).max() < 1e-11 * max(1.0, np.abs(bias).max())


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_mujoco_gives_the_same_numbers(robot: Robot) -> None:
    assert_mujoco_agrees(robot, write_mjcf(robot))


def test_friction_limits_gravity_and_names_arrive() -> None:
    robot = random_robot(15, 4).with_gravity([1.0, 2.0, 3.0])
    model = mujoco.MjModel.from_xml_string(write_mjcf(robot))
    assert model.opt.gravity.tolist() == [1.0, 2.0, 3.0]
    for i, joint in enumerate(robot.joints):
        mine = model.joint(joint.name)
        dof = model.jnt_dofadr[mine.id]
        assert model.dof_damping[dof] == robot.tree.viscous[i, i]
        assert model.dof_frictionloss[dof] == joint.friction.coulomb
        assert bool(model.jnt_limited[mine.id]) == np.isfinite(joint.limits.upper)
        if np.isfinite(joint.limits.upper):
            assert mine.range.tolist() == [joint.limits.lower, joint.limits.upper]
            assert model.actuator(joint.name).forcerange.tolist() == [-joint.limits.effort, joint.limits.effort]
    assert [model.body(i).name for i in range(1, model.nbody)] == [body.name for body in robot.bodies]


def test_rotor_inertia_becomes_armature_and_coupling_is_announced() -> None:
    robot = random_robot(16, 3)
    diagonal = replace(Actuators.none(3), gear=np.diag([50.0, 80.0, 100.0]), rotor_inertia=np.array([1e-4, 1e-4, 1e-5]))
    assert_mujoco_agrees(replace(robot, actuators=diagonal), write_mjcf(replace(robot, actuators=diagonal)))
    coupled = replace(diagonal, gear=diagonal.gear + 10 * np.eye(3, k=1))
    with pytest.warns(ArmwrightWarning, match="rotor inertia that couples joints"):
        write_mjcf(replace(robot, actuators=coupled))
    joints = tuple(replace(joint, friction=Friction(1.0, 1.0, 0.1)) for joint in robot.joints)
    with pytest.warns(ArmwrightWarning, match="dead zone"):
        write_mjcf(replace(robot, joints=joints))


def test_mimic_joints_become_equalities() -> None:
    robot = read_urdf(DATA / "arm.urdf")
    with pytest.warns(ArmwrightWarning, match="mimic joints"):
        text = write_mjcf(robot)
    model = mujoco.MjModel.from_xml_string(text)
    assert (model.nv, model.neq) == (4, 1)


def test_what_mujoco_cannot_hold_is_refused_by_us_first() -> None:
    robot = random_robot(17, 3)

    def first_body(**changes: object) -> Robot:
        return replace(robot, bodies=(replace(robot.bodies[0], **changes), *robot.bodies[1:]))  # type: ignore[arg-type]

    with pytest.raises(NotSupportedError, match="MuJoCo needs more than 1e-15"):
        write_mjcf(first_body(mass=0.0))
    with pytest.raises(NotSupportedError, match="MuJoCo needs more than 1e-15"):
        write_mjcf(first_body(inertia=np.zeros((3, 3))))
    with pytest.raises(NotSupportedError, match="triangle inequality"):
        write_mjcf(first_body(inertia=np.diag([0.1, 0.1, 0.3])))
    stuck = (replace(robot.joints[0], limits=Limits(1.0, 1.0)), *robot.joints[1:])
    with pytest.raises(NotSupportedError, match="lower < upper"):
        write_mjcf(replace(robot, joints=stuck))


def test_massless_bodies_are_padded_on_request() -> None:
    robot = random_robot(19, 5)
    bodies = [
        replace(body, mass=0.0, inertia=np.zeros((3, 3))) if i == 1 else body for i, body in enumerate(robot.bodies)
    ]
    bodies[3] = replace(bodies[3], inertia=np.zeros((3, 3)))  # a point mass
    light = replace(robot, bodies=tuple(bodies))
    with pytest.raises(NotSupportedError, match="massless="):
        write_mjcf(light)
    assert_mujoco_agrees(light, write_mjcf(light, massless="pad"))


def test_an_arm_without_joints_loads() -> None:
    model = mujoco.MjModel.from_xml_string(write_mjcf(Robot("post", (), (), Actuators.none(0))))
    assert model.nv == 0


def test_mujoco_reads_our_urdf_too() -> None:
    from armwright.robot.urdf.urdf_write import write_urdf

    robot = random_robot(18, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mujoco.MjModel.from_xml_string(write_urdf(robot))
    assert model.nv == 5
