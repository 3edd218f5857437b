# SPDX-License-Identifier: Apache-2.0
"""Orientations along a path, R(x) = exp(φ(x)) R_a with φ a polynomial: angular rates exactly, and blends of them.

ω and ω′ are the derivatives by the path parameter, in base axes: ω = A(φ) φ′ with A(φ) = 1 + b φ̂ + c φ̂², and
ω′ = A φ″ + (dA/dx) φ′. Slerp is φ linear in x; a blend is a quintic φ that meets R, ω and ω′ of both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.motion.point_to_point import quintic_coefficients
from armwright.spatial import log_so3, turn_coefficients

if TYPE_CHECKING:
    from armwright.types import Array

SMALL = 1e-2  # below this φ² the quotients of differences are taken from their series


class Turning(NamedTuple):
    """Orientation R (..., 3, 3) and its rates w, dw (..., 3) by the path parameter, base axes [rad per unit]."""

    R: Array
    w: Array
    dw: Array


def _slopes(y: Array, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """db/dy and dc/dy of the coefficients of A(φ) by y = φ²."""
    small = y < SMALL
    safe = np.where(small, 1.0, y)
    cosine = 1.0 - b * y
    db = np.where(small, -1 / 24 + y * (1 / 360 - y * (1 / 13440 - y / 907200)), (0.5 * a - b) / safe)
    dc = np.where(
        small, -1 / 120 + y * (1 / 2520 - y * (1 / 120960 - y / 9979200)), ((a - cosine) / (2.0 * safe) - c) / safe
    )
    return db, dc


def _cross(a: Array, b: Array) -> Array:
    """Cross product of vectors (..., 3); NumPy's own takes several times as long."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def hat(phi: Array) -> Array:
    """Skew matrices (..., 3, 3) of vectors (..., 3)."""
    P = np.zeros((*phi.shape, 3))
    P[..., 0, 1], P[..., 0, 2], P[..., 1, 2] = -phi[..., 2], phi[..., 1], -phi[..., 0]
    return P - np.swapaxes(P, -1, -2)


def turning(phi: Array, dphi: Array, ddphi: Array, R_a: Array) -> Turning:
    """Evaluate exp(φ) R_a, ω and ω′ from φ and its derivatives (..., 3) and R_a (..., 3, 3)."""
    y = np.einsum("...i,...i->...", phi, phi)
    a, b, c = turn_coefficients(y)
    db, dc = _slopes(y, a, b, c)
    a, b, c, db, dc = (k[..., None] for k in (a, b, c, db, dc))
    dy = 2.0 * np.einsum("...i,...i->...", phi, dphi)[..., None]
    once = _cross(phi, dphi)
    twice = _cross(phi, once)
    w = dphi + b * once + c * twice
    bent = _cross(phi, ddphi)
    dw = ddphi + b * bent + c * _cross(phi, bent)
    dw = dw + dy * (db * once + dc * twice) + c * (_cross(dphi, once))
    P = hat(phi)
    R = (np.eye(3) + a[..., None] * P + b[..., None] * (P @ P)) @ R_a
    return Turning(R, w, dw)


def spinning(angle: Array, rate: Array, inner: Turning) -> Turning:
    """exp(angle) R with ω and ω′: an inner turning and an outer one of constant axis; angle, rate (..., 3) parallel."""
    if not np.any(rate):
        return inner
    zero = np.zeros_like(angle)
    S = turning(angle, zero, zero, np.broadcast_to(np.eye(3), (*angle.shape, 3))).R
    w, dw = (np.einsum("...ij,...j->...i", S, v) for v in (inner.w, inner.dw))
    return Turning(S @ inner.R, rate + w, _cross(rate, w) + dw)


def _unturn(phi: Array, w: Array) -> Array:
    """A(φ)⁻¹ w for φ, w (n, 3)."""
    _, b, c = turn_coefficients(np.einsum("ni,ni->n", phi, phi))
    P = hat(phi)
    A = np.eye(3) + b[:, None, None] * P + c[:, None, None] * (P @ P)
    return np.asarray(np.linalg.solve(A, w[..., None])[..., 0])


def blend_turn(h: Array, start: Turning, end: Turning) -> Array:
    """Coefficients (n, 6, 3) of quintics φ over [0, h], h (n,): exp(φ) R_start meets R, ω, ω′ of both ends."""
    R = end.R @ np.swapaxes(start.R, -1, -2)
    phi = np.moveaxis(np.asarray(log_so3(np.moveaxis(R, 0, -1)), dtype=np.float64), -1, 0)
    dphi = _unturn(phi, end.w)
    bend = turning(phi, dphi, np.zeros_like(phi), end.R).dw  # what (dA/dx) φ′ adds
    ddphi = _unturn(phi, end.dw - bend)
    return quintic_coefficients(h, np.zeros_like(phi), phi, start.w, dphi, start.dw, ddphi)
