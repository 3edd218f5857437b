# SPDX-License-Identifier: Apache-2.0
"""Proved bounds of an arm's inertia and gravity over a box of joint coordinates.

003 Q14 and Q16 search grids, which prove nothing. Here a value is first found by search, then the claim "nothing in
the box goes beyond it by more than the tolerance" is proved, box by box:

* *eigenvalues*. On a box with centre c and half-widths h, M(q) = M(c) + Σ_i ∂M/∂q_i(ξ) δ_i with |δ_i| ≤ h_i and ξ in
  the box (mean value theorem, entry by entry). In the eigenvectors V of M(c), VᵀM(q)V = Λ + E with |E| ≤ R, where
  R = Σ_i |Vᵀ [∂M/∂q_i] V| h_i comes from interval arithmetic. M(q) > s for the whole box if Λ > s and the matrix
  S R S with S = (Λ − s)^-½ has spectral radius below 1, which (S R S x)_k < x_k for one positive x proves
  (Collatz and Wielandt). Couplings to distant eigenvalues so count in second order only.
* *gravity*. |g_i(q)| ≤ |g_i(c)| + Σ_j sup|∂g_i/∂q_j| h_j.

Coordinates that the derivatives do not contain (q1 and q6 of the CEA arm) are found in the graph and not divided.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from armwright.dynamics.bounds.certificate import Certificate
from armwright.dynamics.bounds.divide import Tested, divide
from armwright.dynamics.bounds.interval import Enclosure
from armwright.dynamics.bounds.rounding import rounding_bound
from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError
from armwright.graph.derive import jacobian
from armwright.graph.kernel import make_kernel
from armwright.graph.program import Program, trace
from armwright.robot.tree import tree_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

What = Literal["smallest inertia", "largest inertia", "gravity"]
NORMS = {1: "1-norm", 2: "2-norm", np.inf: "largest entry"}
SAMPLES = 4096
MOST_BOXES = 20_000_000
EIGEN_SLACK = 1e-12  # relative: eigenvectors in double precision are orthogonal to about 1e-15


class _Quantity:
    """A matrix or vector of q with its derivative, ready for points and for boxes."""

    def __init__(self, robot: Robot, function: Any, largest: float) -> None:
        tree = tree_of(robot, regroup=True)

        def value_and_slope(q: Any) -> Any:
            value = function(tree, q)
            return value, jacobian(value, q, mode="forward")

        def slope(q: Any) -> Any:
            return jacobian(function(tree, q), q, mode="forward")

        shape = {"q": (robot.n,)}
        both = trace(value_and_slope, shape)
        self.at = make_kernel(both)
        # rounding of a value at a point, every entry together
        self.slack = float(rounding_bound(both, largest)[: both.outputs[0].size].sum())
        program: Program = trace(slope, shape)
        self.slopes = Enclosure(program, largest)
        self.shape = program.outputs[0].shape
        self.depends = np.asarray(self.slopes.depends.reshape(-1, robot.n).any(axis=0))

    def over(self, c: Array, h: Array) -> tuple[Array, Array]:
        """Centres and radii (N, …, n) of the derivative over boxes."""
        mid, rad = self.slopes(c - h, c + h)
        return mid.reshape(len(c), *self.shape), rad.reshape(len(c), *self.shape)


def certified_bounds(
    robot: Robot,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    what: What = "largest inertia",
    *,
    norm: float = 1,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> Certificate:
    """Prove a bound of an arm's inertia or gravity over a box of joint coordinates.

    Args:
        robot: the arm.
        lower: (n,) corner of the box [rad or m]; the joint limits by default.
        upper: (n,) the other corner.
        what: "smallest inertia" (least eigenvalue of M(q), mu1 of 003 §4.8), "largest inertia" (mu2) or "gravity"
            (largest norm of g(q), g_b).
        norm: of the gravity torque: 1, 2 or inf.
        tolerance: relative width between what is attained and what is proved.
        seed: of the search for the extreme value.

    Returns:
        The certificate: value attained and where, value proved, number of boxes.
    """
    low = np.asarray(robot.lower if lower is None else lower, dtype=np.float64)
    high = np.asarray(robot.upper if upper is None else upper, dtype=np.float64)
    if low.shape != (robot.n,) or high.shape != (robot.n,) or not np.isfinite([low, high]).all() or (low > high).any():
        raise InputError(f"certified_bounds: lower ≤ upper must be finite, of shape ({robot.n},)")
    if not 1e-9 <= tolerance < 1.0:
        raise InputError(f"certified_bounds: tolerance must lie in 1e-9…1, got {tolerance}")
    if what not in ("smallest inertia", "largest inertia", "gravity"):
        raise InputError(
            f"certified_bounds: what must be 'smallest inertia', 'largest inertia' or 'gravity', got {what!r}"
        )
    if norm not in NORMS:
        raise InputError(f"certified_bounds: norm must be 1, 2 or inf, got {norm}")
    start = time.perf_counter()
    largest = float(np.abs([low, high]).max())
    if what == "gravity":
        quantity = _Quantity(robot, gravity_torque, largest)
        problem: _Eigenvalue | _Norm = _Norm(quantity, norm)
        label = f"{NORMS[norm]} of g(q)"
    else:
        quantity = _Quantity(robot, crba, largest)
        problem = _Eigenvalue(quantity, -1.0 if what == "smallest inertia" else 1.0)
        label = f"{what.split()[0]} eigenvalue of M(q)"
    # undivided coordinates do not matter: keep them at the middle of their range
    middle = 0.5 * (low + high)
    low, high = np.where(quantity.depends, low, middle), np.where(quantity.depends, high, middle)
    best, q = _search(problem, low, high, seed)
    boxes = 0
    while True:
        threshold = best + tolerance * abs(best)
        seen, better = divide(
            low, high, partial(problem.test, s=threshold), partial(_exceed, s=threshold), most=MOST_BOXES
        )
        boxes += seen
        if better is None:
            break
        best, q = _climb(problem, better, low, high)
    sign = problem.sign
    return Certificate(label, sign * best, sign * threshold, q, boxes, quantity.depends, time.perf_counter() - start)


def _exceed(values: Array, s: float) -> bool:
    return bool((values > s).any())


class _Eigenvalue:
    """Largest eigenvalue of sign·M(q)."""

    def __init__(self, quantity: _Quantity, sign: float) -> None:
        self.quantity, self.sign = quantity, sign

    def value(self, q: Array) -> tuple[Array, Array]:
        """Values (N,) and gradients (N, n)."""
        M, G = self.quantity.at(q)
        w, V = np.linalg.eigh(self.sign * M)
        v = V[..., -1]
        return w[..., -1], self.sign * np.einsum("...k,...kli,...l->...i", v, G, v)

    def test(self, c: Array, h: Array, s: float) -> Tested:
        """Prove sign·M(q) < s on boxes."""
        M, _ = self.quantity.at(c)
        w, V = np.linalg.eigh(self.sign * M)
        slack = EIGEN_SLACK * np.abs(w).max(axis=1) + self.quantity.slack
        mid, rad = self.quantity.over(c, h)
        axes = np.flatnonzero(self.quantity.depends)
        VT, size = np.swapaxes(V, 1, 2), np.abs(V)
        room = s - w - slack[:, None]  # Λ − s > 0 with the sign turned
        scale = 1.0 / np.sqrt(np.maximum(room, 1e-30))
        P = np.zeros_like(M)
        share = np.zeros((len(c), self.quantity.shape[-1]))
        for i in axes:
            turned = np.abs(VT @ mid[..., i] @ V) + np.swapaxes(size, 1, 2) @ rad[..., i] @ size
            part = (turned * h[:, i, None, None]) * scale[:, :, None] * scale[:, None, :]
            share[:, i] = np.sqrt(np.sum(part * part, axis=(1, 2)))
            P += part
        P += slack[:, None, None] * scale[:, :, None] * scale[:, None, :]
        x = np.ones((len(c), M.shape[-1]))
        with np.errstate(all="ignore"):
            for _ in range(8):
                y = np.einsum("nij,nj->ni", P, x)
                x = np.maximum(y / y.max(axis=1, keepdims=True), 1e-6)
            radius = (np.einsum("nij,nj->ni", P, x) / x).max(axis=1)
        free = (room > 0.0).all(axis=1) & (radius < 1.0 - 1e-9)
        fallback = np.where(h > 0.0, h, -1.0)
        known = np.isfinite(share).all(axis=1, keepdims=True) & (room > 0.0).all(axis=1, keepdims=True)
        axis = np.argmax(np.where(known, share, fallback), axis=1)
        return Tested(free, axis, w[:, -1])


class _Norm:
    """A norm of a vector of q."""

    sign = 1.0

    def __init__(self, quantity: _Quantity, norm: float) -> None:
        self.quantity, self.norm = quantity, norm

    def _of(self, g: Array) -> Array:
        return np.asarray(np.linalg.norm(g, ord=self.norm, axis=-1))

    def value(self, q: Array) -> tuple[Array, Array]:
        """Values (N,) and subgradients (N, n)."""
        g, G = self.quantity.at(q)
        size = self._of(g)
        if self.norm == 1:
            weight = np.sign(g)
        elif self.norm == 2:
            weight = g / np.maximum(size, 1e-300)[..., None]
        else:
            weight = np.sign(g) * (np.abs(g) == size[..., None])
        return size, np.einsum("...k,...ki->...i", weight, G)

    def test(self, c: Array, h: Array, s: float) -> Tested:
        """Prove ‖g(q)‖ < s on boxes."""
        g, _ = self.quantity.at(c)
        mid, rad = self.quantity.over(c, h)
        part = (np.abs(mid) + rad) * h[:, None, :]
        slack = EIGEN_SLACK * np.abs(g) + self.quantity.slack
        free = self._of(np.abs(g) + part.sum(axis=2) + slack) * (1.0 + EIGEN_SLACK) < s
        return Tested(free, np.argmax(np.where(self.quantity.depends, part.sum(axis=1), -1.0), axis=1), self._of(g))


def _search(problem: _Eigenvalue | _Norm, low: Array, high: Array, seed: int) -> tuple[float, Array]:
    """Best of random points, corners and middles, each of the best few climbed."""
    rng = np.random.default_rng(seed)
    inside = rng.random((SAMPLES, low.size))
    fractions = np.concatenate([inside, rng.integers(0, 3, (SAMPLES, low.size)) / 2.0])
    points = low + (high - low) * fractions
    values, _ = problem.value(points)
    found = [_climb(problem, points[k], low, high) for k in np.argsort(values)[-6:]]
    return max(found, key=lambda pair: pair[0])


def _climb(problem: _Eigenvalue | _Norm, q: Array, low: Array, high: Array) -> tuple[float, Array]:
    """Local maximum by projected quasi-Newton steps; never worse than the start."""
    from scipy.optimize import minimize

    def descend(x: Array) -> tuple[float, Array]:
        value, slope = problem.value(x)
        return -float(value), -slope

    value = float(problem.value(q)[0])
    done = minimize(descend, q, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)))
    x = np.clip(done.x, low, high)
    climbed = float(problem.value(x)[0])
    return (climbed, x) if climbed >= value else (value, q)
