# SPDX-License-Identifier: Apache-2.0
"""`fit`: from logs to an identified arm: base parameters, friction, drive gains, payloads, on bodies that can exist.

`fit_loads` solves least squares and looks for payloads that nobody mentioned: logs that disagree about a mass at the
tool do not show the same arm. `finished` bounds the solution by physics and makes it an `Identified`.

`refit_friction` fits friction again on the same bodies, for an arm whose gears have warmed up or aged since. It is an
option: where friction has really changed it helps, elsewhere a few seconds of log say less than the logs of the fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import ArmwrightWarning, InputError
from armwright.identify.consistent_bodies import check_prior
from armwright.identify.current_log import Log
from armwright.identify.drive_gains import Gains
from armwright.identify.filtered_log import even_samples
from armwright.identify.finished_fit import finished
from armwright.identify.gram_matrices import accumulate
from armwright.identify.hysteresis_travel import choose_travel
from armwright.identify.identifiable import structure
from armwright.identify.identified import Identified, Load
from armwright.identify.least_squares import Fit, least_squares
from armwright.identify.log_checks import check_log

if TYPE_CHECKING:
    from armwright.robot.model import Robot

FRICTION_TERMS = ("chosen", "all")
"""Ways to take the friction terms of a fit."""
SUSPECT = 0.25
"""[kg] Logs without payload that disagree by more about a mass at the tool; bare logs of a UR10e agree to 0.01."""
TELLS = 1e-4
"""Smallest eigenvalue of the load's scaled normal matrix at which a log can tell."""


def fit_loads(
    logs: tuple[Log, ...],
    robot: Robot,
    gains: Gains | None,
    payloads: Sequence[Load | None] | None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float | None = None,
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
    """Return the mass at the tool [kg] that each log without payload asks for, by its number; empty where all agree."""
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


@names_culprit
def fit(
    logs: Log | Sequence[Log],
    robot: Robot,
    *,
    gains: Gains | None = None,
    payloads: Sequence[Load | None] | None = None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float | None = None,
    prior: float = 1e-3,
    terms: str = "chosen",
) -> Identified:
    """Identify an arm from logs of its motion and motor currents.

    Args:
        logs: one or several; rows of resting joints are not used.
        robot: the description: its geometry is taken as it is, its inertias as the prior.
        gains: `Known`, `FromTargets` (default where a log has targets) or `Free` (with a load of known mass).
        payloads: one per log: None without, ``Load()`` or ``Load(mass)`` with a payload, estimated log by log. By
            default none carries any, unless they disagree about it: then the heavier get a ``Load()``, with a warning.
        rate: of the even samples [Hz], see `even_samples`.
        cutoff: of the low-pass [Hz], None without.
        dahl: δ of the friction's hysteresis [rad]; by default that which the logs support, joint by joint.
        prior: weight of the description among bodies that can exist.
        terms: friction terms: those that the logs support, "chosen" by cross-validation, or "all".

    Returns:
        An `Identified`; what the logs leave open is named there, not numbered.

    Example:
        >>> model = fit(read_log("run.csv"), aw.load("ur10e"))
        >>> model.undetermined  # what the log leaves open
    """
    many = (logs,) if isinstance(logs, Log) else tuple(logs)
    check_prior(prior)
    if terms not in FRICTION_TERMS:
        raise InputError(f"fit: terms must be {' or '.join(FRICTION_TERMS)}, got {terms!r}")
    found, assumed = fit_loads(many, robot, gains, payloads, rate, cutoff, dahl)
    found, said = choose_travel(found, prior) if dahl is None else (found, ())
    return finished(found, prior, terms, (*assumed, *said))


LEAST_FRICTION_ROWS = 200
"""Moving samples (two seconds) from which a joint's friction is fitted again."""
DISTINCT_EIGENVALUE_RATIO = 0.02
"""Ratio of smallest to largest eigenvalue of the three scaled columns above which they are told apart."""
REFITTED = (0, 2, 4)
"""Viscous, Coulomb and offset; a short log does not show the others."""


@names_culprit
def refit_friction(
    identified: Identified, log: Log, *, seconds: float | None = None, rate: float = 100.0, cutoff: float | None = 8.0
) -> Identified:
    """Return the model with viscous, Coulomb and offset terms fitted to a log without payload and contact.

    Args:
        identified: the model; everything else of it stays.
        log: joints that move in it for two seconds or more are fitted.
        seconds: use only the beginning.
        rate: of the even samples [Hz].
        cutoff: of the low-pass [Hz], None without.

    Example:
        >>> model = refit_friction(model, warm_log, seconds=30.0)
    """
    check_log(log, identified.robot)
    part = log if seconds is None else log.rows(log.t <= log.t[0] + seconds)
    model = structure(identified.robot)
    gram = accumulate(
        even_samples(part, rate=rate, cutoff=cutoff), model, identified.beta, dahl=identified.friction.travel
    )
    v = identified.vectors()
    columns = [model.rank + k for k in REFITTED]
    coefficients = identified.friction.coefficients.copy()
    done = []
    for j, joint in enumerate(identified.robot.joints):
        G = gram.matrices[j]
        scale = np.sqrt(np.maximum(np.diag(G)[columns], 1e-300))
        spread = np.linalg.eigvalsh(G[np.ix_(columns, columns)] / np.outer(scale, scale))
        if gram.rows[j] < LEAST_FRICTION_ROWS or spread[0] < DISTINCT_EIGENVALUE_RATIO * spread[-1]:
            continue  # in one direction at one speed, all three look alike
        known = v[j].copy()
        known[columns] = 0.0
        found = np.linalg.lstsq(G[np.ix_(columns, columns)], -(G[columns] @ known), rcond=1e-10)[0]
        found = found * identified.gains[j]
        if found[1] >= 0.0:
            coefficients[j, list(REFITTED)] = found
            done.append(joint.name)
    if not done:
        raise InputError(
            f"refit_friction: no joint moves for {LEAST_FRICTION_ROWS / rate:g} s, to and fro, in log {log.name!r}"
        )
    remark = f"viscous, Coulomb and offset terms of {', '.join(done)} fitted anew to {log.name}"
    friction = replace(identified.friction, coefficients=coefficients)
    return replace(identified, friction=friction, remarks=(*identified.remarks, remark))
