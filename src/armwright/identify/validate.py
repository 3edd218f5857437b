# SPDX-License-Identifier: Apache-2.0
"""Whether a model holds on motions it has not seen: leave one log out, beside the controller's own model.

The floor is what no model of this kind can beat: where the arm runs the same path twice, the difference of the two
currents, over √2, is noise, drift and ripple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.accumulate import MOVING
from armwright.identify.fit import fit
from armwright.identify.gains import Gains
from armwright.identify.identified import Identified, Load
from armwright.identify.log import Log
from armwright.identify.payload import payload
from armwright.identify.predict import predict_currents
from armwright.identify.prepare import prepare

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class Held:
    """How a model does on one log that it has not seen, joints that move only.

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


def held_out(identified: Identified, log: Log, load: Load | None = None) -> Held:
    """Judge a model on a log; a payload is weighed in the log itself, as its mounting is not known beforehand."""
    carried = payload(identified, log).parameters if load is not None else None
    prepared = prepare(log)
    found = predict_currents(identified, prepared, payload=carried)
    return Held(log.name, found.error, found.torque_error, controller_error(log), repeat_floor(log))


@names_culprit
def validate(
    logs: Sequence[Log], robot: Robot, *, gains: Gains | None = None, payloads: Sequence[Load | None] | None = None
) -> tuple[Held, ...]:
    """Leave one log out after another: fit on the rest, judge on it. Arguments as `fit`; at least two logs."""
    if len(logs) < 2:
        raise InputError("validate: leaving one log out needs at least two")
    carried = list(payloads) if payloads is not None else [None] * len(logs)
    out = []
    for k, log in enumerate(logs):
        rest = [other for i, other in enumerate(logs) if i != k]
        loads = [load for i, load in enumerate(carried) if i != k]
        out.append(held_out(fit(rest, robot, gains=gains, payloads=loads), log, carried[k]))
    return tuple(out)


def controller_error(log: Log) -> Array | None:
    """rms(i − i_target)/rms(i) of the controller's own model, filtered alike, moving joints (n,); None without it."""
    if log.target_current is None:
        return None
    prepared = prepare(log)
    top, bottom = np.zeros(log.n), np.zeros(log.n)
    for piece in prepared.pieces:
        i = prepared.filter.without_phase(piece.current)
        target = prepared.filter.without_phase(piece.target_current)
        moving = np.abs(piece.qd) > MOVING
        top += np.sum((i - target) ** 2 * moving, axis=0)
        bottom += np.sum(i**2 * moving, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(top / bottom))


SAME = 0.01
"""Positions [rad] and tenths of speeds [rad/s] this close are the same point of a path run twice."""


def repeat_floor(log: Log, *, least: int = 200) -> Array | None:
    """Difference of currents, over √2 and rms(i), between two runs of one path (n,); None if none repeats.

    The lag of the second run is where positions of the log repeat best.
    """
    prepared = prepare(log)
    piece = max(prepared.pieces, key=lambda p: len(p.t))
    T = len(piece.t)
    moving = np.abs(piece.qd) > MOVING
    best, lag = np.inf, 0
    for shift in range(least, T - least, 5):
        apart = np.abs(piece.q[shift:] - piece.q[:-shift]).max(axis=1)
        share = float(np.mean(apart < SAME))
        if share > 0.5 and float(np.median(apart)) < best:
            best, lag = float(np.median(apart)), shift
    if not lag:
        return None
    fine = [s for s in range(max(1, lag - 5), lag + 6) if s < T]
    lag = min(fine, key=lambda s: float(np.median(np.abs(piece.q[s:] - piece.q[:-s]).max(axis=1))))
    same = (np.abs(piece.q[lag:] - piece.q[:-lag]).max(axis=1) < SAME)[:, None]
    same = same & (np.abs(piece.qd[lag:] - piece.qd[:-lag]) < 10.0 * SAME) & moving[lag:] & moving[:-lag]
    if same.any(axis=1).sum() < least:
        return None
    i = prepared.filter.without_phase(piece.current)
    with np.errstate(invalid="ignore", divide="ignore"):
        change = np.sqrt(np.sum((i[lag:] - i[:-lag]) ** 2 * same, axis=0) / np.sum(same, axis=0) / 2.0)
        level = np.sqrt(np.sum(i[lag:] ** 2 * same, axis=0) / np.sum(same, axis=0))
    return np.asarray(change / level)
