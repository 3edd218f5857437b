# SPDX-License-Identifier: Apache-2.0
"""What is stated of a live wrench holds against the truth, and alarms end when pushes do, on the lab's own arm."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "measure_feeling.py"
RATE = 125.0


@cache
def bench():
    spec = spec_from_file_location("measure_feeling", SCRIPT)
    module = module_from_spec(spec)
    sys.modules["measure_feeling"] = module
    spec.loader.exec_module(module)
    return module


@cache
def model():
    return bench().identified(3, RATE)


@cache
def runs(seeds):
    return [
        (pushed, *bench().felt_run(model(), seed, RATE, pushed=pushed)) for seed in seeds for pushed in (True, False)
    ]


def judged(seeds):
    for state, name in enumerate(bench().STATES):
        for pushed in (False, True):
            parts = [p for _, found, _ in runs(seeds) for p in found if p.state == state and p.pushed == pushed]
            if len(parts) > 1:
                yield f"{name}, {'pushed' if pushed else 'free'}", bench().covered(parts)


def check(seeds):
    found = dict(judged(seeds))
    assert {"at rest, free", "at rest, pushed", "between, free", "between, pushed", "moving, free"} <= set(found)
    for name, (value, low, high) in found.items():
        assert high >= 0.90 and low <= 0.99 and value > 0.85, (name, value, low, high)
    alarms = [rung for _, _, rung in runs(seeds)]
    after = np.array([x for rung in alarms for x in rung.after])
    assert len(after) >= 4 * len(seeds) and after.max() <= 0.5
    assert sum(rung.standing for rung in alarms) == 0
    assert sum(rung.false for rung in alarms) == 0


def test_intervals_cover_in_motion_at_rest_and_between_and_alarms_end_with_the_push():
    check((900,))


@pytest.mark.thorough
def test_the_same_on_eight_more_minutes():
    check((910, 911, 912, 913))
