# SPDX-License-Identifier: Apache-2.0
"""Which link was touched, where on it, and with what force, from an estimate of the external joint torques.

A contact on link k loads only the joints that carry link k; the torques beyond must vanish. That alone cannot tell a
push on link k from one further out that happens to pass through an axis, so the links are compared by how well a push
*anywhere on their surface* explains the estimate (`contact_evidence`): a link needs to explain the torques without
coincidence. The evidence of all patches of surface makes their probabilities (`contact_patches`).

Where on the link: a contact is five unknowns, two of place and three of force, and a link with k joints gives at most
k numbers. So whether the place is known depends on pose, noise and link. It counts as known if the probability that the
contact was within a stated distance of the named point is high enough, whatever the rest of it looks like.

The motion is further evidence (`moved_towards`). At an impact, the patch that was touched moved towards what it met:
patches meet new things as often as they sweep new space, which is as fast as they move along their outward normal, m·v.
While a patch slides along a surface its velocity lies in that surface, m·v = 0, and this rule would exclude that very
patch: sliding has no such evidence.

All of that holds for one contact. Two at a time, or a model that is wrong by more than is declared, often leave
torques that no single push explains: then the likeliest one has a large χ², and nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.isolation.contact_evidence import checked, whitening
from armwright.contact.isolation.contact_patches import Patches, contact_patches, mass_within
from armwright.errors import InputError
from armwright.world.arm_capsules import LinkCapsule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.contact.isolation.contact_patches import Beside
    from armwright.robot.model import Robot
    from armwright.types import Array

LEAST_PACE = 1e-3
"""Least speed [m/s] that a patch counts with: velocities are measured, and surfaces are not quite capsules."""


def moved_towards(qd: Array) -> Beside:
    """Return the evidence of an impact for `isolate`: patches count by the speed at which they moved outwards.

    Args:
        qd: joint velocities (n,) before the contact; at rest, all patches count alike.

    >>> isolate(robot, q, tau_ext, noise=0.5, beside=moved_towards(qd))
    """

    def beside(points: Array, normals: Array, jacobian: Array) -> Array:
        return np.asarray(np.log(np.maximum(np.einsum("mi,mij,j->m", normals, jacobian, qd), LEAST_PACE)))

    return beside


Outcome = Literal["no contact", "several", "ambiguous", "link", "located"]
PLACES = 32  # likeliest patches that are tried as the named point
CHOSEN = 3  # unknowns that are chosen to fit best: two of place, and the level of force


@dataclass(frozen=True)
class Candidate:
    """A link that could have been touched, with its share of the evidence."""

    body: int
    link: str
    probability: float


@dataclass(frozen=True, eq=False)
class Isolation:
    """The answer of `isolate`: what the torques say about a contact.

    Attributes:
        outcome: "no contact" (the torques are within their noise), "several" (no single contact explains them well:
            more than one is possible), "ambiguous" (several links explain them), "link" (known, but the place on it
            is not), "located" (both are).
        candidates: links with a probability above 1 − confidence, likeliest first; empty without contact.
        point: the point of the links' surface with most of the probability about it, base frame [m]; None without
            contact.
        normal: outward normal of the link there.
        force: force on the link there, base axes [N].
        certainty: probability that the contact was within `place` of `point`.
        place: [m].
        patches: probability of every patch of surface; None without contact.
        significance: χ² of the torques against their noise.
        misfit: χ² of the torques against the likeliest single contact.
        reason: in words, why it is not more certain.
    """

    outcome: Outcome
    candidates: tuple[Candidate, ...]
    point: Array | None
    normal: Array | None
    force: Array | None
    certainty: float
    place: float
    patches: Patches | None
    significance: float
    misfit: float
    reason: str

    @property
    def body(self) -> int | None:
        """Index of the likeliest link, None without contact."""
        return self.candidates[0].body if self.candidates else None

    @property
    def link(self) -> str | None:
        """Name of the likeliest link, None without contact."""
        return self.candidates[0].link if self.candidates else None


@names_culprit
def isolate(
    robot: Robot,
    q: ArrayLike,
    tau_ext: ArrayLike,
    noise: ArrayLike,
    *,
    capsules: Sequence[LinkCapsule] | None = None,
    friction: float = 0.5,
    confidence: float = 0.95,
    alarm: float = 1e-3,
    place: float = 0.03,
    single: float = 0.05,
    beside: Beside | None = None,
) -> Isolation:
    """Find the link that was touched, the place and the force, from one estimate of external joint torque.

    Args:
        robot: the arm.
        q: joint coordinates (n,).
        tau_ext: external joint torque, what the world does to the arm (n,) [N m].
        noise: its error: a standard deviation, one per joint (n,), or a covariance (n, n) (`torque_covariance`).
        capsules: surfaces of the links; `link_capsules(robot)` by default.
        friction: coefficient that bounds how far forces lean from the normal [-].
        confidence: probability from which the link counts as known, and the place.
        alarm: probability at which pure noise may pass for a contact.
        place: the place counts as known if the contact was within this distance of the named point [m].
        single: probability at which a single contact, with noise as declared, may pass for several.
        beside: evidence that does not come from the torques, such as that of motion (`moved_towards`).

    Returns:
        An `Isolation`; its outcome and reason say what is not known.

    >>> isolate(robot, q, tau_ext, noise=0.5).link
    """
    from scipy.special import chdtri, ndtri  # imported here: a tenth of a second that few calls need

    x, tau, S = checked(robot, q, tau_ext, noise)
    if not (0.5 < confidence < 1.0 and 0.0 < alarm < 1.0 and 0.0 <= single < 1.0):
        raise InputError("isolate: need 0.5 < confidence < 1, 0 < alarm < 1 and 0 ≤ single < 1")
    if not (place > 0.0 and friction >= 0.0):
        raise InputError("isolate: need place > 0 and friction ≥ 0")
    W = whitening(S)
    assert W is not None
    level = float(np.sum(np.einsum("ij,j->i", W, tau) ** 2))
    largest = float(np.max(np.abs(tau) / np.sqrt(np.diag(S))))
    if level < chdtri(robot.n, alarm) and largest < -ndtri(0.5 * alarm / robot.n):
        said = "the torques are within their noise"
        return Isolation("no contact", (), None, None, None, 0.0, place, None, level, 0.0, said)
    patches = contact_patches(robot, x, tau, S, capsules=capsules, friction=friction, beside=beside)
    candidates = _links(robot, patches, confidence)
    k, certainty = _named(patches, place)
    outcome: Outcome = "located"
    reason = ""
    joints = len(robot.tree.ancestors(candidates[0].body))
    misfit = float(patches.misfit[int(np.argmax(patches.log))])
    if single > 0.0 and misfit > chdtri(max(robot.n - CHOSEN, 1), single):
        outcome = "several"
        reason = f"no single contact explains the torques (χ² {misfit:.1f}): more than one is possible"
    elif candidates[0].probability < confidence:
        others = ", ".join(f"{c.link} {c.probability:.0%}" for c in candidates)
        outcome, reason = "ambiguous", f"several links explain the torques: {others}"
    elif certainty < confidence:
        outcome = "link"
        reason = (
            f"{joints} joints carry {candidates[0].link}; their torques put the place within {1e3 * place:.0f} mm of "
            f"the named point with {certainty:.0%} only"
        )
    point, normal, force = patches.points[k], patches.normals[k], patches.force[k]
    return Isolation(outcome, candidates, point, normal, force, certainty, place, patches, level, misfit, reason)


def _links(robot: Robot, patches: Patches, confidence: float) -> tuple[Candidate, ...]:
    """Return the links by probability."""
    bodies = np.unique(patches.body)
    share = np.array([patches.probability[patches.body == b].sum() for b in bodies])
    order = np.argsort(-share, kind="stable")
    return tuple(
        Candidate(int(bodies[k]), robot.bodies[int(bodies[k])].name, float(share[k]))
        for k in order
        if share[k] > 1.0 - confidence or k == order[0]
    )


def _named(patches: Patches, place: float) -> tuple[int, float]:
    """Return the index of the patch with most probability within `place` [m] of it, and that probability."""
    likely = np.argsort(-patches.log, kind="stable")[:PLACES]
    mass = mass_within(patches, patches.points[likely], place)
    best = int(np.argmax(mass))
    return int(likely[best]), float(mass[best])
