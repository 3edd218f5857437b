# SPDX-License-Identifier: Apache-2.0
"""Errors that name the wrong argument: it is looked for only after a call has failed, so that good calls cost nothing.

`names_culprit` wraps a public function. Where something inside it fails (a `TypeError`, an `AttributeError`, …), the
arguments are compared with the function's annotations, and the first that does not fit is named in an `InputError`. An
error that no argument explains is passed on as it is: it may come from a user's own function, or be a fault of ours.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from armwright.errors import ArmwrightError, InputError
from armwright.types import Array

P = ParamSpec("P")
R = TypeVar("R")
# what NumPy and Python raise inside us; LinAlgError is a ValueError
STUMBLES = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError, MemoryError, RecursionError)
LARGEST_COUNT = 1e9  # numbers of samples, steps, simulations: nothing that takes one can finish beyond this
_ARRAYS = {"ArrayLike", "Array", "NDArray", "Vector"}
_MANY = {"Sequence", "Iterable", "Collection", "tuple", "list", "set"}
_PLAIN = frozenset((float, int, bool, str, np.float64, np.ndarray))  # what a list may hold without a closer look


def names_culprit(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with raw errors replaced by an `InputError` that names the wrong argument, if any."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if has_masked((*args, *kwargs.values())):
            _name_masked(function, args, kwargs)
        try:
            return function(*args, **kwargs)
        except ArmwrightError as error:
            if type(error) is InputError:
                _in_own_name(function, args, kwargs, error)
            raise
        except STUMBLES as error:
            with contextlib.suppress(MemoryError):  # what was too large to compute with is too large to look at
                blame(function, args, kwargs, error)
            if isinstance(error, MemoryError) and _is_from_here(error):
                raise InputError(f"{_title(function)}: {too_much_memory(error)}") from error
            raise

    return call


def has_masked(value: object) -> bool:
    """Return whether a NumPy array, or one in a list or tuple, hides elements behind a mask: they have no value."""
    if isinstance(value, np.ndarray):
        return type(value) is not np.ndarray and np.ma.is_masked(value)
    if isinstance(value, (list, tuple)):
        return not _PLAIN.issuperset(map(type, value)) and any(map(has_masked, value))
    return False


def refuse_masked(value: object, what: str) -> None:
    """Raise `InputError` naming `what` if it `has_masked` elements; `numpy.asarray` would show what they hide."""
    if has_masked(value):
        count = "masked"
        if isinstance(value, np.ndarray):
            count = f"{np.count_nonzero(np.ma.getmask(value))} masked of {value.size}"
        raise InputError(f"{what}: {count} elements have no value; fill or drop them (numpy.ma.filled, .compressed())")


def _name_masked(function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> None:
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return  # the call itself tells of missing and unknown arguments
    given.update(given.pop("options", {}))
    for label, value in given.items():
        refuse_masked(value, f"{_title(function)}: {label}")


def too_much_memory(error: MemoryError) -> str:
    """Return what to tell of a call that the memory does not suffice for; NumPy's error says how much was asked for."""
    return f"not enough memory ({error or 'none is left'}); split the batch and call with fewer rows at a time"


def _in_own_name(
    function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any], error: InputError
) -> None:
    """Rewrite an error about an argument that was passed on, ``inner: q …``, to name the function that the user called.

    Where a user's function was given, an error of a public function may be about a call in there, and stays as it is.
    """
    said = re.match(r"([\w.]+): (\w+)", str(error))
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return
    given.update(kwargs)
    if said is None or said[1] in given or said[2] not in given:
        return
    users = any(isinstance(value, types.FunctionType) for value in given.values())
    if not (users and said[1] in dir(sys.modules["armwright"])):
        error.args = (f"{_title(function)}{str(error)[said.end(1) :]}",)


def blame(function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any], error: BaseException) -> None:
    """Raise `InputError` for the first argument that does not fit the annotations of `function`, if there is one."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return  # Python's own words about missing and unknown arguments are clear
    name, asked = _title(function), _annotations(function)
    if "options" in given and "options" not in asked:  # keywords by the names of a TypedDict
        given.update(given.pop("options"))
        strange = next((label for label in given if label in kwargs and label not in asked), None)
        if strange is not None:
            raise TypeError(f"{name}() got an unexpected keyword argument {strange!r}") from None
    for test in (_wrong_kind, _wrong_value):
        for label, value in given.items():
            annotation = asked.get(label, "Any")
            problem = test(value, annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any"))
            if problem:
                raise InputError(f"{name}: {label} {problem}") from error
    shapes = [f"{label} {np.shape(value)}" for label, value in given.items() if _is_array(function, label)]
    if shapes and isinstance(error, (ValueError, IndexError)) and _is_from_here(error):
        raise InputError(f"{name}: the arguments do not fit together ({error}): {', '.join(shapes)}") from error


def _title(function: Callable[..., Any]) -> str:
    """Return what users call a function by: its name, of a method with its class, of ``__init__`` the class alone."""
    return function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function; ``**options: Unpack[Kind]`` are those of the TypedDict `Kind`, as texts."""
    asked = dict(function.__annotations__)
    unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(asked.get("options")))
    if unpacked:
        del asked["options"]
        asked |= keyword_types(function.__globals__[unpacked[1]])
    return asked


