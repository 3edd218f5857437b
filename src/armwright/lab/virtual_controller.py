# SPDX-License-Identifier: Apache-2.0
"""`VirtualController`: a UR controller with an arm and a world behind it, for the tests of a program of yours.

It is a `Stand` in a process of its own, because clients such as ur_rtde hold Python's lock while they wait for an
answer. This side knows where it listens, plays faults by call, and reads what no client may see: the truth.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from armwright.errors import InputError
from armwright.lab.net import LabError
from armwright.lab.touch_record import Touched

if TYPE_CHECKING:
    from armwright.world.world import World

CHILD = (sys.executable, "-P", "-m", "armwright.lab.controller_child")  # -P: nothing of the present folder is imported
FIRST_PATIENCE = 300.0  # [s] for the first answer: an arm and a world may have to be compiled on a busy machine
ANSWER_PATIENCE = 60.0  # [s] for every other answer
LEAVING_PATIENCE = 30.0  # [s] for the process to end by itself
MOST_SAID_LETTERS = 2000  # characters of what a process that ended said of itself
POLLING_PERIOD = 0.01  # [s] between two looks at the truth


class VirtualTruth(NamedTuple):
    """What is true of a virtual controller's arm, without any estimate.

    Attributes:
        time: of the controller [s]. state: its state, such as "program running". safety: what its safety system says.
        why: of the last protective stop.
        q, qd: joints (6,) [rad, rad/s]. target_q: where the controller wants them (6,) [rad].
        torque: at the joints by the drives (6,) [N m]. current: of the motors, without noise (6,) [A].
        pose: of the TCP (6,): place [m] and rotation vector [rad], base frame.
        contact_force: of the world on the arm (3,), base axes [N]; pushes by hand are not part of it.
    """

    time: float
    state: str
    safety: str
    why: str
    q: Sequence[float]
    qd: Sequence[float]
    target_q: Sequence[float]
    torque: Sequence[float]
    current: Sequence[float]
    pose: Sequence[float]
    contact_force: Sequence[float]


class VirtualController:
    """A virtual UR controller in a process of its own. Use it as a context, or `start` and `close` it.

    Attributes:
        host: where it listens. ports: name → number.

    >>> with VirtualController(world="bench", e_series=True) as robot:
    ...     drive(robot.host)  # any client of a UR
    ...     assert robot.contacts()[0].shape == "pillar"
    """

    def __init__(
        self,
        robot: str | Path = "ur5",
        *,
        world: World | str | Path | None = None,
        host: str | None = None,
        ports: dict[str, int] | str | None = None,
        **options: object,
    ) -> None:
        """Say what is wanted; nothing runs before `start`.

        Args:
            robot: name of an arm of the catalogue, or file of a description; six axes.
            world: what the arm can touch: a world, the name of one that comes with the package, or a file.
            host: address to listen on. By default one of its own: UR's clients want UR's port numbers, and on Linux
                every process can have them at a loopback address of its own (elsewhere 127.0.0.1 is the only one).
            ports: "free" takes any ports that are free, at 127.0.0.1; a dictionary chooses some numbers, 0 a free one.
            options: everything else that `Stand` takes, by the same names: e_series, software, pace, q0, tcp, payload,
                sensitivity, current_noise, seed, script_hosts, …
        """
        if isinstance(ports, str) and ports != "free":
            raise InputError(f'virtual controller: ports are "free" or a dictionary of numbers, got {ports!r}')
        if not isinstance(robot, str | Path):
            raise InputError(f"virtual controller: robot is a name or a file, got {type(robot).__name__}")
        self._settings = {
            "robot": str(robot),
            "world": _told(world),
            "host": host,
            "ports": ports,
            "options": {name: _plain(name, value) for name, value in options.items()},
        }
        self.host, self.ports = "", dict[str, int]()
        self._process: subprocess.Popen[bytes] | None = None
        self._late = False
        self._turn = threading.Lock()

    def start(self) -> None:
        """Start the process; return when clients can connect.

        Raises:
            LabError: it cannot be started as it was wanted; the message says why.
        """
        if self._process is not None:
            raise LabError("virtual controller: it runs already")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        self._process = subprocess.Popen(
            CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
        )
        try:
            ready = self._answer(self._settings, FIRST_PATIENCE)
        except BaseException:
            self.close()
            raise
        self.host, self.ports = ready["host"], ready["ports"]

    def close(self) -> None:
        """End the process; clients are cut off. Nothing happens if it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(LEAVING_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._errors.close()

    def __enter__(self) -> VirtualController:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------------- the truth
    def truth(self) -> VirtualTruth:
        """Return what is true now."""
        return VirtualTruth(**self._order("truth"))

    def contacts(self, since: float = 0.0) -> list[Touched]:
        """Return what links touched what shapes since a controller time [s]; of the controller's last minute."""
        return [Touched(**touch) for touch in self._order("contacts", since=since)["touches"]]

    def until(self, condition: Callable[[VirtualTruth], bool], seconds: float = 10.0) -> VirtualTruth:
        """Wait until the truth fulfils a condition, and return it.

        Args:
            condition: of a `VirtualTruth`.
            seconds: of the controller that it may take.

        Raises:
            LabError: it took longer; the message says what was true at last.
        """
        now = self.truth()
        end = now.time + seconds
        while not condition(now):
            if now.time > end:
                raise LabError(f"virtual controller: not within {seconds:g} s; at last: {now}")
            time.sleep(POLLING_PERIOD)
            now = self.truth()
        return now

    # ------------------------------------------------------------------------------------------------------- faults
    def protective_stop(self, why: str = "asked for by a test") -> bool:
        """Stop as after a collision; False if the state does not admit it, as with the power off."""
        return bool(self._order("event", name="COLLISION", why=why)["admitted"])

    def fault(self, why: str = "asked for by a test") -> bool:
        """Break down: brakes on, until the safety system is restarted."""
        return bool(self._order("event", name="BREAK", why=why)["admitted"])

    def emergency_stop(self, pressed: bool = True, *, system: bool = False) -> None:
        """Press an emergency stop, the robot's or that of the plant, or pull it out again: the arm loses its power."""
        self._order("safety", inputs={"emergency": pressed, "system": system})

    def safeguard(self, open: bool = True) -> None:  # noqa: A002 - a gate is open
        """Open the safeguard, or close it: a program is held as long as it is open."""
        self._order("safety", inputs={"guard_open": open})

    def reduced(self, on: bool = True) -> None:
        """Switch reduced mode on or off."""
        self._order("safety", inputs={"reduced": on})

    def cut(self, *ports: str) -> int:
        """Cut clients off, all of them or those on named ports ("rtde", "dashboard", …); return how many there were."""
        return int(self._order("cut", ports=ports)["clients"])

    def stall(self, seconds: float) -> None:
        """Stand still, once, from now on [s of the wall clock]."""
        self._order("wire", faults={"stall": seconds})

    def skip(self, share: float) -> None:
        """Leave out a share of what is published, from now on; 0 for none."""
        self._order("wire", faults={"skip": share})

    def segment(self, on: bool = True) -> None:
        """Cut the real-time stream of a moving arm as document 004 saw it, or send it whole again."""
        self._order("wire", faults={"segment": on})

    def push(self, force: Sequence[float], seconds: float = 0.5) -> float:
        """Push the flange by hand with a half-sine, from now on.

        Args:
            force: its largest value (3,), base axes [N].
            seconds: how long.

        Returns:
            When it ends, controller time [s].
        """
        return float(self._order("push", force=[float(x) for x in force], seconds=seconds)["end"])

    def carry(self, mass: float, centre: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Hang a load on the flange that the controller is not told: mass [kg], centre in the flange's frame [m]."""
        self._order("carry", mass=mass, centre=[float(x) for x in centre])

    # ---------------------------------------------------------------------------------------------------- the pipe
    def _order(self, order: str, **fields: object) -> dict[str, Any]:
        if self._process is None:
            raise LabError("virtual controller: it does not run; use it as a context, or start it")
        return self._answer({"order": order, "fields": fields}, ANSWER_PATIENCE)

    def _answer(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Say something and return the answer; the process is ended if none comes in time."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        watch = threading.Timer(seconds, process.kill)
        watch.daemon = True
        with self._turn:
            watch.start()
            try:
                with contextlib.suppress(OSError):  # it has ended; there is no answer either
                    process.stdin.write(json.dumps(message).encode() + b"\n")
                    process.stdin.flush()
                line = process.stdout.readline()
            finally:
                watch.cancel()
        if not line:
            raise LabError(f"virtual controller: its process has ended (exit code {process.wait()}): {self._said()}")
        answer = json.loads(line)
        if "error" in answer:
            raise LabError(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-MOST_SAID_LETTERS:].decode(errors="replace").strip() or "it said nothing"


def _told(world: World | str | Path | None) -> str | dict[str, str] | None:
    """Return a world as it crosses the pipe: its name, its file, or its text."""
    if world is None or isinstance(world, str | Path):
        return None if world is None else str(world)
    from armwright.world.world_file import world_text

    return {"text": world_text(world)}


def _plain(name: str, value: object) -> object:
    """Return an option as plain data."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    try:
        json.dumps(plain)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"virtual controller: {name} must be numbers, texts or lists of them, got {value!r:.80}"
        ) from error
    return plain
