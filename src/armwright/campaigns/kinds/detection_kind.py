# SPDX-License-Identifier: Apache-2.0
"""``detection``: arms that differ from their model, with and without a contact; levels, alarms and delays of detectors.

kind = "detection"
items = 12000                               # one with a contact, four without, and so on
[settings]
preset = "torque"                           # or "ur5-cb3", "ur5-e-series"
contact = "wall"                            # or "soft", "ramp", "link"
learning_runs = 2400
spread = { payload = [1.0, 3.0] }           # entries of `Spread`
Other settings: `armwright.detection.detection_settings.DEFAULTS`.

Columns of observer o and detector d: ``o_d_before`` highest level (1: the threshold) before the contact, in the whole
run where there is none; ``o_d_within`` from the contact until its horizon ended; ``o_d_until`` [s] to the first alarm
of a run without contact; ``o_d_delay`` [s] and ``o_d_force`` [N] of a contact that was found. ``world``: of `WORLDS`.
``load_kg`` is carried and unknown; a doubting arm (detector "doubt") tells ``load_told_kg`` ± ``load_std_kg`` when it
is ready, and ``load_end_kg`` ± ``load_end_std_kg`` at the end; nothing before it is ready counts, of no detector.

`summary` turns the rows into delays, missed contacts and false alarms of every detector, and its ROC.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.campaigns.campaign_plan import CampaignPlan
from armwright.campaigns.kind import Kind, Rows
from armwright.detection.detection_result import DetectionStudy, DetectorCurve
from armwright.detection.detection_settings import DETECTORS, OBSERVERS, experiment
from armwright.statistics import quantile, share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array

SCALES = tuple(float(s) for s in np.geomspace(0.25, 4.0, 17))


def column(observer: str, detector: str, part: str) -> str:
    """Return the name of a column of ``detection``."""
    return f"{observer}_{detector}_{part}".replace("-", "_")


def judged(table: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield observer, detector and columns as arrays, NaN where there is nothing, of every pair that was judged."""
    for o in OBSERVERS:
        for d in DETECTORS:
            found = {p: _array(table, column(o, d, p)) for p in ("before", "within", "until", "delay", "force")}
            if np.isfinite(found["before"]).any():
                yield o, d, found


def study_of(table: Any, settings: Mapping[str, Any], *, outcome: str = "end") -> DetectionStudy:
    """Return the rows as a `DetectionStudy` with thresholds as learned (scale 1)."""
    met, free = _is(table, "contact"), _is(table, "free")
    seconds, curves = _array(table, "seconds"), []
    for o, d, found in judged(table):
        early = found["before"][met] >= 1.0
        delay, force = (np.where(early, np.nan, _missed(found[p][met])) for p in ("delay", "force"))
        alarms = int((found["before"][free] >= 1.0).sum())
        until = np.where(np.isfinite(found["until"]), found["until"], seconds)[free]
        hours = np.array([max(float(until.sum()) / 3600.0, 1e-12)])
        curve = DetectorCurve(o, d, np.ones(1), np.array([alarms]), hours, delay[:, None], None, force[:, None])
        curves.append(curve)
    hours_free = float(np.nansum(seconds)) / 3600.0
    return DetectionStudy(tuple(curves), settings, int(met.sum()), hours_free, float("nan"), outcome)


def summary(table: Any) -> dict[str, list[dict[str, Any]]]:
    """Return plain rows: ``detectors`` at their learned thresholds, ``roc`` over factors on them; 95 % intervals.

    Both are judged as `DetectorCurve` judges them: a contact that was missed counts, later than every other, and a run
    that ended in a false alarm before its contact is not judged.
    """
    met, free = _is(table, "contact"), _is(table, "free")
    curves = {(curve.observer, curve.detector): curve for curve in study_of(table, {}).curves}
    detectors, roc = [], []
    for o, d, found in judged(table):
        names, curve = {"observer": o, "detector": d}, curves[o, d]
        point, delays = curve.point(0), curve.delays[:, 0]
        row = names | _at(found, met, free, 1.0)
        if free.any():
            row |= {
                "false_alarms": point.alarms,
                "hours": point.hours,
                "false_alarms_per_hour": point.false_alarms._asdict(),
            }
        row |= {"delay_median_s": point.delay._asdict(), "delay_p95_s": point.slow._asdict()}
        row |= {"delay_p99_s": quantile(delays, 0.99)._asdict(), "force_median_n": point.force._asdict()}
        detectors.append(row)
        roc += [names | _at(found, met, free, scale) for scale in SCALES]
    out = {"detectors": detectors, "roc": roc}
    worlds = table["world"].to_pylist() if "world" in table.column_names else []
    for world in dict.fromkeys(worlds):
        rows = [k for k, name in enumerate(worlds) if name == world]
        part = table.take(rows)
        free = _is(part, "free")
        for curve in study_of(part, {}).curves:
            point = curve.point(0)
            names = {"world": world, "observer": curve.observer, "detector": curve.detector}
            row = {"false_alarms": point.alarms, "hours": point.hours} if free.any() else {}
            row |= {"false_alarms_per_hour": point.false_alarms._asdict()} if free.any() else {}
            row |= {"delay_median_s": point.delay._asdict(), "missed": point.missed._asdict()}
            out.setdefault("worlds", []).append(names | row)
        if (told := load_told(part)) is not None:
            out.setdefault("loads", []).append({"world": world} | told)
    return out


