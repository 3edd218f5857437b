# SPDX-License-Identifier: Apache-2.0
"""A recording as a film: GIF by Pillow, MP4 by ffmpeg where it is installed."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, InputError, NotSupportedError
from armwright.files import replacing
from armwright.packages import need
from armwright.recording.pictures.arm_drawing import FLOOR, GRID, SHADOW, TRACE, Scene, one
from armwright.recording.pictures.skeleton import Camera, camera_for, capsules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.recording.recording import Recording
    from armwright.types import Array

MAX_FRAMES = 6000
_DPI = 100


def animate(
    recording: Recording,
    path: str | Path,
    *,
    fps: float = 25.0,
    size: tuple[int, int] = (640, 480),
    speed: float = 1.0,
    camera: Camera | None = None,
    title: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Draw the arm of a recording in motion: links, shadow, tool path and time.

    Args:
        recording: with its robot and a signal ``q`` (T, n).
        path: .gif, or .mp4 (needs the ffmpeg program, see `ffmpeg`); an existing file is replaced.
        fps: pictures per second; GIF viewers round to hundredths of a second, 50 at most.
        size: width and height in pixels (even numbers for .mp4).
        speed: seconds of the recording per second of the film.
        camera: from where to look.
        title: above the arm; the robot's name by default, "" for none.
        progress: called with (pictures done, pictures in all).

    Returns:
        The path.
    """
    file = Path(path)
    if file.suffix.lower() not in (".gif", ".mp4"):
        raise InputError(f"{file}: an animation is .gif or .mp4")
    gif = file.suffix.lower() == ".gif"
    if gif and fps > 50.0:
        raise InputError(f"fps: a GIF shows at most 50 pictures a second, got {fps:g}")
    if not gif and ffmpeg() is None:
        raise NotSupportedError(
            f"{file}: writing .mp4 needs the ffmpeg program, on the PATH or from pip install 'armwright[film]'; "
            ".gif needs nothing more"
        )
    times = _times(recording, fps, speed)
    frames = draw_frames(recording, times, size=size, camera=camera, title=title)
    if progress is not None:
        frames = _counted(frames, len(times), progress)
    with replacing(file) as draft:
        if gif:
            keys = draw_frames(recording, times[[0, len(times) // 2, -1]], size=size, camera=camera, title=title)
            write_gif(frames, np.concatenate(list(keys)), draft, fps)
        else:
            _write_mp4(frames, draft, fps, size)
    return file


def draw_frames(
    recording: Recording,
    times: Array,
    *,
    size: tuple[int, int] = (640, 480),
    camera: Camera | None = None,
    title: str | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Yield one picture (height, width, 3) for every time [s]; positions between samples are interpolated."""
    figure_type = need("matplotlib.figure", "plot", "animating").Figure
    canvas_type = need("matplotlib.backends.backend_agg", "plot", "animating").FigureCanvasAgg
    robot, q = posed(recording)
    width, height = size
    if min(size) < 64 or max(size) > 4096:
        raise InputError(f"size: expected 64 to 4096 pixels each way, got {size}")
    arms = capsules(robot, np.stack([np.interp(times, recording.time, q[:, j]) for j in range(robot.n)], axis=-1))
    path = capsules(robot, q).tool[:, :3, 3]
    figure = figure_type(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
    canvas = canvas_type(figure)
    scene = Scene(figure.add_axes((0.0, 0.0, 1.0, 1.0)), arms, camera or camera_for(robot), path)
    points = height / 480.0
    figure.text(0.03, 0.95, robot.name if title is None else title, fontsize=11 * points, weight="bold", va="center")
    clock = figure.text(0.97, 0.95, "", fontsize=11 * points, va="center", ha="right", family="monospace")
    figure.text(0.97, 0.04, f"grid {scene.step:g} m", fontsize=7.5 * points, va="center", ha="right", color="#667080")
    digits = 2 if recording.duration < 100.0 else 1
    for k, t in enumerate(times):
        scene.pose(one(arms, k), int(np.searchsorted(recording.time, t, "right")))
        clock.set_text(f"{t:.{digits}f} s")
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def posed(recording: Recording) -> tuple[Any, Array]:
    """Return the robot and its positions (T, n), or say why it cannot be drawn."""
    if recording.robot is None:
        raise InputError("animate: the recording has no robot; load it with its robot, or replace(recording, robot=…)")
    q = recording["q"]
    if q.shape != (len(recording), recording.robot.n) or not len(recording):
        raise InputError(f"animate: q must be (T ≥ 1, {recording.robot.n}), got {q.shape}")
    if not np.isfinite(q).all():
        bad = int(np.argmin(np.isfinite(q).all(axis=1)))
        raise InputError(f"animate: q is not finite at t = {recording.time[bad]:g} s; cut it with select(t1=…)")
    return recording.robot, q


def _times(recording: Recording, fps: float, speed: float) -> Array:
    if not (fps > 0.0 and speed > 0.0 and np.isfinite([fps, speed]).all()):
        raise InputError(f"fps and speed must be positive, got {fps} and {speed}")
    count = int(recording.duration * fps / speed + 1e-9) + 1
    if count > MAX_FRAMES:
        raise InputError(f"{count} pictures; at most {MAX_FRAMES}: choose a larger speed, fewer fps, or select(t0, t1)")
    start = float(recording.time[0]) if len(recording) else 0.0
    return np.asarray(start + np.arange(count) * (speed / fps), dtype=np.float64)


def write_gif(frames: Iterator[NDArray[np.uint8]], sample: NDArray[np.uint8], path: Path, fps: float) -> None:
    """Write pictures (height, width, 3) as a GIF whose colours suit the `sample`."""
    image = need("PIL.Image", "plot", "writing .gif")
    # one palette for the whole film: colours do not flicker, and unchanged areas are not stored again;
    # coverage rather than frequency, or thin coloured lines would turn grey
    palette = image.fromarray(sample).quantize(160, method=image.Quantize.MAXCOVERAGE, dither=image.Dither.NONE)
    colours = np.array(palette.getpalette()[:480]).reshape(-1, 3)
    for flat in ("#ffffff", FLOOR, GRID, SHADOW, TRACE):  # large areas keep their exact colour
        exact = np.array([int(flat[i : i + 2], 16) for i in (1, 3, 5)])
        colours[np.argmin(np.abs(colours - exact).sum(axis=1))] = exact
    palette.putpalette(colours.astype(np.uint8).tobytes())
    films = (image.fromarray(frame).quantize(palette=palette, dither=image.Dither.NONE) for frame in frames)
    first = next(films)
    hundredths = max(2, round(100.0 / fps))
    with open(path, "wb") as file:
        first.save(file, "GIF", save_all=True, append_images=films, duration=10 * hundredths, loop=0, optimize=False)


def ffmpeg() -> str | None:
    """Return where the ffmpeg program is: on the PATH, else in the imageio-ffmpeg package; None if nowhere."""
    found = shutil.which("ffmpeg")
    if found is None and find_spec("imageio_ffmpeg") is not None:
        with contextlib.suppress(RuntimeError):  # a package without its program
            found = str(import_module("imageio_ffmpeg").get_ffmpeg_exe())
    return found


def _write_mp4(frames: Iterator[NDArray[np.uint8]], path: Path, fps: float, size: tuple[int, int]) -> None:
    width, height = size
    if width % 2 or height % 2:
        raise InputError(f"size: .mp4 needs even numbers of pixels, got {size}")
    command = [
        ffmpeg() or "ffmpeg",
        "-y",
        "-loglevel",
        "error",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{width}x{height}",
        "-r",
        f"{fps:g}",
        "-i",
        "-",
        "-an",
        "-c:v",
        "libx264",
        "-crf",
        "18",
        "-pix_fmt",
        "yuv420p",
        str(path.absolute()),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    try:
        for frame in frames:
            process.stdin.write(frame.tobytes())
    except BrokenPipeError:
        pass  # ffmpeg says why
    except BaseException:
        process.kill()
        process.communicate()
        raise
    _, told = process.communicate()
    if process.returncode:
        raise ArmwrightError(f"{path}: ffmpeg failed: {told.decode(errors='replace').strip()[-400:]}")


def _counted(
    frames: Iterator[NDArray[np.uint8]], total: int, progress: Callable[[int, int], None]
) -> Iterator[NDArray[np.uint8]]:
    for k, frame in enumerate(frames, start=1):
        yield frame
        progress(k, total)
