# SPDX-License-Identifier: Apache-2.0
"""Ordinary arms as URDF text, with the angles people write: exact, rounded to a few digits, calibrated, nearly so."""

from __future__ import annotations

import numpy as np

WRITTEN = ("exact", "rounded", "calibrated", "nearly")


def urdf_arm(seed, written):
    """Return the text of an arm of four to seven joints, boxes for links, most of its turns by quarters.

    Angles are exact; rounded to 2–6 digits (1.5708, 3.1416); off by milliradians, as lengths by millimetres, from a
    calibration; or off by 1e-8 rad.
    """
    rng = np.random.default_rng([seed, WRITTEN.index(written)])
    digits = int(rng.choice([2, 3, 4, 4, 4, 5, 6]))
    lines = ['<robot name="arm"><link name="link0"/>']
    n = int(rng.integers(4, 8))
    for i in range(n):
        rpy = rng.choice([0, 0, 0, 1, -1, 2], 3) * np.pi / 2
        if rng.random() < 0.5:
            rpy[rng.permutation(3)[:2]] = 0.0
        xyz = rng.uniform(0.05, 0.5, 3) * (rng.random(3) < 0.45)
        if written == "rounded":
            rpy = np.round(rpy, digits)
        if written == "calibrated":
            rpy, xyz = rpy + 1e-3 * rng.normal(size=3), xyz + 1e-3 * rng.normal(size=3)
        if written == "nearly":
            rpy = rpy + 1e-8 * rng.normal(size=3)
        axis = np.eye(3)[int(rng.choice([2, 2, 2, 1, 0]))] * rng.choice([1.0, -1.0])
        mass, com, (a, b, c) = rng.uniform(0.3, 8.0), rng.uniform(-0.15, 0.15, 3), rng.uniform(0.03, 0.3, 3)
        ixx, iyy, izz = (float(mass / 12.0 * s) for s in (b * b + c * c, a * a + c * c, a * a + b * b))
        kind = "prismatic" if rng.random() < 0.1 else "revolute"
        lines.append(
            f'<link name="link{i + 1}"><inertial><origin xyz="{_text(com)}"/><mass value="{float(mass)!r}"/>'
            f'<inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{i + 1}" type="{kind}"><parent link="link{i}"/><child link="link{i + 1}"/>'
            f'<origin xyz="{_text(xyz)}" rpy="{_text(rpy)}"/><axis xyz="{_text(axis)}"/>'
            '<limit lower="-3" upper="3" velocity="1" effort="100"/></joint>'
        )
    return "\n".join([*lines, "</robot>"])


def _text(values):
    return " ".join(repr(float(x)) for x in values)
