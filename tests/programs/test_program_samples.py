# SPDX-License-Identifier: Apache-2.0
"""Programs to begin with: each is there, and its arm can follow its path."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import armwright as aw
from armwright.programs.program_plan import plan_program
from armwright.programs.program_samples import SAMPLES, sample_bytes

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_sample_can_be_planned_for_its_arm(tmp_path):
    for name, sample in SAMPLES.items():
        (tmp_path / name).write_bytes(sample_bytes(name))
        plan = plan_program(aw.load(sample.robot), aw.read_program(tmp_path / name), 0.05)
        assert plan.duration > 1.0


def test_samples_are_carried_by_the_package():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    (source,) = (source for source, place in wheel["force-include"].items() if place == "armwright/programs/samples")
    assert set(SAMPLES) <= {path.name for path in (ROOT / source).iterdir()}


def test_other_names_are_no_samples():
    for name in ("../pyproject.toml", "nothing.mod", ""):
        with pytest.raises(aw.InputError, match=r"ur5_pick\.script"):
            sample_bytes(name)
