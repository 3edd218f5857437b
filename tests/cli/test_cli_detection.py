# SPDX-License-Identifier: Apache-2.0
"""``armwright run detection``: figures with limits, sources, files; bad words in one sentence."""

from __future__ import annotations

import json

import pytest

from armwright.cli import main

pytest.importorskip("pyarrow", reason="run detection is a campaign (extra 'scale')")
GIVEN = ["run", "detection", "--count", "24", "--preset", "ur5-cb3", "--seed", "3", "--jobs", "1"]


def test_a_study_on_the_command_line(tmp_path, capsys):
    assert main([*GIVEN, "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["preset"] == "ur5-cb3" and found["settings"]["rate"] == 125.0
    assert "our assumption" in str(found["sources"])
    names = [(curve["observer"], curve["detector"]) for curve in found["curves"]]
    assert len(names) == 6 and ("momentum", "two-speed") in names
    for curve in found["curves"]:
        (point,) = curve["points"]
        assert point["false_alarms"]["upper"] > 0.0 and point["hours"] > 0.0
        assert point["force"]["value"] is None or point["force"]["value"] > 0.0
    assert json.loads((tmp_path / "detection.json").read_text(encoding="utf-8")) == found


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
    ],
)
def test_bad_words(words, said, capsys):
    assert main([*GIVEN, *words]) != 0
    assert said in capsys.readouterr().err


def test_a_preset_is_for_arms_with_as_many_joints(capsys):
    assert main(["run", "detection", "--robot", "panda", "--count", "24"]) == 2
    assert "sensors for 6 joints, robot 'panda' has 7" in capsys.readouterr().err
