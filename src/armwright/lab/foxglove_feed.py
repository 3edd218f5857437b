# SPDX-License-Identifier: Apache-2.0
"""The arm of a stand, live in Foxglove: frames and shapes, joints, the force at the tool, the controller's modes.

Foxglove connects to ``ws://HOST:PORT``. The server is that of Foxglove's SDK (extra ``[foxglove]``); the messages are
those that recordings have. It only sends: what a viewer says is not listened to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import ArmwrightError
from armwright.lab.controller.controller_states import ROBOT_MODES, RobotMode
from armwright.packages import need
from armwright.recording.formats.foxglove_messages import (
    FRAME_TRANSFORMS,
    SCENE_UPDATE,
    fill_transforms,
    scene_message,
    scene_schema,
    transforms_layout,
)
from armwright.recording.formats.mcap_scene import SCENE_TOPIC, TRANSFORM_TOPIC
from armwright.recording.formats.mcap_write import JOINT_TOPIC
from armwright.recording.formats.protobuf import JOINT_STATES, joint_layout, joint_schema, stretched
from armwright.recording.viewers.scene_parts import arm_parts, frame_names, frame_poses, world_parts

if TYPE_CHECKING:
    from types import ModuleType

    from armwright.lab.stand import Stand
    from armwright.types import Array
    from armwright.world.world import World

FOXGLOVE_PORT = 8765
FRAME_PERIOD = 0.033  # [s] between two pictures of the arm
SCENE_PERIOD = 1.0  # [s] after which the shapes are sent again, for viewers that have come since
CONTROLLER_TOPIC = "/controller"


class ShownState(NamedTuple):
    """What is sent: controller time [s], joints (n,), speeds, torques [N m], force at the TCP (6,), modes."""

    time: float
    q: Array
    qd: Array
    tau: Array
    force: Array
    robot_mode: int
    safety_mode: int


class FoxgloveFeed:
    """A thread that shows a stand; it takes the arm's state between ticks and holds no tick up.

    Attributes:
        port: that it listens on.
    """

    def __init__(self, stand: Stand, world: World | None, host: str = "127.0.0.1", port: int = FOXGLOVE_PORT) -> None:
        """Listen; 0 takes any free port."""
        sdk = need("foxglove", "foxglove", "a stand shown in Foxglove")
        plant = stand.controller.plant
        self._stand, self._robot = stand, plant.robot
        self._layout, self._stamps = transforms_layout(frame_names(self._robot))
        names = tuple(joint.name for joint in self._robot.joints)
        self._joints, self._joint_stamp = joint_layout(names, 3)
        self._scene = scene_message((*arm_parts(self._robot), *world_parts(world or ())))
        frame_poses(self._robot, plant.live.q)  # compiled now
        self._context = sdk.Context()
        self._tf, self._shapes, self._states = (
            self._channel(sdk, topic, name, schema)
            for topic, name, schema in (
                (TRANSFORM_TOPIC, FRAME_TRANSFORMS, scene_schema()),
                (SCENE_TOPIC, SCENE_UPDATE, scene_schema()),
                (JOINT_TOPIC, JOINT_STATES, joint_schema()),
            )
        )
        self._controller = sdk.Channel(CONTROLLER_TOPIC, message_encoding="json", context=self._context)
        try:
            self._server = sdk.start_server(
                name=f"armwright lab: {self._robot.name}", host=host, port=port, context=self._context
            )
        except RuntimeError as error:
            raise ArmwrightError(f"--foxglove {port}: cannot listen on {host}:{port} ({error})") from None
        self.port = int(self._server.port)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="foxglove", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End thread and server."""
        self._over.set()
        self._thread.join()
        self._server.stop()

    def state(self) -> ShownState:
        """Return the arm's state between two ticks."""
        c = self._stand.controller
        with c.lock:
            live, now = c.plant.live, c.plant.now
            modes = ROBOT_MODES.get(c.state, RobotMode.RUNNING).value, c.safety.value
            q, qd, tau, force = (np.array(part, dtype=np.float64) for part in (live.q, live.qd, live.tau, now.force))
            return ShownState(float(c.time), q, qd, tau, force, *modes)

    def _channel(self, sdk: ModuleType, topic: str, name: str, schema: bytes) -> Callable[..., None]:
        """Return what logs a message on a topic."""
        described = sdk.Schema(name=name, encoding="protobuf", data=schema)
        channel = sdk.Channel(topic, schema=described, message_encoding="protobuf", context=self._context)
        log: Callable[..., None] = channel.log
        return log

    def _run(self) -> None:
        next_scene = 0.0
        waited = 0.0
        while True:
            if waited >= next_scene:
                self._shapes(self._scene)
                next_scene = waited + SCENE_PERIOD
            self._send(self.state())
            if self._over.wait(FRAME_PERIOD):
                return
            waited += FRAME_PERIOD

    def _send(self, now: ShownState) -> None:
        stamp = np.array([round(now.time * 1e9)])
        rows = np.frombuffer(self._layout.template, dtype=np.uint8)[None].copy()
        fill_transforms(rows, 0, self._layout, self._stamps, frame_poses(self._robot, now.q), stamp)
        self._tf(rows.tobytes(), log_time=int(stamp[0]))
        joints = np.frombuffer(self._joints.template, dtype=np.uint8)[None].copy()
        for k, hole in enumerate(self._joints.holes(joints, 0)):
            hole[:] = (now.q[k], now.qd[k], now.tau[k])
        at = self._joint_stamp
        joints[:, at : at + 5], joints[:, at + 6 : at + 11] = stretched(stamp // 10**9), stretched(stamp % 10**9)
        self._states(joints.tobytes(), log_time=int(stamp[0]))
        told = {"force": now.force.tolist(), "robot_mode": now.robot_mode, "safety_mode": now.safety_mode}
        self._controller.log(told, log_time=int(stamp[0]))
