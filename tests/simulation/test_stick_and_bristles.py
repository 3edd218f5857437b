# SPDX-License-Identifier: Apache-2.0
"""Karnopp and LuGre: what holds, what bends, what slides, what it costs, against an independent integration."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from armwright.cli import main
from armwright.control import pd_gravity
from armwright.dynamics import gravity_torque, mass_matrix
from armwright.errors import InputError
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint
from armwright.simulation import FRICTIONS, Dahl, Karnopp, LuGre, friction_of, simulate, with_energy
from armwright.simulation.integrators import velocity_with_stick_zone
from support.arms import random_arm

INERTIA = 0.5
HOLDING = {"integrator": "semi-implicit"}
STIFF = {"sigma0": 1e5, "sigma1": 300.0, "sigma2": 0.4, "coulomb": 1.0, "static": 1.5, "stribeck_speed": 0.1}


def wheel(**friction):
    """One wheel of 0.5 kg m² about a vertical axis: ẍ = τ/0.5 exactly."""
    body = Body("wheel", -1, 0, np.eye(4), mass=1.0, inertia=np.diag([1.0, 1.0, INERTIA]))
    return Robot("wheel", (Joint("axle", friction=Friction(**friction)),), (body,), Actuators.none(1))


def push(torque):
    return lambda q: torque + 0.0 * q


def level(v, model):
    """Stribeck's curve with viscous friction, written once more."""
    dry = model.coulomb + (model.static - model.coulomb) * np.exp(-((v / model.stribeck_speed) ** 2))
    return dry + model.sigma2 * v


# -- rest -------------------------------------------------------------------------------------------------------------


def test_karnopp_holds_exactly_up_to_break_away():
    friction = Karnopp(viscous=0.5, coulomb=1.0, static=2.0, zone=0.01)
    for torque in (1.999, -1.999):
        held = simulate(wheel(), push(torque), None, 5.0, q0=[0.3], friction=friction, **HOLDING)
        assert (held["q"] == 0.3).all() and (held["qd"] == 0.0).all()
    slid = simulate(wheel(), push(2.001), None, 15.0, q0=[0.0], friction=friction, **HOLDING)
    # a thousandth above break-away crawls through the zone, (2.001 − 2.0)/0.5 · t = 0.01 after 5 s, and then runs
    inside = slid.time < 4.5
    assert slid["qd"][inside, 0] == pytest.approx(0.001 / INERTIA * slid.time[inside], abs=1e-4)
    assert slid["qd"][-1, 0] == pytest.approx((2.001 - 1.0) / 0.5, rel=1e-3)


def test_karnopp_stops_at_once_what_comes_into_its_zone():
    friction = Karnopp(viscous=0.0, coulomb=1.0, static=2.0, zone=0.1)
    run = simulate(wheel(), push(0.5), None, 1.0, q0=[0.0], qd0=[0.5], friction=friction, **HOLDING)
    speed = run["qd"][:, 0]
    stopped = int(np.argmax(speed == 0.0))
    assert 0.0999 <= speed[stopped - 1] <= 0.1 + 1e-3  # −1 rad/s² down to the zone, then none of it is left
    assert (speed[stopped:] == 0.0).all()
    # above the break-away torque nothing stops it
    driven = simulate(wheel(), push(2.5), None, 0.2, q0=[0.0], qd0=[0.05], friction=friction, **HOLDING)
    assert (np.diff(driven["qd"][:, 0]) > 0.0).all()


def test_karnopp_holds_every_joint_of_an_arm_and_lets_go_of_one():
    """Joints that are held carry what the falling one throws at them, up to their own break-away torque."""
    arm, q0 = load("ur5"), np.array([0.1, -1.0, 0.8, 0.3, 0.5, 0.2])
    weight = np.abs(gravity_torque(arm, q0))
    strong = Karnopp(viscous=0.1, coulomb=0.2 * weight, static=weight + 0.01)
    held = simulate(arm, None, None, 2.0, q0=q0, friction=strong, **HOLDING)
    assert (held["q"] == q0).all()
    one = weight + 30.0
    one[2] = 0.5 * weight[2]
    falling = simulate(arm, None, None, 0.3, q0=q0, friction=Karnopp(0.1, 0.2 * one, one), **HOLDING)
    assert (falling["q"][:, [0, 1, 3, 4, 5]] == q0[[0, 1, 3, 4, 5]]).all()
    assert abs(falling["q"][-1, 2] - q0[2]) > 0.05


