# SPDX-License-Identifier: Apache-2.0
"""What the page shows of an arm: plausibility, and per configuration Jacobian, ellipsoids, M, g and reactions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics import gravity_torque, joint_reactions, mass_matrix
from armwright.errors import ArmwrightWarning, InputError
from armwright.kinematics import IKResult, fk, ik, jacobian, manipulability, singularity
from armwright.recording.replay.scene_spec import robot_spec
from armwright.robot.check import check
from armwright.robot.inertia_needed import has_inertia
from armwright.robot.load import load, robots
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

SMALLEST_HALF_LENGTH = 1e-9


def describe(robot: Robot) -> dict[str, Any]:
    """Return the arm as the page needs it, with the findings of the plausibility check.

    "catalogued" is whether it is the catalogue's arm of that name, and not another one that is called so.
    """
    findings = [{"severity": f.severity, "where": f.place, "text": f.reason, "rule": f.rule} for f in check(robot)]
    return {
        "spec": robot_spec(robot),
        "findings": findings,
        "mass": sum(body.mass for body in robot.bodies),
        "catalogued": _is_catalogued(robot),
    }


def _is_catalogued(robot: Robot) -> bool:
    if not any(entry.name == robot.name for entry in robots()):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmwrightWarning)  # said when it was chosen
        return load(robot.name, implausible="warn") == robot


def configuration(robot: Robot, q: Sequence[float]) -> Array:
    """Check the number of joints and return q."""
    if len(q) != robot.n:
        raise InputError(f"q: {robot.name!r} has {robot.n} joints, got {len(q)} numbers")
    return np.array(q)


def look(robot: Robot, q: Array) -> dict[str, Any]:
    """Return everything about one configuration, units as in the library; directions and forces in base axes."""
    T = fk(robot, q)
    J = jacobian(robot, q)
    near = singularity(robot, q)
    ellipsoid = manipulability(robot, q, "linear")
    zero, known = np.zeros(robot.n), has_inertia(robot)  # an arm for kinematics alone has no M and no g
    half = ellipsoid.half_lengths
    return {
        "q": q.tolist(),
        "tool": T[:3, 3].tolist(),
        "rotation": log_so3(T[:3, :3]).tolist(),
        "T": T.ravel().tolist(),
        "J": J.tolist(),
        "M": mass_matrix(robot, q).tolist() if known else None,
        "g": gravity_torque(robot, q).tolist() if known else None,
        "reactions": joint_reactions(robot, q, zero, zero).tolist() if known else None,
        "manipulability": float(ellipsoid.W),
        "axes": ellipsoid.axes.tolist(),
        "half_lengths": half.tolist(),
        # τᵀτ ≤ 1 and τ = JᵀF: same axes, reciprocal lengths
        "force_half_lengths": [1.0 / h if h > SMALLEST_HALF_LENGTH else None for h in half.tolist()],
        "singularity": {
            "status": near.status,
            "ratio": near.smallest / near.largest,
            "smallest": near.smallest,
            "message": near.message,
        },
    }


def branches(robot: Robot, position: Sequence[float], rotation: Sequence[float], seed: Array) -> dict[str, Any]:
    """Return all configurations with the tool at position [m], turned by a rotation vector [rad]."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = exp_so3(np.array(rotation)), position
    found = ik(robot, T, seed=seed)
    assert isinstance(found, IKResult)  # one target
    return {
        "status": found.status,
        "message": found.message,
        "method": found.method,
        "solutions": found.solutions.tolist(),
        "within": [bool(x) for x in found.within_limits],
        "singular": [bool(x) for x in found.singular],
        "closest": found.closest.tolist(),
    }
