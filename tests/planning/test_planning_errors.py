# SPDX-License-Identifier: Apache-2.0
"""Maps, networks and problems that cannot be: the argument is named with what would be valid."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, NotSupportedError
from armwright.planning import (
    Hopfield,
    KnownArm,
    Obstacles,
    OMPLConnect,
    WholeArm,
    grid_map,
    rrt_connect,
    spheres,
    waypoint_motion,
)
from armwright.planning.grid.grid_map import inflate
from armwright.planning.grid.hopfield import lyapunov
from armwright.planning.grid.line_of_sight import segment_cells
from armwright.planning.grid.neighbourhood import Neighbourhood, moore, von_neumann
from armwright.planning.obstacles import point_clearance
from armwright.planning.waypoints import densified

UR5, PLANAR = aw.load("ur5"), aw.load("planar2")
MAP = grid_map((4, 4))
STEPS = np.array([[1, 0], [-1, 0]])


def free(q):
    return np.zeros(len(q), dtype=bool)


def sliding():
    """A turning base with a rail without ends on it."""
    joints = (PLANAR.joints[0], replace(PLANAR.joints[1], kind="prismatic", limits=aw.robot.Limits()))
    return replace(PLANAR, joints=joints)


def unlimited():
    return replace(PLANAR, joints=tuple(replace(joint, limits=aw.robot.Limits()) for joint in PLANAR.joints))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: grid_map("four"), "shape: expected a tuple of integers, got 'four'"),
        (lambda: grid_map((4, 2.5)), "shape"),
        (lambda: MAP.with_felt("ab"), "expected 2 integers, got 'ab'"),
        (lambda: MAP.with_felt((9, 9)), r"\(9, 9\) is outside the grid; cells go from"),
        (lambda: MAP.grid.coordinates("here"), r"expected numbers of shape \(..., 3\), got 'here'"),
        (lambda: MAP.grid.coordinates([1.0, 2.0]), r"expected shape \(..., 3\), got \(2,\)"),
        (lambda: MAP.grid.coordinates([1.0, 2.0, np.nan]), "every entry must be finite"),
        (lambda: Hopfield(tolerance=1.5), "tolerance: must lie between 0 and 1, got 1.5"),
        (lambda: Hopfield(dynamics="mean"), "dynamics must be 'max' or 'sum'"),
        (lambda: moore(2, costs="taxi"), "costs must be 'euclidean' or 'steps', got 'taxi'"),
        (lambda: moore(4), r"at most 3 dimensions \(26 neighbours\), got 4; use von_neumann\(4\)"),
        (lambda: von_neumann(7), "dim: expected an integer from 1 to 6, got 7"),
        (lambda: Neighbourhood("own", STEPS, [1.0, -1.0]), "costs: expected 2 finite numbers > 0"),
        (lambda: Neighbourhood("own", [[1, 0], [1, 0]], [1.0, 1.0]), "every step once, and none that stays in place"),
        (lambda: Neighbourhood("own", np.ones((10**4, 2), dtype=int), np.ones(10**4)), "offsets: at most"),
        (lambda: lyapunov(np.zeros((2, 2)), np.zeros(3), 0.1), r"sigma \(2, 2\) and inputs \(3,\) must agree"),
        (lambda: inflate(np.ones((2, 2)), -1.0), "radius: must be finite and ≥ 0, got -1.0"),
        (lambda: list(segment_cells((0, 0), (1, 1, 1))), "ends have 2 and 3 coordinates"),
        (lambda: list(segment_cells((0, np.inf), (1, 1))), "coordinates must be finite numbers, got inf"),
        (lambda: WholeArm(sliding(), spheres([[9, 9, 9]], 0.1)).levers, "sliding joint without limits has no bound"),
        (
            lambda: KnownArm(UR5, Obstacles(), configurations=np.zeros((2, 5)), reach=np.zeros(2)),
            r"shapes \(2, 6\) and \(2,\)",
        ),
        (lambda: OMPLConnect(step=-1.0)(free, [0.0], [1.0], [0.0], [1.0]), "seconds and step must be > 0"),
        (lambda: rrt_connect(free, [0.0], [1.0], [0.0], [1.0], resolution=0.0), "resolution: must be finite and > 0"),
        (lambda: point_clearance(Obstacles(), [1.0, 2.0]), r"finite positions of shape \(..., 3\), got \(2,\)"),
        (lambda: densified(np.zeros((2, 3)), 0.0), "spacing: must be finite and > 0, got 0.0"),
        (
            lambda: waypoint_motion(PLANAR, [[0, 0], [1, 1]], scheme="wild"),
            "scheme must be 'central' or 'smooth', got 'wild'",
        ),
        (lambda: waypoint_motion(PLANAR, np.zeros((3, 5))), r"Q: expected shape \(N, 2\), got \(3, 5\)"),
        (lambda: waypoint_motion(unlimited(), [[0, 0], [1, 1]]), "'planar2' has no velocity limits; give velocity"),
    ],
)
def test_problems_that_cannot_be(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_a_planner_that_is_not_installed_names_the_extra_and_the_one_that_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "ompl", None)
    with pytest.raises(NotSupportedError, match=r"OMPL is not installed .*'plan'.*RRTConnect plans without it"):
        OMPLConnect()(free, [0.0], [1.0], [0.0], [1.0])
