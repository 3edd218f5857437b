# SPDX-License-Identifier: Apache-2.0
"""`joint_rates`: closed-loop inverse kinematics at an instant, against its formula written out with NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armwright as aw
from armwright.kinematics import joint_rates
from armwright.kinematics.ik_preference import cost_of

PANDA, UR5 = aw.load("panda"), aw.load("ur5")
Q7 = np.array([0.3, 0.4, -0.2, -1.9, 0.1, 2.0, 0.5])
Q6 = np.array([0.2, -1.4, 1.8, -0.4, 1.2, 0.3])
TWIST = np.array([0.1, -0.2, 0.05, 0.3, 0.2, -0.4])


def test_a_point_by_the_formula_of_the_report():
    """003 eqs. 7 and 8 with feedback: J⁺(ẋ + K e) + (1 − J⁺J)(−α ∇H)."""
    goal = aw.fk(UR5, Q6)[:3, 3] + [0.02, -0.01, 0.03]
    J = aw.jacobian(UR5, Q6)[:3]
    middle, width = (UR5.upper + UR5.lower) / 2, UR5.upper - UR5.lower
    slope = (Q6 - middle) / width**2
    pseudo = np.linalg.pinv(J)
    e = goal - aw.fk(UR5, Q6)[:3, 3]
    expected = pseudo @ (TWIST[:3] + 7.0 * e) - 3.0 * (np.eye(6) - pseudo @ J) @ slope
    found = joint_rates(UR5, Q6, goal, TWIST[:3], gain=7.0, prefer="limits", weight=3.0)
    assert np.abs(found - expected).max() < 1e-12
    assert np.abs(joint_rates(UR5, Q6, goal, gain=7.0) - pseudo @ (7.0 * e)).max() < 1e-12


@pytest.mark.parametrize("axes", [None, ["x", "y", "z", "rx", "ry"], ["z", "rx", "rz"], ["rx", "ry", "rz"]])
def test_the_error_decays_whatever_the_axes(axes):
    """d/dt of the error along the asked axes is −K e: by moving arm and target for a moment, far from each other."""
    arm, q = PANDA, Q7
    goal = aw.fk(arm, q + np.array([0.1, -0.2, 0.15, 0.3, -0.2, 0.1, 0.4]))
    qd = joint_rates(arm, q, goal, TWIST, gain=6.0, axes=axes, prefer="manipulability", weight=2.0)
    chosen = [("x", "y", "z", "rx", "ry", "rz").index(a) for a in axes or ("x", "y", "z", "rx", "ry", "rz")]

    def error(t):
        T, target = aw.fk(arm, q + t * qd), goal.copy()
        target[:3, 3] += t * TWIST[:3]
        target[:3, :3] = Rotation.from_rotvec(t * TWIST[3:]).as_matrix() @ goal[:3, :3]
        turn = Rotation.from_matrix(target[:3, :3] @ T[:3, :3].T).as_rotvec()
        both = np.concatenate([target[:3, :3].T @ (target[:3, 3] - T[:3, 3]), target[:3, :3].T @ turn])
        return both[chosen]

    h = 1e-4
    rate = (error(h) - error(-h)) / (2.0 * h)
    assert np.abs(rate + 6.0 * error(0.0)).max() < 1e-6
    assert np.abs(error(0.0)).max() > 0.1


def test_the_secondary_task_goes_downhill_and_the_tool_does_not_feel_it():
    T = aw.fk(PANDA, Q7)
    posture = PANDA.neutral()
    for prefer in ("limits", "manipulability", posture):
        aside = joint_rates(PANDA, Q7, T, gain=0.0, prefer=prefer, weight=1.0)
        assert np.abs(aw.jacobian(PANDA, Q7) @ aside).max() < 1e-12 and np.abs(aside).max() > 1e-4
        cost, _ = cost_of(PANDA, None, prefer)
        h = 1e-4 / np.abs(aside).max()
        assert float(cost(Q7 + h * aside)) < float(cost(Q7)) < float(cost(Q7 - h * aside))


def test_a_function_is_differentiated_and_a_gradient_is_taken():
    middle, width = (PANDA.upper + PANDA.lower) / 2, PANDA.upper - PANDA.lower
    T = aw.fk(PANDA, Q7)
    named = joint_rates(PANDA, Q7, T, gain=0.0, prefer="limits", weight=2.0)
    of_q = joint_rates(PANDA, Q7, T, gain=0.0, prefer=lambda q: (((q - middle) / width) ** 2).sum(), weight=1.0)
    slope = joint_rates(PANDA, Q7, T, gain=0.0, prefer=lambda q: 2.0 * (q - middle) / width**2, weight=1.0)
    assert np.abs(of_q - named).max() < 1e-14 and np.abs(slope - named).max() < 1e-14


def test_batches_are_their_rows():
    rng = np.random.default_rng(0)
    q = Q7 + rng.uniform(-0.2, 0.2, (5, 7))
    goal = aw.fk(PANDA, Q7 + rng.uniform(-0.2, 0.2, (3, 1, 7)))
    found = joint_rates(PANDA, q, goal, gain=np.array([1.0, 2.0, 3.0, 4.0, 5.0]), prefer="limits")
    assert found.shape == (3, 5, 7)
    one = joint_rates(PANDA, q[3], goal[2, 0], gain=4.0, prefer="limits")
    assert np.abs(found[2, 3] - one).max() < 1e-12


def test_near_a_singularity_the_joints_stay_slow():
    """The stretched arm: outward motion is lost. Undamped speeds grow without bound, damped ones do not."""
    arm, at_most = aw.load("planar2"), []
    for bend in (1e-1, 1e-2, 1e-3, 1e-4):
        q = np.array([0.3, bend])
        goal = 0.9 * aw.fk(arm, q)[:3, 3]
        speeds = [np.abs(joint_rates(arm, q, goal, gain=1.0, axes=["x", "y"], damping=d)).max() for d in (0.0, 0.02)]
        at_most.append(speeds)
    plain, damped = np.array(at_most).T
    assert plain[-1] > 1000.0 and damped.max() < 0.2 / (2 * 0.02)
    away = np.array([0.3, 1.2])
    rates = [joint_rates(arm, away, [1.0, 1.0, 0.0], gain=1.0, axes=["x", "y"], damping=d) for d in (0.0, 0.02)]
    assert (rates[0] == rates[1]).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gain": -1.0}, "gain: must be ≥ 0"),
        ({"gain": np.nan}, "gain: every entry must be finite"),
        ({"gain": 1.0, "weight": -1.0, "prefer": "limits"}, "weight: must be ≥ 0"),
        ({"gain": 1.0, "damping": -0.1}, "damping: expected a finite number ≥ 0"),
        ({"gain": 1.0, "prefer": "comfort"}, "prefer: expected 'limits', 'manipulability', a posture"),
        ({"gain": 1.0, "prefer": np.zeros(6)}, r"prefer: expected shape \(..., 7\)"),
        ({"gain": 1.0, "prefer": lambda q: q[:2]}, "must return one number"),
        ({"gain": 1.0, "axes": "xyz"}, "axes: expected some of x, y, z, rx, ry, rz"),
        ({"gain": 1.0, "axes": ["x", "x"]}, "each once"),
        ({"gain": 1.0, "twist": np.zeros(3)}, r"twist: expected shape \(..., 6\)"),
        ({"gain": 1.0, "goal": np.eye(3)[:2, :2]}, "goal: expected points"),
        ({"gain": 1.0, "goal": 2.0 * np.eye(4)}, "goal: the last row"),
        ({"gain": 1.0, "q": np.full(7, np.nan)}, "q: every entry must be finite"),
    ],
)
def test_refusals(options, says):
    given = {"q": Q7, "goal": aw.fk(PANDA, Q7)} | options
    with pytest.raises(aw.InputError, match=says):
        joint_rates(PANDA, given.pop("q"), given.pop("goal"), given.pop("twist", None), **given)


def test_what_an_arm_cannot_move_is_named():
    with pytest.raises(aw.InputError, match=r"'planar3' with 3 joints cannot .* it can along axes=\['x', 'y'\]"):
        joint_rates(aw.load("planar3"), np.ones(3), [1.0, 1.0, 0.0], gain=1.0)
    with pytest.raises(aw.InputError, match="6 joints leave no freedom for a task of 6 axes"):
        joint_rates(UR5, Q6, aw.fk(UR5, Q6), gain=1.0, prefer="limits")
