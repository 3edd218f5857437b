# SPDX-License-Identifier: Apache-2.0
"""Observers of the external joint torque: one file per observer, all with the output ``tau_ext`` (n,) [N m], +JᵀF."""

from armwright.contact.observers.closed_loop_error import closed_loop_error_observer, scaled_error_observer
from armwright.contact.observers.disturbance import disturbance_observer
from armwright.contact.observers.friction_beliefs import (
    DeadZoneFriction,
    friction_drift,
    ur5_current_map,
    ur5_friction,
)
from armwright.contact.observers.geared_momentum import geared_momentum_observer
from armwright.contact.observers.load_estimate import LoadEstimate, estimate_load
from armwright.contact.observers.momentum import generalised_momentum, momentum_observer
from armwright.contact.observers.momentum_kalman import momentum_kalman_observer
from armwright.robot.parts import CurrentMap

__all__ = [
    "CurrentMap",
    "DeadZoneFriction",
    "LoadEstimate",
    "closed_loop_error_observer",
    "disturbance_observer",
    "estimate_load",
    "friction_drift",
    "geared_momentum_observer",
    "generalised_momentum",
    "momentum_kalman_observer",
    "momentum_observer",
    "scaled_error_observer",
    "ur5_current_map",
    "ur5_friction",
]
