# SPDX-License-Identifier: Apache-2.0
"""``armwright run detection``: figures with limits, sources, files; bad words in one sentence."""

from __future__ import annotations

import json

import pytest

from armwright.cli import main

pytest.importorskip("pyarrow", reason="run detection is a campaign (extra 'scale')")
GIVEN = ["run", "detection", "--count", "24", "--preset", "ur5-cb3", "--seed", "3", "--jobs", "1", "--load", "none"]


def test_a_study_on_the_command_line(tmp_path, capsys):
    assert main([*GIVEN, "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["preset"] == "ur5-cb3" and found["settings"]["rate"] == 125.0
    assert "our assumption" in str(found["sources"])
    names = [(curve["observer"], curve["detector"]) for curve in found["curves"]]
    assert len(names) == 6 and ("momentum", "two-speed") in names
    for curve in found["curves"]:
        (point,) = curve["points"]
        assert point["false_alarms"]["high"] > 0.0 and point["hours"] > 0.0
        assert point["force"]["value"] is None or point["force"]["value"] > 0.0
    assert json.loads((tmp_path / "detection.json").read_text(encoding="utf-8")) == found


def test_the_study_and_the_report_of_its_campaign_give_one_answer(tmp_path, capsys):
    """Contacts that grow slowly: many are missed, and a median over those that were found would flatter."""
    given = ["run", "detection", "--contact", "ramp", "--count", "24", "--seed", "3", "--jobs", "1", "--load", "none"]
    assert main([*given, "--json", "--out", str(tmp_path / "det")]) == 0
    study = json.loads(capsys.readouterr().out)["curves"]
    assert main(["campaign", "report", str(tmp_path / "det"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["detectors"]
    assert [(c["observer"], c["detector"]) for c in study] == [(r["observer"], r["detector"]) for r in rows]
    for (point,), row in zip((curve["points"] for curve in study), rows, strict=True):
        assert row["delay_median_s"] == point["delay"] and row["delay_p95_s"] == point["slow"]
        assert row["false_alarms_per_hour"] == point["false_alarms"] and row["force_median_n"] == point["force"]
        assert row["early"] == point["early"]
        assert row["found"]["value"] == pytest.approx(1.0 - point["missed"]["value"])
    assert any(point["missed"]["value"] > 0.1 for (point,) in (curve["points"] for curve in study))


def test_the_table_states_limits_and_presets_their_sources(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(GIVEN) == 0
    text = capsys.readouterr().out
    assert "per hour at 95 %" in text and "no setting" not in text and "force at alarm" in text
    assert main(["run", "detection", "--preset", "list"]) == 0
    assert "ur5-cb3: current_noise: 0.15 A a sample: our assumption" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, said",
    [
        (["--preset", "ur6"], "ur5-cb3"),
        (["--contact", "feather"], "choose from wall"),
        (["--unknown-payload", "heavy"], "least,largest"),
        (["--friction-drift", "1.4,1"], "drift"),
        (["--load", "heavy"], "choose from estimate, none"),
    ],
)
def test_bad_words(words, said, capsys):
    assert main([*GIVEN, *words]) != 0
    assert said in capsys.readouterr().err
