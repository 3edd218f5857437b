# SPDX-License-Identifier: Apache-2.0
"""Time: the loop of reference, law, drive, arm and sensors, compiled into one step, and what it recorded."""

from armwright.simulation.drives import Drive, drive_of
from armwright.simulation.friction import Dahl, Frictionless, FrictionModel, LuGre, Stribeck
from armwright.simulation.integrators import METHODS as INTEGRATORS
from armwright.simulation.live import Live, live
from armwright.simulation.rows_to_recording import with_acceleration, with_energy, with_storage, with_tool_path
from armwright.simulation.sensor import Sensor
from armwright.simulation.sensors import JointSensors, accelerometer, force_sensor
from armwright.simulation.session import Session
from armwright.simulation.simulate import prepare, simulate
from armwright.simulation.wrist import with_wrench

__all__ = [
    "INTEGRATORS",
    "Dahl",
    "Drive",
    "FrictionModel",
    "Frictionless",
    "JointSensors",
    "Live",
    "LuGre",
    "Sensor",
    "Session",
    "Stribeck",
    "accelerometer",
    "drive_of",
    "force_sensor",
    "live",
    "prepare",
    "simulate",
    "with_acceleration",
    "with_energy",
    "with_storage",
    "with_tool_path",
    "with_wrench",
]
