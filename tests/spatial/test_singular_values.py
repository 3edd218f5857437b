# SPDX-License-Identifier: Apache-2.0
"""Singular values without a branch are LAPACK's, whatever the condition, and they can be traced."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.graph import compile_function
from armwright.spatial.linear import left_singular


def badly_scaled(rng, m, n, kind):
    A = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-4.0, 1.0, (m, 1))
    if kind == "columns":
        A = A * 10.0 ** rng.uniform(-6.0, 0.0, n)
    elif kind == "lost rank":
        A[0] = A[-1]
    elif kind == "zero row":
        A[0] = 0.0
    elif kind == "equal values":
        A = 2.0 * np.linalg.qr(rng.normal(size=(max(m, n), max(m, n))))[0][:m, :n]
    return A


@pytest.mark.parametrize("kind", ["rows", "columns", "lost rank", "zero row", "equal values"])
@pytest.mark.parametrize(("m", "n"), [(3, 6), (6, 6), (6, 3), (6, 7), (2, 2), (1, 4)])
def test_values_are_lapacks_and_vectors_rebuild_the_matrix(m, n, kind):
    rng = np.random.default_rng(m * 10 + n)
    for _ in range(5):
        A = badly_scaled(rng, m, n, kind)
        U, s = left_singular(A)
        expected = np.zeros(m)
        expected[: min(m, n)] = np.linalg.svd(A, compute_uv=False)
        size = expected[0]
        assert np.abs(s - expected).max() <= 1e-14 * size
        assert np.abs(U.T @ U - np.eye(m)).max() < 1e-14
        assert np.abs((U * s**2) @ U.T - A @ A.T).max() <= 1e-14 * size**2


def test_traced_with_derivative():
    k = compile_function(lambda A: left_singular(A).s, {"A": (3, 4)})
    A = np.random.default_rng(0).normal(size=(3, 4))
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    assert np.abs(k(A) - s).max() < 1e-14
    slope = np.einsum("ik,kj->kij", U, Vt)  # ds_k/dA = u_k v_kᵀ
    assert np.abs(k.derivative("A")(A) - slope).max() < 1e-12
