"""Everywhere a contact may have been: the evidence of every patch of the links' surfaces, not only of the best one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.capsules import LinkCapsule, fixed_column, link_capsules
from armwright.contact.isolation import AROUND, RESOLUTION, SPACING, Setting, checked, evidence
from armwright.contact.isolation_surface import pushes, surfaces

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]


class Patches(NamedTuple):
    """Patches of the links' surfaces that could have been pushed.

    Attributes:
        points, normals: (m, 3) middle and outward normal, base frame [m].
        body: (m,) index of the link.
        log: (m,) logarithm of the evidence times the patch's area, up to a constant.
        force: (m, 3) likeliest force on the link there [N].
        jacobian: (m, 3, n) of the points.
    """

    points: Array
    normals: Array
    body: NDArray[np.int64]
    log: Array
    force: Array
    jacobian: Array


@names_culprit
def contact_patches(
    robot: Robot,
    q: ArrayLike,
    tau_ext: ArrayLike,
    noise: ArrayLike,
    *,
    capsules: Sequence[LinkCapsule] | None = None,
    friction: float = 0.5,
) -> Patches:
    """Return the evidence of every patch of surface for an estimate of external joint torque; see `isolate`.

    Args:
        robot: the arm.
        q: joint coordinates (n,).
        tau_ext: external joint torque (n,) [N m].
        noise: of that estimate: a standard deviation, one a joint (n,), or a covariance (n, n).
        capsules: surfaces of the links; `link_capsules(robot)` by default.
        friction: coefficient that bounds how far forces lean from the normal [-].
    """
    x, tau, W = checked(robot, q, tau_ext, noise)
    parts = link_capsules(robot) if capsules is None else tuple(capsules)
    still = fixed_column(robot, parts)
    coarse = np.linalg.inv(W.T @ W) + (RESOLUTION * float(np.max(np.abs(tau)))) ** 2 * np.eye(robot.n)
    V = np.linalg.inv(np.linalg.cholesky(coarse))
    now = Setting(robot, x, V, V @ tau, max(friction, 0.02))
    out = []
    for surface in surfaces(robot, x, tuple(part for part in parts if part not in still)):
        u, theta, cell = surface.grid(SPACING, AROUND)
        points, normals = surface.at(u, theta)
        log, force = evidence(now, surface, u, theta, cell)
        best = np.argmax(log, axis=1)
        top = log.max(axis=1)
        area = np.log((surface.high - surface.low) * max(surface.radius, 1e-3) / log.size)
        total = top + np.log(np.sum(np.exp(log - top[:, None]), axis=1)) + area
        linear, _ = pushes(robot, x, surface.body, points)
        body = np.full(len(points), surface.body)
        out.append((points, normals, body, total, force[np.arange(len(points)), best], linear))
    return Patches(*(np.concatenate(column) for column in zip(*out, strict=True)))