def keyword_types(kind: Any) -> dict[str, str]:
    """Return the types of a TypedDict's keys as texts."""
    return {label: getattr(each, "__forward_arg__", each) for label, each in kind.__annotations__.items()}


def _is_array(function: Callable[..., Any], label: str) -> bool:
    return any(word in str(_annotations(function).get(label)) for word in _ARRAYS)


def _is_from_here(error: BaseException) -> bool:
    """Return whether no function of the user was called on the way to the error."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_globals.get("__name__", "").split(".")[0] not in ("armwright", "numpy", "scipy"):
            return False
        step = step.tb_next
    return True


def numbers(value: object, what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a copy as float64, or raise `InputError` naming `what`."""
    refuse_masked(value, what)
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers, got {_short(value)}") from error


def matrix_of(value: object) -> Any:
    """Return the matrix of SciPy's ``Rotation`` (..., 3, 3) or ``RigidTransform`` (..., 4, 4); all else as it is."""
    return value.as_matrix() if hasattr(value, "as_matrix") else value


def number(value: object, what: str) -> float:
    """Return one real number (infinities and NaN included), or raise `InputError` naming `what`."""
    array = numbers(value, what) if value is not None else np.zeros(0)
    if array.ndim:
        raise InputError(f"{what} must be one number, got {_short(value)}")
    return float(array)


def _wrong_kind(value: object, annotation: str) -> str:
    if _fits(value, annotation):
        return ""
    wanted = " or ".join(kind for kind in _split(annotation, "|") if kind != "Tree")  # which only the library makes
    hint = ""
    if "Robot" in annotation and isinstance(value, str):
        hint = f"; load it first: armwright.load({value!r})"
    return f"must be {wanted}, got {_short(value)}{hint}"


def _wrong_value(value: object, annotation: str) -> str:
    kinds = {kind.split("[")[0] for kind in _split(annotation, "|")}
    if value is None:
        return ""
    if "int" in kinds and isinstance(value, (int, np.integer)) and abs(int(value)) > LARGEST_COUNT:
        return f"is too large: {value}; the largest that makes sense is {LARGEST_COUNT:g}"
    if kinds & _ARRAYS and _is_numeric(value):
        array = np.asarray(value, dtype=np.float64)
        bad = np.argwhere(~(np.abs(array) < 1e100))
        if len(bad):
            place = f" at [{', '.join(map(str, bad[0]))}]" if array.ndim else ""
            return f"must hold finite numbers that can be computed with, got {array[tuple(bad[0])]}{place}"
    elif "float" in kinds and isinstance(value, (float, np.floating)) and np.isnan(value):
        return "is NaN; a number is needed"
    return ""


def _short(value: object) -> str:
    text = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
    return f"{text} ({type(value).__name__})"


def _split(text: str, mark: str) -> list[str]:
    """Split at marks that stand outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _fits(value: object, annotation: str) -> bool:
    return any(_is(value, kind) for kind in _split(annotation, "|"))


def _is(value: object, kind: str) -> bool:
    name, _, inner = kind.strip("'\"").removesuffix("]").partition("[")
    name = name.rsplit(".", 1)[-1]
    if name in ("Any", "object", "bool", "Traced"):
        return True
    if name == "None":
        return value is None
    if name in _ARRAYS:
        return _is_numeric(value)
    if name == "float":
        return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if name == "int":
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if name == "Callable":
        return callable(value)
    if name in ("Mapping", "dict"):
        return isinstance(value, Mapping)
    if name in _MANY:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            return False
        first = _split(inner, ",")[0]
        return not isinstance(value, (list, tuple)) or all(_fits(item, first or "Any") for item in value)
    return _is_named(value, name)


def _is_numeric(value: object) -> bool:
    try:
        return np.asarray(value).dtype.kind in "iufb"
    except (TypeError, ValueError):
        return False


def _is_named(value: object, name: str) -> bool:
    """Return whether a value is of a class, union or choice of texts that has this name in the library.

    Two modules may use one name for different things, and which of them was imported first says nothing.
    """
    if any(kind.__name__ == name for kind in type(value).__mro__):
        return True
    found = [vars(m)[name] for key, m in list(sys.modules.items()) if _ours(key) and name in vars(m)]
    return any(_is_of(value, each) for each in found or [getattr(builtins, name, None)])


def _is_of(value: object, meaning: object) -> bool:
    """Return whether a value is of a class, union or choice; what cannot be decided is taken to fit."""
    if typing.get_origin(meaning) is typing.Literal:
        return value in typing.get_args(meaning) if isinstance(value, str) else False
    if typing.get_origin(meaning) is Callable:
        return callable(value)
    if isinstance(meaning, types.UnionType):
        return isinstance(value, meaning) if all(isinstance(k, type) for k in typing.get_args(meaning)) else True
    return not isinstance(meaning, type) or getattr(meaning, "_is_protocol", False)


def _ours(module: str) -> bool:
    return module.split(".")[0] in ("armwright", "pathlib")


def frozen_numbers(value: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Copy `value` into a read-only finite float64 array of `shape`; a scalar fills it."""
    refuse_masked(value, what)
    try:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), shape))
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected numbers of shape {shape}, got {value!r}") from error
    if not np.isfinite(array).all():
        raise InputError(f"{what}: every entry must be finite, got {array.tolist()}")
    array.flags.writeable = False
    return array
