# SPDX-License-Identifier: Apache-2.0
"""One tick of a simulation: its stages in order, the slots between them, what is recorded and what stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.contact import monitor as monitors
from armwright.graph.loop_plan import LoopPlan, Slots, Stage, stage, traced_stage
from armwright.simulation.loop_stages import monitor_stage, slot_name
from armwright.simulation.step_stages import step_stages

if TYPE_CHECKING:
    from armwright.simulation.loop_stages import Ingredients


def loop_plan(parts: Ingredients, law: Stage | None) -> LoopPlan:
    """Put the stages and slots together; without the law's stage, Python calls the law."""
    n, law_in_loop = parts.n, law is not None
    stages = [] if law is None else [law]
    stages += [monitor_stage(parts)] if parts.monitors else []
    stages += step_stages(parts)
    slots: dict[str, int] = {"x": parts.size, "tau": n, "t": 1, "past": 1, "h": 1, "ref": 3 * n}
    for part in stages:
        for signals, names in ((part.program.inputs, part.reads), (part.program.outputs, part.writes)):
            slots |= {names[s.name]: s.size for s in signals}
    adaptive = parts.method.adaptive

    def begin(s: Slots) -> Slots:
        none = 0.0 * s["t"]
        return {"past": none, "left": none + parts.period} if adaptive else {"past": none}

    reset = traced_stage(begin, {"t": (1,)}, "reset")
    shared = ["t", "ref", *(["ref_next"] if parts.continuous else [])]
    lanes = []
    if parts.sensors is not None and law_in_loop:
        lanes = ["noise"]
        shared += ["fresh"] if parts.sensors.every > 1 else []
    record = (
        ["t", "x", "tau"]
        + [k for k in slots if k.startswith("memory_")]
        + (["measured"] if "measured" in slots else [])
    )
    watched = [slot_name(name) for name in monitors.labels(parts.monitors).values()]
    record += watched
    alarms = tuple(name for name in watched if name.endswith("alarm")) if parts.stop_on_alarm else ()
    slots |= {"left": 1} if parts.method.adaptive else {}
    return LoopPlan(
        slots,
        (stage(reset, "before"), *stages),
        tuple(shared),
        tuple(lanes),
        tuple(record),
        ("event",) if parts.events else (),
        ("x", "tau"),
        "left" if adaptive else None,
        alarms,
    )
