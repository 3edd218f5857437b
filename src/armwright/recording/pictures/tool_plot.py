# SPDX-License-Identifier: Apache-2.0
"""The tool's path: the arm at the start and at the end with the path between, and the coordinates over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.kinematics.forward import fk
from armwright.recording.pictures.animation import posed
from armwright.recording.pictures.drawing import Scene, one
from armwright.recording.pictures.skeleton import camera_for, capsules
from armwright.recording.pictures.style import COLOURS, mark_events

if TYPE_CHECKING:
    from armwright.recording.recording import Recording


def draw_tool(recording: Recording, part: Any) -> None:
    """Draw into a subfigure: left the arm in five poses, right x, y, z of the tool in the base frame."""
    robot, q = posed(recording)
    chosen = np.unique(np.linspace(0, len(recording) - 1, 5).astype(int))
    arms, path = capsules(robot, q[chosen]), fk(robot, q)[:, :3, 3]
    left, right = part.subfigures(1, 2, width_ratios=[1.1, 1.0])
    scene = Scene(left.add_axes((0.0, 0.0, 1.0, 1.0)), arms, camera_for(robot), capsules(robot, q).tool[:, :3, 3])
    for k in range(len(chosen) - 1):
        scene.ghost(one(arms, k), 0.25 + 0.45 * k / len(chosen))
    scene.pose(one(arms, -1))
    left.text(0.02, 0.03, f"grid {scene.step:g} m", fontsize=6.5, color="#5f6975")
    axes = right.subplots()
    for i, label in enumerate("xyz"):
        axes.plot(recording.time, path[:, i], color=COLOURS[i], label=label)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("tool position [m]")
    axes.set_xlim(recording.time[0], recording.time[-1] if recording.duration else recording.time[0] + 1.0)
    mark_events(recording, axes)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)
