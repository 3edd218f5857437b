# SPDX-License-Identifier: Apache-2.0
"""Words of KRL: how they are spelt, which begin moves, which open and close blocks."""

from __future__ import annotations

from armwright.syntax.tree_parser import Spelling

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
SYSTEM_PARTS = {
    "$vel": ("cp", "ori1", "ori2"),
    "$acc": ("cp", "ori1", "ori2"),
    "$apo": ("cdis", "cori", "cvel", "cptp"),
}
SYSTEM: tuple[str, ...] = ("$vel", "$acc", "$apo", "$vel_axis", "$acc_axis", "$tool", "$base", "$load", "$ov_pro")
SYSTEM += ("$ori_type", "$circ_type", "$ipo_mode", "$advance")
"""Variables of the controller that moves depend on."""
LOOK_ALIKE = frozenset(f"{name}_c" for name in SYSTEM if name not in ("$ov_pro", "$advance"))
LOOK_ALIKE |= {"$async_axis", "$ipr_mode", "$pal_mode", "$ov_appl", "$pro_mode0", "$pro_mode1"}
LOOK_ALIKE |= {"$pro_move", "$vel_axis_ma", "$vel_appl"}
"""Variables that controllers have, too, and that must not be taken for misspelt ones of `SYSTEM`."""
VALUES = {
    "$ori_type": ("#var", "#constant", "#joint", "#ignore"),
    "$circ_type": ("#base", "#path"),
    "$ipo_mode": ("#base", "#tcp"),
}
WITHOUT_EFFECT = frozenset(
    [
        "$in",
        "$out",
        "$out_c",
        "$anin",
        "$anout",
        "$flag",
        "$cycflag",
        "$timer",
        "$timer_stop",
        "$timer_flag",
        "$bwdstart",
        "$h_pos",
        "$loop_msg",
        "$loop_cont",
        "$act_tool",
        "$act_base",
        "$act_ex_ax",
        "$vel_ma",
        "$acc_ma",
        "$vel_extax",
        "$acc_extax",
        "$load_a1",
        "$load_a2",
        "$load_a3",
        "$torqmon",
        "$torqmon_com",
        "$torqmon_def",
        "$pro_mode",
        "$ext_start",
        "$stopnoaprox",
        "$stopmess",
        "$cycle_time",
        "$ov_jog",
        "$ov_rob",
        "$base_kin",
        "$axis_ret",
        "$pos_ret",
        "$ms_time",
        "$date",
    ]
)
"""Variables that programs set and that need not be followed. One that is in neither list is told when it is set."""
STATEMENTS = (
    "PTP, LIN, CIRC, PTP_REL, LIN_REL, CIRC_REL, SPLINE, SPL, SLIN, SCIRC, FOR, WHILE, REPEAT, LOOP, IF or a call"
)
"""What may begin a line, for messages."""
