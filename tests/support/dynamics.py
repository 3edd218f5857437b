# SPDX-License-Identifier: Apache-2.0
"""Random arms and their Pinocchio twins, for the dynamics tests."""

from __future__ import annotations

import numpy as np

from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint


def random_rotation(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q if np.linalg.det(Q) > 0 else Q @ np.diag([1.0, 1.0, -1.0])


def random_pose(rng):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = random_rotation(rng), rng.uniform(-0.4, 0.4, 3)
    return T


def random_inertia(rng):
    A = rng.normal(size=(3, 3))
    return 0.02 * (A @ A.T + np.eye(3))


def random_arm(seed, n, *, shape="chain", drives="plain", prismatic=0.3):
    """shape: chain, tree, mimic. drives: none, plain (friction, separate motors), coupled (motors sharing joints)."""
    rng = np.random.default_rng(seed)
    joints, bodies = [], []
    for i in range(n):
        kind = "prismatic" if rng.random() < prismatic else "revolute"
        friction = Friction() if drives == "none" else Friction(*rng.uniform(0.1, 0.5, 2), dead_zone=0.01)
        joints.append(Joint(f"j{i}", kind, friction=friction))
        axis = rng.normal(size=3)
        parent = int(rng.integers(-1, i)) if shape == "tree" and i else i - 1
        bodies.append(
            Body(
                f"b{i}",
                parent,
                i,
                random_pose(rng),
                axis=axis / np.linalg.norm(axis),
                T_joint_link=random_pose(rng),
                mass=rng.uniform(0.5, 3.0),
                com=rng.uniform(-0.2, 0.2, 3),
                inertia=random_inertia(rng),
            )
        )
    if shape == "mimic":
        bodies.append(
            Body(
                "follower",
                n - 1,
                0,
                random_pose(rng),
                T_joint_link=random_pose(rng),
                mass=1.3,
                com=rng.uniform(-0.2, 0.2, 3),
                inertia=random_inertia(rng),
                ratio=-0.7,
                offset=0.3,
            )
        )
    actuators = Actuators.none(n)
    if drives != "none":
        gear = np.diag(rng.uniform(1.0, 5.0, n))
        if drives == "coupled" and n > 1:
            gear[n - 1, n - 2] = 1.5
            gear[min(2, n - 1), min(1, n - 2)] += 0.7
        zero = np.zeros(n)
        none = np.full(n, np.inf)
        rotor, viscous = rng.uniform(0.01, 0.05, n), rng.uniform(0.001, 0.01, n)
        actuators = Actuators(gear, rotor, viscous, zero, none, none, none, zero)
    return Robot(
        f"random{seed}",
        tuple(joints),
        tuple(bodies),
        actuators,
        T_base_root=random_pose(rng),
        tip=len(bodies) - 1,
        T_tip_tool=random_pose(rng),
        gravity=np.array([1.0, -2.0, -9.0]),
    )


def random_state(robot, seed):
    """Return q, qd, qdd, tool wrench, wrench a body."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.normal(size=(3, robot.n))
    return q, qd, qdd, 5.0 * rng.normal(size=6), 5.0 * rng.normal(size=(len(robot.bodies), 6))


def close(a, b, tolerance):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert np.abs(a - b).max(initial=0.0) <= tolerance * max(1e-12, np.abs(b).max(initial=0.0))


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


def pinocchio_forces(pin, robot, model, q, wrench=None, wrenches=None):
    """Our wrenches (tool, or one a link; base axes) as Pinocchio's: joint axes, about the joint origin."""
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
