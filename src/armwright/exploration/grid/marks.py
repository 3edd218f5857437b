# SPDX-License-Identifier: Apache-2.0
"""What a run puts on its map: cells passed, cells felt, and the waypoints that the way back may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.planning.grid.marking import mark

if TYPE_CHECKING:
    from armwright.exploration.grid.grid_run import GridRun
    from armwright.exploration.result import Contact
    from armwright.planning.grid.occupancy import GridMap

Cell = tuple[int, ...]
PASSED = 0.2  # cells within which the tool came by a waypoint: it was in the waypoint's cell, not beside it
THIN = 5  # rows apart: at 50 mm/s and 500 Hz half a millimetre


def swept(run: GridRun, grid: GridMap) -> GridMap:
    """Return the map with what the tool passed in the present leg known to be free."""
    n = run.session.parts.n
    rows = run.session.log.rows(run.row)[0, ::THIN, 1 : 1 + n]
    return grid.sweep(run.held_tool.place(rows)) if len(rows) else grid


def pass_on(run: GridRun) -> None:
    """Put the waypoints that the arm really passed before the contact on the trail."""
    session, n = run.session, run.session.parts.n
    rows, times = run.way
    start = session.following[0]
    log = session.log.rows(run.row)[0, :, : 1 + n]
    for row, at in zip(rows, times, strict=True):
        k = int(np.searchsorted(log[:, 0], start + at))
        if (
            k >= len(log)
            or np.linalg.norm(run.held_tool.place(log[k, 1:]) - run.held_tool.place(row)) > PASSED * run.size
        ):
            break
        run.trail.append(row)


def marked(run: GridRun, known: GridMap, contact: Contact) -> GridMap:
    """Mark the contact's cell.

    If that is known already, the next leg keeps to the middle of its cells; if that does not help either, the next
    cell on the way is marked, too. So every other contact at least teaches something.
    """
    grid = mark(known, run.rules.marked_point(run, contact.desired, contact.actual)).map
    nothing_new = contact.again or not known.grid.inside(contact.cell)
    if nothing_new and run.careful:
        heading = _heading(run)
        grid = grid if heading is None else grid.with_felt(heading)
    run.careful = nothing_new and not run.careful
    return grid


def _heading(run: GridRun) -> Cell | None:
    """The next free cell on the planned way."""
    rows, times = run.way
    ahead = rows[times > run.session.time - run.session.following[0] - 1e-9]
    blocked = run.map.blocked()
    for row in ahead:
        cell = tuple(int(c) for c in run.map.grid.cell(run.held_tool.place(row)))
        if run.map.grid.inside(cell) and not blocked[run.map.grid.index(cell)]:
            return cell
    return None
