"""One call from Python at the cost of a C function.

`fast_type` derives from a Python class a type whose instances carry a *vectorcall* pointer, CPython's own way of
calling without packing arguments. `connect` points it at machine code made here. That code accepts exact float64,
C-contiguous arrays of exactly the kernel's shapes, allocates the results, runs the one-row kernel and returns.
Anything else — lists, other dtypes, batches, keywords, inputs that are not finite — goes to `slow`, an ordinary
Python callable. Addresses and shapes stand in a table that the instance points to, so that the machine code is the
same for every kernel.

The code reads fields of CPython's tuple and NumPy's array object at fixed offsets. `layout_is_known` compares those
offsets with a live interpreter, reading memory only, before the first use; where they differ every call is an
ordinary Python call.
"""

from __future__ import annotations

import ctypes
import struct
import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.graph.once import once
from armwright.graph.program import Program

MAX_SIGNALS, MAX_DIMENSIONS = 16, 4
_TUPLE_ITEMS = 24
_ARRAY = {"type": 8, "data": 16, "ndim": 24, "dimensions": 32, "descr": 56, "flags": 64}
_READABLE, _WRITABLE = 0x0101, 0x0501  # C_CONTIGUOUS | ALIGNED (| WRITEABLE)
_PYARRAY_NEW = 93  # index in NumPy's exported C API table
NAME = "armwright_call"

# Words of the table: nin, nout, kernel, single, ndarray type, float64 descr, PyArray_New, PyTuple_New, vectorcall,
# Py_IncRef, Py_DecRef, then per signal: ndim and MAX_DIMENSIONS extents.
_HEADER, _SIGNAL = 11, 1 + MAX_DIMENSIONS

_TRAMPOLINE = f"""
define ptr @{NAME}(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames) #0 {{
entry:
  %nargs = and i64 %nargsf, 9223372036854775807
  %data = alloca [{MAX_SIGNALS} x ptr], align 16
  %objects = alloca [{MAX_SIGNALS} x ptr], align 16
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
  %total = add i64 %nin, %nout
  %plain = icmp eq ptr %kwnames, null
  %fewer = icmp eq i64 %nargs, %nin
  %given = icmp eq i64 %nargs, %total
  %either = or i1 %fewer, %given
  %ok0 = and i1 %plain, %either
  br i1 %ok0, label %check, label %slow
check:
  %k = phi i64 [0, %entry], [%k2, %accept]
  %ap = getelementptr ptr, ptr %args, i64 %k
  %a = load ptr, ptr %ap
  %typep = getelementptr i8, ptr %a, i64 {_ARRAY["type"]}
  %type = load ptr, ptr %typep
  %istype = icmp eq ptr %type, %atype
  br i1 %istype, label %isarray, label %slow
isarray:
  %dp = getelementptr i8, ptr %a, i64 {_ARRAY["descr"]}
  %d = load ptr, ptr %dp
  %isdouble = icmp eq ptr %d, %descr
  %fp = getelementptr i8, ptr %a, i64 {_ARRAY["flags"]}
  %f = load i32, ptr %fp
  %isin = icmp slt i64 %k, %nin
  %mask = select i1 %isin, i32 {_READABLE}, i32 {_WRITABLE}
  %fm = and i32 %f, %mask
  %isflat = icmp eq i32 %fm, %mask
  %sk = mul i64 %k, {_SIGNAL}
  %s0 = add i64 %sk, {_HEADER}
  %sp = getelementptr i64, ptr %t, i64 %s0
  %want = load i64, ptr %sp
  %np = getelementptr i8, ptr %a, i64 {_ARRAY["ndim"]}
  %nd = load i32, ptr %np
  %nd64 = sext i32 %nd to i64
  %isnd = icmp eq i64 %nd64, %want
  %ok1 = and i1 %isdouble, %isflat
  %ok2 = and i1 %ok1, %isnd
  br i1 %ok2, label %shape, label %slow
shape:
  %xp = getelementptr i8, ptr %a, i64 {_ARRAY["dimensions"]}
  %extents = load ptr, ptr %xp
  br label %axis
axis:
  %j = phi i64 [0, %shape], [%j2, %same]
  %more = icmp slt i64 %j, %want
  br i1 %more, label %compare, label %accept
compare:
  %ep = getelementptr i64, ptr %extents, i64 %j
  %e = load i64, ptr %ep
  %j2 = add i64 %j, 1
  %wp = getelementptr i64, ptr %sp, i64 %j2
  %w = load i64, ptr %wp
  %issame = icmp eq i64 %e, %w
  br i1 %issame, label %same, label %slow
same:
  br label %axis
accept:
  %bp = getelementptr i8, ptr %a, i64 {_ARRAY["data"]}
  %b = load ptr, ptr %bp
  %slot = getelementptr ptr, ptr %data, i64 %k
  store ptr %b, ptr %slot
  %k2 = add i64 %k, 1
  %again = icmp slt i64 %k2, %nargs
  br i1 %again, label %check, label %checked
checked:
  %outs = getelementptr ptr, ptr %data, i64 %nin
  br i1 %given, label %run, label %allocate
allocate:
  %o = phi i64 [0, %checked], [%o2, %made]
  %ok = add i64 %o, %nin
  %osk = mul i64 %ok, {_SIGNAL}
  %os0 = add i64 %osk, {_HEADER}
  %osp = getelementptr i64, ptr %t, i64 %os0
  %ond = load i64, ptr %osp
  %ond32 = trunc i64 %ond to i32
  %odims = getelementptr i64, ptr %osp, i64 1
  %p6 = getelementptr i64, ptr %t, i64 6
  %newarray = load ptr, ptr %p6
  %new = call ptr %newarray(ptr %atype, i32 %ond32, ptr %odims, i32 12, ptr null, ptr null, i32 0, i32 0, ptr null)
  %isnull = icmp eq ptr %new, null
  br i1 %isnull, label %failed, label %made
made:
  %obp = getelementptr i8, ptr %new, i64 {_ARRAY["data"]}
  %ob = load ptr, ptr %obp
  %oslot = getelementptr ptr, ptr %outs, i64 %o
  store ptr %ob, ptr %oslot
  %objslot = getelementptr ptr, ptr %objects, i64 %o
  store ptr %new, ptr %objslot
  %o2 = add i64 %o, 1
  %omore = icmp slt i64 %o2, %nout
  br i1 %omore, label %allocate, label %run
run:
  %count = phi i64 [0, %checked], [%o2, %made]
  %status = call i64 %kernel(ptr %data, ptr %outs, i64 1)
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
  %items = getelementptr i8, ptr %tuple, i64 {_TUPLE_ITEMS}
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


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Member(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t),
                ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]  # fmt: skip


class _Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(_Slot))]  # fmt: skip


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _numpy_api(index: int) -> int:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # holds the capsule C extensions import

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(_multiarray_umath._ARRAY_API, None)
    return (ctypes.c_void_p * (index + 1)).from_address(table)[index] or 0


@once
def layout_is_known() -> bool:
    """Compare the offsets used above with live objects, reading memory only."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") or struct.calcsize("P") != 8:
        return False
    try:
        word, integer = ctypes.c_size_t.from_address, ctypes.c_int.from_address
        pair = (object(), object())
        array = np.zeros((3, 5))
        at = {name: id(array) + offset for name, offset in _ARRAY.items()}
        extents = (ctypes.c_ssize_t * 2).from_address(word(at["dimensions"]).value)
        return bool(
            all(word(id(pair) + _TUPLE_ITEMS + 8 * k).value == id(pair[k]) for k in range(2))
            and word(at["type"]).value == id(np.ndarray)
            and word(at["data"]).value == array.ctypes.data
            and integer(at["ndim"]).value == 2
            and tuple(extents) == (3, 5)
            and word(at["descr"]).value == id(np.dtype(np.float64))
            and integer(at["flags"]).value & _WRITABLE == _WRITABLE
            and _numpy_api(_PYARRAY_NEW)
        )
    except (AttributeError, ImportError, ValueError):
        return False


