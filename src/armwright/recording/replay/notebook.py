# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of a recording: the replay, where there is an arm to be seen, and a row per signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.notebook import html_table
from armwright.recording.replay.stage import can_show, stage_of
from armwright.recording.replay.write import notebook_frame

if TYPE_CHECKING:
    from armwright.recording.recording import Recording


def notebook_page(recording: Recording) -> str:
    """Return HTML of the replay, in a frame of its own, and of a table of the signals."""
    rows = [(name, signal.unit or "–", signal.values.shape) for name, signal in recording.signals.items()]
    table = html_table(repr(recording), ("signal", "unit", "shape"), rows)
    return notebook_frame(stage_of(recording)) + table if can_show(recording) else table
