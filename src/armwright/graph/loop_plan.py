# SPDX-License-Identifier: Apache-2.0
"""The plan of a loop: named slots of a shared memory, and traced stages that read and write them.

`armwright.graph.loop.CompiledLoop` compiles a `LoopPlan` and runs it; `emit/llvm_loop.py` writes it as machine code.
"""

from __future__ import annotations

import hashlib
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, Signature
from typing import Literal

from armwright.errors import InputError
from armwright.graph.traced_program import TracedProgram, trace
from armwright.types import Symbolic

Slots = dict[str, Symbolic]
When = Literal["before", "inside", "after"]


@dataclass(frozen=True, eq=False)
class Stage:
    """A program in a loop: which slot each input reads and each output writes (same name unless given)."""

    program: TracedProgram
    when: When
    reads: Mapping[str, str]
    writes: Mapping[str, str]


def stage(
    program: TracedProgram, when: When, reads: Mapping[str, str] | None = None, writes: Mapping[str, str] | None = None
) -> Stage:
    """Bind a program to slots; names that are not mapped keep their own."""
    return Stage(
        program,
        when,
        {s.name: (reads or {}).get(s.name, s.name) for s in program.inputs},
        {s.name: (writes or {}).get(s.name, s.name) for s in program.outputs},
    )


def traced_stage(function: Callable[[Slots], Slots], shapes: Mapping[str, tuple[int, ...]], name: str) -> TracedProgram:
    """Trace a function of a dictionary of slots that returns a dictionary of slots."""

    def body(**slots: Symbolic) -> tuple[Symbolic, ...]:
        result = function(slots)
        return namedtuple("Slots", list(result))(**result)

    body.__signature__ = Signature([Parameter(k, Parameter.KEYWORD_ONLY) for k in shapes])  # type: ignore[attr-defined]
    return trace(body, dict(shapes), name=name)


@dataclass(frozen=True, eq=False)
class LoopPlan:
    """What a loop does.

    Attributes:
        slots: size of every named slot, in memory order.
        stages: in the order in which they run at their time.
        shared, lanes: slots that are refilled from a table every tick: the same for all lanes, or one value per lane.
        record: slots that are written out.
        events: slots whose elements, where they rise through zero during a substep, stop the loop.
        state: slots that must stay finite.
        alarms: slots whose elements, where they rise through zero from one tick to the next, stop the loop after that
            tick.
        until: a slot of one number; substeps go on while it is positive (adaptive steps); the loop stops as stuck
            after `substeps`.
        flowing: write the code of a stage with every load next to its first use and every store next to its value: for
            stages that work on matrices.
    """

    slots: Mapping[str, int]
    stages: tuple[Stage, ...]
    shared: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    until: str | None = None
    alarms: tuple[str, ...] = ()
    flowing: bool = False

    def __post_init__(self) -> None:
        """Check that every stage finds its slots, with the right sizes."""
        for part in self.stages:
            for signals, names in ((part.program.inputs, part.reads), (part.program.outputs, part.writes)):
                for signal in signals:
                    size = self.slots.get(names[signal.name])
                    if size != signal.size:
                        raise InputError(
                            f"{part.program.name}: {signal.name} has {signal.size} elements, "
                            f"slot {names[signal.name]!r} has {size}"
                        )

    @cached_property
    def _offsets(self) -> dict[str, int]:
        offsets, start = {}, 0
        for name, size in self.slots.items():
            offsets[name] = start
            start += size
        return offsets

    @property
    def size(self) -> int:
        """Number of memory slots."""
        return sum(self.slots.values())

    def offset(self, slot: str) -> int:
        """First position of a slot."""
        return self._offsets[slot]

    def positions(self, names: tuple[str, ...]) -> list[int]:
        """Positions of all elements of the named slots, in order."""
        return [self.offset(name) + k for name in names for k in range(self.slots[name])]

    @cached_property
    def shared_slots(self) -> list[int]:
        """Positions refilled from the shared table."""
        return self.positions(self.shared)

    @cached_property
    def lane_slots(self) -> list[int]:
        """Positions refilled from the per-lane table."""
        return self.positions(self.lanes)

    @cached_property
    def record_slots(self) -> list[int]:
        """Positions written to the record."""
        return self.positions(self.record)

    @cached_property
    def event_slots(self) -> list[int]:
        """Positions watched for a rise through zero."""
        return self.positions(self.events)

    @cached_property
    def alarm_slots(self) -> list[int]:
        """Positions watched from tick to tick."""
        return self.positions(self.alarms)

    @cached_property
    def state_slots(self) -> list[int]:
        """Positions that must stay finite."""
        return self.positions(self.state)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the whole loop."""
        parts = [(s.program.digest, s.when, sorted(s.reads.items()), sorted(s.writes.items())) for s in self.stages]
        text = repr(
            (
                list(self.slots.items()),
                parts,
                self.shared,
                self.lanes,
                self.record,
                self.events,
                self.state,
                self.until,
                self.alarms,
                *(["flowing"] if self.flowing else []),
            )
        )
        return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()
