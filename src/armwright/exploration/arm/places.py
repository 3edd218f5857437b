# SPDX-License-Identifier: Apache-2.0
"""Where the arm was touched, as far as the joint torques tell, made into places for the map.

Every patch of the links' surfaces has a probability (`isolate`), made of

  * the evidence of a push there: some force within the friction cone explains the torques;
  * at an impact, times how fast it moved towards new things (`moved_towards`); while sliding, motion tells nothing;
  * next to nothing where the arm itself has swept before.

If nearly all of it lies so close together that it is one place, that is the place; so it never is where no single
contact explains the torques. If not, the likeliest patches that together hold most of the probability are kept as
places of doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.isolation.isolate import Isolation, isolate
from armwright.contact.isolation.motion import moved_towards
from armwright.contact.isolation.posterior import contact_patches, mass_within
from armwright.exploration.arm.touch_map import DEEP, TouchMap, depth_in
from armwright.world.link_capsules import LinkCapsule, link_capsules

if TYPE_CHECKING:
    from armwright.types import Array

SHARE = 0.02  # of the torques that the observer's lag of 10 ms leaves unexplained, if a push rises within half a second
ENOUGH = 0.9  # of the probability that the kept places hold together: one contact in ten was at none of them
APART = 0.03  # [m] between the places that are kept: what "located" means (`isolate`)
MOST = 12  # of them: more would close every way
CERTAIN = 0.95  # of the probability within `APART` of the likeliest place, at which it is one place; as in `isolate`
SWEPT = 1e-3  # weight of places where the arm has been: it may have scratched by


class Places(NamedTuple):
    """Where a contact may have been.

    Attributes:
        points: (m, 3) the likeliest first [m]. share: (m,) of the probability that each stands for.
        sure: whether it is one place, by torques, motion and what the arm swept together.
        normal: (3,) out of the link at the likeliest place. force: (3,) on the link there [N].
        body: that link's index, -1 if nothing is known. links: probability of each link by name.
        isolation: all that is known of the contact.
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
    tau: Array,
    noise: Array,
    *,
    qd: Array | None = None,
    capsules: Sequence[LinkCapsule] | None = None,
) -> Places:
    """Return the places that explain external joint torques.

    Args:
        known: the map so far.
        q: configuration (n,) in contact.
        tau: external joint torque (n,) [N m].
        noise: of its estimate: standard deviations (n,) [N m] or a covariance (n, n).
        qd: joint velocities (n,) before an impact; None while sliding.
        capsules: the links' surfaces.
    """
    robot = known.robot
    parts = tuple(link_capsules(robot) if capsules is None else capsules)
    S = (noise if noise.ndim == 2 else np.diag(noise**2)) + (SHARE * float(np.abs(tau).max())) ** 2 * np.eye(len(q))
    towards = None if qd is None else moved_towards(qd)

    def beside(points: Array, normals: Array, jacobian: Array) -> Array:
        swept = depth_in(robot, known.links, known.swept, points) > DEEP
        log = np.where(swept, np.log(SWEPT), 0.0)
        return log if towards is None else log + towards(points, normals, jacobian)

    found = isolate(robot, q, tau, S, capsules=parts, place=APART, beside=beside)
    patches = found.patches or contact_patches(robot, q, tau, S, capsules=parts, beside=beside)
    p = patches.probability
    sure = found.certainty >= CERTAIN and found.outcome not in ("several", "no contact")
    kept = _kept(patches.points, p)
    if sure:
        assert found.point is not None
        kept = [int(np.argmin(np.linalg.norm(patches.points - found.point, axis=1)))]
    best = kept[0]
    links = {robot.bodies[b].name: float(p[patches.body == b].sum()) for b in np.unique(patches.body).tolist()}
    return Places(
        patches.points[kept],
        np.minimum(mass_within(patches, patches.points[kept], APART), 1.0),
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
