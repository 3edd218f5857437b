# SPDX-License-Identifier: Apache-2.0
"""Steps that cannot be stable: found before the run, with the limit and what would work.

A loop is linearised numerically around its present state: the compiled tick is run on perturbed states. If the largest
factor by which one tick multiplies a small deviation means a growth faster than any arm can fall, the cause is the
step, not the physics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.gains import Linear, hold_radius
from armwright.simulation.integrators import Method

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.types import Traced

IMPLAUSIBLE_RATE = 100.0  # 1/s: an inverted forearm falls with 10 to 30
NEAR_LIMIT = 1.2  # a step this near the linear limit is to blame: contacts and friction are stiffer a little further on


def growth(J: Traced) -> tuple[float, Traced]:
    """Largest eigenvalue modulus of a tick's Jacobian and its eigenvector."""
    if not np.isfinite(J).all():
        return np.inf, np.zeros(len(J))
    values, vectors = np.linalg.eig(J)
    k = int(np.argmax(np.abs(values)))
    return float(np.abs(values[k])), np.abs(vectors[:, k])


def largest_period(linear: Linear) -> float:
    """Longest control period for which the held loop does not grow faster than the continuous one, by bisection [s]."""
    own = max(0.0, float(np.linalg.eigvals(linear.A + linear.B @ linear.K).real.max()))

    def stable(period: float) -> bool:
        return hold_radius(linear, period) <= float(np.exp((own + 1.0) * period))

    return _bisect(stable)


def largest_step(linear: Linear, method: Method) -> float:
    """Longest step of an explicit method for the continuous closed loop [s]."""
    values = np.linalg.eigvals(linear.A + linear.B @ linear.K)
    decaying = values[values.real < 0.0]
    return _bisect(lambda h: all(method.growth(complex(h * z)) <= 1.0 + 1e-9 for z in decaying))


def _bisect(stable: Callable[[float], bool]) -> float:
    low, high = 1e-7, 1.0
    if not stable(low):
        return 0.0
    if stable(high):
        return high
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def linearise(
    derivative: Callable[[Any, Any], Any], law: Callable[[Any], Any], x: Traced, u: Traced, step: float = 1e-6
) -> Linear:
    """A, B, K by central differences of float functions derivative(x, u) and law(x)."""

    def slope(f: Callable[[Any], Any], at: Traced) -> Traced:
        columns = []
        for k in range(len(at)):
            d = step * max(1.0, abs(at[k])) * np.eye(len(at))[k]
            columns.append((f(at + d) - f(at - d)) / (2.0 * d[k]))
        return np.array(columns).T

    return Linear(slope(lambda z: derivative(z, u), x), slope(lambda v: derivative(x, v), u), slope(law, x))


def unstable(linear: Linear) -> bool:
    """Whether the continuous closed loop itself grows faster than an arm can fall: then no step is to blame."""
    return float(np.linalg.eigvals(linear.A + linear.B @ linear.K).real.max()) > IMPLAUSIBLE_RATE


def _fastest(poles: Any) -> str:
    """Write the pole that is farthest from zero; one that swings with its imaginary part."""
    pole = complex(poles[int(np.argmax(np.abs(poles)))])
    return f"{pole.real:.0f}" if abs(pole.imag) < abs(pole.real) else f"{pole.real:.0f} ± {abs(pole.imag):.0f}i"


def explain(linear: Linear, method: Method, *, period: float, step: float, continuous: bool, joint: str) -> str:
    """Say why the loop cannot run as asked and what would."""
    poles = np.linalg.eigvals(linear.A + linear.B @ linear.K)
    growing = float(poles.real.max())
    if not continuous:
        limit = largest_period(linear)
        if limit < period:
            return (
                f"this law held for {period * 1e3:.4g} ms cannot be stable here: the closed loop has a pole at "
                f"{_fastest(poles)} 1/s (joint {joint}); the limit is about {limit * 1e3:.3g} ms "
                f"(rate ≥ {1.0 / max(limit, 1e-9):.0f} 1/s), or let the law act continuously (continuous=True) "
                'with the stiff integrator "rodas3"'
            )
        # the law may be held that long; can the integrator follow the arm, its friction, its drive and its contacts?
        linear = Linear(linear.A, linear.B, 0.0 * linear.K)
        poles = np.linalg.eigvals(linear.A)
    limit = largest_step(linear, method)
    if limit < NEAR_LIMIT * step:
        what = "the closed loop has" if continuous else "arm, friction, drive and contacts have"
        return (
            f"{method.name} with a step of {step * 1e3:.4g} ms cannot be stable here: {what} a pole at "
            f"{_fastest(poles)} 1/s (joint {joint}); the limit is about {limit * 1e3:.3g} ms (more substeps), "
            'or use the stiff integrator "rodas3"'
        )
    if growing > 0.5:
        return (
            f"the closed loop is unstable in itself, whatever the step: a deviation grows with "
            f"{growing:.3g} 1/s (joint {joint}); "
            "look at the signs of the gains, the drive's lag and the model"
        )
    return f"the state grew without bound (joint {joint}), though the loop is stable around where it was"
