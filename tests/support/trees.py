# SPDX-License-Identifier: Apache-2.0
"""Random arms with branches, mimic joints and motors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint, Limits


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else -Q


def random_pose(rng: np.random.Generator, size: float = 0.4) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = random_rotation(rng), rng.uniform(-size, size, 3)
    return T


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Inertia of a cloud of points: satisfies every rule of a real body."""
    points = rng.normal(scale=0.05, size=(12, 3))
    points = points - points.mean(axis=0)
    return np.asarray(np.trace(points.T @ points) * np.eye(3) - points.T @ points) / 12


def random_robot(seed: int, n: int, *, branches: bool = False, mimics: bool = False, motors: bool = False) -> Robot:
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
                inertia=mass * random_inertia(rng),
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
