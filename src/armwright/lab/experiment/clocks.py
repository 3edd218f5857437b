# SPDX-License-Identifier: Apache-2.0
"""The sensors' times on the controller's clock, from what both felt: a push for the force sensor, motion for the unit.

The host saw when every packet came, which lays the records together to some milliseconds. Then `align` compares what
the sensor felt with what the joints tell: the force that currents and model explain, the acceleration of the unit's
place. Both are without delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.direct import direct_residuals, tool_wrenches
from armwright.identify.filters import low_pass
from armwright.kinematics import fk
from armwright.lab.align import Alignment, align
from armwright.lab.experiment.weight import longest_piece, specific_force
from armwright.lab.sensing import FT_AT, IMU_AT

if TYPE_CHECKING:
    from armwright.identify.identified import Identified
    from armwright.lab.experiment.data import Data, Sensor
    from armwright.robot.model import Robot
    from armwright.types import Array

FASTEST = 15.0  # [Hz] of what is compared
RATE = 125.0
WINDOW = 2.0  # [s]
MOST_OFF = 1.0  # [s] after the host's times have laid the records together
MOST_DRIFT = 0.006  # of a device's clock
SETTLED = 0.2  # [s]
SLOW = 0.6  # [s] over which a force is levelled: friction and weight are slow, taps and pushes are not


@dataclass(frozen=True, eq=False)
class Clock:
    """A sensor's time on the controller's: t (K,) [s] of its samples, how it was found, and how well.

    Attributes:
        alignment: t_controller = offset + (1 + drift)·t_sensor; None where only the host's times were of use.
        said: how, in words.
    """

    t: Array
    alignment: Alignment | None
    said: str


def by_host(data: Data, sensor: Sensor) -> tuple[float, float]:
    """Line (slope, offset) from a sensor's time to the controller's, through the times at which packets came.

    Robot and sensor may pause together, so every packet is compared with those of the robot that came around it. A busy
    host delays some: the line is that of the better half.
    """
    host = np.maximum.accumulate(data.host)
    t = np.interp(sensor.host, host, data.log.t)
    use = (sensor.host >= host[0]) & (sensor.host <= host[-1])
    middle = float(sensor.t.mean())
    x, y = sensor.t[use] - middle, t[use]
    keep = np.ones(len(x), dtype=bool)
    for _ in range(4):
        slope, offset = np.polyfit(x[keep], y[keep], 1)
        off = np.abs(y - slope * x - offset)
        keep = off <= np.median(off)
    if abs(slope - 1.0) > MOST_DRIFT:  # no clock is that bad: packets were late, by more and more
        slope, offset = 1.0, float(np.median(y - x))
    return float(slope), float(offset - slope * middle)


def _refined(data: Data, sensor: Sensor, t_a: Array, x_a: Array, x_b: Array, what: str) -> Clock:
    slope, offset = by_host(data, sensor)
    rough = slope * sensor.t + offset
    inside = (rough >= t_a[0]) & (rough <= t_a[-1])
    try:
        found = align(t_a, x_a, rough[inside], x_b[inside], window=WINDOW, most_offset=MOST_OFF)
    except InputError as error:
        return Clock(rough, None, f"by the host's times: {error}")
    whole = Alignment(
        found.offset + (1.0 + found.drift) * offset,
        found.offset_interval,
        (1.0 + found.drift) * slope - 1.0,
        found.drift_interval * slope,
        found.jitter,
        found.windows,
    )
    return Clock(whole.to_a(sensor.t), whole, f"from {what}, {found.windows} stretches of {WINDOW:g} s")


def _smooth(t: Array, x: Array) -> Array:
    """Values on the samples' own, nearly even, times; without delay."""
    rate = 1.0 / float(np.median(np.diff(t)))
    return low_pass(rate, FASTEST).without_phase(x)


def _levelled(t: Array, x: Array) -> Array:
    from scipy.ndimage import median_filter

    size = round(SLOW / float(np.median(np.diff(t)))) | 1
    return np.asarray(x - median_filter(x, size=(size, 1)))


def force_clock(data: Data, model: Identified) -> Clock:
    """Clock of the force sensor, from taps and pushes."""
    sensor = data.ft
    assert sensor is not None
    slope, offset = by_host(data, sensor)
    felt = tool_wrenches(model, direct_residuals(model, data.log, rate=RATE, cutoff=FASTEST))
    told = _levelled(felt.t, felt.wrench[:, :3])
    near = np.clip(slope * sensor.t + offset, data.log.t[0], data.log.t[-1])
    q = np.stack([np.interp(near, data.log.t, column) for column in data.log.q.T], axis=1)
    R = np.asarray(fk(model.robot, q))[:, :3, :3]
    seen = _smooth(sensor.t, np.einsum("tij,tj->ti", R, sensor.values[:, :3]))
    seen = _levelled(sensor.t, seen)
    # where the arm starts, stops or rests, friction hides force or seems to be one: neither side tells anything there
    told *= _under_way(data, felt.t)[:, None]
    seen *= _under_way(data, near)[:, None]
    return _refined(data, sensor, felt.t, told, seen, "taps and pushes")


def _under_way(data: Data, t: Array) -> Array:
    """1 (K,) where the reference has been moving for `SETTLED` and will be for as long, else 0."""
    from scipy.ndimage import binary_erosion

    rows = round(SETTLED / float(np.median(np.diff(data.log.t))))
    inner = binary_erosion(data.moved, np.ones(2 * rows + 1, dtype=bool))
    return np.asarray(np.interp(t, data.log.t, np.asarray(inner, dtype=np.float64)))


def weight_clock(data: Data, robot: Robot) -> Clock:
    """Clock of the force sensor in a run without contact, from what the tool's weight and inertia do to it."""
    sensor = data.ft
    assert sensor is not None
    piece = longest_piece(data, RATE, FASTEST)
    told = -specific_force(robot, piece, FT_AT)
    return _refined(data, sensor, piece.t, told, _smooth(sensor.t, sensor.values[:, :3]), "the tool's weight")


def motion_clock(data: Data, robot: Robot) -> Clock:
    """Clock of the inertial unit, from motion."""
    sensor = data.imu
    assert sensor is not None
    piece = longest_piece(data, RATE, FASTEST)
    told = specific_force(robot, piece, IMU_AT)
    return _refined(data, sensor, piece.t, told, _smooth(sensor.t, sensor.values), "motion")
