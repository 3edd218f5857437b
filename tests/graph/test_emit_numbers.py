# SPDX-License-Identifier: Apache-2.0
"""Every target that can be run gives the numbers of the plain interpreter."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from armwright.graph.emit import source
from armwright.graph.emit.c_source import emit_c
from armwright.graph.kernel import Kernel
from armwright.graph.tape import BLOCK, Tape
from armwright.graph.traced_program import trace
from support.emit import SAMPLES, interpret, programs, split
from support.patience import PATIENCE

GCC = shutil.which("gcc") or shutil.which("cc")
ROWS = np.tile(SAMPLES, (BLOCK // 4, 1))  # one block and a tail


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def run_tape(program, inputs):
    outputs = [np.full((len(inputs[0]), signal.size), np.nan) for signal in program.outputs]
    Tape(program).run(inputs, outputs)
    return outputs


def run_numpy(program, rows):
    scope: dict = {}
    exec(compile(source(program, "numpy"), "<generated>", "exec"), scope)
    shaped = [x.reshape((len(rows), *signal.shape)) for x, signal in zip(split(rows), program.inputs, strict=True)]
    return scope["law"](*shaped)


@given(programs())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_tape_and_numpy_source_agree_with_the_interpreter(program):
    expected = interpret(program, split(SAMPLES))
    for actual, value in zip(run_tape(program, split(SAMPLES)), expected, strict=True):
        close(actual, value)
    for actual, value in zip(run_tape(program, split(SAMPLES[:2])), expected, strict=True):
        close(actual, value[:2])  # the path on floats
    for actual, value, signal in zip(run_numpy(program, SAMPLES), expected, program.outputs, strict=True):
        assert actual.shape == (len(SAMPLES), *signal.shape)
        close(actual.reshape(value.shape), value)


@given(programs())
@settings(max_examples=10, deadline=None, derandomize=True)
def test_tape_blocks_and_tails(program):
    expected = interpret(program, split(SAMPLES))
    tape = Tape(program)
    for _ in range(2):  # frames are reused
        outputs = [np.full((len(ROWS), signal.size), np.nan) for signal in program.outputs]
        tape.run(split(ROWS), outputs)
        for actual, value in zip(outputs, expected, strict=True):
            close(actual, np.tile(value, (BLOCK // 4, 1)))


def test_one_tape_serves_several_threads():
    program = trace(lambda x: np.cumsum(np.sin(np.cumsum(x))) + np.where(x > 0.0, x, 0.0), {"x": (40,)})
    tape, x = Tape(program), np.random.default_rng(5).normal(size=(8, BLOCK + 500, 40))
    outputs = np.empty_like(x)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: tape.run([x[k]], [outputs[k]]), range(8)))
    close(outputs, np.cumsum(np.sin(np.cumsum(x, axis=-1)), axis=-1) + np.maximum(x, 0.0))


def test_overflow_and_poles_give_infinities_on_every_path():
    program = trace(lambda x: np.array([np.exp(x), 1.0 / x, np.log(x), np.minimum(x, np.inf)]), {"x": ()})
    x = np.array([[1e4], [0.0], [2.0], [-1.0], [0.0]])
    expected = [[np.inf, 1e-4, np.log(1e4), 1e4], [1.0, np.inf, -np.inf, 0.0], [np.exp(2), 0.5, np.log(2), 2.0]]
    for count in (1, 2, 5):
        out = np.zeros((count, 4))
        Tape(program).run([x[:count]], [out])
        close(out[:3], expected[:count])
    assert "INFINITY" in source(program, "c")
    assert "Inf" in source(program, "matlab")


def test_long_chains_are_cut_into_statements():
    def chain(x):
        for k in range(3000):
            x = np.abs(x - 0.01 * k)
        return x

    program = trace(chain, {"x": (1,)}, name="law")
    scope: dict = {}
    for target in ("numpy", "c", "matlab", "latex", "sympy"):
        assert len(source(program, target)) > 3000
    exec(compile(source(program, "numpy"), "<generated>", "exec"), scope)
    close(scope["law"]([0.3]), chain(np.array([0.3])))


@pytest.mark.skipif(GCC is None, reason="no C compiler")
@given(programs())
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_c_agrees_with_the_interpreter(tmp_path_factory, program):
    folder = tmp_path_factory.mktemp("c")
    header, text = emit_c(program)
    (folder / "law.h").write_text(header, encoding="utf-8")
    (folder / "law.c").write_text(text, encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([GCC, *flags, "law.c", "-o", "law.so", "-lm"], cwd=folder, check=True, timeout=PATIENCE)
    library = ctypes.CDLL(str(folder / "law.so"))
    inputs, expected = split(SAMPLES), interpret(program, split(SAMPLES))
    outputs = [np.full_like(value, np.nan) for value in expected]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *outputs)]
    library.law_batch(ctypes.c_long(len(SAMPLES)), *pointers)
    for actual, value in zip(outputs, expected, strict=True):
        close(actual, value)
    for array in outputs:
        array[:] = np.nan
    library.law(*pointers)  # one evaluation touches the first row only
    for actual, value in zip(outputs, expected, strict=True):
        close(actual[0], value[0])
        assert np.isnan(actual[1:]).all()


@given(programs())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_compiled_kernels_agree_with_the_interpreter(program):
    pytest.importorskip("llvmlite", reason="needs llvmlite")
    expected = interpret(program, split(SAMPLES))
    kernel = Kernel(program)
    shaped = [
        x.reshape((len(SAMPLES), *signal.shape)) for x, signal in zip(split(SAMPLES), program.inputs, strict=True)
    ]
    for actual, value in zip(kernel(*shaped), expected, strict=True):
        close(np.asarray(actual).reshape(value.shape), value)
    for actual, value in zip(kernel(*(x[0] for x in shaped)), expected, strict=True):
        close(np.ravel(actual), value[0])
