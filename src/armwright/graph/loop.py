# SPDX-License-Identifier: Apache-2.0
"""Loops of traced stages over a shared memory, compiled as one function.

A `LoopPlan` (loop_plan.py) names slots and lists stages. `CompiledLoop` runs it for any number of lanes (independent
simulations), `host().width` of them in each SIMD group, groups over threads. `Stepper` runs a compiled loop one tick at
a time: the same machine code as a whole run, so the same numbers bit for bit.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from armwright.errors import InputError
from armwright.graph import jit
from armwright.graph.emit.llvm_loop import loop_ir
from armwright.graph.kernel import compiled
from armwright.graph.loop_plan import LoopPlan
from armwright.graph.thread_pool import run_jobs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


class LoopOutcome(NamedTuple):
    """How a run ended: ticks completed, why ("end", "not finite", "event", "stuck", "alarm"), substep of an event."""

    ticks: int
    reason: str
    substep: int


LaneTable: TypeAlias = "ArrayLike | Callable[[int, int], None]"
"""(count, ticks, columns), or a function of a group and an address that writes the (ticks, columns, width) there."""
_REASONS = ("end", "not finite", "event", "stuck", "alarm")
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 4, ctypes.c_void_p)


class CompiledLoop:
    """A compiled plan and the memories of its lanes.

    Attributes:
        plan: what runs. count: number of lanes. width: lanes in a SIMD group (1 for a single simulation).
        function: the machine code, see `armwright.graph.emit.llvm_loop`.
        memory: (groups, plan.size, width); idle lanes of the last group follow the last lane in use.
    """

    def __init__(self, plan: LoopPlan, count: int = 1, *, strict: bool = False) -> None:
        """Compile the plan (or load it from the cache) for `count` lanes; the memory starts at zero.

        A strict loop rounds every operation by itself: equal to what is exported of it, to the last bit.
        """
        self.plan = plan
        self.count = count
        self.width = 1 if count == 1 else jit.host().width
        self.groups = -(-count // self.width)
        name = f"armwright_loop_{plan.digest}_{self.width}" + ("_strict" if strict else "")
        self.function = _SIGNATURE(
            compiled((name,), name, lambda: loop_ir(plan, name, width=self.width, fma=jit.host().fma, strict=strict))
        )
        self.memory = np.zeros((self.groups, plan.size, self.width))

    @property
    def one_memory(self) -> Array:
        """All slots (size,) of a loop of one lane, in place."""
        return self.memory.reshape(-1)

    @contextmanager
    def trial(self) -> Iterator[Array]:
        """Run a block and restore the memory afterwards; yields a copy of the memory."""
        before = self.memory.copy()
        try:
            yield before
        finally:
            self.memory[...] = before

    def get(self, slot: str) -> Array:
        """Return a copy of a slot, shape (count, size)."""
        start, size = self.plan.offset(slot), self.plan.slots[slot]
        return self.memory[:, start : start + size].transpose(0, 2, 1).reshape(-1, size)[: self.count].copy()

    def set(self, slot: str, value: ArrayLike) -> None:
        """Fill a slot from (size,) for all lanes or (count, size); idle lanes of the last group repeat the last one."""
        start, size = self.plan.offset(slot), self.plan.slots[slot]
        rows = np.broadcast_to(np.asarray(value, dtype=np.float64).reshape(-1, size), (self.count, size))
        padded = np.concatenate([rows, np.repeat(rows[-1:], self.groups * self.width - self.count, axis=0)])
        self.memory[:, start : start + size] = padded.reshape(self.groups, self.width, size).transpose(0, 2, 1)

    def view(self, slot: str) -> Array:
        """Return a view of a slot (size,) of a loop with one lane: writing to it changes the state."""
        if self.count != 1:
            raise InputError(f"loop: views are of one lane, this loop has {self.count}")
        start, size = self.plan.offset(slot), self.plan.slots[slot]
        return self.memory[0, start : start + size, 0]

    def ticker(self, shared: Array, substeps: int) -> Callable[[], str]:
        """Return a call that runs one tick of one lane on the row `shared` (columns,) and says why it ended.

        Nothing is recorded or allocated; only the numbers in `shared` may change.
        """
        plan = self.plan
        if self.count != 1 or plan.lane_slots:
            raise InputError("loop: ticks one by one are for one lane without noise")
        if shared.shape != (len(plan.shared_slots),) or shared.dtype != np.float64 or not shared.flags.c_contiguous:
            raise InputError(f"loop: the shared row must be ({len(plan.shared_slots)},) float64, got {shared.shape}")
        record, status = np.empty(len(plan.record_slots)), (ctypes.c_int64 * 2)()
        unused = np.empty(1)
        places = [array.ctypes.data for array in (self.memory, shared, unused, record)]
        arguments = (*places, 1, substeps, 1, 0, ctypes.addressof(status))
        function = self.function

        def tick(_keep: tuple[object, ...] = (self.memory, shared, unused, record)) -> str:
            function(*arguments)
            return _REASONS[status[0]]

        return tick

    def bound(self, shared: Array, record: Array) -> Callable[[], None]:
        """Return a call that runs all lanes over every row of `shared`, again and again, in this thread.

        Args:
            shared: (ticks, columns) table for all lanes; its numbers may change from call to call.
            record: (groups, ticks, recorded columns, width), overwritten by every call.
        """
        plan, ticks = self.plan, len(shared)
        wanted = (self.groups, ticks, len(plan.record_slots), self.width)
        if plan.lane_slots or plan.event_slots or plan.alarm_slots or plan.until is not None:
            raise InputError("loop: bound runs are for loops without lane tables that run to their end")
        for array, shape in ((shared, (ticks, len(plan.shared_slots))), (record, wanted)):
            if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous:
                raise InputError(f"loop: a bound table must be float64 of shape {shape}, got {array.shape}")
        status = (ctypes.c_int64 * 2)()
        calls = []
        for group in range(self.groups):
            places = [array.ctypes.data for array in (self.memory[group], shared, shared, record[group])]
            calls.append((*places, ticks, 1, 1, 0, ctypes.addressof(status)))
        function = self.function

        def run(_keep: tuple[object, ...] = (self.memory, shared, record, status)) -> None:
            for arguments in calls:
                function(*arguments)

        return run

    def run(
        self,
        ticks: int,
        *,
        substeps: int = 1,
        shared: ArrayLike | None = None,
        lanes: LaneTable | None = None,
        every: int = 1,
        phase: int = 0,
        out: Array | None = None,
    ) -> tuple[Array, list[LoopOutcome]]:
        """Run `ticks` ticks of every lane.

        Args:
            ticks: how many.
            substeps: runs of the "inside" stages per tick.
            shared: (ticks, columns) table for all lanes.
            lanes: (count, ticks, columns) table, or ``lanes(group, address)`` that writes the (ticks, columns, width)
                of one group of lanes; it is called in the group's thread, just before the group runs.
            every: record one of `every` ticks, those where (tick + phase) is a multiple of it.
            phase: ticks since the last recorded one.
            out: (count, rows, columns) to write the record to; a single lane writes there directly.

        Returns:
            The record (count, rows, columns), rows recorded until the end (or until each group stopped: later rows
            are NaN), and one outcome per group of lanes.
        """
        plan = self.plan
        common_rows = _table(shared, (ticks, len(plan.shared_slots)), "shared")
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

        places = [(array.ctypes.data, array.strides[0]) for array in (self.memory, per_group, record)]
        (memory, memory_step), (given_at, given_step), (record_at, record_step) = places
        common = common_rows.ctypes.data

        def job(group: int, _keep: tuple[Array, ...] = (per_group, record, common_rows)) -> LoopOutcome:
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
            return LoopOutcome(int(done), _REASONS[status[0]], int(status[1]))

        outcomes = run_jobs(job, self.groups)
        for group, outcome in enumerate(outcomes):
            if outcome.reason != "end":  # the tick in which it stopped has been recorded; an alarm lets its tick end
                started = outcome.ticks + (outcome.reason != "alarm")
                record[group, recorded_rows(started, every, phase) :] = np.nan
        by_lane = record.transpose(0, 3, 1, 2)  # (groups, width, rows, columns)
        if out is None or self.count % self.width:
            flat = by_lane.reshape(self.groups * self.width, *by_lane.shape[2:])[: self.count]
            if out is None:
                return flat, outcomes
            out[...] = flat
        elif self.width > 1:
            out.reshape(by_lane.shape)[...] = by_lane
        return out, outcomes


_local = threading.local()


def _own_table(size: int) -> int:
    """Return the address of `size` numbers of the calling thread; they stay in its cache from group to group."""
    table: Any = getattr(_local, "table", None)
    if table is None or table.size < size:
        table = _local.table = np.empty(size)
    return int(table.ctypes.data)


def recorded_rows(ticks: int, every: int, phase: int) -> int:
    """Return the rows that `ticks` ticks record, one of `every`, those where (tick + phase) is a multiple of it."""
    return (ticks + phase + every - 1) // every - (phase + every - 1) // every


def _table(value: ArrayLike | None, shape: tuple[int, ...], what: str) -> Array:
    if value is None:
        if 0 not in shape:
            raise InputError(f"loop: a {what} table of shape {shape} is needed")
        return np.zeros(shape)
    table = np.ascontiguousarray(value, dtype=np.float64)
    if table.shape != shape:
        raise InputError(f"loop: the {what} table must have shape {shape}, got {table.shape}")
    return table


_NAME = "armwright_one_tick"
_ARGUMENTS = ("ptr",) * 4 + ("i64",) * 4 + ("ptr",)
_CALL = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # a tick is too short to let other threads in


def _thunk() -> str:
    """Return IR of a function of one address: a table of the loop's machine code and its nine arguments.

    Every argument of a foreign call costs time; nine take longer than the tick.
    """
    lines = [f"define i64 @{_NAME}(ptr %table) nounwind {{", "  %code = load ptr, ptr %table, align 8"]
    for k, kind in enumerate(_ARGUMENTS):
        lines.append(f"  %p{k} = getelementptr i64, ptr %table, i64 {k + 1}")
        lines.append(f"  %a{k} = load {kind}, ptr %p{k}, align 8")
    given = ", ".join(f"{kind} %a{k}" for k, kind in enumerate(_ARGUMENTS))
    return "\n".join([*lines, f"  %done = call i64 %code({given})", "  ret i64 %done", "}", ""])


class Stepper:
    """One lane of a plan, stepped by hand.

    Fill `shared` (a row of the plan's shared table) and call `step()`: it runs one tick and leaves the recorded slots
    in `record`. It returns 1, or 0 if a state slot is no longer finite.

    Attributes:
        shared, record: (columns,) arrays, read and written in place.
        memory: (size,) all slots, in place; `slot(name)` is a view of one.
    """

    def __init__(self, plan: LoopPlan) -> None:
        """Compile the plan for one lane, or load it; the memory starts at zero."""
        self._loop = CompiledLoop(plan, 1)
        self.plan = plan
        self.memory: Any = self._loop.one_memory
        self.shared = np.zeros(len(plan.shared_slots))
        self.record = np.zeros(len(plan.record_slots))
        self._status = (ctypes.c_int64 * 2)()
        code = int(ctypes.cast(self._loop.function, ctypes.c_void_p).value or 0)
        places = [code, *(int(array.ctypes.data) for array in (self.memory, self.shared, self.shared, self.record))]
        self._table = (ctypes.c_int64 * 10)(*places, 1, 1, 1, 0, ctypes.addressof(self._status))
        one = _CALL(compiled((_NAME,), _NAME, _thunk))
        self.step = partial(one, ctypes.c_void_p(ctypes.addressof(self._table)))

    def run(self, rows: Array) -> Array:
        """Run a tick for each of `rows` (k, columns of `shared`) up to one that `step` would return 0 for.

        Returns:
            The records of those before it (≤ k, columns).
        """
        records, (outcome,) = self._loop.run(len(rows), shared=rows)
        done: Array = records[0, : outcome.ticks]
        if len(done):
            self.record[...] = done[-1]
        return done

    def slot(self, name: str) -> Array:
        """View of a slot (size,); writing to it changes the state."""
        start = self.plan.offset(name)
        return self.memory[start : start + self.plan.slots[name]]
