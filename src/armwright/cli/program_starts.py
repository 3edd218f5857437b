# SPDX-License-Identifier: Apache-2.0
"""``run program --start``: where the arm stands at first, by its joints or by the word home."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from armwright.cli import option_words

if TYPE_CHECKING:
    from armwright.programs import Program
    from armwright.robot.model import Robot
    from armwright.types import Array

HOME = "home"


def start_joints(text: str, arm: Robot) -> Array:
    """Return the joints (n,) that ``--start`` says."""
    from armwright.programs import home_posture

    if text.strip().lower() == HOME:
        return home_posture(arm)
    return option_words.configuration(text, arm, "--start")


def started(program: Program, text: str | None, q: Array | None) -> Program:
    """Return the program with a note on which posture was taken for home."""
    import numpy as np

    from armwright.programs.reading import Note

    if text is None or q is None or text.strip().lower() != HOME:
        return program
    angles = ", ".join(f"{value:.2f}" for value in np.round(np.degrees(q), 2) + 0.0)
    said = (
        f"--start home: the tool in front of the base, pointing down, joints ({angles})°; --start a,b,… says otherwise"
    )
    note = Note(0, said)
    reading = program.reading
    if reading is not None:
        reading = replace(reading, assumed=(*reading.assumed, note))
    return replace(program, notes=(note, *program.notes), reading=reading)
