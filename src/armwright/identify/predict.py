# SPDX-License-Identifier: Apache-2.0
"""Currents that a model expects, beside those that were measured, both through the same filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.identify.accumulate import chunks
from armwright.identify.checks import check_log
from armwright.identify.identified import Identified, PayloadEstimate, payload_parameters
from armwright.identify.log import Log
from armwright.identify.prepare import Prepared, prepare
from armwright.identify.structure import structure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class Prediction:
    """Measured and predicted currents on the even grid of `prepare`, K samples.

    Attributes:
        t: (K,) [s]. measured, predicted: (K, n) [A].
        moving: (K, n) whether the joint moves; resting joints' currents cannot be predicted.
        gains: (n,) [N m/A].
    """

    t: Array
    measured: Array
    predicted: Array
    moving: Any
    gains: Array

    @property
    def error(self) -> Array:
        """rms(i − î)/rms(i) of each joint's moving samples (n,), free of gains; NaN for joints that never move."""
        return _relative(self.measured - self.predicted, self.measured, self.moving)

    @property
    def torque_error(self) -> Array:
        """Return the rms of gain·(i − î) of each joint's moving samples (n,) [N m]."""
        return np.asarray(self.gains * _rms(self.measured - self.predicted, self.moving))


def _rms(values: Array, where: Any) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.sum(values**2 * where, axis=0) / np.sum(where, axis=0)))


def _relative(residual: Array, measured: Array, where: Any) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return _rms(residual, where) / _rms(measured, where)


@names_culprit
def predict_currents(
    identified: Identified,
    log: Log | Prepared,
    *,
    payload: PayloadEstimate | ArrayLike | None = None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
) -> Prediction:
    """Predict the motor currents of a log from its motion.

    Args:
        identified: the model.
        log: as read, or prepared already.
        payload: what the tool carries: a `PayloadEstimate` or its (10,) parameters.
        rate: of the even samples [Hz], see `prepare`.
        cutoff: of the low-pass [Hz], None without.
    """
    if isinstance(log, Log):
        check_log(log, identified.robot)
        log = prepare(log, rate=rate, cutoff=cutoff)
    model = structure(identified.robot)
    beta = identified.beta if payload is None else identified.beta + model.loads @ payload_parameters(payload)
    v = identified.vectors(beta)
    t, measured, predicted, moving = [], [], [], []
    for part in chunks(log, model, beta, dahl=identified.friction.dahl):
        t.append(part.t)
        measured.append(part.columns[..., -1])
        predicted.append(np.einsum("tjm,jm->tj", part.columns[..., :-1], v[:, :-1]))
        moving.append(part.moving)
    return Prediction(
        np.concatenate(t), np.concatenate(measured), np.concatenate(predicted), np.concatenate(moving), identified.gains
    )
