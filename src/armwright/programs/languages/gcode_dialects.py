# SPDX-License-Identifier: Apache-2.0
"""Dialects of G-code in one table, how one is guessed from a text, and the groups of G words.

Of one group only one word may stand in a block; it mostly stays in force until another of its group comes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class GcodeDialect:
    """What differs between controllers.

    Attributes:
        name: as a user says it.
        dwell: seconds per unit of G4 P; fanuc's holds for whole numbers, with a decimal point they are seconds.
        homing: G28 looks for switches, so it has no path.
        one_command: a line is one command, so all words behind an M word are its own; G0 is as fast as F.
        repeat: letter that repeats a canned cycle.
        power_on: motion in force before the first motion word; empty where coordinates alone are an error then.
        own_cycles: canned cycles are a group of their own, so the motion before them is in force again behind G80.
        signs: what its texts have and others do not.
    """

    name: str
    dwell: float
    homing: bool
    one_command: bool
    repeat: str
    power_on: str
    own_cycles: bool
    signs: re.Pattern[str]


def _signs(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


NUMBERED = r"^[ \t]*(?:N\d+[ \t]*)?"  # the begin of a line
MARLIN = _signs(
    rf"{NUMBERED}M(?:104|109|140|190|82|83|106|107|105|110|117|20[1-9]|92)\b|{NUMBERED}G92[ \t]*E"
    rf"|{NUMBERED}G1[^;(\n]*\dE|{NUMBERED}G1[^;(\n]*[ \t]E[-.\d]|^;FLAVOR"
)
GRBL = _signs(r"^[ \t]*(?:\$[\w#$]|\?[ \t]*$)")
LINUXCNC = _signs(rf"#<|{NUMBERED}O[ \t]*(?:<[^>]+>|\d+[ \t]*(?:sub|if|while|do|repeat|call)\b)|\batan\[[^\]]*\]/\[")
FANUC = _signs(rf"{NUMBERED}O\d{{4,}}[ \t]*(?:\(|;|$)|^[ \t]*:\d{{4}}|\bGOTO[ \t]*\d|\]DO\d|\bM98[ \t]*P|\bG65[ \t]*P")
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        GcodeDialect("marlin", 1e-3, True, True, "L", "", False, MARLIN),
        GcodeDialect("grbl", 1.0, False, False, "L", "G0", False, GRBL),
        GcodeDialect("linuxcnc", 1.0, False, False, "L", "", False, LINUXCNC),
        GcodeDialect("fanuc", 1e-3, False, False, "K", "G0", True, FANUC),
    )
}
"""In the order in which a text is looked at; `linuxcnc` where nothing tells."""
NONE_TOLD = "linuxcnc"
LENIENT = "fanuc"
"""Where nothing tells, coordinates without a motion word are read as here: `NONE_TOLD` has no meaning for them."""


def guess(text: str) -> tuple[GcodeDialect, str]:
    """Return the dialect of a text, and the words that tell; none where nothing does."""
    for dialect in DIALECTS.values():
        found = dialect.signs.search(text)
        if found:
            return dialect, " ".join(found[0].split())[:30]
    return DIALECTS[NONE_TOLD], ""


GROUPS = {
    "motion": (0, 1, 2, 3, 31, 33, 38.2, 38.3, 38.4, 38.5, 73, 74, 76, 80, *range(81, 90)),
    "plane": (17, 18, 19),
    "units": (20, 21),
    "distance": (90, 91),
    "distance of arcs": (90.1, 91.1),
    "feed": (93, 94, 95),
    "radius compensation": (40, 41, 41.1, 42, 42.1),
    "length compensation": (43, 43.1, 43.2, 44, 49),
    "offsets": (54, 55, 56, 57, 58, 59, 59.1, 59.2, 59.3),
    "path": (61, 61.1, 64),
    "return": (98, 99),
    "once": (4, 10, 28, 28.1, 30, 30.1, 52, 53, 92, 92.1, 92.2, 92.3),
    "tilted frame": (68.2, 69),
}
GROUP_OF = {f"G{code:g}": group for group, codes in GROUPS.items() for code in codes}
QUIET = {"G15": "no polar coordinates", "G50": "no scaling", "G50.1": "no mirror", "G96": "speed of the surface"}
QUIET |= {"G97": "turns of the spindle", "G9": "exact stop", "G8": "radius", "G23": "no stroke check", "G25": "spindle"}
QUIET |= {"G22": "stroke check", "G67": "no macro", "G94.1": "feed", "G5.1": "look-ahead", "G187": "smoothness"}
"""Words that move nothing and shift nothing; they are left out with a note."""
PRINTER = {"G10": "retract", "G11": "recover", "G29": "levels the bed", "G12": "cleans the nozzle"}
PRINTER |= {"G32": "probes the bed", "G80": "levels the bed", "G34": "aligns the axes", "G26": "tests the bed"}
PRINTER |= {"G27": "parks the nozzle", "G31": "probe", "G81": "mesh", "G76": "calibrates", "G75": "prints temperatures"}
"""Of printers only: moves of the printer's own, without a path here."""
UNSUPPORTED = {"G5": "a spline", "G6": "a spline", "G6.2": "a spline", "G7": "diameters", "G16": "polar coordinates"}
UNSUPPORTED |= {"G51": "scaling", "G51.1": "a mirror", "G68": "a turned frame", "G32": "a thread", "G43.4": "five axes"}
"""Words that change where moves lead and that are not followed."""
KNOWN = (*GROUP_OF, *QUIET, "G65")
ENDS = ("M2", "M30")
PAUSES = ("M0", "M1", "M60", "M226", "M25", "M600", "M601")
