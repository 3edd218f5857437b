# SPDX-License-Identifier: Apache-2.0
"""A figure as a small PNG: line drawings have few colours, and a palette of them takes a third of the bytes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from armwright.optional import need

COLOURS = 128


def compact_png(figure: Any, dpi: int) -> bytes:
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
    small = drawn.quantize(COLOURS, method=image.Quantize.MEDIANCUT, dither=image.Dither.NONE)
    buffer = io.BytesIO()
    small.save(buffer, format="PNG")
    return buffer.getvalue()
