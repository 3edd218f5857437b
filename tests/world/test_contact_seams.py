# SPDX-License-Identifier: Apache-2.0
"""Boxes that abut or overlap are one obstacle: their common faces are no surface, for contact and for planning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import armwright as aw
from armwright.contact.contact_model import contact_pairs
from armwright.contact.ground_truth import contact_report
from armwright.planning import WholeArm, grid_map, obstacles_of, true_map
from armwright.world import LinkCapsules
from armwright.world.arm_capsules import tool_point
from armwright.world.shape_distance import distance_and_normal, signed_distance
from armwright.world.shapes import Box, HalfSpace
from armwright.world.solid_clusters import clusters_of, solids_of
from armwright.world.union_depth import union_of, way_out
from armwright.world.world import World

seeds = st.integers(0, 2**32 - 1)


def rotation(rng):
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return R * np.sign(np.linalg.det(R))


def box(name, low, high, R=None, at=(0.0, 0.0, 0.0)):
    """A box from corner to corner in its own axes, turned by R and moved."""
    low, high, R = np.array(low), np.array(high), np.eye(3) if R is None else R
    centre, turned = np.array(at) + R @ (0.5 * (low + high)), tuple(tuple(row) for row in R.tolist())
    return Box(name=name, centre=tuple(centre), size=tuple(high - low), rotation=turned)


def depth(shapes, p):
    """Depth and outward normal of shapes that hang together at a point inside."""
    out = way_out(union_of(shapes), p)
    assert out.inside
    return float(out.depth), out.normal


@given(seeds)
@settings(max_examples=40)
def test_two_halves_push_like_the_whole(seed):
    rng = np.random.default_rng(seed)
    R, at, size = rotation(rng), rng.uniform(-1.0, 1.0, 3), rng.uniform(0.1, 0.5, 3)
    axis, cut = int(rng.integers(3)), rng.uniform(0.3, 0.7)
    overlap = float(rng.choice([0.0, 0.0, 1e-3]))
    middle, step = size.copy(), np.eye(3)[axis]
    middle[axis] = cut * size[axis]
    halves = (
        box("a", np.zeros(3), middle + 0.5 * overlap * step, R, at),
        box("b", (middle[axis] - 0.5 * overlap) * step, size, R, at),
    )
    whole = box("whole", np.zeros(3), size, R, at)
    for _ in range(10):
        p = rng.uniform(0.02, 0.98, 3) * size
        p[axis] = middle[axis] + rng.choice([0.0, 1e-13, -1e-13, 1e-5, -1e-5, 1e-3, 0.1 * rng.uniform(-1.0, 1.0) * cut])
        x = np.array(at) + R @ p
        far, n = distance_and_normal(whole, x)
        got, m = depth(halves, x)
        assert got == pytest.approx(-far, abs=1e-12)
        beside = np.sort(np.minimum(p, size - p))
        assert n @ m > 1.0 - 1e-9 or beside[1] < beside[0] + 1e-9


@given(seeds)
@settings(max_examples=25)
def test_partly_shared_faces_are_closed_where_they_are_shared_only(seed):
    rng = np.random.default_rng(seed)
    R, at = rotation(rng), rng.uniform(-1.0, 1.0, 3)
    a = box("a", [0.0, 0.0, 0.0], [0.4, 0.3, 0.4], R, at)
    z = rng.uniform(-0.2, 0.2)
    b = box("b", [0.1, 0.3, z], [0.3, 0.6, z + 0.4], R, at)
    for _ in range(10):
        p = np.array([rng.uniform(0.02, 0.38), 0.3 - 0.005, rng.uniform(0.02, 0.38)])
        got, n = depth((a, b), np.array(at) + R @ p)
        shared = 0.1 < p[0] < 0.3 and z < p[2] < z + 0.4
        to_crease = min(abs(p[0] - 0.1), abs(p[0] - 0.3), abs(p[2] - z), abs(p[2] - z - 0.4))
        if shared:
            assert 0.005 < got <= np.hypot(0.005, to_crease) + 1e-6
        elif to_crease > 1e-3:
            assert got <= 0.005 + 1e-9 and (got < 0.005 or n @ R[:, 1] == pytest.approx(1.0))


@pytest.mark.parametrize("seed", range(8))
def test_a_point_tool_is_pushed_back_from_the_seam(seed):
    robot = aw.load("ur5")
    rng = np.random.default_rng(seed)
    q = np.array([rng.uniform(-3, 3), rng.uniform(-1.5, -0.8), rng.uniform(1.0, 1.8), -0.5, 1.5, 0.0])
    R, tip, deep = rotation(rng), aw.fk(robot, q)[:3, 3], 0.004
    left = box("left", [-deep, -0.1, -0.1], [0.05, 0.0, 0.1], R, tip)
    right = box("right", [-deep, 0.0, -0.1], [0.05, 0.1, 0.1], R, tip)
    halves = World((left, right))
    report = contact_report(robot, halves, q[None], capsules=(tool_point(robot),))
    assert len(report) and report.total_force[0] @ -R[:, 0] >= 0.99 * 1e5 * deep, "out of the wall, by its full depth"
    sideways = report.total_force[0] - R[:, 0] * (R[:, 0] @ report.total_force[0])
    assert np.linalg.norm(sideways) < 1e-3 * 1e5 * deep
    point = robot.T_tip_tool[None, :3, 3]
    arm = WholeArm(robot, obstacles_of(halves), LinkCapsules([robot.tip], point, point, [0.0]))
    assert arm(q), "planners take the seam for blocked"
    assert not arm.motion_free(q, q + 1e-4)


def test_a_wall_of_boxes_has_no_gap_on_the_map():
    wall = tuple(box(f"w{k}", [0.4, 0.1 * k, -0.1], [0.45, 0.1 * (k + 1), 0.1]) for k in range(-4, 4))
    where = grid_map((21, 21), (0.3, -0.3, 0.0), 0.01)
    known = np.asarray(true_map(where, World(wall)).felt)
    assert (known.sum(axis=0) > 0).all() or (known.sum(axis=1) > 0).all()


def test_boxes_apart_and_on_the_floor():
    a, b = box("a", [0.0, 0.0, 0.0], [0.2, 0.2, 0.2]), box("b", [0.0, 0.25, 0.0], [0.2, 0.4, 0.2])
    assert clusters_of((a, b)) == ((0,), (1,))
    ground = HalfSpace(name="floor", point=(0.0, 0.0, 0.0))
    p = np.array([0.1, 0.1, 0.001])
    assert signed_distance(a, p) == pytest.approx(-0.001)
    assert depth((a, ground), p)[0] == pytest.approx(0.1), "not out through the floor"
    robot = aw.load("ur5")
    far = World((box("a", [0.5, -0.1, 0.0], [0.7, 0.1, 0.2]), box("b", [0.5, 0.3, 0.0], [0.7, 0.4, 0.2])))
    pairs = contact_pairs(robot, far, (tool_point(robot),))
    assert [len(pair.shapes) for pair in pairs] == [1, 1], "shapes that stand alone cost nothing more"


def test_bricks_are_one_wall_for_links_and_keep_their_names():
    robot = aw.load("ur5")
    q = np.array([0.0, -1.2, 1.6, -0.5, 1.5, 0.0])
    tip = aw.fk(robot, q)[:3, 3]
    bricks = tuple(
        box(
            f"brick {i} {j}",
            [0.1 * i, 0.1 * j, 0.0],
            [0.1 * (i + 1), 0.1 * (j + 1), 0.05],
            None,
            tip - [0.2, 0.2, 0.06],
        )
        for i in range(4)
        for j in range(4)
    )
    (whole,) = solids_of(bricks)
    assert sorted(whole.parts) == list(range(16)) and np.allclose(whole.shape.size, (0.4, 0.4, 0.05), atol=1e-12)
    ball = (tool_point(robot, 0.03),)
    in_bricks = contact_report(robot, World(bricks), q[None], capsules=ball)
    in_one = contact_report(
        robot, World((box("wall", [-0.2] * 2 + [-0.06], [0.2] * 2 + [-0.01], None, tip),)), q[None], capsules=ball
    )
    np.testing.assert_allclose(in_bricks.total_force, in_one.total_force, rtol=1e-9)
    assert len(in_bricks) == 1 and in_bricks.pairs()[0][1].startswith("brick")
    softer = (*bricks[:-1], replace(bricks[-1], stiffness=1e4))
    assert len(solids_of(softer)) > 1, "another surface stays a shape of its own"
