# SPDX-License-Identifier: Apache-2.0
"""The depth of a point in the union of shapes: exact, outward, conservative, whatever the shapes are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact import clearance, contact_report, contact_wrench
from armwright.contact import contact_model as model
from armwright.contact.passages import exits
from armwright.errors import InputError
from armwright.world.arm_capsules import tool_point
from armwright.world.shape_distance import distance_and_normal
from armwright.world.shapes import Capsule, Cylinder, HalfSpace, Mesh, Sphere
from armwright.world.solid_clusters import WELD, beyond, clusters_of
from armwright.world.union_depth import union_of
from armwright.world.world import World
from support.random_unions import block, fly, force, inside, points_in, random_shape, rotation

ALL = ("box", "raster", "sphere", "cylinder", "capsule", "half")
UNIONS = (
    [(2 + s % 2, ALL, 0.12) for s in range(34)]
    + [(2 + s % 2, ("box", "raster", "sphere", "half"), 0.12) for s in range(34)]
    + [(4 + s % 2, ALL, 0.16) for s in range(6)]
    + [(4 + s % 3, ("box", "raster", "sphere", "half"), 0.16) for s in range(18)]
    + [(10, ("box", "raster"), 0.2)] * 3
    + [(10, ALL, 0.35)] * 3
    + [(30, ("raster",), 0.5), (30, ALL, 0.9)]
)


def wall_rooms():
    X = rotation(np.random.default_rng(5))
    return {
        "L": (block("a", [-0.1, -0.02, -0.1], [0.1, 0.0, 0.1]), block("b", [-0.02, -0.02, -0.1], [0.0, 0.2, 0.1])),
        "L abutting": (
            block("a", [-0.1, -0.02, -0.1], [0.1, 0.0, 0.1]),
            block("b", [-0.02, 0.0, -0.1], [0.0, 0.2, 0.1]),
        ),
        "T": (block("a", [-0.1, -0.02, -0.1], [0.1, 0.0, 0.1]), block("b", [-0.01, -0.01, -0.1], [0.01, 0.2, 0.1])),
        "U": (
            block("a", [-0.1, -0.1, -0.1], [-0.08, 0.1, 0.1]),
            block("b", [0.08, -0.1, -0.1], [0.1, 0.1, 0.1]),
            block("c", [-0.1, -0.1, -0.1], [0.1, -0.08, 0.1]),
        ),
        "wall in table": (
            block("w", [-0.01, -0.1, -0.03], [0.01, 0.1, 0.1]),
            block("t", [-0.2, -0.2, -0.05], [0.2, 0.2, 0.0]),
        ),
        "X turned": (
            block("a", [-0.1, -0.01, -0.1], [0.1, 0.01, 0.1]),
            block("b", [-0.1, -0.01, -0.1], [0.1, 0.01, 0.1], X),
        ),
        "pillar in a wall": (
            block("w", [-0.1, -0.01, -0.1], [0.1, 0.01, 0.1]),
            Cylinder(name="p", centre=(0.0, 0.0, 0.0), radius=0.03, axis=tuple(X[:, 2]), height=0.3),
            Sphere(name="s", centre=(0.05, 0.0, 0.0), radius=0.03),
        ),
    }


@pytest.mark.parametrize("part", range(4))
def test_no_free_point_is_nearer_and_the_exit_is_on_the_surface(part):
    for number in range(part, len(UNIONS), 4):
        count, kinds, side = UNIONS[number]
        rng = np.random.default_rng([24, number])
        shapes = tuple(random_shape(rng, f"s{k}", kinds, side, 0.3) for k in range(count))
        large = union_of(shapes).grown
        X = points_in(rng, shapes, 25, side + 0.15)
        depth, normal, _ = exits(shapes, X)
        assert (depth > 0.0).all()
        leaving = X + (depth + WELD)[:, None] * normal
        assert np.abs(np.min([beyond(s, leaving) for s in large], axis=0)).max() < 1e-9, number
        # sampled: nothing free on the sphere through the exit, in 75 directions anywhere and 75 about the exit
        around = rng.normal(size=(len(X), 150, 3))
        around[:, 75:] = around[:, 75:] * 10.0 ** rng.uniform(-3.0, 0.0, (len(X), 75, 1)) + normal[:, None]
        around /= np.linalg.norm(around, axis=2, keepdims=True)
        ball = X[:, None] + (depth + WELD - 1e-9)[:, None, None] * around
        free = ~inside(large, ball.reshape(-1, 3)).reshape(len(X), -1)
        assert not free.any(), (number, np.argwhere(free)[:3])


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_depth_is_that_of_brute_force(part):
    """Of 4,000 points on every surface those in no other shape: none is nearer than the exit; some hardly farther."""
    from scipy.spatial import cKDTree

    for number in range(part, len(UNIONS), 4):
        count, kinds, side = UNIONS[number]
        rng = np.random.default_rng([25, number])
        shapes = tuple(random_shape(rng, f"s{k}", kinds, side, 0.3) for k in range(count))
        large = union_of(shapes).grown
        X = points_in(rng, shapes, 200, side + 0.15)
        free = []
        for shape in large:
            foot = rng.uniform(-side - 0.3, side + 0.3, (4000, 3))
            for _ in range(4):  # onto the surface, along the gradient of the distance
                steps = 1e-7 * np.eye(3)
                slope = [(beyond(shape, foot + h) - beyond(shape, foot - h)) / 2e-7 for h in steps]
                foot = foot - beyond(shape, foot)[:, None] * np.transpose(slope)
            foot = foot[np.abs(beyond(shape, foot)) < 1e-12]
            free.append(foot[np.min([beyond(other, foot) for other in large], axis=0) > -1e-12])
        nearest, _ = cKDTree(np.concatenate(free)).query(X)
        depth = exits(shapes, X)[0] + WELD
        assert (depth <= nearest + 1e-9).all(), (number, float((depth - nearest).max()))
        here = np.abs(X).max(axis=1) < side + 0.2  # creases of endless shapes lie far beyond the samples
        assert np.median((nearest - depth)[here]) < 0.01, number


@pytest.mark.parametrize("name", wall_rooms())
def test_force_leads_to_the_surface_and_never_deeper(name):
    shapes, rng = wall_rooms()[name], np.random.default_rng(1)
    X = points_in(rng, shapes, 400, 0.25)
    F = force(shapes, X)
    assert np.abs(np.min([beyond(s, X + F / 1e5) for s in shapes], axis=0)).max() < 1e-6
    depth = np.linalg.norm(F, axis=1) / 1e5
    for share in (1e-3, 0.1, 0.5):
        moved = np.linalg.norm(force(shapes, X + share * F / 1e5), axis=1) / 1e5
        np.testing.assert_allclose(moved, (1.0 - share) * depth, atol=1e-9)
    step = 1e-6 * rng.normal(size=X.shape)
    nearby = np.linalg.norm(force(shapes, X + step), axis=1) / 1e5
    assert (np.abs(nearby - depth) <= np.linalg.norm(step, axis=1) + 1e-12).all(), (
        "depth changes no faster than the place"
    )


@pytest.mark.parametrize("name", wall_rooms())
def test_elastic_bounces_keep_their_energy(name):
    shapes, rng = wall_rooms()[name], np.random.default_rng(2)
    goal = points_in(rng, shapes, 90, 0.2)
    way = rng.normal(size=goal.shape)
    way /= np.linalg.norm(way, axis=1)[:, None]
    start = goal - 0.03 * way
    free = ~inside(shapes, start)
    v = 0.5 * way[free]
    path, after = fly(shapes, start[free], v, 1e-4, 1600)
    out = ~inside(shapes, path[:, -1])
    energy = np.sum(after[out] ** 2, axis=1) / 0.25
    assert out.sum() > 20 and np.abs(energy - 1.0).max() < 0.01
    assert np.linalg.norm(force(shapes, path.reshape(-1, 3)), axis=1).max() < 360.0, "v √(k m) = 354 N"


@pytest.mark.parametrize("name", ["L", "L abutting", "X turned", "pillar in a wall"])
def test_work_on_closed_paths_falls_with_the_step(name):
    shapes, rng = wall_rooms()[name], np.random.default_rng(3)
    centres = points_in(rng, shapes, 12, 0.2)
    u, v = rng.normal(size=(2, len(centres), 3)) * 0.01

    def work(count):
        t = np.linspace(0.0, 2.0 * np.pi, count + 1)[None, :, None]
        loop = centres[:, None] + np.cos(t) * u[:, None] + np.sin(2.0 * t) * v[:, None]
        F = force(shapes, loop.reshape(-1, 3)).reshape(loop.shape)
        return np.abs(np.sum(0.5 * (F[:, 1:] + F[:, :-1]) * np.diff(loop, axis=1), axis=(1, 2))).max()

    coarse, fine = work(500), work(8000)
    assert fine < 0.2 * coarse, "the rest is quadrature at jumps of the force: about a sixteenth"
    assert fine < 0.1, "of 5 J in the middle of a wall"


def test_work_falls_with_the_step_where_stiffness_differs():
    soft = block("soft", [-0.1, -0.02, -0.1], [0.0, 0.0, 0.1], stiffness=2e4)
    hard = block("hard", [0.0, -0.02, -0.1], [0.1, 0.0, 0.1])
    post = block("post", [-0.01, -0.01, -0.1], [0.01, 0.2, 0.1], stiffness=5e4)
    shapes, rng = (soft, hard, post), np.random.default_rng(4)
    stiff = np.array([s.stiffness for s in shapes])
    centres = points_in(rng, shapes, 16, 0.1)
    u, v = rng.normal(size=(2, len(centres), 3)) * 0.008

    def work(count):
        t = np.linspace(0.0, 2.0 * np.pi, count + 1)[None, :, None]
        loop = centres[:, None] + np.cos(t) * u[:, None] + np.sin(2.0 * t) * v[:, None]
        depth, normal, owner = exits(shapes, loop.reshape(-1, 3))
        F = ((stiff[owner] * depth)[:, None] * normal).reshape(loop.shape)
        return np.abs(np.sum(0.5 * (F[:, 1:] + F[:, :-1]) * np.diff(loop, axis=1), axis=(1, 2))).max()

    coarse, fine = work(500), work(8000)
    assert fine < 0.2 * coarse and fine < 0.1


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-6])
def test_gaps_up_to_a_micrometre_are_closed(gap):
    R = rotation(np.random.default_rng(9))
    L = (
        block("a", [-0.1, -0.02, -0.1], [0.1, 0.0, 0.1], R),
        block("b", [-0.02, gap, -0.1], [0.0, 0.2, 0.1], R),
        block("c", [0.1 + gap, -0.02, -0.1], [0.2, 0.0, 0.08], R),
    )
    assert clusters_of(L) == ((0, 1, 2),)
    depth, normal, _ = exits(L, np.array([[-0.01, 0.5 * gap, 0.0], [0.1 + 0.5 * gap, -0.001, 0.0]]) @ R.T)
    np.testing.assert_allclose(depth, [0.01, 0.001], atol=2e-6)
    assert normal[1] @ R[:, 1] > 0.999
    apart = replace(L[1], centre=tuple(np.array(L[1].centre) + 3e-6 * R[:, 1]))
    assert clusters_of((L[0], apart)) == ((0,), (1,)), "what is wider stays open"


def test_lone_shapes_keep_their_formula_bit_by_bit():
    robot, rng = aw.load("ur5"), np.random.default_rng(6)
    q = np.array([0.3, -1.2, 1.6, -0.5, 1.5, 0.0])
    tip = aw.fk(robot, q)[:3, 3]
    for k, kind in enumerate(("box", "sphere", "cylinder", "capsule") * 3):
        shape = random_shape(rng, "one", (kind,), 0.05, 0.2)
        where = "start" if hasattr(shape, "start") else "centre"
        moved = {name: tuple(np.array(getattr(shape, name)) + tip) for name in (where, "end") if hasattr(shape, name)}
        world = World((replace(shape, **moved), Sphere(name="far", centre=(0.0, 0.9, 0.9), radius=0.05)))
        got = contact_wrench(robot, world, capsules=(tool_point(robot),))(robot, 0.0, q, np.zeros(6))[robot.tip, :3]
        (pair, touch), *_ = model.touches(
            robot, q, np.zeros(6), model.contact_pairs(robot, world, (tool_point(robot),))
        )
        far, n = distance_and_normal(pair.shape, touch.lever)
        np.testing.assert_array_equal(got, np.maximum(1e5 * (0.0 - far), 0.0) * n, err_msg=str(k))


def test_the_corners_that_pushed_inwards():
    robot = aw.load("ur5")
    tool = (tool_point(robot),)
    q = np.array([0.0, -1.2, 1.6, -0.5, 1.5, 0.0])
    tip = aw.fk(robot, q)[:3, 3]

    def at(place, *blocks):
        """Force with the tool at a place of a room, which is moved there."""
        moved = tuple(replace(b, centre=tuple(np.array(b.centre) + tip - place)) for b in blocks)
        report = contact_report(robot, World(moved), q[None], capsules=tool)
        loop = contact_wrench(robot, World(moved), capsules=tool)(robot, 0.0, q, np.zeros(6))[robot.tip, :3]
        np.testing.assert_allclose(loop, report.total_force[0], atol=1e-6)
        size = np.linalg.norm(report.total_force[0])
        assert clearance(robot, World(moved), q, capsules=tool) == pytest.approx(-size / 1e5, abs=1e-9)
        assert {shape for _, shape in report.pairs()} <= {b.name for b in blocks} and len(report) == 1
        return report.total_force[0]

    a, b = block("a", [0.3, -0.13, -0.1], [0.46, -0.11, 0.5]), block("b", [0.44, -0.13, -0.1], [0.46, 0.3, 0.5])
    np.testing.assert_allclose(at(np.array([0.4401, -0.1099, 0.2]), a, b), [-10.0, 0.0, 0.0], atol=0.1)
    np.testing.assert_allclose(at(np.array([0.4401, -0.110001, 0.2]), a, b), [-10.0, 0.1, 0.0], atol=0.1)
    abutting = block("b", [0.44, -0.11, -0.1], [0.46, 0.3, 0.5])
    np.testing.assert_allclose(at(np.array([0.4401, -0.110001, 0.2]), a, abutting), [-10.0, 0.1, 0.0], atol=0.1)
    wall, table = block("w", [0.49, -0.3, -0.05], [0.51, 0.3, 0.3]), block("t", [0.2, -0.4, -0.1], [0.7, 0.4, 0.0])
    np.testing.assert_allclose(at(np.array([0.4901, 0.0, -0.0001]), wall, table), [-10.0, 0.0, 10.0], atol=0.1)


def test_a_floor_and_posts_on_it_are_one_and_too_many_pieces_are_refused(monkeypatch):
    robot = aw.load("ur5")
    floor = HalfSpace(name="floor", point=(0.0, 0.0, -0.2))
    posts = tuple(block(f"p{k}", [0.3 + 0.1 * k, -0.02, -0.2], [0.34 + 0.1 * k, 0.02, 0.3]) for k in range(4))
    world = World((floor, *posts))
    (pair,) = model.contact_pairs(robot, world, (tool_point(robot),))
    assert len(pair.shapes) == 5 and pair.union.candidates == 1 + 5 * 4 + 4 * 4
    monkeypatch.setattr(model, "MOST_CANDIDATES", 30)
    with pytest.raises(InputError, match=r"5 shapes that overlap or abut .* 37 faces and creases.*radius"):
        model.contact_pairs(robot, world, (tool_point(robot),))
    assert model.contact_pairs(robot, world, (tool_point(robot, 0.001),))


def test_a_leaning_pole_meets_the_wall_that_it_leans_into():
    """Nearly parallel surfaces: shapes are apart only if a plane between them is found."""
    wall = block("wall", [-0.1, -1.0, 0.0], [0.1, 1.0, 2.0])
    for tilt in (0.01, 0.03, 0.1):
        axis = np.array([-np.sin(tilt), 0.0, np.cos(tilt)])
        for inset, together in ((0.005, True), (-0.02, False)):
            top = np.array([0.1 - inset, 0.0, 1.5])
            pole = Cylinder(name="pole", centre=tuple(top - 0.5 * axis), radius=0.01, axis=tuple(axis), height=1.0)
            bar = Capsule(name="bar", start=tuple(top - axis), end=tuple(top), radius=0.01)
            for pair in ((wall, pole), (pole, wall), (wall, bar), (bar, wall)):
                assert (clusters_of(pair) == ((0, 1),)) is together, (tilt, inset, pair[0].name)


def test_rotations_that_were_typed_in_and_shapes_described_far_away():
    rng, cube = np.random.default_rng(7), block("cube", [0.0, -0.05, -0.05], [0.1, 0.05, 0.05])
    for _ in range(20):
        try:
            turned = block("typed", [-0.05, -0.1, -0.15], [0.05, 0.1, 0.15], np.round(rotation(rng), 9))
        except InputError:
            continue  # rounded too far: refused by its own name
        assert len(union_of((turned, cube)).faces) > 6
    near, far = (
        tuple(Cylinder(name=n, centre=(x, 0.0, z), radius=0.05) for n, x in (("a", 0.3), ("b", 0.36)))
        for z in (0.0, 500.0)
    )
    X = np.array([[0.33, 0.01, 0.1], [0.34, -0.02, -0.4]])
    np.testing.assert_allclose(exits(far, X)[0], exits(near, X)[0], atol=1e-9)


def test_a_mesh_beside_a_floor_is_no_part_of_its_union():
    floor, slab = HalfSpace(name="floor", point=(0.0, 0.0, -0.2)), block("slab", [0.0, 0.0, -0.3], [0.1, 0.1, 0.1])
    corners = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    mesh = Mesh(name="mesh", vertices=tuple(map(tuple, corners.tolist())), triangles=faces)
    assert clusters_of((floor, mesh, slab)) == ((0, 2), (1,))
