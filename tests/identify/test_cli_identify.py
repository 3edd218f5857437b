# SPDX-License-Identifier: Apache-2.0
"""``armwright identify`` and ``armwright feel`` as users meet them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from armwright.cli import main
from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

GAINS = np.full(6, 11.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Logs of a simulated UR5 as CSV, and its sheet."""
    where = tmp_path_factory.mktemp("logs")
    (where / "arm.toml").write_text(sheet_of().to_sheet(), encoding="utf-8")
    arm = true_arm()
    loaded = arm.with_payload(1.5, (0.0, 0.05, 0.1))
    for name, robot, seed in (("bare", arm, 0), ("loaded", loaded, 1)):
        log = simulated_log(robot, gear_friction(6), GAINS, 15.0, seed=seed, noise=0.02)
        head = ["t", *(f"{s}_{j}" for s in ("q", "qd", "current") for j in range(6))]
        rows = np.concatenate([log.t[:, None], log.q, log.qd, log.current], axis=1)
        text = "".join(",".join(f"{x:.7f}" for x in row) + "\n" for row in rows)
        (where / f"{name}.csv").write_text(",".join(head) + "\n" + text, encoding="utf-8")
    return where


def run(capsys, *argv):
    code = main([str(word) for word in argv])
    return code, *capsys.readouterr()


def test_from_logs_to_a_model_to_contacts(folder, capsys):
    gains = ",".join(str(k) for k in GAINS)
    words = ["identify", folder / "arm.toml", folder / "bare.csv", folder / "loaded.csv", "--gains", gains]
    words += ["--load", "loaded", "--out", folder / "m.json", "--sheet", folder / "s.toml", "--report", folder / "r.md"]
    code, out, _ = run(capsys, *words, "--json")
    told = json.loads(out)
    assert code == 0 and told["robot"] and len(told["gains"]) == 6
    assert told["payloads"][0]["mass"]["value"] == pytest.approx(1.5, rel=0.1)
    assert "What cannot be known" in (folder / "r.md").read_text(encoding="utf-8")
    assert run(capsys, "check", folder / "s.toml")[0] == 0
    code, out, _ = run(capsys, "feel", folder / "bare.csv", "--model", folder / "m.json", "--json")
    assert code == 0 and json.loads(out)["contacts"] == []
    code, out, _ = run(capsys, "feel", folder / "bare.csv", "--model", folder / "m.json")
    assert code == 0 and "0 contacts" in out
    code, _, err = run(capsys, "feel", folder / "bare.csv", "--model", folder / "m.json", "--report", folder / "r.txt")
    assert code == 2 and ".html" in err


def test_a_log_with_a_tool_is_felt_from_the_command_line(folder, capsys):
    model = folder / "w.json"
    words = [
        "identify",
        folder / "arm.toml",
        folder / "bare.csv",
        folder / "loaded.csv",
        "--gains",
        "11,11,11,11,11,11",
    ]
    code, out, err = run(capsys, *words, "--out", model)  # a payload that nobody mentioned
    assert code == 0 and "loaded:" in out and "estimated in loaded" in err
    feel = ["feel", folder / "loaded.csv", "--model", model]
    code, plain, _ = run(capsys, *feel, "--json")
    contacts = json.loads(plain)["contacts"]
    assert code == 0 and contacts
    assert all(c["force"] is None or len(c["force"]) == 3 for c in contacts)
    # table and JSON count time alike
    shown = run(capsys, *feel)[1]
    assert all(f"{c['start']:.2f}" in shown for c in contacts)
    for word in ("log", folder / "loaded.csv"):
        code, out, err = run(capsys, *feel, "--payload", word, "--json")
        assert code == 0 and json.loads(out)["contacts"] == [] and "weighed" in err
        assert json.loads(out)["payload_kg"] == pytest.approx(1.5, rel=0.1)
    assert json.loads(run(capsys, *feel, "--payload", "1.5", "--json")[1])["payload_kg"] == 1.5
    beside = run(capsys, *feel, "--payload", "1.5@0,0,0.05", "--json")
    assert beside[0] == 0 and json.loads(beside[1])["payload_kg"] == 1.5
    for word, said in (("-1", "mass"), ("nan", "not finite"), ("nothing.csv", "nothing.csv")):
        code, _, err = run(capsys, *feel, "--payload", word)
        assert code == 2 and said in err


def test_leaving_logs_out_is_a_table(folder, capsys):
    words = ["identify", folder / "arm.toml", folder / "bare.csv", folder / "bare.csv", "--gains", "11,11,11,11,11,11"]
    code, out, _ = run(capsys, *words, "--validate")
    assert code == 0 and "left out" in out and "coulomb" in out


@pytest.mark.parametrize(
    "words, said",
    [
        (("--gains", "many"), "--gains"),
        (("--load", "nothing"), "no such log"),
        (("--load", "bare=heavy"), "number"),
        (("--load", "bare=-2"), "mass"),
        ((), "targets"),
    ],
)
def test_wrong_requests_are_answered_in_one_line(folder, capsys, words, said):
    code, _, err = run(capsys, "identify", folder / "arm.toml", folder / "bare.csv", *words)
    *before, answer = err.strip().splitlines()
    assert code == 2 and said in answer
    assert all("bare.csv: Read 1,501 rows" in line for line in before)  # what the log was taken for, and nothing else


def test_a_model_that_is_not_there(folder, capsys):
    code, _, err = run(capsys, "feel", folder / "bare.csv", "--model", folder / "none.json")
    assert code == 2 and "none.json" in err
