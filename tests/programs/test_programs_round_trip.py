# SPDX-License-Identifier: Apache-2.0
"""Program → text → program is the identity, for every language and everything that it can say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import armwright as aw
from armwright.programs import (
    Distance,
    Fraction,
    Joints,
    Move,
    Payload,
    Pose,
    Program,
    Tangent,
    ToolRate,
    program_differences,
)
from support import programs as support

QUICK = settings(
    max_examples=50,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # what fails is short enough as it is; shrinking takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def assert_identity(moves, language, robot=None):
    program = Program(tuple(moves), robot=robot, name="round_trip")
    text = aw.write_program(program, language)
    again = aw.read_program(text, language)
    tolerance = 1e-9 if language == "g-code" else 1e-11  # ten decimals of millimetres and degrees there
    assert program_differences(program, again, tolerance=tolerance) == []
    assert [m.target.status for m in moves if isinstance(m.target, Pose)] == [
        m.target.status for m in again.moves if isinstance(m.target, Pose)
    ]
    assert again.robot == robot


def with_tools(moves, tools, loads):
    """Give every move a tool and a load, waits included: the languages cannot take either back."""
    return [
        Move(
            m.kind,
            m.target,
            m.speed,
            m.acceleration,
            m.blend,
            m.via,
            m.arc_angle,
            m.orientation,
            m.T_base_frame,
            tools[i % len(tools)],
            loads[i % len(loads)] if loads else None,
        )
        for i, m in enumerate(moves)
    ]


def lists_of(strategy):
    return st.lists(strategy, min_size=1, max_size=6).filter(lambda moves: any(m.kind != "wait" for m in moves))


@QUICK
@given(
    lists_of(support.lirl_move()), st.lists(support.frames(), min_size=1, max_size=2), st.none() | st.just("lola_15")
)
def test_lirl(moves, tools, robot):
    assert_identity(with_tools(moves, tools, []), "l-irl", robot)


@QUICK
@given(
    lists_of(support.urscript_move() | support.waits),
    st.lists(support.frames(), min_size=1, max_size=2),
    st.lists(support.payloads, max_size=2),
)
def test_urscript(moves, tools, loads):
    assert_identity(with_tools(moves, tools, loads), "urscript")


@QUICK
@given(
    lists_of(support.rapid_move() | support.waits),
    st.lists(support.frames(), min_size=1, max_size=2),
    st.lists(support.payloads, max_size=2),
)
def test_rapid(moves, tools, loads):
    assert_identity(with_tools(moves, tools, loads), "rapid")


@QUICK
@given(
    lists_of(support.krl_move() | support.waits),
    st.lists(support.frames(), min_size=1, max_size=2),
    st.lists(support.payloads, max_size=2),
)
def test_krl(moves, tools, loads):
    assert_identity(with_tools(moves, tools, loads), "krl")


@QUICK
@given(st.integers(1, 6).flatmap(support.gcode_moves))
def test_gcode(moves):
    assert_identity(moves, "g-code")


@QUICK
@given(st.lists(support.krl_move().filter(lambda m: m.kind != "joint"), min_size=2, max_size=5))
def test_krl_spline_blocks_carry_moves_that_pass_their_targets(moves):
    passing = [
        Move(m.kind, m.target, m.speed, m.acceleration, Tangent(), m.via, m.arc_angle, m.orientation)
        for m in moves[:-1]
    ]
    last = moves[-1]
    last = Move(
        last.kind, last.target, last.speed, last.acceleration, last.blend, last.via, last.arc_angle, last.orientation
    )
    assert_identity([*passing, last], "krl")


LINE = Move("line", Pose(np.eye(4)), ToolRate(0.1), ToolRate(1.0))


@pytest.mark.parametrize(
    "language, change, reason",
    [
        ("l-irl", {"payload": Payload(1.0, np.zeros(3))}, "payload"),
        ("l-irl", {"speed": ToolRate(0.1, 1.0)}, "speed"),
        ("urscript", {"blend": Tangent()}, "blend"),
        ("urscript", {"orientation": "fixed"}, "orientation"),
        ("urscript", {"acceleration": Fraction(1.0)}, "acceleration"),
        ("rapid", {"blend": Tangent()}, "zones"),
        ("rapid", {"speed": Fraction(0.5)}, "speed"),
        ("krl", {"blend": Distance(0.1, 0.1)}, "orientation"),
        ("krl", {"blend": Tangent()}, "passes its target"),
        ("g-code", {"T_flange_tool": np.diag([1.0, -1.0, -1.0, 1.0])}, "tool"),
        ("g-code", {"kind": "joint", "target": Joints(np.zeros(6)), "speed": Fraction(1.0)}, "joint target"),
    ],
)
def test_what_a_language_cannot_say_is_refused_with_the_move(language, change, reason):
    parts = {"kind": "line", "target": Pose(np.eye(4)), "speed": ToolRate(0.1), "acceleration": ToolRate(1.0), **change}
    if language == "g-code":
        parts["acceleration"] = Fraction(1.0)
    first = Move("line", Pose(np.eye(4)), ToolRate(0.1), Fraction(1.0) if language == "g-code" else ToolRate(1.0))
    with pytest.raises(aw.NotSupportedError, match=rf"cannot say this: move 2.*{reason}"):
        aw.write_program(Program((first, Move(**parts))), language)


def test_a_difference_is_seen():
    """The comparison that the round trips rest on notices each kind of change."""
    shifted = np.eye(4)
    shifted[0, 3] = 1e-6
    changes = (
        {"target": Pose(shifted)},
        {"speed": ToolRate(0.11)},
        {"acceleration": Fraction(0.5)},
        {"blend": Distance(0.1)},
        {"T_flange_tool": shifted},
        {"T_base_frame": shifted},
        {"payload": Payload(1.0, np.zeros(3))},
        {"wrench": np.ones(6)},
        {"orientation": "with_path"},
        {"kind": "spline"},
    )
    one = Program((LINE,))
    for change in changes:
        parts = {
            "kind": "line",
            "target": LINE.target,
            "speed": LINE.speed,
            "acceleration": LINE.acceleration,
            **change,
        }
        assert len(program_differences(one, Program((Move(**parts),)))) == 1, change
    assert program_differences(one, Program((LINE, LINE))) == ["1 moves and 2"]


def test_arcs_are_compared_as_circles():
    def arc(via_angle, end_angle):
        points = [np.array([np.cos(a), np.sin(a), 0.0]) for a in (0.0, via_angle, end_angle)]
        T = [np.block([[np.eye(3), p[:, None]], [np.zeros(3), 1.0]]) for p in points]
        rate = ToolRate(0.1)
        return Program((Move("line", Pose(T[0]), rate), Move("arc", Pose(T[2]), rate, via=Pose(T[1], oriented=False))))

    assert program_differences(arc(0.5, 2.0), arc(1.7, 2.0)) == []
    assert program_differences(arc(0.5, 2.0), arc(4.0, 2.0)) == ["move 2: the arcs turn in opposite ways"]


def test_arcs_that_are_almost_straight_equal_themselves():
    """To rounding of the point on them; their circle is kilometres wide, and its centre nowhere in particular."""

    def arc(height):
        T = [np.eye(4) for _ in range(3)]
        T[1][:2, 3], T[2][0, 3] = (0.5, height), 1.0
        rate = ToolRate(0.1)
        return Program((Move("line", Pose(T[0]), rate), Move("arc", Pose(T[2]), rate, via=Pose(T[1], oriented=False))))

    for height in (1e-6, 1e-9, 1e-12, 0.0):
        assert program_differences(arc(height), arc(height + 1e-13), tolerance=1e-11) == []
    assert program_differences(arc(1e-6), arc(2e-6)) != []
