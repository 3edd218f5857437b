# SPDX-License-Identifier: Apache-2.0
"""Kinds of campaigns: an item's row is that of the same run alone."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.campaigns import CampaignPlan, read_plan, run_campaign
from armwright.cli.app import run as command
from armwright.control import computed_torque
from armwright.motion import quintic
from support.places import ROOT
from support.plugged_kinds import plugged_kinds  # noqa: F401 - a fixture of all tests here

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")


def test_a_row_of_montecarlo_is_the_simulation_of_that_payload(tmp_path):
    settings = {"duration": 0.2, "friction": [1.0, 1.0], "payload": [1.0, 2.0]}
    store = run_campaign(CampaignPlan("montecarlo", 5, 2, settings, chunk=5), tmp_path, engine="serial")
    for row in store.read(0, 5).to_pylist():
        assert 1.0 <= row["payload"] <= 2.0
        robot = aw.load("ur5")
        path = quintic(np.array([0, -1.6, 1.4, 0, 0.5, 0]), np.array([0.8, -1.0, 1.0, -0.9, 1.0, 0.4]), 0.2)
        run = aw.simulate(robot.with_payload(row["payload"]), computed_torque(100.0, 20.0), path, model=robot)
        assert np.abs(run["error"]).max() == pytest.approx(row["error_max"], rel=1e-9)


def test_a_factor_on_friction_that_an_arm_does_not_have_is_refused(tmp_path):
    with pytest.raises(aw.InputError, match=r"friction = \[0.8, 1.2\] is a factor on the friction of 'ur5'.*has none"):
        run_campaign(CampaignPlan("montecarlo", 5, 2, {"friction": [0.8, 1.2]}), tmp_path / "a", engine="serial")
    assert not (tmp_path / "a" / "campaign.json").exists()


def test_the_campaign_of_the_documents_varies_with_friction(tmp_path):
    page = (ROOT / "docs" / "howto" / "campaigns.md").read_text(encoding="utf-8")
    shown = page.split("```toml\n")[1].split("```")[0]
    assert (ROOT / "examples" / "payload.toml").read_text(encoding="utf-8").endswith(shown)
    (tmp_path / "payload.toml").write_text(shown, encoding="utf-8")
    plan = read_plan(tmp_path / "payload.toml")
    settings = {**plan.settings, "payload": [0.0, 0.0], "duration": 0.3}
    few = replace(plan, items=4, chunk=4, settings=settings)
    found = run_campaign(few, tmp_path / "few", engine="serial").read(0, 4).to_pylist()
    assert {row["status"] for row in found} == {"done"}
    assert len({row["friction"] for row in found}) == 4 and len({row["torque_max"] for row in found}) == 4


def test_the_commands(tmp_path, capsys):
    file = tmp_path / "many.toml"
    file.write_text('kind = "montecarlo"\nitems = 6\nchunk = 3\n[settings]\nduration = 0.1\n', encoding="utf-8")
    assert command(["campaign", "run", str(file), "--engine", "serial", "--shard", "1/2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chunks_left"] == 1
    assert command(["campaign", "resume", str(tmp_path / "many"), "--engine", "serial"]) == 0
    assert "6 of 6 items" in capsys.readouterr().out
    assert command(["campaign", "status", str(tmp_path / "many"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == 6
    assert command(["campaign", "verify", str(tmp_path / "many")]) == 0
    rows = tmp_path / "many" / "rows"
    next(rows.iterdir()).write_bytes(b"no")
    assert command(["campaign", "verify", str(tmp_path / "many"), "--json"]) == 1
    assert command(["campaign", "run", str(file), "--shard", "x", "--engine", "serial"]) == 2
    assert command(["campaign", "run", str(file), "--scheduler", "tcp://10.0.0.1:8786"]) == 2
    assert "plain tcp, and whoever reaches it" in capsys.readouterr().err


def test_a_run_ends_with_how_many_items_have_no_result(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "bad.toml"
    file.write_text('kind = "faulty"\nitems = 4\nchunk = 2\n[settings]\nraises = 3\n', encoding="utf-8")
    assert command(["campaign", "run", str(file), "--engine", "serial"]) == 0
    said = capsys.readouterr().out
    assert "items without a result in this run: 1" in said
    sql = said.split('"')[1]
    assert command(["campaign", "query", "bad", sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"item": 3, "status": "raised", "message": "ValueError: item 3 cannot be"}
    ]
    assert command(["campaign", "resume", "bad", "--engine", "serial", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failed"] == 0
