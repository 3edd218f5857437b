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
from armwright.programs.outcome.body_limits import AREAS, BODY_REGIONS, HEAD, RegionLimit, limit_of_body, limits_of_body
from armwright.programs.outcome.people_contact import (
    contact_force,
    people_contacts,
    people_words,
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


# forces of the register of DGUV (2011), the specification's predecessor, which differs in three regions
OLDER = dict(zip(BODY_REGIONS, (130, 65, 145, 210, 140, 110, 180, 150, 160, 135, 220, 140), strict=True))


def test_built_in_limits_are_those_that_several_sources_cite():
    for name, region in BODY_REGIONS.items():
        assert region.force == pytest.approx(OLDER[name], abs=10.0)
        assert region.transient == (1.0 if name in HEAD else 2.0)
        assert region.areas and all(100.0 <= pressure <= 300.0 for pressure in region.areas.values())
    assert [one for one in BODY_REGIONS if BODY_REGIONS[one].force != OLDER[one]] == ["neck", "hand", "lower-leg"]
    assert 2.0 * limit_of_body("thigh").force == 440.0 and 2.0 * limit_of_body("lower-leg").force == 260.0
    assert {limit.region for limit in limits_of_body()} == set(BODY_REGIONS) - set(HEAD)


def test_a_region_takes_its_most_sensitive_area_and_what_is_given_replaces_it():
    assert limit_of_body("hand") == RegionLimit("hand", 140.0, 190.0, "back-of-hand")
    assert limit_of_body("palm") == RegionLimit("hand", 140.0, 260.0, "palm")
    assert limit_of_body("hand", 100.0).pressure == 190.0
    assert limit_of_body("hand", 100.0, 50.0) == RegionLimit("hand", 100.0, 50.0)
    assert limit_of_body("palm", 100.0, 50.0).area == "palm"
    for area, region in AREAS.items():
        assert limit_of_body(area).force == BODY_REGIONS[region].force
    with pytest.raises(InputError, match=r"no body region 'knee'; valid: skull.* or their areas: forehead"):
        limit_of_body("knee")


def test_words_say_which_limit_binds_and_what_was_not_looked_at(runs):
    run, limits = runs["as it is"], (limit_of_body("hand"), limit_of_body("face"))
    small, none = people_contacts(run, limits[:1], 0.1), people_contacts(run, limits)
    assert small[0].pressed and small[0].area == "back-of-hand" and small[0].limit in (19.0, 38.0)
    assert not none[0].pressed and none[0].region == "face"
    assert "hand (pressure on the back-of-hand)" in people_words(run, small, limits[:1], 0.1)[0]
    said = " ".join(people_words(run, none, limits))
    assert "No contact with the head" in said and "Pressure is not checked: --contact-area" in said
    assert "no certification" in said


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
    for wrong in ("knee", "hand=", "hand=1,2,3", "all=1"):
        assert main([*words[:-4], "--people", wrong]) == 2
    capsys.readouterr()
    assert main([*words[:-4], "--people", "all", "--people", "hand=1e6", "--out", str(tmp_path / "a.html")]) == 1
    answer = json.loads(capsys.readouterr().out)["people"]
    assert {row["region"]: row["force_n"] for row in answer["limits"]} == {
        name: 1e6 if name == "hand" else region.force for name, region in BODY_REGIONS.items() if name not in HEAD
    }
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "People beside the arm" in page and "no certification" in page
