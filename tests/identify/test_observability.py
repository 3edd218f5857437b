# SPDX-License-Identifier: Apache-2.0
"""The smallest force that currents tell: geometry, claims on logs that were not used, stiction of a held plant."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.control import pd_gravity
from armwright.errors import InputError
from armwright.identify import (
    Identified,
    Known,
    Load,
    Log,
    fit,
    force_observability,
    learn_bands,
    read_log,
    save_model,
    with_bands,
)
from armwright.identify.force_observability import PushedTorque
from armwright.identify.gear_friction import GearFriction
from armwright.identify.hidden_forces import hidden_forces
from armwright.identify.observability_report import draw_observability, observability_markdown, sentences, state_names
from armwright.identify.residual_windows import SETTLED_SECONDS, STATES, STILL_STATE, windows_of
from armwright.simulation import Karnopp
from armwright.statistics import share
from support.places import NO_REAL_ARM, REAL_ARM
from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

GAINS = np.full(6, 11.0)


# -- geometry ---------------------------------------------------------------------------------------------------------


def test_three_joints_across_hide_a_box():
    found = hidden_forces(np.diag([1.0, 2.0, 4.0]), np.array([3.0, 2.0, 2.0]))  # |F| ≤ 3, 1, 0.5
    assert found.along == pytest.approx([3.0, 1.0, 0.5])
    assert (found.best, found.worst) == pytest.approx((0.5, np.sqrt(9.0 + 1.0 + 0.25)))
    assert np.abs(found.best_direction) == pytest.approx([0.0, 0.0, 1.0])
    assert np.abs(found.worst_direction) == pytest.approx(np.array([3.0, 1.0, 0.5]) / found.worst)


def test_hidden_forces_are_the_extremes_over_all_directions():
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(200_000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for _ in range(5):
        levers, torques = rng.normal(size=(6, 3)), rng.uniform(0.2, 3.0, 6)
        sizes = (torques / np.abs(directions @ levers.T)).min(axis=1)
        found = hidden_forces(levers, torques)
        assert found.best == pytest.approx(sizes.min(), rel=1e-3) and found.best <= sizes.min()
        assert sizes.max() <= found.worst * (1 + 1e-9) and found.worst == pytest.approx(sizes.max(), rel=0.05)
        at = (torques / np.abs(levers @ found.worst_direction)).min()
        assert at == pytest.approx(found.worst)


def test_a_direction_that_no_joint_feels_is_named():
    levers = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    found = hidden_forces(levers, np.ones(3))
    assert found.worst == np.inf and np.abs(found.worst_direction) == pytest.approx([0.0, 0.0, 1.0])
    silent = hidden_forces(levers, np.array([1.0, np.nan, np.inf]))
    assert silent.best == 1.0 and silent.along[1] == np.inf
    assert hidden_forces(levers, np.full(3, np.nan)).best == np.inf


# -- claims -----------------------------------------------------------------------------------------------------------


TRAINING = 2


def fresh_log(seed, **options):
    return simulated_log(true_arm(), gear_friction(6), GAINS, 40.0, seed=seed, noise=0.1, name=f"log{seed}", **options)


@cache
def learned():
    """A model of a simulated UR5, and logs of which it was fitted to the first ones."""
    logs = [fresh_log(k) for k in range(TRAINING + 6)]
    model = fit(logs[:TRAINING], sheet_of(), gains=Known(GAINS))
    return with_bands(model, learn_bands(model, logs[:TRAINING])), logs


@cache
def studied():
    model, logs = learned()
    return force_observability(model, logs[TRAINING:])


def test_claims_hold_on_windows_that_were_not_used():
    study = studied()
    assert study.false_alarms_seen.low <= 0.05 and study.power_seen.high >= 0.9
    assert sum(c.trials for c in study.checked) > 150 and study.trained == ()
    told = " ".join(sentences(study))
    for c in study.checked:  # a log on which the claim does not hold is named
        assert (c.log in told) == (c.false_alarms.low > 0.05 or c.found.high < 0.9)


def test_forces_on_the_plant_itself_are_told_as_often_as_claimed():
    """Other logs, in which a force acts on the tool in the equations of motion, not in the currents."""
    model, study = learned()[0], studied()
    torque = np.where(np.isnan(study.told.torque), np.inf, study.told.torque)
    limit = np.where(np.isnan(study.told.threshold), np.inf, study.told.threshold)
    torque[STILL_STATE] = limit[STILL_STATE] = np.inf
    rng, each = np.random.default_rng(5), range(6)
    told, weakly, alarms = [], [], []
    for seed in range(20, 24):
        log = fresh_log(seed)
        free = windows_of(model, log, study.window)
        d = rng.normal(size=(len(free.t), 3))
        d /= np.linalg.norm(d, axis=1)[:, None]
        levers = np.abs(np.einsum("wkj,wk->wj", aw.jacobian(model.robot, free.q)[:, :3], d))
        size = (torque[free.state, each] / levers).min(axis=1)
        chosen = np.arange(len(size)) % 3 == 2
        force, wrench = (d * size[:, None])[chosen], np.zeros((len(log.t), 6))
        for end, f in zip(free.t[chosen], force, strict=True):
            wrench[(log.t <= end + 1e-9) & (log.t > end - study.window - SETTLED_SECONDS), :3] = f
        thresholds = limit[free.state, each]
        pushed = windows_of(model, fresh_log(seed, wrench=wrench), study.window)
        told += (np.abs(pushed.mean) > thresholds).any(axis=1)[chosen].tolist()
        alarms += (np.abs(free.mean) > thresholds).any(axis=1).tolist()
        weak = PushedTorque(model, free.t[chosen], 0.25 * force, study.window + SETTLED_SECONDS)
        felt = windows_of(model, log, study.window, pushed=weak)
        weakly += (np.abs(felt.mean) > thresholds).any(axis=1)[chosen].tolist()
    assert len(told) > 200 and share(sum(told), len(told)).high >= 0.9
    assert share(sum(alarms), len(alarms)).low <= 0.05
    assert np.mean(weakly) < 0.5  # the sizes are not lavish


def test_more_is_told_in_motion_than_at_rest():
    study = studied()
    for j in range(6):
        moving = study.told.torque[2:, j]
        assert np.nanmax(moving) < study.told.torque[STILL_STATE, j]
    assert study.force[4].worst < study.force[STILL_STATE].worst
    assert np.isfinite(study.feasible).all() and (study.feasible <= 0.2).all()


def test_a_smaller_share_of_false_alarms_needs_larger_forces():
    model, logs = learned()
    strict = force_observability(model, logs[TRAINING:], false_alarms=0.02, power=0.95)
    seen = np.isfinite(strict.told.torque)
    assert (strict.told.torque[1:][seen[1:]] > studied().told.torque[1:][seen[1:]]).all()
    long = force_observability(model, logs[TRAINING:], window=1.0, false_alarms=0.2, power=0.8)
    assert len(long.checked) == 6


# -- stiction ---------------------------------------------------------------------------------------------------------


def held_arm():
    """A UR5 that stands under PD and gravity compensation with Karnopp's friction, and the model that knows it."""
    arm = aw.load("ur5").with_rotors(0.2)
    band = np.array([12.0, 14.0, 9.0, 3.0, 3.0, 2.0])
    friction = np.zeros((6, 5))
    friction[:, 2] = band
    model = Identified(arm, GAINS, GearFriction(friction), np.full(6, 0.01), (), (), ())
    return arm, model, Karnopp(0.1, band, band)


