# SPDX-License-Identifier: Apache-2.0
"""A replay as a file, and as what a notebook shows."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from armwright.errors import ArmwrightError
from armwright.recording.interrupts import Uninterrupted
from armwright.recording.replay.page import html_page, replay_parts

if TYPE_CHECKING:
    from armwright.recording.replay.stage import Stage

FRAME_HEIGHT = 620  # pixels in a notebook


def write_page(path: str | Path, page: str) -> Path:
    """Write a page: whole, or not begun."""
    file = Path(path)
    try:
        with Uninterrupted():
            file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ArmwrightError(f"{file}: the page could not be written ({error.strerror or error})") from error
    return file


def write_replay(stage: Stage, path: str | Path) -> Path:
    """Write a page that holds the replay alone."""
    return write_page(path, html_page(stage.title, (), replay_parts(stage)))


def notebook_frame(stage: Stage) -> str:
    """Return the replay in a frame of its own, which can reach neither the notebook nor anything else."""
    page = html.escape(html_page(stage.title, (), replay_parts(stage)), quote=True)
    look = f'width="100%" height="{FRAME_HEIGHT}" frameborder="0" allow="fullscreen"'
    return f'<iframe title="replay" sandbox="allow-scripts" {look} srcdoc="{page}"></iframe>'
