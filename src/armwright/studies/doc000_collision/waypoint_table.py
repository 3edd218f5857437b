# SPDX-License-Identifier: Apache-2.0
"""6.3.3 of 000: the polynomial between waypoints (6.14), and the table of samples that C.2.2 makes of it."""

from __future__ import annotations

import numpy as np

from armwright.motion import quintic
from armwright.studies.doc000_collision.hopfield_published import HopfieldPublished
from armwright.studies.doc000_collision.planner import demo
from armwright.studies.doc000_collision.runs import ARMS, LAYOUTS, READINGS, RunReading, run
from armwright.studies.doc000_collision.setting import SEGMENT_SAMPLES, beta, generated, q_t, qd_t, qdd_t
from armwright.studies.study import Claim, Formula, Item, Shown
from armwright.types import Array

ROWS = 5000
"""num_rows of C.2.2: rows of the table, whatever the path."""
T_0, T_1 = 0.7, 1.3
"""A segment [s] that neither begins at 0 nor lasts 1, so that no factor can hide."""


def by_conditions() -> Array:
    """Return A … F (6, n) of (6.14) from its six conditions: q and q̇ at both ends, q̈ = 0 at both."""
    rows = []
    for t in (T_0, T_1):
        powers = np.array([t**5, t**4, t**3, t**2, t, 1.0])
        slopes = np.array([5 * t**4, 4 * t**3, 3 * t**2, 2 * t, 1.0, 0.0])
        rows += [powers, slopes, np.array([20 * t**3, 12 * t**2, 6 * t, 2.0, 0.0, 0.0])]
    still = np.zeros(6)
    ends = np.array([q_t, qd_t, still, q_t + 0.1 * qdd_t, -0.5 * qd_t, still])
    return np.asarray(np.linalg.solve(np.array(rows), ends))


def by_polynomial(t: Array) -> Array:
    """Return q_d, q̇_d and q̈_d (3, T, n) of that polynomial."""
    A = by_conditions()
    return np.array([np.stack([np.polyval(np.polyder(a, k), t) for a in A.T], axis=1) for k in range(3)])


def by_spline(t: Array) -> Array:
    """Return the same of the library's segment between the same ends."""
    piece = quintic(q_t, q_t + 0.1 * qdd_t, T_1 - T_0, qd0=qd_t, qd1=-0.5 * qd_t)
    return np.array(piece.evaluate(t - T_0))


INSTANTS = np.linspace(T_0, T_1, 13)[:-1]


def longest(setting: RunReading) -> int:
    """Return the most segments of any plan of the runs in one setting."""
    return max(len(plan.path) for robot in ARMS.values() for w in LAYOUTS for plan in run(robot(), w, setting).plans)


def table_reaches() -> Shown:
    """Return whether every plan of the experiment fits into the table."""
    most = max(longest(setting) for setting in READINGS)
    snake = HopfieldPublished(beta)(*demo()["serpentine"]).steps
    room = ROWS // SEGMENT_SAMPLES
    text = f"{most} segments at most of the {room} that fit; the serpentine of 6.2a would need {snake:.0f}"
    return Shown(most <= room, text)


def _notes() -> list[str]:
    out = []
    for N in (3, 12, 22, 51):
        T = generated(np.arange(N, dtype=float)[:, None]).duration
        dt = T / ((N - 1) * SEGMENT_SAMPLES)
        out.append(
            f"N = {N} rows of Q: T = round(N/2) = {T:g} s, {1e3 * T / (N - 1):.0f} ms a cell, {1e3 * dt:.2f} ms a "
            f"sample, the table ends after {ROWS * dt:.1f} s"
        )
    return out


ITEMS: tuple[Item, ...] = (
    Item(
        "6.14",
        "polynomial between two waypoints: q_d, q̇_d, q̈_d",
        Formula("A t⁵ + B t⁴ + C t³ + D t² + E t + F, q and q̇ given and q̈ = 0 at both ends"),
        lambda: by_polynomial(INSTANTS),
        lambda: by_spline(INSTANTS),
    ),
    Item(
        "6.14t",
        "the splines are there until the destination is reached: T = round(N/2) s, 100 samples a segment, 5000 rows",
        Claim("the complete time-set of q_d until the destination is reached"),
        None,
        table_reaches,
        rule="every plan of the runs (both arms, two stand-in layouts, all readings) has 50 segments at most",
        notes=_notes,
    ),
)
