# SPDX-License-Identifier: Apache-2.0
"""What 002 leaves out of its closed loop and claims about it (sections 5.4.1 and 6.1.2), tried.

The items add torque limits, rate limiters, friction, and a controller that does not know gravity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from armwright.control import pd, pd_gravity, pid
from armwright.dynamics import gravity_torque
from armwright.recording.recording import Recording
from armwright.simulation import simulate
from armwright.simulation.drives import Drive
from armwright.simulation.friction_models import FrictionModel, Stribeck
from armwright.simulation.simulation_run import SimulateOptions
from armwright.studies.doc002_irb140.runs import SETTLED_BAND, STILL_JOINT_BAND, settled
from armwright.studies.doc002_irb140.setting import RUNS, K_d, K_p, arm, postures
from armwright.studies.study import Claim, Item, Shown, Supposed
from armwright.types import Array, Traced

MARGINS = (5.0, 20.0)
"""Torque limits above the largest gravity torque of each joint [N m]."""
SWING, RISES = 188.5, (1e-3, 1e-2)
"""Largest torque step of the runs [N m], and the times [s] in which a rate limiter lets it pass."""
VISCOUS, COULOMB = (0.2, 2.0), 5.0
"""A hundredth and a tenth of K_d [N m s/rad]; 3 % of the largest torque [N m]."""
STRONG = np.array([10.0, 10.0, 10.0, 1.0, 1.0, 1.0])
"""By how much stiffer than the thesis's gains a PID without g(q) is tried: K_p above the gravity stiffness."""


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
    """Return one of the runs with something added ("limit", "rise", "viscous", "coulomb") or without g(q).

    "no g" is PD, "integral" PID with the same K_p and K_d, "strong" PID with ten times these in joints 1 to 3.
    """
    drive: Drive | None = None
    friction: FrictionModel | None = None
    blind = {"no g": pd(K_p, K_d), "integral": pid(K_p, amount, K_d)}
    blind["strong"] = pid(STRONG * K_p, 0.1 * amount * STRONG, STRONG * K_d)
    law = blind.get(kind, pd_gravity(K_p, K_d))
    options: SimulateOptions = {"continuous": True, "integrator": "rodas3-adaptive", "rate": 2000.0}
    if kind == "limit":
        drive = Drive(np.eye(6), largest_gravity() + amount, np.inf)
    elif kind == "rise":
        drive = RateLimited(np.eye(6), np.inf, np.inf, 1e-6, rate=SWING / amount)
    elif kind in ("viscous", "coulomb"):
        parts = (amount, 0.0) if kind == "viscous" else (0.0, amount)
        friction = Stribeck(parts[0], parts[1], parts[1], 1.0, 1e-2)
    elif kind in ("integral", "strong"):  # its memory advances once per tick
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


def proof_covers_saturation() -> Shown:
    """Return whether V of (5.23) falls at states far away, one joint drifting off, for any of several limits."""
    slopes = []
    for margin in (*MARGINS, 500.0):
        limit = largest_gravity() + margin
        for joint in range(6):
            error, qd = np.zeros(6), np.zeros(6)
            error[joint], qd[joint] = 3.0 * limit[joint] / K_p[joint], 0.1
            g = gravity_torque(arm(), RUNS["CL1"].q_ref + error)
            u = np.clip(-K_p * error - K_d * qd + g, -limit, limit)
            slopes.append(float(qd @ (u - g + K_p * error)))
    return Shown(max(slopes) <= 0.0, f"V̇ from {min(slopes):+.2g} to {max(slopes):+.2g} W at {len(slopes)} states")


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
        out.append(f"limits {margin:g} N m above that: settled after {times} s")
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
    for viscous in (*VISCOUS, 10.0):
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
    out.append(f"with an integral term (60 N m/(rad s)) and the same K_p: {ends} rad left at 10 s")
    out.append(
        f"largest gravity stiffness {gravity_stiffness():.0f} N m/rad (300 postures) against K_p = 50: the constant "
        "g(q_ref) would not do either, by the usual condition"
    )
    return out


def _moves(kind: str, amount: float) -> Shown:
    """Return whether an addition moves no curve by 2 % of the largest step of its run."""
    shares = [moved(n, kind, amount) for n in RUNS]
    return Shown(
        max(shares) < SETTLED_BAND, f"curves move by {100 * min(shares):.2g} to {100 * max(shares):.2g} % of the step"
    )


