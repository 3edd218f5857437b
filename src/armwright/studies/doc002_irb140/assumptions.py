# SPDX-License-Identifier: Apache-2.0
"""What 002 leaves out of its closed loop and claims about it (§5.4.1, comments of §6.1.2), tried.

The items add torque limits, rate limiters, friction, and a controller that does not know gravity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from armwright.control import pd, pd_gravity, pid
from armwright.dynamics import gravity_torque
from armwright.recording.recording import Recording
from armwright.simulation import simulate
from armwright.simulation.drives import Drive
from armwright.simulation.friction_models import FrictionModel, Stribeck
from armwright.simulation.simulation_run import SimulateOptions
from armwright.studies.doc002_irb140.runs import SETTLED_BAND, settled
from armwright.studies.doc002_irb140.setting import RUNS, K_d, K_p, arm, postures
from armwright.studies.study import Claim, Item
from armwright.types import Array, Traced

MARGINS = (5.0, 20.0)
"""Torque limits above the largest gravity torque of each joint [N m]."""
SWING, RISES = 188.5, (1e-3, 1e-2)
"""Largest torque step of the runs [N m], and the times [s] in which a rate limiter lets it pass."""
VISCOUS, COULOMB = 2.0, 5.0
"""A tenth of K_d [N m s/rad]; 3 % of the largest torque [N m]."""


@dataclass(frozen=True, eq=False)
class RateLimited(Drive):
    """Motors whose torque changes by `rate` [N m/s] at most; otherwise it follows within `time_constant`."""

    rate: float = np.inf

    def torque(self, command: Traced, qd: Traced, states: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the joint torque (n,), and the limited derivative of the motor torque."""
        joint, slopes = super().torque(command, qd, states)
        return joint, {name: np.minimum(np.maximum(x, -self.rate), self.rate) for name, x in slopes.items()}


@cache
def largest_gravity() -> Array:
    """Return the largest |g_i| (6,) [N m] over 3000 random postures."""
    return np.asarray(np.abs(gravity_torque(arm(), postures(3000))).max(axis=0))


@cache
def _run(name: str, kind: str = "plain", amount: float = 0.0, duration: float = 5.0) -> Recording:
    """Return one of the runs with something added: "limit", "rise", "viscous", "coulomb", "no g" or "integral"."""
    drive: Drive | None = None
    friction: FrictionModel | None = None
    law = {"no g": pd(K_p, K_d), "integral": pid(K_p, amount, K_d)}.get(kind, pd_gravity(K_p, K_d))
    options: SimulateOptions = {"continuous": True, "integrator": "rodas3-adaptive", "rate": 2000.0}
    if kind == "limit":
        drive = Drive(np.eye(6), largest_gravity() + amount, np.inf)
    elif kind == "rise":
        drive = RateLimited(np.eye(6), np.inf, np.inf, 1e-6, rate=SWING / amount)
    elif kind in ("viscous", "coulomb"):
        parts = (amount, 0.0) if kind == "viscous" else (0.0, amount)
        friction = Stribeck(parts[0], parts[1], parts[1], 1.0, 1e-2)
    elif kind == "integral":  # its memory advances once per tick
        options = {"rate": 20_000.0, "check_step": False, "every": 10}
    q_init, q_ref = RUNS[name]
    options.update({"q0": q_init, "drive": drive, "friction": friction})
    return simulate(arm(), law, q_ref, duration, **options)


def moved(name: str, kind: str, amount: float) -> float:
    """Return the largest change of a joint's curve, as a share of the largest step of the run."""
    change = np.abs(_run(name, kind, amount)["q"] - _run(name)["q"]).max()
    return float(change / np.abs(RUNS[name].q_ref - RUNS[name].q_init).max())


def left(name: str, kind: str, amount: float = 0.0, duration: float = 5.0) -> float:
    """Return the largest error at the end [rad]."""
    return float(np.abs(_run(name, kind, amount, duration)["error"][-1]).max())


@cache
def rising_states() -> tuple[int, int]:
    """Return at how many random states V of (5.23) rises though the law is only saturated, and how many were tried."""
    rng = np.random.default_rng(5)
    q, qd = postures(3000), rng.uniform(-2.0, 2.0, (3000, 6))
    g, limit = gravity_torque(arm(), q), largest_gravity() + MARGINS[1]
    error = q - RUNS["CL1"].q_ref
    u = np.clip(-K_p * error - K_d * qd + g, -limit, limit)
    slope = np.einsum("ti,ti->t", qd, u - g + K_p * error)  # (5.25)
    return int((slope > 0.0).sum()), len(q)


def limited_runs_converge() -> bool:
    """Return whether every run with limited torque ends in its band."""
    return all(settled(n, _run(n, "limit", m, 20.0)).max() < 19.9 for n in RUNS for m in MARGINS)


def gravity_stiffness() -> float:
    """Return the largest ‖∂g/∂q‖ [N m/rad] over the random postures, by differences along the joints."""
    step, q = 1e-6, postures()
    slopes = [
        (gravity_torque(arm(), q + step * e) - gravity_torque(arm(), q - step * e)) / (2 * step) for e in np.eye(6)
    ]
    return float(np.linalg.norm(np.stack(slopes, axis=-1), ord=2, axis=(1, 2)).max())


