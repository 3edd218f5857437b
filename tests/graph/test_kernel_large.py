# SPDX-License-Identifier: Apache-2.0
"""Programs of tens of thousands of operations: cut into parts, with the numbers of the whole."""

from __future__ import annotations

import re

import numpy as np
import pytest

import armwright as aw
from armwright.graph import compile_function, trace
from armwright.graph import kernel as kernel_module
from armwright.graph.emit.llvm import WHOLE, kernel_ir
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage
from support.arms import random_arm

LONGEST = 10_000  # lines of one function: well below what takes LLVM a second


def winding(q, turns=100):
    """A long contraction with everything that may have to be handed on: numbers, truth values, inputs, constants."""
    early, x, kept = q > 0.1, q, []
    for turn in range(turns):
        turned = np.sin(x[::-1] + 0.01 * turn) if turn % 8 == 0 else x[::-1] * 0.9 + 0.01 * turn
        x = 0.4 * turned + 0.3 * np.where(x > q, 0.7 * x, -x) + 0.1 * np.minimum(x, 0.2)
        if turn % 20 == 0:
            kept.append(np.where(early, x, 0.5 * x - q))
    return np.where(early, x, q), np.concatenate([*kept, q, np.ones(2)])


@pytest.fixture(scope="module")
def large():
    k = compile_function(winding, {"q": (5,)})
    assert len(k.program.nodes) > WHOLE
    return k


def test_a_large_program_gives_the_numbers_of_its_source(large):
    Q = np.random.default_rng(1).normal(size=(37, 5))
    expected = [winding(q) for q in Q]
    for output, got in enumerate(large(Q)):
        np.testing.assert_allclose(got, [e[output] for e in expected], rtol=0, atol=1e-12)
    for q, row in zip(Q, large(Q)[1], strict=True):  # one at a time, lanes, tails: the same bits
        np.testing.assert_array_equal(large(q)[1], row)


def test_a_large_program_runs_in_a_loop(large):
    Q = np.random.default_rng(2).normal(size=(11, 5))
    program = trace(winding, {"q": (5,)}, name="w")
    plan = LoopPlan({"q": 5, "w_0": 5, "w_1": program.outputs[1].size}, (stage(program, "inside"),), record=("q",))
    for rows in (1, 11):
        loop = CompiledLoop(plan, rows)
        loop.set("q", Q[:rows])
        loop.run(1)
        for slot, want in zip(("w_0", "w_1"), large(Q[:rows]), strict=True):
            np.testing.assert_array_equal(loop.get(slot), want)


def test_the_mass_matrix_of_fifty_joints_is_cut_and_right(monkeypatch):
    robot = random_arm(5, 50, drives="none", prismatic=0.0)
    q = np.random.default_rng(3).normal(size=50)
    M = aw.mass_matrix(robot, q)
    k = next(k for k in robot.known.values() if isinstance(k, kernel_module.Kernel))
    for width in (1, 8):  # time to compile is per function, and grows with the square of its length
        text = kernel_ir(k.program, "m", width=width, check_finite=True)
        lengths = [f.count("\n") for f in re.findall(r"^define .*?^}", text, re.MULTILINE | re.DOTALL)]
        assert sum(lengths) > 50_000 and max(lengths) < LONGEST
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    monkeypatch.setattr(kernel_module, "_warned", True)
    tape = kernel_module.make_kernel(k.program)(q)
    np.testing.assert_allclose(M, tape, rtol=0, atol=1e-12 * np.abs(tape).max())
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0.0
