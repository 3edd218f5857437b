# SPDX-License-Identifier: Apache-2.0
"""PID of each joint, with an integral that does not wind up (002, section 2.10, names the terms; 004, 2.3, the use)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.law import Law
from armwright.control.pd import pd_torque
from armwright.control.tick_function import choice, gain
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced

ANTI_WINDUP = ("conditional", "back-calculation", "none")


def clamp(x: Traced, limit: Traced) -> Traced:
    """Keep x inside ±limit, element by element."""
    return np.minimum(np.maximum(x, -limit), limit)


def grow_conditionally(integral: Traced, wish: Traced, limit: Traced, step: Traced) -> Traced:
    """Return integral + step, except where the wish is beyond the limit and the step would push it further."""
    pushed = (np.abs(wish) > limit) & (wish * step > 0.0)
    return integral + np.where(pushed, 0.0, step)


@names_culprit
def pid(
    kp: ArrayLike,
    ki: ArrayLike,
    kd: ArrayLike,
    *,
    limit: ArrayLike | None = None,
    anti_windup: str = "conditional",
    tracking_time: ArrayLike = 0.1,
    gravity: bool = False,
) -> Law:
    """PID: tau = clamp(u, ±limit), u = K_p e + K_d ė + z (+ g(q)), ż = K_i e; the memory is z [N m].

    Anti-windup: "conditional" holds z where |u| > limit and K_i e would push u further out; "back-calculation" adds
    (clamp(u) − u)/tracking_time to ż, so z follows what the actuator can do. Claim: z never grows while it saturates
    ("conditional"); under a constant error |u| settles at limit + tracking_time·K_i|e| ("back-calculation"). In
    equilibrium e = 0 and z carries gravity. Stability is local (a linear joint of inertia m: K_i < K_p K_d/m); no
    global storage function. z advances by one explicit Euler step each period dt.

    Args:
        kp: ≥ 0 [N m/rad], scalar or (n,).
        ki: ≥ 0 [N m/(rad s)], scalar or (n,).
        kd: ≥ 0 [N m s/rad], scalar or (n,).
        limit: largest |tau| > 0 [N m], scalar or (n,); without it nothing saturates and anti-windup has nothing to do.
        anti_windup: "conditional", "back-calculation" or "none".
        tracking_time: > 0 [s], scalar or (n,), for "back-calculation"; not below the control period.
        gravity: whether g(q) of the model is added.

    >>> run = aw.simulate(robot.with_rotors(0.1), pid(kp=400.0, ki=100.0, kd=40.0, limit=150.0), path)
    """
    choice(anti_windup, "anti_windup", ANTI_WINDUP)
    gains = {"kp": gain(kp, "kp"), "ki": gain(ki, "ki"), "kd": gain(kd, "kd")}
    doc, start = pid.__doc__ or "", {"integral": 0.0}

    def wish(
        arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced, integral: Traced
    ) -> Traced:
        u = pd_torque(q, qd, ref, kp, kd) + integral
        return u + gravity_torque(arm, q) if gravity else u

    def free(
        arm: Robot | Tree,
        q: Traced,
        qd: Traced,
        ref: Reference,
        dt: Traced,
        kp: Traced,
        ki: Traced,
        kd: Traced,
        integral: Traced,
    ) -> tuple[Traced, dict[str, Traced]]:
        return wish(arm, q, qd, ref, kp, kd, integral), {"integral": integral + dt * (ki * (ref.q - q))}

    def limited(
        arm: Robot | Tree,
        q: Traced,
        qd: Traced,
        ref: Reference,
        dt: Traced,
        kp: Traced,
        ki: Traced,
        kd: Traced,
        limit: Traced,
        integral: Traced,
    ) -> tuple[Traced, dict[str, Traced]]:
        u = wish(arm, q, qd, ref, kp, kd, integral)
        step = dt * (ki * (ref.q - q))
        grown = grow_conditionally(integral, u, limit, step) if anti_windup == "conditional" else integral + step
        return clamp(u, limit), {"integral": grown}

    def tracking(
        arm: Robot | Tree,
        q: Traced,
        qd: Traced,
        ref: Reference,
        dt: Traced,
        kp: Traced,
        ki: Traced,
        kd: Traced,
        limit: Traced,
        tracking_time: Traced,
        integral: Traced,
    ) -> tuple[Traced, dict[str, Traced]]:
        u = wish(arm, q, qd, ref, kp, kd, integral)
        tau = clamp(u, limit)
        return tau, {"integral": integral + dt * (ki * (ref.q - q) + (tau - u) / tracking_time)}

    if limit is None:
        if anti_windup == "back-calculation":
            raise InputError("pid: back-calculation needs limit=…, the torque at which the actuator saturates [N m]")
        return Law("PID", free, gains, start, doc=doc)
    gains["limit"] = gain(limit, "limit", positive=True)
    if anti_windup == "back-calculation":
        gains["tracking_time"] = gain(tracking_time, "tracking_time", positive=True)
        return Law("PID", tracking, gains, start, doc=doc)
    return Law("PID", limited, gains, start, doc=doc)
