# SPDX-License-Identifier: Apache-2.0
"""An exploration as a moving picture: the arm among the obstacles, and the map as it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.arm_result import ArmExploration
from armwright.exploration.arm.touch_map import RADIUS
from armwright.exploration.pictures.arm_figures import balls, draw_outlines, outlines, seen
from armwright.exploration.pictures.map_figures import ACTUAL, FELT_FILL, draw_map, ends, plan_of
from armwright.files import replacing
from armwright.packages import need
from armwright.recording.pictures.animation import write_gif
from armwright.recording.pictures.arm_drawing import Scene, one
from armwright.recording.pictures.skeleton import Camera, camera_for, capsules, upright
from armwright.recording.pictures.style import LIMIT, MUTED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.exploration.exploration_result import Exploration
    from armwright.types import Array

FILM_FRAMES, FILM_RATE = 110, 10.0  # eleven seconds of film: long enough to follow, a few megabytes
DPI = 100  # pixels per inch


def film(
    run: Exploration,
    path: str | Path,
    *,
    frames: int = FILM_FRAMES,
    fps: float = FILM_RATE,
    size: tuple[int, int] = (860, 460),
    camera: Camera | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Path:
    """Write a GIF of a run.

    Args:
        run: the exploration.
        path: .gif; an existing file is replaced.
        frames: pictures in all, spread over the run.
        fps: pictures per second.
        size: pixels.
        camera: from where to look.
        progress: called with (pictures done, pictures in all).
    """
    file = Path(path)
    if file.suffix.lower() != ".gif":
        raise InputError(f"{file}: the film of an exploration is a .gif")
    if not 2 <= frames <= 2000 or not 1.0 <= fps <= 50.0:
        raise InputError(f"film: expected 2 to 2000 frames at 1 to 50 a second, got {frames} at {fps}")
    if not len(run.recording):
        raise InputError("film: the run was interrupted before anything was recorded")
    times = np.linspace(run.recording.time[0], run.recording.time[-1], frames)
    sample = np.concatenate(list(draw(run, times[[0, len(times) // 2, -1]], size, camera)))
    with replacing(file) as draft:
        write_gif(_counted(draw(run, times, size, camera), frames, progress), sample, draft, fps)
    return file


def _counted(frames: Iterator[Any], count: int, progress: Callable[[int, int], Any] | None) -> Iterator[Any]:
    for k, frame in enumerate(frames):
        if progress is not None:
            progress(k + 1, count)
        yield frame


def draw(
    run: Exploration, times: Array, size: tuple[int, int], camera: Camera | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Yield one picture (height, width, 3) for every time [s]."""
    figure_type = need("matplotlib.figure", "plot", "animating").Figure
    canvas_type = need("matplotlib.backends.backend_agg", "plot", "animating").FigureCanvasAgg
    collections = need("matplotlib.collections", "plot", "animating")
    recording = run.recording
    robot, q = recording.robot, recording["q"]
    assert robot is not None
    view = camera or Camera(camera_for(robot).azimuth, 28.0)
    posed = np.stack([np.interp(times, recording.time, q[:, j]) for j in range(robot.n)], axis=-1)
    arms, turn = capsules(robot, posed), upright(robot)
    figure = figure_type(figsize=(size[0] / DPI, size[1] / DPI), dpi=DPI)
    canvas = canvas_type(figure)
    left = figure.add_axes((0.0, 0.0, 0.6, 1.0))
    way = capsules(robot, q[:: max(1, len(q) // 2000)]).tool[:, :3, 3]
    scene = Scene(left, arms, view, way)
    grid = run.maps[0].grid
    level = float(grid.origin[2]) if grid.dim == 2 else float(grid.centre(np.array(grid.shape) // 2)[2])
    draw_outlines(left, outlines(run.world, view, turn, level))
    cells = collections.PolyCollection(
        [], facecolors=FELT_FILL, edgecolors="white", linewidths=0.3, alpha=0.9, zorder=2.55
    )
    left.add_collection(cells)
    plan = plan_of(run)[0]
    right = figure.add_axes((0.64, 0.2, 0.34, 0.7))
    texts = [figure.text(0.66, y, "", fontsize=9, family="monospace") for y in (0.09, 0.03)]
    figure.text(0.03, 0.94, f"{robot.name} · {run.settings.get('world', '')}", fontsize=11, weight="bold")
    shown, marks = -1, np.array([contact.time for contact in run.contacts])
    tool = plan.flat(recording["tool"])
    force = np.linalg.norm(recording["force" if run.truth_known else "force_felt"], axis=1)
    for k, t in enumerate(times):
        index = int(np.searchsorted(marks, t, "right"))
        until = int(np.searchsorted(recording.time, t, "right"))
        if index != shown:
            shown = index
            right.clear()
            draw_map(right, run, plan, min(index, len(run.maps) - 1), swept=False)
            ends(right, run, plan, size=24.0)
            (line,) = right.plot([], [], color=ACTUAL, linewidth=1.2, zorder=4)
            (dot,) = right.plot([], [], "o", color=LIMIT, markersize=4, zorder=5)
            right.set_xticks([])
            right.set_yticks([])
            right.set_title("map", fontsize=9, color=MUTED, loc="left", pad=3)
            cells.set_verts(_squares(run, min(index, len(run.maps) - 1), view, turn))
        scene.pose(one(arms, k), int(np.searchsorted(np.arange(len(q))[:: max(1, len(q) // 2000)], until)))
        line.set_data(tool[:until, 0], tool[:until, 1])
        dot.set_data(tool[max(0, until - 1) : until, 0], tool[max(0, until - 1) : until, 1])
        texts[0].set_text(f"t = {t:5.1f} s   contacts {index}")
        texts[1].set_text(f"{'contact' if run.truth_known else 'felt'} force {force[max(0, until - 1)]:5.1f} N")
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def _squares(run: Exploration, index: int, view: Camera, turn: Array) -> list[Array]:
    """Return felt cells of a map as flat squares in the picture; balls at felt places for the whole arm."""
    if isinstance(run, ArmExploration):
        known = run.touch_maps[min(index, len(run.touch_maps) - 1)]
        return balls(known.points[known.likely], RADIUS, view, turn)
    grid = run.maps[index].grid
    axes, size = np.asarray(grid.axes)[:2], np.asarray(grid.cell_size)[:2]
    felt = np.argwhere(np.asarray(run.maps[index].felt) > 0) + grid.first
    corners = 0.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * size
    out = []
    for cell in felt:
        out.append(seen(grid.centre(cell) + corners @ axes, view, turn))
    return out
