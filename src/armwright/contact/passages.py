# SPDX-License-Identifier: Apache-2.0
"""Passages: where a point went through a solid instead of being pushed back, told from its path alone.

A surface is a spring: a wall of thickness w holds ½ k (w/2)², so that a mass m passes if it is faster than
(w/2) √(k/m), and a step longer than the wall does not see it. Both leave a trace in the path. Every stretch of it that
runs inside shapes which hang together (or right across them, between two samples) is looked at:

* *opposed*: it came in at a and left at b, where the surface faces the other way (n_a·n_b < −½); the straight line
  from a to b runs inside (across a cup, whose walls face each other, it does not), and the point went at least half as
  deep as that line. Sliding round a wall's end is shallower.
* *cut off*: its nearest way out jumped to a place that cannot be reached from the old one through the free space
  nearby, and never jumped back. Near is 1.6 times the depth, or 1 mm more than it: a convex edge is rounded within
  that, a wall is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.graph.tape import Tape
from armwright.graph.traced_program import trace
from armwright.world.shape_chords import chord
from armwright.world.shapes import Mesh, Shape
from armwright.world.solid_clusters import beyond, clusters_of, solids_of
from armwright.world.union_depth import union_of, way_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array, Traced
    from armwright.world.world import World

FACES_AWAY = -0.5
"""Cosine between the normals at entry and exit below which a stretch counts as opposed: faces more than 120° apart."""
INSIDE_SHARE = 0.9
"""Share of the line from entry to exit that must run inside: all of it, but for scallops between round shapes."""
JUMP = 0.2
"""Cosine between successive normals below which the way out has jumped: 78°, more than in a crease between posts."""
OPPOSED_DEPTH = 5e-4
"""Least depth [m] of an opposed passage: sharp edges are cut by less in gentle contacts (50 N at 1e5 N/m)."""
NEAR_FACTOR, NEAR_MORE = 1.6, 1e-3
"""How far around a point at depth d free space may link two ways out: the larger of 1.6 d (√2 d rounds a right-angled
edge) and d + 1 mm (in which gentle contacts round sharper ones)."""
TOWARDS = math.cos(math.radians(45.0))
"""Cosine of the angle about a way out in which free space belongs to it: beyond a crease it may lie to the side."""
SPACING = 5e-4
"""Distance of looks along a stretch [m]; at most `LOOKS` between two samples of the path, at least `LOOKS` across."""
LOOKS = 40
DIRECTIONS, SHELLS, TOUCHING = 1000, 8, 8
"""Directions and shells of the search for free space around a point, and neighbours of a direction."""


class Passage(NamedTuple):
    """A point that went through a solid.

    Attributes:
        row: first row of the path after it left the shapes; the last row if it never did.
        shape: name of what it went through (where it was deepest).
        entry, leaving: points (3,) where it came in and went out [m].
        depth: largest depth in between [m].
    """

    row: int
    shape: str
    entry: Array
    leaving: Array
    depth: float


@lru_cache(maxsize=128)
def _exits(shapes: tuple[Shape, ...]) -> Tape:
    union = union_of(shapes)

    def rows(x: Traced) -> Traced:
        out = way_out(union, x)
        return np.concatenate([np.array([np.where(out.inside, out.depth, 0.0)]), out.normal, np.array([out.owner])])

    return Tape(trace(rows, {"x": (3,)}))


def exits(shapes: tuple[Shape, ...], X: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return depth (m,) [m] (0 outside), outward normal (m, 3) and owner's number (m,) at points (m, 3) of a union."""
    out = np.zeros((len(X), 5))
    if len(X):
        _exits(shapes).run([np.ascontiguousarray(X)], [out])
    return out[:, 0], out[:, 1:4], out[:, 4].astype(np.int64)


def _outside(shapes: Sequence[Shape], X: Array) -> Array:
    """Return how far points (m, 3) lie beyond the nearest of several shapes (m,); < 0: inside one."""
    return np.asarray(np.min([beyond(shape, X) for shape in shapes], axis=0))


