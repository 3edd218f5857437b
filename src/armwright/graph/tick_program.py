# SPDX-License-Identifier: Apache-2.0
"""A tick as one program, with what its numbers mean: what leaves this library as C, as an FMU, or as a page.

The program maps (inputs, parameters, state) to (outputs, new state). Inputs come anew at every tick; parameters keep
their values unless somebody changes them; the state is what the tick remembers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.graph.traced_program import TracedProgram
    from armwright.types import Array

NEXT = "_next"
"""What the name of a state gets among the outputs of the program."""
OUT = "out_"
"""What the name of an output gets as a slot of `TickProgram.plan`: a state may be an output, too."""


@dataclass(frozen=True, eq=False, repr=False)
class Port:
    """A named array that goes into a tick or comes out of it.

    Attributes:
        name: an identifier. shape: () for a scalar. unit: "" for a pure number.
        meaning: in words. labels: of the elements, such as the joints' names; () if there are none.
        start: value before the first tick, of `shape`.
    """

    name: str
    shape: tuple[int, ...]
    unit: str = ""
    meaning: str = ""
    labels: tuple[str, ...] = ()
    start: Any = 0.0

    def __post_init__(self) -> None:
        """Freeze the start, in the shape of the port."""
        start = np.array(np.broadcast_to(np.asarray(self.start, dtype=np.float64), self.shape))
        start.flags.writeable = False
        object.__setattr__(self, "start", start)

    def __repr__(self) -> str:
        """Return name, shape and unit."""
        return f"Port({self.name} {self.shape}{f' {self.unit}' if self.unit else ''})"

    @property
    def size(self) -> int:
        """Number of scalars."""
        return prod(self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class TickProgram:
    """One tick of a controller, or of a controller with its arm.

    Attributes:
        name: an identifier. kind: "controller" or "tick" (with the plant). robot: name of the arm.
        period: of a tick [s]. parts: in words, what runs in it, in order.
        inputs, parameters, states, outputs: the ports, in the order of the program.
        program: inputs, parameters and states → outputs and new states (``<state>_next``).
    """

    name: str
    kind: str
    robot: str
    period: float
    parts: tuple[str, ...]
    inputs: tuple[Port, ...]
    parameters: tuple[Port, ...]
    states: tuple[Port, ...]
    outputs: tuple[Port, ...]
    program: TracedProgram = field(repr=False)

    def __post_init__(self) -> None:
        """Check that the ports are those of the program."""
        given = [(port.name, port.shape) for port in (*self.inputs, *self.parameters, *self.states)]
        made = [(port.name, port.shape) for port in self.outputs]
        made += [(port.name + NEXT, port.shape) for port in self.states]
        for what, ports, signals in (("inputs", given, self.program.inputs), ("outputs", made, self.program.outputs)):
            if ports != [(signal.name, signal.shape) for signal in signals]:
                raise InputError(f"tick program: {what} of the program are {signals}, the ports {ports}")
        names = [name for name, _ in given]
        if len(set(names)) < len(names):
            raise InputError(f"tick program: a name occurs twice among {', '.join(names)}")

    def __repr__(self) -> str:
        """Return the names that go in and come out."""
        groups = {"in": self.inputs, "parameters": self.parameters, "state": self.states, "out": self.outputs}
        told = "; ".join(f"{k}: {', '.join(port.name for port in ports)}" for k, ports in groups.items() if ports)
        return f"TickProgram({self.name}, {self.period:g} s a tick; {told})"

    def port(self, name: str) -> Port:
        """Return the input, parameter or state of a name."""
        for port in (*self.inputs, *self.parameters, *self.states):
            if port.name == name:
                return port
        raise InputError(f"{self.name} has no {name!r}; it has {', '.join(self.starts)}")

    @property
    def starts(self) -> dict[str, Array]:
        """Values of all inputs, parameters and states before the first tick."""
        return {port.name: port.start for port in (*self.inputs, *self.parameters, *self.states)}

    def starting(self, **values: Any) -> TickProgram:
        """Return the program with other values before the first tick.

        >>> program.starting(q=q0, q_ref=q0)
        """
        for name, value in values.items():
            if np.shape(value) not in ((), self.port(name).shape):
                raise InputError(f"{self.name}: {name} has shape {self.port(name).shape}, got {np.shape(value)}")

        def changed(ports: tuple[Port, ...]) -> tuple[Port, ...]:
            return tuple(replace(port, start=values.get(port.name, port.start)) for port in ports)

        return replace(
            self, inputs=changed(self.inputs), parameters=changed(self.parameters), states=changed(self.states)
        )

    @cached_property
    def plan(self) -> LoopPlan:
        """The program as a loop of one stage: inputs are given at every tick, outputs are recorded."""
        slots = {port.name: port.size for port in (*self.inputs, *self.parameters, *self.states)}
        slots |= {OUT + port.name: port.size for port in self.outputs}
        writes = {port.name: OUT + port.name for port in self.outputs}
        writes |= {port.name + NEXT: port.name for port in self.states}
        return LoopPlan(
            slots,
            (stage(self.program, "before", {}, writes),),
            shared=tuple(port.name for port in self.inputs),
            record=tuple(OUT + port.name for port in self.outputs),
        )

    def columns(self, ports: Sequence[Port]) -> dict[str, slice]:
        """Where the ports stand in a row that has them side by side."""
        ends = np.cumsum([0, *(port.size for port in ports)])
        return {port.name: slice(int(a), int(b)) for port, a, b in zip(ports, ends[:-1], ends[1:], strict=True)}

    def run(
        self,
        inputs: Mapping[str, Any],
        *,
        ticks: int | None = None,
        strict: bool = True,
        start: Mapping[str, Any] | None = None,
    ) -> dict[str, Array]:
        """Run ticks: the twin that everything written from this program is compared with.

        Args:
            inputs: by name, (T, *shape); those that are left out keep their start.
            ticks: how many, T; what the inputs have if omitted.
            strict: the strict build, equal to exported code to the last bit; otherwise the default one.
            start: other values than `Port.start` before the first tick, by name.

        Returns:
            outputs by name, (T, *shape), and ``<state>_next`` (*shape) after the last tick.
        """
        strange = sorted(set(inputs) - {port.name for port in self.inputs})
        if strange:
            known = ", ".join(port.name for port in self.inputs)
            raise InputError(f"{self.name}: no input {', '.join(strange)}; inputs are {known}")
        lengths = {len(np.asarray(value)) for value in inputs.values()} | (set() if ticks is None else {ticks})
        if len(lengths) != 1:
            raise InputError(f"{self.name}: give inputs of one length, or ticks, got {sorted(lengths)}")
        ticks = lengths.pop()
        table = np.empty((ticks, sum(port.size for port in self.inputs)))
        for port, where in zip(self.inputs, self.columns(self.inputs).values(), strict=True):
            value = inputs.get(port.name, np.broadcast_to(port.start, (ticks, *port.shape)))
            table[:, where] = np.asarray(value, dtype=np.float64).reshape(ticks, port.size)
        loop = CompiledLoop(self.plan, strict=strict)
        for name, value in {**self.starts, **(start or {})}.items():
            loop.set(name, np.ravel(np.broadcast_to(value, self.port(name).shape)))
        record, _ = loop.run(ticks, shared=table if self.inputs else None)
        made = {
            port.name: record[0][:, where].reshape(ticks, *port.shape)
            for port, where in zip(self.outputs, self.columns(self.outputs).values(), strict=True)
        }
        return made | {port.name + NEXT: loop.get(port.name)[0].reshape(port.shape) for port in self.states}
