# SPDX-License-Identifier: Apache-2.0
"""Programs as LLVM IR: the runtime's own target.

A kernel is one function

    i64 name(ptr inputs, ptr outputs, i64 rows)

where `inputs` and `outputs` are arrays of pointers to row-major float64 arrays, one row per configuration. `width` rows
are computed at once, one per SIMD lane; `rows` must be a multiple of it. The result is 0, or 1 if some input was not
finite. `emit_nodes` writes operations as instructions: one node, one register.

Large programs become several functions (`emit_program`). The time that LLVM takes for a block of straight-line code
grows faster than its length. Beyond `WHOLE` nodes a program is cut into parts of about `PART`, each a function; values
that are needed in a later part are handed on in memory, where most of them would have to be kept anyway. The cuts
depend on the program alone, so that all widths give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, cast

from armwright.graph.emit.llvm_math import LaneWriter, sincos_all
from armwright.graph.emit.llvm_own_functions import LaneArithmetic
from armwright.graph.emit.own_steps import OWN
from armwright.graph.emit.printing import is_boolean, last_uses
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.traced_program import ProgramSignal, TracedProgram

if TYPE_CHECKING:
    from armwright.graph.staged_program import StagedProgram

FLAGS = "contract nsz"  # fuse a·b+c; no reassociation: range reduction and symmetry of results depend on it
_BINARY = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}
_COMPARE = {Op.LT: "olt", Op.LE: "ole", Op.EQ: "oeq"}
_INTRINSIC = {Op.SQRT: "sqrt", Op.ABS: "fabs", Op.FLOOR: "floor"}
_LIBM = {Op.EXP: "exp", Op.LOG: "log", Op.TANH: "tanh", Op.ATAN2: "atan2"}


def emit_nodes(
    w: LaneWriter, program: TracedProgram, value: MutableMapping[int, str], span: range, trig_width: int = 4
) -> None:
    """Emit the nodes of `span`. `value` has the register (or literal) of every earlier node and receives theirs."""
    angles = _Angles(w, program, value, span, trig_width)
    T, flags = w.type, "" if w.strict else FLAGS + " "
    for k in span:
        op, args, constant = program.nodes[k]
        if op is Op.INPUT:
            continue
        x = [value[a] for a in args]
        if op is Op.CONST:
            value[k] = w.literal(constant)
        elif op in _BINARY:
            value[k] = w.emit(f"{_BINARY[op]} {flags}{T} {x[0]}, {x[1]}")
        elif op is Op.NEG:
            value[k] = w.emit(f"fneg {T} {x[0]}")
        elif op in (Op.SIN, Op.COS):
            value[k] = angles.sincos(args[0], k)[0 if op is Op.SIN else 1]
        elif op in _INTRINSIC:
            value[k] = w.intrinsic(_INTRINSIC[op], x[0])
        elif w.strict and op in OWN:
            value[k] = OWN[op](LaneArithmetic(w), x[0])
        elif op in _LIBM:
            value[k] = w.library_call(_LIBM[op], x)
        elif op in (Op.MIN, Op.MAX):
            second = w.emit(f"fcmp {'olt' if op is Op.MIN else 'ogt'} {T} {x[1]}, {x[0]}")
            value[k] = w.emit(f"select {w.truth_type} {second}, {T} {x[1]}, {T} {x[0]}")
        elif op in _COMPARE:
            value[k] = w.emit(f"fcmp {_COMPARE[op]} {T} {x[0]}, {x[1]}")
        elif op in (Op.AND, Op.OR):
            value[k] = w.emit(f"{op.name.lower()} {w.truth_type} {x[0]}, {x[1]}")
        elif op is Op.NOT:
            value[k] = w.emit(f"xor {w.truth_type} {x[0]}, {w.literal(True)}")
        else:
            value[k] = w.emit(f"select {w.truth_type} {x[0]}, {T} {x[1]}, {T} {x[2]}")


class _Angles:
    """Sines and cosines, each angle once. One-row code evaluates angles that are known at the same time together."""

    def __init__(
        self, w: LaneWriter, program: TracedProgram, value: MutableMapping[int, str], span: range, lanes: int
    ) -> None:
        self.w, self.value = w, value
        self.lanes = lanes if w.width == 1 else 1
        nodes = [program.nodes[k] for k in span]
        self.pending = list(dict.fromkeys(node.args[0] for node in nodes if node.op in TRIGONOMETRIC))
        self.done: dict[int, tuple[str, str]] = {}

    def sincos(self, angle: int, position: int) -> tuple[str, str]:
        """Return registers of sine and cosine of a node that are needed at a position."""
        if angle not in self.done:
            ready = [k for k in self.pending if k < position]
            self.pending = [k for k in self.pending if k >= position]
            self._together(ready)
        return self.done[angle]

    def _together(self, ready: list[int]) -> None:
        w, lanes = self.w, min(self.lanes, len(ready))
        if lanes == 1:
            self.done.update(zip(ready, sincos_all(w, [self.value[k] for k in ready]), strict=True))
            return
        vector = LaneWriter(self.lanes, fma=w.fma, shared=w)
        groups = [ready[k : k + self.lanes] for k in range(0, len(ready), self.lanes)]
        packed = []
        for group in groups:
            register = "zeroinitializer"
            for lane, k in enumerate(group):
                register = w.emit(f"insertelement {vector.type} {register}, double {self.value[k]}, i32 {lane}")
            packed.append(register)
        for group, pair in zip(groups, sincos_all(vector, packed), strict=True):
            for lane, k in enumerate(group):
                s, c = (w.emit(f"extractelement {vector.type} {register}, i32 {lane}") for register in pair)
                self.done[k] = s, c


WHOLE = 5000
PART = 1000
Columns = list[list[str | None]]


def emit_program(w: LaneWriter, program: TracedProgram, columns: Columns, trig_width: int = 4) -> dict[int, str]:
    """Emit a program; return the registers of its results by node. `columns` holds the registers of the inputs."""
    value: dict[int, str] = {}
    for k, node in enumerate(program.nodes):
        if node.op is Op.INPUT:
            signal, element = node.value
            column = columns[signal][element]
            assert column is not None, "every input that occurs in a node is loaded"
            value[k] = column
    if len(program.nodes) <= WHOLE:
        emit_nodes(w, program, value, range(len(program.nodes)), trig_width)
        return value
    count = -(-len(program.nodes) // PART)
    step = -(-len(program.nodes) // count)
    places = _Places(program, step)
    w.memory["values"] = places.count * w.width
    handed = Handed(w, program, places, "%values", "%values")
    for k, register in value.items():
        handed[k] = register
    for part, start in enumerate(range(0, len(program.nodes), step)):
        own = LaneWriter(w.width, fma=w.fma, strict=w.strict)
        span = range(start, min(start + step, len(program.nodes)))
        emit_nodes(own, program, handed.inside(own), span, trig_width)
        outline(w, own, f"armwright_part_{program.digest}_{w.width}_{part}", "%values")
    return handed


def outline(w: LaneWriter, own: LaneWriter, name: str, target: str) -> None:
    """Turn what `own` has written into a function that reads values from %known and writes to %target, and call it.

    Both may point to the same memory: no place is read and written in one part.
    """
    head = f"define internal void @{name}(ptr noalias readonly %known, ptr noalias %target) #0 {{"
    w.declarations |= {*own.declarations, "\n".join([head, *own.start(), *own.lines, "  ret void", "}"])}
    w.line(f"call void @{name}(ptr %values, ptr {target})")


class _Places:
    """Where values that outlive their part are kept: a place is free again after the part that reads it last."""

    def __init__(self, program: TracedProgram, step: int) -> None:
        """Assign places; inputs are there from the start, results to the end."""
        self.of: dict[int, int] = {}
        self.count = 0
        nodes, last = program.nodes, last_uses(program)
        free: list[int] = []
        ending: dict[int, list[int]] = {}

        def assign(k: int) -> None:
            if free:
                self.of[k] = free.pop()
            else:
                self.of[k] = self.count
                self.count += 1
            ending.setdefault(last[k] // step if last[k] < len(nodes) else len(nodes), []).append(self.of[k])

        for k, node in enumerate(nodes):
            if node.op is Op.INPUT:
                assign(k)
        for k, node in enumerate(nodes):
            if k and k % step == 0:
                free += ending.pop(k // step - 1, [])
            if node.op not in (Op.INPUT, Op.CONST) and (last[k] == len(nodes) or last[k] // step > k // step):
                assign(k)


class Handed(dict[int, str]):
    """Registers by node: a missing one is loaded from `source`, one that outlives its part is stored to `target`."""

    def __init__(self, w: LaneWriter, program: TracedProgram, places: _Places, source: str, target: str) -> None:
        super().__init__()
        self.w, self.program, self.places = w, program, places
        self.source, self.target = source, target

    def inside(self, w: LaneWriter) -> Handed:
        """Return the same values for use in a function of their own (see `outline`)."""
        return Handed(w, self.program, self.places, "%known", "%target")

    def __missing__(self, k: int) -> str:
        w, node = self.w, self.program.nodes[k]
        if node.op is Op.CONST:
            return w.literal(node.value)
        place = w.offset(self.source, self.places.of[k] * w.width)
        register = w.emit(f"load {w.type}, ptr {place}, align 8")
        if is_boolean(node):
            register = w.emit(f"fcmp une {w.type} {register}, {w.literal(0.0)}")
        super().__setitem__(k, register)
        return register

    def __setitem__(self, k: int, register: str) -> None:
        super().__setitem__(k, register)
        if k in self.places.of:
            w = self.w
            if is_boolean(self.program.nodes[k]):
                register = w.emit(f"uitofp {w.truth_type} {register} to {w.type}")
            w.line(f"store {w.type} {register}, ptr {w.offset(self.target, self.places.of[k] * w.width)}, align 8")


STORED_AT_ONCE = 128  # stores of a result in one function of a large program
CHECK_CHAINS = 4  # independent accumulators of the finiteness check, to keep it off the critical path


def chunks(size: int, width: int) -> list[tuple[int, int]]:
    """Split `size` columns into (start, count) pieces, counts powers of two up to `width`."""
    pieces, start = [], 0
    while start < size:
        count = width
        while count > size - start:
            count //= 2
        pieces.append((start, count))
        start += count
    return pieces


def _butterfly(w: LaneWriter, rows: list[str]) -> list[str]:
    """Transpose blocks of len(rows) lanes: in place, log2 stages of pairwise shuffles. Its own inverse."""
    rows, distance = list(rows), 1
    while distance < len(rows):
        low = [j if not j & distance else w.width + j - distance for j in range(w.width)]
        high = [j + distance if not j & distance else w.width + j for j in range(w.width)]
        for i in range(len(rows)):
            if not i & distance:
                a, b = rows[i], rows[i + distance]
                rows[i], rows[i + distance] = w.shuffle(a, b, low), w.shuffle(a, b, high)
        distance *= 2
    return rows


def load_columns(w: LaneWriter, signal: ProgramSignal, base: str, needed: set[int]) -> list[str | None]:
    """Load the needed columns of `width` rows at `base`, one vector per column."""
    n = signal.size
    columns: list[str | None] = [None] * n
    for start, count in chunks(n, w.width):
        if not needed & set(range(start, start + count)):
            continue
        if w.width == 1:
            columns[start] = w.emit(f"load double, ptr {w.offset(base, start)}, align 8")
            continue
        vectors = []
        for first in range(count):
            pieces = [w.load_piece(w.offset(base, row * n + start), count) for row in range(first, w.width, count)]
            vectors.append(w.join(pieces, count))
        for k, vector in enumerate(_butterfly(w, vectors)):
            columns[start + k] = vector
    return columns


def store_columns(
    w: LaneWriter, size: int, base: str, values: Mapping[int, str], pieces: list[tuple[int, int]]
) -> None:
    """Store pieces of the columns of `width` rows at `base`, one vector per column."""
    for start, count in pieces:
        if w.width == 1:
            w.line(f"store double {values[start]}, ptr {w.offset(base, start)}, align 8")
            continue
        for first, vector in enumerate(_butterfly(w, [values[start + k] for k in range(count)])):
            for piece, row in enumerate(range(first, w.width, count)):
                part = w.part(vector, piece, count)
                kind = "double" if count == 1 else f"<{count} x double>"
                w.line(f"store {kind} {part}, ptr {w.offset(base, row * size + start)}, align 8")


Body = Callable[[LaneWriter, Columns], MutableMapping[int, str]]
"""Writes the computation from the registers of the inputs; returns registers by the numbers that results give."""


def kernel_ir(
    program: TracedProgram | StagedProgram,
    name: str,
    *,
    width: int,
    check_finite: bool,
    fma: bool = True,
    trig_width: int = 4,
    body: Body | None = None,
) -> str:
    """Return a complete LLVM module with one kernel (see the module text); `body` writes one that has no nodes."""
    w = LaneWriter(width, fma=fma)
    used = {node.value for node in program.nodes if node.op is Op.INPUT}
    head = []
    for kind, signals in (("in", program.inputs), ("out", program.outputs)):
        for k in range(len(signals)):
            head.append(f"  %{kind}p{k} = getelementptr ptr, ptr %{kind}s, i64 {k}")
            head.append(f"  %{kind}{k} = load ptr, ptr %{kind}p{k}, align 8")
    head += ["  %any = icmp sgt i64 %rows, 0", "  br i1 %any, label %loop, label %empty", "loop:"]
    head.append("  %i = phi i64 [0, %entry], [%next, %latch]")
    chains = min(CHECK_CHAINS, sum(s.size for s in program.inputs)) if check_finite else 0
    for k in range(chains):
        head.append(
            f"  %acc{k} = phi {w.type} [zeroinitializer, %entry], [%sum{k}, %latch]"
            if width > 1
            else f"  %acc{k} = phi double [0.0, %entry], [%sum{k}, %latch]"
        )
    columns: list[list[str | None]] = []
    for k, signal in enumerate(program.inputs):
        needed = set(range(signal.size)) if check_finite or body else {e for s, e in used if s == k}
        row = w.emit(f"mul i64 %i, {signal.size}")
        base = w.emit(f"getelementptr double, ptr %in{k}, i64 {row}")
        columns.append(load_columns(w, signal, base, needed))
    value = emit_program(w, cast("TracedProgram", program), columns, trig_width) if body is None else body(w, columns)
    w.line("br label %latch")
    w.raw("latch:")
    if chains:
        flat = [column for group in columns for column in group if column is not None]
        sums = [f"%acc{k}" for k in range(chains)]
        for k, column in enumerate(flat):  # 0·x is 0 for finite x and NaN otherwise
            sums[k % chains] = w.fused(column, w.literal(0.0), sums[k % chains])
        for k in range(chains):
            w.line(f"%sum{k} = fadd {w.type} {sums[k]}, {w.literal(0.0)}")
    for k, (signal, result) in enumerate(zip(program.outputs, program.results, strict=True)):
        row = w.emit(f"mul i64 %i, {signal.size}")
        base = w.emit(f"getelementptr double, ptr %out{k}, i64 {row}")
        pieces = chunks(signal.size, width)
        if not isinstance(value, Handed):
            store_columns(w, signal.size, base, {e: value[node] for e, node in enumerate(result)}, pieces)
            continue
        step = max(1, STORED_AT_ONCE // width)
        for first in range(0, len(pieces), step):  # compiling thousands of stores in a row takes seconds
            own, some = LaneWriter(width, fma=fma), pieces[first : first + step]
            handed = value.inside(own)
            registers = {e: handed[result[e]] for start, count in some for e in range(start, start + count)}
            store_columns(own, signal.size, "%target", registers, some)
            outline(w, own, f"{name}_store_{k}_{first}", base)
    w.line(f"%next = add i64 %i, {width}")
    w.line("%more = icmp slt i64 %next, %rows")
    w.line("br i1 %more, label %loop, label %done")
    tail = LaneWriter(width, fma=fma, shared=w)
    w.raw("done:")
    if chains:
        total = "%sum0"
        for k in range(1, chains):
            total = tail.emit(f"fadd {w.type} {total}, %sum{k}")
        bad = tail.emit(f"fcmp uno {w.type} {total}, {w.literal(0.0)}")
        w.line(f"ret i64 {tail.emit(f'zext i1 {tail.any_lane(bad)} to i64')}")
    else:
        w.line("ret i64 0")
    w.raw("empty:")
    w.line("ret i64 0")
    wide = f' "prefer-vector-width"="{64 * width}" "min-legal-vector-width"="{64 * width}"' if width > 2 else ""
    return "\n".join(
        [
            f"define i64 @{name}(ptr %ins, ptr %outs, i64 %rows) #0 {{",
            "entry:",
            *w.start(),
            *head,
            *w.lines,
            "}",
            *sorted(w.declarations),
            f"attributes #0 = {{ nounwind{wide} }}",
            "",
        ]
    )


def module_text(program: TracedProgram, *, width: int = 4) -> str:
    """Return the IR of a batch kernel for reading (the `source("llvm")` of a kernel)."""
    return kernel_ir(program, program.name, width=width, check_finite=False)
