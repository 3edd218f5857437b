# SPDX-License-Identifier: Apache-2.0
"""Tracking laws: what is kept is tracked, what binds stays bounded, a trip ends it; and MuJoCo under the same law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.choices import TRACKINGS
from armwright.programs import Fraction, Joints, Move, Payload, Program, read_program, run_program
from armwright.programs.motors.drive_law import AXES, DRIVE, TrackingGains, Trips
from armwright.programs.motors.drive_loop import follow
from armwright.programs.outcome.program_execution import demand_of
from support.places import ROOT
from support.twins import mujoco_twin

EXAMPLES = ROOT / "examples" / "programs"
SIX = """def six():
  set_payload(3.0, [0, 0, 0.08])
  movej([0.0, -1.2, 1.4, -1.6, -1.57, 0.0], a=6.0, v=0.6)
  movej([0.4, -1.0, 1.2, -1.5, -1.4, 0.3], a=6.0, v=0.6, r=0.02)
  movej([0.7, -0.7, 0.8, -1.3, -1.2, 0.5], a=6.0, v=0.6)
  movej([0.3, -1.0, 1.3, -1.6, -1.4, 0.2], a=6.0, v=0.6, r=0.02)
  movej([0.0, -1.3, 1.5, -1.7, -1.6, 0.1], a=6.0, v=0.6)
  movej([0.2, -1.2, 1.4, -1.6, -1.57, 0.0], a=6.0, v=0.6)
