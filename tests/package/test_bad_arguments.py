# SPDX-License-Identifier: Apache-2.0
"""The public functions, each with one argument after the other spoilt: only errors of our own family may come out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import armwright as aw
from armwright import simulation
from support.calls import CALLS, LAW, PLANAR, TWO, UR5

SPOILT = {
    "text": "ur6",
    "none": None,
    "number": 3,
    "negative": -1.0,
    "nan": np.nan,
    "function": print,
    "texts": ["a", "b"],
    "ragged": [[1.0], [1.0, 2.0]],
    "nans": np.full(6, np.nan),
    "three": np.zeros(3),
    "empty": [],
    "object": object(),
    "dictionary": {"a": 1},
    "complex": 1.0 + 2.0j,
}


def spoilt_calls():
    for name, (function, good) in CALLS.items():
        for label in good:
            yield pytest.param(function, good, label, id=f"{name}-{label}")


@pytest.mark.parametrize("name", CALLS)
def test_the_good_call_is_good(name):
    function, good = CALLS[name]
    function(**good)


@pytest.mark.parametrize(("function", "good", "label"), spoilt_calls())
def test_only_our_own_errors_come_out(function, good, label):
    raw = []
    for what, value in SPOILT.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(**{**good, label: value})
        except aw.ArmwrightError:
            continue
        except Exception as error:
            raw.append(f"{what}: {type(error).__name__}: {error}")
    assert not raw, "\n".join(raw)


LANES = {
    "integrator": ["rk4", "semi-implicit", "dopri5", "rodas3"],
    "count": [3],
    "continuous": [True],
    "check_step": [False],
}


@pytest.mark.parametrize("options", [{k: v} for k, values in LANES.items() for v in values], ids=str)
def test_a_law_that_returns_nan_is_named_with_joint_and_time(options):
    def broken(q, qd, ref):
        return -q + np.array([0.0, np.nan])

    with pytest.raises(aw.SimulationError, match=r"law 'broken' returned .*nan\] at t = 0 s \(joint joint_2\)"):
        aw.simulate(PLANAR, broken, None, 0.01, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 10**9}, "count = 1000000000 simulations of 2 joints do not fit into memory; run at most"),
        ({"duration": 1e12}, "numbers would be recorded"),
        ({"substeps": 10**12}, "substeps must be a whole number from 1 to 100000"),
        ({"rate": 1e300}, "rate must be a positive number of ticks per second, at most"),
        ({"qd0": [0.0, 1e200]}, "qd0 of joint joint_2 is 1e.200"),
        ({"q0": [1e200, 0.0]}, "q0 of joint joint_1 is 1e.200"),
        ({"robot": "ur5"}, r"robot must be a Robot .* got 'ur5'.*armwright.load"),
        ({"robot": aw.Robot("stone", (), (), aw.robot.Actuators.none(0))}, "'stone' has no joints"),
        ({"friction": 0.1}, "friction must be a FrictionModel, got 0.1"),
        ({"friction": simulation.Stribeck([0.1] * 3, 0.1, 0.2, 0.1)}, r"friction.viscous must have shape .*\(2,\)"),
        ({"sensors": simulation.JointSensors([0.1] * 3)}, r"sensors.position_noise must have shape .*\(2,\)"),
        ({"drive": simulation.Drive(np.eye(3), 1.0, 1.0)}, r"drive.gear must have shape \(2, 2\)"),
        ({"model": UR5}, "the model 'ur5' has 6 joints, the robot 2"),
        ({"reference": np.zeros((5, 2))}, "one reference .* serves all simulations"),
        ({"external": lambda q: np.zeros(5)}, r"external must return shape \(2,\), got \(5,\)"),
        ({"wrench": lambda q: 3.0}, r"wrench must return shape \(6,\) or \(2, 6\), got \(\)"),
        ({"events": {"near": lambda q: q}}, r"event 'near' must return shape \(\), got \(2,\)"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_simulate_names_the_culprit_before_it_allocates(options, message):
    given = {"robot": PLANAR, "law": LAW, "reference": None, "duration": 0.01, **options}
    with pytest.raises(aw.InputError, match=message):
        aw.simulate(**given)


def test_simulate_names_an_unknown_option():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        aw.simulate(PLANAR, LAW, None, 0.01, colour="red")


def test_friction_parameters_may_be_lists():
    lists, arrays = (
        simulation.Stribeck(*(kind(v) for v in ([0.1, 0.2], [0.3, 0.1], [0.4, 0.2], [0.1, 0.1])))
        for kind in (list, np.array)
    )
    runs = [aw.simulate(PLANAR, LAW, TWO, 0.02, qd0=[1.0, -1.0], friction=model) for model in (lists, arrays)]
    np.testing.assert_array_equal(runs[0]["q"], runs[1]["q"])


@pytest.mark.parametrize(
    "call", [lambda: aw.check(PLANAR, samples=10**12), lambda: aw.dynamics.compare(PLANAR, states=10**12)]
)
def test_counts_beyond_any_memory_are_refused(call):
    with pytest.raises(aw.InputError, match=r"(samples|states) .*100000000000"):
        call()


def test_an_error_in_a_users_function_stays_as_it_is():
    def mine(q, qd, ref):
        return {}["no such key"]

    with pytest.raises((KeyError, aw.ArmwrightError), match="no such key"):
        aw.simulate(PLANAR, mine, TWO, 0.01)
