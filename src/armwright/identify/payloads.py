# SPDX-License-Identifier: Apache-2.0
"""`payload`: what the tool carries in a log, weighed by a model that was fitted without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.day_scatter import payload_over_days
from armwright.identify.filtered_log import even_samples
from armwright.identify.finished_fit import payload_estimate
from armwright.identify.gram_matrices import accumulate, scores
from armwright.identify.identifiable import structure
from armwright.identify.identified import Identified, PayloadEstimate
from armwright.identify.log_checks import check_log

if TYPE_CHECKING:
    from armwright.types import Array

PAYLOAD_PASSES = 4
WORST = 1e-6
"""Smallest eigenvalue of the scaled normal matrix that suffices: below, the log does not turn the load enough."""
LEAST_MOTION_SECONDS = 10
"""Seconds with motion; the scatter of fewer says too little: deviations of 5 s of a UR10e are three times too small."""


@names_culprit
def payload(identified: Identified, log: Log, *, rate: float = 100.0, cutoff: float | None = 8.0) -> PayloadEstimate:
    """Weigh the payload of a log: mass, centre of mass and inertia, with block deviations.

    The rest of the model stays as it is; what it gets wrong in this log (such as drifted friction) is taken for load.

    Args:
        identified: a model without payload.
        log: with the payload on; joints must move.
        rate: of the even samples [Hz], see `even_samples`.
        cutoff: of the low-pass [Hz], None without.

    Raises:
        InputError: the log does not move enough to weigh anything.

    Example:
        >>> payload(model, read_log("with_load.csv")).mass  # [kg], with its deviation
    """
    check_log(log, identified.robot)
    prepared = even_samples(log, rate=rate, cutoff=cutoff)
    model = structure(identified.robot)
    L, rank, dahl = model.loads, model.rank, identified.friction.travel
    kappa = 1.0 / identified.gains
    weight = (kappa / identified.sigma) ** 2
    p, inverse = np.zeros(10), np.zeros((10, 10))
    for _ in range(PAYLOAD_PASSES):
        beta = identified.beta + L @ p
        gram = accumulate(prepared, model, beta, dahl=dahl)
        A, b = np.zeros((10, 10)), np.zeros(10)
        v = identified.vectors()
        for j in range(model.robot.n):
            G = gram.matrices[j]
            A += weight[j] * (L.T @ G[:rank, :rank] @ L)
            b -= weight[j] / kappa[j] * (L.T @ (G[:rank] @ v[j]))
        inverse = _inverse(A, log.name)
        new = inverse @ b
        done = np.abs(new - p).max() < 1e-6 * max(1e-3, np.abs(new).max())
        p = new
        if done:
            break
    beta = identified.beta + L @ p
    sums = scores(prepared, model, beta, identified.vectors(beta), dahl=dahl)
    s = np.einsum("bjm,j,mk->bk", sums[..., :rank], weight / kappa, L)
    s = s[np.abs(s).max(axis=1) > 0.0]
    if len(s) < LEAST_MOTION_SECONDS:
        raise InputError(
            f"payload: the joints move in {len(s)} s of log {log.name!r}; at least {LEAST_MOTION_SECONDS} s are needed "
            "to weigh a load and to know how well"
        )
    spread = payload_over_days(p, inverse @ (s.T @ s) @ inverse, gains_known=False)
    return payload_estimate(log.name, p, spread)


def _inverse(A: Array, name: str) -> Array:
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    scaled = A / np.outer(scale, scale)
    if not np.linalg.eigvalsh(scaled)[0] > WORST:
        raise InputError(f"payload: log {name!r} does not turn the load enough to weigh it; move the wrist joints, too")
    return np.asarray(np.linalg.inv(scaled) / np.outer(scale, scale))
