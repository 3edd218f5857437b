# SPDX-License-Identifier: Apache-2.0
"""What a check costs: bounded by the work, counted in configurations, however many joints an arm has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.robot import check


def chain(n: int) -> aw.Robot:
    arm = aw.Robot.from_dh(np.tile([0.0, 0.1, 0.2, 1.0], (n, 1)), masses=np.ones(n))
    return replace(arm, bodies=tuple(replace(body, inertia=0.01 * np.eye(3)) for body in arm.bodies))


@pytest.mark.parametrize(("n", "asked"), [(6, None), (100, None), (200, None), (900, None), (200, 100)])
def test_a_check_looks_at_fewer_configurations_of_a_long_arm_unless_told(monkeypatch, n, asked):
    seen = []

    def counted(tree, q):
        seen.append(q)
        return np.eye(tree.n), np.zeros(tree.n)

    monkeypatch.setattr(check, "mass_and_gravity", counted)
    arm = chain(n)
    aw.check(arm, samples=asked)
    drawn = len(seen) - 1  # and the one with all joints at 0
    if asked is not None or n <= 100:
        assert drawn == (asked or 64)
    else:
        assert check.LEAST_SAMPLES <= drawn < 64
        assert drawn == check.LEAST_SAMPLES or drawn * n**3 <= check.SAMPLED_WORK
