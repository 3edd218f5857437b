# SPDX-License-Identifier: Apache-2.0
"""The surface of a link's capsule as a map (u, theta), what a push there does to the joints, and lines that meet it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.forward import body_poses, homogeneous
from armwright.robot.kernels import kernel
from armwright.robot.tree import as_tree
from armwright.world.segments import basis

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced
    from armwright.world.arm_capsules import LinkCapsule

MOST_DRAWS = 10_000  # draws for a free place: with a thousandth of the surface free, all fail once in 20,000 times


@dataclass(frozen=True, eq=False)
class Surface:
    """A posed capsule, base frame: u [m] runs along the axis and over the round ends, theta [rad] around.

    0 ≤ u ≤ length is the tube, low = −πr/2 … 0 and length … length + πr/2 = high are the round ends. What of it lies
    inside other links cannot be touched: see `bare`.
    """

    body: int
    start: Array
    R: Array
    length: float
    radius: float
    low: float
    high: float

    def at(self, u: ArrayLike, theta: ArrayLike) -> tuple[Array, Array]:
        """Return points (..., 3) and outward normals (..., 3)."""
        u, theta = np.asarray(u, dtype=np.float64), np.asarray(theta, dtype=np.float64)
        along = np.clip(u, 0.0, self.length)
        slope = (u - along) / self.radius if self.radius > 0.0 else np.zeros_like(u)
        local = np.stack(
            [np.cos(slope) * np.cos(theta), np.cos(slope) * np.sin(theta), np.sin(slope) + 0.0 * theta], axis=-1
        )
        normal = np.einsum("...j,ij->...i", local, self.R)  # no BLAS: its last bits depend on the processor
        return self.start + along[..., None] * self.R[:, 2] + self.radius * normal, normal

    def around(self, u: Array) -> Array:
        """Return the circumference at u as a share of the tube's (...)."""
        beyond = np.abs(u - np.clip(u, 0.0, self.length))
        return np.asarray(np.cos(beyond / self.radius) if self.radius > 0.0 else np.ones_like(beyond))

    def depth(self, points: Array) -> Array:
        """Return how deep (m,) points (m, 3) lie inside the capsule [m]; negative outside."""
        from_start = points - self.start
        along = np.clip(np.einsum("mi,i->m", from_start, self.R[:, 2]), 0.0, self.length)
        return np.asarray(self.radius - np.linalg.norm(from_start - along[:, None] * self.R[:, 2], axis=1))

    def find(self, point: Array) -> tuple[float, float]:
        """Return (u, theta) of the surface point nearest to `point`."""
        x, y, z = self.R.T @ (point - self.start)
        along = float(np.clip(z, 0.0, self.length))
        slope = float(np.arctan2(z - along, np.hypot(x, y)))
        return along + slope * self.radius, float(np.arctan2(y, x))

    def grid(self, spacing: float, around: int) -> tuple[Array, Array, tuple[float, float]]:
        """Return u and theta of a grid over the surface and the size of its cells along and around."""
        count = max(3, int(np.ceil((self.high - self.low) / spacing)))
        step = (self.high - self.low) / count
        u, theta = np.meshgrid(
            self.low + step * (np.arange(count) + 0.5), 2.0 * np.pi * np.arange(around) / around, indexing="ij"
        )
        return u.ravel(), theta.ravel(), (float(step), 2.0 * np.pi * self.radius / around)


def joint_frames(robot: Robot, q: Array) -> Array:
    """Return the canonical frames of all bodies (nb, 4, 4), base frame: their z is the axis of the joint."""
    return np.asarray(kernel(robot, _frames)(q))


def _frames(arm: Robot | Tree, q: Traced) -> Traced:
    tree = as_tree(arm)
    poses = body_poses(tree, q)
    return np.stack([homogeneous(*poses[i]) for i in range(tree.nb)])


def surfaces(robot: Robot, q: Array, capsules: tuple[LinkCapsule, ...]) -> list[Surface]:
    """Return the capsules at q, round ends included: next to a neighbour that is offset sideways they stand free."""
    tree = robot.tree
    poses = joint_frames(robot, q)
    out = []
    for capsule in capsules:
        R, p = poses[capsule.body, :3, :3], poses[capsule.body, :3, 3]
        T = tree.T_body_link[capsule.body]
        ends = np.einsum("ij,kj->ki", T[:3, :3], np.array([capsule.start, capsule.end])) + T[:3, 3]
        start, end = p + np.einsum("ij,kj->ki", R, ends)
        size = float(np.linalg.norm(end - start))
        axis = (end - start) / size if size > 1e-9 else np.array([0.0, 0.0, 1.0])
        cap = 0.5 * np.pi * capsule.radius
        out.append(Surface(capsule.body, start, basis(axis), size, capsule.radius, -cap, size + cap))
    return out


