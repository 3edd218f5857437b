"""The runs of chapter 7 on two layouts in place of the lost one, and what is measured on them."""

from __future__ import annotations

import time
from functools import cache
from typing import NamedTuple

import numpy as np

from armwright.contact.cylinders_000 import upright_cylinders
from armwright.contact.world import World
from armwright.dynamics import mass_matrix
from armwright.kinematics import jacobian
from armwright.robot.model import Robot
from armwright.simulation.exploration.explore import explore
from armwright.simulation.exploration.field import find_world
from armwright.simulation.exploration.result import Exploration
from armwright.studies.collision.held_table import held_error
from armwright.studies.collision.setting import K_0, Array, arm, f_min

LAYOUTS = "AB"


class Timed(NamedTuple):
    """A run and what it took to compute it [s]."""

    run: Exploration
    seconds: float


@cache
def timed(robot: Robot, layout: str) -> Timed:
    """One run by the report's own rules, 50 s at most."""
    began = time.perf_counter()
    found = explore(robot, layout, kinematics=arm(), published=True, duration=50.0)
    return Timed(found, time.perf_counter() - began)


def run(robot: Robot, layout: str) -> Exploration:
    """The same without the clock."""
    return timed(robot, layout).run


@cache
def free_run() -> Exploration:
    """The same motion with nothing in the way."""
    return explore(arm(), World(name="empty"), published=True)


def reaches(robot: Robot) -> bool:
    """Whether the arm comes to P_d within 50 s on both layouts."""
    return all(run(robot, w).reached and run(robot, w).arrival < 50.0 for w in LAYOUTS)


def arrivals(robot: Robot) -> Array:
    """Arrival at P_d on layouts A and B [s]."""
    return np.array([run(robot, w).arrival for w in LAYOUTS])


def counts(robot: Robot) -> Array:
    """Detected contacts on layouts A and B."""
    return np.array([float(len(run(robot, w).contacts)) for w in LAYOUTS])


def first_lags(robot: Robot) -> Array:
    """From the first touch to its detection on layouts A and B [s]."""
    return np.array([run(robot, w).contacts[0].delay for w in LAYOUTS])


def depth_of_marks(robot: Robot, layout: str) -> Array:
    """How deep the centre of each marked cell lies in an obstacle [m]; negative outside."""
    found = run(robot, layout)
    obstacles = upright_cylinders(find_world(layout))
    middle = found.maps[0].grid.centre(np.array(found.cells))[:, None, :2]
    centre = np.array([s.centre[:2] for s in obstacles])
    radius = np.array([s.radius for s in obstacles])
    return np.asarray((radius - np.linalg.norm(middle - centre, axis=-1)).max(axis=1))


def marks_inside(robot: Robot) -> bool:
    """Whether at least half of the marked cells have their centres inside obstacles, on both layouts."""
    return all(np.mean(depth_of_marks(robot, w) > 0.0) >= 0.5 for w in LAYOUTS)


class Touch(NamedTuple):
    """A touch without alarm: when it began [s] and the largest ‖F̂‖ in the 2 s after it [N]."""

    began: float
    felt: float


def unregistered(robot: Robot, layout: str) -> list[Touch]:
    """Touches, at least 0.1 s after the one before, that no alarm follows within 2 s."""
    rec = run(robot, layout).recording
    t, felt = rec.time, np.linalg.norm(rec["force_felt"], axis=1)
    touching = t[np.linalg.norm(rec["force"], axis=1) > 0.0]
    begins = touching[np.concatenate([[True], np.diff(touching) > 0.1])]
    alarms = np.array([c.time for c in run(robot, layout).contacts])
    missed = [b for b in begins if not ((alarms >= b) & (alarms < b + 2.0)).any()]
    return [Touch(float(b), float(felt[(t >= b) & (t < b + 2.0)].max())) for b in missed]


def missed(robot: Robot) -> Array:
    """Number of such touches on layouts A and B."""
    return np.array([float(len(unregistered(robot, w))) for w in LAYOUTS])


class Spike(NamedTuple):
    """The first bounce: its peak [N], and ‖F̂‖ [N] at the peak and until the arm is off the wall again."""

    peak: float
    felt_at_peak: float
    felt_at_end: float


def spike(robot: Robot, layout: str) -> Spike:
    """Measure the first bounce off the first obstacle."""
    rec = run(robot, layout).recording
    force, felt = np.linalg.norm(rec["force"], axis=1), np.linalg.norm(rec["force_felt"], axis=1)
    first = int(np.argmax(force > 0.0))
    off = first + int(np.argmax(force[first:] == 0.0))
    top = first + int(np.argmax(force[first:off]))
    return Spike(float(force[top]), float(felt[top]), float(felt[off]))


def spike_is_missed(robot: Robot) -> bool:
    """Whether F̂ shows less than a twentieth of the first peak when it happens, on both layouts."""
    return all(spike(robot, w).felt_at_peak < 0.05 * spike(robot, w).peak for w in LAYOUTS)


def correlation(robot: Robot, layout: str) -> tuple[float, float, float]:
    """Correlation, RMS difference and mean of 0.2 s averages of ‖F‖ and ‖F̂‖ while in contact (mean ‖F‖ > 0.5 N)."""
    rec = run(robot, layout).recording
    width = round(0.2 / (rec.time[1] - rec.time[0]))
    end = len(rec.time) // width * width
    a, b = (np.linalg.norm(rec[k][:end], axis=1).reshape(-1, width).mean(axis=1) for k in ("force", "force_felt"))
    a, b = a[a > 0.5], b[a > 0.5]
    return float(np.corrcoef(a, b)[0, 1]), float(np.sqrt(np.mean((a - b) ** 2))), float(a.mean())


def follows(robot: Robot) -> bool:
    """Whether the slow parts of ‖F‖ and ‖F̂‖ go together: more than half of the variance is common."""
    return all(correlation(robot, w)[0] ** 2 > 0.5 for w in LAYOUTS)


def predicted_lag(robot: Robot, layout: str) -> float:
    """f_min nᵀJ K_0⁻¹ M⁻¹ Jᵀn / v for a head-on first hit, n along x [s]."""
    found = run(robot, layout)
    k = int(np.searchsorted(found.recording.time, found.contacts[0].began))
    q, qd = found.recording["q_ref"][k], found.recording["qd_ref"][k]
    J = jacobian(arm(), q)[0]
    return float(f_min * (J @ (np.linalg.solve(mass_matrix(robot, q), J) / K_0)) / (J @ qd))


@cache
def fast_run() -> Exploration:
    """Layout A with the momentum observer that the report gave up, thresholds learned from free motion."""
    return explore(arm(), "A", observer="momentum", published=True, duration=50.0)


def resolution_explains_the_error() -> bool:
    """Whether q̃ in free motion is of order 1e-3 rad with the table held, and below 1e-5 rad interpolated."""
    held = held_error(free_run()).error
    return bool(round(np.log10(held)) == -3 and np.abs(free_run().recording["error"]).max() < 1e-5)
