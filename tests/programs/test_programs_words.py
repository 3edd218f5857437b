# SPDX-License-Identifier: Apache-2.0
"""What single words of the languages mean: units, frames, relative moves, defaults."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armwright as aw
from armwright.programs import BySpeed, Distance, Duration, Fraction, LeadingAxis, Share, Stop, Tangent, ToolRate
from armwright.spatial import rot_x, rot_y, rot_z
from support.programs import GCODE, KRL, LIRL, RAPID, URSCRIPT

DEG = math.pi / 180.0


def place(move):
    return (move.T_base_frame @ move.target.T)[:3, 3]


def test_lirl_angles_are_z_then_y_then_x():
    move = aw.read_program(LIRL.replace("(0, 0, 0)", "(10, 20, 30)")).moves[0]
    assert np.allclose(move.target.T[:3, :3], rot_z(10 * DEG) @ rot_y(20 * DEG) @ rot_x(30 * DEG), atol=1e-15)
    assert np.allclose(place(move), [0.5, 0.0, 0.5])


def test_urscript_defaults_and_durations():
    program = aw.read_program("movej([0,0,0,0,0,0])\nmovel(p[0.5,0,0.5,0,0,0])\nmovej([1,0,0,0,0,0], t=2, r=0.1)\n")
    first, second, third = program.moves
    assert (first.speed, first.acceleration) == (LeadingAxis(1.05), LeadingAxis(1.4))
    assert (second.speed, second.acceleration) == (ToolRate(0.25), ToolRate(1.2))
    assert (third.speed, third.blend) == (Duration(2.0), Distance(0.1))


def test_urscript_circles_that_keep_their_turn_do_not_use_the_targets():
    text = URSCRIPT.replace("movel(a, v=0.1)", "movec(p[0.6,0.1,0.5,0,0,0], p[0.7,0,0.5,1,2,3], mode={})")
    free, fixed = (aw.read_program(text.format(mode)).moves[1] for mode in (0, 1))
    assert (free.orientation, free.target.oriented) == ("slerp", True)
    assert (fixed.orientation, fixed.target.oriented) == ("with_path", False)


def test_pose_trans_composes_and_set_tcp_is_kept():
    text = "a = pose_trans(p[1,0,0,0,0,d2r(90)], p[0.1,0,0,0,0,0])\nset_tcp(p[0,0,0.2,0,0,0])\nmovel(a)\n"
    move = aw.read_program(text, "urscript").moves[0]
    assert np.allclose(place(move), [1.0, 0.1, 0.0])
    assert np.allclose(move.T_flange_tool[:3, 3], [0.0, 0.0, 0.2])


def test_rapid_offsets_count_in_the_frame_and_in_the_tool():
    turned = RAPID.replace("[1,0,0,0],[0,0,0,0]", "[0,1,0,0],[0,0,0,0]")  # half a turn about x: the tool points down
    offs = aw.read_program(turned.replace("MoveL a", "MoveL Offs(a, 0, 10, 20)")).moves[1]
    assert np.allclose(place(offs), [0.5, 0.01, 0.52])
    tool = aw.read_program(turned.replace("MoveL a", "MoveL RelTool(a, 0, 10, 20 \\Rz:=90)")).moves[1]
    assert np.allclose(place(tool), [0.5, -0.01, 0.48])
    assert np.allclose(tool.target.T[:3, :3], rot_x(math.pi) @ rot_z(math.pi / 2), atol=1e-15)


def test_rapid_speeds_zones_and_accelerations():
    line = aw.read_program(RAPID.replace("MoveL a, v100, fine", "AccSet 50, 100; MoveL a, v1000, z10")).moves[1]
    assert line.speed == ToolRate(1.0, 500 * DEG)
    assert line.blend == Distance(0.01, 0.015, 1.5 * DEG)
    assert line.acceleration == Fraction(0.5)
    timed = aw.read_program(
        RAPID.replace("v100, fine, tool0;\n  ENDPROC", "v100\\T:=3, z0\\Z:=7, tool0;\n  ENDPROC")
    ).moves[1]
    assert (timed.speed, timed.blend) == (Duration(3.0), Distance(0.007))


def test_krl_components_that_are_left_out_keep_their_value():
    text = KRL.replace("  LIN a\n", "  LIN a\n  LIN {Y 100}\n  LIN_REL {X -50, A 90}\n  $BASE = {X 1000}\n  LIN a\n")
    moves = aw.read_program(text).moves[1:]
    assert np.allclose([place(m) for m in moves], [[0.5, 0, 0.5], [0.5, 0.1, 0.5], [0.45, 0.1, 0.5], [1.5, 0, 0.5]])
    assert np.allclose(moves[2].target.T[:3, :3], rot_z(math.pi / 2), atol=1e-15)


def test_krl_settings():
    text = KRL.replace(
        "  LIN a\n",
        "  BAS(#VEL_PTP, 30)\n  $APO.CPTP = 80\n  PTP a C_PTP\n  $APO.CVEL = 70\n  $ORI_TYPE = #CONSTANT\n"
        "  LIN a C_VEL\n"
        "  $LOAD = {M 4, CM {X 0, Y 0, Z 100}, J {X 0.1, Y 0.2, Z 0.3}}\n  CIRC {X 600, Y 100}, {X 700, Y 0}, CA 90\n",
    )
    _, ptp, lin, circ = aw.read_program(text).moves
    assert (ptp.speed, ptp.blend) == (Fraction(0.3), Share(0.8))
    assert (lin.blend, lin.orientation, lin.payload) == (BySpeed(0.7), "fixed", None)
    assert (circ.orientation, circ.arc_angle) == ("fixed", pytest.approx(math.pi / 2))
    assert (circ.payload.mass, circ.payload.com[2], circ.payload.inertia[1, 1]) == (4.0, 0.1, 0.2)
    slowest = aw.read_program(KRL.replace("  LIN a", "  $VEL_AXIS[2] = 50\n  PTP a"))
    assert slowest.moves[1].speed == Fraction(0.5) and any("differs" in note.message for note in slowest.notes)


def test_gcode_inches_increments_and_feeds():
    moves = aw.read_program("G20 G90 G61\nG1 X10 Y0 Z10 F60\nG91 G64\nG1 Y1\nG1 Y1 F120\n", "g-code").moves
    assert np.allclose([place(m) for m in moves], np.array([[10, 0, 10], [10, 1, 10], [10, 2, 10]]) * 0.0254)
    assert np.allclose([m.speed.linear for m in moves], np.array([1, 1, 2]) * 0.0254)
    assert [m.blend for m in moves] == [Stop(), Tangent(), Tangent()]
    assert [m.orientation for m in moves] == ["fixed"] * 3


@pytest.mark.parametrize("words, sign", [("G3 X0 Y100 I-100 J0", 1), ("G3 X0 Y100 R100", 1), ("G2 X0 Y100 R-100", -1)])
def test_gcode_arcs_by_centre_and_by_radius(words, sign):
    """A quarter of a circle about the origin, or the three quarters on the other side."""
    start = "G21 G90\nG1 X100 Y0 Z0 F600\n"
    arc = aw.read_program(start + words + "\n", "g-code").moves[1]
    radius, angle = 0.1, math.pi / 4 if sign > 0 else -0.75 * math.pi
    assert np.allclose(arc.via.T[:3, 3], [radius * math.cos(angle), radius * math.sin(angle), 0.0])


def test_gcode_tilted_frames_leave_the_tool_where_it_is():
    text = GCODE.replace("G1 X600", "G68.2 X500 Y0 Z500 I0 J90 K0\nG91\nG1 Y100\nG69\nG1 X10").replace(
        "G2 X700 I50 J0\n", ""
    )
    moves = aw.read_program(text).moves
    assert np.allclose([place(m) for m in moves], [[0.5, 0, 0.5], [0.5, 0, 0.6], [0.51, 0, 0.6]])
