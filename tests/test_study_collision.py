"""The study of 000: verdicts as recorded, whose dynamics are printed, and the figures behind the verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.dynamics import bias, mass_matrix
from armwright.planning import Dijkstra, HopfieldPublished
from armwright.studies.collision import STUDY, as_published, drop, dynamics, estimate, planner, runs
from armwright.studies.collision.held_table import held_error
from armwright.studies.collision.setting import arm, omega, postures, q_t, qd_t, reduced
from armwright.studies.item import Claim, Numbers
from armwright.studies.recorded import changes, recorded
from armwright.studies.run import run_item, run_study


@pytest.fixture(scope="module")
def outcome():
    return run_study(STUDY)


def test_every_verdict_is_the_recorded_one(outcome):
    assert changes(outcome) == []
    assert set(recorded("000")) == {item.id for item in STUDY.items}
    assert outcome.counts() == {"document in error": 18, "agrees": 24, "cannot be determined": 5}


def test_the_documents_own_way_gives_its_print(outcome):
    """Wherever the report's way of computing is known, it leads to what the report prints."""
    known = {r.item.id: r.verdict.reproduced for r in outcome.results if r.verdict.reproduced is not None}
    assert len(known) >= 12 and all(known.values()), known


def test_errors_have_reasons(outcome):
    for result in outcome.results:
        if result.verdict.kind != "agrees":
            assert len(result.verdict.reason) > 15, result.item.id


def test_verdicts_follow_from_the_values():
    item = STUDY.item("3.E1a")
    assert run_item(item).verdict.kind == "document in error"
    assert run_item(replace(item, printed=Numbers("(-0.0, -90.0)"))).verdict.kind == "agrees"
    assert run_item(replace(STUDY.item("3.skew"), printed=Claim("fifteen", 15))).verdict.kind == "agrees"
    assert run_item(replace(STUDY.item("6.lam"), printed=Numbers("3.96"))).verdict.kind == "agrees"


def test_printed_dynamics_are_those_of_the_reduced_arm_and_of_no_other():
    assert dynamics.distance(reduced())["M"] < 1e-12 and dynamics.distance(reduced())["g"] < 1e-12
    assert dynamics.distance(arm())["M"] > 1.0 and dynamics.distance(arm())["g"] > 20.0
    M = mass_matrix(reduced(), q_t)
    assert M[1, 2] == pytest.approx(as_published.mass_entries(q_t)["m23"], abs=1e-12)
    assert as_published.mass_entries(postures(7))["m35"].shape == (7,)


def test_christoffel_symbols_with_the_right_sign_are_the_librarys():
    right = as_published.christoffel_torque(arm(), q_t, qd_t, -1.0)
    np.testing.assert_allclose(right, bias(arm(), q_t, qd_t, gravity=False, friction=False), atol=1e-11)
    assert estimate.transport_mismatch() < 1e-9


def test_drop_test():
    assert np.abs(drop.pose_at(reduced(), 15.0)[1:5] - (90.0, -26.6, -27.2, 90.0)).max() < 0.05
    assert np.abs(drop.equilibrium()[1:4] - (90.0, -0.01, -89.99)).max() < 0.02
    assert np.abs(drop.pose_at(arm(), 20.0)[1:4] - (90.0, 0.0, -90.0)).max() < 2.0


def test_estimate_lags_by_two_over_omega():
    np.testing.assert_allclose(estimate.measured_delay(), 2.0 / omega, rtol=5e-4)


def test_planner():
    assert list(planner.lengths(HopfieldPublished())) == list(planner.lengths(Dijkstra())) == [20, 24, 24, 102]
    longer, tried = planner.longer_paths()
    assert 0 < longer < 0.05 * tried
    L = [planner.energy_of_network(-1.0, n) for n in range(1, 12)]  # later changes are below the rounding of L
    assert (np.diff(L) < 0.0).all()
    assert planner.energy_of_network(1.0, 2) > planner.energy_of_network(1.0, 1)


@pytest.mark.parametrize("robot, first", [(reduced(), 0.62), (arm(), 0.12)], ids=["published", "correct"])
def test_experiment(robot, first):
    assert list(runs.counts(robot)) == [11, 10] and (runs.arrivals(robot) < 40.0).all()
    assert runs.first_lags(robot)[0] == pytest.approx(first, abs=0.01)
    for layout in "AB":
        assert runs.predicted_lag(robot, layout) == pytest.approx(runs.run(robot, layout).contacts[0].delay, rel=0.15)
        assert all(touch.felt < 12.0 for touch in runs.unregistered(robot, layout))


def test_a_held_table_makes_the_reports_tracking_error():
    held = held_error(runs.free_run())
    assert 0.8e-3 < held.error < 1.1e-3 and 1.5 < held.force < 2.1  # correct model


def test_pictures_are_drawn():
    pytest.importorskip("matplotlib", reason="figures")
    drawn = [picture.draw() for item in STUDY.items for picture in item.pictures]
    assert len(drawn) == 6 and all(figure.axes for figure in drawn)
