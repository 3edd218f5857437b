# SPDX-License-Identifier: Apache-2.0
"""A loop as one program: equal to the strict loop it was taken from, to the last bit, and near the default one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact.detectors import two_speed_detector
from armwright.contact.observers import momentum_observer
from armwright.control import as_law, computed_torque, pid
from armwright.errors import InputError, NotSupportedError
from armwright.motion import quintic
from armwright.simulation import JointSensors, Stribeck, drive_of
from armwright.simulation.loop_programs import loop_program

ARM = aw.load("planar2")
Q0 = np.array([0.3, -0.4])
PATH = quintic(Q0, [0.9, -1.1], 0.2)
BANDS = np.array([[0.5, 0.5], [0.1, 0.1], [0.0, 0.0], [0.0, 0.0], [0.1, 0.1]])


def pushed(t, q):
    return np.array([0.0, np.where(t > 0.15, 4.0, 0.0)]) - 0.1 * q


LOOP = aw.Loop.of(
    ARM,
    computed_torque(400.0, 40.0),
    external=pushed,
    monitors=(momentum_observer(30.0), two_speed_detector(BANDS, BANDS)),
    stop_on_alarm=False,
    strict=True,
)
OTHERS = {
    "memory of the law": {"law": pid(100.0, 50.0, 20.0)},
    "drive": {"drive": drive_of(aw.load("planar2"))},
    "friction with a state": {"friction": Stribeck(0.1, 0.1, 0.2, 0.1), "integrator": "rk4"},
    "substeps": {"substeps": 3},
    "semi-implicit": {"integrator": "semi-implicit"},
    "slow and late sensors": {"sensors": JointSensors(delay=2, every=3, position_resolution=1e-4)},
    "stops": {"limits": "clamp"},
}
TICKS = 250


def run(loop):
    session = loop.session(reference=PATH)
    assert session.run(TICKS * loop.period) == "end"
    recording = session.recording()
    return {name: recording[name][:TICKS] for name in recording}


def references(made):
    return {name: made[name] for name in ("q_ref", "qd_ref", "qdd_ref")}


def test_a_controller_is_the_strict_loop_to_the_last_bit():
    made = run(LOOP)
    program = LOOP.session(reference=PATH).program()
    assert [port.name for port in program.inputs] == ["q", "qd", "q_ref", "qd_ref", "qdd_ref"]
    out = program.run({"q": made["q"], "qd": made["qd"], **references(made)})
    for name in ("tau", "tau_ext", "level", "alarm"):
        np.testing.assert_array_equal(out[name].reshape(TICKS, -1), made[name].reshape(TICKS, -1), err_msg=name)
    assert (out["alarm"] >= 0.0).any() and (out["alarm"] < 0.0).any()


def test_the_default_build_is_within_1e_12_of_the_strict_one():
    made, fast = run(LOOP), run(replace(LOOP, strict=False))
    for name in ("q", "qd", "tau", "tau_ext"):
        np.testing.assert_allclose(fast[name], made[name], rtol=0.0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("what", ["as it is", *OTHERS])
def test_a_tick_is_the_strict_loop_to_the_last_bit(what):
    loop = replace(LOOP, **OTHERS.get(what, {}))
    made = run(loop)
    program = loop_program(loop, "tick", Q0)
    out = program.run(references(made))
    for name in ("q", "qd"):  # a tick ends where the next one begins
        np.testing.assert_array_equal(out[name][:-1], made[name][1:], err_msg=name)
    np.testing.assert_array_equal(out["tau_ext"], made["tau_ext"])
    np.testing.assert_array_equal(out["tau"], made["tau_command" if loop.drive else "tau"])


def test_the_sensor_model_is_not_part_of_a_controller():
    noisy = replace(LOOP, sensors=JointSensors(position_noise=1e-3, delay=2))
    assert loop_program(noisy, "controller").program.digest == loop_program(LOOP, "controller").program.digest
    assert "noise" in [port.name for port in loop_program(noisy, "tick").inputs]


def test_a_law_that_feels_gets_the_wrench_as_an_input():
    law = as_law(lambda q, qd, ref, wrench: 10.0 * (ref.q - q) - qd + 0.1 * wrench[:2])
    loop = aw.Loop.of(ARM, law, wrench=[3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    program = loop_program(loop, "controller")
    out = program.run({"wrench": np.array([[0.0] * 6, [5.0, -2.0, 0.0, 0.0, 0.0, 0.0]])})
    np.testing.assert_allclose(out["tau"], [[0.0, 0.0], [0.5, -0.2]])
    assert "wrench" not in loop_program(loop, "tick").starts


def test_time_is_counted_in_ticks():
    loop = aw.Loop.of(ARM, as_law(lambda t, q: np.array([t, 0.0]) * q), rate=1000.0)
    program = loop_program(loop, "controller")
    out = program.run({"q": np.ones((101, 2))})
    np.testing.assert_array_equal(out["tau"][:, 0], np.arange(101) * loop.period)


def test_starts_and_refusals():
    program = loop_program(LOOP, "tick", Q0)
    np.testing.assert_array_equal([program.starts["q"], program.starts["q_ref"]], [Q0, Q0])
    assert program.starting(q=[1.0, 2.0]).starts["q"].tolist() == [1.0, 2.0]
    with pytest.raises(InputError, match="q has shape"):
        program.starting(q=[1.0])
    with pytest.raises(InputError, match="no input tau"):
        program.run({"tau": np.zeros((3, 2))})
    for options, words in (
        ({"continuous": True, "monitors": ()}, "acts all the time"),
        ({"integrator": "dopri5"}, "as many steps as it needs"),
        ({"substeps": 40}, "at most 16"),
    ):
        with pytest.raises(NotSupportedError, match=words):
            loop_program(replace(LOOP, **options), "tick")
    with pytest.raises(InputError, match="kind must be"):
        loop_program(LOOP, "page")
    with pytest.raises(InputError, match="q0 must be"):
        loop_program(LOOP, "tick", [0.0])
