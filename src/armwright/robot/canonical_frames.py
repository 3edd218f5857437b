# SPDX-License-Identifier: Apache-2.0
"""Frames in which an arm's constants fold away: modified Denavit–Hartenberg where the axes allow it.

Frame i has its z on axis i, and where possible its x on the common normal with the next axis and its origin at that
normal's foot. Two axes that are nearly parallel have their common normal far away: a tilt of 1 mrad between axes
0.3 m apart puts it 300 m from the arm, and inertias about an origin that far lose (300 m / 1 m)², five digits. So a
foot is taken only within `NEAR` extents of the arm. Otherwise the origin stays beside the previous one, the small
rotation is kept as it is, and the step has one constant more. No arm is ill-conditioned by the choice of its frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.robot.tables.common_normal import frame_at, perpendicular

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

# A frame this many extents of the arm away costs 2·log10(NEAR) ≈ 1 digit of the inertias, which 1e-10 can spare.
NEAR = 3.0
# Angle between axes [rad] below which they are parallel but for rounding: products of a dozen rotations err by 1e-15.
PARALLEL = 1e-13
# Distance between parallel axes below which they are one line, in extents of the arm.
COINCIDENT = 1e-9


def canonical_frames(robot: Robot, homes: list[Array]) -> list[Array]:
    """Home pose (in the root link's frame) of a canonical frame for each body; `homes` are the joint frames at q = 0.

    A body with several children is given the frame that suits the first.
    """
    axes = [home[:3, :3] @ body.axis for home, body in zip(homes, robot.bodies, strict=True)]
    points = [home[:3, 3] for home in homes]
    slides = [robot.joints[body.joint].kind == "prismatic" for body in robot.bodies]
    extent = max([1e-3] + [float(np.linalg.norm(point - points[0])) for point in points])
    child: dict[int, int] = {}
    for i, body in enumerate(robot.bodies):
        child.setdefault(body.parent, i)
    frames: list[Array] = []
    for i, body in enumerate(robot.bodies):
        z, p = axes[i], points[i]
        before = frames[body.parent] if body.parent >= 0 else np.eye(4)
        x_before, o_before = before[:3, 0], before[:3, 3]
        origin = p + ((o_before - p) @ z) * z  # on the axis, nearest to the previous origin: d = 0
        x = perpendicular(z, x_before)
        c = child.get(i)
        if c is not None:
            zc, between = axes[c], points[c] - p
            tilt = zc - (zc @ z) * z
            sine = float(np.linalg.norm(tilt))
            if sine > PARALLEL:
                # z × tilt, not z × zc: orthogonal to both axes to rounding, however small the angle between them
                x = np.cross(z, perpendicular(z, tilt / sine))
                if not slides[c] and not slides[i]:
                    along = float(between @ (z - (z @ zc) * zc)) / sine**2
                    if abs(along) <= NEAR * extent:
                        origin = p + along * z
            elif not slides[c]:
                across = between - (between @ z) * z
                distance = float(np.linalg.norm(across))
                if distance > COINCIDENT * extent:
                    x = perpendicular(z, across / distance)
            if slides[i] and not slides[c]:
                origin = points[c]  # the line of a prismatic axis is free: put it through the next axis
        if x @ x_before < 0.0:
            x = -x
        frames.append(frame_at(z, x, origin))
    return frames
