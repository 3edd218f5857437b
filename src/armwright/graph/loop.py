# SPDX-License-Identifier: Apache-2.0
"""Loops of traced stages over a shared memory, compiled as one function.

A `LoopPlan` names slots (vectors of numbers) and lists stages: traced programs that read and write slots, once a tick
or once a substep. `Loop` runs it for any number of lanes (independent simulations), `host().width` of them in each
SIMD group, groups over threads.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.graph import jit
from armwright.graph.emit.llvm_loop import loop_ir
from armwright.graph.kernel import compiled
from armwright.graph.program import Program
from armwright.graph.threads import run_jobs

When = Literal["before", "inside", "after"]


@dataclass(frozen=True, eq=False)
class Stage:
    """A program at work in a loop: which slot each input reads and each output writes (same name unless given)."""

    program: Program
    when: When
    reads: Mapping[str, str]
    writes: Mapping[str, str]


def stage(
    program: Program, when: When, reads: Mapping[str, str] | None = None, writes: Mapping[str, str] | None = None
) -> Stage:
    """Bind a program to slots; names that are not mapped keep their own."""
    return Stage(
        program,
        when,
        {s.name: (reads or {}).get(s.name, s.name) for s in program.inputs},
        {s.name: (writes or {}).get(s.name, s.name) for s in program.outputs},
    )


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
            )
        )
        return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


class Outcome(NamedTuple):
    """How a run ended: ticks completed, why ("end", "not finite", "event", "stuck", "alarm"), substep of an event."""

    ticks: int
    reason: str
    substep: int


_REASONS = ("end", "not finite", "event", "stuck", "alarm")
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 4, ctypes.c_void_p)


class Loop:
    """A compiled plan and the memories of its lanes.

    Attributes:
        plan: what runs. count: number of lanes. width: lanes in a SIMD group (1 for a single simulation).
        function: the machine code, see `armwright.graph.emit.llvm_loop`.
    """

    def __init__(self, plan: LoopPlan, count: int = 1) -> None:
        """Compile the plan (or load it from the cache) for `count` lanes; the memory starts at zero."""
        self.plan = plan
        self.count = count
        self.width = 1 if count == 1 else jit.host().width
        self.groups = -(-count // self.width)
        name = f"armwright_loop_{plan.digest}_{self.width}"
        self.function = _SIGNATURE(
            compiled((name,), name, lambda: loop_ir(plan, name, width=self.width, fma=jit.host().fma))
        )
        self._memory = np.zeros((self.groups, plan.size, self.width))

    @property
    def one_memory(self) -> Any:
        """All slots (size,) of a loop of one lane, in place."""
        return self._memory.reshape(-1)

    def get(self, slot: str) -> Any:
        """Return a copy of a slot, shape (count, size)."""
        start, size = self.plan.offset(slot), self.plan.slots[slot]
        return self._memory[:, start : start + size].transpose(0, 2, 1).reshape(-1, size)[: self.count].copy()

    def set(self, slot: str, value: Any) -> None:
        """Fill a slot from (size,) for all lanes or (count, size); idle lanes of the last group repeat the last one."""
        start, size = self.plan.offset(slot), self.plan.slots[slot]
        rows = np.broadcast_to(np.asarray(value, dtype=np.float64).reshape(-1, size), (self.count, size))
        padded = np.concatenate([rows, np.repeat(rows[-1:], self.groups * self.width - self.count, axis=0)])
        self._memory[:, start : start + size] = padded.reshape(self.groups, self.width, size).transpose(0, 2, 1)

    def run(
        self,
        ticks: int,
        *,
        substeps: int = 1,
        shared: Any = None,
        lanes: Any = None,
        every: int = 1,
        phase: int = 0,
        out: Any = None,
    ) -> tuple[Any, list[Outcome]]:
        """Run `ticks` ticks of every lane.

        Args:
            ticks: how many.
            substeps: runs of the "inside" stages per tick.
            shared: (ticks, columns) table for all lanes.
            lanes: (count, ticks, columns) table, or ``lanes(group, address)`` that writes the (ticks, columns, width)
                of one group of lanes; it is called in the group's thread, just before the group runs.
            every: record every so many ticks, starting where (tick + phase) is a multiple of it.
            phase: ticks since the last recorded one.
            out: (count, rows, columns) to write the record to; a single lane writes there directly.

        Returns:
            The record (count, rows, columns), rows recorded until the end (or until each group stopped: later rows
            are NaN), and one outcome per group of lanes.
        """
        plan = self.plan
        shared = _table(shared, (ticks, len(plan.shared_slots)), "shared")
        rows = recorded_rows(ticks, every, phase)
        if out is not None and self.width == 1:
            record = out.reshape(self.groups, rows, len(plan.record_slots), 1)
        else:
            record = np.empty((self.groups, rows, len(plan.record_slots), self.width))
        columns = len(plan.lane_slots)
        if plan.lane_slots and not callable(lanes):
            given = _table(lanes, (self.count, ticks, len(plan.lane_slots)), "lanes")
            padded = np.concatenate([given, np.repeat(given[-1:], self.groups * self.width - self.count, axis=0)])
            per_group = np.ascontiguousarray(padded.reshape(self.groups, self.width, ticks, -1).transpose(0, 2, 3, 1))
        else:
            per_group = np.zeros((self.groups, 0))

        places = [(array.ctypes.data, array.strides[0]) for array in (self._memory, per_group, record)]
        (memory, memory_step), (given_at, given_step), (record_at, record_step) = places
        common = shared.ctypes.data

        def job(group: int, _keep: Any = (per_group, record, shared)) -> Outcome:
            status = (ctypes.c_int64 * 2)()
            own = given_at + group * given_step
            if callable(lanes):
                own = _own_table(ticks * columns * self.width)
                lanes(group, own)
            done = self.function(
                memory + group * memory_step,
                common,
                own,
                record_at + group * record_step,
                ticks,
                substeps,
                every,
                phase,
                ctypes.addressof(status),
            )
            return Outcome(int(done), _REASONS[status[0]], int(status[1]))

        outcomes = run_jobs(job, self.groups)
        for group, outcome in enumerate(outcomes):
            if outcome.reason != "end":  # the tick in which it stopped has been recorded; an alarm lets its tick end
                started = outcome.ticks + (outcome.reason != "alarm")
                record[group, recorded_rows(started, every, phase) :] = np.nan
        by_lane = record.transpose(0, 3, 1, 2)  # (groups, width, rows, columns)
        if out is None or self.count % self.width:
            flat = by_lane.reshape(-1, *by_lane.shape[2:])[: self.count]
            if out is None:
                return flat, outcomes
            out[...] = flat
        elif self.width > 1:
            out.reshape(by_lane.shape)[...] = by_lane
        return out, outcomes


_local = threading.local()


def _own_table(size: int) -> int:
    """Address of `size` numbers of the calling thread; they stay in its cache from group to group."""
    table: Any = getattr(_local, "table", None)
    if table is None or table.size < size:
        table = _local.table = np.empty(size)
    return int(table.ctypes.data)


def recorded_rows(ticks: int, every: int, phase: int) -> int:
    """Rows that `ticks` ticks record, every so many, starting where (tick + phase) is a multiple of it."""
    return (ticks + phase + every - 1) // every - (phase + every - 1) // every


def _table(value: Any, shape: tuple[int, ...], what: str) -> Any:
    if value is None:
        if 0 not in shape:
            raise InputError(f"loop: a {what} table of shape {shape} is needed")
        return np.zeros(shape)
    table = np.ascontiguousarray(value, dtype=np.float64)
    if table.shape != shape:
        raise InputError(f"loop: the {what} table must have shape {shape}, got {table.shape}")
    return table
