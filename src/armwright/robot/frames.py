# SPDX-License-Identifier: Apache-2.0
"""Named frames of an arm: where a name points to, and one more of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.robot.parts import Frame, frozen_pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


def place_of(robot: Robot, name: str | None) -> tuple[int, Array]:
    """Return the body that carries a frame (-1: the root link) and the frame's pose in that body's link frame."""
    for index, body in enumerate(robot.bodies):
        if body.name == name:
            return index, np.eye(4)
    for frame in robot.frames:
        if frame.name == name:
            return frame.parent, frame.T_parent_frame
    if name is None or name == "tool":
        return robot.tip, robot.T_tip_tool
    raise InputError(
        f"robot {robot.name!r} has no link {name!r}, nor such a frame; valid: {', '.join(robot.frame_names)}"
    )


def add_frame(robot: Robot, name: str, T_parent_frame: ArrayLike, parent: str | None = None) -> Robot:
    """Return the same arm with one more frame.

    Args:
        robot: the arm.
        name: not yet taken by a link or a frame.
        T_parent_frame: its pose (4, 4) in the frame `parent`.
        parent: one of `Robot.frame_names`; the tool if omitted.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"frame: a name is needed, got {name!r}")
    body, T = place_of(robot, parent)
    pose = T @ frozen_pose(T_parent_frame, f"frame {name!r}: T_parent_frame")
    return replace(robot, frames=(*robot.frames, Frame(name, body, pose)))
