# SPDX-License-Identifier: Apache-2.0
"""Programs: a short one in every language; random ones, with everything that a language can say and nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from armwright.programs import (
    BySpeed,
    Distance,
    Duration,
    Fraction,
    Joints,
    LeadingAxis,
    Move,
    Payload,
    Pose,
    Share,
    Stop,
    Tangent,
    ToolRate,
)
from armwright.spatial import exp_so3, pose
from support.places import ROOT

EXAMPLES = ROOT / "examples" / "programs"
LIRL = """program t;
var
  robtarg : a = robtarg(((500, 0, 500), (0, 0, 0)), 4);
  robtarg : v = robtarg(position(500, 100, 600));
endvar
seq
  move ptp a speed_ptp=0.5;
  move lin a speed=100;
endseq
"""
URSCRIPT = """def t():
  a = p[0.5, 0, 0.5, 0, 0, 0]
  movej([0, 0, 0, 0, 0, 0], v=1.0)
  movel(a, v=0.1)
end
"""
RAPID = """MODULE t
  CONST robtarget a := [[500,0,500],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]];
  CONST jointtarget j := [[0,0,0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]];
  PROC main()
    MoveAbsJ j, v100, fine, tool0;
    MoveL a, v100, fine, tool0;
  ENDPROC
ENDMODULE
"""
KRL = """DEF t()
  DECL POS a = {X 500, Y 0, Z 500, A 0, B 0, C 0}
  $VEL.CP = 0.1
  PTP {A1 0, A2 0, A3 0, A4 0, A5 0, A6 0}
  LIN a
