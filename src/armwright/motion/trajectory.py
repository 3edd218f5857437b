# SPDX-License-Identifier: Apache-2.0
"""`Trajectory`: a motion as frozen data, piecewise polynomials in time for all joints, with its references and peaks.

At one instant it gives a `Reference`, what a controller is asked to follow. Its extremes are exact: values at the roots
of the derivative and at the ends of every piece. At many instants it is compiled: `fill_table` writes the table of
references that a loop follows, one row per tick. Every row is computed alone and in the same way, so that a table does
not depend on how a run is cut into stretches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit, refuse_masked
from armwright.errors import InputError
from armwright.graph import jit
from armwright.graph.emit.llvm_polynomials import table_ir
from armwright.graph.kernel import backend, compiled
from armwright.motion.motion_inputs import joint_vector, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array


class Reference(NamedTuple):
    """Desired joint position, velocity and acceleration, each (..., n) [rad or m, and per second]."""

    q: Any
    qd: Any
    qdd: Any


NEGLIGIBLE = 1e-13
"""Leading coefficients below this fraction of the largest are rounding: 500 times that of one number."""


def unit_roots(c: Array) -> Array:
    """Points (N, d) in [0, 1] among which are all real roots there of N polynomials c (N, d+1), lowest power first.

    Roots elsewhere or complex are moved to the nearest point of [0, 1] on the real axis: as candidates for an extreme
    they do no harm, and a double root that rounding has split into a complex pair is not lost.
    """
    rows, size = c.shape
    out = np.zeros((rows, max(size - 1, 1)))
    if size == 1:
        return out
    big = np.abs(c) > NEGLIGIBLE * np.abs(c).max(axis=1, keepdims=True)
    degree = np.where(big.any(axis=1), size - 1 - np.argmax(big[:, ::-1], axis=1), 0)
    for d in range(1, size):
        pick = degree == d
        if pick.any():
            companion = np.zeros((int(pick.sum()), d, d))
            companion[:, np.arange(1, d), np.arange(d - 1)] = 1.0
            companion[:, :, -1] = -c[pick, :d] / c[pick, d : d + 1]
            out[pick, :d] = np.clip(np.linalg.eigvals(companion).real, 0.0, 1.0)
    return out


def candidates(breaks: Array, coefficients: Array) -> tuple[Array, Array]:
    """Candidates for extremes of pieces (m, size, n): fractions of each piece (m, n, K) and the values there."""
    m, size, n = coefficients.shape
    h = np.diff(breaks)
    scaled = coefficients * (h[:, None] ** np.arange(size))[:, :, None]
    rows = np.moveaxis(scaled, 1, 2).reshape(m * n, size)
    slope = rows[:, 1:] * np.arange(1.0, size) if size > 1 else np.zeros((m * n, 1))
    x = np.concatenate([unit_roots(slope), np.zeros((m * n, 1)), np.ones((m * n, 1))], axis=1)
    value = np.broadcast_to(rows[:, -1:], x.shape)
    for k in range(size - 2, -1, -1):
        value = value * x + rows[:, k : k + 1]
    return x.reshape(m, n, -1), value.reshape(m, n, -1)


def extreme(breaks: Array, coefficients: Array, *, absolute: bool = False) -> tuple[Array, Array]:
    """Return the largest value (or |value|) per joint (n,) and the time it is reached (n,) [s]."""
    x, value = candidates(breaks, coefficients)
    m, n, K = x.shape
    value = np.abs(value) if absolute else value
    time = breaks[:-1, None, None] + np.diff(breaks)[:, None, None] * x
    flat, when = (np.moveaxis(a, 1, 0).reshape(n, m * K) for a in (value, time))
    best = np.argmax(flat, axis=1)
    return flat[np.arange(n), best], when[np.arange(n), best]


def zero_crossings(breaks: Array, coefficients: Array) -> Array:
    """Times (K,), sorted, where any joint's polynomial (m, size, n) changes sign inside a piece."""
    m, size, n = coefficients.shape
    h = np.diff(breaks)
    scaled = coefficients * (h[:, None] ** np.arange(size))[:, :, None]
    rows = np.moveaxis(scaled, 1, 2).reshape(m * n, size)
    x = np.sort(np.concatenate([unit_roots(rows), np.zeros((m * n, 1)), np.ones((m * n, 1))], axis=1), axis=1)
    middle = 0.5 * (x[:, 1:] + x[:, :-1])
    value = np.broadcast_to(rows[:, -1:], middle.shape)
    for k in range(size - 2, -1, -1):
        value = value * middle + rows[:, k : k + 1]
    changes = (value[:, 1:] * value[:, :-1] < 0.0) & (x[:, 1:-1] > 0.0) & (x[:, 1:-1] < 1.0)
    row, column = np.nonzero(changes)
    piece = row // n
    return np.unique(breaks[piece] + h[piece] * x[row, column + 1])


