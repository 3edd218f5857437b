# SPDX-License-Identifier: Apache-2.0
"""The entry code of a kernel for XLA as LLVM IR: from the call frame of its typed foreign-function interface and back.

XLA hands over a frame: buffers with element type, address and extents, for arguments and results. All arguments have
the same leading axes before the kernel's shapes, C order: a batch. Full SIMD groups of it go to the batch kernel, the
rest to the one-row kernel. Before the first call XLA asks for the version of the interface instead, in an extension of
the frame; `armwright.graph.jax_call` says which, fills the table and tries the code before it is used.

Offsets are those of ``xla/ffi/api/c_api.h``, major version 0, on machines with addresses of 64 bits. Minor versions
append fields.
"""

from __future__ import annotations

INTERFACE_MAJOR = 0  # of the interface whose layout this is
MOST_BUFFERS = 64
HANDLER = "armwright_xla_call"
NOT_FINITE_CODE, LAYOUT_CODE = 3, 9  # INVALID_ARGUMENT, FAILED_PRECONDITION

# Words of the table: arguments, results, one-row kernel, batch kernel, its rows at once, minor version of the
# interface, text for inputs that are not finite, text for buffers of other types or sizes, then the numbers in a row of
# each argument and result.
TABLE_HEADER = 8
_FRAME = {"extension": 8, "api": 16, "arguments": 56, "argument": 72, "results": 96, "result": 112}
_BUFFER = {"type": 16, "data": 24, "rank": 32, "extents": 40}
_METADATA = {"kind": 8, "data": 24, "major": 24, "minor": 28, "traits": 32}
_ERROR_CREATE, _ERROR_BYTES = 48, 28  # place in the table of the interface; bytes of its argument
_FLOAT64, _METADATA_KIND = 12, 1