def bare(face: Surface, all_faces: Sequence[Surface], points: Array, width: float = 1e-9) -> Array:
    """Return the share (m,) of patches of a surface about points (m, 3), `width` [m] wide, that no other one covers."""
    covered = np.full(len(points), -np.inf)
    for other in all_faces:
        if other is not face:
            covered = np.maximum(covered, other.depth(points))
    return np.clip(0.5 - covered / width, 0.0, 1.0)


def drawn_place(
    rng: np.random.Generator, faces: Sequence[Surface], all_faces: Sequence[Surface], *, even: bool = False
) -> tuple[Surface, Array, Array]:
    """Return a surface, a point (3,) and its outward normal (3,), evenly drawn from what can be touched.

    Args:
        rng: random numbers.
        faces: surfaces to draw from.
        all_faces: surfaces that may cover them.
        even: try every surface as often as any other, however large.
    """
    area = np.array([1.0 if even else (face.high - face.low) * face.radius for face in faces])
    for _ in range(MOST_DRAWS):
        face = faces[rng.choice(len(faces), p=area / area.sum())]
        u = rng.uniform(face.low, face.high, 1)
        points, normals = face.at(u, rng.uniform(-np.pi, np.pi, 1))
        if rng.uniform() < face.around(u)[0] * bare(face, all_faces, points)[0]:
            return face, points[0], normals[0]
    raise InputError("drawn_place: nothing of these surfaces can be touched, other links cover them")


def pushes(robot: Robot, q: Array, body: int, points: Array) -> tuple[Array, Array]:
    """Return linear Jacobians (m, 3, n) of points (m, 3) on a body, and the angular one (3, n), base axes."""
    tree = robot.tree
    chain = tree.ancestors(body)
    poses = joint_frames(robot, q)[list(chain)]
    z = poses[:, :3, 2] * np.asarray(tree.ratio)[list(chain), None]
    turns = np.cross(z[:, None], points - poses[:, None, :3, 3])
    linear = np.zeros((len(points), 3, tree.n))
    angular = np.zeros((3, tree.n))
    for k, i in enumerate(chain):
        j = tree.joint[i]
        linear[:, :, j] += turns[k] if tree.revolute[i] else z[k]
        angular[:, j] += z[k] if tree.revolute[i] else 0.0
    return linear, angular


def force_line(force: Array, moment: Array) -> tuple[Array, Array, float]:
    """Return a point on a wrench's central line, its direction, and its pitch [m] (0 for a single force).

    Args:
        force: (3,) [N], not zero.
        moment: (3,) [N m] about the origin.
    """
    square = float(force @ force)
    return np.cross(force, moment) / square, force / np.sqrt(square), float(force @ moment) / square


def line_meets_capsule(surface: Surface, point: Array, along: Array) -> Array | None:
    """Return where a line first enters a capsule, going along `along` (3,), or None if it passes by.

    That is where a pushing force on this line acts: the force points into the link.
    """
    a, z = surface.start, surface.R[:, 2]
    hits: list[float] = []
    r = point - a
    d_flat, r_flat = along - (along @ z) * z, r - (r @ z) * z
    A, B, C = d_flat @ d_flat, r_flat @ d_flat, r_flat @ r_flat - surface.radius**2
    if A > 1e-12 and B * B >= A * C:
        for sign in (-1.0, 1.0):
            t = (-B + sign * np.sqrt(B * B - A * C)) / A
            if 0.0 <= (r + t * along) @ z <= surface.length:
                hits.append(float(t))
    for centre, far in ((a, False), (a + surface.length * z, True)):
        c = point - centre
        b, e = c @ along, c @ c - surface.radius**2
        if b * b >= e:
            for sign in (-1.0, 1.0):
                t = -b + sign * np.sqrt(b * b - e)
                height = float((r + t * along) @ z)
                if height >= surface.length if far else height <= 0.0:
                    hits.append(float(t))
    return None if not hits else np.asarray(point + min(hits) * along)
