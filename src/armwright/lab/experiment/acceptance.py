# SPDX-License-Identifier: Apache-2.0
"""What an experiment must show: limits of ours, judged one by one; what cannot be judged says why.

004 sets no limits: it reports what came out. Every limit here is ours and says where it comes from: a figure that the
thesis prints, taken as a mark; runs of a simulated arm with the thesis's friction and currents
(``docs/measure_lab_limits.py`` repeats them); or a rate of a device. `section` is that of 004 with the experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.felt_contacts import WELL_SEEN
from armwright.lab.experiment.compare_wrenches import COMPONENTS, FRICTION, NONE, Compared, Detected
from armwright.lab.experiment.model_torques import DESCRIBED

if TYPE_CHECKING:
    from armwright.identify.drive_gains import FittedDrives
    from armwright.lab.experiment.model_torques import ModelTorques
    from armwright.lab.experiment.motion_check import MotionCheck
    from armwright.lab.experiment.run_data import Data, SensorClock, SensorSamples
    from armwright.types import Array

STAND, TORQUES, ACCELERATION, CURRENTS, FORCES = "4.4", "5.4", "5.5", "6.1", "6.2"
"""Sections of 004."""
R2_GAIN = 0.4
K_WITHIN = (0.10, 0.05, 0.05, 0.10, 0.40)
B_WITHIN = (0.5, 0.5, 0.5, 0.1, 0.1)  # [N m]
RATIOS = np.array([3.0, 3.0, 1.5, 1.2, 1.2, 1.2])
MOST_ERROR = np.array([10.0, 10.0, 10.0, 1.5, 1.5, 1.5])
MOST_TORQUE_ERROR = 1.2439  # [N m] model C's largest in Table 5.6
MOST_ACCELERATION_ERROR = 0.1793  # [m/s²] the smallest of Table 5.7
UR_SAMPLE_SECONDS = 0.008  # [s] of a UR
NO_TRUTH = "the truth of real devices is not known"

SIMULATED = "simulated runs with (6.2), (6.6) and 0.15 A of noise"
FROM_R2 = f"0.22 below the smallest of {SIMULATED}"
FROM_K = f"1.8 to 12 deviations of {SIMULATED}"
FROM_B = f"2.9 to 15 deviations of {SIMULATED}"
FROM_LAST = "joint 6 moves no mass: only friction over k can be seen"
FROM_RATIOS = "below those of Table 6.1: 6.1 6.0 1.8, moments 3.2 3.3 1.2"
FROM_ERRORS = "above those of Table 6.1: 6.2 8.7 5.6 N, 1.0 1.2 1.2 N m"
FROM_DETECTOR = "threshold: section 6.2 (“≥ 10 N”); least push: of the experiment file"
FROM_CONDITION = "ours alone: where forces are told from torques at all"
FROM_SECOND = "section 6.3.2 says that 004 used one path only"
FROM_STREAM = "125 Hz of Table 4.3; two rows for the ends"
FROM_SENSOR = "every 4 ms of section 4.4.1; 2 % ours alone"
FROM_CLOCK = "one sample of Table 4.3; 004 ensures none (section 4.4.3)"
FROM_TORQUE = "model C's largest in Table 5.6"
FROM_ACCELERATION = "the smallest of Table 5.7"


@dataclass(frozen=True)
class Criterion:
    """One limit of ours.

    Attributes:
        section: of 004, where the experiment is told. what: is judged. limit: in words.
        origin: where the limit comes from. found: in words.
        passed: None if it cannot be judged.
    """

    section: str
    what: str
    limit: str
    origin: str
    found: str
    passed: bool | None


def row(values: Array | Sequence[float], digits: int = 2) -> str:
    """Return numbers side by side, as text."""
    return " ".join(f"{x:.{digits}f}" for x in np.asarray(values))


def judge_torques(found: ModelTorques, virtual: bool) -> Criterion:
    """Judge section 5.4: the torque of the described arm against the controller's; of a virtual one it is the same."""
    errors = found.mean_error(DESCRIBED)
    told = row(errors, 3) + " N m" + (" (the virtual controller has the same arm)" if virtual else "")
    what = f"{found.run}: mean torque error of the description, joints 1–6"
    return Criterion(
        TORQUES, what, f"≤ {MOST_TORQUE_ERROR:g} N m", FROM_TORQUE, told, bool((errors <= MOST_TORQUE_ERROR).all())
    )


def judge_motion(found: MotionCheck) -> Criterion:
    """Judge section 5.5: the linear acceleration of the inertial unit behind 004's filter."""
    errors = found.thesis.mae
    what = f"{found.run}: mean error of the acceleration x y z"
    limit, good = f"≤ {MOST_ACCELERATION_ERROR:g} m/s²", bool((errors <= MOST_ACCELERATION_ERROR).all())
    return Criterion(ACCELERATION, what, limit, FROM_ACCELERATION, row(errors, 3) + " m/s²", good)


