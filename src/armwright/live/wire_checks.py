# SPDX-License-Identifier: Apache-2.0
"""What must be so before an arm on the wire may be moved: read from the controller, never changed.

`read_facts` asks over RTDE and the dashboard. `check_facts` refuses with every sentence that applies, not only the
first. The sentences are what a person says yes to, each once.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.lab.robot_link import connect
from armwright.lab.wire import rtde
from armwright.live.wire_end import MAY_MOVE, PLAYING, RUNNING, SAFETY_WORDS
from armwright.spatial.rotations import exp_so3

if TYPE_CHECKING:
    from armwright.identify.identified import Identified
    from armwright.live.wire_limits import WireLimits
    from armwright.robot.model import Robot

FACTS = (
    *("actual_q", "robot_mode", "safety_mode", "runtime_state", "speed_scaling", "target_speed_fraction"),
    *("payload", "payload_cog", "tcp_offset"),
)
FULL_SPEED = 0.999  # of the slider: less is not what bands are learned at
SAME_MASS, SAME_PLACE, SAME_ANGLE = 0.02, 2e-3, 5e-3  # [kg], [m], [rad] between controller and model
DASHBOARD_PORT = 29999
FACTS_PATIENCE, DASHBOARD_PATIENCE = 5.0, 3.0  # [s] for an answer over RTDE, and of the dashboard
MOST_LINE = 4096


@dataclass(frozen=True)
class WireFacts:
    """What a controller says of itself.

    Attributes:
        host: its address. version: of its software. values: RTDE outputs by name, as far as it has them.
        said: answers of the dashboard by question; empty where it has none.
    """

    host: str
    version: tuple[int, ...]
    values: dict[str, Any] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    @property
    def serial(self) -> str:
        """Return the serial number, "" if it was not told."""
        return self.said.get("get serial number", "")


QUESTIONS = ("running", "is in remote control", "get serial number", "get robot model", "PolyscopeVersion")


def read_facts(host: str, *, port: int = rtde.PORT, dashboard: int = DASHBOARD_PORT) -> WireFacts:
    """Ask a controller what `check_facts` needs; nothing is changed.

    Raises:
        LabError: nobody answers over RTDE.
    """
    with connect(host, FACTS, port=port, stale=FACTS_PATIENCE) as link:
        sample = link.next()
        version = tuple(link.version)
    said: dict[str, str] = {}
    with (
        contextlib.suppress(OSError),
        socket.create_connection((host, dashboard), timeout=DASHBOARD_PATIENCE) as sock,
        sock.makefile("rwb") as file,
    ):
        file.readline(MOST_LINE)
        for question in QUESTIONS:
            file.write(question.encode() + b"\n")
            file.flush()
            said[question] = file.readline(MOST_LINE).decode(errors="replace").strip()
    return WireFacts(host, version, dict(sample.values), said)


def check_facts(
    facts: WireFacts, robot: Robot, payload: tuple[float, tuple[float, float, float]] = (0.0, (0.0, 0.0, 0.0))
) -> None:
    """Refuse to drive where modes, program, slider, payload or TCP are not as they have to be.

    Args:
        facts: as read.
        robot: the arm as its model has it.
        payload: mass [kg] and centre in the flange's frame [m] that the model carries besides.

    Raises:
        InputError: with one sentence for everything that is wrong.
    """
    v, wrong = facts.values, list[str]()
    if v.get("robot_mode") != RUNNING:
        wrong.append(f"the arm is not running (robot mode {v.get('robot_mode')}): power it on and release the brakes")
    safety = v.get("safety_mode", 0)
    if safety not in MAY_MOVE:
        wrong.append(f"{SAFETY_WORDS.get(safety, ('', f'safety mode {safety}'))[1]}: a person clears that")
    said, named = (re.search(r"ur\d+", word.lower()) for word in (facts.said.get("get robot model", ""), robot.name))
    if said and named and said[0] != named[0]:
        wrong.append(f"the controller says that it moves a {said[0].upper()}, the model is {robot.name!r}")
    if v.get("runtime_state") == PLAYING or facts.said.get("running", "").lower().endswith("true"):
        wrong.append("a program runs on the controller: end it")
    if facts.version and facts.version[0] >= 5 and facts.said.get("is in remote control", "").lower() == "false":
        wrong.append("the controller is not in remote control: choose Remote on the pendant")
    speed = v.get("target_speed_fraction", 1.0)
    if speed < FULL_SPEED:
        wrong.append(f"the speed slider stands at {100.0 * speed:.0f} %: set it to 100 %, bands are learned at that")
    if "payload" in v and abs(v["payload"] - payload[0]) > SAME_MASS:
        wrong.append(
            f"the controller was told a payload of {v['payload']:.3f} kg, the model carries {payload[0]:.3f} kg: set "
            "one of them right (--payload)"
        )
    elif "payload_cog" in v and payload[0] > SAME_MASS:
        off = float(np.abs(np.subtract(v["payload_cog"], payload[1])).max())
        if off > 10.0 * SAME_PLACE:
            wrong.append(f"the payload's centre is {1e3 * off:.0f} mm from that of the model: set one of them right")
    if "tcp_offset" in v:
        pose, T = np.asarray(v["tcp_offset"], dtype=np.float64), robot.T_tip_tool
        far = float(np.abs(pose[:3] - T[:3, 3]).max())
        turned = float(np.abs(exp_so3(pose[3:]) - T[:3, :3]).max())
        if far > SAME_PLACE or turned > SAME_ANGLE:
            wrong.append(f"the controller's TCP lies {1e3 * far:.0f} mm from the model's tool: set one of them right")
    q = np.asarray(v.get("actual_q", np.zeros(robot.n)))
    if len(q) != robot.n:
        wrong.append(f"the arm has {len(q)} joints, the model {robot.n}")
    elif ((q < robot.lower) | (q > robot.upper)).any():
        wrong.append("a joint stands outside the range of the model: is it the right model?")
    if wrong:
        raise InputError(f"{facts.host}: nothing was moved. " + "; ".join(wrong))


def is_loopback(host: str) -> bool:
    """Return whether an address is 127.x.y.z: a virtual controller, nothing that can hurt anybody."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        return address.version == 4 and address.is_loopback
    return False


