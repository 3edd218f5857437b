# SPDX-License-Identifier: Apache-2.0
"""Cartesian paths: lines and circular arcs of the tool, orientation turned evenly along the way (slerp).

A path is geometry only, a function of s in [0, 1]; a law s(t) makes it a motion. Orientation is R(s) = exp(s·turn) R(0)
with a constant rotation vector in base axes, which is the great-circle interpolation of the two quaternions. In general
R(x) = exp(φ(x)) R_a with φ a polynomial: slerp is φ linear in x; a blend (`blend_turn`) is a quintic φ that meets R, ω
and ω′ of both sides. ω and ω′ are the derivatives by the path parameter, in base axes and exact: ω = A(φ) φ′ with
A(φ) = 1 + b φ̂ + c φ̂², and ω′ = A φ″ + (dA/dx) φ′.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics.frame_names import rigid
from armwright.motion.motion_inputs import joint_vector
from armwright.motion.point_to_point import quintic_coefficients
from armwright.spatial import log_so3, turn_coefficients

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

SERIES_ANGLE_SQUARED = 1e-2  # below this φ² the quotients of differences are taken from their series


class Turning(NamedTuple):
    """Orientation R (..., 3, 3) and its rates w, dw (..., 3) by the path parameter, base axes [rad per unit]."""

    R: Array
    w: Array
    dw: Array


def _slopes(y: Array, a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Return db/dy and dc/dy of the coefficients of A(φ), y = φ²."""
    small = y < SERIES_ANGLE_SQUARED
    safe = np.where(small, 1.0, y)
    cosine = 1.0 - b * y
    db = np.where(small, -1 / 24 + y * (1 / 360 - y * (1 / 13440 - y / 907200)), (0.5 * a - b) / safe)
    dc = np.where(
        small, -1 / 120 + y * (1 / 2520 - y * (1 / 120960 - y / 9979200)), ((a - cosine) / (2.0 * safe) - c) / safe
    )
    return db, dc


def _cross(a: Array, b: Array) -> Array:
    """Return the cross product of vectors (..., 3); NumPy's own takes several times as long."""
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


ZERO_LENGTH = 1e-9
"""Lengths [m], angles [rad] and sines below this are zero: what `ik` promises to resolve."""


class PathPoint(NamedTuple):
    """A path at s (...): pose T (..., 4, 4), dX = [dp/ds; w] and ddX = d²/ds² (..., 6), linear first, base axes."""

    T: Array
    dX: Array
    ddX: Array


@dataclass(frozen=True, slots=True, eq=False)
class CartesianPath:
    """A line (angle = 0) or an arc of the tool frame.

    Attributes:
        T_start: T_base_tool at s = 0.
        chord: p(1) − p(0) of a line (3,) [m]; zero for an arc.
        centre, normal, angle: of an arc: point (3,) [m], unit axis (3,), angle [rad], right-handed about the axis.
        turn: rotation vector (3,) [rad], base axes, that the orientation makes from s = 0 to 1.
    """

    T_start: Array
    chord: Array
    centre: Array
    normal: Array
    angle: float
    turn: Array

    @property
    def radius(self) -> float:
        """Radius of an arc [m], 0 for a line."""
        return float(np.linalg.norm(self.T_start[:3, 3] - self.centre)) if self.angle else 0.0

    @property
    def length(self) -> float:
        """Length of the tool origin's path [m]; 0 for a turn on the spot."""
        return abs(self.angle) * self.radius if self.angle else float(np.linalg.norm(self.chord))

    @property
    def T_end(self) -> Array:
        """T_base_tool at s = 1."""
        return self.at(1.0).T

    def at(self, s: ArrayLike) -> PathPoint:
        """Return pose and derivatives by s at s (...)."""
        s = np.asarray(s, dtype=np.float64)
        p0 = self.T_start[:3, 3]
        if self.angle:
            r = p0 - self.centre
            side = np.cross(self.normal, r)
            c, d = np.cos(s * self.angle)[..., None], np.sin(s * self.angle)[..., None]
            p = self.centre + c * r + d * side
            dp, ddp = self.angle * (c * side - d * r), -(self.angle**2) * (c * r + d * side)
        else:
            p = p0 + s[..., None] * self.chord
            dp, ddp = np.broadcast_to(self.chord, p.shape), np.zeros(p.shape)
        T = np.zeros((*s.shape, 4, 4))
        T[..., :3, :3] = turned(self.turn, s) @ self.T_start[:3, :3]
        T[..., :3, 3] = p
        T[..., 3, 3] = 1.0
        w = np.broadcast_to(self.turn, p.shape)
        return PathPoint(T, np.concatenate([dp, w], axis=-1), np.concatenate([ddp, np.zeros(p.shape)], axis=-1))


def turned(turn: Array, s: Array) -> Array:
    """Rotations exp(s·turn) (..., 3, 3) for s (...)."""
    x, y, z = turn
    W = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    k = turn_coefficients(s * s * float(turn @ turn))
    return np.asarray(np.eye(3) + (s * k.a)[..., None, None] * W + (s * s * k.b)[..., None, None] * (W @ W))


