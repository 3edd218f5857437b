# SPDX-License-Identifier: Apache-2.0
"""Momentum observer for arms that know only their motor currents: friction with memory and load inside.

A gear takes τ_f = f(q̇) + (c + l |τ_out|) h from what the motor gives, h Dahl's hysteresis. So what comes out is

    τ_out = u / (1 + l h sgn u),   u = tau − f(q̇) − c h

which needs no acceleration, and holds with contact, too: the contact is part of what loads the teeth. Then the momentum
observer works on τ_out as if there were no friction. Torque is measured here, not commanded: both ends of a tick count
half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.contact.observers.momentum import explained
from armwright.control.tick_function import gain as checked
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Outputs, Traced

RESTING = 0.02
"""Speed [rad/s] below which a joint counts as at rest."""
UNDECIDED = 0.2
"""Rest [s] after which a joint forgets on which side of its friction it stopped, and the time constant of that."""


def gear_output(tau: Traced, qd: Traced, h: Traced, coefficients: Traced) -> Traced:
    """Return the part (n,) of the motor torque tau (n,) that a gear passes on, both at the joint side.

    Args:
        tau: drive gain times motor current (n,) [N m].
        qd: joint speeds (n,).
        h: hysteresis (n,), −1 to 1.
        coefficients: columns viscous, degressive, coulomb, load, offset.
    """
    viscous, degressive, coulomb, load, offset = (coefficients[:, k] for k in range(5))
    u = tau - viscous * qd - degressive * qd * np.abs(qd) - coulomb * h - offset
    return u / (1.0 + load * h * np.sign(u))


def _observe(
    arm: Robot | Tree,
    dt: float,
    q: Traced,
    qd: Traced,
    tau: Traced,
    gain: Traced,
    coefficients: Traced,
    dahl: Traced,
    r: Traced,
    carry: Traced,
    h: Traced,
    rest: Traced,
    started: Traced,
    motors: Traced | None = None,
) -> Outputs:
    rest = np.where(np.abs(qd) > RESTING, 0.0 * rest, rest + dt)
    turned, travel = None, dahl[: len(qd)]
    if motors is not None:  # their hysteresis stands behind that of the joints
        n = len(qd)
        turned, h = h[n:], h[:n]
        g, speed = motors[:, :n], motors[:, :n] @ qd
        kept = np.exp(-np.abs(speed) * (dt / dahl[n:]))
        turned = kept * turned + (1.0 - kept) * np.sign(speed)
        tau = tau - g.T @ (motors[:, n] * speed + motors[:, n + 1] * turned)
    keep = np.exp(-np.abs(qd) * (dt / travel))
    h = keep * h + (1.0 - keep) * np.sign(qd)
    h = np.where(rest > UNDECIDED, np.exp(-dt / UNDECIDED) * h, h)
    out = gear_output(tau, qd, h, coefficients)
    p, e = explained(arm, q, qd, False)
    push = 0.5 * dt * (e + out)
    d = p - push - carry
    a = np.exp(-gain * dt)
    r = np.where(started[0] > 0.0, a * r + (1.0 - a) / dt * d, 0.0 * r)
    return {
        "tau_ext": r,
        "resting": rest,
        "side": h,
        "r": r,
        "carry": p + push,
        "h": h if turned is None else np.concatenate([h, turned]),
        "rest": rest,
        "started": 0.0 * started + 1.0,
    }


@names_culprit
def geared_momentum_observer(
    gain: ArrayLike, coefficients: ArrayLike, *, dahl: ArrayLike = 2e-4, motors: ArrayLike | None = None
) -> Monitor:
    """Generalised-momentum observer with gear friction that has memory and depends on load.

    Claim, for an exact model: each moving joint's estimate obeys ṙ = K (tau_ext − r). A resting joint's friction is
    unknown within ±(coulomb + load·|τ|), and so is its estimate.

    Args:
        gain: K > 0 [1/s], scalar or (n,).
        coefficients: (n, 5) viscous, degressive, coulomb, load, offset
            [N m s/rad, N m s²/rad², N m, -, N m] of each joint.
        dahl: travel within which friction reverses [rad], one or (n + k,): of the joints, then of those motors.
        motors: (k, n + 2) motors that turn with several joints: each the row g of its speed g·q̇, then its viscous and
            Coulomb friction [N m s/rad, N m], all at the joints.

    Outputs: tau_ext (n,) [N m]; resting (n,), time for which each joint has been at rest [s], 0 while it moves;
    side (n,), the side of its friction that each joint is on, −1 to 1, 0 where that is forgotten.
    """
    c = np.array(coefficients, dtype=np.float64)
    if c.ndim != 2 or c.shape[1] != 5 or not np.isfinite(c).all() or (np.abs(c[:, 3]) >= 0.9).any():
        raise InputError(f"geared observer: coefficients must be finite, (n, 5), load below 0.9; got shape {c.shape}")
    travel = np.array(dahl, dtype=np.float64)
    count = len(c) + (0 if motors is None else len(np.asarray(motors)))
    if travel.shape not in ((), (count,)) or not (np.isfinite(travel) & (travel > 0.0)).all():
        raise InputError(f"geared observer: dahl must be > 0, one number or {count}, got {dahl!r}")
    gains = {"gain": checked(gain, "gain", positive=True), "coefficients": c, "dahl": np.full(count, travel)}
    memory: dict[str, Any] = {"r": 0.0, "carry": 0.0, "h": 0.0, "rest": 0.0, "started": [0.0]}
    if motors is not None and len(turned := np.array(motors, dtype=np.float64)):
        if turned.shape != (len(turned), len(c) + 2) or not np.isfinite(turned).all():
            raise InputError(f"geared observer: motors must be (k, {len(c) + 2}) and finite, got shape {turned.shape}")
        gains["motors"] = turned
        memory["h"] = np.zeros(len(c) + len(turned))
    return Monitor(
        "geared momentum",
        _observe,
        gains,
        memory,
        ("tau_ext", "resting", "side"),
        geared_momentum_observer.__doc__ or "",
    )
