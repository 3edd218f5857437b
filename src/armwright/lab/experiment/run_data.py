# SPDX-License-Identifier: Apache-2.0
"""What the recording of a run tells: signals by device, the tool's weight, and all times on the controller's clock.

`read_run` gives joints and currents, wrenches, accelerations, each with its own clock.

`weigh` finds what the force sensor shows without contact: its bias, and weight and inertia of the tool beyond it. With
s the specific force at the sensor, in its axes (s = Rᵀ(a − g)):

    f = f₀ − m s,     n = n₀ − m c × s,     linear in f₀, n₀, m and m c

`force_clock`, `weight_clock` and `motion_clock` put a sensor's times on the controller's clock, from what both felt: a
push for the force sensor, motion for the inertial unit. The host saw when every packet came, which aligns the records
to some milliseconds. Then `align` compares what the sensor felt with what the joints tell: the force that currents and
model explain, the acceleration of the unit's place. Both are without delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.external_torque import direct_residuals, tool_wrenches
from armwright.identify.filtered_log import Piece, even_samples, low_pass
from armwright.kinematics import acceleration, fk
from armwright.lab.align_clocks import Alignment, align
from armwright.lab.flange_sensing import FT_AT, IMU_AT
from armwright.lab.lab_export import table_of
from armwright.lab.packets import Recorded
from armwright.spatial.rotations import skew
from armwright.types import Array

if TYPE_CHECKING:
    from armwright.identify.identified import Identified
    from armwright.robot.model import Robot

STILL_REFERENCE_SPEED = 1e-6  # [rad/s] of a reference at rest


@dataclass(frozen=True, eq=False)
class SensorSamples:
    """A sensor's samples: t (K,) by its own clock, host (K,) [s], values (K, m)."""

    t: Array
    host: Array
    values: Array

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class Targets:
    """What the controller wanted: q, qd, qdd (T, n) at the rows of the log."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class Data:
    """One run.

    Attributes:
        log: joints and currents by the controller's clock. host: (T,) when each row came [s].
        force: (T, 6) the controller's own estimate at the TCP, base axes.
        ft: wrench on the sensor in its axes. imu: specific force in its axes. None if there is none.
        turning: (K, 3) rate of turn at the samples of the inertial unit, its axes [rad/s].
        targets: of the controller.
        moved: (T,) whether the controller's reference moves.
        facts: metadata of the recording. realtime: (K,) controller times of the 756-byte packets.
    """

    name: str
    log: Log
    host: Array
    force: Array
    moved: Any
    ft: SensorSamples | None
    imu: SensorSamples | None
    realtime: Array
    facts: dict[str, Any]
    turning: Array | None = None
    targets: Targets | None = None

    @property
    def devices(self) -> dict[str, dict[str, Any]]:
        """Return what the recorder counted, by topic."""
        counted: dict[str, dict[str, Any]] = self.facts.get("devices", {})
        return counted


def read_run(recorded: Recorded, file: Path, name: str) -> Data:
    """Return what the recording of a run, read from a file, tells.

    Raises:
        InputError: without a robot in it.
    """
    if not recorded.of("/robot/rtde"):
        raise InputError(f"{file}: holds no RTDE stream of a robot")
    columns, rows = table_of(recorded, "/robot/rtde")
    rows = rows[np.concatenate([[True], np.diff(rows[:, 1]) > 0.0])]

    def vector(stem: str, count: int = 6) -> Array:
        if f"{stem}_0" not in columns:
            raise InputError(
                f"{file}: its RTDE stream has no {stem}; `armwright lab record` asks for all that is needed"
            )
        at = columns.index(f"{stem}_0")
        return np.asarray(rows[:, at : at + count])

    known = "target_torque_0" in columns
    log = Log(
        rows[:, 1],
        vector("q"),
        vector("qd"),
        vector("current"),
        vector("target_current") if known else None,
        vector("target_torque") if known else None,
        name=name,
    )
    unit = _sensor(recorded, "/imu", 6)
    return Data(
        name,
        log,
        rows[:, 0],
        vector("actual_TCP_force"),
        (np.abs(vector("target_qd")) > STILL_REFERENCE_SPEED).any(axis=1),
        _sensor(recorded, "/ft", 6),
        None if unit is None else SensorSamples(unit.t, unit.host, unit.values[:, :3]),
        np.array([packet.device * 1e-9 for packet in recorded.of("/robot/realtime")]),
        recorded.facts,
        None if unit is None else unit.values[:, 3:],
        Targets(vector("target_q"), vector("target_qd"), vector("target_qdd")) if "target_qdd_0" in columns else None,
    )


def _sensor(recorded: Recorded, topic: str, count: int) -> SensorSamples | None:
    if len(recorded.of(topic)) < 2:
        return None
    found = sensor_samples(recorded, topic)
    return SensorSamples(found.t, found.host, found.values[:, :count])


def sensor_samples(recorded: Recorded, topic: str) -> SensorSamples:
    """Return the samples of a sensor, those at which its clock rises; values (K, m) are all behind time and counter."""
    _, rows = table_of(recorded, topic)
    rows = rows[np.concatenate([[True], np.diff(np.maximum.accumulate(rows[:, 1])) > 0.0])]
    return SensorSamples(rows[:, 1], rows[:, 0], rows[:, 3:])


WEIGHING_RATE, WEIGHING_CUTOFF = 100.0, 8.0
LIGHTEST = 0.02  # [kg] below which no tool is added to the description


@dataclass(frozen=True, eq=False)
class Weight:
    """Bias (6,) [N, N m], mass [kg] and centre (3,) from the sensor's origin, its axes [m]."""

    bias: Array
    mass: float
    centre: Array

    def expected(self, s: Array) -> Array:
        """Return the reading (K, 6) without contact at specific forces s (K, 3)."""
        force = -self.mass * s
        return np.asarray(self.bias + np.concatenate([force, np.cross(self.centre, force)], axis=1))

    def carried_by(self, robot: Robot) -> Robot:
        """Return the arm with this tool."""
        return robot.with_payload(self.mass, self.centre + FT_AT) if self.mass > LIGHTEST else robot


