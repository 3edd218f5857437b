# SPDX-License-Identifier: Apache-2.0
"""By which words a G-code program is a lathe's: X counts diameters there, and G98, G99 are kinds of feed.

Read as a mill's it would move other ways without a word, so it is refused; ``--define turning=0`` says it is a mill's.
"""

from __future__ import annotations

import re

from armwright.programs.languages.gcode_words import without_comments

LATHE_ONLY = re.compile(r"G50[ \t]*S[ \t]*\d|G28[ \t]*U", re.IGNORECASE)
"""A bound of the spindle's speed; home by the incremental letter of X."""
SURFACE_SPEED = re.compile(r"G96(?![.\d])", re.IGNORECASE)
"""Speed of the surface: a lathe's in a program that never names Y, unless it says that X counts radii (G8)."""
OF_A_MILL = re.compile(r"Y[ \t]*[-+.\d\[#]|G0?8(?![.\d])", re.IGNORECASE)


def turning_word(text: str) -> tuple[int, int, str]:
    """Return line, column (from 0) and word by which a program is a lathe's; line 0 if it is not."""
    if not (LATHE_ONLY.search(text) or SURFACE_SPEED.search(text)):
        return 0, 0, ""
    likely, mill = (0, 0, ""), False
    for number, raw in enumerate(text.split("\n"), 1):
        line = without_comments(raw)[0]
        sure = LATHE_ONLY.search(line)
        if sure:
            return number, sure.start(), sure[0]
        mill = mill or OF_A_MILL.search(line) is not None
        word = SURFACE_SPEED.search(line)
        if word and not likely[0]:
            likely = (number, word.start(), word[0])
    return (0, 0, "") if mill else likely
