# SPDX-License-Identifier: Apache-2.0
"""The entry code of a kernel as LLVM IR: from the arguments of a CPython call to the kernel and back.

The instance holds, at TABLE and SLOW bytes, a pointer to the table below and the callable for everything that this code
does not accept. `armwright.graph.fast_call` checks the offsets against the running interpreter and fills the table.

Arrays have the kernel's shapes, or all of them one leading axis of the same length before these: a small batch. Full
SIMD groups of it go to the batch kernel, the rest to the one-row kernel. Longer batches take the general path, which
splits them over threads and lets other threads in meanwhile; so does the first batch, which compiles the batch kernel.
"""

from __future__ import annotations

MAX_SIGNALS, MAX_DIMENSIONS = 16, 4
TUPLE_ITEMS = 24
ARRAY = {"type": 8, "data": 16, "ndim": 24, "dimensions": 32, "descr": 56, "flags": 64}
READABLE, WRITABLE = 0x0101, 0x0501  # C_CONTIGUOUS | ALIGNED (| WRITEABLE)
NAME = "armwright_call"

# Words of the table: nin, nout, kernel, single, ndarray type, float64 descr, PyArray_New, PyTuple_New, vectorcall,
# Py_IncRef, Py_DecRef, batch kernel (0: not compiled yet), its rows at once, most rows of a small batch, then per
# signal: ndim, MAX_DIMENSIONS extents and the bytes of an array.
HEADER, SIGNAL = 14, 2 + MAX_DIMENSIONS
BATCH = 11  # the word of the batch kernel

_EXTENTS = "".join(
    f"""  %ox{d} = getelementptr i64, ptr %osp, i64 {d}
  %oe{d} = load i64, ptr %ox{d}
  %oy{d} = getelementptr i64, ptr %dims, i64 {d}
  store i64 %oe{d}, ptr %oy{d}
"""
    for d in range(1, MAX_DIMENSIONS + 1)
)

