# SPDX-License-Identifier: Apache-2.0
"""Rotations, poses, twists and screws obey their group laws, to rounding, at every angle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from armwright import spatial as sp

fixed = settings(derandomize=True, deadline=None)
number = st.floats(-3.0, 3.0, allow_subnormal=False)
vector = st.tuples(number, number, number).map(np.array)
twist = st.tuples(*[number] * 6).map(np.array)
ANGLES = [0.0, 1e-300, 1e-160, 1e-16, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 0.01, 0.3, 0.4999, 0.5001, 1.0, 2.0, 3.0]
NEAR_PI = [1e-3, 1e-5, 1e-7, 1e-8, 1e-9, 1e-12, 1e-15, 0.0]


def directions(count: int = 40) -> np.ndarray:
    rng = np.random.default_rng(1)
    raw = np.vstack([rng.normal(size=(count, 3)), np.eye(3), -np.eye(3), [[1, 1, 0], [1, -1, 0], [1, 1e-9, 0]]])
    return raw / np.linalg.norm(raw, axis=1)[:, None]


def hat(xi: np.ndarray) -> np.ndarray:
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = sp.skew(xi[3:]), xi[:3]
    return out


def random_pose(rng: np.random.Generator) -> np.ndarray:
    return sp.exp_se3(rng.normal(size=6))


@fixed
@given(vector)
def test_exp_so3_is_the_matrix_exponential(w: np.ndarray) -> None:
    np.testing.assert_allclose(sp.exp_so3(w), expm(sp.skew(w)), atol=1e-13)


@fixed
@given(twist)
def test_exp_se3_is_the_matrix_exponential(xi: np.ndarray) -> None:
    np.testing.assert_allclose(sp.exp_se3(xi), expm(hat(xi)), atol=1e-12)


@fixed
@given(vector, number)
def test_axis_angle_agrees_with_exp_and_elementary_rotations(v: np.ndarray, angle: float) -> None:
    if np.linalg.norm(v) < 1e-3:
        v = np.array([1.0, 0.0, 0.0])
    axis = v / np.linalg.norm(v)
    np.testing.assert_allclose(sp.axis_angle(axis, angle), sp.exp_so3(angle * axis), atol=1e-14)
    for elementary, unit in zip((sp.rot_x, sp.rot_y, sp.rot_z), np.eye(3), strict=True):
        np.testing.assert_allclose(elementary(angle), sp.axis_angle(unit, angle), atol=1e-15)


def test_log_so3_recovers_the_vector_near_zero() -> None:
    for n in directions():
        for angle in ANGLES:
            np.testing.assert_allclose(sp.log_so3(sp.exp_so3(angle * n)), angle * n, rtol=1e-9, atol=4e-16)


def test_log_so3_keeps_axis_and_angle_near_pi() -> None:
    for n in directions():
        for gap in NEAR_PI:
            w = (np.pi - gap) * n
            back = sp.log_so3(sp.exp_so3(w))
            if gap < 1e-14:  # both signs are the same rotation up to rounding
                back = back * np.sign(back @ w)
            np.testing.assert_allclose(back, w, atol=1e-14 * 4)
            assert abs(sp.rotation_angle(sp.exp_so3(w)) - (np.pi - gap)) < 1e-14


@fixed
@given(twist)
def test_log_se3_inverts_exp(xi: np.ndarray) -> None:
    angle = np.linalg.norm(xi[3:])
    if angle > 3.1:
        xi = np.concatenate([xi[:3], xi[3:] * (3.1 / angle)])
    np.testing.assert_allclose(sp.log_se3(sp.exp_se3(xi)), xi, atol=1e-12)


@pytest.mark.parametrize("angle", [*ANGLES, *(np.pi - gap for gap in NEAR_PI)])
def test_exp_of_log_se3_returns_the_pose(angle: float) -> None:
    for n in directions(10):
        T = sp.pose(sp.exp_so3(angle * n), np.array([0.3, -2.0, 0.7]))
        np.testing.assert_allclose(sp.exp_se3(sp.log_se3(T)), T, atol=1e-14)


def test_pure_translation_and_screws_with_pitch() -> None:
    v = np.array([0.1, -0.2, 0.3])
    np.testing.assert_array_equal(sp.exp_se3(np.concatenate([v, np.zeros(3)])), sp.translation(v))
    point, pitch, angle = np.array([0.2, 0.5, -0.1]), 0.07, 1.3
    for n in directions(10):
        R = sp.axis_angle(n, angle)
        # rotation about the axis plus advance along it (002, section 2.5)
        expected = sp.pose(R, point - R @ point + pitch * angle * n)
        np.testing.assert_allclose(sp.exp_se3(angle * sp.screw(point, n, pitch)), expected, atol=1e-15)


@fixed
@given(twist)
def test_chasles_rebuilds_the_twist(xi: np.ndarray) -> None:
    if 0.0 < np.linalg.norm(xi[3:]) < 1e-6:
        xi = np.concatenate([xi[:3], np.zeros(3)])
    axis, point, pitch, magnitude = sp.chasles(xi)
    rebuilt = magnitude * (sp.slide(axis) if np.isinf(pitch) else sp.screw(point, axis, pitch))
    np.testing.assert_allclose(rebuilt, xi, atol=1e-12)
    assert abs(point @ axis) < 1e-6 * (1.0 + np.linalg.norm(point))


def test_adjoint_identities() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        T, U = random_pose(rng), random_pose(rng)
        V, W, F = rng.normal(size=(3, 6))
        np.testing.assert_allclose(sp.adjoint(T) @ sp.adjoint(U), sp.adjoint(T @ U), atol=1e-12)
        np.testing.assert_allclose(sp.adjoint(T) @ sp.adjoint_inverse(T), np.eye(6), atol=1e-12)
        np.testing.assert_allclose(sp.adjoint_inverse(T), sp.adjoint(sp.inverse(T)), atol=1e-12)
        # T ξ̂ T⁻¹ is the hat of Ad(T) ξ
        np.testing.assert_allclose(T @ hat(V) @ sp.inverse(T), hat(sp.adjoint(T) @ V), atol=1e-12)
        np.testing.assert_allclose(sp.transform_twist(T, V), sp.adjoint(T) @ V, atol=1e-12)
        np.testing.assert_allclose(sp.transform_wrench(T, F), sp.coadjoint(T) @ F, atol=1e-12)
        # power does not depend on the frame
        assert abs(sp.transform_wrench(T, F) @ sp.transform_twist(T, V) - F @ V) < 1e-11
        # Ad keeps brackets; the bracket is the commutator of the hats
        np.testing.assert_allclose(
            sp.adjoint(T) @ sp.lie_bracket(V, W), sp.lie_bracket(sp.adjoint(T) @ V, sp.adjoint(T) @ W), atol=1e-11
        )
        np.testing.assert_allclose(hat(V) @ hat(W) - hat(W) @ hat(V), hat(sp.lie_bracket(V, W)), atol=1e-12)
        np.testing.assert_allclose(sp.motion_cross_matrix(V) @ W, sp.motion_cross(V, W), atol=1e-12)
        np.testing.assert_allclose(sp.force_cross_matrix(V) @ F, sp.force_cross(V, F), atol=1e-12)
        np.testing.assert_allclose(sp.force_cross_matrix(V), -sp.motion_cross_matrix(V).T)


def test_adjoint_of_exp_is_exp_of_the_cross_matrix() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        xi = rng.normal(size=6)
        np.testing.assert_allclose(sp.adjoint(sp.exp_se3(xi)), expm(sp.motion_cross_matrix(xi)), atol=1e-12)


def test_pose_helpers() -> None:
    rng = np.random.default_rng(4)
    T, U = random_pose(rng), random_pose(rng)
    points = rng.normal(size=(5, 3))
    np.testing.assert_allclose(sp.inverse(T) @ T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(sp.apply(sp.compose(T, U), points), sp.apply(T, sp.apply(U, points)), atol=1e-13)
    np.testing.assert_allclose(sp.apply(T, points[0]), (T @ [*points[0], 1.0])[:3], atol=1e-14)
    np.testing.assert_array_equal(sp.compose(), np.eye(4))
    np.testing.assert_array_equal(sp.unskew(sp.skew(points[0])), points[0])


@settings(fixed, max_examples=50)
@given(st.tuples(*[number] * 4).map(np.array))
def test_quaternions(raw: np.ndarray) -> None:
    if np.linalg.norm(raw) < 0.1:
        raw = np.array([1.0, 0.0, 0.0, 0.0])
    q = raw / np.linalg.norm(raw)
    R = sp.rotation_from_wxyz(q)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    back = sp.wxyz_from_rotation(R)
    assert back[0] >= 0.0
    np.testing.assert_allclose(min(abs(back - q).max(), abs(back + q).max()), 0.0, atol=1e-14)
    np.testing.assert_allclose(sp.rotation_from_xyzw(sp.xyzw_from_wxyz(q)), R, atol=1e-15)
    np.testing.assert_array_equal(sp.wxyz_from_xyzw(sp.xyzw_from_wxyz(q)), q)
    np.testing.assert_allclose(sp.rotation_from_xyzw(sp.xyzw_from_rotation(R)), R, atol=1e-14)
    other = sp.wxyz_from_axis_angle(np.array([0.6, 0.0, 0.8]), 2.2)
    R_other = sp.axis_angle([0.6, 0.0, 0.8], 2.2)
    np.testing.assert_allclose(sp.rotation_from_wxyz(sp.multiply_wxyz(q, other)), R @ R_other, atol=1e-14)
    np.testing.assert_allclose(sp.rotation_from_wxyz(sp.conjugate_wxyz(q)), R.T, atol=1e-14)
