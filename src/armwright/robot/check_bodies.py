# SPDX-License-Identifier: Apache-2.0
"""Whether one body can exist: mass, tensor, radius of gyration against its size, centre of mass near the link.

Used by `armwright.robot.check` and by readers that refuse nonsense. Nothing here knows about motion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.spatial.inertia import principal_moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Severity = Literal["error", "warning", "info"]

WATER = 1000.0
"""Density [kg/m³] of the ball that bounds a body's size from below; machined links are near it, motors above."""
GYRATION_WARNING = 0.5
"""A body within length L has at most L/2 (all mass at its two ends); a uniform rod has 0.29 L."""
GYRATION_ERROR = 2.0
COM_WARNING = 1.0
COM_ERROR = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark of a check: how bad, where (dotted path), why (with the figures), and which rule."""

    severity: Severity
    place: str
    reason: str
    rule: str

    def __str__(self) -> str:
        """Return ``severity place: reason [rule]``."""
        return f"{self.severity} {self.place}: {self.reason} [{self.rule}]"


def body_findings(
    name: str,
    mass: float,
    com: ArrayLike,
    inertia: ArrayLike,
    *,
    joint: ArrayLike = (0.0, 0.0, 0.0),
    axis: ArrayLike | None = None,
    ends: Sequence[ArrayLike] = (),
    extent: float = 0.0,
) -> list[Finding]:
    """Judge one body.

    The size of a link is not known. It is taken as the largest of twice the distance from its centre of mass to its
    joint and to the joints (or the tool) it carries, and the diameter of a ball of water of its mass. Along a revolute
    axis the bearing may sit anywhere, so the joint is the point of its axis nearest to the centre of mass.

    Args:
        name: of the body, for the place.
        mass: [kg].
        com: centre of mass (3,) in link axes [m].
        inertia: (3, 3) about the centre of mass, link axes [kg m²].
        joint: a point of the joint's axis in the link frame [m].
        axis: unit direction of a revolute joint's axis in the link frame; None where the joint is that point.
        ends: points of the joints this body carries, and of the tool if it does, in the link frame [m].
        extent: a known length of the body (stroke of a prismatic joint, a mesh), 0 if unknown [m].

    Returns:
        Findings; severity "error" means that no matter can form this body (or only absurdly), "warning" that
        somebody should look.
    """
    tensor = np.asarray(inertia, dtype=np.float64)
    c, p = np.asarray(com, dtype=np.float64), np.asarray(joint, dtype=np.float64)
    place = f"bodies.{name}"
    out: list[Finding] = []
    if not (math.isfinite(mass) and np.isfinite(c).all() and np.isfinite(tensor).all()):
        return [Finding("error", place, "mass, com and inertia must be finite", "finite")]
    if mass < 0.0:
        out.append(Finding("error", f"{place}.mass", f"mass is {mass:g} kg", "mass ≥ 0"))
    moments = principal_moments(tensor)
    scale = float(np.abs(moments).max(initial=0.0))
    listing = ", ".join(f"{moment:.4g}" for moment in moments)
    if moments[0] < -1e-9 * scale:
        out.append(
            Finding(
                "error",
                f"{place}.inertia",
                f"principal moments {listing} kg m²: a moment is negative",
                "inertia positive definite",
            )
        )
    elif moments[0] <= 1e-9 * scale and scale > 0.0:
        out.append(
            Finding(
                "warning",
                f"{place}.inertia",
                f"principal moments {listing} kg m²: a moment is zero",
                "inertia positive definite",
            )
        )
    if moments[0] + moments[1] < moments[2] - 1e-6 * scale:
        out.append(
            Finding(
                "error",
                f"{place}.inertia",
                f"principal moments {listing} kg m²: the largest exceeds the sum of the others",
                "triangle inequality",
            )
        )
    if mass <= 0.0:
        if scale > 0.0:
            out.append(Finding("warning", f"{place}.mass", f"no mass, but moments {listing} kg m²", "mass > 0"))
        elif mass == 0.0:
            out.append(Finding("info", place, "massless body", "mass > 0"))
        return out
    if scale == 0.0:
        out.append(
            Finding(
                "info",
                f"{place}.inertia",
                f"{mass:g} kg without rotational inertia (a point)",
                "inertia positive definite",
            )
        )
    if axis is not None:
        z = np.asarray(axis, dtype=np.float64)
        p = p + ((c - p) @ z) * z
    return out + _size_findings(place, mass, c, scale, p, [np.asarray(e, dtype=np.float64) for e in ends], extent)


def _size_findings(
    place: str, mass: float, c: np.ndarray, largest: float, joint: np.ndarray, ends: list[np.ndarray], extent: float
) -> list[Finding]:
    out: list[Finding] = []
    ball = (6.0 * mass / (math.pi * WATER)) ** (1.0 / 3.0)
    length = max([float(np.linalg.norm(end - joint)) for end in ends] + [extent, 0.0])
    size = max([2.0 * float(np.linalg.norm(c - point)) for point in (joint, *ends)] + [ball, extent])
    gyration = math.sqrt(largest / mass)
    if gyration > GYRATION_WARNING * size:
        severity: Severity = "error" if gyration > GYRATION_ERROR * size else "warning"
        out.append(
            Finding(
                severity,
                f"{place}.inertia",
                f"radius of gyration {gyration:.3g} m of a {mass:g} kg body about {size:.3g} m long",
                "radius of gyration",
            )
        )
    away = min([_distance(c, joint, end) for end in ends] + [float(np.linalg.norm(c - joint))])
    reach = max(length, ball)
    if away > COM_WARNING * reach:
        severity = "error" if away > COM_ERROR * reach else "warning"
        reason = f"centre of mass {away:.3g} m away from a link about {reach:.3g} m long"
        out.append(Finding(severity, f"{place}.com", reason, "com near the link"))
    return out


def _distance(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Distance of point c from the segment a–b."""
    along = b - a
    square = float(along @ along)
    t = 0.0 if square == 0.0 else min(1.0, max(0.0, float((c - a) @ along) / square))
    return float(np.linalg.norm(c - a - t * along))