def arm_words(facts: WireFacts) -> str:
    """Return which arm it is, as a controller says."""
    version = ".".join(str(x) for x in facts.version)
    return f"The arm at {facts.host} (software {version}, serial number {facts.serial or 'not told'})"


def model_sentence(facts: WireFacts, identified: Identified) -> str:
    """Return the sentence that arm and model belong together."""
    bands = identified.bands
    return (
        f"{arm_words(facts)} is the one of the model {identified.robot.name!r}, identified from "
        f"{', '.join(identified.logs) or 'no log'}; "
        + ("its bands are learned today" if bands is None else f"its file has bands from {bands.seconds:.0f} s")
    )


def fence_sentence(limits: WireLimits) -> str:
    """Return the sentence on where the tool may be."""
    low, high = (np.round(x, 3).tolist() for x in (limits.fence.low, limits.fence.high))
    return (
        f"The tool may be anywhere in the box {low} to {high} m, base frame; nobody reaches into it, and nothing "
        f"stands in it that must not be touched with {limits.force:.0f} N"
    )


def controller_sentence(limits: WireLimits) -> str:
    """Return the sentence on the controller's own limits."""
    return (
        f"The controller's own safety limits are set for this: tool speed {1e3 * limits.tool_speed:.0f} mm/s, and a "
        f"force below what may be touched. Armwright's {limits.force:.0f} N are not a safety function"
    )


HAND_SENTENCE = "My hand is at the emergency stop, and stays there"
