# SPDX-License-Identifier: Apache-2.0
"""What the arm believes about a touch, compared with the truth: link, place, its uncertainty, and what friction hides.

What is judged is the change since before the alarm: a load that nobody declared, or friction that the model lacks, is
felt as well, and is no touch.

A tool wrench is shown only where the tool's link is what was touched. A push elsewhere has no tool wrench: inverting
the Jacobian would still give one, and it would be wrong.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.isolation.isolate import isolate
from armwright.contact.isolation.torque_change import torque_covariance
from armwright.contact.wrench_estimate import tool_wrench
from armwright.errors import ArmwrightError

if TYPE_CHECKING:
    from armwright.contact.isolation.contact_patches import Patches
    from armwright.robot.model import Robot
    from armwright.types import Array

OBSERVER_DEVIATION = 0.3  # [N m] standard deviation assumed of the observer
STANDING = 0.01  # [rad/s]
HIDDEN = 0.8  # share of the true torque below which friction counts as hiding force
DRAWN_PROBABILITY = 0.68  # probability of the radius that is drawn


class Moment(NamedTuple):
    """A copy of what is needed to judge one moment.

    Joint arrays are (n,): q, qd, the felt and the true torque, dry friction [N m]. point and force (3,) are the truth,
    body the link that is held (−1: none). before (n,) was felt before the alarm, NaN where that is not known. doubt:
    what is wrong with the model, in words.
    """

    time: float
    q: Array
    qd: Array
    felt: Array
    true: Array
    dry: Array
    point: Array
    force: Array
    body: int
    alarm: bool
    before: Array | None = None
    doubt: str = ""

    @property
    def change(self) -> Array:
        """What was felt more than before the alarm (n,) [N m]."""
        return self.felt if self.before is None else self.felt - self.before


def warm_up(robot: Robot) -> None:
    """Isolate something once: the first time imports and compiles, which takes longer than all that follow."""
    with suppress(ArmwrightError):  # an arm about which nothing can be said
        isolate(robot, robot.neutral(), np.full(robot.n, 10.0), OBSERVER_DEVIATION)


def judge(robot: Robot, now: Moment) -> dict[str, Any]:
    """Return the belief and the truth as plain data for the page."""
    out: dict[str, Any] = {"time": now.time, "alarm": now.alarm, "true": _truth(robot, now)}
    out |= {"hidden": hidden_force(now), "doubt": now.doubt}
    if not now.alarm:
        return out | {"outcome": "no contact", "reason": "no joint feels more than its threshold"}
    if not np.isfinite(now.change).all():
        return out | {"outcome": "no claim", "reason": "what was felt before the touch is not known yet"}
    standing = np.abs(now.qd) < STANDING
    S = torque_covariance(
        robot,
        now.q,
        now.qd,
        sensor=OBSERVER_DEVIATION,
        friction=1.0,
        friction_torque=np.where(standing, now.dry, 0.2 * now.dry),
    )
    found = isolate(robot, now.q, now.change, S)
    out |= {"outcome": found.outcome, "reason": found.reason}
    out["candidates"] = [{"link": c.link, "body": c.body, "probability": c.probability} for c in found.candidates]
    if found.point is not None and found.patches is not None and found.force is not None:
        out |= {"point": found.point.tolist(), "force": found.force.tolist()}
        out["radius"] = radius_of(found.patches.points, found.patches.probability, found.point)
        out["force_deviation"] = size_deviation(found.patches, S)
    if found.body == robot.tip and found.outcome in ("link", "located"):
        wrench = tool_wrench(robot, now.q, now.change, force_only=True)
        out["tool_force"] = wrench.wrench[:3].tolist()
        out["tool_reliable"] = bool(wrench.reliable)
    return out


def radius_of(points: Array, probability: Array, centre: Array) -> float:
    """Return the radius [m] about a point within which a contact lies with a probability of `DRAWN_PROBABILITY`."""
    far = np.linalg.norm(points - centre, axis=1)
    order = np.argsort(far)
    total = np.cumsum(probability[order])
    return float(far[order][min(int(np.searchsorted(total, DRAWN_PROBABILITY * total[-1])), len(far) - 1)])


def size_deviation(patches: Patches, S: Array) -> float:
    """Return the standard deviation of the size of the force [N], over all places where it may have acted.

    In one place, in the direction f of its likeliest force, the torques Jᵀf α tell α with the variance
    1/(fᵀ J S⁻¹ Jᵀ f); places differ in size as well: the two variances add up.

    Args:
        patches: of the isolation.
        S: covariance of the torques (n, n) [(N m)²].
    """
    size, p = np.linalg.norm(patches.force, axis=1), patches.probability
    direction = patches.force / np.maximum(size, 1e-12)[:, None]
    torque = np.einsum("mkn,mk->mn", patches.jacobian, direction)
    told = np.einsum("mn,mn->m", torque, np.linalg.solve(S, torque.T).T)
    sound = (size > 0.0) & (told > 0.0)
    weight = np.where(sound, p, 0.0) / p[sound].sum()
    mean = float(weight @ size)
    return float(np.sqrt(weight @ (1.0 / np.where(sound, told, 1.0) + (size - mean) ** 2)))


def hidden_force(now: Moment) -> dict[str, float] | None:
    """Return force applied and felt [N] where friction hides some: the arm stands and feels less than `HIDDEN` of it.

    Felt is the share of the true torque that the estimate has along it, times the force.
    """
    size = float(now.true @ now.true)
    applied = float(np.linalg.norm(now.force))
    if now.body < 0 or applied < 1.0 or size < 1e-6 or not now.dry.any() or np.abs(now.qd).max() > STANDING:
        return None
    share = float(now.felt @ now.true) / size
    return {"applied": applied, "felt": share * applied} if share < HIDDEN else None


def _truth(robot: Robot, now: Moment) -> dict[str, Any] | None:
    if now.body < 0:
        return None
    return {"link": robot.bodies[now.body].name, "body": now.body, "point": now.point.tolist()} | {
        "force": now.force.tolist()
    }
