# SPDX-License-Identifier: Apache-2.0
"""Closed-form inverse kinematics: every branch, every arm of the class, and honest answers where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.errors import InputError, NotSupportedError
from armwright.kinematics import IKBatch, fk, ik, ik_class, jacobian
from armwright.kinematics.ik_classification import analyse
from armwright.kinematics.ik_spherical_wrist import spherical_wrist_branches
from armwright.kinematics.ik_ur import ur_branches
from armwright.robot.kernels import kernel
from armwright.robot.tables.dh import from_dh, from_mdh
from support.arms import random_pose
from support.kinematics import UR5, UR10, H, among, apart, general_6r, load, pose_errors, ur_family

PI = np.pi
FAMILIES = {
    "ur5": lambda: load("ur5"),
    "ur10": lambda: ur_family(*UR10),
    "puma560": lambda: load("puma560"),
    "irb140": lambda: load("irb140"),
    "rl15": lambda: load("rl15"),
    "cea": lambda: load("cea"),
    # the classes are wider than the arms they are named after
    "tilted_ur": lambda: from_dh(
        [
            [0, 0.3, 0.1, 1.2],
            [0, 0.1, 0.5, PI],
            [0, 0.05, 0.4, PI],
            [0, 0.1, 0.03, 1.3],
            [0, 0.09, 0, -1.1],
            [0, 0.08, 0.02, 0.4],
        ]
    ),
    "tilted_shoulder": lambda: from_dh(
        [[0, 0.3, 0.1, 0.6], [0, 0.1, 0.4, PI], [0, 0.1, 0.1, H], [0, 0.4, 0, H], [0, 0, 0, -H], [0, 0.05, 0, 0]]
    ),
    "axes_1_2_meet": lambda: from_dh(
        [[0, 0.3, 0, H], [0, 0.1, 0.4, 0.7], [0, 0.1, 0.1, H], [0, 0.4, 0, H], [0, 0, 0, -H], [0, 0.05, 0, 0]]
    ),
    "scara_shoulder": lambda: from_dh(
        [[0, 0.3, 0.3, 0], [0, 0.1, 0.4, H], [0, 0.1, 0.1, 0.9], [0, 0.4, 0, H], [0, 0, 0, -0.8], [0, 0.05, 0, 0]]
    ),
}


def check(robot, q, batch, T):
    """Every solution reaches its target, none is repeated, and the generating configuration is among them."""
    for i in range(len(q)):
        own = batch[i].solutions
        error = pose_errors(fk(robot, own), np.repeat(T[i : i + 1], len(own), axis=0))
        assert max(error.position.max(), error.rotation.max()) < 1e-9
        pairs = apart(own[:, None], own[None]) + 10.0 * np.eye(len(own))
        assert pairs.min() > 1e-6
    assert among(batch, q).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_all_branches_with_tool_and_base(name):
    rng = np.random.default_rng(1)
    robot = FAMILIES[name]().with_tool(random_pose(rng)).with_base(random_pose(rng))
    q = rng.uniform(-PI, PI, (200, 6))
    T = fk(robot, q)
    batch = ik(robot, T, limits=False)
    assert batch.ok.all()
    assert (batch.status == "solved").mean() > 0.98  # a random arm folded flat may count as singular
    assert batch.method == ik_class(robot).name == ("ur" if "ur" in name else "spherical_wrist")
    check(robot, q, batch, T)
    assert batch.count.max() == 8
    assert (batch.count % 2 == 0).all()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ur5", "ur"),
        ("ur5-ragazzon", "ur"),
        ("puma560", "spherical_wrist"),
        ("irb140", "spherical_wrist"),
        ("rl15", "spherical_wrist"),
        ("cea", "spherical_wrist"),
        ("panda", "general"),
        ("planar3", "general"),
    ],
)
def test_class_is_read_from_the_geometry(name, expected):
    found = ik_class(load(name))
    assert found.name == expected
    assert found.reason


def test_eight_branches_are_generic():
    """Well inside the workspace both families have 8 configurations, two by two by two."""
    rng = np.random.default_rng(2)
    for robot in (load("puma560"), load("ur5")):
        # elbow and wrist away from their singular values, and the wrist centre well clear of axis 1
        q = rng.uniform([-PI, -2.6, 0.8, 0.2, 1.0, -PI], [PI, -2.0, 1.4, 0.8, 1.6, PI], (50, 6))
        batch = ik(robot, fk(robot, q), limits=False)
        assert (batch.count == 8).all(), batch.count


@pytest.mark.parametrize("name", ["ur5", "irb140", "cea"])
@pytest.mark.parametrize("q5", [0.0, PI])
def test_wrist_singularity_takes_the_free_angle_from_the_seed(name, q5):
    robot, rng = load(name), np.random.default_rng(3)
    q = rng.uniform(-PI, PI, (60, 6))
    q[:, 4] = q5
    T = fk(robot, q)
    batch = ik(robot, T, seed=q, limits=False)
    assert set(batch.status) == {"singular"}
    assert (apart(batch.q, q) < 1e-6).all()
    check(robot, q, batch, T)
    other = ik(robot, T, limits=False)
    assert other.ok.all()
    assert (pose_errors(fk(robot, other.q), T).position < 1e-9).all()


@pytest.mark.parametrize("name", ["ur5", "cea", "irb140"])
@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11])
def test_near_singular_targets_lose_no_accuracy(name, gap):
    robot, rng = load(name), np.random.default_rng(4)
    q = rng.uniform(-PI, PI, (60, 6))
    q[:30, 4] = gap
    q[30:, 2] = {"ur5": gap, "cea": gap, "irb140": gap - H}[name]
    T = fk(robot, q)
    batch = ik(robot, T, seed=q, limits=False)
    assert batch.ok.all()
    error = pose_errors(fk(robot, batch.q), T)
    assert max(error.position.max(), error.rotation.max()) < 1e-10


def test_shoulder_singularity_of_an_arm_whose_wrist_stands_on_axis_1():
    robot = load("irb140")
    q = np.array([0.7, -0.3, 0.0, 0.4, 0.9, -0.2])
    # choose q3 so that the wrist centre lies on axis 1: 0.07 + 0.36 sin q2 + 0.38 cos(q2 + q3) = 0
    q[2] = np.arccos(-(0.07 + 0.36 * np.sin(q[1])) / 0.38) - q[1]
    T = fk(robot, q)
    result = ik(robot, T, seed=q, limits=False)
    assert result.status == "singular"
    assert apart(result.q, q) < 1e-6
    turned = ik(robot, T, seed=q + np.eye(6)[0], limits=False)
    assert apart(turned.q[:1], q[:1] + 1.0) < 1e-6
    assert pose_errors(fk(robot, turned.q)[None], T[None]).position < 1e-9


def test_unreachable_targets_say_how_far():
    robot = load("ur5")
    T = np.tile(np.eye(4), (20, 1, 1))
    T[:, :3, :3] = fk(robot, np.random.default_rng(5).normal(size=(20, 6)))[:, :3, :3]
    T[:, :3, 3] = [1.5, 0.2, 0.3]
    batch = ik(robot, T)
    assert set(batch.status) == {"unreachable"}
    assert (batch.count == 0).all()
    assert not batch.ok.any()
    for result in batch:
        miss = pose_errors(fk(robot, result.closest)[None], T[:1])
        assert result.closest_position_error == pytest.approx(miss.position[0], abs=1e-12)
        assert 0.4 < result.closest_position_error < 1.0
        assert result.message.startswith("unreachable")
        with pytest.raises(InputError, match="unreachable"):
            _ = result.q
    with pytest.raises(InputError, match="20"):
        _ = batch.q
    # the closest approach is stationary: no joint motion brings the pose error down to first order
    q, length = batch.closest[0], 0.5045
    error = pose_errors(fk(robot, q)[None], T[:1]).e[0]
    weight = np.array([1 / length**2] * 3 + [1.0] * 3)
    assert np.abs(jacobian(robot, q).T @ (weight * error)).max() < 1e-3


def test_limits_flag_shift_and_order():
    robot = load("irb140")
    rng = np.random.default_rng(6)
    q = rng.uniform(robot.lower, robot.upper, (200, 6))
    batch = ik(robot, fk(robot, q))
    assert batch.ok.all()
    assert among(batch, q).all()
    for result in batch:
        inside = ((result.solutions >= robot.lower - 1e-9) & (result.solutions <= robot.upper + 1e-9)).all(axis=1)
        np.testing.assert_array_equal(inside, result.within_limits)
        assert (np.diff(inside.astype(int)) <= 0).all()
    np.testing.assert_allclose(ik(robot, fk(robot, q), seed=q).q, q, atol=1e-6)
    # joint 6 has ±400°: a seed a turn away is followed where the range allows it, and only there
    q[:, 5] = rng.uniform(-1.0, 1.0, 200)
    seed = q.copy()
    seed[:, 5] += 2 * PI
    followed = ik(robot, fk(robot, q), seed=seed)
    fits = seed[:, 5] <= robot.upper[5]
    assert 0 < fits.sum() < 200
    np.testing.assert_allclose(followed.q[fits], seed[fits], atol=1e-6)
    assert (followed.q <= robot.upper + 1e-9).all()


def test_out_of_limits_is_said_and_the_best_inside_is_given():
    wide = load("cea")
    q = np.array([[0.9, 0.4, -1.0, 0.3, 0.8, 0.2], [2.0, -0.5, -1.2, 0.4, -0.7, 1.0]])
    T = fk(wide, q)
    batch = ik(wide, T)
    for i, result in enumerate(batch):
        if result.status == "out_of_limits":
            assert len(result) > 0
            assert not result.within_limits.any()
            assert result.closest_position_error + result.closest_rotation_error > 1e-6
        assert (result.closest >= wide.lower - 1e-9).all()
        assert (result.closest <= wide.upper + 1e-9).all()
        assert ik(wide, T[i], limits=False).ok
    assert "out_of_limits" in batch.status


def test_prefer_the_branch_of_the_seed_along_a_path():
    """Following a line with each solution seeding the next stays on one branch: no jumps."""
    robot = load("ur5")
    start = np.array([2.2, -1.2, 1.6, -0.5, H, 0.3])
    T0 = fk(robot, start)
    q, steps = start, []
    for s in np.linspace(0.0, 0.2, 60):
        T = T0.copy()
        T[:3, 3] += s * np.array([0.6, -0.5, 0.62])
        new = ik(robot, T, seed=q).q
        steps.append(np.abs(new - q).max())
        q = new
    assert max(steps) < 0.05


def test_other_frames_and_rounded_right_angles():
    robot = load("ur5").with_tool(random_pose(np.random.default_rng(7)))
    q = np.random.default_rng(8).uniform(-PI, PI, (50, 6))
    last = robot.bodies[-1].name
    assert ik(robot, fk(robot, q, last), frame=last).ok.all()
    sloppy = ur_family(*UR5, right=1.5708)  # as some files write π/2; axes then miss by micrometres
    assert ik_class(sloppy).name == "ur"
    T = fk(sloppy, q)
    batch = ik(sloppy, T)
    check(sloppy, q, batch, T)


def test_arms_without_a_closed_form_say_why():
    with pytest.raises(NotSupportedError, match="axes 5 and 6 do not meet"):
        ik(general_6r(0), np.eye(4), method="closed")
    with pytest.raises(NotSupportedError, match="position alone"):
        ik(load("ur5"), [0.3, 0.2, 0.1], method="closed", position_only=True)
    scara = from_mdh([[0, 0, 0, 0.2], [0, 0.3, 0, 0]])
    assert "needs 6" in ik_class(scara).reason


def test_shapes_of_batches():
    robot = load("puma560")
    q = np.random.default_rng(9).uniform(-PI, PI, (2, 3, 6))
    batch = ik(robot, fk(robot, q), limits=False)
    assert isinstance(batch, IKBatch)
    assert batch.status.shape == (2, 3)
    assert batch.q.shape == (2, 3, 6)
    assert len(list(batch)) == 6
    assert batch[1, 2].solutions.shape == (8, 6)
    empty = ik(robot, np.zeros((0, 4, 4)))
    assert empty.status.shape == (0,)
    assert empty.q.shape == (0, 6)


def bent(i, j, value):
    T = np.eye(4)
    T[i, j] = value
    return T


@pytest.mark.parametrize(
    "T",
    [
        np.eye(3),
        np.zeros((4, 4)),
        bent(0, 3, np.nan),
        bent(0, 0, 1.001),
        bent(3, 0, 0.1),
        np.diag([1.0, 1.0, -1.0, 1.0]),
        "pose",
        None,
        bent(1, 3, np.inf),
    ],
)
@pytest.mark.parametrize("method", ["closed", "numeric"])
def test_bad_targets_are_refused(T, method):
    with pytest.raises(InputError):
        ik(load("ur5"), T, method=method)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "fast"},
        {"seed": np.zeros(5)},
        {"seed": [np.nan] * 6},
        {"frame": "hand"},
        {"restarts": -1},
        {"restarts": 1.5},
        {"seed": np.zeros((3, 6))},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        ik(load("ur5"), np.tile(np.eye(4), (2, 1, 1)), **options)


def test_free_wrist_of_a_nearly_stretched_ur_is_searched_for_a_reachable_representative():
    """Axes 2, 3, 4 and 6 parallel: joint 6 is free only as far as joints 2 to 4 reach; the seed may lie outside."""
    robot, rng = load("ur5"), np.random.default_rng(10)
    q = rng.uniform(-PI, PI, (30, 6))
    q[:, 2], q[:, 4] = 0.1, 0.0
    T = fk(robot, q)
    seed = q.copy()
    seed[:, 5] += rng.uniform(1.0, 5.0, 30)
    batch = ik(robot, T, seed=seed, limits=False)
    assert set(batch.status) == {"singular"}
    own = batch.solutions[np.arange(8)[: batch.solutions.shape[1]] < batch.count[:, None]]
    error = pose_errors(fk(robot, own), np.repeat(T, batch.count, axis=0))
    assert max(error.position.max(), error.rotation.max()) < 1e-9


@pytest.mark.parametrize("name", ["ur5", "cea"])
def test_the_same_source_runs_on_floats(name):
    """The closed forms are plain NumPy for one target; what is compiled gives the same branches and |det J|."""
    robot = load(name)
    found, home = analyse(robot)
    function = ur_branches if found.name == "ur" else spherical_wrist_branches
    q = np.array([0.4, -0.9, 0.8, 0.3, 1.1, -0.6])
    plain = function(robot, fk(robot, q), np.zeros(6), home, None)
    compiled = kernel(robot, function, shapes={"seed": 6}, home=home, body=None)(fk(robot, q), np.zeros(6))
    for a, b in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(np.asarray(a, dtype=float), b, atol=1e-12)
    det = np.abs(np.linalg.det(jacobian(robot, compiled[0])))
    np.testing.assert_allclose(det, 0.5 * compiled[-1], rtol=1e-9)


@pytest.mark.parametrize("name", ["ur5", "puma560", "panda"])
def test_a_rotation_of_six_decimals_is_projected_where_asked_and_refused_otherwise(name):
    robot = load(name)
    rng = np.random.default_rng(3)
    q = 0.5 * (np.maximum(robot.lower, -3.0) + np.minimum(robot.upper, 3.0)) + rng.uniform(-0.6, 0.6, robot.n)
    exact = fk(robot, q)
    rounded = exact.round(6)
    with pytest.raises(InputError, match="project=True"):
        ik(robot, rounded)
    found = ik(robot, rounded, project=True, seed=q)
    assert found.status == "solved"
    reached = fk(robot, found.solutions[0])
    R = reached[:3, :3]
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-12
    assert np.abs(reached[:3, 3] - rounded[:3, 3]).max() < 1e-9
    # the nearest rotation is no further from the printed matrix than any other, the exact one included
    assert np.linalg.norm(R - rounded[:3, :3]) <= np.linalg.norm(exact[:3, :3] - rounded[:3, :3]) + 1e-9
    batch = ik(robot, np.stack([rounded, exact]), project=True, seed=q)
    assert (batch.status == "solved").all()


def test_projection_mends_rounding_and_nothing_worse():
    robot = load("ur5")
    T = fk(robot, [0.1, -1.0, 1.2, 0.3, 0.8, 0.2])
    for wrong in (T.round(4), T @ np.diag([1.0, 1.0, -1.0, 1.0]), np.diag([2.0, 2.0, 2.0, 1.0]) @ T):
        with pytest.raises(InputError, match="must be a rotation"):
            ik(robot, wrong, project=True)
    untouched = T.round(6)
    before = untouched.copy()
    ik(robot, untouched, project=True)
    assert (untouched == before).all()
