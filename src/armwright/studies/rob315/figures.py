# SPDX-License-Identifier: Apache-2.0
"""Paths of the tool from above and from the side: what the report's Figs. 5.1 and 5.4 show in perspective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from armwright.recording.pictures.style import COLOURS
from armwright.studies.pictures import new_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_paths(paths: Mapping[str, Array]) -> Figure:
    """Draw paths (T, 3) [m], base frame, over x–y and x–z; the first is dashed."""
    figure = new_figure(7.2, 3.0)
    for panel, (axis, title) in zip(figure.subplots(1, 2), ((1, "from above"), (2, "from the side")), strict=True):
        for k, (label, path) in enumerate(paths.items()):
            style = (0, (5, 2)) if k == 0 else "-"
            panel.plot(path[:, 0], path[:, axis], color=COLOURS[k], linestyle=style, label=label, zorder=3 - k)
        panel.set_title(title, loc="left", pad=3)
        panel.set_xlabel("x [m]")
        panel.set_ylabel(f"{'xyz'[axis]} [m]")
        panel.set_aspect("equal", adjustable="datalim")
    figure.axes[0].legend(handlelength=2.0)
    return figure
