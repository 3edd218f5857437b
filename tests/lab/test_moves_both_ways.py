# SPDX-License-Identifier: Apache-2.0
"""Programs with moves, run by the interpreter and read by `run program`: both find the same moves, and these."""

import re
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.lab.controller import instructed_moves
from armwright.programs import Joints, Pose
from armwright.programs.program import Distance, Duration, LeadingAxis, Stop, ToolRate
from support.scripts import controller, run_text, went

TABLE = (Path(__file__).parents[1] / "data" / "moves_both_ways.txt").read_text(encoding="utf-8")
MOVES = [
    (name, text, expected)
    for name, text, expected in re.findall(r"^== (.+)\n((?:.*\n)*?)=> (.+)$", TABLE, flags=re.MULTILINE)
]
KINDS = {"j": "joint", "l": "line", "p": "line", "c": "arc"}
"""A way at an even speed is a line for the reader."""


class Recorded:
    """What the interpreter asks the controller for, in place of moving."""

    def __init__(self, monkeypatch):
        self.moves = []
        for name, kind in (("movej", "j"), ("movel", "l"), ("movep", "p"), ("movec", "c")):
            monkeypatch.setattr(instructed_moves, name, self.taker(kind))

    def taker(self, kind):
        def joints(c, q, a, v, t=0.0, r=0.0):
            self.moves.append((kind, list(q), None, a, v, t, r))

        def plan(c, *given):
            via, (goal, a, v, *more) = (given[0], given[1:]) if kind == "c" else (None, given)
            t, r = (0.0, more[0]) if kind in "pc" else more
            self.moves.append((kind, list(goal), via, a, v, t, r))
            yield
            return lambda: None

        return joints if kind == "j" else plan


def same_rate(read, number, kind):
    """Whether a speed or acceleration is what the interpreter passed on."""
    if kind == "j":
        return isinstance(read, LeadingAxis) and read.value == pytest.approx(number, abs=1e-12)
    return isinstance(read, ToolRate) and read.linear == pytest.approx(number, abs=1e-12)


@pytest.mark.parametrize("name, text, expected", MOVES, ids=[row[0] for row in MOVES])
def test_the_interpreter_and_the_reader_find_the_same_moves(monkeypatch, name, text, expected):
    recorded, c, text = Recorded(monkeypatch), controller(), f"def prog():\n{text}end\n"
    run_text(c, text)
    assert went(c).faults == [] and c.program is None
    read = aw.read_program(text, "urscript")
    assert not read.reading.gaps
    found = [move for move in read.moves if move.kind in KINDS.values()]  # waits are moves of their own for it
    wanted = [(word[0], float(word[1:])) for word in expected.split()]
    assert len(recorded.moves) == len(found) == len(wanted)
    for move, (kind, target, via, a, v, t, r), (what, number) in zip(found, recorded.moves, wanted, strict=True):
        assert kind == what.lower() and move.kind == KINDS[kind]
        if isinstance(move.target, Joints):
            assert what == "j" and np.allclose(move.target.q, target, rtol=0, atol=1e-12)
            assert target[0] == pytest.approx(number, abs=1e-8)
        else:
            assert isinstance(move.target, Pose)
            pose = c.plant.pose_of(np.array(target)) if what == "J" else np.array(target)
            T = aw.spatial.pose(aw.spatial.exp_so3(pose[3:]), pose[:3])
            assert np.allclose(move.target.T, T, rtol=0, atol=1e-6 if what == "J" else 1e-12)
            assert pose[1] == pytest.approx(number, abs=1e-6 if what == "J" else 1e-12)
        if via is not None:
            assert np.allclose(move.via.T[:3, 3], via[:3], rtol=0, atol=1e-12)
        if t > 0.0:
            assert isinstance(move.speed, Duration) and move.speed.seconds == pytest.approx(t)
        else:
            assert same_rate(move.speed, v, kind) and same_rate(move.acceleration, a, kind)
        assert isinstance(move.blend, Distance if r > 0.0 else Stop)
        if r > 0.0:
            assert move.blend.position == pytest.approx(r)


def test_every_case_of_the_table_is_read():
    assert len({row[0] for row in MOVES}) == len(MOVES) == TABLE.count("\n== ") >= 76
