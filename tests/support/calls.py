# SPDX-License-Identifier: Apache-2.0
"""A good call of every public function: what tests spoil one argument of."""

from __future__ import annotations

import numpy as np

import armwright as aw
from armwright import contact, control, motion, planning, programs, simulation, world
from armwright.contact import detectors, observers
from armwright.motion.scaling import torque_factor
from armwright.planning.grid.map_marking import nearest_free

UR5, PLANAR = aw.load("ur5"), aw.load("planar2")
PROGRAM = "G21\nG1 X100 Y200 Z300 F600\n"
Q = np.array([0.3, -1.1, 1.2, 0.4, 0.9, -0.5])
TWO = np.array([0.1, 0.2])
LAW = control.pd(1.0, 1.0)
MOTION = motion.quintic(TWO, TWO + 0.5, 1.0)
WORLD = aw.load_world("bench")
MAP = planning.grid_map((6, 6))
RUN = aw.simulate(PLANAR, LAW, TWO, 0.01)
T = np.arange(4) * 1e-3
LINEAR = control.linearise(PLANAR, LAW, TWO)
CARTESIAN = motion.line(aw.fk(UR5, Q), aw.fk(UR5, Q + 0.05))
PROGRESS = motion.path_law(CARTESIAN, duration=1.0)

