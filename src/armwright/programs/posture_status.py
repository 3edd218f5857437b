# SPDX-License-Identifier: Apache-2.0
"""Status of a posture: the numbers by which RAPID and KRL say in which of its postures an arm reaches a place.

Both makers ask the same three questions of an arm with six axes, and then where each axis stands:

===================  ==========================================  =========================================
question             measure                                     bit is 1 where the measure is
===================  ==========================================  =========================================
shoulder             wrist centre before axis 1 [m]              negative (KRL S bit 0, RAPID cfx bit 2)
elbow                sin(q3 − q3 of the stretched arm)           ≥ 0 (KRL S bit 1), < 0 (RAPID cfx bit 1)
wrist                sin q5                                      negative (KRL S bit 2, RAPID cfx bit 0)
axes                 angle of each                               negative (bits of KRL's T); ⌊angle/90°⌋ of
                                                                 axes 1, 4, 6 (RAPID cf1, cf4, cf6)
===================  ==========================================  =========================================

"Before axis 1" is along base x at q1 = 0 and turns with axis 1. The angles are those of the arm's sheet, as in joint
targets. A measure within rounding of its boundary fits either number.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.kinematics import fk
from armwright.kinematics.ik_classification import HomeAxes, analyse
from armwright.kinematics.ik_limits import SLACK, TURN, turning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

ANGLE_SLACK = np.radians(0.01)  # [rad] to a boundary: targets are written with two or three decimals of a degree
LENGTH_SLACK = 1e-4  # [m] of the wrist to the plane through axis 1, for the same reason
MOST_TURNS = 1  # full turns either way that are tried of a joint without limits
RAPID_AXES = (0, 3, 5)  # whose quarters cf1, cf4 and cf6 are
SIZES = {"rapid": (4,), "krl": (1, 2)}  # how many numbers a status has, by language


class StatusFit(NamedTuple):
    """Which postures (N,) have the shoulder, elbow and wrist that a status asks for, and which have its turns too."""

    branch: NDArray[np.bool_]
    turns: NDArray[np.bool_]


class _Measured(NamedTuple):
    shoulder: Array
    elbow: Array
    wrist: Array


def has_status(robot: Robot, status: tuple[int, ...], language: str) -> bool:
    """Return whether a status of this language means something for this arm."""
    return len(status) in SIZES.get(language, ()) and _axes(robot) is not None


def status_of(robot: Robot, q: Array, language: str) -> tuple[int, ...]:
    """Return the status of a posture q (6,): (S, T) of KRL, (cf1, cf4, cf6, cfx) of RAPID."""
    m = _measured(robot, q[None])
    behind, bent, flipped = (int(bool(x)) for x in (m.shoulder[0] < 0.0, m.elbow[0] < 0.0, m.wrist[0] < 0.0))
    if language == "krl":
        return behind | (1 - bent) << 1 | flipped << 2, sum(int(angle < 0.0) << i for i, angle in enumerate(q))
    quarters = [int(np.floor(q[i] / (0.25 * TURN))) for i in RAPID_AXES]
    return (*quarters, behind << 2 | bent << 1 | flipped)


def fit_status(robot: Robot, q: Array, status: tuple[int, ...], language: str) -> StatusFit:
    """Compare postures q (N, 6) with a status."""
    m = _measured(robot, q)
    rapid = language == "rapid"
    bits = status[3] if rapid else status[0]
    shoulder, elbow, wrist = (bits >> 2, bits >> 1, bits) if rapid else (bits, ~(bits >> 1), bits >> 2)
    branch = (
        _sided(m.shoulder, shoulder & 1, LENGTH_SLACK)
        & _sided(m.elbow, elbow & 1, ANGLE_SLACK)
        & _sided(m.wrist, wrist & 1, ANGLE_SLACK)
    )
    turns = np.ones(len(q), dtype=bool)
    if rapid:
        for i, quarter in zip(RAPID_AXES, status[:3], strict=True):
            low = 0.25 * TURN * quarter
            turns &= (q[:, i] >= low - ANGLE_SLACK) & (q[:, i] <= low + 0.25 * TURN + ANGLE_SLACK)
    elif len(status) > 1:
        for i in range(q.shape[1]):
            turns &= _sided(q[:, i], status[1] >> i & 1, ANGLE_SLACK)
    return StatusFit(branch, branch & turns)


def by_status(
    robot: Robot, options: Array, near: Array, status: tuple[int, ...], language: str
) -> tuple[Array | None, bool]:
    """Return the posture (n,) among options (K, n) that a status names, nearest to `near` (n,), and if its turns fit.

    None if no option within the joint limits has its shoulder, elbow and wrist.
    """
    all_turns = with_turns(robot, options)
    fits = (
        fit_status(robot, all_turns, status, language) if len(all_turns) else StatusFit(*np.zeros((2, 0), dtype=bool))
    )
    for which, turns in ((fits.turns, True), (fits.branch, False)):
        found = all_turns[which]
        if not len(found):
            continue
        exact = np.array([status_of(robot, q, language)[: len(status)] == status for q in found])
        found = found[exact] if exact.any() else found  # within rounding of a boundary both sides fit
        return np.asarray(found[np.argmin(np.linalg.norm(found - near, axis=1))]), turns
    return None, False


def with_turns(robot: Robot, q: Array) -> Array:
    """Return postures q (N, n) with every full turn of their joints that stays within the limits (K, n)."""
    low, high = robot.lower - SLACK, robot.upper + SLACK
    free = turning(robot)
    out = []
    for posture in q:
        choices = []
        for j, angle in enumerate(posture):
            if not free[j]:
                choices.append([angle])
                continue
            near = angle - TURN * np.round(angle / TURN)
            least = np.ceil((low[j] - near) / TURN) if np.isfinite(low[j]) else -MOST_TURNS
            most = np.floor((high[j] - near) / TURN) if np.isfinite(high[j]) else MOST_TURNS
            choices.append([near + TURN * k for k in np.arange(least, most + 1)])
        out += list(product(*choices))
    return np.array(out, dtype=np.float64).reshape(-1, robot.n)


def words_of(status: tuple[int, ...], language: str) -> str:
    """Return a status as its language writes it."""
    if language == "rapid":
        return f"[{','.join(map(str, status))}]"
    return ", ".join(f"{name} {value}" for name, value in zip("ST", status, strict=False))


def _sided(measure: Array, negative: int, slack: float) -> NDArray[np.bool_]:
    return np.asarray(measure <= slack if negative else measure >= -slack)


def _axes(robot: Robot) -> HomeAxes | None:
    """Return the axes of an arm whose shoulder, elbow and wrist are what the makers mean; None of any other."""
    return robot.memo("status axes", _status_axes)


def _status_axes(robot: Robot) -> HomeAxes | None:
    found, axes = analyse(robot)
    return axes if axes is not None and (found.name == "ur" or axes.kind == "parallel23") else None


def _measured(robot: Robot, q: Array) -> _Measured:
    axes = _axes(robot)
    assert axes is not None
    w, r = axes.w, axes.r
    forward = np.cross(w[1], w[0])
    forward = forward / np.linalg.norm(forward)
    forward = -forward if forward[0] < -1e-9 or (abs(forward[0]) <= 1e-9 and forward[1] < 0.0) else forward
    T = fk(robot, q)
    centre = np.linalg.inv(axes.M) @ np.append(axes.meet, 1.0)  # lies on axis 6, so it stands still in the tool's frame
    wrist = (T @ centre)[:, :3] - r[0]
    c, s = np.cos(q[:, :1]), np.sin(q[:, :1])
    shoulder = np.einsum("ni,ni->n", wrist, c * forward + s * np.cross(w[0], forward))
    fore_end = r[3] if axes.kind == "" else axes.meet
    upper, fore = (v - (v @ w[2]) * w[2] for v in (r[2] - r[1], fore_end - r[2]))
    stretched = np.arctan2(w[2] @ np.cross(fore, upper), fore @ upper)
    return _Measured(shoulder, np.sin(q[:, 2] - stretched), np.sin(q[:, 4]))
