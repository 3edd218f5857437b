# SPDX-License-Identifier: Apache-2.0
"""`ProgramStore`: programs in a folder, loaded by name and played from the dashboard.

``.script`` is text that runs as it is; of ``.urp`` see `urp_file`. Files are read, and programs that clients serve are
asked for, in a thread of its own: no tick waits for a disk or for another program's answer.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from armwright.errors import ArmwrightError, InputError
from armwright.files import read_regular
from armwright.lab.controller.controller_states import RUNTIME, ControllerEvent, ControllerState, RuntimeState
from armwright.lab.controller.port_commands import refuses
from armwright.lab.controller.tick_solver import Solver
from armwright.lab.net import LabError
from armwright.lab.wire.script_stream import MOST_TEXT
from armwright.lab.wire.urp_file import MOST_PACKED, ExternalProgram, UrpProgram, WaitStep, read_urp

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller

EXTERNAL_CONTROL = ("127.0.0.1", 50002)
"""Where a client serves the program of an External Control node."""
REQUEST = b"request_program\n"
CONNECT_SECONDS, FIRST_SECONDS, QUIET_SECONDS = 2.0, 3.0, 0.25
"""[s] that a client may take to accept, to begin its answer, and that its answer may pause."""
MOST_NAME = 200  # characters of a program's name that are looked at
SUFFIXES = (".urp", ".script")
INSTALLATION = "default.installation"  # the only one: there is nothing to install


class MissingProgramError(LabError):
    """There is no such program."""


@dataclass
class Loading:
    """A program that is being read.

    Attributes:
        name: as it was asked for. done: whether it was found out. refused: why it was not loaded, empty if it was.
        missing: there is no such file.
    """

    name: str
    done: bool = False
    refused: str = ""
    missing: bool = False


class ProgramStore:
    """Programs of a folder; at most one is loaded.

    Attributes:
        name: of the loaded program, without its folder; empty if there is none.
    """

    def __init__(
        self,
        controller: Controller,
        start: Callable[[str], None],
        folder: str | Path | None = None,
        address: tuple[str, int] = EXTERNAL_CONTROL,
    ) -> None:
        """Keep nothing yet.

        Args:
            controller: that plays.
            start: runs a whole text.
            folder: of the programs; None for no programs.
            address: where programs of External Control are asked for.

        Raises:
            InputError: there is no such folder.
        """
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None and not self._folder.is_dir():
            raise InputError(f"programs: {folder} is no folder")
        self._c, self._start, self._address = controller, start, address
        self.name = ""
        self._program: UrpProgram | str | None = None
        self._reader, self._asker = Solver(), Solver()
        self._asking = False

    def tick(self) -> None:
        """Take notice of what has been read or fetched."""
        self._reader.deliver()
        self._asker.deliver()

    def close(self) -> None:
        """Wait for the threads."""
        self._reader.close()
        self._asker.close()

    def load(self, asked: str) -> Loading:
        """Read a program; a folder before its name is not looked at. The result comes in a later tick."""
        loading = Loading(asked)
        # both kinds of slashes and a drive's letter part a name, whatever the system: none leads out of the folder
        name = PureWindowsPath(asked[:MOST_NAME]).name
        if RUNTIME.get(self._c.state, RuntimeState.STOPPED) is not RuntimeState.STOPPED:
            loading.done, loading.refused = True, "a program runs"
        elif self._folder is None or not name.endswith(SUFFIXES):
            loading.done, loading.refused, loading.missing = True, "no such program", True
        else:
            self._ask(partial(_read, self._folder / name), partial(self._loaded, loading, name), loading)
        return loading

    def _ask(self, job: Callable[[], object], then: Callable[[object], None], loading: Loading) -> None:
        try:
            self._reader.ask(job, then)
        except InputError as error:
            loading.done, loading.refused = True, str(error)

    def _loaded(self, loading: Loading, name: str, found: object) -> None:
        loading.done = True
        if isinstance(found, ArmwrightError):
            loading.refused, loading.missing = str(found), isinstance(found, MissingProgramError)
            self._c.note(f"program not loaded: {found}")
        else:
            assert isinstance(found, UrpProgram | str)
            self.name, self._program = name, found

    def has_installation(self, asked: str) -> bool:
        """Return whether there is an installation of that name."""
        return PureWindowsPath(asked[:MOST_NAME]).name == INSTALLATION

    def play(self) -> bool:
        """Play the loaded program, or go on with one that pauses; False if that is not possible."""
        c = self._c
        if refuses(c):
            return False
        if c.state is ControllerState.PAUSED:
            return c.handle(ControllerEvent.PLAY)
        if c.state is not ControllerState.READY or self._program is None or self._asking:
            return False
        program, name = self._program, self.name
        if isinstance(program, str):
            self._start(program)
        elif any(isinstance(step, ExternalProgram) for step in program.steps):
            self._asking = True
            self._asker.ask(partial(_whole_program, name, program, self._address), partial(self._served, name))
        else:
            self._start(program_text(name, program))
        return True

    def _served(self, name: str, found: object) -> None:
        self._asking = False
        if isinstance(found, ArmwrightError):
            self._c.note(f"program {name} not started: {found}")
            return
        if self._c.state is ControllerState.READY and self.name == name:
            self._start(str(found))

    def forget_request(self) -> None:
        """Start nothing when the answer comes: the operator has stopped."""
        if self._asking:
            self._asker.forget()
            self._asking = False


def _read(path: Path) -> UrpProgram | str:
    """Return the program in a file.

    Raises:
        ArmwrightError: it cannot be read; says why.
    """
    try:
        data = read_regular(path, MOST_PACKED)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise (MissingProgramError if missing else LabError)(f"{path.name}: {error.strerror}") from None
    if path.suffix == ".urp":
        return read_urp(data, path.name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LabError(f"{path.name}: byte {error.start} is not UTF-8") from None


def program_text(name: str, program: UrpProgram, served: str = "") -> str:
    """Return a program as one ``def`` in URScript.

    Args:
        name: of its file, which names the program.
        program: its steps.
        served: text for its External Control nodes.

    Raises:
        LabError: the whole is too long.
    """
    nodes = sum(isinstance(step, ExternalProgram) for step in program.steps)
    if nodes * len(served) > MOST_TEXT:
        raise LabError(f"{name}: a program of more than {MOST_TEXT} characters")
    lines = []
    for step in program.steps:
        text = f"sleep({step.seconds:.9f})" if isinstance(step, WaitStep) else step
        lines += (served if isinstance(text, ExternalProgram) else text).splitlines()
    indent = "  "
    if not program.once:
        lines = ["while True:", *(indent + line for line in lines), "end"]
    return "\n".join([f"def {script_name(name)}():", *(indent + line for line in lines), "end", ""])


def _whole_program(name: str, program: UrpProgram, address: tuple[str, int]) -> str:
    """Return a program with what a client serves for it; raises as `served_program` and `program_text`."""
    return program_text(name, program, served_program(address))


def script_name(file: str) -> str:
    """Return the name of a file as one that URScript takes: letters, digits and ``_``, no digit first."""
    name = re.sub(r"\W", "_", PureWindowsPath(file).stem, flags=re.ASCII)
    return name if name and not name[0].isdigit() else f"program_{name}"


def served_program(address: tuple[str, int]) -> str:
    """Ask a client for its program, as the External Control node does, and return the text.

    Raises:
        LabError: nobody answers there, or the answer is too long or no text.
    """
    where = f"{address[0]}:{address[1]}"
    try:
        with socket.create_connection(address, timeout=CONNECT_SECONDS) as sock:
            sock.sendall(REQUEST)
            data = _until_quiet(sock, where)
    except OSError as error:
        raise LabError(f"{where} serves no program: {error}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LabError(f"{where}: byte {error.start} of its program is not UTF-8") from None


def _until_quiet(sock: socket.socket, where: str) -> bytes:
    """Return what comes until it pauses for `QUIET_SECONDS`, the other side ends, or it has come for too long."""
    data = bytearray()
    deadline = time.monotonic() + FIRST_SECONDS
    sock.settimeout(FIRST_SECONDS)
    with contextlib.suppress(TimeoutError):
        while part := sock.recv(1 << 16):
            data += part
            if len(data) > MOST_TEXT:
                raise LabError(f"{where}: a program of more than {MOST_TEXT} bytes")
            if time.monotonic() > deadline:
                raise LabError(f"{where}: the program did not end within {FIRST_SECONDS:g} s")
            sock.settimeout(QUIET_SECONDS)
    if not data:
        raise LabError(f"{where} answered nothing")
    return bytes(data)