def load_told(table: Any) -> dict[str, Any] | None:
    """Return how well a doubting arm told its load when it was ready: error [kg], share of 95 % intervals that held."""
    true, told, std = (_array(table, name) for name in ("load_kg", "load_told_kg", "load_std_kg"))
    known = np.isfinite(told)
    if not known.any():
        return None
    error = (told - true)[known]
    held = np.abs(error) <= 1.96 * std[known]
    return {
        "runs": int(known.sum()),
        "rms_kg": float(np.sqrt(np.mean(error**2))),
        "std_kg": quantile(std[known], 0.5).value,
        "held": share(int(held.sum()), len(held))._asdict(),
    }


def _at(found: Mapping[str, Any], met: NDArray[np.bool_], free: NDArray[np.bool_], scale: float) -> dict[str, Any]:
    """Return shares with thresholds multiplied by `scale`: contacts found, early alarms, runs with a false alarm."""
    clean = found["before"][met] < scale
    seen = clean & (found["within"][met] >= scale)
    alarms = int((found["before"][free] >= scale).sum())
    return {
        "scale": scale,
        "found": share(int(seen.sum()), int(clean.sum()))._asdict(),
        "early": share(int((~clean).sum()), len(clean))._asdict(),
        "runs_with_false_alarm": share(alarms, int(free.sum()))._asdict(),
    }


def _array(table: Any, name: str) -> Array:
    return table[name].to_numpy().astype(np.float64)


def _is(table: Any, what: str) -> NDArray[np.bool_]:
    return np.array(table["met"].to_pylist(), dtype=object) == what


def _missed(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.inf)


PARTS = ("before", "within", "until", "delay", "force")
LOADS = ("load_kg", "load_told_kg", "load_std_kg", "load_end_kg", "load_end_std_kg")
SCHEMA = {
    "move": "int64",
    "world": "string",
    "met": "string",
    "seconds": "float64",
    **dict.fromkeys(LOADS, "float64"),
} | {column(o, d, part): "float64" for o in OBSERVERS for d in DETECTORS for part in PARTS}


def prepare(plan: CampaignPlan) -> bytes:
    """Learn thresholds on moves that are not judged."""
    return json.dumps(experiment(plan.settings, plan.seed).learn()).encode()


def start(plan: CampaignPlan, prepared: bytes) -> Rows:
    """Make arms, moves and detectors; chunks run in lanes of one move."""
    study = experiment(plan.settings, plan.seed)
    trials = study.trials(json.loads(prepared))

    def rows(first: int, last: int) -> dict[str, Any]:
        chosen = [study.trial(item) for item in range(first, last)]
        found = trials.run(chosen)
        touched = np.array([trial.touched for trial in chosen])
        met = np.where(touched, np.where(found.met, "contact", "none"), "free")
        columns = dict.fromkeys(SCHEMA, [None] * (last - first)) | {
            "move": [trial.move for trial in chosen],
            "met": met.tolist(),
            "world": [study.settings["worlds"][trial.world] for trial in chosen],
            "seconds": _known(found.seconds),
            **{name: _known(found.load[:, k]) for k, name in enumerate(LOADS)},
        }
        for k, (o, d) in enumerate(trials.pairs):
            until = np.where(found.before[:, k] >= 1.0, found.until[:, k, 0], np.nan)
            parts = (found.before[:, k], found.within[:, k], until, found.delay[:, k, 0], found.force[:, k, 0])
            for part, values in zip(PARTS, parts, strict=True):
                columns[column(o, d, part)] = _known(values)
        return columns

    return rows


def _known(values: Array) -> list[float | None]:
    """Return numbers, and nothing where there is none: no contact, no alarm."""
    return [float(x) if np.isfinite(x) else None for x in values]


JUDGED = frozenset(column(o, d, part) for o in OBSERVERS for d in DETECTORS for part in ("until", "delay", "force"))
UNITS = {"seconds": "s", "hours": "h"} | {
    column(o, d, part): unit
    for o in OBSERVERS
    for d in DETECTORS
    for part, unit in (("delay", "s"), ("force", "N"), ("until", "s"))
}
KIND = Kind(
    "detection", SCHEMA, start, version=3, chunk=1000, prepare=prepare, summary=summary, judged=JUDGED, units=UNITS
)
