# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a log say about units: seconds or milliseconds, degrees or radians, signs, a missing time.

The witness is q̇ = dq/dt. Where positions and speeds are both there, the ratio of the steps of the one to the sums of
the other tells units of time, of angles, and a turned sign, joint by joint. Where it cannot tell, nothing is assumed
without being said, and what has two readings is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array

SHORTEST_ROW_STEP, LONGEST_ROW_STEP = 1.5e-4, 0.11
"""[s] A row of a log that can be used comes after a time between these."""
TIME_UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
DEGREE = np.pi / 180.0
RATIO_TOLERANCE = 0.15
"""Share by which a ratio of positions to speeds may miss a value and still be taken for it."""
LEAST_SPEED_LIKENESS = 0.9
"""Correlation of a joint's steps with its speeds below which the two do not belong together."""
WIDEST_ANGLE = 4.0 * np.pi + 1e-6
"""[rad] Joints of arms turn two turns to either side at most; larger numbers are degrees, or the motors'."""
FEWEST_STEPS = 20


@dataclass
class UnitEvidence:
    """Factors to SI found in numbers.

    Attributes:
        time: of the stamps; None without stamps. rate: rows per second [Hz], without stamps.
        q, qd: of positions and speeds, common to all joints. turned: (n,) −1 where speeds have the other sign.
        qd_sound: whether the speeds belong to the positions.
        notes, questions: sentences.
    """

    time: float | None = None
    rate: float | None = None
    q: float = 1.0
    qd: float = 1.0
    turned: Array = field(default_factory=lambda: np.ones(0))
    qd_sound: bool = True
    notes: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


