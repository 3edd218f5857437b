# SPDX-License-Identifier: Apache-2.0
"""`validate`: whether a model holds on motions it has not seen, compared with the controller's own model and a floor.

`predict_currents` gives expected and measured currents through the same filter. `held_out` judges a model on one log,
`validate` leaves out one log after another. The floor (`repeat_floor`) is what no model of this kind can beat: the
difference of the currents of two runs of one path, over √2: noise, drift and ripple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.drive_gains import Gains
from armwright.identify.filtered_log import Prepared, even_samples
from armwright.identify.gram_matrices import MOVING_SPEED, chunks
from armwright.identify.identifiable import structure
from armwright.identify.identified import Identified, Load, PayloadEstimate, payload_parameters
from armwright.identify.log_checks import check_log
from armwright.identify.model_fit import fit
from armwright.identify.payloads import payload
from armwright.identify.position_friction import filtered_torque

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class Prediction:
    """Measured and predicted currents on the even grid of `even_samples`, K samples.

    Attributes:
        t: (K,) [s]. measured, predicted: (K, n) [A].
        moving: (K, n) whether the joint moves; resting joints' currents cannot be predicted.
        gains: (n,) [N m/A].
    """

    t: Array
    measured: Array
    predicted: Array
    moving: NDArray[np.bool_]
    gains: Array

    @property
    def error(self) -> Array:
        """Return rms(i − î)/rms(i) of each joint's moving samples (n,), free of gains; NaN if a joint never moves."""
        return _relative(self.measured - self.predicted, self.measured, self.moving)

    @property
    def torque_error(self) -> Array:
        """Return the rms of gain·(i − î) of each joint's moving samples (n,) [N m]."""
        return np.asarray(self.gains * _rms(self.measured - self.predicted, self.moving))


def _rms(values: Array, where: NDArray[np.bool_]) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.sum(values**2 * where, axis=0) / np.sum(where, axis=0)))


