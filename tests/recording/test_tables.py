# SPDX-License-Identifier: Apache-2.0
"""Recordings as pandas tables, and signals that are added on request."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.control import pd_gravity
from armwright.simulation import with_tool_path, with_wrench

pandas = pytest.importorskip("pandas", reason="extra [table] is not installed")


@pytest.fixture(scope="module")
def pushed():
    def push(arm, t, q, qd):
        return np.array([5.0, 0.0, -40.0 * q[1], 0.0, 0.0, 0.0])

    robot = aw.load("planar2")
    return push, aw.simulate(robot, pd_gravity(20.0, 5.0), np.array([0.3, -0.2]), 0.05, wrench=push)


def test_a_table_has_the_numbers_under_the_joints_names(pushed, tmp_path):
    run = pushed[1]
    frame = run.to_pandas()
    names = [joint.name for joint in run.robot.joints]
    assert np.array_equal(frame[[f"q_{name}" for name in names]], run["q"])
    assert np.array_equal(frame.index, run.time)
    assert frame.attrs["units"][f"tau_{names[0]}"] == "N m"
    plain = pandas.read_csv(run.save(tmp_path / "run.csv"))
    assert np.array_equal(plain["t"], run.time)
    assert np.array_equal(plain[["qd_0", "qd_1"]], run["qd"])


def test_the_tool_path_and_the_wrench_of_a_run_are_added(pushed):
    push, run = pushed
    more = with_wrench(with_tool_path(run), push)
    np.testing.assert_allclose(more["tool"], aw.fk(run.robot, run["q"])[:, :3, 3], atol=1e-15)
    np.testing.assert_allclose(more["tool_ref"], aw.fk(run.robot, run["q_ref"])[:, :3, 3], atol=1e-15)
    np.testing.assert_allclose(more["wrench"][:, 2], -40.0 * run["q"][:, 1], atol=1e-15)
    assert list(more.to_pandas()["wrench_fx"]) == [5.0] * len(run)
