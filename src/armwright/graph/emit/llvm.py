# SPDX-License-Identifier: Apache-2.0
"""Programs as LLVM IR: the runtime's own target.

A kernel is one function

    i64 name(ptr inputs, ptr outputs, i64 rows)

where `inputs` and `outputs` are arrays of pointers to row-major float64 arrays, one row a configuration. `width` rows
are computed at once, one per SIMD lane; `rows` must be a multiple of it. The result is 0, or 1 if some input was not
finite.
"""

from __future__ import annotations

from collections.abc import Mapping

from armwright.graph.emit.llvm_math import Writer
from armwright.graph.emit.llvm_parts import Handed, emit_program, outline
from armwright.graph.ops import Op
from armwright.graph.program import Program, Signal

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


def _butterfly(w: Writer, rows: list[str]) -> list[str]:
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


def load_columns(w: Writer, signal: Signal, base: str, needed: set[int]) -> list[str | None]:
    """Load the needed columns of `width` rows at `base`, one vector a column."""
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


def store_columns(w: Writer, size: int, base: str, values: Mapping[int, str], pieces: list[tuple[int, int]]) -> None:
    """Store pieces of the columns of `width` rows at `base`, one vector a column."""
    for start, count in pieces:
        if w.width == 1:
            w.line(f"store double {values[start]}, ptr {w.offset(base, start)}, align 8")
            continue
        for first, vector in enumerate(_butterfly(w, [values[start + k] for k in range(count)])):
            for piece, row in enumerate(range(first, w.width, count)):
                part = w.part(vector, piece, count)
                kind = "double" if count == 1 else f"<{count} x double>"
                w.line(f"store {kind} {part}, ptr {w.offset(base, row * size + start)}, align 8")


def kernel_ir(
    program: Program, name: str, *, width: int, check_finite: bool, fma: bool = True, trig_width: int = 4
) -> str:
    """Return a complete LLVM module with one kernel (see the module text)."""
    w = Writer(width, fma=fma)
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
        needed = set(range(signal.size)) if check_finite else {e for s, e in used if s == k}
        row = w.emit(f"mul i64 %i, {signal.size}")
        base = w.emit(f"getelementptr double, ptr %in{k}, i64 {row}")
        columns.append(load_columns(w, signal, base, needed))
    value = emit_program(w, program, columns, trig_width)
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
            own, some = Writer(width, fma=fma), pieces[first : first + step]
            handed = value.inside(own)
            registers = {e: handed[result[e]] for start, count in some for e in range(start, start + count)}
            store_columns(own, signal.size, "%target", registers, some)
            outline(w, own, f"{name}_store_{k}_{first}", base)
    w.line(f"%next = add i64 %i, {width}")
    w.line("%more = icmp slt i64 %next, %rows")
    w.line("br i1 %more, label %loop, label %done")
    tail = Writer(width, fma=fma, shared=w)
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


def module_text(program: Program, *, width: int = 4) -> str:
    """Return the IR of a batch kernel for reading (the `source("llvm")` of a kernel)."""
    return kernel_ir(program, program.name, width=width, check_finite=False)