CALLS = {
    **{
        f"aw.{name}": (getattr(aw, name), {"robot": UR5, "q": Q, "frame": "tool"})
        for name in (
            "fk",
            "jacobian",
            "condition_number",
            "smallest_singular_value",
            "singularity",
            "manipulability",
            "analytic_jacobian",
        )
    },
    **{
        f"aw.{name}": (getattr(aw, name), {"robot": UR5, "q": Q, "qd": Q})
        for name in ("twist", "jacobian_dot", "analytic_jacobian_dot", "coriolis_matrix", "energy", "bias")
    },
    **{
        f"aw.{name}": (getattr(aw, name), {"robot": UR5, "q": Q, "qd": Q, "qdd": Q})
        for name in (
            "acceleration",
            "inverse_dynamics",
            "regressor",
            "joint_reactions",
            "inverse_dynamics_derivatives",
        )
    },
    **{
        f"aw.{name}": (getattr(aw, name), {"robot": UR5, "q": Q, "qd": Q, "tau": Q, "wrench": Q})
        for name in ("forward_dynamics", "dynamics_derivatives")
    },
    "aw.mass_matrix": (aw.mass_matrix, {"robot": UR5, "q": Q, "method": "crba"}),
    "aw.gravity_torque": (aw.gravity_torque, {"robot": UR5, "q": Q}),
    "aw.fk_all": (aw.fk_all, {"robot": UR5, "q": Q}),
    "aw.dynamics.centroidal_matrix": (aw.dynamics.centroidal_matrix, {"robot": UR5, "q": Q}),
    "aw.dynamics.centroidal_momentum": (aw.dynamics.centroidal_momentum, {"robot": UR5, "q": Q, "qd": Q}),
    "aw.kinematics.com_jacobian": (aw.kinematics.com_jacobian, {"robot": UR5, "q": Q, "link": None}),
    "aw.ik": (aw.ik, {"robot": UR5, "T": aw.fk(UR5, Q), "seed": Q, "restarts": 2, "method": "auto"}),
    "aw.kinematics.ik_class": (aw.kinematics.ik_class, {"robot": UR5, "frame": None}),
    "aw.dynamics.parameters": (aw.dynamics.parameters, {"robot": UR5}),
    "aw.check": (aw.check, {"robot": PLANAR, "samples": 2, "seed": 0}),
    "aw.dynamics.base_parameters": (
        aw.dynamics.base_parameters,
        {"robot": PLANAR, "samples": 20, "seed": 0, "tolerance": 1e-9},
    ),
    "aw.compile": (aw.compile, {"function": lambda q: q, "robot": PLANAR, "shapes": {"x": 3}}),
    "aw.load": (aw.load, {"name_or_path": "ur5", "base": None, "tip": None}),
    "aw.load_world": (aw.load_world, {"path": "bench"}),
    "aw.robot.Limits": (aw.robot.Limits, {"lower": -1.0, "upper": 1.0, "velocity": 1.0}),
    "aw.robot.Friction": (aw.robot.Friction, {"viscous": 0.1, "coulomb": 0.1}),
    "aw.robot.Actuators": (
        aw.robot.Actuators,
        dict.fromkeys(aw.robot.Actuators.__dataclass_fields__, TWO)
        | {"curve_speed": [[0.0, 9.0]] * 2, "curve_torque": [[1.0, 0.5]] * 2},
    ),
    "aw.robot.Body": (
        aw.robot.Body,
        {"name": "link", "parent": -1, "joint": 0, "T_parent_joint": np.eye(4), "mass": 1.0},
    ),
    "aw.robot.Joint": (
        aw.robot.Joint,
        {"name": "joint", "kind": "revolute", "limits": aw.robot.Limits(), "friction": aw.robot.Friction()},
    ),
    "robot.with_payload": (UR5.with_payload, {"mass": 1.0, "com": (0.0, 0.0, 0.0)}),
    "robot.with_tool": (UR5.with_tool, {"T_tip_tool": np.eye(4)}),
    "robot.with_base": (UR5.with_base, {"T_base_root": np.eye(4)}),
    "robot.with_gravity": (UR5.with_gravity, {"gravity": (0.0, 0.0, -9.81)}),
    "robot.from_dh": (aw.Robot.from_dh, {"table": np.zeros((2, 4))}),
    "aw.simulate": (
        aw.simulate,
        {
            "robot": PLANAR,
            "law": LAW,
            "reference": TWO,
            "duration": 0.01,
            "q0": TWO,
            "qd0": TWO,
            "rate": 1000.0,
            "substeps": 1,
            "integrator": "rk4",
            "model": PLANAR,
            "drive": None,
            "friction": None,
            "sensors": None,
            "wrench": None,
            "external": None,
            "events": None,
            "monitors": (),
            "limits": "record",
            "count": 1,
            "every": 1,
            "seed": 0,
            "save": None,
            "progress": None,
        },
    ),
    "aw.read_program": (aw.read_program, {"source": PROGRAM, "language": "g-code"}),
    "aw.write_program": (aw.write_program, {"program": aw.read_program(PROGRAM), "language": "g-code"}),
    "programs.check_program": (programs.check_program, {"program": aw.read_program(PROGRAM), "robot": UR5}),
    "programs.program_differences": (
        programs.program_differences,
        {"a": aw.read_program(PROGRAM), "b": aw.read_program(PROGRAM), "tolerance": 1e-9},
    ),
    "aw.Loop": (
        aw.Loop,
        {
            "robots": (PLANAR,),
            "law": LAW,
            "model": PLANAR,
            "rate": 1000.0,
            "substeps": 1,
            "integrator": "rk4",
            "drive": None,
            "friction": None,
            "sensors": None,
            "wrench": None,
            "external": None,
            "events": {},
            "monitors": (),
            "limits": "record",
            "inputs": {},
        },
    ),
    "aw.Loop.session": (
        aw.Loop.of(PLANAR, LAW).session,
        {"q0": TWO, "qd0": TWO, "reference": TWO, "count": 1, "every": 1, "seed": 0},
    ),
    "aw.Loop.live": (aw.Loop.of(PLANAR, LAW).live, {"q0": TWO, "may_become": ()}),
    "simulation.Stribeck": (
        simulation.Stribeck,
        dict.fromkeys(("viscous", "coulomb", "static", "stribeck_speed"), 1.0),
    ),
    "simulation.LuGre": (
        simulation.LuGre,
        dict.fromkeys(("sigma0", "sigma1", "sigma2", "coulomb", "static"), 1.0) | {"stribeck_speed": 0.1},
    ),
    "simulation.Karnopp": (simulation.Karnopp, {"viscous": 0.1, "coulomb": 1.0, "static": 1.0, "zone": 0.1}),
    "simulation.friction_of": (
        simulation.friction_of,
        {"robot": PLANAR, "name": "karnopp", "q": TWO, "coulomb": 1.0},
    ),
    "simulation.JointSensors": (simulation.JointSensors, {"position_noise": 0.1, "delay": 1, "every": 1}),
    "simulation.Drive": (simulation.Drive, {"gear": np.eye(2), "torque_limit": 1.0, "speed_limit": 1.0}),
    "simulation.drive_of": (simulation.drive_of, {"robot": PLANAR, "time_constant": 0.1}),
    "simulation.with_energy": (simulation.with_energy, {"recording": RUN}),
    "simulation.with_storage": (simulation.with_storage, {"recording": RUN, "law": LAW}),
    "simulation.force_sensor": (simulation.force_sensor, {"robot": UR5, "q": Q, "wrench": Q}),
    "simulation.accelerometer": (simulation.accelerometer, {"robot": UR5, "q": Q, "qd": Q, "qdd": Q}),
    "control.as_law": (control.as_law, {"law": lambda q, kp: kp * q, "memory": {}, "kp": 1.0}),
    "control.evaluate": (
        control.evaluate_law,
        {"law": LAW, "arm": PLANAR, "t": 0.0, "q": TWO, "qd": TWO, "ref": aw.Reference(TWO, TWO, TWO)},
    ),
    "control.law_kernel": (control.law_kernel, {"law": LAW, "robot": PLANAR, "dt": 1e-3}),
    "control.linearise": (control.linearise, {"robot": PLANAR, "law": LAW, "q": TWO}),
    "control.loop_poles": (control.loop_poles, {"loop": LINEAR}),
    "control.hold_limit": (control.hold_limit, {"robot": PLANAR, "q": TWO, "kp": 1.0, "kd": 1.0}),
    "control.hold_radius": (control.hold_radius, {"loop": LINEAR, "dt": 1e-3}),
    "control.inertia_gains": (control.inertia_gains, {"robot": PLANAR, "q": TWO, "w": 1.0, "zeta": 1.0}),
    "control.frequency_gains": (control.frequency_gains, {"w": 1.0, "zeta": 1.0}),
    "control.pd": (control.pd, {"kp": 1.0, "kd": 1.0}),
    "control.pid": (control.pid, {"kp": 1.0, "ki": 1.0, "kd": 1.0, "limit": 1.0}),
    "control.damping": (control.damping, {"k": 1.0}),
    "control.impedance": (control.impedance, {"stiffness": 1.0, "damping": 1.0, "goal": np.eye(4)}),
    "control.task_space": (control.task_space, {"kp": 1.0, "kd": 1.0}),
    "control.sliding_mode": (control.sliding_mode, {"k": 1.0, "lam": 1.0, "rho": 1.0, "epsilon": 0.1}),
    "control.lyapunov_redesign": (control.lyapunov_redesign, {"kp": 1.0, "kd": 1.0, "rho": 1.0, "epsilon": 0.1}),
    "control.adaptive": (control.adaptive, {"robot": PLANAR, "k": 1.0, "lam": 1.0, "gamma": 1.0}),
    "control.adaptation_rates": (control.adaptation_rates, {"robot": PLANAR, "rate": 1.0}),
    "motion.quintic": (motion.quintic, {"q0": TWO, "q1": TWO + 1.0, "duration": 1.0}),
    "motion.cubic": (motion.cubic, {"q0": TWO, "q1": TWO + 1.0, "duration": 1.0}),
    "motion.hold": (motion.hold, {"q": TWO, "duration": 1.0}),
    "motion.trapezoid": (motion.trapezoid, {"q0": TWO, "q1": TWO + 1.0, "velocity": 1.0, "acceleration": 1.0}),
    "motion.jerk_limited": (
        motion.jerk_limited,
        {"q0": TWO, "q1": TWO + 1.0, "velocity": 1.0, "acceleration": 1.0, "jerk": 5.0},
    ),
    "torque_factor": (
        torque_factor,
        {"robot": PLANAR, "trajectory": MOTION, "torque": 50.0, "samples": 20},
    ),
    "motion.torque_use": (motion.torque_use, {"robot": PLANAR, "trajectory": MOTION, "torque": 50.0, "samples": 20}),
    "motion.stretch": (motion.stretch, {"trajectory": MOTION, "duration": 2.0}),
    "motion.line": (motion.line, {"T_start": aw.fk(UR5, Q), "T_end": aw.fk(UR5, Q + 0.05)}),
    "motion.follow_path": (motion.follow_path, {"robot": UR5, "path": CARTESIAN, "law": PROGRESS, "q0": Q}),
    "motion.joint_path": (motion.joint_path, {"waypoints": np.array([TWO, TWO + 0.3, TWO + 0.5])}),
    "motion.time_optimal": (
        motion.time_optimal,
        {"robot": PLANAR, "path": motion.joint_path(np.array([TWO, TWO + 0.3, TWO + 0.5])), "torque": 50.0, "grid": 30},
    ),
    "world.World": (aw.World, {"shapes": WORLD.shapes, "name": "w"}),
    "world.Sphere": (world.Sphere, {"name": "ball", "centre": (0.5, 0.0, 0.5), "radius": 0.1, "stiffness": 1e4}),
    "world.Box": (world.Box, {"name": "box", "centre": (0.5, 0.0, 0.5), "size": (0.1, 0.1, 0.1)}),
    "contact.contact_wrench": (contact.contact_wrench, {"robot": UR5, "world": WORLD, "slip_speed": 0.01}),
    "contact.clearance": (contact.clearance, {"robot": UR5, "world": WORLD, "q": Q}),
    "contact.contact_report": (contact.contact_report, {"robot": UR5, "world": WORLD, "q": Q, "qd": Q}),
    "world.link_capsules": (world.link_capsules, {"robot": UR5, "radius": 0.05}),
    "contact.tool_wrench": (contact.tool_wrench, {"robot": UR5, "q": Q, "tau_ext": Q}),
    "contact.isolate": (contact.isolate, {"robot": UR5, "q": Q, "tau_ext": 20.0 * Q, "noise": 0.1}),
    "contact.run_monitors": (
        contact.run_monitors,
        {
            "monitors": observers.momentum_observer(5.0),
            "robot": PLANAR,
            "t": T,
            "q": np.zeros((4, 2)),
            "qd": np.zeros((4, 2)),
            "tau": np.zeros((4, 2)),
            "keep": None,
        },
    ),
    "contact.with_gains": (contact.with_gains, {"monitor": observers.momentum_observer(5.0), "gain": 2.0}),
    "observers.momentum_observer": (observers.momentum_observer, {"gain": 5.0}),
    "observers.momentum_kalman_observer": (
        observers.momentum_kalman_observer,
        {"torque_walk": 1.0, "momentum_noise": 1.0, "rate": 1000.0},
    ),
    "detectors.joint_detector": (detectors.joint_detector, {"thresholds": 1.0, "release": 0.7}),
    "detectors.cusum_detector": (detectors.cusum_detector, {"scale": 1.0, "drift": 0.5, "threshold": 5.0}),
    "planning.grid_map": (planning.grid_map, {"shape": (4, 4), "origin": (0.0, 0.0, 0.0), "cell_size": 1.0}),
    "planning.mark": (planning.mark, {"where": MAP, "point": (1.0, 1.0, 0.0)}),
    "nearest_free": (nearest_free, {"where": MAP, "cell": (1, 1)}),
    "planning.planner": (planning.planner, {"name": "astar"}),
    "planning.waypoint_motion": (planning.waypoint_motion, {"robot": PLANAR, "Q": [TWO, TWO + 0.2], "duration": 1.0}),
    "planning.rrt_connect": (
        planning.rrt_connect,
        {
            "colliding": lambda q: np.zeros(len(q), dtype=bool),
            "start": TWO,
            "goal": TWO + 0.1,
            "lower": -np.ones(2),
            "upper": np.ones(2),
            "step": 0.3,
            "iterations": 20,
        },
    ),
}
