# SPDX-License-Identifier: Apache-2.0
"""Gains of an inverse-dynamics PD controller from tracking errors, and whether they can be known at all (004 eq. 2.83).

Under feedback linearisation every joint's error obeys ë + k₁ ė + k₀ e = 0, whatever the dynamics. What the data show of
k₀, k₁ is how an error decays; once it has, they show nothing, and the least-squares cost is flat along k₁ ≈ k₀ + c.
So the initial error and rate are estimated too, residuals are weighted by their noise, and a gain whose two-deviation
interval is wider than ±50 %, or that ends at a bound, is called undetermined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.identified import Estimate
from armwright.identify.least_squares import WIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from armwright.types import Array

BOUNDS = (0.1, 1e4)
STARTS = ((5.0, 5.0), (50.0, 50.0), (20.0, 80.0), (100.0, 20.0))
ADVICE = (
    "undetermined: tracking data do not excite the error dynamics; repeat with an initial error or disturbance of "
    "0.01 rad or more"
)


@dataclass(frozen=True, eq=False)
class PdGains:
    """Gains of one joint.

    Attributes:
        k0, k1: estimates [1/s², 1/s]; without value where undetermined.
        verdict: "determined", or why not.
        ends: for every start (k0, k1): where the fit ended, and its cost relative to the best.
        grid: (m,) gains of the profile [1/s² or 1/s].
        profile: (m, m) cost over (k0, k1) on the grid, relative to its minimum; flat directions show here.
    """

    k0: Estimate
    k1: Estimate
    verdict: str
    ends: tuple[tuple[tuple[float, float], tuple[float, float], float], ...]
    grid: Array
    profile: Array


@names_culprit
def pd_gains(
    t: ArrayLike,
    error: ArrayLike,
    rate: ArrayLike,
    *,
    noise: tuple[float, float] | None = None,
    starts: Sequence[tuple[float, float]] = STARTS,
    bounds: tuple[float, float] = BOUNDS,
    block: float = 1.0,
) -> PdGains:
    """Estimate k₀, k₁ of one joint from its tracking error e = q − q^d and rate ė.

    Args:
        t: (T,) [s], evenly spaced.
        error: (T,) [rad].
        rate: (T,) [rad/s].
        noise: deviations of both; by default from the last quarter, where an initial error has decayed.
        starts: of the optimiser.
        bounds: of both gains.
        block: length of the blocks for deviations [s].

    Example:
        >>> pd_gains(t, q[:, 0] - q_ref[:, 0], qd[:, 0] - qd_ref[:, 0]).verdict
    """
    from scipy.optimize import least_squares

    time, e, ed = (np.asarray(x, dtype=np.float64) for x in (t, error, rate))
    if time.ndim != 1 or len(time) < 20 or e.shape != time.shape or ed.shape != time.shape:
        raise InputError(
            f"pd_gains: t, error and rate must be (T,) with T ≥ 20, got {time.shape}, {e.shape}, {ed.shape}"
        )
    if not (0.0 < bounds[0] < bounds[1]) or not starts:
        raise InputError("pd_gains: bounds must be 0 < lower < upper, and at least one start is needed")
    last = slice(3 * len(time) // 4, None)
    sigma = noise or (float(np.std(e[last])), float(np.std(ed[last])))
    if not min(sigma) > 0.0:
        raise InputError("pd_gains: noise must be > 0 for both signals; give noise=(rad, rad/s)")
    data = np.concatenate([e / sigma[0], ed / sigma[1]])
    since = time - time[0]

    def residual(logs: Array) -> Array:
        return _projected(since, np.exp(logs), sigma, data)[0]

    low, high = np.log(bounds[0]), np.log(bounds[1])
    ends = []
    best = None
    for start in starts:
        x = np.clip(np.log(start), low + 1e-9, high - 1e-9)
        found = least_squares(residual, x, bounds=(low, high), x_scale=1.0)
        ends.append((tuple(float(k) for k in start), tuple(float(k) for k in np.exp(found.x)), 2.0 * float(found.cost)))
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    spread = _deviations(residual, best.x, since, block)
    at_bound = np.minimum(best.x - low, high - best.x) < 1e-3
    gains = np.exp(best.x)
    open_ = at_bound | ~(spread <= WIDE)
    values = [None if o else float(k) for k, o in zip(gains, open_, strict=True)]
    sds = [None if o else float(k * s) for k, s, o in zip(gains, spread, open_, strict=True)]
    grid = np.geomspace(max(bounds[0], 1.0), min(bounds[1], 200.0), 25)
    profile = np.array([[np.sum(residual(np.log([a, b])) ** 2) for b in grid] for a in grid])
    least = 2.0 * float(best.cost)
    return PdGains(
        Estimate("k0", values[0], sds[0], "1/s²"),
        Estimate("k1", values[1], sds[1], "1/s"),
        ADVICE if open_.any() else "determined",
        tuple((a, b, cost / least) for a, b, cost in ends),  # type: ignore[misc]
        grid,
        profile / least,
    )


def _response(t: Array, k0: float, k1: float) -> tuple[Array, Array]:
    """Return e and ė (T, 2 each) from initial (1, 0) and (0, 1) of ë + k₁ ė + k₀ e = 0."""
    root = np.sqrt(complex(0.25 * k1 * k1 - k0))
    if abs(root) < 1e-9:
        root = complex(1e-9)
    a, b = -0.5 * k1 + root, -0.5 * k1 - root
    ea, eb = np.exp(a * t), np.exp(b * t)
    unit = (ea - eb) / (a - b)
    value = np.stack([(a * eb - b * ea) / (a - b), unit], axis=1).real
    slope = np.stack([a * b * (eb - ea) / (a - b), (a * ea - b * eb) / (a - b)], axis=1).real
    return value, slope


def _projected(t: Array, gains: Array, sigma: tuple[float, float], data: Array) -> tuple[Array, Array]:
    """Return the weighted residual with the best initial error and rate, and these (2,)."""
    value, slope = _response(t, float(gains[0]), float(gains[1]))
    A = np.concatenate([value / sigma[0], slope / sigma[1]])
    start = np.linalg.lstsq(A, data, rcond=None)[0]
    return data - A @ start, start


def _deviations(residual: object, x: Array, t: Array, block: float) -> Array:
    """Return relative deviations (2,): the larger of the white and the block estimate."""
    r = residual(x)  # type: ignore[operator]
    J = np.stack([(residual(x + d) - residual(x - d)) / 2e-5 for d in 1e-5 * np.eye(2)], axis=1)  # type: ignore[operator]
    H = J.T @ J
    if not np.linalg.cond(H) < 1e12:
        return np.full(2, np.inf)
    inverse = np.linalg.inv(H)
    white = inverse * max(1.0, float(r @ r) / len(r))
    number = np.tile((t / block).astype(int), 2)
    sums = np.stack([np.bincount(number, J[:, k] * r) for k in range(2)], axis=1)
    blocks = inverse @ (sums.T @ sums) @ inverse
    return np.asarray(np.sqrt(np.maximum(np.diag(white), np.diag(blocks))))
