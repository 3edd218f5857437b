# SPDX-License-Identifier: Apache-2.0
"""The evidence that a push somewhere on a link's surface gives an estimate of external joint torques.

A surface point c with outward normal m explains the torques tau with the evidence

    f ~ N(−σ m, σ² (ν² m mᵀ + μ²/6 (1 − m mᵀ))),   tau ~ N(−σ J_cᵀ m, Σ + J_cᵀ cov(f) J_c)

with Σ the covariance of the estimate, σ a level of force, ν its width, and μ the friction: a force that leans by
anything from 0 to μ, alike, has μ²/6 of variance in either direction across. Levels rise geometrically and count alike
before the torques are seen: forces are known to no better than their order of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.isolation.link_surface import Surface, pushes
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

FORCE_LEVEL_RATIO, FORCE_LEVEL_DEVIATION = 1.6, 0.25
"""Ratio of neighbouring levels of force, and the standard deviation of a level as a share of it: an even cover."""
LEAST_FORCE_SHARE = 0.5
"""Share of the force that explains the torques at the longest lever: noise and friction may have helped it."""
SHORT_LEVER_SHARE = 0.02
"""Share of the longest lever below which a place is not expected to have been pushed: that would take huge forces."""
LEAST_FRICTION = 0.02
"""Least friction: with none at all, a rounding error would exclude a place."""


@dataclass(frozen=True, eq=False)
class SharedEvidence:
    """Data that all hypotheses share.

    Attributes:
        robot: the arm. q: its configuration (n,).
        W: whitens torques: W Σ Wᵀ = 1. y: the estimate (n,), whitened.
        friction: coefficient.
        levels: levels of force (l,) [N].
    """

    robot: Robot
    q: Array
    W: Array
    y: Array
    friction: float
    levels: Array


def checked(robot: Robot, q: ArrayLike, tau: ArrayLike, noise: ArrayLike) -> tuple[Array, Array, Array]:
    """Return q, tau_ext and its covariance (n, n), or say what is wrong with them."""
    n = robot.n
    x, t, S = (np.asarray(value, dtype=np.float64) for value in (q, tau, noise))
    for name, value in (("q", x), ("tau_ext", t)):
        if value.shape != (n,) or not np.isfinite(value).all():
            raise InputError(f"isolate: {name} must be {n} finite numbers, got shape {value.shape}")
    if S.shape in ((), (n,)):
        if not (S > 0.0).all():
            raise InputError("isolate: noise must be positive standard deviations, or a covariance matrix")
        S = np.diag(np.broadcast_to(S, (n,)) ** 2)
    if S.shape != (n, n) or not np.isfinite(S).all():
        raise InputError(
            f"isolate: noise must be one number, ({n},) standard deviations or an ({n}, {n}) covariance, "
            f"got shape {S.shape}"
        )
    S = 0.5 * (S + S.T)
    if whitening(S) is None:
        raise InputError("isolate: the noise covariance must be positive definite")
    return x, t, S


def whitening(S: Array) -> Array | None:
    """Return the lower triangular W (n, n) with W S Wᵀ = 1; None if S is not positive definite."""
    n = len(S)
    L, W = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = float(S[i, j] - np.sum(L[i, :j] * L[j, :j]))
            if i == j and not rest > 0.0:
                return None
            L[i, j] = np.sqrt(rest) if i == j else rest / L[j, j]
        for j in range(i + 1):
            W[i, j] = (float(i == j) - np.sum(L[i, j:i] * W[j:i, j])) / L[i, i]
    return W


def setting(robot: Robot, q: Array, tau: Array, S: Array, friction: float, forces: Array) -> SharedEvidence:
    """Return what hypotheses share: tau (n,) [N m] with covariance S (n, n), and levels of force (l,) [N]."""
    W = whitening(S)
    assert W is not None
    return SharedEvidence(robot, q, W, np.einsum("ij,j->i", W, tau), max(friction, LEAST_FRICTION), forces)


def levels(robot: Robot, q: Array, tau: Array, S: Array, faces: list[Surface]) -> Array:
    """Return levels of force (l,) [N] that can cause torques of this size.

    From the lightest push, at the longest lever, that a detector could have noticed as these torques, up to what they
    take at the shortest levers that count. Lighter ones explain the torques nowhere, so they would change nothing.
    """
    W = whitening(S)
    assert W is not None
    longest = 1e-9
    for face in faces:
        points, normals = face.at(*face.grid(0.06, 8)[:2])
        linear, _ = pushes(robot, q, face.body, points)
        head = np.einsum("ij,mkj,mk->mi", W, linear, normals)
        longest = max(longest, float(np.max(np.sum(head * head, axis=1))) ** 0.5)
    size = float(np.sum(np.einsum("ij,j->i", W, tau) ** 2)) ** 0.5
    lightest = LEAST_FORCE_SHARE * size / longest
    count = int(np.ceil(np.log(1.0 / (LEAST_FORCE_SHARE * SHORT_LEVER_SHARE)) / np.log(FORCE_LEVEL_RATIO)))
    return np.asarray(lightest * FORCE_LEVEL_RATIO ** np.arange(count + 1))


def evidence(
    now: SharedEvidence, surface: Surface, u: Array, theta: Array, cell: tuple[float, float]
) -> tuple[Array, Array, Array, Array]:
    """Return log evidence and misfit (m, l), mean force (m, l, 3), Jacobians (m, 3, n) of pushes in a surface's cells.

    With h = W J_cᵀ m, U = W [J_cᵀ cov(f)^½/σ, moments across and about the link for pushes up to half a cell away]
    (n × 5), K = (1 + σ² UᵀU)⁻¹ and b = Uᵀ(y + σ h), the whitened torques are N(−σ h, 1 + σ² U Uᵀ), so

        log p = −½ (|y + σ h|² − σ² bᵀK b − log det K),   E f = −σ m + σ² (cov(f)^½/σ) (K b)₁…₃

    The misfit |y + σ h|² − σ² bᵀK b is χ² with n degrees of freedom where the hypothesis is true.

    Args:
        now: torques and arm.
        surface: surface of a link.
        u: places along it (m,) [m].
        theta: places around it (m,) [rad].
        cell: size of a cell along and around [m].
    """
    points, normals = surface.at(u, theta)
    linear, angular = pushes(now.robot, now.q, surface.body, points)
    m = normals.T
    turn = np.einsum("ij,kj->ki", now.W, angular)
    axis, share = surface.R[:, 2], 1.0 / np.sqrt(12.0)
    arms = np.einsum("ij,mkj->kim", now.W, linear)
    head = np.sum(m[:, None] * arms, axis=0)
    U = np.empty((5, now.robot.n, len(points)))
    U[:3] = _rooted(now.friction, m[:, None], arms)
    U[3] = share * cell[0] * np.einsum("mk,ki->im", np.cross(axis, normals), turn)
    U[4] = (share * cell[1] * np.einsum("k,ki->i", axis, turn))[:, None]
    G = np.einsum("aim,bim->abm", U, U)
    size = now.levels
    b = np.einsum("aim,i->am", U, now.y)[..., None] + np.einsum("aim,im->am", U, head)[..., None] * size
    L = _cholesky(np.eye(5)[:, :, None, None] + G[..., None] * size**2)
    z = _forward(L, b)
    off = np.sum(now.y**2) + 2.0 * np.einsum("i,im->m", now.y, head)[:, None] * size
    off = off + np.sum(head * head, axis=0)[:, None] * size**2
    misfit = off - size**2 * np.sum(z * z, axis=0)
    log = -0.5 * misfit - np.log(np.prod(np.einsum("aa...->a...", L), axis=0))
    force = size**2 * _rooted(now.friction, m[..., None], _backward(L, z)[:3]) - size * m[..., None]
    return log, misfit, np.moveaxis(force, 0, -1), linear


def _rooted(friction: float, m: Array, x: Array) -> Array:
    """cov(f)^½/σ times x (3, ...), about normals m (3, ...)."""
    lean = friction / np.sqrt(6.0)
    return np.asarray(lean * x + (FORCE_LEVEL_DEVIATION - lean) * m * np.sum(m * x, axis=0))


def _cholesky(A: Array) -> Array:
    """Lower factors (k, k, ...) of 1 + a semidefinite matrix: own loops, so that no bit depends on the BLAS at work.

    Every pivot of such a matrix is at least 1. Rounding may say otherwise where the matrix exceeds 1e16.
    """
    L = np.zeros_like(A)
    for j in range(len(A)):
        L[j, j] = np.sqrt(np.maximum(A[j, j] - np.sum(L[j, :j] ** 2, axis=0), 1.0))
        for i in range(j + 1, len(A)):
            L[i, j] = (A[i, j] - np.sum(L[i, :j] * L[j, :j], axis=0)) / L[j, j]
    return L


def _forward(L: Array, b: Array) -> Array:
    """Solve L z = b for (k, ...)."""
    z = np.zeros(L.shape[1:])
    for i in range(len(L)):
        z[i] = (b[i] - np.sum(L[i, :i] * z[:i], axis=0)) / L[i, i]
    return z


def _backward(L: Array, z: Array) -> Array:
    """Solve Lᵀ x = z for (k, ...)."""
    x = np.zeros_like(z)
    for i in range(len(L))[::-1]:
        x[i] = (z[i] - np.sum(L[i + 1 :, i] * x[i + 1 :], axis=0)) / L[i, i]
    return x


def logsum(values: Array, axis: int | None = None) -> Array:
    """Logarithm of the sum of exponentials."""
    top = np.max(values, axis=axis, keepdims=True)
    out = np.log(np.sum(np.exp(values - top), axis=axis, keepdims=True)) + top
    return np.asarray(out.reshape(()) if axis is None else np.squeeze(out, axis))