_TEXT = f"""
define ptr @{NAME}(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames) #0 {{
entry:
  %nargs = and i64 %nargsf, 9223372036854775807
  %data = alloca [{MAX_SIGNALS} x ptr], align 16
  %objects = alloca [{MAX_SIGNALS} x ptr], align 16
  %rest = alloca [{MAX_SIGNALS} x ptr], align 16
  %dims = alloca [{MAX_DIMENSIONS + 1} x i64], align 16
  %tp = getelementptr i8, ptr %self, i64 TABLE
  %t = load ptr, ptr %tp
  %nin = load i64, ptr %t
  %p1 = getelementptr i64, ptr %t, i64 1
  %nout = load i64, ptr %p1
  %p2 = getelementptr i64, ptr %t, i64 2
  %kernel = load ptr, ptr %p2
  %p3 = getelementptr i64, ptr %t, i64 3
  %single = load i64, ptr %p3
  %p4 = getelementptr i64, ptr %t, i64 4
  %atype = load ptr, ptr %p4
  %p5 = getelementptr i64, ptr %t, i64 5
  %descr = load ptr, ptr %p5
  %p11 = getelementptr i64, ptr %t, i64 {BATCH}
  %many = load ptr, ptr %p11
  %p12 = getelementptr i64, ptr %t, i64 {BATCH + 1}
  %width = load i64, ptr %p12
  %p13 = getelementptr i64, ptr %t, i64 {BATCH + 2}
  %most = load i64, ptr %p13
  %total = add i64 %nin, %nout
  %plain = icmp eq ptr %kwnames, null
  %fewer = icmp eq i64 %nargs, %nin
  %given = icmp eq i64 %nargs, %total
  %either = or i1 %fewer, %given
  %ok0 = and i1 %plain, %either
  br i1 %ok0, label %check, label %slow
check:
  %k = phi i64 [0, %entry], [%k2, %accept]
  %lead0 = phi i64 [0, %entry], [%lead, %accept]
  %rows0 = phi i64 [1, %entry], [%rows, %accept]
  %ap = getelementptr ptr, ptr %args, i64 %k
  %a = load ptr, ptr %ap
  %typep = getelementptr i8, ptr %a, i64 {ARRAY["type"]}
  %type = load ptr, ptr %typep
  %istype = icmp eq ptr %type, %atype
  br i1 %istype, label %isarray, label %slow
isarray:
  %dp = getelementptr i8, ptr %a, i64 {ARRAY["descr"]}
  %d = load ptr, ptr %dp
  %isdouble = icmp eq ptr %d, %descr
  %fp = getelementptr i8, ptr %a, i64 {ARRAY["flags"]}
  %f = load i32, ptr %fp
  %isin = icmp slt i64 %k, %nin
  %mask = select i1 %isin, i32 {READABLE}, i32 {WRITABLE}
  %fm = and i32 %f, %mask
  %isflat = icmp eq i32 %fm, %mask
  %sk = mul i64 %k, {SIGNAL}
  %s0 = add i64 %sk, {HEADER}
  %sp = getelementptr i64, ptr %t, i64 %s0
  %want = load i64, ptr %sp
  %np = getelementptr i8, ptr %a, i64 {ARRAY["ndim"]}
  %nd = load i32, ptr %np
  %nd64 = sext i32 %nd to i64
  %isfirst = icmp eq i64 %k, 0
  %lead = sub i64 %nd64, %want
  %leads = select i1 %isfirst, i64 %lead, i64 %lead0
  %issamelead = icmp eq i64 %lead, %leads
  %isrows = icmp ult i64 %lead, 2
  %isnd = and i1 %issamelead, %isrows
  %ok1 = and i1 %isdouble, %isflat
  %ok2 = and i1 %ok1, %isnd
  br i1 %ok2, label %shape, label %slow
shape:
  %xp = getelementptr i8, ptr %a, i64 {ARRAY["dimensions"]}
  %extents = load ptr, ptr %xp
  %isone = icmp eq i64 %lead, 0
  br i1 %isone, label %sized, label %leading
leading:
  %r = load i64, ptr %extents
  %rwant = select i1 %isfirst, i64 %r, i64 %rows0
  %isr = icmp eq i64 %r, %rwant
  %r1 = sub i64 %r, 1
  %issmall = icmp ult i64 %r1, %most
  %ok3 = and i1 %isr, %issmall
  br i1 %ok3, label %sized, label %slow
sized:
  %rows = phi i64 [1, %shape], [%r, %leading]
  %own = getelementptr i64, ptr %extents, i64 %lead
  br label %axis
axis:
  %j = phi i64 [0, %sized], [%j2, %same]
  %more = icmp slt i64 %j, %want
  br i1 %more, label %compare, label %accept
compare:
  %ep = getelementptr i64, ptr %own, i64 %j
  %e = load i64, ptr %ep
  %j2 = add i64 %j, 1
  %wp = getelementptr i64, ptr %sp, i64 %j2
  %w = load i64, ptr %wp
  %issame = icmp eq i64 %e, %w
  br i1 %issame, label %same, label %slow
same:
  br label %axis
accept:
  %bp = getelementptr i8, ptr %a, i64 {ARRAY["data"]}
  %b = load ptr, ptr %bp
  %slot = getelementptr ptr, ptr %data, i64 %k
  store ptr %b, ptr %slot
  %k2 = add i64 %k, 1
  %again = icmp slt i64 %k2, %nargs
  br i1 %again, label %check, label %checked
checked:
  %outs = getelementptr ptr, ptr %data, i64 %nin
  %spare = sub i64 0, %width
  %groups = and i64 %rows, %spare
  %whole = select i1 %isone, i64 0, i64 %groups
  %nogroup = icmp eq i64 %whole, 0
  %ismade = icmp ne ptr %many, null
  %ready = or i1 %nogroup, %ismade
  br i1 %ready, label %ways, label %slow
ways:
  br i1 %given, label %out, label %allocate
out:
  %u = phi i64 [%nin, %ways], [%u2, %apart]
  %uslot = getelementptr i64, ptr %data, i64 %u
  %ufirst = load i64, ptr %uslot
  %usk = mul i64 %u, {SIGNAL}
  %us0 = add i64 %usk, {HEADER + SIGNAL - 1}
  %usp = getelementptr i64, ptr %t, i64 %us0
  %ubytes1 = load i64, ptr %usp
  %ubytes = mul i64 %ubytes1, %rows
  %uend = add i64 %ufirst, %ubytes
  br label %other
other:
  %v = phi i64 [0, %out], [%v2, %other]
  %vslot = getelementptr i64, ptr %data, i64 %v
  %vfirst = load i64, ptr %vslot
  %vsk = mul i64 %v, {SIGNAL}
  %vs0 = add i64 %vsk, {HEADER + SIGNAL - 1}
  %vsp = getelementptr i64, ptr %t, i64 %vs0
  %vbytes1 = load i64, ptr %vsp
  %vbytes = mul i64 %vbytes1, %rows
  %vend = add i64 %vfirst, %vbytes
  %starts = icmp ult i64 %vfirst, %uend
  %ends = icmp ult i64 %ufirst, %vend
  %overlap = and i1 %starts, %ends
  %v2 = add i64 %v, 1
  %vmore = icmp slt i64 %v2, %u
  %onward = xor i1 %overlap, true
  %vnext = and i1 %vmore, %onward
  br i1 %vnext, label %other, label %decided
decided:
  br i1 %overlap, label %slow, label %apart
apart:
  %u2 = add i64 %u, 1
  %umore = icmp slt i64 %u2, %nargs
  br i1 %umore, label %out, label %run
allocate:
  %o = phi i64 [0, %ways], [%o2, %made]
  %ok = add i64 %o, %nin
  %osk = mul i64 %ok, {SIGNAL}
  %os0 = add i64 %osk, {HEADER}
  %osp = getelementptr i64, ptr %t, i64 %os0
  %ond1 = load i64, ptr %osp
  %ond = add i64 %ond1, %lead
  %ond32 = trunc i64 %ond to i32
  store i64 %rows, ptr %dims
{_EXTENTS}  %oskip = sub i64 1, %lead
  %odims = getelementptr i64, ptr %dims, i64 %oskip
  %p6 = getelementptr i64, ptr %t, i64 6
  %newarray = load ptr, ptr %p6
  %new = call ptr %newarray(ptr %atype, i32 %ond32, ptr %odims, i32 12, ptr null, ptr null, i32 0, i32 0, ptr null)
  %isnull = icmp eq ptr %new, null
  br i1 %isnull, label %failed, label %made
made:
  %obp = getelementptr i8, ptr %new, i64 {ARRAY["data"]}
  %ob = load ptr, ptr %obp
  %oslot = getelementptr ptr, ptr %outs, i64 %o
  store ptr %ob, ptr %oslot
  %objslot = getelementptr ptr, ptr %objects, i64 %o
  store ptr %new, ptr %objslot
  %o2 = add i64 %o, 1
  %omore = icmp slt i64 %o2, %nout
  br i1 %omore, label %allocate, label %run
run:
  %count = phi i64 [0, %apart], [%o2, %made]
  br i1 %nogroup, label %few, label %full
full:
  %status1 = call i64 %many(ptr %data, ptr %outs, i64 %whole)
  %left = sub i64 %rows, %whole
  %none = icmp eq i64 %left, 0
  br i1 %none, label %computed, label %advance
advance:
  %h = phi i64 [0, %full], [%h2, %advance]
  %hslot = getelementptr ptr, ptr %data, i64 %h
  %hfirst = load ptr, ptr %hslot
  %hsk = mul i64 %h, {SIGNAL}
  %hs0 = add i64 %hsk, {HEADER + SIGNAL - 1}
  %hsp = getelementptr i64, ptr %t, i64 %hs0
  %hbytes1 = load i64, ptr %hsp
  %hbytes = mul i64 %hbytes1, %whole
  %hnext = getelementptr i8, ptr %hfirst, i64 %hbytes
  %hrest = getelementptr ptr, ptr %rest, i64 %h
  store ptr %hnext, ptr %hrest
  %h2 = add i64 %h, 1
  %hmore = icmp slt i64 %h2, %total
  br i1 %hmore, label %advance, label %few
few:
  %before = phi i64 [0, %run], [%status1, %advance]
  %fewrows = phi i64 [%rows, %run], [%left, %advance]
  %fewin = phi ptr [%data, %run], [%rest, %advance]
  %fewout = getelementptr ptr, ptr %fewin, i64 %nin
  %status2 = call i64 %kernel(ptr %fewin, ptr %fewout, i64 %fewrows)
  %both = or i64 %before, %status2
  br label %computed
computed:
  %status = phi i64 [%status1, %full], [%both, %few]
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %wrap, label %discard
wrap:
  br i1 %given, label %borrow, label %finish
borrow:
  %g = phi i64 [0, %wrap], [%g2, %borrow]
  %gk = add i64 %g, %nin
  %gp = getelementptr ptr, ptr %args, i64 %gk
  %go = load ptr, ptr %gp
  %p9 = getelementptr i64, ptr %t, i64 9
  %incref = load ptr, ptr %p9
  call void %incref(ptr %go)
  %gslot = getelementptr ptr, ptr %objects, i64 %g
  store ptr %go, ptr %gslot
  %g2 = add i64 %g, 1
  %gmore = icmp slt i64 %g2, %nout
  br i1 %gmore, label %borrow, label %finish
finish:
  %issingle = icmp ne i64 %single, 0
  br i1 %issingle, label %one, label %several
one:
  %result = load ptr, ptr %objects
  ret ptr %result
several:
  %p7 = getelementptr i64, ptr %t, i64 7
  %newtuple = load ptr, ptr %p7
  %tuple = call ptr %newtuple(i64 %nout)
  %notuple = icmp eq ptr %tuple, null
  br i1 %notuple, label %failed, label %fill
fill:
  %m = phi i64 [0, %several], [%m2, %fill]
  %mslot = getelementptr ptr, ptr %objects, i64 %m
  %mo = load ptr, ptr %mslot
  %items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  %item = getelementptr ptr, ptr %items, i64 %m
  store ptr %mo, ptr %item
  %m2 = add i64 %m, 1
  %mmore = icmp slt i64 %m2, %nout
  br i1 %mmore, label %fill, label %tupled
tupled:
  ret ptr %tuple
discard:
  br label %drop
drop:
  %x = phi i64 [0, %discard], [%x2, %dropped]
  %xmore = icmp slt i64 %x, %count
  br i1 %xmore, label %dropped, label %slow
dropped:
  %xslot = getelementptr ptr, ptr %objects, i64 %x
  %xo = load ptr, ptr %xslot
  %p10 = getelementptr i64, ptr %t, i64 10
  %decref = load ptr, ptr %p10
  call void %decref(ptr %xo)
  %x2 = add i64 %x, 1
  br label %drop
failed:
  ret ptr null
slow:
  %slowp = getelementptr i8, ptr %self, i64 SLOW
  %callable = load ptr, ptr %slowp
  %p8 = getelementptr i64, ptr %t, i64 8
  %vectorcall = load ptr, ptr %p8
  %answer = call ptr %vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}
attributes #0 = {{ nounwind }}
"""


def trampoline_ir(table: int, slow: int) -> str:
    """Return the entry code for instances that hold the table's address and the slow callable at these bytes."""
    return _TEXT.replace("i64 TABLE", f"i64 {table}").replace("i64 SLOW", f"i64 {slow}")
