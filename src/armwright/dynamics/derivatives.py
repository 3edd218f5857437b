# SPDX-License-Identifier: Apache-2.0
"""Exact derivatives of inverse and forward dynamics, traced only: they differentiate the graph of the recursions.

Forward dynamics needs no differentiation of the solve. With tau = ID(q, q̇, q̈) held along q̈ = FD(q, q̇, tau),

    ∂q̈/∂q = −M⁻¹ ∂ID/∂q,    ∂q̈/∂q̇ = −M⁻¹ ∂ID/∂q̇,    ∂q̈/∂tau = M⁻¹

where ID is differentiated with q̈ held fixed at the value just solved for. Everything becomes one straight-line
program, so the factors of M and the terms of ID are computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import bias, rnea
from armwright.errors import TraceError
from armwright.graph import derivative_matrix
from armwright.graph.expr import Expr
from armwright.robot.tree import as_tree
from armwright.spatial.linear import ldl_inverse, ltdl_solve

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


class InverseDerivatives(NamedTuple):
    """∂tau/∂q, ∂tau/∂q̇, ∂tau/∂q̈ = M, each (n, n)."""

    dtau_dq: Traced
    dtau_dqd: Traced
    dtau_dqdd: Traced


class ForwardDerivatives(NamedTuple):
    """∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂tau = M⁻¹, each (n, n)."""

    dqdd_dq: Traced
    dqdd_dqd: Traced
    dqdd_dtau: Traced


def _symbols(q: Traced) -> None:
    if not any(isinstance(x, Expr) for x in np.ravel(np.asarray(q, dtype=object))):
        raise TraceError("dynamics derivatives are made by tracing: call armwright.dynamics.dynamics_derivatives")


def inverse_derivatives(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    friction: bool = True,
    rotors: bool = True,
) -> InverseDerivatives:
    """Derivatives of `rnea` by q, q̇, q̈ (to be traced). External wrenches are constant in the base frame."""
    tree = as_tree(arm)
    if tree.n == 0:
        return InverseDerivatives(*[np.zeros((0, 0))] * 3)
    _symbols(q)
    tau = rnea(tree, q, qd, qdd, wrench, wrenches, friction=friction, rotors=rotors)
    return InverseDerivatives(derivative_matrix(tau, q), derivative_matrix(tau, qd), crba(tree, q, rotors=rotors))


def forward_derivatives(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    tau: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    friction: bool = True,
    rotors: bool = True,
) -> ForwardDerivatives:
    """Derivatives of forward dynamics by q, q̇, tau (to be traced). External wrenches are constant in the base frame."""
    tree = as_tree(arm)
    if tree.n == 0:
        return ForwardDerivatives(*[np.zeros((0, 0))] * 3)
    _symbols(q)
    n, M = tree.n, crba(tree, q, rotors=rotors)
    rest = bias(tree, q, qd, wrench, wrenches, friction=friction)
    qdd = ltdl_solve(M, tau - rest)
    needed = rnea(tree, q, qd, qdd, wrench, wrenches, friction=friction, rotors=rotors)
    slopes = [derivative_matrix(needed, x, mode="forward", held=qdd) for x in (q, qd)]
    solved = -ltdl_solve(M, np.concatenate(slopes, axis=1))
    return ForwardDerivatives(solved[:, :n], solved[:, n:], ldl_inverse(M))