def _later(margin: float) -> Shown:
    """Return whether every run with torques limited to `margin` above the largest |g_i| settles, and no sooner."""
    times = {n: (settled(n, _run(n, "limit", margin, 20.0)).max(), settled(n, _run(n)).max()) for n in RUNS}
    fine = all(free <= limited < 19.9 for limited, free in times.values())
    return Shown(fine, ", ".join(f"{n} {limited:.2f} for {free:.2f} s" for n, (limited, free) in times.items()))


def _misses(kind: str, amount: float, duration: float) -> Shown:
    """Return whether a law without g(q) misses some goal by more than 0.02 rad."""
    ends = {n: left(n, kind, amount, duration) for n in RUNS}
    told = ", ".join(f"{n} {x:.2g}" for n, x in ends.items())
    return Shown(max(ends.values()) > STILL_JOINT_BAND, f"rad left after {duration:g} s: {told}")


ITEMS: tuple[Item, ...] = (
    Item(
        "5.sat",
        "the proof of section 5.4.1 covers saturated inputs",
        Claim("global asymptotic stability is proved also for saturated inputs"),
        None,
        proof_covers_saturation,
        reason="V̇ = −q̇ᵀK_d q̇ needs the law unsaturated. Whatever the limits, far enough from the goal V̇ of (5.25) is "
        "positive where a joint drifts away from it, so the proof says nothing (the runs converge all the same)",
        faults=("section 6.1.2: proof said to cover saturated inputs",),
        rule="V̇ of (5.25) with one joint so far away that K_p q̃ is three times its limit, drifting by 0.1 rad/s; "
        "limits from 5 to 500 N m above the largest |g_i|, more than the thesis asks for",
        notes=_proof_notes,
    ),
    Item(
        "6.sat",
        "with saturated inputs the runs still converge, later",
        Claim("The only difference in the simulations will be the increased time to reach steady state"),
        None,
        readings=tuple(
            Supposed(f"limits {margin:g} N m above the largest |g_i|", partial(_later, margin)) for margin in MARGINS
        ),
        reason="the thesis gives no limits; the runs converge with all we tried, but CL1 can be quicker",
        rule="within 2 % of the steps before 20 s, and no sooner than without limits",
        notes=_limit_notes,
    ),
    Item(
        "6.rate",
        "rate limiters make no significant difference",
        Claim("rate limiters will not make any significant difference"),
        None,
        readings=tuple(Supposed(f"{SWING} N m in {1e3 * rise:g} ms", partial(_moves, "rise", rise)) for rise in RISES),
        rule=f"no curve moves by 2 % of the largest step; {SWING} N m is the largest torque step, and the thesis gives "
        "no rate but “very quickly”",
        notes=_rate_notes,
    ),
    Item(
        "6.fric",
        "joint friction makes no difference while the input is not saturated",
        Claim("it does not really make a difference to the simulations"),
        None,
        readings=tuple(
            Supposed(f"F_v = {viscous:g} N m s/rad", partial(_moves, "viscous", viscous)) for viscous in VISCOUS
        ),
        reason="it adds to K_d = 20; the thesis gives no coefficient, and the coefficient decides",
        rule="viscous friction, as in its equation: no curve moves by 2 % of the largest step; a hundredth and a tenth "
        "of K_d",
        notes=_friction_notes,
    ),
    Item(
        "5.g",
        "without knowledge of g(q) robust and adaptive properties are needed",
        Claim("would then require controllers with robust and adaptive properties"),
        None,
        readings=(
            Supposed("PD with the thesis's gains", partial(_misses, "no g", 0.0, 5.0)),
            Supposed(
                "PID, ten times these in joints 1 to 3, K_i = 300 N m/(rad s)", partial(_misses, "strong", 300.0, 20.0)
            ),
        ),
        reason="with the thesis's gains the goals are missed, with an integral term, too; a stiffer PID reaches them, "
        "and whether that is a robust property is a matter of words",
        rule="“require” holds if a law without them is more than 0.02 rad off at the end of some run",
        notes=_gravity_notes,
    ),
)
