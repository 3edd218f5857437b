# SPDX-License-Identifier: Apache-2.0
"""A doubting arm in a detection study: chains of moves, quiet in worlds that it does not know, checked settings."""

import json

import numpy as np
import pytest

import armwright as aw
from armwright.campaigns.campaign_plan import CampaignPlan
from armwright.campaigns.kinds import detection_kind
from armwright.contact.doubt.doubt_learning import READY
from armwright.detection.chained_moves import chain_with_backing_off, move_chain
from armwright.detection.detection_settings import experiment
from armwright.errors import InputError

SMALL = {
    "preset": "torque-rough",
    "rotors": 0.1,
    "contact": "ramp",
    "observers": ["momentum"],
    "detectors": ["two-speed", "doubt"],
    "worlds": ["both"],
    "chain": 12,
    "moves": 2,
    "free": 4,
    "learning_moves": 4,
    "learning_runs": 16,
    "false_alarms": 1.0,
}


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_chain_is_smooth_and_as_slow_as_it_was_asked_to_be(name):
    robot = aw.load(name)
    chain = move_chain(robot, 15.0, speed=0.25, seed=7)
    assert chain.duration >= 15.0
    t = np.linspace(0.0, chain.duration, 8001)
    ref = chain.evaluate(t)
    assert np.abs(np.diff(ref.q, axis=0)).max() < 1.05 * np.abs(ref.qd).max() * t[1]
    assert np.abs(np.diff(ref.qd, axis=0)).max() < 1.05 * np.abs(ref.qdd).max() * t[1]
    assert (ref.q >= robot.lower).all() and (ref.q <= robot.upper).all()
    v = np.einsum("tij,tj->ti", np.asarray(aw.jacobian(robot, ref.q))[:, :3], ref.qd)
    assert 0.2 < np.linalg.norm(v, axis=1).max() < 0.27
    moving = (np.abs(ref.qd) > 0.0).any(axis=1)
    assert 0.05 < 1.0 - moving.mean() < 0.5  # it rests now and then
    assert np.array_equal(move_chain(robot, 15.0, seed=7).coefficients, chain.coefficients)


@pytest.mark.parametrize("name", ["planar2", "planar3", "centrifuge", "sdt"])
def test_arms_whose_tool_moves_in_fewer_than_three_directions_make_chains_too(name):
    robot = aw.load(name)
    chain = move_chain(robot, 3.0, reach=0.3, seed=1)
    assert chain.duration >= 3.0 and np.abs(chain.evaluate(np.linspace(0.0, chain.duration, 200)).qd).max() > 0.0


def test_a_chain_that_backs_off_stands_before_and_after():
    motion, stood, back = chain_with_backing_off(aw.load("ur5"), 1.3, seed=2)
    still = motion.evaluate(np.linspace(stood, back, 50))
    assert back == pytest.approx(stood + 1.3)
    assert np.abs(still.qd).max() == 0.0
    assert np.abs(motion.evaluate(np.linspace(motion.duration - 0.25, motion.duration, 20)).qd).max() < 1e-9
    assert np.abs(motion.evaluate(back + 0.2).qd).max() > 0.01


def test_a_doubting_arm_is_quiet_where_the_other_alarms_and_tells_its_load():
    plan = CampaignPlan("detection", 20, 902, SMALL)
    prepared = detection_kind.prepare(plan)
    assert json.loads(prepared)["doubt"]["hours"] > 0.0
    import pyarrow as pa

    table = pa.table(detection_kind.start(plan, prepared)(0, 20))
    free = np.array(table["met"].to_pylist()) == "free"
    quiet, loud = (
        np.array(table[f"momentum_{d}_before"].to_pylist(), dtype=float)[free] for d in ("doubt", "two_speed")
    )
    assert (quiet >= 1.0).mean() <= 0.1 and (loud >= 1.0).mean() >= 0.5
    assert np.nanmax(np.array(table["seconds"].to_pylist(), dtype=float)) < 12.0 + 6.0 - READY
    (told,) = detection_kind.summary(table)["loads"]
    assert told["world"] == "both" and told["runs"] == 20 and told["rms_kg"] < 0.5 and told["held"]["value"] >= 0.8
    (row,) = [r for r in detection_kind.summary(table)["worlds"] if r["detector"] == "doubt"]
    assert row["hours"] > 0.0 and row["missed"]["value"] < 0.8


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"chain": 5}, "chain must be 12 s or more"),
        ({"chain": "long"}, "chain must be 12 s or more"),
        ({"observers": ["kalman"]}, "needs the observer momentum"),
        ({"learning_moves": 2}, "learning_moves must be at least 4"),
        ({"worlds": ["moon"]}, "spread, load, coulomb, both, friction"),
    ],
)
def test_settings_that_no_doubting_arm_can_have(changed, said):
    with pytest.raises(InputError, match=said):
        experiment({**SMALL, **changed}, 1)
