# SPDX-License-Identifier: Apache-2.0
"""A `Loop` says what a simulation is made of: checked when it is made, found again by its key, run alike everywhere."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

import armwright as aw
from armwright import simulation
from armwright.contact.observers import momentum_observer
from armwright.control import computed_torque, pd
from armwright.errors import InputError
from armwright.motion import quintic
from armwright.simulation.control_loop import LoopOptions
from armwright.simulation.live_loop import loaded

ARM = aw.load("planar2")
LAW = computed_torque(100.0, 20.0)
PATH = quintic([0.1, 0.2], [0.6, -0.3], 0.1)
GIVEN = {"robots", "law", "batch", "plant", "believed"}  # fields that are no keywords of `simulate`


def falling(q):
    return q[0] - 0.4


def dragging(qd):
    return -0.1 * qd


def rubbing(tau):
    return 0.1 * np.abs(tau)


OTHER = {  # another value of every option
    "model": ARM.with_payload(1.0),
    "rate": 500.0,
    "substeps": 3,
    "integrator": "semi-implicit",
    "continuous": True,
    "drive": simulation.Drive(np.eye(2), 5.0, 10.0),
    "friction": simulation.Stribeck(0.1, 0.1, 0.2, 0.1),
    "sensors": simulation.JointSensors(position_noise=1e-4),
    "wrench": [1.0, 2.0, 0.0, 0.0, 0.0, 0.0],
    "external": dragging,
    "dry_friction": rubbing,
    "creep": True,
    "events": {"far": falling},
    "monitors": (momentum_observer(30.0),),
    "limits": "clamp",
    "inputs": {"push": (6,)},
    "stop_on_alarm": False,
    "strict": True,
}
SAME_CODE = {"substeps", "strict"}  # a number of the run, a way to compile: neither changes the traced loop


def test_every_option_is_a_keyword_and_is_told_in_both_docstrings():
    options = {field.name for field in fields(aw.Loop)} - GIVEN
    assert options == set(LoopOptions.__annotations__) == set(OTHER)
    for name in options:
        assert f"        {name}: " in aw.Loop.__doc__ and f"`{name}`" in aw.simulate.__doc__, name


@pytest.mark.parametrize("name", OTHER)
def test_the_key_tells_loops_apart_that_trace_to_other_code(name):
    loop, again = aw.Loop.of(ARM, LAW), aw.Loop.of(ARM, computed_torque(100.0, 20.0))
    other = replace(loop, **{name: OTHER[name]})
    assert loop.key() == again.key() is not None
    assert (other.key() == loop.key()) is (name in SAME_CODE)
    assert other.key() == replace(again, **{name: OTHER[name]}).key()


def test_the_key_knows_the_law_and_the_limits_but_not_which_lane_has_which_gain():
    loop = aw.Loop.of(ARM, LAW)
    for law in (pd(100.0, 20.0), computed_torque(99.0, 20.0)):
        assert replace(loop, law=law).key() != loop.key()
    rows = [replace(loop, law=computed_torque(np.full((2, 2), kp), 20.0)).key() for kp in (50.0, 60.0)]
    assert rows[0] == rows[1] != loop.key()
    assert replace(loop, limits="stop").key() != loop.key()


@pytest.mark.parametrize("name", OTHER)
def test_a_session_is_the_simulation(name):
    option = {name: OTHER[name]}
    run = aw.simulate(ARM, LAW, PATH, seed=3, **option)
    session = aw.Loop.of(ARM, LAW, **option).session(reference=PATH, seed=3)
    session.run(PATH.duration)
    made = session.recording()
    assert set(made) == set(run) and session.parts.rate == option.get("rate", 1000.0)
    for signal in run:
        np.testing.assert_array_equal(made[signal], run[signal])


def test_one_loop_gives_any_number_of_sessions():
    loop = aw.Loop.of(ARM, computed_torque(np.array([[100.0, 100.0], [50.0, 60.0]]), 20.0))
    first, second = (loop.session(q0, reference=PATH) for q0 in (None, [0.2, 0.1]))
    first.run(0.05)
    assert first.time == pytest.approx(0.05) and second.time == 0.0 and loop.law.gains["kp"].shape == (2, 2)
    assert first.count == 2 and aw.Loop.of([ARM]).session().batch and not aw.Loop.of(ARM).session().batch


def test_a_loop_is_frozen_and_checked_when_it_is_made():
    loop = aw.Loop.of(ARM, LAW)
    with pytest.raises(FrozenInstanceError):
        loop.rate = 500.0
    with pytest.raises(InputError, match=r"^Loop: rate must be a positive number"):
        replace(loop, rate=-1.0)
    with pytest.raises(InputError, match=r"^Loop\.of: rate must be float, got <object"):
        aw.Loop.of(ARM, LAW, rate=object())
    with pytest.raises(InputError, match=r"^Loop\.session: q0 must hold 2 finite numbers"):
        loop.session([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"^simulate: reference must hold 2 finite numbers"):
        aw.simulate(ARM, LAW, [1.0, 2.0, 3.0], 0.1)
    with pytest.raises(TypeError, match=r"^Loop\.of\(\) got an unexpected keyword argument 'colour'"):
        aw.Loop.of(ARM, LAW, colour="red")
    with pytest.raises(TypeError, match=r"^simulate\(\) got an unexpected keyword argument 'colour'"):
        aw.simulate(ARM, LAW, PATH, colour="red")


def test_a_loop_that_may_be_loaded_may_carry_anything():
    stepped = aw.Loop.of(ARM, LAW, model=ARM).live(PATH.evaluate(0.0).q, may_become=(loaded(ARM),))
    heavy = ARM.with_payload(2.0, (0.03, -0.01, 0.2), np.diag([1e-2, 3e-2, 2e-2]))
    stepped.become(heavy)
    always = aw.Loop.of(heavy, LAW, model=ARM).live(PATH.evaluate(0.0).q)
    for live in (stepped, always):
        for _ in range(50):
            live.step()
    np.testing.assert_allclose(stepped.q, always.q, atol=1e-12)


def test_prepare_and_live_are_found_for_one_more_release():
    with pytest.warns(DeprecationWarning, match=r"Loop.of\(robot, law, …\).session") as told:
        session = simulation.prepare(ARM, LAW, PATH, q0=[0.1, 0.1], rate=500.0, count=2)
    assert told[0].filename == __file__ and session.count == 2 and session.parts.rate == 500.0
    with pytest.warns(DeprecationWarning, match=r"Loop.of\(robot, law, …\).live") as told:
        stepped = simulation.live(ARM, LAW, q0=[0.1, 0.1], limits="clamp")
    assert told[0].filename == __file__ and stepped.period == 1.0 / 500.0
