# SPDX-License-Identifier: Apache-2.0
"""The inner loops of the Hopfield network as LLVM IR: synchronous sweeps in SIMD lanes, relaxation, descent.

Arrays are padded by the neighbourhood's reach and flat, so that a neighbour is a constant distance away.
"""

from __future__ import annotations

# words of allowed steps are read at index · each: each = 0 where one word serves all cells
RELAX = """
define i64 @{name}(ptr %d, ptr %moves, ptr %queue, ptr %flag, ptr %offsets, ptr %costs, i64 %K, i64 %cells,
                   i64 %count, i64 %each) {{
entry:
  br label %loop
loop:
  %head = phi i64 [0, %entry], [%head2, %next]
  %tail = phi i64 [%count, %entry], [%tailk, %next]
  %size = phi i64 [%count, %entry], [%sizek, %next]
  %pops = phi i64 [0, %entry], [%pops2, %next]
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %done, label %take
take:
  %pq = getelementptr i64, ptr %queue, i64 %head
  %i = load i64, ptr %pq
  %pf = getelementptr i8, ptr %flag, i64 %i
  store i8 0, ptr %pf
  %pd = getelementptr double, ptr %d, i64 %i
  %di = load double, ptr %pd
  %head1 = add i64 %head, 1
  %hend = icmp eq i64 %head1, %cells
  %head2 = select i1 %hend, i64 0, i64 %head1
  %size1 = sub i64 %size, 1
  %pops2 = add i64 %pops, 1
  br label %step
step:
  %k = phi i64 [0, %take], [%k2, %skip]
  %t = phi i64 [%tail, %take], [%t2, %skip]
  %s = phi i64 [%size1, %take], [%s2, %skip]
  %po = getelementptr i64, ptr %offsets, i64 %k
  %o = load i64, ptr %po
  %j = sub i64 %i, %o
  %pdj = getelementptr double, ptr %d, i64 %j
  %dj = load double, ptr %pdj
  %pc = getelementptr double, ptr %costs, i64 %k
  %c = load double, ptr %pc
  %nd = fadd double %di, %c
  %better = fcmp olt double %nd, %dj
  br i1 %better, label %allowed, label %skip
allowed:
  %jm = mul i64 %j, %each
  %pm = getelementptr i64, ptr %moves, i64 %jm
  %m = load i64, ptr %pm
  %bits = lshr i64 %m, %k
  %bit = and i64 %bits, 1
  %may = icmp ne i64 %bit, 0
  br i1 %may, label %improve, label %skip
improve:
  store double %nd, ptr %pdj
  %pfj = getelementptr i8, ptr %flag, i64 %j
  %fj = load i8, ptr %pfj
  %waits = icmp ne i8 %fj, 0
  br i1 %waits, label %skip, label %put
put:
  store i8 1, ptr %pfj
  %pt = getelementptr i64, ptr %queue, i64 %t
  store i64 %j, ptr %pt
  %t1 = add i64 %t, 1
  %tend = icmp eq i64 %t1, %cells
  %tw = select i1 %tend, i64 0, i64 %t1
  %s1 = add i64 %s, 1
  br label %skip
skip:
  %t2 = phi i64 [%t, %step], [%t, %allowed], [%t, %improve], [%tw, %put]
  %s2 = phi i64 [%s, %step], [%s, %allowed], [%s, %improve], [%s1, %put]
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %K
  br i1 %more, label %step, label %next
next:
  %tailk = phi i64 [%t2, %skip]
  %sizek = phi i64 [%s2, %skip]
  br label %loop
done:
  ret i64 %pops
}}
"""

