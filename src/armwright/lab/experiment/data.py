# SPDX-License-Identifier: Apache-2.0
"""What a recording tells, by device: joints and currents, wrenches, accelerations, each with its own clock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armwright.errors import InputError
from armwright.identify.log import Log
from armwright.lab.export import table_of
from armwright.lab.packets import Recorded
from armwright.types import Array

STILL = 1e-6  # [rad/s] of a reference


@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor's samples: t (K,) by its own clock, host (K,) [s], values (K, m)."""

    t: Array
    host: Array
    values: Array

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class Data:
    """One run.

    Attributes:
        log: joints and currents by the controller's clock. host: (T,) when each row came [s].
        force: (T, 6) the controller's own estimate at the TCP, base axes.
        ft: wrench on the sensor in its axes. imu: specific force in its axes. None if there is none.
        moved: (T,) whether the controller's reference moves.
        facts: metadata of the recording. realtime: (K,) controller times of the 756-byte packets.
    """

    name: str
    log: Log
    host: Array
    force: Array
    moved: Any
    ft: Sensor | None
    imu: Sensor | None
    realtime: Array
    facts: dict[str, Any]

    @property
    def devices(self) -> dict[str, dict[str, Any]]:
        """What the recorder counted, by topic."""
        counted: dict[str, dict[str, Any]] = self.facts.get("devices", {})
        return counted


def read_run(recorded: Recorded, file: Path, name: str) -> Data:
    """What the recording of a run, read from a file, tells.

    Raises:
        InputError: without a robot in it.
    """
    if not recorded.of("/robot/rtde"):
        raise InputError(f"{file}: holds no RTDE stream of a robot")
    columns, rows = table_of(recorded, "/robot/rtde")
    rows = rows[np.concatenate([[True], np.diff(rows[:, 1]) > 0.0])]

    def vector(stem: str, count: int = 6) -> Array:
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
    return Data(
        name,
        log,
        rows[:, 0],
        vector("actual_TCP_force"),
        (np.abs(vector("target_qd")) > STILL).any(axis=1),
        _sensor(recorded, "/ft", 6),
        _sensor(recorded, "/imu", 3),
        np.array([packet.device * 1e-9 for packet in recorded.of("/robot/realtime")]),
        recorded.facts,
    )


def _sensor(recorded: Recorded, topic: str, count: int) -> Sensor | None:
    if len(recorded.of(topic)) < 2:
        return None
    _, rows = table_of(recorded, topic)
    rows = rows[np.concatenate([[True], np.diff(rows[:, 1]) > 0.0])]
    return Sensor(rows[:, 1], rows[:, 0], rows[:, 3 : 3 + count])
