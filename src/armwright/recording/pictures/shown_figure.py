# SPDX-License-Identifier: Apache-2.0
"""A matplotlib figure that shows itself as the value of a notebook's cell, whatever the kernel has been told before.

Kernels draw matplotlib's own figures only after ``%matplotlib inline`` or an import of pyplot; otherwise a cell shows
``<Figure size 720x345>``. Needs matplotlib; `armwright.recording.pictures.style.blank_figure` makes one.
"""

from __future__ import annotations

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure with a canvas of its own, independent of pyplot."""

    def __init__(self, **options: object) -> None:
        """Make an empty figure; `options` are those of matplotlib's figures."""
        super().__init__(**options)  # type: ignore[arg-type] # passed on as they are
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        """Return what notebooks show."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi="figure")
        return buffer.getvalue()