def test_stick_zone_takes_energy_only():
    """Random states of a six-axis arm without torque: whoever is caught in the zone, the kinetic energy falls."""
    arm, rng, caught = load("ur5"), np.random.default_rng(3), 0
    for _ in range(200):
        M = mass_matrix(arm, rng.normal(size=6))
        v = rng.normal(size=6) * rng.choice([1e-3, 1e-2, 0.5], size=6)
        after = velocity_with_stick_zone(M, M @ v, 1e-3 * rng.uniform(0.0, 1.0, 6), np.full(6, 5e-3), v)
        assert after @ M @ after <= v @ M @ v * (1.0 + 1e-12)
        caught += int(((np.abs(v) <= 5e-3) & (after == 0.0)).sum())
    assert caught > 100


@pytest.mark.parametrize("sigma0", [1e3, 1e5, 1e7])
def test_lugre_gives_way_like_a_spring_below_break_away(sigma0):
    """σ0 z = τ, and dz = dx (1 − σ0 z/F_s): x = −(F_s/σ0) ln(1 − τ/F_s), which is τ/σ0 to first order, at 1 ms."""
    friction = LuGre(**{**STIFF, "sigma0": sigma0, "sigma1": 2.0 * np.sqrt(sigma0 * INERTIA)})
    for torque in (0.015, 0.75):

        def ramp(t, q, torque=torque):
            return torque * np.minimum(t, 1.0) + 0.0 * q

        run = simulate(wheel(), ramp, None, 3.0, q0=[0.0], friction=friction, **HOLDING)
        assert run["bristle"][-1, 0] == pytest.approx(torque / sigma0, rel=1e-3)
        assert run["q"][-1, 0] == pytest.approx(-1.5 / sigma0 * np.log(1.0 - torque / 1.5), rel=0.01)
        assert abs(run["qd"][-1, 0]) < 1e-6 * torque
    assert run["q"][-1, 0] != pytest.approx(torque / sigma0, rel=0.1)  # at half of break-away the slip shows


# -- sliding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.01, 0.05, 0.1, 0.3, 1.0, 3.0])
def test_steady_sliding_follows_stribecks_curve(speed):
    """Driven at constant speed by a stiff loop, the torque is the curve: also where friction falls with speed."""
    friction = LuGre(**STIFF)

    def drive(t, q, qd):
        return 2000.0 * (speed * t - q) + 200.0 * (speed - qd)

    run = simulate(wheel(), drive, None, 4.0, q0=[0.0], qd0=[speed], friction=friction, **HOLDING)
    assert run["qd"][-1, 0] == pytest.approx(speed, rel=1e-6)
    assert run["tau"][-1, 0] == pytest.approx(level(speed, friction), rel=1e-5)
    assert run["bristle"][-1, 0] == pytest.approx((level(speed, friction) - 0.4 * speed) / 1e5, rel=1e-5)


def test_karnopp_slides_with_coulomb_and_viscous_friction():
    friction = Karnopp(viscous=0.4, coulomb=1.0, static=1.5)
    run = simulate(wheel(), push(1.8), None, 15.0, q0=[0.0], friction=friction, **HOLDING)
    assert run["qd"][-1, 0] == pytest.approx((1.8 - 1.0) / 0.4, rel=1e-4)


def test_without_stribeck_effect_all_models_are_coulomb_and_viscous_friction():
    """F_s = F_c: Karnopp is the arm's own friction to the bit of its zone, LuGre as its bristles get stiffer."""
    arm, q0 = wheel(coulomb=1.0, viscous=0.4), [0.0]

    def law(t, q):
        return 2.0 * np.sin(3.0 * t) + 0.0 * q

    fine = {**HOLDING, "substeps": 8}
    own = simulate(arm, law, None, 5.0, q0=q0, **fine)["q"]
    karnopp = simulate(arm, law, None, 5.0, q0=q0, friction=friction_of(arm, "karnopp", zone=1e-9), **fine)["q"]
    assert np.abs(karnopp - own).max() < 1e-12
    off = []
    for sigma0 in (1e3, 1e4, 1e5):
        friction = LuGre(sigma0, 2.0 * np.sqrt(sigma0 * INERTIA), 0.4, 1.0, 1.0, 0.1)
        off.append(np.abs(simulate(arm, law, None, 5.0, q0=q0, friction=friction, **fine)["q"] - own).max())
    assert off[0] > 2.5 * off[1] > 6.0 * off[2] and off[2] < 2e-3 * np.ptp(own)


