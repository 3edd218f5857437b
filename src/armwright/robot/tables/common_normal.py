# SPDX-License-Identifier: Apache-2.0
"""Common normals of successive joint axes: where Denavit–Hartenberg frames sit, for any relative position of the axes.

The convention leaves choices open (parallel and coincident axes, the first and last frame, the sign of x). They are
settled by *hints*, the robot's own link frames at q = 0, so that an arm built from a table gets its table back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array

# Axes that differ by less than this angle [rad], and lines closer than this [m], count as parallel and as one line.
PARALLEL_AXES_SINE = 1e-12
COINCIDENT_DISTANCE = 1e-12


class Line(NamedTuple):
    """A directed line: unit direction (3,) and a point (3,)."""

    direction: Array
    point: Array

    def foot(self, of: Array) -> Array:
        """Nearest point of the line."""
        return np.asarray(self.point + ((of - self.point) @ self.direction) * self.direction)


def perpendicular(z: Array, hint: Array) -> Array:
    """Unit vector orthogonal to the unit vector z, near `hint` (of length about 1) if that is not along z."""
    x = hint - (hint @ z) * z
    if np.linalg.norm(x) < 1e-6:
        x = np.eye(3)[int(np.argmin(np.abs(z)))]
        x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    x = x - (x @ z) * z  # once more: the first pass leaves rounding along z
    return np.asarray(x / np.linalg.norm(x))


def frame_at(z: Array, x: Array, origin: Array) -> Array:
    """Pose (4, 4) with these z and x axes, which are orthogonal unit vectors, and this origin."""
    T = np.eye(4)
    T[:3, 0], T[:3, 1], T[:3, 2], T[:3, 3] = x, np.cross(z, x), z, origin
    return T


def _joined(on: Line, other: Line, origin_hint: Array, x_hint: Array) -> Array:
    """Frame with z on line `on`, origin at the foot of its common normal with `other`, x along that normal."""
    z = on.direction
    normal = np.cross(z, other.direction)
    sine = float(np.linalg.norm(normal))
    between = other.point - on.point
    if sine > PARALLEL_AXES_SINE:
        x = normal / sine
        # Cramer's rule for the feet of the common normal
        along = float(np.cross(between, other.direction) @ normal) / sine**2
        origin = on.point + along * z
    else:
        origin = on.foot(origin_hint)
        across = between - (between @ z) * z
        length = float(np.linalg.norm(across))
        x = across / length if length > COINCIDENT_DISTANCE else perpendicular(z, x_hint)
    x = perpendicular(z, x)
    return frame_at(z, -x if x @ x_hint < -1e-9 else x, origin)


def distal_frames(axes: Sequence[Line], hints: Sequence[Array]) -> list[Array]:
    """Frames 0…n of standard DH: frame i carries the axis of joint i + 1, its x crosses the axis of joint i.

    Args:
        axes: the n joint axes at q = 0.
        hints: n + 1 poses (4, 4): the root frame and the link frames. The last one's z axis ends the chain.
    """
    if not axes:
        return [np.array(hints[0])]
    first, lines = hints[0], [*axes, Line(hints[-1][:3, 2], hints[-1][:3, 3])]
    z = axes[0].direction
    frames = [frame_at(z, perpendicular(z, first[:3, 0]), axes[0].foot(first[:3, 3]))]
    for i in range(1, len(lines)):
        frames.append(_joined(lines[i], lines[i - 1], hints[i][:3, 3], hints[i][:3, 0]))
    return frames


def proximal_frames(axes: Sequence[Line], hints: Sequence[Array]) -> list[Array]:
    """Frames 0…n of modified DH: frame i carries the axis of joint i, its x crosses the axis of joint i + 1.

    Args:
        axes: the n joint axes at q = 0.
        hints: n + 1 poses (4, 4): the root frame, whose z axis starts the chain, and the link frames.
    """
    first, last = hints[0], hints[-1]
    lines = [Line(first[:3, 2], first[:3, 3]), *axes]
    frames = [_joined(lines[i], lines[i + 1], hints[i][:3, 3], hints[i][:3, 0]) for i in range(len(axes))]
    if not axes:
        return [np.array(first)]
    z = axes[-1].direction
    return [*frames, frame_at(z, perpendicular(z, last[:3, 0]), axes[-1].foot(last[:3, 3]))]
