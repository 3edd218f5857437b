# SPDX-License-Identifier: Apache-2.0
"""001: every verdict is the recorded one, and the numbers of its digest (§5, §9) come out of the study's own code."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.dynamics.mrnea import mrnea
from armwright.studies.doc001_erfd import STUDY, coefficients, counts, demo, model, motors
from armwright.studies.doc001_erfd.appendix_b import NOT_AT_HAND, bodies, closed_forms, tabulated
from armwright.studies.doc001_erfd.coefficients import A_1, A_2, CONSISTENT, swing, terms
from armwright.studies.doc001_erfd.counts import ROWS, gauss, total_of_rows, wrong_rows
from armwright.studies.doc001_erfd.motors import as_published, literal, opposing_friction
from armwright.studies.doc001_erfd.setting import QD, Q, arm, states
from armwright.studies.run_study import changes, recorded, run_study
from armwright.studies.study_page import png_of


@pytest.fixture(scope="module")
def outcome():
    return run_study(STUDY)


def test_every_verdict_is_the_recorded_one(outcome):
    assert set(recorded("001")) == {item.id for item in STUDY.items}
    assert changes(outcome) == []
    assert not {"failed", "not run"} & set(outcome.counts())


def test_table_2_is_reproduced_at_twelve_joints_and_wrong_at_six(outcome):
    for name in ("T2a", "T2b", "T2c"):
        result = next(r for r in outcome.results if r.item.id == name)
        assert result.verdict.kind == "document in error" and result.verdict.reproduced


def test_walker_and_orin_become_cheaper_in_the_order_of_table_2():
    """The document's table and the literature agree: method 3 is the cheapest of the three, method 1 the dearest."""
    ours = counts.ours_2()
    first, second, third = (ours[f"Walker–Orin {k}"] for k in (1, 2, 3))
    for column in ("printed", "by_hand"):
        for part in (0, 1):  # multiplications, additions
            assert first[column][part] > second[column][part] > third[column][part]
    assert third["by_hand"][0] / first["by_hand"][0] < 0.75  # printed: 0.48, for an implementation that folds no zeros


# --- Appendix B and the signs ----------------------------------------------------------------------------------------


def test_mended_table_is_the_closed_form():
    """All 154 component forms, mended as in 001 §3.9, against the closed forms; the print is off in 45 of them."""
    for q in states(12)[0]:
        at = bodies(q)
        right, mended = closed_forms(at), tabulated(at, as_published=False)
        assert set(right) == set(mended) and len(right) == 154
        assert max(np.abs(right[name] - mended[name]).max() for name in right) < 1e-12
    found = coefficients.wrong_vectors()
    assert len(found) == 45 and not set(found) & set(NOT_AT_HAND)
    assert set(found) - set(coefficients.wrong_vectors(off_axis=False)) == {"b_656"}
    assert sum(name.startswith("b") for name in found) == 31


def test_closed_forms_make_the_dynamics():
    H, u = coefficients.terms_of(closed_forms(bodies(Q)), Q, QD)
    made = mrnea(arm(), Q, QD)
    assert np.abs(H - made.H).max() < 1e-11 and np.abs(u - made.u).max() < 1e-11


def test_the_printed_table_spoils_torques_and_symmetry():
    rms, uneven = coefficients.table_errors()
    assert (rms[:5] > 0.3).all() and rms[5] > 10.0
    assert 0.25 < uneven < 0.30


def test_x9_free_swing():
    """Energy and end state of 001 §5; with the printed signs more than 100 J are lost or won."""
    end = swing(CONSISTENT, 0.5)
    assert abs(end.start - 658.211373) < 6e-7 and end.drift < 1e-8
    assert np.abs(end.q - [0.513076, -1.244004, 0.891892, 0.479179, -1.966418, 1.539656]).max() < 6e-7
    assert np.abs(end.qd - [0.339422, -3.842412, 2.316290, -1.205639, -1.513492, 1.047375]).max() < 6e-7
    assert abs(swing(A_1, 1.0).drift - 119.0) < 0.5 and abs(swing(A_2, 1.0).drift - 120.0) < 0.5