# -- energy -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma0", [1e3, 1e5, 1e7])
def test_bristles_take_energy_only_at_every_step(sigma0):
    """Kinetic, potential and bristle energy together never rise, however stiff, if σ1(v)|v| ≤ 4 s(v)."""
    arm = replace(random_arm(5, 3, prismatic=0.4), gravity=np.zeros(3))
    friction = friction_of(arm, "lugre", sigma0=sigma0, coulomb=2.0, static=3.0, sigma2=0.05)
    assert friction.passive.all() and (friction.damping_speed < 10.0).all()
    run = with_energy(
        simulate(arm, None, None, 2.0, q0=[0.3, -0.2, 0.5], qd0=[0.6, -0.4, 0.8], friction=friction, **HOLDING)
    )
    E = run["energy"] + 0.5 * sigma0 * (run["bristle"] ** 2).sum(axis=1)
    still = np.abs(run["qd"]).max(axis=1) < 0.5  # fast free motion is not the friction's: the step is of first order
    rises = np.diff(E)[still[1:] & still[:-1]]
    assert still.sum() > 200 and rises.max() < 1e-6 * run["kinetic"].max()


def test_one_wheel_under_lugre_loses_energy_at_every_single_step():
    """No gravity, no coupling: M, bristles and friction alone, for every stiffness, from every speed."""
    for sigma0 in (1e2, 1e4, 1e6, 1e8):
        friction = friction_of(wheel(), "lugre", sigma0=sigma0, coulomb=1.0, static=1.5, sigma2=0.0)
        for speed in (0.01, 0.3, 20.0):
            run = simulate(wheel(), None, None, 1.0, q0=[0.0], qd0=[speed], friction=friction, **HOLDING)
            E = 0.5 * INERTIA * run["qd"][:, 0] ** 2 + 0.5 * sigma0 * run["bristle"][:, 0] ** 2
            assert np.diff(E).max() <= 1e-12 * E[0]


def test_the_passivity_condition_is_one():
    """Constant damping against the condition: a stroke exists that draws energy; with the condition met, none does."""

    def drawn(model, speeds, h=1e-5):
        """Energy that a prescribed motion gets out of the friction, from bristles at rest, by explicit quadrature."""
        z, total, least = np.zeros(1), 0.0, 0.0
        for v in speeds:
            tau, rates = model.torque(np.array([v]), {"bristle": z})
            total += float(tau[0]) * v * h
            z = z + h * rates["bristle"]
            least = min(least, total)
        return -least

    slow, fast = np.full(4000, 0.02), np.full(4000, 5.0)
    stroke = np.concatenate([slow, fast])  # bent to F_s at small speed, then torn away
    values = {"sigma0": 1e3, "sigma2": 0.0, "coulomb": 1.0, "static": 3.0, "stribeck_speed": 0.1}
    wrong = LuGre(sigma1=50.0, **values)
    assert not wrong.passive
    tau, _ = wrong.torque(np.array([5.0]), {"bristle": np.array([3.0e-3])})
    assert tau[0] * 5.0 < 0.0  # friction that drives
    assert LuGre(sigma1=50.0, damping_speed=0.1, **values).passive
    fading, _ = LuGre(sigma1=50.0, damping_speed=0.1, **values).torque(np.array([5.0]), {"bristle": np.array([3.0e-3])})
    assert fading[0] * 5.0 > 0.0
    assert LuGre(sigma1=50.0, **{**values, "sigma2": 100.0}).passive
    assert drawn(LuGre(sigma1=50.0, damping_speed=0.1, **values), stroke) == 0.0


# -- motion -----------------------------------------------------------------------------------------------------------


