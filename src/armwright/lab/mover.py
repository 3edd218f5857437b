# SPDX-License-Identifier: Apache-2.0
"""The mover of 004: it sends the moves of a file one after the other, and notices a command that was skipped.

A controller that has stopped ignores what comes, and a move that comes while another is under way takes its place (that
of 004 ignored it, section 4.4.1). After each wait the arm must stand where it was sent; if it does not, the rest is not
sent.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.files import read_regular
from armwright.lab.net import LabError
from armwright.lab.robot_link import RobotLink, RobotSample
from armwright.lab.script.script_compiler import read_script
from armwright.lab.script.script_faults import ScriptError
from armwright.lab.wire.script_stream import MOST_SCRIPT_LINE
from armwright.syntax import program_tree as tree

JOINTS = ("Base", "Shoulder", "Elbow", "Wrist1", "Wrist2", "Wrist3")
ARRIVED_ERROR = 0.01  # [rad]
ARRIVED_SPEED = 2e-3  # [rad/s]
MOVE_PATIENCE = 10.0  # [s]
REST_BEFORE_COMMAND = 0.05  # [s] at rest before the next command: it would take the place of a move that still ends
MOST_COMMANDS = 10_000
MOST_MOVE_BYTES = 16 * 2**20  # of a file of moves


class Command(NamedTuple):
    """A line of the file, and the joints it leads to (6,)."""

    line: str
    goal: tuple[float, ...]


def read_commands(path: str | Path) -> list[Command]:
    """Read a file of movej lines with joint goals; blank lines and comments are skipped.

    Raises:
        InputError: a line that is something else, with its number.
    """
    try:
        lines = read_regular(Path(path), MOST_MOVE_BYTES).decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    out = []
    for number, line in enumerate(lines[:MOST_COMMANDS], start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        goal = _goal(text)
        if goal is None:
            raise InputError(f"{path}, line {number}: expected movej([six numbers], …), got {text[:80]!r}")
        out.append(Command(text, goal))
    if not out:
        raise InputError(f"{path}: holds no command")
    return out


def _goal(text: str) -> tuple[float, ...] | None:
    """Return the joints (6,) of a line that is one movej to numbers, None for any other."""
    if len(text) > MOST_SCRIPT_LINE:  # the port would hang up
        return None
    try:
        top = read_script(text).top
    except ScriptError:
        return None
    call = top[0] if len(top) == 1 else None
    if not isinstance(call, tree.Invoke) or call.at.text != "movej" or not call.arguments:
        return None
    first = call.arguments[0]
    if first.name not in ("", "q") or not isinstance(first.value, tree.ListOf):
        return None
    numbers = [number for item in first.value.items if (number := _number(item)) is not None]
    return tuple(numbers) if len(numbers) == len(first.value.items) == len(JOINTS) else None


def _number(item: object) -> float | None:
    """Return a number that is written out, with or without a sign; None for anything else."""
    if isinstance(item, tree.Unary) and item.sign in ("-", "+"):
        below = _number(item.operand)
        return -below if below is not None and item.sign == "-" else below
    if not isinstance(item, tree.Literal) or isinstance(item.value, bool) or not isinstance(item.value, int | float):
        return None
    return float(item.value) if np.isfinite(item.value) else None


def start_pose(command: Command) -> str:
    """Return the first goal for a person, in degrees with the joints' names."""
    degrees = np.rad2deg(command.goal)
    return ", ".join(f"{name} {angle:.1f}°" for name, angle in zip(JOINTS, degrees, strict=True))


def move(
    link: RobotLink,
    commands: list[Command],
    *,
    wait: float = 3.0,
    patience: float = MOVE_PATIENCE,
    port: int = 30002,
    told: Callable[[int, Command], None] | None = None,
    sent: Callable[[int, float], None] | None = None,
) -> None:
    """Send every command and wait; stop at the first that was not obeyed.

    An arm that is not there after the wait is given some more time: the next command would meet it on its way and take
    the place of the move, and on a busy machine a command may have been late.

    Args:
        link: the robot, for looking where it is.
        commands: from `read_commands`.
        wait: seconds of the robot's clock between commands.
        patience: seconds after the wait until a command counts as skipped.
        port: for scripts.
        told: called with the number and the command when it has been obeyed.
        sent: called with the number and the robot's time [s] when a command is sent.

    Raises:
        LabError: a command was skipped, or the robot is gone.
    """
    with socket.create_connection((link.host, port), timeout=5.0) as sock:
        sock.setblocking(False)
        for number, command in enumerate(commands, start=1):
            sample = link.latest()
            sock.sendall(command.line.encode() + b"\n")
            begun = sample.device_time
            if sent is not None:
                sent(number, begun)
            rests = np.inf  # since when it has been at rest where it was sent
            while sample.device_time < begun + wait or sample.device_time < rests + REST_BEFORE_COMMAND:
                sample = link.next(sample)
                _drain(sock)
                rests = np.inf if _on_its_way(sample, command) else min(rests, sample.device_time)
                if sample.device_time > begun + wait + patience and not np.isfinite(rests):
                    raise LabError(
                        f"command {number} ({command.line[:60]}) was skipped or not finished within "
                        f"{wait + patience:g} s: the arm is {_off(sample, command):.3g} rad from its goal; "
                        "nothing more is sent"
                    )
            if told is not None:
                told(number, command)


def _off(sample: RobotSample, command: Command) -> float:
    return float(np.abs(np.array(sample.values["actual_q"]) - command.goal).max())


def _on_its_way(sample: RobotSample, command: Command) -> bool:
    """Return whether the arm is not at rest where it was sent."""
    speeds = (*sample.values["actual_qd"], *sample.values.get("target_qd", ()))
    return _off(sample, command) > ARRIVED_ERROR or max(map(abs, speeds)) > ARRIVED_SPEED


def _drain(sock: socket.socket) -> None:
    """Read what the port sends; nobody listens to it here."""
    try:
        while sock.recv(1 << 16):
            pass
    except BlockingIOError:
        return
