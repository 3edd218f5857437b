# SPDX-License-Identifier: Apache-2.0
"""Commands of ur_rtde's script, group 2: force mode, free drive, jogging, contact."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller import move_calls as moves
from armwright.lab.controller.commands import accepted
from armwright.lab.controller.compliant_motions import AxesFreeDrive, ForceMode, FreeDrive, Jog, UntilContact
from armwright.motion.trajectory import Reference
from armwright.spatial.rotations import exp_so3

if TYPE_CHECKING:
    from armwright.lab.controller.command_registers import Desk

DEFAULT_GAIN = 0.5  # what ur_rtde's script sets for force mode
NEAR_SINGULAR_VALUE, SINGULAR_VALUE = 0.05, 0.01


def _force_mode(d: Desk) -> None:
    """Force mode: type i1, selection i2–7, frame d0–5, wrench d6–11, limits d12–17."""
    selection = np.array([d.integer(2 + k) != 0 for k in range(6)])
    motion = d.c.motion
    if not (d.c.moving and isinstance(motion, ForceMode)):
        motion = ForceMode(d.c)
        d.c.begin(motion)
    frame, wrench, limits = (np.array(d.numbers(k)) for k in (0, 6, 12))
    motion.aim(selection, d.integer(1), frame, wrench, limits, d.force_gain / DEFAULT_GAIN)


def _force_gain(d: Desk) -> None:
    """Set the gain of force mode d0, 0 to 2."""
    gain = d.numbers(0, 1)[0]
    if not 0.0 <= gain <= 2.0:
        raise InputError(f"force mode: a gain of 0 to 2, got {gain}")
    d.force_gain = gain
    d.done()


def _end_of_mode(d: Desk) -> None:
    """Brake from the speed that the arm has, and hold."""
    if isinstance(d.c.motion, (FreeDrive, AxesFreeDrive)):
        d.c.reference = Reference(np.array(d.c.plant.live.q), np.array(d.c.plant.live.qd), np.zeros(6))
    d.stop(10.0)


def _zero_sensor(d: Desk) -> None:
    """Take the present TCP force as zero."""
    d.c.ft_offset = np.array(d.c.plant.look().force)
    d.done()


def _teach(d: Desk) -> None:
    """Let the arm follow the hand, along all axes."""
    d.c.begin(FreeDrive(d.c))
    d.done()


def _free_drive(d: Desk) -> None:
    """Let the arm follow the hand along the axes i1–6 of the frame d0–5; with all axes, as a whole."""
    free = np.array([d.integer(1 + k) != 0 for k in range(6)], dtype=np.float64)
    frame = moves.six(d.numbers(0), "free drive: frame", 13.0)
    d.c.begin(FreeDrive(d.c) if free.all() else AxesFreeDrive(d.c, free, exp_so3(frame[3:])))
    d.done()


def _free_drive_status(d: Desk) -> None:
    """Say, i-out 1: 0 normal, 1 near a singularity, 2 too close, by the Jacobian's least singular value."""
    least = np.linalg.svd(d.c.plant.model().jacobian, compute_uv=False)[-1]
    d.say(int(least < NEAR_SINGULAR_VALUE) + int(least < SINGULAR_VALUE), 1)
    d.done()


def _jog(d: Desk) -> None:
    """Jog at TCP speed d0–5, feature d6 (0 base, 1 tool, 2 custom d8–13), acceleration d7."""
    speed, (feature, a) = np.array(d.numbers(0)), d.numbers(6, 2)
    turns = {0: np.zeros(3), 1: d.c.target_pose()[3:], 2: np.array(d.numbers(8))[3:]}
    if round(feature) not in turns:
        raise InputError(f"jog: feature 0, 1 or 2, got {feature}")
    d.c.begin(Jog(d.c, speed, a if a > 0.0 else 0.5, exp_so3(turns[round(feature)])))
    d.done()


def _stop_jog(d: Desk) -> None:
    d.stop(1.2)


def _tool_contact(d: Desk) -> None:
    """Say, i-out 1: 1 if something pushes against direction d0–2, else 0."""
    d.say(int(d.c.touched(np.array(d.numbers(0, 3)))), 1)


def _start_contact(d: Desk) -> None:
    """Wait for a contact against direction d0–2; the arm stops when it comes."""
    d.contact, d.felt = np.array(d.numbers(0, 3)), False
    d.done()


def _stop_contact(d: Desk) -> None:
    d.say(int(d.felt), 1)
    d.contact = None
    d.done()


def _read_contact(d: Desk) -> None:
    d.say(int(d.felt), 1)
    d.done()


def _until_contact(d: Desk) -> None:
    """Move at TCP speed d0–5 until something pushes against direction d6–8; acceleration d12."""
    motion = UntilContact(d.c, np.array(d.numbers(0)), d.numbers(12, 1)[0], np.array(d.numbers(6, 3)))
    d.c.begin(motion, d.done)


GROUP_2: dict[int, Callable[[Desk], None]] = {
    6: _force_mode,
    7: _end_of_mode,
    8: _zero_sensor,
    18: _teach,
    19: _end_of_mode,
    20: accepted,
    21: _force_gain,
    25: _tool_contact,
    41: _jog,
    42: _stop_jog,
    51: _until_contact,
    52: _free_drive,
    53: _end_of_mode,
    54: _free_drive_status,
    56: accepted,
    57: accepted,
    62: _start_contact,
    63: _stop_contact,
    64: _read_contact,
}
