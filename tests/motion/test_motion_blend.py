# SPDX-License-Identifier: Apache-2.0
"""Tool paths of many segments: what a blend promises about position and orientation, and where it is refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import armwright as aw
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.motion.cartesian_path import circle_via, line, turning
from armwright.motion.corner_blend import Corner, corner_angles, join
from armwright.motion.joint_curve import along
from armwright.motion.path_error import PathError
from armwright.motion.tool_path import segment_of, spline_segments
from armwright.spatial import exp_so3, log_so3, rotation_angle


def pose(p, w=(0.0, 0.0, 0.0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = exp_so3(np.array(w, dtype=float)), p
    return T


number = st.floats(-1.0, 1.0, allow_nan=False)
vector = st.tuples(number, number, number)


@st.composite
def segment_chains(draw):
    """Three to five lines and arcs between random poses, at least 0.2 m long, turning by less than a half turn."""
    count = draw(st.integers(3, 5))
    here, out = pose(draw(vector), draw(vector)), []
    for _ in range(count):
        step = np.array(draw(vector))
        step = step / max(float(np.linalg.norm(step)), 1e-3) + np.array([0.05, 0.02, 0.0])
        there = pose(here[:3, 3] + step, draw(vector))
        bulge = np.cross(step, [0.3, -0.2, 0.7]) * 0.3
        if draw(st.booleans()) and np.linalg.norm(bulge) > 0.02:
            path, spun = circle_via(here, here[:3, 3] + 0.5 * step + bulge, there), draw(st.booleans())
        else:
            path, spun = line(here, there), False
        out.append(segment_of(path, with_path=spun))
        here = there
    return out


@given(segment_chains(), st.floats(0.05, 0.5))
@settings(max_examples=60, deadline=None)
def test_blended_path_is_twice_continuous(segments, share):
    """p, p′, p″ and R, ω, ω′ have no jump anywhere once every corner is blended (specification §4)."""
    zones = [share * min(a.length, b.length) for a, b in pairwise(segments)]
    path = join(segments, [Corner(d, d) for d in zones])
    for breaks in (path.breaks, path.turn_breaks):
        left, right = path.at(breaks[1:-1], before=True), path.at(breaks[1:-1])
        scale = 1.0 + max(np.abs(part).max() for part in left)
        for a, b in zip(left, right, strict=True):
            assert np.abs(a - b).max() < 1e-9 * scale


@given(segment_chains())
@settings(max_examples=30, deadline=None)
def test_derivatives_are_those_of_the_path(segments):
    """dX and ddX against central differences, inside the pieces."""
    zones = [0.3 * min(a.length, b.length) for a, b in pairwise(segments)]
    path = join(segments, [Corner(d, d) for d in zones])
    ends = np.unique(np.concatenate([path.breaks, path.turn_breaks]))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-3])]
    s, h = 0.5 * (ends[1:] + ends[:-1]), 1e-5
    a, m, b = path.at(s - h), path.at(s), path.at(s + h)
    np.testing.assert_allclose((b.T[:, :3, 3] - a.T[:, :3, 3]) / (2 * h), m.dX[:, :3], atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose((b.dX - a.dX) / (2 * h), m.ddX, atol=1e-4 * (1 + np.abs(m.ddX).max()))
    for k in range(s.size):
        w = log_so3(b.T[k, :3, :3] @ a.T[k, :3, :3].T) / (2 * h)
        np.testing.assert_allclose(w, m.dX[k, 3:], atol=1e-5 * (1 + np.abs(m.dX).max()))


@given(vector, vector, vector)
@settings(max_examples=50, deadline=None)
def test_rates_of_a_rotation_vector(phi, dphi, ddphi):
    """ω and ω′ of exp(φ(x)) for quadratic φ, at all angles down to none."""
    phi, dphi, ddphi = (np.array(v) for v in (phi, dphi, ddphi))
    h = 1e-5

    def at(x):
        return turning(phi + x * dphi + 0.5 * x * x * ddphi, dphi + x * ddphi, ddphi, np.eye(3))

    a, m, b = at(-h), at(0.0), at(h)
    np.testing.assert_allclose(log_so3(b.R @ a.R.T) / (2 * h), m.w, atol=1e-8)
    np.testing.assert_allclose((b.w - a.w) / (2 * h), m.dw, atol=1e-8)


def corner(angle, lengths=(0.3, 0.3)):
    a = np.array([-lengths[0], 0.0, 0.0])
    b = lengths[1] * np.array([np.cos(angle), np.sin(angle), 0.0])
    return [segment_of(line(pose(a), pose([0, 0, 0]))), segment_of(line(pose([0, 0, 0]), pose(b)))]


def test_blend_cuts_the_corner_as_the_quintic_does():
    """A 60° corner rounded over 150 mm: half way lies 3/8·d·sin 30°, 28.125 mm, from the corner."""
    path = join(corner(np.radians(60.0)), [Corner(0.15, 0.15)])
    assert np.linalg.norm(path.at(0.3).T[:3, 3]) == pytest.approx(0.375 * 0.15 * 0.5, abs=1e-12)
    assert path.length == pytest.approx(0.6)


def test_parabola_joins_two_lines():
    path = join(corner(np.radians(80.0)), [Corner(0.1, 0.1, shape="parabola")])
    inside = path.at(np.linspace(0.2001, 0.3999, 9))
    assert np.ptp(inside.ddX[:, :3], axis=0).max() < 1e-12  # one second derivative all over: a parabola
    left, right = path.at(path.breaks[1:-1], before=True), path.at(path.breaks[1:-1])
    assert np.abs(left.dX - right.dX).max() < 1e-12
    arc = segment_of(circle_via(pose([0, 0, 0]), [0.1, 0.1, 0.0], pose([0.2, 0.0, 0.0])))
    with pytest.raises(InputError, match="a parabola joins two lines"):
        join([corner(0.5)[0], arc], [Corner(0.05, 0.05, shape="parabola")])


def test_corner_passed_at_speed_is_refused_by_name():
    with pytest.raises(InputError, match=r"segments 0 and 1 meet at a corner of 0\.150°"):
        join(corner(np.radians(0.15)), [Corner()])
    assert join(corner(np.radians(0.09)), [Corner()]).length == pytest.approx(0.6)
    still = segment_of(line(pose([0, 0, 0]), pose([0, 0, 0], (0, 0, 1.0))))
    assert corner_angles([corner(0.3)[0], still])[0] == pytest.approx(0.5 * np.pi)
    path = join([corner(0.3)[0], still], [Corner(stop=True)])
    np.testing.assert_allclose(path.at(path.length).T, pose([0, 0, 0], (0, 0, 1.0)), atol=1e-12)


def test_overlapping_zones_are_refused():
    there = pose([0.2 * np.cos(0.5), 0.2 * np.sin(0.5), 0])
    segments = [*corner(0.5, (0.3, 0.2)), segment_of(line(there, pose([1, 1, 0])))]
    with pytest.raises(
        InputError, match=r"zones at the ends of segment 1 overlap: 120\.000 and 90\.000 mm of 200\.000"
    ):
        join(segments, [Corner(0.12, 0.12), Corner(0.09, 0.09)])


def test_tool_turns_with_the_path():
    """Without anything else to do, the tool keeps its angle to the direction of travel all along the arc."""
    arc = circle_via(pose([0.3, 0, 0]), [0.0, 0.3, 0.0], pose([-0.3, 0, 0], (0, 0, np.pi)))
    path = join([segment_of(arc, with_path=True)], [])
    s = np.linspace(0.0, path.length, 20)
    at = path.at(s)
    seen = np.einsum("nji,nj->ni", at.T[:, :3, :3], at.dX[:, :3])
    assert np.ptp(seen, axis=0).max() < 1e-12
    slerp = join([segment_of(arc)], []).at(s[10])
    assert rotation_angle(slerp.T[:3, :3] @ at.T[10, :3, :3].T) < 1e-9  # here they agree: one axis


def test_spline_is_smooth_through_its_points():
    points = np.array([[0, 0, 0], [0.2, 0.1, 0], [0.3, 0.3, 0.1], [0.1, 0.4, 0.2]], dtype=float)
    turns = np.array([[0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.3]])
    R = [np.eye(3)]
    for turn in turns:
        R.append(exp_so3(turn) @ R[-1])
    segments = spline_segments(points, np.array(R[:-1]), turns, tangents=(np.array([1.0, 0, 0]), None))
    path = join(segments, [Corner(), Corner()])
    np.testing.assert_allclose(path.at(path.corners).T[:, :3, 3], points, atol=1e-12)
    left, right = path.at(path.corners[1:-1], before=True), path.at(path.corners[1:-1])
    assert np.abs(left.ddX[:, :3] - right.ddX[:, :3]).max() < 1e-9
    np.testing.assert_allclose(path.at(0.0).dX[:3], [1, 0, 0], atol=1e-12)
    with pytest.raises(InputError, match="points 0 and 1 coincide"):
        spline_segments(points[[0, 0, 1]], np.array([np.eye(3)] * 2), turns[:2], tangents=(None, None))


Q0 = np.array([0.0, -1.2, 1.5, -1.8, -1.5, 0.3])


def test_joints_follow_the_path(ur5):
    """On and between the knots the tool is where the path says, also for a tool beside the flange; ℓ is its travel."""
    tool = pose([0.05, 0.02, 0.1], (0.2, 0.1, 0.0))
    T = fk(ur5, Q0) @ tool
    corners = [T, T @ pose([0.1, 0.05, 0.0], (0.2, 0, 0)), T @ pose([0.1, 0.2, 0.05], (0, 0.3, 0))]
    path = join([segment_of(line(a, b)) for a, b in pairwise(corners)], [Corner(0.05, 0.05)])
    motion, sigma = along(ur5, path, Q0, tool)
    np.testing.assert_allclose((fk(ur5, motion.evaluate(motion.breaks).q) @ tool), path.at(sigma).T, atol=1e-8)
    s = np.linspace(0.0, motion.duration, 400)
    q, dq, _ = motion.evaluate(s)
    travel = np.linalg.norm((aw.jacobian(ur5, q, point=tool[:3, 3])[:, :3] @ dq[..., None])[..., 0], axis=1)
    np.testing.assert_allclose(travel, 1.0, atol=1e-4)
    assert motion.continuity() >= 2
    # off the path, between the knots too: the distance across the direction of travel to the nearest of many points
    fine = path.at(np.linspace(0.0, path.length, 20001))
    points = (fk(ur5, q) @ tool)[:, :3, 3]
    near = np.array([np.argmin(np.linalg.norm(fine.T[:, :3, 3] - p, axis=1)) for p in points])
    off, ahead = points - fine.T[near, :3, 3], fine.dX[near, :3] / np.linalg.norm(fine.dX[near, :3], axis=1)[:, None]
    across = off - np.einsum("ni,ni->n", off, ahead)[:, None] * ahead
    assert np.linalg.norm(across, axis=1).max() < 1e-7


def test_refusals_name_place_and_joint(ur5):
    T = fk(ur5, Q0)
    far = T.copy()
    far[:3, 3] -= [0.8, 0.0, 0.0]
    with pytest.raises(PathError, match="reach") as info:
        along(ur5, join([segment_of(line(T, far))], []), Q0, np.eye(4))
    assert info.value.reason == "reach"
    reached = T.copy()
    reached[:3, 3] -= [info.value.sigma - 1e-4, 0.0, 0.0]
    assert aw.ik(ur5, reached, seed=Q0).ok  # up to there the arm reaches, and not further
    reached[:3, 3] -= [2e-4, 0.0, 0.0]
    assert not aw.ik(ur5, reached, seed=Q0, limits=False).ok


def test_singular_path_is_refused_at_the_singularity():
    """RL15's wrist is straight at q5 = 0: a line through such a pose is refused there, to the millimetre."""
    arm = aw.load("rl15")
    q = np.radians([10.0, 20.0, -20.0, 0.0, 0.0, 0.0])
    T = fk(arm, q)
    a, b = T.copy(), T.copy()
    a[:3, 3] -= [0.0, 0.0, 0.10]
    b[:3, 3] += [0.0, 0.0, 0.15]
    start = aw.ik(arm, a, seed=q).solutions[0]
    with pytest.raises(PathError, match=r"joint [46]") as info:
        along(arm, join([segment_of(line(a, b))], []), start, np.eye(4))
    assert info.value.reason in ("singular", "jump")
    assert info.value.sigma == pytest.approx(0.10, abs=2e-3)
