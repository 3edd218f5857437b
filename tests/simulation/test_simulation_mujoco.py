# SPDX-License-Identifier: Apache-2.0
"""The same model in MuJoCo (`to_mjcf`), driven by the same held torques with the same integrator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.control import computed_torque, pd_gravity
from armwright.motion import quintic
from armwright.robot.load import load
from armwright.robot.parts import Actuators, Friction
from armwright.simulation import simulate
from support.arms import random_robot
from support.twins import mujoco_twin

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")


def replay(robot, recording, *, integrator, massless="refuse"):
    """Drive MuJoCo through the recorded torques, one step a tick; return q and qd (T, n)."""
    model, data, order = mujoco_twin(mujoco, robot, massless=massless)
    model.opt.timestep = recording.time[1]
    model.opt.integrator = integrator
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    data.qpos[order], data.qvel[order] = recording["q"][0], recording["qd"][0]
    q, qd = [data.qpos[order].copy()], [data.qvel[order].copy()]
    for tau in recording["tau"][:-1]:
        data.qfrc_applied[order] = tau
        mujoco.mj_step(model, data)
        q.append(data.qpos[order].copy())
        qd.append(data.qvel[order].copy())
    return np.array(q), np.array(qd)


def ideal(robot):
    joints = tuple(replace(joint, friction=Friction()) for joint in robot.joints)
    return replace(robot, joints=joints, actuators=Actuators.none(robot.n))


RK4 = mujoco.mjtIntegrator.mjINT_RK4


def test_ur5_under_computed_torque():
    robot = ideal(load("ur5"))
    path = quintic(np.zeros(6), [1.0, -1.0, 1.0, 0.5, -0.5, 1.0], 2.0)
    recording = simulate(robot, computed_torque(400.0, 40.0), path, 2.0, qd0=[0.2, 0, -0.3, 0, 0.4, 0])
    q, qd = replay(robot, recording, integrator=RK4)
    assert np.abs(q - recording["q"]).max() < 1e-9  # two seconds without feedback let rounding grow to 2e-10
    assert np.abs(qd - recording["qd"]).max() < 1e-8


@pytest.mark.parametrize("seed, n", [(12, 6), (13, 4)])
def test_friction_and_rotors(seed, n):
    """Random arms with prismatic joints: viscous friction is MuJoCo's damping, rotors are its armature."""
    robot = random_robot(seed, n)
    joints = tuple(replace(joint, friction=Friction(viscous=0.2 + 0.1 * k)) for k, joint in enumerate(robot.joints))
    rotors = replace(
        Actuators.none(n), gear=np.diag(np.linspace(2.0, 5.0, n)), rotor_inertia=np.linspace(0.01, 0.03, n)
    )
    robot = replace(robot, joints=joints, actuators=rotors)
    law = pd_gravity(20.0, 2.0)
    recording = simulate(robot, law, np.full(n, 0.3), 2.0, q0=np.zeros(n), qd0=np.linspace(-1.0, 1.0, n))
    q, qd = replay(robot, recording, integrator=RK4)
    assert np.abs(q - recording["q"]).max() < 1e-9
    assert np.abs(qd - recording["qd"]).max() < 1e-8


def test_coulomb_friction_while_sliding():
    """MuJoCo's friction loss is a soft constraint: with a joint that slides all the time both lose the same torque."""
    robot = ideal(load("planar2")).with_gravity([0.0, 0.0, 0.0])
    robot = replace(robot, joints=tuple(replace(joint, friction=Friction(coulomb=0.5)) for joint in robot.joints))
    torque = np.array([8.0, 4.0])
    recording = simulate(robot, lambda q: torque + 0.0 * q, None, 0.15, q0=[0.1, 0.2], qd0=[2.0, 3.0])
    assert recording["qd"].min() > 0.0
    q, _ = replay(robot, recording, integrator=RK4)
    assert np.abs(q - recording["q"]).max() < 1e-6
    free, _ = replay(ideal(robot), recording, integrator=RK4)
    assert np.abs(free - recording["q"]).max() > 1e-3  # the friction mattered


def test_semi_implicit_is_mujocos_euler():
    robot = ideal(load("ur5"))
    recording = simulate(robot, None, None, 1.0, q0=[0.0, 0.5, 0.8, -0.4, 0.7, 0.1], integrator="semi-implicit")
    q, _ = replay(robot, recording, integrator=mujoco.mjtIntegrator.mjINT_EULER)
    assert np.abs(q - recording["q"]).max() < 1e-9
