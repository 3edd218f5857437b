# SPDX-License-Identifier: Apache-2.0
"""`aligned`: robot, force sensor and inertial unit of a recording as one table on one clock, the controller's.

Rows are the robot's own samples: nothing of the robot is interpolated. A sensor's times are put on the controller's
clock; its value at a row is that on the straight line between the two samples around it. Where these are more than 1.5
of its periods apart, a sample is missing between them, and the row has NaN: no gap is bridged, and nothing is told
before a sensor's first sample or after its last. `ft_reach` and `imu_reach` say of each row how far its nearest sample
is. Nothing is filtered: what a sensor measured faster than half the robot's rate is folded into the table.

How a clock was found is in the table's settings: by what both devices felt, or by when their packets arrived.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.choices import FORMATS
from armwright.errors import InputError
from armwright.lab.experiment.run_data import (
    SensorClock,
    SensorSamples,
    force_clock,
    host_line,
    motion_clock,
    read_run,
    sensor_samples,
    weight_clock,
)
from armwright.lab.lab_export import table_of
from armwright.lab.mat_file import write_mat
from armwright.recording import Recording, Signal

if TYPE_CHECKING:
    from armwright.identify.identified import Identified
    from armwright.lab.packets import Recorded
    from armwright.robot.model import Robot
    from armwright.types import Array

MOST_PERIODS = 1.5  # between two samples of a sensor with none missing between them
ROBOT_STREAMS = ("/robot/rtde", "/robot/realtime")
UNITS = {
    "t_host": "s",
    "q": "rad",
    "qd": "rad/s",
    "current": "A",
    "target_q": "rad",
    "target_qd": "rad/s",
    "target_qdd": "rad/s^2",
    "target_current": "A",
    "target_torque": "N m",
    "actual_TCP_pose": "m, rad",
    "actual_TCP_speed": "m/s, rad/s",
    "actual_TCP_force": "N, N m",
    "actual_tool_accelerometer": "m/s^2",
    "acceleration": "m/s^2",
    "ft": "N, N m",
    "ft_reach": "s",
    "imu_acceleration": "m/s^2",
    "imu_rate": "rad/s",
    "imu_reach": "s",
}
"""By signal; those of six with two units have the first for three of them. What is not here has none."""
SENSORS: dict[str, dict[str, slice]] = {
    "ft": {"ft": slice(0, 6), "ft_fault": slice(6, 7)},
    "imu": {"imu_acceleration": slice(0, 3), "imu_rate": slice(3, 6), "imu_field": slice(6, 9)},
}
"""Signals of a sensor and their columns behind time and counter."""
KINDS = (*(suffix[1:] for suffix in FORMATS), "mat")


def aligned(
    recorded: Recorded,
    *,
    robot: Robot | None = None,
    model: Identified | None = None,
    clocks: Mapping[str, SensorClock] | None = None,
    name: str = "recording",
) -> Recording:
    """Return robot, force sensor and inertial unit of a recording on the controller's clock.

    Args:
        recorded: of `read_packets`.
        robot: the arm, to find clocks by what was felt: the inertial unit's by motion, the force sensor's by the
            weight of a tool (nobody touches the arm). Without it they are found by when packets arrived.
        model: an identified arm, to find the force sensor's clock by taps and pushes.
        clocks: by topic (``"/ft"``, ``"/imu"``), if they are known.
        name: for refusals.

    Returns:
        A `Recording` whose time is the controller's; ``settings["sensors"]`` has clocks, gaps and reach of each sensor.

    Raises:
        InputError: no robot in the recording, or a clock of it that was started again; a sensor that cannot be placed.

    Example:
        >>> aligned(read_packets("run.mcap"), robot=aw.load("ur5"))["ft"].shape  # (T, 6)
    """
    topic = next((topic for topic in ROBOT_STREAMS if recorded.of(topic)), None)
    if topic is None:
        raise InputError(f"{name}: holds no robot, whose clock the table would have; tables of each device need none")
    columns, rows = table_of(recorded, topic)
    rows = rows[np.concatenate([[True], np.diff(rows[:, 1]) != 0.0])]
    t = rows[:, 1]
    if len(t) < 2 or (np.diff(t) < 0.0).any():
        at = int(np.argmax(np.diff(t) < 0.0)) + 1 if len(t) > 1 else 0
        why = (
            f"the controller's clock falls after row {at}: it was started again" if len(t) > 1 else "one row of a robot"
        )
        raise InputError(f"{name}: {why}; tables of each device can be exported still")
    signals = {"t_host": Signal(rows[:, 0], "s"), **_grouped(columns[2:], rows[:, 2:])}
    arm = model.robot if model is not None else robot
    found = dict(clocks or {})
    if arm is not None and clocks is None:
        found = _felt_clocks(recorded, arm, model, name)
    sensors: dict[str, Any] = {}
    for device, parts in SENSORS.items():
        if len(recorded.of(f"/{device}")) < 2:
            sensors[device] = {"clock": "not in the recording"}
            continue
        samples = sensor_samples(recorded, f"/{device}")
        clock = found.get(f"/{device}") or _host_clock(t, rows[:, 0], samples)
        values, reach, gaps = placed(t, clock.t, samples.values)
        if device == "ft":  # a status is no number to be interpolated: 1 where either of two samples was no good
            values[:, 6] = np.where(np.isnan(values[:, 6]), np.nan, values[:, 6] > 0.0)
        signals |= {part: _signal(part, values[:, columns]) for part, columns in parts.items()}
        signals[f"{device}_reach"] = Signal(reach, "s")
        sensors[device] = _said(clock, reach, gaps)
    settings = {"clock": f"the controller's ({topic})", "rule": RULE, "sensors": sensors}
    return Recording(t, signals, robot=arm, settings=settings, outcome="" if recorded.whole else "cut short")


RULE = (
    "rows are the robot's samples; a sensor's value lies on the line between the two samples around a row, NaN where "
    f"these are more than {MOST_PERIODS:g} periods apart, before the first and after the last; nothing is filtered"
)


def placed(t: Array, at: Array, values: Array) -> tuple[Array, Array, int]:
    """Return values (T, m) at times t (T,) of samples (K, m) at rising times (K,), each row's reach (T,) [s], and gaps.

    A gap is a pause of more than `MOST_PERIODS` median periods. Rows in one, and outside of all samples, are NaN.
    """
    after = np.clip(np.searchsorted(at, t), 1, len(at) - 1)
    before = after - 1
    span = at[after] - at[before]
    longest = MOST_PERIODS * float(np.median(np.diff(at)))
    share = (t - at[before]) / span
    good = (share >= 0.0) & (share <= 1.0) & ((span <= longest) | (share == 0.0) | (share == 1.0))
    out = np.full((len(t), values.shape[1]), np.nan)
    s = share[good][:, None]
    out[good] = (1.0 - s) * values[before[good]] + s * values[after[good]]
    reach = np.where(good, np.minimum(share, 1.0 - share) * span, np.nan)
    return out, np.asarray(reach), int((np.diff(at) > longest).sum())


def _grouped(columns: Sequence[str], rows: Array) -> dict[str, Signal]:
    """Return columns ``q_0 … q_5`` as one signal `q`; others by their own name."""
    out: dict[str, Signal] = {}
    k = 0
    while k < len(columns):
        stem, _, number = columns[k].rpartition("_")
        many = 1
        if stem and number == "0":
            while k + many < len(columns) and columns[k + many] == f"{stem}_{many}":
                many += 1
        name = stem if many > 1 else re.sub(r"\W", "_", columns[k])
        values = rows[:, k : k + many] if many > 1 else rows[:, k]
        out[name] = Signal(values, UNITS.get(name, ""))
        k += many
    return out


def _signal(part: str, values: Array) -> Signal:
    return Signal(values if values.shape[1] > 1 else values[:, 0], UNITS.get(part, ""))


def _felt_clocks(recorded: Recorded, arm: Robot, model: Identified | None, name: str) -> dict[str, SensorClock]:
    """Return clocks by what was felt; what could not be compared has the host's times, and says why."""
    data = read_run(recorded, Path(name), Path(name).stem)
    out = {}
    if data.ft is not None:
        out["/ft"] = force_clock(data, model) if model is not None else weight_clock(data, arm)
    if data.imu is not None:
        out["/imu"] = motion_clock(data, arm)
    return out


