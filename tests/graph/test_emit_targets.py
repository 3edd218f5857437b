# SPDX-License-Identifier: Apache-2.0
"""MATLAB, SymPy and JAX give the numbers of the interpreter; names and targets are handled with care."""

from __future__ import annotations

import math
import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings

from armwright.errors import InputError
from armwright.graph.emit import source
from armwright.graph.ops import Op
from armwright.graph.traced_program import trace
from support.emit import INPUTS, SAMPLES, interpret, programs, split
from support.patience import PATIENCE

FEW_EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)


def close(actual, expected):
    np.testing.assert_allclose(np.asarray(actual, dtype=float).ravel(), np.ravel(expected), rtol=1e-11, atol=1e-11)


class Cells:
    """A MATLAB array: called to read, assigned by index from 1."""

    def __init__(self, array):
        self.array = array

    def __call__(self, *index):
        return float(self.array[tuple(k - 1 for k in index)])


def run_matlab(text: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Carry out the assignments of a generated function file."""
    head, *lines = text.replace(" ...\n", " ").split("\n")
    outputs, _, inputs = re.fullmatch(r"function \[(.*)\] = (\w+)\((.*)\)", head).groups()
    scope = {name: getattr(math, name) for name in ("sin", "cos", "sqrt", "exp", "log", "tanh", "atan2", "floor")}
    scope |= {"abs": abs, "min": min, "max": max, "pick": lambda c, a, b: a if c else b, "Inf": math.inf}
    scope |= {"true": True, "false": False}
    for name, array in zip(inputs.split(", "), arguments, strict=True):
        scope[name] = Cells(array) if re.search(rf"\b{name}\(", text) else float(array.ravel()[0])  # a scalar
    for line in lines[: lines.index("end")]:
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        left, right = re.fullmatch(r"([\w(), ]+?) = (.*);", line).groups()
        if right.startswith("zeros("):
            scope[left] = Cells(np.zeros(tuple(map(int, right[6:-1].split(", ")))))
            continue
        right = right.replace("&&", " and ").replace("||", " or ")
        for _ in range(right.count("~")):  # innermost first: ~~x has two of them
            right = re.sub(r"~(\w+\([^()]*\)|\w+|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))", r"(not \1)", right)
        value = eval(right, scope)  # noqa: S307 - our own text
        if "(" in left:
            name, index = left[:-1].split("(")
            scope[name].array[tuple(int(k) - 1 for k in index.split(","))] = value
        else:
            scope[left] = value
    return [getattr(scope[name], "array", scope[name]) for name in outputs.split(", ")]


@given(programs())
@FEW_EXAMPLES
def test_matlab_agrees_with_the_interpreter(program):
    expected = interpret(program, split(SAMPLES))
    text = source(program, "matlab")
    columns = [signal.shape if len(signal.shape) == 2 else (signal.size, 1) for signal in INPUTS]
    for row in range(2):
        arguments = [x[row].reshape(shape) for x, shape in zip(split(SAMPLES), columns, strict=True)]
        arguments = [a if a.shape[1] > 1 else a[:, 0] for a in arguments]
        for actual, value in zip(run_matlab(text, arguments), expected, strict=True):
            close(actual, value[row])


def cells(value):
    """Return the elements of a SymPy matrix, or the expression itself as the only one."""
    return list(value.flat()) if hasattr(value, "flat") else [value]


@given(programs())
@settings(max_examples=12, deadline=None, derandomize=True)
def test_sympy_agrees_with_the_interpreter(program):
    sp = pytest.importorskip("sympy", reason="needs SymPy")
    from armwright.graph.emit.sympy_source import to_sympy

    expected = interpret(program, split(SAMPLES))
    symbolic = to_sympy(program, limit=6)
    numbers = {}
    for name, x in zip(symbolic.inputs, split(SAMPLES), strict=True):
        numbers |= dict(zip(cells(symbolic.inputs[name]), map(sp.Float, x[0]), strict=True))
    for symbol, expression in symbolic.definitions:
        numbers[symbol] = expression.xreplace(numbers)
    for output, value in zip(symbolic.outputs.values(), expected, strict=True):
        close([sp.N(e) for e in cells(output.xreplace(numbers))], value[0])
    scope: dict = {}
    exec(compile(source(program, "sympy"), "<generated>", "exec"), scope)
    shaped = [
        sp.Matrix(x[0].reshape(s.shape)) if s.shape else sp.Float(x[0, 0])
        for x, s in zip(split(SAMPLES), INPUTS, strict=True)
    ]
    for output, value in zip(scope["law"](*shaped), expected, strict=True):
        close([sp.N(e) for e in cells(output)], value[0])


def test_sympy_expressions_expand_to_the_inputs():
    sp = pytest.importorskip("sympy", reason="needs SymPy")
    from armwright.graph.emit.sympy_source import to_sympy

    def energy(q, qd):
        c = np.cos(q[0])
        return (c * qd[0]) ** 2 + c * qd[1], np.array([[c * c, c * qd[0]]])

    symbolic = to_sympy(trace(energy, {"q": (1,), "qd": (2,)}))
    q1, (qd1, qd2) = symbolic.inputs["q"][0], symbolic.inputs["qd"]
    assert (sp.Symbol("cos_q1", real=True), sp.cos(q1)) in symbolic.definitions
    scalar, row = symbolic.expanded().values()
    assert sp.simplify(scalar - ((sp.cos(q1) * qd1) ** 2 + sp.cos(q1) * qd2)) == 0
    assert row == sp.Matrix([[sp.cos(q1) ** 2, sp.cos(q1) * qd1]])


def everything(q, T, x):
    """Every operation once."""
    a = np.sqrt(1.0 + q * q) / (2.0 + np.cos(q[0] + q[1])) - np.tanh(T[0, 1] * q)
    b = np.where((q < x) | ((T[0, 0] <= x) & ~(q == x)), np.exp(-a), np.log(2.0 + np.abs(a)))
    c = np.arctan2(np.sin(x), 2.0 + np.floor(T[1, 1] * 3.3)) + np.minimum(a, b) * np.maximum(q, -x)
    return a, T * x, c @ b


EVERYTHING = trace(everything, {signal.name: signal.shape for signal in INPUTS}, name="law")


def test_the_example_holds_every_operation():
    assert {node.op for node in EVERYTHING.nodes} == set(Op)


def test_jax_function_and_source(jax64):
    from armwright.graph.emit.jax_source import to_jax

    shaped = [x.reshape((len(SAMPLES), *s.shape)) for x, s in zip(split(SAMPLES), INPUTS, strict=True)]
    expected = interpret(EVERYTHING, split(SAMPLES))
    scope: dict = {}
    exec(compile(source(EVERYTHING, "jax"), "<generated>", "exec"), scope)
    function = to_jax(EVERYTHING)
    for evaluate in (jax64.jit(function), jax64.vmap(scope["law"])):
        for actual, value, signal in zip(evaluate(*shaped), expected, EVERYTHING.outputs, strict=True):
            assert actual.dtype == np.float64
            assert actual.shape == (len(SAMPLES), *signal.shape)
            close(actual, value)
    slope = jax64.grad(lambda x: function(shaped[0][0], shaped[1][0], x)[2])(0.3)
    step = [
        interpret(EVERYTHING, [x[:1] for x in split(SAMPLES)[:2]] + [np.full((1, 1), 0.3 + d)])[2]
        for d in (1e-6, -1e-6)
    ]
    assert float(slope) == pytest.approx(float((step[0] - step[1])[0, 0]) / 2e-6, rel=1e-6)
    with pytest.raises(InputError, match=r"q must have shape \(\.\.\., 3\), got \(2,\)"):
        function(np.zeros(2), shaped[1][0], 0.0)


def test_numpy_source_broadcasts_batch_axes():
    scope: dict = {}
    exec(compile(source(EVERYTHING, "numpy"), "<generated>", "exec"), scope)
    rng = np.random.default_rng(3)
    q, T, x = rng.normal(size=(4, 1, 3)), rng.normal(size=(2, 2)), rng.normal(size=5)
    a, Tx, c = scope["law"](q, T, x)
    assert (a.shape, Tx.shape, c.shape) == ((4, 5, 3), (4, 5, 2, 2), (4, 5))
    for i, j in ((0, 0), (3, 4)):
        for actual, value in zip((a, Tx, c), everything(q[i, 0], T, x[j]), strict=True):
            close(actual[i, j], value)


def awkward(double, lambda_, end, awkward):
    return double + lambda_ * end - awkward[0]


AWKWARD = trace(awkward, {"double": (), "lambda_": (), "end": (), "awkward": (1,)})


def test_awkward_names_stay_valid(tmp_path):
    values = [np.array([v]) for v in (2.0, 3.0, 5.0, 7.0)]
    scope: dict = {}
    exec(compile(source(AWKWARD, "numpy", name="lambda"), "<generated>", "exec"), scope)
    assert scope["lambda_"](2.0, 3.0, 5.0, values[3]) == 10.0
    assert run_matlab(source(AWKWARD, "matlab"), values)[0] == 10.0
    assert (
        run_matlab(source(trace(lambda x: x, {"x": ()}), "matlab"), values[:1])[0] == 2.0
    )  # named lambda_, not _lambda_
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler:
        (tmp_path / "a.c").write_text(source(AWKWARD, "c", name="double"), encoding="utf-8")
        subprocess.run(
            [compiler, "-std=c99", "-Wall", "-Werror", "-c", "a.c"], cwd=tmp_path, check=True, timeout=PATIENCE
        )


def test_renaming_and_refusals():
    text = source(EVERYTHING, "matlab", name="plant", outputs=["a", "b", "energy"])
    assert text.startswith("function [a, b, energy] = plant(q, T, x)")
    with pytest.raises(
        InputError, match=r"no target 'fortran'; valid targets: c, numpy, sympy, latex, matlab, jax, llvm"
    ):
        source(EVERYTHING, "fortran")
    with pytest.raises(InputError, match="3 outputs, 1 names"):
        source(EVERYTHING, "c", outputs=["tau"])
    with pytest.raises(InputError, match="'1x'"):
        source(EVERYTHING, "c", name="1x")
