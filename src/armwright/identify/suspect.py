# SPDX-License-Identifier: Apache-2.0
"""Payloads that nobody mentioned: logs that disagree about a mass at the tool do not show the same arm."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import ArmwrightWarning
from armwright.identify.friction import DAHL
from armwright.identify.identified import Load
from armwright.identify.least_squares import Fit, least_squares

if TYPE_CHECKING:
    from armwright.identify.gains import Gains
    from armwright.identify.log import Log
    from armwright.robot.model import Robot

SUSPECT = 0.25
"""[kg] Logs without payload that disagree by more about a mass at the tool; bare logs of a UR10e agree to 0.01."""
TELLS = 1e-4
"""Smallest eigenvalue of the scaled normal matrix of the load from which a log can tell."""


def fit_loads(
    logs: tuple[Log, ...],
    robot: Robot,
    gains: Gains | None,
    payloads: Sequence[Load | None] | None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float = DAHL,
) -> tuple[Fit, tuple[str, ...]]:
    """Fit; where nothing was said about payloads, a log that is heavier than another gets one. Arguments as `fit`.

    Returns:
        The fit, and sentences about what was assumed.
    """
    found = least_squares(logs, robot, gains, payloads, rate, cutoff, dahl)
    masses = disagreement(found)
    if not masses:
        return found, ()
    told = ", ".join(f"{logs[k].name} {mass:+.2f} kg" for k, mass in masses.items())
    text = f"these logs disagree about the payload ({told} at the tool of {robot.name!r})"
    if payloads is not None:
        text += ", though payloads=[…] says that none carries any; the model fits none of them well"
    else:
        loads: list[Load | None] = [None] * len(logs)
        while masses:  # the heaviest first: it bends the fit most; the lightest stays without
            loads[max(masses, key=lambda k: masses[k])] = Load()
            found = least_squares(logs, robot, gains, loads, rate, cutoff, dahl)
            masses = disagreement(found)
        heavy = ", ".join(f"{log.name} ({_weight(found, k)})" for k, log in enumerate(logs) if loads[k] is not None)
        said = ", ".join("None" if load is None else "Load()" for load in loads)
        text += f"; a payload is assumed and estimated in {heavy}, as payloads=[{said}] would; say so, or otherwise"
    warnings.warn(text, ArmwrightWarning, stacklevel=4)
    return found, (text,)


def _weight(fit: Fit, log: int) -> str:
    g = fit.layout.payloads[log]
    assert g is not None
    return f"{fit.solution.theta[fit.layout.payload(g).start]:.2f} kg"


def disagreement(fit: Fit) -> dict[int, float]:
    """Mass at the tool [kg] that each log without payload asks for, by its number; empty where all agree."""
    layout, solution, L = fit.layout, fit.solution, fit.layout.loads
    masses = {}
    for k, g in enumerate(layout.payloads):
        if g is not None:
            continue
        A, b = np.zeros((10, 10)), np.zeros(10)
        for j in range(layout.n):
            kappa = solution.theta[layout.gain(j)]
            w = (kappa / solution.sigma[j]) ** 2
            G = fit.grams[k].matrices[j]
            A += w * (L.T @ G[: layout.rank, : layout.rank] @ L)
            b -= w * (L.T @ (G[: layout.rank] @ (layout.vector(solution.theta, k, j) / kappa)))
        scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
        scaled = A * np.outer(scale, scale)
        if np.linalg.eigvalsh(scaled)[0] >= TELLS:
            masses[k] = float((scale * np.linalg.solve(scaled, scale * b))[0])
    apart = max(masses.values()) - min(masses.values()) if masses else 0.0
    return masses if apart >= SUSPECT else {}
