# SPDX-License-Identifier: Apache-2.0
"""An arm that doubts its model finds load and friction, forgets pushes, is never locked out, and stays quiet."""

from functools import lru_cache

import numpy as np
import pytest

import armwright as aw
from armwright.contact.detectors.two_speed import two_speed_detector
from armwright.contact.doubt.alarm_cause import alarm_causes
from armwright.contact.doubt.doubt_filter import (
    OPEN,
    QUARANTINE,
    SAMPLE,
    STARVED,
    TESTS,
    WINDOWS,
    DoubtFilter,
    Unspanned,
)
from armwright.contact.doubt.doubt_learning import DoubtFit, learned_unspanned, window_limits
from armwright.contact.doubt.doubt_watch import DoubtWatch, residual_with, sample_ticks
from armwright.contact.doubt.doubting_detector import doubting_detector
from armwright.contact.doubt.model_errors import weight_scale
from armwright.contact.doubt.recent_samples import PastSpan, RecentSamples
from armwright.contact.monitor import Monitor
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import momentum_observer
from armwright.detection import Spread, study_law, ur5_sensors
from armwright.detection.chained_moves import move_chain
from armwright.detection.study_runs import StudyBench
from armwright.errors import InputError
from armwright.motion.trajectory import Reference

LOADS, MISSING, COUNT = (0.0, 2.0), 2.0, 10
UNSPANNED = Unspanned(np.full(6, 0.2), np.ones(6), np.full(6, 0.4))


@lru_cache(maxsize=1)
def arm() -> aw.Robot:
    return aw.load("ur5-kufieta-c").with_rotors(0.1)


@lru_cache(maxsize=1)
def ignorant() -> aw.Robot:
    """The model: it lacks 2 N m of Coulomb friction in the big joints, 0.3 N m in the wrists."""
    tree = arm().tree
    lacks = np.array([MISSING] * 3 + [0.3] * 3)
    return arm().with_friction(np.diag(tree.viscous), tree.coulomb - lacks)


@lru_cache(maxsize=4)
def runs(load: float):
    """Runs of arms whose masses and friction are 10 % off besides, along one chain."""
    w = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0])
    spread = Spread(mass=0.1, friction=0.1, payload=(load, load))
    bench = StudyBench(arm(), study_law(w**2, 2 * w), ur5_sensors(), spread, 1000.0, 8)
    seeds = [np.random.SeedSequence(77, spawn_key=(k,)) for k in range(COUNT)]
    return bench.run(move_chain(arm(), 10.0, seed=3), seeds, None, 0.0)


@lru_cache(maxsize=4)
def watched(load: float):
    b = runs(load)
    doubt = DoubtFilter(ignorant(), COUNT, unspanned=UNSPANNED)
    return doubt, DoubtWatch(doubt, 1e-3, 100.0).run(b.time, b.q, b.qd, b.tau, None)


def test_load_and_friction_are_found_and_their_intervals_hold():
    inside, errors = [], []
    for load in LOADS:
        doubt, found = watched(load)
        mass, std = found.load[:, -1].T
        errors += (mass - load).tolist()
        inside += (np.abs(mass - load) < 1.96 * std).tolist()
        dry = doubt.theta[:, doubt.layout.coulomb][:, :3]
        assert np.abs(dry.mean(axis=0) - MISSING).max() < 0.7  # the arms' own friction is 10 % of 7 N m off besides
    assert np.sqrt(np.mean(np.square(errors))) < 0.25
    assert np.mean(inside) >= 0.9


def test_a_push_that_raises_the_alarm_within_the_quarantine_is_not_learned():
    rng, said = np.random.default_rng(1), []
    samples = [(rng.normal(size=(2, 6, 14)), rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 6))) for _ in range(250)]
    for push in (0.0, 8.0):
        doubt, again = DoubtFilter(arm(), 2), np.random.default_rng(2)
        for s, (columns, drives, qd) in enumerate(samples):
            r = again.normal(size=(2, 6)) + (push if 150 <= s < 195 else 0.0)
            held = np.full(2, 165 <= s < 200)  # noticed after 0.3 s
            doubt.push(r, columns[:, :, : doubt.layout.bodies], drives, qd, held)
        said.append(doubt.known())
    assert QUARANTINE * 5 * SAMPLE >= 1.0
    assert np.array_equal(said[0].theta, said[1].theta)
    assert np.array_equal(said[0].covariance, said[1].covariance)


