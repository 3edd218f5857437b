# SPDX-License-Identifier: Apache-2.0
"""Following a force: the reference yields to what the arm feels, like a damped body (000, 8.1: "force control mode").

The desired position is moved away from the reference by z, and z is a body with inertia, damping and dry friction that
the felt torque pushes,

    B z̈ + (Jᵀ D J + D_q) ż + d sign(ż) = tau_felt + Jᵀ F        q_c = q_d + z

It follows a hand with the speed D⁻¹ times its force, stays where it is below the dead zone d, and moves on against
nothing until the world pushes back with −F. It is written in the joints, with transposes of J only: a touch anywhere on
the arm moves it, and a singularity does not matter.

What is felt: a sensor at the wrist, an observer, or the law's own tracking error. The last is the idea of 000
(eq. 5.7–5.8) for a loop whose stiffness is K_p instead of M K_0: tau_felt = K_p q̃ + K_d q̃̇, q̃ = q − q_c. There arm and
moved body hang together by a spring and a damper, which is passive whatever they do and needs no model of M.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.friction_cancelling import friction_speed
from armwright.control.law import Law
from armwright.control.tick_function import choice, finite_numbers, gain
from armwright.control.two_velocities import passive_torque
from armwright.dynamics.energy import kinetic_energy
from armwright.errors import InputError
from armwright.kinematics.jacobians import frame_jacobian
from armwright.pickling import Rebuilt
from armwright.robot.tree import as_tree
from armwright.spatial.linear import ltdl_solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

FEELS = ("error", "sensor", "observer")
TOOL_DAMPING = (200.0, 200.0, 200.0, 20.0, 20.0, 20.0)
"""[N s/m, N m s/rad] 20 N lead the tool at 0.1 m/s, and 2 N m turn it at 0.1 rad/s: a hand can do both, and stop it."""


class Yielding(NamedTuple):
    """The gains of `admittance`, and the moved body's place z and speed ż (n,)."""

    kp: Traced
    kd: Traced
    damping: Traced
    inertia: Traced
    joint_damping: Traced
    dead_zone: Traced
    press: Traced
    moved: Traced
    speed: Traced


def yielding_speed(body: Yielding, J: Traced, u: Traced, dt: Traced) -> Traced:
    """Return ż (n,) a tick later, by one implicit Euler step: stable for every dt, and never richer than it was pushed.

    Args:
        body: gains, and the speed now.
        J: Jacobian of the tool (6, n).
        u: torque that pushes (n,) [N m].
        dt: tick [s].
    """
    one = np.ones(len(body.speed))
    B, most = body.inertia * one, body.dead_zone * one
    held = np.clip(u + B * body.speed / dt, -most, most)  # dry friction: what would stop it within the tick
    D = J.T @ ((body.damping * np.ones(6))[:, None] * J) + np.diag(body.joint_damping * one)
    return ltdl_solve(np.diag(B) + dt * D, B * body.speed + dt * (u - held))


@dataclass(frozen=True)
class ForceFollowing(Rebuilt):
    """The law's function, for one way to feel and with friction cancelled at one speed.

    Attributes:
        feel: one of `FEELS`.
        friction: one of `armwright.control.friction_cancelling.FRICTION_SPEEDS`.
    """

    feel: str
    friction: str

    @property
    def __signature__(self) -> inspect.Signature:
        """Signals, the gains and memory of `Yielding`, and what it feels by."""
        felt = {"sensor": ("wrench",), "observer": ("tau_ext",)}.get(self.feel, ())
        kind, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
        names = ("arm", "q", "qd", "ref", "dt", *Yielding._fields, *felt)
        return inspect.Signature(
            [inspect.Parameter(name, kind, default=None if name == "wrench" else empty) for name in names]
        )

    def __call__(
        self, arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, dt: Traced, **told: Traced
    ) -> tuple[Traced, dict[str, Traced]]:
        """Return the torque (n,) and where the moved body is a tick later."""
        tree, body = as_tree(arm), Yielding(*(told[name] for name in Yielding._fields))
        spring = body.kp * (q - ref.q - body.moved) + body.kd * (qd - ref.qd - body.speed)
        J, own = frame_jacobian(tree, q), self.feel == "error"
        if own:
            felt = spring
        elif self.feel == "observer":
            felt = told["tau_ext"]
        else:  # nothing at the wrist where nothing touches
            felt = np.zeros(tree.n) if told.get("wrench") is None else J.T @ told["wrench"]
        new = yielding_speed(body, J, felt + J.T @ body.press, dt)
        # felt by its own error the arm hangs on the spring alone; else it is moved along with z
        wanted = (ref.qd, ref.qdd) if own else (ref.qd + body.speed, ref.qdd + (new - body.speed) / dt)
        tau = passive_torque(tree, q, qd, *wanted, friction=self.friction) - spring
        return tau, {"moved": body.moved + dt * new, "speed": new}


