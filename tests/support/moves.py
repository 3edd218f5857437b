# SPDX-License-Identifier: Apache-2.0
"""Moves and programs for tests of planning, written short."""

from __future__ import annotations

import numpy as np

from armwright.kinematics import jacobian
from armwright.programs import Fraction, Joints, Move, Pose, Program, ToolRate, plan_program

HOME = np.array([0.0, -1.2, 1.5, -1.8, -1.5, 0.3])


def joints(q, **words):
    return Move("joint", Joints(np.asarray(q)), **{"speed": Fraction(1.0), **words})


def to(T, kind="line", **words):
    return Move(kind, Pose(T), **{"speed": ToolRate(0.2), "acceleration": ToolRate(1.0), **words})


def shifted(T, *d):
    out = np.array(T)
    out[:3, 3] += d
    return out


def run(robot, *moves, start=HOME, **options):
    return plan_program(robot, Program(moves, start_q=start), **options)


def tool_speed(plan, t):
    q, qd, _, move = plan.at(t)
    points = np.array([np.eye(4) if m.T_flange_tool is None else m.T_flange_tool for m in plan.program.moves])
    J = jacobian(plan.robot, q, point=points[move][:, :3, 3])
    return np.linalg.norm((J[:, :3] @ qd[..., None])[..., 0], axis=1), move
