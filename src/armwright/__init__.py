# SPDX-License-Identifier: Apache-2.0
"""Armwright: a workbench for robot arms that know their own bodies.

``import armwright as aw`` — describe an arm, and get its equations, compiled.

    robot = aw.load("ur5")
    tau = aw.inverse_dynamics(robot, q, qd, qdd)
    k = aw.compile(lambda robot, q, qd: aw.energy(robot, q, qd).kinetic, robot)

Names are loaded from their rooms when first used, so that importing the package costs little more than importing
NumPy. Their types stand in ``__init__.pyi``.
"""

from __future__ import annotations

__version__ = "0.1.0"

_ROOMS = (
    "campaigns",
    "contact",
    "control",
    "detection",
    "dynamics",
    "envs",
    "exploration",
    "graph",
    "identify",
    "kinematics",
    "lab",
    "motion",
    "planning",
    "programs",
    "recording",
    "robot",
    "simulation",
    "spatial",
    "studies",
    "world",
)
_HOMES = {
    "armwright.dynamics": """
        METHODS bias coriolis_matrix energy equations forward_dynamics gravity_torque inverse_dynamics
        mass_matrix regressor""",
    "armwright.errors": """
        ArmwrightError ArmwrightWarning CompileError DescriptionError InputError NotSupportedError ProgramError
        SimulationError TraceError""",
    "armwright.graph.kernel": "Kernel",
    "armwright.graph.purity": "pure",
    "armwright.kinematics": "fk fk_all ik jacobian jacobian_dot manipulability singularity twist",
    "armwright.motion": "Reference Trajectory",
    "armwright.robot.check": "check",
    "armwright.robot.kernels": "compile",
    "armwright.robot.load": "load robots",
    "armwright.robot.model": "Robot",
    "armwright.robot.symbolic": "planar SymbolicRobot symbols",
    "armwright.world": "World load_world",
    "armwright.programs": "read_program run_program write_program",
    "armwright.recording": "Recording",
    "armwright.simulation": "Artefact Loop export simulate",
    "armwright.detection": "detection_study",
    "armwright.exploration.exploration": "explore",
}
_FORMER = {  # room → names that stood here before 0.2; found for one more release, with a warning
    "robot": "Actuators Body Frame Friction Joint Limits Source",
    "kinematics": """
        IKBatch IKResult ik_class condition_number smallest_singular_value com_jacobian acceleration
        analytic_jacobian analytic_jacobian_dot""",
    "dynamics": """
        centroidal_matrix centroidal_momentum joint_reactions dynamics_derivatives inverse_dynamics_derivatives
        base_parameters parameters gravity_bound mass_matrix_bounds compare Equations""",
    "programs": "plan_program Program",
    "graph": "set_threads",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load a public name from the room it lives in."""
    import importlib  # not above: the less is loaded with the package, the sooner the command line takes Ctrl-C

    if name in _ROOMS:
        return importlib.import_module(f"armwright.{name}")
    if name not in _HOME_OF:
        from armwright.packages import former_names

        moved = {each: f"{room}.{each}" for room, names in _FORMER.items() for each in names.split()}
        return former_names("armwright", moved | {"Plan": "programs.ProgramPlan"}, level=3)(name)
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_ROOMS, *_HOME_OF])
