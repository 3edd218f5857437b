# SPDX-License-Identifier: Apache-2.0
"""Time: the loop of reference, law, drive, arm and sensors, compiled into one step, and what it recorded."""

from armwright.choices import FRICTIONS
from armwright.simulation.artefact import Artefact, export
from armwright.simulation.bristle_friction import Dahl, LuGre
from armwright.simulation.control_loop import Loop
from armwright.simulation.drives import Drive, drive_of
from armwright.simulation.friction_choice import friction_of
from armwright.simulation.friction_models import Frictionless, FrictionModel, Stribeck
from armwright.simulation.integrators import METHODS as INTEGRATORS
from armwright.simulation.karnopp_friction import Karnopp
from armwright.simulation.live_loop import Live
from armwright.simulation.rows_to_recording import with_acceleration, with_energy, with_storage, with_tool_path
from armwright.simulation.sensors import JointSensors, Sensor, accelerometer, force_sensor, with_wrench
from armwright.simulation.session import Session
from armwright.simulation.simulation_run import live as live
from armwright.simulation.simulation_run import prepare as prepare
from armwright.simulation.simulation_run import simulate

__all__ = [
    "FRICTIONS",
    "INTEGRATORS",
    "Artefact",
    "Dahl",
    "Drive",
    "FrictionModel",
    "Frictionless",
    "JointSensors",
    "Karnopp",
    "Live",
    "Loop",
    "LuGre",
    "Sensor",
    "Session",
    "Stribeck",
    "accelerometer",
    "drive_of",
    "export",
    "force_sensor",
    "friction_of",
    "simulate",
    "with_acceleration",
    "with_energy",
    "with_storage",
    "with_tool_path",
    "with_wrench",
]
