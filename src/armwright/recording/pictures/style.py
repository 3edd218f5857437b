# SPDX-License-Identifier: Apache-2.0
"""The look of all figures: Okabe and Ito's colours, which colour-blind readers can tell apart; sizes for a page.

`compact_png` keeps them small: line drawings have few colours, and a palette of them takes a third of the bytes.
`save_figure` writes them, whole or not at all.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError
from armwright.files import replacing
from armwright.packages import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from armwright.recording.recording import Recording

PALETTE_SIZE = 128


def save_figure(figure: Figure, path: str | Path, dpi: int | None = None) -> Path:
    """Write a matplotlib figure in the format that the suffix names; see `armwright.files.replacing`.

    Args:
        figure: any.
        path: .png, .pdf, .svg, …
        dpi: pixels per inch; those of the figure if omitted.

    Raises:
        ArmwrightError: the file cannot be written, or there is no such format.
    """
    file = Path(path)
    with replacing(file) as draft:
        try:
            figure.savefig(draft, dpi="figure" if dpi is None else dpi)
        except ValueError as error:  # no such format; matplotlib lists what there is
            raise ArmwrightError(f"{file}: the figure could not be saved ({error})") from error
    return file


def blank_figure(purpose: str, **options: Any) -> Figure:
    """Return an empty figure that notebooks show and that pyplot does not know.

    Args:
        purpose: what it is for, should matplotlib be missing.
        options: those of ``matplotlib.figure.Figure``.
    """
    need("matplotlib.figure", "plot", purpose)
    made: Figure = need("armwright.recording.pictures.shown_figure", "plot", purpose).ShownFigure(**options)
    return made


def compact_png(figure: Figure, dpi: int) -> bytes:
    """Return a matplotlib figure as PNG with a palette.

    Args:
        figure: any.
        dpi: pixels per inch.
    """
    image = need("PIL.Image", "plot", "drawing a report")
    canvas = need("matplotlib.backends.backend_agg", "plot", "drawing a report").FigureCanvasAgg(figure)
    figure.set_dpi(dpi)
    canvas.draw()
    drawn = image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    small = drawn.quantize(PALETTE_SIZE, method=image.Quantize.MEDIANCUT, dither=image.Dither.NONE)
    buffer = io.BytesIO()
    small.save(buffer, format="PNG")
    return buffer.getvalue()


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#882255")
LIMIT, MUTED = "#b2182b", "#5f6975"
STYLE = {
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "axes.axisbelow": True,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "savefig.dpi": 200,
    "figure.dpi": 120,
    "axes.formatter.limits": (-7, 7),
    "axes.formatter.use_mathtext": True,
    "svg.fonttype": "none",
}


def mark_events(recording: Recording, axes: Axes, named: bool = True) -> None:
    """Draw a dotted line at every event, and its name above the panel where there is room."""
    free = -np.inf
    for event in recording.events[:50]:
        if not recording.time[0] <= event.time <= recording.time[-1]:
            continue
        axes.axvline(event.time, color=MUTED, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0.5)
        if named and event.time >= free:
            late = event.time > recording.time[-1] - 0.1 * recording.duration
            place: dict[str, Any] = {
                "xycoords": ("data", "axes fraction"),
                "textcoords": "offset points",
                "xytext": (0, 2),
            }
            side = "right" if late else "left"
            axes.annotate(event.name, (event.time, 1.0), va="bottom", ha=side, fontsize=6.5, color=MUTED, **place)
            free = event.time + recording.duration * (0.02 + 0.012 * len(event.name))
