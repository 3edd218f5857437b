# SPDX-License-Identifier: Apache-2.0
"""When the network settles: eigenvalues of its links, the bounds on β, and its Lyapunov function (000 §3.9, §4.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.planning.grid.grid import grid_shape
from armwright.planning.grid.neighbourhood import Neighbourhood, neighbourhood

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


DENSE = 600  # cells up to which a general neighbourhood's eigenvalues come from a dense solver


@dataclass(frozen=True, slots=True)
class Stability:
    """Eigenvalues of the link matrix T and what they ask of β.

    Attributes:
        lambda_min, lambda_max: extreme eigenvalues of T on the empty grid. Obstacles and the goal only remove rows and
            columns, which moves both towards zero (interlacing), so the bounds hold for every map on this grid.
        beta_convergence: 1/|lambda_min|: below it every synchronous sweep lowers the Lyapunov function.
        beta_unique: 1/lambda_max: below it the fixed point is unique.
        beta_bound: the smaller of both.
    """

    lambda_min: float
    lambda_max: float

    @property
    def beta_convergence(self) -> float:
        """Bound for convergence of synchronous sweeps."""
        return 1.0 / abs(self.lambda_min) if self.lambda_min < 0.0 else float("inf")

    @property
    def beta_unique(self) -> float:
        """Bound for a unique fixed point."""
        return 1.0 / self.lambda_max if self.lambda_max > 0.0 else float("inf")

    @property
    def beta_bound(self) -> float:
        """β must be smaller than this."""
        return min(self.beta_convergence, self.beta_unique)

    def holds(self, beta: float) -> bool:
        """Whether the network with slope β converges to its only fixed point."""
        return 0.0 < beta < self.beta_bound


@names_culprit
def stability(
    shape: tuple[int, ...], hood: Neighbourhood | str | ArrayLike = "von_neumann", *, self_link: bool = False
) -> Stability:
    """Return the extreme eigenvalues of T on a grid and the bounds on β (C16 of 000).

    000 takes λ ≈ 3.0 for 20×20; the true values are ±3.955 without self-links (as its code has it), −2.955 … 4.955 with
    them (as its equation has it): 3.0 is about |λ_min| of the latter, while uniqueness needs λ_max.

    Args:
        shape: of the grid.
        hood: the links.
        self_link: also link every cell with itself (adds 1 to every eigenvalue).

    Closed form for straight and full neighbourhoods (a path graph of n cells has 2cos(kπ/(n+1))), else numeric.
    """
    sizes = grid_shape(shape)
    links = neighbourhood(hood, len(sizes))
    extra = 1.0 if self_link else 0.0
    paths = [2.0 * np.cos(np.arange(1, n + 1) * np.pi / (n + 1)) for n in sizes]
    if links.name == "von_neumann":
        low, high = sum(float(p[-1]) for p in paths), sum(float(p[0]) for p in paths)
    elif links.name == "moore":
        products = np.ones(1)
        for p in paths:
            # only the extremes of each factor 1 + 2cos can make the extremes of the product
            ends = np.array([(1.0 + p).min(), (1.0 + p).max()])
            products = np.outer(products, ends).reshape(-1)
        low, high = float(products.min()) - 1.0, float(products.max()) - 1.0
    else:
        low, high = _extremes(sizes, links)
    return Stability(low + extra, high + extra)


@names_culprit
def link_matrix(shape: tuple[int, ...], hood: Neighbourhood | str | ArrayLike = "von_neumann") -> Any:
    """Return T as a sparse matrix (N, N): 1 where cells are linked."""
    from scipy import sparse

    sizes = grid_shape(shape)
    links = neighbourhood(hood, len(sizes))
    cells = np.indices(sizes).reshape(len(sizes), -1)
    number = np.arange(cells.shape[1]).reshape(sizes)
    rows, columns = [], []
    for offset in links.offsets:
        other = cells + offset[:, None]
        good = ((other >= 0) & (other < np.array(sizes)[:, None])).all(axis=0)
        rows.append(np.flatnonzero(good))
        columns.append(number[tuple(other[:, good])])
    i, j = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_matrix((np.ones(i.size), (i, j)), shape=(number.size, number.size))


def _extremes(shape: tuple[int, ...], links: Neighbourhood) -> tuple[float, float]:
    T = link_matrix(shape, links)
    if T.shape[0] <= DENSE:
        values = np.linalg.eigvalsh(T.toarray())
        return float(values[0]), float(values[-1])
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).random(T.shape[0])  # reproducible
    low, high = (float(eigsh(T, k=1, which=w, return_eigenvectors=False, v0=start)[0]) for w in ("SA", "LA"))
    return low, high


@names_culprit
def lyapunov(
    sigma: ArrayLike, inputs: ArrayLike, beta: float, hood: Neighbourhood | str | ArrayLike = "von_neumann"
) -> float:
    """Return L = −½ Σ T_ij σ_i σ_j − Σ I_i σ_i + Σ G(σ_i), G(σ) = ∫₀^σ g⁻¹ = σ²/(2β) (000 §3.9, sign corrected).

    Args:
        sigma: activities, shape of the grid.
        inputs: I, the same shape.
        beta: slope of g.
        hood: the links T.
    """
    s, I = np.asarray(sigma, dtype=np.float64), np.asarray(inputs, dtype=np.float64)  # noqa: E741 - 000's symbol
    if s.shape != I.shape or not beta > 0.0:
        raise InputError(f"lyapunov: sigma {s.shape} and inputs {I.shape} must agree, and beta be > 0, got {beta!r}")
    flat = s.reshape(-1)
    T = link_matrix(s.shape, hood)
    return float(-0.5 * flat @ (T @ flat) - (I * s).sum() + (s * s).sum() / (2.0 * beta))
