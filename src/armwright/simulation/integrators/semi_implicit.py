"""Semi-implicit Euler: velocity first, position with the new velocity; dry friction that really holds.

Coulomb friction (and stiction) is set-valued at rest, so it is not evaluated but solved for: the friction impulses p = h·τ_f with
|p_i| ≤ h F_i that bring every joint they can to rest, by projected Gauss–Seidel on M v⁺ = M v + h(τ − b) − p.
A joint inside its static friction therefore stays where it is, exactly and for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.spatial import ldl_inverse

if TYPE_CHECKING:
    from armwright.simulation.system import System

SWEEPS = 12  # Gauss–Seidel sweeps; joints couple weakly through M⁻¹, each sweep gains about a digit


def semi_implicit_euler(system: System, t: Any, x: Any, h: Any) -> tuple[Any, Any]:
    """v⁺ = v + h v̇(q, v), q⁺ = q + h v⁺; other states explicitly; dry friction implicitly."""
    n = system.n
    if not system.has_dry_friction:
        xd = system.derivative(t, x)
        qd = x[n : 2 * n] + h * xd[n : 2 * n]
        return np.concatenate([x[:n] + h * qd, qd, x[2 * n :] + h * xd[2 * n :]]), None
    torque, M, rest = system.without_dry_friction(t, x)
    inverse = ldl_inverse(M)
    v = x[n : 2 * n]
    free = list(v + h * (inverse @ torque))
    bound = [h * b for b in system.dry_friction(v)]
    impulse: list[Any] = [0.0] * n
    for _ in range(SWEEPS):
        for i in range(n):
            step = free[i] / inverse[i, i]
            wanted = np.minimum(np.maximum(impulse[i] + step, -bound[i]), bound[i])
            change = wanted - impulse[i]
            impulse[i] = wanted
            free = [free[k] - inverse[k, i] * change for k in range(n)]
    # what friction can hold is at rest exactly, not up to the rounding of the sweeps
    held = [np.where(np.abs(impulse[i]) < bound[i], 0.0, free[i]) for i in range(n)]
    qd = np.array(held)
    return np.concatenate([x[:n] + h * qd, qd, x[2 * n :] + h * rest]), None