_P, _I = ctypes.c_void_p, ctypes.c_int64


@lru_cache(maxsize=64)
def _filler(size: int, n: int) -> Callable[..., None]:
    name = f"armwright_reference_table_{size}_{n}"
    address = compiled((name,), name, lambda: table_ir(name, size, n, fma=jit.host().fma))
    return ctypes.CFUNCTYPE(None, *[_P] * 4, *[_I] * 3)(address)


def fill_table(breaks: Array, coefficients: Array, t: Array, out: Array) -> bool:
    """Write q, qd, qdd of a trajectory at many instants; return False, and write nothing, where LLVM is missing.

    Args:
        breaks: (m+1,) instants of a `Trajectory` [s].
        coefficients: (m, degree+1, n) of its pieces.
        t: (T,) [s], best in order of time; not NaN.
        out: (T, 3n); the numbers of a row must be contiguous, rows need not be.
    """
    if backend() != "llvm":
        return False
    m, size, n = coefficients.shape
    t = np.ascontiguousarray(t, dtype=np.float64)
    assert out.shape == (len(t), 3 * n)
    assert out.dtype == np.float64
    assert out.strides[1] == out.itemsize
    if len(t):
        _filler(size, n)(
            t.ctypes.data,
            breaks.ctypes.data,
            coefficients.ctypes.data,
            out.ctypes.data,
            len(t),
            m - 1,
            out.strides[0] // out.itemsize,
        )
    return True


COMPILED_TABLE_INSTANTS = 256
"""Instants above which the compiled table is used: up to there NumPy takes 0.1 ms at most, and nothing is compiled for
a few points. From there on the table is 6 (256) to 11 times (1024 instants, 6 joints) as fast."""


class Peaks(NamedTuple):
    """Extremes of a motion per joint, each (n,), exact to rounding: from the roots of the derivatives.

    qd, qdd are the largest |qd|, |qdd|, reached at qd_time, qdd_time; q_lower, q_upper the range that q covers.
    """

    qd: Array
    qdd: Array
    qd_time: Array
    qdd_time: Array
    q_lower: Array
    q_upper: Array


