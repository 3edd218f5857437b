# SPDX-License-Identifier: Apache-2.0
"""A model's friction followed over days: what a new log says, weighed against what was known, and what has changed.

Each log has friction of its own, θ_log = θ + u: gears are cold or warm, and grease ages. How far logs of an arm that
nobody changed differ (`COULOMB_SCATTER`, `VISCOUS_SCATTER`) is the width of u. The new log's friction is measured in
quarters of the log, whose scatter says how well. The model then gets

    θ = θ_known + s²_known/(s²_known + s²_new) (θ_new − θ_known),   s²_known = s² + u²,  s²_new from the quarters, ≥ u²,

and a change counts as one if it is beyond two deviations of both and of u: less is what days differ by anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.identify.friction_over_time import COULOMB_SCATTER, VISCOUS_SCATTER
from armwright.identify.gear_friction import TERMS
from armwright.identify.identified import Estimate
from armwright.identify.model_fit import refit_friction

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.identify.identified import Identified
    from armwright.types import Array

QUARTERS = 4
"""Parts of a log in which friction is measured; their scatter is its deviation."""
FOLLOWED = (0, 2)
"""Columns of the coefficients that are followed: viscous and Coulomb."""
LEAST_FRICTION_SCALE = 1e-3
"""[N m, N m s] Friction below this has no scatter in per cent."""
CHANGE_DEVIATIONS = 2.0
"""Deviations beyond which a change is said to be one."""


@dataclass(frozen=True, eq=False)
class FrictionUpdate:
    """What a new log changed.

    Attributes:
        model: with the friction that is likeliest now.
        log: name of the new log.
        known, seen, now: (n, 2) viscous and Coulomb friction of the old model, of the log, of the new model.
        spread: (n, 2) deviation of `now`. beyond: (n, 2) the change in deviations of what days differ by.
        moved: (n,) whether the joint moved enough to be followed.
    """

    model: Identified
    log: str
    known: Array
    seen: Array
    now: Array
    spread: Array
    beyond: Array
    moved: Array

    def rows(self) -> list[list[str]]:
        """Return one row per joint: friction known, seen and now, and a word about the change."""
        out = []
        for j, joint in enumerate(self.model.robot.joints):
            if not self.moved[j]:
                out.append([joint.name, *["–"] * 6, "did not move enough: kept"])
                continue
            cells = []
            for k in range(2):
                cells += [f"{self.known[j, k]:.3g}", f"{self.seen[j, k]:.3g}"]
                cells.append(f"{self.now[j, k]:.3g} ± {2.0 * self.spread[j, k]:.2g}")
            words = [
                f"{word} {100.0 * (self.seen[j, k] / self.known[j, k] - 1.0):+.0f} %"
                for k, word in enumerate(("viscous", "Coulomb"))
                if abs(self.beyond[j, k]) > CHANGE_DEVIATIONS and self.known[j, k] > LEAST_FRICTION_SCALE
            ]
            out.append([joint.name, *cells, ", ".join(words) or "as days differ"])
        return out

    def as_plain(self) -> dict[str, Any]:
        """Return everything as plain values."""
        parts = ("known", "seen", "now", "spread", "beyond", "moved")
        return {"log": self.log, "terms": ["viscous", "coulomb"], **{part: getattr(self, part) for part in parts}}


UPDATE_HEADS = (
    "joint",
    *(f"{word}, {when}" for word in ("viscous", "Coulomb") for when in ("known", "in the log", "now")),
    "changed",
)


def update_friction(identified: Identified, log: Log) -> FrictionUpdate:
    """Follow a model's viscous and Coulomb friction to a new log without payload and contact.

    Raises:
        InputError: the log is too short, or no joint moves in it to and fro.

    Example:
        >>> update = update_friction(load_model("arm.json"), read_log("today.csv"))
        >>> save_model(update.model, "arm.json")
    """
    n, at = identified.n, list(FOLLOWED)
    known = identified.friction.coefficients[:, at]
    whole = refit_friction(identified, log)
    seen = whole.friction.coefficients[:, at]
    moved = (seen != known).any(axis=1)
    quarters = _in_quarters(identified, log)
    scatter = np.maximum(np.abs(known), LEAST_FRICTION_SCALE) * np.array([VISCOUS_SCATTER, COULOMB_SCATTER])
    counted = np.isfinite(quarters).sum(axis=0)
    measured = scatter.copy()
    for j, k in np.argwhere(counted > 1).tolist():
        told = quarters[np.isfinite(quarters[:, j, k]), j, k]
        measured[j, k] = told.std(ddof=1) / np.sqrt(len(told))
    before = _deviations(identified, scatter)
    old, new = before**2 + scatter**2, np.maximum(measured, scatter) ** 2
    weight = np.where(moved[:, None], old / (old + new), 0.0)
    now = np.maximum(known + weight * (seen - known), 0.0)
    spread = np.where(moved[:, None], np.sqrt(old * new / (old + new)), before)
    beyond = np.where(moved[:, None], (seen - known) / np.sqrt(before**2 + measured**2 + 2.0 * scatter**2), 0.0)
    coefficients = identified.friction.coefficients.copy()
    coefficients[:, at] = now
    coefficients[moved, 4] = whole.friction.coefficients[moved, 4]
    estimates = list(identified.friction_estimates)
    for j in np.flatnonzero(moved).tolist():
        for k, column in enumerate(at):
            place = j * len(TERMS) + column
            e = estimates[place]
            estimates[place] = Estimate(e.name, float(now[j, k]), float(spread[j, k]), e.unit)
    model = replace(
        identified,
        robot=identified.robot.with_friction(np.maximum(coefficients[:, 0], 0.0), coefficients[:, 2]),
        friction=replace(identified.friction, coefficients=coefficients),
        friction_estimates=tuple(estimates),
        logs=(*identified.logs, log.name),
        remarks=(*identified.remarks, f"friction of {int(moved.sum())} of {n} joints was followed to {log.name}"),
    )
    return FrictionUpdate(model, log.name, known, seen, now, spread, beyond, moved)


def _in_quarters(identified: Identified, log: Log) -> Array:
    """Return viscous and Coulomb friction of each quarter of a log (4, n, 2); NaN where a joint does not tell."""
    edges = np.linspace(log.t[0], log.t[-1], QUARTERS + 1)
    out = np.full((QUARTERS, identified.n, 2), np.nan)
    known = identified.friction.coefficients[:, list(FOLLOWED)]
    for k in range(QUARTERS):
        try:
            part = refit_friction(identified, log.rows((log.t >= edges[k]) & (log.t <= edges[k + 1])))
        except InputError:
            continue
        found = part.friction.coefficients[:, list(FOLLOWED)]
        out[k] = np.where((found != known).any(axis=1)[:, None], found, np.nan)
    return out


def _deviations(identified: Identified, scatter: Array) -> Array:
    """Return the deviations of viscous and Coulomb friction (n, 2); the scatter of days where the fit has none."""
    out = scatter.copy()
    estimates: Sequence[Estimate] = identified.friction_estimates
    for j in range(identified.n):
        for k, column in enumerate(FOLLOWED):
            deviation = estimates[j * len(TERMS) + column].deviation
            out[j, k] = scatter[j, k] if deviation is None else deviation
    return out
