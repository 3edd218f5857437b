# SPDX-License-Identifier: Apache-2.0
"""The smallest force that can be told from the currents: still, turning, and against speed (004, section 7.2).

A window of the observer's residual (`residual_windows`) tells a contact if the mean of any joint exceeds its threshold.

- A joint that moves: its residual has a size σ that depends on its speed, and a shape that all joints and speeds share.
  The threshold is the quantile of |mean|/σ that leaves the false alarms asked for, an equal part for each joint. The
  smallest torque is told with the power asked for: threshold + the quantile of mean/σ that may stand against it. In
  these quotients σ is that of the *other* logs, so that they hold how much logs of different days differ.
- A joint that stands holds any torque within its stiction band by itself, and its current need not change at all. The
  threshold is the band, times the factor that `feel` uses; for sure it tells only what crosses the band from its far
  end, threshold + band. No window of a log can show less: who knows where in its band a joint came to rest?

`hidden_forces` makes forces at the tool of it. Everything is then *checked* on windows that were not used: each log is
left out in turn (of a single log every other five seconds), the rest gives the thresholds, and forces of the size that
is claimed, in random directions, are put into the currents of the log that was left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit, number
from armwright.dynamics import gravity_torque
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.hidden_forces import HiddenForces, hidden_forces
from armwright.identify.identified import RESTING_BAND_FACTOR
from armwright.identify.residual_windows import (
    SETTLED_SECONDS,
    SPEED_EDGES,
    STATES,
    STILL_STATE,
    Windows,
    shown_share,
    windows_of,
)
from armwright.kinematics import condition_number, jacobian
from armwright.statistics import Interval, share

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.types import Array

LEAST_WINDOWS = 10
"""Windows of a joint at a speed from which its σ is taken; fewer show nothing."""
LEAST_BEYOND = 3.0
"""Windows that must lie beyond a quantile for it to be taken."""
FOLD_SECONDS = 5.0
"""[s] A single log is left out in pieces of this length, every other one."""
KNOWN_FRICTION_SHARE = 0.5
"""Share of what stiction hides below which a moving joint's friction counts as known."""


class Told(NamedTuple):
    """What joints tell, (states, n) each: thresholds and smallest torques [N m], NaN where nothing was seen.

    `windows`: how many are behind each. Row `STILL_STATE` depends on the posture and is filled in by `with_stiction`.
    """

    threshold: Array
    torque: Array
    windows: NDArray[np.int64]


class Asked(NamedTuple):
    """Share of windows that may tell a contact that is none, share of contacts to be told, length of a window [s]."""

    false_alarms: float
    power: float
    window: float


class CheckedLog(NamedTuple):
    """Windows of a log that were not used for the thresholds: how often they told a contact, without and with one."""

    log: str
    false_alarms: Interval
    found: Interval
    trials: int


@dataclass(frozen=True, eq=False)
class ForceObservability:
    """The smallest forces that an identified arm can tell from its currents.

    Attributes:
        q: (n,) posture of the tables. window: [s]. false_alarms: share of windows. power: share of contacts found.
        told: of the joints, by state (`residual_windows.STATES`).
        force, moment: at the tool, base axes, one per state, as if all joints were in it: `HiddenForces` [N; N m].
        feasible: (n,) speed [rad/s] from which on a joint's friction is known: it tells torques of half of what
            stiction hides; NaN where no speed that was seen is enough.
        checked: of every log that was left out. false_alarms_seen, power_seen: of all of them.
        still_alarms: share of windows of standing joints beyond their threshold, of all logs.
        logs: names. trained: which of them the model was fitted to.
    """

    robot: str
    joints: tuple[str, ...]
    q: Array
    window: float
    false_alarms: float
    power: float
    told: Told
    force: tuple[HiddenForces, ...]
    moment: tuple[HiddenForces, ...]
    feasible: Array
    checked: tuple[CheckedLog, ...]
    false_alarms_seen: Interval
    power_seen: Interval
    still_alarms: Interval
    logs: tuple[str, ...]
    trained: tuple[str, ...]


def told_by(windows: Sequence[Windows], asked: Asked) -> Told:
    """Return what moving joints tell, from windows without contact; the row of standing joints is left open."""
    false_alarms, power, window = asked
    n = windows[0].mean.shape[1]
    sigma, count = _sizes(windows)
    pooled = np.concatenate([_quotients(part, _sizes(others)[0]) for part, others in left_out(windows)])
    each = false_alarms / n
    if len(pooled) * min(each, 1.0 - power) < LEAST_BEYOND:
        least = LEAST_BEYOND / min(each, 1.0 - power)
        raise InputError(
            f"{len(pooled)} windows of moving joints do not show {false_alarms:g} false alarms and a power of "
            f"{power:g}: at least {least:.0f} are needed; give more logs without contact, or ask for less"
        )
    high = float(np.quantile(np.abs(pooled), 1.0 - each))
    against = float(np.quantile(np.concatenate([pooled, -pooled]), power))
    return Told(high * sigma, (high + against) * sigma / shown_share(window), count)


