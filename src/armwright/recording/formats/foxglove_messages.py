# SPDX-License-Identifier: Apache-2.0
"""Foxglove's messages of a scene, as its SDK defines them: ``FrameTransforms`` and ``SceneUpdate``, as protobuf.

A message of transforms has the same bytes whatever the poses are, except at known places; see `protobuf`. The scene is
written once: its solids are fixed to frames, and the frames move.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.recording.formats.protobuf import (
    BOOL_TYPE,
    DOUBLE_TYPE,
    FIXED32_TYPE,
    FIXED64,
    MESSAGE_TYPE,
    OPTIONAL,
    REPEATED,
    STRETCHED_STAMP,
    STRING_TYPE,
    TIME_FILE,
    TIMESTAMP,
    VARINT,
    MessageLayout,
    nested,
    schema_field,
    schema_file,
    stretched,
    tag,
    time_schema,
    varint,
)
from armwright.recording.viewers.scene_parts import BASE
from armwright.spatial.quaternions import xyzw_from_rotation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.recording.viewers.scene_parts import ScenePart
    from armwright.types import Array

FRAME_TRANSFORMS, SCENE_UPDATE = "foxglove.FrameTransforms", "foxglove.SceneUpdate"
DOUBLE_FIELD_BYTES = 9  # a tag and eight bytes

_MESSAGES: dict[str, tuple[tuple[str, int, int | str, bool], ...]] = {
    # fields: name, number, type or name of a nested message, whether repeated
    "Vector3": (("x", 1, DOUBLE_TYPE, False), ("y", 2, DOUBLE_TYPE, False), ("z", 3, DOUBLE_TYPE, False)),
    "Point3": (("x", 1, DOUBLE_TYPE, False), ("y", 2, DOUBLE_TYPE, False), ("z", 3, DOUBLE_TYPE, False)),
    "Quaternion": tuple((name, k + 1, DOUBLE_TYPE, False) for k, name in enumerate("xyzw")),
    "Color": tuple((name, k + 1, DOUBLE_TYPE, False) for k, name in enumerate("rgba")),
    "Pose": (("position", 1, "Vector3", False), ("orientation", 2, "Quaternion", False)),
    "FrameTransform": (
        ("timestamp", 1, TIMESTAMP, False),
        ("parent_frame_id", 2, STRING_TYPE, False),
        ("child_frame_id", 3, STRING_TYPE, False),
        ("translation", 4, "Vector3", False),
        ("rotation", 5, "Quaternion", False),
    ),
    "FrameTransforms": (("transforms", 1, "FrameTransform", True),),
    "CubePrimitive": (("pose", 1, "Pose", False), ("size", 2, "Vector3", False), ("color", 3, "Color", False)),
    "SpherePrimitive": (("pose", 1, "Pose", False), ("size", 2, "Vector3", False), ("color", 3, "Color", False)),
    "CylinderPrimitive": (
        ("pose", 1, "Pose", False),
        ("size", 2, "Vector3", False),
        ("bottom_scale", 3, DOUBLE_TYPE, False),
        ("top_scale", 4, DOUBLE_TYPE, False),
        ("color", 5, "Color", False),
    ),
    "TriangleListPrimitive": (
        ("pose", 1, "Pose", False),
        ("points", 2, "Point3", True),
        ("color", 3, "Color", False),
        ("colors", 4, "Color", True),
        ("indices", 5, FIXED32_TYPE, True),
    ),
    "SceneEntity": (
        ("timestamp", 1, TIMESTAMP, False),
        ("frame_id", 2, STRING_TYPE, False),
        ("id", 3, STRING_TYPE, False),
        ("frame_locked", 5, BOOL_TYPE, False),
        ("cubes", 8, "CubePrimitive", True),
        ("spheres", 9, "SpherePrimitive", True),
        ("cylinders", 10, "CylinderPrimitive", True),
        ("triangles", 12, "TriangleListPrimitive", True),
    ),
    "SceneUpdate": (("entities", 2, "SceneEntity", True),),
}
_PRIMITIVES = {"box": (8, 3), "ball": (9, 3), "cylinder": (10, 5), "triangles": (12, 3)}
"""Of each kind of part: its field of an entity, and the colour's field of it."""


