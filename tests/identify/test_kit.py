# SPDX-License-Identifier: Apache-2.0
"""The kit beside the fit: plain friction, a page, friction followed over days, tables of a tracker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.identify import Known, fit, learn_bands, with_bands
from armwright.identify.friction_update import update_friction
from armwright.identify.gear_friction import GearFriction
from armwright.identify.kit_report import kit_report, open_motions
from armwright.identify.plain_friction import corrected_robot, friction_scales, plain_friction
from armwright.identify.tracker_table import read_tracker_table
from armwright.robot.corrected_xml import corrected_xml, displaced_urdf
from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

GAINS = np.full(6, 10.0)


@pytest.fixture(scope="module")
def fitted():
    """A log of an arm whose every parameter is known, and the model of it."""
    arm, rub = true_arm(), gear_friction(6)
    log = simulated_log(arm, rub, GAINS, 20.0, noise=0.01)
    return arm, rub, log, fit(log, sheet_of(), gains=Known(GAINS))


def test_plain_friction_comes_nearest_to_the_five_terms(fitted):
    _, rub, log, model = fitted
    plain = plain_friction(model, [log])
    two = replace(
        model,
        friction=GearFriction(
            np.stack([plain.viscous, 0 * plain.viscous, plain.coulomb, 0 * plain.viscous, 0 * plain.viscous], axis=1),
            rub.dahl,
        ),
    )
    assert (plain.viscous > 0.0).all() and (plain.coulomb > 0.0).all()
    again = plain_friction(two, [log])  # friction that has two terms only is what it was, but for the hysteresis
    np.testing.assert_allclose(again.coulomb, plain.coulomb, rtol=0.05)
    np.testing.assert_allclose(again.viscous, plain.viscous, rtol=0.05)
    robot = corrected_robot(model, plain)
    assert [j.friction.coulomb for j in robot.joints] == pytest.approx(plain.coulomb)


def test_scales_are_shares_of_what_the_controller_compensates(fitted):
    _, _, log, model = fitted
    plain = plain_friction(model, [log])
    own = 0.5 * (plain.viscous * log.qd + plain.coulomb * np.sign(log.qd))
    torque = 20.0 * np.sin(np.arange(len(log)) / 37.0)[:, None] * np.ones(6)
    told = replace(log, target_torque=torque, target_current=(torque + own) / GAINS)
    np.testing.assert_allclose(friction_scales(model, plain, [told]), 2.0, rtol=0.1)
    assert np.isnan(friction_scales(model, plain, [log])).all()


def test_the_page_says_what_was_read_and_what_is_open(fitted, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    _, _, log, model = fitted
    model = with_bands(model, learn_bands(model, [log]))
    text = kit_report(model, [replace(log, account="read so many rows")], tmp_path / "arm.html").read_text(
        encoding="utf-8"
    )
    for said in (
        "read so many rows",
        "Measured against predicted",
        "viscous scale",
        "What feel takes for noise",
        "which motion",
    ):
        assert said in text
    for name, motion in open_motions(model, [log]):
        assert name in text and motion


def test_friction_that_changed_is_said_and_followed(fitted):
    arm, rub, log, model = fitted
    more = rub.coefficients.copy()
    more[0, 2] *= 1.4  # the first joint rubs more
    update = update_friction(model, simulated_log(arm, GearFriction(more, rub.dahl), GAINS, 20.0, seed=5, noise=0.01))
    assert "Coulomb +" in update.rows()[0][-1]
    assert [row[-1] for row in update.rows()[1:]] == ["as days differ"] * 5
    assert model.friction.coefficients[0, 2] < update.now[0, 1] <= update.seen[0, 1]
    assert update.model.friction.coefficients[0, 2] == update.now[0, 1]
    same = update_friction(model, log)
    assert {row[-1] for row in same.rows()} == {"as days differ"}


def test_a_joint_that_rests_keeps_its_friction(fitted):
    _, _, log, model = fitted
    q, qd = log.q.copy(), log.qd.copy()
    q[:, 2], qd[:, 2] = 0.3, 0.0
    update = update_friction(model, replace(log, q=q, qd=qd))
    assert not update.moved[2] and update.now[2].tolist() == update.known[2].tolist()
    assert update.rows()[2][-1].endswith("kept")


def test_tables_of_a_tracker(tmp_path):
    robot = aw.load("ur5")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (12, 6))
    T = aw.fk(robot, q)
    head = ",".join(["x1", "y1", "z1", *(joint.name for joint in reversed(robot.joints))])
    rows = [",".join(repr(float(v)) for v in (*(1e3 * T[k, :3, 3]), *q[k, ::-1])) for k in range(12)]
    path = tmp_path / "poses.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    read = read_tracker_table(path, robot, length_unit="mm")
    np.testing.assert_allclose(read.q, q)
    np.testing.assert_allclose(read.measured, T[:, :3, 3], atol=1e-12)
    path.write_text(
        "\n".join(
            [
                ",".join(["point", *(f"q{k}" for k in range(6))]),
                *(",".join(["1", *map(repr, row)]) for row in q.tolist()),
            ]
        )
        + "\n",
        encoding="utf-8",
    )
    assert read_tracker_table(path, robot).touched.tolist() == [1] * 12
    path.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(InputError, match="not among its columns"):
        read_tracker_table(path, robot)


def test_displacements_are_written_into_the_origins_of_a_urdf():
    from armwright.spatial import exp_se3

    robot = aw.load("ur5")
    text = robot.to_urdf()
    arm = aw.Robot.from_urdf(text)
    deltas = 1e-3 * np.random.default_rng(2).normal(size=(6, 6))
    new = aw.Robot.from_urdf(displaced_urdf(text, [joint.name for joint in arm.joints], deltas))
    for body, old, delta in zip(new.bodies, arm.bodies, deltas, strict=True):
        np.testing.assert_allclose(body.T_parent_joint, old.T_parent_joint @ exp_se3(delta), atol=1e-12)
    assert corrected_xml(text, arm).count("<link") == text.count("<link")
