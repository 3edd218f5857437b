# SPDX-License-Identifier: Apache-2.0
"""From alarms to contacts: when, which link, and the wrench at the tool if it was the tool that was touched.

`Ticks` holds what was felt tick by tick; `contacts_of` gathers its alarms into contacts. The link is found first. A
push on the upper arm loads two joints; read as a tool wrench it would be hundreds of newtons that nobody applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.felt_wrench import REST_DEVIATION
from armwright.contact.isolation.isolate import isolate as find_link
from armwright.contact.wrench_estimate import tool_wrench
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.identify.identified import Bands, Identified
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class Ticks:
    """Felt torque, tick by tick: K ticks of 10 ms.

    Attributes:
        t: (K,) [s]. q: (K, n).
        tau_ext: (K, n) what the world does to the joints [N m].
        band: (K, n) what does not count as contact [N m].
        level: (K,) largest |tau_ext|/band.
        alarm: (K,) whether a contact is felt.
        resting: (K, n) time for which each joint has rested [s], 0 while it moves.
        wrench: (K, 6) [f; n] of the world on the tool if it is the tool that is touched, base axes [N, N m].
        half: (K, 6) half the width of its 95 % interval: noise, friction at rest, lag of the observer, damping.
        covariance: (K, 6, 6) of it, without damping.
        seen: (K,) share left of the component that the joints feel worst; near 1 except at singularities.
    """

    t: Array
    q: Array
    tau_ext: Array
    band: Array
    level: Array
    alarm: NDArray[np.bool_]
    resting: Array
    wrench: Array
    half: Array
    covariance: Array
    seen: Array

    def __len__(self) -> int:
        return len(self.t)


TICKS_BEFORE_ALARM = 15
"""Ticks before an alarm in which its peak may lie: at rest a torque must last before it raises an alarm."""
LEVEL_TICKS = 10
"""Ticks before a contact over which the level of the felt torque is taken."""
WELL_SEEN = 20.0
"""Condition number of the Jacobian in SI units up to which a wrench is given as valid."""


@dataclass(frozen=True, eq=False)
class ToolWrench:
    """A wrench [f; n] at the tool, base axes, and how reliable it is.

    Attributes:
        wrench: (6,) that the world exerts on the tool [N, N m].
        covariance: (6, 6) of the wrench, J⁻ᵀ Σ J⁻¹.
        condition: of the Jacobian.
        valid: False near a singularity: `lost` then is the direction (6,) that the joints hardly feel.
        lost: unit direction in SI units; None where valid.
    """

    wrench: Array
    covariance: Array
    condition: float
    valid: bool
    lost: Array | None


@dataclass(frozen=True, eq=False)
class FoundContact:
    """One contact.

    Attributes:
        start, end, peak: [s]. joint: the most loaded, against its band.
        tau_ext: (n,) at the peak [N m].
        level: |tau_ext|/band there.
        link: likeliest link, None if not asked for or within noise; links: with probabilities.
        force: (3,) on the link at its likeliest point, base axes [N]; None if unknown.
        wrench: at the tool, only where the tool's link was touched.
        said: what is not known, in words.
    """

    start: float
    end: float
    peak: float
    joint: str
    tau_ext: Array
    level: float
    link: str | None = None
    links: tuple[tuple[str, float], ...] = ()
    force: Array | None = None
    wrench: ToolWrench | None = None
    said: str = ""


def link_told(contact: FoundContact) -> str:
    """Return the links that could have been touched with their probabilities, likeliest first; a dash without."""
    return ", ".join(f"{name} {probability:.0%}" for name, probability in contact.links) or "–"


def contacts_of(
    identified: Identified, bands: Bands, ticks: Ticks, *, isolate: bool = True
) -> tuple[FoundContact, ...]:
    """Gather alarms into contacts."""
    on = np.asarray(ticks.alarm, dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    out = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        first = max(0, int(start) - TICKS_BEFORE_ALARM)
        k = int(first + np.argmax(ticks.level[first:stop]))
        j = int(np.argmax(np.abs(ticks.tau_ext[k]) / ticks.band[k]))
        about: dict[str, Any] = _located(identified, bands, ticks, first, k) if isolate else {}
        out.append(
            FoundContact(
                float(ticks.t[start]),
                float(ticks.t[stop - 1]),
                float(ticks.t[k]),
                identified.robot.joints[j].name,
                ticks.tau_ext[k].copy(),
                float(ticks.level[k]),
                **about,
            )
        )
    return tuple(out)


def torque_noise(identified: Identified, bands: Bands, q: Array, resting: Array) -> Array:
    """Return the covariance (n, n) of tau_ext at one tick: residual in motion, anything in the Coulomb band at rest."""
    from armwright.dynamics.public import gravity_torque

    hidden = REST_DEVIATION * identified.friction.band(np.asarray(gravity_torque(identified.robot, q)))
    moving = np.where(np.isfinite(bands.sigma), bands.sigma, hidden)
    return np.diag(np.maximum(np.where(resting > 0.0, np.maximum(hidden, moving), moving), 1e-3) ** 2)


def _located(identified: Identified, bands: Bands, ticks: Ticks, first: int, k: int) -> dict[str, Any]:
    """Isolate the change since before the contact: a load or friction that the model lacks is felt before it, too."""
    robot = identified.robot
    before = slice(max(0, first - LEVEL_TICKS), first)
    if first < 1 or np.asarray(ticks.alarm[before], dtype=bool).any():
        return {"said": "felt from the start, or right after another contact: the level before it is unknown, no claim"}
    q, tau = ticks.q[k], ticks.tau_ext[k] - ticks.tau_ext[before].mean(axis=0)
    noise = torque_noise(identified, bands, q, ticks.resting[k])
    # friction of a joint at rest does not average out: the level has an error of its own, whatever its length
    noise = noise + torque_noise(identified, bands, ticks.q[first - 1], ticks.resting[first - 1])
    found = find_link(robot, q, tau, noise)
    links = tuple((c.link, c.probability) for c in found.candidates)
    wrench = wrench_at(robot, q, tau, noise) if found.body == robot.tip else None
    return {"link": found.link, "links": links, "force": found.force, "wrench": wrench, "said": found.reason}


def wrench_at(robot: Robot, q: Array, tau_ext: Array, noise: Array) -> ToolWrench:
    """Return the wrench at the tool with covariance; near a singularity flagged, with the direction that is lost."""
    found = tool_wrench(robot, q, tau_ext)
    J = np.asarray(kernel(robot, frame_jacobian)(q))
    U, s, _ = np.linalg.svd(J, full_matrices=True)
    least = s[5] if len(s) > 5 else 0.0
    condition = float(s[0] / least) if least > 0.0 else np.inf
    inverse = np.linalg.pinv(J.T, rcond=1e-6)
    valid = condition < WELL_SEEN
    return ToolWrench(found.wrench, inverse @ noise @ inverse.T, condition, valid, None if valid else U[:, 5])