def log_of_push(arm, model, friction, q0, force):
    """Currents of the arm that stands at q0 while a force acts on its tool from 0.5 s on."""

    def push(t):
        return np.concatenate([force * np.where(t > 0.5, 1.0, 0.0), np.zeros(3)])

    run = aw.simulate(
        arm,
        pd_gravity(8000.0, 300.0),
        q0,
        2.5,
        q0=q0,
        wrench=push,
        friction=friction,
        integrator="semi-implicit",
        substeps=4,
        every=10,
    )
    return Log(run.time, run["q"], run["qd"], run["tau"] / GAINS, name="push")


def test_a_standing_arm_hides_what_its_stiction_holds_and_tells_what_is_claimed():
    arm, model, friction = held_arm()
    q0 = np.array([0.3, -1.2, 1.1, -0.5, 1.2, 0.2])
    levers = np.asarray(aw.jacobian(arm, q0))[:3].T
    band = np.asarray(friction.static)
    rng = np.random.default_rng(2)
    for direction in rng.normal(size=(4, 3)):
        d = direction / np.linalg.norm(direction)
        hidden = float((band / np.abs(levers @ d)).min())
        claimed = float((2.4 * band / np.abs(levers @ d)).min())  # threshold 1.4 bands, and one against it
        below = log_of_push(arm, model, friction, q0, 0.98 * hidden * d)
        assert np.ptp(below.current, axis=0).max() < 1e-9  # not a trace of it
        above = windows_of(model, log_of_push(arm, model, friction, q0, 1.03 * claimed * d), 0.2)
        assert (np.abs(above.mean[above.t > 1.5]) > 1.4 * band).any(axis=1).all()


