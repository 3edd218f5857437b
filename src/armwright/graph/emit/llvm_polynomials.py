# SPDX-License-Identifier: Apache-2.0
"""Piecewise polynomials at many instants as LLVM IR: values and two derivatives, one row per instant.

Its reference in NumPy is `armwright.motion.trajectory.Trajectory.evaluate`, which runs where LLVM is missing.
"""

from __future__ import annotations

# pieces are found by stepping forward from the last one: times mostly come in order
_FRAME = """
define void @{name}(ptr %t, ptr %breaks, ptr %c, ptr %out, i64 %rows, i64 %last, i64 %stride) {{
entry:
  %plast = getelementptr double, ptr %breaks, i64 %last
  %pend = getelementptr double, ptr %plast, i64 1
  %end = load double, ptr %pend
  br label %row
row:
  %r = phi i64 [0, %entry], [%r1, %fill]
  %before = phi i64 [0, %entry], [%p, %fill]
  %pt = getelementptr double, ptr %t, i64 %r
  %time = load double, ptr %pt
  %early = fcmp olt double %time, 0.0
  %late = fcmp ogt double %time, %end
  %from0 = select i1 %early, double 0.0, double %time
  %at = select i1 %late, double %end, double %from0
  %still = or i1 %early, %late
  %pb = getelementptr double, ptr %breaks, i64 %before
  %begin = load double, ptr %pb
  %back = fcmp olt double %at, %begin
  %start = select i1 %back, i64 0, i64 %before
  br label %seek
seek:
  %p = phi i64 [%start, %row], [%p1, %step]
  %p1 = add i64 %p, 1
  %pnext = getelementptr double, ptr %breaks, i64 %p1
  %next = load double, ptr %pnext
  %beyond = fcmp oge double %at, %next
  %more = icmp slt i64 %p, %last
  %on = and i1 %beyond, %more
  br i1 %on, label %step, label %fill
step:
  br label %seek
fill:
  %pbreak = getelementptr double, ptr %breaks, i64 %p
  %zero = load double, ptr %pbreak
  %local = fsub double %at, %zero
  %x1 = insertelement <{n} x double> poison, double %local, i32 0
  %x = shufflevector <{n} x double> %x1, <{n} x double> poison, <{n} x i32> zeroinitializer
  %first = mul i64 %p, {block}
  %pc = getelementptr double, ptr %c, i64 %first
{body}
  %off = mul i64 %r, %stride
  %po = getelementptr double, ptr %out, i64 %off
  %po1 = getelementptr double, ptr %po, i64 {n}
  %po2 = getelementptr double, ptr %po, i64 {twice}
  %speed = select i1 %still, <{n} x double> zeroinitializer, <{n} x double> %d{end}
  %half = select i1 %still, <{n} x double> zeroinitializer, <{n} x double> %e{end}
  %turn = fadd <{n} x double> %half, %half
  store <{n} x double> %b{end}, ptr %po, align 8
  store <{n} x double> %speed, ptr %po1, align 8
  store <{n} x double> %turn, ptr %po2, align 8
  %r1 = add i64 %r, 1
  %done = icmp eq i64 %r1, %rows
  br i1 %done, label %exit, label %row
exit:
  ret void
}}
"""


def table_ir(name: str, size: int, n: int, *, fma: bool) -> str:
    """Return LLVM IR that fills rows [q, qd, qdd] of n joints from pieces of `size` coefficients (Horner's rule).

    b ← b x + c_k, d ← d x + b, e ← e x + d from the highest power down leave q = b, qd = d and qdd = 2 e.
    """
    kind, body = f"<{n} x double>", []

    def load(k: int) -> None:
        body.append(f"  %pc{k} = getelementptr double, ptr %pc, i64 {k * n}")
        body.append(f"  %c{k} = load {kind}, ptr %pc{k}, align 8")

    def times_plus(out: str, a: str, b: str) -> None:
        if fma:
            body.append(f"  {out} = call {kind} @llvm.fma.v{n}f64({kind} {a}, {kind} %x, {kind} {b})")
        else:
            body.append(f"  {out}m = fmul {kind} {a}, %x")
            body.append(f"  {out} = fadd {kind} {out}m, {b}")

    load(size - 1)
    b, d, e = f"%c{size - 1}", "zeroinitializer", "zeroinitializer"
    for step in range(size - 1):
        load(k := size - 2 - step)
        times_plus(f"%e{step}", e, d)
        times_plus(f"%d{step}", d, b)
        times_plus(f"%b{step}", b, f"%c{k}")
        b, d, e = f"%b{step}", f"%d{step}", f"%e{step}"
    if size == 1:  # a constant; the frame's names
        body += [f"  %b0 = fadd {kind} %c0, zeroinitializer", f"  %d0 = fmul {kind} %x, zeroinitializer"]
        body.append(f"  %e0 = fmul {kind} %x, zeroinitializer")
    end = max(size - 2, 0)
    declared = f"declare {kind} @llvm.fma.v{n}f64({kind}, {kind}, {kind})\n" if fma else ""
    return declared + _FRAME.format(name=name, n=n, twice=2 * n, block=size * n, end=end, body="\n".join(body))