def fast_type(base: type) -> type:
    """Return a subclass of `base` whose instances can be connected to machine code; `base` where that is impossible."""
    if not layout_is_known():
        return base
    offset = base.__basicsize__
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", 19, offset, 1, None))  # 19: Py_ssize_t, 1: read-only
    slots = (_Slot * 2)(_Slot(72, ctypes.addressof(members)))  # 72: Py_tp_members
    have_vectorcall, default = 1 << 11, 1 << 18
    name = f"{base.__module__}.{base.__qualname__}".encode()
    spec = _Spec(name, offset + 24, 0, default | have_vectorcall, slots)
    create = ctypes.pythonapi.PyType_FromSpecWithBases
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object]
    made: type = create(ctypes.addressof(spec), (base,))
    made.vectorcall_offset = offset  # type: ignore[attr-defined]
    made._keep = (name, members, slots, spec)  # type: ignore[attr-defined]
    made.__doc__ = base.__doc__
    return made


def trampoline(instance: object) -> str:
    """IR of the entry code for instances of this type."""
    offset = type(instance).vectorcall_offset  # type: ignore[attr-defined]
    return _TRAMPOLINE.replace("i64 TABLE", f"i64 {offset + 8}").replace("i64 SLOW", f"i64 {offset + 16}")


def can_connect(instance: object, program: Program) -> bool:
    """Whether calls of `instance` can go straight to machine code."""
    signals = [*program.inputs, *program.outputs]
    return (
        hasattr(type(instance), "vectorcall_offset")
        and bool(program.inputs)
        and len(signals) <= MAX_SIGNALS
        and all(len(signal.shape) <= MAX_DIMENSIONS for signal in signals)
    )


def connect(instance: object, program: Program, kernel: int, entry: int, slow: Callable[..., Any]) -> tuple[Any, ...]:
    """Let calls of `instance` run the one-row kernel at address `kernel`; the instance must keep the result alive."""
    signals = [*program.inputs, *program.outputs]
    api = ctypes.pythonapi
    words = [len(program.inputs), len(program.outputs), kernel, int(program.single), id(np.ndarray),
             id(np.dtype(np.float64)), _numpy_api(_PYARRAY_NEW), _address(api.PyTuple_New),
             _address(api.PyObject_Vectorcall), _address(api.Py_IncRef), _address(api.Py_DecRef)]  # fmt: skip
    for signal in signals:
        words += [len(signal.shape), *signal.shape, *[0] * (MAX_DIMENSIONS - len(signal.shape))]
    table = (ctypes.c_int64 * len(words))(*words)
    offset = type(instance).vectorcall_offset  # type: ignore[attr-defined]
    cells = (ctypes.c_void_p * 3).from_address(id(instance) + offset)
    cells[1], cells[2] = ctypes.addressof(table), id(slow)
    cells[0] = entry
    return table, slow
