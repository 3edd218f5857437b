# SPDX-License-Identifier: Apache-2.0
"""SciPy's rotations and rigid transforms go wherever a rotation or a pose goes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import transform

import armwright as aw
from armwright.motion import line
from armwright.spatial import poses, quaternions, twists
from armwright.world import Box

RigidTransform = getattr(transform, "RigidTransform", None)
R = transform.Rotation.from_rotvec([0.3, -0.5, 0.9])
needs_rigid = pytest.mark.skipif(
    RigidTransform is None, reason="this SciPy has no RigidTransform (1.16 and later have)"
)


def test_rotations_are_taken_as_their_matrices():
    assert np.array_equal(poses.pose(R, [1, 2, 3]), poses.pose(R.as_matrix(), [1, 2, 3]))
    np.testing.assert_allclose(quaternions.xyzw_from_rotation(R), R.as_quat(canonical=True), atol=1e-15)
    block = {"name": "block", "centre": (0.0, 0.0, 0.0), "size": (1.0, 1.0, 1.0)}
    assert Box(**block, rotation=R) == Box(**block, rotation=R.as_matrix())


@needs_rigid
def test_rigid_transforms_are_taken_as_their_matrices():
    ur5 = aw.load("ur5")
    T = aw.fk(ur5, [0.1, -1.2, 1.4, 0.3, 0.8, 0.0])
    pose = RigidTransform.from_matrix(T)
    assert np.array_equal(aw.ik(ur5, pose).q, aw.ik(ur5, pose.as_matrix()).q)
    assert np.array_equal(aw.ik(ur5, pose, position_only=True).q, aw.ik(ur5, pose.as_matrix(), position_only=True).q)
    assert np.array_equal(ur5.with_tool(pose).T_tip_tool, pose.as_matrix())
    other = RigidTransform.from_components([0.4, 0.1, 0.3], R)
    assert np.array_equal(line(pose, other).T_end, line(pose.as_matrix(), other.as_matrix()).T_end)
    np.testing.assert_allclose(poses.compose(pose, poses.inverse(pose)), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(
        poses.log_se3(other), np.roll(other.as_exp_coords(), 3), atol=1e-12
    )  # theirs: angular first
    assert np.array_equal(twists.adjoint(pose), twists.adjoint(pose.as_matrix()))
