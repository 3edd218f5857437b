# SPDX-License-Identifier: Apache-2.0
"""Commands of ur_rtde's script, group 2: force mode, free drive, jogging, contact."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller.commands import accepted
from armwright.lab.controller.compliance import ForceMode, FreeDrive, Jog, UntilContact
from armwright.motion.reference import Reference
from armwright.spatial.rotations import exp_so3

if TYPE_CHECKING:
    from armwright.lab.controller.desk import Desk


def _force_mode(d: Desk) -> None:
    """Selection i2–7, frame d0–5, wrench d6–11, limits d12–17; the type i1 is taken as 2 (the frame stays)."""
    selection = np.array([d.integer(2 + k) != 0 for k in range(6)])
    motion = d.c.motion
    if not (d.c.moving and isinstance(motion, ForceMode)):
        motion = ForceMode(d.c)
        d.c.begin(motion)
    motion.aim(selection, np.array(d.numbers(0)), np.array(d.numbers(6)), np.array(d.numbers(12)))


def _end_of_mode(d: Desk) -> None:
    """Brake from the speed that the arm has, and hold."""
    if isinstance(d.c.motion, FreeDrive):
        d.c.reference = Reference(np.array(d.c.plant.live.q), np.array(d.c.plant.live.qd), np.zeros(6))
    d.stop(10.0)


def _zero_sensor(d: Desk) -> None:
    """Take the present TCP force as zero."""
    d.c.ft_offset = np.array(d.c.plant.look().force)
    d.done()


def _free_drive(d: Desk) -> None:
    """The arm follows the hand; all axes."""
    d.c.begin(FreeDrive(d.c))
    d.done()


def _free_drive_status(d: Desk) -> None:
    """i-out 1: 1 while the arm follows the hand."""
    d.say(int(isinstance(d.c.motion, FreeDrive) and d.c.moving), 1)
    d.done()


def _jog(d: Desk) -> None:
    """TCP speed d0–5, feature d6 (0 base, 1 tool, 2 custom d8–13), acceleration d7."""
    speed, (feature, a) = np.array(d.numbers(0)), d.numbers(6, 2)
    turns = {0: np.zeros(3), 1: d.c.target_pose()[3:], 2: np.array(d.numbers(8))[3:]}
    if round(feature) not in turns:
        raise InputError(f"jog: feature 0, 1 or 2, got {feature}")
    d.c.begin(Jog(d.c, speed, a if a > 0.0 else 0.5, exp_so3(turns[round(feature)])))
    d.done()


def _stop_jog(d: Desk) -> None:
    d.stop(1.2)


def _tool_contact(d: Desk) -> None:
    """i-out 1: 1 if something pushes against direction d0–2, else 0."""
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
    """TCP speed d0–5 until something pushes against direction d6–8; acceleration d12."""
    motion = UntilContact(d.c, np.array(d.numbers(0)), d.numbers(12, 1)[0], np.array(d.numbers(6, 3)))
    d.c.begin(motion, d.done)


GROUP_2: dict[int, Callable[[Desk], None]] = {
    6: _force_mode,
    7: _end_of_mode,
    8: _zero_sensor,
    18: _free_drive,
    19: _end_of_mode,
    20: accepted,
    21: accepted,
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
