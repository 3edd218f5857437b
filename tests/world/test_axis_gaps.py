# SPDX-License-Identifier: Apache-2.0
"""Distances of many segments from a shape are those of their points, looked at one by one."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.spatial import rotation_from_euler
from armwright.world import Box, Capsule, Cylinder, HalfSpace, Sphere, signed_distance
from armwright.world.axis_gaps import axis_gaps, pair_gaps

AXIS = (0.0, 0.6, 0.8)
SHAPES = [
    Sphere(name="ball", centre=(0.1, 0.2, 0.0), radius=0.2),
    Capsule(name="bar", start=(0.0, 0.0, 0.1), end=(0.3, -0.1, 0.4), radius=0.1),
    HalfSpace(name="ground", point=(0.0, 0.0, -0.2), normal=AXIS),
    Cylinder(name="pipe", centre=(0.1, 0.0, 0.0), axis=AXIS, radius=0.1, height=0.5),
    Cylinder(name="post", centre=(0.1, 0.0, 0.0), axis=AXIS, radius=0.1),
    Box(name="box", centre=(0.1, 0.1, 0.0), size=(0.2, 0.3, 0.4), rotation=rotation_from_euler([0.3, 0.2, 0.1], "zyx")),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_gap_is_the_least_distance_of_the_points(shape):
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-0.5, 0.5, (2, 30, 3))
    gaps = axis_gaps(shape, a, b)
    points = a[:, None] + np.linspace(0.0, 1.0, 401)[:, None] * (b - a)[:, None]
    least = np.array([[float(signed_distance(shape, p)) for p in row[::20]] for row in points]).min(axis=1)
    longest = np.linalg.norm(b - a, axis=1).max()
    if shape.name == "box":
        least = np.maximum(least, 0.0)  # within a box the axis counts as on its surface
    assert (gaps <= least + 1e-9).all()  # no point is nearer
    assert (gaps >= least - longest / 40).all()  # and between two of them it cannot be much less
    assert (gaps > 0.0).any() and (gaps <= 0.0).any()


def test_gaps_between_segments_do_not_depend_on_their_order():
    a, b, c, d = np.random.default_rng(4).uniform(-1.0, 1.0, (4, 30, 3))
    there, back = pair_gaps(a, b, c, d), pair_gaps(d, c, b, a)
    np.testing.assert_allclose(there, back, atol=1e-12)
    share = np.linspace(0.0, 1.0, 30)[:, None, None]
    points = a + share * (b - a), c + share * (d - c)
    least = np.linalg.norm(points[0][:, None] - points[1][None], axis=-1).min(axis=(0, 1))
    assert (there <= least + 1e-12).all() and (there >= least - 0.15).all()