@dataclass(frozen=True)
class ForceFollowingEnergy(Rebuilt):
    """The storage function that belongs to it."""

    feel: str

    def __call__(
        self,
        arm: Robot | Tree,
        q: Traced,
        qd: Traced,
        ref: Reference,
        kp: Traced,
        inertia: Traced,
        moved: Traced,
        speed: Traced,
    ) -> Traced:
        """Return V [J]."""
        e = q - ref.q - moved
        ed = qd - ref.qd if self.feel == "error" else qd - ref.qd - speed
        return kinetic_energy(arm, q, ed) + 0.5 * (e @ (kp * e)) + 0.5 * (speed @ (inertia * speed))


@names_culprit
def admittance(
    kp: ArrayLike,
    kd: ArrayLike,
    damping: ArrayLike = TOOL_DAMPING,
    *,
    inertia: ArrayLike = 0.5,
    joint_damping: ArrayLike = 0.1,
    dead_zone: ArrayLike = 0.0,
    press: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    feel: str = "error",
    friction: bool | str = "reference",
) -> Law:
    """Follow a force: q_c = q_d + z, B z̈ + (JᵀDJ + D_q)ż + d sign(ż) = tau_felt + JᵀF, tau as below; q̃ = q − q_c.

    feel="error": tau_felt = K_p q̃ + K_d q̃̇, tau = M q̈_d + C q̇_d + g − tau_felt: no sensor, no observer; the arm must
    give way to a hand, so its gears may not block. Storage: V = ½żᵀBż + ½(q̇ − q̇_d)ᵀM(q̇ − q̇_d) + ½q̃ᵀK_p q̃.
    feel="sensor": tau_felt = Jᵀw with the measured ``wrench``; feel="observer": tau_felt = ``tau_ext``, the estimate of
    the tick before (`armwright.contact.with_observer`, or an observer among the monitors of `simulate`). There
    tau = M q̈_c + C q̇_c + g − K_p q̃ − K_d q̃̇, and V = ½żᵀBż + ½q̃̇ᵀM q̃̇ + ½q̃ᵀK_p q̃.

    Claim: V̇ = −żᵀ(JᵀDJ + D_q)ż − dᵀ|ż| − q̃̇ᵀK_d q̃̇ + (q̇ − q̇_d)ᵀtau_ext + żᵀJᵀF, with F = 0 the arm is passive
    towards the world, wherever it is touched; by its own error always, else as far as tau_felt is tau_ext. A sensor
    or observer that is T late wants D > k T, with k the stiffness of surface and arm (K_p) in series.
    A constant force f at the tool moves it with D⁻¹f (D_q = 0, d = 0); |tau_felt + JᵀF| ≤ d leaves it where it is; in
    contact it comes to rest where the world pushes back with F, to within d. z advances by one implicit Euler step
    each period dt.

    Args:
        kp: K_p ≥ 0 [N m/rad], scalar or (n,): how stiffly the arm follows q_c.
        kd: K_d ≥ 0 [N m s/rad], scalar or (n,).
        damping: D ≥ 0 of the tool [N s/m, N m s/rad], scalar or (6,), base axes.
        inertia: B > 0 [kg m²], scalar or (n,): how heavy it feels when it begins to move.
        joint_damping: D_q ≥ 0 [N m s/rad], scalar or (n,): for joints that the tool does not need, and singularities.
        dead_zone: d ≥ 0 [N m], scalar or (n,): above what an observer feels where nothing touches.
        press: F (6,) [N, N m], base axes: the force that the tool shall exert; it moves that way until it does.
        feel: "error", "sensor" or "observer".
        friction: the model's friction that is added, at which speed: `armwright.control.friction_cancelling`.

    >>> law = admittance(kp, kd, damping=[100.0] * 3 + [10.0] * 3, dead_zone=0.5)
    """
    choice(feel, "feel", FEELS)
    how = friction_speed(friction)
    gains = {
        "kp": gain(kp, "kp"),
        "kd": gain(kd, "kd"),
        "damping": gain(damping, "damping", size=6),
        "inertia": gain(inertia, "inertia", positive=True),
        "joint_damping": gain(joint_damping, "joint_damping"),
        "dead_zone": gain(dead_zone, "dead_zone"),
        "press": _six(press),
    }

    return Law(
        "admittance",
        ForceFollowing(feel, how),
        gains,
        {"moved": 0.0, "speed": 0.0},
        ForceFollowingEnergy(feel),
        admittance.__doc__ or "",
        {"damping": 6, "press": 6},
        how,
        partial(ForceFollowing, feel),
    )


def _six(press: ArrayLike) -> Array:
    """A wrench (6,), or (B, 6) for a batch; unlike other gains it has a sign."""
    array = finite_numbers(press, "press")
    if array.ndim not in (1, 2) or array.shape[-1] != 6:
        raise InputError(f"press: expected a wrench (6,) [N, N m], got {array.shape}")
    return array
