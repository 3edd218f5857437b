# SPDX-License-Identifier: Apache-2.0
"""Calls from Python at the cost of a C function.

`fast_type` derives from a Python class a type whose instances carry a *vectorcall* pointer, CPython's own way of
calling without packing arguments. `connect` points it at machine code made here. That code accepts exact float64,
C-contiguous arrays of exactly the kernel's shapes, or small batches of them with one leading axis, allocates the
results, runs the kernel and returns. Anything else (lists, other dtypes, large batches, batches that broadcast,
keywords, results that overlap, inputs that are not finite) goes to `slow`, an ordinary Python callable. Addresses and
shapes stand in a table that the instance points to, so that the machine code is the same for every kernel.

The code reads fields of CPython's tuple and NumPy's array object at fixed offsets. `layout_is_known` compares those
offsets with a live interpreter, reading memory only, before the first use; where they differ every call is an
ordinary Python call.
"""

from __future__ import annotations

import ctypes
import struct
import sysconfig
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.graph.emit.llvm_call import (
    ARRAY,
    BATCH,
    MAX_DIMENSIONS,
    MAX_SIGNALS,
    TUPLE_ITEMS,
    WRITABLE,
    trampoline_ir,
)
from armwright.graph.thread_pool import once
from armwright.graph.traced_program import TracedProgram

if TYPE_CHECKING:
    from armwright.types import Array

_PYARRAY_NEW = 93  # index in NumPy's exported C API table
SMALL_ROWS = 1024  # rows beyond which the general path costs less than a tenth of the work of a small kernel
SMALL_WORK = 1 << 20  # operations of a batch during which no other Python thread may run: some 0.1 ms


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


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
        at = {name: id(array) + offset for name, offset in ARRAY.items()}
        extents = (ctypes.c_ssize_t * 2).from_address(word(at["dimensions"]).value)
        return bool(
            all(word(id(pair) + TUPLE_ITEMS + 8 * k).value == id(pair[k]) for k in range(2))
            and word(at["type"]).value == id(np.ndarray)
            and word(at["data"]).value == array.ctypes.data
            and integer(at["ndim"]).value == 2
            and tuple(extents) == (3, 5)
            and word(at["descr"]).value == id(np.dtype(np.float64))
            and integer(at["flags"]).value & WRITABLE == WRITABLE
            and _numpy_api(_PYARRAY_NEW)
        )
    except (AttributeError, ImportError, ValueError):
        return False


def data_word(array: Array) -> Any:
    """Return the address of a word that holds the address of an array's data, as an argument for ctypes."""
    if layout_is_known():
        return id(array) + ARRAY["data"]
    return ctypes.byref(ctypes.c_void_p(array.ctypes.data))


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
    """Return the IR of the entry code for instances of this type."""
    offset = type(instance).vectorcall_offset  # type: ignore[attr-defined]
    return trampoline_ir(offset + 8, offset + 16)


def can_connect(instance: object, program: TracedProgram) -> bool:
    """Return whether calls of `instance` can go straight to machine code."""
    signals = [*program.inputs, *program.outputs]
    return (
        hasattr(type(instance), "vectorcall_offset")
        and bool(program.inputs)
        and len(signals) <= MAX_SIGNALS
        and all(len(signal.shape) <= MAX_DIMENSIONS for signal in signals)
    )


def connect(
    instance: object, program: TracedProgram, kernel: int, width: int, entry: int, slow: Callable[..., Any]
) -> tuple[Any, ...]:
    """Let calls of `instance` run the one-row kernel at address `kernel`; the instance must keep the result alive.

    Batches of `width` rows and more take the general path until `offer_batch` says where their kernel is.
    """
    signals = [*program.inputs, *program.outputs]
    api = ctypes.pythonapi
    words = [
        len(program.inputs),
        len(program.outputs),
        kernel,
        int(program.single),
        id(np.ndarray),
        id(np.dtype(np.float64)),
        _numpy_api(_PYARRAY_NEW),
        _address(api.PyTuple_New),
        _address(api.PyObject_Vectorcall),
        _address(api.Py_IncRef),
        _address(api.Py_DecRef),
        0,
        width,
        max(1, min(SMALL_ROWS, SMALL_WORK // max(1, program.counts.flops))),
    ]
    for signal in signals:
        words += [len(signal.shape), *signal.shape, *[0] * (MAX_DIMENSIONS - len(signal.shape)), 8 * signal.size]
    table = (ctypes.c_int64 * len(words))(*words)
    offset = type(instance).vectorcall_offset  # type: ignore[attr-defined]
    cells = (ctypes.c_void_p * 3).from_address(id(instance) + offset)
    cells[1], cells[2] = ctypes.addressof(table), id(slow)
    cells[0] = entry
    return table, slow


def offer_batch(connection: tuple[Any, ...], kernel: int) -> None:
    """Let small batches of a connected instance run the batch kernel at this address."""
    if connection:
        connection[0][BATCH] = kernel
