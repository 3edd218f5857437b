# SPDX-License-Identifier: Apache-2.0
"""The same arm in Pinocchio and in MuJoCo."""

from __future__ import annotations

import numpy as np

from armwright.robot.mjcf.mjcf_write import write_mjcf


def pinocchio_model(pin, robot):
    """The same rigid bodies in Pinocchio; each joint frame is the moved joint frame of the body."""
    model = pin.Model()
    model.gravity = pin.Motion(robot.gravity, np.zeros(3))
    for body in robot.bodies:
        kind = robot.joints[body.joint].kind
        joint = (pin.JointModelRevoluteUnaligned if kind == "revolute" else pin.JointModelPrismaticUnaligned)(body.axis)
        before = robot.bodies[body.parent].T_joint_link if body.parent >= 0 else robot.T_base_root
        index = model.addJoint(body.parent + 1, joint, pin.SE3(before @ body.T_parent_joint), body.name)
        inertia = pin.Inertia(body.mass, body.com, body.inertia)
        model.appendBodyToJoint(index, inertia, pin.SE3(body.T_joint_link))
    return model


def pinocchio_twin(pin, robot):
    """As `pinocchio_model`, with the tool as an operational frame; returns model and the frame's index."""
    model = pinocchio_model(pin, robot)
    place = pin.SE3(robot.bodies[robot.tip].T_joint_link @ robot.T_tip_tool)
    return model, model.addFrame(pin.Frame("tool", robot.tip + 1, place, pin.FrameType.OP_FRAME))


def mujoco_twin(mujoco, robot, text=None, **options):
    """Model, data, and the place of every joint in MuJoCo's order; of `text`, or of what we write with `options`."""
    model = mujoco.MjModel.from_xml_string(text or write_mjcf(robot, **options))
    return model, mujoco.MjData(model), [model.jnt_dofadr[model.joint(joint.name).id] for joint in robot.joints]


def pinocchio_forces(pin, robot, model, q, wrench=None, wrenches=None):
    """Our wrenches (tool, or one per link; base axes) as Pinocchio's: joint axes, about the joint origin."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    forces = [np.zeros(6) for _ in range(model.njoints)]
    loads = [] if wrenches is None else [(i, robot.bodies[i].T_joint_link, w) for i, w in enumerate(wrenches)]
    if wrench is not None:
        loads.append((robot.tip, robot.bodies[robot.tip].T_joint_link @ robot.T_tip_tool, wrench))
    for i, T_joint_point, w in loads:
        R = data.oMi[i + 1].rotation
        f, n, arm = R.T @ w[:3], R.T @ w[3:], T_joint_point[:3, 3]
        forces[i + 1] = forces[i + 1] + np.concatenate([f, n + np.cross(arm, f)])
    out = pin.StdVec_Force()
    for force in forces:
        out.append(pin.Force(force))
    return out
