# SPDX-License-Identifier: Apache-2.0
"""Geometry of motion: poses, Jacobians, manipulability, singularities, inverse kinematics."""

from armwright.kinematics.forward import fk, fk_all
from armwright.kinematics.frame_motion import (
    acceleration,
    analytic_jacobian,
    analytic_jacobian_dot,
    jacobian_dot,
    twist,
)
from armwright.kinematics.ik_classification import IKClass, ik_class
from armwright.kinematics.ik_goal import elbow_angle
from armwright.kinematics.ik_result import IKBatch, IKResult
from armwright.kinematics.inverse import ik
from armwright.kinematics.jacobians import com_jacobian, jacobian
from armwright.kinematics.manipulability_measures import (
    Ellipsoid,
    Singularity,
    condition_number,
    manipulability,
    singularity,
    smallest_singular_value,
)
from armwright.kinematics.rate_rule import joint_rates

__all__ = [
    "Ellipsoid",
    "IKBatch",
    "IKClass",
    "IKResult",
    "Singularity",
    "acceleration",
    "analytic_jacobian",
    "analytic_jacobian_dot",
    "com_jacobian",
    "condition_number",
    "elbow_angle",
    "fk",
    "fk_all",
    "ik",
    "ik_class",
    "jacobian",
    "jacobian_dot",
    "joint_rates",
    "manipulability",
    "singularity",
    "smallest_singular_value",
    "twist",
]


def __dir__() -> list[str]:
    return __all__
