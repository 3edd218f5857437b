# SPDX-License-Identifier: Apache-2.0
"""Rotations in space: elementary ones, axis–angle, and the exponential of SO(3) with its inverse.

All matrices are 3×3 and act on column vectors; angles are radians. Everything works on floats and on symbols: values
are chosen with `numpy.where`, and both sides of a choice stay finite so that derivatives do too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.spatial.quaternions import wxyz_from_rotation

if TYPE_CHECKING:
    from armwright.types import Scalar, Traced

# Below this squared angle power series replace the closed forms, which cancel; 7 terms reach rounding up to 0.5 rad.
SMALL_ANGLE_SQUARED = 0.25


def rot_x(angle: Scalar) -> Traced:
    """Rotation by `angle` about x, (3, 3).

    >>> rot_x(np.pi / 2) @ [0.0, 1.0, 0.0]  # [0, 0, 1]
    """
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rot_y(angle: Scalar) -> Traced:
    """Rotation by `angle` about y, (3, 3).

    >>> rot_y(np.pi / 2) @ [0.0, 0.0, 1.0]  # [1, 0, 0]
    """
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rot_z(angle: Scalar) -> Traced:
    """Rotation by `angle` about z, (3, 3).

    >>> rot_z(np.pi / 2) @ [1.0, 0.0, 0.0]  # [0, 1, 0]
    """
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def skew(v: Traced) -> Traced:
    """Cross-product matrix of a vector (3,): ``skew(a) @ b = a × b`` (002, section 2.2.2; 004 eq. A.5).

    >>> skew([0.0, 0.0, 1.0]) @ [1.0, 0.0, 0.0]
    array([0., 1., 0.])
    """
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def unskew(S: Traced) -> Traced:
    """Vector (3,) of the skew part of a 3×3 matrix; ``unskew(skew(v)) == v``.

    >>> unskew(skew(np.array([1.0, 2.0, 3.0])))
    array([1., 2., 3.])
    """
    return 0.5 * np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]])


def axis_angle(axis: Traced, angle: Scalar) -> Traced:
    """Rotation by `angle` about a **unit** `axis` (3,): c·1 + (1 − c) n nᵀ + s n̂ (002 eq. 2.3, corrected).

    >>> axis_angle([0.0, 0.0, 1.0], 0.5)  # as rot_z(0.5)
    """
    x, y, z = axis
    c, s = np.cos(angle), np.sin(angle)
    v = 1.0 - c
    return np.array(
        [
            [x * x * v + c, x * y * v - z * s, x * z * v + y * s],
            [x * y * v + z * s, y * y * v + c, y * z * v - x * s],
            [x * z * v - y * s, y * z * v + x * s, z * z * v + c],
        ]
    )


class Turn(NamedTuple):
    """Coefficients of the exponential at angle φ: sin φ/φ, (1 − cos φ)/φ², (φ − sin φ)/φ³."""

    a: Traced
    b: Traced
    c: Traced


def _series(x: Traced, coefficients: tuple[float, ...]) -> Traced:
    """Horner's rule, lowest power first."""
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + x * total
    return total


def _inverse_factorials(first: int) -> tuple[float, ...]:
    """Alternating 1/first!, −1/(first+2)!, …, seven terms."""
    out, value, sign = [], 1.0, 1.0
    for k in range(2, first + 1):
        value /= k
    for term in range(7):
        out.append(sign * value)
        value /= (first + 2 * term + 1) * (first + 2 * term + 2)
        sign = -sign
    return tuple(out)


_A, _B, _C = _inverse_factorials(1), _inverse_factorials(2), _inverse_factorials(3)


def turn_coefficients(angle_squared: Traced) -> Turn:
    """Coefficients of exp on SO(3) and SE(3) as functions of φ², accurate to rounding at every angle.

    >>> turn_coefficients(0.0)  # 1, 1/2, 1/6
    """
    small = angle_squared < SMALL_ANGLE_SQUARED
    safe = np.where(small, 1.0, angle_squared)
    angle = np.sqrt(safe)
    half = np.sin(0.5 * angle)
    sine = np.sin(angle)
    a = np.where(small, _series(angle_squared, _A), sine / angle)
    b = np.where(small, _series(angle_squared, _B), 2.0 * half * half / safe)
    c = np.where(small, _series(angle_squared, _C), (angle - sine) / (safe * angle))
    return Turn(a, b, c)


def exp_so3(w: Traced) -> Traced:
    """Rotation (3, 3) of a rotation vector w (3,) [rad]: 1 + a ŵ + b ŵ², Rodrigues' formula (002 eq. 2.8).

    >>> exp_so3([0.0, 0.0, 0.5])  # as rot_z(0.5)
    """
    k = turn_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    W = skew(w)
    return np.eye(3) + k.a * W + k.b * (W @ W)


def log_so3(R: Traced) -> Traced:
    """Rotation vector w (3,) with ``exp_so3(w) == R`` and |w| ≤ π.

    Goes through the quaternion with the largest pivot, so that it is accurate near 0 **and** near π, where the formula
    by the skew part of R alone (004 eq. 2.9) loses the axis. At exactly π both ±w are right; one is returned.

    >>> log_so3(rot_z(0.5))  # [0, 0, 0.5]
    """
    w, x, y, z = wxyz_from_rotation(R)
    squared = x * x + y * y + z * z
    tiny = squared < 1e-20  # there 2 φ/2 / sin φ/2 = 2 (1 + φ²/24) equals 2/w to rounding
    sine = np.sqrt(np.where(tiny, 1.0, squared))
    factor = np.where(tiny, 2.0 / np.where(tiny, w, 1.0), 2.0 * np.arctan2(sine, w) / sine)
    return np.array([factor * x, factor * y, factor * z])


def rotation_angle(R: Traced) -> Traced:
    """Angle of a rotation matrix in [0, π], accurate near both ends.

    >>> round(float(rotation_angle(rot_z(0.5))), 12)
    0.5
    """
    w, x, y, z = wxyz_from_rotation(R)
    return 2.0 * np.arctan2(np.sqrt(x * x + y * y + z * z), w)