_TEXT = f"""
define ptr @{HANDLER}(ptr %frame, ptr %t) #0 {{
entry:
  %data = alloca [{MOST_BUFFERS} x ptr], align 16
  %rest = alloca [{MOST_BUFFERS} x ptr], align 16
  %error = alloca [4 x i64], align 16
  %xp = getelementptr i8, ptr %frame, i64 {_FRAME["extension"]}
  %x = load ptr, ptr %xp
  %plain = icmp eq ptr %x, null
  br i1 %plain, label %call, label %extended
extended:
  %kp = getelementptr i8, ptr %x, i64 {_METADATA["kind"]}
  %kind = load i32, ptr %kp
  %asks = icmp eq i32 %kind, {_METADATA_KIND}
  br i1 %asks, label %tell, label %call
tell:
  %mp = getelementptr i8, ptr %x, i64 {_METADATA["data"]}
  %m = load ptr, ptr %mp
  %majorp = getelementptr i8, ptr %m, i64 {_METADATA["major"]}
  store i32 {INTERFACE_MAJOR}, ptr %majorp
  %ownp = getelementptr i64, ptr %t, i64 5
  %own = load i64, ptr %ownp
  %minor = trunc i64 %own to i32
  %minorp = getelementptr i8, ptr %m, i64 {_METADATA["minor"]}
  store i32 %minor, ptr %minorp
  %traitsp = getelementptr i8, ptr %m, i64 {_METADATA["traits"]}
  store i32 0, ptr %traitsp
  ret ptr null
call:
  %nin = load i64, ptr %t
  %p1 = getelementptr i64, ptr %t, i64 1
  %nout = load i64, ptr %p1
  %total = add i64 %nin, %nout
  %ap = getelementptr i8, ptr %frame, i64 {_FRAME["arguments"]}
  %a = load i64, ptr %ap
  %rp = getelementptr i8, ptr %frame, i64 {_FRAME["results"]}
  %r = load i64, ptr %rp
  %isin = icmp eq i64 %a, %nin
  %isout = icmp eq i64 %r, %nout
  %counted = and i1 %isin, %isout
  br i1 %counted, label %lists, label %strange
lists:
  %argp = getelementptr i8, ptr %frame, i64 {_FRAME["argument"]}
  %arguments = load ptr, ptr %argp
  %resp = getelementptr i8, ptr %frame, i64 {_FRAME["result"]}
  %results = load ptr, ptr %resp
  br label %buffer
buffer:
  %k = phi i64 [0, %lists], [%k2, %accept]
  %rows0 = phi i64 [0, %lists], [%rows, %accept]
  %given = icmp ult i64 %k, %nin
  %list = select i1 %given, ptr %arguments, ptr %results
  %after = sub i64 %k, %nin
  %index = select i1 %given, i64 %k, i64 %after
  %bp = getelementptr ptr, ptr %list, i64 %index
  %b = load ptr, ptr %bp
  %typep = getelementptr i8, ptr %b, i64 {_BUFFER["type"]}
  %type = load i32, ptr %typep
  %isdouble = icmp eq i32 %type, {_FLOAT64}
  br i1 %isdouble, label %measure, label %strange
measure:
  %rankp = getelementptr i8, ptr %b, i64 {_BUFFER["rank"]}
  %rank = load i64, ptr %rankp
  %ep = getelementptr i8, ptr %b, i64 {_BUFFER["extents"]}
  %extents = load ptr, ptr %ep
  br label %axis
axis:
  %j = phi i64 [0, %measure], [%j2, %multiply]
  %count = phi i64 [1, %measure], [%count2, %multiply]
  %more = icmp slt i64 %j, %rank
  br i1 %more, label %multiply, label %sized
multiply:
  %dp = getelementptr i64, ptr %extents, i64 %j
  %d = load i64, ptr %dp
  %count2 = mul i64 %count, %d
  %j2 = add i64 %j, 1
  br label %axis
sized:
  %sk = add i64 %k, {TABLE_HEADER}
  %sp = getelementptr i64, ptr %t, i64 %sk
  %size = load i64, ptr %sp
  %rows = udiv i64 %count, %size
  %product = mul i64 %rows, %size
  %exact = icmp eq i64 %product, %count
  %isfirst = icmp eq i64 %k, 0
  %issame = icmp eq i64 %rows, %rows0
  %agrees = or i1 %isfirst, %issame
  %fits = and i1 %exact, %agrees
  br i1 %fits, label %accept, label %strange
accept:
  %datap = getelementptr i8, ptr %b, i64 {_BUFFER["data"]}
  %place = load ptr, ptr %datap
  %slot = getelementptr ptr, ptr %data, i64 %k
  store ptr %place, ptr %slot
  %k2 = add i64 %k, 1
  %again = icmp slt i64 %k2, %total
  br i1 %again, label %buffer, label %split
split:
  %p4 = getelementptr i64, ptr %t, i64 4
  %width = load i64, ptr %p4
  %spare = sub i64 0, %width
  %whole = and i64 %rows, %spare
  %nogroup = icmp eq i64 %whole, 0
  br i1 %nogroup, label %tail, label %groups
groups:
  %p3 = getelementptr i64, ptr %t, i64 3
  %many = load ptr, ptr %p3
  %gouts = getelementptr ptr, ptr %data, i64 %nin
  %gstatus = call i64 %many(ptr %data, ptr %gouts, i64 %whole)
  br label %tail
tail:
  %status0 = phi i64 [0, %split], [%gstatus, %groups]
  %left = sub i64 %rows, %whole
  %noleft = icmp eq i64 %left, 0
  br i1 %noleft, label %judge, label %move
move:
  %u = phi i64 [0, %tail], [%u2, %move]
  %us = getelementptr ptr, ptr %data, i64 %u
  %ufirst = load ptr, ptr %us
  %uk = add i64 %u, {TABLE_HEADER}
  %up = getelementptr i64, ptr %t, i64 %uk
  %usize = load i64, ptr %up
  %uskip = mul i64 %usize, %whole
  %ulast = getelementptr double, ptr %ufirst, i64 %uskip
  %ur = getelementptr ptr, ptr %rest, i64 %u
  store ptr %ulast, ptr %ur
  %u2 = add i64 %u, 1
  %umore = icmp slt i64 %u2, %total
  br i1 %umore, label %move, label %one
one:
  %p2 = getelementptr i64, ptr %t, i64 2
  %single = load ptr, ptr %p2
  %routs = getelementptr ptr, ptr %rest, i64 %nin
  %rstatus = call i64 %single(ptr %rest, ptr %routs, i64 %left)
  %both = or i64 %status0, %rstatus
  br label %judge
judge:
  %status = phi i64 [%status0, %tail], [%both, %one]
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %done, label %refuse
done:
  ret ptr null
strange:
  br label %refuse
refuse:
  %word = phi i64 [6, %judge], [7, %strange]
  %code = phi i64 [{NOT_FINITE_CODE}, %judge], [{LAYOUT_CODE}, %strange]
  %tp = getelementptr i64, ptr %t, i64 %word
  %message = load i64, ptr %tp
  store i64 {_ERROR_BYTES}, ptr %error
  %e1 = getelementptr i64, ptr %error, i64 1
  store i64 0, ptr %e1
  %e2 = getelementptr i64, ptr %error, i64 2
  store i64 %message, ptr %e2
  %e3 = getelementptr i64, ptr %error, i64 3
  store i64 %code, ptr %e3
  %apip = getelementptr i8, ptr %frame, i64 {_FRAME["api"]}
  %api = load ptr, ptr %apip
  %cp = getelementptr i8, ptr %api, i64 {_ERROR_CREATE}
  %create = load ptr, ptr %cp
  %made = call ptr %create(ptr %error)
  ret ptr %made
}}
attributes #0 = {{ nounwind }}
"""


def handler_ir() -> str:
    """Return the entry code; the same for every kernel, whose table is its second argument."""
    return _TEXT


def bound_handler_ir(name: str, handler: int, table: int) -> str:
    """Return IR of a handler `name` of XLA's own signature: the entry code at an address, with a table at another."""
    return "\n".join(
        [
            f"define ptr @{name}(ptr %frame) nounwind {{",
            f"  %code = inttoptr i64 {handler} to ptr",
            f"  %table = inttoptr i64 {table} to ptr",
            "  %made = tail call ptr %code(ptr %frame, ptr %table)",
            "  ret ptr %made",
            "}",
            "",
        ]
    )
