# SPDX-License-Identifier: Apache-2.0
"""The probability that a contact was at each patch of the links' surfaces.

Patches start as a grid of a few centimetres. Those that hold nearly all of the probability are split into four, again
and again, until they are small enough for what is asked or resolve the probability: a sharp peak is found through wide
patches, because a patch counts with all pushes within it (see `evidence`). Before the torques are seen, each patch of
surface is as likely as any other of the same area, unless another link covers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.isolation.contact_evidence import SharedEvidence, checked, evidence, levels, logsum, setting
from armwright.contact.isolation.link_surface import Surface, bare, surfaces
from armwright.world.arm_capsules import LinkCapsule, fixed_column, link_capsules

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

    Beside = Callable[[Array, Array, Array], Array]
    """Other evidence about patches: log of a factor (m,), from points and normals (m, 3) and Jacobians (m, 3, n)."""

PATCH_SPACING, PATCHES_AROUND_LINK = (
    0.03,
    16,
)  # [m] along a link and patches around it at first: as wide as the ball that "located" means
TORQUE_DIFFERENCE_SHARE = 0.01
"""Share of the largest torque below which differences do not separate patches of `PATCH_SPACING`; finer: less."""
SPLITS = 6  # halvings at most: 3 cm down to half a millimetre, finer than any estimate is
EXAMINED_PROBABILITY = 0.99  # of the probability that is looked at
FEWEST_PATCHES, MOST_PATCHES = 60, 240  # patches that hold it: fewer are split, with more there is no one place
COVERED_AREA = 1e-30  # of the area of a patch that other links cover
FINEST_PATCH = 0.008  # [m] wide patches at most, where there may be one place
SPLIT_PATCHES, SPLIT_NATS = (
    120,
    12.0,
)  # at most 120 patches within 12 nats of the best are split with those that hold it


class Patches(NamedTuple):
    """Patches of the links' surfaces that could have been pushed.

    Attributes:
        points, normals: (m, 3) middle and outward normal, base frame [m].
        body: (m,) index of the link.
        log: (m,) logarithm of the evidence times the patch's area, up to a constant; other evidence included.
        misfit: (m,) χ² of the torques against the likeliest push there.
        force: (m, 3) likeliest force on the link there [N].
        jacobian: (m, 3, n) of the points.
        size: (m,) width of the patch [m].
    """

    points: Array
    normals: Array
    body: NDArray[np.int64]
    log: Array
    misfit: Array
    force: Array
    jacobian: Array
    size: Array

    @property
    def probability(self) -> Array:
        """Probabilities (m,) of the patches; they sum to one."""
        return np.asarray(np.exp(self.log - logsum(self.log)))


@names_culprit
def contact_patches(
    robot: Robot,
    q: ArrayLike,
    tau_ext: ArrayLike,
    noise: ArrayLike,
    *,
    capsules: Sequence[LinkCapsule] | None = None,
    friction: float = 0.5,
    beside: Beside | None = None,
) -> Patches:
    """Return the evidence of every patch of surface for an estimate of external joint torque; see `isolate`.

    Args:
        robot: the arm.
        q: joint coordinates (n,).
        tau_ext: external joint torque (n,) [N m].
        noise: error of that estimate: a standard deviation, one per joint (n,), or a covariance (n, n).
        capsules: surfaces of the links; `link_capsules(robot)` by default.
        friction: coefficient that bounds how far forces lean from the normal [-].
        beside: evidence that does not come from the torques, such as that of motion (`moved_towards`).

    >>> contact_patches(robot, q, tau_ext, noise=0.5).probability.max()
    """
    x, tau, S = checked(robot, q, tau_ext, noise)
    faces, everything = touchable(robot, x, capsules)
    forces, largest = levels(robot, x, tau, S, faces), float(np.max(np.abs(tau)))

    @cache
    def at(depth: int) -> SharedEvidence:
        blur = (TORQUE_DIFFERENCE_SHARE * 0.5**depth * largest) ** 2
        return setting(robot, x, tau, S + blur * np.eye(robot.n), friction, forces)

    def weighed(k: int, depth: int, u: Array, theta: Array) -> _Cells:
        return _weighed(at(depth), faces[k], everything, k, depth, u, theta, beside)

    table = _joined([weighed(k, 0, *face.grid(PATCH_SPACING, PATCHES_AROUND_LINK)[:2]) for k, face in enumerate(faces)])
    while len(chosen := _worth_splitting(table)):
        groups = np.stack([table.face[chosen], table.depth[chosen]], axis=1)
        left: list[Any] = [np.delete(column, chosen, axis=0) for column in table]
        parts = [_Cells(*left)]
        for k, depth in np.unique(groups, axis=0).tolist():
            these = chosen[(groups == (k, depth)).all(axis=1)]
            parts.append(weighed(k, depth + 1, *_quarters(faces[k], depth, table.u[these], table.theta[these])))
        table = _joined(parts)
    found: list[Any] = list(table[: len(Patches._fields)])
    return Patches(*found)


class _Cells(NamedTuple):
    """Patches as in `Patches`, and where they are: which surface, where on it, how often split."""

    points: Array
    normals: Array
    body: NDArray[np.int64]
    log: Array
    misfit: Array
    force: Array
    jacobian: Array
    size: Array
    face: NDArray[np.int64]
    depth: NDArray[np.int64]
    u: Array
    theta: Array


def _joined(parts: list[_Cells]) -> _Cells:
    columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return _Cells(*columns)


def _weighed(
    now: SharedEvidence,
    face: Surface,
    everything: list[Surface],
    index: int,
    depth: int,
    u: Array,
    theta: Array,
    beside: Beside | None,
) -> _Cells:
    """Patches of one surface about (u, theta) with their evidence."""
    points, normals = face.at(u, theta)
    cell = _cell(face, depth)
    log, misfit, force, linear = evidence(now, face, u, theta, cell)
    # the determinant of the covariance counts, too: what the resolution adds to it depends on the depth
    log = log + np.log(max(cell[0], 1e-6) * max(cell[1], 1e-6)) + np.sum(np.log(np.diag(now.W)))
    m, best = len(points), np.argmax(log, axis=1)
    each = np.arange(m)
    area = face.around(u) * bare(face, everything, points, max(cell))
    total = logsum(log, axis=1) + np.log(np.maximum(area, COVERED_AREA))
    total = total if beside is None else total + beside(points, normals, linear)
    return _Cells(
        points,
        normals,
        np.full(m, face.body),
        total,
        misfit[each, best],
        force[each, best],
        linear,
        np.full(m, max(cell)),
        np.full(m, index),
        np.full(m, depth),
        u,
        theta,
    )


def _cell(face: Surface, depth: int) -> tuple[float, float]:
    """Size of a patch along and around [m]."""
    along, around = face.grid(PATCH_SPACING, PATCHES_AROUND_LINK)[2]
    return 0.5**depth * along, 0.5**depth * around


def _quarters(face: Surface, depth: int, u: Array, theta: Array) -> tuple[Array, Array]:
    """Return the middles of the quarters of patches."""
    along = 0.25 * _cell(face, depth)[0]
    around = 0.25 * 0.5**depth * 2.0 * np.pi / PATCHES_AROUND_LINK
    return (
        np.concatenate([u - along, u - along, u + along, u + along]),
        np.concatenate([theta - around, theta + around] * 2),
    )


def _worth_splitting(table: _Cells) -> NDArray[np.int64]:
    """Indices of the patches to split; none if those that hold nearly all of the probability are many, or fine.

    Others that come near them are split, too: a wide patch tells only roughly what is in it.
    """
    order = np.argsort(-table.log, kind="stable")
    total = np.cumsum(np.exp(table.log[order] - table.log[order[0]]))
    likely = order[: int(np.searchsorted(total, EXAMINED_PROBABILITY * total[-1])) + 1]
    if len(likely) > MOST_PATCHES:
        return likely[:0]
    if len(likely) > FEWEST_PATCHES:
        likely = likely[table.size[likely] > FINEST_PATCH]
    likely = likely[table.depth[likely] < SPLITS]
    if not len(likely):
        return likely
    near = order[:SPLIT_PATCHES]
    near = near[(table.log[near] > table.log[order[0]] - SPLIT_NATS) & (table.depth[near] <= table.depth[likely].max())]
    return np.union1d(likely, near)


def mass_within(patches: Patches, centres: Array, radius: float) -> Array:
    """Probability (k,) that the contact was within `radius` [m] of places (k, 3); patches at the rim count in part."""
    away = np.linalg.norm(patches.points - centres[:, None], axis=-1)
    part = np.clip((radius - away) / np.maximum(patches.size, 1e-9) + 0.5, 0.0, 1.0)
    return np.asarray(np.einsum("km,m->k", part, patches.probability))


def touchable(robot: Robot, q: Array, capsules: Sequence[LinkCapsule] | None) -> tuple[list[Surface], list[Surface]]:
    """Return the surfaces at q of the links that move, and those of all."""
    parts = tuple(link_capsules(robot) if capsules is None else capsules)
    still = fixed_column(robot, parts)
    everything = surfaces(robot, q, parts)
    return [face for face, part in zip(everything, parts, strict=True) if part not in still], everything
