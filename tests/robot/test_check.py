# SPDX-License-Identifier: Apache-2.0
"""Plausibility: every defect that real files have shown is found, and sound arms pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.errors import DescriptionError
from armwright.robot.check import Finding, body_findings, check, mass_and_gravity
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Joint, Limits


def found(robot: Robot, rule: str, place: str = "") -> list[Finding]:
    return [f for f in check(robot) if f.rule == rule and f.place.startswith(place)]


def with_body(robot: Robot, name: str, **changes: object) -> Robot:
    bodies = tuple(replace(body, **changes) if body.name == name else body for body in robot.bodies)
    return replace(robot, bodies=bodies)


@pytest.mark.parametrize("name", ["ur5", "ur5-ragazzon", "ur5-kufieta-c", "irb140", "planar2", "planar3", "sdt"])
def test_sound_arms_pass(name: str) -> None:
    assert [f for f in check(load(name)) if f.severity != "info"] == []


def test_the_widespread_ur5_wrist_inertia_is_an_error() -> None:
    """0.188 kg with 0.0338 kg m²: a 0.42 m radius of gyration on a flange of 0.08 m."""
    wrong = with_body(load("ur5"), "wrist_3", mass=0.1879, inertia=np.diag([0.0338, 0.0338, 0.0338]))
    (finding,) = found(wrong, "radius of gyration", "bodies.wrist_3")
    assert finding.severity == "error"
    assert "0.424 m" in finding.reason


def test_an_arm_without_inertia_is_an_error() -> None:
    """A DH UR5 with masses at the frame origins and no tensors: det M = 0."""
    robot = load("ur5")
    bodies = tuple(replace(body, inertia=np.zeros((3, 3)), com=np.zeros(3)) for body in robot.bodies)
    (finding,) = found(replace(robot, bodies=bodies), "M positive definite")
    assert finding.severity == "error"


def test_body_1_of_cea_as_printed() -> None:
    moments = r"cea-published\.toml:13: bodies\.link_1\.inertia.*-0\.1476, -0\.1375, 0\.1101"
    with pytest.raises(DescriptionError, match=moments):
        load("cea-published")
    with pytest.warns(match="a moment is negative"):
        robot = load("cea-published", implausible="warn")
    rules = {f.rule for f in check(robot) if f.severity == "error"}
    assert rules == {"inertia positive definite", "triangle inequality"}
    q = np.array([0.1, -0.7, -1.1, 0.4, 0.5, -0.6])
    for printed, replaced in zip(mass_and_gravity(robot.tree, q), mass_and_gravity(load("cea").tree, q), strict=True):
        np.testing.assert_allclose(printed, replaced, atol=1e-14)  # only ZZ of body 1 matters


def test_rl15_speeds_and_radii_of_gyration() -> None:
    printed = load("rl15-published")
    (finding,) = found(printed, "speed against motor", "joints.joint_2")
    assert "3.46 but motor 2 allows 2.464" in finding.reason
    assert found(load("rl15"), "speed against motor", "joints.joint_2") == []
    assert [f.place for f in found(printed, "radius of gyration")] == [f"bodies.link_{i}.inertia" for i in (2, 3, 4)]
    assert found(load("rl15-origin"), "radius of gyration") == []  # the other reading of the table


def test_loads_and_limits() -> None:
    robot = load("ur5")
    weak = replace(robot, joints=tuple(Joint(j.name, j.kind, replace(j.limits, effort=20.0)) for j in robot.joints))
    assert [f.place for f in found(weak, "gravity against rated torque")] == ["joints.shoulder_lift"]
    motors = replace(robot.actuators, gear=100.0 * np.eye(6), torque_limit=np.full(6, 0.5))
    geared = replace(robot, actuators=motors)
    assert [f.place for f in found(geared, "gravity against rated torque")] == ["joints.shoulder_lift"]
    stuck = replace(robot, joints=(Joint("shoulder_pan", "revolute", Limits(1.0, 1.0, effort=0.0)), *robot.joints[1:]))
    assert {f.rule for f in check(stuck) if f.place == "joints.shoulder_pan"} == {"limits ordered", "limits"}


def test_provenance_is_missed() -> None:
    assert found(load("ur5"), "provenance") == []
    assert len(found(replace(load("ur5"), sources={}), "provenance")) == 6


@pytest.mark.parametrize(
    ("mass", "com", "inertia", "rule", "severity"),
    [
        (-1.0, (0, 0, 0), (0.1, 0.1, 0.1), "mass ≥ 0", "error"),
        (1.0, (0, 0, 0), (-0.001, 0.001, 0.001), "inertia positive definite", "error"),
        (1.0, (0, 0, 0), (0.0, 0.001, 0.001), "inertia positive definite", "warning"),
        (1.0, (0, 0, 0), (0.001, 0.001, 0.003), "triangle inequality", "error"),
        (1.0, (0, 0, 0.3), (0.001, 0.001, 0.001), "com near the link", "warning"),
        (1.0, (0, 0, 30.0), (0.001, 0.001, 0.001), "com near the link", "error"),
        (0.0, (0, 0, 0), (0.1, 0.1, 0.1), "mass > 0", "warning"),
        (0.0, (0, 0, 0), (0.0, 0.0, 0.0), "mass > 0", "info"),
        (1.0, (0, np.nan, 0), (0.1, 0.1, 0.1), "finite", "error"),
    ],
)
def test_one_body(mass: float, com: tuple[float, ...], inertia: tuple[float, ...], rule: str, severity: str) -> None:
    findings = body_findings("b", mass, com, np.diag(inertia), ends=[(0.2, 0.0, 0.0)])
    assert (rule, severity) in {(f.rule, f.severity) for f in findings}


def test_a_rod_of_its_own_length_is_plausible() -> None:
    rod = np.diag([1e-5, 1.0 / 12.0, 1.0 / 12.0])
    assert body_findings("rod", 1.0, (0.5, 0, 0), rod, ends=[(1.0, 0, 0)]) == []
    dumbbell = np.diag([1e-3, 0.26, 0.26])  # more than all mass at the two ends
    (finding,) = body_findings("rod", 1.0, (0.5, 0, 0), dumbbell, ends=[(1.0, 0, 0)])
    assert (finding.rule, finding.severity) == ("radius of gyration", "warning")


def test_arms_without_joints_and_findings_as_text() -> None:
    assert check(Robot("post", (), (), Actuators.none(0))) == []
    assert str(Finding("error", "bodies.b", "heavy", "mass")) == "error bodies.b: heavy [mass]"
