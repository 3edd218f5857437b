# SPDX-License-Identifier: Apache-2.0
"""The twelve Euler sets by name, intrinsic: "zyx" is R = R_z(a) R_y(b) R_x(c), angles in the order of the name.

Proper sets repeat the first axis ("zyz", b in [0, π]); Tait–Bryan sets use three ("zyx", b in [−π/2, π/2]). Roll, pitch
and yaw of URDF turn about **fixed** x, y, z: R = R_z(yaw) R_y(pitch) R_x(roll), the set "zyx" read backwards.

A set is degenerate where its first and last axis line up (sin b = 0, or cos b = 0): only one combination of a and c is
then determined. The convention here is a = 0, all of the turn in c (004 eq. 2.6–2.7), and the result says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import matrix_of
from armwright.errors import InputError
from armwright.spatial.linear import determinant3
from armwright.spatial.rotations import rot_x, rot_y, rot_z

if TYPE_CHECKING:
    from armwright.types import Traced

EULER_SETS = ("xyx", "xzx", "yxy", "yzy", "zxz", "zyz", "xyz", "xzy", "yxz", "yzx", "zxy", "zyx")
DEGENERATE_BELOW = 1e-12

_TURNS = (rot_x, rot_y, rot_z)


class EulerAngles(NamedTuple):
    """Angles (3,) [rad] in the order of the set's name; `degenerate` is true where a was chosen to be 0."""

    angles: Traced
    degenerate: Any


def _axes(sequence: str) -> tuple[int, int, int]:
    if sequence not in EULER_SETS:
        raise InputError(f"Euler set: expected one of {', '.join(EULER_SETS)}, got {sequence!r}")
    i, j, k = ("xyz".index(letter) for letter in sequence)
    return i, j, k


def rotation_from_euler(angles: Traced | Sequence[Traced], sequence: str = "zyz") -> Traced:
    """Rotation (3, 3) of intrinsic Euler `angles` (3,) [rad] of the named set (004 eq. 2.2 for "zyz").

    >>> rotation_from_euler([0.1, 0.2, 0.3], "zyx")  # R_z(0.1) R_y(0.2) R_x(0.3)
    """
    i, j, k = _axes(sequence)
    return _TURNS[i](angles[0]) @ _TURNS[j](angles[1]) @ _TURNS[k](angles[2])


def euler_from_rotation(R: Traced, sequence: str = "zyz") -> EulerAngles:
    """Intrinsic Euler angles of a rotation (3, 3), with a and c in (−π, π].

    c is read from R_i(a)ᵀR instead of from R: ``rotation_from_euler`` then returns R to rounding also close to
    degeneracy, where a and c are individually ill-conditioned.

    >>> bool(euler_from_rotation(np.eye(3), "zyz").degenerate)
    True
    """
    R = matrix_of(R)
    i, j, k = _axes(sequence)
    proper = i == k
    third = 3 - i - j
    e = 1.0 if (j - i) % 3 == 1 else -1.0  # parity of the axes i, j, third
    if proper:
        sin_a, cos_a = R[j, i], -e * R[third, i]  # times sin b
        gap = np.sqrt(sin_a * sin_a + cos_a * cos_a)
        b = np.arctan2(gap, R[i, i])
    else:
        sin_a, cos_a = -e * R[j, k], R[k, k]  # times cos b
        gap = np.sqrt(sin_a * sin_a + cos_a * cos_a)
        b = np.arctan2(e * R[i, k], gap)
    degenerate = gap < DEGENERATE_BELOW
    a = np.where(degenerate, 0.0, np.arctan2(np.where(degenerate, 0.0, sin_a), np.where(degenerate, 1.0, cos_a)))
    row = np.cos(a) * R[j] + e * np.sin(a) * R[third]
    c = np.arctan2(-e * row[third] if proper else e * row[i], row[j])
    return EulerAngles(np.array([a, b, c]), degenerate)


def euler_rate_matrix(angles: Traced, sequence: str = "zyz") -> Traced:
    """B (3, 3) with ω = B·d(angles)/dt, ω in the base frame.

    Columns are the three axes of rotation as they stand. For "zyz" this is the matrix that belongs to 004 eq. 2.2,
    [[0, −sφ, cφ sθ], [0, cφ, sφ sθ], [1, 0, cθ]]; the printed (2.33) has φ and ψ interchanged.

    >>> omega = euler_rate_matrix([0.1, 0.2, 0.3], "zyx") @ [1.0, 0.0, 0.0]  # about z: [0, 0, 1]
    """
    i, j, k = _axes(sequence)
    first = _TURNS[i](angles[0])
    return np.stack([np.eye(3)[i], first[:, j], first @ _TURNS[j](angles[1])[:, k]], axis=1)


def euler_rate_inverse(angles: Traced, sequence: str = "zyz") -> Traced:
    """B⁻¹ (3, 3): angle rates from ω in the base frame. Raises `InputError` on floats where the set is degenerate.

    >>> rates = euler_rate_inverse([0.1, 0.2, 0.3], "zyx") @ [0.0, 0.0, 1.0]
    """
    B = euler_rate_matrix(angles, sequence)
    u, v, w = B[:, 0], B[:, 1], B[:, 2]
    determinant = determinant3(B)
    if B.dtype != object and abs(determinant) < DEGENERATE_BELOW:
        raise InputError(f"Euler set {sequence!r} is degenerate at {np.asarray(angles).tolist()}: no rates exist there")
    return np.stack([np.cross(v, w), np.cross(w, u), np.cross(u, v)], axis=0) / determinant


def rotation_from_rpy(rpy: Traced) -> Traced:
    """Rotation (3, 3) of roll, pitch, yaw (3,) [rad] about fixed x, y, z, as in URDF: R_z(yaw) R_y(pitch) R_x(roll).

    >>> rotation_from_rpy([0.0, 0.0, 0.5])  # a turn by 0.5 rad about z
    """
    return rotation_from_euler([rpy[2], rpy[1], rpy[0]], "zyx")


def rpy_from_rotation(R: Traced) -> EulerAngles:
    """Roll, pitch, yaw (fixed x, y, z, as in URDF) of a rotation (3, 3); at pitch ±π/2 yaw is chosen 0.

    >>> rpy_from_rotation(rot_z(0.5)).angles  # [0, 0, 0.5]
    """
    angles, degenerate = euler_from_rotation(R, "zyx")
    return EulerAngles(np.array([angles[2], angles[1], angles[0]]), degenerate)
