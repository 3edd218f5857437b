# SPDX-License-Identifier: Apache-2.0
"""Proved bounds: what is proved encloses everything that can be sampled, and a false claim is never proved."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics import bounds as certify
from armwright.dynamics.bounds import Enclosure, divide, rounding_bound
from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError, NotSupportedError
from armwright.graph.kernel import make_kernel
from armwright.graph.ops import Op
from armwright.graph.traced_program import trace


def program_of(robot, function):
    return trace(lambda q: function(robot, q), {"q": (robot.n,)}, name=function.__name__)


@pytest.mark.parametrize("name", ["cea", "ur5", "irb140"])
@pytest.mark.parametrize("function", [crba, gravity_torque])
def test_ranges_hold_all_values_in_their_boxes(name, function):
    robot = aw.load(name)
    program = program_of(robot, function)
    enclosure, run = Enclosure(program, 8.0), make_kernel(program)
    rng = np.random.default_rng(1)
    centre = rng.uniform(-np.pi, np.pi, (400, robot.n))
    half = 10.0 ** rng.uniform(-4, 0.5, (400, 1)) * rng.random((400, robot.n))
    middle, radius = enclosure(centre - half, centre + half)
    for _ in range(20):
        q = centre + half * rng.uniform(-1, 1, half.shape)
        values = run(q).reshape(len(q), -1)
        assert (np.abs(values - middle) <= radius).all()
    # and they are not merely wide: ranges shrink with their boxes
    _, narrow = enclosure(centre - 1e-6, centre + 1e-6)
    assert narrow.max() < 1e-5 * max(1.0, np.abs(middle).max())


def test_rounding_bound_covers_the_true_error(cea):
    program = program_of(cea, crba)
    bound = rounding_bound(program, np.pi)
    assert 0.0 < bound.max() < 1e-11
    q = np.random.default_rng(2).uniform(-np.pi, np.pi, (200, 6))
    fine = np.array([np.asarray(interpret(program, x), dtype=np.float64) for x in q])
    coarse = make_kernel(program)(q).reshape(len(q), -1)
    assert (np.abs(fine - coarse) <= bound).all()


EXACT = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.NEG: np.negative,
    Op.SIN: np.sin,
    Op.COS: np.cos,
}


def interpret(program, q):
    """Evaluate a program in extended precision."""
    x = np.asarray(q, dtype=np.longdouble)
    known = []
    for op, args, value in program.nodes:
        if op is Op.CONST:
            known.append(np.longdouble(value))
        elif op is Op.INPUT:
            known.append(x[value[1]])
        else:
            known.append(EXACT[op](*(known[k] for k in args)))
    return [known[k] for result in program.results for k in result]


def certified_bounds(robot, lower=None, upper=None, what="largest inertia", **options):
    """One of the three certificates, by its name in `KNOWN`."""
    if what == "gravity":
        return aw.dynamics.gravity_bound(robot, lower, upper, **options)
    found = aw.dynamics.mass_matrix_bounds(robot, lower, upper, **options)
    return found.smallest if what == "smallest inertia" else found.largest


KNOWN = {"smallest inertia": 0.057370, "largest inertia": 10.198553, "gravity": 134.8875}


@pytest.mark.parametrize("what", KNOWN)
def test_bounds_of_the_cea_arm(cea, what):
    found = certified_bounds(cea, what=what, tolerance=1e-4)
    assert found.attained == pytest.approx(KNOWN[what], abs=6e-7)
    assert found.gap <= 1.0001e-4
    assert found.interval == tuple(sorted((found.attained, found.proved)))
    expected = [1, 2] if what == "gravity" else [1, 2, 3, 4]
    assert np.flatnonzero(found.depends).tolist() == expected  # never on q1 and q6
    assert (found.q >= cea.lower - 1e-12).all() and (found.q <= cea.upper + 1e-12).all()
    q = np.random.default_rng(4).uniform(cea.lower, cea.upper, (50_000, 6))
    if what == "gravity":
        assert np.abs(aw.gravity_torque(cea, q)).sum(axis=1).max() <= found.proved
        assert found.attained == pytest.approx(9.81 * (10.15 + 1.8 + 1.8), abs=1e-9)  # arm stretched and horizontal
        assert np.abs(aw.gravity_torque(cea, found.q)).sum() == pytest.approx(found.attained, rel=1e-12)
        return
    values = np.linalg.eigvalsh(aw.mass_matrix(cea, q))
    here = np.linalg.eigvalsh(aw.mass_matrix(cea, found.q))
    if what == "smallest inertia":
        assert found.proved <= values.min() and found.proved < found.attained
        assert here[0] == pytest.approx(found.attained, rel=1e-12)
    else:
        assert found.proved >= values.max() and found.proved > found.attained
        assert here[-1] == pytest.approx(found.attained, rel=1e-12)


@pytest.mark.parametrize(("norm", "value"), [(2, 118.5519), (np.inf, 117.2295)])
def test_other_norms_of_gravity(cea, norm, value):
    assert certified_bounds(cea, what="gravity", norm=norm).attained == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize("what", KNOWN)
def test_a_poor_search_is_corrected_by_the_proof(cea, what, monkeypatch):
    """Start from a configuration that is far from extreme: the proof must refute it and end at the true value."""

    def poor(problem, low, high, seed):
        q = np.clip(np.full(6, 0.3), low, high)
        return float(problem.value(q)[0]), q

    monkeypatch.setattr(certify, "_search", poor)
    found = certified_bounds(cea, what=what, tolerance=1e-3)
    assert abs(found.attained / KNOWN[what] - 1.0) < 1e-3


def test_a_threshold_that_is_too_low_is_refuted(cea):
    quantity = certify._Quantity(cea, crba, np.pi)
    problem = certify._Eigenvalue(quantity, 1.0)
    low, high = cea.lower.copy(), cea.upper.copy()
    _, better = divide(low, high, lambda c, h: problem.test(c, h, 10.19), lambda v: bool((v > 10.19).any()), most=10**6)
    assert better is not None and problem.value(better)[0] > 10.19


def test_smaller_boxes_have_smaller_bounds(cea):
    inner = certified_bounds(cea, [-1, 0.5, -1, -1, -1, -1], [0, 1, -0.5, 0, 0, 0], "largest inertia")
    q = np.random.default_rng(5).uniform([-1, 0.5, -1, -1, -1, -1], [0, 1, -0.5, 0, 0, 0], (20_000, 6))
    top = np.linalg.eigvalsh(aw.mass_matrix(cea, q))[:, -1].max()
    assert top <= inner.proved < KNOWN["largest inertia"] and inner.attained - top < 0.05


@pytest.mark.parametrize(
    "options",
    [{"tolerance": 0.0}, {"lower": [0.0] * 5}, {"lower": [9.0] * 6}, {"upper": [np.inf] * 6}, {"lower": "left"}],
)
def test_bad_input(cea, options):
    with pytest.raises(InputError, match="mass_matrix_bounds"):
        aw.dynamics.mass_matrix_bounds(cea, **options)
    with pytest.raises(InputError, match="gravity_bound"):
        aw.dynamics.gravity_bound(cea, **options)
    with pytest.raises(InputError, match="norm must be 1, 2 or inf"):
        aw.dynamics.gravity_bound(cea, norm=3)


def test_revolute_joints_without_limits_turn_once():
    """Two equal links, joints without limits: the bound holds for every angle, and is reached stretched out."""
    dh = [(0.0, 0.0, 0.5, 0.0), (0.0, 0.0, 0.5, 0.0)]
    arm = aw.Robot.from_dh(dh, masses=[1.0, 1.0], coms=[[-0.25, 0.0, 0.0]] * 2, gravity=(0.0, -9.81, 0.0))
    assert np.isinf(arm.upper).all()
    q = np.random.default_rng(6).uniform(-20.0, 20.0, (5000, 2))
    bound = aw.dynamics.gravity_bound(arm, norm=np.inf)
    assert np.abs(aw.gravity_torque(arm, q)).max() <= bound.proved
    assert bound.attained == pytest.approx(9.81 * (0.25 + 0.75), rel=1e-9)


def test_giving_up_says_so(cea, monkeypatch):
    monkeypatch.setattr(certify, "MOST_BOXES", 50)
    with pytest.raises(NotSupportedError, match="larger tolerance"):
        certified_bounds(cea, what="smallest inertia")
