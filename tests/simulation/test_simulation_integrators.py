# SPDX-License-Identifier: Apache-2.0
"""Integrators: measured orders, tolerances that are honoured, stiff steps, and clocks that stay exact."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.control import damping, pd_gravity
from armwright.dynamics import forward_dynamics_kernel
from armwright.errors import SimulationError
from armwright.motion import quintic
from armwright.robot.load import load
from armwright.simulation import Drive, Frictionless, Loop, LuGre, simulate
from armwright.simulation.integrators import METHODS
from support.arms import random_arm

ORDER = {"semi-implicit": 1, "rk4": 4, "rodas3": 3}


def measured_order(run, steps):
    """Slope of log(difference to the finest run) over log(step), between the last two of `steps`."""
    exact = run(4 * steps[-1], "rk4")
    errors = [np.abs(run(k, None) - exact).max() for k in steps]
    return np.log2(errors[-2] / errors[-1]) / np.log2(steps[-1] / steps[-2]), errors


def arm():
    return random_arm(21, 3, drives="none", prismatic=0.3)


def free(method):
    def run(k, other):
        recording = simulate(
            arm(),
            None,
            None,
            0.5,
            q0=[0.3, -0.2, 0.5],
            qd0=[1.0, -1.0, 2.0],
            rate=20.0,
            substeps=k,
            integrator=other or method,
        )
        return np.concatenate([recording["q"][-1], recording["qd"][-1]])

    return run


def driven(method):
    """A law that follows a moving reference continuously, through motors with a lag and bristle friction."""
    drive = Drive(np.diag([3.0, 2.0, 4.0]), np.full(3, np.inf), np.full(3, np.inf), time_constant=0.05)
    friction = LuGre(sigma0=20.0, sigma1=0.5, sigma2=0.1, coulomb=1.0, static=1.5, stribeck_speed=0.5)
    path = quintic([0.3, -0.2, 0.5], [1.3, 0.8, 1.5], 0.5)

    def law(t, q, qd, ref):
        return 20.0 * (ref.q - q) + 4.0 * (ref.qd - qd) + np.sin(9.0 * t)

    def run(k, other):
        recording = simulate(
            arm(),
            law,
            path,
            0.2,
            qd0=[3.0, 3.0, 3.0],
            drive=drive,
            friction=friction,
            continuous=True,
            rate=20.0,
            substeps=k,
            integrator=other or method,
        )
        assert recording["qd"].min() > 0.0  # bristle friction has a kink at rest
        return np.concatenate([recording[name][-1] for name in ("q", "qd", "motor_torque", "bristle")])

    return run


@pytest.mark.parametrize("problem", [free, driven])
@pytest.mark.parametrize("method", ORDER)
def test_order(method, problem):
    steps = (64, 128) if method == "semi-implicit" else (32, 64)
    order, errors = measured_order(problem(method), steps)
    assert order == pytest.approx(ORDER[method], abs=0.1), errors
    assert METHODS[method].order == ORDER[method]


@pytest.mark.parametrize("method", ["dopri5", "rodas3-adaptive"])
@pytest.mark.parametrize("problem", [free, driven])
def test_adaptive_steps_honour_their_tolerance(method, problem):
    """1e-7 a step at most: over a fraction of a second of smooth motion the result is good to about 1e-6."""
    run = problem(method)
    exact, ours = run(256, "rk4"), run(1, None)
    assert np.abs(ours - exact).max() < 2e-6 * max(1.0, np.abs(exact).max())


def test_adaptive_result_does_not_depend_on_the_ticks():
    runs = [
        simulate(arm(), None, None, 0.5, q0=[0.3, -0.2, 0.5], qd0=[1.0, -1.0, 2.0], rate=rate, integrator="dopri5")
        for rate in (2.0, 1000.0)
    ]
    assert np.abs(runs[0]["q"][-1] - runs[1]["q"][-1]).max() < 1e-6


def test_held_torque_against_an_independent_integrator():
    """The compiled loop against SciPy on the forward dynamics kernel, tick by tick with the torque held."""
    from scipy.integrate import solve_ivp

    robot = load("planar2")
    law = damping(2.0)
    recording = simulate(robot, law, None, 0.5, q0=[0.4, -0.3], qd0=[1.0, 2.0], rate=100.0, substeps=20)
    forward = forward_dynamics_kernel(robot)
    x = np.array([0.4, -0.3, 1.0, 2.0])
    for _ in range(50):
        tau = -2.0 * x[2:]
        x = solve_ivp(
            lambda t, x, tau=tau: np.concatenate([x[2:], forward(x[:2], x[2:], tau)]),
            (0.0, 0.01),
            x,
            rtol=1e-12,
            atol=1e-13,
            method="DOP853",
        ).y[:, -1]
    assert np.abs(recording["q"][-1] - x[:2]).max() < 1e-9


@pytest.mark.parametrize("method", ["rodas3", "rodas3-adaptive"])
def test_stiff_steps_far_beyond_the_explicit_limit(method):
    """002's first closed loop has a pole at -22,700 1/s; steps of 2 ms are 45 times its time constant."""
    robot, target = load("irb140"), (np.pi / 2, 0.0, -np.pi / 2, np.pi, np.pi / 2, -np.pi)
    law = pd_gravity([50.0, 50, 50, 50, 50, 60], [20.0, 20, 20, 20, 20, 22])
    recording = simulate(robot, law, target, 1.0, q0=np.zeros(6), continuous=True, rate=500.0, integrator=method)
    assert np.abs(recording["q"][-1] - (1.5551, 0.1613, -1.4273, 2.8957, 1.4419, -2.9361)).max() < 1e-3
    with pytest.raises(SimulationError, match="rk4 with a step of 2 ms cannot be stable") as error:
        simulate(robot, law, target, 1.0, q0=np.zeros(6), continuous=True, rate=500.0)
    assert "rodas3" in str(error.value) and "pole at -2" in str(error.value)


