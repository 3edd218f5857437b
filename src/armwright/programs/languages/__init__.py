# SPDX-License-Identifier: Apache-2.0
"""The languages of robot programs: one file reads a language, one writes it; `LANGUAGES` lists them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from armwright import choices
from armwright.programs.languages.gcode import read_gcode
from armwright.programs.languages.gcode_write import write_gcode
from armwright.programs.languages.krl import read_krl
from armwright.programs.languages.krl_write import write_krl
from armwright.programs.languages.lirl import read_lirl, write_lirl
from armwright.programs.languages.rapid import read_rapid
from armwright.programs.languages.rapid_write import write_rapid
from armwright.programs.languages.urscript import read_urscript
from armwright.programs.languages.urscript_write import write_urscript
from armwright.programs.program import Program


@dataclass(frozen=True)
class Language:
    """A language: its name, the suffixes of its files, what its texts look like, and how to read and write it."""

    name: str
    suffixes: tuple[str, ...]
    look: re.Pattern[str]
    read: Callable[..., Program]
    write: Callable[[Program], str]
    told: bool = False  # `read` takes options: what a user says about inputs, frames, files


def _look(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


L_IRL = Language("l-irl", (".irl",), _look(r"^\s*move\s+(ptp|lin|circle)\b"), read_lirl, write_lirl)
URSCRIPT = Language(
    "urscript",
    (".script", ".urscript"),
    _look(r"^\s*(move[jlpc]\s*\(|def\s+\w+\s*\([^)\n]*\)\s*:)"),
    read_urscript,
    write_urscript,
    told=True,
)
RAPID = Language(
    "rapid",
    (".mod", ".modx", ".prg", ".sys", ".sysx"),
    _look(r"^\s*(Move(AbsJ|J|L|C)\s+[^(]|MODULE\s+\w+|(LOCAL\s+)?PROC\s+\w+\s*\()"),
    read_rapid,
    write_rapid,
    told=True,
)
KRL = Language(
    "krl", (".src", ".krl", ".sub"), _look(r"^\s*(S?PTP|S?LIN|S?CIRC|SPL)\s+[\w{$]"), read_krl, write_krl, told=True
)
G_CODE = Language(
    "g-code",
    (".nc", ".ngc", ".gcode", ".tap", ".cnc", ".gco"),
    _look(r"^\s*(N\d+\s*)?(G\d+(\.\d+)?\s*)+"),
    read_gcode,
    write_gcode,
    told=True,
)
LANGUAGES: tuple[Language, ...] = tuple(choices.LANGUAGES.values())
"""Those that come with Armwright; `armwright.choices.LANGUAGES` finds them, and those of plug-ins, by name."""

__all__ = ["LANGUAGES", "Language"]
