# SPDX-License-Identifier: Apache-2.0
"""The program "Lola15DD" of Fig. 8 of 001, line by line as the figure has it, and the readings that let it run.

The figure shows lines 1 to 36 of an editor's window. It ends before ``endseq``, and before the brace of line 26 is
closed. What a brace means in L-IRL is not said.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from armwright.errors import ProgramError
from armwright.programs.program import Program
from armwright.programs.program_reader import read_program

Brace = Literal["open", "closed below", "no comment"]

LISTING = """\
program Lola15DD;

var
robtarg:s0=robtarg(((786.9329, 402.9624, 632.855), (15, -60, -175.03779)), 4);
robtarg:s1=robtarg(position(850.5427, 0, 629.1809));
robtarg:s2=robtarg(((821.9198, -402.9624, 572.256), (-15, -60, -175.037)), 8);
robtarg:s3=robtarg(position(819.1725, -441.6397, 566.7923));
robtarg:s4=robtarg(((1019.6465, -571.0567, 669.5612), (-40, -60, -90)), 8);
robtarg:s5=robtarg(((1238.1590, -421.6189, 810.7015), (-20, -30, -90)), 4);
robtarg:s6=robtarg(((1317.2706, -249.063, 873.1763), (-10, -45, -175.03779)), 8);
robtarg:s7=robtarg(((1289.7405, -149.4378, 867.7698), (-5, -40, -175.03779)), 8);
robtarg:s8_a=robtarg(((1208.2531, 0, 835.7050), (0, -30, -175.03779)), 8);
robtarg:s9=robtarg(((1276.7658, 149.4378, 890.2428 - 610), (5, -45, -175.03779)), 8);
robtarg:s10=robtarg(position(1295.6459, 249.063, 911.1313));
robtarg:s11=robtarg(((1201.5523, 421.6189, 874.1061), (10, -60, -175.03779)), 8);
robtarg:s12=robtarg(((970.0649, 571.0567, 755.4388), (17, -60, -175.03779)), 8);
robtarg:s13=robtarg(position(780.8275, 441.6398, 633.2077));
joint:p0=joint(mainjoint(0,0,0,0,0));

endvar

seq

move ptp s0 speed_ptp=0.6 acc_ptp=1.0 c_ptp act_rob="lola_15";

{move circle s1, s2 speed=760 acc=1000 c_ori=o_pco c_speed act_rob="lola_15";
move circle s3, s4 speed=350 acc=1000 c_ori=o_pvo c_speed act_rob="lola_15";
move lin s5 speed=460 acc=1000 c_ori=o_var c_speed act_rob="lola_15";
move circle s6, s7 speed=300 acc=800 c_ori=o_var c_speed act_rob="lola_15";
move lin s8_a speed=227.7 acc=900 c_ori=o_var c_cp=150.0 act_rob="lola_15";
move lin s9 speed=225 acc=900 c_ori=o_var c_speed act_rob="lola_15";
move circle s10, s11 speed=695 acc=1200 c_ori=o_var c_speed act_rob="lola_15";
move lin s12 speed=620 acc=1200 c_ori=o_var c_speed act_rob="lola_15";
move circle s13, s0 speed=570 acc=1000 c_ori=o_var act_rob="lola_15";
move ptp p0 speed_ptp=1 acc_ptp=1 act_rob="lola_15";
move ptp joint(mainjoint(-115.70, 55.70, 68.70)) speed_ptp=1 acc_ptp=1 act_rob="lola_15";
"""

MENDED = (
    ("{move circle s1", "move circle s1"),
    ("873.1763", "873.6763"),
    ("890.2428 - 610", "890.2428"),
    ("\nseq\n", "\nseq\ntool ((120, 120, 350), (0, 0, 0));\n"),
)
"""What the example lola15dd.irl changes: brace, z of s6, z of s9, and the tool, which is not part of the listing."""


def listing(brace: Brace) -> str:
    """Return the listing with its end: the brace left open, closed below the figure, or read as no comment."""
    text = LISTING.replace("{", "") if brace == "no comment" else LISTING
    return text + ("}\n" if brace == "closed below" else "") + "endseq\n"


def path_moves(brace: Brace) -> int:
    """Return how many lines and arcs a reader finds, 0 if it finds the text to be no program."""
    try:
        return sum(move.kind != "joint" for move in read_program(listing(brace), "l-irl").moves)
    except ProgramError:
        return 0


@cache
def program() -> Program:
    """Return the program as the example has it, twelve moves."""
    text = LISTING
    for old, new in MENDED:
        text = text.replace(old, new)
    return read_program(text + "endseq\n", "l-irl")
