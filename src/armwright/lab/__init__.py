# SPDX-License-Identifier: Apache-2.0
"""The test stand of 004: a virtual controller with an arm behind it, a recorder that loses nothing, a replay."""

from armwright.lab.align_clocks import Alignment, align
from armwright.lab.net import LabError
from armwright.lab.packets import read_packets
from armwright.lab.recorder import Recorder
from armwright.lab.replay_devices import Replay
from armwright.lab.robot_link import RobotLink, RobotSample, connect
from armwright.lab.stand import Stand
from armwright.lab.touch_record import Touched
from armwright.lab.virtual_controller import VirtualController, VirtualTruth
from armwright.packages import former_names

__all__ = [
    "Alignment",
    "LabError",
    "Recorder",
    "Replay",
    "RobotLink",
    "RobotSample",
    "Stand",
    "Touched",
    "VirtualController",
    "VirtualTruth",
    "align",
    "connect",
    "read_packets",
]

__getattr__ = former_names(__name__, {"Sample": "RobotSample"})
