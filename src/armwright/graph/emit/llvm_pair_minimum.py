# SPDX-License-Identifier: Apache-2.0
"""The smallest value of a function over many pairs, as LLVM IR: loops around programs that were traced.

    <lanes> core(ptr q, ptr items, ptr counts, double most)                    q: n vectors, a lane per configuration
    i64 rows(ptr q, ptr out, i64 rows, ptr items, ptr counts, double most)     not 0 if some q was not finite
    i64 ways(ptr a, ptr b, ptr out, i64 rows, ptr items, ptr counts, ptr levers, double finest, i64 whole)

`core`: the *tables* program gives arrays of records. Every group goes through its items and, for each, through the
records of its table; the least value so far is kept. Where a group has a bound (a value that is never above the true
one), pairs whose bound is no less than what was found, in all lanes, are skipped.

`rows`: lanes are rows; the last ones overlap those before, so `rows` must be at least the width.

`ways`: `pair_minimum.proved_way` says what it computes. Lanes are neighbouring pieces of one motion.

q, a, b and out are addresses of words that hold the address of the data (as arrays do).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from armwright.graph.emit.llvm import emit_program, load_columns, store_columns
from armwright.graph.emit.llvm_math import LaneWriter
from armwright.graph.traced_program import TracedProgram

LEEWAY = 1.001  # times the value that is asked for: what lies above it need not be exact


class Group(NamedTuple):
    """Pairs of records and items: which table, the value of (record, item), and a bound from below or None."""

    table: int
    value: TracedProgram
    bound: TracedProgram | None


def least_ir(
    tables: TracedProgram, groups: Sequence[Group], name: str, driver: Literal["rows", "ways"], *, width: int, fma: bool
) -> str:
    """Return a complete LLVM module: the core, and the function `name` that drives it (see the module text)."""
    core, drive = LaneWriter(width, fma=fma), LaneWriter(width, fma=fma)
    vectors = f"{core.type} @{name}_core(ptr %q, ptr %items, ptr %counts, double %most)"
    _core(core, tables, groups)
    arguments = (_rows if driver == "rows" else _ways)(drive, tables, f"{name}_core")
    lines = []
    for head, w in ((f"internal {vectors}", core), (f"i64 @{name}({arguments})", drive)):
        lines += [f"define {head} #0 {{", "entry:", *w.start(), *w.lines, "}"]
    wide = f' "prefer-vector-width"="{64 * width}" "min-legal-vector-width"="{64 * width}"' if width > 2 else ""
    declared = sorted(core.declarations | drive.declarations)
    return "\n".join([*lines, *declared, f"attributes #0 = {{ nounwind{wide} }}", ""])


def _core(w: LaneWriter, tables: TracedProgram, groups: Sequence[Group]) -> None:
    T, align = w.type, 8 * w.width
    w.line(f"%least = alloca {T}, align {align}")
    for k, table in enumerate(tables.outputs):
        w.line(f"%table{k} = alloca [{max(1, table.size)} x {T}], align {align}")
    for g in range(len(groups)):
        w.line(f"%items{g} = load ptr, ptr {w.emit(f'getelementptr ptr, ptr %items, i64 {g}')}, align 8")
        w.line(f"%count{g} = load i64, ptr {w.emit(f'getelementptr i64, ptr %counts, i64 {g}')}, align 8")
    columns: list[str | None] = [
        w.emit(f"load {T}, ptr {_at(w, '%q', k)}, align {align}") for k in range(tables.inputs[0].size)
    ]
    value = emit_program(w, tables, [columns])
    for t, nodes in enumerate(tables.results):
        for place, node in enumerate(nodes):
            w.line(f"store {T} {value[node]}, ptr {_at(w, f'%table{t}', place)}, align {align}")
    w.line(f"store {T} {_splat(w, '%most')}, ptr %least, align {align}")
    w.line("br label %group0")
    for g, group in enumerate(groups):
        _group(w, g, group, tables.outputs[group.table].shape)
    w.raw(f"group{len(groups)}:")
    w.line(f"ret {T} {w.emit(f'load {T}, ptr %least, align {align}')}")


def _group(w: LaneWriter, g: int, group: Group, shape: tuple[int, ...]) -> None:
    """Emit blocks group{g} …, which end in a branch to group{g + 1}."""
    records, size = shape
    numbers = group.value.inputs[1].size
    w.raw(f"group{g}:")
    w.line(f"%any{g} = icmp sgt i64 %count{g}, 0")
    w.line(f"br i1 {f'%any{g}' if records else 'false'}, label %item{g}, label %group{g + 1}")
    w.raw(f"item{g}:")
    w.line(f"%j{g} = phi i64 [0, %group{g}], [%jnext{g}, %paired{g}]")
    first = w.emit(f"mul i64 %j{g}, {numbers}")
    w.line(f"%item{g}p = getelementptr double, ptr %items{g}, i64 {first}")
    w.line(f"br label %pair{g}")
    w.raw(f"pair{g}:")
    w.line(f"%k{g} = phi i64 [0, %item{g}], [%knext{g}, %skip{g}]")
    start = w.emit(f"mul i64 %k{g}, {size}")
    record = w.emit(f"getelementptr {w.type}, ptr %table{group.table}, i64 {start}")

    def inputs(program: TracedProgram) -> list[list[str | None]]:
        used = {node.value for node in program.nodes if not node.args and isinstance(node.value, tuple)}
        own: list[str | None] = [None] * size
        item: list[str | None] = [None] * numbers
        for signal, k in sorted(used):
            if signal == 0:
                own[k] = w.emit(f"load {w.type}, ptr {_at(w, record, k)}, align {8 * w.width}")
            else:
                item[k] = _splat(w, w.emit(f"load double, ptr {w.offset(f'%item{g}p', k)}, align 8"))
        return [own, item]

    found = f"load {w.type}, ptr %least, align {8 * w.width}"
    if group.bound is not None:
        low = emit_program(w, group.bound, inputs(group.bound))[group.bound.results[0][0]]
        near = w.any_lane(w.emit(f"fcmp olt {w.type} {low}, {w.emit(found)}"))
        w.line(f"br i1 {near}, label %exact{g}, label %skip{g}")
    else:
        w.line(f"br label %exact{g}")
    w.raw(f"exact{g}:")
    value = emit_program(w, group.value, inputs(group.value))[group.value.results[0][0]]
    least = w.emit(found)
    less = w.emit(f"fcmp olt {w.type} {value}, {least}")
    kept = w.emit(f"select {w.truth_type} {less}, {w.type} {value}, {w.type} {least}")
    w.line(f"store {w.type} {kept}, ptr %least, align {8 * w.width}")
    w.line(f"br label %skip{g}")
    w.raw(f"skip{g}:")
    w.line(f"%knext{g} = add i64 %k{g}, 1")
    w.line(f"%kmore{g} = icmp slt i64 %knext{g}, {records}")
    w.line(f"br i1 %kmore{g}, label %pair{g}, label %paired{g}")
    w.raw(f"paired{g}:")
    w.line(f"%jnext{g} = add i64 %j{g}, 1")
    w.line(f"%jmore{g} = icmp slt i64 %jnext{g}, %count{g}")
    w.line(f"br i1 %jmore{g}, label %item{g}, label %group{g + 1}")


def _rows(w: LaneWriter, tables: TracedProgram, core: str) -> str:
    """Emit the loop over rows; return its arguments."""
    T, n, width = w.type, tables.inputs[0].size, w.width
    w.line(f"%lanes = alloca [{n} x {T}], align {8 * width}")
    w.line("%q = load ptr, ptr %qp, align 8")
    w.line("%out = load ptr, ptr %outp, align 8")
    w.line(f"%last = sub i64 %rows, {width}")
    w.line("br label %row")
    w.raw("row:")
    w.line("%i0 = phi i64 [0, %entry], [%next, %row]")
    w.line("%bad = phi i64 [0, %entry], [%badnext, %row]")
    w.line("%over = icmp sgt i64 %i0, %last")
    w.line("%i = select i1 %over, i64 %last, i64 %i0")
    base = w.emit(f"getelementptr double, ptr %q, i64 {w.emit(f'mul i64 %i, {n}')}")
    total = w.literal(0.0)
    for k, column in enumerate(load_columns(w, tables.inputs[0], base, set(range(n)))):
        assert column is not None
        w.line(f"store {T} {column}, ptr {_at(w, '%lanes', k)}, align {8 * width}")
        total = w.fused(column, w.literal(0.0), total)  # 0·x is 0 for finite x and NaN otherwise
    w.line(f"%badnext = or i64 %bad, {_bits(w, w.emit(f'fcmp uno {T} {total}, {total}'))}")
    least = w.emit(f"call {T} @{core}(ptr %lanes, ptr %items, ptr %counts, double %most)")
    store_columns(w, 1, w.emit("getelementptr double, ptr %out, i64 %i"), {0: least}, [(0, 1)])
    w.line(f"%next = add i64 %i0, {width}")
    w.line("%more = icmp slt i64 %next, %rows")
    w.line("br i1 %more, label %row, label %done")
    w.raw("done:")
    w.line("ret i64 %badnext")
    return "ptr %qp, ptr %outp, i64 %rows, ptr %items, ptr %counts, double %most"


def _ways(w: LaneWriter, tables: TracedProgram, core: str) -> str:
    """Emit the walk along motions; return its arguments."""
    T, n, width = w.type, tables.inputs[0].size, w.width
    one = LaneWriter(1, fma=w.fma, shared=w)
    w.line(f"%lanes = alloca [{n} x {T}], align {8 * width}")
    for p in ("a", "b", "out"):
        w.line(f"%{p} = load ptr, ptr %{p}p, align 8")
    w.line("br label %motion")
    w.raw("motion:")
    w.line("%i = phi i64 [0, %entry], [%next, %ready]")
    first = w.emit(f"mul i64 %i, {n}")
    ends = [w.emit(f"getelementptr double, ptr {p}, i64 {first}") for p in ("%a", "%b")]
    way, starts, steps = one.literal(0.0), [], []
    for k in range(n):
        x, y = (one.emit(f"load double, ptr {one.offset(p, k)}, align 8") for p in ends)
        starts.append(x)
        steps.append(one.emit(f"fsub double {y}, {x}"))
        lever = one.emit(f"load double, ptr {one.offset('%levers', k)}, align 8")
        way = one.fused(lever, one.intrinsic("fabs", steps[-1]), way)
    nothing = one.emit(f"fmul double {way}, {one.literal(0.0)}")
    w.line(f"br i1 {one.emit(f'fcmp uno double {nothing}, {nothing}')}, label %refused, label %look")
    w.raw("refused:")
    w.line("ret i64 1")
    w.raw("look:")
    w.line(f"%s = phi double [{one.literal(0.0)}, %motion], [%s1, %go]")
    w.line(f"%h = phi double [{one.literal(0.5 / width)}, %motion], [%h1, %go]")
    w.line("%whole = phi i64 [%all, %motion], [0, %go]")
    need = one.emit(f"fmul double {way}, %h")
    most = one.fused(need, one.literal(LEEWAY), "%finest")
    middles = [one.literal(2.0 * k + 1.0) for k in range(width)]
    odd = f"<{', '.join(f'double {x}' for x in middles)}>" if width > 1 else middles[0]
    place = w.fused(_splat(w, "%h"), odd, _splat(w, "%s"))
    past = w.emit(f"fcmp ogt {T} {place}, {w.literal(1.0)}")
    place = w.emit(f"select {w.truth_type} {past}, {T} {w.literal(1.0)}, {T} {place}")
    for k in range(n):
        lane = w.fused(_splat(w, steps[k]), place, _splat(w, starts[k]))
        w.line(f"store {T} {lane}, ptr {_at(w, '%lanes', k)}, align {8 * width}")
    clear = w.emit(f"call {T} @{core}(ptr %lanes, ptr %items, ptr %counts, double {most})")
    fine = _bits(w, w.emit(f"fcmp ogt {T} {clear}, {_splat(w, need)}"))
    hits = _bits(w, w.emit(f"fcmp ole {T} {clear}, {w.literal(0.0)}"))
    w.declarations.add("declare i64 @llvm.cttz.i64(i64, i1)")
    lead = w.emit(f"call i64 @llvm.cttz.i64(i64 {w.emit(f'xor i64 {fine}, -1')}, i1 false)")
    gained = one.emit(f"fmul double {one.emit(f'uitofp i64 {lead} to double')}, {one.literal(2.0)}")
    w.line(f"%s1 = fadd double %s, {one.emit(f'fmul double {gained}, %h')}")
    w.line(f"%all_fine = icmp eq i64 {lead}, {width}")
    w.line(f"%h1 = fmul double %h, {one.emit(f'select i1 %all_fine, {_doubles(one, 2.0, 0.5)}')}")
    w.line(f"%through = fcmp oge double %s1, {one.literal(1.0)}")
    w.line("br i1 %through, label %ready, label %blocked")
    w.raw("blocked:")
    here = w.emit(f"and i64 {w.emit(f'lshr i64 {hits}, {lead}')}, 1")  # no lane beyond the last is hit
    some = w.emit(f"icmp ne i64 {hits}, 0")
    given_up = w.emit(f"and i1 {some}, {w.emit('icmp ne i64 %whole, 0')}")
    small = w.emit(f"and i1 {one.emit(f'fcmp olt double {need}, %finest')}, {w.emit('xor i1 %all_fine, true')}")
    ended = w.emit(f"or i1 {w.emit(f'icmp ne i64 {here}, 0')}, {small}")
    w.line(f"br i1 {w.emit(f'or i1 {ended}, {given_up}')}, label %ready, label %go")
    w.raw("go:")
    w.line("br label %look")
    w.raw("ready:")
    w.line(f"%got = phi double [{one.literal(1.0)}, %look], [%s1, %blocked]")
    w.line(f"store double %got, ptr {w.emit('getelementptr double, ptr %out, i64 %i')}, align 8")
    w.line("%next = add i64 %i, 1")
    w.line("%more = icmp slt i64 %next, %rows")
    w.line("br i1 %more, label %motion, label %done")
    w.raw("done:")
    w.line("ret i64 0")
    return "ptr %ap, ptr %bp, ptr %outp, i64 %rows, ptr %items, ptr %counts, ptr %levers, double %finest, i64 %all"


def _doubles(one: LaneWriter, *values: float) -> str:
    return ", ".join(f"double {one.literal(value)}" for value in values)


def _at(w: LaneWriter, base: str, place: int) -> str:
    """Return the address of a vector of all lanes in a table."""
    return base if place == 0 else w.emit(f"getelementptr {w.type}, ptr {base}, i64 {place}")


def _splat(w: LaneWriter, scalar: str) -> str:
    """Return a vector with the same number in all lanes."""
    if w.width == 1:
        return scalar
    one = w.emit(f"insertelement {w.type} poison, double {scalar}, i32 0")
    return w.shuffle(one, "poison", [0] * w.width)


def _bits(w: LaneWriter, truth: str) -> str:
    """Return the lanes in which something holds, as bits of an i64."""
    if w.width == 1:
        return w.emit(f"zext i1 {truth} to i64")
    return w.emit(f"zext i{w.width} {w.emit(f'bitcast {w.truth_type} {truth} to i{w.width}')} to i64")
