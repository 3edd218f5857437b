# SPDX-License-Identifier: Apache-2.0
"""Straight-line solvers: against LAPACK, sparsity of trees, and the same code on symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armwright import spatial as sp
from armwright.graph.array import inputs_of
from armwright.graph.expr import Expr, Graph
from armwright.graph.ops import MEANING, Op


def positive_definite(n: int, seed: int) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


def evaluate(graph: Graph, inputs: list[np.ndarray], out: Any) -> np.ndarray:
    """Run the nodes one after the other."""
    values: list[Any] = []
    for op, args, value in zip(graph.ops, graph.args, graph.values, strict=True):
        if op is Op.CONST:
            values.append(value)
        elif op is Op.INPUT:
            values.append(inputs[value[0]].ravel()[value[1]])
        else:
            values.append(MEANING[op](*(values[k] for k in args)))
    flat = [values[x.index] if isinstance(x, Expr) else float(x) for x in np.asarray(out, dtype=object).ravel()]
    return np.array(flat).reshape(np.shape(out))


def test_ltdl_factors_and_solves() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 6, 9):
        A = positive_definite(n, n)
        L, d, d_inverse = sp.ltdl(A)
        np.testing.assert_allclose(L.T @ np.diag(d) @ L, A, atol=1e-12 * n)
        np.testing.assert_array_equal(np.triu(L, 1), 0.0)
        np.testing.assert_allclose(d * d_inverse, 1.0)
        b, B = rng.normal(size=n), rng.normal(size=(n, 4))
        np.testing.assert_allclose(sp.ltdl_solve(A, b), np.linalg.solve(A, b), atol=1e-13)
        np.testing.assert_allclose(sp.ltdl_solve(A, B), np.linalg.solve(A, B), atol=1e-13)
        inverse = sp.ldl_inverse(A)
        np.testing.assert_allclose(inverse, np.linalg.inv(A), atol=1e-13)
        np.testing.assert_array_equal(inverse, inverse.T)
    assert sp.ltdl_solve(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
    np.testing.assert_allclose(sp.determinant3(positive_definite(3, 7)), np.linalg.det(positive_definite(3, 7)))


def test_branches_of_a_tree_do_not_fill_in() -> None:
    # two branches (1, 2) and (3, 4) on one trunk 0
    M = positive_definite(5, 3)
    M[np.ix_([1, 2], [3, 4])] = 0.0
    M[np.ix_([3, 4], [1, 2])] = 0.0
    L = sp.ltdl(M).L
    assert (L[np.ix_([3, 4], [1, 2])] == 0.0).all()
    np.testing.assert_allclose(sp.ltdl_solve(M, np.arange(5.0)), np.linalg.solve(M, np.arange(5.0)), atol=1e-13)


def test_solver_on_symbols_skips_structural_zeros() -> None:
    M = positive_definite(5, 3)
    M[np.ix_([1, 2], [3, 4])] = M[np.ix_([3, 4], [1, 2])] = 0.0
    b = np.arange(1.0, 6.0)

    def traced(keep_zeros: bool) -> tuple[Graph, np.ndarray, np.ndarray]:
        graph = Graph()
        symbols = inputs_of(graph, 0, (5, 5))
        cells = np.asarray(symbols).copy()
        if keep_zeros:
            cells[M == 0.0] = 0.0
        rhs = inputs_of(graph, 1, (5,))
        return graph, sp.ltdl_solve(cells, rhs), sp.ldl_inverse(cells)

    sparse, x, inverse = traced(True)
    dense, _, _ = traced(False)
    assert len(sparse.ops) < 0.8 * len(dense.ops)
    assert sparse.ops.count(Op.DIV) == 5  # one reciprocal a pivot
    np.testing.assert_allclose(evaluate(sparse, [M, b], x), np.linalg.solve(M, b), atol=1e-13)
    np.testing.assert_allclose(evaluate(sparse, [M, b], inverse), np.linalg.inv(M), atol=1e-13)


CASES = {
    "exp_so3": (sp.exp_so3, (3,)),
    "exp_se3": (sp.exp_se3, (6,)),
    "log_so3": (lambda x: sp.log_so3(sp.exp_so3(x)), (3,)),
    "log_se3": (lambda x: sp.log_se3(sp.exp_se3(x)), (6,)),
    "euler": (lambda x: sp.euler_from_rotation(sp.exp_so3(x), "zyz").angles, (3,)),
    "rpy": (lambda x: sp.rpy_from_rotation(sp.exp_so3(x)).angles, (3,)),
    "rates": (lambda x: sp.euler_rate_inverse(x, "zxz"), (3,)),
    "adjoint": (lambda x: sp.adjoint(sp.exp_se3(x)), (6,)),
    "wrench": (lambda x: sp.transform_wrench(sp.exp_se3(x), x), (6,)),
    "bracket": (lambda x: sp.lie_bracket(x, sp.force_cross(x, x)), (6,)),
    "screw": (lambda x: sp.exp_se3(sp.screw(x[:3], x[3:])), (6,)),
    "chasles": (lambda x: np.concatenate(sp.chasles(x)[:2]), (6,)),
    "quaternion": (lambda x: sp.multiply_wxyz(sp.xyzw_from_rotation(sp.exp_so3(x)), [1, 2, 3, 4]), (3,)),
    "axis_angle": (lambda x: sp.axis_angle(x[:3], x[3]), (4,)),
    "inertia": (lambda x: sp.spatial_inertia(x[0], x[1:4], sp.cylinder_inertia(x[0], x[1], x[2])), (4,)),
    "bodies": (lambda x: sp.sum_bodies([(x[0], x[1:], np.eye(3)), (2.0, np.ones(3), np.eye(3))]).inertia, (4,)),
}


@pytest.mark.parametrize("name", CASES)
def test_geometry_runs_on_symbols(name: str) -> None:
    function, shape = CASES[name]
    graph = Graph()
    out = function(inputs_of(graph, 0, shape))
    rng = np.random.default_rng(8)
    for scale in (1.0, 1e-3, 0.0 if name not in ("rates", "screw") else 0.5):
        x = scale * rng.uniform(0.2, 1.2, size=shape)
        np.testing.assert_allclose(evaluate(graph, [x], out), function(x), atol=1e-14)
