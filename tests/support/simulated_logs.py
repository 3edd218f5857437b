# SPDX-License-Identifier: Apache-2.0
"""Logs of arms whose every parameter is known: inverse dynamics along smooth motion, gear friction, drive gains."""

from __future__ import annotations

import numpy as np

import armwright as aw
from armwright.identify.current_log import Log
from armwright.identify.gear_friction import GearFriction, hysteresis

RATE = 100.0


def motion(n: int, seconds: float, seed: int = 0, rate: float = RATE, centre=0.0, reach: float = 1.2):
    """Fourier motion q, qd, qdd (T, n) of 5 harmonics of 0.1 Hz about `centre` that begins and ends at rest."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * rate) + 1) / rate
    a, b = rng.normal(size=(2, 5, n))
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    a[-1] -= (a * w[:, None]).sum(axis=0) / w[-1]  # at rest at t = 0
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = s @ a + c @ b
    qd = (w * c) @ a - (w * s) @ b
    qdd = -(w**2 * s) @ a - (w**2 * c) @ b
    size = reach / np.abs(q).max(axis=0)
    return t, centre + q * size, qd * size, qdd * size


def true_arm(name: str = "ur5", seed: int = 1):
    """The arm of a sheet with rotors and every inertia off by up to a tenth, consistently: its masses are scaled."""
    from dataclasses import replace

    rng = np.random.default_rng(seed)
    robot = aw.load(name)
    bodies = []
    for body in robot.bodies:
        k = 1.0 + 0.1 * rng.uniform(-1.0, 1.0)
        bodies.append(replace(body, mass=k * body.mass, inertia=k * body.inertia + 0.01 * k * np.eye(3)))
    gear = replace(robot.actuators, gear=np.eye(robot.n), rotor_inertia=rng.uniform(0.3, 1.0, robot.n))
    joints = tuple(replace(j, friction=aw.robot.Friction()) for j in robot.joints)
    return replace(robot, bodies=tuple(bodies), actuators=gear, joints=joints)


def sheet_of(name: str = "ur5"):
    """What the sheet says of it, gears aside."""
    from dataclasses import replace

    robot = aw.load(name)
    return replace(robot, actuators=replace(robot.actuators, gear=np.eye(robot.n), rotor_inertia=np.zeros(robot.n)))


def gear_friction(n: int, *, load: float = 0.05) -> GearFriction:
    """Friction with every term."""
    size = np.linspace(1.0, 0.3, n)[:, None]
    return GearFriction(np.array([[8.0, -2.0, 6.0, 0.0, 0.1]]) * size + np.array([[0.0, 0.0, 0.0, load, 0.0]]))


def simulated_log(
    robot, friction, gains, seconds=20.0, *, seed=0, noise=0.0, name="simulated", rate=RATE, wrench=None, **where
):
    """A log of `robot` along `motion`, currents with white noise [A]; `wrench` (T, 6) acts on the tool."""
    t, q, qd, qdd = motion(robot.n, seconds, seed, rate, **where)
    tau = aw.inverse_dynamics(robot, q, qd, qdd, wrench)
    rb = aw.inverse_dynamics(robot, q, qd, qdd)
    tau = tau + friction.torque(qd, hysteresis(qd, 1.0 / rate, friction.dahl), rb)
    rng = np.random.default_rng(seed + 1000)
    return Log(t, q, qd, tau / gains + noise * rng.normal(size=tau.shape), name=name)
