# SPDX-License-Identifier: Apache-2.0
"""Inertia of bodies: shapes, moving, joining, the numbers of document 004, and what is physical."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armwright import spatial as sp
from armwright.errors import InputError

fixed = settings(derandomize=True, deadline=None)
positive = st.floats(0.01, 5.0)
coordinate = st.floats(-2.0, 2.0)
point = st.tuples(coordinate, coordinate, coordinate).map(np.array)


def cloud(seed: int, count: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3))


def of_points(masses: np.ndarray, points: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    com = masses @ points / masses.sum()
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points - com, strict=True))
    return float(masses.sum()), com, inertia


def test_sum_of_bodies_is_the_sum_of_their_points() -> None:
    masses, points = cloud(1)
    whole = sp.sum_bodies([of_points(masses[:10], points[:10]), of_points(masses[10:], points[10:])])
    for got, expected in zip(whole, of_points(masses, points), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-12)
    empty = sp.sum_bodies([])
    assert empty.mass == 0.0
    assert not np.isnan(sp.sum_bodies([(0.0, np.ones(3), np.eye(3))]).com).any()


@fixed
@given(positive, positive, positive, st.sampled_from("xyz"), point)
def test_moving_there_and_back(mass: float, radius: float, height: float, axis: str, offset: np.ndarray) -> None:
    inertia = sp.cylinder_inertia(mass, radius, height, axis)
    moved = sp.parallel_axis(inertia, mass, offset)
    np.testing.assert_allclose(sp.about_com(moved, mass, offset), inertia, atol=1e-12)
    assert np.linalg.eigvalsh(moved - inertia).min() > -1e-12
    assert sp.is_physical(inertia)
    assert sp.is_physical(sp.box_inertia(mass, [radius, height, 1.0]))
    assert sp.is_physical(sp.sphere_inertia(mass, radius))


def test_shapes_against_sampled_volume() -> None:
    grid = np.linspace(-1, 1, 121)[:-1] + 1 / 120
    x, y, z = (axis.ravel() for axis in np.meshgrid(grid, grid, grid, indexing="ij"))
    points = np.stack([x, y, z], axis=1)
    inside = {
        "cylinder": (x**2 + y**2 < 0.25, sp.cylinder_inertia(2.0, 0.5, 2.0, "z")),
        "box": ((abs(x) < 0.5) & (abs(y) < 0.8), sp.box_inertia(2.0, [1.0, 1.6, 2.0])),
        "sphere": (x**2 + y**2 + z**2 < 0.81, sp.sphere_inertia(2.0, 0.9)),
    }
    for chosen, expected in inside.values():
        r = points[chosen]
        second = 2.0 * (r.T @ r) / len(r)
        np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, expected, rtol=6e-3, atol=1e-3)


def test_spatial_inertia_gives_the_kinetic_energy_of_the_points() -> None:
    masses, points = cloud(2)
    mass, com, inertia = of_points(masses, points)
    M = sp.spatial_inertia(mass, com, inertia)
    V = np.random.default_rng(3).normal(size=6)
    velocities = V[:3] + np.cross(V[3:], points)
    assert pytest.approx(0.5 * masses @ (velocities**2).sum(axis=1), rel=1e-13) == 0.5 * V @ M @ V
    # congruence by the adjoint moves it (002 eq. 2.57)
    T = sp.exp_se3(np.array([0.2, 0.1, -0.4, 0.5, -0.3, 0.9]))
    A = sp.adjoint_inverse(T)
    turned = sp.rotate_inertia(T[:3, :3], inertia)
    np.testing.assert_allclose(sp.spatial_inertia(mass, sp.apply(T, com), turned), A.T @ M @ A, atol=1e-11)


def test_two_cylinders_of_document_004() -> None:
    link_1 = sp.two_cylinders(3.0, 0.7, 0.0589, 0.130, 0.065 - 0.02561, "y")
    np.testing.assert_allclose(link_1.heights, (0.054185, 0.075815), atol=5e-7)
    np.testing.assert_allclose(np.diag(link_1.inertia), (0.006676, 0.006418, 0.006676), atol=5e-7)
    np.testing.assert_allclose(np.array(link_1.centres) - 0.03939, (-0.01229, 0.05271), atol=1e-5)
    link_4 = sp.two_cylinders(1.0, 0.219, 0.0384, 0.105, 0.050 - 0.01634, "z")
    np.testing.assert_allclose(link_4.heights, (0.048456, 0.056544), atol=5e-7)
    np.testing.assert_allclose(np.diag(link_4.inertia), (0.001199, 0.001199, 0.000899), atol=5e-7)
    assert 3.0 * link_1.centres[0] + 0.7 * link_1.centres[1] == pytest.approx(3.7 * 0.03939)
    with pytest.raises(InputError, match="must lie between"):
        sp.two_cylinders(3.0, 0.7, 0.0589, 0.130, 0.12)


def test_link_2_of_document_004_from_five_cylinders() -> None:
    cylinders = [
        (3.0, "z", 54.19, 58.9, (-212.5, 0, -16.26)),
        (0.7, "z", 75.81, 58.9, (-212.5, 0, 48.74)),
        (0.993, "x", 307.2, 43.0, (0, 0, 21.64)),
        (3.0, "z", 54.19, 58.9, (212.5, 0, -16.26)),
        (0.7, "z", 75.81, 58.9, (212.5, 0, 48.74)),
    ]
    parts = [(m, np.array(o) / 1e3, sp.cylinder_inertia(m, r / 1e3, h / 1e3, axis)) for m, axis, h, r, o in cylinders]
    total = sp.sum_bodies(parts)
    about_given_point = sp.parallel_axis(total.inertia, total.mass, total.com)
    np.testing.assert_allclose(np.diag(about_given_point), (0.014852, 0.356359, 0.355261), atol=2e-6)
    np.testing.assert_allclose(total.com, (0.0, 0.0, -0.00093), atol=1e-5)


def test_what_is_physical() -> None:
    assert sp.triangle_gap(np.diag([1.0, 2.0, 4.0])) == pytest.approx(-1.0)
    assert not sp.is_physical(np.diag([1.0, 2.0, 4.0]))
    assert not sp.is_physical(np.diag([-1.0, 2.0, 2.0]))
    assert sp.is_physical(np.diag([1.0, 2.0, 3.0]))  # flat
    R = sp.exp_so3(np.array([0.3, 1.0, -2.0]))
    np.testing.assert_allclose(sp.principal_moments(sp.rotate_inertia(R, np.diag([3.0, 1.0, 2.0]))), [1, 2, 3])
    with pytest.raises(InputError, match="axis"):
        sp.cylinder_inertia(1.0, 1.0, 1.0, "w")