def slopes(time: Array, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return by joint the ratio of steps of q to qd·dt, and their correlation; NaN where a joint does not move."""
    dt = np.diff(time)
    if not (dt > 0.0).sum() > FEWEST_STEPS:
        return np.full(q.shape[1], np.nan), np.full(q.shape[1], np.nan)
    use = (dt > 0.0) & (dt < 20.0 * np.median(dt[dt > 0.0]))
    step, told = np.diff(q, axis=0)[use], (0.5 * (qd[1:] + qd[:-1]) * dt[:, None])[use]
    sound = np.isfinite(step) & np.isfinite(told)
    step, told = np.where(sound, step, 0.0), np.where(sound, told, 0.0)
    lot = max(1, len(step) // 400)  # sums of neighbours: quantised positions step now and then only
    cut = len(step) // lot * lot
    step, told = (x[:cut].reshape(-1, lot, x.shape[1]).sum(axis=1) for x in (step, told))
    limit = 8.0 * np.median(np.abs(step), axis=0) + np.abs(step).mean(axis=0)
    step = np.where(np.abs(step) > 4.0 * limit, 0.0, step)  # jumps are no motion
    with np.errstate(invalid="ignore", divide="ignore"):
        both = (step * told).sum(axis=0)
        ratio = both / (told**2).sum(axis=0)
        alike = both / np.sqrt((step**2).sum(axis=0) * (told**2).sum(axis=0))
    moves = np.ptp(q, axis=0) > 1e-3 * max(1e-12, float(np.nanmax(np.ptp(q, axis=0))))
    moves &= (np.abs(told) > 0.0).sum(axis=0) > FEWEST_STEPS
    return np.where(moves, ratio, np.nan), np.where(moves, alike, np.nan)


def near(value: float, wanted: float) -> bool:
    """Return whether two positive numbers agree within `RATIO_TOLERANCE`."""
    return bool(wanted / (1.0 + RATIO_TOLERANCE) < value < wanted * (1.0 + RATIO_TOLERANCE))


def look(
    time: Array | None,
    q: Array,
    qd: Array | None,
    *,
    told: dict[str, float | None],
    rate: float | None,
    angles: str | None,
    revolute: NDArray[np.bool_] | None = None,
) -> UnitEvidence:
    """Find factors to SI.

    Args:
        time: (T,) stamps in the file's unit, None if there are none.
        q: (T, n) in the file's units, finite rows.
        qd: the same, None if there are none.
        told: factors that names say, by signal; None where they do not.
        rate: rows per second, as the user says.
        angles: "degrees" or "radians", as the user says.
        revolute: (n,) mask of joints that turn; all of them if None.
    """
    out = UnitEvidence(turned=np.ones(q.shape[1]))
    turning = np.ones(q.shape[1], bool) if revolute is None else np.asarray(revolute, bool)
    if rate is not None:
        out.rate, time = rate, None
        out.notes.append(f"{rate:g} rows a second, as you say")
    stamps = np.arange(len(q), dtype=np.float64) if time is None else time
    ratios = np.full(q.shape[1], np.nan)
    if qd is not None:
        ratios, alike = slopes(stamps, q, qd)
        _check_likeness(out, ratios, alike)
        _check_signs(out, ratios)
    if time is not None:
        _time_unit(out, time, told.get("time"))
    step = out.time if time is not None else (None if out.rate is None else 1.0 / out.rate)
    common = float(np.nanmedian(np.abs(ratios[turning]))) if np.isfinite(ratios[turning]).any() else np.nan
    factors = _angle_factors(told, angles)
    if time is None and rate is None:
        _missing_time(out, common, factors, qd is not None)
        step = None if out.rate is None else 1.0 / out.rate
    _angles(out, q[:, turning], common if out.qd_sound else np.nan, step, factors, angles)
    return out


def _angle_factors(told: dict[str, float | None], angles: str | None) -> dict[str, float | None]:
    if angles is not None:
        factor = DEGREE if angles == "degrees" else 1.0
        return {"q": factor, "qd": told.get("qd")}
    return {"q": told.get("q"), "qd": told.get("qd")}


def _check_likeness(out: UnitEvidence, ratios: Array, alike: Array) -> None:
    bad = np.flatnonzero(np.isfinite(alike) & (np.abs(alike) < LEAST_SPEED_LIKENESS))
    spread = np.abs(ratios[np.isfinite(ratios) & (np.abs(alike) >= LEAST_SPEED_LIKENESS)])
    uneven = len(spread) > 1 and spread.max() > (1.0 + RATIO_TOLERANCE) ** 2 * spread.min()
    if len(bad) * 2 >= max(1, np.isfinite(alike).sum()) or uneven:
        out.qd_sound = False
        worst = f"joint {bad[0] + 1}" if len(bad) else "the joints differ"
        out.notes.append(f"the file's speeds do not belong to its positions ({worst}): left aside")


def _check_signs(out: UnitEvidence, ratios: Array) -> None:
    if not out.qd_sound:
        return
    flipped = np.flatnonzero(np.isfinite(ratios) & (ratios < 0.0))
    if len(flipped):
        out.turned[flipped] = -1.0
        joints = ", ".join(str(j + 1) for j in flipped)
        out.notes.append(f"speeds of joint {joints} have the other sign than their positions: turned round")


def _time_unit(out: UnitEvidence, time: Array, told: float | None) -> None:
    steps = np.diff(time)
    rising = steps[steps > 0.0]
    if len(rising) < 0.5 * len(steps):
        out.questions.append(
            f"the stamps rise in {len(rising)} of {len(steps)} rows only: too coarse, or no time; --rate HZ says how "
            "many rows a second there are"
        )
        return
    step = float(np.median(rising))
    if told is not None:
        out.time = told
        return
    fits = [word for word, unit in TIME_UNITS.items() if SHORTEST_ROW_STEP <= step * unit <= LONGEST_ROW_STEP]
    if len(fits) == 1:
        out.time = TIME_UNITS[fits[0]]
        if fits[0] != "seconds":
            out.notes.append(f"time in {fits[0]}")
        return
    if not fits:
        out.questions.append(
            f"stamps are {step:.4g} apart: too slow a log, or a time in none of {', '.join(TIME_UNITS)}; --rate HZ "
            "says how many rows a second there are, --columns FILE which column is the time"
        )
        return
    readings = " or ".join(f"{1.0 / (step * TIME_UNITS[w]):.5g} Hz ({w})" for w in fits)
    out.questions.append(f"stamps are {step:.4g} apart: {readings}? --rate HZ says which")


def _missing_time(out: UnitEvidence, common: float, factors: dict[str, float | None], speeds: bool) -> None:
    """Take the rate from positions and speeds: with both in the same angles, Δq = q̇/rate."""
    if not speeds or not np.isfinite(common) or not out.qd_sound:
        out.questions.append("no column of time, and no speeds that tell it: --rate HZ says how many rows a second")
        return
    q, qd = factors["q"], factors["qd"]
    shares = [(q or 1.0) / (qd or 1.0)] if q is not None and qd is not None else [1.0, DEGREE, 1.0 / DEGREE]
    fits = [common * share for share in shares if SHORTEST_ROW_STEP <= common * share <= LONGEST_ROW_STEP]
    if len(fits) != 1:
        readings = " or ".join(f"{1.0 / step:.4g} Hz" for step in fits) or "none that a log can have"
        out.questions.append(
            f"no column of time: positions and speeds tell {readings}, if one of them is in degrees; --rate HZ"
        )
        return
    exact = 1.0 / fits[0]
    out.rate = _round_rate(exact)
    out.notes.append(
        f"no column of time: positions and speeds agree at {exact:.1f} rows a second, taken as {out.rate:g} Hz"
    )


def _round_rate(rate: float) -> float:
    usual = np.array(
        [10, 20, 25, 30, 40, 50, 60, 100, 120, 125, 200, 240, 250, 400, 500, 800, 1000, 2000, 4000, 5000, 8000]
    )
    at = int(np.argmin(np.abs(usual / rate - 1.0)))
    return float(usual[at]) if abs(usual[at] / rate - 1.0) < 0.01 else float(f"{rate:.5g}")


def _angles(
    out: UnitEvidence, q: Array, common: float, step: float | None, factors: dict[str, float | None], angles: str | None
) -> None:
    """Find the units of positions and speeds; `common` is the ratio of Δq to q̇·Δt, in the file's units."""
    reach = float(np.nanmax(np.abs(q))) if q.size else 0.0
    known, speed = factors["q"], factors["qd"]
    # Δq·f_q = q̇·f_qd·Δt·f_t, so f_q/f_qd = f_t/common
    tie = None if step is None or not np.isfinite(common) or common <= 0.0 else step / common
    if tie is not None:
        share = next((s for s in (1.0, DEGREE, 1.0 / DEGREE) if near(tie, s)), None)
        if share is None:
            out.questions.append(
                f"positions change {1.0 / tie:.3g} times as fast as the speeds say: other units, another side of the "
                "gears, or another rate? --columns FILE gives units and scales, --rate HZ the rate"
            )
            return
        pairs = [(f, f / share) for f in (1.0, DEGREE) if np.isclose(f / share, 1.0) or np.isclose(f / share, DEGREE)]
        pairs = [
            p
            for p in pairs
            if (known is None or np.isclose(p[0], known)) and (speed is None or np.isclose(p[1], speed))
        ]
        if not pairs:
            out.questions.append(
                "the units that the names say do not fit: positions and speeds differ by another factor; --columns FILE"
            )
            return
        if len(pairs) == 1:
            out.q, out.qd = pairs[0]
            if known is None and pairs[0] != (1.0, 1.0):
                words = ["degrees" if np.isclose(f, DEGREE) else "radians" for f in pairs[0]]
                out.notes.append(f"positions in {words[0]}, speeds in {words[1]}/s")
            _check_reach(out, reach * out.q, known is not None)
            return
    if known is not None:
        out.q = known
        out.qd = speed if speed is not None else known
        if angles is None and known != 1.0:
            out.notes.append("positions in degrees, as their names say")
        _check_reach(out, reach * out.q, True)
        return
    if reach > WIDEST_ANGLE:
        out.questions.append(
            f"positions reach {reach:.4g}: degrees of the joints (--angles degrees), or radians of the motors, before "
            "the gears (--columns FILE with [gear] matrix)?"
        )
        return
    out.qd = 1.0 if speed is None else speed


def _check_reach(out: UnitEvidence, reach: float, told: bool) -> None:
    if reach > WIDEST_ANGLE and not told:
        out.questions.append(
            f"positions reach {reach:.4g} rad: angles of the motors, before the gears? --columns FILE with "
            "[gear] matrix"
        )
    elif reach > WIDEST_ANGLE:
        out.questions.append(
            f"positions reach {reach:.4g} rad in the unit that is said: of the motors? --columns FILE with [gear] "
            "matrix; or in the other unit: --angles"
        )