# ties keep the last direction; a blocked cell holds −inf and is never entered
DESCEND = """
define i64 @{name}(ptr %d, ptr %moves, ptr %offsets, ptr %costs, i64 %K, i64 %start, i64 %end, ptr %path,
                   i64 %most, i64 %each) {{
entry:
  br label %loop
loop:
  %i = phi i64 [%start, %entry], [%inext, %move]
  %n = phi i64 [0, %entry], [%n2, %move]
  %last = phi i64 [-1, %entry], [%choice2, %move]
  %pp = getelementptr i64, ptr %path, i64 %n
  store i64 %i, ptr %pp
  %n2 = add i64 %n, 1
  %there = icmp eq i64 %i, %end
  br i1 %there, label %done, label %begin
begin:
  %im = mul i64 %i, %each
  %pm = getelementptr i64, ptr %moves, i64 %im
  %m = load i64, ptr %pm
  br label %step
step:
  %k = phi i64 [0, %begin], [%k2, %step]
  %best = phi double [0x7FF0000000000000, %begin], [%best2, %step]
  %choice = phi i64 [-1, %begin], [%choice2, %step]
  %po = getelementptr i64, ptr %offsets, i64 %k
  %o = load i64, ptr %po
  %j = add i64 %i, %o
  %pd = getelementptr double, ptr %d, i64 %j
  %dj = load double, ptr %pd
  %pc = getelementptr double, ptr %costs, i64 %k
  %c = load double, ptr %pc
  %v = fadd double %dj, %c
  %bits = lshr i64 %m, %k
  %bit = trunc i64 %bits to i1
  %free = fcmp ogt double %dj, 0xFFF0000000000000
  %may = and i1 %bit, %free
  %less = fcmp olt double %v, %best
  %same = fcmp oeq double %v, %best
  %along = icmp eq i64 %k, %last
  %tie = and i1 %same, %along
  %good = or i1 %less, %tie
  %take = and i1 %may, %good
  %best2 = select i1 %take, double %v, double %best
  %choice2 = select i1 %take, i64 %k, i64 %choice
  %k2 = add i64 %k, 1
  %more = icmp ult i64 %k2, %K
  br i1 %more, label %step, label %decide
decide:
  %stuck = icmp slt i64 %choice2, 0
  %full = icmp uge i64 %n2, %most
  %no = or i1 %stuck, %full
  br i1 %no, label %fail, label %move
move:
  %px = getelementptr i64, ptr %offsets, i64 %choice2
  %x = load i64, ptr %px
  %inext = add i64 %i, %x
  br label %loop
done:
  ret i64 %n2
fail:
  ret i64 -1
}}
"""


