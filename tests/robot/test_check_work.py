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


@pytest.mark.parametrize(("n", "samples"), [(6, 64), (100, 64), (200, 64), (900, 64), (200, 10**6)])
def test_a_check_looks_at_fewer_configurations_of_a_long_arm(monkeypatch, n, samples):
    seen = []

    def counted(tree, q):
        seen.append(q)
        return np.eye(tree.n), np.zeros(tree.n)

    monkeypatch.setattr(check, "mass_and_gravity", counted)
    arm = chain(n)
    check._sampled(arm, samples, 0)
    work = n**3
    assert min(samples, check.LEAST_SAMPLES) <= len(seen) <= samples + 1
    assert len(seen) <= check.LEAST_SAMPLES + 1 or (len(seen) - 1) * work <= check.SAMPLED_WORK
    assert n > 100 or len(seen) == samples + 1