def _host_clock(t: Array, host: Array, sensor: SensorSamples) -> SensorClock:
    slope, offset, scatter = host_line(t, host, sensor)
    said = f"by when packets arrived, which scatters by {1e3 * scatter:.1f} ms and hides a constant delay"
    return SensorClock(slope * sensor.t + offset, None, said)


def _said(clock: SensorClock, reach: Array, gaps: int) -> dict[str, Any]:
    known = reach[np.isfinite(reach)]
    facts: dict[str, Any] = {"clock": clock.said, "samples": len(clock.t), "gaps": gaps}
    facts |= {"rows": len(known), "rows_without": len(reach) - len(known)}
    if len(known):
        facts |= {"mean_reach": float(known.mean()), "largest_reach": float(known.max())}
    if clock.alignment is not None:
        facts |= clock.alignment._asdict()
    return facts


def write_aligned(table: Recording, folder: str | Path, kind: str) -> Path:
    """Write an aligned table as ``aligned.KIND`` into a folder, which is made; return the file.

    Args:
        table: of `aligned`.
        folder: of the file.
        kind: one of `KINDS`: those of recordings, and "mat" with a variable per signal, `t`, `units` and `about`.

    Raises:
        InputError: no such kind.
        WriteError: the file could not be written; an older one stays as it was.
    """
    if kind not in KINDS:
        raise InputError(f"export: an aligned table is written as {', '.join(KINDS)}; got {kind!r:.40}")
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from error
    file = target / f"aligned.{kind}"
    if kind != "mat":
        table.save(file)
        return file
    sensors: Mapping[str, Mapping[str, Any]] = table.settings["sensors"]
    return write_mat(
        file,
        {
            "t": table.time,
            **{name: signal.values for name, signal in table.signals.items()},
            "units": {"t": "s", **{name: signal.unit for name, signal in table.signals.items()}},
            "about": {"clock": table.settings["clock"], "rule": table.settings["rule"], **dict(sensors)},
        },
    )
