# SPDX-License-Identifier: Apache-2.0
"""A compiled loop one tick at a time: the same machine code as a whole run, so the same numbers bit for bit."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import numpy as np

from armwright.graph.kernel import compiled
from armwright.graph.loop import Loop
from armwright.graph.loop_plan import LoopPlan

_NAME = "armwright_one_tick"
_ARGUMENTS = ("ptr",) * 4 + ("i64",) * 4 + ("ptr",)
_CALL = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)  # a tick is too short to let other threads in


def _thunk() -> str:
    """IR of a function of one address: a table of the loop's machine code and its nine arguments.

    A foreign call costs Python by the argument; nine take longer than the tick.
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
        self._loop = Loop(plan, 1)
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

    def slot(self, name: str) -> Any:
        """View of a slot (size,); writing to it changes the state."""
        start = self.plan.offset(name)
        return self.memory[start : start + self.plan.slots[name]]
