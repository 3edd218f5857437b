# SPDX-License-Identifier: Apache-2.0
"""All gaps of an arm in one compiled call, motions proved free from their start, and what a check alone costs."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.graph.pair_minimum import LeastKernel, Pairs, proved_way
from armwright.planning import KnownArm, Obstacles, RRTConnect, WholeArm, floor, spheres
from armwright.planning.obstacles import contact_capsules
from armwright.world import link_capsules

SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 40)


def obstacles(rng: np.random.Generator) -> Obstacles:
    """Balls, capsules, turned boxes and a tilted half-space about an arm."""
    count = int(rng.integers(1, 6))
    R = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(count)])
    R[np.linalg.det(R) < 0.0] *= -1.0
    a = rng.uniform(-0.7, 0.7, (count, 3))
    rods = Obstacles(a, a + rng.uniform(-0.3, 0.3, (count, 3)), rng.uniform(0.01, 0.1, count))
    boxes = Obstacles(centre=rng.uniform(-0.7, 0.7, (count, 3)), half=rng.uniform(0.02, 0.2, (count, 3)), R=R)
    n = rng.normal(size=3)
    ground = Obstacles(planes=np.array([[*(n / np.linalg.norm(n)), -0.9]]))
    return rods + boxes + ground + spheres(rng.uniform(-0.7, 0.7, (count, 3)), rng.uniform(0.01, 0.1, count))


def arms(seed: int) -> list[WholeArm]:
    rng = np.random.default_rng(seed)
    robot = aw.load("ur5")
    links, around = contact_capsules(robot, link_capsules(robot, 0.04)), obstacles(rng)
    configurations, reach = rng.uniform(-2.0, 2.0, (4, 6)), rng.uniform(0.05, 1.0, 4)
    return [
        WholeArm(robot, around, links, margin=0.01, pairs=((0, 3), (1, 5))),
        KnownArm(robot, around, links, margin=0.02, configurations=configurations, reach=reach),
        WholeArm(robot, floor(-0.3)),
        WholeArm(robot, Obstacles()),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_compiled_loops_say_what_the_numpy_source_says(seed):
    rng = np.random.default_rng([seed, 1])
    for arm in arms(seed):
        for size in SIZES:
            Q = rng.uniform(-3.0, 3.0, (size, 6))
            exact = arm.gaps.reference(Q)
            np.testing.assert_allclose(arm.clearance(Q), exact, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(arm.gaps(Q, 0.05), np.minimum(exact, 0.05), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(arm.clearance(Q[3]), exact[3], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(arm.clearance(Q.reshape(4, 10, 6)), arm.clearance(Q).reshape(4, 10))
        assert arm.clearance(Q[:0]).shape == (0,)


@pytest.mark.parametrize("seed", range(6))
def test_proved_ways_are_free_and_as_long_as_the_numpy_source_says(seed):
    rng = np.random.default_rng([seed, 2])
    ends: list[float] = []
    for arm in arms(seed)[:3]:
        A = rng.uniform(-2.0, 2.0, (30, 6))
        B = A + rng.normal(size=A.shape) * rng.choice([0.05, 0.3, 1.0], (30, 1))
        got = arm.free_until(A, B)
        lanes = arm.gaps._width or 8
        for a, b, share in zip(A, B, got, strict=True):
            s = np.linspace(0.0, 1.0, 400)[:, None] * share
            assert share == 0.0 or (arm.clearance(a + (b - a) * s) > 0.0).all()
            twin = proved_way(arm.gaps, a, b, arm._bounds, 1e-4, False, lanes)
            assert share == pytest.approx(twin, abs=1e-9)
            if share < 1.0:  # it ends at something: no more than a piece that was looked at lies between
                rest = a + (b - a) * np.linspace(share, 1.0, 400)[:, None]
                assert arm.clearance(rest).min() < 2e-4 + 0.003 * float(np.abs(b - a) @ arm._bounds)
        np.testing.assert_array_equal(arm.motion_free(A, B), got >= 1.0)
        ends += got.tolist()
    assert min(ends) == 0.0 and max(ends) == 1.0 and any(0.0 < x < 1.0 for x in ends)


def calls(function, *arguments) -> int:
    """How many functions, Python's and C's, a call calls."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return count


def test_a_check_alone_is_one_compiled_call_however_many_obstacles():
    few, many = arms(0)[0], arms(0)[0]
    if not few.gaps._width:
        pytest.skip("nothing is compiled without llvmlite")
    object.__setattr__(many, "obstacles", few.obstacles + few.obstacles + few.obstacles)
    q = np.zeros(6)
    for arm in (few, many):
        arm.clearance(q)
        arm.motion_free(q, q + 1.0)
    assert calls(few.clearance, q) == calls(many.clearance, q) < 20
    assert calls(few.motion_free, q, q + 1.0) == calls(many.motion_free, q, q + 1.0) < 60


def test_a_bound_changes_nothing_but_the_work():
    def tables(q):
        return (np.array([[q[0], q[1]], [q[1], -q[0]]]),)

    def value(record, item):
        return np.abs(record[0] - item[0]) + np.abs(record[1] - item[1])

    def bound(record, item):
        return np.abs(record[0] - item[0])

    rng = np.random.default_rng(3)
    items, Q = rng.normal(size=(30, 2)), rng.normal(size=(21, 2))
    plain, quick = (LeastKernel(tables, 2, [Pairs(0, 2, value, b)]).over(items) for b in (None, bound))
    want = np.abs(np.stack([Q, Q[:, ::-1] * [1, -1]], 1)[:, :, None] - items).sum(-1).min((1, 2))
    np.testing.assert_allclose(plain(Q), want, atol=1e-14)
    np.testing.assert_array_equal(plain(Q), quick(Q))
    assert LeastKernel(tables, 2, [Pairs(0, 2, value)]).over(np.zeros((0, 2)))(Q).tolist() == [np.inf] * 21


def test_bad_input_is_refused_where_it_is():
    arm = arms(1)[0]
    for Q in (np.full(6, np.nan), np.vstack([np.zeros((9, 6)), np.full((1, 6), np.inf)])):
        with pytest.raises(InputError, match="must be finite"):
            arm.clearance(Q)
        with pytest.raises(InputError, match="must be finite"):
            arm.motion_free(np.zeros(6), Q)
    with pytest.raises(InputError, match="expected shape"):
        arm.clearance(np.zeros((3, 5)))


def test_arms_that_were_used_can_be_pickled_and_copied():
    for arm in arms(2)[:2]:
        q = np.full(6, 0.3)
        want = arm.clearance(q)
        for again in (pickle.loads(pickle.dumps(arm)), copy.deepcopy(arm)):  # noqa: S301 - our own bytes
            assert again.clearance(q) == want


@pytest.mark.parametrize("seed", range(3))
def test_shortened_paths_stay_proved_free(seed):
    rng = np.random.default_rng([seed, 5])
    robot = aw.load("ur5")
    arm = WholeArm(robot, spheres(rng.uniform([0.2, -0.5, 0.1], [0.6, 0.5, 0.5], (5, 3)), 0.06))
    Q = rng.uniform(-1.5, 1.5, (400, 6))
    Q = Q[arm.clearance(Q) > 0.05]
    raw, short = (RRTConnect(seed=seed, shortcuts=n)(arm, Q[0], Q[-1], [-2.0] * 6, [2.0] * 6) for n in (0, 150))
    assert raw.ok and short.ok
    assert arm.motion_free(short.path[:-1], short.path[1:]).all()
    assert np.linalg.norm(Q[-1] - Q[0]) <= short.cost + 1e-9 and short.cost <= raw.cost + 1e-9
