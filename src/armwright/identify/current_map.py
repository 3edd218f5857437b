# SPDX-License-Identifier: Apache-2.0
"""Torque per ampere and offset of every drive from a log without contact, the rigid body taken as described (004 §5.5).

004 draws torque over current (6.5). Noise in the current flattens such a line. Here the noisy variable is regressed:

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
from armwright.identify.accumulate import MOVING
from armwright.identify.checks import check_log
from armwright.identify.log import Log
from armwright.identify.prepare import prepare

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

SURE = 0.25
"""Relative deviation of k up to which it counts as determined: two of them within ±50 %."""
LEAST_BLOCKS = 10
BLOCK = 1.0
"""[s] Residuals of neighbouring samples are alike; those of neighbouring blocks are taken for independent."""


@dataclass(frozen=True, eq=False)
class CurrentMap:
    """τ = k i + b, and friction (n,) each.

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
        """K (n,) with that of the nearest determined joint where it is not: drives beside each other are alike."""
        known = np.flatnonzero(self.determined)
        if not len(known):
            raise InputError("current map: no joint carries enough torque in these logs to tell its gain")
        nearest = [known[np.argmin(np.abs(known - j))] for j in range(len(self.k))]
        return np.asarray(np.where(self.determined, self.k, self.k[nearest]))


@names_culprit
def fit_current_map(
    logs: Log | Sequence[Log],
    robot: Robot,
    *,
    rotor_doubt: float = 0.0,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
) -> CurrentMap:
    """Fit gain, offset and friction of every joint.

    Args:
        logs: without contact.
        robot: the description whose rigid-body torque (with its rotors, without friction) is taken as it is.
        rotor_doubt: relative deviation of its rotor inertia, where that is assumed: a gain that rests on it is in as
            much doubt.
        rate: of the even samples [Hz], see `prepare`.
        cutoff: of the low-pass on all columns and the current alike [Hz], None without.
    """
    tau, rotors, dry, qd, current, moving = current_rows(logs, robot, rate=rate, cutoff=cutoff)
    per = max(1, round(BLOCK * rate))

    def fitted(torque: Array) -> list[Array]:
        each = [
            regress_current(*(x[moving[:, j], j] for x in (torque, dry, qd, current)), per=per) for j in range(robot.n)
        ]
        return [np.array(column) for column in zip(*each, strict=True)]

    columns = fitted(tau)
    if not np.isfinite(columns[0]).any():
        most = int(moving.sum(axis=0).max())
        raise InputError(
            f"current map: joints move for {most / rate:.1f} s at most; {LEAST_BLOCKS * BLOCK:g} s are needed"
        )
    if rotor_doubt:
        columns[1] = np.hypot(columns[1], np.abs(fitted(tau + rotor_doubt * rotors)[0] / columns[0] - 1.0))
    with np.errstate(invalid="ignore"):
        determined = tuple(bool(share < SURE and k > 0.0) for k, share in zip(columns[0], columns[1], strict=True))
    k, share, b, coulomb, viscous, line, curve = columns
    return CurrentMap(k, share, b, coulomb, viscous, line, curve, determined)


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
        prepared = prepare(log, rate=rate, cutoff=cutoff)
        for piece in prepared.pieces:
            motion = (piece.q, piece.qd, piece.qdd)
            rigid, links = (
                np.asarray(inverse_dynamics(robot, *motion, friction=False, rotors=rotors)) for rotors in (True, False)
            )
            signals = (rigid, rigid - links, np.sign(piece.qd), piece.qd, piece.current)
            filtered = [prepared.filter.without_phase(x) for x in signals]
            parts.append((*filtered, np.abs(piece.qd) > MOVING))
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
    if len(tau) < LEAST_BLOCKS * per:
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
