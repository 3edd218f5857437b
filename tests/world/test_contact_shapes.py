# SPDX-License-Identifier: Apache-2.0
"""Shapes: distances against sampled surfaces, normals as gradients, no NaN, nearest points on segments."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.errors import InputError, NotSupportedError
from armwright.robot.kernels import compile as compiled
from armwright.spatial.euler import rotation_from_rpy
from armwright.world.shape_distance import distance_and_normal, nearest_parameters, normal, signed_distance
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere

R = np.asarray(rotation_from_rpy(np.array([0.3, -0.4, 0.5])))
TURNED = tuple(tuple(row) for row in R.tolist())
AXIS = tuple(R[:, 2].tolist())
CENTRE = (0.1, -0.2, 0.3)
SHAPES: list[Shape] = [
    Sphere(name="sphere", centre=CENTRE, radius=0.2),
    Capsule(name="capsule", start=CENTRE, end=(0.3, 0.1, 0.2), radius=0.1),
    Capsule(name="point capsule", start=CENTRE, end=CENTRE, radius=0.1),
    Cylinder(name="cylinder", centre=CENTRE, axis=AXIS, radius=0.15, height=0.3),
    Cylinder(name="infinite", centre=CENTRE, axis=AXIS, radius=0.15),
    Cylinder(name="upright", centre=CENTRE, radius=0.15),
    Box(name="box", centre=CENTRE, size=(0.2, 0.3, 0.4), rotation=TURNED),
    HalfSpace(name="half-space", point=CENTRE, normal=AXIS),
]


def ids(shape: Shape) -> str:
    return shape.name


def surface(shape: Shape, rng: np.random.Generator, count: int) -> np.ndarray:
    """Points on the surface, made from the definition of each shape, not from its distance."""
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    if isinstance(shape, Sphere):
        return np.array(shape.centre) + shape.radius * directions
    if isinstance(shape, Capsule):
        a, d = np.array(shape.start), np.subtract(shape.end, shape.start)
        side = d / max(float(np.linalg.norm(d)), 1e-9)
        s = rng.uniform(size=(count, 1))
        across = directions - (directions @ side)[:, None] * side
        tube = a + s * d + shape.radius * across / np.linalg.norm(across, axis=1)[:, None]
        ends = np.where((directions @ d > 0.0)[:, None], a + d, a) + shape.radius * directions
        return np.concatenate([tube, ends]) if np.any(d) else ends
    if isinstance(shape, Cylinder):
        B = np.linalg.svd(np.array(shape.axis)[None])[2]
        half = 0.5 * min(shape.height, 6.0)
        angle = rng.uniform(0.0, 2.0 * np.pi, count)
        ring = np.cos(angle)[:, None] * B[1] + np.sin(angle)[:, None] * B[2]
        tube = shape.radius * ring + rng.uniform(-half, half, (count, 1)) * np.array(shape.axis)
        disc = shape.radius * np.sqrt(rng.uniform(size=(count, 1))) * ring + rng.choice(
            [-half, half], (count, 1)
        ) * np.array(shape.axis)
        return np.array(shape.centre) + (tube if np.isinf(shape.height) else np.concatenate([tube, disc]))
    if isinstance(shape, Box):
        p = rng.uniform(-0.5, 0.5, (count, 3))
        face = rng.integers(3, size=count)
        p[np.arange(count), face] = rng.choice([-0.5, 0.5], count)
        return np.array(shape.centre) + (p * np.array(shape.size)) @ np.array(shape.rotation).T
    raise AssertionError


@pytest.mark.parametrize("shape", SHAPES[:-1], ids=ids)
def test_distance_against_sampled_surface(shape):
    rng = np.random.default_rng(1)
    samples = surface(shape, rng, 40_000)
    assert np.abs([signed_distance(shape, p) for p in samples[::400]]).max() < 1e-12
    for p in np.array(CENTRE) + rng.uniform(-0.4, 0.4, (60, 3)):
        nearest = float(np.min(np.linalg.norm(samples - p, axis=1)))
        d = signed_distance(shape, p)
        assert nearest - 0.02 < abs(d) < nearest + 1e-9  # samples are at most about 1 cm apart
        n = normal(shape, p)
        assert np.linalg.norm(n) == pytest.approx(1.0)
        assert abs(signed_distance(shape, p - d * n)) < 1e-9  # the normal leads back to the surface, from both sides


def test_half_space():
    shape = SHAPES[-1]
    assert signed_distance(shape, np.array(CENTRE) + 0.25 * R[:, 2] + 0.7 * R[:, 0]) == pytest.approx(0.25)
    assert signed_distance(shape, np.array(CENTRE) - 0.25 * R[:, 2]) == pytest.approx(-0.25)


@pytest.mark.parametrize("shape", SHAPES, ids=ids)
def test_normal_is_the_gradient_and_compiles(shape):
    rng = np.random.default_rng(2)
    both = compiled(
        lambda point: np.concatenate(
            [np.array([distance_and_normal(shape, point)[0]]), distance_and_normal(shape, point)[1]]
        ),
        shapes={"point": 3},
    )
    points = np.array(CENTRE) + rng.uniform(-0.5, 0.5, (40, 3))
    table = both(points)
    for p, row in zip(points, table, strict=True):
        d, n = distance_and_normal(shape, p)
        np.testing.assert_allclose(row, [d, *n], atol=1e-14)
        step = 1e-6 * np.eye(3)
        gradient = [(signed_distance(shape, p + e) - signed_distance(shape, p - e)) / 2e-6 for e in step]
        np.testing.assert_allclose(n, gradient, atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=ids)
def test_degenerate_points_are_never_nan(shape):
    special = [
        np.array(CENTRE),
        np.array(CENTRE) + 0.1 * R[:, 2],
        np.array(CENTRE) + 1e-15,
        np.array(CENTRE) + R @ [0.1, 0.15, 0.2],
        np.array(CENTRE) + R @ [0.0, 0.0, 0.2],
        np.array(CENTRE) + R @ [0.15, 0.0, 0.15],
    ]
    both = compiled(lambda point: distance_and_normal(shape, point)[1], shapes={"point": 3})
    for p in special:
        d, n = distance_and_normal(shape, p)
        assert np.isfinite(d) and np.linalg.norm(n) == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(both(p), n, atol=1e-12)
        assert np.isfinite(both.derivative("point")(p)).all() if hasattr(both, "derivative") else True
    for a, d in (
        (np.array(CENTRE), np.zeros(3)),
        (np.array(CENTRE), 0.3 * R[:, 2]),
        (np.array(CENTRE) + R[:, 0], 0.3 * R[:, 2]),
    ):
        assert all(0.0 <= s <= 1.0 for s in nearest_parameters(shape, a, d))


@pytest.mark.parametrize("shape", SHAPES, ids=ids)
def test_nearest_point_of_a_segment(shape):
    rng = np.random.default_rng(3)
    distance = compiled(lambda point: np.array([signed_distance(shape, point)]), shapes={"point": 3})
    find = compiled(lambda a, d: np.array(nearest_parameters(shape, a, d)), shapes={"a": 3, "d": 3})
    a = np.array(CENTRE) + rng.uniform(-0.6, 0.6, (3000, 3))
    d = rng.normal(size=(3000, 3))
    d *= rng.uniform(0.05, 0.6, (3000, 1)) / np.linalg.norm(d, axis=1)[:, None]
    s = find(a, d)
    found = distance(a[:, None] + s[..., None] * d[:, None])[..., 0].min(axis=1)
    along = np.linspace(0.0, 1.0, 601)[:, None]
    truth = distance(a[:, None] + along * d[:, None])[..., 0].min(axis=1)
    inside = 0.0 if isinstance(shape, Box) else 0.1  # a box promises the middle of the chord there
    excess = (found - truth)[(truth > -inside) & (truth < 0.1)]
    rough = isinstance(shape, Cylinder) and np.isfinite(shape.height)
    assert len(excess) > 100
    assert excess.max() < (1e-3 if rough else 1e-9)
    assert np.quantile(excess, 0.98) < (2e-4 if rough else 1e-9)


def cube() -> Mesh:
    vertices = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.15, 0.15) for z in (-0.2, 0.2)]
    faces = [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
    return Mesh(name="cube", vertices=tuple(map(tuple, np.array(vertices) @ R.T + CENTRE)), triangles=tuple(faces))


def test_mesh_equals_box():
    pytest.importorskip("coal", reason="coal is an extra")
    mesh, box = cube(), SHAPES[6]
    rng = np.random.default_rng(4)
    for p in np.array(CENTRE) + rng.uniform(-0.4, 0.4, (60, 3)):
        (d, n), (d_box, n_box) = distance_and_normal(mesh, p), distance_and_normal(box, p)
        assert d == pytest.approx(d_box, abs=1e-7)
        np.testing.assert_allclose(n, n_box, atol=1e-5)
    for _ in range(30):
        a, b = np.array(CENTRE) + rng.uniform(-0.6, 0.6, (2, 3))
        s, s_box = nearest_parameters(mesh, a, b - a)[0], nearest_parameters(box, a, b - a)[0]
        if signed_distance(box, a + s_box * (b - a)) > 0.0:
            assert signed_distance(box, a + s * (b - a)) == pytest.approx(
                signed_distance(box, a + s_box * (b - a)), abs=1e-3
            )
    assert mesh.bounding_box().size[2] > 0.4
    with pytest.raises(NotSupportedError, match="bounding_box"):
        compiled(lambda point: normal(mesh, point), shapes={"point": 3})


def test_mesh_without_coal_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(NotSupportedError, match=r"armwright\[plan\]"):
        signed_distance(cube(), np.array([9.0, 9.0, 9.0]))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Sphere(name="s", centre=(0, 0, np.nan), radius=1.0), "centre"),
        (lambda: Sphere(name="s", centre=(0, 0), radius=1.0), "centre"),
        (lambda: Sphere(name="s", centre=(0, 0, 0), radius=-1.0), "radius must be > 0"),
        (lambda: Sphere(name="s", centre=(0, 0, 0), radius=np.inf), "radius must be finite"),
        (lambda: Sphere(name=" ", centre=(0, 0, 0), radius=1.0), "name"),
        (lambda: Sphere(name="s", centre=(0, 0, 0), radius=1.0, stiffness=0.0), "stiffness"),
        (lambda: Sphere(name="s", centre=(0, 0, 0), radius=1.0, friction=-0.1), "friction"),
        (lambda: Sphere(name="s", centre=(0, 0, 0), radius=1.0, damping=np.nan), "damping"),
        (lambda: Cylinder(name="c", centre=(0, 0, 0), radius=1.0, axis=(0, 0, 2)), "unit length"),
        (lambda: Cylinder(name="c", centre=(0, 0, 0), radius=1.0, height=0.0), "height"),
        (lambda: Box(name="b", centre=(0, 0, 0), size=(1, -1, 1)), "size"),
        (
            lambda: Box(name="b", centre=(0, 0, 0), size=(1, 1, 1), rotation=((1, 0, 0), (0, 1, 0), (0, 0, -1))),
            "rotation",
        ),
        (lambda: Mesh(name="m", vertices=((0, 0, 0),) * 4, triangles=((0, 1, 4),) * 4), "indices"),
    ],
)
def test_defective_shapes(make, words):
    with pytest.raises(InputError, match=words):
        make()
