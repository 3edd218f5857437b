# SPDX-License-Identifier: Apache-2.0
"""Contact with people: the law of two masses and a spring, and what it makes of a program."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.errors import InputError
from armwright.programs import Fraction, Joints, Move, Payload, Program, run_program
from armwright.programs.outcome.people_contact import (
    BODY_REGIONS,
    RegionLimit,
    contact_force,
    people_contacts,
)

START = np.array([0.0, -1.4, 1.8, -2.0, -1.57, 0.0])
LIMITS = [RegionLimit("chest", 100.0), RegionLimit("hand", 100.0)]  # round numbers, not those of the specification


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("region", ["skull", "hand", "chest"])
def test_force_is_that_of_the_simulated_contact(region, clamped):
    """Two masses and a spring, integrated in small steps."""
    body, arm, v = BODY_REGIONS[region], 7.0, 0.4
    x, speed, other, peak, dt = 0.0, v, 0.0, 0.0, 2e-6
    while x >= 0.0:
        force = body.stiffness * x
        speed -= dt * force / arm
        other += 0.0 if clamped else dt * force / body.mass
        x += dt * (speed - other)
        peak = max(peak, force)
    assert contact_force(v, arm, body, clamped=clamped) == pytest.approx(peak, rel=1e-3)


@pytest.fixture(scope="module")
def runs():
    robot = aw.load("ur5")
    away = START + np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
    moves = (Move("joint", Joints(away), Fraction(0.3), line=3), Move("joint", Joints(START), Fraction(0.1), line=4))
    program = Program(moves, start_q=START)
    return {
        "as it is": run_program(robot, program),
        "fast": run_program(robot, program, override=1.5),
        "loaded": run_program(robot, program, payload=Payload(3.0, np.zeros(3))),
    }


def test_force_grows_with_speed_and_payload(runs):
    plain, fast, loaded = (people_contacts(run, LIMITS) for run in runs.values())
    assert [row.move for row in plain] == [0, 1]
    for slow, quick, heavy in zip(plain, fast, loaded, strict=True):
        assert quick.use == pytest.approx(1.5 * slow.use, rel=0.02)
        assert heavy.use > slow.use and heavy.reflected > slow.reflected and heavy.rule_mass == slow.rule_mass + 3.0
        assert slow.permissible == pytest.approx(slow.speed / slow.use)
    assert plain[0].use > plain[1].use  # the faster move
    assert plain[0].mass == max(plain[0].reflected, plain[0].rule_mass)  # the sheet knows no rotors


def test_reflected_mass_is_the_energy_of_the_arm(runs):
    """One joint alone moves: its kinetic energy ½ m v² has at least the reflected mass, for it may yield elsewhere."""
    run = runs["as it is"]
    (row, _) = people_contacts(run, LIMITS)
    k = round(row.time / run.plan.cycle)
    q, qd = run.plan.q[k], run.plan.qd[k]
    energy = 0.5 * qd @ aw.mass_matrix(run.robot, q) @ qd
    assert 0.0 < row.reflected <= 2.0 * energy / row.speed**2 * (1.0 + 1e-6)


def test_small_contacts_are_bound_by_pressure(runs):
    run = runs["as it is"]
    wide, narrow = (people_contacts(run, [RegionLimit("hand", 100.0, 50.0)], area) for area in (10.0, 0.5))
    assert narrow[0].limit == pytest.approx(wide[0].limit / 4.0)


def test_what_is_no_limit_is_refused(runs):
    with pytest.raises(InputError, match="no body region 'knee'; valid: skull"):
        RegionLimit("knee", 100.0)
    with pytest.raises(InputError, match="greater than 0"):
        RegionLimit("hand", -1.0)
    with pytest.raises(InputError, match="at least one region"):
        people_contacts(runs["fast"], [])


def test_the_command_names_the_line(tmp_path, capsys):
    file = tmp_path / "a.script"
    file.write_text(
        "def a():\n  movej([0, -1.4, 1.8, -2.0, -1.57, 0], a=1.4, v=1.0)\n"
        "  movej([0.8, -1.4, 1.8, -2.0, -1.57, 0], a=1.4, v=1.0)\nend\n",
        encoding="utf-8",
    )
    words = ["run", "program", str(file), "--robot", "ur5", "--json", "--people", "hand=100,200", "--contact-area", "1"]
    assert main(words) == 1
    (row,) = json.loads(capsys.readouterr().out)["people"]["moves"]
    assert row["line"] == 3 and row["region"] == "hand" and row["use"] > 1.0
    assert main([*words[:-4], "--people", "hand=1e6"]) == 0
    capsys.readouterr()
    assert main([*words[:-4], "--people", "hand"]) == 2