def sweep_ir(name: str, K: int, width: int, weighted: bool = False) -> str:
    """Return IR of ``i64 name(a, b, input, weights, offsets, first, blocks, room, beta, sweeps, least, tolerance)``.

    Sweeps new = min(max(β(Σ_k old[i + offset_k] + input_i), 0), 1), or with `weighted` the linear
    new = Σ_k weights[k·room + i] old[i + offset_k] + input_i, from a to b, b to a, …, over `blocks` vectors of `width`
    cells from cell `first`, until no cell changed by more than tolerance·new (but at least `least` sweeps) or `sweeps`
    are done. The neighbours are added in their order and nothing is fused, so that any back end gives the same bits.
    Returns the number of sweeps, negative if the last one still changed something.
    """
    V = f"<{width} x double>"
    truth = f"<{width} x i1>"

    def splat(value: str, register: str) -> list[str]:
        return [
            f"  %{register}.0 = insertelement {V} zeroinitializer, double {value}, i32 0",
            f"  %{register} = shufflevector {V} %{register}.0, {V} zeroinitializer, <{width} x i32> zeroinitializer",
        ]

    lines = [
        f"declare {V} @llvm.fabs.v{width}f64({V})",
        f"declare i1 @llvm.vector.reduce.or.v{width}i1({truth})",
        f"define i64 @{name}(ptr %a, ptr %b, ptr %input, ptr %weights, ptr %offsets, i64 %first, i64 %blocks, "
        "i64 %room, double %beta, i64 %sweeps, i64 %least, double %tolerance) {",
        "entry:",
        *splat("%beta", "B"),
        *splat("%tolerance", "tol"),
        *splat("1.0", "one"),
    ]
    for k in range(K):
        lines += [f"  %po{k} = getelementptr i64, ptr %offsets, i64 {k}", f"  %o{k} = load i64, ptr %po{k}"]
    lines += [
        "  br label %sweep",
        "sweep:",
        "  %n = phi i64 [0, %entry], [%n2, %after]",
        "  %old = phi ptr [%a, %entry], [%new, %after]",
        "  %new = phi ptr [%b, %entry], [%old, %after]",
        "  br label %cells",
        "cells:",
        "  %j = phi i64 [0, %sweep], [%j2, %cells]",
        f"  %ch = phi {truth} [zeroinitializer, %sweep], [%ch2, %cells]",
        f"  %jw = mul i64 %j, {width}",
        "  %i = add i64 %first, %jw",
    ]
    for k in range(K):
        lines += [
            f"  %i{k} = add i64 %i, %o{k}",
            f"  %p{k} = getelementptr double, ptr %old, i64 %i{k}",
            f"  %{'y' if weighted else 'x'}{k} = load {V}, ptr %p{k}, align 8",
        ]
        if weighted:
            lines += [
                f"  %row{k} = mul i64 %room, {k}",
                f"  %iw{k} = add i64 %i, %row{k}",
                f"  %pw{k} = getelementptr double, ptr %weights, i64 %iw{k}",
                f"  %w{k} = load {V}, ptr %pw{k}, align 8",
                f"  %x{k} = fmul {V} %w{k}, %y{k}",
            ]
        lines += [
            f"  %s{k} = fadd {V} {'zeroinitializer' if k == 0 else f'%s{k - 1}'}, %x{k}",
        ]
    lines += [
        "  %pi = getelementptr double, ptr %input, i64 %i",
        f"  %in = load {V}, ptr %pi, align 8",
        f"  %u = fadd {V} %s{K - 1}, %in",
    ]
    result = "%u"
    if not weighted:
        result = "%g"
        lines += [
            f"  %bu = fmul {V} %B, %u",
            f"  %neg = fcmp olt {V} %bu, zeroinitializer",
            f"  %lo = select {truth} %neg, {V} zeroinitializer, {V} %bu",
            f"  %big = fcmp ogt {V} %lo, %one",
            f"  %g = select {truth} %big, {V} %one, {V} %lo",
        ]
    lines += [
        "  %pold = getelementptr double, ptr %old, i64 %i",
        f"  %was = load {V}, ptr %pold, align 8",
        "  %pnew = getelementptr double, ptr %new, i64 %i",
        f"  store {V} {result}, ptr %pnew, align 8",
        f"  %diff = fsub {V} {result}, %was",
        f"  %size = call {V} @llvm.fabs.v{width}f64({V} %diff)",
        f"  %slack = fmul {V} %tol, {result}",
        f"  %moved = fcmp ogt {V} %size, %slack",
        f"  %ch2 = or {truth} %ch, %moved",
        "  %j2 = add i64 %j, 1",
        "  %cont = icmp ult i64 %j2, %blocks",
        "  br i1 %cont, label %cells, label %after",
        "after:",
        f"  %any = call i1 @llvm.vector.reduce.or.v{width}i1({truth} %ch2)",
        "  %n2 = add i64 %n, 1",
        "  %left = icmp ult i64 %n2, %sweeps",
        "  %must = icmp ult i64 %n2, %least",
        "  %want = or i1 %any, %must",
        "  %go = and i1 %left, %want",
        "  br i1 %go, label %sweep, label %end",
        "end:",
        "  %minus = sub i64 0, %n2",
        "  %r = select i1 %any, i64 %minus, i64 %n2",
        "  ret i64 %r",
        "}",
    ]
    return "\n".join(lines)
