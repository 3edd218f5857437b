# SPDX-License-Identifier: Apache-2.0
"""Words of KRL: how they are spelt, which begin moves, which open and close blocks."""

from __future__ import annotations

from armwright.programs.interpreter.tree_parser import Spelling

SPELLING = Spelling(
    names=r"[^\W\d]\w*|\$\w+",
    signs=r"<=|>=|<>|==|[-+*/()\[\]{}=:,<>#.!?]",
    comments=(";", "&"),
    lines=True,
    numbers=r"'[Hh][0-9A-Fa-f]{1,8}'|'[Bb][01]{1,32}'|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?",
)
MOVES = frozenset(
    f"{s}{word}{rel}" for s in ("", "s") for word in ("ptp", "lin", "circ") for rel in ("", "_rel")
) | frozenset(("spl", "spl_rel"))
MOTION = MOVES | {"spline", "ptp_spline", "endspline"}
BLENDS = ("c_ptp", "c_dis", "c_ori", "c_vel", "c_spl")
TYPES = ("int", "real", "bool", "char", "frame", "pos", "e6pos", "axis", "e6axis", "load")
ENDS = {
    "def": "end",
    "deffct": "endfct",
    "if": "endif",
    "for": "endfor",
    "while": "endwhile",
    "loop": "endloop",
    "repeat": "until",
    "switch": "endswitch",
    "spline": "endspline",
    "ptp_spline": "endspline",
}
INNER = ("endif", "endfor", "endwhile", "endloop", "until", "endswitch", "endspline", "else", "case", "default")
OUTER = ("end", "endfct", "def", "deffct", "enddat", "defdat")
TO_LINE_END: tuple[str, ...] = (
    "interrupt",
    "trigger",
    "ext",
    "extp",
    "extfct",
    "extfctp",
    "import",
    "brake",
    "resume",
    "continue",
)
TO_LINE_END += ("channel", "const_vel", "stop", "on_error_proceed", "time_block", "anout", "anin", "digin", "cwrite")
STATEMENTS = (
    "PTP, LIN, CIRC, PTP_REL, LIN_REL, CIRC_REL, SPLINE, SPL, SLIN, SCIRC, FOR, WHILE, REPEAT, LOOP, IF or a call"
)
"""What may begin a line, for messages."""
