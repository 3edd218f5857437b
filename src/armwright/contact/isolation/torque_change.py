# SPDX-License-Identifier: Apache-2.0
"""An estimate of external joint torque and its error: the covariance of the estimate, and its change since a contact.

`torque_covariance` follows from sensor noise and model errors. A payload that nobody declared, friction, or a wrong
mass appear in the estimate as torques that hardly change from one moment to the next. Isolated as they are, they look
like a push at some lever. A contact is a change, so what is isolated is the estimate less its mean over a window that
ends some time before the alarm, when nothing touched yet (`level_before`):

    d = r(t) − mean r(t_alarm − gap − window … t_alarm − gap)

Its covariance is learned where nothing touches (`change_covariance`): the second moment of the same differences in a
rehearsal. That holds the noise of r(t), that of the mean, their correlation, and all errors of the model that change in
so short a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

CHANGE_WINDOW = 0.1  # [s] long compared with the time in which an observer forgets
GAP_BEFORE_ALARM = 0.05  # [s] before an alarm in which something may have touched already


class Episode(NamedTuple):
    """Estimates without contact: before a moment (T, n), which could have been an alarm, and after it (m, n)."""

    before: Array
    after: Array


@names_culprit
def level_before(
    tau_ext: ArrayLike, period: float, *, window: float = CHANGE_WINDOW, gap: float = GAP_BEFORE_ALARM
) -> Array | None:
    """Return the mean (n,) of an estimate over a window that ends `gap` before its end; None if it is too short.

    Args:
        tau_ext: (T, n) until the alarm [N m].
        period: time between samples [s].
        window: its length [s].
        gap: [s].

    >>> change = run["tau_ext"][-1] - level_before(run["tau_ext"], period=0.001)
    """
    rows = np.asarray(tau_ext, dtype=np.float64)
    if rows.ndim != 2 or not (period > 0.0 and window > 0.0 and gap >= 0.0):
        raise InputError(
            f"level_before: need tau_ext (T, n), period > 0, window > 0 and gap ≥ 0; got shape {rows.shape}, "
            f"{period}, {window} and {gap}"
        )
    count, end = max(1, round(window / period)), len(rows) - round(gap / period)
    return None if end < count else np.asarray(rows[end - count : end].mean(axis=0))


@names_culprit
def change_covariance(
    episodes: Iterable[Episode], period: float, *, window: float = CHANGE_WINDOW, gap: float = GAP_BEFORE_ALARM
) -> Array:
    """Return the covariance (n, n) [(N m)²] of changes since `level_before`, learned from k > n + 1 episodes.

    A second moment of few episodes is as often too small as too large, and too small does more harm. It is scaled by
    (k + 1)/(k − n − 1), the variance of the next change given k of them, if they are normal with unknown covariance.

    Args:
        episodes: without contact.
        period: time between the samples before the moment [s].
        window: see `level_before` [s].
        gap: [s].
    """
    moments = []
    for before, after in episodes:
        level = level_before(before, period, window=window, gap=gap)
        if level is None:
            raise InputError(f"change_covariance: an episode's {len(before)} samples are too few for window and gap")
        d = np.asarray(after, dtype=np.float64) - level
        moments.append(np.einsum("ti,tj->ij", d, d) / len(d))
    k, n = len(moments), len(moments[0]) if moments else 0
    if k < n + 2 or not k:
        raise InputError(f"change_covariance: needs at least {n + 2} episodes, got {k}")
    return np.asarray(np.mean(moments, axis=0) * (k + 1) / (k - n - 1))


def link_torques(robot: Robot, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None) -> Array:
    """Return the joint torques (nb, n) that each link's own inertia and weight need; they add up to M q̈ + C q̇ + g.

    Linear in each link's mass at fixed centre of mass and radius of gyration, so a mass wrong by a share is a torque
    wrong by the same share of its row.
    """
    tree = robot.tree
    zero = np.zeros(robot.n)
    out = []
    for i in range(tree.nb):
        only = (np.arange(tree.nb) == i).astype(np.float64)
        alone = replace(tree, m=tree.m * only, h=tree.h * only[:, None], J=tree.J * only[:, None, None])
        out.append(
            rnea(
                alone,
                np.asarray(q, dtype=np.float64),
                zero if qd is None else np.asarray(qd, dtype=np.float64),
                zero if qdd is None else np.asarray(qdd, dtype=np.float64),
                friction=False,
                rotors=False,
            )
        )
    return np.array(out)


@names_culprit
def torque_covariance(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    sensor: ArrayLike,
    mass: float = 0.0,
    friction: float = 0.0,
    friction_torque: ArrayLike | None = None,
) -> Array:
    """Return the covariance (n, n) [(N m)²] of an estimated external torque at one state.

    Args:
        robot: the model.
        q: joint coordinates (n,).
        qd: joint velocities (n,); at rest if omitted.
        qdd: joint accelerations (n,); zero if omitted.
        sensor: standard deviation of the estimate's own noise, one number or (n,) [N m].
        mass: every link's mass is known within ± this share (independent, uniform).
        friction: every joint's friction is known within ± this share (independent, uniform).
        friction_torque: friction of the joints (n,) [N m]; that of the robot's sheet at qd if omitted.

    >>> torque_covariance(robot, q, sensor=0.5, mass=0.05)  # (n, n) [(N m)²]
    """
    for name, value in (("mass", mass), ("friction", friction)):
        if not (np.isfinite(value) and value >= 0.0):
            raise InputError(f"torque_covariance: {name} must be a share ≥ 0, got {value}")
    std = np.asarray(sensor, dtype=np.float64)
    if std.shape not in ((), (robot.n,)) or not np.isfinite(std).all() or (std <= 0.0).any():
        raise InputError(f"torque_covariance: sensor must be positive, one number or {robot.n}, got {std.tolist()}")
    total = np.diag(np.broadcast_to(std, (robot.n,)) ** 2)
    if mass > 0.0:
        Y = (mass / np.sqrt(3.0)) * link_torques(robot, q, qd, qdd)
        total = total + Y.T @ Y
    if friction > 0.0:
        if friction_torque is None:
            speed = np.zeros(robot.n) if qd is None else np.asarray(qd, dtype=np.float64)
            moving = np.abs(speed) > robot.tree.dead_zone
            lost = robot.tree.coulomb * np.sign(speed) * moving + robot.tree.viscous @ speed
        else:
            lost = np.asarray(friction_torque, dtype=np.float64)
            if lost.shape != (robot.n,):
                raise InputError(
                    f"torque_covariance: friction_torque must have {robot.n} entries, got shape {lost.shape}"
                )
        total = total + np.diag((friction / np.sqrt(3.0) * lost) ** 2)
    return np.asarray(total)
