# SPDX-License-Identifier: Apache-2.0
"""The policy that comes with an optimal motion (`armwright.motion.optimal_motion`), as a law of any tick rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.law import Law
from armwright.dynamics.public import gravity_torque
from armwright.errors import InputError, NotSupportedError
from armwright.motion.optimal_motion import OptimalMotion

if TYPE_CHECKING:
    from armwright.motion.trajectory import Reference
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced

MOST_POLICY_NODES = 200  # the law holds all of them as straight-line code


@names_culprit
def optimal_feedback(motion: OptimalMotion) -> Law:
    """Optimal feedback: tau = u_k + K_k ([q; q̇] − [q_d; q̇_d]) with the node k of the time t; afterwards gravity holds.

    Claim: to first order around the motion no other torque costs less, and the cost of what remains of the motion falls
    with every node; of states far away nothing is said. The reference of the simulation is `motion.trajectory`. After
    the last node: tau = g(q_d) + K_(N−1) (…).

    Args:
        motion: what `optimal_motion` found for an arm whose state is [q, q̇].

    >>> run = aw.simulate(robot, optimal_feedback(motion), motion.trajectory)
    """
    if not isinstance(motion, OptimalMotion):
        raise InputError(f"optimal_feedback: expected what optimal_motion returned, got {type(motion).__name__}")
    if motion.x.shape[1] != 2 * motion.n:
        raise NotSupportedError("optimal_feedback: states of drives or friction are not measured; plan without them")
    if len(motion.u) > MOST_POLICY_NODES:
        raise NotSupportedError(
            f"optimal_feedback: at most {MOST_POLICY_NODES} nodes, got {len(motion.u)}; plan with a longer period"
        )
    u, K, period, n = motion.u, motion.K, motion.period, motion.n

    def policy(arm: Tree, t: Scalar, q: Traced, qd: Traced, ref: Reference) -> Traced:
        away = np.concatenate([q - ref.q, qd - ref.qd])
        held: Any = list(u[0])
        gains: Any = [list(row) for row in K[0]]
        for k in range(1, len(u)):
            later = t >= period * (k - 1e-6)  # the clock of a loop may be a rounding early
            held = [np.where(later, u[k, i], held[i]) for i in range(n)]
            gains = [[np.where(later, K[k, i, j], gains[i][j]) for j in range(2 * n)] for i in range(n)]
        still = gravity_torque(arm, ref.q)
        over = t >= period * (len(u) - 1e-6)
        held = np.array([np.where(over, still[i], held[i]) for i in range(n)])
        return held + np.array(gains) @ away

    return Law("optimal feedback", policy, doc=optimal_feedback.__doc__ or "")
