# SPDX-License-Identifier: Apache-2.0
"""Plants of detection studies that no fit of masses and friction coefficients reaches; pushes on links and at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.detection.detection_settings import experiment
from armwright.detection.study_contacts import StudyPush, resting, study_law, tool_moves
from armwright.detection.study_runs import Population, Spread, StudyBench
from armwright.detection.varied_arms import ROUGH
from armwright.errors import InputError
from armwright.robot.tree import tree_of
from armwright.simulation.sensors import JointSensors

EXACT = JointSensors(position_resolution=1e-9)
LAW = study_law(400.0, 40.0)


@pytest.fixture(scope="module")
def arm():
    return aw.load("planar3").with_friction(0.5, [1.0, 0.5, 0.2]).with_rotors(0.05)


@pytest.fixture(scope="module")
def move(arm):
    return tool_moves(arm, 1, seed=4)[0]


def drawn(arm, spread, count=4):
    rngs = [np.random.default_rng(k) for k in range(count)]
    return Population(arm, spread).draw(np.zeros((count, 6)), rngs)


def test_centres_of_a_lane_are_those_of_an_arm_whose_bodies_are_off():
    ur5 = aw.load("ur5-kufieta-c")
    lanes = drawn(ur5, Spread(0.1, 0.0, centre=0.01))
    for k in range(4):
        rng = np.random.default_rng(k)
        share = 1.0 + 0.1 * rng.choice([-1.0, 1.0], size=12)[:6]
        d = rng.normal(size=(6, 3))
        d *= 0.01 / np.linalg.norm(d, axis=1, keepdims=True)
        bodies = tuple(
            replace(b, mass=s * b.mass, inertia=s * b.inertia, com=b.com + x)
            for b, s, x in zip(ur5.bodies, share, d, strict=True)
        )
        expected, got = tree_of(replace(ur5, bodies=bodies), regroup=True), lanes.fill(lanes.values[k])
        for name in ("m", "h", "J"):
            np.testing.assert_allclose(np.array(getattr(got, name), dtype=float), getattr(expected, name), atol=1e-12)


def test_what_gears_and_motors_do_is_what_the_law_and_the_model_lack(arm, move):
    """Ripple, torque constants and load friction, each alone, leave the torque that their equation says."""

    def missing(**more):
        """Torque (T, n) beyond the model of the arm that is run, and its motion."""
        bench = StudyBench(arm, LAW, EXACT, Spread(0.0, 0.0, **more), substeps=20)
        batch = bench.run(move, [5, 6], None, 0.0)
        q, qd = batch.q[0], np.gradient(batch.q[0], 1e-3, axis=0)
        need = np.asarray(aw.inverse_dynamics(arm, q, qd, np.gradient(qd, 1e-3, axis=0)))
        rng = np.random.default_rng(5)
        rng.choice([-1.0, 1.0], size=6)
        return batch.tau[0] - need, q, qd, batch.tau[0], rng

    middle = slice(200, -200)
    none, _, qd, _, _ = missing()
    moving = np.abs(qd[middle]) > 0.05
    assert moving.any() and np.abs(none[middle][moving]).max() < 0.1
    sizes = Population(arm, Spread()).sizes
    left, q, qd, tau, rng = missing(ripple=1.0, ripple_waves=20.0)
    expected = -sizes * np.sin(20.0 * q + rng.uniform(-np.pi, np.pi, size=3))
    np.testing.assert_allclose(left[middle][moving], expected[middle][moving], atol=0.1)
    left, q, qd, tau, rng = missing(torque_constant=0.05)
    expected = -0.05 * rng.choice([-1.0, 1.0], size=3) * tau
    np.testing.assert_allclose(left[middle][moving], expected[middle][moving], atol=0.1)
    left, q, qd, tau, rng = missing(load_friction=0.1)
    np.testing.assert_allclose(left[middle][moving], (0.1 * np.abs(tau) * np.sign(qd))[middle][moving], atol=0.1)


def test_missing_coulomb_friction_is_in_proportion_to_the_joints(arm):
    bare = arm.with_friction(0.0, 0.0)
    population = Population(bare, Spread(0.0, 0.0, missing_coulomb=(4.0, 4.0)))
    lanes = population.draw(np.zeros((1, 6)), [np.random.default_rng(0)])
    np.testing.assert_allclose(np.array(lanes.fill(lanes.values[0]).coulomb, dtype=float), 4.0 * population.sizes)
    assert not Population(bare, population.spread.rehearsal()).places


def test_a_factor_on_no_friction_and_impossible_plants_are_refused(arm):
    bare = arm.with_friction(0.0, 0.0)
    for spread, words in (
        (Spread(drift=(1.0, 1.4)), "drift = .* which has none"),
        (Spread(stribeck=0.3), "stribeck = 0.3 .* which has none"),
        (Spread(load_friction=1.0), r"load_friction must lie in \[0, 1\)"),
        (Spread(ripple=-1.0), "ripple must be ≥ 0"),
        (Spread(missing_coulomb=(2.0, 1.0)), "missing_coulomb needs"),
    ):
        with pytest.raises(InputError, match=words):
            Population(bare, spread)


def test_the_other_numbers_of_a_run_do_not_change_with_a_plant(arm):
    """What is drawn for a rough plant comes after all else: masses and friction stay those of the plain one."""
    plain, rough = drawn(arm, Spread()), drawn(arm, ROUGH._replace(centre=0.0))
    k = len(Population(arm, Spread()).places) + 7
    np.testing.assert_array_equal(plain.values[:, :k], rough.values[:, :k])


def test_pushes_at_rest_come_while_the_arm_stands(arm, move):
    stays = resting(move, 2.4)
    bench = StudyBench(arm, LAW, EXACT, Spread(0.0, 0.0))
    _, at = bench.contacts(StudyPush(40.0, 2.0, 1, True), stays, [np.random.default_rng(k) for k in range(20)])
    assert (at >= move.duration + 0.3).all() and (at <= move.duration + 1.21).all() and np.ptp(at) > 0.1
    np.testing.assert_array_equal(stays.evaluate(move.duration + 1.0).q, move.evaluate(move.duration).q)
    with pytest.raises(InputError, match="a rest of"):
        bench.contacts(StudyPush(40.0, 2.0, 1, True), move, [np.random.default_rng(0)])


def test_links_are_pushed_in_turn_and_checked():
    study = experiment({"contact": "ramp", "links": [1, "tool"], "at": "rest", "moves": 4, "free": 0}, 1)
    assert [c.link for c in study.contacts] == [1, None] and all(c.at_rest for c in study.contacts)
    met = {(t.move, t.contact) for t in map(study.trial, range(8))}
    assert len(met) == 8  # every link on every move
    assert not study.moves[0].evaluate(study.moves[0].duration - 2.0).qd.any()
    for more, words in (
        ({"links": [6]}, "6 is no link; valid are 0 to 5 and 'tool'"),
        ({"links": ["hand"]}, "'hand' is no link"),
        ({"contact": "wall", "links": [1]}, "met by the moving tool"),
        ({"contact": "wall", "at": "rest"}, "met by the moving tool"),
    ):
        with pytest.raises(InputError, match=words):
            experiment({"contact": "ramp", **more}, 1)
