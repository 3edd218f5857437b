# SPDX-License-Identifier: Apache-2.0
"""Random shapes that overlap, points in their union, and a point mass that flies among them."""

from __future__ import annotations

import numpy as np

from armwright.contact.passages import exits
from armwright.graph import compile_function
from armwright.world.segments import basis
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere
from armwright.world.solid_clusters import beyond, clusters_of, solids_of
from armwright.world.union_depth import union_of, way_out

STIFFNESS = 1e5


def rotation(rng):
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return R * np.sign(np.linalg.det(R))


def rows(R):
    return tuple(tuple(row) for row in R.tolist())


def block(name, low, high, R=None, **surface):
    """A box from corner to corner, turned about the origin."""
    low, high, R = np.array(low, dtype=float), np.array(high, dtype=float), np.eye(3) if R is None else R
    return Box(name=name, centre=tuple(R @ (low + high) / 2), size=tuple(high - low), rotation=rows(R), **surface)


def random_shape(rng, name, kinds, side, size):
    """One shape of a kind in `kinds`, about `size` [m] large, within ± side."""
    kind, centre = rng.choice(kinds), tuple(rng.uniform(-side, side, 3))
    if kind == "raster":  # abutting and coplanar faces are likely
        low = np.round(rng.uniform(-side, side, 3) / 0.02) * 0.02
        return block(name, low, low + np.maximum(np.round(rng.uniform(0.2, 1.0, 3) * size / 0.02), 1.0) * 0.02)
    if kind == "box":
        return Box(name=name, centre=centre, size=tuple(rng.uniform(0.2, 1.0, 3) * size), rotation=rows(rotation(rng)))
    if kind == "sphere":
        return Sphere(name=name, centre=centre, radius=rng.uniform(0.2, 0.5) * size)
    if kind == "cylinder":
        axis = tuple(rotation(rng)[:, 2]) if rng.uniform() < 0.7 else (0.0, 0.0, 1.0)
        height = np.inf if rng.uniform() < 0.2 else rng.uniform(0.3, 1.5) * size
        return Cylinder(name=name, centre=centre, radius=rng.uniform(0.1, 0.4) * size, axis=axis, height=height)
    if kind == "capsule":
        half = rotation(rng)[:, 0] * rng.uniform(0.1, 0.6) * size
        ends = tuple(np.array(centre) - half), tuple(np.array(centre) + half)
        return Capsule(name=name, start=ends[0], end=ends[1], radius=rng.uniform(0.1, 0.3) * size)
    n = rotation(rng)[:, 2]
    return HalfSpace(name=name, point=tuple(-0.8 * side * n), normal=tuple(n))


def inside(shapes, X):
    return np.min([beyond(shape, X) for shape in shapes], axis=0) < 0.0


def near_creases(rng, union, count):
    """Points near the creases of a union, 0.1 to 50 mm away."""
    creases, out = union.creases, []
    out += [edge.start + rng.uniform() * edge.along for edge in creases.edges]
    out += [corner for _, corner in creases.corners]
    for curve in [*creases.rings, *(bend for bend in creases.bends if np.isfinite(bend.radius))]:
        B, turn = basis(curve.normal), rng.uniform(0.0, 2.0 * np.pi, 4)
        out += list(curve.centre + curve.radius * (np.cos(turn)[:, None] * B[:, 0] + np.sin(turn)[:, None] * B[:, 1]))
    if not out:
        return np.zeros((0, 3))
    P = np.array(out)[rng.integers(len(out), size=count)]
    return P + rng.normal(size=P.shape) * 10.0 ** rng.uniform(-4.0, -1.3, (count, 1))


def points_in(rng, shapes, count, side):
    """Points inside a union, half of them near its creases."""
    X = rng.uniform(-side, side, (100 * count, 3))
    P = near_creases(rng, union_of(shapes), 10 * count)
    half = [Y[inside(shapes, Y)][: count // 2] for Y in (X, P) if len(Y)]
    return np.concatenate(half)


def force(shapes, X, k=STIFFNESS):
    """Force (m, 3) on points among shapes of one stiffness."""
    merged = tuple(solid.shape for solid in solids_of(shapes))
    F = np.zeros_like(X)
    for group in clusters_of(merged):
        depth, normal, _ = exits(tuple(merged[i] for i in group), X)
        F += k * depth[:, None] * normal
    return F


def compiled_force(shapes, k=STIFFNESS):
    """The same as a compiled kernel, as loops run it."""
    merged = tuple(solid.shape for solid in solids_of(shapes))
    unions = [union_of(tuple(merged[i] for i in group)) for group in clusters_of(merged)]

    def total(x):
        F = np.zeros(3)
        for union in unions:
            out = way_out(union, x)
            F = F + np.where(out.inside, k * out.depth, 0.0) * out.normal
        return F

    return compile_function(total, {"x": (3,)}, name="force_of_unions")


def fly(shapes, x, v, step, steps, mass=5.0):
    """Leapfrog of point masses: path (m, steps + 1, 3) and last velocity (m, 3)."""
    force_at = compiled_force(shapes)
    path, F = [x], force_at(x)
    for _ in range(steps):
        v = v + 0.5 * step / mass * F
        x = x + step * v
        F = force_at(x)
        v = v + 0.5 * step / mass * F
        path.append(x)
    return np.array(path).transpose(1, 0, 2), v
