# SPDX-License-Identifier: Apache-2.0
"""Control laws, from errors to torques: each a constructor that returns a `Law`; `LAWS` has them by name."""

from armwright.choices import LAWS
from armwright.control.adaptive import adaptation_rates, adaptive, adaptive_parameters
from armwright.control.admittance import admittance
from armwright.control.computed_torque import computed_torque
from armwright.control.gains import (
    Gains,
    frequency_gains,
    hold_limit,
    hold_radius,
    inertia_gains,
    linearise,
    loop_hold_limit,
    loop_poles,
    spectral_radius,
)
from armwright.control.impedance import impedance
from armwright.control.law import Action, Law, as_law, check_gains, evaluate_law, law_kernel, run, run_storage, storage
from armwright.control.lyapunov_redesign import acceleration_mismatch, lyapunov_redesign
from armwright.control.optimal_feedback import optimal_feedback
from armwright.control.pd import pd
from armwright.control.pd_gravity import pd_gravity
from armwright.control.pid import pid
from armwright.control.simple_laws import constant, damping, feedforward, zero
from armwright.control.sliding_mode import sliding_mode, torque_mismatch
from armwright.control.task_space import task_space
from armwright.control.tick_function import initial_memory
from armwright.packages import former_names

__all__ = [
    "LAWS",
    "Action",
    "Gains",
    "Law",
    "acceleration_mismatch",
    "adaptation_rates",
    "adaptive",
    "adaptive_parameters",
    "admittance",
    "as_law",
    "check_gains",
    "computed_torque",
    "constant",
    "damping",
    "evaluate_law",
    "feedforward",
    "frequency_gains",
    "hold_limit",
    "hold_radius",
    "impedance",
    "inertia_gains",
    "initial_memory",
    "law_kernel",
    "linearise",
    "loop_hold_limit",
    "loop_poles",
    "lyapunov_redesign",
    "optimal_feedback",
    "pd",
    "pd_gravity",
    "pid",
    "run",
    "run_storage",
    "sliding_mode",
    "spectral_radius",
    "storage",
    "task_space",
    "torque_mismatch",
    "zero",
]

__getattr__ = former_names(__name__, {"evaluate": "evaluate_law"})
