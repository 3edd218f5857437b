# SPDX-License-Identifier: Apache-2.0
"""Unit quaternions. Every name carries the order: ``wxyz`` (scalar first) or ``xyzw`` (scalar last).

A quaternion ``(w, x, y, z) = (cos φ/2, n sin φ/2)`` turns vectors by φ about the unit axis n. q and −q are the same
rotation; conversions from a matrix return the one with w ≥ 0. Everything works on floats and on symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import matrix_of

if TYPE_CHECKING:
    from armwright.types import Traced


def wxyz_from_xyzw(xyzw: Traced) -> Traced:
    """Reorder a quaternion (4,) from scalar last to scalar first.

    >>> wxyz_from_xyzw([0.0, 0.0, 0.0, 1.0])
    array([1., 0., 0., 0.])
    """
    return np.array([xyzw[3], xyzw[0], xyzw[1], xyzw[2]])


def xyzw_from_wxyz(wxyz: Traced) -> Traced:
    """Reorder a quaternion (4,) from scalar first to scalar last.

    >>> xyzw_from_wxyz([1.0, 0.0, 0.0, 0.0])
    array([0., 0., 0., 1.])
    """
    return np.array([wxyz[1], wxyz[2], wxyz[3], wxyz[0]])


def wxyz_from_rotation(R: Traced) -> Traced:
    """Unit quaternion (4,), w ≥ 0, of a rotation matrix (3, 3).

    Four algebraically equal candidates exist, each scaled by another component of the quaternion; the one scaled by the
    largest is free of cancellation, so that the result is accurate to rounding at every angle, 0 and π included.

    >>> wxyz_from_rotation(np.eye(3))
    array([1., 0., 0., 0.])
    """
    R = matrix_of(R)
    sum_x, sum_y, sum_z = R[2, 1] + R[1, 2], R[0, 2] + R[2, 0], R[1, 0] + R[0, 1]
    dif_x, dif_y, dif_z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    a, b, c = R[0, 0], R[1, 1], R[2, 2]
    best = [1.0 + a + b + c, dif_x, dif_y, dif_z]
    size = best[0]
    for weight, other in (
        (1.0 + a - b - c, (dif_x, None, sum_z, sum_y)),
        (1.0 - a + b - c, (dif_y, sum_z, None, sum_x)),
        (1.0 - a - b + c, (dif_z, sum_y, sum_x, None)),
    ):
        better = weight > size
        candidate = [weight if entry is None else entry for entry in other]
        best = [np.where(better, new, old) for new, old in zip(candidate, best, strict=True)]
        size = np.where(better, weight, size)
    w, x, y, z = best
    scale = np.where(w < 0.0, -1.0, 1.0) / np.sqrt(w * w + x * x + y * y + z * z)
    return np.array([w * scale, x * scale, y * scale, z * scale])


def xyzw_from_rotation(R: Traced) -> Traced:
    """Unit quaternion (4,), scalar last and ≥ 0, of a rotation matrix (3, 3).

    >>> xyzw_from_rotation(np.eye(3))
    array([0., 0., 0., 1.])
    """
    return xyzw_from_wxyz(wxyz_from_rotation(R))


def rotation_from_wxyz(wxyz: Traced) -> Traced:
    """Rotation matrix (3, 3) of a quaternion (4,), scalar first. Any non-zero length is accepted and divided out.

    >>> rotation_from_wxyz([1.0, 0.0, 0.0, 0.0])  # the identity
    """
    w, x, y, z = wxyz
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return np.array(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)],
        ]
    )


def rotation_from_xyzw(xyzw: Traced) -> Traced:
    """Rotation matrix (3, 3) of a quaternion (4,), scalar last.

    >>> rotation_from_xyzw([0.0, 0.0, 0.0, 1.0])  # the identity
    """
    return rotation_from_wxyz(wxyz_from_xyzw(xyzw))


def wxyz_from_axis_angle(axis: Traced, angle: Traced) -> Traced:
    """Unit quaternion (4,), scalar first, of a turn by `angle` [rad] about the unit `axis` (3,).

    >>> wxyz_from_axis_angle([0.0, 0.0, 1.0], np.pi)  # [0, 0, 0, 1]
    """
    c, s = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return np.array([c, s * axis[0], s * axis[1], s * axis[2]])


def multiply_wxyz(a: Traced, b: Traced) -> Traced:
    """Product a∘b (4,), scalar first; the rotation of the product is R(a) R(b).

    >>> multiply_wxyz([0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0])  # two half turns about z
    array([-1.,  0.,  0.,  0.])
    """
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def conjugate_wxyz(wxyz: Traced) -> Traced:
    """Conjugate (4,), scalar first: the inverse rotation of a unit quaternion.

    >>> conjugate_wxyz([0.5, 0.5, 0.5, 0.5])
    array([ 0.5, -0.5, -0.5, -0.5])
    """
    return np.array([wxyz[0], -wxyz[1], -wxyz[2], -wxyz[3]])
