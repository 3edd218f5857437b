# SPDX-License-Identifier: Apache-2.0
"""Drive gains, torque at the joint per ampere of motor current: three ways to know them, and a line fitted to a log.

With friction and inertia both unknown, currents alone show only ratios: a gain twice as large with everything else
twice as large explains them equally. A gain must be known, or read from the controller's own targets, or made visible
by a load of known mass (`Known`, `FromTargets`, `Free`); `target_gains` reads the controller's.

`fit_current_map` takes the rigid body as described. 004 draws torque over current (eq. 6.5); noise in the current
flattens such a line. Here the noisy variable is regressed:

    i = (τ_μ + ν_c sgn q̇ + ν_v q̇ − b)/k,     linear in 1/k, ν_c/k, ν_v/k, −b/k

A joint that carries no rigid-body torque shows only ν/k: its k is called undetermined, not printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics import inverse_dynamics
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.filtered_log import even_samples
from armwright.identify.gram_matrices import MOVING_SPEED
from armwright.identify.log_checks import check_log
from armwright.robot.parts import CurrentMap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True)
class Known:
    """Gains from a data sheet or an earlier fit, one per joint [N m/A]. Logs of joint torques have gains of 1."""

    values: tuple[float, ...]

    def __init__(self, values: ArrayLike) -> None:
        """Check that they are positive numbers."""
        gains = np.ravel(np.asarray(values, dtype=np.float64))
        if not (np.isfinite(gains) & (gains > 0.0)).all() or not len(gains):
            raise InputError(f"gains: must be finite and > 0, got {gains.tolist()}")
        object.__setattr__(self, "values", tuple(float(x) for x in gains))


@dataclass(frozen=True)
class FromTargets:
    """Gains from the controller: the slope of its target torque on its target current (`gains_from_targets`).

    Attributes:
        assumed: gain to compute with where targets leave it undetermined; by default that of the nearest joint that is
            seen, which usually has the same drive.
    """

    assumed: float | None = None


@dataclass(frozen=True)
class Free:
    """Gains estimated together with everything else; at least one log must carry a load of known mass."""


Gains = Known | FromTargets | Free


GAIN_RELATIVE_DEVIATION = 0.25
"""Relative deviation of k up to which it counts as determined: two of them within ±50 %."""
LEAST_GAIN_BLOCKS = 10
BLOCK_SECONDS = 1.0
"""[s] Residuals of neighbouring samples are alike; those of neighbouring blocks are taken for independent."""


@dataclass(frozen=True, eq=False)
class FittedDrives:
    """Result of `fit_current_map`: τ = k i + b, and friction (n,) each.

    Attributes:
        k: [N m/A]. share: relative deviation of k, noise and doubtful rotors together.
        b: [N m]. coulomb: [N m]. viscous: [N m s/rad].
        r2_rigid: squared correlation of τ_μ with the current, moving rows.
        r2_friction: the same of τ_μ + friction: 004's figures 6.1 and 6.2 as numbers.
        determined: whether k is.
    """

    k: Array
    share: Array
    b: Array
    coulomb: Array
    viscous: Array
    r2_rigid: Array
    r2_friction: Array
    determined: tuple[bool, ...]

    def usable(self) -> Array:
        """K (n,) with that of the nearest determined joint where it is not: neighbouring drives are alike."""
        known = np.flatnonzero(self.determined)
        if not len(known):
            raise InputError("current map: no joint carries enough torque in these logs to tell its gain")
        nearest = [known[np.argmin(np.abs(known - j))] for j in range(len(self.k))]
        return np.asarray(np.where(self.determined, self.k, self.k[nearest]))

    def current_map(self) -> CurrentMap:
        """Return the map to compute with, `usable` gains and their offsets (0 where the joint hardly moved)."""
        return CurrentMap(self.usable(), np.where(np.isfinite(self.b), self.b, 0.0))


@names_culprit
def fit_current_map(
    logs: Log | Sequence[Log],
    robot: Robot,
    *,
    rotor_doubt: float = 0.0,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
) -> FittedDrives:
    """Fit gain, offset and friction of every joint.

    Args:
        logs: without contact.
        robot: the description whose rigid-body torque (with its rotors, without friction) is taken as it is.
        rotor_doubt: relative deviation of its rotor inertia, where that is assumed: a gain that rests on it is in as
            much doubt.
        rate: of the even samples [Hz], see `even_samples`.
        cutoff: of the low-pass on all columns and the current alike [Hz], None without.

    >>> fit_current_map(log, robot).k  # [N m/A]
    """
    tau, rotors, dry, qd, current, moving = current_rows(logs, robot, rate=rate, cutoff=cutoff)
    per = max(1, round(BLOCK_SECONDS * rate))

    def fitted(torque: Array) -> list[Array]:
        each = [
            regress_current(*(x[moving[:, j], j] for x in (torque, dry, qd, current)), per=per) for j in range(robot.n)
        ]
        return [np.array(column) for column in zip(*each, strict=True)]

    columns = fitted(tau)
    if not np.isfinite(columns[0]).any():
        most = int(moving.sum(axis=0).max())
        raise InputError(
            f"current map: joints move for {most / rate:.1f} s at most; "
            f"{LEAST_GAIN_BLOCKS * BLOCK_SECONDS:g} s are needed"
        )
    if rotor_doubt:
        columns[1] = np.hypot(columns[1], np.abs(fitted(tau + rotor_doubt * rotors)[0] / columns[0] - 1.0))
    with np.errstate(invalid="ignore"):
        determined = tuple(
            bool(share < GAIN_RELATIVE_DEVIATION and k > 0.0) for k, share in zip(columns[0], columns[1], strict=True)
        )
    k, share, b, coulomb, viscous, line, curve = columns
    return FittedDrives(k, share, b, coulomb, viscous, line, curve, determined)


def current_rows(
    logs: Log | Sequence[Log], robot: Robot, *, rate: float = 100.0, cutoff: float | None = 8.0
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """What is regressed, (T, n) each, filtered alike: rigid torque, rotors' part of it, sign, speed, current; moving.

    Arguments as `fit_current_map`.
    """
    many = (logs,) if isinstance(logs, Log) else tuple(logs)
    if not many:
        raise InputError("current map: at least one log is needed")
    parts = []
    for log in many:
        check_log(log, robot)
        prepared = even_samples(log, rate=rate, cutoff=cutoff)
        for piece in prepared.pieces:
            motion = (piece.q, piece.qd, piece.qdd)
            rigid, links = (
                np.asarray(inverse_dynamics(robot, *motion, friction=False, rotors=rotors)) for rotors in (True, False)
            )
            signals = (rigid, rigid - links, np.sign(piece.qd), piece.qd, piece.current)
            filtered = [prepared.filter.without_phase(x) for x in signals]
            parts.append((*filtered, np.abs(piece.qd) > MOVING_SPEED))
    tau, rotor, dry, qd, current, moving = (np.concatenate(column) for column in zip(*parts, strict=True))
    return tau, rotor, dry, qd, current, moving


def regress_current(
    tau: Array, dry: Array, qd: Array, current: Array, *, per: int = 1
) -> tuple[float, float, float, float, float, float, float]:
    """Regress the current of one joint: k, its relative deviation, b, ν_c, ν_v, R² without and with friction.

    Args:
        tau: (T,) rigid-body torque [N m].
        dry: (T,) sign of the speed.
        qd: (T,) speed [rad/s].
        current: (T,) [A].
        per: samples a block; within one, errors may be alike.
    """
    if len(tau) < LEAST_GAIN_BLOCKS * per:
        return (np.nan,) * 7
    A = np.stack([tau, dry, qd, np.ones_like(tau)], axis=1)
    inverse = np.linalg.pinv(A.T @ A)
    x = inverse @ (A.T @ current)
    rest = current - A @ x
    blocks = np.arange(len(tau)) // per
    sums = np.stack([np.bincount(blocks, A[:, m] * rest) for m in range(4)], axis=1)
    spread = inverse @ (sums.T @ sums) @ inverse
    k = 1.0 / x[0] if x[0] else np.inf
    share = float(np.sqrt(spread[0, 0]) / abs(x[0])) if x[0] else np.inf
    full = tau + k * (x[1] * dry + x[2] * qd)
    line, curve = (float(np.corrcoef(y, current)[0, 1] ** 2) if np.ptp(y) > 0.0 else 0.0 for y in (tau, full))
    return float(k), share, float(-x[3] * k), float(x[1] * k), float(x[2] * k), line, curve
