# SPDX-License-Identifier: Apache-2.0
"""Robot arms: their description, readers and writers, checks, and kernels compiled for them."""

from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, CurrentMap, Frame, Friction, Joint, Limits, Measured
from armwright.schema.toml_text import Source

__all__ = ["Actuators", "Body", "CurrentMap", "Frame", "Friction", "Joint", "Limits", "Measured", "Robot", "Source"]


def __dir__() -> list[str]:
    return __all__
