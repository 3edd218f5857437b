# SPDX-License-Identifier: Apache-2.0
"""Proved bounds of an arm's inertia and gravity over a box of joint coordinates, by branch and bound.

Sampling and grids (003 Q14, Q16) prove nothing. Here a value is first found by search, then the claim "nothing in
the box goes beyond it by more than the tolerance" is proved: `divide` discards the boxes that provably hold nothing
beyond the threshold and halves the others. A `Certificate` says what was proved. What is proved on a box:

* *eigenvalues*. On a box with centre c and half-widths h, M(q) = M(c) + Σ_i ∂M/∂q_i(ξ) δ_i with |δ_i| ≤ h_i and ξ in
  the box (mean value theorem, entry by entry). In the eigenvectors V of M(c), VᵀM(q)V = Λ + E with |E| ≤ R, where
  R = Σ_i |Vᵀ [∂M/∂q_i] V| h_i comes from interval arithmetic. M(q) > s for the whole box if Λ > s and the matrix
  S R S with S = (Λ − s)^-½ has spectral radius below 1, which (S R S x)_k < x_k for one positive x proves
  (Collatz and Wielandt). Couplings to distant eigenvalues thus count in second order only.
* *gravity*. |g_i(q)| ≤ |g_i(c)| + Σ_j sup|∂g_i/∂q_j| h_j.

Coordinates that the derivatives do not contain (q1 and q6 of the CEA arm) are found in the graph and not divided.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armwright.arguments import names_culprit
from armwright.dynamics.crba import crba
from armwright.dynamics.interval import Enclosure, rounding_bound
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError, NotSupportedError
from armwright.graph.derive import derivative_matrix
from armwright.graph.kernel import make_kernel
from armwright.graph.traced_program import TracedProgram, trace
from armwright.robot.kernels import as_robot, refuse_symbols
from armwright.robot.tree import tree_of
from armwright.types import Array

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """A bound of a quantity over a box of joint coordinates, proved.

    Attributes:
        what: the quantity, e.g. "largest eigenvalue of M(q)".
        attained: the most extreme value found, at the configuration `q` (n,) inside the box.
        proved: no configuration of the box goes beyond this value.
        boxes: number of boxes examined.
        depends: (n,) which coordinates the quantity depends on; the others were not divided.
        seconds: how long the proof took.
    """

    what: str
    attained: float
    proved: float
    q: NDArray[np.float64]
    boxes: int
    depends: NDArray[np.bool_]
    seconds: float

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval that holds the true extreme value: from attained to proved, the lower end first."""
        return min(self.attained, self.proved), max(self.attained, self.proved)

    @property
    def gap(self) -> float:
        """Relative distance between what is proved and what is attained."""
        return abs(self.proved - self.attained) / abs(self.attained)

    def __str__(self) -> str:
        """One sentence for a person."""
        return (
            f"{self.what}: {self.attained:.6f} attained, {self.proved:.6f} proved "
            f"(gap {self.gap:.1e}, {self.boxes} boxes, {self.seconds:.1f} s)"
        )


BOXES_AT_ONCE = 16_384


class Tested(NamedTuple):
    """Per box (N,): whether it is proved free, which coordinate to halve, and the quantity at its centre."""

    free: NDArray[np.bool_]
    axis: NDArray[np.int64]
    value: Array


def divide(
    lower: Array, upper: Array, test: Callable[[Array, Array], Tested], beyond: Callable[[Array], bool], *, most: int
) -> tuple[int, Array | None]:
    """Examine boxes depth first until all are free.

    Args:
        lower: (n,) corner of the domain.
        upper: (n,) the other corner.
        test: function of centres and half-widths (N, n) of boxes.
        beyond: whether the values (N,) at the centres hold one that refutes the threshold.
        most: boxes to examine before giving up.

    Returns:
        The number of boxes examined, and None if all are free, or the centre that refutes the threshold.
    """
    centre, half = 0.5 * (upper + lower)[None], 0.5 * (upper - lower)[None]
    stack = [(centre, half)]
    seen = 0
    while stack:
        c, h = stack.pop()
        if len(c) > BOXES_AT_ONCE:
            stack.append((c[BOXES_AT_ONCE:], h[BOXES_AT_ONCE:]))
            c, h = c[:BOXES_AT_ONCE], h[:BOXES_AT_ONCE]
        seen += len(c)
        if seen > most:
            raise NotSupportedError(f"the bound was not proved with {most} boxes; ask for a larger tolerance")
        found = test(c, h)
        if beyond(found.value):
            return seen, c[_extreme(found.value, beyond)]
        left = np.flatnonzero(~found.free)
        if not left.size:
            continue
        rows, axis = np.arange(left.size), found.axis[left]
        c, h = c[left], h[left].copy()
        h[rows, axis] *= 0.5
        step = np.zeros_like(h)
        step[rows, axis] = h[rows, axis]
        stack.append((np.concatenate([c - step, c + step]), np.concatenate([h, h])))
    return seen, None