def test_an_alarm_that_never_ends_does_not_lock_the_filter_out():
    b = runs(2.0)
    doubt = DoubtFilter(ignorant(), COUNT, unspanned=UNSPANNED, patience=STARVED)
    alarming = DoubtWatch(doubt, 1e-3, 100.0, limits=np.full(TESTS, 1e-6))
    mass, std = alarming.run(b.time, b.q, b.qd, b.tau, None).load.transpose(2, 1, 0)
    assert np.abs(mass[round(STARVED / SAMPLE) - 1]).max() == 0.0
    known = round((STARVED + OPEN) / SAMPLE)  # when the alarm may stop it again
    assert np.abs(mass[known] - 2.0).max() < 1.0
    assert std[known].max() < 1.0  # the prior's is 3 kg


def test_doubting_anew_twice_is_doubting_anew_once():
    doubt, _ = watched(2.0)
    again = DoubtFilter(ignorant(), COUNT, unspanned=UNSPANNED)
    again.P[...] = doubt.P
    for _ in range(3):
        again.reopen(np.ones(COUNT, dtype=bool))
    np.testing.assert_allclose(again.P[:, 0, 0], again.prior[0, 0])
    assert (np.linalg.eigvalsh(again.P) > 0.0).all()


def test_the_two_speed_detector_is_quiet_with_a_load_that_alarms_the_plain_one():
    b = runs(2.0)
    a = 0.33 * np.array([8.0, 8.0, 5.0, 1.5, 1.5, 1.5])
    rows = np.array([a, a, 0 * a, 0 * a, 1.5 * a])
    plain = [momentum_observer(100.0), two_speed_detector(rows, rows)]
    level = run_monitors(plain, ignorant(), b.time, b.q, b.qd, b.tau, b.ref, keep=("level",))["level"]
    fresh = DoubtFilter(ignorant(), COUNT, unspanned=UNSPANNED)
    quiet = DoubtWatch(fresh, 1e-3, 100.0, doubting_detector(rows, rows)).run(b.time, b.q, b.qd, b.tau, b.ref).level
    assert (level[:, 6000:] >= 1.0).any(axis=1).mean() > 0.8
    assert (quiet[:, 6000:] >= 1.0).any(axis=1).mean() < 0.1


def test_until_an_arm_knows_itself_it_learns_as_if_it_had_no_quick_channel():
    b = runs(2.0)
    rows = np.array([np.full(6, 0.01), *np.zeros((4, 6))])  # thresholds that any motion exceeds
    doubt = DoubtFilter(ignorant(), COUNT, unspanned=UNSPANNED)
    said = DoubtWatch(doubt, 1e-3, 100.0, doubting_detector(rows, rows), ready=6.0).run(b.time, b.q, b.qd, b.tau, b.ref)
    _, plain = watched(2.0)
    ready = round(6.0 / SAMPLE)
    np.testing.assert_array_equal(said.load[:, :ready], plain.load[:, :ready])
    assert said.level[:, :6000].max() == 0.0 and (said.level[:, 6000:] >= 1.0).any(axis=1).all()
    assert np.abs(said.load[:, ready:] - plain.load[:, ready:]).max() > 0.0  # then alarms stop it


