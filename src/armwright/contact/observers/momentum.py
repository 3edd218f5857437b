# SPDX-License-Identifier: Apache-2.0
"""Generalised-momentum observer (De Luca and Mattone 2003): external torque without accelerations.

    ṙ = K (tau_ext − r),   r = K (p − p(0) − ∫ (tau + Cᵀq̇ − g − friction + r) dt),   p = M q̇

Over one tick the torque is held, so the momentum that the model cannot explain,

    d_k = p_k − p_{k−1} − dt tau_{k−1} − ½ dt (e_{k−1} + e_k),   e = Cᵀq̇ − g − friction,

is the impulse of tau_ext during it up to O(dt³). r_k = a r_{k−1} + (1 − a) d_k/dt with a = exp(−K dt) is the exact
response of the filter to an external torque that is constant within ticks, at any K dt; it needs no acceleration.

p and Cᵀq̇ come from one pass out and one back, without M, C or Ṁ (`generalised_momentum`). In fixed axes the momentum of
everything beyond joint j, H_j, changes by the forces on it, and p_j = S_j·H_j with S_j the joint's axis (a screw). So

    ṗ_j = S_j·Ḣ_j + Ṡ_j·H_j        S_j·Ḣ_j = (tau + tau_ext − g − friction)_j        Ṡ_j = v_j × S_j

and comparing with ṗ = tau + tau_ext + Cᵀq̇ − g − friction gives (Cᵀq̇)_j = Ṡ_j·H_j = ½ ∂(q̇ᵀM q̇)/∂q_j. No factor C is
chosen anywhere: 000 dropped the momentum observer because its C did not make Ṁ − 2C skew, but only the vector
Cᵀq̇ = Ṁq̇ − Cq̇ is needed, which is the same for every factor.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.contact.observers.friction_beliefs import Losses, lost
from armwright.control.tick_function import gain as checked
from armwright.dynamics.newton_euler import gravity_torque
from armwright.dynamics.terms import ZERO, Z, gather, spread
from armwright.robot.step import steps
from armwright.robot.tree import as_tree, present
from armwright.spatial.linear import cross, dot

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


class Momentum(NamedTuple):
    """Generalised momentum p = M q̇ (n,) [N m s] and Cᵀq̇ (n,) [N m]."""

    p: Traced
    transport: Traced


def generalised_momentum(arm: Robot | Tree, q: Traced, qd: Traced) -> Momentum:
    """Return p = M(q) q̇ (rotors included) and Cᵀq̇ = ½ ∂(q̇ᵀM q̇)/∂q, both (n,), at q and qd (n,). See the module text.

    >>> generalised_momentum(robot, q, qd).p  # equals aw.mass_matrix(robot, q) @ qd
    """
    tree = as_tree(arm)
    st = steps(tree, q)
    rates = spread(tree, qd)
    velocity: list[tuple[Any, Any]] = []
    H: list[tuple[Any, Any]] = []  # linear and angular momentum about the body's origin, body axes
    for i, step in enumerate(st):
        w, u = velocity[tree.parent[i]] if tree.parent[i] >= 0 else (ZERO, ZERO)
        w, u = step.down(w), step.down(u + cross(w, step.p))
        along = np.array([0.0, 0.0, rates[i]])
        w, u = (w + along, u) if tree.revolute[i] else (w, u + along)
        velocity.append((w, u))
        H.append((tree.m[i] * u + cross(w, tree.h[i]), tree.J[i] @ w + cross(tree.h[i], u)))
    for i in range(tree.nb - 1, -1, -1):
        k = tree.parent[i]
        if k >= 0:
            f, n = st[i].up(H[i][0]), st[i].up(H[i][1])
            H[k] = (H[k][0] + f, H[k][1] + (n + cross(st[i].p, f)))
    p, transport = [], []
    for (w, u), (f, n), turns in zip(velocity, H, tree.revolute, strict=True):
        p.append(n[2] if turns else f[2])
        transport.append(dot(cross(w, Z), n) + dot(cross(u, Z), f) if turns else dot(cross(w, Z), f))
    total = gather(tree, p)
    if present(tree.armature):
        total = total + tree.armature @ qd
    return Momentum(total, gather(tree, transport))


def explained(arm: Robot | Tree, q: Traced, qd: Traced, friction: Losses) -> tuple[Traced, Traced]:
    """Return p = M q̇ and e = Cᵀq̇ − g − friction, so that ṗ = tau + tau_ext + e; both (n,)."""
    tree = as_tree(arm)
    p, transport = generalised_momentum(tree, q, qd)
    return p, transport - gravity_torque(tree, q) - lost(tree, qd, friction)


def impulse(p: Traced, e: Traced, tau: Traced, carry: Traced, dt: float) -> tuple[Traced, Traced]:
    """Return d_k [N m s] (n,) and what to carry to the next tick, p_k + dt (tau_k + ½ e_k)."""
    return p - carry - 0.5 * dt * e, p + dt * (tau + 0.5 * e)


@lru_cache(maxsize=64)
def momentum_function(friction: Losses) -> Callable[..., Any]:
    """Return the observer's function of one tick, with this friction."""

    def observe(
        arm: Robot | Tree,
        dt: float,
        q: Traced,
        qd: Traced,
        tau: Traced,
        gain: Traced,
        r: Traced,
        carry: Traced,
        started: Traced,
    ) -> dict[str, Traced]:
        p, e = explained(arm, q, qd, friction)
        d, carried = impulse(p, e, tau, carry, dt)
        a = np.exp(-gain * dt)
        r = np.where(started[0] > 0.0, a * r + (1.0 - a) / dt * d, 0.0 * r)
        return {"tau_ext": r, "r": r, "carry": carried, "started": 0.0 * started + 1.0}

    return observe


@names_culprit
def momentum_observer(gain: ArrayLike, *, friction: Losses = True) -> Monitor:
    """Generalised-momentum observer: tau_ext (n,) is the true external torque behind a first-order filter.

    Claim, for an exact model: each joint's estimate obeys ṙ = K (tau_ext − r): steady state without error, 63 % after
    1/K, no coupling between joints, so that a contact on link i leaves the joints beyond i at zero.

    Args:
        gain: K > 0 [1/s], scalar or (n,). Noise grows with it: an error σ of the velocities gives about M σ K √(dt K).
        friction: the robot's own (True), none, or a function of q̇.

    >>> run_monitors(momentum_observer(50.0), robot, run.time, run["q"], run["qd"], run["tau"])["tau_ext"]
    """
    return Monitor(
        "momentum",
        momentum_function(friction),
        {"gain": checked(gain, "gain", positive=True)},
        {"r": 0.0, "carry": 0.0, "started": [0.0]},
        ("tau_ext",),
        momentum_observer.__doc__ or "",
    )
