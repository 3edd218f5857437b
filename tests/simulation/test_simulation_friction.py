# SPDX-License-Identifier: Apache-2.0
"""Friction that holds, slips, creeps as its model says; motors that saturate, lag and share joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.control import pd_gravity
from armwright.dynamics import gravity_torque, mass_matrix
from armwright.errors import InputError, SimulationError
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint
from armwright.simulation import Drive, LuGre, Stribeck, drive_of, simulate
from armwright.simulation.integrators import velocity_with_dry_friction
from support.arms import random_arm

I_WHEEL = 0.5


def wheel(**friction):
    """One wheel of 0.5 kg m² about a vertical axis: ẍ = τ/0.5 exactly."""
    body = Body("wheel", -1, 0, np.eye(4), mass=1.0, inertia=np.diag([1.0, 1.0, I_WHEEL]))
    return Robot("wheel", (Joint("axle", friction=Friction(**friction)),), (body,), Actuators.none(1))


def push(torque):
    return lambda q: torque + 0.0 * q


HOLDING = {"integrator": "semi-implicit"}


def test_coulomb_friction_holds_and_slips():
    robot = wheel(coulomb=2.0)
    for torque in (1.999, -1.999):
        held = simulate(robot, push(torque), None, 10.0, q0=[0.3], **HOLDING)
        assert (held["q"] == 0.3).all() and (held["qd"] == 0.0).all()
    slid = simulate(robot, push(2.5), None, 2.0, q0=[0.0], **HOLDING)
    assert slid["qd"][-1, 0] == pytest.approx((2.5 - 2.0) / I_WHEEL * 2.0, rel=1e-9)


def test_coulomb_friction_stops_a_sliding_joint_for_good():
    """From 3 rad/s under 2 N m the wheel stops after 0.75 s and 1.125 rad, and stays."""
    recording = simulate(wheel(coulomb=2.0), None, None, 2.0, q0=[0.0], qd0=[3.0], **HOLDING)
    stopped = recording.time >= 0.751
    assert (recording["qd"][stopped] == 0.0).all()
    assert np.ptp(recording["q"][stopped]) == 0.0
    assert recording["q"][-1, 0] == pytest.approx(1.125, abs=2e-3)  # first order in the step


def test_every_joint_of_an_arm_sticks_under_gravity():
    """Friction above the gravity torque of each joint: a six-axis arm with coupled joints stands still."""
    robot = load("ur5")
    q0 = [0.1, -1.0, 0.8, 0.3, 0.5, 0.2]
    level = np.abs(gravity_torque(robot, q0)) + 0.01
    strong = replace(
        robot, joints=tuple(replace(j, friction=Friction(coulomb=c)) for j, c in zip(robot.joints, level, strict=True))
    )
    held = simulate(strong, None, None, 10.0, q0=q0, **HOLDING)
    assert (held["q"] == held["q"][0]).all()
    weak = replace(
        robot,
        joints=tuple(replace(j, friction=Friction(coulomb=0.5 * c)) for j, c in zip(robot.joints, level, strict=True)),
    )
    assert np.abs(simulate(weak, None, None, 0.5, q0=q0, **HOLDING)["q"][-1] - q0).max() > 0.1


def test_stribeck_breaks_loose_at_its_static_level():
    friction = Stribeck(viscous=0.5, coulomb=1.0, static=2.0, stribeck_speed=0.1)
    held = simulate(wheel(), push(1.99), None, 10.0, q0=[0.0], friction=friction, **HOLDING)
    assert (held["q"] == 0.0).all()
    slid = simulate(wheel(), push(2.01), None, 10.0, q0=[0.0], friction=friction, **HOLDING)
    assert slid["qd"][-1, 0] == pytest.approx((2.01 - 1.0) / 0.5, rel=1e-3)  # the dry part has fallen to Coulomb's
    # once moving, 1.5 N m (below the static level) keep it moving
    kept = simulate(wheel(), push(1.5), None, 10.0, q0=[0.0], qd0=[1.0], friction=friction, **HOLDING)
    assert kept["qd"][-1, 0] == pytest.approx((1.5 - 1.0) / 0.5, rel=1e-3)


def test_dead_zone_has_no_friction_inside():
    """004: no Coulomb friction below the dead zone; viscous friction acts throughout."""
    robot = wheel(coulomb=2.0, viscous=0.0, dead_zone=0.5)
    slow = simulate(robot, None, None, 2.0, q0=[0.0], qd0=[0.4])
    assert np.abs(slow["qd"] - 0.4).max() < 1e-12
    fast = simulate(robot, None, None, 0.5, q0=[0.0], qd0=[4.0])
    assert fast["qd"][-1, 0] == pytest.approx(4.0 - 2.0 / I_WHEEL * 0.5, abs=1e-9)


def test_lugre_is_a_spring_before_it_slides():
    """Presliding: σ0 z = τ, and dz = dx (1 − σ0 z/F_s) gives the slip with which it goes there and back."""
    friction = LuGre(sigma0=1e3, sigma1=30.0, sigma2=0.4, coulomb=1.0, static=1.5, stribeck_speed=0.1)

    def ramp(t, q):
        return 0.5 * np.minimum(t, 1.0) - 0.5 * np.minimum(np.maximum(t - 1.5, 0.0), 1.0) + 0.0 * q

    recording = simulate(wheel(), ramp, None, 3.0, q0=[0.0], friction=friction, integrator="rodas3")
    there, back = -1.5e-3 * np.log(1.0 - 0.5 / 1.5), 1.5e-3 * np.log(1.0 + 0.5 / 1.5)
    assert recording["bristle"][1500, 0] == pytest.approx(0.5 / 1e3, rel=0.01)
    assert recording["q"][1500, 0] == pytest.approx(there, rel=0.01)
    assert recording["q"][-1, 0] == pytest.approx(there - back, rel=0.02)  # the ramp is not infinitely slow
    slid = simulate(wheel(), push(1.8), None, 10.0, q0=[0.0], friction=friction, integrator="rodas3")
    assert slid["qd"][-1, 0] == pytest.approx((1.8 - 1.0) / 0.4, rel=0.01)
    assert slid["bristle"][-1, 0] == pytest.approx(1.0 / 1e3, rel=1e-6)  # bent to the Coulomb level


def test_lugre_too_stiff_for_the_step_is_refused_with_the_limit():
    friction = LuGre(sigma0=1e5, sigma1=3e3, sigma2=0.4, coulomb=1.0, static=1.5, stribeck_speed=0.1)
    with pytest.raises(SimulationError, match=r"rk4 with a step of 1 ms cannot be stable.*friction") as error:
        simulate(wheel(), None, None, 1.0, q0=[0.0], friction=friction)
    assert "0.46" in str(error.value)  # 2.785/(3000/0.5) s
    simulate(wheel(), None, None, 0.1, q0=[0.0], friction=friction, substeps=3)
    simulate(wheel(), None, None, 0.1, q0=[0.0], friction=friction, integrator="rodas3")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Stribeck(viscous=-1.0, coulomb=1.0, static=1.0, stribeck_speed=0.1),
        lambda: Stribeck(viscous=np.nan, coulomb=1.0, static=1.0, stribeck_speed=0.1),
        lambda: LuGre(sigma0=0.0, sigma1=1.0, sigma2=0.1, coulomb=1.0, static=1.0, stribeck_speed=0.1),
        lambda: Drive(np.zeros((2, 2)), 1.0, 1.0),
        lambda: Drive(np.eye(2), -1.0, 1.0),
        lambda: Drive(np.eye(2), 1.0, 1.0, time_constant=-0.1),
        lambda: drive_of(load("ur5"), time_constant=np.inf),
    ],
)
def test_impossible_parts_are_refused(make):
    with pytest.raises(InputError):
        make()


# -- motors ---------------------------------------------------------------------------------------------------------


def test_saturated_motors_never_exceed_their_limit():
    robot, limit = random_arm(31, 3, prismatic=0.0), np.array([2.0, 1.5, 1.0])
    gear = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.5], [0.0, -0.7, 4.0]])
    for time_constant in (0.0, 0.02):
        drive = Drive(gear, limit, np.full(3, np.inf), time_constant)
        recording = simulate(
            robot, pd_gravity(400.0, 20.0), [1.0, -1.0, 0.5], 2.0, q0=np.zeros(3), drive=drive, substeps=2
        )
        motor = recording["tau"] @ np.linalg.inv(gear)
        assert (np.abs(motor) <= limit * (1.0 + 1e-12)).all()
        assert (np.abs(motor) > 0.9 * limit).any(axis=0).all()  # the limits were felt
        assert np.abs(recording["tau_command"] @ np.linalg.inv(gear)).max() > 2.0 * limit.max()
        if time_constant:
            assert (np.abs(recording["motor_torque"]) <= limit).all()


def test_speed_limit_cuts_the_driving_torque():
    drive = Drive(np.eye(1) * 10.0, np.inf, 20.0)  # 20 rad/s at the motor are 2 rad/s at the joint
    recording = simulate(wheel(), push(5.0), None, 2.0, q0=[0.0], drive=drive)
    assert recording["qd"].max() < 2.0 + 5.0 / I_WHEEL * 1e-3
    assert recording["qd"][-1, 0] == pytest.approx(2.0, abs=0.011)


def test_coupled_gears_share_the_load():
    """RL15: motor torques are K⁻ᵀτ; within their limits the joint torque is what the law asked for."""
    robot = load("rl15")
    gear = robot.actuators.gear
    assert np.abs(gear - np.diag(np.diag(gear))).max() > 0.0
    drive = drive_of(robot)
    tau = np.arange(1.0, robot.n + 1.0)
    motor = drive.motor_torque(tau)
    assert np.abs(gear.T @ motor - tau).max() < 1e-12
    q0 = np.full(robot.n, 0.2)
    kd = 40.0
    ideal = simulate(robot, pd_gravity(200.0, kd), q0 + 0.05, 0.5, q0=q0, substeps=2)
    wide = replace(drive, torque_limit=np.full(robot.n, np.inf), speed_limit=np.full(robot.n, np.inf))
    driven = simulate(robot, pd_gravity(200.0, kd), q0 + 0.05, 0.5, q0=q0, drive=wide, substeps=2)
    assert np.abs(driven["q"] - ideal["q"]).max() < 1e-10


def test_current_loop_has_its_time_constant():
    drive = Drive(np.eye(1), np.inf, np.inf, time_constant=0.05, torque_constant=np.array([0.2]))
    recording = simulate(wheel(), push(3.0), None, 0.3, q0=[0.0], drive=drive)
    expected = 3.0 * (1.0 - np.exp(-recording.time / 0.05))
    assert np.abs(recording["motor_torque"][:, 0] - expected).max() < 1e-6
    assert np.abs(recording["tau"][:, 0] - expected).max() < 1e-6
    assert np.abs(drive.current(recording["tau"])[:, 0] - expected / 0.2).max() < 1e-5


def test_dry_friction_solver_finds_who_slides():
    """Random states of a six-axis arm: sliding joints carry their full friction against the motion, stuck ones less."""
    robot, rng = load("ur5"), np.random.default_rng(0)
    stuck = np.zeros(7, dtype=int)
    for _ in range(300):
        M, h = mass_matrix(robot, rng.normal(size=6)), 1e-3
        scale = np.array([20.0, 20.0, 15.0, 3.0, 2.0, 1.0])
        v = rng.normal(size=6) * rng.choice([0.0, 1e-3, 1e-2, 1.0], size=6)
        momentum, bound = M @ v + h * scale * rng.normal(size=6), h * scale * rng.uniform(0.0, 1.5, 6)
        after = velocity_with_dry_friction(M, momentum, bound, v)
        impulse = momentum - M @ after
        wrong = np.where(
            after == 0.0, np.maximum(np.abs(impulse) - bound, 0.0), np.abs(impulse - bound * np.sign(after))
        )
        assert (wrong <= 1e-8 * bound).all()
        stuck[np.sum(after == 0.0)] += 1
    assert (stuck > 0).sum() >= 5  # from none to nearly all


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "rodas3"])
def test_coulomb_friction_at_rest_is_not_taken_for_an_unstable_step(integrator):
    """Its slope at rest is infinite, but it only brakes: the wheel may tremble by what one step can do, not more."""
    run = simulate(wheel(coulomb=2.0), push(0.5), None, 1.0, q0=[0.0], integrator=integrator)
    assert np.abs(run["qd"]).max() < 2.0 * 2.5 / I_WHEEL * 1e-3
