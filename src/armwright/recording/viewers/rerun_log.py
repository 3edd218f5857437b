# SPDX-License-Identifier: Apache-2.0
"""A run for the Rerun viewer: the arm in 3-D with what stands around it, and every signal as a plot.

Needs ``rerun-sdk`` (extra ``[rerun]``, 170 MB: it brings the viewer). ``rerun run.rrd`` opens what is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.files import replacing
from armwright.packages import need
from armwright.recording.replay.replay_stage import can_show
from armwright.recording.viewers.scene_parts import (
    BASE,
    arm_parts,
    frame_names,
    frame_poses,
    world_parts,
)
from armwright.spatial.quaternions import xyzw_from_rotation

if TYPE_CHECKING:
    from types import ModuleType

    from armwright.recording.recording import Recording
    from armwright.recording.viewers.scene_parts import ScenePart
    from armwright.world.shapes import Shape

TIMELINE = "time"


def write_rerun(recording: Recording, path: str | Path, world: Iterable[Shape] = ()) -> Path:
    """Write a recording as an .rrd file, whole or not at all.

    Args:
        recording: with its robot and finite joint coordinates `q` the arm moves in 3-D; without, there are the signals.
        path: of the file; ``.rrd``.
        world: shapes around the arm, or a `World`.

    Returns:
        The path. Entities: ``arm/<link>`` with its frame over time, ``world/<name>``, ``signals/<name>`` with the
        joints' names as series, ``events``.
    """
    file = Path(path)
    if file.suffix.lower() != ".rrd":
        raise InputError(f"{file}: unknown suffix {file.suffix!r} of a file for Rerun; valid: .rrd")
    rr = need("rerun", "rerun", "a file for the Rerun viewer")
    with replacing(file) as draft:
        out = _RerunFile(rr, draft)
        out.scene(recording, world)
        out.signals(recording)
        out.close()
    return file


class _RerunFile:
    """One file under way: the SDK, and its stream into the file."""

    def __init__(self, rr: ModuleType, draft: Path) -> None:
        self.rr = rr
        self.stream = rr.RecordingStream("armwright")
        self.stream.save(str(draft))

    def close(self) -> None:
        self.stream.flush()
        self.stream.disconnect()

    def scene(self, recording: Recording, world: Iterable[Shape]) -> None:
        rr, stream = self.rr, self.stream
        stream.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        for k, part in enumerate(world_parts(world)):
            self.part(f"world/{_path(part.name)}/{k}", part)
        if not can_show(recording):
            return
        robot = recording.robot
        assert robot is not None
        for k, part in enumerate(arm_parts(robot)):
            self.part(f"arm/{_path(part.frame)}/shape/{k}", part)
        poses = frame_poses(robot, recording["q"])
        times = rr.TimeColumn(TIMELINE, duration=recording.time)
        for k, name in enumerate(frame_names(robot)):
            columns = rr.Transform3D.columns(translation=poses[:, k, :3], quaternion=poses[:, k, 3:])
            stream.send_columns(f"arm/{_path(name)}", indexes=[times], columns=columns)

    def part(self, entity: str, part: ScenePart) -> None:
        rr, colour = self.rr, tuple(round(255 * x) for x in part.colour)
        if part.corners is not None:
            corners = part.corners.reshape(-1, 3)
            triangles = np.arange(len(corners)).reshape(-1, 3)
            solid = rr.Mesh3D(vertex_positions=corners, triangle_indices=triangles, albedo_factor=colour)
        else:
            turn = [np.asarray(xyzw_from_rotation(part.pose[:3, :3]))]
            look = {"centers": [part.pose[:3, 3]], "quaternions": turn, "colors": [colour], "fill_mode": "solid"}
            if part.kind == "cylinder":
                solid = rr.Cylinders3D(lengths=[part.size[2]], radii=[0.5 * part.size[0]], **look)
            else:
                kind = rr.Boxes3D if part.kind == "box" else rr.Ellipsoids3D
                solid = kind(half_sizes=[0.5 * part.size], **look)
        self.stream.log(entity, solid, static=True)

    def signals(self, recording: Recording) -> None:
        rr, stream = self.rr, self.stream
        times = rr.TimeColumn(TIMELINE, duration=recording.time)
        for name, signal in recording.signals.items():
            if not signal.width or not len(recording):
                continue
            entity = f"signals/{_path(name)}"
            unit = f" [{signal.unit}]" if signal.unit else ""
            names = [f"{name} {label}{unit}" if signal.shape else f"{name}{unit}" for label in recording.labels(name)]
            stream.log(entity, rr.SeriesLines(names=names), static=True)
            stream.send_columns(entity, indexes=[times], columns=rr.Scalars.columns(scalars=signal.flat()))
        for event in recording.events:
            stream.set_time(TIMELINE, duration=event.time)
            stream.log("events", rr.TextLog(event.name if not event.detail else f"{event.name}: {event.detail}"))


def _path(name: str) -> str:
    """Return a name as one part of an entity's path."""
    return "".join(letter if letter.isalnum() or letter in "_-." else "_" for letter in name) or BASE
