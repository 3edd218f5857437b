"""The pieces of closed-form inverse kinematics: one or two turns that carry one vector to another.

After Paden and Kahan; each function works on many problems at once (leading axis N) and says which are soluble and
which are free, that is, satisfied by every angle. Axes are unit vectors (3,), common to all problems of a call.
Angles near a double root are computed from sines, not from an arc cosine, which would lose half of the digits there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

# A trigonometric equation that misses solubility by this much (relative) is taken at its double root; every result is
# verified by forward kinematics afterwards.
CLAMP = 1e-9
FREE_BELOW = 1e-9


class Two(NamedTuple):
    """Two angles each, (N, 2); `ok` (N,) where they exist; `free` (N,) where any angle does."""

    angles: Array
    ok: Mask
    free: Mask


class One(NamedTuple):
    """One angle each, (N,); `free` (N,) where any angle does."""

    angle: Array
    free: Mask


def _cross(axis: Array, v: Array) -> Array:
    """Return axis × v for v (N, 3) as one small product, a fraction of the cost of np.cross."""
    x, y, z = axis
    return np.asarray(v @ np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]))


def rotate(axis: Array, angle: Array, v: Array) -> Array:
    """Turn vectors v (N, 3) or (3,) about a unit axis (3,) by angles (N,): v + s·w×v + (1 − c)·w×(w×v)."""
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    once = _cross(axis, v)
    return np.asarray(v + s * once + (1.0 - c) * _cross(axis, once))


def turn_about(axis: Array, point: Array, angle: Array, x: Array) -> Array:
    """Turn points x (N, 3) about the line through `point` along `axis` by angles (N,)."""
    return rotate(axis, angle, x - point) + point


def onto(axis: Array, u: Array, v: Array, scale: float = 1.0) -> One:
    """Find the turn about `axis` that carries u to v, both (N, 3) or (3,) (Paden–Kahan 1).

    Only the parts across the axis matter; where one of them is shorter than 1e-9·scale, the angle is free (and 0).
    """
    u, v = np.atleast_2d(u), np.atleast_2d(v)
    u_across, v_across = u - (u @ axis)[:, None] * axis, v - (v @ axis)[:, None] * axis
    sine = (_cross(axis, u_across) * v_across).sum(axis=-1)
    cosine = (u_across * v_across).sum(axis=-1)
    short = np.minimum(np.linalg.norm(u_across, axis=-1), np.linalg.norm(v_across, axis=-1))
    free = short < FREE_BELOW * scale
    return One(np.where(free, 0.0, np.arctan2(sine, cosine)), np.broadcast_to(free, sine.shape).copy())


def wave(a: Array, b: Array, low: Array, high: Array, scale: float) -> Two:
    """Solve a·cos θ + b·sin θ = c, given the gaps low = r + c and high = r − c with r = hypot(a, b) (N,).

    θ = atan2(b, a) ± ψ with cos ψ = c/r. The gaps are passed because a caller may know a small one more exactly than c.
    """
    r = np.hypot(a, b)
    free = (r < FREE_BELOW * scale) & (np.abs(high - low) < 2.0 * FREE_BELOW * scale)
    ok = free | ((low > -CLAMP * scale) & (high > -CLAMP * scale))
    psi = 2.0 * np.arctan2(np.sqrt(np.maximum(high, 0.0)), np.sqrt(np.maximum(low, 0.0)))
    psi = np.where(free, 0.0, psi)
    centre = np.where(free, 0.0, np.arctan2(b, a))
    return Two(np.stack([centre + psi, centre - psi], axis=-1), ok, free)


def level(axis: Array, p: Array, h: Array, d: Array, scale: float = 1.0) -> Two:
    """Turn p (N, 3) about `axis` until its component along h (3,) is d (N,): h·R(θ)p = d (subproblem 4)."""
    p = np.atleast_2d(p)
    across = p - (p @ axis)[:, None] * axis
    a, b = across @ h, _cross(axis, p) @ h
    c = d - (p @ axis) * (axis @ h)
    r = np.hypot(a, b)
    return wave(a, b, r + c, r - c, scale)


def slant(axis: Array, p: Array, h: Array, u: Array) -> Two:
    """Turn the unit vector p (3,) about `axis` until it makes the angle with h (3,) that unit vectors u (N, 3) make.

    The same equation as `level`; where p can line up with h, the gap 1 − cos φ is taken from |h − u|², exact near 0.
    """
    u = np.atleast_2d(u)
    across = p - (p @ axis) * axis
    a, b = float(across @ h), float(_cross(axis, p) @ h)
    r, mean = float(np.hypot(a, b)), float((p @ axis) * (axis @ h))
    top, bottom = mean + r - 1.0, r - mean - 1.0
    top, bottom = (0.0 if abs(gap) < 1e-13 else gap for gap in (top, bottom))
    high = top + 0.5 * ((h - u) ** 2).sum(axis=-1)
    low = bottom + 0.5 * ((h + u) ** 2).sum(axis=-1)
    n = u.shape[0]
    return wave(np.full(n, a), np.full(n, b), low, high, 1.0)


def planar_elbow(axis: Array, pivot: Array, p: Array, distance: Array, scale: float) -> Two:
    """Turn p (N, 3) or (3,) about the line (axis, `pivot`) until its distance from the origin across it is as given.

    Subproblem 3 for a parallel axis through the origin: law of cosines, both gaps as products, exact near full stretch.
    `distance` is (N,) [m].
    """
    p = np.broadcast_to(p, (distance.shape[0], 3))
    arm = pivot - (pivot @ axis) * axis
    fore = (p - pivot) - ((p - pivot) @ axis)[:, None] * axis
    l1, l2 = np.linalg.norm(arm), np.linalg.norm(fore, axis=-1)
    inner, outer = np.abs(l1 - l2), l1 + l2
    low, high = (distance - inner) * (distance + inner), (outer - distance) * (outer + distance)
    return wave(2.0 * fore @ arm, 2.0 * _cross(axis, fore) @ arm, low, high, scale * scale)
