# SPDX-License-Identifier: Apache-2.0
"""Which words of a controller end a ride, and what the end is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.live.wire_script import LEFT

if TYPE_CHECKING:
    from armwright.exploration.ride import Why
    from armwright.live.wire_socket import WireSample

RUNNING, PLAYING = 7, 2  # robot_mode and runtime_state of an arm that a program moves
MAY_MOVE = (1, 2)  # safety_mode normal and reduced
SAFETY_WORDS: dict[int, tuple[Why, str]] = {
    3: ("protective stop", "the controller made a protective stop"),
    4: ("stopped by a person", "the controller is in recovery mode"),
    5: ("stopped by a person", "the safeguard stands open"),
    6: ("stopped by a person", "an emergency stop of the plant is pressed"),
    7: ("stopped by a person", "the robot's emergency stop is pressed"),
    8: ("protective stop", "the safety system found a violation"),
    9: ("protective stop", "the safety system reports a fault"),
}
"""safety_mode → what a ride that it ends is called, and why."""


def stands_for(sample: WireSample) -> tuple[Why, str] | None:
    """Return the end that modes of safety or power mean by themselves, None if they mean none."""
    if sample.safety_mode not in MAY_MOVE:
        unknown: tuple[Why, str] = ("protective stop", f"safety mode {sample.safety_mode}")
        return SAFETY_WORDS.get(sample.safety_mode, unknown)
    if sample.robot_mode != RUNNING:
        return "stopped by a person", f"the arm is no longer running (robot mode {sample.robot_mode})"
    return None


def name_the_end(sample: WireSample) -> tuple[Why, str]:
    """Return the end of a ride whose program has ended or whose modes forbid to go on."""
    found = stands_for(sample)
    if found is not None:
        return found
    if sample.state == LEFT:
        return "lost", "the script on the controller heard nothing for too long and ended itself"
    return "stopped by a person", "the program on the controller was ended or paused"
