# SPDX-License-Identifier: Apache-2.0
"""Friction anew, bodies as they are: for an arm whose gears have warmed up, or aged, since it was identified.

An option, not a default: where friction has really moved it helps, elsewhere a few seconds of log say less than the
logs of the fit did.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.accumulate import accumulate
from armwright.identify.checks import check_log
from armwright.identify.friction import GearFriction
from armwright.identify.identified import Identified
from armwright.identify.log import Log
from armwright.identify.prepare import prepare
from armwright.identify.structure import structure

LEAST_ROWS = 200
"""Moving samples (two seconds) from which a joint's friction is fitted anew."""
APART = 0.02
"""Smallest against largest eigenvalue of the three scaled columns from which they are told apart."""
REFITTED = (0, 2, 4)
"""Viscous, Coulomb and offset; a short log does not show the others."""


@names_culprit
def refit_friction(
    identified: Identified, log: Log, *, seconds: float | None = None, rate: float = 100.0, cutoff: float | None = 8.0
) -> Identified:
    """Return the model with viscous, Coulomb and offset terms fitted to a log without payload and contact.

    Args:
        identified: the model; everything else of it stays.
        log: of which the joints that move for two seconds or more are taken.
        seconds: use only the beginning.
        rate: of the even samples [Hz].
        cutoff: of the low-pass [Hz], None without.
    """
    check_log(log, identified.robot)
    part = log if seconds is None else log.rows(log.t <= log.t[0] + seconds)
    model = structure(identified.robot)
    gram = accumulate(prepare(part, rate=rate, cutoff=cutoff), model, identified.beta, dahl=identified.friction.dahl)
    v = identified.vectors()
    columns = [model.rank + k for k in REFITTED]
    coefficients = identified.friction.coefficients.copy()
    done = []
    for j, joint in enumerate(identified.robot.joints):
        G = gram.matrices[j]
        scale = np.sqrt(np.maximum(np.diag(G)[columns], 1e-300))
        spread = np.linalg.eigvalsh(G[np.ix_(columns, columns)] / np.outer(scale, scale))
        if gram.rows[j] < LEAST_ROWS or spread[0] < APART * spread[-1]:
            continue  # in one direction at one speed, all three look alike
        known = v[j].copy()
        known[columns] = 0.0
        found = np.linalg.lstsq(G[np.ix_(columns, columns)], -(G[columns] @ known), rcond=1e-10)[0]
        found = found * identified.gains[j]
        if found[1] >= 0.0:
            coefficients[j, list(REFITTED)] = found
            done.append(joint.name)
    if not done:
        raise InputError(f"refit_friction: no joint moves for {LEAST_ROWS / rate:g} s, to and fro, in log {log.name!r}")
    remark = f"viscous, Coulomb and offset terms of {', '.join(done)} fitted anew to {log.name}"
    friction = GearFriction(coefficients, identified.friction.dahl)
    return replace(identified, friction=friction, remarks=(*identified.remarks, remark))