def _extreme(values: Array, beyond: Callable[[Array], bool]) -> int:
    """Index of the value that refutes the threshold most: the largest or the smallest."""
    high, low = int(np.argmax(values)), int(np.argmin(values))
    return high if beyond(values[high : high + 1]) else low


NORMS = {1: "1-norm", 2: "2-norm", np.inf: "largest entry"}
RANDOM_STATES = 4096
MOST_BOXES = 20_000_000
EIGEN_SLACK = 1e-12  # relative: eigenvectors in double precision are orthogonal to about 1e-15


class _Quantity:
    """A matrix or vector of q with its derivative, ready for points and for boxes."""

    def __init__(self, robot: Robot, function: Callable[[Tree, Traced], Traced], largest: float) -> None:
        tree = tree_of(robot, regroup=True)

        def value_and_slope(q: Traced) -> tuple[Traced, Traced]:
            value = function(tree, q)
            return value, derivative_matrix(value, q, mode="forward")

        def slope(q: Traced) -> Traced:
            return derivative_matrix(function(tree, q), q, mode="forward")

        shape = {"q": (robot.n,)}
        both = trace(value_and_slope, shape)
        self.at = make_kernel(both)
        # rounding of a value at a point, every entry together
        self.slack = float(rounding_bound(both, largest)[: both.outputs[0].size].sum())
        program: TracedProgram = trace(slope, shape)
        self.slopes = Enclosure(program, largest)
        self.shape = program.outputs[0].shape
        self.depends = np.asarray(self.slopes.depends.reshape(-1, robot.n).any(axis=0))

    def over(self, c: Array, h: Array) -> tuple[Array, Array]:
        """Centres and radii (N, …, n) of the derivative over boxes."""
        mid, rad = self.slopes(c - h, c + h)
        return mid.reshape(len(c), *self.shape), rad.reshape(len(c), *self.shape)


class MassMatrixBounds(NamedTuple):
    """Proved bounds of the eigenvalues of M(q) over a box: smallest ≤ eigenvalues ≤ largest (μ1 and μ2 of 003, Q14)."""

    smallest: Certificate
    largest: Certificate


