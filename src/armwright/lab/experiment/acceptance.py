# SPDX-License-Identifier: Apache-2.0
"""Acceptance criteria of 004's experiments (E5, E6, E7), judged one by one; what cannot be judged says why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.felt_contacts import WELL_SEEN
from armwright.lab.experiment.compare_wrenches import COMPONENTS, FRICTION, NONE, Compared, Detected

if TYPE_CHECKING:
    from armwright.identify.drive_gains import FittedDrives
    from armwright.lab.experiment.run_data import Data, SensorClock, SensorSamples
    from armwright.types import Array

R2_GAIN = 0.4
K_WITHIN = (0.10, 0.05, 0.05, 0.10, 0.40)
B_WITHIN = (0.5, 0.5, 0.5, 0.1, 0.1)  # [N m]
RATIOS = np.array([3.0, 3.0, 1.5, 1.2, 1.2, 1.2])
MOST_ERROR = np.array([10.0, 10.0, 10.0, 1.5, 1.5, 1.5])
UR_SAMPLE_SECONDS = 0.008  # [s] of a UR
NO_TRUTH = "the truth of real devices is not known"


@dataclass(frozen=True)
class Criterion:
    """One demand: experiment, what, limit, what was found, whether it is met (None: it cannot be judged)."""

    experiment: str
    what: str
    limit: str
    found: str
    passed: bool | None


def row(values: Array | Sequence[float], digits: int = 2) -> str:
    """Return numbers side by side, as text."""
    return " ".join(f"{x:.{digits}f}" for x in np.asarray(values))


def judge_currents(found: FittedDrives, truth: dict[str, Any] | None) -> list[Criterion]:
    """Judge E5: current and torque."""
    gain = found.r2_friction - found.r2_rigid
    out = [
        Criterion(
            "E5",
            "R² of torque on current, with friction minus without, joints 1–6",
            f"≥ {R2_GAIN}",
            row(gain),
            bool((gain >= R2_GAIN).all()),
        )
    ]
    k_limit = "± " + " ".join(f"{100 * x:.0f}" for x in K_WITHIN) + " %"
    b_limit = "± " + " ".join(f"{x:g}" for x in B_WITHIN) + " N m"
    if truth is None:
        out.append(Criterion("E5", "k of joints 1–5 against the truth", k_limit, NO_TRUTH, None))
        out.append(Criterion("E5", "b of joints 1–5 against the truth", b_limit, NO_TRUTH, None))
    else:
        off, apart = found.k / np.array(truth["k"]) - 1.0, found.b - np.array(truth["b"])
        told = row(100.0 * off[:5], 1) + " %"
        out.append(
            Criterion("E5", "k of joints 1–5 against the truth", k_limit, told, bool((abs(off[:5]) <= K_WITHIN).all()))
        )
        told, good = row(apart[:5], 3) + " N m", bool((abs(apart[:5]) <= B_WITHIN).all())
        out.append(Criterion("E5", "b of joints 1–5 against the truth", b_limit, told, good))
    last = f"{100 * found.share[5]:.0f} % deviation: " + ("determined" if found.determined[5] else "undetermined")
    out.append(
        Criterion("E5", "k of joint 6, without a known load", "called undetermined", last, not found.determined[5])
    )
    return out


def judge_wrenches(found: Compared, seen: Detected, threshold: float, least: float) -> list[Criterion]:
    """Judge E6: the wrench of one run with contact."""
    run = found.run
    errors, without = found.mean_error(FRICTION), found.mean_error(NONE)
    ratio = without / errors
    limits = " ".join(f"{x:g}" for x in RATIOS)
    worst = float(found.condition[found.judged].max(initial=0.0))
    flagged = f"{100 * found.singular:.1f} % of the motion flagged; condition of the rest up to {worst:.0f}"
    parts = ", ".join(COMPONENTS)
    return [
        Criterion(
            "E6",
            f"{run}: error without friction / with, {parts}",
            f"≥ {limits}",
            row(ratio, 1),
            bool((ratio >= RATIOS).all()),
        ),
        Criterion(
            "E6",
            f"{run}: mean error with friction, {parts}",
            "≤ 10 N, 1.5 N m",
            row(errors),
            bool((errors <= MOST_ERROR).all()),
        ),
        Criterion(
            "E6",
            f"{run}: detector |F_z| ≥ {threshold:g} N on pushes from {least:g} N",
            "none missed",
            f"{seen.missed} of {len(seen.pushes)} missed; {seen.false_alarms} false in {60 * seen.minutes:.0f} s",
            seen.missed == 0 if seen.pushes else None,
        ),
        Criterion("E6", f"{run}: what is printed as valid", f"condition < {WELL_SEEN:g}", flagged, worst < WELL_SEEN),
    ]


def judge_second_path(runs: Sequence[tuple[str, str]]) -> Criterion:
    """Judge E6: results on another path than the one that was fitted; runs as (name, path of the moves)."""
    paths = {path for _, path in runs}
    told = f"{len(runs)} runs with contact on {len(paths)} path{'s' if len(paths) != 1 else ''}"
    return Criterion("E6", "repeated on a second path", "2 paths", told, len(paths) >= 2)


def judge_stand(data: Data, clocks: dict[str, SensorClock], rate: float) -> list[Criterion]:
    """Judge E7: what the stand recorded in one run; rate: of a virtual force sensor [1/s], 0 if unknown."""
    name, t = data.name, data.log.t
    wanted, steps = (t[-1] - t[0]) / UR_SAMPLE_SECONDS + 1.0, np.abs(np.diff(t) - UR_SAMPLE_SECONDS).max()
    lost = {topic: int(counted["lost"]) for topic, counted in data.devices.items()}
    robot = sum(n for topic, n in lost.items() if topic.startswith("/robot"))
    out = [
        Criterion(
            "E7",
            f"{name}: rows of the robot by its own clock",
            "± 2 of one every 8 ms, none lost",
            f"{len(t)} rows in {t[-1] - t[0]:.2f} s, step off by at most {1e6 * steps:.0f} µs, {robot} lost",
            bool(abs(len(t) - wanted) <= 2 and steps < 1e-6 and robot == 0),
        )
    ]
    if data.ft is not None:
        found = (len(data.ft) - 1) / (data.ft.t[-1] - data.ft.t[0])
        told = f"{found:.2f} /s, {lost.get('/ft', 0)} lost"
        good = bool(abs(found / rate - 1.0) < 0.02) if rate else None
        out.append(Criterion("E7", f"{name}: rate of the force sensor", f"{rate or 250.0:g} /s ± 2 %", told, good))
    for topic, clock in clocks.items():
        sensor = data.ft if topic == "/ft" else data.imu
        assert sensor is not None
        out.append(_judge_clock(data, topic, sensor, clock))
    return out


def _judge_clock(data: Data, topic: str, sensor: SensorSamples, clock: SensorClock) -> Criterion:
    what, limit = f"{data.name}: clock of {topic} on the robot's", "within 8 ms"
    truth = data.facts.get("truth")
    if truth is None:
        said = clock.said
        if clock.alignment is not None:
            said += f"; jitter {1e3 * clock.alignment.jitter:.1f} ms"
        return Criterion("E7", what, limit, f"{said}; {NO_TRUTH}", None)
    exact = (sensor.t - truth["clock"]["offset"]) / (1.0 + truth["clock"]["drift"])
    off = float(np.abs(clock.t - exact).max())
    return Criterion("E7", what, limit, f"off by at most {1e3 * off:.1f} ms, {clock.said}", off <= UR_SAMPLE_SECONDS)