def pulled(model, speed=0.05, stiffness=2.0, duration=30.0, **options):
    """A wheel behind a spring whose other end moves at constant speed: F_s = 1.5, F_c = 1."""

    def spring(t, q):
        return stiffness * (speed * t - q)

    return simulate(wheel(), spring, None, duration, q0=[0.0], friction=model, continuous=True, **HOLDING, **options)


def test_a_wheel_behind_a_spring_sticks_and_slips():
    """Karnopp: it waits until the spring has F_s, t = F_s/(k v) = 15 s, and jumps by 2 (F_s − F_c)/k (no damping).

    While it slides, k(vt − x) − F_c = I ẍ: a half wave about the Coulomb level that ends as far below it as it began
    above, for jumps that are quick against the drive.
    """
    run = pulled(Karnopp(viscous=0.0, coulomb=1.0, static=1.5, zone=1e-5), substeps=4)
    q, t = run["q"][:, 0], run.time
    assert (q[t < 14.9] == 0.0).all()
    moving = np.abs(run["qd"][:, 0]) > 0.0
    starts = t[1:][np.diff(moving.astype(int)) == 1]
    assert starts[0] == pytest.approx(15.0, abs=0.02)
    w, v = np.sqrt(2.0 / INERTIA), 0.05
    # exactly: from x = 0, ẋ = 0 at F = F_s, until ẋ = 0 again
    phase = 2.0 * (np.pi - np.arctan2(0.5 / 2.0 * w, v))
    jump = 2.0 * 0.25 + v * phase / w
    after = q[np.searchsorted(t, starts[0] + 1.02 * phase / w)]
    assert after == pytest.approx(jump, rel=0.01)
    # the next one comes when the spring has wound up by what the jump took
    assert starts[1] - starts[0] == pytest.approx(jump / v, rel=0.02)


def test_lugre_sticks_and_slips_and_runs_smoothly_where_the_drive_is_fast():
    model = LuGre(**{**STIFF, "sigma1": 400.0, "stribeck_speed": 0.05, "sigma2": 0.1})
    slow = pulled(model)
    speed = slow["qd"][slow.time > 5.0, 0]
    assert speed.max() > 5.0 * 0.05 and (np.abs(speed) < 1e-3).mean() > 0.3  # rests and jumps
    fast = pulled(model, speed=1.0, duration=60.0)
    tail = fast["qd"][fast.time > 50.0, 0]
    assert np.ptp(tail) < 0.05 and tail.mean() == pytest.approx(1.0, rel=1e-2)


def test_presliding_has_hysteresis():
    """A slow oscillation below break-away: the loop torque over way encloses what is lost, and closes."""
    friction = LuGre(**STIFF)

    def law(t, q):
        return 1.2 * np.sin(2.0 * np.pi * 0.5 * t) + 0.0 * q

    run = simulate(wheel(), law, None, 10.0, q0=[0.0], friction=friction, **HOLDING)
    last = run.time >= 8.0
    q, tau = run["q"][last, 0], run["tau"][last, 0]
    area = float(np.sum(0.5 * (tau[1:] + tau[:-1]) * np.diff(q)))
    assert area > 0.05 * np.ptp(q) * np.ptp(tau)
    assert abs(q[-1] - q[0]) < 0.02 * np.ptp(q)
    up, down = (np.argmin(np.abs(np.where(d * np.gradient(tau) > 0.0, tau, np.inf))) for d in (1.0, -1.0))
    assert q[down] - q[up] > 0.1 * np.ptp(q)  # at no torque it stands elsewhere on the way up and down


def reference(model, law, duration, x0=(0.0, 0.0, 0.0)):
    """The same differential equation of one wheel, written again, by SciPy's Radau."""

    def f(t, x):
        q, v, z = x
        s = model.coulomb + (model.static - model.coulomb) * np.exp(-((v / model.stribeck_speed) ** 2))
        zd = v - model.sigma0 * abs(v) / s * z
        damping = model.sigma1 * np.exp(-((v / model.damping_speed) ** 2))
        return [v, (law(t, q, v) - model.sigma0 * z - damping * zd - model.sigma2 * v) / INERTIA, zd]

    def slope(t, x):
        steps = np.diag(1e-6 * np.maximum(np.abs(x), [1e-3, 1e-3, 1e-6]))
        return np.stack([(np.array(f(t, x + d)) - f(t, x - d)) / (2.0 * d.max()) for d in steps], axis=1)

    times = np.linspace(0.0, duration, round(duration * 1000) + 1)
    done = solve_ivp(f, (0.0, duration), x0, method="Radau", t_eval=times, rtol=1e-8, atol=1e-12, jac=slope)
    assert done.success
    return done.y