@lru_cache(maxsize=1)
def _directions() -> tuple[Array, NDArray[np.int64]]:
    """Return unit vectors spread over a sphere, and the numbers of the neighbours of each."""
    k = np.arange(DIRECTIONS) + 0.5
    z, turn = 1.0 - 2.0 * k / DIRECTIONS, math.pi * (1.0 + math.sqrt(5.0)) * k
    around = np.sqrt(1.0 - z * z)
    unit = np.stack([around * np.cos(turn), around * np.sin(turn), z], axis=1)
    nearest = np.argsort(-(unit @ unit.T), axis=1)[:, 1 : 1 + TOUCHING]
    return unit, nearest.astype(np.int64)


def linked(shapes: Sequence[Shape], x: Array, depth: float, n: Array, m: Array) -> bool:
    """Return whether free space near x links the ways out along the normals n and m (3,) of a point at `depth`."""
    unit, neighbours = _directions()
    most = max(NEAR_FACTOR * depth, depth + NEAR_MORE)
    radii = np.geomspace(1.02 * depth + 1e-6, most, SHELLS)
    places = x + (radii[:, None, None] * unit).reshape(-1, 3)
    free = (_outside(shapes, places) > 0.0).reshape(SHELLS, DIRECTIONS)
    towards = unit @ n > TOWARDS
    reached = free & towards
    while True:
        wider = reached | reached[:, neighbours].any(axis=2)
        wider[1:] |= reached[:-1]
        wider[:-1] |= reached[1:]
        wider &= free
        if (wider == reached).all():
            break
        reached = wider
    return bool((reached & (unit @ m > TOWARDS)).any())


def _edge(shapes: Sequence[Shape], outside: Array, inside: Array) -> Array:
    """Return the point (3,) where the line from a point inside to one outside leaves the shapes that it begins in."""
    step = outside - inside
    size = float(np.linalg.norm(step))
    spans, at = [chord(shape, inside, step / size, 0.0) for shape in shapes], 0.0
    while (farther := max((b for a, b in spans if a <= at + 1e-9), default=at)) > at:
        at = farther
    return inside + min(at / size, 1.0) * step


def _stretches(shapes: Sequence[Shape], X: Array) -> list[tuple[int, int, list[Array]]]:
    """Return the stretches of a path inside shapes: row before, row after (−1: none), corners of the stretch."""
    far = np.array([beyond(shape, X) for shape in shapes])
    inside = far.min(axis=0) < 0.0
    out: list[tuple[int, int, list[Array]]] = []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        corners = list(X[first:after])
        if first > 0:
            corners.insert(0, _edge(shapes, X[first - 1], X[first]))
        if after < len(X):
            corners.append(_edge(shapes, X[after], X[after - 1]))
        out.append((first - 1, after if after < len(X) else -1, corners))
    step = np.diff(X, axis=0)
    size = np.linalg.norm(step, axis=1)
    across = (far[:, 1:] + far[:, :-1] < size).any(axis=0) & ~inside[1:] & ~inside[:-1] & (size > 0.0)
    for k in np.flatnonzero(across).tolist():
        d = step[k] / size[k]
        spans = [chord(shape, X[k], d) for shape in shapes]
        spans = [(max(a, 0.0), min(b, float(size[k]))) for a, b in spans if min(b, size[k]) > max(a, 0.0)]
        if spans:
            low, high = min(a for a, _ in spans), max(b for _, b in spans)
            out.append((k, k + 1, [X[k] + low * d, X[k] + high * d]))
    return sorted(out, key=lambda stretch: stretch[0])


def _all_stretches(shapes: tuple[Shape, ...], X: Array) -> list[tuple[int, int, list[Array]]]:
    """Return the stretches of a path inside a union: also one that runs in the plane where two shapes abut."""
    plain = _stretches(shapes, X)
    taken = np.zeros(len(X) + 1, dtype=bool)
    for before, after, _ in plain:
        taken[max(before, 0) : after + 1 if after >= 0 else len(X)] = True
    welded = _stretches(union_of(shapes).grown, X) if len(shapes) > 1 else []
    seams = [s for s in welded if not taken[max(s[0], 0) : s[1] + 1 if s[1] >= 0 else len(X)].any()]
    return sorted([*plain, *seams], key=lambda stretch: stretch[0])


