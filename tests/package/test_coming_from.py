# SPDX-License-Identifier: Apache-2.0
"""The page for people who come from other libraries: its cells are code that runs, and rows marked = agree."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

import armwright as aw
from support.places import ROOT

PAGE = ROOT / "docs" / "howto" / "coming_from.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "`" in line
]
OURS, PINOCCHIO, MUJOCO = 1, 2, 4  # columns


def value(cell, names):
    """Run the code of a cell; its last statement is its value. None where the cell has no code."""
    if (found := re.match(r"`([^`]*)`", cell)) is None:
        return None
    *before, last = ast.parse(found[1]).body
    kept = ast.fix_missing_locations(ast.Assign([ast.Name("cell_value", ast.Store())], last.value, lineno=1))
    exec(compile(ast.Module([*before, kept], []), "<cell>", "exec"), names)
    return names["cell_value"]


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_robot.urdf").write_text(aw.load("ur5").to_urdf(), encoding="utf-8")
    robot = aw.load("my_robot.urdf")
    q, qd, qdd = np.random.default_rng(1).uniform(-1.0, 1.0, (3, robot.n))
    tau = aw.inverse_dynamics(robot, q, qd, qdd)
    return {"np": np, "aw": aw, "robot": robot, "q": q, "qd": qd, "qdd": qdd, "tau": tau}


def compared(state, column, names):
    """Run a column beside ours; how many rows have code in both."""
    both = 0
    for row in ROWS:
        ours, theirs = value(row[OURS], dict(state)), value(row[column], names())
        assert ours is not None, row[0]
        both += theirs is not None
        if theirs is not None and row[0].endswith("=") and not callable(theirs):
            np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9, err_msg=row[0])
    return both


def test_there_are_twenty_calls():
    assert len(ROWS) >= 20 and all(len(row) == 6 for row in ROWS)


def test_pinocchio(state):
    pin = pytest.importorskip("pinocchio")

    def names():
        model = pin.buildModelFromUrdf("my_robot.urdf")
        return state | {"pin": pin, "model": model, "data": model.createData(), "tool": model.getFrameId("tool")}

    assert compared(state, PINOCCHIO, names) >= 18


def test_mujoco(state):
    mujoco = pytest.importorskip("mujoco")

    def names():
        model = mujoco.MjModel.from_xml_path("my_robot.urdf")
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = state["q"], state["qd"]
        mujoco.mj_forward(model, data)
        return state | {"mujoco": mujoco, "model": model, "data": data, "full": np.zeros((model.nv, model.nv))}

    assert compared(state, MUJOCO, names) >= 10