@pytest.mark.parametrize("damping_speed", [np.inf, 0.2])
def test_lugre_agrees_with_an_independent_integration_and_converges(damping_speed):
    """Through rest, presliding, break-away and reversal: first order in the step, as the integrator promises."""
    model = LuGre(**{**STIFF, "sigma0": 1e4, "sigma1": 100.0}, damping_speed=damping_speed)

    def torque(t, q, qd):
        return 2.5 * np.sin(2.0 * np.pi * t) + 0.0 * q

    true = reference(model, lambda t, q, v: 2.5 * np.sin(2.0 * np.pi * t), 2.0)
    off = []
    for substeps in (1, 4, 16):
        run = simulate(
            wheel(), torque, None, 2.0, q0=[0.0], friction=model, continuous=True, substeps=substeps, **HOLDING
        )
        off.append(np.abs(run["q"][:, 0] - true[0]).max())
    assert off[0] < 0.02 * np.ptp(true[0])
    assert off[0] / off[1] > 3.0 and off[1] / off[2] > 3.0  # 4 where the error is of first order
    exact = simulate(wheel(), torque, None, 2.0, q0=[0.0], friction=model, continuous=True, integrator="rodas3")
    assert np.abs(exact["q"][:, 0] - true[0]).max() < 1e-3 * np.ptp(true[0])


def karnopps_own(zone, duration=2.0, h=2e-6):
    """Karnopp's rule for one wheel under 2.5 sin(2πt), written again, by small explicit steps; every millisecond."""
    coulomb, static, viscous, w = 1.0, 1.5, 0.4, 2.0 * np.pi
    q = v = 0.0
    out, per = [], round(1e-3 / h)
    for k in range(round(duration / h) + 1):
        if k % per == 0:
            out.append(q)
        tau = 2.5 * math.sin(w * k * h)
        inside = abs(v) <= zone
        if inside and abs(tau) <= static:
            v = 0.0
            continue
        level, slope = (static, 0.0) if inside else (coulomb, viscous)
        after = v + h * (tau - math.copysign(level, v or tau) - slope * v) / INERTIA
        v = 0.0 if after * v < 0.0 else after
        q += h * v
    return np.array(out)


def test_karnopp_agrees_with_its_own_rule_and_tends_to_ideal_stiction():
    """A sine that breaks loose and comes to rest twice a period; what the zone delays falls with it, as its root."""

    def run(zone, substeps):
        return simulate(
            wheel(),
            lambda t, q: 2.5 * np.sin(2.0 * np.pi * t) + 0.0 * q,
            None,
            2.0,
            q0=[0.0],
            friction=Karnopp(0.4, 1.0, 1.5, zone=zone),
            continuous=True,
            substeps=substeps,
            **HOLDING,
        )["q"][:, 0]

    true, ideal = karnopps_own(0.01), karnopps_own(1e-9)
    off = [np.abs(run(0.01, substeps) - true).max() for substeps in (1, 4, 16)]
    assert off[0] < 0.01 * np.ptp(true) and off[0] / off[1] > 2.5 and off[0] / off[2] > 10.0
    late = [np.abs(run(zone, 64) - ideal).max() for zone in (1e-2, 1e-4)]
    assert 6.0 < late[0] / late[1] < 16.0


def test_dahl_runs_with_held_steps_too():
    """What needed the stiff integrator: a way of 0.2 mrad at 1 ms."""
    model = Dahl(viscous=0.4, coulomb=1.0)

    def law(t, q):
        return 2.0 * np.sin(3.0 * t) + 0.0 * q

    stiff = simulate(wheel(), law, None, 4.0, q0=[0.0], friction=model, integrator="rodas3", substeps=8)["q"]
    runs = [simulate(wheel(), law, None, 4.0, q0=[0.0], friction=model, substeps=k, **HOLDING)["q"] for k in (1, 4)]
    off = [np.abs(run - stiff).max() for run in runs]
    assert off[0] < 0.02 * np.ptp(stiff) and off[0] / off[1] > 3.0