@names_culprit
def mass_matrix_bounds(
    robot: Robot | Tree,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    *,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> MassMatrixBounds:
    """Prove bounds of the inertia: μ1 ≤ every eigenvalue of M(q) ≤ μ2 for every q in a box (003, Q14).

    Eigenvalues of M(q), rotors included, have the unit kg m² for revolute and kg for prismatic joints.

    Args:
        robot: the arm.
        lower: (n,) corner of the box [rad or m]; the joint limits by default, ±π for revolute joints without limits.
        upper: (n,) the other corner.
        tolerance: relative width of the interval between what is attained and what is proved, 1e-9 to 1.
        seed: seed of the search for the extreme values; the proof does not depend on it.

    Returns:
        Certificates of the smallest and of the largest eigenvalue, each with the value attained and where, and the
        value that no configuration of the box goes beyond.

    Raises:
        InputError: a box that is empty or not finite, or a tolerance that cannot be proved.
        NotSupportedError: the proof needs more boxes than are affordable.

    >>> mass_matrix_bounds(aw.load("planar2"), tolerance=1e-2)
    """
    robot = as_robot(robot, "mass_matrix_bounds")
    box = _box(robot, lower, upper, tolerance, "mass_matrix_bounds")
    inertia = _Quantity(robot, crba, box.largest)
    return MassMatrixBounds(
        _certificate("smallest eigenvalue of M(q)", _Eigenvalue(inertia, -1.0), box, tolerance, seed),
        _certificate("largest eigenvalue of M(q)", _Eigenvalue(inertia, 1.0), box, tolerance, seed),
    )


@names_culprit
def gravity_bound(
    robot: Robot | Tree,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    *,
    norm: float = 1,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> Certificate:
    """Prove a bound of the gravity torque: ‖g(q)‖ ≤ g_b [N m or N] for every q in a box (003, Q16).

    Args:
        robot: the arm.
        lower: (n,) corner of the box [rad or m]; the joint limits by default, ±π for revolute joints without limits.
        upper: (n,) the other corner.
        norm: 1, 2 or inf.
        tolerance: relative width of the interval between what is attained and what is proved, 1e-9 to 1.
        seed: seed of the search for the extreme value; the proof does not depend on it.

    Returns:
        The certificate: value attained and where, and the value that no configuration of the box goes beyond.

    Raises:
        InputError: a box that is empty or not finite, a norm or a tolerance that cannot be proved.
        NotSupportedError: the proof needs more boxes than are affordable.

    >>> gravity_bound(aw.load("planar2"), tolerance=1e-2).proved  # [N m]
    """
    if norm not in NORMS:
        raise InputError(f"gravity_bound: norm must be 1, 2 or inf, got {norm}")
    robot = as_robot(robot, "gravity_bound")
    box = _box(robot, lower, upper, tolerance, "gravity_bound")
    problem = _Norm(_Quantity(robot, gravity_torque, box.largest), norm)
    return _certificate(f"{NORMS[norm]} of g(q)", problem, box, tolerance, seed)


class _Box(NamedTuple):
    low: Array
    high: Array

    @property
    def largest(self) -> float:
        """Largest coordinate of the box."""
        return float(np.abs([self.low, self.high]).max())


def _box(robot: Robot, lower: ArrayLike | None, upper: ArrayLike | None, tolerance: float, what: str) -> _Box:
    """Return the box of the proof: the given corners or the joint limits; a turn where a revolute joint has none."""
    refuse_symbols(what, "it searches a box of configurations; call it before, with numbers", lower, upper)
    if not 1e-9 <= tolerance < 1.0:
        raise InputError(f"{what}: tolerance must lie in 1e-9…1, got {tolerance}")
    plain = len(robot.bodies) == robot.n  # a joint that others mimic may have another period
    turns = np.array([plain and joint.kind == "revolute" for joint in robot.joints])
    low = np.where(turns & np.isinf(robot.lower), -np.pi, robot.lower) if lower is None else np.asarray(lower, float)
    high = np.where(turns & np.isinf(robot.upper), np.pi, robot.upper) if upper is None else np.asarray(upper, float)
    if low.shape != (robot.n,) or high.shape != (robot.n,) or not np.isfinite([low, high]).all() or (low > high).any():
        raise InputError(
            f"{what}: lower ≤ upper must be finite, of shape ({robot.n},); give both where a joint has no limits"
        )
    return _Box(low, high)


def _certificate(label: str, problem: _Eigenvalue | _Norm, box: _Box, tolerance: float, seed: int) -> Certificate:
    """Search for the extreme value, then prove it or start again from the better one that the proof found."""
    start = time.perf_counter()
    depends = problem.quantity.depends
    # undivided coordinates do not matter: keep them at the middle of their range
    middle = 0.5 * (box.low + box.high)
    low, high = np.where(depends, box.low, middle), np.where(depends, box.high, middle)
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
    return Certificate(label, sign * best, sign * threshold, q, boxes, depends, time.perf_counter() - start)


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
    """Return the best of random points, corners and middles after climbing from the best few."""
    rng = np.random.default_rng(seed)
    inside = rng.random((RANDOM_STATES, low.size))
    fractions = np.concatenate([inside, rng.integers(0, 3, (RANDOM_STATES, low.size)) / 2.0])
    points = low + (high - low) * fractions
    values, _ = problem.value(points)
    found = [_climb(problem, points[k], low, high) for k in np.argsort(values)[-6:]]
    return max(found, key=lambda pair: pair[0])


def _climb(problem: _Eigenvalue | _Norm, q: Array, low: Array, high: Array) -> tuple[float, Array]:
    """Find a local maximum by projected quasi-Newton steps; never worse than the start."""
    from scipy.optimize import minimize

    def descend(x: Array) -> tuple[float, Array]:
        value, slope = problem.value(x)
        return -float(value), -slope

    value = float(problem.value(q)[0])
    done = minimize(descend, q, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)))
    x = np.clip(done.x, low, high)
    climbed = float(problem.value(x)[0])
    return (climbed, x) if climbed >= value else (value, q)


__all__ = ["Certificate", "Enclosure", "MassMatrixBounds", "gravity_bound", "mass_matrix_bounds", "rounding_bound"]
