# SPDX-License-Identifier: Apache-2.0
"""``armwright doctor`` tells the truth about an installation: parts, what they give, and wrong machine code."""

from __future__ import annotations

import json
from importlib import metadata

from armwright.cli import doctor, main
from armwright.robot import kernels

FOR_MAINTAINERS = {"fmi", "all", "peers", "docs", "lab-clients", "browser", "release", "test", "dev"}


def answer(capsys, *words):
    code = main(["doctor", *words])
    return code, capsys.readouterr().out


def test_every_extra_that_a_user_may_install_is_explained():
    defined = set(metadata.metadata("armwright").get_all("Provides-Extra"))
    assert set(doctor.GIVES) == defined - FOR_MAINTAINERS
    assert all(part.packages for part in doctor.installed_parts())


def test_it_finds_what_is_there(capsys):
    code, out = answer(capsys, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["trial"]["agrees"]
    assert told["packages"]["numpy"] == metadata.version("numpy")


def test_a_missing_part_is_named_with_what_it_would_give_and_how_to_get_it(capsys, monkeypatch):
    found = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("mcap", "sympy") else found(name))
    code, out = answer(capsys)
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert code == 0  # the core does its work
    assert doctor.GIVES["log"] in lines["log"] and "no mcap" in lines["log"]
    assert lines["symbolic"].split()[1] == "no"
    (advice,) = (line for line in out.splitlines() if line.startswith("pip install"))
    assert "symbolic" in advice and "log" in advice


def test_machine_code_that_disagrees_with_its_source_is_a_negative_answer(capsys, monkeypatch):
    right = kernels.kernel
    monkeypatch.setattr(kernels, "kernel", lambda robot, function: lambda *rows: right(robot, function)(*rows) + 1e-3)
    code, out = answer(capsys)
    assert code == 1
    assert "WRONG" in out


def test_the_numpy_tape_is_told(capsys, monkeypatch):
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    code, out = answer(capsys, "--json")
    told = json.loads(out)
    assert code == 0 and told["trial"]["agrees"]
    assert told["machine"]["backend"] == "NumPy tape"
    assert told["machine"]["environment"]["ARMWRIGHT_BACKEND"] == "numpy"
