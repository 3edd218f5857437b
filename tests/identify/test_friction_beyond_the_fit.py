# SPDX-License-Identifier: Apache-2.0
"""Friction that depends on where a joint stands, and friction that changes while the arm moves."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.errors import InputError
from armwright.identify import (
    Known,
    Load,
    fit,
    fit_position_friction,
    friction_over_time,
    load_model,
    predict_currents,
    read_log,
    residuals,
    save_model,
)
from armwright.identify.friction_over_time import friction_unspanned
from armwright.identify.position_friction import PositionFriction, PositionTerm
from support.places import NO_REAL_ARM, REAL_ARM
from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

GAINS = np.full(6, 11.0)


def fresh_log(seed, seconds=30.0, extra=None, noise=0.05, **options):
    """A log of the simulated arm; `extra` (t, q, qd) → torque (T, 6) that its motors give besides."""
    log = simulated_log(
        true_arm(), gear_friction(6), GAINS, seconds, seed=seed, noise=noise, name=f"log{seed}", **options
    )
    if extra is None:
        return log
    return replace(log, current=log.current + extra(log.t, log.q, log.qd) / GAINS)


@cache
def plain_model():
    return fit([fresh_log(0), fresh_log(1)], sheet_of(), gains=Known(GAINS))


# -- against position -------------------------------------------------------------------------------------------------


def rippled(t, q, qd):
    """24 cycles a turn on the third joint, and Coulomb friction of the fifth that varies seven times a turn."""
    tau = np.zeros(q.shape)
    tau[:, 2] = 0.9 * np.sin(24.0 * q[:, 2] + 0.4)
    tau[:, 4] = 0.7 * np.cos(7.0 * q[:, 4]) * np.tanh(qd[:, 4] / 0.01)
    return tau


def test_harmonics_that_are_there_are_found_and_help_on_other_logs():
    logs = [fresh_log(k, extra=rippled) for k in (2, 3, 4)]
    found = fit_position_friction(plain_model(), logs)
    terms = {(t.joint, t.kind, t.cycles): t for t in found.position.terms}
    ripple, drag = terms[2, "ripple", 24], terms[4, "drag", 7]
    assert abs(ripple.amplitude - 0.9) < 4.0 * ripple.deviation + 0.05 and ripple.deviation < 0.1
    assert abs(drag.amplitude - 0.7) < 4.0 * drag.deviation + 0.1
    assert np.arctan2(ripple.cosine, ripple.sine) == pytest.approx(0.4, abs=0.15)
    other = fresh_log(5, extra=rippled)
    before, after = (predict_currents(model, other).error for model in (plain_model(), found))
    assert after[2] < 0.8 * before[2] and after[4] < 0.8 * before[4]
    assert (after[[0, 1, 3, 5]] < 1.02 * before[[0, 1, 3, 5]]).all()
    felt, better = (residuals(model, other).rms for model in (plain_model(), found))
    assert better[2] < 0.95 * felt[2] and better[4] < 0.8 * felt[4]


def test_nothing_is_reported_where_nothing_is():
    found = fit_position_friction(plain_model(), [fresh_log(k) for k in (2, 3, 4)])
    assert found.position.terms == () and "no harmonic" in found.remarks[-1]
    log = fresh_log(5)
    assert (predict_currents(found, log).predicted == predict_currents(plain_model(), log).predicted).all()


def test_an_order_that_the_motion_does_not_resolve_is_not_claimed():
    """A joint that moves a little cannot tell 24 cycles a turn from 23: elsewhere it would be out of phase."""
    small = [fresh_log(k, extra=rippled, reach=0.15) for k in (2, 3, 4)]
    assert not [t for t in fit_position_friction(plain_model(), small).position.terms if t.joint == 2]


def test_position_friction_is_kept_in_the_file(tmp_path):
    terms = (PositionTerm(2, "ripple", 202, 0.5, -0.2, 0.05, 0.04), PositionTerm(0, "drag", 3, 0.1, 0.0, 0.01, 0.02))
    model = replace(plain_model(), position=PositionFriction(6, terms))
    assert load_model(save_model(model, tmp_path / "m.json")).position.terms == terms
    content = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    for change in ({"cycles": 1.5}, {"kind": "wobble"}, {"joint": 6}, {"sine": None}, {"phase": 1.0}):
        content["position"][0] = terms[0]._asdict() | change
        (tmp_path / "bad.json").write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(InputError, match=r"bad\.json"):
            load_model(tmp_path / "bad.json")
    with pytest.raises(InputError, match="a joint from 0 to 5"):
        PositionFriction(6, (terms[0]._replace(joint=7),))


# -- against time -----------------------------------------------------------------------------------------------------

COULOMB = gear_friction(6).coefficients[:, 2]


def warming(t, q, qd):
    """Coulomb friction of every joint is 15 % larger than it was, and grows by another 8 % within 40 s."""
    return (COULOMB * (0.15 + 0.08 * t / 40.0)[:, None]) * np.tanh(qd / 0.002)


@cache
def left_over():
    return friction_unspanned(plain_model(), [fresh_log(0)])


def test_friction_that_changes_is_followed_and_its_intervals_hold():
    held = []
    for seed in (6, 7):
        seen = friction_over_time(plain_model(), fresh_log(seed, 40.0, warming), unspanned=left_over())
        truth = COULOMB * (1.15 + 0.08 * (seen.t[:, None] / 40.0))
        late = seen.t > 10.0
        held.append(np.abs(seen.coulomb - truth)[late] < 1.96 * seen.coulomb_std[late])
        assert np.median(seen.coulomb[-1] / truth[-1]) == pytest.approx(1.0, abs=0.06)
        assert (seen.adapted < 0.8 * seen.fixed).all()
    assert np.mean(held) > 0.9


def test_friction_that_stays_stays():
    model = plain_model()
    seen = friction_over_time(model, fresh_log(8), unspanned=left_over())
    assert (np.abs(seen.coulomb[-1] - COULOMB) < 3.0 * seen.coulomb_std[-1]).all()
    assert (seen.adapted < 1.2 * seen.fixed).all()  # an estimate has noise of its own
    narrow = seen.coulomb_std[-1] / seen.coulomb_std[0]
    assert (narrow < 0.5).all()
    with pytest.raises(InputError, match="no logs given"):
        friction_over_time(model, fresh_log(8))


def test_identify_offers_both_on_the_command_line(tmp_path, capsys):
    (tmp_path / "arm.toml").write_text(sheet_of().to_sheet(), encoding="utf-8")
    for seed, extra in ((0, rippled), (1, rippled), (2, warming)):
        log = fresh_log(seed, 20.0, extra)
        head = ["t", *(f"{s}_{j}" for s in ("q", "qd", "current") for j in range(6))]
        rows = np.concatenate([log.t[:, None], log.q, log.qd, log.current], axis=1)
        text = "".join(",".join(f"{x:.7f}" for x in row) + "\n" for row in rows)
        (tmp_path / f"log{seed}.csv").write_text(",".join(head) + "\n" + text, encoding="utf-8")
    words = ["identify", str(tmp_path / "arm.toml"), str(tmp_path / "log0.csv"), str(tmp_path / "log1.csv")]
    words += ["--gains", ",".join(map(str, GAINS)), "--position", "--adapt", str(tmp_path / "log2.csv")]
    assert main([*words, "--report", str(tmp_path / "r.md")]) == 0
    shown = capsys.readouterr().out
    assert "friction against position" in shown and "24" in shown and "log2: friction followed" in shown
    assert "## Friction against position" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"joint", "kind", "cycles", "amplitude", "gain"} <= set(told["position"][0])
    assert told["adapted"][0]["log"] == "log2" and len(told["adapted"][0]["coulomb"]) == 20


# -- a real arm -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL_ARM.exists(), reason=NO_REAL_ARM)
def test_on_a_real_arm_it_helps_where_friction_has_changed_and_nowhere_hurts_much():
    """Fitted to 19 February; 12 February, 17 January, and joint 1 alone on 22 January."""
    train, loaded = (read_log(REAL_ARM / f"ur-20_02_19_14harm50sec{x}.csv") for x in ("", "Load"))
    model = fit([train, loaded], aw.load(REAL_ARM / "ur10e.urdf"), payloads=[None, Load()])
    points, alone = (read_log(REAL_ARM / f"ur-20_01_{x}.csv") for x in ("17-ptp_10_points", "22-joint_1"))
    # one harmonic of 202 cycles a turn on the first joint; a harmonic drive of 101 to 1 has two a turn of its motor
    rippled_model = fit_position_friction(model, [train, loaded])
    assert [(t.joint, t.kind, t.cycles) for t in rippled_model.position.terms] == [(0, "ripple", 202)]
    before, after = (predict_currents(m, points).error for m in (model, rippled_model))
    assert 0.9 < after[0] / before[0] < 1.0 and (after[1:] == before[1:]).all()
    # a month earlier the first joint had another friction
    unspanned = friction_unspanned(model, [train])
    seen = friction_over_time(model, points, unspanned=unspanned)
    ratio = seen.adapted / seen.fixed
    assert ratio[0] < 0.7 and (ratio < 1.15).all()
    one = friction_over_time(model, alone, unspanned=unspanned)
    assert one.adapted[0] < 0.6 * one.fixed[0] and np.isnan(one.fixed[1:]).all()
    assert one.coulomb_std[-1, 1] > 2.0  # a joint that never moves has shown nothing, and is said not to be known