END
"""
GCODE = """G21 G90
G1 X500 Y0 Z500 F600
G1 X600
G2 X700 I50 J0
M2
"""
GOOD = {"l-irl": LIRL, "urscript": URSCRIPT, "rapid": RAPID, "krl": KRL, "g-code": GCODE}

always = st.just(True)
lengths = st.floats(-3.0, 3.0, allow_subnormal=False)
sizes = st.floats(1e-3, 5.0)
shares = st.floats(0.01, 1.0)
turns = st.one_of(
    st.tuples(*[st.floats(-3.0, 3.0, allow_subnormal=False)] * 3),
    st.sampled_from(
        [(0.0, 0.0, 0.0), (0.0, np.pi / 2, 0.0), (0.0, -np.pi / 2, 1e-9), (np.pi, 0.0, 0.0), (0.0, 0.0, 1e-12)]
    ),
)  # gimbal lock and half turns included


@st.composite
def frames(draw):
    return pose(exp_so3(np.array(draw(turns))), np.array(draw(st.tuples(lengths, lengths, lengths))))


@st.composite
def poses(draw, oriented=True, status=0):
    T = draw(frames())
    if not oriented:
        T[:3, :3] = np.eye(3)
    return Pose(
        T, oriented=oriented, status=tuple(draw(st.lists(st.integers(-8, 63), min_size=status, max_size=status)))
    )


def joints(least=6, most=6, known=always):
    angles = st.lists(st.tuples(st.floats(-6.0, 6.0, allow_subnormal=False), known), min_size=least, max_size=most)
    return angles.filter(lambda a: any(k for _, k in a)).map(
        lambda a: Joints(np.array([q if k else 0.0 for q, k in a]), tuple(k for _, k in a))
    )


payloads = st.builds(
    lambda m, com, j: Payload(m, np.array(com), None if j is None else np.diag(j)),
    st.floats(0.1, 20.0),
    st.tuples(*[st.floats(-0.3, 0.3, allow_subnormal=False)] * 3),
    st.none() | st.tuples(*[st.floats(1e-3, 1.0)] * 3),
)
waits = st.builds(lambda t: Move("wait", None, Duration(t)), st.floats(0.0, 60.0))
plain_rates = st.builds(ToolRate, sizes)
full_rates = st.builds(ToolRate, sizes, sizes)
corners = st.builds(Distance, st.floats(1e-3, 0.5))


@st.composite
def lirl_move(draw):
    kind = draw(st.sampled_from(["joint", "line", "arc"]))
    blend = draw(st.one_of(st.just(Stop()), st.just(Tangent()), st.just(Share(0.5)), corners))
    if kind == "joint":
        target = draw(joints(1, 6) | poses(status=1))
        return Move(kind, target, Fraction(draw(shares)), Fraction(draw(shares)), blend)
    orientation = draw(st.sampled_from(["slerp", "fixed", "with_path"]))
    oriented = orientation == "slerp" or (orientation == "with_path" and draw(st.booleans()))
    acceleration = draw(st.just(Fraction(1.0)) | plain_rates)
    via = draw(poses(oriented=False)) if kind == "arc" else None
    target = draw(poses(oriented, status=1 if oriented else 0))
    return Move(kind, target, draw(plain_rates), acceleration, blend, via, orientation=orientation)


@st.composite
def urscript_move(draw):
    kind = draw(st.sampled_from(["joint", "line", "arc"]))
    blend = draw(st.just(Stop()) | corners)
    duration = st.builds(Duration, st.floats(0.1, 10.0))
    if kind == "joint":
        axis = st.builds(LeadingAxis, sizes)
        return Move(kind, draw(joints() | poses()), draw(axis | duration), draw(axis), blend)
    if kind == "line":
        return Move(kind, draw(poses()), draw(plain_rates | duration), draw(plain_rates), blend)
    free = draw(st.booleans())
    parts = {"via": draw(poses(oriented=False)), "orientation": "slerp" if free else "with_path"}
    return Move(kind, draw(poses(oriented=free)), draw(plain_rates), draw(plain_rates), blend, **parts)


@st.composite
def rapid_move(draw):
    kind = draw(st.sampled_from(["joint", "line", "arc"]))
    blend = draw(st.one_of(st.just(Stop()), corners, st.builds(Distance, sizes, sizes, st.floats(1e-3, 1.0))))
    speed = draw(st.one_of(plain_rates, full_rates, st.just(Fraction(1.0)), st.builds(Duration, st.floats(0.1, 9.0))))
    share = st.builds(Fraction, shares)
    frame = draw(st.just(np.eye(4)) | frames())
    if kind == "joint":
        target = draw(joints(6, 6, st.booleans()) | poses(status=4))
        return Move(kind, target, speed, draw(share), blend, T_base_frame=frame)
    parts = {"via": draw(poses(oriented=False)), "orientation": draw(st.sampled_from(["slerp", "with_path"]))}
    acceleration = draw(share | plain_rates)
    return Move(
        kind, draw(poses(status=4)), speed, acceleration, blend, T_base_frame=frame, **(parts if kind == "arc" else {})
    )


@st.composite
def krl_move(draw):
    kind = draw(st.sampled_from(["joint", "line", "arc", "spline"]))
    frame = draw(st.just(np.eye(4)) | frames())
    by_angle = st.builds(lambda d, a: Distance(d, None, a), sizes, st.floats(1e-3, 1.0))
    blend = draw(st.one_of(st.just(Stop()), corners, by_angle, st.builds(Share, shares), st.builds(BySpeed, shares)))
    if kind == "joint":
        target = draw(joints(6, 6, st.booleans()) | poses(status=2))
        return Move(kind, target, Fraction(draw(shares)), Fraction(draw(shares)), blend, T_base_frame=frame)
    orientation = draw(st.sampled_from(["slerp", "fixed", "with_path"] if kind == "arc" else ["slerp", "fixed"]))
    oriented = orientation == "slerp" or (orientation == "with_path" and draw(st.booleans()))
    if kind == "spline" or isinstance(blend, Share):
        blend = Stop()
    parts = (
        {"via": draw(poses(oriented=False)), "arc_angle": draw(st.none() | st.floats(0.1, 6.0))}
        if kind == "arc"
        else {}
    )
    target = draw(poses(oriented, status=2 if oriented else 0))
    return Move(
        kind, target, draw(full_rates), draw(full_rates), blend, orientation=orientation, T_base_frame=frame, **parts
    )


@st.composite
def flat_arcs(draw, start):
    """A via and an end on a circle in one of the three planes through `start`, in the plane's two directions."""
    u, v = draw(st.sampled_from([(0, 1), (2, 0), (1, 2)]))
    radius, first = draw(st.floats(0.05, 2.0)), draw(st.floats(0.0, 6.28))
    turn = draw(st.floats(0.2, 6.0)) * draw(st.sampled_from([-1.0, 1.0]))
    points = []
    for angle in (first + 0.5 * turn, first + turn):
        point = np.array(start)
        point[u] += radius * (np.cos(angle) - np.cos(first))
        point[v] += radius * (np.sin(angle) - np.sin(first))
        points.append(point)
    return points


@st.composite
def gcode_moves(draw, count):
    """Moves in one frame: lines, rapids, arcs in planes; with orientations or without."""
    frame = draw(st.just(np.eye(4)) | frames())
    turning = draw(st.booleans())
    orientation = "slerp" if turning else "fixed"
    moves = []
    for index in range(count):
        kind = draw(st.sampled_from(["joint", "line", "arc"] if index else ["joint", "line"]))
        T = draw(poses(oriented=turning)).T.copy()
        via = None
        if kind == "arc":
            middle, end = draw(flat_arcs(moves[-1].target.T[:3, 3]))
            T[:3, 3], via = end, Pose(pose(np.eye(3), middle), oriented=False)
        speed = Fraction(1.0) if kind == "joint" else draw(plain_rates)
        blend = draw(st.one_of(st.just(Stop()), st.just(Tangent()), corners))
        target = Pose(T, oriented=turning)
        moves.append(Move(kind, target, speed, blend=blend, via=via, orientation=orientation, T_base_frame=frame))
    return moves
