# SPDX-License-Identifier: Apache-2.0
"""Plausibility of a whole arm: bodies, mass matrix over the workspace, loads and limits against the motors.

`body_findings` judges whether one body can exist: mass, tensor, radius of gyration against its size, centre of mass
near the link; readers that refuse nonsense use it too. `check` judges the whole arm. Nothing here knows about motion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.arguments import names_culprit
from armwright.robot.inertia_needed import has_inertia
from armwright.robot.provenance import provenance_words
from armwright.robot.step import steps
from armwright.spatial.inertia import principal_moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array

Severity = Literal["error", "warning", "info"]

WATER = 1000.0
"""Density [kg/m³] of the ball that bounds a body's size from below; machined links are near it, motors above."""
GYRATION_WARNING = 0.5
"""Largest radius of gyration over length: L/2 has all mass at its two ends; a uniform rod has 0.29 L."""
GYRATION_ERROR = 2.0
INERTIA_RULE = "inertia positive definite"
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
        name: name of the body, for the place.
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
                INERTIA_RULE,
            )
        )
    elif moments[0] <= 1e-9 * scale and scale > 0.0:
        out.append(
            Finding(
                "warning",
                f"{place}.inertia",
                f"principal moments {listing} kg m²: a moment is zero",
                INERTIA_RULE,
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
                INERTIA_RULE,
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


__all__ = ["Finding", "body_findings", "check", "physics_findings", "robot_body_findings"]

SINGULAR_EIGENVALUE = 1e-10
"""Smallest eigenvalue of M scaled to unit diagonal that still counts as positive definite."""
SAMPLED_WORK = 100_000_000
"""Bodies times joints squared, summed over the samples, that a check computes: seconds; 64 samples of 116 joints."""
LEAST_SAMPLES = 3
"""Samples that any arm is looked at with."""
SPEED_SLACK = 1.01
"""Joint speeds are printed with three digits; a per cent above the motor's is rounding."""


@names_culprit
def check(robot: Robot, *, samples: int | None = None, seed: int = 0) -> list[Finding]:
    """Judge an arm; the worst findings come first.

    Args:
        robot: any robot, branches and mimic joints included.
        samples: configurations drawn within the joint limits for the mass matrix and the gravity torque; if omitted 64,
            fewer for an arm of hundreds of joints (`SAMPLED_WORK`).
        seed: where in the sequence of configurations to begin.

    Returns:
        Findings by severity: "error" (cannot be), "warning" (should be looked at), "info" (worth knowing).

    >>> for finding in aw.check(robot):
    ...     print(finding)
    """
    sampled = _sampled(robot, affordable(robot) if samples is None else samples, seed)
    found = _limits(robot) + _speeds(robot) + _trust(robot) + sampled
    if has_inertia(robot):  # else one finding says it for all bodies
        found = robot_body_findings(robot) + _provenance(robot) + found
    order = ("error", "warning", "info")
    return sorted(found, key=lambda finding: order.index(finding.severity))


def physics_findings(robot: Robot) -> list[Finding]:
    """Return what decides whether a description is refused: its bodies, and whether M is positive definite."""
    return robot_body_findings(robot) + [f for f in _sampled(robot, 3, 0) if f.rule == "M positive definite"]


def robot_body_findings(robot: Robot) -> list[Finding]:
    """Apply `body_findings` to every body, with joints, tool and strokes taken from the robot's geometry."""
    out = []
    for i, body in enumerate(robot.bodies):
        ends = [child.T_parent_joint[:3, 3] for child in robot.bodies if child.parent == i]
        if robot.tip == i:
            ends.append(robot.T_tip_tool[:3, 3])
        R, p = body.T_joint_link[:3, :3], body.T_joint_link[:3, 3]
        joint = robot.joints[body.joint]
        stroke = joint.limits.upper - joint.limits.lower if joint.kind == "prismatic" else 0.0
        out += body_findings(
            body.name,
            body.mass,
            body.com,
            body.inertia,
            joint=-R.T @ p,
            axis=R.T @ body.axis if joint.kind == "revolute" else None,
            ends=ends,
            extent=float(stroke) if np.isfinite(stroke) else 0.0,
        )
    return out


def _provenance(robot: Robot) -> list[Finding]:
    out = []
    for body in robot.bodies:
        missing = [key for key in ("mass", "com", "inertia") if f"bodies.{body.name}.{key}" not in robot.sources]
        relevant = [key for key in missing if key == "mass" or np.any(getattr(body, key))]
        if relevant:
            out.append(Finding("info", f"bodies.{body.name}", f"no source for {', '.join(relevant)}", "provenance"))
    return out


def _trust(robot: Robot) -> list[Finding]:
    """Tell the classes of the data where the sheet says them; what is assumed needs a second look."""
    lines = zip(robot.provenance.items(), provenance_words(robot.provenance), strict=True)
    return [
        Finding("warning" if said.width is None else "info", f"provenance.{name}", words, "width")
        for (name, said), words in lines
    ]


def _limits(robot: Robot) -> list[Finding]:
    out = []
    for joint in robot.joints:
        place, limits = f"joints.{joint.name}", joint.limits
        if limits.lower >= limits.upper:
            out.append(
                Finding(
                    "warning",
                    place,
                    f"lower limit {limits.lower:g} is not below upper {limits.upper:g}",
                    "limits ordered",
                )
            )
        for name in ("velocity", "acceleration", "effort"):
            if getattr(limits, name) == 0.0:
                out.append(Finding("warning", place, f"{name} limit is zero: the joint cannot be driven", "limits"))
    return out


def _speeds(robot: Robot) -> list[Finding]:
    """Compare each joint's speed limit with what the motors it turns can do, the other joints at rest."""
    out = []
    K, motor = robot.actuators.gear, robot.actuators.speed_limit
    for i, joint in enumerate(robot.joints):
        for j in range(robot.n):
            if K[j, i] == 0.0 or not np.isfinite(motor[j]) or not np.isfinite(joint.limits.velocity):
                continue
            possible = motor[j] / abs(K[j, i])
            if joint.limits.velocity > SPEED_SLACK * possible:
                out.append(
                    Finding(
                        "warning",
                        f"joints.{joint.name}",
                        f"speed limit {joint.limits.velocity:.4g} but motor {j + 1} allows {possible:.4g}",
                        "speed against motor",
                    )
                )
    return out


def _sampled(robot: Robot, samples: int, seed: int) -> list[Finding]:
    if robot.n == 0:
        return []
    if not has_inertia(robot):
        return [
            Finding("info", "bodies", "no inertia at all: the arm has kinematics, but no dynamics", "inertia known")
        ]
    draws = _configurations(robot, samples, seed)
    worst, at = np.inf, draws[0]
    load = np.zeros(robot.n)
    for q in draws:
        M, g = mass_and_gravity(robot.tree, q)
        value = _scaled_eigenvalue(M)
        if value < worst:
            worst, at = value, q
        load = np.maximum(load, np.abs(g))
    out = []
    if worst < SINGULAR_EIGENVALUE:
        where = ", ".join(f"{x:.3g}" for x in at)
        out.append(
            Finding(
                "error",
                "bodies",
                f"mass matrix is not positive definite at q = ({where}): smallest scaled "
                f"eigenvalue {worst:.2g}; some joint moves no inertia",
                "M positive definite",
            )
        )
    motors = np.abs(np.diag(robot.actuators.gear)) * robot.actuators.torque_limit
    for joint, need, geared in zip(robot.joints, load, motors, strict=True):
        rated = min(joint.limits.effort, float(geared))
        if need > rated:
            reason = f"gravity alone asks up to {need:.4g}, rated {rated:.4g}"
            out.append(Finding("warning", f"joints.{joint.name}", reason, "gravity against rated torque"))
    return out


def affordable(robot: Robot, samples: int = 64) -> int:
    """Return how many of `samples` configurations a check looks at by itself: those of a long arm take long."""
    return min(samples, max(LEAST_SAMPLES, SAMPLED_WORK // max(1, len(robot.bodies) * robot.n**2)))


def _configurations(robot: Robot, samples: int, seed: int) -> Array:
    """Configurations within the limits, the one with all joints at 0 first if it is among them."""
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.maximum(np.pi, low))
    low = np.minimum(low, high)
    draws = low + (high - low) * spread(samples, robot.n, seed)
    if ((low <= 0.0) & (high >= 0.0)).all():
        draws = np.vstack([np.zeros(robot.n), draws])
    return draws


INDEFINITE_SAMPLES = 256
"""Configurations at which an arm with a negative moment is looked at: M may be indefinite in a part of them only."""


def indefinite_mass(robot: Robot) -> str:
    """Return where the mass matrix has a negative eigenvalue, in words; "" if it has none at `INDEFINITE_SAMPLES`.

    M = Σ JᵀIJ of bodies without negative moments has none anywhere: there is nothing to look for.
    """
    if not any(finding.rule == INERTIA_RULE and finding.severity == "error" for finding in robot_body_findings(robot)):
        return ""
    for q in _configurations(robot, affordable(robot, INDEFINITE_SAMPLES), 0):
        M, _ = mass_and_gravity(robot.tree, q)
        diagonal = np.abs(np.diag(M))
        scale = 1.0 / np.sqrt(np.where(diagonal > 1e-100, diagonal, 1.0))
        lowest = float(np.linalg.eigvalsh(M * np.outer(scale, scale))[0]) if np.isfinite(M).all() else -np.inf
        if lowest < -SINGULAR_EIGENVALUE:
            where = ", ".join(f"{x:.3g}" for x in q)
            return f"mass matrix is indefinite at q = ({where}): smallest scaled eigenvalue {lowest:.2g}"
    return ""


def spread(count: int, n: int, first: int) -> Array:
    """Points (count, n) spread evenly over the unit cube: multiples of powers of the generalised golden ratio, mod 1.

    x^(n+1) = x + 1. Importing NumPy's random numbers would take longer than the whole check of a robot being loaded.
    """
    x = 2.0
    for _ in range(40):
        x = (1.0 + x) ** (1.0 / (n + 1))
    steps = x ** -np.arange(1.0, n + 1.0)
    return np.asarray(np.outer(np.arange(first + 1, first + count + 1), steps) % 1.0)


def _scaled_eigenvalue(M: Array) -> float:
    """Smallest eigenvalue of M scaled to unit diagonal; −inf where a diagonal entry is not positive."""
    diagonal = np.diag(M)
    if not np.isfinite(M).all() or (diagonal <= 1e-100).any():
        return -np.inf
    scale = 1.0 / np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(M * np.outer(scale, scale))[0])


def mass_and_gravity(tree: Tree, q: Array) -> tuple[Array, Array]:
    """Mass matrix (n, n) with rotors and gravity torque (n,) by body Jacobians: slow, short, and independent.

    M = Σ Jᵀ [[m, −ĥ], [ĥ, J_o]] J with the Jacobian of each body's frame origin, h = m·c (004 eq. 2.61, 003 eq. 12).
    """
    M, g = np.array(tree.armature, dtype=np.float64), np.zeros(tree.n)
    R_of: list[Array] = []
    p_of: list[Array] = []
    J_of: list[Array] = []
    linear: list[Array] = []
    turned: list[Array] = []
    angular: list[Array] = []
    for i, step in enumerate(steps(tree, q)):
        up = tree.parent[i]
        R_up, p_up = (R_of[up], p_of[up]) if up >= 0 else (np.eye(3), np.zeros(3))
        J = np.zeros((6, tree.n))
        R, p = R_up @ step.R, p_up + R_up @ step.p
        if up >= 0:
            J = J_of[up].copy()
            J[:3] -= np.cross(p - p_up, J[3:], axisb=0, axisc=0)
        z = tree.ratio[i] * R[:, 2]
        J[3 if tree.revolute[i] else 0 :, tree.joint[i]][:3] += z
        R_of.append(R)
        p_of.append(p)
        J_of.append(J)
        v, w, h = J[:3], J[3:], R @ tree.h[i]
        turn = np.cross(h, w, axisb=0, axisc=0)  # ĥ w, so that m v − ĥ w is the linear momentum
        linear.append(tree.m[i] * v - turn)
        angular.append((R @ tree.J[i] @ R.T) @ w)
        turned.append(turn)
        g = g - tree.m[i] * v.T @ tree.gravity - w.T @ np.cross(h, tree.gravity)
    if J_of:  # one product of tall matrices for all bodies: on long chains quicker than body by body
        V, W = (np.concatenate([J[part] for J in J_of]) for part in (slice(3), slice(3, 6)))
        M = M + V.T @ np.concatenate(linear) - np.concatenate(turned).T @ V + W.T @ np.concatenate(angular)
    return 0.5 * (M + M.T), g
