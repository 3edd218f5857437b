# SPDX-License-Identifier: Apache-2.0
"""External torque and wrench by the direct method of 004: measured minus modelled torque, offline, no observer.

The thesis writes F = J⁻ᵀ(k i + b − τ_μ [− τ_fr]) (6.8, 6.9), what the **arm** exerts; here, as everywhere in this
library, it is what the **world** does to the arm, the negative of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.wrench_estimate import tool_wrench
from armwright.identify.accumulate import chunks
from armwright.identify.checks import check_log
from armwright.identify.friction import TERMS
from armwright.identify.identified import Identified, PayloadEstimate, payload_parameters
from armwright.identify.log import Log
from armwright.identify.observe import Residual
from armwright.identify.prepare import prepare
from armwright.identify.structure import structure
from armwright.identify.touch import WELL_SEEN
from armwright.kinematics import condition_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


@names_culprit
def direct_residuals(
    identified: Identified,
    log: Log,
    *,
    friction: bool = True,
    payload: PayloadEstimate | ArrayLike | None = None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
) -> Residual:
    """External torque of a log from its accelerations (004 eq. 6.9), filtered without delay.

    Args:
        identified: the model.
        log: as read.
        friction: False leaves friction in the estimate (004 eq. 6.8; the offset is taken off in both).
        payload: what the tool carries: a `PayloadEstimate` or its (10,) parameters.
        rate: of the even samples [Hz].
        cutoff: of the low-pass [Hz], None without.
    """
    check_log(log, identified.robot)
    prepared = prepare(log, rate=rate, cutoff=cutoff)
    model = structure(identified.robot)
    beta = identified.beta if payload is None else identified.beta + model.loads @ payload_parameters(payload)
    v = identified.vectors(beta)
    if not friction:
        v[:, model.rank : model.rank + len(TERMS) - 1] = 0.0
    parts = [
        (part.t, identified.gains * np.einsum("tjm,jm->tj", part.columns, v), part.moving)
        for part in chunks(prepared, model, beta, dahl=identified.friction.dahl)
    ]
    q = np.concatenate([piece.q for piece in prepared.pieces])
    t, tau, moving = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Residual(t, tau, q, moving)


@dataclass(frozen=True, eq=False)
class Wrenches:
    """Wrenches at the tool along a log, K instants.

    Attributes:
        t: (K,). wrench: (K, 6) [f; n] that the world exerts, base axes, at the tool's origin.
        condition: (K,) of the Jacobian. valid: (K,) False near singularities: do not use the wrench there.
    """

    t: Array
    wrench: Array
    condition: Array
    valid: Any


@names_culprit
def tool_wrenches(identified: Identified, felt: Residual, *, force_only: bool = False) -> Wrenches:
    """Read external torques as wrenches at the tool: J⁻ᵀ tau_ext, where the Jacobian allows it.

    Args:
        identified: the model.
        felt: of `residuals` or `direct_residuals`.
        force_only: take the moment for zero.
    """
    found = tool_wrench(identified.robot, felt.q, felt.tau_ext, force_only=force_only)
    condition = np.asarray(condition_number(identified.robot, felt.q))
    return Wrenches(felt.t, found.wrench, condition, condition < WELL_SEEN)
