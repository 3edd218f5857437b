# SPDX-License-Identifier: Apache-2.0
"""The arm in the 3-D panels of Foxglove: ``/tf`` with the frames of its links, ``/scene`` with their shapes.

A recording that knows its arm carries both, so that a viewer shows it without a description beside it. The solids are
those that contacts are computed with; what stands around the arm is drawn where the caller tells it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.recording.formats.foxglove_messages import (
    FRAME_TRANSFORMS,
    SCENE_UPDATE,
    fill_transforms,
    scene_message,
    scene_schema,
    transforms_layout,
)
from armwright.recording.formats.mcap_file import MESSAGE_HEAD
from armwright.recording.formats.mcap_messages import message_rows, write_messages
from armwright.recording.viewers.scene_parts import arm_parts, frame_names, frame_poses, world_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.recording.formats.mcap_file import McapFile
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.shapes import Shape

TRANSFORM_TOPIC, SCENE_TOPIC = "/tf", "/scene"
TRANSFORM_CHANNEL, SCENE_CHANNEL = 3, 4
SCENE_SCHEMA, UPDATE_SCHEMA = 3, 4


class SceneChannels:
    """Writes the scene once, and the frames at the samples that it is given."""

    def __init__(self, mcap: McapFile, robot: Robot, world: Iterable[Shape]) -> None:
        """Lay out the messages; nothing is written."""
        self._mcap, self._robot = mcap, robot
        self._layout, self._stamps = transforms_layout(frame_names(robot))
        self._scene = scene_message((*arm_parts(robot), *world_parts(world)))
        frame_poses(robot, robot.neutral())  # compiled before the first sample comes
        self._begun = False

    def declared(self) -> list[Any]:
        """Return schemas and channels."""
        r, out = self._mcap.records, []
        for schema, channel, name, topic in (
            (SCENE_SCHEMA, TRANSFORM_CHANNEL, FRAME_TRANSFORMS, TRANSFORM_TOPIC),
            (UPDATE_SCHEMA, SCENE_CHANNEL, SCENE_UPDATE, SCENE_TOPIC),
        ):
            out.append(r.Schema(id=schema, name=name, encoding="protobuf", data=scene_schema()))
            out.append(r.Channel(id=channel, schema_id=schema, topic=topic, message_encoding="protobuf", metadata={}))
        return out

    def append(self, q: Array, stamps: NDArray[np.uint64]) -> None:
        """Write the frames at joint coordinates (rows, n), where they are finite, and log times (rows,) [ns]."""
        known = np.isfinite(q).all(axis=1)
        if not self._begun and len(stamps):
            self._begun = True
            write_messages(self._mcap, SCENE_CHANNEL, message_rows(1, SCENE_CHANNEL, self._scene), stamps[:1])
        if not known.any():
            return
        rows = message_rows(int(known.sum()), TRANSFORM_CHANNEL, self._layout.template)
        poses = frame_poses(self._robot, q[known])
        fill_transforms(rows, MESSAGE_HEAD.size, self._layout, self._stamps, poses, stamps[known].astype(np.int64))
        write_messages(self._mcap, TRANSFORM_CHANNEL, rows, stamps[known])
