# SPDX-License-Identifier: Apache-2.0
"""The dry run of a job on the wire: everywhere that it may take the arm, looked at before anything moves.

Of a map all cells count, in its plane and lifted for the rehearsal: inverse kinematics, ranges, the arm's own links,
the box that its tool and elbow keep to. Of the whole arm it is the box of joint angles that it rehearses in, and the
straight way to the goal; where its search may lead beyond is bounded by the fence alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.touch_map import empty_map
from armwright.live.wire_limits import ELBOW, Fence
from armwright.live.wire_rehearsal import WIGGLE, WIGGLE_TOOL, lifted
from armwright.recording.pictures.html_page import Page
from armwright.recording.recording import versions
from armwright.recording.replay.replay_stage import plot, stage_of

if TYPE_CHECKING:
    from pathlib import Path

    from armwright.exploration.grid.held_tool import HeldTool
    from armwright.live.wire_limits import Watchman
    from armwright.planning.grid.grid_map import GridMap
    from armwright.robot.model import Robot
    from armwright.types import Array

MOST_JUMP = 0.6  # [rad] of a joint between neighbouring cells: more is another branch
BELOW = 0.02  # [m] that the usual fence lies below the plane of a map
ELBOW_ROOM = 0.08  # [m] that the elbow may leave the heights of the dry run: joints are moved one by one, too
ARM_ROOM = 0.3  # [m] around the straight way of the whole arm
BOX_SAMPLES = 200  # random places of the box that the whole arm rehearses in
SHOWN_PERIOD = 0.1  # [s] between the places of the page


@dataclass(frozen=True, eq=False)
class DryRun:
    """Where a job may take an arm.

    Attributes:
        rows: configurations (m, n), as the page plays them. fence: that they fit into.
        out_of_reach: cells (and whether lifted) that inverse kinematics does not find, or only on another branch.
        clearance: smallest distance between links of the arm's own [m]. cells: number of cells looked at.
    """

    rows: Array
    fence: Fence
    out_of_reach: tuple[tuple[tuple[int, ...], bool], ...]
    clearance: float
    cells: int

    def sentence(self) -> str:
        """Return it in one sentence."""
        what = f"{len(self.rows)} configurations"
        if self.cells:
            lost = len(self.out_of_reach)
            what = f"{self.cells} cells, in their plane and lifted, {lost or 'none'} of them out of reach"
        return f"{what}; the arm's own links stay {1e3 * self.clearance:.0f} mm apart"


def own_clearance(robot: Robot, q0: Array, rows: Array) -> float:
    """Return the smallest distance between links of the arm's own [m] at rows (m, n)."""
    found = empty_map(robot, q0, rows[-1:], 0.0).arm(margin=0.0).clearance(rows)
    return float(np.min(found))


def map_dry_run(tool: HeldTool, where: GridMap, q0: Array, lift: float) -> DryRun:
    """Look at every free cell of a map, in its plane and lifted."""
    rows, lost = [q0], []
    free = np.argwhere(~where.blocked())
    order = free[np.lexsort((free[:, 1] * (1 - 2 * (free[:, 0] % 2)), free[:, 0], *free.T[2:]))]  # to and fro
    for up in (False, True):
        grid = (lifted(where, lift) if up else where).grid
        near = q0
        for cell in order + grid.first:
            try:
                row = tool.configurations(grid.centre(cell)[None], near, ["cell"])[0]
            except InputError:
                row = None
            if row is None or (len(rows) > 1 and near is not q0 and np.abs(row - near).max() > MOST_JUMP):
                lost.append((tuple(int(c) for c in cell), up))
                continue
            rows.append(row)
            near = row
    Q = np.array(rows)
    at = tool.place(Q)
    room = max(float(np.max(np.asarray(where.grid.cell_size))), WIGGLE_TOOL + 5e-3)
    low, high = at.min(axis=0) - room, at.max(axis=0) + room
    low[2] = at[:, 2].min() - BELOW
    fence = Fence(low, high, elbow_heights(tool.robot, Q, ELBOW_ROOM + WIGGLE * 0.1))
    return DryRun(Q, fence, tuple(lost), own_clearance(tool.robot, q0, Q), len(order))


def arm_dry_run(robot: Robot, q0: Array, goal: Array, free: float) -> DryRun:
    """Look at the box of joint angles to rehearse in, and at the straight way to the goal."""
    rng = np.random.default_rng(0)
    box = np.clip(q0 + rng.uniform(-free, free, (BOX_SAMPLES, robot.n)), robot.lower, robot.upper)
    way = q0 + np.linspace(0.0, 1.0, 60)[:, None] * (goal - q0)
    Q = np.vstack([q0, box, way])
    from armwright.kinematics import fk

    at = fk(robot, Q)[:, :3, 3]
    fence = Fence(at.min(axis=0) - ARM_ROOM, at.max(axis=0) + ARM_ROOM, elbow_heights(robot, Q, ARM_ROOM))
    return DryRun(Q, fence, (), own_clearance(robot, q0, Q), 0)


def elbow_heights(robot: Robot, q: Array, room: float) -> tuple[float, float]:
    """Return the lowest and highest place of the elbow's origin at rows (m, n), widened by room [m]."""
    from armwright.kinematics.forward import fk_all

    height = np.asarray(fk_all(robot, q))[:, ELBOW, 2, 3]
    return float(height.min() - room), float(height.max() + room)


def check_dry_run(found: DryRun, watchman: Watchman) -> None:
    """Refuse what ranges, fence or the arm's own body forbid.

    Raises:
        InputError: with the place.
    """
    watchman.check(found.rows)
    if found.clearance <= 0.0:
        raise InputError(
            f"dry run: links of the arm itself would overlap by {-1e3 * found.clearance:.0f} mm; nothing was moved"
        )


def dry_run_page(found: DryRun, robot: Robot, path: Path, sentences: tuple[str, ...]) -> Path:
    """Write the page that is looked at before anything moves: the places, played, and what will be confirmed."""
    page = Page(f"Dry run: {robot.name}").lead("Not a safety function. Nothing has moved yet.")
    page.paragraph(found.sentence()).replay_here()
    fence = found.fence
    page.section("Fence").table(
        ("", "x [m]", "y [m]", "z [m]"),
        [("low", *(f"{x:.3f}" for x in fence.low)), ("high", *(f"{x:.3f}" for x in fence.high))],
    )
    page.paragraph(f"The elbow's origin stays between {fence.elbow[0]:.3f} and {fence.elbow[1]:.3f} m.")
    if found.out_of_reach:
        cells = ", ".join(str(cell) + (" lifted" if up else "") for cell, up in found.out_of_reach[:40])
        page.section("Out of reach").paragraph(cells)
    page.section("To be confirmed").listed(sentences)
    page.made_with(versions())
    recording = plot(robot, found.rows, dt=SHOWN_PERIOD)
    return page.write(path, stage=stage_of(recording, title=f"Dry run: {robot.name}"))