end
"""
"""Torque 102 % at an override of 2.2, 150 % at 3; speeds stay below 57 %."""
START = [0.2, -1.0, 1.2, -1.5, -1.4, 0.0]
GAINS = tuple(TrackingGains(p, v) for p, v in ((15, 30), (15, 150), (30, 60), (30, 300), (60, 120), (60, 600)))


@pytest.fixture(scope="module")
def ur5():
    return aw.load("ur5")


def six(ur5, override, **options):
    return run_program(ur5, read_program(SIX, "urscript"), override=override, start_q=START, **options)


def followed(outcome, laws=(DRIVE,), **options):
    plan = outcome.plan
    return follow(outcome.robot, demand_of(plan), lambda t: plan.at(t)[:3], laws, basis=outcome.basis, **options)


def test_a_feasible_plan_is_tracked_whatever_the_gains(ur5, rl15):
    for robot, file in ((ur5, "ur5_pick.script"), (rl15, "lola15dd.irl")):
        outcome = run_program(robot, EXAMPLES / file)
        assert outcome.feasible and outcome.late == 0.0 and outcome.trip is None
        for tracked in outcome.tracked:
            assert tracked.lag.max() < 0.9e-3 and tracked.run.deviation.position.max() < 0.7e-3
        soft = followed(outcome, gains=[gains for gains in GAINS if gains.speed <= 120])
        assert max(tracked.lag.max() for tracked in soft) < 0.9e-3


def test_where_torque_binds_the_arm_stays_bounded_and_sharing_hardly_hangs_on_gains(ur5):
    outcome = six(ur5, 3.0)
    assert not outcome.feasible and outcome.wished.torque_use.max() > 1.4
    shared = followed(outcome, gains=GAINS, trips=Trips(np.inf, np.inf))
    clipped = followed(outcome, (AXES,), gains=GAINS, trips=Trips(np.inf, np.inf))
    lags, others = ([float(one.lag.max()) for one in runs] for runs in (shared, clipped))
    assert max(one.speed.max() for one in shared) < 1.0
    assert max(lags) < 0.04 and max(lags) < 1.5 * min(lags)
    assert min(others) > 2.0 * max(lags)  # clipping each motor by itself throws the free joints
    for one in shared:
        assert (np.abs(one.run.torque) <= one.run.limit * (1.0 + 1e-9)).all()


def test_lanes_are_single_runs(ur5):
    outcome = six(ur5, 3.0)
    many = followed(outcome, (DRIVE, AXES), gains=GAINS[2:4])
    for lane in many:
        (one,) = followed(outcome, (lane.law,), gains=[lane.gains])
        assert one.run.q.shape == lane.run.q.shape and np.allclose(one.run.q, lane.run.q, atol=1e-9)
        assert (one.trip is None) == (lane.trip is None)
        if lane.trip is not None:
            assert one.trip[:4] == lane.trip[:4] and one.trip.value == pytest.approx(lane.trip.value)


@pytest.mark.parametrize("tracking", TRACKINGS.names)
@pytest.mark.parametrize("override", [3.0, 9.0])
def test_no_report_is_not_finite_or_beyond_what_a_drive_allows(ur5, tracking, override):
    """A trip ends the run; nothing is reported after it, and the verdict names the law and does not hang on it."""
    outcome = six(ur5, override, tracking=tracking)
    assert not outcome.feasible and outcome.verdict.startswith("Not feasible")
    assert f"{tracking!r}" in outcome.verdict and "not finite" not in outcome.verdict
    for tracked in outcome.tracked:
        run = tracked.run
        assert np.isfinite(run.q).all() and run.speed_use.max() <= 1.2 and tracked.speed.max() <= 1.2
        if tracked.trip is not None:
            assert run.time[-1] <= max(tracked.trip.time + 1e-9, run.demand.dt)
            assert tracked.trip.value > tracked.trip.limit
    trips = [event for event in outcome.events if event.cause == "trip"]
    assert len(trips) == (outcome.trip is not None)
    assert ("the drive would stop here" in outcome.verdict) >= (outcome.trip is not None)
    if override == 9.0:
        assert outcome.trip is not None
    figures = outcome.figures()
    assert figures["answers"]["tracking"]["law"] == tracking and not figures["answers"]["plan"]["feasible"]
    assert list(figures["answers"]) == ["plan", "tracking", "override"]
    assert figures["answers"]["override"] == outcome.override.program < 1.0


def test_laws_that_disagree_are_told(ur5):
    outcome = six(ur5, 3.0)
    drive, axes = outcome.tracked
    assert axes.lag.max() > 2.0 * drive.lag.max()
    assert "the lag is not known, only that the plan is infeasible" in outcome.verdict
    assert not outcome.figures()["answers"]["tracking"]["lag_is_known"]
    calm = six(ur5, 1.0)
    assert calm.feasible and "not known" not in calm.verdict.partition(" checked ")[0].partition("Checked")[0]


def test_standing_torque_that_is_too_large_is_told_first(ur5):
    stretched = np.array([0.0, -0.1, 0.1, 0.0, 0.0, 0.0])
    program = Program((Move("joint", Joints(stretched + 0.1), Fraction(0.1), line=7),), start_q=stretched)
    outcome = run_program(ur5, program, payload=Payload(40.0, np.zeros(3)))
    assert outcome.standing.max() > 1.2
    assert outcome.verdict.startswith("Not feasible (")
    assert "): The arm cannot be held: at rest " in outcome.verdict
    assert "line 7" in outcome.verdict.partition("asks more")[0]
    assert outcome.trip is not None and outcome.trip.time < 1.0  # it falls, and the drive stops it
    g = aw.gravity_torque(ur5.with_payload(40.0, (0.0, 0.0, 0.0)), stretched)
    effort = np.array([joint.limits.effort for joint in ur5.joints])
    np.testing.assert_allclose(outcome.standing[0], np.abs(g) / effort, rtol=1e-9)


def test_algorithm_1_as_printed_keeps_its_lag(rl15):
    """Told speeds only, the arm never makes up for what it lost; the drive does."""
    program, fast = read_program(EXAMPLES / "lola15dd.irl"), 1.15
    printed = run_program(rl15, program, override=fast, tracking="algorithm-1")
    drive = run_program(rl15, program, override=fast)
    assert printed.feasible is drive.feasible is False
    assert np.abs(printed.motors.lag[-1]).max() > 0.9 * printed.tracked[0].lag.max() > 0.04
    assert np.abs(drive.motors.lag[-1]).max() < 1e-3 and drive.late == 0.0 and np.isinf(printed.late)


def in_mujoco(mujoco, ur5, outcome, gains, integrator, steps_per_cycle):
    """The law of `drive_law` written again, on MuJoCo's mass matrix and bias, integrated by MuJoCo."""
    plan, robot = outcome.plan, ur5.with_payload(3.0, (0.0, 0.0, 0.08))
    model, data, order = mujoco_twin(mujoco, robot)
    h = outcome.demand.dt / steps_per_cycle
    model.opt.timestep, model.opt.integrator = h, integrator
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    top = np.array([joint.limits.effort for joint in robot.joints])
    fast = np.array([joint.limits.velocity for joint in robot.joints])
    n, steps = robot.n, outcome.demand.cycles * steps_per_cycle
    q_r, v_r, a_r, _ = plan.at(h * np.arange(steps))
    data.qpos[order] = q_r[0]
    M, column, rows, lag = np.zeros((n, n)), np.zeros(model.nv), [], 0.0
    for k in range(steps):
        mujoco.mj_forward(model, data)
        q, v = data.qpos[order].copy(), data.qvel[order].copy()
        for j, unit in enumerate(np.eye(model.nv)[order]):
            mujoco.mj_mulM(model, data, column, unit)
            M[:, j] = column[order]
        bias = data.qfrc_bias[order] - data.qfrc_passive[order]
        e = q_r[k] - q
        lag = max(lag, float(np.abs(e).max()))
        most = np.sqrt(np.maximum(0.1 * top, top - np.abs(bias)) / np.diag(M) * np.abs(e))
        asked = v_r[k] + np.clip(gains.position * e, -most, most)
        allowed = np.clip(asked, -fast, fast)
        a = np.where(asked == allowed, a_r[k], 0.0) + gains.speed * (allowed - v)
        moving = M @ a
        s = min(1.0, float((np.where(moving > 0.0, top - bias, top + bias) / np.maximum(np.abs(moving), 1e-12)).min()))
        data.qfrc_applied[order] = bias + s * moving
        mujoco.mj_step(model, data)
        rows.append(data.qpos[order].copy())
    return lag, np.array(rows[steps_per_cycle - 1 :: steps_per_cycle])


@pytest.mark.parametrize("override", [2.2, 3.0])
def test_the_same_law_in_mujoco(ur5, override):
    """With the same integrator, to rounding; with RK4 at a quarter of the step, within 10 % or 0.5 mm (mrad of lag).

    RK4 with our 1 ms is not the measure: a torque held through its step makes it lag more (4.58 mm off the path at an
    override of 3, against 3.96 with 0.25 ms and 3.94 here).
    """
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    outcome = six(ur5, override)
    ours = outcome.tracked[0]
    assert outcome.wished.torque_use.max() > 1.0

    def differences(integrator, steps_per_cycle):
        lag, q = in_mujoco(mujoco, ur5, outcome, ours.gains, integrator, steps_per_cycle)
        theirs = replace(ours.run, q=q[: ours.run.demand.cycles]).deviation
        yield "lag", ours.lag.max(), lag
        for name in ("behind", "path", "position"):
            yield name, getattr(ours.run.deviation, name).max(), getattr(theirs, name).max()

    for name, a, b in differences(mujoco.mjtIntegrator.mjINT_EULER, 10):
        assert a == pytest.approx(b, rel=1e-6), name
    for name, a, b in differences(mujoco.mjtIntegrator.mjINT_RK4, 40):
        assert abs(a - b) < max(0.1 * b, 0.5e-3), (name, a, b)
