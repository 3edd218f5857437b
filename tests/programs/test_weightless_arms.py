# SPDX-License-Identifier: Apache-2.0
"""Arms whose sheets have no masses: speeds, path and collisions are answered, and nothing is said of torques."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.programs import Fraction, Joints, Move, Program, run_program
from armwright.programs.outcome.program_pictures import VIEWS, views_of
from armwright.programs.outcome.version_comparison import compare_versions, version_figures, version_words


@pytest.mark.parametrize("name", ["kr6r900", "iiwa7", "iiwa14"])
def test_what_takes_masses_is_left_out(name):
    robot = aw.load(name)
    middle = np.array([0.5 * (joint.limits.lower + joint.limits.upper) for joint in robot.joints])
    middle[3] -= 0.4
    moves = tuple(Move("joint", Joints(middle + by), Fraction(0.5), line=k) for k, by in enumerate((0.3, 0.1), 1))
    outcome = run_program(robot, Program(moves, start_q=middle))
    assert outcome.basis == "speeds" and not outcome.weighed
    assert outcome.verdict.partition("Speeds kept, torques not decided")[1]
    figures = outcome.figures()
    assert figures["reactions"] == [] and figures["energy_j"] is None
    assert all(row["torque_peak_nm"] is None and row["speed_use"] > 0.0 for row in figures["motors"])
    assert figures["works"]["torque_needed_nm"] is None and "the sheet has no masses" in outcome.advice[2]
    assert "reaction" not in outcome.recording.signals
    assert set(VIEWS) - set(views_of(outcome)) == {"torque-speed", "torques", "reactions"}
    found = compare_versions(outcome, outcome)
    assert not any("Energy" in words for words in version_words(found))
    assert version_figures(found)["before"]["energy_j"] is None


def test_the_command_and_its_page(tmp_path, capsys):
    file, page = tmp_path / "a.src", tmp_path / "a.html"
    file.write_text(
        "DEF a()\n PTP {A1 0, A2 -90, A3 90, A4 0, A5 45, A6 0}\n"
        " PTP {A1 30, A2 -80, A3 90, A4 10, A5 45, A6 0}\nEND\n",
        encoding="utf-8",
    )
    words = ["run", "program", str(file), "--robot", "kr6r900", "--assume-frames", "--out", str(page), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["reactions"] == []
    text = page.read_text(encoding="utf-8")
    assert "Use of the joints" in text and "Reactions" not in text and "work of the joints" not in text
