# SPDX-License-Identifier: Apache-2.0
"""Whether torques of an earlier moment grew into those that were isolated as those of one contact do.

A contact on a link that five joints carry is five unknowns, two of place and three of force, for five torques: nothing
is left that could tell one contact from two. A second moment tells more. The force of one contact grows where it is and
as it leans, so its torques keep their ratios,

    τ_earlier = s τ + J_cᵀ δ + noise,    δ ~ N(0, (LEAN_CHANGE s |f|)²)

with a share s of the force f and a little change of its direction. Two contacts grow as each of them pleases. So a
claim is withdrawn where the earlier torques have a large χ² against that for every s (`grown_as_one`). Two contacts
whose forces keep their ratio are not told apart, and one that begins to slide may lose its claim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.isolation.contact_evidence import checked, whitening
from armwright.contact.isolation.isolate import Isolation
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

CLAIMED = ("link", "located")
REASON = "more than one contact, or no point force"
LEAN_CHANGE = (
    0.05  # of the force: how much of it may turn while it grows; a face is as steep at one depth as at another
)
SHARES = np.linspace(0.0, 1.5, 61)  # of the force, that the earlier moment may have


def grown_as_one(
    found: Isolation,
    robot: Robot,
    q: ArrayLike,
    tau_ext: ArrayLike,
    earlier: ArrayLike,
    noise: ArrayLike,
    *,
    single: float = 0.05,
) -> Isolation:
    """Return an isolation, its claim withdrawn ("several") if torques of an earlier moment did not grow into it.

    Args:
        found: by `isolate` from `tau_ext`, of the moment at which the contact was loudest.
        robot: the arm.
        q: joint coordinates (n,) of both moments: the arm hardly moved between them.
        tau_ext: external joint torque (n,) that was isolated [N m].
        earlier: the same (n,) of an earlier moment, while the force still grew [N m].
        noise: of either estimate, as in `isolate`.
        single: probability at which a single contact may pass for several.

    Returns:
        `found` itself, or one with outcome "several" and a reason.

    >>> grown_as_one(isolate(robot, q, tau_ext, 0.5), robot, q, tau_ext, 0.5 * tau_ext, 0.5).outcome
    """
    from scipy.special import chdtri

    if not 0.0 < single < 1.0:
        raise InputError(f"grown_as_one: need 0 < single < 1, got {single}")
    _, tau, S = checked(robot, q, tau_ext, noise)
    _, before, _ = checked(robot, q, earlier, noise)
    if found.outcome not in CLAIMED or found.patches is None or found.point is None or found.force is None:
        return found
    misfit = growth_misfit(found, tau, before, S)
    if misfit <= float(chdtri(max(robot.n - 1, 1), single)):
        return found
    said = f"{REASON}: the torques did not grow together (χ² {misfit:.1f})"
    return replace(found, outcome="several", reason=said)


def growth_misfit(found: Isolation, tau: Array, earlier: Array, S: Array) -> float:
    """Return the least χ² of earlier torques (n,) against a share of the later ones; S (n, n) is the noise of each."""
    patches = found.patches
    assert patches is not None
    assert found.point is not None
    assert found.force is not None
    J = patches.jacobian[int(np.argmin(np.linalg.norm(patches.points - found.point, axis=1)))]
    turns = (LEAN_CHANGE * float(np.linalg.norm(found.force))) ** 2 * (J.T @ J)
    least = np.inf
    for s in SHARES.tolist():
        W = whitening((1.0 + s * s) * S + s * s * turns)
        assert W is not None
        least = min(least, float(np.sum((W @ (earlier - s * tau)) ** 2)))
    return least
