# SPDX-License-Identifier: Apache-2.0
"""The run of document 000, as published and correct: against an independent program by the same rules."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.dynamics import mass_matrix
from armwright.exploration.explore_options import Budget
from armwright.kinematics import fk, jacobian
from armwright.robot.load import load
from armwright.studies.doc000_collision.rules import explore_published
from armwright.studies.doc000_collision.setting import omega

ARMS = {"published": "ur5-ragazzon-published", "correct": "ur5-ragazzon"}
# contacts, arrival [s], first touch and trigger [s] of that program's run
TABLE = {
    ("A", "published"): (11, 34.7, 4.118, 4.740),
    ("A", "correct"): (11, 36.3, 4.118, 4.238),
    ("B", "published"): (10, 29.1, 5.690, 6.232),
    ("B", "correct"): (10, 30.4, 5.690, 5.808),
}
CELLS = {
    ("A", "published"): [*((10, v) for v in range(11, 1, -1)), (10, 12)],
    ("A", "correct"): [*((9, v) for v in range(11, 1, -1)), (9, 12)],
    ("B", "published"): [*((13, v) for v in range(11, 6, -1)), *((u, 6) for u in range(12, 7, -1))],
    ("B", "correct"): [*((12, v) for v in range(11, 6, -1)), *((u, 7) for u in range(11, 7, -1)), (7, 6)],
}


@pytest.fixture(scope="module")
def runs():
    return {(w, kind): explore_published(name, w, budget=Budget(50.0)) for kind, name in ARMS.items() for w in "AB"}


@pytest.mark.parametrize("case", TABLE, ids=str)
def test_table_of_the_runs(runs, case):
    run = runs[case]
    contacts, arrival, touched, alarm = TABLE[case]
    assert run.outcome == "reached"
    assert len(run.contacts) == contacts
    assert len(set(run.cells)) >= 0.9 * contacts
    assert run.cells == CELLS[case]
    assert run.arrival == pytest.approx(arrival, abs=0.1)
    assert run.contacts[0].began == pytest.approx(touched, abs=4e-3)
    assert run.contacts[0].time == pytest.approx(alarm, abs=8e-3)
    assert all(np.isfinite(c.began) for c in run.contacts), "no alarm without contact"


@pytest.mark.parametrize("case", TABLE, ids=str)
def test_marked_cells_lie_within_one_cell_of_an_obstacle(runs, case):
    run = runs[case]
    grid = run.maps[0].grid
    centres = np.array([s.centre[:2] for s in run.world])
    for cell in run.cells:
        far = np.linalg.norm(grid.centre(cell)[:2] - centres, axis=1).min() - 0.03
        assert far < 0.0263


@pytest.mark.parametrize("case", TABLE, ids=str)
def test_first_lag_is_predicted_by_the_compliance_of_the_arm(runs, case):
    """From 000 eq. 5.5: t ≈ f_min c_n / v with c_n = nᵀ J K0⁻¹ M⁻¹ Jᵀ n, for a head-on first hit."""
    run = runs[case]
    first = run.contacts[0]
    k = int(np.searchsorted(run.recording.time, first.began))
    q_ref, qd_ref = run.recording["q_ref"][k], run.recording["qd_ref"][k]
    arm = load(ARMS[case[1]])
    J = jacobian(load("ur5-ragazzon"), q_ref)[:3]
    n = np.array([1.0, 0.0, 0.0])
    compliance = n @ J @ (np.linalg.solve(mass_matrix(arm, q_ref), J.T @ n) / omega**2)
    predicted = 12.0 * compliance / (n @ J @ qd_ref)
    assert first.delay == pytest.approx(predicted, rel=0.15)


@pytest.mark.parametrize("case", [("A", "correct"), ("B", "published")], ids=str)
def test_the_estimate_is_the_true_force_behind_a_second_order_filter(runs, case):
    """M⁻¹JᵀF through ω²/(s + ω)² per joint, mapped back at the present q, is F̂: an identity of the closed loop."""
    run = runs[case]
    rec, kin, arm = run.recording, load("ur5-ragazzon"), load(ARMS[case[1]])
    dt, w = float(rec.time[1] - rec.time[0]), omega
    M, J = mass_matrix(arm, rec["q"]), jacobian(kin, rec["q"])
    r = np.linalg.solve(M, np.einsum("tij,ti->tj", J[:, :3], rec["force"])[..., None])[..., 0]
    y, z = np.zeros(6), np.zeros(6)
    a = np.exp(-w * dt)
    out = np.zeros_like(r)
    for k in range(1, len(r)):  # two exact first-order lags; the input between samples is their mean
        u = 0.5 * (r[k] + r[k - 1])
        y_new = a * y + (1.0 - a) * u
        z = a * z + (1.0 - a) * 0.5 * (y + y_new)
        y = y_new
        out[k] = z
    tau = np.einsum("tij,tj->ti", M, out)
    felt = rec["tau_ext"]
    scale = np.sqrt((felt**2).mean())
    assert np.sqrt(((tau - felt) ** 2).mean()) < 0.01 * scale


def test_free_run_tracks_and_never_alarms():
    from armwright.world.world import World

    run = explore_published("ur5-ragazzon", World(name="empty"))
    assert run.outcome == "reached" and not run.contacts
    assert np.abs(run.recording["error"]).max() < 1e-5
    assert np.linalg.norm(fk(load("ur5-ragazzon"), run.recording["q"][-1])[:3, 3] - run.goal_point) < 1e-4


def test_same_run_twice_is_the_same_run(runs):
    again = explore_published("ur5-ragazzon", "A", budget=Budget(50.0))
    assert np.array_equal(again.recording["q"], runs["A", "correct"].recording["q"])
