# SPDX-License-Identifier: Apache-2.0
"""Numbers that change while a loop runs: the same motion as where they are constants, and an exported twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact.detectors import two_speed_detector
from armwright.contact.observers import momentum_observer
from armwright.control import as_law, computed_torque, pd_gravity
from armwright.errors import InputError, NotSupportedError
from armwright.motion import quintic
from armwright.simulation.artefact import tunable_loop
from armwright.simulation.loop_programs import loop_program

ARM = aw.load("ur5")
Q0 = np.array([0.0, -1.6, 1.4, 0.0, 0.5, 0.0])
PATH = quintic(Q0, Q0 + 0.4, 0.3)
BANDS = np.tile([[2.0], [0.5], [0.1], [0.05], [1.0]], (1, 6))
LOOP = aw.Loop.of(
    ARM,
    computed_torque(400.0, 40.0),
    rate=500.0,
    monitors=(momentum_observer(30.0), two_speed_detector(BANDS, BANDS)),
    stop_on_alarm=False,
    strict=True,
)
LOAD = (2.0, [0.01, -0.02, 0.06], np.array([[4e-3, 1e-4, 0.0], [1e-4, 5e-3, 2e-4], [0.0, 2e-4, 3e-3]]))
NUMBERS = [2.0, 0.01, -0.02, 0.06, 4e-3, 5e-3, 3e-3, 1e-4, 0.0, 2e-4]


def test_without_a_change_it_is_the_loop_that_it_was():
    plain, tuned = (loop.session(reference=PATH) for loop in (LOOP, tunable_loop(LOOP)))
    for session in (plain, tuned):
        session.run(0.2)
    for name in ("q", "tau", "tau_ext", "level"):
        np.testing.assert_allclose(tuned.recording()[name], plain.recording()[name], rtol=0, atol=1e-11, err_msg=name)


def test_a_payload_is_mass_centre_and_inertia():
    carrying = replace(LOOP, robots=(ARM.with_payload(*LOAD),))
    expected, session = carrying.session(reference=PATH), tunable_loop(LOOP, ["payload"]).session(reference=PATH)
    for slot in ("parameters", "model"):
        session.loop.set(slot, NUMBERS)
    expected.run(0.2)
    session.run(0.2)
    for name in ("q", "tau", "tau_ext"):
        np.testing.assert_allclose(session.recording()[name], expected.recording()[name], rtol=0, atol=1e-10)


def test_arm_and_model_have_numbers_of_their_own():
    session = tunable_loop(LOOP, ["payload"]).session(Q0)
    session.loop.set("parameters", NUMBERS)  # the arm carries what its controller does not know
    session.run(1.0)
    q = session.state[0, :6]
    weight = aw.gravity_torque(ARM.with_payload(*LOAD), q) - aw.gravity_torque(ARM, q)
    np.testing.assert_allclose(
        session.recording()["tau_ext"][-1], -weight, rtol=0.05, atol=0.1
    )  # it still sinks a little


def test_gains_of_law_and_monitors_change_under_way_as_in_the_program():
    """Run a strict session, change numbers half way; the program with the same changes gives every bit."""
    loop = tunable_loop(LOOP)
    session, program = loop.session(reference=PATH), loop_program(loop, "controller", Q0)
    session.run(0.1)
    changed = {"gain_kp": np.full(6, 250.0), "momentum_gain": 80.0, "two_speed_slow": 70.0, "payload_mass": 1.5}
    session.loop.set("gain_kp", changed["gain_kp"])
    session.loop.set("gain0_gain", [80.0])
    session.loop.set("gain1_slow", [70.0])
    model = np.ravel(loop.believed.values).copy()
    model[0] = 1.5
    session.loop.set("model", model)
    session.run(0.1)
    made = session.recording()
    halves = [slice(0, 50), slice(50, 100)]
    given = [{name: made[name][half] for name in ("q", "qd", "q_ref", "qd_ref", "qdd_ref")} for half in halves]
    first = program.run(given[0])
    carried = {port.name: first[port.name + "_next"] for port in program.states}
    second = program.run(given[1], start=carried | changed)
    for name in ("tau", "tau_ext", "level", "alarm"):
        out = np.concatenate([first[name], second[name]])
        np.testing.assert_array_equal(out.reshape(100, -1), made[name][:100].reshape(100, -1), err_msg=name)


def test_a_gain_that_decides_what_the_code_is_stays_a_constant():
    def law(q, qd, ref, kp, order):
        return kp * (ref.q - q) if order > 1.0 else kp * (ref.q - q) - qd

    loop = tunable_loop(aw.Loop.of(ARM, as_law(law, kp=10.0, order=2.0)), ["gains"])
    assert [port.name for port in loop_program(loop, "controller").parameters] == ["gain_kp"]


def test_only_numbers_that_have_an_effect_are_parameters():
    loop = tunable_loop(aw.Loop.of(ARM, pd_gravity(100.0, 10.0)), ["payload", "friction"])
    names = [port.name for port in loop_program(loop, "controller").parameters]
    assert names == ["payload_mass", "payload_centre"]  # gravity knows no inertia
    names = [port.name for port in loop_program(loop, "tick").parameters]
    assert {"payload_inertia", "friction_viscous", "model_payload_mass"} < set(names)


def test_refusals():
    with pytest.raises(InputError, match="'mass' is none of gains, payload, friction"):
        tunable_loop(LOOP, ["mass"])
    with pytest.raises(NotSupportedError, match="one arm"):
        tunable_loop(aw.Loop.of([ARM, ARM.with_payload(*LOAD)]), ["payload"])
    with pytest.raises(InputError, match="no gain speed; it has gain"):
        replace(momentum_observer(30.0), vary=("speed",))
