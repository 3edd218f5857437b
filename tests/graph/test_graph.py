# SPDX-License-Identifier: Apache-2.0
"""Laws of the graph: tracing changes no number, sharing and folding are exact, derivatives are true."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings

from armwright.errors import TraceError
from armwright.graph.derive import derivative_matrix
from armwright.graph.expr import Graph
from armwright.graph.ops import Op
from armwright.graph.traced_program import TracedProgram, trace
from support.emit import SAMPLES, interpret, programs, split

RNG = np.random.default_rng(11)
X = RNG.uniform(0.2, 1.5, (5, 3))


def rows(program: TracedProgram, x: np.ndarray) -> list[np.ndarray]:
    outputs = interpret(program, [x])
    return [out.reshape((len(x), *signal.shape)) for out, signal in zip(outputs, program.outputs, strict=True)]


FUNCTIONS = {
    "elementwise": lambda x: np.sin(x) * np.cos(x) + np.tan(x) - np.exp(-x) / np.sqrt(x) + np.log(x) * np.tanh(x),
    "inverse": lambda x: np.arcsin(x / 2) + np.arccos(x / 2) * np.arctan(x) + np.arctan2(x, x[::-1]),
    "hyperbolic": lambda x: np.sinh(x) + np.cosh(x) + np.hypot(x, 2.0) + np.square(x) + np.reciprocal(x),
    "rounding": lambda x: np.floor(3 * x) + np.sign(x - 1.0) + np.abs(x - 1.0) + np.clip(x, 0.5, 1.0),
    "choice": lambda x: np.where((x > 0.7) & (x <= 1.2) | ~(x != x[0]), x, np.minimum(x, np.maximum(x[::-1], 0.8))),
    "logic": lambda x: (
        np.where(np.logical_or(x < 0.5, np.logical_not(x >= 1.0)), 1.0, x) + np.any(x > 1.4) + np.all(x > 0)
    ),
    "reductions": lambda x: np.sum(x) + np.max(x) * np.min(x) + np.mean(x) + np.prod(x) + np.linalg.norm(x) + x.max(),
    "products": lambda x: np.outer(x, x) @ np.arange(9.0).reshape(3, 3) + np.eye(3) * np.dot(x, [1.0, 2.0, 3.0]),
    "cross": lambda x: np.cross(x, np.array([1.0, -2.0, 0.5])) + np.einsum("ij,j->i", np.diag([1.0, 2.0, 3.0]), x),
    "shapes": lambda x: np.concatenate([np.stack([x, 2 * x]).T.ravel(), x.reshape(3, 1)[:, 0], np.zeros(2)]),
    "powers": lambda x: x**2 + x**-3 + x**0.5 + x**1.7 + 2.0**x + x ** np.array([1.0, 2.0, 3.0]) + x**0,
    "scalars": lambda x: (
        np.float64(2.0) * x[0] - np.float64(3.0) / x[1] + np.int64(2) * x[2] + (np.float64(1.0) < x[0])
    ),
    "mixed": lambda x: np.array([x[0], np.float64(2.0), 3]) * x[1] + np.array([[1.0, x[2], 0.0]]).sum(),
    "angles": lambda x: np.deg2rad(np.rad2deg(x)) + np.radians(x) + np.degrees(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("naive", [False, True])
def test_a_traced_function_gives_the_numbers_of_the_function(name, naive):
    function = FUNCTIONS[name]
    (values,) = rows(trace(function, {"x": (3,)}, naive=naive), X)
    for actual, x in zip(values, X, strict=True):
        expected = np.asarray(function(x), dtype=float)
        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)


def test_equal_expressions_are_one_node():
    graph = Graph()
    a, b = graph.input(0, 0), graph.input(0, 1)
    assert (a + b).index == (b + a).index
    assert (a * b).index == (b * a).index
    assert (a - b).index == (-(b - a)).index
    assert (b - a).op is Op.NEG  # the difference exists the other way round
    assert np.sin(-a).index == (-np.sin(a)).index
    assert np.cos(-a).index == np.cos(a).index
    assert ((-a) * (-b)).index == (a * b).index
    assert (-a / b).index == (-(a / b)).index
    assert (2.0 * (3.0 * a)).index == (6.0 * a).index
    assert (a / 4.0).index == (0.25 * a).index
    assert (a - a).is_zero
    assert (0.0 * a).is_zero
    assert (1.0 * a).index == (a + 0.0).index == (a**1).index == a.index


def test_truth_values_and_numbers_do_not_mix():
    graph = Graph()
    one, yes = graph.constant(1.0), graph.constant(True)
    assert (one.is_boolean, yes.is_boolean, one.index == yes.index) == (False, True, False)
    graph = Graph()
    yes, one = graph.constant(True), graph.constant(1.0)
    assert (one.is_boolean, one.value * 3.5) == (False, 3.5)
    x = graph.input(0, 0)
    assert ((x > 0.0) + (x > 1.0)).op is Op.ADD
    assert (x & (x > 0.0)).is_boolean


def test_outputs_keep_their_shapes_and_names():
    class Pair(NamedTuple):
        pose: Any
        energy: Any

    def pair(x):
        return Pair(np.array([[x[0], 0.0], [True, x[1] > 0.0]]), x[2])

    program = trace(pair, {"x": (3,)})
    assert [(s.name, s.shape) for s in program.outputs] == [("pose", (2, 2)), ("energy", ())]
    assert not program.single
    pose, energy = rows(program, X)
    np.testing.assert_array_equal(pose[0], [[X[0, 0], 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(energy, X[:, 2])
    single = trace(lambda x: x, {"x": (3,)})
    assert (single.single, single.name, single.outputs[0].name) == (True, "_lambda_", "_lambda_")


def test_dead_code_is_dropped_and_operations_are_counted():
    def f(x):
        np.exp(x)  # unused
        return (x[0] * x[1] + x[2]) / np.sin(x[0]) - x[1]

    program = trace(f, {"x": (3,)})
    assert program.counts == (1, 2, 1, 0, 1, 0)
    assert program.counts.flops == 4
    used = {a for node in program.nodes for a in node.args} | {k for result in program.results for k in result}
    assert used == set(range(len(program.nodes)))
    assert all(a < k for k, node in enumerate(program.nodes) for a in node.args)


def test_the_digest_tells_computations_apart_and_ignores_names():
    def f(x):
        return x * 2.0

    def g(x):
        return x * np.nextafter(2.0, 3.0)

    assert trace(f, {"x": (3,)}).digest == trace(f, {"x": (3,)}, name="other").digest
    assert (
        len(
            {
                trace(f, {"x": (3,)}).digest,
                trace(g, {"x": (3,)}).digest,
                trace(f, {"x": (4,)}).digest,
                trace(f, {"x": (3, 1)}).digest,
            }
        )
        == 4
    )


def _store(x):
    out = np.zeros(3)
    out += x
    return out


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: x if x[0] > 0 else -x, "np.where"),
        (lambda x: float(x[0]), "keep it symbolic"),
        (lambda x: np.linalg.solve(np.outer(x, x), x), "armwright.spatial.linear"),
        (lambda x: np.isfinite(x), "isfinite cannot be traced"),
        (lambda x: None, "returned nothing"),
        (lambda x: {"a": x}, "not a number"),
        (_store, "list"),
        (lambda x: x + "1", "traced"),
        (lambda x: np.where(x > 0.0), "both alternatives"),
        (lambda x: np.sort(x), "sort"),
    ],
)
def test_what_cannot_be_traced_says_why(function, words):
    with pytest.raises(TraceError, match=words):
        trace(function, {"x": (3,)})


@pytest.mark.parametrize("mix", [lambda a, b: a + b, np.arctan2, lambda a, b: np.where(a > 0.0, b, 1.0), np.maximum])
def test_values_of_two_graphs_cannot_be_mixed(mix):
    with pytest.raises(TraceError, match="different functions"):
        mix(Graph().input(0, 0), Graph().input(0, 0))


SMOOTH = {
    "arithmetic": lambda x: x[0] * x[1] / (2.0 + x[2]) - x[1] + x * x[::-1],
    "functions": lambda x: (
        np.sin(x) * np.cos(x[::-1]) + np.exp(-x) + np.log(x) + np.tanh(x) * np.sqrt(x) + np.arctan2(x, x[0])
    ),
    "corners": lambda x: (
        np.abs(x - 1) + np.maximum(x, x[::-1] * 0.9) + np.minimum(x, 0.8) * np.floor(x) + np.where(x > 1, x**2, x)
    ),
    "energy": lambda x: np.sum(np.sin(x)) ** 2 + np.linalg.norm(x),
    "matrix": lambda x: np.outer(x, np.sin(x))[:2],
    "constant": lambda x: np.array([1.0, x[0]]),
}


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_against_central_differences(name, mode):
    function = SMOOTH[name]
    (derivative,) = rows(trace(lambda x: derivative_matrix(function(x), x, mode=mode), {"x": (3,)}), X)
    step = 1e-6
    for actual, x in zip(derivative, X, strict=True):
        columns = [
            (np.asarray(function(x + step * e)) - np.asarray(function(x - step * e))) / (2 * step) for e in np.eye(3)
        ]
        np.testing.assert_allclose(actual, np.stack(columns, axis=-1).astype(float), rtol=1e-6, atol=1e-8)


@given(programs())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_forward_and_reverse_derivatives_of_random_programs_agree(program):
    def rebuild(q, T, x, mode):
        graph = q[0].graph
        cells, values = [q, T.ravel(), [x]], []
        for op, args, value in program.nodes:
            if op is Op.CONST:
                values.append(graph.constant(value))
            elif op is Op.INPUT:
                values.append(cells[value[0]][value[1]])
            else:
                build = {Op.MUL: graph.multiply, Op.ADD: graph.add, Op.SELECT: graph.select, Op.DIV: graph.divide}.get(
                    op
                )
                operands = [values[a] for a in args]
                values.append(build(*operands) if build else graph.apply(op, *operands))
        tau = np.array([values[k] for k in program.results[0]])
        return derivative_matrix(tau, q, mode=mode)

    shapes = {signal.name: signal.shape for signal in program.inputs}
    forward, reverse = (trace(rebuild, shapes, constants={"mode": mode}) for mode in ("forward", "reverse"))
    (a,), (b,) = interpret(forward, split(SAMPLES)), interpret(reverse, split(SAMPLES))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_the_alternative_not_chosen_spoils_no_derivative(mode):
    def f(x):
        return np.where(x > 0.0, np.sqrt(x) * np.log(x) + 2.0 / np.sqrt(x), 0.5 * x)

    (derivative,) = rows(
        trace(lambda x: derivative_matrix(f(x), x, mode=mode), {"x": (2,)}), np.array([[-1.0, 1.0], [0.0, -2.0]])
    )
    np.testing.assert_allclose(derivative, [[[0.5, 0.0], [0.0, 0.0]], [[0.5, 0.0], [0.0, 0.5]]], atol=1e-15)


def test_second_derivatives_and_values_held_constant():
    def hessian(x):
        return derivative_matrix(derivative_matrix(np.sin(x[0]) * x[1] ** 2 + x[2], x), x)

    (H,) = rows(trace(hessian, {"x": (3,)}), X)
    s, c, y = np.sin(X[:, 0]), np.cos(X[:, 0]), X[:, 1]
    np.testing.assert_allclose(H, np.swapaxes(H, 1, 2), atol=1e-15)
    np.testing.assert_allclose(H[:, :2, :2].reshape(-1, 4).T, [-s * y**2, 2 * c * y, 2 * c * y, 2 * s], rtol=1e-13)

    def partial(x, mode):
        inner = np.sin(x)
        return derivative_matrix(inner * x, x, held=inner, mode=mode), derivative_matrix(inner * x, inner, mode=mode)

    for mode in ("forward", "reverse"):
        by_x, by_inner = rows(trace(partial, {"x": (3,)}, constants={"mode": mode}), X)
        np.testing.assert_allclose(by_x, np.sin(X)[:, None, :] * np.eye(3), rtol=1e-14)
        np.testing.assert_allclose(by_inner, X[:, None, :] * np.eye(3), rtol=1e-14)
    with pytest.raises(TraceError, match="no constants"):
        trace(lambda x: derivative_matrix(x, 0.0 * x), {"x": (3,)})
