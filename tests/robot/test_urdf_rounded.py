# SPDX-License-Identifier: Apache-2.0
"""Angles in a URDF are rounded, calibrated or off by a hair: the arm that is written is the arm that is computed."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.dynamics.methods import METHODS
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.public import forward_dynamics, inverse_dynamics, mass_matrix
from armwright.errors import DescriptionError, NotSupportedError
from armwright.kinematics.forward import fk, frame_pose
from armwright.kinematics.inverse import ik
from armwright.robot import canonical_frames
from armwright.robot.load import load
from armwright.robot.self_check import disagreement
from armwright.robot.tree import tree_of
from armwright.robot.urdf.urdf_read import read_urdf
from support.arms import random_arm
from support.urdf_arms import WRITTEN, urdf_arm


def relative(ours, theirs):
    return np.abs(np.asarray(ours) - theirs).max() / np.abs(theirs).max()


class Twin:
    """Pinocchio's reading of the same text, at one random state."""

    def __init__(self, text, seed):
        pin = pytest.importorskip("pinocchio", reason="Pinocchio is the independent engine")
        model = pin.buildModelFromXML(text)
        data = model.createData()
        self.q, self.qd, self.qdd = np.random.default_rng(seed).normal(size=(3, model.nq))
        self.tau = pin.rnea(model, data, self.q, self.qd, self.qdd).copy()
        M = pin.crba(model, data, self.q)
        self.M = np.triu(M) + np.triu(M, 1).T
        self.accelerations = pin.aba(model, data, self.q, self.qd, self.tau).copy()
        pin.forwardKinematics(model, data, self.q)
        self.pose = data.oMi[model.nq].homogeneous


def worst_against_pinocchio(seed, written):
    """Largest relative difference of pose, M, tau and qdd, from the trees that are compiled (run on floats)."""
    text = urdf_arm(seed, written)
    robot, twin = read_urdf(text), Twin(text, seed)
    tree, crba = tree_of(robot, regroup=True), METHODS["crba"]
    return max(
        relative(frame_pose(robot, twin.q), twin.pose),
        relative(crba.mass(tree, twin.q), twin.M),
        relative(rnea(tree, twin.q, twin.qd, twin.qdd), twin.tau),
        relative(crba.forward(tree, twin.q, twin.qd, twin.tau), twin.accelerations),
    )


@pytest.mark.parametrize("written", WRITTEN)
def test_arms_agree_with_pinocchio_however_their_angles_are_written(written):
    assert max(worst_against_pinocchio(seed, written) for seed in range(60)) < 1e-10


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("written", WRITTEN)
def test_many_arms_agree_with_pinocchio_however_their_angles_are_written(written):
    assert max(worst_against_pinocchio(seed, written) for seed in range(1000, 1400)) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_compiled_dynamics_of_rounded_arms_agree_with_pinocchio(seed):
    text = urdf_arm(seed, "rounded")
    robot, twin = read_urdf(text), Twin(text, seed)
    assert relative(fk(robot, twin.q), twin.pose) < 1e-10
    assert relative(mass_matrix(robot, twin.q), twin.M) < 1e-10
    assert relative(inverse_dynamics(robot, twin.q, twin.qd, twin.qdd), twin.tau) < 1e-10
    assert relative(forward_dynamics(robot, twin.q, twin.qd, twin.tau), twin.accelerations) < 1e-10


@pytest.mark.parametrize("tilt", [1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1])
def test_canonical_frames_stay_near_the_arm_at_every_tilt_of_parallel_axes(tilt):
    """Three axes, parallel but for the tilt, as joints 2 to 4 of a UR arm: no frame may leave the arm."""
    rows = [[tilt, 0.3, 0.0, 0.1], [-tilt, 0.25, 0.0, 0.0], [0.0, 0.2, 0.0, 0.05]]
    robot = type(load("planar2")).from_mdh(
        rows, name="tilted", masses=[3.0, 2.0, 1.0], coms=np.full((3, 3), 0.05), inertias=[0.01 * np.eye(3)] * 3
    )
    reach = float(np.abs(rows).sum())
    assert np.abs(robot.tree.p0).max() <= (1.0 + canonical_frames.NEAR_EXTENTS) * reach
    assert max(disagreement(robot).values()) < 1e-13


def test_frames_far_from_the_arm_are_noticed_and_the_arm_refused(monkeypatch):
    """The self-check sees what the choice of frames prevents: with every common normal accepted, arms are refused."""
    monkeypatch.setattr(canonical_frames, "NEAR_EXTENTS", 1e9)
    rules = []
    for seed in range(40):
        try:
            read_urdf(urdf_arm(seed, "rounded"))
        except DescriptionError as error:
            rules.append(error.rule)
    assert rules
    assert set(rules) == {"formulations-agree"}


def test_every_arm_of_the_catalogue_and_random_trees_agree_with_themselves():
    arms = [load(name) for name in ("ur5", "irb140", "panda", "puma560", "rl15", "cea")]
    shapes = ("chain", "tree", "mimic")
    arms += [random_arm(seed, 1 + seed, shape=shapes[seed % 3], drives="coupled") for seed in range(9)]
    for robot in arms:
        assert max(disagreement(robot).values()) < 1e-12


def test_a_dh_table_that_would_lose_the_dynamics_is_refused():
    """The common normal of axes 7e-6 rad apart is 1e5 m away: poses survive in a DH table, inertias do not."""
    refused = 0
    for seed in range(50):
        robot = read_urdf(urdf_arm(seed, "rounded"))
        q, qd, qdd = np.random.default_rng(seed).normal(size=(3, robot.n))
        tau = rnea(robot, q, qd, qdd)
        for convert in (robot.to_dh, robot.to_mdh):
            try:
                rebuilt = convert().robot()
            except NotSupportedError:
                refused += 1
                continue
            assert relative(rnea(rebuilt, q, qd, qdd), tau) < 1e-8  # M agrees to 1e-10; velocity terms amplify
    assert refused > 0


@pytest.mark.parametrize("name", ["ur5", "irb140"])
@pytest.mark.parametrize("digits", [4, 5, 9])
def test_inverse_kinematics_of_rounded_arms_returns_what_forward_kinematics_confirms(name, digits):
    exact = load(name)
    table = exact.to_mdh()
    rows = np.array(table.table)
    rows[:, [0, 2]] = np.round(rows[:, [0, 2]], digits)
    parts = table.arguments()
    parts["table"] = rows
    robot = type(exact).from_mdh(**parts)
    q = np.array([0.3, -1.1, 1.2, -0.7, 0.9, 0.4])
    T = fk(robot, q)
    found = ik(robot, T)
    assert len(found.solutions) > 0
    for solution in found.solutions:
        assert np.abs(fk(robot, solution) - T).max() < 1e-9
    assert min(np.abs(np.angle(np.exp(1j * (solution - q)))).max() for solution in found.solutions) < 1e-6
