# SPDX-License-Identifier: Apache-2.0
"""Base parameters: which combinations of the parameters the joint torques can show at all (numerical, by QR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """Result of `find_base`: tau = Y[:, independent] @ (regrouping @ π).

    Attributes:
        rank: number of base parameters.
        independent: columns of the regressor that were kept, ascending (rank,).
        regrouping: (rank, len(π)): base parameters are ``regrouping @ π``; the kept columns form an identity in it.
        condition: condition number of the kept columns, each scaled to unit norm.
        names: of the kept parameters.
    """

    rank: int
    independent: NDArray[np.intp]
    regrouping: Array
    condition: float
    names: tuple[str, ...]


def find_base(Y: Array, names: list[str], *, tolerance: float = 1e-9) -> BaseParameters:
    """Reduce a stacked regressor Y (samples, parameters) to independent columns.

    QR with column pivoting on columns scaled to unit norm; a column counts as dependent when its pivot is below
    `tolerance` times the largest. The dependent columns are then expressed by the kept ones, which regroups them.
    """
    from scipy.linalg import qr, solve_triangular  # imported here: half a second that few calls need

    if Y.ndim != 2 or Y.shape[0] < Y.shape[1]:
        raise InputError(f"base parameters: need at least as many rows as parameters, got shape {Y.shape}")
    norm = np.linalg.norm(Y, axis=0)
    seen = norm > tolerance * max(float(norm.max(initial=0.0)), 1e-300)
    scale = np.where(seen, norm, 1.0)
    _, R, order = qr(np.where(seen, Y / scale, 0.0), mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.sum(pivots > tolerance * max(float(pivots.max(initial=0.0)), 1e-300)))
    kept, rest = order[:rank], order[rank:]
    regrouping = np.zeros((rank, Y.shape[1]))
    regrouping[np.arange(rank), kept] = 1.0
    if rank and len(rest):
        combination = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        combination = combination * scale[rest] / scale[kept][:, None]
        combination[np.abs(combination) < 1e-12] = 0.0
        regrouping[:, rest] = combination
    ascending = np.argsort(kept)
    singular = np.linalg.svd(R[:rank, :rank], compute_uv=False) if rank else np.ones(1)
    return BaseParameters(
        rank=rank,
        independent=np.asarray(kept[ascending], dtype=np.intp),
        regrouping=regrouping[ascending],
        condition=float(singular[0] / singular[-1]),
        names=tuple(names[k] for k in kept[ascending]),
    )