def test_recursion_of_the_document_is_the_library():
    for q, qd, _ in zip(*(x[:20] for x in states()), strict=True):
        made, ours = terms(q, qd, CONSISTENT), mrnea(arm(), q, qd)
        assert np.abs(made.H - ours.H).max() < 1e-10 and np.abs(made.u - ours.u).max() < 1e-9


# --- counts ----------------------------------------------------------------------------------------------------------


def test_table_c1_audit():
    assert wrong_rows().keys() == {"geometry", "b, link 5", "d, link 3", "u"}
    assert total_of_rows() == (1736, 1281)
    assert gauss(6) == (106, 85)
    assert len(ROWS) == 25


def test_orders():
    assert counts.order(True) == "O(n^3)"
    assert counts.order_of_the_print() == "grows as n^2.49"
    assert not counts.cheapest()


def test_listing_reads_without_its_brace():
    assert (model.moves_read(brace=True), model.moves_read(brace=False)) == (0, 9)


# --- Algorithm 1 (X4, X5, X13) ---------------------------------------------------------------------------------------


def test_x13_path():
    demand = demo.demand()
    assert abs(demo.law()[1] - 7.8372) < 6e-5 and demand.cycles == 784
    low, high = np.rad2deg(demand.q.min(axis=0)), np.rad2deg(demand.q.max(axis=0))
    assert np.abs(low - [-50, -20, -40, -35, -105, -67]).max() < 1.0
    assert np.abs(high - [51, 53, 45, 94, -43, 44]).max() < 1.0
    assert np.allclose(np.rad2deg(demand.q[0]), np.rad2deg(demo.START_BRANCH), atol=1e-3)
    lengths = [1000 * path.length for path in demo.segments()]
    assert np.abs(np.array(lengths) - [818.27, 353.43, 300, 314.16, 173.21, 173.21, 314.16, 300, 353.43]).max() < 0.006
    assert np.unique(demand.moves).tolist() == list(range(2, 11))


def test_x13_demand_and_lag():
    free, kept = motors.run("demo", "unlimited"), motors.run("demo", "full")
    assert free.saturated.sum(axis=0).tolist() == [4, 2, 3, 7, 9, 2]
    assert np.abs(np.abs(free.wanted).max(axis=0) - [89.3, 118.7, 34.6, 17.4, 15.8, 9.0]).max() < 0.06
    assert abs(np.abs(motors.run("demo", "unlimited", as_published).wanted).max(axis=0)[0] - 68.0) < 0.6
    lag = np.rad2deg(np.abs(kept.lag).max(axis=0))
    assert np.abs(lag - [0.94, 0.45, 0.35, 5.60, 0.774, 0.763]).max() < 0.006
    assert np.abs(kept.lag[-1]).max() < 1e-9
    assert abs(1000 * kept.deviation.position.max() - 18.8) < 0.06
    assert kept.deviation.path.max() < kept.deviation.position.max()


@pytest.mark.parametrize("move", ["fast", "demo"])
def test_limits_hold_in_every_cycle(move):
    for rule in ("full", "partitioned"):
        found = motors.run(move, rule)
        assert (np.abs(found.torque) <= found.limit * (1.0 + 1e-9)).all()
    assert motors.within_speed(move, "partitioned")
    full = np.abs(motors.run(move, "full").qd / motors.run(move, "full").drives.speed).max()
    assert 1.0 < full < 1.03
    assert not motors.within_torque(move, literal)


def test_pictures_can_be_drawn():
    for item in STUDY.items:
        for picture in item.pictures:
            assert png_of(picture.draw, 40)[:4] == b"\x89PNG"


def test_settling():
    assert motors.settles(opposing_friction) and not motors.settles(as_published)
