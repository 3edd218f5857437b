# SPDX-License-Identifier: Apache-2.0
"""Friction of a geared joint as a sum of known functions: the columns of the regression, and their coefficients.

    τ_f = viscous·v + degressive·v|v| + coulomb·h + load·h·|τ_rb| + offset

h is Dahl's hysteresis in place of sign(v): h' = (sgn v − h)|v|/δ, so that over a step h moves towards sgn v by
1 − exp(−|Δq|/δ). It needs no threshold at rest, and reverses within about δ: 0.2 mrad on stiff gears, some milliradians
where belts, seals or torque sensors give way.
``degressive`` is negative where friction grows less than linearly; ``load`` is a share: teeth under load rub more.

A motor that turns with several joints rubs at the speed g·q̇ of its own, g its row of the gear matrix over its own
ratio, and loads every joint of it: τ_f += gᵀ (viscous g·q̇ + coulomb h(g·q̇)), one pair of coefficients for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

TERMS = ("viscous", "degressive", "coulomb", "load", "offset")
"""Order of the coefficients and columns."""
MOTOR_TERMS = ("viscous", "coulomb")
"""Order of the coefficients of a motor that turns with several joints."""
DAHL = 2e-4
"""[rad] δ of the hysteresis; 0.1 to 0.3 mrad give the same fits on geared arms."""
TURNED_SPEED = 0.01
"""[rad/s] Speed at which friction without memory has turned its sign."""
LEAST_DAHL, MOST_DAHL = 1e-7, 0.1
"""[rad] Bounds of δ; outside it is no hysteresis of a gear."""


@dataclass(frozen=True, eq=False)
class GearFriction:
    """Coefficients of all joints.

    Attributes:
        coefficients: (n, 5) in the order of `TERMS` [N m s/rad, N m s²/rad², N m, -, N m].
        dahl: (n + k,) δ of the joints, then of those motors [rad]; one number for all is enough.
        motors: (k, n) rows g of the motors that turn with several joints.
        motor_coefficients: (k, 2) theirs, in the order of `MOTOR_TERMS` [N m s/rad, N m], at the joint.
    """

    coefficients: Array
    dahl: Array | float = DAHL
    motors: Array | None = None
    motor_coefficients: Array | None = None

    def __post_init__(self) -> None:
        """Refuse shapes and numbers that cannot be friction."""
        c = np.array(self.coefficients, dtype=np.float64)
        if c.ndim != 2 or c.shape[1] != len(TERMS) or not np.isfinite(c).all():
            raise InputError(f"friction: coefficients must be finite, (n, {len(TERMS)}), got shape {c.shape}")
        if (np.abs(c[:, 3]) >= 0.9).any():
            raise InputError("friction: a load coefficient of 0.9 or more would lock the joint")
        n = len(c)
        g = np.zeros((0, n)) if self.motors is None else np.array(self.motors, dtype=np.float64)
        d = self.motor_coefficients
        d = np.zeros((len(g), len(MOTOR_TERMS))) if d is None else np.array(d, dtype=np.float64)
        fits = g.ndim == 2 and g.shape[1] == n and d.shape == (len(g), len(MOTOR_TERMS))
        if not fits or not np.isfinite([*g.flat, *d.flat]).all():
            raise InputError(
                f"friction: motors must be (k, {n}) and their coefficients (k, {len(MOTOR_TERMS)}), finite, got "
                f"{g.shape} and {d.shape}"
            )
        travel = checked_dahl(self.dahl, n + len(g))
        for name, array in (("coefficients", c), ("dahl", travel), ("motors", g), ("motor_coefficients", d)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def travel(self) -> Array:
        """Return δ of all joints, then of the motors that turn with several, (n + k,) [rad]."""
        return np.asarray(self.dahl)

    @property
    def joint_travel(self) -> Array:
        """Return δ of the joints (n,) [rad]."""
        return self.travel[: len(self.coefficients)]

    @property
    def turned(self) -> Array:
        """Return the rows g (k, n) of motors that turn with several joints."""
        return np.asarray(self.motors)

    @property
    def of_motors(self) -> Array:
        """Return their coefficients (k, 2)."""
        return np.asarray(self.motor_coefficients)

    def torque(self, v: Array, h: Array, tau_rb: Array, h_motors: Array | None = None) -> Array:
        """Return the friction torque (..., n) at speed v, hysteresis h and rigid-body torque tau_rb, each (..., n).

        Motors that turn with several joints add theirs, with their own hysteresis h_motors (..., k).
        """
        out = np.asarray(np.einsum("...nk,nk->...n", columns(v, h, tau_rb), self.coefficients))
        if not len(self.turned):
            return out
        if h_motors is None:
            raise InputError(f"friction: {len(self.turned)} motors turn with several joints; give their hysteresis")
        own = self.of_motors[:, 0] * (v @ self.turned.T) + self.of_motors[:, 1] * h_motors
        return np.asarray(out + own @ self.turned)

    def motors_without_memory(self, v: Array) -> Array:
        """Return the friction torque (..., n) of motors that turn with several joints at speeds v, sign for memory."""
        speed = v @ self.turned.T
        own = self.of_motors[:, 0] * speed + self.of_motors[:, 1] * np.tanh(speed / TURNED_SPEED)
        return np.asarray(own @ self.turned)

    def band(self, tau_rb: Array) -> Array:
        """Return the largest torque (..., n) that a resting joint's friction hides: coulomb + load·|τ_rb|."""
        c = self.coefficients
        return np.asarray(np.maximum(c[:, 2], 0.0) + np.maximum(c[:, 3], 0.0) * np.abs(tau_rb))


def checked_dahl(dahl: ArrayLike, count: int) -> Array:
    """Return δ (count,) [rad] of one or all; refuse what no gear has."""
    try:
        travel = np.array(dahl, dtype=np.float64)
        travel = np.full(count, float(travel)) if travel.ndim == 0 else travel
    except (TypeError, ValueError):
        travel = np.zeros(0)
    if travel.shape != (count,) or not ((travel >= LEAST_DAHL) & (travel <= MOST_DAHL)).all():
        raise InputError(
            f"friction: dahl must lie between {LEAST_DAHL:g} and {MOST_DAHL:g} rad, one number or {count}, got {dahl!r}"
        )
    return travel


def columns(v: Array, h: Array, tau_rb: Array) -> Array:
    """Return the columns (..., n, 5) in the order of `TERMS`."""
    return np.stack([v, v * np.abs(v), h, h * np.abs(tau_rb), np.ones_like(v)], axis=-1)


def motor_columns(speed: Array, h: Array, motors: Array) -> Array:
    """Return the columns (T, n, 2 k) of motors (k, n) at their speeds and hysteresis (T, k), pair after pair."""
    pairs = np.stack([speed, h], axis=-1)  # (T, k, 2)
    return np.asarray((motors.T[None, :, :, None] * pairs[:, None]).reshape(len(speed), motors.shape[1], -1))


def hysteresis(v: Array, dt: float, dahl: Array | float = DAHL) -> Array:
    """Return Dahl's h (T, n) along speeds v (T, n) that are dt apart, δ one or (n,); it begins at 0, undecided."""
    keep = np.exp(-np.abs(v) * (dt / dahl))
    drive = (1.0 - keep) * np.sign(v)
    out = np.empty_like(v)
    for j in range(v.shape[1]):
        level, path = 0.0, []
        for a, b in zip(keep[:, j].tolist(), drive[:, j].tolist(), strict=True):
            level = a * level + b
            path.append(level)
        out[:, j] = path
    return out