def _looks(corners: list[Array], across: bool) -> Array:
    """Return points along a stretch, close enough to follow the way out."""
    points = [corners[0][None]]
    for a, b in pairwise(corners):
        count = int(np.clip(math.ceil(float(np.linalg.norm(b - a)) / SPACING), LOOKS if across else 1, LOOKS))
        points.append(a + np.linspace(0.0, 1.0, count + 1)[1:, None] * (b - a))
    return np.concatenate(points)


class _Look(NamedTuple):
    """Points (m, 3) of a stretch inside shapes, with depth, way out and owner at each."""

    X: Array
    depth: Array
    normal: Array
    owner: NDArray[np.int64]


def _passage(
    shapes: tuple[Shape, ...], stretch: tuple[int, int, list[Array]], look: _Look, rows: int
) -> Passage | None:
    """Return the passage that a stretch is, or None."""
    before, after, corners = stretch
    X, depth, normal, owner = (part[look.depth > 0.0] for part in look)
    if len(X) == 0:
        return None
    k = int(np.argmax(depth))
    found = Passage(
        after if after >= 0 else rows - 1, shapes[int(owner[k])].name, corners[0], corners[-1], float(depth[k])
    )
    if before >= 0 and after >= 0 and depth[k] > OPPOSED_DEPTH and normal[0] @ normal[-1] < FACES_AWAY:
        straight = corners[0] + np.linspace(0.0, 1.0, LOOKS)[:, None] * (corners[-1] - corners[0])
        between = exits(shapes, straight)[0][1:-1]
        if np.mean(between > 0.0) >= INSIDE_SHARE and depth[k] >= 0.5 * between.max():
            return found
    behind: list[Array] = []  # ways out that were left for one that is cut off from them
    for i in np.flatnonzero(np.sum(normal[1:] * normal[:-1], axis=1) < JUMP).tolist():
        deep = max(float(depth[i]), float(depth[i + 1]))
        if linked(shapes, 0.5 * (X[i] + X[i + 1]), deep, normal[i], normal[i + 1]):
            continue
        if behind and behind[-1] @ normal[i + 1] > JUMP:
            behind.pop()
        else:
            behind.append(normal[i])
    return found if behind else None


def passages(world: World, path: Array) -> tuple[Passage, ...]:
    """Return where a point on a path (T, 3) [m], base frame, went through the solids of a world, in order of time.

    The path is taken as straight between its rows; give one for every step of a simulation. Meshes are left out.

    >>> passages(world, run["tool"])  # () if every surface held
    """
    X = np.asarray(path, dtype=np.float64).reshape(-1, 3)
    rows = np.flatnonzero(np.isfinite(X).all(axis=1))
    X = X[rows]
    if len(X) < 2:
        return ()
    shapes = tuple(solid.shape for solid in solids_of(world.shapes))
    out = []
    for group in clusters_of(shapes):
        together = tuple(shapes[k] for k in group)
        if isinstance(together[0], Mesh):
            continue
        stretches = [stretch for stretch in _all_stretches(together, X) if len(stretch[2]) > 1]
        looks = [_looks(corners, len(corners) == 2) for _, _, corners in stretches]
        if not looks:
            continue
        together_looked = exits(together, np.concatenate(looks))
        ends = np.cumsum([len(points) for points in looks])[:-1]
        parts = zip(*(np.split(part, ends) for part in together_looked), strict=True)
        for stretch, points, part in zip(stretches, looks, parts, strict=True):
            found = _passage(together, stretch, _Look(points, *part), len(X))
            if found is not None:
                out.append(found._replace(row=int(rows[found.row])))
    return tuple(sorted(out, key=lambda passage: passage.row))
