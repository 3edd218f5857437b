# SPDX-License-Identifier: Apache-2.0
"""The friction of an arm in a log, as it changes while the log goes on: an observer that adapts it (004, section 7.2).

Warm gears rub less than cold ones. The filter of `armwright.contact.doubt` follows what a model may be wrong in; it is
told here that the load is known, so that viscous and Coulomb friction are left to walk. It reads the log once, as
it would be read while the arm moves, and says at every time the friction, with its deviation. What it knew by then is
taken out of the observer's residual: whether that is smaller than with the friction of the fit says whether adapting
helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.doubt.doubt_filter import DoubtFilter, Unspanned
from armwright.contact.doubt.doubt_learning import MOVING
from armwright.contact.doubt.doubt_watch import DoubtWatch, residual_with, sample_ticks
from armwright.contact.doubt.model_errors import Doubts
from armwright.contact.observers.geared_momentum import gear_output
from armwright.identify.doubted_log import BEGIN, log_arm, log_unspanned
from armwright.identify.even_ticks import Evenly
from armwright.identify.external_torque import LOG_OBSERVER_GAIN, OBSERVER_RATE
from armwright.identify.gear_friction import hysteresis
from armwright.identify.log_checks import check_log

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.identify.identified import Identified
    from armwright.types import Array

FRICTION_DOUBTS = Doubts(
    load=1e-3, lever=1e-3, mass=1e-3, centre=1e-4, gain=1e-4, coulomb=0.2, viscous=0.2, dry=0.01, wet=0.01
)
"""Everything but friction is known. A fifth of it: from month to month a UR10e's changed by 16 %."""

COULOMB_SCATTER, VISCOUS_SCATTER = 0.025, 0.08
"""Shares by which friction differs between logs of an arm that nobody changed, found on logs of a UR10e: one standard
deviation. The terms of the model are no better than that, however long a log is; told deviations contain it."""


@dataclass(frozen=True, eq=False)
class FrictionOverTime:
    """Friction as it becomes known, S samples.

    Attributes:
        log: its name. t: (S,) [s] since its beginning.
        coulomb, viscous: (S, n) [N m, N m s]. coulomb_std, viscous_std: (S, n) standard deviations.
        fixed: (n,) rms of the residual of moving joints with the friction of the fit [N m]; NaN if a joint never moves.
        adapted: (n,) the same with the friction that was known by then.
        fitted: Coulomb and viscous friction of the fit, (n,) each.
    """

    log: str
    t: Array
    coulomb: Array
    viscous: Array
    coulomb_std: Array
    viscous_std: Array
    fixed: Array
    adapted: Array
    fitted: tuple[Array, Array]

    def rows(self, names: Sequence[str]) -> list[list[str]]:
        """Return one row per joint that moves: friction of the fit and at the end, residual with both."""
        out = []
        for j in np.flatnonzero(np.isfinite(self.fixed)).tolist():
            cells = []
            for fit, path, spread in zip(
                self.fitted, (self.coulomb, self.viscous), (self.coulomb_std, self.viscous_std), strict=True
            ):
                cells += [f"{fit[j]:.3g}", f"{path[-1, j]:.3g} ± {2.0 * spread[-1, j]:.2g}"]
            out.append([names[j], *cells, f"{self.fixed[j]:.3g}", f"{self.adapted[j]:.3g}"])
        return out

    def as_plain(self) -> dict[str, Any]:
        """Return everything as plain values, once a second, for JSON."""
        every = max(1, round(1.0 / (self.t[1] - self.t[0]))) if len(self.t) > 1 else 1
        series = ("t", "coulomb", "viscous", "coulomb_std", "viscous_std")
        return {
            "log": self.log,
            **{name: getattr(self, name)[every - 1 :: every] for name in series},
            "residual_fixed": self.fixed,
            "residual_adapted": self.adapted,
        }