def _relative(residual: Array, measured: Array, where: NDArray[np.bool_]) -> Array:
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
        rate: of the even samples [Hz], see `even_samples`.
        cutoff: of the low-pass [Hz], None without.

    Example:
        >>> predict_currents(model, log).error  # (n,), 0.03 is 3 % of the current
    """
    if isinstance(log, Log):
        check_log(log, identified.robot)
        log = even_samples(log, rate=rate, cutoff=cutoff)
    model = structure(identified.robot)
    beta = identified.beta if payload is None else identified.beta + model.loads @ payload_parameters(payload)
    v = identified.vectors(beta)
    t, measured, predicted, moving = [], [], [], []
    for part in chunks(log, model, beta, dahl=identified.friction.travel):
        t.append(part.t)
        measured.append(part.columns[..., -1])
        predicted.append(np.einsum("tjm,jm->tj", part.columns[..., :-1], v[:, :-1]))
        moving.append(part.moving)
    expected = np.concatenate(predicted)
    if identified.position is not None:
        expected = expected + filtered_torque(identified.position, log) / identified.gains
    return Prediction(np.concatenate(t), np.concatenate(measured), expected, np.concatenate(moving), identified.gains)


SAME_POINT_DISTANCE = 0.01
"""Positions [rad] and tenths of speeds [rad/s] this close are the same point of a path."""
SAME_RUN_SHARE = 0.5
"""Share of the shorter run that must be the same."""
COARSE_LAG_SAMPLES = 5
"""Samples between lags that are tried first."""


def repeat_floor(log: Log, other: Log | None = None, *, least: int = 200) -> Array | None:
    """Return the difference of currents between two runs of one path, over √2 and rms(i), joint by joint (n,).

    Args:
        log: in which the path is run.
        other: in which it is run again, with the same payload; by default the same log, later.
        least: fewest samples that must be the same.

    Returns:
        NaN for joints that rest; None if no path is repeated.

    Example:
        >>> repeat_floor(log)  # (n,), or None if no path is repeated
    """
    first, second = (even_samples(x) for x in (log, other if other is not None else log))
    a, b = (max(p.pieces, key=lambda piece: len(piece.t)) for p in (first, second))
    if a.q.shape[1] != b.q.shape[1]:
        return None
    lag = _best_lag(a.q, b.q, least if other is None else -(len(a.t) - least), least)
    if lag is None or _apart(a.q, b.q, lag) > SAME_POINT_DISTANCE:
        return None
    ra, rb = _overlap(len(a.t), len(b.t), lag)
    same = (np.abs(a.q[ra] - b.q[rb]).max(axis=1) < SAME_POINT_DISTANCE)[:, None] & (
        np.abs(a.qd[ra] - b.qd[rb]) < 10.0 * SAME_POINT_DISTANCE
    )
    same &= (np.abs(a.qd[ra]) > MOVING_SPEED) & (np.abs(b.qd[rb]) > MOVING_SPEED)
    if same.any(axis=1).sum() < least:
        return None
    one, two = first.filter.without_phase(a.current)[ra], second.filter.without_phase(b.current)[rb]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.sum((one - two) ** 2 * same, axis=0) / 2.0 / np.sum(one**2 * same, axis=0)))


def path_distance(log: Log, other: Log, *, least: int = 200) -> float:
    """Return how far two logs are from running one path [rad, m]: the better half of their common samples, best lag."""
    first, second = (max(even_samples(x).pieces, key=lambda piece: len(piece.t)).q for x in (log, other))
    if first.shape[1] != second.shape[1]:
        return float("inf")
    lag = _best_lag(first, second, -(len(first) - least), least)
    return float("inf") if lag is None else _apart(first, second, lag)


def _best_lag(a: Array, b: Array, low: int, least: int) -> int | None:
    """Return the lag of b behind a, from `low` on, at which they are nearest; None if they do not overlap enough."""
    lags = range(low, len(b) - least, COARSE_LAG_SAMPLES)
    if not len(lags):
        return None
    best = min(lags, key=lambda lag: _apart(a, b, lag))
    near = [lag for lag in range(best - COARSE_LAG_SAMPLES, best + COARSE_LAG_SAMPLES + 1) if lag >= low]
    return min(near, key=lambda k: _apart(a, b, k))


def _overlap(na: int, nb: int, lag: int) -> tuple[slice, slice]:
    """Return the rows of both runs that belong together: sample k of the first to sample k + lag of the second."""
    start, stop = max(0, -lag), min(na, nb - lag)
    return slice(start, stop), slice(start + lag, stop + lag)


def _apart(a: Array, b: Array, lag: int) -> float:
    """Return the distance of two runs at a lag [rad]: the limit of the better `SAME_RUN_SHARE` of common samples."""
    ra, rb = _overlap(len(a), len(b), lag)
    return float(np.quantile(np.abs(a[ra] - b[rb]).max(axis=1), SAME_RUN_SHARE))


@dataclass(frozen=True, eq=False)
class Held:
    """Errors of a model on one log that it has not seen, joints that move only.

    Attributes:
        log: its name. error: (n,) rms(i − î)/rms(i). torque: (n,) rms [N m].
        controller: (n,) the same for the controller's own target current, None if not logged.
        floor: (n,) from repeated paths, None if no path repeats.
    """

    log: str
    error: Array
    torque: Array
    controller: Array | None
    floor: Array | None


def held_out(identified: Identified, log: Log, load: Load | None = None, again: Sequence[Log] = ()) -> Held:
    """Judge a model on a log; a payload is weighed in the log itself, as its mounting is not known beforehand.

    `again` are logs with the same payload that may run the same path: they give the floor.

    Example:
        >>> held_out(model, read_log("another.csv")).error
    """
    carried = payload(identified, log).parameters if load is not None else None
    prepared = even_samples(log)
    found = predict_currents(identified, prepared, payload=carried)
    floors = (repeat_floor(log, other) for other in (None, *again))
    floor = next((x for x in floors if x is not None), None)
    return Held(log.name, found.error, found.torque_error, controller_error(log), floor)


@names_culprit
def validate(
    logs: Sequence[Log], robot: Robot, *, gains: Gains | None = None, payloads: Sequence[Load | None] | None = None
) -> tuple[Held, ...]:
    """Leave one log out after another: fit on the rest, judge on it. Arguments as `fit`; at least two logs.

    Example:
        >>> [held.error for held in validate(logs, robot)]
    """
    if len(logs) < 2:
        raise InputError("validate: leaving one log out needs at least two")
    carried = list(payloads) if payloads is not None else [None] * len(logs)
    out = []
    for k, log in enumerate(logs):
        rest = [other for i, other in enumerate(logs) if i != k]
        loads = [load for i, load in enumerate(carried) if i != k]
        again = [other for other, load in zip(rest, loads, strict=True) if load is None and carried[k] is None]
        out.append(
            held_out(
                fit(rest, robot, gains=gains, payloads=None if payloads is None else loads), log, carried[k], again
            )
        )
    return tuple(out)


def controller_error(log: Log) -> Array | None:
    """Return rms(i − i_target)/rms(i) of the controller's own model, filtered alike, moving joints (n,); or None."""
    if log.target_current is None:
        return None
    prepared = even_samples(log)
    top, bottom = np.zeros(log.n), np.zeros(log.n)
    for piece in prepared.pieces:
        i = prepared.filter.without_phase(piece.current)
        target = prepared.filter.without_phase(piece.target_current)  # type: ignore[arg-type] # the log has them
        moving = np.abs(piece.qd) > MOVING_SPEED
        top += np.sum((i - target) ** 2 * moving, axis=0)
        bottom += np.sum(i**2 * moving, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(top / bottom))
