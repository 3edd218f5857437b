# SPDX-License-Identifier: Apache-2.0
"""The contact model of document 000: word by word, on the right body, and the same as the general model."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.contact.contact_model import contact_wrench
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError
from armwright.exploration.surroundings import cylinder_forces, cylinder_table
from armwright.kinematics import fk, jacobian
from armwright.studies.doc000_collision.runs import cylinders_of, tool_cylinders
from armwright.world.arm_capsules import tool_point
from armwright.world.shapes import Cylinder, Sphere
from armwright.world.world import World
from armwright.world.world_catalogue import load_world


def force_of(world, point):
    return cylinder_forces(cylinder_table(cylinders_of(world)), point)


def joint_torque(robot, q, qd, wrenches):
    """What the wrenches on the links do to the joints."""
    still = np.zeros(robot.n)
    return rnea(robot, q, qd, still) - rnea(robot, q, qd, still, wrenches=wrenches)


def test_model_of_document_000():
    world = load_world("layout-b")
    cylinders = cylinders_of(world)
    rng = np.random.default_rng(8)
    for p in np.column_stack([rng.uniform(0.3, 0.5, 200), rng.uniform(-0.15, 0.15, 200), rng.uniform(-1.0, 1.0, 200)]):
        F = np.zeros(3)
        for c in cylinders:  # 000 section 7.1, word by word
            v = np.array([c.centre[0] - p[0], c.centre[1] - p[1], 0.0])
            D = np.linalg.norm(v)
            if c.radius > D:
                F += -1e5 * (c.radius - D) * v / D
        np.testing.assert_allclose(force_of(world, p), F, atol=1e-9)
    assert np.isfinite(force_of(world, np.array([*cylinders[0].centre[:2], 0.3]))).all()
    robot = aw.load("ur5-ragazzon")
    q = np.array([2.7, -0.8, 1.9, 0.5, 1.5708, -0.4])
    place = World(
        (Cylinder(name="c", centre=(fk(robot, q)[0, 3] + 0.01, fk(robot, q)[1, 3] + 0.005, 0.0), radius=0.03),)
    )
    wrench = tool_cylinders(place)
    assert wrench is tool_cylinders(World(place.shapes))
    rows = wrench(robot, 0.0, q, np.zeros(6))
    expected = force_of(place, fk(robot, q)[:3, 3])
    np.testing.assert_allclose(rows[5], [*expected, 0.0, 0.0, 0.0], atol=1e-9)
    assert not rows[:5].any() and np.linalg.norm(expected) > 100.0
    np.testing.assert_allclose(
        joint_torque(robot, q, np.zeros(6), rows), jacobian(robot, q)[:3].T @ expected, atol=1e-9
    )
    # the general model on the tool point alone is the same
    general = contact_wrench(robot, place, capsules=[tool_point(robot)])(robot, 0.0, q, np.zeros(6))
    np.testing.assert_allclose(
        joint_torque(robot, q, np.zeros(6), general), joint_torque(robot, q, np.zeros(6), rows), atol=1e-9
    )
    tool = robot.with_tool([[1, 0, 0, 0], [0, 1, 0, 0.02], [0, 0, 1, 0.1], [0, 0, 0, 1]])
    reached = World((Cylinder(name="c", centre=(fk(tool, q)[0, 3] + 0.01, fk(tool, q)[1, 3], 0.0), radius=0.03),))
    force = force_of(reached, fk(tool, q)[:3, 3])
    tau = joint_torque(tool, q, np.zeros(6), tool_cylinders(reached)(tool, 0.0, q, np.zeros(6)))
    np.testing.assert_allclose(tau, jacobian(tool, q)[:3].T @ force, atol=1e-9)
    with pytest.raises(InputError, match="upright"):
        tool_cylinders(World((Sphere(name="ball", centre=(0.4, 0.2, 0.5), radius=0.2),)))
    with pytest.raises(InputError, match="friction"):
        tool_cylinders(world.with_surface(friction=0.1))
