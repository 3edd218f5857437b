# SPDX-License-Identifier: Apache-2.0
"""The compiled table of piecewise polynomials gives the numbers of its NumPy twin, `Trajectory.evaluate`."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.graph.kernel import backend
from armwright.motion import Trajectory
from armwright.motion.trajectory import fill_table

pytestmark = pytest.mark.skipif(backend() != "llvm", reason="the compiled table needs llvmlite")


@pytest.mark.parametrize("pieces, size, n", [(1, 1, 1), (1, 4, 2), (3, 6, 6), (7, 6, 7), (5, 8, 3)])
def test_tables_are_what_numpy_computes(pieces, size, n, monkeypatch):
    rng = np.random.default_rng(size)
    breaks = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 1.0, pieces))])
    motion = Trajectory(breaks, rng.normal(size=(pieces, size, n)))
    t = np.sort(
        np.concatenate([rng.uniform(-0.5, breaks[-1] + 0.5, 400), breaks])
    )  # before, within, after, at the ends
    order = rng.permutation(t)  # and not in order of time
    for times in (t, order):
        table = np.full((len(times), 3 * n + 2), np.nan)
        assert fill_table(motion.breaks, motion.coefficients, times, table[:, 1:-1])
        assert np.isnan(table[:, [0, -1]]).all()  # nothing beside its columns
        monkeypatch.setattr("armwright.motion.trajectory.fill_table", lambda *_: False)
        expected = np.concatenate(motion.evaluate(times), axis=1)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(table[:, 1:-1], expected, rtol=0.0, atol=1e-12 * scale)
