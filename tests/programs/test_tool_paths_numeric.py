# SPDX-License-Identifier: Apache-2.0
"""Tool moves of arms without closed-form inverse kinematics: on their line, or refused with line, place and reason."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ProgramError
from armwright.kinematics import fk
from armwright.motion.cartesian_path import line
from armwright.motion.corner_blend import join
from armwright.motion.joint_curve import closed_form
from armwright.motion.path_continuation import continued, spared_slopes
from armwright.motion.tool_path import segment_of
from armwright.programs import Distance, Program, ToolRate, plan_program
from armwright.spatial import log_so3
from support.moves import shifted, to

ARMS = {
    "panda": [0.0, -0.6, 0.1, -2.2, 0.1, 1.7, 0.8],  # seven joints
    "crx10ia": [0.1, 0.3, 0.2, 0.1, -0.8, 0.2],  # six, whose wrist axes do not meet
}


@pytest.mark.parametrize("name", ARMS)
def test_a_urscript_program_runs_on_its_lines(name):
    robot, q = aw.load(name), np.array(ARMS[name])
    assert not closed_form(robot)
    T = fk(robot, q)

    def pose(*d):
        return f"p[{','.join(f'{x:.12f}' for x in (*(T[:3, 3] + d), *log_so3(T[:3, :3])))}]"

    text = f"""def p():
  movel({pose(0.0, 0.15, 0.0)}, a=1.2, v=0.25)
  movel({pose(0.0, 0.15, -0.1)}, a=1.2, v=0.25, r=0.02)
  movel({pose(0.0, 0.0, -0.1)}, a=1.2, v=0.25)
end
"""
    plan = plan_program(robot, aw.read_program(text), start_q=q)
    X = fk(robot, plan.q)
    off = X[:, :3, 3] - T[:3, 3]
    np.testing.assert_allclose(X[:, :3, :3], np.broadcast_to(T[:3, :3], X[:, :3, :3].shape), atol=1e-6)
    first = plan.move == 0
    assert np.abs(off[first][:, [0, 2]]).max() < 1e-6 and np.ptp(off[first][:, 1]) > 0.14
    last = (plan.move == 2) & (off[:, 1] < 0.15 - 0.02)
    assert np.abs(off[last] - off[last] * [0, 1, 0] - [0, 0, -0.1]).max() < 1e-6
    np.testing.assert_allclose(off[-1], [0.0, 0.0, -0.1], atol=1e-6)
    assert (plan.q >= robot.lower).all() and (plan.q <= robot.upper).all()
    # the joints move as one: speeds are the derivatives of the positions
    t = np.linspace(0.05, plan.duration - 0.05, 101)
    step = (plan.at(t + 1e-6)[0] - plan.at(t - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(step, plan.at(t)[1], atol=1e-4)


def test_a_program_without_a_start_begins_in_a_posture_of_its_own():
    robot = aw.load("panda")
    T = fk(robot, np.array(ARMS["panda"]))
    plan = plan_program(robot, Program((to(T), to(shifted(T, 0.0, 0.1, 0.0)))))
    np.testing.assert_allclose(plan.T_base_tool[0], T, atol=1e-8)
    np.testing.assert_allclose(plan.T_base_tool[-1][:3, 3] - T[:3, 3], [0.0, 0.1, 0.0], atol=1e-8)


def test_what_cannot_be_followed_is_refused_with_its_place():
    robot, q = aw.load("panda"), np.array(ARMS["panda"])
    T = fk(robot, q)
    near = to(shifted(T, 0.05, 0.0, 0.0), blend=Distance(0.01), line=2, text="near")
    far = to(shifted(T, 0.9, 0.0, 0.0), speed=ToolRate(0.2), line=3, text="far")
    with pytest.raises(
        ProgramError, match=r"line 3, at 'far': \d+\.\d mm into this move of 850\.0 mm .*(reach|range|singular)"
    ):
        plan_program(robot, Program((near, far), start_q=q))
    planar = aw.load("planar3")
    with pytest.raises(ProgramError, match=r"cannot turn and place its tool freely \(3 joints\)"):
        plan_program(planar, Program((to(shifted(fk(planar, np.full(3, 0.4)), 0.1, 0, 0)),), start_q=np.full(3, 0.4)))


def test_spare_joints_keep_their_ranges():
    """A square before the arm, the flange down: the least motion of all joints alike leaves a range in its arc."""
    text = """G21 G90 G94 G64 P2
G0 X450 Y-120 Z300 A180 B0 C0
G1 Y120 F12000
G1 X350
G3 X350 Y-120 I0 J-120 F6000
G1 X450 Z250
"""
    robot = aw.load("fr3")
    plan = plan_program(robot, aw.read_program(text, language="g-code", assume_frames=True))
    assert (plan.q >= robot.lower).all() and (plan.q <= robot.upper).all()
    np.testing.assert_allclose(plan.T_base_tool[-1][:3, 3], [0.45, -0.12, 0.25], atol=1e-8)
    t = np.linspace(0.05, plan.duration - 0.05, 101)
    step = (plan.at(t + 1e-6)[0] - plan.at(t - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(step, plan.at(t)[1], atol=1e-4)


def test_slopes_are_derivatives_of_the_way():
    """q″ of the weighted least motion against differences of its q′ along a curve of the arm."""
    robot, q = aw.load("panda"), np.array(ARMS["panda"])
    T = fk(robot, q)
    path = join([segment_of(line(T, shifted(T, 0.0, 0.1, 0.05)))], [])
    s, h = 0.03, 1e-4
    there, _ = continued(robot, path, np.array([0.0, s - h, s, s + h]), np.eye(4), q)
    rates = spared_slopes(robot, there[1:], path.at(np.array([s - h, s, s + h])), np.zeros(3))
    np.testing.assert_allclose((rates.dq[2] - rates.dq[0]) / (2 * h), rates.ddq[1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((there[3] - there[1]) / (2 * h), rates.dq[1], rtol=1e-6, atol=1e-6)