def test_jumping_law_stops_an_adaptive_step_with_a_message():
    """A relay chatters: no step is small enough. The run says so instead of standing still."""

    def relay(q, ref):
        return 50.0 * np.sign(ref.q - q) + np.log(ref.q - q)  # NaN once the target is passed

    with pytest.raises(SimulationError, match=r"made no progress|returned") as error:
        simulate(load("planar2"), relay, [0.1, 0.1], 2.0, q0=[0.0, 0.0], integrator="dopri5")
    assert np.isfinite(error.value.recording["q"]).all()


def test_clock_does_not_drift():
    recording = simulate(load("planar2"), damping(1.0), None, 30.0, q0=[0.1, 0.2], rate=300.0, every=100)
    assert np.abs(recording.time - np.arange(91) / 3.0).max() < 1e-12
    assert recording.time[-1] == pytest.approx(30.0, abs=1e-12)


def test_frictionless_replaces_the_robots_friction():
    robot = random_arm(8, 2)
    free_arm = simulate(robot, None, None, 0.5, q0=[0.3, 0.4], friction=Frictionless())
    braked = simulate(robot, None, None, 0.5, q0=[0.3, 0.4])
    assert np.abs(free_arm["qd"][-1]).max() > np.abs(braked["qd"][-1]).max()


@pytest.mark.parametrize("continuous", [False, True])
def test_rk4_in_the_loop_is_rk4_in_one_step(continuous):
    """The loop calls one derivative four times; a step by itself (for events, for laws in Python) holds all four."""
    robot, target = load("ur5"), [0.4, -0.6, 0.8, 0.2, -0.5, 0.3]
    law = pd_gravity([400.0, 400, 200, 5, 5, 1], [40.0, 40, 20, 0.5, 0.5, 0.1])
    session = Loop.of(robot, law, continuous=continuous).session(
        np.zeros(6), qd0=np.full(6, 0.3), reference=target, check_step=False
    )
    before = session.state[0]
    session.run(0.001)
    slots = {name: session.loop.get(name)[0] for name in session.loop.plan.slots}
    alone = session.single_step().by_name(slots | {"x": before, "past": np.zeros(1)})
    np.testing.assert_allclose(alone, session.state[0], rtol=0.0, atol=1e-13 * np.abs(alone).max())
    assert np.abs(alone - before).max() > 1e-5
