# SPDX-License-Identifier: Apache-2.0
"""002: reasons undone, one at a time. A named fault alone gives what is printed; put right, it gives what is right.

And the slips of its remarks: what the thesis prints, and the place where it has it right.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.control import pd_gravity
from armwright.dynamics import gravity_torque, inverse_dynamics, mass_matrix
from armwright.kinematics import fk, fk_all, jacobian
from armwright.spatial import adjoint_inverse, axis_angle, exp_se3, exp_so3, screw, skew, spatial_inertia
from armwright.studies.doc002_irb140 import assumptions, closed_loop, listing, open_loop, parameters
from armwright.studies.doc002_irb140.as_published import (
    CYLINDERS,
    HOME,
    MASSES,
    A_as_published,
    a21_as_published,
    coriolis_as_published,
    exponentials,
    link_inertia_as_published,
    mass_as_published,
    screws_as_published,
)
from armwright.studies.doc002_irb140.dynamics import SIGNS
from armwright.studies.doc002_irb140.kinematics import (
    exponentials_as_published,
    stretched_to_the_maximum,
    worst_pose_difference,
)
from armwright.studies.doc002_irb140.setting import (
    BASE_AXES,
    PI,
    K_d,
    K_p,
    a1,
    arm,
    e1,
    e2,
    e4,
    printed_angles,
    printed_arm,
    q_des,
    q_t,
    qd_t,
    screws,
)

AXIS, ANGLE, PITCH, POINT = np.array([1.0, 2.0, -2.0]) / 3.0, 0.8, 0.1, np.array([0.3, -0.2, 0.5])
c, s = np.cos(q_t), np.sin(q_t)
LONG = e1 + e2

PRINTED = {  # (i, j): {(row, column): entry of a[i,j]} as the listing A.3 has them, at q_t
    (3, 1): {
        (1, 5): 2 * e2 * np.sin(q_t[2] / 2) ** 2
        + 2 * e1 * np.sin((q_t[1] + q_t[2]) / 2) ** 2
        - a1 * np.sin(q_t[1] + q_t[2])
    },
    (5, 2): {
        (1, 5): 2 * LONG * np.sin((q_t[2] + q_t[4]) / 2) ** 2 - a1 * np.sin(q_t[2] + q_t[4]) - e4 * s[4],
    },
    (4, 2): {
        (1, 4): -s[2] * s[3] * LONG,
        (1, 5): LONG * c[3] - LONG * c[2] - a1 * s[2],
        (1, 6): -c[2] * s[3] * LONG,
        (2, 4): LONG * c[3] + a1 * c[3] * s[2] - LONG * np.cos(2 * q_t[3]) * c[2],
    },
    (6, 5): {
        (1, 5): 2 * LONG * (c[5] ** 2 - 1),
        (1, 6): -np.sin(2 * q_t[5]) * LONG,
        (2, 4): (np.cos(2 * q_t[5]) - np.cos(4 * q_t[5])) * LONG,
        (3, 4): -(np.sin(2 * q_t[5]) - np.sin(4 * q_t[5])) * LONG,
    },
}


def off(exponential, errors, blocks=tuple(PRINTED)):
    """Largest difference between printed entries of these blocks and those of the exponentials with these errors."""
    found = {(i, j): A_as_published(exponential, i - 1, j - 1, errors)[0] for i, j in blocks}
    return max(
        abs(found[block][row - 1, column - 1] - value)
        for block in blocks
        for (row, column), value in PRINTED[block].items()
    )


# -- the listing ----------------------------------------------------------------------------------------------------


def test_closed_forms_of_the_listing_come_out_with_its_operator_and_its_chains_only():
    right = exponentials(screws(), q_t[None])
    assert off(right, {"A_ij", "skew"}) < 1e-14
    assert off(right, {"A_ij"}) > 0.1  # the cross product for its operator
    assert off(right, {"skew"}) > 0.1  # all exponentials of a chain, each once
    assert off(right, {"A_ij"}, [(3, 1)]) > 0.05 and off(right, {"skew"}, [(3, 1)]) < 1e-14  # a chain of two is right


def test_the_blocks_have_the_screws_right_and_the_listed_one_is_applied_to_them():
    wrong = exponentials(screws_as_published({"xi_4"}), q_t[None])
    assert off(wrong, {"A_ij", "skew"}, [(4, 2)]) > 0.01
    M, right = mass_as_published(q_t[None], {"xi_4"})[0], mass_matrix(arm(), q_t)
    touched = np.abs(M - right) > 1e-12
    assert touched[3].any() and not np.delete(np.delete(touched, 3, 0), 3, 1).any()  # row and column 4, nothing else


def test_the_block_with_an_error_of_its_own_holds_r_p():
    T = exponentials(screws(), q_t[None])[1][0]
    T = T @ T
    turned = T[:3, :3] @ T[:3, 3]
    np.testing.assert_allclose(a21_as_published(q_t[1]), (-turned[0], turned[2]), atol=1e-15)
    for errors in ({"A_ij", "skew"}, {"A_ij"}):
        block = A_as_published(exponentials(screws(), q_t[None]), 1, 0, errors)[0]
        assert np.abs(block[[0, 2], 4] - a21_as_published(q_t[1])).max() > 0.05


def test_the_transformed_inertia_of_2_57():
    for link in MASSES:
        T = np.eye(4)
        T[:3, 3] = HOME[link]
        J = parameters._cylinder(link, BASE_AXES[link])
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = MASSES[link] * np.eye(3), J
        Ad = adjoint_inverse(T)
        np.testing.assert_allclose(Ad.T @ M @ Ad, spatial_inertia(MASSES[link], T[:3, 3], J), atol=1e-12)
        np.testing.assert_allclose(Ad.T @ M @ Ad, link_inertia_as_published(link, frozenset()), atol=1e-12)
        printed = link_inertia_as_published(link, {"M'"})
        hat = skew(T[:3, 3])
        np.testing.assert_allclose((Ad.T @ M @ Ad - printed)[3:, 3:], -MASSES[link] * hat @ hat, atol=1e-12)
        np.testing.assert_allclose(printed[:3, 3:], -(Ad.T @ M @ Ad)[:3, 3:], atol=1e-12)


def test_what_our_text_may_have_spoilt_does_not_decide_about_the_listing():
    for name in listing.DOUBTFUL:
        assert listing.indefinite(frozenset({name})) == 0 < listing.median(name)
        assert listing.indefinite(listing.ALL | {name}) == 300
    assert listing.indefinite(listing.ALL | {"skew in A"}) > 250
    assert 0.01 < listing.median("p_2") < 0.1 < listing.median("m_2") < 1.0


def test_christoffel_without_its_half_is_twice_as_much():
    twice, right = (coriolis_as_published(q_t, qd_t, errors) for errors in ({"1/2"}, frozenset()))
    np.testing.assert_allclose(twice, 2.0 * right, atol=1e-12)


def test_accelerations_of_the_listing_become_gravity_when_projected():
    g, frames = np.zeros(6), fk_all(arm(), q_t)
    for k, body in enumerate(arm().bodies):
        J = jacobian(arm(), q_t, frame=k)
        offset = frames[k, :3, :3] @ body.com
        g += body.mass * 9.81 * (J[:3] - skew(offset) @ J[3:])[2]
    np.testing.assert_allclose(g, gravity_torque(arm(), q_t), atol=1e-10)


# -- the arm --------------------------------------------------------------------------------------------------------


def test_three_link_vectors_in_the_frames_of_the_printed_matrices():
    bodies = list(printed_arm().bodies)
    bodies[0] = replace(bodies[0], com=np.array([0.014, 0.264, -0.067]) - (0.070, 0.352, 0.0))
    bodies[1] = replace(bodies[1], com=np.array([0.201, 0.0, 0.070]) - (0.360, 0.0, 0.0))
    mended = replace(printed_arm(), bodies=tuple(bodies))
    for q, qd, qdd in np.random.default_rng(4).uniform(-1, 1, (20, 3, 6)):
        want = inverse_dynamics(arm(), q, qd, qdd)
        at = (printed_angles(q), SIGNS * qd, SIGNS * qdd)
        assert np.abs(SIGNS * inverse_dynamics(mended, *at) - want).max() < 1e-12
        assert np.abs(SIGNS * inverse_dynamics(printed_arm(), *at) - want).max() > 1e-3


def test_the_stretched_posture_in_both_coordinates():
    assert not stretched_to_the_maximum(printed_arm()).value
    assert stretched_to_the_maximum(arm()).value
    reach = np.linalg.norm(fk(printed_arm(), printed_angles(q_des), frame=4)[:2, 3])
    assert reach == pytest.approx(0.810, abs=1e-12)


def test_exponentials_one_by_one():
    assert worst_pose_difference() < 2e-15
    assert worst_pose_difference(frozenset({"3.28"})) == pytest.approx(2 * a1, abs=1e-3)
    assert worst_pose_difference(frozenset({"3.30"})) == pytest.approx(2 * e2, abs=1e-2)


def test_the_posture_of_the_text_is_another_angle():
    assert not open_loop.inverted(arm()).value and not open_loop.inverted(printed_arm()).value
    assert open_loop.inverted(arm(), np.array([0.0, PI, PI / 2, 0.0, 0.0, 0.0])).value


def test_cylinders_of_the_common_density_would_be_another_arm():
    weight = sum(1500.0 * PI * r * r * h for r, h in CYLINDERS.values())
    assert weight == pytest.approx(155.0, abs=0.5) and sum(MASSES.values()) == 75.0


# -- the loop -------------------------------------------------------------------------------------------------------


def test_the_law_is_stable_with_the_other_sign():
    assert not closed_loop.stable(closed_loop.law_as_published).value
    assert closed_loop.stable(pd_gravity(K_p, K_d)).value


def test_without_saturation_the_proof_holds_at_the_same_states(monkeypatch):
    assert not assumptions.proof_covers_saturation().value
    monkeypatch.setattr(assumptions.np, "clip", lambda x, low, high: x)
    assert assumptions.proof_covers_saturation().value


def test_friction_that_is_small_enough_does_not_matter():
    small, large = (max(assumptions.moved(n, "viscous", f) for n in assumptions.RUNS) for f in assumptions.VISCOUS)
    assert small < 0.01 < 0.05 < large


# -- slips that the thesis puts right elsewhere ---------------------------------------------------------------------


def test_2_3_and_2_8():
    x, y, z = AXIS
    v, sine, cosine = 1.0 - np.cos(ANGLE), np.sin(ANGLE), np.cos(ANGLE)

    def matrix(w):
        return np.array(
            [
                [x * x * v + cosine, x * y * v - z * sine, x * z * v + y * sine],
                [x * y * v + z * sine, y * y * v + cosine, y * z * v - w * sine],
                [x * z * v - y * sine, y * z * v + w * sine, z * z * v + cosine],
            ]
        )

    printed = matrix(z)
    assert np.abs(printed.T @ printed - np.eye(3)).max() > 0.1
    np.testing.assert_allclose(matrix(x), axis_angle(AXIS, ANGLE), atol=1e-15)


def test_2_11_and_2_13():
    R, want = exp_so3(AXIS * ANGLE), exp_se3(screw(POINT, AXIS, PITCH) * ANGLE)[:3, 3]
    along = PITCH * ANGLE * AXIS
    assert np.abs(along - want).max() > 0.1  # first form of (2.11) …
    np.testing.assert_allclose(along, exp_se3(screw(np.zeros(3), AXIS, PITCH) * ANGLE)[:3, 3], atol=1e-15)
    assert np.abs(R @ (np.eye(3) - R) @ POINT + along - want).max() > 0.1  # … (2.13) …
    np.testing.assert_allclose(POINT + R @ (np.zeros(3) - POINT) + along, want, atol=1e-15)  # … and the line above


def test_2_58():
    def mass(inertia):
        E, M = exponentials(screws(), q_t[None]), np.zeros((6, 6))
        for link in MASSES:
            x = np.zeros((6, 6))
            for j in range(link):
                carried = A_as_published(E, link - 1, j, frozenset())[0] if j < link - 1 else np.eye(6)
                x[:, j] = carried @ screws()[j]
            M += x.T @ inertia(link) @ x
        return M

    def about_the_centre(link):
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = MASSES[link] * np.eye(3), parameters._cylinder(link, BASE_AXES[link])
        return M

    want = mass_matrix(arm(), q_t)
    assert np.abs(mass(about_the_centre) - want).max() > 1.0
    np.testing.assert_allclose(mass(lambda link: link_inertia_as_published(link, frozenset())), want, atol=1e-13)


def test_3_30_is_right_in_the_listing():
    slip = [E[None] for E in exponentials_as_published(q_t, {"3.30"})]
    blocks = [(3, 1), (5, 2), (4, 2)]
    assert all(off(slip, {"A_ij", "skew"}, [block]) > 0.01 for block in blocks)
    assert off(exponentials(screws(), q_t[None]), {"A_ij", "skew"}, blocks) < 1e-14


def test_3_21_is_right_in_3_15():
    assert np.abs(np.array([a1 + e1, 0, LONG]) - fk(arm(), np.zeros(6), frame=4)[:3, 3]).max() == pytest.approx(e4 - e1)
    np.testing.assert_allclose((a1 + e4, 0, LONG), fk(arm(), np.zeros(6), frame=4)[:3, 3], atol=1e-15)