def left_out(windows: Sequence[Windows]) -> list[tuple[Windows, list[Windows]]]:
    """Return every log with the others; of a single log every other `FOLD_SECONDS` with the rest, both ways."""
    if len(windows) > 1:
        return [(w, [x for i, x in enumerate(windows) if i != k]) for k, w in enumerate(windows)]
    own = windows[0]
    odd = ((own.t - own.t[:1]) // FOLD_SECONDS % 2).astype(bool)
    return [(own.some(part), [own.some(~part)]) for part in (odd, ~odd)]


def _sizes(windows: Sequence[Windows]) -> tuple[Array, NDArray[np.int64]]:
    """Rms σ (states, n) of the means of moving joints, NaN where few were seen, and how many were."""
    n = windows[0].mean.shape[1]
    sigma, count = np.full((len(STATES), n), np.nan), np.zeros((len(STATES), n), dtype=np.int64)
    for state in range(STILL_STATE + 1, len(STATES)):
        for j in range(n):
            means = np.concatenate([w.mean[w.state[:, j] == state, j] for w in windows])
            count[state, j] = len(means)
            if len(means) >= LEAST_WINDOWS:
                sigma[state, j] = max(float(np.sqrt(np.mean(means**2))), 1e-12)
    return sigma, count


def _quotients(windows: Windows, sigma: Array) -> Array:
    """Means of moving joints in σ (states, n) of other windows; those without one are left out."""
    found = windows.mean / sigma[windows.state, np.arange(sigma.shape[1])]
    return found[np.isfinite(found)]


def with_stiction(told: Told, identified: Identified, q: Array) -> Told:
    """Return what joints tell with the row of standing joints, at posture q (n,)."""
    rest = RESTING_BAND_FACTOR if identified.bands is None else identified.bands.rest
    band = identified.friction.band(np.asarray(gravity_torque(identified.robot, q)))
    threshold, torque = told.threshold.copy(), told.torque.copy()
    threshold[STILL_STATE], torque[STILL_STATE] = rest * band, (rest + 1.0) * band
    return Told(threshold, torque, told.windows)


@names_culprit
def force_observability(
    identified: Identified,
    logs: Log | Sequence[Log],
    *,
    q: ArrayLike | None = None,
    false_alarms: float = 0.05,
    power: float = 0.9,
    window: float = 0.2,
    payload: PayloadEstimate | ArrayLike | None = None,
    seed: int = 0,
) -> ForceObservability:
    """Return the smallest torques and forces that the arm can tell from its currents, and how that was checked.

    Args:
        identified: the model.
        logs: without contact; best ones that the model was not fitted to.
        q: posture (n,) of the forces at the tool; by default the one in the logs whose Jacobian is conditioned best.
        false_alarms: share of windows that may tell a contact that is none.
        power: share of contacts of the smallest size that are to be told.
        window: time [s] over which the residual is averaged, behind 0.15 s in which the observer settles.
        payload: what the tool carries in the logs: a `PayloadEstimate` or its (10,) parameters.
        seed: of the directions in which the check pushes.

    Example:
        >>> study = force_observability(model, held_out_logs)
        >>> study.told.torque  # (states, n) [N m]
        >>> [f.worst for f in study.force]  # [N], still first
    """
    many = (logs,) if isinstance(logs, Log) else tuple(logs)
    if not many:
        raise InputError("force_observability: no logs given")
    for value, label in ((false_alarms, "false_alarms"), (power, "power")):
        if not 0.0 < number(value, f"force_observability: {label}") < 1.0:
            raise InputError(f"force_observability: {label} must lie between 0 and 1, got {value:g}")
    seen = [windows_of(identified, log, window, payload=payload) for log in many]
    asked = Asked(float(false_alarms), float(power), float(window))
    told = told_by(seen, asked)
    at = _well_seen(identified, seen) if q is None else np.asarray(q, dtype=np.float64)
    if at.shape != (identified.n,) or not np.isfinite(at).all():
        raise InputError(f"force_observability: q must be {identified.n} finite numbers, got shape {at.shape}")
    full = with_stiction(told, identified, at)
    J = np.asarray(jacobian(identified.robot, at))
    rng = np.random.default_rng(seed)
    checked, false, found = [], np.zeros(2, dtype=int), np.zeros(2, dtype=int)
    for k, log in enumerate(many):
        alarms, hits = _checked(identified, many, seen, k, asked, payload, rng)
        checked.append(CheckedLog(log.name, share(*alarms), share(*hits), hits[1]))
        false += alarms
        found += hits
    return ForceObservability(
        identified.robot.name,
        tuple(joint.name for joint in identified.robot.joints),
        at,
        asked.window,
        asked.false_alarms,
        asked.power,
        full,
        tuple(hidden_forces(J[:3].T, row) for row in full.torque),
        tuple(hidden_forces(J[3:].T, row) for row in full.torque),
        _feasible(full.torque),
        tuple(checked),
        share(*false.tolist()),
        share(*found.tolist()),
        _still_alarms(identified, seen),
        tuple(log.name for log in many),
        tuple(log.name for log in many if log.name in identified.logs),
    )


def _well_seen(identified: Identified, seen: Sequence[Windows]) -> Array:
    """Posture (n,) of the windows in which forces are seen best."""
    places = np.concatenate([w.q for w in seen])
    condition = np.asarray(condition_number(identified.robot, places)).reshape(-1)
    return places[int(np.argmin(np.where(np.isfinite(condition), condition, np.inf)))].copy()


def _feasible(torque: Array) -> Array:
    """Speed (n,) from which on every speed that was seen tells at most `KNOWN_FRICTION_SHARE` of what rest tells."""
    out = np.full(torque.shape[1], np.nan)
    for j in range(torque.shape[1]):
        good = torque[2:, j] <= KNOWN_FRICTION_SHARE * torque[STILL_STATE, j]
        seen = np.isfinite(torque[2:, j])
        for k, edge in enumerate(SPEED_EDGES):
            if seen[k] and good[k:][seen[k:]].all():
                out[j] = edge
                break
    return out


def _still_alarms(identified: Identified, seen: Sequence[Windows]) -> Interval:
    beyond = count = 0
    rest = RESTING_BAND_FACTOR if identified.bands is None else identified.bands.rest
    for w in seen:
        still = w.state == STILL_STATE
        band = rest * identified.friction.band(np.asarray(gravity_torque(identified.robot, w.q)))
        beyond += int((np.abs(w.mean) > band)[still].sum())
        count += int(still.sum())
    return share(beyond, count)


def _checked(
    identified: Identified,
    logs: Sequence[Log],
    seen: Sequence[Windows],
    k: int,
    asked: Asked,
    payload: PayloadEstimate | ArrayLike | None,
    rng: np.random.Generator,
) -> tuple[tuple[int, int], tuple[int, int]]:
    """False alarms and contacts found on log k, (hits, trials) each, by thresholds that did not see those windows."""
    own, n = seen[k], identified.n
    parts = [(own, [w for i, w in enumerate(seen) if i != k])] if len(seen) > 1 else left_out(seen)
    limit, size = np.full((len(own.t), n), np.inf), np.full((len(own.t), n), np.inf)
    for part, others in parts:
        try:
            told = told_by(others, asked)
        except InputError:
            continue  # too little is left without them
        rows = np.isin(own.t, part.t)
        for table, out in ((told.threshold, limit), (told.torque, size)):
            values = np.where(np.isnan(table), np.inf, table)
            values[STILL_STATE] = np.inf  # a current put in by hand is no test of stiction
            out[rows] = values[part.state, np.arange(n)]
    judged = np.isfinite(limit).any(axis=1)
    alarms = int(_told(own, limit)[judged].sum()), int(judged.sum())
    pushes = _pushes(identified, own, size, rng)
    tried = np.isfinite(pushes).all(axis=1)
    pushed = PushedTorque(identified, own.t[tried], pushes[tried], asked.window + SETTLED_SECONDS)
    again = windows_of(identified, logs[k], asked.window, payload=payload, pushed=pushed)
    hits = int(_told(again, limit)[tried].sum()), int(tried.sum())
    return alarms, hits


def _told(windows: Windows, limit: Array) -> NDArray[np.bool_]:
    """Whether any joint exceeds its threshold (W, n), per window (W,)."""
    return np.asarray((np.abs(windows.mean) > limit).any(axis=1))


def _pushes(identified: Identified, windows: Windows, size: Array, rng: np.random.Generator) -> Array:
    """Forces (W, 3) of the claimed size for every other window, in random directions; NaN elsewhere."""
    out = np.full((len(windows.t), 3), np.nan)
    directions = rng.normal(size=out.shape)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    J = np.asarray(jacobian(identified.robot, windows.q)).reshape(-1, 6, identified.n)
    levers = np.abs(np.einsum("wkj,wk->wj", J[:, :3], directions))
    with np.errstate(divide="ignore"):
        needed = (size / levers).min(axis=1)
    chosen = np.isfinite(needed) & (np.arange(len(out)) % 2 == 1)
    out[chosen] = directions[chosen] * needed[chosen, None]
    return out


@dataclass(frozen=True, eq=False)
class PushedTorque:
    """External torque of forces at the tool that act before some instants.

    Attributes:
        identified: the arm. ends: (W,) [s]. forces: (W, 3) [N], base axes. length: how long they act [s].
    """

    identified: Identified
    ends: Array
    forces: Array
    length: float

    def __call__(self, t: Array, q: Array) -> Array:
        """Return the torque (T, n) [N m] at stamps (T,) and positions (T, n)."""
        if not len(self.ends):
            return np.zeros(q.shape)
        which = np.minimum(np.searchsorted(self.ends, t - 1e-9), len(self.ends) - 1)
        on = (t <= self.ends[which] + 1e-9) & (t > self.ends[which] - self.length)
        force = np.where(on[:, None], self.forces[which], 0.0)
        J = np.asarray(jacobian(self.identified.robot, q)).reshape(-1, 6, self.identified.n)
        return np.asarray(np.einsum("tkj,tk->tj", J[:, :3], force))
