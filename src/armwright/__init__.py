"""Armwright: a workbench for robot arms that know their own bodies.

``import armwright as aw`` — describe an arm, and get its equations, compiled.

    robot = aw.load("ur5")
    tau = aw.inverse_dynamics(robot, q, qd, qdd)
    k = aw.compile(aw.dynamics.rnea, robot)

Names are loaded when first used, so that importing the package costs little more than importing NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from armwright import dynamics, graph, kinematics, robot, spatial
    from armwright.dynamics import (
        METHODS,
        base_parameters,
        bias,
        compare,
        coriolis_matrix,
        dynamics_derivatives,
        energy,
        forward_dynamics,
        gravity_torque,
        inverse_dynamics,
        inverse_dynamics_derivatives,
        joint_reactions,
        mass_matrix,
        parameters,
        regressor,
    )
    from armwright.errors import (
        ArmwrightError,
        ArmwrightWarning,
        CompileError,
        DescriptionError,
        InputError,
        NotSupportedError,
        TraceError,
    )
    from armwright.graph.kernel import Kernel
    from armwright.graph.threads import set_threads
    from armwright.kinematics import (
        acceleration,
        analytic_jacobian,
        com_jacobian,
        fk,
        fk_all,
        ik,
        ik_class,
        jacobian,
        jacobian_dot,
        manipulability,
        singularity,
        twist,
    )
    from armwright.robot.check import check
    from armwright.robot.kernels import compile
    from armwright.robot.load import load, robots
    from armwright.robot.model import Robot
    from armwright.robot.parts import Actuators, Body, Friction, Joint, Limits, Source

_ROOMS = ("dynamics", "graph", "kinematics", "robot", "spatial")
_HOMES = {
    "armwright.dynamics": (
        "METHODS base_parameters bias compare coriolis_matrix dynamics_derivatives energy forward_dynamics gravity_torque "
        "inverse_dynamics inverse_dynamics_derivatives joint_reactions mass_matrix parameters regressor"
    ),
    "armwright.errors": (
        "ArmwrightError ArmwrightWarning CompileError DescriptionError InputError NotSupportedError TraceError"
    ),
    "armwright.graph.kernel": "Kernel",
    "armwright.graph.threads": "set_threads",
    "armwright.kinematics": (
        "acceleration analytic_jacobian com_jacobian fk fk_all ik ik_class jacobian jacobian_dot manipulability "
        "singularity twist"
    ),
    "armwright.robot.check": "check",
    "armwright.robot.kernels": "compile",
    "armwright.robot.load": "load robots",
    "armwright.robot.model": "Robot",
    "armwright.robot.parts": "Actuators Body Friction Joint Limits Source",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [  # noqa: PLE0604 - the names are those of the table above
    "__version__", *_ROOMS, *_HOME_OF]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name from the room it lives in."""
    if name in _ROOMS:
        return importlib.import_module(f"armwright.{name}")
    if name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'armwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