def _limit_notes() -> list[str]:
    out = ["largest |g|: " + ", ".join(f"{x:.1f}" for x in largest_gravity()) + " N m (3000 postures)"]
    for margin in MARGINS:
        times = ", ".join(f"{n} {settled(n, _run(n, 'limit', margin, 20.0)).max():.2f}" for n in RUNS)
        out.append(f"limits {margin:g} N m above that: settled after {times} s (unlimited 2.67, 1.90, 2.77 s)")
    return out


def _proof_notes() -> list[str]:
    rising, tried = rising_states()
    return [f"V̇ > 0 at {rising} of {tried} random states with limits {MARGINS[1]:g} N m above the largest |g|"]


def _rate_notes() -> list[str]:
    out = []
    for rise in RISES:
        shares = ", ".join(f"{n} {100 * moved(n, 'rise', rise):.2f} %" for n in RUNS)
        speed = np.degrees(max(np.abs(_run(n, "rise", rise)["qd"]).max() for n in RUNS))
        out.append(
            f"{SWING} N m in {1e3 * rise:g} ms: curves move by {shares} of the largest step; peak speed {speed:.0f} °/s"
        )
    return out


def _friction_notes() -> list[str]:
    out = []
    for viscous in (VISCOUS, 10.0):
        shares = ", ".join(f"{n} {100 * moved(n, 'viscous', viscous):.1f} %" for n in RUNS)
        times = ", ".join(f"{settled(n, _run(n, 'viscous', viscous)).max():.2f}" for n in RUNS)
        out.append(
            f"viscous {viscous:g} N m s/rad: curves move by {shares} of the largest step; settled after {times} s"
        )
    ends = ", ".join(f"{left(n, 'coulomb', COULOMB, 10.0):.3f}" for n in RUNS)
    out.append(
        f"Coulomb {COULOMB:g} N m, which the thesis does not mention: {ends} rad left after 10 s, up to F_c/K_p = "
        f"{COULOMB / K_p.min():.2f} rad for good"
    )
    return out


def _gravity_notes() -> list[str]:
    ends = ", ".join(f"{n} {left(n, 'no g'):.2f}" for n in RUNS)
    out = [f"PD without g(q): {ends} rad left at 5 s"]
    ends = ", ".join(f"{n} {left(n, 'integral', 60.0, 10.0):.3f}" for n in RUNS)
    out.append(f"with an integral term (60 N m/(rad s)), no robust or adaptive law: {ends} rad left at 10 s")
    out.append(
        f"largest gravity stiffness {gravity_stiffness():.0f} N m/rad (300 postures) against K_p = 50: the constant "
        "g(q_ref) would not do either, by the usual condition"
    )
    return out


ITEMS: tuple[Item, ...] = (
    Item(
        "5.sat",
        "the proof of §5.4.1 covers saturated inputs",
        Claim("global asymptotic stability is proved also for saturated inputs"),
        None,
        lambda: rising_states()[0] == 0,
        reason="V̇ = −q̇ᵀK_d q̇ needs the law unsaturated; where it is not, V can rise, so the proof says nothing (the "
        "runs converge all the same)",
        faults=("§6.1.2: proof said to cover saturated inputs",),
        rule="V̇ of (5.25) at 3000 random states, torque limits 20 N m above the largest |g_i|, more than the thesis "
        "asks for",
        notes=_proof_notes,
    ),
    Item(
        "6.sat",
        "with saturated inputs the runs still converge",
        Claim("only the time to reach steady state differs"),
        None,
        limited_runs_converge,
        rule="limits 5 and 20 N m above the largest |g_i|: within 2 % of the steps before 20 s; that the time "
        "increases is true of two runs, CL1 can be quicker",
        notes=_limit_notes,
    ),
    Item(
        "6.rate",
        "rate limiters make no significant difference",
        Claim("not any significant difference"),
        None,
        lambda: all(moved(n, "rise", 1e-3) < SETTLED_BAND for n in RUNS),
        rule=f"no curve moves by 2 % of the largest step when {SWING} N m, the largest torque step, takes 1 ms; the "
        "thesis gives no rate",
        notes=_rate_notes,
    ),
    Item(
        "6.fric",
        "joint friction makes no difference while the input is not saturated",
        Claim("does not really make a difference"),
        None,
        lambda: all(moved(n, "viscous", VISCOUS) < SETTLED_BAND for n in RUNS),
        reason="it adds to K_d: a tenth of K_d moves the curves by 3 to 6 % of the largest step",
        faults=("§6.1.2: friction said to make no difference",),
        rule=f"no curve moves by 2 % of the largest step with viscous friction of {VISCOUS:g} N m s/rad, a tenth of "
        "K_d; the thesis gives no coefficient",
        notes=_friction_notes,
    ),
    Item(
        "5.g",
        "without knowledge of g(q) this law does not do",
        Claim("would require controllers with robust and adaptive properties"),
        None,
        lambda: all(left(n, "no g") > 0.02 for n in RUNS),
        rule="the PD law without g(q) misses the goal of every run by more than 0.02 rad at 5 s",
        notes=_gravity_notes,
    ),
)
