# SPDX-License-Identifier: Apache-2.0
"""Programs of URScript on a controller without sockets: compiled, started and ticked by the test itself."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

import armwright as aw
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.controller_messages import RuntimeExceptionMessage, TextMessage
from armwright.lab.lab_plant import LabPlant
from armwright.lab.script.script_host import ScriptHost
from support.patience import until

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
MOST_TICKS = 3000
KEEP = """  global kept = 0
  def keep(value):
    write_output_float_register(kept, value)
    kept = kept + 1
  end
"""
"""What a program of a test keeps goes into float registers, one after the other."""
PLACES = "  def keep(value):\n    movel(p[value / 1000, 0, 0.4, 0, 0, 0])\n  end\n"
"""The same for the reader of programs: what is kept becomes a place, in millimetres."""


class Ran(NamedTuple):
    """What came of a program: its float registers, what the controller said, ticks that it took, the controller."""

    kept: list[float]
    said: list[object]
    ticks: int
    c: Controller

    @property
    def faults(self) -> list[tuple[int, int, str]]:
        """Line, column and text of the runtime exceptions."""
        return [(m.line, m.column, m.text) for m in self.said if isinstance(m, RuntimeExceptionMessage)]

    @property
    def texts(self) -> list[str]:
        """What textmsg said."""
        return [m.text for m in self.said if isinstance(m, TextMessage)]


@cache
def plant() -> LabPlant:
    """An arm for all tests of a process."""
    return LabPlant(aw.load("ur5"), q0=HOME)


def controller(software: str = "5.25.1", *, e_series: bool = True) -> Controller:
    """A controller whose arm stands at `HOME`, and takes texts."""
    arm = plant()
    arm.live.reset(HOME)
    arm.live.inputs["push"][...] = 0.0
    arm.told(0.0, np.zeros(3))
    arm.tcp[...] = 0.0
    made = Controller(arm, e_series=e_series, software=software)
    ScriptHost(made)
    return made


def program(body: str, functions: str = "", head: str = KEEP) -> str:
    """A program with a function ``keep``."""
    return f"def prog():\n{head}{functions}{body}end\n"


def run_text(c: Controller, text: str) -> None:
    """Compile and start a text at once."""
    host = c.scripts
    assert isinstance(host, ScriptHost)
    host.run(text)


def run(text: str, *, ticks: int = MOST_TICKS, software: str = "5.25.1", e_series: bool = True) -> Ran:
    """Run a program to its end, or for so many ticks."""
    c = controller(software, e_series=e_series)
    run_text(c, text)
    return went(c, ticks)


def went(c: Controller, ticks: int = MOST_TICKS) -> Ran:
    """Tick until no program is left, or so often."""
    said: list[object] = list(c.outbox.take())
    count = 0
    while c.program is not None and count < ticks:
        c.tick()
        until(lambda: not c.solver._jobs, "what a tick asked for is solved")  # a test's ticks wait for no clock
        said += c.outbox.take()
        count += 1
    return Ran(list(c.registers.out_doubles), said, count, c)
