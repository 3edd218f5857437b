# SPDX-License-Identifier: Apache-2.0
"""Closed-form branches of inverse kinematics: the subproblems that find angles, and the branches they split.

The subproblems (after Paden and Kahan) find one or two turns that carry one vector to another. `Branch` keeps a partial
solution, which doubles with every two-valued joint; `checked` gathers them. Like every algorithm here this is plain
code for one problem, floats or symbols; it is traced with the arm's axes folded in. An angle that any value satisfies
is marked free, one without a solution is marked not ok; marks are 1.0 or 0.0, so that nothing branches on a value.
Angles near a double root are computed from sines, not from an arc cosine, which would lose half of the digits there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.kinematics.forward import frame_pose
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced

# A trigonometric equation that misses solubility by this much (relative) is taken at its double root; every result is
# verified by forward kinematics afterwards.
DISCRIMINANT_SLACK = 1e-9
FREE_BELOW = 1e-9
"""Lengths below this fraction of the arm's size leave an angle free: turning them moves nothing by what is promised."""
LINED_UP = 1e-13
"""Constants of the geometry [-] that are zero up to rounding: 500 units in the last place of 1."""


class Two(NamedTuple):
    """Two angles; `ok` where they exist; `free` where any angle does; `gauge` vanishes where the two coincide."""

    first: Any
    second: Any
    ok: Any
    free: Any
    gauge: Any


class One(NamedTuple):
    """One angle; `free` where any angle does."""

    angle: Any
    free: Any


def below(x: Traced, bound: float) -> Traced:
    """Return 1.0 where x < bound, else 0.0."""
    return np.where(x < bound, 1.0, 0.0)


def rotate(axis: Traced, angle: Traced, v: Traced) -> Traced:
    """Turn v (3,) about a constant unit axis (3,): c·(v across) + s·(axis × v) + (v along)."""
    along = np.outer(axis, axis)
    return np.cos(angle) * ((np.eye(3) - along) @ v) + np.sin(angle) * (skew(axis) @ v) + along @ v


def turn_about(axis: Traced, point: Traced, angle: Traced, x: Traced) -> Traced:
    """Turn the point x (3,) about the line through `point` along `axis`."""
    return rotate(axis, angle, x - point) + point


def across(axis: Traced, v: Traced) -> Traced:
    """Return the part of v (3,) across a constant unit axis."""
    return (np.eye(3) - np.outer(axis, axis)) @ v


def length(v: Traced) -> Traced:
    """Euclidean norm of a vector (3,)."""
    return np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


def onto(axis: Traced, u: Traced, v: Traced, scale: float = 1.0) -> One:
    """Find the turn about `axis` that carries u to v, both (3,) (Paden–Kahan 1).

    Only the parts across the axis matter; where one of them is shorter than 1e-9·scale, the angle is free.
    """
    u_across, v_across = across(axis, u), across(axis, v)
    free = below(np.minimum(length(u_across), length(v_across)), FREE_BELOW * scale)
    return One(np.arctan2((skew(axis) @ u_across) @ v_across, u_across @ v_across), free)


def wave(a: Scalar, b: Scalar, low: Traced, high: Traced, scale: float) -> Two:
    """Solve a·cos θ + b·sin θ = c, given the gaps low = r + c and high = r − c with r = hypot(a, b).

    θ = atan2(b, a) ± ψ with cos ψ = c/r. The gaps are passed because a caller may know a small one more exactly than c.
    """
    free = below(np.sqrt(a * a + b * b), FREE_BELOW * scale) * below(np.abs(high - low), 2.0 * FREE_BELOW * scale)
    soluble = below(-low, DISCRIMINANT_SLACK * scale) * below(-high, DISCRIMINANT_SLACK * scale)
    low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    psi, centre = 2.0 * np.arctan2(np.sqrt(high), np.sqrt(low)), np.arctan2(b, a)
    return Two(centre + psi, centre - psi, np.maximum(soluble, free), free, np.sqrt(low * high))


def level(axis: Traced, p: Traced, h: Traced, d: Scalar, scale: float = 1.0) -> Two:
    """Turn p (3,) about `axis` until its component along h (3,) is d: h·R(θ)p = d (subproblem 4)."""
    a, b = across(axis, p) @ h, (skew(axis) @ p) @ h
    c = d - (p @ axis) * (axis @ h)
    r = np.sqrt(a * a + b * b)
    return wave(a, b, r + c, r - c, scale)


