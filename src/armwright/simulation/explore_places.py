"""Where the arm was touched, as far as the joint torques tell, made into places for the map.

If isolation locates the contact, that is the place. If not, all places remain that

  * lie on a link that could have been touched,
  * explain the torques by a push: some f ≥ 0 with tau_ext ≈ −f J_cᵀ m, m the link's outward normal there,
  * were moving towards something: m·v > 0, v the velocity of the link there before the contact,
  * have not been swept free by the arm itself before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.capsules import LinkCapsule, link_capsules
from armwright.contact.isolation import Isolation, isolate
from armwright.contact.isolation_surface import pushes, surfaces
from armwright.simulation.touch_map import DEEP, TouchMap, depth_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]

SPACING, AROUND = 0.02, 24
WITHIN = 9.0  # χ² above the best place that still explains the torques
SHARE = 0.02  # of the torques that the observer's lag and the grid leave unexplained
APART = 0.03  # [m] between the places that are kept
STRONGEST = 200.0  # [N]: a place is out of the question if only a harder push there explains the torques
SLOW = 0.05  # of the fastest end's speed, below which a place is not taken to have moved towards anything
MOST = 12  # of them
INSIDE = 0.015  # [m] in swept space where a located place cannot be right


class Places(NamedTuple):
    """Where a contact may have been: points (m, 3), the likeliest first; sure if there is one and isolation located it.

    The normal (3,) points out of the link at the likeliest place; body is that link's index, -1 if nothing is known.
    """

    points: Array
    sure: bool
    normal: Array
    body: int
    isolation: Isolation


def find_places(
    known: TouchMap,
    q: Array,
    qd: Array,
    tau: Array,
    noise: Array,
    capsules: Sequence[LinkCapsule] | None = None,
) -> Places:
    """Return the places that explain external joint torques.

    Args:
        known: the map so far.
        q: posture (n,) in contact.
        qd: joint velocities (n,) before it.
        tau: external joint torque (n,) [N m].
        noise: standard deviation of its estimate (n,) [N m].
        capsules: the links' surfaces.
    """
    robot = known.robot
    parts = tuple(link_capsules(robot) if capsules is None else capsules)
    std = np.sqrt(noise**2 + (SHARE * float(np.abs(tau).max())) ** 2)
    found = isolate(robot, q, tau, std, capsules=parts)
    if found.outcome == "located":
        assert found.point is not None and found.normal is not None and found.body is not None
        swept = depth_in(robot, known.links, known.swept, found.point[None])[0]
        if swept < INSIDE:
            return Places(found.point[None], True, found.normal, found.body, found)
    bodies = {candidate.body for candidate in found.candidates}
    points, normals, owner, misfit = _explanations(robot, q, qd, tau, std, parts, bodies)
    if len(points):
        new = depth_in(robot, known.links, known.swept, points) <= DEEP
        points, normals, owner, misfit = points[new], normals[new], owner[new], misfit[new]
    if not len(points):
        if found.point is None or found.normal is None or found.body is None:
            return Places(np.zeros((0, 3)), False, np.zeros(3), -1, found)
        return Places(found.point[None], False, found.normal, found.body, found)
    order = np.argsort(misfit)
    order = order[misfit[order] <= misfit[order[0]] + WITHIN]
    kept: list[int] = []
    for k in order.tolist():
        if len(kept) < MOST and all(np.linalg.norm(points[k] - points[j]) > APART for j in kept):
            kept.append(k)
    return Places(points[kept], False, normals[kept[0]], int(owner[kept[0]]), found)


def _explanations(
    robot: Robot, q: Array, qd: Array, tau: Array, std: Array, parts: tuple[LinkCapsule, ...], bodies: set[int]
) -> tuple[Array, Array, Array, Array]:
    """Points (m, 3), normals (m, 3), bodies (m,) and misfits χ² (m,) of pushes on moving surfaces."""
    out = []
    posed = surfaces(robot, q, parts)
    fastest = max(float(np.linalg.norm(pushes(robot, q, s.body, s.at([s.low, s.high], [0.0, 0.0])[0])[0] @ qd, axis=-1)
                        .max()) for s in posed) + 1e-9  # fmt: skip
    for surface in posed:
        if surface.body not in bodies:
            continue
        u, theta, _ = surface.grid(SPACING, AROUND)
        points, normals = surface.at(u, theta)
        linear, _ = pushes(robot, q, surface.body, points)
        towards = np.einsum("mi,mij,j->m", normals, linear, qd)
        a = -np.einsum("mij,mi->mj", linear, normals) / std  # what 1 N does
        y = tau / std
        size = np.maximum((a @ y) / np.maximum(np.sum(a * a, axis=1), 1e-12), 0.0)
        misfit = np.sum((y - size[:, None] * a) ** 2, axis=1)
        keep = (towards > SLOW * fastest) & (size > 0.0) & (size < STRONGEST)
        # a patch of surface meets new things as often as it sweeps new space
        misfit[keep] -= 2.0 * np.log(towards[keep] / fastest)
        out.append((points[keep], normals[keep], np.full(int(keep.sum()), surface.body), misfit[keep]))
    if not out:
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0)
    parts_of = [np.concatenate(column) for column in zip(*out, strict=True)]
    return parts_of[0], parts_of[1], parts_of[2], parts_of[3]


def push_size(robot: Robot, q: Array, body: int, point: Array, normal: Array, tau: Array) -> float:
    """Size f ≥ 0 [N] of the push −f m at a place that explains the torques (n,) best."""
    linear, _ = pushes(robot, q, body, point[None])
    a = -linear[0].T @ normal
    return max(float(a @ tau) / max(float(a @ a), 1e-12), 0.0)
