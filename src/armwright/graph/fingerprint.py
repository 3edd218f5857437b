# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of functions: two trace to the same loop if equal code sees equal values.

A loop is traced once and used again. A user may redefine a law, or change a number that it reads from its module or its
closure; then it must be traced again. What cannot be compared is never used again.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import is_dataclass

import numpy as np

from armwright.graph.kernel import Kernel

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_FIXED = (types.ModuleType, types.BuiltinFunctionType, np.ufunc, type)


class NotComparable(Exception):  # noqa: N818 - not an error: the loop is traced again
    """A value may have changed without notice."""


def fingerprint(value: object) -> object:
    """Return a hashable stand-in, equal for values (numbers, arrays, functions) that behave the same.

    Raises:
        NotComparable: for objects that could change: instances of a user's class, bound methods, generators.
    """
    return _of(value, ())


def _of(value: object, inside: tuple[int, ...]) -> object:
    if isinstance(value, _PLAIN):
        return (type(value), value)
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise NotComparable
        return (array.shape, array.dtype.str, array.tobytes())
    if isinstance(value, (tuple, list)):
        return (type(value), *(_of(item, inside) for item in value))
    if isinstance(value, Mapping):
        return (dict, *((str(key), _of(item, inside)) for key, item in value.items()))
    if isinstance(value, functools.partial):
        return (functools.partial, *(_of(part, inside) for part in (value.func, value.args, value.keywords)))
    if isinstance(value, types.FunctionType):
        return _of_function(value, inside)
    if isinstance(value, Kernel):
        return (Kernel, value.program.digest)
    if isinstance(value, _FIXED) or _is_frozen(value):
        return value
    raise NotComparable


def _of_function(function: types.FunctionType, inside: tuple[int, ...]) -> object:
    if id(function) in inside:
        return "itself"
    inside = (*inside, id(function))
    try:
        enclosed = tuple(cell.cell_contents for cell in function.__closure__ or ())
    except ValueError as error:  # a name that is not bound yet
        raise NotComparable from error
    seen = [*enclosed, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    library = (function.__module__ or "").split(".")[0] in ("armwright", "numpy", "scipy")
    if not library:  # a library's module does not change while it is used
        seen += [function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__]
    try:
        return (function.__code__, *(_of(item, inside) for item in seen))
    except NotComparable:
        if library:  # nor do the values that a library's function encloses
            return function
        raise


def _names(code: types.CodeType) -> tuple[str, ...]:
    """Global names that a function and the functions within it may read."""
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part)]
    return (*code.co_names, *inner)


def _is_frozen(value: object) -> bool:
    """Instances of the library's frozen dataclasses, which count by identity (or by their own equality)."""
    kind = type(value)
    parameters = getattr(kind, "__dataclass_params__", None)
    return is_dataclass(kind) and bool(parameters and parameters.frozen) and kind.__hash__ is not None
