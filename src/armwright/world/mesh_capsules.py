# SPDX-License-Identifier: Apache-2.0
"""Capsules around meshes: every triangle lies within one, and how far the capsules stand off the mesh is measured.

For a direction of the axis the thinnest capsule is exact: its radius is that of the smallest circle around the points
seen along the axis (`smallest_circle`, after Welzl 1991, with points moved to the front), its ends follow from the
points nearest to them. The direction with the least volume is searched for from the principal axes of the points. A
somewhat wider capsule is shorter, as its round ends then hold the corners: of a few widths the first that stands off
least is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.world.arm_capsules import LinkCapsule
from armwright.world.arm_shapes import LinkShape
from armwright.world.shapes import vector

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

    from armwright.robot.model import Robot
    from armwright.types import Array

RADIUS_ROUNDING = 1e-12


def smallest_circle(points: Array) -> tuple[Array, float]:
    """Return centre (2,) and radius of the smallest circle around points (n, 2).

    Each round takes the point that lies farthest outside into the two or three that carry the circle, so that few
    rounds are needed, each one pass over all points.
    """
    carriers = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    centre, radius = points[carriers[0]], 0.0
    for _ in range(100):
        distance = np.linalg.norm(points - centre, axis=1)
        farthest = int(np.argmax(distance))
        if distance[farthest] <= radius * (1.0 + RADIUS_ROUNDING) + 1e-15:
            break
        carriers.append(farthest)
        centre, radius, carriers = _carried(points, carriers)
    return centre, float(max(radius, np.linalg.norm(points - centre, axis=1).max()))


def _carried(points: Array, carriers: list[int]) -> tuple[Array, float, list[int]]:
    """Return the smallest circle around at most four points, and those of them that lie on it."""
    best: tuple[float, Array, list[int]] | None = None
    chosen = points[carriers]
    count = len(carriers)
    pairs = [(i, j) for i in range(count) for j in range(i)]
    for group in [*pairs, *((i, j, k) for i, j in pairs for k in range(j))]:
        centre = _through(chosen[list(group)])
        if centre is None:
            continue
        radius = float(np.linalg.norm(chosen[group[0]] - centre))
        if np.linalg.norm(chosen - centre, axis=1).max() <= radius * (1.0 + 1e-9) + 1e-15 and (
            best is None or radius < best[0]
        ):
            best = radius, centre, [carriers[i] for i in group]
    assert best is not None
    return best[1], best[0], best[2]


def _through(points: Array) -> Array | None:
    """Centre of the circle with two points as diameter, or through three; None where they lie on a line."""
    if len(points) == 2:
        return np.asarray(points.mean(axis=0))
    b, c = points[1] - points[0], points[2] - points[0]
    twice = 2.0 * (b[0] * c[1] - b[1] * c[0])
    if abs(twice) < 1e-14 * float(b @ b + c @ c):
        return None
    x = np.array([c[1] * (b @ b) - b[1] * (c @ c), b[0] * (c @ c) - c[0] * (b @ b)]) / twice
    return np.asarray(points[0] + x)


MOST_CAPSULES = 8
MESH_POINTS = 20_000  # points on the mesh to which the distance of a capsule is measured
WIDER = (1.0, 1.04, 1.08, 1.13, 1.2, 1.3)  # times the smallest radius
WORTH_ERROR_SHARE = 0.9  # of the error, to which a cut must bring it
DIRECTION_SEARCH_POINTS = 200  # points that the search over directions looks at
FIRST_TILTS = np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]])  # first tilts of the axis, as tangents
SEARCH: Any = {"initial_simplex": FIRST_TILTS, "xatol": 1e-3, "fatol": 1e-9, "maxiter": 60}
RADIUS_SLACK = 1e-9  # by which a radius is enlarged: its own rounding


class FittedCapsule(NamedTuple):
    """A capsule around a piece of a shape, and its error.

    Attributes:
        capsule: as `link_capsules` gives them.
        error: largest distance from the capsule's surface to the shape [m], measured to points on it, so rather too
            large than too small. The other way the error is 0: nothing of the piece is outside.
        link: the URDF's link it was fitted to.
    """

    capsule: LinkCapsule
    error: float
    link: str


class _Fit(NamedTuple):
    start: Array
    end: Array
    radius: float

    @property
    def volume(self) -> float:
        length = float(np.linalg.norm(self.end - self.start))
        return float(np.pi * self.radius**2 * (length + 4.0 / 3.0 * self.radius))


@names_culprit
def fitted_capsules(
    robot: Robot, shapes: Sequence[LinkShape], *, error: float | None = None
) -> tuple[FittedCapsule, ...]:
    """Fit capsules to the shapes that move: one per shape, or as many as it takes.

    Args:
        robot: the arm.
        shapes: shapes of its links (`link_shapes`); those that stand still are left out.
        error: divide shapes until no capsule stands off them by more than this [m], into at most 8 pieces each; None
            leaves them whole.

    Returns:
        Capsules with their errors; ``[f.capsule for f in …]`` is what planning, contact and simulation take.
    """
    if error is not None and not error > 0.0:
        raise InputError(f"fitted_capsules: error must be greater than 0, got {error}")
    out = []
    for shape in shapes:
        if shape.body < 0:
            continue
        for fit, off in _pieces(shape, error):
            name = robot.bodies[shape.body].name
            ends = vector(fit.start, "start"), vector(fit.end, "end")
            out.append(FittedCapsule(LinkCapsule(shape.body, name, *ends, fit.radius), off, shape.link))
    return tuple(out)


def _pieces(shape: LinkShape, error: float | None) -> list[tuple[_Fit, float]]:
    """Capsules of one shape: the worst is divided in the middle of its axis until all are good enough."""
    from scipy.spatial import cKDTree

    corners = shape.vertices[shape.triangles]
    surface = cKDTree(_samples(corners))
    parts = [corners]
    first, off = _fit(corners.reshape(-1, 3), surface)
    fits, errors = [first], [off]
    hopeless: set[int] = set()  # pieces that no cut makes better: round ends stand off flat ones in any case
    while error is not None and len(parts) < MOST_CAPSULES:
        open_ends = [k for k in range(len(parts)) if errors[k] > error and id(fits[k]) not in hopeless]
        if not open_ends:
            break
        worst = max(open_ends, key=lambda k: errors[k])
        along = fits[worst].end - fits[worst].start
        heights = parts[worst].mean(axis=1) @ along
        cut = 0.5 * (fits[worst].start + fits[worst].end) @ along
        halves = [parts[worst][heights <= cut], parts[worst][heights > cut]]
        if min(len(half) for half in halves) == 0:
            hopeless.add(id(fits[worst]))
            continue
        new, offs = zip(*(_fit(half.reshape(-1, 3), surface) for half in halves), strict=True)
        if max(offs) > WORTH_ERROR_SHARE * errors[worst]:
            hopeless.add(id(fits[worst]))
            continue
        parts[worst : worst + 1], fits[worst : worst + 1], errors[worst : worst + 1] = halves, new, offs
    return list(zip(fits, errors, strict=True))


def _fit(points: Array, surface: cKDTree) -> tuple[_Fit, float]:
    """A capsule around points (n, 3), and how far it stands off the shape; `surface` is a tree of points on that."""
    from scipy.optimize import minimize

    points = _outermost(np.unique(points, axis=0))
    few = (
        points
        if len(points) <= DIRECTION_SEARCH_POINTS
        else points[np.unique((points @ _spiral(DIRECTION_SEARCH_POINTS).T).argmax(axis=0))]
    )
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=True)

    def volume(x: Array, axis: Array, side: Array, other: Array) -> float:
        return _around(few, axis + x[0] * side + x[1] * other).volume

    found: list[tuple[float, Array]] = []
    for k in range(3):
        frame = (axes[k], axes[(k + 1) % 3], axes[(k + 2) % 3])
        best = minimize(volume, FIRST_TILTS[0], args=frame, method="Nelder-Mead", options=SEARCH)
        found.append((float(best.fun), frame[0] + best.x[0] * frame[1] + best.x[1] * frame[2]))
    axis = min(found, key=lambda pair: pair[0])[1]
    fits = [_around(points, axis, wider) for wider in WIDER]
    offs = [_stand_off(fit, surface) for fit in fits]
    good = min(offs) + 0.02 * fits[0].radius  # which sampling cannot tell from the best
    chosen = next(k for k, off in enumerate(offs) if off <= good)
    return fits[chosen], offs[chosen]


def _outermost(points: Array) -> Array:
    """Corners of the convex hull; all points where they lie in a plane or a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