def test_the_quick_channel_does_not_feel_what_the_filter_learns():
    """Its level is that of a channel which is given what was felt; the compensated torque itself jumps."""
    b = runs(2.0)
    rows = np.array([np.full(6, 1e6), *np.zeros((4, 6))])  # never an alarm, and the doubt does not matter
    doubt = DoubtFilter(ignorant(), COUNT, unspanned=UNSPANNED)
    said = DoubtWatch(doubt, 1e-3, 100.0, doubting_detector(rows, rows)).run(b.time, b.q, b.qd, b.tau, b.ref)
    ticks, level = said.tau_ext.shape[1], {}
    ref = Reference(*(part[:ticks] for part in b.ref))
    for name, tau in (("felt", said.felt()), ("tau_ext", said.tau_ext)):
        given = Monitor("given", lambda tau: {"tau_ext": tau}, outputs=("tau_ext",))
        chain = [given, doubting_detector(rows, rows)]
        level[name] = run_monitors(chain, arm(), b.time[:ticks], tau, tau, tau, ref, keep=("level",))["level"]
    np.testing.assert_allclose(said.level, level["felt"].reshape(said.level.shape), rtol=1e-3, atol=1e-8)
    assert np.abs(level["tau_ext"] - level["felt"]).max() > 0.1 * level["felt"].max()


