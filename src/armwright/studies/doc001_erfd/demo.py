# SPDX-License-Identifier: Apache-2.0
"""Moves 2–10 of the program "Lola15DD" (001, Fig. 8) without blending: a path with sharp corners.

The document does not define its interpolation. Ours here is the plainest one: arcs and lines, orientation turned evenly
with the arc length, trapezoidal speed along the path with each segment's own acceleration, at every corner the smaller
of the two programmed speeds, at rest at both ends. The corners are left as they are: orientation rates jump there, and
that is what takes torque. `armwright run program` blends them; `motors` has both.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import ik
from armwright.kinematics.ik_result import IKBatch
from armwright.motion.cartesian_path import CartesianPath, circle_via, line
from armwright.programs.motors.motor_demand import Demand
from armwright.spatial import rotation_from_euler
from armwright.studies.doc001_erfd.setting import CYCLE_SECONDS, F_E, arm
from armwright.types import Array

PRINTED: dict[str, tuple[tuple[float, float, float], tuple[float, float, float] | None]] = {
    "s0": ((786.9329, 402.9624, 632.855), (15, -60, -175.03779)),
    "s1": ((850.5427, 0, 629.1809), None),
    "s2": ((821.9198, -402.9624, 572.256), (-15, -60, -175.037)),
    "s3": ((819.1725, -441.6397, 566.7923), None),
    "s4": ((1019.6465, -571.0567, 669.5612), (-40, -60, -90)),
    "s5": ((1238.1590, -421.6189, 810.7015), (-20, -30, -90)),
    "s6": ((1317.2706, -249.063, 873.1763), None),
    "s7": ((1289.7405, -149.4378, 867.7698), (-5, -40, -175.03779)),
    "s8_a": ((1208.2531, 0, 835.7050), (0, -30, -175.03779)),
    "s9": ((1276.7658, 149.4378, 890.2428 - 610.0), (5, -45, -175.03779)),
    "s10": ((1295.6459, 249.063, 911.1313), None),
    "s11": ((1201.5523, 421.6189, 874.1061), (10, -60, -175.03779)),
    "s12": ((970.0649, 571.0567, 755.4388), (17, -60, -175.03779)),
    "s13": ((780.8275, 441.6398, 633.2077), None),
}
"""Targets as printed: position [mm], orientation A, B, C [deg] with R = Rz(A) Ry(B) Rx(C); via points have none."""

CORRECTED = {"s6": 873.6763, "s9": 890.2428}  # z [mm]: the plane of all others passes here
MOVES: tuple[tuple[str | None, str, float, float], ...] = (
    ("s1", "s2", 760, 1000),
    ("s3", "s4", 350, 1000),
    (None, "s5", 460, 1000),
    ("s6", "s7", 300, 800),
    (None, "s8_a", 227.7, 900),
    (None, "s9", 225, 900),
    ("s10", "s11", 695, 1200),
    (None, "s12", 620, 1200),
    ("s13", "s0", 570, 1000),
)
"""Moves 2–10: via point or None, target, speed [mm/s], acceleration [mm/s²]."""

START_BRANCH = np.deg2rad([44.1162, 44.3961, -32.7075, -27.9415, -47.2794, 34.8090])
"""The branch taken at s0: shoulder forward, q5 < 0."""


def point(name: str) -> Array:
    """Return the position of a target as corrected [m], base frame."""
    x, y, z = PRINTED[name][0]
    return np.array([x, y, CORRECTED.get(name, z)]) / 1000.0


def pose(name: str) -> Array:
    """Return T_base_tool of a target as corrected."""
    angles = PRINTED[name][1]
    if angles is None:
        raise InputError(f"target {name} is a via point without orientation")
    T = np.eye(4)
    T[:3, :3] = rotation_from_euler(np.deg2rad(angles), "zyx")
    T[:3, 3] = point(name)
    return T


@cache
def segments() -> tuple[CartesianPath, ...]:
    """Return the nine segments of moves 2–10."""
    out, before = [], pose("s0")
    for via, target, _, _ in MOVES:
        after = pose(target)
        out.append(line(before, after) if via is None else circle_via(before, point(via), after))
        before = after
    return tuple(out)


class PathPiece(NamedTuple):
    """A stretch of constant acceleration along the path: start [s], [m], speed there [m/s], acceleration [m/s²]."""

    t: float
    s: float
    v: float
    a: float


@cache
def law() -> tuple[tuple[PathPiece, ...], float]:
    """Return the speed along the path, trapezoid by trapezoid, and its duration [s]."""
    speeds = [speed / 1000.0 for _, _, speed, _ in MOVES]
    corners = [0.0, *(min(a, b) for a, b in pairwise(speeds)), 0.0]
    pieces, t, s = [], 0.0, 0.0
    for k, (path, v) in enumerate(zip(segments(), speeds, strict=True)):
        a, v0, v1 = MOVES[k][3] / 1000.0, corners[k], corners[k + 1]
        top = min(v, float(np.sqrt(a * path.length + 0.5 * (v0**2 + v1**2))))
        up, down = (top**2 - v0**2) / (2.0 * a), (top**2 - v1**2) / (2.0 * a)
        for length, start, rate in ((up, v0, a), (path.length - up - down, top, 0.0), (down, top, -a)):
            if length > 1e-12:
                pieces.append(PathPiece(t, s, start, rate))
                t += length / start if rate == 0.0 else (np.sqrt(start**2 + 2.0 * rate * length) - start) / rate
                s += length
    return tuple(pieces), float(t)


@cache
def demand(dt: float = CYCLE_SECONDS) -> Demand:
    """Return wished joint positions of moves 2–10 every `dt`, with the load of the example on the tool."""
    pieces, duration = law()
    cycles = int(np.ceil(duration / dt - 1e-9))
    t = np.minimum(np.arange(cycles + 1) * dt, duration)
    at = np.maximum(np.searchsorted([piece.t for piece in pieces], t, side="right") - 1, 0)
    p = np.array(pieces)[at]
    tau = t - p[:, 0]
    ends = np.cumsum([path.length for path in segments()])
    s = np.minimum(p[:, 1] + p[:, 2] * tau + 0.5 * p[:, 3] * tau**2, ends[-1])
    which = np.minimum(np.searchsorted(ends, s, side="left"), len(ends) - 1)
    T = np.empty((cycles + 1, 4, 4))
    for k, path in enumerate(segments()):
        rows = which == k
        T[rows] = path.at(np.clip((s[rows] - (ends[k] - path.length)) / path.length, 0.0, 1.0)).T
    return Demand(dt, continued(T), wrench=-F_E, move=which[1:] + 2)


def continued(T: Array) -> Array:
    """Return joint coordinates (K, 6) of poses (K, 4, 4): of each pose's branches the one nearest to the previous."""
    found = ik(arm(), T, method="closed", limits=False)
    assert isinstance(found, IKBatch)
    q, out = START_BRANCH, np.empty((len(T), 6))
    for k in range(len(T)):
        every = found.solutions[k][: found.count[k]]
        if not len(every):
            raise InputError(f"the path leaves the arm's reach at sample {k}")
        apart = every - q
        turned = apart - 2.0 * np.pi * np.round(apart / (2.0 * np.pi))
        q = q + turned[np.argmin(np.abs(turned).max(axis=1))]
        out[k] = q
    return out