def _turn_between(T_start: Array, T_end: Array) -> Array:
    return np.asarray(log_so3(T_end[:3, :3] @ T_start[:3, :3].T), dtype=np.float64)


def _pose(value: ArrayLike, what: str) -> Array:
    T = rigid(value, what)
    if T.ndim != 2:
        raise InputError(f"{what}: expected one pose of shape (4, 4), got {T.shape}")
    return T.copy()


@names_culprit
def line(T_start: ArrayLike, T_end: ArrayLike) -> CartesianPath:
    """Return the straight path between two tool poses (4, 4), or the turn on the spot if they share the origin.

    >>> line(aw.fk(robot, q), aw.fk(robot, q + 0.1)).length  # [m]
    """
    a, b = _pose(T_start, "T_start"), _pose(T_end, "T_end")
    chord, turn = b[:3, 3] - a[:3, 3], _turn_between(a, b)
    if np.linalg.norm(chord) < ZERO_LENGTH and np.linalg.norm(turn) < ZERO_LENGTH:
        raise InputError("line: the two poses coincide; give different ones, or use `hold` to wait")
    return CartesianPath(a, chord, np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.0, turn)


@names_culprit
def circle_via(T_start: ArrayLike, via: ArrayLike, T_end: ArrayLike) -> CartesianPath:
    """Return the arc from one pose through a point `via` (3,) to another pose; the via point has no orientation.

    The three points must differ and must not lie on one line; for a full circle use `circle_about`.

    >>> circle_via(aw.fk(robot, q), [0.6, 0.0, 0.4], aw.fk(robot, -q)).radius  # [m]
    """
    a, b = _pose(T_start, "T_start"), _pose(T_end, "T_end")
    m = joint_vector(via, "via", 3)
    u, v = m - a[:3, 3], b[:3, 3] - a[:3, 3]
    if min(np.linalg.norm(u), np.linalg.norm(v), np.linalg.norm(u - v)) < ZERO_LENGTH:
        raise InputError("circle_via: start, via and end must be three different points; see `circle_about`")
    n = np.cross(u, v)
    if np.linalg.norm(n) < ZERO_LENGTH * np.linalg.norm(u) * np.linalg.norm(v):
        raise InputError("circle_via: start, via and end lie on one line; use `line`, or a via point beside it")
    to_centre = np.cross(n, (u @ u) * v - (v @ v) * u) / (-2.0 * (n @ n))
    normal = n / np.linalg.norm(n)
    r0, r1 = -to_centre, v - to_centre
    angle = float(np.arctan2(normal @ np.cross(r0, r1), r0 @ r1)) % (2.0 * np.pi)
    return CartesianPath(a, np.zeros(3), a[:3, 3] + to_centre, normal, angle, _turn_between(a, b))


@names_culprit
def circle_about(
    T_start: ArrayLike, centre: ArrayLike, normal: ArrayLike, angle: float, orientation: str | ArrayLike = "fixed"
) -> CartesianPath:
    """Return the arc about an axis through `centre` (3,) along `normal` (3,), by `angle` [rad], right-handed.

    Args:
        T_start: start pose (4, 4); its origin must not lie on the axis. The circle is about the axis' nearest point.
        centre: a point of the axis [m].
        normal: direction of the axis, any length.
        angle: may exceed a turn; negative goes the other way.
        orientation: "fixed", "turn" (the tool turns with the arc), or the rotation (3, 3) to end with.

    >>> circle_about(aw.fk(robot, q), centre=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0], angle=np.pi / 2)
    """
    a = _pose(T_start, "T_start")
    c, n = joint_vector(centre, "centre", 3), joint_vector(normal, "normal", 3)
    if np.linalg.norm(n) < ZERO_LENGTH:
        raise InputError("normal: must not be zero")
    n = n / np.linalg.norm(n)
    if not np.isfinite(angle) or angle == 0.0:
        raise InputError(f"angle: must be finite and not zero [rad], got {angle!r}")
    c = c + n * (n @ (a[:3, 3] - c))
    if np.linalg.norm(a[:3, 3] - c) < ZERO_LENGTH:
        raise InputError(
            "circle_about: the start lies on the axis, so the radius is zero; use `line` to turn on the spot"
        )
    if isinstance(orientation, str):
        if orientation not in ("fixed", "turn"):
            raise InputError(f"orientation must be 'fixed', 'turn' or a rotation (3, 3), got {orientation!r}")
        turn = n * angle if orientation == "turn" else np.zeros(3)
    else:
        end = a.copy()
        end[:3, :3] = np.asarray(orientation, dtype=np.float64).reshape(3, 3)
        turn = _turn_between(a, _pose(end, "orientation"))
    return CartesianPath(a, np.zeros(3), c, n, float(angle), turn)
