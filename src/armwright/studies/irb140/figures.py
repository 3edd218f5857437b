# SPDX-License-Identifier: Apache-2.0
"""Empty figures for this study, and curves of several runs in panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from armwright.recording.pictures.style import COLOURS
from armwright.studies.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.types import Array


def row_of_panels(titles: Sequence[str], *, height: float = 2.6, share_y: bool = False) -> tuple[Figure, Any]:
    """Return a figure and its panels side by side, titled."""
    figure = new_figure(7.6, height)
    panels = figure.subplots(1, len(titles), squeeze=False, sharey=share_y)[0]
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, loc="left", pad=3)
    return figure, panels


def joint_curves(panel: Any, time: Array, values: Array, *, label: bool) -> None:
    """Draw (T, 6) joint curves in the colours of the joints."""
    for j in range(values.shape[1]):
        panel.plot(time, values[:, j], color=COLOURS[j], linewidth=1.1, label=f"joint {j + 1}" if label else None)
