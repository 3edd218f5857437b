# SPDX-License-Identifier: Apache-2.0
"""Inertia of rigid bodies: simple shapes, moving and adding them, the 6×6 spatial inertia, and what is physical.

Tensors are 3×3 [kg m²]; off-diagonals are matrix entries, −∫xy dm (004 eq. 2.42–2.44). "com" is the centre of mass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import matrix_of
from armwright.errors import InputError
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.types import Scalar, Traced


class MassProperties(NamedTuple):
    """Mass [kg], centre of mass (3,) [m] and inertia (3, 3) about it, all in one frame."""

    mass: Any
    com: Traced
    inertia: Traced


class TwoCylinders(NamedTuple):
    """Two stacked cylinders: heights [m], centres from the first end face [m], inertia about their common com."""

    heights: tuple[float, float]
    centres: tuple[float, float]
    inertia: Traced


def _axis_index(axis: str) -> int:
    if axis not in ("x", "y", "z"):
        raise InputError(f"axis: expected 'x', 'y' or 'z', got {axis!r}")
    return "xyz".index(axis)


def cylinder_inertia(mass: Scalar, radius: Scalar, height: Scalar, axis: str = "z") -> Traced:
    """Solid cylinder about its centre: m r²/2 along `axis`, m (3r² + h²)/12 across (004 eq. 2.48), (3, 3).

    >>> cylinder_inertia(12.0, 1.0, 1.0).diagonal()
    array([4., 4., 6.])
    """
    along = 0.5 * mass * radius * radius
    across = mass * (3.0 * radius * radius + height * height) / 12.0
    diagonal = [across, across, across]
    diagonal[_axis_index(axis)] = along
    return np.array([[diagonal[0], 0.0, 0.0], [0.0, diagonal[1], 0.0], [0.0, 0.0, diagonal[2]]])


def box_inertia(mass: Scalar, size: Traced) -> Traced:
    """Solid box about its centre, edges `size` (3,) [m] along x, y, z, (3, 3).

    >>> box_inertia(12.0, [1.0, 2.0, 3.0]).diagonal()
    array([13., 10.,  5.])
    """
    xx, yy, zz = size[0] * size[0], size[1] * size[1], size[2] * size[2]
    k = mass / 12.0
    return np.array([[k * (yy + zz), 0.0, 0.0], [0.0, k * (xx + zz), 0.0], [0.0, 0.0, k * (xx + yy)]])


def sphere_inertia(mass: Scalar, radius: Scalar) -> Traced:
    """Solid sphere about its centre, 2/5 m r², (3, 3).

    >>> sphere_inertia(5.0, 1.0).diagonal()
    array([2., 2., 2.])
    """
    return 0.4 * mass * radius * radius * np.eye(3)


def parallel_axis(inertia: Traced, mass: Scalar, offset: Traced) -> Traced:
    """Inertia about a point displaced by `offset` (3,) from the **com**: I + m(|o|²1 − o oᵀ) (004 eq. 2.45).

    >>> parallel_axis(np.zeros((3, 3)), 2.0, [0.0, 0.0, 3.0]).diagonal()
    array([18., 18.,  0.])
    """
    S = skew(offset)
    return inertia + mass * (S @ S.T)


def about_com(inertia: Traced, mass: Scalar, com: Traced) -> Traced:
    """Inertia about the centre of mass from the one about the frame origin (axes unchanged): I − m(|c|²1 − c cᵀ).

    >>> about_com(np.diag([18.0, 18.0, 0.0]), 2.0, [0.0, 0.0, 3.0]).diagonal()
    array([0., 0., 0.])
    """
    return parallel_axis(inertia, -mass, com)


def rotate_inertia(R: Traced, inertia: Traced) -> Traced:
    """Express a tensor in other axes: R I Rᵀ for R = R_a_b and I in b.

    >>> rotate_inertia(rot_z(np.pi / 2), np.diag([1.0, 2.0, 3.0])).diagonal()  # [2, 1, 3]
    """
    R = matrix_of(R)
    return R @ inertia @ R.T


def sum_bodies(bodies: Iterable[tuple[Any, Any, Any]]) -> MassProperties:
    """Join rigid bodies given as (mass, com, inertia about com) in one frame; the result is about the common centre.

    Bodies of total mass zero keep their first centre of mass.

    >>> sum_bodies([(1.0, np.zeros(3), np.eye(3)), (3.0, np.array([1.0, 0.0, 0.0]), np.eye(3))]).com
    array([0.75, 0.  , 0.  ])
    """
    items = [MassProperties(*body) for body in bodies]
    if not items:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    mass: Any = sum(body.mass for body in items)
    if isinstance(mass, (int, float)) and mass == 0.0:
        com = np.asarray(items[0].com)
    else:
        com = sum(body.mass * np.asarray(body.com) for body in items) / mass
    inertia: Any = np.zeros((3, 3))
    for body in items:
        inertia = inertia + parallel_axis(np.asarray(body.inertia), body.mass, np.asarray(body.com) - com)
    return MassProperties(mass, com, inertia)


def spatial_inertia(mass: Traced, com: Traced, inertia: Traced) -> Traced:
    """Spatial inertia (6, 6), linear first, about the frame origin: [[m1, −mĉ], [mĉ, I − mĉ²]] (002 eq. 2.57).

    Args:
        mass: [kg].
        com: centre of mass (3,) in the frame [m].
        inertia: (3, 3) about the centre of mass, frame axes.

    >>> spatial_inertia(2.0, np.zeros(3), np.eye(3)).diagonal()
    array([2., 2., 2., 1., 1., 1.])
    """
    C = mass * skew(com)
    top = np.concatenate([mass * np.eye(3), -C], axis=1)
    return np.concatenate([top, np.concatenate([C, parallel_axis(inertia, mass, com)], axis=1)], axis=0)


def two_cylinders(
    mass_1: float, mass_2: float, radius: float, height: float, com: float, axis: str = "x"
) -> TwoCylinders:
    """Split a cylinder into two of given masses so that the whole has a wanted centre of mass (004 eq. 2.49–2.58).

    Args:
        mass_1: of the part on [0, x_B] [kg].
        mass_2: of the part on [x_B, height] [kg].
        radius: radius of both [m].
        height: height of the whole [m].
        com: wanted distance x_M of the centre of mass from the first end face [m].
        axis: axis of the cylinders, for the tensor.

    Returns:
        Heights x_B = 2 x_M − h m₂/M and h − x_B, centres along the axis, and the tensor about the centre of mass.

    Raises:
        InputError: if no split 0 < x_B < height exists.

    >>> two_cylinders(1.0, 3.0, radius=0.05, height=0.4, com=0.3).heights
    """
    total = mass_1 + mass_2
    border = 2.0 * com - height * mass_2 / total
    if not 0.0 < border < height:
        low, high = 0.5 * height * mass_2 / total, 0.5 * height * (1.0 + mass_2 / total)
        raise InputError(
            f"two cylinders: masses {mass_1} and {mass_2} kg cannot put the centre of mass at {com} m; "
            f"it must lie between {low} and {high} m from the first end face"
        )
    heights = (border, height - border)
    centres = (0.5 * border, 0.5 * (height + border))
    direction = np.eye(3)[_axis_index(axis)]
    parts = [
        (mass, centre * direction, cylinder_inertia(mass, radius, length, axis))
        for mass, centre, length in zip((mass_1, mass_2), centres, heights, strict=True)
    ]
    return TwoCylinders(heights, centres, sum_bodies(parts).inertia)


def principal_moments(inertia: Traced) -> Traced:
    """Principal moments (3,), ascending, of a float tensor.

    >>> principal_moments(np.diag([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    """
    return np.linalg.eigvalsh(np.asarray(inertia, dtype=np.float64))


def triangle_gap(inertia: Traced) -> float:
    """I₁ + I₂ − I₃ for principal moments I₁ ≤ I₂ ≤ I₃: ≥ 0 for every real body, 0 for a flat one [kg m²].

    >>> triangle_gap(np.diag([1.0, 2.0, 2.5]))
    0.5
    """
    low, middle, high = principal_moments(inertia)
    return float(low + middle - high)


def is_physical(inertia: Traced, tolerance: float = 1e-12) -> bool:
    """Whether a tensor about the centre of mass can belong to a body: moments ≥ 0 and the triangle inequality.

    The relative `tolerance` accepts flat and slender bodies whose last digit was rounded.

    >>> is_physical(np.diag([1.0, 1.0, 3.0]))  # no body has I₃ > I₁ + I₂
    False
    """
    moments = principal_moments(inertia)
    slack = tolerance * float(np.abs(moments).max(initial=0.0))
    return bool(moments[0] >= -slack and triangle_gap(inertia) >= -slack)
