# SPDX-License-Identifier: Apache-2.0
"""Arms for the kinematics tests: random ones, and families given by their tables."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.robot.load import load as read_catalogue
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Joint
from armwright.robot.tables.dh import from_dh

H = 0.5 * np.pi
TURN = 2.0 * np.pi

# robots are frozen and keep their compiled kernels: one of each serves all tests
load = cache(read_catalogue)


def random_pose(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Q * np.sign(np.linalg.det(Q)), rng.uniform(-0.4, 0.4, 3)
    return T


@cache
def random_arm(seed, n=5, *, mimic=False, prismatic=0.3):
    """A chain with oblique axes, base and tool; with `mimic`, a last body that shares the first coordinate."""
    rng = np.random.default_rng(seed)
    kinds = ["prismatic" if rng.random() < prismatic else "revolute" for _ in range(n)]
    bodies = []
    for i in range(n + mimic):
        axis = rng.normal(size=3)
        law = {"joint": 0, "ratio": -0.7, "offset": 0.3} if i == n else {"joint": i}
        bodies.append(
            Body(
                f"b{i}",
                i - 1,
                T_parent_joint=random_pose(rng),
                axis=axis / np.linalg.norm(axis),
                T_joint_link=random_pose(rng),
                mass=rng.uniform(0.5, 2.0),
                com=rng.uniform(-0.2, 0.2, 3),
                inertia=0.1 * np.eye(3),
                **law,
            )
        )
    joints = tuple(Joint(f"j{i}", kind) for i, kind in enumerate(kinds))
    return Robot(
        f"random{seed}",
        joints,
        tuple(bodies),
        Actuators.none(n),
        T_base_root=random_pose(rng),
        tip=len(bodies) - 1,
        T_tip_tool=random_pose(rng),
    )


def pinocchio_twin(pin, robot):
    """The same chain in Pinocchio, with the tool as an operational frame; returns model and the frame's index."""
    model = pin.Model()
    for body in robot.bodies:
        kind = robot.joints[body.joint].kind
        joint = (pin.JointModelRevoluteUnaligned if kind == "revolute" else pin.JointModelPrismaticUnaligned)(body.axis)
        before = robot.bodies[body.parent].T_joint_link if body.parent >= 0 else robot.T_base_root
        index = model.addJoint(body.parent + 1, joint, pin.SE3(before @ body.T_parent_joint), body.name)
    place = pin.SE3(robot.bodies[robot.tip].T_joint_link @ robot.T_tip_tool)
    return model, model.addFrame(pin.Frame("tool", index, place, pin.FrameType.OP_FRAME))


@cache
def ur_family(d1, a2, a3, d4, d5, d6, name="ur", right=H):
    """Standard DH of the UR arms; `right` lets a description round its right angles."""
    table = [[0, d1, 0, right], [0, 0, a2, 0], [0, 0, a3, 0], [0, d4, 0, right], [0, d5, 0, -right], [0, d6, 0, 0]]
    return from_dh(table, name=name, limits=[(-TURN, TURN)] * 6)


UR3 = (0.1519, -0.24365, -0.21325, 0.11235, 0.08535, 0.0819)
UR5 = (0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823)
UR10 = (0.1273, -0.612, -0.5723, 0.163941, 0.1157, 0.0922)


@cache
def general_6r(seed):
    """Six revolute joints in general position: no closed form."""
    rng = np.random.default_rng(seed)
    columns = [np.zeros(6), rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.4, 0.4, 6), rng.uniform(-np.pi, np.pi, 6)]
    return from_dh(np.stack(columns, axis=1), name=f"general{seed}")


def apart(a, b):
    """Largest difference of joint angles mod 2π, over the last axis."""
    d = np.asarray(a) - np.asarray(b)
    return np.abs(d - TURN * np.round(d / TURN)).max(axis=-1)


def among(batch, q):
    """Whether configurations q (B, n) are among the solutions of each target (B,)."""
    used = np.arange(batch.solutions.shape[-2]) < batch.count[..., None]
    return ((apart(batch.solutions, q[:, None]) < 1e-6) & used).any(axis=-1)