def longest_piece(data: Data, rate: float, cutoff: float) -> Piece:
    """Return the longest unbroken part of a run, evenly sampled and smooth."""
    return max(even_samples(data.log, rate=rate, cutoff=cutoff).pieces, key=lambda piece: len(piece.t))


def specific_force(robot: Robot, piece: Piece, at: Array) -> Array:
    """Return Rᵀ(a − g) (K, 3) of a point at (3,) on the flange, flange axes."""
    T = np.eye(4)
    T[:3, 3] = at
    carrier = robot.with_tool(robot.T_tip_tool @ T)
    R = np.asarray(fk(carrier, piece.q))[:, :3, :3]
    a = np.asarray(acceleration(carrier, piece.q, piece.qd, piece.qdd))[:, :3]
    return np.asarray(np.einsum("tji,tj->ti", R, a - robot.gravity))


def weigh(data: Data, t: Array, robot: Robot) -> Weight:
    """Return bias and tool from a run without contact; t (K,) are the sensor's times on the controller's clock.

    Raises:
        InputError: the sensor was not turned enough to tell weight from bias.
    """
    assert data.ft is not None
    piece = longest_piece(data, WEIGHING_RATE, WEIGHING_CUTOFF)
    inside = (piece.t >= t[0]) & (piece.t <= t[-1])
    s = specific_force(robot, piece, FT_AT)[inside]
    reading = np.stack([np.interp(piece.t[inside], t, column) for column in data.ft.values.T], axis=1)
    K = len(s)
    A = np.zeros((K, 6, 10))
    A[:, :, :6] = np.eye(6)
    A[:, :3, 6] = -s
    A[:, 3:, 7:] = np.array([skew(v) for v in s])  # −(m c) × s = s × (m c)
    x, _, rank, _ = np.linalg.lstsq(A.reshape(-1, 10), reading.reshape(-1), rcond=1e-6)
    if rank < 10:
        raise InputError(f"{data.name}: the force sensor is not turned enough to tell the tool's weight from its bias")
    mass = float(x[6])
    return Weight(x[:6], mass, x[7:] / mass if abs(mass) > LIGHTEST else np.zeros(3))


COMPARED_FREQUENCY = 15.0  # [Hz] of what is compared
COMPARED_RATE = 125.0
COMPARED_WINDOW = 2.0  # [s]
MOST_OFF = 1.0  # [s] after the host's times have aligned the records
MOST_DRIFT = 0.006  # of a device's clock
USUAL_DRIFT = 5e-4  # deviation of a device's clock: quartz has a fifth of that
LEAST_PACKETS = 20  # of a sensor, from which its clock is told by their arrival
SETTLED_SECONDS = 0.2  # [s]
LEVELLING_SECONDS = 0.6  # [s] over which a force is levelled: friction and weight are slow, taps and pushes are not


@dataclass(frozen=True, eq=False)
class SensorClock:
    """A sensor's time on the controller's: t (K,) [s] of its samples, how it was found, and how well.

    Attributes:
        alignment: t_controller = offset + (1 + drift)·t_sensor; None where only the host's times were of use.
        said: how, in words.
    """

    t: Array
    alignment: Alignment | None
    said: str


def by_host(data: Data, sensor: SensorSamples) -> tuple[float, float]:
    """Return slope and offset from a sensor's time to the controller's, by when packets arrived."""
    return host_line(data.log.t, data.host, sensor)[:2]


def host_line(t_robot: Array, host_robot: Array, sensor: SensorSamples) -> tuple[float, float, float]:
    """Return slope and offset from a sensor's time to the controller's, and the packets' median distance from that [s].

    Robot and sensor may pause together, so every packet is compared with those of the robot (t, host: (T,)) that came
    around it. A busy host delays some: the line is that of the better half.

    Raises:
        InputError: fewer than 20 packets of the sensor came between the first and the last of the robot.
    """
    host = np.maximum.accumulate(host_robot)
    t = np.interp(sensor.host, host, t_robot)
    use = (sensor.host >= host[0]) & (sensor.host <= host[-1])
    if use.sum() < LEAST_PACKETS:
        raise InputError(
            f"clocks: {use.sum()} packets of a sensor came together with the robot's; {LEAST_PACKETS} needed"
        )
    middle = float(sensor.t.mean())
    x, y = sensor.t[use] - middle, t[use]
    keep = np.ones(len(x), dtype=bool)
    for _ in range(4):
        slope, offset = np.polyfit(x[keep], y[keep], 1)
        off = np.abs(y - slope * x - offset)
        keep = off <= np.median(off)
    if abs(slope - 1.0) > MOST_DRIFT:  # no clock is that bad: the packets' delay grew
        slope, offset = 1.0, float(np.median(y - x))
    return float(slope), float(offset - slope * middle), float(np.median(np.abs(y - slope * x - offset)))


