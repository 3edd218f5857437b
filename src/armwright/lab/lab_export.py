# SPDX-License-Identifier: Apache-2.0
"""Recordings as tables: a CSV, Parquet or MATLAB file per device, with the column names that `identify` knows."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.files import replacing
from armwright.lab.mat_file import write_mat
from armwright.lab.packets import Recorded, read_packets, recipe_from
from armwright.lab.sources import ASSUMED, scales
from armwright.lab.wire import netft, xsens
from armwright.lab.wire.realtime import place_in
from armwright.packages import need

if TYPE_CHECKING:
    from armwright.types import Array

DEVICE_KINDS = ("csv", "parquet", "mat")
NAMES = {
    "actual_q": "q",
    "actual_qd": "qd",
    "actual_current": "current",
    "target_moment": "target_torque",
}
"""RTDE fields that get the names of our own logs; others keep theirs."""


def _vector(name: str, count: int) -> list[str]:
    name = NAMES.get(name, name)
    return [f"{name}_{k}" for k in range(count)]


def _robot(recorded: Recorded) -> tuple[list[str], Array]:
    channel = recorded.channels["/robot/rtde"]
    recipe = recipe_from(channel.recipe)
    head = 3 + ((channel.facts or {}).get("protocol", "2") == "2")
    columns, rows = ["t_host", "t"], []
    first = True
    for packet in recorded.of("/robot/rtde"):
        values = recipe.unpack(packet.data[head:])
        row = [packet.host * 1e-9, values.get("timestamp", packet.device * 1e-9)]
        for name in recipe.names:
            if name == "timestamp":
                continue
            value = values[name]
            vector = isinstance(value, tuple)
            if first:
                columns += _vector(name, len(value)) if vector else [NAMES.get(name, name)]
            row += list(value) if vector else [value]
        rows.append(row)
        first = False
    return columns, np.array(rows, dtype=np.float64)


def _realtime(recorded: Recorded) -> tuple[list[str], Array]:
    groups = ["target_q", "target_qd", "target_qdd", "target_current", "target_moment"]
    groups += ["actual_q", "actual_qd", "actual_current"]
    columns = ["t_host", "t", *(column for group in groups for column in _vector(group, 6))]
    columns += ["acceleration_0", "acceleration_1", "acceleration_2"]
    rows = []
    for packet in recorded.of("/robot/realtime"):
        numbers = struct.unpack_from(f">{(len(packet.data) - 4) // 8}d", packet.data, 4)
        at = place_in(len(packet.data), "actual_tool_accelerometer")
        rows.append([packet.host * 1e-9, *numbers[:49], *numbers[at : at + 3]])
    return columns, np.array(rows, dtype=np.float64)


def _force(recorded: Recorded) -> tuple[list[str], Array]:
    facts = recorded.channels["/ft"].facts or {}
    try:
        counts = scales({**ASSUMED, **facts})
    except ValueError as error:
        raise InputError(f"recording: calibration of the force sensor: {error}") from None
    rows = []
    for packet in recorded.of("/ft"):
        record = netft.unpack(packet.data, counts)
        rows.append([packet.host * 1e-9, packet.device * 1e-9, record.rdt_sequence, *record.wrench, record.status])
    return ["t_host", "t", "sequence", "fx", "fy", "fz", "tx", "ty", "tz", "status"], np.array(rows, dtype=np.float64)


def _inertial(recorded: Recorded) -> tuple[list[str], Array]:
    rows = []
    for packet in recorded.of("/imu"):
        s = xsens.unpack(packet.data[4:-1])
        rows.append([packet.host * 1e-9, packet.device * 1e-9, s.counter, *s.acceleration, *s.rate, *s.field])
    names = [f"{letter}{axis}" for letter in "awm" for axis in "xyz"]
    return ["t_host", "t", "counter", *names], np.array(rows, dtype=np.float64)


_TABLES = {"/robot/rtde": _robot, "/robot/realtime": _realtime, "/ft": _force, "/imu": _inertial}


def table_of(recorded: Recorded, topic: str) -> tuple[list[str], Array]:
    """Return column names and rows of one device; times in seconds, host time first, device time second.

    Raises:
        InputError: a packet does not have the fields that its channel announces.
    """
    try:
        return _TABLES[topic](recorded)
    except InputError:
        raise
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise InputError(f"recording: a packet of {topic} is not of the announced kind ({error})") from None


def tables(path: str | Path | Recorded) -> dict[str, tuple[list[str], Array]]:
    """Return column names and rows by device ("robot-rtde", "robot-realtime", "ft", "imu"); times in seconds."""
    recorded = path if isinstance(path, Recorded) else read_packets(path)
    return {
        topic.strip("/").replace("/", "-"): table_of(recorded, topic)
        for topic in _TABLES
        if topic in recorded.channels and recorded.of(topic)
    }


def export(path: str | Path | Recorded, folder: str | Path, kind: str = "csv") -> list[Path]:
    """Write one table per device into `folder`, of a kind of `DEVICE_KINDS`; return the files.

    Tables of an earlier export are replaced one by one, each when the new one is whole. A MATLAB file has a variable
    per column.
    """
    if kind not in DEVICE_KINDS:
        raise InputError(f"export: tables of devices are written as {', '.join(DEVICE_KINDS)}; got {kind!r:.40}")
    if kind == "parquet":
        arrow, parquet = need("pyarrow", "log", "writing .parquet"), need("pyarrow.parquet", "log", "parquet")
    target, out = Path(folder), []
    found = tables(path)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, (columns, rows) in found.items():
            file = target / f"{name}.{kind}"
            out.append(file)
            if kind == "mat":
                write_mat(file, {column: rows[:, k] for k, column in enumerate(columns)})
                continue
            with replacing(file) as draft:
                if kind == "csv":
                    np.savetxt(draft, rows, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
                else:
                    table = arrow.table({c: rows[:, k] for k, c in enumerate(columns)})
                    parquet.write_table(table, draft)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from error
    return out
