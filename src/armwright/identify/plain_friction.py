# SPDX-License-Identifier: Apache-2.0
"""Friction in the forms that controllers and simulators take: viscous and Coulomb, and their shares of a controller's.

A model has five terms for the friction of a gear. URDF's ``<dynamics damping friction>``, MuJoCo's ``damping`` and
``frictionloss`` and most controllers have two, f(q̇) = v q̇ + c sgn(q̇). `plain_friction` chooses the two that come
nearest to the five along the logs, and says how near. `friction_scales` compares them with the friction that a
controller compensates by itself, as far as its targets show it: URScript's ``direct_torque`` takes the ratio as
``viscous_scale`` and ``coulomb_scale``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.identify.filtered_log import even_samples
from armwright.identify.gear_friction import hysteresis
from armwright.identify.gram_matrices import MOVING_SPEED

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.identify.identified import Identified
    from armwright.robot.model import Robot
    from armwright.types import Array

FEWEST_RUBBING_ROWS = 50
"""Moving samples (half a second) below which the five terms themselves give viscous and Coulomb friction."""
LARGEST_SCALE = 3.0
"""A ratio to the controller's friction beyond this is no scale: the controller hardly compensates any."""


class PlainFriction(NamedTuple):
    """Two terms in place of five, by joint.

    Attributes:
        viscous: (n,) [N m s]. coulomb: (n,) [N m], both ≥ 0.
        missed: (n,) rms of what the two leave of the five, along the logs [N m]; NaN where a joint never moves.
    """

    viscous: Array
    coulomb: Array
    missed: Array


def plain_friction(identified: Identified, logs: Sequence[Log]) -> PlainFriction:
    """Return the viscous and Coulomb friction that come nearest to a model's five terms, along logs.

    Example:
        >>> plain_friction(model, [log]).coulomb  # [N m]
    """
    from scipy.optimize import nnls

    if not logs:
        raise InputError("plain friction: no logs given")
    pieces = [(piece, 1.0 / p.filter.rate) for p in map(even_samples, logs) for piece in p.pieces]
    qd = np.concatenate([piece.qd for piece, _ in pieces])
    tau = np.concatenate([piece.current * identified.gains for piece, _ in pieces])
    h = np.concatenate([hysteresis(piece.qd, dt, identified.friction.joint_travel) for piece, dt in pieces])
    c = identified.friction.coefficients
    rub = c[:, 0] * qd + c[:, 1] * qd * np.abs(qd) + (c[:, 2] + c[:, 3] * np.abs(tau)) * h
    viscous, coulomb = np.maximum(c[:, 0], 0.0), np.maximum(c[:, 2], 0.0)
    missed = np.full(identified.n, np.nan)
    for j in range(identified.n):
        use = np.abs(qd[:, j]) > MOVING_SPEED
        if use.sum() < FEWEST_RUBBING_ROWS:
            continue
        A = np.stack([qd[use, j], np.sign(qd[use, j])], axis=1)
        (viscous[j], coulomb[j]), left = nnls(A, rub[use, j])
        missed[j] = left / np.sqrt(use.sum())
    return PlainFriction(viscous, coulomb, missed)


def corrected_robot(identified: Identified, friction: PlainFriction) -> Robot:
    """Return the identified arm with friction in two terms, as descriptions take it."""
    return identified.robot.with_friction(friction.viscous, friction.coulomb)


def friction_scales(identified: Identified, friction: PlainFriction, logs: Sequence[Log]) -> Array:
    """Return viscous and Coulomb friction as shares of what the controller compensates (2, n); NaN where it shows none.

    The controller's own friction is what its target current has beyond its target torque: k i − τ = v q̇ + c sgn(q̇) + b.
    """
    told = [log for log in logs if log.target_current is not None and log.target_torque is not None]
    out = np.full((2, identified.n), np.nan)
    if not told:
        return out
    pieces = [piece for p in map(even_samples, told) for piece in p.pieces]
    qd = np.concatenate([piece.qd for piece in pieces])
    current = np.concatenate([np.asarray(piece.target_current) for piece in pieces])
    torque = np.concatenate([np.asarray(piece.target_torque) for piece in pieces])
    for j in range(identified.n):
        use = np.abs(qd[:, j]) > MOVING_SPEED
        if use.sum() < FEWEST_RUBBING_ROWS:
            continue
        v, sign, one = qd[use, j], np.sign(qd[use, j]), np.ones(int(use.sum()))
        A = np.stack([torque[use, j], v, sign, one], axis=1)
        slope, wet, dry, _ = np.linalg.lstsq(A, current[use, j], rcond=None)[0]
        if slope <= 0.0:
            continue
        own = np.array([wet, dry]) / slope
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.array([friction.viscous[j], friction.coulomb[j]]) / own
        out[:, j] = np.where((own > 0.0) & (share <= LARGEST_SCALE), share, np.nan)
    return out