def _refined(data: Data, sensor: SensorSamples, t_a: Array, x_a: Array, x_b: Array, what: str) -> SensorClock:
    slope, offset, scatter = host_line(data.log.t, data.host, sensor)
    rough = slope * sensor.t + offset
    inside = (rough >= t_a[0]) & (rough <= t_a[-1])
    if inside.any():  # one device may have been heard later than the other: `align` puts beginnings together
        both = (t_a >= rough[inside][0]) & (t_a <= rough[inside][-1])
        t_a, x_a = t_a[both], x_a[both]
    try:
        expected = (1.0 - slope, USUAL_DRIFT)  # of what is left after the host's times
        most = MOST_OFF + 2.0 * scatter  # a busy host may have held packets back for longer than a second
        found = align(t_a, x_a, rough[inside], x_b[inside], window=COMPARED_WINDOW, most_offset=most, expected=expected)
    except InputError as error:
        return SensorClock(rough, None, f"by the host's times: {error}")
    whole = Alignment(
        found.offset + (1.0 + found.drift) * offset,
        found.offset_interval,
        (1.0 + found.drift) * slope - 1.0,
        found.drift_interval * slope,
        found.jitter,
        found.windows,
    )
    return SensorClock(whole.to_a(sensor.t), whole, f"from {what}, {found.windows} stretches of {COMPARED_WINDOW:g} s")


def _smooth(t: Array, x: Array) -> Array:
    """Return values at the samples' own, nearly even, times, smoothed without delay."""
    rate = 1.0 / float(np.median(np.diff(t)))
    return low_pass(rate, COMPARED_FREQUENCY).without_phase(x)


def _levelled(t: Array, x: Array) -> Array:
    from scipy.ndimage import median_filter

    size = round(LEVELLING_SECONDS / float(np.median(np.diff(t)))) | 1
    return np.asarray(x - median_filter(x, size=(size, 1)))


def force_clock(data: Data, model: Identified) -> SensorClock:
    """Return the clock of the force sensor, from taps and pushes."""
    sensor = data.ft
    assert sensor is not None
    slope, offset = by_host(data, sensor)
    felt = tool_wrenches(model, direct_residuals(model, data.log, rate=COMPARED_RATE, cutoff=COMPARED_FREQUENCY))
    told = _levelled(felt.t, felt.wrench[:, :3])
    near = np.clip(slope * sensor.t + offset, data.log.t[0], data.log.t[-1])
    q = np.stack([np.interp(near, data.log.t, column) for column in data.log.q.T], axis=1)
    R = np.asarray(fk(model.robot, q))[:, :3, :3]
    seen = _smooth(sensor.t, np.einsum("tij,tj->ti", R, sensor.values[:, :3]))
    seen = _levelled(sensor.t, seen)
    # where the arm starts, stops or rests, friction hides force or seems to be one: neither side is of use there
    told *= _under_way(data, felt.t)[:, None]
    seen *= _under_way(data, near)[:, None]
    return _refined(data, sensor, felt.t, told, seen, "taps and pushes")


def _under_way(data: Data, t: Array) -> Array:
    """Return 1 (K,) where the reference has been moving for `SETTLED_SECONDS` and will be for as long, else 0."""
    from scipy.ndimage import binary_erosion

    rows = round(SETTLED_SECONDS / float(np.median(np.diff(data.log.t))))
    inner = binary_erosion(data.moved, np.ones(2 * rows + 1, dtype=bool))
    return np.asarray(np.interp(t, data.log.t, np.asarray(inner, dtype=np.float64)))


def weight_clock(data: Data, robot: Robot) -> SensorClock:
    """Return the force sensor's clock in a run without contact, from the tool's weight and inertia."""
    sensor = data.ft
    assert sensor is not None
    piece = longest_piece(data, COMPARED_RATE, COMPARED_FREQUENCY)
    told = -specific_force(robot, piece, FT_AT)
    return _refined(data, sensor, piece.t, told, _smooth(sensor.t, sensor.values[:, :3]), "the tool's weight")


def motion_clock(data: Data, robot: Robot) -> SensorClock:
    """Return the clock of the inertial unit, from motion."""
    sensor = data.imu
    assert sensor is not None
    piece = longest_piece(data, COMPARED_RATE, COMPARED_FREQUENCY)
    told = specific_force(robot, piece, IMU_AT)
    return _refined(data, sensor, piece.t, told, _smooth(sensor.t, sensor.values), "motion")
