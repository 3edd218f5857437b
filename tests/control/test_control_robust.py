# SPDX-License-Identifier: Apache-2.0
"""The robust laws that 002's assignment asked for, at work: an arm whose masses the controller does not know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright import control
from armwright.motion.trajectory import Reference
from armwright.robot.load import load
from armwright.robot.variations import add_payload

ARM = load("cea")
DT = 1e-3
K = 20.0 * np.diag(aw.mass_matrix(ARM, np.zeros(6)))


def heavier(robot, seed, spread=0.3):
    """Every mass and inertia off by up to ±spread, and a payload."""
    factors = 1.0 + spread * np.random.default_rng(seed).uniform(-1.0, 1.0, len(robot.bodies))
    bodies = tuple(
        replace(body, mass=f * body.mass, inertia=f * body.inertia)
        for body, f in zip(robot.bodies, factors, strict=True)
    )
    return add_payload(replace(robot, bodies=bodies), 3.0, com=[0.0, 0.0, 0.1])


def reference(t):
    phase, w = np.arange(6.0), np.array([2.0, 1.5, 2.5, 3.0, 2.2, 3.5])
    return Reference(0.3 * np.sin(w * t + phase), 0.3 * w * np.cos(w * t + phase), -0.3 * w**2 * np.sin(w * t + phase))


def follow(law, plant, duration):
    """Largest joint error over the last half of a run that starts on the reference; torque held for DT, RK4 inside."""
    kernel = control.law_kernel(law, ARM, dt=DT)
    memory = list(control.initial_memory(law, 6).values())
    q, qd = reference(0.0).q, reference(0.0).qd
    worst = 0.0
    for k in range(round(duration / DT)):
        t = k * DT
        ref = reference(t)
        if t > 0.5 * duration:
            worst = max(worst, np.abs(q - ref.q).max())
        out = kernel(t, q, qd, *ref, *memory)
        tau, *memory = out if isinstance(out, tuple) else (out,)
        a = aw.forward_dynamics(plant, q, qd, tau)
        v2 = qd + 0.5 * DT * a
        b = aw.forward_dynamics(plant, q + 0.5 * DT * qd, v2, tau)
        v3 = qd + 0.5 * DT * b
        c = aw.forward_dynamics(plant, q + 0.5 * DT * v2, v3, tau)
        v4 = qd + DT * c
        d = aw.forward_dynamics(plant, q + DT * v3, v4, tau)
        q, qd = q + DT / 6.0 * (qd + 2 * v2 + 2 * v3 + v4), qd + DT / 6.0 * (a + 2 * b + 2 * c + d)
    return worst


def along():
    parts = zip(*(reference(t) for t in np.linspace(0.0, 4.0, 400)), strict=True)
    return Reference(*(np.array(part) for part in parts))


def visited(plant):
    """Largest mismatch a joint along the reference."""
    ref = along()
    return np.abs(control.torque_mismatch(ARM, plant, ref.q, ref.qd, ref.qd, ref.qdd)).max(axis=0)


@pytest.mark.parametrize("seed", [0, 1])
def test_sliding_mode_holds_the_bound_that_it_promises(seed):
    plant, lam, epsilon = heavier(ARM, seed), 10.0, 0.1
    rho = 1.3 * visited(plant) + 1.0
    law = control.sliding_mode(K, lam, rho, epsilon)
    assert control.loop_hold_limit(control.linearise(ARM, law, np.zeros(6))) > DT
    assert follow(law, ARM, 1.0) < 5e-4
    assert follow(law, plant, 2.0) <= epsilon / lam  # inside the layer |q̃| ≤ ε/Λ
    bare = control.sliding_mode(K, lam, 0.0, epsilon, friction="measured")  # the arm's own friction would help it
    assert follow(bare, plant, 2.0) > 20.0 * epsilon / lam


def test_lyapunov_redesign_beats_the_computed_torque_it_starts_from():
    plant = heavier(ARM, 0)
    kp, kd = control.frequency_gains(10.0)
    ref = along()
    eta = np.linalg.norm(control.acceleration_mismatch(ARM, plant, ref.q, ref.qd, ref.qdd), axis=-1).max()
    # η also contains (M⁻¹M̂ − 1) times what the law itself adds, hence the factor
    robust = follow(control.lyapunov_redesign(kp, kd, 4.0 * eta, 0.05), plant, 2.0)
    assert robust < 0.15 * follow(control.computed_torque(kp, kd), plant, 2.0)


def test_adaptive_law_learns_the_load():
    plant = heavier(ARM, 0)
    fixed = follow(control.sliding_mode(K, 5.0, 0.0, 1.0, friction="measured"), plant, 2.0)
    rate = control.adaptation_rates(ARM, 0.2, form="base")
    law = control.adaptive(ARM, K, 5.0, rate, form="base", friction_at="measured")
    assert follow(law, plant, 2.0) < 0.05 * fixed
