# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares on the currents of all logs: base parameters, friction, gains and payloads, before physics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.accumulate import Grams, accumulate, scores
from armwright.identify.checks import check_log, check_rows, check_seconds
from armwright.identify.friction import DAHL, check_dahl
from armwright.identify.gains import Free, Gains, Known, TargetGains, gains_from_targets
from armwright.identify.identified import Load
from armwright.identify.log import Log
from armwright.identify.prepare import Prepared, prepare
from armwright.identify.solve import Layout, Solution, solve
from armwright.identify.structure import Structure, structure
from armwright.identify.uncertainty import covariance

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

PASSES = 12
"""Most passes over the data; each loads the friction with the torques that the last found. Four do for real logs."""
SETTLED = 1e-11
"""Relative change of those torques at which no further pass is needed,"""
ENOUGH = 0.02
"""or this share of the residual, which it can no longer change."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What least squares found, and what it was found from."""

    model: Structure
    layout: Layout
    solution: Solution
    covariance: Array
    grams: tuple[Grams, ...]
    prepared: tuple[Prepared, ...]
    targets: TargetGains | None
    remarks: tuple[str, ...]


def least_squares(
    logs: tuple[Log, ...],
    robot: Robot,
    gains: Gains | None,
    payloads: Sequence[Load | None] | None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float = DAHL,
) -> Fit:
    """Estimate everything by weighted least squares on the currents; arguments as `fit`."""
    if not logs:
        raise InputError("fit: no logs given")
    for log in logs:
        check_log(log, robot)
    check_seconds(sum(log.duration for log in logs))
    check_dahl(dahl)
    model = structure(robot)
    n = robot.n
    carried = tuple(payloads) if payloads is not None else (None,) * len(logs)
    if len(carried) != len(logs):
        raise InputError(f"fit: {len(carried)} payloads for {len(logs)} logs; give one a log, None without")
    places, masses = [], list[float | None]()
    for load in carried:
        places.append(None if load is None else len(masses))
        if load is not None:
            masses.append(load.mass)
    if masses and None not in places:
        raise InputError("fit: every log carries a payload; at least one without is needed to tell load from arm")
    free = isinstance(gains, Free)
    if free and all(mass is None for mass in masses):
        raise InputError(
            "fit: free gains need a log with a load of known mass, Load(mass=…): currents show only ratios"
        )
    start_gains, targets = _start(logs, gains, n)
    layout = Layout(model.rank, n, model.loads, tuple(places), tuple(masses), free)
    theta = np.zeros(layout.size)
    theta[: model.rank] = model.base.regrouping @ model.sheet()
    theta[-n:] = 1.0 / start_gains
    for g, mass in enumerate(masses):
        theta[layout.payload(g).start] = mass or 0.0
    prepared = tuple(prepare(log, rate=rate, cutoff=cutoff) for log in logs)
    remarks = [f"{p.name}: {text}" for p in prepared for text in p.left_out]
    grams: tuple[Grams, ...] = ()
    for k in range(PASSES):
        grams = tuple(accumulate(p, model, layout.beta(theta, i), dahl=dahl) for i, p in enumerate(prepared))
        if k == 0:
            remarks += check_rows(grams, robot, int(layout.free.sum()), sum(p.duration for p in prepared))
        solution = solve(grams, layout, theta)
        moved = _moved(layout, grams, theta, solution.theta)
        theta = solution.theta
        if moved < max(SETTLED, ENOUGH * _residual(grams, solution)):
            break
    blocks = []
    for i, p in enumerate(prepared):
        v = np.array([layout.vector(theta, i, j) for j in range(n)])
        blocks.append(scores(p, model, layout.beta(theta, i), v, dahl=dahl))
    spread = covariance(layout, solution, blocks)
    return Fit(model, layout, solution, spread, grams, prepared, targets, tuple(remarks))


def _start(logs: tuple[Log, ...], gains: Gains | None, n: int) -> tuple[Array, TargetGains | None]:
    """Gains to begin with, and what the controller's targets tell of them, unless they are known."""
    if isinstance(gains, Known):
        values = np.array(gains.values)
        if values.shape != (n,):
            raise InputError(f"fit: {len(values)} gains for {n} joints")
        return values, None
    if not isinstance(gains, Free):
        found = gains_from_targets(logs, gains.assumed if gains is not None else None)
        return found.values, found
    try:  # free gains begin at the controller's where there are any
        found = gains_from_targets(logs)
        return found.values, found
    except InputError:
        return np.full(n, 10.0), None


def _moved(layout: Layout, grams: Sequence[Grams], before: Array, after: Array) -> float:
    """Largest relative change of a joint's rigid-body torque between two passes, over all logs."""
    worst = 0.0
    for k, gram in enumerate(grams):
        step = layout.beta(after, k) - layout.beta(before, k)
        beta = layout.beta(after, k)
        for G in gram.matrices[:, : layout.rank, : layout.rank]:
            level = float(beta @ G @ beta)
            worst = max(worst, float(step @ G @ step) / level) if level > 0.0 else worst
    return float(np.sqrt(worst))


def _residual(grams: Sequence[Grams], solution: Solution) -> float:
    """Least residual of a moving joint against its current."""
    rows, squares = (np.sum([getattr(g, part) for g in grams], axis=0) for part in ("rows", "squares"))
    moved = squares > 0.0
    return float(np.min(solution.sigma[moved] / np.sqrt(squares[moved] / rows[moved])))