def judge_currents(found: FittedDrives, truth: dict[str, Any] | None) -> list[Criterion]:
    """Judge section 6.1: current and torque."""
    gain = found.r2_friction - found.r2_rigid
    good = bool((gain >= R2_GAIN).all())
    what = "R² of torque on current, with friction minus without, joints 1–6"
    out = [Criterion(CURRENTS, what, f"≥ {R2_GAIN}", FROM_R2, row(gain), good)]
    k_limit = "± " + " ".join(f"{100 * x:.0f}" for x in K_WITHIN) + " %"
    b_limit = "± " + " ".join(f"{x:g}" for x in B_WITHIN) + " N m"
    k_what, b_what = (f"{letter} of joints 1–5 against the truth" for letter in "kb")
    if truth is None:
        out.append(Criterion(CURRENTS, k_what, k_limit, FROM_K, NO_TRUTH, None))
        out.append(Criterion(CURRENTS, b_what, b_limit, FROM_B, NO_TRUTH, None))
    else:
        off, apart = found.k / np.array(truth["k"]) - 1.0, found.b - np.array(truth["b"])
        told, good = row(100.0 * off[:5], 1) + " %", bool((abs(off[:5]) <= K_WITHIN).all())
        out.append(Criterion(CURRENTS, k_what, k_limit, FROM_K, told, good))
        told, good = row(apart[:5], 3) + " N m", bool((abs(apart[:5]) <= B_WITHIN).all())
        out.append(Criterion(CURRENTS, b_what, b_limit, FROM_B, told, good))
    told = f"{100 * found.share[5]:.0f} % deviation: " + ("determined" if found.determined[5] else "undetermined")
    what, limit = "k of joint 6, without a known load", "called undetermined"
    return [*out, Criterion(CURRENTS, what, limit, FROM_LAST, told, not found.determined[5])]


def judge_wrenches(found: Compared, seen: Detected, threshold: float, least: float) -> list[Criterion]:
    """Judge section 6.2: the wrench of one run with contact."""
    run = found.run
    errors, without = found.mean_error(FRICTION), found.mean_error(NONE)
    ratio = without / errors
    limits = " ".join(f"{x:g}" for x in RATIOS)
    worst = float(found.condition[found.judged].max(initial=0.0))
    flagged = f"{100 * found.singular:.1f} % of the motion flagged; condition of the rest up to {worst:.0f}"
    missed = f"{seen.missed} of {len(seen.pushes)} missed; {seen.false_alarms} false in {60 * seen.minutes:.0f} s"
    parts = ", ".join(COMPONENTS)
    return [
        Criterion(
            FORCES,
            f"{run}: error without friction / with, {parts}",
            f"≥ {limits}",
            FROM_RATIOS,
            row(ratio, 1),
            bool((ratio >= RATIOS).all()),
        ),
        Criterion(
            FORCES,
            f"{run}: mean error with friction, {parts}",
            "≤ 10 N, 1.5 N m",
            FROM_ERRORS,
            row(errors),
            bool((errors <= MOST_ERROR).all()),
        ),
        Criterion(
            FORCES,
            f"{run}: detector |F_z| ≥ {threshold:g} N on pushes from {least:g} N",
            "none missed",
            FROM_DETECTOR,
            missed,
            seen.missed == 0 if seen.pushes else None,
        ),
        Criterion(
            FORCES,
            f"{run}: what is printed as valid",
            f"condition < {WELL_SEEN:g}",
            FROM_CONDITION,
            flagged,
            worst < WELL_SEEN,
        ),
    ]


def judge_second_path(runs: Sequence[tuple[str, str]]) -> Criterion:
    """Judge section 6.2: results on another path than the one that was fitted; runs as (name, path of the moves)."""
    paths = {path for _, path in runs}
    told = f"{len(runs)} runs with contact on {len(paths)} path{'s' if len(paths) != 1 else ''}"
    return Criterion(FORCES, "repeated on a second path", "2 paths", FROM_SECOND, told, len(paths) >= 2)


def judge_stand(data: Data, clocks: dict[str, SensorClock], rate: float) -> list[Criterion]:
    """Judge section 4.4: what the stand recorded in one run; rate: of a virtual force sensor [1/s], 0 if unknown."""
    name, t = data.name, data.log.t
    wanted, steps = (t[-1] - t[0]) / UR_SAMPLE_SECONDS + 1.0, np.abs(np.diff(t) - UR_SAMPLE_SECONDS).max()
    lost = {topic: int(counted["lost"]) for topic, counted in data.devices.items()}
    robot = sum(n for topic, n in lost.items() if topic.startswith("/robot"))
    out = [
        Criterion(
            STAND,
            f"{name}: rows of the robot by its own clock",
            "± 2 of one every 8 ms, none lost",
            FROM_STREAM,
            f"{len(t)} rows in {t[-1] - t[0]:.2f} s, step off by at most {1e6 * steps:.0f} µs, {robot} lost",
            bool(abs(len(t) - wanted) <= 2 and steps < 1e-6 and robot == 0),
        )
    ]
    if data.ft is not None:
        found = (len(data.ft) - 1) / (data.ft.t[-1] - data.ft.t[0])
        told = f"{found:.2f} /s, {lost.get('/ft', 0)} lost"
        good = bool(abs(found / rate - 1.0) < 0.02) if rate else None
        what, limit = f"{name}: rate of the force sensor", f"{rate or 250.0:g} /s ± 2 %"
        out.append(Criterion(STAND, what, limit, FROM_SENSOR, told, good))
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
        return Criterion(STAND, what, limit, FROM_CLOCK, f"{said}; {NO_TRUTH}", None)
    exact = (sensor.t - truth["clock"]["offset"]) / (1.0 + truth["clock"]["drift"])
    off = float(np.abs(clock.t - exact).max())
    told = f"off by at most {1e3 * off:.1f} ms, {clock.said}"
    return Criterion(STAND, what, limit, FROM_CLOCK, told, off <= UR_SAMPLE_SECONDS)
