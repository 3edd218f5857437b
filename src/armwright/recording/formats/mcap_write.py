# SPDX-License-Identifier: Apache-2.0
"""MCAP: one protobuf message per sample on ``/recording``; ``/joint_states``, ``/tf`` and ``/scene`` for 3-D panels.

Protobuf rather than JSON: a JSON number cannot be NaN, and printing millions of numbers would take a hundred times as
long as copying their bits. Chunks are written whole, so a file that was cut short is read up to its last whole chunk.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.files import SafeFile
from armwright.recording.formats import file_header as meta
from armwright.recording.formats.mcap_file import MESSAGE_HEAD, McapFile
from armwright.recording.formats.mcap_messages import message_rows, write_messages
from armwright.recording.formats.mcap_read import read
from armwright.recording.formats.mcap_scene import SceneChannels
from armwright.recording.formats.protobuf import (
    JOINT_STATES,
    SCHEMA_NAME,
    joint_layout,
    joint_schema,
    sample_layout,
    sample_schema,
    stretched,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.recording.recording import Recording
    from armwright.types import Array
    from armwright.world.shapes import Shape

__all__ = ["Sink", "read", "write"]

TOPIC, JOINT_TOPIC = "/recording", "/joint_states"
JOINT_RATE = 100.0  # Hz: more than a screen shows
CHUNK_BYTES = 2**20  # stays in the processor's cache while it is laid out, checked and written


class Sink:
    """Writes chunks of samples to an MCAP file."""

    def __init__(
        self,
        path: Path,
        columns: tuple[meta.Column, ...],
        head: str,
        sync_every: float | None = 1.0,
        scene: meta.DrawnScene | None = None,
    ) -> None:
        """Write everything that stands before the samples."""
        self._mcap = McapFile()
        r = self._mcap.records
        self._columns = {column.name: (i, column) for i, column in enumerate(columns)}
        self._joints = self._joint_columns()
        declared = [
            r.Schema(id=1, name=SCHEMA_NAME, encoding="protobuf", data=sample_schema(columns)),
            r.Channel(id=1, schema_id=1, topic=TOPIC, message_encoding="protobuf", metadata={}),
        ]
        if self._joints:
            declared += [
                r.Schema(id=2, name=JOINT_STATES, encoding="protobuf", data=joint_schema()),
                r.Channel(id=2, schema_id=2, topic=JOINT_TOPIC, message_encoding="protobuf", metadata={}),
            ]
            column = self._columns["q"][1]
            names = column.labels or tuple(str(i) for i in range(column.width))
            self._joint_layout = joint_layout(names, len(self._joints))
        self._scene: SceneChannels | None = None
        if self._joints and scene is not None and self._columns["q"][1].width == scene.robot.n:
            self._scene = SceneChannels(self._mcap, scene.robot, scene.world)
            declared += self._scene.declared()
        self._shift, self._slot = 0.0, -np.inf
        self._layout = sample_layout(columns)
        self._width = MESSAGE_HEAD.size + len(self._layout.template)
        self._rows = max(16, CHUNK_BYTES // self._width)
        self._buffer = message_rows(self._rows, 1, self._layout.template)
        self._holes = self._layout.holes(self._buffer, MESSAGE_HEAD.size)
        units = {name: column.unit for name, (_, column) in self._columns.items()}
        parts = [self._mcap.opening]
        for name, texts in (("armwright.head", {"json": head}), ("armwright.units", units)):
            parts.append(self._mcap.describe(name, texts, sum(map(len, parts))))
        self._mcap.begin(path, sync_every, *parts, self._mcap.declare(*declared))

    @property
    def file(self) -> SafeFile:
        """What is written to."""
        return self._mcap.file

    @property
    def samples(self) -> int:
        """Samples in the file."""
        return self._mcap.counts.get(1, 0)

    def append(self, time: Array, blocks: list[Array]) -> None:
        """Write samples: time (rows,), blocks (rows, width) in column order."""
        if not self._mcap.counts and len(time):
            self._shift = min(0.0, float(time[0]))  # log times are unsigned
        for first in range(0, len(time), self._rows):
            rows = slice(first, min(first + self._rows, len(time)))
            count = rows.stop - rows.start
            stamps = np.rint((time[rows] - self._shift) * 1e9).astype(np.uint64)
            self._holes[0][:count, 0] = time[rows]
            for hole, block in zip(self._holes[1:], blocks, strict=True):
                hole[:count] = block[rows]
            write_messages(self._mcap, 1, self._buffer[:count], stamps)
            if self._joints:
                self._joint_chunk(time[rows], [block[rows] for block in blocks], stamps)

    def close(self, tail: dict[str, Any]) -> None:
        """Write the end: events, outcome, and the index that readers seek by."""
        self._mcap.end(self._mcap.describe("armwright.tail", {"json": meta.sealed(tail)}, self.file.size))

    def abandon(self) -> None:
        """Close without an end."""
        self.file.close()

    def _joint_columns(self) -> list[int]:
        """Return the places of q, qd and tau, as far as they exist with the same labels."""
        found: list[int] = []
        for name in ("q", "qd", "tau"):
            place, column = self._columns.get(name, (-1, meta.Column("")))
            if place < 0 or len(column.shape) != 1 or not column.width:
                break
            if found and column.width != self._columns["q"][1].width:
                break
            found.append(place)
        return found

    def _joint_chunk(self, time: Array, blocks: list[Array], stamps: NDArray[np.uint64]) -> None:
        """Write the joint states of the first sample in every hundredth of a second."""
        slots = np.floor(time * JOINT_RATE + 1e-6)
        chosen = np.flatnonzero(np.diff(slots, prepend=self._slot))
        self._slot = float(slots[-1])
        if not len(chosen):
            return
        layout, at = self._joint_layout
        rows = message_rows(len(chosen), 2, layout.template)
        values = np.stack([blocks[place][chosen] for place in self._joints], axis=-1)
        for joint, hole in enumerate(layout.holes(rows, MESSAGE_HEAD.size)):
            hole[:] = values[:, joint]
        at += MESSAGE_HEAD.size
        if self._scene is not None:
            self._scene.append(blocks[self._joints[0]][chosen], stamps[chosen])
        whole = stamps[chosen].astype(np.int64)
        rows[:, at : at + 5] = stretched(whole // 10**9)
        rows[:, at + 6 : at + 11] = stretched(whole % 10**9)
        write_messages(self._mcap, 2, rows, stamps[chosen])


def write(recording: Recording, path: Path, world: Iterable[Shape] = ()) -> None:
    """Write a whole recording; `world` is what viewers draw around the arm."""
    scene = None if recording.robot is None else meta.DrawnScene(recording.robot, tuple(world))
    sink = Sink(path, meta.columns_of(recording), meta.head_of(recording), sync_every=None, scene=scene)
    try:
        sink.append(recording.time, [signal.flat() for signal in recording.signals.values()])
        sink.close(meta.tail_of(len(recording), recording.events, recording.outcome))
    finally:
        sink.abandon()
