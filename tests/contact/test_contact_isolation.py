# SPDX-License-Identifier: Apache-2.0
"""Isolation: the right link with perfect and wrong models, the place where it can be known, honesty where not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import armwright as aw
from armwright.contact.contact_model import contact_wrench
from armwright.contact.ground_truth import contact_report
from armwright.contact.isolation.isolate import isolate
from armwright.contact.isolation.link_surface import drawn_place, force_line, line_meets_capsule, pushes, surfaces
from armwright.contact.isolation.torque_change import link_torques, torque_covariance
from armwright.dynamics.newton_euler import gravity_torque, rnea
from armwright.errors import InputError
from armwright.world.arm_capsules import link_capsules
from armwright.world.shapes import Sphere
from armwright.world.world import World

UR5 = aw.load("ur5")
PARTS = link_capsules(UR5)
SENSOR = np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])  # of the torque estimate [N m]
FRICTION = np.array([7.0, 7.0, 5.0, 1.5, 1.5, 1.5])  # of the joints [N m]


def random_contact(rng, body=None, lean=0.5):
    """A push of 20…100 N somewhere on a moving link: q, body, point, force, joint torque."""
    q = rng.uniform(-np.pi, np.pi, 6)
    faces = surfaces(UR5, q, PARTS)
    face, c, m = drawn_place(rng, faces[1:] if body is None else [faces[body]], faces, even=True)
    t = np.cross(m, rng.normal(size=3))
    f = -m + rng.uniform(0.0, lean) * t / np.linalg.norm(t)
    f *= rng.uniform(20.0, 100.0) / np.linalg.norm(f)
    return q, face.body, c, f, pushes(UR5, q, face.body, c[None])[0][0].T @ f


def score(rng, runs, disturb):
    """Share of right links in two senses of "observable", and how many contacts were in each.

    loaded: the contact loads its link's own joint by more than four standard deviations of the estimate.
    distinct: without any error, the torques leave no more than 1 % for all other links together.
    The third entry counts what the result itself claims to know.
    """
    right, seen = np.zeros(3, dtype=int), np.zeros(3, dtype=int)
    for _ in range(runs):
        q, body, _, _, tau = random_contact(rng)
        S, error = disturb(q)
        ideal = isolate(UR5, q, tau, S, confidence=0.99)
        found = isolate(UR5, q, tau + error, S)
        loaded = abs(tau[body]) > 4.0 * np.sqrt(S[body, body])
        distinct = ideal.outcome == "link" and ideal.body == body
        which = np.array([loaded, distinct, found.outcome == "link"])
        seen += which
        right += which & (found.body == body)
    return right / seen, seen


def perfect(rng):
    return lambda q: (np.diag(SENSOR**2), SENSOR * rng.normal(size=6))


def wrong(rng):
    def disturb(q):
        S = torque_covariance(UR5, q, sensor=SENSOR, mass=0.1, friction=0.2, friction_torque=FRICTION)
        bias = rng.uniform(-0.1, 0.1, 6) @ link_torques(UR5, q) + rng.uniform(-0.2, 0.2, 6) * FRICTION
        return S, SENSOR * rng.normal(size=6) + bias

    return disturb


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    "disturb, promise", [(perfect, 0.99), (wrong, 0.90)], ids=["perfect model", "10 % mass, 20 % friction"]
)
def test_link_is_found(disturb, promise):
    rng = np.random.default_rng(11)
    (loaded, distinct, claimed), seen = score(rng, 600, disturb(rng))
    assert seen.min() > 60
    assert distinct > promise
    assert claimed > 0.94  # claims are made from 95 % on, unobservable contacts included
    assert loaded > 0.95  # counts contacts that another link would explain as well


def test_link_is_found_quickly_checked():
    rng = np.random.default_rng(12)
    (loaded, distinct, claimed), _ = score(rng, 60, wrong(rng))
    assert loaded > 0.9 and distinct > 0.9 and claimed > 0.9


@pytest.mark.parametrize("count", [30, pytest.param(60, marks=pytest.mark.thorough)])
def test_place_and_force_on_the_last_link(count):
    rng = np.random.default_rng(13)
    errors, forces = [], []
    for _ in range(count):
        q, body, c, f, tau = random_contact(rng, body=5)
        found = isolate(UR5, q, tau + 0.005 * rng.normal(size=6), np.full(6, 0.005))
        if found.outcome != "located":
            assert found.reason
            continue
        assert found.body == body and found.reason == "" and found.certainty >= 0.95
        errors.append(np.linalg.norm(found.point - c))
        forces.append(np.linalg.norm(found.force - f) / np.linalg.norm(f))
    assert len(errors) > 0.42 * count
    assert np.median(errors) < 2e-3 and np.quantile(errors, 0.9) < 0.03
    assert np.median(forces) < 0.02


def test_place_on_the_upper_arm_is_never_claimed():
    rng = np.random.default_rng(14)
    for _ in range(20):
        q, _, _, _, tau = random_contact(rng, body=1)
        found = isolate(UR5, q, tau, np.full(6, 0.1))
        assert found.outcome != "located" and found.reason


def drawn(seed):
    """A push as it is expected before torques are felt: anywhere, 5 to 200 N, leaning by 0 to 0.5."""
    rng = np.random.default_rng([seed, 19])
    q = rng.uniform(-np.pi, np.pi, 6)
    faces = surfaces(UR5, q, PARTS)
    face, c, m = drawn_place(rng, faces[1:], faces)
    t = np.cross(m, rng.normal(size=3))
    f = -m + rng.uniform(0.0, 0.5) * t / np.linalg.norm(t)
    f *= np.exp(rng.uniform(np.log(5.0), np.log(200.0)))
    return q, c, pushes(UR5, q, face.body, c[None])[0][0].T @ f + SENSOR * rng.normal(size=6)


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.thorough])])
def test_certainty_is_the_share_of_right_places(count):
    """Where the noise is what it is said to be: of places claimed with probabilities p, sum(p) are right.

    The sum has a standard deviation of sqrt(sum(p (1 − p))); four of them are exceeded once in 15,000 times. Of
    "located" places, claimed from 95 % on, 3 % may be wrong; the count allowed is exceeded once in 10,000 times.
    """
    claimed, right, located, wrong = [], [], 0, 0
    for seed in range(count):
        q, c, tau = drawn(seed)
        found = isolate(UR5, q, tau, SENSOR)
        if found.outcome == "no contact":
            continue
        claimed.append(found.certainty)
        right.append(np.linalg.norm(found.point - c) <= found.place)
        if found.outcome == "located":
            assert found.certainty >= 0.95
            located, wrong = located + 1, wrong + (not right[-1])
    p = np.array(claimed)
    assert np.sum(p >= 0.95) >= located >= 0.9 * np.sum(p >= 0.95) > 0.04 * count
    assert abs(np.sum(right) - p.sum()) <= 4.0 * np.sqrt(np.sum(p * (1.0 - p)))
    assert wrong <= binom.isf(1e-4, located, 0.03)


def test_a_light_touch_is_as_good_as_a_strong_one():
    """Torques and noise ten times smaller mean forces ten times smaller, and nothing else."""
    rng = np.random.default_rng(20)
    for _ in range(12):
        q, _, _, _, tau = random_contact(rng)
        tau = tau + 0.05 * rng.normal(size=6)
        strong = isolate(UR5, q, tau, 0.05)
        for scale in (0.03, 10.0):
            other = isolate(UR5, q, scale * tau, scale * 0.05)
            assert other.outcome == strong.outcome and other.link == strong.link
            assert other.certainty == pytest.approx(strong.certainty, abs=1e-6)
            np.testing.assert_allclose(other.point, strong.point, atol=1e-6)
            np.testing.assert_allclose(other.force, scale * strong.force, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
def test_torques_of_any_size_are_isolated_without_losing_a_number(size):
    """Levels of force span what the torques may come from, many powers of ten above the noise."""
    q = np.array([0.4, -1.2, 1.5, -0.6, 0.8, 0.2])
    for noise in (1e-3, 1.0):
        found = isolate(UR5, q, size * np.array([3.0, -9.0, 4.0, 0.7, 0.3, 0.05]), noise)
        masses = [candidate.probability for candidate in found.candidates]
        assert np.isfinite(masses).all()
        assert sum(masses) <= 1.0 + 1e-9


def test_force_line_enters_the_capsule_where_the_contact_is():
    rng = np.random.default_rng(15)
    for _ in range(50):
        q, body, c, f, _ = random_contact(rng)
        point, along, pitch = force_line(f, np.cross(c, f))
        assert abs(pitch) < 1e-9
        face = surfaces(UR5, q, PARTS[1:])[body - 1]
        np.testing.assert_allclose(line_meets_capsule(face, point, along), c, atol=1e-9)
        u, theta = face.find(c)
        np.testing.assert_allclose(face.at(np.array([u]), np.array([theta]))[0][0], c, atol=1e-9)
        assert line_meets_capsule(face, point + 10.0 * face.R[:, 2] + 5.0, along) is None


def test_simulated_contact_model_is_isolated():
    rng = np.random.default_rng(16)
    for body in (2, 5):
        for _ in range(200):
            q, _, c, _, _ = random_contact(rng, body=body)
            face = surfaces(UR5, q, PARTS[1:])[body - 1]
            m = face.at(*(np.array([x]) for x in face.find(c)))[1][0]
            world = World((Sphere(name="ball", centre=tuple(c + 0.0496 * m), radius=0.05),))
            report = contact_report(UR5, world, q) if np.linalg.norm(world["ball"].centre) > 0.3 else None
            if report is not None and list(report.body) == [body]:
                break
        zero = np.zeros(6)
        wrenches = contact_wrench(UR5, world)(UR5, 0.0, q, zero)
        tau = rnea(UR5, q, zero, zero) - rnea(UR5, q, zero, zero, wrenches=wrenches)
        assert np.linalg.norm(report.force[0]) == pytest.approx(40.0, rel=0.01)
        found = isolate(UR5, q, tau, np.full(6, 0.02))
        assert body in [candidate.body for candidate in found.candidates]


def test_noise_is_not_a_contact_and_ambiguity_is_said():
    rng = np.random.default_rng(17)
    outcomes = [isolate(UR5, rng.uniform(-3, 3, 6), SENSOR * rng.normal(size=6), SENSOR).outcome for _ in range(300)]
    assert outcomes.count("no contact") >= 297
    # a push through the axis of joint 4 loads joints 1 to 3 only: forearm or wrist, nobody can tell
    q = np.array([0.3, -1.0, 1.2, 0.4, 1.0, 0.2])
    face = surfaces(UR5, q, PARTS[1:])[2]
    (c,), (m,) = face.at(np.array([0.02]), np.array([0.3]))
    tau = pushes(UR5, q, 3, c[None])[0][0].T @ (-30.0 * m)
    assert abs(tau[3]) < 1e-9
    found = isolate(UR5, q, tau, np.full(6, 0.2))
    assert found.outcome == "ambiguous"
    assert {"forearm", "wrist_1"} <= {candidate.link for candidate in found.candidates}
    assert "several links" in found.reason


def test_link_torques_add_up():
    q = np.random.default_rng(18).uniform(-3, 3, 6)
    np.testing.assert_allclose(link_torques(UR5, q).sum(axis=0), gravity_torque(UR5, q), atol=1e-10)
    heavier = torque_covariance(UR5, q, sensor=0.1, mass=0.1)
    assert np.all(np.linalg.eigvalsh(heavier - torque_covariance(UR5, q, sensor=0.1)) > -1e-12)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"tau_ext": np.full(6, np.nan)}, "tau_ext"),
        ({"tau_ext": np.zeros(5)}, "tau_ext"),
        ({"noise": 0.0}, "positive"),
        ({"noise": np.full((6, 6), 1.0)}, "positive definite"),
        ({"noise": np.ones(3)}, "noise"),
        ({"confidence": 1.5}, "confidence"),
    ],
)
def test_bad_input(change, words):
    good = {"q": np.zeros(6), "tau_ext": np.ones(6), "noise": 0.1}
    with pytest.raises(InputError, match=words):
        isolate(UR5, **(good | change))
