# SPDX-License-Identifier: Apache-2.0
"""The monitor: bit for bit the offline run, and a defined outcome for every kind of bad sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.programs.motors.motor_cycle import point_mass
from armwright.programs.motors.motor_demand import Demand
from armwright.programs.motors.motor_loop import run_motors
from armwright.programs.motors.motor_monitor import (
    DONE,
    MotorMonitor,
    MotorSample,
    monitor_stream,
    sample_of_message,
    samples_of_demand,
    samples_of_recording,
)
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from support.motors import DT, point_to_point, rl15, with_motors

PARTS = ("q", "qd", "qdd", "heat", "torque", "wanted", "limit", "saturated", "clipped")


def same(readings, run):
    """Whether readings (without the first) are a run, bit for bit."""
    return all(np.array_equal(np.array([getattr(r, part) for r in readings[1:]]), getattr(run, part)) for part in PARTS)


def monitor(**options):
    return MotorMonitor(rl15(), DT, inputs=("wrench",), **options)


def stream(demand=None):
    return list(samples_of_demand(point_to_point(4.0, hold=30) if demand is None else demand))


@pytest.mark.parametrize("rule", ["full", "partitioned", "unlimited"])
def test_stream_is_the_offline_run_bit_for_bit(rule):
    demand = point_to_point(4.0, hold=30)
    heated = with_motors(rl15(), continuous_torque=np.full(6, 2.0), thermal_time=np.full(6, 3.0))
    run = run_motors(heated, demand, rule)
    watch = MotorMonitor(heated, DT, rule, inputs=("wrench",))
    readings = monitor_stream(watch, samples_of_demand(demand))
    assert run.saturated.any() and run.heat.any()
    assert same(readings, run)
    assert watch.counts == Counter(start=1, cycle=demand.cycles)
    use = np.array([r.use for r in readings[1:]])
    assert np.allclose(use, run.torque_use, equal_nan=True)
    assert np.array_equal([r.flagged for r in readings[1:]], (run.saturated | run.clipped).any(axis=1))
    assert np.allclose([r.margin for r in readings[1:]], 1.0 - run.torque_use.max(axis=1))


def test_payload_of_the_stream():
    demand = point_to_point(2.0)
    demand = replace(demand, payload=np.repeat([point_mass(0.0), point_mass(5.0)], [40, demand.cycles - 40], axis=0))
    watch = MotorMonitor(rl15(), DT, inputs=("payload", "wrench"))
    assert same(monitor_stream(watch, samples_of_demand(demand)), run_motors(rl15(), demand))


def test_jitter_of_the_clock_does_not_matter():
    rng = np.random.default_rng(0)
    shaken = [s._replace(t=s.t + 100.0 + rng.uniform(-0.2, 0.2) * DT * (k > 0)) for k, s in enumerate(stream())]
    assert same(monitor_stream(monitor(), shaken), run_motors(rl15(), point_to_point(4.0, hold=30)))


def test_repeated_and_reordered_samples_change_nothing():
    samples = stream()
    messy = [*samples[:20], samples[19], samples[5], *samples[20:40], samples[39], *samples[40:]]
    watch = monitor()
    readings = monitor_stream(watch, messy)
    assert watch.counts["repeated"] == 2 and watch.counts["old"] == 1
    done = [readings[0], *(r for r in readings if r.status in DONE)]
    assert same(done, run_motors(rl15(), point_to_point(4.0, hold=30)))
    before, again = readings[19], readings[20]
    assert again.status == "repeated" and np.array_equal(before.torque, again.torque) and again.cycle == before.cycle


def test_two_samples_that_changed_places():
    """The one that overtook counts as following a loss, the overtaken one is old."""
    samples = stream()
    samples[10], samples[11] = samples[11], samples[10]
    watch = monitor()
    readings = monitor_stream(watch, samples)
    assert readings[10].status == "lost" and readings[10].lost == 1 and readings[11].status == "old"
    assert readings[12].status == "cycle" and watch.lost == 1


def test_lost_samples_are_filled_on_a_straight_line():
    demand = point_to_point(4.0, hold=30)
    samples = stream(demand)
    gone = samples[:15] + samples[18:]
    q = demand.q.copy()
    for k in (1, 2, 3):
        q[14 + k] = q[14] + (q[18] - q[14]) * (k / 4)
    watch = monitor()
    readings = monitor_stream(watch, gone)
    assert readings[15].status == "lost" and readings[15].lost == 3 and readings[15].cycle == 18
    assert watch.lost == 3
    run = run_motors(rl15(), replace(demand, q=q))
    assert np.array_equal(readings[15].torque, run.torque[17])
    assert np.array_equal(readings[-1].q, run.q[-1])


def test_a_long_gap_starts_anew_and_keeps_the_heat():
    heated = with_motors(rl15(), continuous_torque=np.full(6, 2.0), thermal_time=np.full(6, 3.0))
    samples = stream()
    watch = MotorMonitor(heated, DT, inputs=("wrench",), max_gap=5)
    readings = monitor_stream(watch, samples[:30] + samples[60:])
    assert readings[30].status == "restart" and readings[30].cycle == 0
    assert np.array_equal(readings[30].q, samples[60].q) and not readings[30].qd.any()
    assert np.array_equal(readings[30].heat, readings[29].heat) and readings[29].heat.any()
    assert readings[31].status == "cycle" and readings[31].cycle == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"q": np.array([0.0, np.nan, 0.0, 0.0, 0.0, 0.0])}, "not finite"),
        ({"q": np.full(6, np.inf)}, "not finite"),
        ({"wrench": np.full(6, np.nan)}, "not finite"),
        ({"t": np.nan}, "not finite"),
        ({"measured": (np.full(6, np.nan), np.zeros(6))}, "not finite"),
        ({"q": np.zeros(5)}, "malformed"),
        ({"q": "home"}, "malformed"),
        ({"q": None}, "not finite"),
        ({"wrench": np.zeros(3)}, "malformed"),
    ],
)
def test_a_bad_sample_changes_nothing_and_is_lost(change, status):
    """After NaN or rubbish the next sample finds the state of before, and fills the missing cycle."""
    samples = stream()
    broken = [*samples[:25], samples[25]._replace(**change), *samples[26:]]
    watch, other = monitor(), monitor()
    readings = monitor_stream(watch, broken)
    without = monitor_stream(other, samples[:25] + samples[26:])
    assert readings[25].status == status
    assert np.array_equal(readings[25].torque, readings[24].torque) and readings[25].cycle == 24
    assert readings[26].status == "lost" and readings[26].lost == 1
    assert all(np.array_equal(a.q, b.q) for a, b in zip(readings[26:], without[25:], strict=True))
    assert all(np.isfinite(r.torque).all() for r in readings)


def test_bad_samples_at_the_beginning_and_in_a_gap():
    samples = stream()
    watch = monitor()
    first = samples[0]._replace(q=np.full(6, np.nan))
    assert [r.status for r in watch.follow([first, samples[0]._replace(q=[0.0]), *samples[:3]])] == [
        "not finite",
        "malformed",
        "start",
        "cycle",
        "cycle",
    ]
    assert watch(*samples[5]._replace(wrench=np.full(6, np.nan))).status == "not finite"
    reading = watch(*samples[6])
    assert reading.status == "lost" and reading.lost == 3


def test_late_samples_count_and_tell_their_age():
    samples = [s._replace(arrived=s.t + (0.002 if k % 7 else 0.03)) for k, s in enumerate(stream())]
    watch = monitor(max_age=0.02)
    readings = monitor_stream(watch, samples)
    assert same(readings, run_motors(rl15(), point_to_point(4.0, hold=30)))
    assert [r.status for r in readings[1:]] == ["cycle" if k % 7 else "late" for k in range(1, len(samples))]
    assert np.allclose([r.age for r in readings], [0.002 if k % 7 else 0.03 for k in range(len(samples))])
    assert np.isnan(monitor()(*stream()[0]).age)


def test_measured_state_is_where_the_cycle_starts():
    """Fed with where an arm really is, each reading is the single cycle from there."""
    demand = point_to_point(4.0)
    run = run_motors(rl15(), demand)
    watch = monitor()
    watch(0.0, demand.q[0])
    q, qd = run.starts
    shifted = qd + 1e-3
    for k in range(30):
        reading = watch((k + 1) * DT, demand.q[k + 1], demand.wrench[k], None, (q[k], shifted[k]))
        assert np.allclose(reading.q, q[k] + reading.qd * DT) and np.allclose(reading.qd, shifted[k] + reading.qdd * DT)


def test_messages_and_recordings():
    demand = Demand(DT, point_to_point().q)
    run = run_motors(rl15(), demand)
    messages = [{"timestamp": k * DT, "target_q": list(q), "runtime_state": 2} for k, q in enumerate(demand.q)]
    assert same(monitor_stream(MotorMonitor(rl15(), DT), messages), run)
    time = np.arange(len(demand.q)) * DT
    recording = Recording(time, {"q_ref": Signal(demand.q, "rad")})
    assert same(monitor_stream(MotorMonitor(rl15(), DT), samples_of_recording(recording)), run)
    with pytest.raises(InputError, match="no field target_q; it has timestamp"):
        sample_of_message({"timestamp": 0.0})
    with pytest.raises(InputError, match="no signal 'wish'; it has q_ref"):
        next(samples_of_recording(recording, "wish"))
    assert MotorSample(0.0, demand.q[0]).arrived is None


def test_refusals():
    with pytest.raises(InputError, match="no load of a sample"):
        MotorMonitor(rl15(), DT, inputs=("current",))
    with pytest.raises(InputError, match="dt"):
        MotorMonitor(rl15(), 0.0)
    with pytest.raises(InputError, match="max_gap"):
        MotorMonitor(rl15(), DT, max_gap=-1)


def test_a_controller_that_was_started_anew_is_followed():
    watch = MotorMonitor(rl15(), DT)
    q = np.array(stream()[0].q)
    said = [watch(t, q).status for t in (500.0, 500.0 + DT, 0.0, DT, 2 * DT)]
    assert said == ["start", "cycle", "restart", "cycle", "cycle"]


def test_before_anything_was_wanted_the_whole_torque_is_left_and_nothing_is_warned_of(recwarn):
    first = MotorMonitor(rl15(), DT)(0.0, np.array(stream()[0].q))
    assert first.margin == 1.0 and not first.flagged
    assert not list(recwarn)
