# SPDX-License-Identifier: Apache-2.0
"""The variables of an FMU: what an importer sees of a program, and where each stands in the memory of the C code.

The program of a tick is what co-simulation runs. Model exchange wants more of a program with an arm: its differential
equation (`rates_program`), and law and monitors by themselves, which run at the events of the ticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.graph.emit.c_tick import CTick
from armwright.simulation.loop_programs import loop_program, rates_program

if TYPE_CHECKING:
    from armwright.graph.tick_program import Port, TickProgram
    from armwright.motion import Trajectory
    from armwright.simulation.control_loop import Loop
    from armwright.types import Array

Role = Literal["input", "reference", "parameter", "start", "result", "rate"]
"""What an importer may do: set it, set it (the arm's posture otherwise), tune it, set it before it runs, read it."""

UNITS: dict[str, dict[str, int]] = {
    "s": {"s": 1},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s^2": {"rad": 1, "s": -2},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s^2": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N m": {"kg": 1, "m": 2, "s": -2},
    "kg": {"kg": 1},
    "kg m^2": {"kg": 1, "m": 2},
    "N m/(rad/s)": {"kg": 1, "m": 2, "s": -1, "rad": -1},
    "N/(m/s)": {"kg": 1, "s": -1},
}
"""Exponents of SI units, by the units of ports; others are told in the description of a variable only."""


@dataclass(frozen=True, eq=False)
class FmuVariable:
    """A variable of an FMU: an array in FMI 3.0, its elements in 2.0.

    Attributes:
        name: as importers show it.
        port: shape, unit, meaning and start.
        place: in the C structure of the model.
        role: what may be done with it.
        reference: its value reference; that of its first element.
        continuous: whether it changes between ticks.
        state: of a rate, the variable whose derivative it is.
    """

    name: str
    port: Port
    place: str
    role: Role
    reference: int
    continuous: bool = False
    state: FmuVariable | None = None

    @property
    def unit(self) -> str:
        """Name of the unit as in Modelica; "" where it has none that `UNITS` knows."""
        return unit_name(self.port.unit) if self.port.unit in UNITS else ""


def unit_name(unit: str) -> str:
    """Return the name of a unit as in Modelica: N.m, rad/s2."""
    return unit.replace(" ", ".").replace("^", "")


Copies = tuple[tuple[str, str, "Port"], ...]
"""(to, from, port) of what is handed from one C structure to another."""


@dataclass(frozen=True, eq=False)
class FmuModel:
    """What an FMU consists of.

    Attributes:
        tick: the program of co-simulation.
        rates: the differential equation of model exchange; None without an arm, or where there is no model exchange.
        law: law and monitors at the events of model exchange; None where the tick itself is that, or is not needed.
        exchange: whether model exchange is offered.
        motion: names of the states of the arm.
    """

    tick: CTick
    rates: CTick | None = None
    law: CTick | None = None
    exchange: bool = False
    motion: tuple[str, ...] = ()

    @property
    def program(self) -> TickProgram:
        """The program of co-simulation."""
        return self.tick.program

    @property
    def has_events(self) -> bool:
        """Whether law and monitors run at events of model exchange."""
        return self.program.kind != "arm"

    @cached_property
    def variables(self) -> list[FmuVariable]:
        """All variables, in the order of their value references, which begin at 1."""
        made: list[FmuVariable] = []
        free = 1

        def add(name: str, port: Port, place: str, role: Role, **more: Any) -> FmuVariable:
            nonlocal free
            made.append(FmuVariable(name, port, place, role, free, **more))
            free += port.size
            return made[-1]

        states = {port.name: port for port in self.program.states}
        moving = dict(self.moving)
        for member, port in self.tick.groups["input"]:
            follows = port.name == "q_ref" and "q" in moving
            add(port.name, port, f"input.{member}", "reference" if follows else "input", continuous=True)
        for member, port in self.tick.groups["parameters"]:
            add(port.name, port, f"state.parameters.{member}", "parameter")
        held = {name: add(name, states[name], place, "start", continuous=True) for name, place in moving.items()}
        for member, port in self.tick.groups["output"]:
            if port.name not in held:
                add(port.name, port, f"output.{member}", "result")
        if self.rates is not None:
            for (member, port), (name, state) in zip(self.rates.groups["output"], held.items(), strict=True):
                add(f"der({name})", port, f"rates.{member}", "rate", continuous=True, state=state)
        return made

    @property
    def moving(self) -> list[tuple[str, str]]:
        """Names of the states of the arm, and their places."""
        members = {port.name: member for member, port in self.tick.groups["state"]}
        return [(name, f"state.{members[name]}") for name in self.motion]

    def places(self) -> dict[str, str]:
        """Where the inputs, parameters and states of the tick are, and its outputs that are no states."""
        places = {port.name: f"output.{member}" for member, port in self.tick.groups["output"]}
        for word, prefix in (("input", "input."), ("parameters", "state.parameters."), ("state", "state.")):
            places |= {port.name: prefix + member for member, port in self.tick.groups[word]}
        return places

    def given(self, part: CTick) -> Copies:
        """What the tick's structure gives to that of `part`: inputs, parameters, state; all of it, or KeyError."""
        places, copies = self.places(), []
        for word, prefix in (("input", "input."), ("parameters", "state.parameters."), ("state", "state.")):
            for member, port in part.groups[word]:
                if part is self.rates and port.name == "t":
                    source = "time"
                elif part is self.law and f"model_{port.name}" in places:
                    source = places[f"model_{port.name}"]
                else:
                    source = places[port.name]
                copies.append((prefix + member, source, port))
        return tuple(copies)

    def taken(self, part: CTick) -> Copies:
        """What the tick's structure takes from that of `part`: outputs and state."""
        places, copies = self.places(), []
        for word, prefix in (("output", "output."), ("state", "state.")):
            copies += [(places[port.name], prefix + member, port) for member, port in part.groups[word]]
        return tuple(copies)


def fmu_model(program: TickProgram, loop: Loop, q0: Array | None, reference: Trajectory | None) -> FmuModel:
    """Return what the FMU of a program consists of; model exchange is left out where it has no sense.

    A controller is a model of events only. An arm, and a controller with its arm, have continuous states, unless
    sensors delay what is measured, stops act at the joint limits, or the law is told what only the simulation knows.
    """
    tick = CTick(program)
    if program.kind == "controller":
        return FmuModel(tick, exchange=True)
    motion = ("q", "qd", *loop.extra_names)
    if loop.limits == "clamp" or (program.kind == "tick" and loop.sensors is not None):
        return FmuModel(tick, motion=motion)
    rates = CTick(rates_program(loop, q0, name=f"{program.name}_rates"))
    law = None
    if program.kind == "tick":
        law = CTick(loop_program(loop, "controller", q0, name=f"{program.name}_law", reference=reference))
    model = FmuModel(tick, rates, law, exchange=True, motion=motion)
    try:
        for part in (rates, law):
            if part is not None:
                model.given(part)
        if law is not None:
            model.taken(law)
    except KeyError:
        return FmuModel(tick, motion=motion)
    return model


def starts(port: Port) -> list[float]:
    """The elements of a port before the first tick."""
    return [float(value) for value in np.ravel(port.start)]