@pytest.mark.parametrize("begin", [6000, 6800])
def test_a_contact_that_grows_in_motion_shows_in_the_change_before_it_shows_in_the_level(begin):
    b, ticks = runs(2.0), round(SAMPLE / 1e-3)
    assert np.abs(b.ref.qd[begin]).max() > 0.5
    push = np.zeros(b.tau.shape)
    push[:, begin:, 1] = 10.0 * (b.time[begin:] - b.time[begin])  # [N m] of 20 N/s at half a metre
    _, free = watched(2.0)
    usual = free.excess[:, 300:].max(axis=(0, 1))  # of every test
    fresh = DoubtFilter(ignorant(), COUNT, unspanned=UNSPANNED)
    pushed = DoubtWatch(fresh, 1e-3, 100.0).run(b.time, b.q, b.qd, b.tau - push, None).excess
    above = pushed[:, begin // ticks :] > usual
    level, change = (part.any(axis=2).argmax(axis=1) for part in np.split(above, [len(WINDOWS)], axis=2))
    assert (change > 0).all() and np.median(change) * SAMPLE < 0.3
    assert np.median(change) < np.median(level)


def test_means_of_the_past_are_what_they_say():
    rng, spans = np.random.default_rng(11), [PastSpan(0, 1), PastSpan(0, 7), PastSpan(3, 4), PastSpan(6, 2)]
    x, recent = rng.normal(size=(60, 2, 3)), RecentSamples(spans, 2, [(3,)])
    for k, sample in enumerate(x):
        recent.keep(sample)
        assert recent.full().tolist() == [span.end <= k + 1 for span in spans]
        for mean, span, full in zip(recent.means()[0], spans, recent.full(), strict=True):
            if full:
                np.testing.assert_allclose(
                    mean, x[k + 1 - span.end : k + 1 - span.ago].mean(axis=0), rtol=0, atol=1e-14
                )
    np.testing.assert_array_equal(recent.past(0, 2, 3), x[[57, 56, 55]])
    np.testing.assert_array_equal(recent.newest(0), x[-1])
    recent.clear()
    assert not recent.full().any()


def test_the_doubt_of_the_model_is_that_of_its_tests():
    doubt, found = watched(2.0)
    assert np.median(found.excess[:, 300:], axis=(0, 1)).max() < 10.0  # six joints
    assert found.excess[:, 300:].max() < 80.0
    assert (doubt.load_std < 0.35).all()


def test_what_the_columns_do_not_span_is_learned_per_joint():
    rng = np.random.default_rng(4)
    S, offset, white = 2000, np.array([0.5, 0.2]), np.array([0.2, 0.4])
    b = np.zeros((8, S, 2))
    for s in range(1, S):
        keep = np.exp(-SAMPLE / 1.0)
        b[:, s] = keep * b[:, s - 1] + np.sqrt(1 - keep**2) * offset * rng.normal(size=(8, 2))
    found = learned_unspanned([b + white * rng.normal(size=b.shape)], [np.zeros(b.shape)], SAMPLE)
    assert np.allclose(found.offset, offset, rtol=0.15)
    assert np.allclose(found.white, white, rtol=0.3)
    with pytest.raises(InputError, match="joint 1 never moved"):
        learned_unspanned([b], [np.ones(b.shape)], SAMPLE)


def test_limits_of_the_windows_keep_the_stated_rate():
    rng = np.random.default_rng(9)
    train, fresh = (rng.chisquare(6, size=(64, 5000, TESTS)) for _ in range(2))
    limits = window_limits([train], SAMPLE, rate=20.0)
    hours = 64 * 5000 * SAMPLE / 3600.0
    assert (np.sqrt(fresh) > limits).any(axis=2).sum() / hours < 20.0
    assert (limits < 1.5 * np.sqrt(train.max())).all()


def test_errors_known_from_the_beginning_leave_less():
    b, (doubt, _) = runs(2.0), watched(2.0)
    args = (1e-3, 100.0, b.time, b.q, b.qd, b.tau)
    plain, known = (residual_with(ignorant(), k * doubt.theta, *args) for k in (0.0, 1.0))
    moving = np.abs(b.qd[:, 1000:]) > 0.1
    left, before = (np.sqrt((x[:, 1000:] ** 2)[moving].mean()) for x in (known, plain))
    assert left < 0.25 * before


@pytest.mark.parametrize("what", ["contact", "load", "unknown"])
def test_what_is_left_after_backing_off_says_what_an_alarm_was(what):
    rng, doubt = np.random.default_rng(6), DoubtFilter(arm(), 8, unspanned=UNSPANNED)
    p, n = doubt.layout.size, 6
    doubt.P[:, range(p), range(p)] *= 1e-4  # an arm that knows itself
    doubt.P[:, :p, :p] = np.eye(p) * doubt.P[:, range(p), range(p)][:, None]
    columns = rng.normal(0.0, 3.0, size=(8, n, doubt.layout.bodies))
    drives = rng.normal(0.0, 1.0, size=(8, 3, n))
    extra = columns[:, :, :4] @ np.array([1.5, 0.0, 0.0, 0.1]) if what == "load" else np.zeros((8, n))
    if what == "unknown":
        extra = 0.2 * weight_scale(arm()) * rng.choice([-1.0, 1.0], size=(8, n))
    for k in range(40):
        r = extra + rng.normal(0.0, 0.4, size=(8, n))
        turned = drives if k < 25 else -drives  # it goes back: friction would turn, too
        doubt.push(r, columns, turned, np.ones((8, n)), np.ones(8, dtype=bool))
    causes = alarm_causes(doubt)
    assert sum(cause.name == what for cause in causes) >= 7
    if what == "load":
        assert all(abs(cause.load - 1.5) < 3.0 * cause.load_std + 0.2 for cause in causes)
        assert "kg more" in causes[0].said()
    with pytest.raises(InputError, match="there are 40 samples"):
        alarm_causes(doubt, stretches=3)


def test_a_fit_survives_plain_numbers():
    fit = DoubtFit(UNSPANNED, np.arange(1.0, 1.0 + TESTS), np.ones((5, 6)), 2 * np.ones((5, 6)), 100.0, 0.2, 1.5)
    again = DoubtFit.from_dict(fit.to_dict())
    assert again.to_dict() == fit.to_dict()
    assert np.array_equal(again.unspanned.white, UNSPANNED.white)


def test_what_cannot_be_watched_is_refused():
    with pytest.raises(InputError, match="control period"):
        sample_ticks(0.03)
    with pytest.raises(InputError, match="samples"):
        DoubtFilter(arm(), sample=0.2)
    with pytest.raises(InputError, match=r"0\.024 s fit"):
        DoubtWatch(DoubtFilter(arm()), 0.008, 40.0)
    with pytest.raises(InputError, match=f"{TESTS} positive"):
        DoubtWatch(DoubtFilter(arm()), 1e-3, 40.0, limits=np.ones(3))
    watch = DoubtWatch(DoubtFilter(arm()), 1e-3, 40.0, doubting_detector(np.ones((5, 6)), np.ones((5, 6))))
    with pytest.raises(InputError, match="reference"):
        watch.run(np.arange(20) * 1e-3, *[np.zeros((1, 20, 6))] * 3, None)
