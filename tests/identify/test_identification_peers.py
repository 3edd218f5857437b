# SPDX-License-Identifier: Apache-2.0
"""The comparison of ways to identify: what least squares can see exactly it finds, and who is missing is named."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.bench import identification_peers as peers
from armwright.identify.gear_friction import TERMS


@pytest.fixture(scope="module")
def logs():
    arm = aw.load("ur5")
    sheet = arm.with_friction(np.zeros(6), np.zeros(6))
    return sheet, peers.virtual_log(sheet, 3, 0), peers.virtual_log(sheet, 3, 1)


def test_least_squares_with_every_term_is_left_with_the_noise(logs):
    sheet, train, test = logs
    error = {
        terms: peers.least_squares_error(train, test, sheet, np.ones(6), terms, weighted=True)
        for terms in (peers.PLAIN, TERMS)
    }
    # noise is 2 % of the torque; the filter leaves less of it
    assert (error[TERMS] < 2.0).all() and (error[TERMS] < error[peers.PLAIN]).all()


def test_fit_is_not_worse_than_least_squares_on_any_joint(logs):
    sheet, train, test = logs
    plain = peers.least_squares_error(train, test, sheet, np.ones(6), weighted=False)
    assert (peers.fit_error(train, test, sheet) <= 1.05 * plain).all()


def test_who_is_missing_is_told_and_the_others_are_judged(monkeypatch):
    def missing(*_):
        raise ImportError("no such library")

    monkeypatch.setattr(peers, "figaroh_error", missing)
    monkeypatch.setattr(peers, "mujoco_error", missing)
    monkeypatch.setattr(peers, "LOG_SECONDS", 20.0)
    said = []
    found = peers.identification_figures(arms=["ur5"], tell=said.append)
    assert set(found) == {"ur5/armwright", "ur5/least squares", "ur5/weighted least squares"}
    assert all(len(row["error"]) == 6 and row["cpu"] > 0.0 for row in found.values())
    assert [text for text in said if "figaroh skipped (no such library)" in text]
