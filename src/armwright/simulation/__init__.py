# SPDX-License-Identifier: Apache-2.0
"""Time: the loop of reference, law, drive, arm and sensors, compiled into one step, and what it recorded."""

from armwright.simulation.control_loop import Loop
from armwright.simulation.drives import Drive, drive_of
from armwright.simulation.friction_models import Dahl, Frictionless, FrictionModel, LuGre, Stribeck
from armwright.simulation.integrators import METHODS as INTEGRATORS
from armwright.simulation.live_loop import Live
from armwright.simulation.rows_to_recording import with_acceleration, with_energy, with_storage, with_tool_path
from armwright.simulation.sensors import JointSensors, Sensor, accelerometer, force_sensor, with_wrench
from armwright.simulation.session import Session
from armwright.simulation.simulation_run import live as live
from armwright.simulation.simulation_run import prepare as prepare
from armwright.simulation.simulation_run import simulate

__all__ = [
    "INTEGRATORS",
    "Dahl",
    "Drive",
    "FrictionModel",
    "Frictionless",
    "JointSensors",
    "Live",
    "Loop",
    "LuGre",
    "Sensor",
    "Session",
    "Stribeck",
    "accelerometer",
    "drive_of",
    "force_sensor",
    "simulate",
    "with_acceleration",
    "with_energy",
    "with_storage",
    "with_tool_path",
    "with_wrench",
]