def slant(axis: Traced, p: Traced, h: Traced, u: Traced) -> Two:
    """Turn the constant unit vector p about `axis` until it makes the angle with h (3,) that the unit vector u makes.

    The same equation as `level`; where p can line up with h, the gap 1 − cos φ is taken from |h − u|², exact near 0.
    """
    a, b = float(across(axis, p) @ h), float((skew(axis) @ p) @ h)
    r, mean = float(np.hypot(a, b)), float((p @ axis) * (axis @ h))
    top, bottom = (0.0 if abs(gap) < LINED_UP else gap for gap in (mean + r - 1.0, r - mean - 1.0))
    away, toward = h - u, h + u
    return wave(a, b, bottom + 0.5 * (toward @ toward), top + 0.5 * (away @ away), 1.0)


def planar_elbow(axis: Traced, pivot: Traced, p: Traced, distance: Traced, scale: float) -> Two:
    """Turn p (3,) about the line (axis, `pivot`) until its distance from the origin, across the axis, is `distance`.

    Subproblem 3 for a parallel axis through the origin: law of cosines, both gaps as products, exact near full stretch.
    """
    arm, fore = across(axis, pivot), across(axis, p - pivot)
    l1, l2 = length(arm), length(fore)
    inner, outer = np.abs(l1 - l2), l1 + l2
    low, high = (distance - inner) * (distance + inner), (outer - distance) * (outer + distance)
    return wave(2.0 * (fore @ arm), 2.0 * ((skew(axis) @ fore) @ arm), low, high, scale * scale)


class Branches(NamedTuple):
    """Closed-form solutions of one target, a fixed number K of slots.

    q (K, 6); ok, free (K,) marks 1.0 or 0.0 (soluble; an angle was taken from the seed); errors (K,) of the pose that
    forward kinematics gives [m], [rad]; gauge (K,), proportional to det J, zero at singularities.
    """

    q: Any
    ok: Any
    free: Any
    position: Any
    rotation: Any
    gauge: Any


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One partial solution: angles found so far by joint index, its marks, and the seed (6,) for free angles."""

    seed: Any
    q: dict[int, Any]
    ok: Any = 1.0
    free: Any = 0.0
    gauge: Any = 1.0

    def put(self, joint: int, angle: Traced) -> Branch:
        """Set one angle."""
        return Branch(self.seed, {**self.q, joint: angle}, self.ok, self.free, self.gauge)

    def put_one(self, joint: int, one: One) -> Branch:
        """Set one angle; where it is free, take it from the seed."""
        angle = np.where(one.free > 0.5, self.seed[joint], one.angle)
        return Branch(self.seed, {**self.q, joint: angle}, self.ok, np.maximum(self.free, one.free), self.gauge)

    def split(self, joint: int, two: Two, sign: float = 1.0) -> list[Branch]:
        """Split into the two angles of one joint; where any angle serves, one branch stays, with the seed's angle."""
        out = []
        for angle, ok in ((two.first, two.ok), (two.second, two.ok * (1.0 - two.free))):
            chosen = np.where(two.free > 0.5, self.seed[joint], sign * angle)
            free, gauge = np.maximum(self.free, two.free), self.gauge * two.gauge
            out.append(Branch(self.seed, {**self.q, joint: chosen}, self.ok * ok, free, gauge))
        return out


def each(branches: list[Branch], step: Callable[[Branch], list[Branch]]) -> list[Branch]:
    """Apply a splitting step to every branch."""
    return [new for branch in branches for new in step(branch)]


def checked(arm: Robot | Tree, body: int | None, T: Traced, branches: list[Branch]) -> Branches:
    """Gather the branches and measure each by forward kinematics against the target T (4, 4)."""
    position, rotation = [], []
    for branch in branches:
        reached = frame_pose(arm, np.array([branch.q[i] for i in range(6)]), body)
        R = T[:3, :3] @ reached[:3, :3].T
        v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        position.append(length(T[:3, 3] - reached[:3, 3]))
        rotation.append(np.arctan2(length(v), R[0, 0] + R[1, 1] + R[2, 2] - 1.0))
    return Branches(
        q=np.stack([np.array([branch.q[i] for i in range(6)]) for branch in branches]),
        ok=np.array([branch.ok for branch in branches]),
        free=np.array([branch.free for branch in branches]),
        position=np.array(position),
        rotation=np.array(rotation),
        gauge=np.array([branch.gauge for branch in branches]),
    )
