# SPDX-License-Identifier: Apache-2.0
"""Random arms: rotations, poses, inertias, chains, trees, mimic joints, motors. One builder of each for all tests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint, Limits


def random_rotation(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q if np.linalg.det(Q) > 0 else Q @ np.diag([1.0, 1.0, -1.0])


def random_pose(rng, size=0.4):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = random_rotation(rng), rng.uniform(-size, size, 3)
    return T


def random_inertia(rng):
    """Any positive definite tensor: enough for the algebra of rigid bodies."""
    A = rng.normal(size=(3, 3))
    return 0.02 * (A @ A.T + np.eye(3))


def cloud_inertia(rng):
    """Inertia of a cloud of points, per kilogram: satisfies every rule of a real body."""
    points = rng.normal(scale=0.05, size=(12, 3))
    points = points - points.mean(axis=0)
    return np.asarray(np.trace(points.T @ points) * np.eye(3) - points.T @ points) / 12


@cache
def random_arm(seed, n=5, *, shape="chain", drives="plain", prismatic=0.3):
    """A robot in general position, the same for the same arguments.

    shape: chain, tree, mimic. drives: none, plain (friction, separate motors), coupled (motors sharing joints).
    """
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
    """Return q, qd, qdd, a wrench at the tool, one per body."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.normal(size=(3, robot.n))
    return q, qd, qdd, 5.0 * rng.normal(size=6), 5.0 * rng.normal(size=(len(robot.bodies), 6))


def close(a, b, tolerance):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert np.abs(a - b).max(initial=0.0) <= tolerance * max(1e-12, np.abs(b).max(initial=0.0))


def random_robot(seed: int, n: int, *, branches: bool = False, mimics: bool = False, motors: bool = False) -> Robot:
    """With everything a description can hold: awkward names, limits, offsets, ratios, branches, mimics, motors."""
    rng = np.random.default_rng(seed)
    joints = tuple(
        Joint(
            f"axis {i}",
            "prismatic" if rng.random() < 0.3 else "revolute",
            Limits(-1.5, 2.0, 3.0, 8.0, 50.0) if i % 2 else Limits(),
            Friction(rng.random(), rng.random(), 0.01 * (i % 2) * motors),
        )
        for i in range(n)
    )
    bodies = []
    for i in range(n + 2 * mimics):
        parent = i - 1 if not branches or i < 2 else int(rng.integers(-1, i))
        axis = rng.normal(size=3)
        mass = rng.uniform(0.5, 4.0)
        follower = i >= n
        bodies.append(
            Body(
                name=f'body <{i}> & "é"',
                parent=parent,
                joint=i if not follower else i - n,
                axis=axis / np.linalg.norm(axis),
                T_parent_joint=random_pose(rng),
                T_joint_link=random_pose(rng, 0.2),
                mass=mass,
                com=rng.uniform(-0.1, 0.1, 3),
                inertia=mass * cloud_inertia(rng),
                ratio=rng.uniform(-2, 2) if follower else (-1.0 if i == 1 else 1.0),
                offset=rng.uniform(-1, 1) if i else 0.0,
            )
        )
    actuators = Actuators.none(n)
    if motors:
        actuators = replace(
            actuators,
            gear=np.diag(rng.uniform(20, 100, n)) + 5 * np.eye(n, k=1),
            rotor_inertia=rng.uniform(1e-5, 1e-4, n),
            viscous=rng.uniform(0, 1e-4, n),
            torque_limit=np.where(np.arange(n) % 2, np.inf, 2.5),
        )
    return Robot(
        name=f"random {seed}",
        joints=joints,
        bodies=tuple(bodies),
        actuators=actuators,
        T_base_root=random_pose(rng),
        tip=len(bodies) // 2 if branches else len(bodies) - 1,
        T_tip_tool=random_pose(rng),
        gravity=rng.normal(size=3) * 5 if motors else np.array([0, 0, -9.81]),
    )


def states(robot: Robot, seed: int = 0) -> tuple[np.ndarray, ...]:
    return tuple(np.random.default_rng(seed).uniform(-1.5, 1.5, (3, robot.n)))
