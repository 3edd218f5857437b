# SPDX-License-Identifier: Apache-2.0
"""`PrimaryFeed`: what the ports 30001 and 30002 are told: state packages of both, messages of the first.

A client that has just come hears who the controller is and, in its first state package, which arm it drives. Then come
ten packages a second, and one at once when the mode of the robot or of its safety system has changed; messages follow
it, so that nobody judges them by a state from before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright import __version__
from armwright.lab.controller.controller import (
    CONTROLLER_TICK,
    JOINT_ACCELERATION,
    JOINT_SPEED,
    TOOL_ACCELERATION,
    TOOL_SPEED,
)
from armwright.lab.controller.controller_messages import SafetyModeMessage
from armwright.lab.controller.controller_states import ROBOT_MODES, RobotMode
from armwright.lab.controller.published import values
from armwright.lab.wire.arm_parts import configuration_part, kinematics_part
from armwright.lab.wire.primary import message, version_message
from armwright.lab.wire.secondary import SECONDARY_RATE, robot_state

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.controller.controller_states import SafetyMode
    from armwright.lab.controller.published import Outputs
    from armwright.lab.net import Network

TICKS_PER_STATE = round(1.0 / (SECONDARY_RATE * CONTROLLER_TICK))
DEFAULTS = (JOINT_SPEED, JOINT_ACCELERATION, TOOL_SPEED, TOOL_ACCELERATION)


class PrimaryFeed:
    """The controller's side of both ports; sockets belong to the network."""

    def __init__(self, controller: Controller, network: Network) -> None:
        self._c, self._network = controller, network
        robot = controller.plant.robot
        self._arm = kinematics_part(robot) + configuration_part(
            robot, controller.version, controller.most_acceleration, DEFAULTS
        )
        self._modes = self._present()

    def _present(self) -> tuple[RobotMode, SafetyMode]:
        return ROBOT_MODES.get(self._c.state, RobotMode.RUNNING), self._c.safety

    def greeting(self) -> bytes:
        """Return what a client of either port hears first."""
        c = self._c
        hello = version_message(c.version, f"armwright {__version__}", c.time)
        return hello + robot_state(values(c), self._arm)

    def tick(self, outputs: Outputs | None, *, skipped: bool = False) -> None:
        """Send what is due in this tick.

        Args:
            outputs: of this tick, if they have been made.
            skipped: a package that is due is left out: a fault. Changes and messages are sent all the same.
        """
        c, before = self._c, self._modes
        self._modes = self._present()
        records = c.outbox.take()
        if self._modes[1] is not before[1]:
            records.insert(0, SafetyModeMessage(self._modes[1].value))
        if self._modes != before or (c.ticks % TICKS_PER_STATE == 0 and not skipped):
            clients = self._network.connections("primary", "secondary")
            package = robot_state(values(c) if outputs is None else outputs) if clients else b""
            for connection in clients:
                if connection.keeps_up:
                    connection.send(package)
        if records:
            said = b"".join(message(record, c.time) for record in records)
            for connection in self._network.connections("primary"):
                if connection.keeps_up:
                    connection.send(said)
