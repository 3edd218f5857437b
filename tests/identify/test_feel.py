# SPDX-License-Identifier: Apache-2.0
"""Feeling: what is pushed is felt, what is not is not, offline and sample by sample alike."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import armwright as aw
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import geared_momentum_observer
from armwright.errors import InputError
from armwright.identify import (
    Known,
    Log,
    feel,
    feel_stream,
    fit,
    learn_bands,
    load_model,
    payload,
    predict_currents,
    residuals,
    save_model,
    with_bands,
)
from armwright.identify.even_ticks import Evenly
from armwright.identify.external_torque import direct_residuals
from armwright.identify.feeling import Feeler
from armwright.identify.felt_contacts import contacts_of, wrench_at
from armwright.identify.felt_report import felt_report, felt_stage
from armwright.identify.gear_friction import hysteresis
from armwright.simulation.monitor_stream import MonitorStream
from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

GAINS = np.full(6, 11.0)
ARM, FRICTION = true_arm(), gear_friction(6)
PUSH = np.array([25.0, -10.0, 30.0, 0.0, 0.0, 0.0])


def pushes(seconds, times, rate=100.0):
    """Wrench on the tool (T, 6): half-sine pushes of one second that begin at `times`."""
    t = np.arange(round(seconds * rate) + 1) / rate
    shape = sum(np.where((t > a) & (t < a + 1.0), np.sin(np.pi * (t - a)), 0.0) for a in times)
    return np.asarray(shape)[:, None] * PUSH


@cache
def model():
    log = simulated_log(ARM, FRICTION, GAINS, 30.0, noise=0.02)
    found = fit(log, sheet_of(), gains=Known(GAINS))
    return with_bands(found, learn_bands(found, log))


@cache
def pushed():
    return simulated_log(ARM, FRICTION, GAINS, 20.0, seed=5, noise=0.02, wrench=pushes(20.0, (4.0, 9.0, 14.0)))


@cache
def heavy():
    return simulated_log(
        ARM.with_payload(2.0, (0.0, 0.0, 0.1)), FRICTION, GAINS, 20.0, seed=3, noise=0.02, name="heavy"
    )


@cache
def carried():
    return payload(model(), heavy())


def test_a_payload_is_an_estimate_or_its_parameters_everywhere():
    found = [feel(model(), heavy(), payload=p).ticks.tau_ext for p in (carried(), carried().parameters)]
    assert np.array_equal(*found)
    assert not feel(model(), heavy(), payload=carried()).contacts and feel(model(), heavy()).contacts
    first = next(iter(zip(heavy().t, heavy().q, heavy().qd, heavy().current, strict=True)))
    for wrong in (2.0, [1.0, 2.0], [np.nan] * 10, "heavy"):
        for use in (
            lambda p: feel(model(), heavy(), payload=p),
            lambda p: list(feel_stream(model(), [first], payload=p)),
            lambda p: residuals(model(), heavy(), payload=p),
            lambda p: predict_currents(model(), heavy(), payload=p),
            lambda p: direct_residuals(model(), heavy(), payload=p),
            lambda p: learn_bands(model(), heavy(), payloads=[p]),
        ):
            with pytest.raises(InputError, match="10 finite parameters"):
                use(wrong)


def test_bands_of_the_training_logs_know_what_the_fit_weighed():
    told = learn_bands(model(), heavy(), payloads=[carried()])
    assert np.array_equal(learn_bands(replace(model(), payloads=(carried(),)), heavy()).motion, told.motion)
    assert (learn_bands(model(), heavy()).motion > told.motion).any()


def test_a_stream_of_another_arm_is_refused():
    with pytest.raises(InputError, match="a number for each joint"):
        list(feel_stream(model(), [(0.0, np.zeros(5), np.zeros(5), np.zeros(5))]))


def test_each_push_is_one_contact_and_the_free_log_has_none():
    free = simulated_log(ARM, FRICTION, GAINS, 20.0, seed=5, noise=0.02)
    assert not feel(model(), free).contacts
    found = feel(model(), pushed()).contacts
    assert len(found) == 3
    for contact, begin in zip(found, (4.0, 9.0, 14.0), strict=True):
        assert begin < contact.start < contact.peak < contact.end < begin + 1.6


def test_a_torque_that_was_felt_before_moves_no_place_and_a_contact_from_the_start_claims_nothing():
    """Isolated is the change: an undeclared load, a constant torque here, does not change what a contact says."""
    felt, known = feel(model(), pushed()), model()
    assert known.bands is not None
    ticks = felt.ticks
    loaded = replace(ticks, tau_ext=ticks.tau_ext + np.array([0.0, 12.0, 8.0, 1.0, 0.5, 0.0]))
    same = contacts_of(known, known.bands, loaded)
    assert [c.link for c in same] == [c.link for c in felt.contacts]
    for one, other in zip(felt.contacts, same, strict=True):
        np.testing.assert_allclose(one.force, other.force, atol=1e-6)
    begun = replace(ticks, alarm=np.where(ticks.t < felt.contacts[0].end, True, ticks.alarm))
    first = contacts_of(known, known.bands, begun)[0]
    assert first.link is None and "level before it is unknown" in first.said


def test_the_replay_lights_up_the_touched_link_while_it_is_touched(tmp_path):
    felt = feel(model(), pushed())
    stage = felt_stage(felt, model())
    names = [body.name for body in model().robot.bodies]
    t = stage.time + felt.ticks.t[0]
    inside = np.zeros(len(t), dtype=bool)
    for contact in felt.contacts:
        span = (t >= contact.start) & (t <= contact.end)
        inside |= span
        expected = -1 if contact.link is None else names.index(contact.link)
        assert (stage.touched[span] == expected).all()
        if contact.wrench is None or not contact.wrench.valid:
            assert not any(arrow.values[span].any() for arrow in stage.arrows)  # no tool force where none is known
    assert (stage.touched[~inside] == -1).all()
    assert [event.time for event in stage.events] == [c.start - felt.ticks.t[0] for c in felt.contacts]
    pytest.importorskip("matplotlib", reason="the report draws a figure")
    text = felt_report(felt, model(), tmp_path / "felt.html", title="<b>").read_text(encoding="utf-8")
    assert "3 contacts in 20.0 s" in text and 'id="replay-data"' in text and "<b>" not in text
    assert len(text) < 1_200_000


def test_the_observer_follows_the_torque_of_the_push():
    found = residuals(model(), pushed())
    J = aw.jacobian(ARM, found.q)
    exact = np.einsum("tij,ti->tj", J, pushes(20.0, (4.0, 9.0, 14.0))[: len(found.t)])
    lagged = np.zeros_like(exact)
    for k in range(1, len(exact)):  # the observer is a first-order filter of 20 rad/s
        lagged[k] = lagged[k - 1] + (1.0 - np.exp(-0.2)) * (0.5 * (exact[k] + exact[k - 1]) - lagged[k - 1])
    error = np.where(found.moving, found.tau_ext - lagged, 0.0)
    assert (np.sqrt(np.mean(error**2, axis=0)) < 0.06 * np.abs(exact).max(axis=0) + 0.1).all()


def test_samples_one_by_one_give_the_bits_of_the_whole_log():
    log = pushed()
    uneven = log.rows(np.sort(np.random.default_rng(0).choice(len(log), 1500, replace=False)))
    whole = feel(model(), uneven, isolate=False).ticks
    samples = zip(uneven.t, uneven.q, uneven.qd, uneven.current, strict=True)
    single = list(feel_stream(model(), samples))
    feeler, parts = Feeler(model()), []
    for rows in np.array_split(np.arange(len(uneven)), 23):
        parts.append(feeler.push(uneven.t[rows], uneven.q[rows], uneven.qd[rows], uneven.current[rows]))
    for name in ("t", "q", "tau_ext", "band", "level", "alarm", "resting"):
        expected = getattr(whole, name)
        assert np.array_equal(np.concatenate([getattr(x, name) for x in single]), expected), name
        assert np.array_equal(np.concatenate([getattr(x, name) for x in parts]), expected), name


def test_what_is_felt_does_not_depend_on_the_future():
    log = pushed()
    some = feel(model(), log.rows(slice(0, 900)), isolate=False).ticks
    whole = feel(model(), log, isolate=False).ticks
    assert np.array_equal(some.tau_ext, whole.tau_ext[: len(some)])


def test_a_stream_of_monitors_is_the_offline_run():
    log = pushed()
    observer = geared_momentum_observer(20.0, FRICTION.coefficients)
    offline = run_monitors(observer, ARM, log.t, log.q, log.qd, log.current * GAINS)
    stream = MonitorStream(observer, ARM, 0.01)
    parts = [stream.push(*(x[k::1][:1] for x in (log.t, log.q, log.qd, log.current * GAINS))) for k in range(200)]
    assert np.array_equal(np.concatenate([p["tau_ext"] for p in parts]), offline["tau_ext"][:200])


def resting(tau, seconds=4.0):
    """A log of the resting arm whose motors give `tau` (T, n) beside gravity."""
    t = np.arange(round(seconds * 100)) / 100.0
    q = np.tile([0.3, -1.0, 1.2, -0.4, 0.8, 0.1], (len(t), 1))
    current = (aw.gravity_torque(model().robot, q) + tau(t)) / GAINS
    return Log(t, q, np.zeros_like(q), current)


def test_at_rest_the_coulomb_band_hides_and_more_is_felt_if_it_lasts():
    band = model().friction.band(aw.gravity_torque(model().robot, resting(lambda t: 0.0 * t[:, None]).q[0]))
    only = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def contacts(size, begin=1.0, end=2.0):
        log = resting(lambda t: np.where((t > begin) & (t < end), size, 0.0)[:, None] * band * only)
        return feel(model(), log).contacts

    assert not contacts(1.1)
    assert not contacts(5.0, 1.0, 1.03)  # shorter than a hand can push: an arm that stops at once does this
    found = contacts(3.0)
    assert len(found) == 1 and found[0].joint == ARM.joints[2].name


def test_gear_output_inverts_the_friction_that_was_identified():
    from armwright.contact.observers.geared_momentum import gear_output

    rng = np.random.default_rng(1)
    v, out = rng.normal(size=(2, 50, 6))
    h = hysteresis(v, 0.01)
    motor = 30.0 * out + FRICTION.torque(v, h, 30.0 * out)
    for k in range(50):
        np.testing.assert_allclose(gear_output(motor[k], v[k], h[k], FRICTION.coefficients), 30.0 * out[k], atol=1e-9)


def test_a_push_on_the_tool_is_read_as_a_wrench_and_near_a_singularity_the_lost_direction_is_named():
    q = np.array([0.3, -1.6, 1.7, -1.6, 1.5, 0.1])
    tau = aw.jacobian(ARM, q).T @ PUSH
    noise = 0.01 * np.eye(6)
    seen = wrench_at(ARM, q, tau, noise)
    assert seen.valid and seen.lost is None
    np.testing.assert_allclose(seen.wrench, PUSH, atol=1e-9)
    J = np.linalg.inv(aw.jacobian(ARM, q).T)
    np.testing.assert_allclose(seen.covariance, J @ noise @ J.T, atol=1e-9)
    stretched = q.copy()
    stretched[4] = 1e-4  # wrist axes 4 and 6 in line
    lost = wrench_at(ARM, stretched, tau, noise)
    assert not lost.valid
    felt = aw.jacobian(ARM, stretched).T @ lost.lost
    assert np.linalg.norm(felt) < 1e-3 * np.linalg.norm(aw.jacobian(ARM, stretched))


def test_even_ticks_refuse_time_that_does_not_rise():
    with pytest.raises(InputError, match="rise"):
        Evenly(100.0).push(np.array([0.0, 0.0]), np.ones((2, 1)))


def samples_of(log):
    return list(zip(log.t.tolist(), log.q, log.qd, log.current, strict=True))


def felt_of(samples):
    feeler = Feeler(model())
    ticks = [tick for sample in samples for tick in feeler.take(*sample)]
    return np.array([tick.t for tick in ticks]), np.array([tick.of("wrench") for tick in ticks]), feeler.counts


def test_one_sample_at_a_time_is_the_whole_log_bit_for_bit():
    log = pushed()
    uneven = log.rows(np.sort(np.random.default_rng(0).choice(len(log), 1500, replace=False)))
    whole = feel(model(), uneven, isolate=False).ticks
    feeler = Feeler(model())
    ticks = [tick for sample in samples_of(uneven) for tick in feeler.take(*sample)]
    assert [tick.t for tick in ticks] == whole.t.tolist()
    for name in ("tau_ext", "band", "level", "resting", "wrench", "half", "covariance", "seen"):
        expected = getattr(whole, name)
        assert np.array_equal(np.array([t.of(name) for t in ticks]).reshape(expected.shape), expected), name
    assert [tick.alarm for tick in ticks] == whole.alarm.tolist()


def test_what_wires_do_is_counted_and_changes_nothing_else():
    clean = samples_of(pushed())[:900]
    t, wrench, _ = felt_of(clean)
    dirty = list(clean)
    dirty.insert(700, (clean[699][0], *clean[500][1:]))  # a stamp that was seen
    dirty.insert(500, clean[400])  # reordered
    dirty.insert(300, (float("nan"), *clean[300][1:]))
    dirty.insert(200, (clean[200][0], clean[200][1] * np.nan, *clean[200][2:]))
    again, same, counts = felt_of(dirty)
    assert np.array_equal(t, again) and np.array_equal(wrench, same)
    assert counts == {"start": 1, "cycle": 899, "repeated": 1, "old": 1, "not finite": 2}
    feeler = Feeler(model())
    columns = [np.array(column) for column in zip(*dirty, strict=True)]
    assert np.array_equal(feeler.push(*columns).wrench, wrench) and feeler.counts == counts


def test_a_clock_that_begins_anew_is_another_stream_that_feels_what_it_would_alone():
    some = samples_of(pushed())[:600]
    t, wrench, _ = felt_of(some)
    _, twice, counts = felt_of([(a + 1000.0, *rest) for a, *rest in some] + some)
    assert counts["restart"] == 1 and np.array_equal(twice[-len(t) :], wrench)
    feeler = Feeler(model())
    feeler.push(*(np.array(column) for column in zip(*[(a + 1000.0, *rest) for a, *rest in some], strict=True)))
    assert np.array_equal(feeler.push(*(np.array(column) for column in zip(*some, strict=True))).wrench, wrench)


def test_a_pause_in_the_log_is_no_contact_and_none_is_lost_behind_it():
    free = simulated_log(ARM, FRICTION, GAINS, 20.0, seed=5, noise=0.02)
    for begin in np.arange(3.0, 18.0, 1.3):
        keep = (free.t < begin) | (free.t > begin + 0.37)
        assert not feel(model(), free.rows(keep), isolate=False).contacts, begin
    log = pushed()
    cut = log.rows((log.t < 6.0) | (log.t > 6.4))
    assert len(feel(model(), cut, isolate=False).contacts) == 3
    samples = zip(cut.t, cut.q, cut.qd, cut.current, strict=True)
    single = np.concatenate([x.tau_ext for x in feel_stream(model(), samples)])
    assert np.array_equal(single, feel(model(), cut, isolate=False).ticks.tau_ext)


def test_a_model_comes_back_from_its_file(tmp_path):
    path = save_model(model(), tmp_path / "arm.json")
    back = load_model(path)
    np.testing.assert_allclose(back.beta, model().beta, rtol=1e-9, atol=1e-9)
    assert np.array_equal(back.gains, model().gains)
    assert np.array_equal(back.friction.coefficients, model().friction.coefficients)
    assert back.base == model().base and back.undetermined == model().undetermined
    first, second = (feel(m, pushed(), isolate=False).ticks for m in (model(), back))
    np.testing.assert_allclose(second.tau_ext, first.tau_ext, atol=1e-8)
    sheet = back.robot.to_sheet()
    assert "identified from simulated" in sheet


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda c: c.update(format="x"), "not a model"),
        (lambda c: c.update(version=99), "version"),
        (lambda c: c["gains"].update(values=[1.0] * 5), "gains.values"),
        (lambda c: c["gains"].update(values=[-1.0] * 6), "gains.values"),
        (lambda c: c["friction"].update(dahl=-1.0), "dahl"),
        (lambda c: c["friction"]["coefficients"][0].__setitem__(2, -5.0), "Coulomb"),
        (lambda c: c["friction"]["coefficients"][0].__setitem__(0, "much"), "friction.coefficients"),
        (lambda c: c.pop("residual_current"), "residual_current"),
        (lambda c: c["bands"].update(motion=[0.0] * 6), "motion"),
        (lambda c: c.update(sheet="mass = 1"), "sheet"),
        (lambda c: c["friction"].update(terms=["viscous"]), "friction.terms"),
        (lambda c: c["friction"].update(dahl=3.0), "dahl"),
        (lambda c: c["friction"].update(dahl=True), "dahl"),
        (lambda c: c["gains"].update(values=[True] * 6), "gains.values"),
        (lambda c: c["bands"].update(motion=[1e9] * 6), "motion"),
        (lambda c: c["bands"].update(rest=1e6), "rest"),
        (lambda c: c["bands"].update(largest=[-1.0] * 6), "largest"),
        (lambda c: c["base"][0].update(value="heavy"), "base"),
        (lambda c: c["base"][0].update(deviation=-1.0), "base"),
        (lambda c: c["base"][0].update(value=[1.0]), "base"),
        (lambda c: c.update(gain_estimates=[]), "gain_estimates"),
        (lambda c: c["bands"]["motion"].__setitem__(0, 1e-300), "motion"),
        (lambda c: c["gain_estimates"][0].update(value=None), "gain_estimates"),
        (lambda c: c.update(friction_estimates=[5]), "friction_estimates"),
        (lambda c: c.update(payloads=5), "payloads"),
        (lambda c: c.update(payloads=None), "payloads"),
        (lambda c: c.update(payloads=[None]), "payloads"),
        (lambda c: c["payloads"][0]["parameters"].__setitem__(0, 0.0), "mass"),
        (lambda c: c["payloads"][0]["covariance"][0].__setitem__(0, -1.0), "covariance"),
        (lambda c: c["payloads"][0]["covariance"][0].__setitem__(1, 1e3), "covariance"),
        (lambda c: c.update(sheet=c["sheet"].replace("mass = { value = ", "mass = { value = 0.0001")), "sheet"),
    ],
)
def test_a_model_file_edited_into_nonsense_is_refused_with_the_place(tmp_path, change, said):
    import json

    path = save_model(replace(model(), payloads=(carried(),)), tmp_path / "arm.json")
    assert load_model(path).payloads[0].mass == carried().mass
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=said) as refused:
        load_model(path)
    assert "arm.json" in str(refused.value)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="JSON"):
        load_model(path)


def test_feeling_needs_bands_and_says_so():
    bare = replace(model(), bands=None)
    with pytest.raises(InputError, match="learn_bands"):
        feel(bare, pushed())
    with pytest.raises(InputError, match="at least one log"):
        learn_bands(model(), [])


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    from armwright.identify import fit_report as pictures
    from armwright.identify import predict_currents

    felt = feel(model(), pushed(), isolate=False)
    pictures.timeline(felt, model(), tmp_path / "a.png")
    pictures.currents(predict_currents(model(), pushed()), model(), tmp_path / "b.png")
    pictures.load_friction(model(), pushed(), tmp_path / "c.png")
    pictures.deviations(model(), tmp_path / "d.png")
    assert all((tmp_path / f"{name}.png").stat().st_size > 5000 for name in "abcd")


def test_numbers_that_cannot_be_told_from_zero_are_bounds():
    from armwright.identify import Estimate

    assert "2 ± 0.4" in str(Estimate("x", 2.0, 0.2, "kg"))
    assert "within ±0.5 of 0" in str(Estimate("x", 0.1, 0.2, "kg"))
    assert str(Estimate("x", None, None, "kg")) == "x: undetermined"
