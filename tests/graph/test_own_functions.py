# SPDX-License-Identifier: Apache-2.0
"""Our own exp, tanh, sin and cos: near the truth, and the same in compiled strict code to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.graph.emit.own_functions import DOUBLE, strict_exp, strict_sincos, strict_tanh
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage, traced_stage

RNG = np.random.default_rng(1)
SMALL = np.concatenate([RNG.normal(size=4000), RNG.normal(size=1000) * 1e-8, [0.0]])
EXTREME = np.array([710.0, 709.78, -720.0, -745.1, -746.0, 1e300, -1e300, np.inf, -np.inf])
CASES = {
    "exp": (np.exp, strict_exp, np.concatenate([SMALL, RNG.uniform(-708.0, 709.0, 5000), EXTREME]), 1.0),
    "tanh": (np.tanh, strict_tanh, np.concatenate([SMALL, RNG.uniform(-25.0, 25.0, 5000), EXTREME]), 2.0),
    "sin": (np.sin, lambda x: strict_sincos(x)[0], np.concatenate([SMALL, RNG.uniform(-(2**20), 2**20, 5000)]), 3.0),
    "cos": (np.cos, lambda x: strict_sincos(x)[1], np.concatenate([SMALL, RNG.uniform(-(2**20), 2**20, 5000)]), 3.0),
}


@pytest.mark.parametrize("name", CASES)
def test_near_the_truth(name):
    truth, own, x, most = CASES[name]
    x = x[np.abs(x) < 700.0] if name == "exp" else x  # elsewhere the result is infinite, or has fewer digits
    exact = truth(x.astype(np.longdouble))
    if np.finfo(np.longdouble).nmant == np.finfo(float).nmant:
        most += 1.0  # the truth itself is rounded here
    assert (np.abs(own(x) - exact) <= most * np.spacing(np.abs(exact.astype(float)))).all()


SINGLE = {
    "exp": (-87.0, 88.0, 1.5),
    "tanh": (-12.0, 12.0, 2.5),
    "sin": (-8192.0, 8192.0, 1.5),
    "cos": (-8192.0, 8192.0, 1.5),
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision_is_near_the_truth(name):
    low, high, most = SINGLE[name]
    truth, own, _, _ = CASES[name]
    x = np.concatenate([RNG.uniform(low, high, 20_000), RNG.normal(size=2000), RNG.normal(size=500) * 1e-4])
    x = x.astype(np.float32)
    made, exact = own(x), truth(x.astype(np.float64))
    assert made.dtype == np.float32
    error = np.abs(made.astype(np.float64) - exact)
    if name in ("sin", "cos"):  # near its zeros the reduction has an absolute error
        assert error.max() < 1.5 * np.finfo(np.float32).eps / 2
    else:
        assert (error <= most * np.spacing(np.abs(exact).astype(np.float32))).all()


def test_single_precision_ends_of_the_range():
    ends = np.array([-104.0, -106.0, -1e30, 89.0, 1e30, np.inf, -np.inf], dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(strict_exp(ends), np.exp(ends), rtol=1e-6, atol=3e-45)


def test_ends_of_the_range():
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(strict_exp(EXTREME), np.exp(EXTREME), rtol=2e-16, atol=5e-324)
    np.testing.assert_array_equal(strict_tanh(np.array([np.inf, -np.inf, 800.0, np.nan])), [1.0, -1.0, 1.0, np.nan])
    assert np.isnan(strict_exp(np.array([np.nan]))).all()


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_compiled_strict_code_is_the_reference_to_the_last_bit(name, lanes):
    _, own, x, _ = CASES[name]
    function = getattr(np, name)
    part = stage(traced_stage(lambda s: {"y": np.array([function(s["x"][0])])}, {"x": (1,)}, name), "before")
    plan = LoopPlan({"x": 1, "y": 1}, (part,), shared=("x",), record=("y",))
    record, _ = CompiledLoop(plan, lanes, strict=True).run(len(x), shared=x[:, None])
    expected = np.broadcast_to(own(x), (lanes, len(x)))
    np.testing.assert_array_equal(record[..., 0], expected)


def test_strict_code_fuses_nothing():
    x = RNG.normal(size=(2000, 3))
    part = stage(
        traced_stage(lambda s: {"y": np.array([s["x"][0] * s["x"][1] + s["x"][2]])}, {"x": (3,)}, "sum"), "before"
    )
    plan = LoopPlan({"x": 3, "y": 1}, (part,), shared=("x",), record=("y",))
    record, _ = CompiledLoop(plan, strict=True).run(len(x), shared=x)
    np.testing.assert_array_equal(record[0, :, 0], x[:, 0] * x[:, 1] + x[:, 2])


def test_angles_beyond_the_reduction_are_asked_of_the_library():
    x = np.array([DOUBLE.far, -3e7, 1e15])
    part = stage(traced_stage(lambda s: {"y": np.array([np.sin(s["x"][0])])}, {"x": (1,)}, "far"), "before")
    plan = LoopPlan({"x": 1, "y": 1}, (part,), shared=("x",), record=("y",))
    record, _ = CompiledLoop(plan, strict=True).run(len(x), shared=x[:, None])
    np.testing.assert_allclose(record[0, :, 0], np.sin(x), rtol=0.0, atol=2e-16)
