# SPDX-License-Identifier: Apache-2.0
"""Whole-arm avoidance: exact distances, proofs of free motion, sampling planners, obstacles in configuration space."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import armwright as aw
from armwright.errors import InputError
from armwright.graph.kernel import make_kernel
from armwright.graph.traced_program import trace
from armwright.kinematics.forward import link_poses
from armwright.planning import (
    Hopfield,
    Obstacles,
    OMPLConnect,
    RRTConnect,
    WholeArm,
    configuration_map,
    floor,
    free_motion,
    grid_map,
    obstacles_of,
    planner,
    rrt_connect,
    spheres,
    true_map,
)
from armwright.planning.obstacles import cells_as_boxes, contact_capsules, point_clearance, vertical_cylinders
from armwright.studies.doc000_collision.setting import patch
from armwright.world import LinkCapsules, link_capsules, link_ends
from armwright.world.segments import segment_box, segment_point, segment_segment

START = np.array([2.5518, -1.1193, 2.5704, 0.1198, 1.5708, -0.5898])
GOAL = np.array([2.8072, -0.5362, 1.1447, 0.9623, 1.5708, -0.3344])


@given(st.integers(0, 2**32 - 1))
def test_distances_are_minima(seed):
    rng = np.random.default_rng(seed)
    p, q, a, b = (rng.normal(size=3) for _ in range(4))
    if seed % 3 == 0:
        b = a.copy()  # a point
    if seed % 5 == 0:
        b = a + 0.7 * (q - p)  # parallel
    found = segment_segment(p, q, a, b)
    t = np.linspace(0, 1, 2001)[:, None]
    step = np.linalg.norm(q - p) / 2000
    x = p + (q - p) * t
    along = np.clip(((x - a) @ (b - a)) / max((b - a) @ (b - a), 1e-30), 0, 1)[:, None]
    grid = np.linalg.norm(x - a - (b - a) * along, axis=1).min()
    assert grid - step <= found <= grid + 1e-9
    np.testing.assert_allclose(segment_point(p, q, a), segment_segment(p, q, a, a), rtol=0, atol=1e-12)
    half = rng.uniform(0.05, 1.0, 3)
    grid = np.linalg.norm(np.maximum(np.abs(p + (q - p) * t) - half, 0.0), axis=1).min()
    exact = segment_box(p, q, half)
    assert grid - step <= exact <= grid + 1e-12


def capsules(robot, radius):
    """The links as arrays, all of one radius."""
    return contact_capsules(robot, link_capsules(robot, radius))


@pytest.fixture(scope="module")
def robot():
    return aw.load("ur5-ragazzon")


@pytest.fixture(scope="module")
def arm(robot):
    return WholeArm(robot, spheres([[0.4, 0.0, 0.1], [0.4, -0.05, 0.2]], 0.06), capsules(robot, 0.04))


def test_ends_of_links_are_where_the_links_are(robot):
    """From the base to the tool, and on symbols as on floats with batch axes."""
    links = capsules(robot, 0.04)
    q = np.random.default_rng(0).uniform(-3, 3, (2, 5, 6))
    ends = link_ends(aw.fk_all(robot, q), links)
    assert ends.shape == (2, 5, len(links.body), 2, 3)
    np.testing.assert_allclose(ends[..., -1, 1, :], aw.fk(robot, q)[..., :3, 3], atol=1e-12)
    np.testing.assert_allclose(ends[..., 0, 0, :], 0.0, atol=1e-12)
    for m, i in enumerate(links.body):
        np.testing.assert_allclose(
            np.linalg.norm(ends[..., m, 0, :] - aw.fk(robot, q, int(i))[..., :3, 3], axis=-1),
            np.linalg.norm(links.a[m]),
            atol=1e-12,
        )
    traced = trace(lambda q: link_ends(link_poses(robot, q), links), {"q": (6,)})
    np.testing.assert_allclose(make_kernel(traced)(q), ends, atol=1e-12)


def test_clearance_against_sampled_surfaces(robot):
    rng = np.random.default_rng(2)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    box = Obstacles(centre=[[0.3, 0.2, 0.3]], half=[[0.1, 0.05, 0.2]], R=R[None])
    links = capsules(robot, 0.03)
    q = rng.uniform(-3, 3, (6, 6))
    T = aw.fk_all(robot, q)
    s = np.linspace(0, 1, 400)[:, None, None]
    line = links.a + (links.b - links.a) * s  # (400, m, 3) in link frames
    points = np.einsum("bkij,skj->bski", T[:, links.body, :3, :3], line) + T[:, None, links.body][..., :3, 3]
    inside = (points - box.centre[0]) @ R
    want = np.linalg.norm(np.maximum(np.abs(inside) - box.half[0], 0), axis=-1).min(axis=(1, 2)) - 0.03
    np.testing.assert_allclose(WholeArm(robot, box, links).clearance(q), want, atol=2e-3)
    ball = spheres([[0.3, 0.2, 0.3]], 0.1)
    want = np.linalg.norm(points - ball.a[0], axis=-1).min(axis=(1, 2)) - 0.13
    np.testing.assert_allclose(WholeArm(robot, ball, links).clearance(q), want, atol=2e-3)
    standing = WholeArm(robot, floor(-0.1), links)
    np.testing.assert_allclose(standing.clearance(q), points[..., 1:, 2].min(axis=(1, 2)) + 0.07, atol=2e-3)
    both = WholeArm(robot, box + ball, links, margin=0.01).clearance(q)
    single = [WholeArm(robot, x, links).clearance(q) for x in (box, ball)]
    np.testing.assert_allclose(both, np.minimum(*single) - 0.01, atol=1e-12)
    own = WholeArm(robot, Obstacles(), links, pairs=((0, 3), (1, 5))).clearance(q)
    apart = [
        np.linalg.norm(points[:, :, None, i] - points[:, None, :, j], axis=-1).min(axis=(1, 2))
        for i, j in ((0, 3), (1, 5))
    ]
    np.testing.assert_allclose(own, np.minimum(*apart) - 0.06, atol=2e-3)
    assert WholeArm(robot, Obstacles()).clearance(q).min() == np.inf


def test_felt_cells_become_boxes_where_they_are(robot):
    where = patch().with_felt((10, 11))
    boxes = cells_as_boxes(where, height=0.2)
    np.testing.assert_allclose(boxes.centre, [where.grid.centre((10, 11))])
    np.testing.assert_allclose(boxes.half, [[0.01315, 0.01315, 0.2]])
    solid = cells_as_boxes(grid_map((3, 3, 3), cell_size=(0.1, 0.2, 0.3)).with_felt((1, 1, 1)))
    np.testing.assert_allclose(solid.half, [[0.05, 0.1, 0.15]])
    assert len(cells_as_boxes(patch())) == 0
    pillar = vertical_cylinders([where.grid.centre((10, 11))[:2]], 0.03)
    tool = LinkCapsules([5], robot.T_tip_tool[None, :3, 3], robot.T_tip_tool[None, :3, 3], [0.0])
    q = START[None]
    away = np.linalg.norm(aw.fk(robot, START)[:2, 3] - where.grid.centre((10, 11))[:2]) - 0.03
    assert WholeArm(robot, pillar, tool).clearance(q)[0] == pytest.approx(away, abs=1e-9)


def test_worlds_become_obstacles_and_true_maps(robot):
    from armwright.world.shape_distance import signed_distance
    from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere
    from armwright.world.world import World
    from armwright.world.world_catalogue import load_world

    c, s = np.cos(0.4), np.sin(0.4)
    world = World(
        (
            Sphere(name="a", centre=(0.4, 0.1, 0.2), radius=0.1),
            Capsule(name="b", start=(0.1, 0.5, 0.0), end=(0.2, 0.4, 0.3), radius=0.05),
            Cylinder(name="c", centre=(-0.3, 0.2, 0.0), radius=0.08),
            Box(name="d", centre=(0.0, -0.5, 0.3), size=(0.2, 0.1, 0.3), rotation=((c, -s, 0), (s, c, 0), (0, 0, 1))),
            HalfSpace(name="e", point=(0, 0, -0.2)),
        )
    )
    obstacles = obstacles_of(world)
    assert len(obstacles) == 5
    P = np.random.default_rng(0).uniform(-0.7, 0.7, (200, 3))
    want = [min(signed_distance(shape, p) for shape in world) for p in P]
    np.testing.assert_allclose(point_clearance(obstacles, P), want, atol=1e-12)
    layout = load_world("layout-a")
    known = true_map(patch(), layout)
    felt = {tuple(x) for x in (np.argwhere(known.felt) + 1).tolist()}
    assert {(10, v) for v in range(1, 13)} <= felt <= {(u, v) for u in (9, 10, 11) for v in range(1, 14)}
    assert Hopfield()(known, (2, 11), (18, 7)).ok
    assert true_map(patch(), layout, touching=True).felt.sum() > known.felt.sum()
    default = WholeArm(robot, obstacles)
    assert default.capsules == contact_capsules(robot) and hash(default.capsules) == hash(contact_capsules(robot))
    default.clearance(START)
    size = len(robot.known)
    WholeArm(robot, obstacles).clearance(START)
    assert len(robot.known) == size  # equal capsules share their compiled tests


def test_no_point_moves_farther_than_the_levers_say(robot, arm):
    rng = np.random.default_rng(4)
    q, dq = rng.uniform(-3, 3, (200, 6)), rng.normal(size=(200, 6)) * 1e-6
    moved = np.linalg.norm((aw.fk_all(robot, q + dq) - aw.fk_all(robot, q))[..., :3, 3], axis=-1).max(axis=1)
    assert (moved <= np.abs(dq) @ arm.levers + 1e-12).all()


def test_proved_motions_are_free_and_touching_ones_are_not_proved(arm):
    rng = np.random.default_rng(5)
    s = np.linspace(0, 1, 2001)[:, None]
    verdicts = []
    for _ in range(60):
        a, b = START + rng.normal(size=(2, 6)) * 0.4
        hit = arm(a + (b - a) * s).any()
        proved = arm.motion_free(a, b)
        assert not (hit and proved)
        verdicts.append((bool(hit), proved))
    assert (False, True) in verdicts and (True, False) in verdicts
    assert sum(v == (False, False) for v in verdicts) <= 2  # free but closer than the proof resolves


def test_rrt_connect_solves_and_repeats(robot, arm):
    assert arm([0.5 * (START + GOAL)])[0]  # the straight way is blocked
    plans = [RRTConnect(seed=s)(arm, START, GOAL, robot.lower, robot.upper) for s in (0, 0, 1)]
    for plan in plans:
        assert plan.ok and plan.path[0].tolist() == START.tolist() and plan.path[-1].tolist() == GOAL.tolist()
        assert all(arm.motion_free(a, b) for a, b in pairwise(plan.path))
        assert plan.cost < 4 * np.linalg.norm(GOAL - START)
    np.testing.assert_array_equal(plans[0].path, plans[1].path)
    assert plans[2].path.shape != plans[0].path.shape or (plans[2].path != plans[0].path).any()


def test_splines_along_a_planned_path_keep_clear(robot, arm):
    plan = RRTConnect(seed=2)(arm, START, GOAL, robot.lower, robot.upper)
    motion, least = free_motion(robot, arm, plan.path, velocity=1.0, acceleration=4.0)
    q = motion.evaluate(np.linspace(0, motion.duration, 5000)).q
    assert least > 0 and arm.clearance(q).min() > 0 and (motion.peaks().qd <= 1.0 + 1e-9).all()
    with pytest.raises(InputError, match="too close"):
        free_motion(robot, arm, [START, GOAL])


def maze(Q, shrink=0.0):
    """Two walls with a gap each, in a unit square."""
    x, y, half = Q[..., 0], Q[..., 1], 0.03 - shrink
    return ((np.abs(x - 0.35) < half) & (y < 0.85 - shrink)) | ((np.abs(x - 0.65) < half) & (y > 0.15 + shrink))


def clear(path, resolution):
    """Tests at most `resolution` apart can miss corners that reach half as deep across the motion, no more."""
    s = np.linspace(0, 1, 500)[:, None]
    return not any(maze(a + (b - a) * s, shrink=0.5 * resolution).any() for a, b in pairwise(path))


def test_sampling_in_a_maze_and_its_outcomes():
    ends = ([0.1, 0.1], [0.9, 0.9], [0, 0], [1, 1])
    for seed in range(8):
        plan = rrt_connect(maze, *ends, step=0.1, resolution=0.005, seed=seed)
        assert plan.ok and clear(plan.path, 0.005)
        assert 2.0 < plan.cost < 3.0 and "before shortcuts" in plan.message
    assert rrt_connect(maze, [0.35, 0.1], *ends[1:]).status == "start blocked"
    assert rrt_connect(maze, ends[0], [0.65, 0.9], *ends[2:]).status == "goal blocked"
    shut = rrt_connect(lambda Q: np.abs(Q[..., 0] - 0.5) < 0.1, *ends, iterations=200)
    assert shut.status == "gave up" and shut.path.shape == (0, 2) and "does not prove" in shut.message
    straight = rrt_connect(lambda Q: np.zeros(len(Q), dtype=bool), *ends)
    np.testing.assert_allclose([straight.cost], [np.hypot(0.8, 0.8)])
    assert rrt_connect(maze, ends[0], ends[0], *ends[2:]).ok


def test_ompl_behind_the_same_interface(robot, arm):
    pytest.importorskip("ompl", reason="needs OMPL")
    plan, again = (
        OMPLConnect(step=0.1, resolution=0.005, seed=3)(maze, [0.1, 0.1], [0.9, 0.9], [0, 0], [1, 1]) for _ in range(2)
    )
    np.testing.assert_array_equal(plan.path, again.path)
    assert plan.ok and 2.0 < plan.cost < 3.5
    assert clear(plan.path, 0.005)
    assert planner("ompl-rrt-connect")(maze, [0.35, 0.1], [0.9, 0.9], [0, 0], [1, 1]).status == "start blocked"


def test_hopfield_plans_in_configuration_space():
    flat = aw.load("planar2")
    half = 0.5 * float(np.linalg.norm(aw.fk(flat, np.zeros(2))[:3, 3]))
    middle = 0.75 * aw.fk(flat, [0.5 * np.pi, 0.0])[:3, 3]  # stretched out, half-way, the forearm would hit it
    arm = WholeArm(flat, spheres([middle], 0.2 * half), capsules(flat, 0.01))
    q = np.zeros(2)
    blocked, axes = configuration_map(arm, q, [0, 1], [0.0, -2.6], [np.pi, 2.6], (60, 61))
    np.testing.assert_array_equal(blocked[7, 9], arm([[axes[0][7], axes[1][9]]])[0])
    assert 0.01 < blocked.mean() < 0.6
    plan = Hopfield(hood="moore")(blocked, (0, 30), (59, 30))
    assert plan.ok
    Q = np.array([[axes[0][i], axes[1][j]] for i, j in plan.path])
    assert not arm(Q).any() and np.abs(Q[:, 1]).max() > 0.1  # it folds the elbow to get past


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda r: spheres([[0, 0, 0]], -0.1), "≥ 0"),
        (lambda r: spheres([[0, 0, np.nan]], 0.1), "finite"),
        (lambda r: LinkCapsules([0], [[0, 0, 0]], [[0, 0, 0]], [-0.1]), "radius"),
        (lambda r: Obstacles(planes=[[0, 0, 2, 0]]), "unit length"),
        (lambda r: WholeArm(r, Obstacles(), margin=-1.0), "margin"),
        (lambda r: WholeArm(r, Obstacles(), LinkCapsules([9], [[0, 0, 0]], [[0, 0, 0]], [0.1])), "indices"),
        (lambda r: WholeArm(r, spheres([[1, 1, 1]], 0.1)).clearance([0.0, 1.0]), "expected shape"),
        (lambda r: WholeArm(r, spheres([[1, 1, 1]], 0.1)).clearance([[np.nan] * 6]), "finite"),
        (lambda r: rrt_connect(maze, [0, 0], [1, np.nan], [0, 0], [1, 1]), "goal"),
        (lambda r: rrt_connect(maze, [0, 0], [2, 1], [0, 0], [1, 1]), "outside the bounds"),
        (lambda r: rrt_connect(maze, [0, 0], [1, 1], [0, 0], [1, 0]), "lower < upper"),
        (lambda r: rrt_connect(maze, [0, 0], [1, 1], [0, 0], [1, np.inf]), "finite"),
        (lambda r: rrt_connect(lambda Q: 0.0, [0, 0], [1, 1], [0, 0], [1, 1]), "must return bool"),
        (lambda r: rrt_connect(maze, [0, 0], [1, 1], [0, 0], [1, 1], step=0.0), "step"),
        (lambda r: planner("teleport"), "planner must be one of"),
        (lambda r: configuration_map(WholeArm(r, Obstacles()), START, [0, 0], [0, 0], [1, 1], (3, 3)), "different"),
    ],
)
def test_bad_input_is_refused(robot, make, text):
    with pytest.raises(InputError, match=text):
        make(robot)
