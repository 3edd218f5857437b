# SPDX-License-Identifier: Apache-2.0
"""Where the arm was touched, as far as the joint torques tell, made into places for the map.

If isolation locates the contact, that is the place. If not, every patch of the links' surfaces has a probability:

  * the evidence of a push there (`contact_patches`): some force within the friction cone explains the torques;
  * times how fast it moved towards new things: m·v, m its outward normal, v the velocity of the link there before the
    contact: patches meet new things as often as they sweep new space;
  * zero where the arm itself has swept before.

The likeliest patches that together hold most of the probability are kept as places of doubt, unless nearly all of it
lies so close together that it is one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.isolation.isolate import Isolation, isolate
from armwright.contact.isolation.posterior import contact_patches
from armwright.exploration.joints.touch_map import DEEP, TouchMap, depth_in
from armwright.world.link_capsules import LinkCapsule, link_capsules

if TYPE_CHECKING:
    from armwright.types import Array

SHARE = 0.02  # of the torques that the observer's lag leaves unexplained
ENOUGH = 0.9  # of the probability that the kept places hold together
APART = 0.03  # [m] between the places that are kept
MOST = 12  # of them
SLOW = 0.02  # of the fastest patch's speed, below which a place is not taken to have moved towards anything
CERTAIN = 0.95  # of the probability within `APART` of the likeliest place, at which it is one place
INSIDE = 0.015  # [m] in swept space where a located place cannot be right


class Places(NamedTuple):
    """Where a contact may have been.

    Attributes:
        points: (m, 3) the likeliest first [m]. share: (m,) of the probability that each stands for.
        sure: whether it is one place: isolation located it, or what the arm swept leaves no other.
        normal: (3,) out of the link at the likeliest place. force: (3,) on the link there [N].
        body: that link's index, -1 if nothing is known. links: probability of each link by name, motion included.
        isolation: what the torques alone say.
    """

    points: Array
    share: Array
    sure: bool
    normal: Array
    force: Array
    body: int
    links: dict[str, float]
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
    names = [body.name for body in robot.bodies]
    if found.outcome == "located":
        assert found.point is not None
        assert found.normal is not None
        assert found.force is not None
        if depth_in(robot, known.links, known.swept, found.point[None])[0] < INSIDE:
            assert found.body is not None
            links = {c.link: c.probability for c in found.candidates}
            one = np.ones(1)
            return Places(found.point[None], one, True, found.normal, found.force, found.body, links, found)
    patches = found.patches or contact_patches(robot, q, tau, std, capsules=parts)
    towards = np.einsum("mi,mij,j->m", patches.normals, patches.jacobian, qd)
    new = depth_in(robot, known.links, known.swept, patches.points) <= DEEP
    possible = (towards > SLOW * max(float(towards.max()), 1e-12)) & new
    if not possible.any():
        possible = new if new.any() else np.ones_like(new)
        towards = np.ones_like(towards)
    log = np.where(possible, patches.log + np.log(np.where(possible, towards, 1.0)), -np.inf)
    p = np.exp(log - log.max())
    p /= p.sum()
    links = {names[b]: float(p[patches.body == b].sum()) for b in np.unique(patches.body).tolist()}
    best = int(np.argmax(p))

    def about(k: int) -> float:
        return float(p[np.linalg.norm(patches.points - patches.points[k], axis=1) <= APART].sum())

    sure = about(best) >= CERTAIN
    kept = [best] if sure else _kept(patches.points, p)
    return Places(
        patches.points[kept],
        np.minimum([about(k) for k in kept], 1.0),
        sure,
        patches.normals[best],
        patches.force[best],
        int(patches.body[best]),
        {name: value for name, value in sorted(links.items(), key=lambda item: -item[1]) if value > 1e-3},
        found,
    )


def _kept(points: Array, p: Array) -> list[int]:
    """Indices of patches, likeliest first, apart from each other, that stand for most of the probability."""
    kept: list[int] = []
    covered = np.zeros(len(p), dtype=bool)
    for k in np.argsort(-p).tolist():
        if len(kept) >= MOST or float(p[covered].sum()) >= ENOUGH:
            break
        if not covered[k]:
            kept.append(k)
            covered |= np.linalg.norm(points - points[k], axis=1) <= APART
    return kept