def _around(points: Array, axis: Array, wider: float = 1.0) -> _Fit:
    """Return the thinnest capsule with this direction around points (n, 3), or one `wider` times that, then short."""
    u = axis / np.linalg.norm(axis)
    side = np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])
    side /= np.linalg.norm(side)
    other = np.cross(u, side)
    flat = points @ np.stack([side, other], axis=1)
    centre, radius = smallest_circle(flat)
    radius = wider * radius * (1.0 + RADIUS_SLACK) + 1e-12
    along = points @ u
    reach = np.sqrt(np.maximum(radius**2 - np.square(flat - centre).sum(axis=1), 0.0))
    low, high = float((along + reach).min()), float((along - reach).max())
    if low > high:  # a ball holds them all
        low = high = 0.5 * (low + high)
    foot = centre[0] * side + centre[1] * other
    return _Fit(foot + low * u, foot + high * u, float(radius))


def _samples(corners: Array) -> Array:
    """Return points on triangles (m, 3, 3): their corners, and more where they are large; the same every time."""
    rng = np.random.default_rng(0)
    edges = corners[:, 1:] - corners[:, :1]
    areas = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    if not areas.sum() > 0.0:
        return np.asarray(corners.reshape(-1, 3))
    chosen = rng.choice(len(corners), MESH_POINTS, p=areas / areas.sum())
    a, b = rng.uniform(size=(2, MESH_POINTS, 1))
    a, b = np.where(a + b > 1.0, (1.0 - a, 1.0 - b), (a, b))
    inside = corners[chosen, 0] + a * edges[chosen, 0] + b * edges[chosen, 1]
    return np.concatenate([corners.reshape(-1, 3), inside])


def _spiral(count: int) -> Array:
    """Directions (count, 3), spread evenly over the unit ball."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, k * np.pi * (1.0 + np.sqrt(5.0))
    flat = np.sqrt(1.0 - z * z)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)


def _stand_off(fit: _Fit, surface: cKDTree) -> float:
    """Largest distance from points of the capsule's surface to the nearest of the points on the shape."""
    along = fit.end - fit.start
    length = float(np.linalg.norm(along))
    u = along / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    ball = _spiral(600)  # its halves are the round ends; flattened and moved along, the side
    ends = np.where((ball @ u)[:, None] > 0.0, fit.end, fit.start) + fit.radius * ball
    flat = ball - np.outer(ball @ u, u)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    side = fit.start + np.outer((np.arange(600) + 0.5) / 600.0, along) + fit.radius * flat
    distance, _ = surface.query(np.concatenate([ends, side]))
    return float(np.max(distance))