@names_culprit
def friction_over_time(
    identified: Identified, log: Log, free: Sequence[Log] | None = None, *, unspanned: Unspanned | None = None
) -> FrictionOverTime:
    """Follow the friction of a log without contact, with a payload that the model knows.

    Args:
        identified: the model.
        log: as read.
        free: logs without contact that tell what the model leaves, such as the training logs.
        unspanned: what they told, of `friction_unspanned`; one of the two is needed.

    Example:
        >>> seen = friction_over_time(model, log, free=[training])
        >>> seen.coulomb[-1], 2.0 * seen.coulomb_std[-1]
        >>> seen.adapted / seen.fixed  # below 1 where adapting helps
    """
    left = unspanned or friction_unspanned(identified, list(free or []))
    robot, n, dt = log_arm(identified), identified.n, 1.0 / OBSERVER_RATE
    ticks = sample_ticks(dt)
    doubt = DoubtFilter(robot, unspanned=left, doubts=FRICTION_DOUBTS, sample=ticks * dt, load_walks=False)
    watch = DoubtWatch(doubt, dt, LOG_OBSERVER_GAIN)
    t, q, qd, tau = gear_signals(identified, log)
    count = len(t) // ticks
    at, wet = doubt.layout.coulomb, doubt.layout.viscous
    values, spreads = np.zeros((count, 2, n)), np.zeros((count, 2, n))
    adapted, moving = np.zeros((count, n)), np.zeros((count, n), dtype=bool)
    for s in range(count):
        part = slice(s * ticks, (s + 1) * ticks)
        seen = watch.run(t[part], q[:, part], qd[:, part], tau[:, part], None)
        known = doubt.known()
        values[s], spreads[s] = (np.stack([x[0, at], x[0, wet]]) for x in (known.theta, known.std()))
        adapted[s] = seen.tau_ext[0].mean(axis=0)
        moving[s] = seen.still[0, 0] < MOVING
    whole = residual_with(robot, np.zeros((1, doubt.layout.size)), dt, LOG_OBSERVER_GAIN, t, q, qd, tau)[0]
    fixed = whole[: count * ticks].reshape(count, ticks, n).mean(axis=1)
    moving[: round(BEGIN / (ticks * dt))] = False  # the observer begins
    c = np.maximum(identified.friction.coefficients, 0.0)
    return FrictionOverTime(
        log.name,
        ticks * dt * np.arange(1.0, count + 1.0),
        c[:, 2] + values[:, 0],
        c[:, 0] + values[:, 1],
        np.hypot(spreads[:, 0], COULOMB_SCATTER * c[:, 2]),
        np.hypot(spreads[:, 1], VISCOUS_SCATTER * c[:, 0]),
        _rms(fixed, moving),
        _rms(adapted, moving),
        (c[:, 2], c[:, 0]),
    )


def friction_unspanned(identified: Identified, logs: Sequence[Log]) -> Unspanned:
    """Return what the model leaves on logs without load and contact, once its friction is right."""
    return log_unspanned(identified, logs, doubts=FRICTION_DOUBTS, signals=gear_signals)


def gear_signals(identified: Identified, log: Log) -> tuple[Array, Array, Array, Array]:
    """Return even times from 0 (T,), and q, q̇ and torque (1, T, n): what the gears pass on, with plain friction.

    The filter's arm knows viscous and Coulomb friction with the sign of the speed. So all friction of the fit is taken
    out of the torque, with its hysteresis and load, and these two are put in again.
    """
    check_log(log, identified.robot)
    t, q, qd, current = Evenly(OBSERVER_RATE).push(log.t, log.q, log.qd, log.current)
    c = identified.friction.coefficients
    h = hysteresis(qd, 1.0 / OBSERVER_RATE, identified.friction.joint_travel)
    tau = identified.motor_torque(q, qd, current) - identified.friction.motors_without_memory(qd)
    out = gear_output(tau, qd, h, c)
    plain = np.maximum(c[:, 0], 0.0) * qd + np.maximum(c[:, 2], 0.0) * np.sign(qd)
    return t - t[0], q[None], qd[None], (out + plain)[None]


def _rms(values: Array, moving: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt((values**2 * moving).sum(axis=0) / moving.sum(axis=0)))
