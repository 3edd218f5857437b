# SPDX-License-Identifier: Apache-2.0
"""Many simulations side by side, each of which may begin anew by itself: the compiled loop under environments.

Every simulation is a lane of the loop: its state, the memory of its law and monitors, its numbers are slots. To begin
one anew is to write its slots. Nothing stops a loop here, no event, no alarm, no number that is not finite: such a
stop would end the whole SIMD group. Whoever asks reads the recorded slots of the lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.simulation.running_loop import RunningLoop
from armwright.simulation.session import loop_plan, pure_law_stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.simulation.control_loop import Loop
    from armwright.types import Array


class LaneSimulation:
    """Lanes of a loop that run `ticks` ticks at a time.

    Attributes:
        loop: what runs. count: lanes. ticks: of one `run`. period: of one `run` [s]. slots: their names.
        watched: slots recorded at every tick.
    """

    def __init__(self, loop: Loop, count: int, ticks: int, *, watched: Sequence[str] = ()) -> None:
        """Compile the loop for `count` lanes; they stand at zero until they are `put` somewhere.

        Args:
            loop: one arm; gains of its law that differ between lanes are given as one row, (1, size).
            count: number of lanes.
            ticks: control ticks of one `run`.
            watched: slots to be recorded at every tick, such as "alarm".
        """
        if loop.sensors is not None or loop.method.adaptive or loop.continuous or loop.stops or loop.substeps > 1:
            raise InputError(
                "lanes: loops with sensors, events, substeps, adaptive steps or a continuous law are not taken"
            )
        rows = {k: np.broadcast_to(loop.law.gains[k], (count, np.shape(loop.law.gains[k])[1])) for k in loop.gains_vary}
        law = replace(loop.law, gains={**loop.law.gains, **rows})
        parts = replace(loop, law=law, batch=True, stop_on_alarm=False, plant=loop.lanes)
        plan = loop_plan(parts, pure_law_stage(parts))
        missing = [name for name in watched if name not in plan.slots]
        if missing:
            raise InputError(f"lanes: no slot {missing[0]!r}; slots are {', '.join(plan.slots)}")
        plan = replace(plan, record=tuple(watched), state=())
        running = RunningLoop(parts, plan, count=count, every=1, seeds=range(count), called=False)
        running.start(np.zeros(parts.size))
        self.loop, self.count, self.ticks, self.watched = loop, count, ticks, tuple(watched)
        self.period, self.slots = ticks * loop.period, frozenset(plan.slots)
        self._lanes = running.loop
        self._fresh = self._lanes.memory[0, :, 0].copy()
        shared = np.zeros((ticks, len(plan.shared_slots)))
        self._record = np.zeros((self._lanes.groups, ticks, len(plan.record_slots), self._lanes.width))
        self._run: Callable[[], None] = self._lanes.bound(shared, self._record)

    def get(self, slot: str) -> Array:
        """Copy of a slot of all lanes, (count, size)."""
        return self._lanes.get(slot)

    def set(self, slot: str, rows: Array) -> None:
        """Write a slot of all lanes from (count, size)."""
        self._lanes.set(slot, rows)

    def put(self, lanes: NDArray[np.int64], slots: Mapping[str, Array]) -> None:
        """Begin these lanes anew: law and monitors forget, then each of `slots`, rows (len(lanes), size), is written.

        Other lanes go on.
        """
        group, lane = np.divmod(lanes, self._lanes.width)
        memory, plan = self._lanes.memory, self._lanes.plan
        memory[group, :, lane] = self._fresh
        for name, rows in slots.items():
            start, size = plan.offset(name), plan.slots[name]
            memory[group, start : start + size, lane] = rows

    def run(self) -> dict[str, Array]:
        """Run all lanes for `ticks` ticks; return what was watched, (count, ticks, size) each."""
        self._run()
        found: dict[str, Array] = {}
        start, lanes = 0, self._lanes
        flat: Any = self._record.transpose(0, 3, 1, 2).reshape(lanes.groups * lanes.width, self.ticks, -1)
        for name in self.watched:
            size = lanes.plan.slots[name]
            found[name] = flat[: self.count, :, start : start + size]
            start += size
        return found
