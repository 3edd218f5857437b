# SPDX-License-Identifier: Apache-2.0
"""Maps: where cells are, what is felt and swept, how contacts are marked, and stepping back (000 C.2.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwright.errors import InputError
from armwright.planning import Grid, GridMap, grid_map, mark
from armwright.planning.grid.grid_map import FELT, FREE, UNKNOWN, inflate
from armwright.planning.grid.map_marking import back_off, contact_point, nearest_free
from armwright.studies.doc000_collision.setting import patch, step_back


def test_patch_of_000_has_the_documents_formulas_and_rounding():
    grid = patch().grid
    u, v = np.meshgrid(np.arange(1, 21), np.arange(1, 21), indexing="ij")
    p = grid.centre(np.stack([u, v], axis=-1))
    np.testing.assert_array_equal(p[..., 0], 0.1238 + 0.0263 * u)
    np.testing.assert_array_equal(p[..., 1], -0.2762 + 0.0263 * v)
    assert (p[..., 2] == 0).all()
    np.testing.assert_array_equal(grid.cell(p), np.stack([u, v], axis=-1))
    assert grid.cell([0.17632, 0.01304, 0.0]).tolist() == [2, 11]  # FK of the start posture of 000 C.2.2
    np.testing.assert_allclose(grid.centre((18, 7)), [0.5972, -0.0921, 0.0], atol=1e-12)
    halves = Grid((9, 9), (0, 0, 0), None, 1.0)
    assert halves.cell([[0.5, 1.5, 0], [2.5, -0.5, 0]]).tolist() == [[1, 2], [3, 0]]  # floor(x + ½), not to even


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]))
def test_cells_and_points_are_inverse_in_any_pose(seed, dim):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0][:dim]
    grid = Grid((7, 8, 9)[:dim], rng.normal(size=3), axes, rng.uniform(0.01, 0.3, dim), int(rng.integers(2)))
    cells = rng.integers(0, (7, 8, 9)[:dim], size=(20, dim)) + grid.first
    inside = rng.uniform(-0.499, 0.499, (20, dim)) * grid.cell_size
    points = grid.centre(cells) + inside @ axes
    np.testing.assert_array_equal(grid.cell(points), cells)
    assert grid.inside(cells).all() and not grid.inside(cells + 9).any()
    assert np.linalg.det(grid.frame) == pytest.approx(1.0 if dim == 2 else np.linalg.det(axes))


def test_belief_is_counted_and_maps_are_never_changed_in_place():
    empty = grid_map((4, 5), cell_size=0.1)
    felt = empty.with_felt((1, 2)).with_felt((1, 2))
    both = felt.with_swept((1, 2), (0, 0))
    assert (empty.state == UNKNOWN).all() and felt.felt[1, 2] == 2
    assert both.state[1, 2] == FELT and both.state[0, 0] == FREE and both.log_odds[0, 0] < 0 < both.log_odds[1, 2]
    cleared = felt.with_swept(*[(1, 2)] * 12)
    assert cleared.blocked()[1, 2] and not cleared.blocked("belief")[1, 2]
    assert not replace(cleared, rule="belief").blocked().any()
    swept = empty.sweep([[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.1, 0.1, 0.0], [9.0, 9.0, 0.0]])
    assert swept.swept.sum() == 2 and swept.swept[0, 0] == swept.swept[1, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        felt.felt[0, 0] = 1
    assert patch().blocked().sum() == 20 * 20 - 18 * 18 and not patch(ring=False).blocked().any()


def test_inflation_keeps_the_tool_off():
    rng = np.random.default_rng(0)
    blocked = rng.random((12, 9, 7)) < 0.02
    size, radius = np.array([0.1, 0.15, 0.2]), 0.23
    cells = np.argwhere(np.ones_like(blocked))
    apart = np.abs(cells[:, None] - np.argwhere(blocked)[None])
    centre = np.sqrt(((apart * size) ** 2).sum(-1)).min(axis=1) <= radius
    gap = np.sqrt(((np.maximum(apart - 1, 0) * size) ** 2).sum(-1)).min(axis=1) < radius
    np.testing.assert_array_equal(inflate(blocked, radius, size), centre.reshape(blocked.shape))
    np.testing.assert_array_equal(inflate(blocked, radius, size, boxes=True), gap.reshape(blocked.shape))
    m = GridMap(Grid((9, 9), (0, 0, 0), None, 0.1), radius=0.1).with_felt((4, 4))
    assert m.blocked().sum() == 5 and m.blocked(inflated=False).sum() == 1
    assert not inflate(np.zeros((3, 3)), 1.0).any()


def test_marking_desired_or_contact_point():
    where = patch()
    desired = where.grid.centre((10, 11))
    once = mark(where, desired)
    twice = mark(once.map, desired)
    assert once.cell == (10, 11) and once.inside and not once.again and twice.again and twice.map.felt[9, 10] == 2
    outside = mark(where, [2.0, 0.0, 0.0])
    assert not outside.inside and outside.map is where
    touched = contact_point([0.3, 0.0, 0.0], [-12.0, 0.0, 0.0], radius=0.04)
    np.testing.assert_allclose(touched, [0.34, 0.0, 0.0])
    with pytest.raises(InputError, match="zero force"):
        contact_point([0, 0, 0], [0, 0, 0])


@pytest.mark.parametrize(
    "cell, velocity, back",
    [
        ((9, 11), (0.05, 0.01, 0), (8, 11)),
        ((9, 11), (-0.05, 0.01, 0), (10, 11)),
        ((9, 11), (0.01, 0.05, 0), (9, 10)),
        ((9, 11), (0.05, 0.05, 0), (9, 10)),  # not greater: v
        ((9, 11), (0.0, 0.0, 0.0), (9, 11)),
        ((2, 5), (0.1, 0.0, 0), (2, 5)),
        ((1, 1), (0.0, 0.1, 0), (2, 0)),
    ],
)
def test_back_off_of_000(cell, velocity, back):
    assert step_back(cell, velocity) == back


def test_back_off_in_any_grid_ends_in_a_free_cell():
    where = grid_map((6, 6, 6), cell_size=0.1, ring=True).with_felt((3, 3, 3), (2, 3, 3))
    assert back_off(where, (3, 3, 3), [0.0, 0.0, 0.2]) == (3, 3, 2)
    landed = back_off(where, (3, 3, 3), [0.2, 0.0, 0.0])  # (2, 3, 3) is blocked
    assert landed is not None and not where.blocked()[landed] and np.abs(np.array(landed) - (2, 3, 3)).sum() == 1
    assert nearest_free(where, (40, 3, 3)) == (4, 3, 3)
    assert nearest_free(GridMap(Grid((2, 2)), ring=True), (0, 0)) is None
    rng = np.random.default_rng(1)
    for _ in range(20):
        felt = rng.random((9, 9)) < 0.9
        felt[rng.integers(9), rng.integers(9)] = False
        m = GridMap(Grid((9, 9)), felt=felt)
        c = rng.integers(0, 9, 2)
        best = np.linalg.norm(np.argwhere(~felt) - c, axis=1).min()
        assert np.linalg.norm(np.array(nearest_free(m, c)) - c) == best


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: Grid((0, 3)), "at least one cell"),
        (lambda: Grid((5,)), "2 or 3 axes"),
        (lambda: Grid((10**6, 10**6)), "cells, more than"),
        (lambda: Grid((3, 3), (0, np.nan, 0)), "finite"),
        (lambda: Grid((3, 3), cell_size=0.0), "cell_size"),
        (lambda: Grid((3, 3), cell_size=np.inf), "finite"),
        (lambda: Grid((3, 3), axes=[[1, 0, 0], [1, 0, 0]]), "orthonormal"),
        (lambda: Grid((3, 3), first=2), "first"),
        (lambda: Grid((3, 3.5)), "shape"),
        (lambda: Grid((3, 3)).cell([np.nan, 0, 0]), "finite"),
        (lambda: patch().with_felt((0, 3)), "outside the grid"),
        (lambda: patch(radius=-1.0), "radius"),
        (lambda: GridMap(Grid((3, 3)), felt=-np.ones((3, 3), dtype=int)), "counts"),
        (lambda: GridMap(Grid((3, 3)), felt=np.ones((3, 4), dtype=int)), "counts"),
        (lambda: patch().blocked("maybe"), "rule"),
        (lambda: GridMap(Grid((3, 3)), rule="maybe"), "rule"),
    ],
)
def test_bad_maps_are_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()