def scene_schema() -> bytes:
    """Return the schema of both messages; fields that are never written are left out of it."""
    messages = []
    for name, fields in _MESSAGES.items():
        body = nested(1, name.encode())
        for field, number, kind, many in fields:
            label = REPEATED if many else OPTIONAL
            if isinstance(kind, int):
                body += schema_field(field, number, kind, label=label)
            else:
                whole = kind if "." in kind else f".foxglove.{kind}"
                body += schema_field(field, number, MESSAGE_TYPE, whole, label)
        messages.append(body)
    return time_schema() + schema_file("foxglove/scene.proto", "foxglove", messages, (TIME_FILE,))


def transforms_layout(frames: Sequence[str]) -> tuple[MessageLayout, tuple[int, ...]]:
    """Return the layout of FrameTransforms from `BASE` to each frame, and where the seconds of each begin.

    Every frame has two groups of holes: its place (3) and its quaternion xyzw (4).
    """
    out, places, stamps = bytearray(), [], []
    for frame in frames:
        head = nested(1, STRETCHED_STAMP) + nested(2, BASE.encode()) + nested(3, frame.encode())
        parts = [_doubles(4, np.zeros(3)), _doubles(5, np.zeros(4))]
        body = head + b"".join(parts)
        start = len(out) + len(tag(1, 2)) + len(varint(len(body)))
        out += nested(1, body)
        stamps.append(start + len(nested(1, STRETCHED_STAMP)) - len(STRETCHED_STAMP) + 1)
        at = start + len(head)
        for part, count in zip(parts, (3, 4), strict=True):
            places.append((at + len(part) - DOUBLE_FIELD_BYTES * count + 1, count, DOUBLE_FIELD_BYTES))
            at += len(part)
    return MessageLayout(bytes(out), tuple(places)), tuple(stamps)


def fill_transforms(
    rows: NDArray[np.uint8], at: int, layout: MessageLayout, stamps: Sequence[int], poses: Array, nanoseconds: Array
) -> None:
    """Fill messages (rows, bytes) that begin at byte `at` with poses (rows, frames, 7) and times (rows,) [ns]."""
    whole = np.asarray(nanoseconds, dtype=np.int64)
    for k, hole in enumerate(layout.holes(rows, at)):
        hole[:] = poses[:, k // 2, :3] if k % 2 == 0 else poses[:, k // 2, 3:]
    for stamp in stamps:
        rows[:, at + stamp : at + stamp + 5] = stretched(whole // 10**9)
        rows[:, at + stamp + 6 : at + stamp + 11] = stretched(whole % 10**9)


def scene_message(parts: Sequence[ScenePart]) -> bytes:
    """Return a SceneUpdate with one entity for the parts of each name and frame, which moves with its frame."""
    entities: dict[tuple[str, str], bytes] = {}
    for part in parts:
        key = (part.frame, part.name)
        if key not in entities:
            identity = f"{part.frame}/{part.name}" if part.frame != BASE else part.name
            entities[key] = nested(2, part.frame.encode()) + nested(3, identity.encode()) + tag(5, VARINT) + varint(1)
        entities[key] += _primitive(part)
    return b"".join(nested(2, nested(1, b"") + entity) for entity in entities.values())


def _primitive(part: ScenePart) -> bytes:
    field, colour_field = _PRIMITIVES[part.kind]
    colour = _doubles(colour_field, np.array(part.colour))
    place, turn = _doubles(1, part.pose[:3, 3]), _doubles(2, np.asarray(xyzw_from_rotation(part.pose[:3, :3])))
    body = nested(1, place + turn)
    if part.corners is not None:
        body += b"".join(_doubles(2, corner) for corner in part.corners.reshape(-1, 3))
    else:
        body += _doubles(2, part.size)
    if part.kind == "cylinder":  # as wide at both ends as in its middle
        body += b"".join(tag(number, FIXED64) + struct.pack("<d", 1.0) for number in (3, 4))
    return nested(field, body + colour)


def _doubles(number: int, values: Array) -> bytes:
    """Return a nested message whose fields 1, 2, … are doubles, zeros included."""
    return nested(number, b"".join(tag(k + 1, FIXED64) + struct.pack("<d", x) for k, x in enumerate(values)))
