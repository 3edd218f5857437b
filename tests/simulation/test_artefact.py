# SPDX-License-Identifier: Apache-2.0
"""What leaves the library as files: from loops, sessions and parts; described; refused where it cannot be."""

from __future__ import annotations

import json
import runpy

import numpy as np
import pytest

import armwright as aw
from armwright.contact.observers import momentum_observer
from armwright.control import computed_torque, pd_gravity
from armwright.errors import InputError, NotSupportedError
from armwright.motion import quintic, quintic_spline

ARM = aw.load("planar2")
Q0 = np.array([0.3, -0.4])
PATH = quintic(Q0, [0.9, -1.1], 0.2)
PARTS = [ARM, computed_torque(400.0, 40.0), momentum_observer(30.0)]


def test_parts_are_the_loop_that_they_make():
    loop = aw.Loop.of(ARM, PARTS[1], monitors=(PARTS[2],), rate=500.0)
    made = aw.export(PARTS, rate=500.0, to="numpy").program
    assert made.program.digest == aw.export(loop, to="numpy").program.program.digest
    assert made.period == 0.002


def test_a_session_starts_where_its_arm_is():
    session = aw.Loop.of(ARM, PARTS[1]).session(reference=PATH)
    session.run(0.1)
    starts = aw.export(session, to="numpy").program.starts
    np.testing.assert_array_equal([starts["q"], starts["q_ref"]], [session.state[0, :2]] * 2)


def test_a_numpy_module_gives_the_loops_numbers(tmp_path):
    artefact = aw.export(PARTS, "tick", to="numpy", q0=Q0)
    (place,) = artefact.write(tmp_path / "new")
    arm = runpy.run_path(str(place))["Controller"]()
    ref = PATH.evaluate(np.arange(50) * 1e-3)
    given = dict(zip(("q_ref", "qd_ref", "qdd_ref"), ref, strict=True))
    expected = artefact.program.run(given)
    for k in range(50):
        out = arm.step(**{name: rows[k] for name, rows in given.items()})
        for name in ("q", "tau", "tau_ext"):
            np.testing.assert_allclose(out[name], expected[name][k], rtol=0, atol=1e-11)
    with pytest.raises(TypeError, match="no input speed; inputs are q_ref"):
        arm.step(speed=1.0)


@pytest.mark.parametrize("path", [PATH, quintic_spline([Q0, Q0 + 0.1, Q0 - 0.1, Q0], [0.0, 0.1, 0.15, 0.3])])
def test_a_trajectory_among_the_parts_is_followed_by_itself(path):
    program = aw.export([ARM, path, *PARTS[1:]], to="numpy").program
    assert [port.name for port in program.inputs] == ["q", "qd"]
    out = program.run({"q": np.tile(Q0, (400, 1))})
    for name, rows in zip(("q_ref", "qd_ref", "qdd_ref"), path.evaluate(np.arange(400) * program.period), strict=True):
        np.testing.assert_allclose(out[name], rows, rtol=1e-12, atol=1e-11)


def test_a_description_is_plain_data_with_units():
    told = json.loads(json.dumps(aw.export(PARTS, to="numpy", tune=["payload"], q0=Q0).describe()))
    assert [port["name"] for port in told["inputs"]] == ["q", "qd", "q_ref", "qd_ref", "qdd_ref"]
    assert told["inputs"][0]["unit"] == "rad" and told["inputs"][0]["start"] == Q0.tolist()
    assert {port["name"]: port["unit"] for port in told["parameters"]}["payload_mass"] == "kg"
    assert told["outputs"][0]["labels"] == [joint.name for joint in ARM.joints]


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (PARTS, {"to": "pascal"}, "form of an artefact must be one of"),
        (PARTS, {"to": "numpy", "speed": 3}, "numpy has no option 'speed'"),
        (PARTS[1:], {}, "the parts have no arm"),
        ([ARM, pd_gravity(1.0, 1.0), pd_gravity(1.0, 1.0)], {}, "or the second one"),
        ([ARM, 3], {}, "3 is no arm"),
        ("ur5", {}, "expected a Loop"),
        (aw.Loop.of(ARM), {"rate": 100.0}, "the loop has its rate"),
    ],
)
def test_refusals(given, options, words):
    with pytest.raises(InputError, match=words):
        aw.export(given, **{"to": "numpy"} | options)


def test_a_long_trajectory_is_refused():
    times = np.arange(600.0)
    path = quintic_spline(np.sin(times)[:, None] * [1.0, 1.0], times)
    with pytest.raises(NotSupportedError, match="let the reference be an input"):
        aw.export([ARM, path, PARTS[1]], to="numpy")