# -- words ------------------------------------------------------------------------------------------------------------


def test_too_few_windows_are_refused_with_what_is_needed():
    model, logs = learned()
    with pytest.raises(InputError, match=r"windows of moving joints do not show 0.001 false alarms.*at least 18000"):
        force_observability(model, logs[1], false_alarms=0.001)
    with pytest.raises(InputError, match="false_alarms must lie between 0 and 1"):
        force_observability(model, logs[1], false_alarms=0.0)
    with pytest.raises(InputError, match="window must lie between"):
        force_observability(model, logs[1], window=0.0)
    with pytest.raises(InputError, match="no logs given"):
        force_observability(model, [])
    with pytest.raises(InputError, match="q must be 6 finite numbers"):
        force_observability(model, logs[TRAINING:], q=[0.0, 1.0])


def test_the_study_is_drawn_and_told(tmp_path):
    text = observability_markdown(studied())
    assert "## Force at the tool [N]" in text and "| still |" in text
    draw_observability(studied(), tmp_path / "sense.png")
    assert (tmp_path / "sense.png").stat().st_size > 10_000
    assert len(state_names()) == len(STATES)
    model, logs = learned()
    assert any("fitted to log0, log1" in said for said in sentences(force_observability(model, logs)))


def test_sense_on_the_command_line(tmp_path, capsys):
    model, logs = learned()
    save_model(model, tmp_path / "m.json")
    for log in logs[TRAINING : TRAINING + 2]:
        head = ["t", *(f"{s}_{j}" for s in ("q", "qd", "current") for j in range(6))]
        rows = np.concatenate([log.t[:, None], log.q, log.qd, log.current], axis=1)
        text = "".join(",".join(f"{x:.7f}" for x in row) + "\n" for row in rows)
        (tmp_path / f"{log.name}.csv").write_text(",".join(head) + "\n" + text, encoding="utf-8")
    words = ["sense", str(tmp_path / "log2.csv"), str(tmp_path / "log3.csv"), "--model", str(tmp_path / "m.json")]
    assert main([*words, "--out", str(tmp_path / "s.png"), "--report", str(tmp_path / "s.md")]) == 0
    shown = capsys.readouterr().out
    assert "smallest force at the tool" in shown and "checked on windows that were not used" in shown
    assert (tmp_path / "s.png").exists() and "# ur5" in (tmp_path / "s.md").read_text(encoding="utf-8")
    assert main([*words, "--q0", "0,-90,90,0,45,0deg", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["q"][1] == pytest.approx(-np.pi / 2) and len(told["torque"]) == len(told["states"]) == len(STATES)
    assert told["force"][0]["best"] > told["force"][4]["best"] > 0.0
    assert 0.0 <= told["checked"]["power"]["value"] <= 1.0
    assert main([*words, "--alarm-share", "0.0001"]) == 2


# -- a real arm -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL_ARM.exists(), reason=NO_REAL_ARM)
def test_claims_hold_on_a_real_arm_of_other_days():
    """Fitted to two logs of 19 February; told by logs of 12 February and 17 January, each judged by the other."""
    names = ("19_14harm50sec", "19_14harm50secLoad", "12-50sec_12harm")
    train, loaded, twelve = (read_log(REAL_ARM / f"ur-20_02_{name}.csv") for name in names)
    points = read_log(REAL_ARM / "ur-20_01_17-ptp_10_points.csv")
    arm = aw.load(REAL_ARM / "ur10e.urdf")
    study = force_observability(fit([train, loaded], arm, payloads=[None, Load()]), [twelve, points])
    assert study.false_alarms_seen.low <= 0.05 and study.power_seen.high >= 0.9
    assert study.still_alarms.high < 0.01
    still, slow = study.told.torque[STILL_STATE], study.told.torque[2:]
    assert (
        np.nanmax(slow[:4], axis=0) < 0.5 * still
    ).all()  # from 0.02 rad/s on, less than half of what stiction hides
    assert study.force[4].worst < 0.2 * study.force[STILL_STATE].worst
