# SPDX-License-Identifier: Apache-2.0
"""What every simulation must keep: energy, momentum, and the balance of power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.control import adaptation_rates, adaptive, adaptive_parameters, computed_torque
from armwright.dynamics import energy, forward_dynamics, mass_matrix
from armwright.kinematics import fk
from armwright.motion import quintic
from armwright.robot.load import load
from armwright.robot.parts import Friction
from armwright.simulation import Frictionless, LuGre, Stribeck, simulate, with_energy, with_storage
from support.arms import random_arm


def without_friction(robot):
    return replace(robot, joints=tuple(replace(joint, friction=Friction()) for joint in robot.joints))


@pytest.mark.parametrize(
    "name, q0",
    [
        ("ur5", [0.0, 0.5, 0.8, -0.4, 0.7, 0.1]),
        ("irb140", [0.3, -1.0, 0.5, 0.2, 0.4, 0.1]),
        ("cea", [0.0, 0.5, 0.8, -0.4, 0.7, 0.1]),
    ],
)
def test_free_arm_keeps_its_energy(name, q0):
    recording = with_energy(simulate(load(name), None, None, 10.0, q0=q0, friction=Frictionless()))
    E = recording["energy"]
    assert recording["kinetic"].max() > 10.0  # it really swings
    assert np.abs(E - E[0]).max() < 1e-6 * recording["kinetic"].max()


@pytest.mark.parametrize("seed, prismatic", [(1, 0.5), (2, 1.0)])
def test_free_arm_with_prismatic_joints_keeps_its_energy(seed, prismatic):
    robot = random_arm(seed, 4, drives="none", prismatic=prismatic)
    assert any(joint.kind == "prismatic" for joint in robot.joints)
    qd0 = [0.5, -0.4, 0.3, 0.8]
    recording = with_energy(simulate(robot, None, None, 10.0, q0=[0.1, 0.2, -0.3, 0.4], qd0=qd0))
    E, scale = recording["energy"], recording["kinetic"].max()
    assert np.abs(E - E[0]).max() < 1e-6 * scale and scale > 1.0


def test_energy_error_falls_with_the_step():
    """Two steps per tick make the drift sixteen times smaller or more: it is the integrator, not the model."""
    robot, q0 = load("ur5"), [0.3, -1.0, 0.5, 0.2, 0.4, 0.1]
    drift = []
    for substeps in (1, 2):
        E = with_energy(simulate(robot, None, None, 2.0, q0=q0, substeps=substeps))["energy"]
        drift.append(np.abs(E - E[0]).max())
    assert drift[0] > 16.0 * drift[1]


def test_momentum_about_a_vertical_first_axis_is_kept():
    robot = load("ur5")
    recording = simulate(robot, None, None, 5.0, q0=[0.0, 0.5, 0.8, -0.4, 0.7, 0.1], qd0=[1.0, 0, 0, 0.5, 0, 0])
    momentum = np.einsum("tij,tj->ti", mass_matrix(robot, recording["q"]), recording["qd"])[:, 0]
    assert np.abs(momentum - momentum[0]).max() < 1e-7 * np.abs(momentum[0])


def test_linear_momentum_along_a_horizontal_rail_is_kept():
    """A cart on a horizontal rail with a swinging arm on it."""
    arm = random_arm(3, 3, drives="none", prismatic=0.0)
    first = replace(arm.joints[0], kind="prismatic")
    rail = replace(arm.bodies[0], axis=np.array([1.0, 0.0, 0.0]), T_parent_joint=np.eye(4))
    robot = replace(
        arm,
        joints=(first, *arm.joints[1:]),
        bodies=(rail, *arm.bodies[1:]),
        T_base_root=np.eye(4),
        gravity=np.array([0.0, 0.0, -9.81]),
    )
    recording = simulate(robot, None, None, 5.0, q0=[0.0, 0.4, -0.3], qd0=[0.2, 1.0, -2.0])
    momentum = np.einsum("tij,tj->ti", mass_matrix(robot, recording["q"]), recording["qd"])[:, 0]
    assert np.abs(momentum - momentum[0]).max() < 1e-8 * np.abs(momentum[0])


@pytest.mark.parametrize(
    "friction",
    [
        None,
        Stribeck(viscous=0.3, coulomb=0.2, static=0.3, stribeck_speed=0.1, smoothing=0.05),
        LuGre(sigma0=200.0, sigma1=2.0, sigma2=0.2, coulomb=0.2, static=0.3, stribeck_speed=0.1),
    ],
    ids=["own", "Stribeck", "LuGre"],
)
def test_passive_friction_never_adds_energy(friction):
    robot = random_arm(5, 3, prismatic=0.4)
    recording = with_energy(
        simulate(robot, None, None, 2.0, q0=[0.3, -0.2, 0.5], qd0=[3.0, -2.0, 4.0], friction=friction, substeps=4)
    )
    E = recording["energy"].copy()
    if "bristle" in recording.signals:  # bent bristles hold energy
        E += 0.5 * 200.0 * (recording["bristle"] ** 2).sum(axis=1)
    assert np.diff(E).max() < 1e-8 * recording["kinetic"].max()
    assert E[0] - E[-1] > 5.0


def test_power_of_controller_friction_and_wrench_is_the_change_of_energy():
    """Every tick: held torque and constant force do exact work, viscous loss by a corrected trapezoid of order four."""
    robot = random_arm(7, 4, drives="coupled", prismatic=0.3)
    robot = replace(robot, joints=tuple(replace(j, friction=Friction(viscous=0.4)) for j in robot.joints))
    force = np.array([3.0, -2.0, 4.0, 0.0, 0.0, 0.0])
    path = quintic(np.zeros(4), [0.8, -0.5, 0.6, 0.4], 1.0)
    recording = simulate(robot, computed_torque(100.0, 20.0), path, 1.5, wrench=force, qd0=[0.5, 0.0, -0.5, 0.2])
    q, qd, tau, h = recording["q"], recording["qd"], recording["tau"][:-1], recording.time[1]
    E = energy(robot, q, qd).total
    controller = np.einsum("ti,ti->t", tau, np.diff(q, axis=0))
    wrench = np.diff(fk(robot, q)[:, :3, 3], axis=0) @ force[:3]
    B = robot.tree.viscous
    loss = np.einsum("ti,ij,tj->t", qd, B, qd)

    def loss_rate(q, qd):
        qdd = forward_dynamics(robot, q, qd, tau, wrench=np.broadcast_to(force, (len(tau), 6)))
        return 2.0 * np.einsum("ti,ij,tj->t", qd, B, qdd)

    lost = 0.5 * h * (loss[:-1] + loss[1:]) + h * h / 12.0 * (loss_rate(q[:-1], qd[:-1]) - loss_rate(q[1:], qd[1:]))
    balance = np.diff(E) - (controller + wrench - lost)
    assert np.abs(controller).max() > 1e-3 and np.abs(wrench).max() > 1e-4 and lost.max() > 1e-4
    assert np.abs(balance).max() < 1e-9 * np.abs(np.diff(E)).max()


def test_computed_torque_error_obeys_its_linear_law():
    """An exact model leaves ë + kd ė + kp e = 0: critically damped here, e = (e0 + (v0 + ω e0) t) e^(−ωt)."""
    robot, w, e0 = load("ur5"), 10.0, 0.1
    path = quintic(np.zeros(6), np.full(6, 0.5), 2.0)
    recording = simulate(robot, computed_torque(w * w, 2 * w), path, 1.5, q0=np.full(6, -e0), continuous=True)
    expected = e0 * (1.0 + w * recording.time) * np.exp(-w * recording.time)
    assert np.abs(recording["error"] - expected[:, None]).max() < 1e-8


def test_an_adaptive_law_spends_its_storage_while_it_learns():
    """V = ½ sᵀMs + ½ θ̃ᵀΓ⁻¹θ̃ with the estimate of every instant: dV = −∫ sᵀk s dt, up to the hold of a tick."""
    robot = random_arm(7, 3, prismatic=0.0)
    true = np.array(list(adaptive_parameters(robot).values()))
    law = adaptive(robot, 5.0, 4.0, adaptation_rates(robot, 0.5), start=1.3 * true, friction_at="measured")
    path = quintic(np.zeros(3), [0.8, -0.5, 0.6], 1.0)
    run = with_storage(simulate(robot, law, path, 2.0, rate=20_000.0, every=20), law)
    s = run["qd"] - run["qd_ref"] + 4.0 * (run["q"] - run["q_ref"])
    power = 5.0 * (s * s).sum(axis=1)
    spent = np.concatenate([[0.0], np.cumsum(0.5 * (power[:-1] + power[1:]) * np.diff(run.time))])
    V = run["storage"]
    assert V[0] > 1.0 and spent[-1] > 0.05 * V[0]
    assert np.abs(V[0] - V - spent).max() < 1e-3 * V[0]
    assert np.abs(run["memory_estimate"][-1] - run["memory_estimate"][0]).max() > 0.01
