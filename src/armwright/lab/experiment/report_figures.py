# SPDX-License-Identifier: Apache-2.0
"""Figures of an experiment's page: an empty one of a size, and its bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from armwright.packages import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure, width and height in inches."""
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png(figure: Figure) -> bytes:
    """The picture's bytes."""
    held = io.BytesIO()
    figure.savefig(held, dpi=110, format="png")
    return held.getvalue()