def test_stiff_bristles_on_an_arm_in_motion_at_one_millisecond():
    """Six joints, σ0 to 6e4 N m/rad, a law held for 1 ms: runs, and tracks as with the arm's own friction."""
    arm = load("ur5-kufieta-c").with_rotors(0.1)
    goal = np.array([0.3, -1.1, 0.9, 0.2, 0.4, 0.1])
    law = pd_gravity(400.0, 40.0)
    own = simulate(arm, law, goal, 2.0, q0=np.zeros(6), **HOLDING)
    bent = simulate(arm, law, goal, 2.0, q0=np.zeros(6), friction=friction_of(arm, "lugre"), **HOLDING)
    assert np.abs(bent["q"] - own["q"]).max() < 0.02
    assert np.abs(bent["qd"][-1]).max() < 1e-2


# -- choice -----------------------------------------------------------------------------------------------------------


def test_every_friction_is_found_by_name_and_takes_the_arms_own_values():
    arm = load("ur5-kufieta-c")
    coulomb = np.array([joint.friction.coulomb for joint in arm.joints])
    for name in FRICTIONS:
        model = friction_of(arm, name)
        assert type(model) is FRICTIONS[name]
        if name != "none":
            assert (model.coulomb == coulomb).all()
    lugre = friction_of(arm, "lugre", static=2.0 * coulomb)
    assert lugre.static / lugre.sigma0 == pytest.approx(2e-4)
    assert lugre.passive.all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: friction_of(load("ur5"), "tyre"), "'tyre' is unknown; valid are none, stribeck, karnopp, lugre, dahl"),
        (lambda: friction_of(load("ur5"), "lugre"), "has no Coulomb friction of its own at .*give coulomb="),
        (lambda: friction_of(load("ur5-kufieta-c"), "karnopp", sigma0=1.0), "no value sigma0; it takes viscous, coul"),
        (lambda: friction_of(load("ur5-kufieta-c"), "karnopp", zone=[0.1, 0.2]), r"zone must be a number or \(6,\)"),
        (lambda: Karnopp(0.1, 2.0, 1.0), "static must be ≥ coulomb"),
        (lambda: Karnopp(0.1, 1.0, 2.0, zone=0.0), "zone must be finite and > 0"),
        (lambda: LuGre(**STIFF, damping_speed=0.0), "damping_speed must be > 0"),
        (
            lambda: simulate(wheel(), None, None, 1.0, q0=[0.0], friction=Karnopp(0.1, 1.0, 2.0)),
            "Karnopp friction holds joints at rest, which only integrator=\"semi-implicit\".*got 'rk4'",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_friction_on_the_command_line(capsys):
    arm = ["simulate", "ur5-kufieta-c", "--law", "zero", "--duration", "0.05", "--q0", "0,-1.57,0,0,0,0"]
    assert main([*arm, "--integrator", "semi-implicit", "--friction-model", "lugre", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["outcome"] == "end"
    assert main([*arm, "--integrator", "semi-implicit", "--friction-model", "karnopp"]) == 0
    assert "friction Karnopp: viscous" in capsys.readouterr().out
    value = [word for x in ("static=30", "sigma1=1e5", "damping_speed=100") for word in ("--friction-value", x)]
    assert main([*arm, "--integrator", "semi-implicit", "--friction-model", "lugre", *value]) in (0, 1)
    assert "can give energy back" in capsys.readouterr().out
    for words, answer in (
        (["--friction-model", "karnopp"], "semi-implicit"),
        (["--friction-model", "tyre"], "--friction-model tyre: choose from none, stribeck, karnopp, lugre, dahl"),
        (["--friction-value", "zone=1"], "there is no --friction-model"),
        (["--friction-model", "dahl", "--friction-value", "zone=1"], "no value zone"),
    ):
        assert main([*arm, *words]) == 2
        assert answer in " ".join(capsys.readouterr().err.split())
