# SPDX-License-Identifier: Apache-2.0
"""004: every verdict is the recorded one, and the digest's golden numbers come out."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.studies.doc004_force import STUDY, currents, forces, loop
from armwright.studies.doc004_force.setting import PRINTED_WAYPOINT, K, model, path, torque
from armwright.studies.run_study import changes, recorded, run_study


@pytest.fixture(scope="module")
def outcome():
    return run_study(STUDY)


def test_every_verdict_is_the_recorded_one(outcome):
    assert set(recorded("004")) == {item.id for item in STUDY.items}
    assert changes(outcome) == []
    assert not {"failed", "not run"} & set(outcome.counts())


def test_errors_of_the_digest_are_found(outcome):
    wrong = {r.item.id for r in outcome.results if r.verdict.kind == "document in error"}
    assert {"2.33", "2.62", "5.11", "C.2", "C.4", "5.3", "6.1", "6.5", "6.6k6", "T6.1z", "6.3"} <= wrong


def test_golden_kinematics():
    arm = model("c")
    np.testing.assert_allclose(aw.fk(arm, np.zeros(6))[:3, 3], [-0.81725, -0.19145, -0.00549], atol=1e-9)
    np.testing.assert_allclose(aw.fk(arm, PRINTED_WAYPOINT)[:3, 3], [-0.177337, 0.582157, 0.259316], atol=1e-6)
    J = aw.jacobian(arm, PRINTED_WAYPOINT)
    assert np.linalg.det(J) == pytest.approx(-0.0237753, abs=1e-7)
    values = [2.0526, 1.4591, 0.5469, 0.4339, 0.2492, 0.1343]
    np.testing.assert_allclose(np.linalg.svd(J, compute_uv=False), values, atol=1e-4)


@pytest.mark.parametrize(
    "name, gravity, tau",
    [
        ("a", (0, 31.413869, 11.129465, 0.590679, -0.038622, 0), (1.557322, 31.842848, 10.788814, 0.641177, -0.040501)),
        ("b", (0, 32.990839, 12.706435, 0.743452, -0.135792, 0), (1.651616, 33.411750, 12.302903, 0.799721, -0.142036)),
        ("c", (0, 32.988204, 12.703799, 0.740816, -0.148783, 0), (1.727337, 33.494933, 12.297489, 0.795627, -0.155582)),
    ],
)
def test_golden_dynamics(name, gravity, tau):
    arm = model(name)
    qd, qdd = np.array([0.5, -0.4, 0.3, 0.8, -0.6, 1.0]), np.array([1.0, 0.5, -0.8, 1.2, -1.0, 2.0])
    np.testing.assert_allclose(aw.gravity_torque(arm, PRINTED_WAYPOINT), gravity, atol=2e-6)
    found = aw.inverse_dynamics(arm, PRINTED_WAYPOINT, qd, qdd, friction=False, rotors=False)
    np.testing.assert_allclose(found[:5], tau, atol=2e-6)


def test_the_path_is_what_it_says():
    m = path()
    assert len(m.t) == 2800 and np.abs(m.qd).max() == pytest.approx(1.27, abs=0.12)
    np.testing.assert_allclose(np.diff(m.q, axis=0), m.qd[:-1] / 125.0, atol=5e-4)
    assert torque(model("c"), m)[:, 2].mean() == pytest.approx(13.9, abs=0.1)
    assert np.linalg.cond(aw.jacobian(model("c"), m.q)).max() < 15.5


def test_the_legacy_model_and_the_ranking_of_the_digest():
    exact = torque(model("c"), path())
    legacy = np.abs(torque(model("legacy"), path()) - exact).mean(axis=0)
    np.testing.assert_allclose(legacy[:3], [0.41, 21.3, 13.8], atol=0.1)
    errors = loop.torque_errors()
    assert (errors["legacy"][1] > 10.0 * errors["c"][1]) and (errors["a"][1:3] > errors["c"][1:3]).all()


def test_regressing_the_current_is_unbiased_and_the_line_is_not():
    k, b, share = currents.inverse_regression()
    np.testing.assert_allclose(k[1:4], K[1:4], rtol=0.1)
    assert abs(b[1] - 16.0) < 0.5 and share[5] > 0.25
    assert (currents.slopes()[3:] < 0.9 * K[3:]).all()


def test_the_observer_beats_the_direct_estimate():
    found = forces.errors()
    assert (found["observer"][:3] < found["friction"][:3]).all()
