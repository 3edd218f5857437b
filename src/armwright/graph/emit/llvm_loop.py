# SPDX-License-Identifier: Apache-2.0
"""A whole closed loop as one LLVM function: stages over a shared memory, ticks, substeps, recording, events.

The loop's memory is a vector of slots; slot s of lane l stands at ``memory[s·width + l]``, so that `width`
simulations run side by side without any transposition. The function is

    i64 name(ptr memory, ptr shared, ptr lanes, ptr record, i64 ticks, i64 substeps, i64 every, i64 phase, ptr status)

Per tick: a row of `shared` (one number for all lanes) and of `lanes` (a number per lane) is copied into the memory,
the stages "before" run once, a row is recorded if (tick + phase) mod every = 0, the stages "inside" run `substeps`
times (or, if the plan has an `until` slot, while it is positive in some lane), the stages "after" once. It returns
the ticks completed; status[0] tells why it stopped (0 end, 1 not finite, 2 event, 3 `until` still positive after all
substeps, 4 alarm: that tick is complete) and status[1] the substep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from armwright.graph.emit.llvm import WHOLE, Columns, emit_nodes, emit_program
from armwright.graph.emit.llvm_math import LaneWriter
from armwright.graph.ops import Op

if TYPE_CHECKING:
    from armwright.graph.loop_plan import LoopPlan, Stage
    from armwright.graph.traced_program import ProgramSignal

STORES_IN_BLOCK = 48  # LLVM's time for a block grows with the square of its stores
DONE, NOT_FINITE, EVENT, STUCK, ALARM = 0, 1, 2, 3, 4


def _stage(plan: LoopPlan, stage: Stage, name: str, w: LaneWriter, declarations: set[str]) -> str:
    """Emit one stage as a function of the memory."""
    width = w.width
    program = stage.program
    used = {node.value for node in program.nodes if node.op is Op.INPUT}
    columns: list[list[str | None]] = []
    for k, signal in enumerate(program.inputs):
        start = plan.offset(stage.reads[signal.name])
        column: list[str | None] = [None] * signal.size
        for element in range(signal.size):
            if (k, element) in used:
                column[element] = w.emit(f"load {w.type}, ptr {w.offset('%m', (start + element) * width)}, align 8")
        columns.append(column)
    value = emit_program(w, program, columns)
    for signal, result in zip(program.outputs, program.results, strict=True):
        start = plan.offset(stage.writes[signal.name])
        for element, node in enumerate(result):
            w.line(f"store {w.type} {value[node]}, ptr {w.offset('%m', (start + element) * width)}, align 8")
    w.line("ret void")
    declarations |= w.declarations
    return "\n".join([f"define internal void @{name}(ptr %m) #0 {{", *w.start(), *w.lines, "}"])


def emit_stages(
    plan: LoopPlan, inputs: Sequence[ProgramSignal], name: str, w: LaneWriter, columns: Columns
) -> _SlotRegisters:
    """Run all stages once over a memory on the stack, filled from the registers of the inputs; return its places."""
    w.memory["slots"] = plan.size * w.width
    for signal, column in zip(inputs, columns, strict=True):
        start = plan.offset(signal.name)
        for element, register in enumerate(column):
            w.line(f"store {w.type} {register}, ptr {w.offset('%slots', (start + element) * w.width)}, align 8")
    labels: dict[int, str] = {}
    for stage in plan.stages:
        if id(stage) not in labels:
            labels[id(stage)] = f"{name}_stage{len(labels)}"
            own: set[str] = set()
            writer = LaneWriter(w.width, fma=w.fma)
            w.declarations.add(_flowing(plan, stage, labels[id(stage)], writer, own))
            w.declarations |= own
        w.line(f"call void @{labels[id(stage)]}(ptr %slots)")
    return _SlotRegisters(w)


def _flowing(plan: LoopPlan, stage: Stage, name: str, w: LaneWriter, declarations: set[str]) -> str:
    """Emit a stage as `_stage` does, with every load next to its first use and every store next to its value.

    Few values are alive at a time. Matrices that are all loaded, then worked on, then all stored take LLVM several
    times as long.
    """
    program = stage.program
    if len(program.nodes) > WHOLE:
        return _stage(plan, stage, name, w, declarations)
    value = _FlowingValues(w, plan, stage)
    emit_nodes(w, program, value, range(len(program.nodes)))
    value.finish()
    w.line("ret void")
    declarations |= w.declarations
    return "\n".join([f"define internal void @{name}(ptr %m) #0 {{", *w.start(), *w.lines, "}"])


class _FlowingValues(dict[int, str]):
    """Registers by node. Inputs are loaded when asked for, results stored when known.

    A place that is read and written is read before it is written.
    """

    def __init__(self, w: LaneWriter, plan: LoopPlan, stage: Stage) -> None:
        super().__init__()
        self.w, program, self.stored = w, stage.program, 0
        starts = [plan.offset(stage.reads[s.name]) for s in program.inputs]
        self.source = {
            k: starts[node.value[0]] + node.value[1] for k, node in enumerate(program.nodes) if node.op is Op.INPUT
        }
        self.unread = {place: k for k, place in self.source.items()}
        self.targets: dict[int, list[int]] = {}
        for signal, result in zip(program.outputs, program.results, strict=True):
            start = plan.offset(stage.writes[signal.name])
            for element, node in enumerate(result):
                self.targets.setdefault(node, []).append(start + element)

    def _at(self, place: int) -> str:
        return self.w.offset("%m", place * self.w.width)

    def __missing__(self, k: int) -> str:
        place = self.source[k]
        self.unread.pop(place, None)
        register = self.w.emit(f"load {self.w.type}, ptr {self._at(place)}, align 8")
        super().__setitem__(k, register)
        return register

    def __setitem__(self, k: int, register: str) -> None:
        super().__setitem__(k, register)
        self._store(k)

    def _store(self, k: int) -> None:
        for place in self.targets.pop(k, ()):
            if place in self.unread:
                self[self.unread[place]]
            self.w.line(f"store {self.w.type} {self[k]}, ptr {self._at(place)}, align 8")
            self.stored += 1
            if self.stored % STORES_IN_BLOCK == 0:
                label = self.w.label()
                self.w.line(f"br label %{label}")
                self.w.raw(f"{label}:")

    def finish(self) -> None:
        """Store the results that are inputs themselves: all are loaded before the first is stored."""
        for k in self.targets:
            self[k]
        for k in list(self.targets):
            self._store(k)


class _SlotRegisters(dict[int, str]):
    """Registers by place in the memory, loaded when they are asked for."""

    def __init__(self, w: LaneWriter) -> None:
        super().__init__()
        self.w = w

    def __missing__(self, place: int) -> str:
        return self.w.emit(f"load {self.w.type}, ptr {self.w.offset('%slots', place * self.w.width)}, align 8")


def _copy_row(w: LaneWriter, source: str, slots: Sequence[int], *, shared: bool) -> None:
    """Copy a table row into memory slots: scalars spread over the lanes, or one vector per slot."""
    for k, slot in enumerate(slots):
        if shared and w.width > 1:
            scalar = w.emit(f"load double, ptr {w.offset(source, k)}, align 8")
            first = w.emit(f"insertelement {w.type} poison, double {scalar}, i32 0")
            value = w.shuffle(first, "poison", [0] * w.width)
        else:
            value = w.emit(f"load {w.type}, ptr {w.offset(source, k * w.width)}, align 8")
        w.line(f"store {w.type} {value}, ptr {w.offset('%memory', slot * w.width)}, align 8")


def _rises(w: LaneWriter, slots: Sequence[int], befores: Sequence[str]) -> str:
    """Emit whether a slot that was negative no longer is, in any lane."""
    crossed = "false"
    for slot, before in zip(slots, befores, strict=True):
        after = w.emit(f"load {w.type}, ptr {w.offset('%memory', slot * w.width)}, align 8")
        low = w.emit(f"fcmp olt {w.type} {before}, {w.literal(0.0)}")
        high = w.emit(f"fcmp oge {w.type} {after}, {w.literal(0.0)}")
        crossed = w.emit(f"or i1 {crossed}, {w.any_lane(w.emit(f'and {w.truth_type} {low}, {high}'))}")
    return crossed


def loop_ir(plan: LoopPlan, name: str, *, width: int, fma: bool, strict: bool = False) -> str:
    """Return a complete LLVM module with one loop (see the module text); strict: every operation rounds by itself."""
    declarations: set[str] = set()
    functions: list[str] = []
    calls: dict[str, list[str]] = {"before": [], "inside": [], "after": []}
    labels: dict[int, str] = {}
    for stage in plan.stages:
        if id(stage) not in labels:  # a stage that occurs several times is one function, called several times
            labels[id(stage)] = f"{name}_stage{len(labels)}"
            emit = _flowing if plan.flowing else _stage
            own = LaneWriter(width, fma=fma, strict=strict)
            functions.append(emit(plan, stage, labels[id(stage)], own, declarations))
        calls[stage.when].append(f"call void @{labels[id(stage)]}(ptr %memory)")
    w = LaneWriter(width, fma=fma, strict=strict)
    w.raw("entry:")
    w.line("br label %head")
    w.raw("head:")
    w.line(f"%tick = phi i64 [0, %entry], [%following, %{'onward' if plan.alarm_slots else 'tail'}]")
    w.line("%more = icmp slt i64 %tick, %ticks")
    w.line("br i1 %more, label %begin, label %finished")
    w.raw("begin:")
    for table, slots in (("shared", plan.shared_slots), ("lanes", plan.lane_slots)):
        if slots:
            step = len(slots) * (1 if table == "shared" else width)
            row = w.emit(f"getelementptr double, ptr %{table}, i64 {w.emit(f'mul i64 %tick, {step}')}")
            _copy_row(w, row, slots, shared=table == "shared")
    quiet = [w.emit(f"load {w.type}, ptr {w.offset('%memory', slot * width)}, align 8") for slot in plan.alarm_slots]
    for call in calls["before"]:
        w.line(call)
    w.line("%shifted = add i64 %tick, %phase")
    w.line("%remainder = urem i64 %shifted, %every")
    w.line("%due = icmp eq i64 %remainder, 0")
    w.line("br i1 %due, label %write, label %sub")
    w.raw("write:")
    if plan.record_slots:
        w.line("%back = add i64 %phase, %every")
        w.line("%earlier0 = sub i64 %back, 1")
        w.line("%earlier = udiv i64 %earlier0, %every")
        w.line("%quotient = udiv i64 %shifted, %every")
        w.line("%number = sub i64 %quotient, %earlier")
        row = w.emit(
            f"getelementptr double, ptr %record, i64 {w.emit(f'mul i64 %number, {len(plan.record_slots) * width}')}"
        )
        for k, slot in enumerate(plan.record_slots):
            value = w.emit(f"load {w.type}, ptr {w.offset('%memory', slot * width)}, align 8")
            w.line(f"store {w.type} {value}, ptr {w.offset(row, k * width)}, align 8")
    w.line("br label %sub")
    w.raw("sub:")
    w.line("%s = phi i64 [0, %begin], [0, %write], [%s2, %continue]")
    w.line("%again = icmp slt i64 %s, %substeps")
    wanted = "%again"
    if plan.until is not None:
        left = w.emit(f"load {w.type}, ptr {w.offset('%memory', plan.offset(plan.until) * width)}, align 8")
        wanted = w.emit(f"and i1 %again, {w.any_lane(w.emit(f'fcmp ogt {w.type} {left}, {w.literal(0.0)}'))}")
    w.line(f"br i1 {wanted}, label %inside, label %after")
    w.raw("inside:")
    befores = [w.emit(f"load {w.type}, ptr {w.offset('%memory', slot * width)}, align 8") for slot in plan.event_slots]
    for call in calls["inside"]:
        w.line(call)
    w.line("%s2 = add i64 %s, 1")
    if plan.event_slots:
        w.line(f"br i1 {_rises(w, plan.event_slots, befores)}, label %event, label %continue")
    else:
        w.line("br label %continue")
    w.raw("continue:")
    w.line("br label %sub")
    w.raw("after:")
    if plan.until is not None:
        left = w.emit(f"load {w.type}, ptr {w.offset('%memory', plan.offset(plan.until) * width)}, align 8")
        unfinished = w.any_lane(w.emit(f"fcmp ugt {w.type} {left}, {w.literal(0.0)}"))
        w.line(f"br i1 {unfinished}, label %stuck, label %settled")
        w.raw("stuck:")
        w.line(f"store i64 {STUCK}, ptr %status")
        w.line("ret i64 %tick")
        w.raw("settled:")
    for call in calls["after"]:
        w.line(call)
    total = w.literal(0.0)
    for slot in plan.state_slots:  # 0·x is 0 for finite x and NaN otherwise
        x = w.emit(f"load {w.type}, ptr {w.offset('%memory', slot * width)}, align 8")
        total = w.fused(x, w.literal(0.0), total)
    bad = w.any_lane(w.emit(f"fcmp uno {w.type} {total}, {w.literal(0.0)}"))
    w.line(f"br i1 {bad}, label %broken, label %tail")
    w.raw("tail:")
    w.line("%following = add i64 %tick, 1")
    if plan.alarm_slots:
        w.line(f"br i1 {_rises(w, plan.alarm_slots, quiet)}, label %alarm, label %onward")
        w.raw("alarm:")
        w.line(f"store i64 {ALARM}, ptr %status")
        w.line("ret i64 %following")
        w.raw("onward:")
    w.line("br label %head")
    w.raw("event:")
    w.line(f"store i64 {EVENT}, ptr %status")
    w.line("%where = getelementptr i64, ptr %status, i64 1")
    w.line("store i64 %s2, ptr %where")
    w.line("ret i64 %tick")
    w.raw("broken:")
    w.line(f"store i64 {NOT_FINITE}, ptr %status")
    w.line("ret i64 %tick")
    w.raw("finished:")
    w.line(f"store i64 {DONE}, ptr %status")
    w.line("ret i64 %ticks")
    lines = [line for line in w.lines if plan.event_slots or "%where" not in line]
    if not plan.event_slots:
        lines = _without_block(lines, "event:")
    wide = f' "prefer-vector-width"="{64 * width}" "min-legal-vector-width"="{64 * width}"' if width > 2 else ""
    head = (
        f"define i64 @{name}(ptr %memory, ptr %shared, ptr %lanes, ptr %record, i64 %ticks, i64 %substeps, "
        "i64 %every, i64 %phase, ptr %status) #0 {"
    )
    return "\n".join(
        [
            *functions,
            head,
            *lines,
            "}",
            *sorted(declarations | w.declarations),
            f"attributes #0 = {{ nounwind{wide} }}",
            "",
        ]
    )


def _without_block(lines: list[str], label: str) -> list[str]:
    start = lines.index(label)
    stop = next(k for k in range(start + 1, len(lines)) if not lines[k].startswith(" "))
    return lines[:start] + lines[stop:]
