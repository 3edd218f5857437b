# SPDX-License-Identifier: Apache-2.0
"""Centroidal momentum: that of all moving bodies together, about their common centre of mass (Orin and Goswami).

Column j of the matrix is the momentum of everything beyond joint j when that joint alone moves with unit speed: the
pair (f, n) of CRBA, carried to the centre of mass. Rotors are not in it: their reflected inertia has no direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.dynamics.crba import composites
from armwright.dynamics.terms import gather, root_frames
from armwright.errors import InputError
from armwright.robot.inertia_needed import require_mass
from armwright.robot.kernels import kernel
from armwright.robot.model import robot_needed
from armwright.robot.step import steps
from armwright.robot.tree import Tree, as_tree
from armwright.spatial.linear import cross

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.graph.kernel import Kernel
    from armwright.robot.kernels import TreeFunction
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced


def momentum_matrix(arm: Robot | Tree, q: Traced) -> Traced:
    """A_G (6, n), linear rows first, base axes, about the centre of mass. Needs the unregrouped tree."""
    tree = as_tree(arm)
    st = steps(tree, q)
    frames = root_frames(tree, st)
    R_base_root = tree.T_base_root[:3, :3]
    com: Any = sum(tree.m[i] * frames.p[i] + frames.R[i] @ tree.h[i] for i in range(tree.nb)) / np.sum(tree.m)
    columns = []
    for j, (m, h, J) in enumerate(composites(tree, st)):
        if tree.revolute[j]:
            f, n = np.array([-h[1], h[0], 0.0]), J[:, 2]
        else:
            f, n = np.array([0.0, 0.0, m]), np.array([h[1], -h[0], 0.0])
        f, n = frames.R[j] @ f, frames.R[j] @ n
        n = n + cross(frames.p[j] - com, f)
        columns.append(np.concatenate([R_base_root @ f, R_base_root @ n]))
    return np.array([gather(tree, [column[row] for column in columns]) for row in range(6)])


def momentum(arm: Robot | Tree, q: Traced, qd: Traced) -> Traced:
    """h_G = A_G(q) q̇ (6,)."""
    return momentum_matrix(arm, q) @ qd


def centroidal_matrix(robot: Robot | Tree, q: ArrayLike) -> Array:
    """Centroidal momentum matrix A_G (..., 6, n): ``A_G @ qd`` is `centroidal_momentum`.

    Its linear rows are the total moving mass times `com_jacobian`.

    >>> centroidal_matrix(robot, q) @ qd  # equals centroidal_momentum(robot, q, qd)
    """
    return cast("Array", _kernel(robot, momentum_matrix, "centroidal_matrix")(q))


def centroidal_momentum(robot: Robot | Tree, q: ArrayLike, qd: ArrayLike) -> Array:
    """Momentum [p; l] (..., 6) of all moving bodies in base axes: linear [kg m/s], angular about their com [kg m²/s].

    Its rate is the sum of the wrenches of gravity, base and world about the centre of mass. The base stands still:
    floating bases are out of scope.

    >>> p, l = np.split(centroidal_momentum(robot, q, qd), 2)
    """
    return cast("Array", _kernel(robot, momentum, "centroidal_momentum")(q, qd))


def _kernel(arm: Robot | Tree, function: Callable[..., Any], name: str) -> Kernel | TreeFunction:
    if not isinstance(arm, Tree) and (wrong := robot_needed(arm)):
        raise InputError(wrong)
    require_mass(arm)
    return kernel(arm, function, regroup=False, name=name, needs="bodies")
