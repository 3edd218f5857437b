# SPDX-License-Identifier: Apache-2.0
"""All twelve Euler sets: round trips, rate matrices, degenerate poses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from armwright import spatial as sp
from armwright.errors import InputError

fixed = settings(derandomize=True, deadline=None)
angle = st.floats(-3.1, 3.1, allow_subnormal=False)


@fixed
@given(st.sampled_from(sp.EULER_SETS), st.tuples(angle, angle, angle).map(np.array))
def test_rotation_is_the_intrinsic_product_and_round_trips(sequence: str, angles: np.ndarray) -> None:
    R = sp.rotation_from_euler(angles, sequence)
    np.testing.assert_allclose(R, Rotation.from_euler(sequence.upper(), angles).as_matrix(), atol=1e-14)
    found = sp.euler_from_rotation(R, sequence).angles
    np.testing.assert_allclose(sp.rotation_from_euler(found, sequence), R, atol=5e-12)
    low, high = (0.0, np.pi) if sequence[0] == sequence[2] else (-np.pi / 2, np.pi / 2)
    assert low <= found[1] <= high


@pytest.mark.parametrize("sequence", sp.EULER_SETS)
def test_angles_inside_the_range_are_recovered(sequence: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        angles = rng.uniform([-3.1, 0.05, -3.1], [3.1, 3.09, 3.1])
        if sequence[0] != sequence[2]:
            angles[1] -= np.pi / 2
        found = sp.euler_from_rotation(sp.rotation_from_euler(angles, sequence), sequence)
        np.testing.assert_allclose(found.angles, angles, atol=1e-13)
        assert not found.degenerate


@pytest.mark.parametrize("sequence", sp.EULER_SETS)
def test_degenerate_poses_are_reported_and_still_rebuilt(sequence: str) -> None:
    for b in (0.0, np.pi) if sequence[0] == sequence[2] else (np.pi / 2, -np.pi / 2):
        for gap in (0.0, 1e-14, 1e-10, 1e-7, 1e-4):
            R = sp.rotation_from_euler([0.7, b + gap, -1.9], sequence)
            found = sp.euler_from_rotation(R, sequence)
            np.testing.assert_allclose(sp.rotation_from_euler(found.angles, sequence), R, atol=2e-12)
            assert bool(found.degenerate) == (gap < 1e-12)
            if found.degenerate:
                assert found.angles[0] == 0.0
        with pytest.raises(InputError, match="degenerate"):
            sp.euler_rate_inverse(np.array([0.7, b, -1.9]), sequence)


@pytest.mark.parametrize("sequence", sp.EULER_SETS)
def test_rate_matrix_gives_the_angular_velocity(sequence: str) -> None:
    rng = np.random.default_rng(6)
    h = 1e-6
    for _ in range(5):
        angles, rates = rng.uniform(0.2, 1.3, 3), rng.normal(size=3)
        ahead = sp.rotation_from_euler(angles + h * rates, sequence)
        behind = sp.rotation_from_euler(angles - h * rates, sequence)
        omega = sp.log_so3(ahead @ behind.T) / (2 * h)
        B = sp.euler_rate_matrix(angles, sequence)
        np.testing.assert_allclose(B @ rates, omega, atol=1e-9)
        np.testing.assert_allclose(sp.euler_rate_inverse(angles, sequence) @ B, np.eye(3), atol=1e-12)


def test_zyz_rate_matrix_of_document_004_corrected() -> None:
    phi, theta, psi = 0.4, 1.1, -0.8
    c, s = np.cos, np.sin
    expected = [[0, -s(phi), c(phi) * s(theta)], [0, c(phi), s(phi) * s(theta)], [1, 0, c(theta)]]
    B = sp.euler_rate_matrix([phi, theta, psi], "zyz")
    np.testing.assert_allclose(B, expected, atol=1e-15)
    assert np.linalg.det(B) == pytest.approx(-s(theta), abs=1e-14)
    printed = [[c(psi) * s(theta), -s(psi), 0], [s(psi) * s(theta), c(psi), 0], [c(theta), 0, 1]]
    assert np.abs(B - printed).max() > 0.1  # eq. 2.33 as printed belongs to another set


def test_rpy_turns_about_fixed_axes() -> None:
    rpy = np.array([0.3, -0.5, 1.1])
    R = sp.rotation_from_rpy(rpy)
    np.testing.assert_allclose(R, Rotation.from_euler("xyz", rpy).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(sp.rpy_from_rotation(R).angles, rpy, atol=1e-14)
    locked = sp.rpy_from_rotation(sp.rotation_from_rpy([0.3, np.pi / 2, 1.1]))
    assert locked.degenerate
    assert locked.angles[2] == 0.0


def test_unknown_set_is_refused() -> None:
    with pytest.raises(InputError, match="zyz"):
        sp.rotation_from_euler([0, 0, 0], "zzx")
