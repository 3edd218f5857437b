# SPDX-License-Identifier: Apache-2.0
"""Isolation claims no more than it knows: changes instead of levels, motion at impacts, more than one contact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import armwright as aw
from armwright.campaigns.kinds.isolation_kind import drawn_plant, on_plant, rehearsed_covariance
from armwright.contact.isolation.contact_patches import mass_within
from armwright.contact.isolation.isolate import isolate, moved_towards
from armwright.contact.isolation.link_surface import bare, drawn_place, pushes, surfaces
from armwright.contact.isolation.torque_change import Episode, change_covariance, level_before
from armwright.errors import InputError
from armwright.exploration.arm.felt_places import find_places
from armwright.exploration.arm.touch_map import empty_map
from armwright.world.arm_capsules import link_capsules

UR5 = aw.load("ur5")
PARTS = link_capsules(UR5)
SENSOR = np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])  # of the torque estimate [N m]


def pushed(rng, q, weight=None, even=False):
    """A push of 20…100 N on a patch drawn by area, times a weight of normals and Jacobians: point and torque.

    Even: all links are as likely.
    """
    faces, points, normals, linear, area = surfaces(UR5, q, PARTS), [], [], [], []
    for face in faces[1:]:
        u, theta, cell = face.grid(0.01, 64)
        at, m = face.at(u, theta)
        points.append(at)
        normals.append(m)
        linear.append(pushes(UR5, q, face.body, at)[0])
        patch = face.around(u) * bare(face, faces, at)
        area.append(patch / max(patch.sum(), 1e-9) if even else cell[0] * cell[1] * patch)
    c, m, J, p = (np.concatenate(part) for part in (points, normals, linear, area))
    p = p if weight is None else p * weight(m, J)
    k = rng.choice(len(c), p=p / p.sum())
    t = np.cross(m[k], rng.normal(size=3))
    f = -m[k] + 0.5 * np.sqrt(rng.uniform()) * t / np.linalg.norm(t)
    return c[k], J[k].T @ (f * np.exp(rng.uniform(np.log(20.0), np.log(100.0))))


@pytest.mark.parametrize("window, gap", [(0.1, 0.05), (0.02, 0.0)])
def test_the_change_knows_nothing_of_a_level_and_carries_the_noise_of_the_mean(window, gap):
    """White noise of unit variance: a change since the mean of w samples varies by 1 + 1/w, whatever the level."""
    rng = np.random.default_rng(31)
    w, k = round(window / 1e-3), 4000
    levels = rng.uniform(-50.0, 50.0, (k, 1, 2))
    noise = rng.normal(size=(k, w + round(gap / 1e-3) + 1, 2))
    rows = [Episode(level + x[:-1], level + x[-1:]) for level, x in zip(levels, noise, strict=True)]
    S = change_covariance(rows, 1e-3, window=window, gap=gap)
    np.testing.assert_allclose(S, np.eye(2) * (1.0 + 1.0 / w), atol=6.0 * np.sqrt(2.0 / k))
    before = np.vstack([np.full((w, 2), 3.0), np.full((round(gap / 1e-3), 2), 99.0)])
    np.testing.assert_allclose(level_before(before, 1e-3, window=window, gap=gap), 3.0)
    assert level_before(before[1:], 1e-3, window=window, gap=gap) is None


def test_changes_of_few_episodes_are_wide_enough():
    """Of n = 6 numbers and k = 12 episodes: squares of the next change, whitened, average 1, not 2.4."""
    rng = np.random.default_rng(32)
    ratios = []
    for _ in range(400):
        x = rng.normal(size=(13, 2, 6))
        rows = [Episode(np.zeros((1, 6)), part) for part in x[:-1, :1]]
        S = change_covariance(rows, 1.0, window=1.0, gap=0.0)
        ratios.append(x[-1, 0] @ np.linalg.solve(S, x[-1, 0]) / 6.0)
    assert np.mean(ratios) < 1.3
    with pytest.raises(InputError, match="at least 8 episodes, got 5"):
        change_covariance(rows[:5], 1.0, window=1.0, gap=0.0)
    with pytest.raises(InputError, match="too few"):
        change_covariance(rows, 1.0, window=2.0, gap=0.0)
    with pytest.raises(InputError, match="period"):
        level_before(np.zeros((5, 6)), 0.0)


@pytest.mark.parametrize("count", [30, pytest.param(60, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("sliding", [False, True], ids=["impact", "slide"])
def test_places_are_as_sure_as_they_say_at_impacts_and_while_sliding(sliding, count):
    """Patches that met something moved towards it, those that slide move across: claimed and true shares agree.

    Of places named with probabilities p, sum(p) are right, within four standard deviations sqrt(sum(p (1 − p))). The
    true place is hardly ever excluded.
    """
    p, right, excluded = [], [], 0
    for seed in range(count):
        rng = np.random.default_rng([seed, 33])
        q, qd = rng.uniform(-np.pi, np.pi, 6), rng.normal(0.0, 0.5, 6)

        def weight(m, J, qd=qd):
            pace = np.einsum("mi,mij,j->m", m, J, qd)
            return np.abs(pace) < 0.02 if sliding else np.maximum(pace, 0.0)

        c, tau = pushed(rng, q, weight)
        found = find_places(
            empty_map(UR5, q, q[None]), q, tau + SENSOR * rng.normal(size=6), SENSOR, qd=None if sliding else qd
        )
        if found.isolation.outcome == "no contact":
            continue
        p.append(found.isolation.certainty)
        right.append(np.linalg.norm(found.isolation.point - c) <= 0.03)
        excluded += mass_within(found.isolation.patches, c[None], 0.05)[0] < 1e-4
        assert found.sure == (p[-1] >= 0.95 and found.isolation.outcome != "several")
    p = np.array(p)
    assert abs(np.sum(right) - p.sum()) <= 4.0 * np.sqrt(np.sum(p * (1.0 - p)))
    assert excluded <= binom.isf(1e-4, len(p), 0.02)


def test_motion_is_evidence_for_named_places_too():
    """With the motion before an impact, the true place is likelier than by torques alone: by logarithms, on average."""
    gained = []
    for seed in range(20):
        rng = np.random.default_rng([seed, 34])
        q, qd = rng.uniform(-np.pi, np.pi, 6), rng.normal(0.0, 0.5, 6)
        c, tau = pushed(rng, q, lambda m, J, qd=qd: np.maximum(np.einsum("mi,mij,j->m", m, J, qd), 0.0))
        tau = tau + SENSOR * rng.normal(size=6)
        ways = [isolate(UR5, q, tau, SENSOR, beside=beside) for beside in (None, moved_towards(qd))]
        if ways[0].outcome != "no contact":
            alone, moved = (np.log(mass_within(way.patches, c[None], 0.03)[0] + 1e-6) for way in ways)
            gained.append(moved - alone)
    still = isolate(UR5, q, 10.0 * tau, SENSOR, beside=moved_towards(np.zeros(6)))
    assert still.certainty == pytest.approx(isolate(UR5, q, 10.0 * tau, SENSOR).certainty, abs=1e-9)
    assert np.mean(gained) > 0.1


@pytest.mark.parametrize("count", [40, pytest.param(80, marks=pytest.mark.thorough)])
def test_two_contacts_are_mostly_not_claimed(count):
    """One passes for several once in 20 times at most; of two, torques that no single push explains are told."""
    one, two, claimed, tried = 0, 0, 0, 0
    for seed in range(count):
        rng = np.random.default_rng([seed, 35])
        q = rng.uniform(-np.pi, np.pi, 6)
        (_, first), (_, second) = pushed(rng, q, even=True), pushed(rng, q, even=True)
        noise = SENSOR * rng.normal(size=6)
        one += isolate(UR5, q, first + noise, SENSOR).outcome == "several"
        found = isolate(UR5, q, first + second + noise, SENSOR)
        assert (found.outcome == "several") == ("more than one" in found.reason)
        two, claimed, tried = two + (found.outcome == "several"), claimed + (found.outcome == "located"), tried + 1
    assert one <= binom.isf(1e-4, tried, 0.05)
    assert two >= 0.15 * tried
    assert claimed <= 0.3 * tried
    with pytest.raises(InputError, match="single"):
        isolate(UR5, q, first, SENSOR, single=1.0)


PLANTS = {
    "as declared": (0.03, 1.0),
    "forces lean to 0.9": (0.10, 1.0),
    "masses ±10 %, friction ±20 %": (0.10, 1.0),
    "two contacts": (0.50, 0.5),
    "2 kg payload": (0.10, 0.5),
    "2 kg picked up after the rehearsal": (0.20, 0.5),  # its weight while braking is in no rehearsal
}


@pytest.mark.parametrize("groups", [2, pytest.param(6, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", PLANTS)
def test_located_is_worth_its_word_on_plants_that_are_not_as_declared(name, groups):
    """Of places called located, at most a share is more than 3 cm off; where it cannot be known, few are called so.

    Counts may exceed what the shares allow once in 10,000 times; seeds are not those of the documentation.
    """
    wrong, claimed = PLANTS[name]
    located = off = 0
    for group in range(groups):
        rng = np.random.default_rng([9, list(PLANTS).index(name), group])
        plant, known = drawn_plant(rng, name)
        covariance = rehearsed_covariance(UR5, rng, known)
        for _ in range(20):
            said = on_plant(UR5, rng, plant, covariance)[2]
            located, off = located + (said.outcome == "located"), off + (said.outcome == "located" and said.off > 0.03)
    assert off <= binom.isf(1e-4, located, wrong)
    assert located <= binom.isf(1e-4, 20 * groups, claimed)


def test_every_free_part_of_a_link_can_have_been_touched():
    """Round ends beside a neighbour that is set off sideways are found; what another link covers is never named."""
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 36])
        q = rng.uniform(-np.pi, np.pi, 6)
        faces = surfaces(UR5, q, PARTS)
        forearm = faces[2]
        along = 0.0
        while 0.0 <= along <= forearm.length:
            _, c, m = drawn_place(rng, [forearm], faces)
            along = forearm.find(c)[0]
        found = isolate(UR5, q, pushes(UR5, q, 2, c[None])[0][0].T @ (-50.0 * m), 0.05)
        hits += mass_within(found.patches, c[None], 0.03)[0] > 1e-3
        named = found.patches.points[found.patches.probability > 1e-6]
        own = found.patches.body[found.patches.probability > 1e-6]
        for body in np.unique(own):
            others = [face.depth(named[own == body]) for face in faces if face.body != body]
            assert np.max(others) <= 0.02, "half of the widest patch"
    assert hits >= 18