class Samples(NamedTuple):
    """A motion on a uniform grid: t (T,) [s] and q, qd, qdd (T, n)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


def differentiate(coefficients: Array) -> Array:
    """Coefficients of the time derivative, along axis 1 of (m, degree+1, n), lowest power first; never empty."""
    if coefficients.shape[1] == 1:
        return np.zeros_like(coefficients)
    return coefficients[:, 1:] * np.arange(1.0, coefficients.shape[1])[:, None]


def _horner(coefficients: Array, piece: NDArray[np.int64], x: Array) -> Array:
    """Value (..., n) of the polynomial of each `piece` (...) at local time x (...)."""
    out: Array = coefficients[piece, -1]
    for k in range(coefficients.shape[1] - 2, -1, -1):
        out = out * x[..., None] + coefficients[piece, k]
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """Positions of n joints over time.

    Attributes:
        breaks: (m+1,) instants [s], increasing from 0; piece i holds from breaks[i] to breaks[i+1].
        coefficients: (m, degree+1, n); piece i is Σ_k coefficients[i, k] (t − breaks[i])^k [rad or m].

    Before 0 the start is held and after the end the end position is held, both at rest: polynomials do not run away
    (the generator of 003, Code 12, does). At t = 0 and t = duration themselves the polynomials count; at an inner
    break the later piece does.
    """

    breaks: Array
    coefficients: Array

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        refuse_masked((self.breaks, self.coefficients), "trajectory: breaks and coefficients")
        try:
            breaks = np.array(self.breaks, dtype=np.float64)
            coefficients = np.array(self.coefficients, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError("trajectory: breaks (m+1,) and coefficients (m, degree+1, n) must be numbers") from error
        if coefficients.ndim != 3 or 0 in coefficients.shape or breaks.shape != (coefficients.shape[0] + 1,):
            raise InputError(
                "trajectory: expected breaks (m+1,) and coefficients (m, degree+1, n) with m, n ≥ 1, "
                f"got {breaks.shape} and {coefficients.shape}"
            )
        if not (np.isfinite(breaks).all() and np.isfinite(coefficients).all()):
            raise InputError("trajectory: breaks and coefficients must be finite")
        if breaks[0] != 0.0 or (np.diff(breaks) <= 0.0).any():
            raise InputError(f"trajectory: breaks must increase from 0, got {breaks.tolist()}")
        breaks.flags.writeable = coefficients.flags.writeable = False
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "coefficients", coefficients)

    def __repr__(self) -> str:
        """Name size and duration; the coefficients would fill pages."""
        m, size, n = self.coefficients.shape
        return f"Trajectory({n} joints, {self.duration:.6g} s, {m} pieces of degree {size - 1})"

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.coefficients.shape[2])

    @property
    def degree(self) -> int:
        """Highest power of time in any piece."""
        return int(self.coefficients.shape[1]) - 1

    @property
    def duration(self) -> float:
        """Length in time [s]."""
        return float(self.breaks[-1])

    @property
    def start(self) -> Reference:
        """Position, velocity and acceleration (n,) at t = 0."""
        return self.evaluate(0.0)

    @property
    def end(self) -> Reference:
        """Position, velocity and acceleration (n,) at t = duration, as the last piece ends (not yet held)."""
        return self.evaluate(self.duration)

    def evaluate(self, t: ArrayLike) -> Reference:
        """Return q, qd, qdd, each (..., n), at times t (...) [s], any batch shape."""
        refuse_masked(t, "t")
        try:
            time = np.asarray(t, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"t: expected times in seconds, got {t!r}") from error
        if np.isnan(time).any():
            raise InputError("t: times must be numbers, got NaN")
        if time.ndim == 1 and time.size > COMPILED_TABLE_INSTANTS:
            table = np.empty((time.size, 3 * self.n))
            if fill_table(self.breaks, self.coefficients, time, table):
                return Reference(*np.split(table, 3, axis=1))
        inside = (time >= 0.0) & (time <= self.duration)
        clipped = np.clip(time, 0.0, self.duration)
        piece = np.searchsorted(self.breaks[1:-1], clipped, side="right")
        return self.on_pieces(piece, clipped - self.breaks[piece], inside)

    def on_pieces(self, piece: NDArray[np.int64], x: Array, moving: NDArray[np.bool_] | None = None) -> Reference:
        """Return q, qd, qdd (..., n) at x (...,) [s] after the start of pieces (...,); at rest where not `moving`."""
        coefficients = self.coefficients
        if len(coefficients) > piece.size > 0:  # a part of a long motion costs no more than that part
            low = int(piece.min())
            coefficients, piece = coefficients[low : int(piece.max()) + 1], piece - low
        speed = differentiate(coefficients)
        q = _horner(coefficients, piece, x)
        qd, qdd = _horner(speed, piece, x), _horner(differentiate(speed), piece, x)
        if moving is not None:
            qd, qdd = np.where(moving[..., None], qd, 0.0), np.where(moving[..., None], qdd, 0.0)
        return Reference(q, qd, qdd)

    def within(self, fractions: ArrayLike) -> Reference:
        """Return q, qd, qdd, each (m, F, n), at fractions (F,) in [0, 1] of every piece; at 0 and 1 one-sided."""
        f = np.asarray(fractions, dtype=np.float64)
        if f.ndim != 1 or not ((f >= 0.0) & (f <= 1.0)).all():
            raise InputError(f"fractions: expected a vector of numbers in [0, 1], got {fractions!r}")
        h = np.diff(self.breaks)
        piece = np.broadcast_to(np.arange(h.size)[:, None], (h.size, f.size))
        return self.on_pieces(piece, h[:, None] * f)

    def peaks(self) -> Peaks:
        """Return the exact peaks of |qd| and |qdd| and the range of q, per joint."""
        speed = differentiate(self.coefficients)
        q, _ = extreme(self.breaks, self.coefficients)
        qd, qd_time = extreme(self.breaks, speed, absolute=True)
        qdd, qdd_time = extreme(self.breaks, differentiate(speed), absolute=True)
        lower, _ = extreme(self.breaks, -self.coefficients)
        return Peaks(qd, qdd, qd_time, qdd_time, -lower, q)

    def jumps(self) -> Array:
        """Return the jump of each derivative at each inner break, (m−1, degree+1, n); order k along axis 1."""
        out, c, h = [], self.coefficients, np.diff(self.breaks)
        piece = np.arange(h.size - 1)
        for _ in range(self.degree + 1):
            out.append(c[1:, 0] - _horner(c, piece, h[:-1]))
            c = differentiate(c)
        return np.stack(out, axis=1)

    def continuity(self, tolerance: float = 1e-7) -> int:
        """Return the highest k such that all derivatives up to order k are continuous; -1 if positions jump.

        A jump counts if it exceeds `tolerance` times the largest value of that derivative at the breaks (at least 1).
        One piece is smooth: its degree is returned. What happens at the ends, where rest is assumed outside, is not
        part of this; see `start` and `end`.
        """
        c, jump, best = self.coefficients, self.jumps(), -1
        for k in range(self.degree + 1):
            scale = max(1.0, float(np.abs(c[:, 0]).max()))
            if (np.abs(jump[:, k]) > tolerance * scale).any():
                break
            best, c = k, differentiate(c)
        return best

    def then(self, other: Trajectory, *, order: int = 1, tolerance: float = 1e-9) -> Trajectory:
        """Return this motion followed at once by another.

        Args:
            other: the next motion, of the same joints.
            order: what must agree where they meet: 0 position, 1 velocity too, 2 acceleration too.
            tolerance: largest jump allowed [rad or m, and per second].
        """
        if not isinstance(other, Trajectory) or other.n != self.n:
            raise InputError(f"then: expected a trajectory of {self.n} joints, got {other!r}")
        if order not in (0, 1, 2):
            raise InputError(f"then: order must be 0, 1 or 2, got {order!r}")
        for name, a, b in list(zip(("position", "velocity", "acceleration"), self.end, other.start, strict=True))[
            : order + 1
        ]:
            jump = np.abs(b - a)
            if not (jump <= tolerance).all():
                j = int(np.argmax(jump))
                raise InputError(
                    f"then: {name} of joint {j} jumps from {a[j]:.9g} to {b[j]:.9g} at t = {self.duration:.6g} s; "
                    f"start the next motion where this one ends, to {tolerance:g}"
                )
        size = max(self.degree, other.degree) + 1
        parts = [np.pad(p.coefficients, ((0, 0), (0, size - p.degree - 1), (0, 0))) for p in (self, other)]
        return Trajectory(np.concatenate([self.breaks, self.duration + other.breaks[1:]]), np.concatenate(parts))

    def sample(self, rate: float) -> Samples:
        """Return the motion every 1/rate seconds (rate [Hz]), from 0 to the first instant at or after the end."""
        rate = positive(rate, "rate", "Hz")
        t = np.arange(int(np.ceil(self.duration * rate - 1e-9)) + 1) / rate
        if t[-1] > self.duration and t[-1] - self.duration < 1e-9 / rate:
            t[-1] = self.duration  # the same instant up to rounding: the motion still counts
        return Samples(t, *self.evaluate(t))


@names_culprit
def hold(q: ArrayLike, duration: float) -> Trajectory:
    """Return the motion that stays at q (n,) for `duration` seconds.

    >>> hold([0.1, 0.2], 1.0).evaluate(0.5).qd
    array([0., 0.])
    """
    return Trajectory(np.array([0.0, positive(duration, "duration")]), joint_vector(q, "q")[None, None, :])
