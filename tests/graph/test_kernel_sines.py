# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of any finite angle: right to two units in the last place, and the same on every path."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

import armwright as aw
from armwright.graph import compile_function, jit, trace
from armwright.graph import kernel as kernel_module
from armwright.graph.emit.llvm import kernel_ir
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage

LANES = 8  # as many angles as the widest machine has lanes


def angles() -> np.ndarray:
    """Angles from 1e-300 to 1e300 of either sign, half of them as near to multiples of π/2 as doubles come."""
    rng = np.random.default_rng(1)
    x = 10.0 ** rng.uniform(-300.0, 300.0, 4000)
    x = np.concatenate([x, 10.0 ** rng.uniform(-3.0, 20.0, 4000), 2.0 ** np.arange(-60, 100)])
    whole = np.round(rng.uniform(0.0, 1.0, 8000) * 10.0 ** rng.uniform(0.0, 17.0, 8000))
    x = np.concatenate([x, whole * (math.pi / 2), [0.0, 5e-324, 1e50, 4e15, 1.7976931348623157e308]])
    # 6381956970095103·2^797: the double nearest to a multiple of π/2, 4.7e-19 away (Muller, Elementary Functions, 2006)
    x = np.append(x, math.ldexp(6381956970095103.0, 797))
    return np.concatenate([x, -x])


def errors(x: np.ndarray, s: np.ndarray, c: np.ndarray) -> float:
    """Largest error in units in the last place of the right result."""
    worst = 0.0
    for got, function in ((s, math.sin), (c, math.cos)):
        want = np.array([function(value) for value in x.tolist()])
        worst = max(worst, float(np.max(np.abs(got - want) / np.spacing(np.abs(want)))))
    return worst


def both(q):
    return np.sin(q), np.cos(q)


def test_sine_and_cosine_of_any_angle_are_good_to_two_ulps():
    x = angles()
    k = compile_function(both, {"q": (1,)}, name="both")
    s, c = k(x[:, None])
    assert errors(x, s[:, 0], c[:, 0]) <= 2.0
    for value, sine, cosine in zip(x[::7], s[::7], c[::7], strict=True):  # a single call: bit for bit the same
        one = k(np.array([value]))
        assert one[0] == sine and one[1] == cosine
    many = compile_function(both, {"q": (5,)}, name="five")  # angles beside one another in a single call
    rows = x[: len(x) // 5 * 5].reshape(-1, 5)
    for row, sine in zip(rows[::11], s[: rows.size, 0].reshape(-1, 5)[::11], strict=True):
        np.testing.assert_array_equal(many(row)[0], sine)


def test_an_angle_does_not_depend_on_those_beside_it():
    k = compile_function(both, {"q": (2,)}, name="beside")
    rng = np.random.default_rng(2)
    near = rng.normal(size=(64, 2)) * 10.0
    alone = k(near)
    for row in range(64):
        mixed = near.copy()
        mixed[row, row % 2] = (-1.0) ** row * 10.0 ** rng.uniform(12.0, 300.0)
        for got, want in zip(k(mixed), alone, strict=True):
            others = np.ones((64, 2), dtype=bool)
            others[row, row % 2] = False
            np.testing.assert_array_equal(got[others], want[others])


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("fma", [True, False])
def test_machines_without_fused_multiplication_are_as_right(width, fma):
    if fma and not jit.host().fma:
        pytest.skip("this machine has no fused multiplication")
    name = f"sines_{width}_{int(fma)}"
    text = kernel_ir(trace(both, {"q": (1,)}), name, width=width, check_finite=False, fma=fma)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, ctypes.c_int64)(
        jit.load_function(jit.compile_object(text), name)
    )
    x = angles()
    x = np.concatenate([x, np.zeros(-len(x) % width)])
    s, c = np.empty_like(x), np.empty_like(x)
    run((ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * 2)(s.ctypes.data, c.ctypes.data), len(x))
    assert errors(x, s, c) <= (2.0 if fma else 3.0)


def test_loops_and_derivatives_take_any_angle_too():
    x = angles()[::9]
    k = compile_function(both, {"q": (1,)}, name="both")
    s, c = (result[:, 0] for result in k(x[:, None]))
    assert errors(x, s, c) <= 2.0
    ds, dc = k.derivative("q")(x[:, None])
    np.testing.assert_array_equal(ds[:, 0, 0], c)
    np.testing.assert_array_equal(dc[:, 0, 0], -s)
    program = trace(both, {"q": (1,)}, name="both")
    plan = LoopPlan({"q": 1, "both_0": 1, "both_1": 1}, (stage(program, "inside"),), record=("q",))
    for count in (1, LANES + 3, len(x)):
        loop = CompiledLoop(plan, count)
        loop.set("q", x[-count:, None])
        loop.run(1)
        np.testing.assert_array_equal(loop.get("both_0")[:, 0], s[-count:])
        np.testing.assert_array_equal(loop.get("both_1")[:, 0], c[-count:])


def test_the_numpy_tape_takes_any_angle_too(monkeypatch):
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    monkeypatch.setattr(kernel_module, "_warned", True)
    x = angles()
    s, c = compile_function(both, {"q": (1,)}, name="both")(x[:, None])
    assert errors(x, s[:, 0], c[:, 0]) <= 4.0  # what NumPy promises for its vector units


def test_poses_and_torques_of_enormous_angles_are_those_of_their_sines():
    robot = aw.load("ur5")
    rng = np.random.default_rng(3)
    q = rng.choice([-1.0, 1.0], (40, 6)) * 10.0 ** rng.uniform(0.0, 300.0, (40, 6))
    q[0] = 1e50
    small = np.array([[math.atan2(math.sin(v), math.cos(v)) for v in row] for row in q.tolist()])
    T = aw.fk(robot, q)
    assert np.isfinite(T).all()
    np.testing.assert_allclose(T, aw.fk(robot, small), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(T[0], aw.fk(robot, q[0]))
    np.testing.assert_allclose(aw.mass_matrix(robot, q), aw.mass_matrix(robot, small), rtol=0, atol=1e-12)
