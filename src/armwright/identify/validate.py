# SPDX-License-Identifier: Apache-2.0
"""Whether a model holds on motions it has not seen: leave one log out, beside the controller's own model and the floor.

The floor (`repeat_floor`) is what no model of this kind can beat.
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
from armwright.identify.floor import repeat_floor
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


def held_out(identified: Identified, log: Log, load: Load | None = None, again: Sequence[Log] = ()) -> Held:
    """Judge a model on a log; a payload is weighed in the log itself, as its mounting is not known beforehand.

    `again` are logs with the same payload that may run the same path: they give the floor.
    """
    carried = payload(identified, log).parameters if load is not None else None
    prepared = prepare(log)
    found = predict_currents(identified, prepared, payload=carried)
    floors = (repeat_floor(log, other) for other in (None, *again))
    floor = next((x for x in floors if x is not None), None)
    return Held(log.name, found.error, found.torque_error, controller_error(log), floor)


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
        again = [other for other, load in zip(rest, loads, strict=True) if load is None and carried[k] is None]
        out.append(
            held_out(
                fit(rest, robot, gains=gains, payloads=None if payloads is None else loads), log, carried[k], again
            )
        )
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
