"""The smallest of a function over many pairs, as LLVM IR: loops around programs that were traced.

    i64 name(ptr q, ptr out, i64 rows, ptr items, ptr counts, double most)

For every row of q the *tables* program gives arrays of records. Every group then goes through its items and, for each,
through the records of its table; the least value so far is kept. Where a group has a bound (a value that is never above
the true one), pairs whose bound is no less than what was found in any lane are passed by. `width` rows are computed at
once; the last ones overlap those before, so `rows` must be at least `width`. The result is 1 if a q was not finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from armwright.graph.emit.llvm import _load, _store, emit_nodes
from armwright.graph.emit.llvm_math import Writer
from armwright.graph.program import Program


class Group(NamedTuple):
    """Pairs of records and items: which table, the value of (record, item), and a bound from below or None."""

    table: int
    value: Program
    bound: Program | None


def least_ir(tables: Program, groups: Sequence[Group], name: str, *, width: int, fma: bool) -> str:
    """Return a complete LLVM module with one function (see the module text)."""
    w = Writer(width, fma=fma)
    n = tables.inputs[0].size
    head = ["entry:", f"  %least = alloca {w.type}, align 64", "  %bad = alloca i64, align 8", "  store i64 0, ptr %bad"]
    for k, table in enumerate(tables.outputs):
        head.append(f"  %table{k} = alloca [{max(1, table.size)} x {w.type}], align 64")
    for g in range(len(groups)):
        head.append(f"  %itemsp{g} = getelementptr ptr, ptr %items, i64 {g}")
        head.append(f"  %items{g} = load ptr, ptr %itemsp{g}, align 8")
        head.append(f"  %countp{g} = getelementptr i64, ptr %counts, i64 {g}")
        head.append(f"  %count{g} = load i64, ptr %countp{g}, align 8")
    head += [f"  %last = sub i64 %rows, {width}", "  br label %row", "row:"]
    head += ["  %i0 = phi i64 [0, %entry], [%next, %end]", "  %over = icmp sgt i64 %i0, %last"]
    head += ["  %i = select i1 %over, i64 %last, i64 %i0"]
    base = w.emit(f"getelementptr double, ptr %q, i64 {w.emit(f'mul i64 %i, {n}')}")
    columns = _load(w, tables.inputs[0], base, set(range(n)))
    total = w.literal(0.0)
    for column in columns:  # 0·x is 0 for finite x and NaN otherwise
        assert column is not None
        total = w.fused(column, w.literal(0.0), total)
    odd = w.emit(f"zext i1 {_any(w, w.emit(f'fcmp uno {w.type} {total}, {total}'))} to i64")
    before = w.emit("load i64, ptr %bad")
    w.line(f"store i64 {w.emit(f'or i64 {odd}, {before}')}, ptr %bad")
    value = emit_nodes(w, tables, [columns])
    for k, nodes in enumerate(tables.results):
        for place, node in enumerate(nodes):
            w.line(f"store {w.type} {value[node]}, ptr {_at(w, f'%table{k}', str(place))}, align {8 * width}")
    w.line(f"store {w.type} {_splat(w, '%most')}, ptr %least, align {8 * width}")
    w.line("br label %group0")
    for g, group in enumerate(groups):
        _group(w, g, group, tables.outputs[group.table].shape)
    w.raw(f"group{len(groups)}:")
    out = w.emit("getelementptr double, ptr %out, i64 %i")
    _store(w, 1, out, [w.emit(f"load {w.type}, ptr %least, align {8 * width}")])
    w.line("br label %end")
    w.raw("end:")
    w.line(f"%next = add i64 %i0, {width}")
    w.line("%more = icmp slt i64 %next, %rows")
    w.line("br i1 %more, label %row, label %done")
    w.raw("done:")
    w.line(f"ret i64 {w.emit('load i64, ptr %bad')}")
    wide = f' "prefer-vector-width"="{64 * width}" "min-legal-vector-width"="{64 * width}"' if width > 2 else ""
    arguments = "ptr %q, ptr %out, i64 %rows, ptr %items, ptr %counts, double %most"
    return "\n".join(
        [f"define i64 @{name}({arguments}) #0 {{", *head, *w.lines, "}", *sorted(w.declarations),
         f"attributes #0 = {{ nounwind{wide} }}", ""]
    )  # fmt: skip


def _group(w: Writer, g: int, group: Group, shape: tuple[int, ...]) -> None:
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

    def inputs(program: Program) -> list[list[str | None]]:
        used = {node.value for node in program.nodes if not node.args and isinstance(node.value, tuple)}
        own: list[str | None] = [None] * size
        item: list[str | None] = [None] * numbers
        for signal, k in sorted(used):
            if signal == 0:
                own[k] = w.emit(f"load {w.type}, ptr {_at(w, record, str(k))}, align {8 * w.width}")
            else:
                item[k] = _splat(w, w.emit(f"load double, ptr {w.offset(f'%item{g}p', k)}, align 8"))
        return [own, item]

    found = f"load {w.type}, ptr %least, align {8 * w.width}"
    if group.bound is not None:
        low = emit_nodes(w, group.bound, inputs(group.bound))[group.bound.results[0][0]]
        near = _any(w, w.emit(f"fcmp olt {w.type} {low}, {w.emit(found)}"))
        w.line(f"br i1 {near}, label %exact{g}, label %skip{g}")
    else:
        w.line(f"br label %exact{g}")
    w.raw(f"exact{g}:")
    value = emit_nodes(w, group.value, inputs(group.value))[group.value.results[0][0]]
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


def _at(w: Writer, base: str, place: str) -> str:
    """Address of a vector of all lanes in a table."""
    return base if place == "0" else w.emit(f"getelementptr {w.type}, ptr {base}, i64 {place}")


def _splat(w: Writer, scalar: str) -> str:
    """The same number in all lanes."""
    if w.width == 1:
        return scalar
    one = w.emit(f"insertelement {w.type} poison, double {scalar}, i32 0")
    return w.shuffle(one, "poison", [0] * w.width)


def _any(w: Writer, truth: str) -> str:
    """Whether something holds in some lane."""
    if w.width == 1:
        return truth
    bits = w.emit(f"bitcast {w.truth_type} {truth} to i{w.width}")
    return w.emit(f"icmp ne i{w.width} {bits}, 0")
