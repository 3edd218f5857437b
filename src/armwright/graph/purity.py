# SPDX-License-Identifier: Apache-2.0
"""Whether a user's function depends on its arguments alone: one that keeps state in Python would be frozen by tracing.

A traced function runs once, on symbols. An integrator in ``self``, a counter in a closure, `rng.normal()` or
`time.time()` would give their first value for ever. So before such a function is trusted it is traced twice, alone:
what it can reach must be the same before and after, and both traces must be the same program. What tracing has changed
is put back.

`KeptState` is a picture of what a function can reach and change, to compare with later and to go back to. Seen are
attributes of objects (bound methods, callable instances, whatever these hold), closures, defaults, globals that the
code names (and the functions among them), attributes of classes and of the user's modules that it names; lists,
dictionaries, sets, deques, arrays; NumPy's and Python's random generators. Not seen are generators and iterators in
use, files, sockets, the insides of compiled extensions, more than `MOST_OBJECTS` places, and arrays beyond
`LARGEST_COPIED_BYTES` bytes.
"""

from __future__ import annotations

import builtins
import functools
import math
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from armwright.errors import TraceError

MOST_OBJECTS = 20_000
LARGEST_COPIED_BYTES = 1 << 26
_LIBRARIES = {"armwright", "numpy", "scipy", "llvmlite"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MISSING = object()
SHARED_GENERATORS = {"numpy.random", "random"}
"""Places that other threads of the process may change while a function is traced."""
ATTEMPTS = (
    5  # a function that draws does so every time; that another thread draws in every one of five traces is unlikely
)


def _root(value: object) -> str:
    return str(getattr(value, "__module__", None) or "").split(".")[0]


def is_library(value: object) -> bool:
    """Return whether a function or class is ours, NumPy's, SciPy's or Python's own: what these keep does not matter."""
    root = value.__name__.split(".")[0] if isinstance(value, types.ModuleType) else _root(value)
    return root in _LIBRARIES or (root in sys.stdlib_module_names and root != "__main__")


class KeptState:
    """A picture of reachable state. Every place knows its name, what it held, how to look again, how to put it back."""

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        """Walk through everything that the functions can reach."""
        self._places: list[tuple[str, Any, Callable[[], Any], Callable[[Any], None]]] = []
        self._seen: dict[int, Any] = {}
        self._place("numpy.random", np.random.get_state, np.random.set_state)
        self._place("random", random.getstate, random.setstate)
        for function in functions:
            self._see(getattr(function, "__qualname__", type(function).__name__), function)

    def changed(self) -> list[str]:
        """Return the names of the places that no longer hold what they held."""
        found: list[str] = []
        for name, held, look, _ in self._places:
            now = look()
            if not _same(held, now):
                parts = sorted(map(str, _changed_keys(held, now))) if isinstance(held, dict) else []
                found += [f"{name}.{part}" for part in parts] or [name]
        return found

    def restore(self) -> None:
        """Put everything back that has changed."""
        for _, held, look, put in self._places:
            if not _same(held, look()):
                put(held)

    def _place(self, name: str, look: Callable[[], Any], put: Callable[[Any], None]) -> None:
        if len(self._places) < MOST_OBJECTS:
            self._places.append((name, look(), look, put))

    def _see(self, name: str, value: object) -> None:
        if isinstance(value, _PLAIN) or id(value) in self._seen or len(self._places) >= MOST_OBJECTS:
            return
        self._seen[id(value)] = value  # held, so that no other object gets its number
        if isinstance(value, types.MethodType):
            self._see(name.rsplit(".", 1)[0], value.__self__)
            self._see(name, value.__func__)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self._see(name, part)
        elif isinstance(value, types.FunctionType):
            self._see_function(name, value)
        elif isinstance(value, functools._lru_cache_wrapper):
            self._see(name, value.__wrapped__)  # what it remembers is harmless
        elif isinstance(value, (list, dict, set, deque, bytearray)):
            self._see_container(name, value)
        elif isinstance(value, (tuple, frozenset)):
            for item in value:
                self._see(name, item)
        elif isinstance(value, np.ndarray):
            self._see_array(name, value)
        elif isinstance(value, np.random.Generator):
            bits = value.bit_generator
            self._place(name, lambda: bits.state, lambda held: setattr(bits, "state", held))
        elif isinstance(value, np.random.RandomState):
            self._place(name, value.get_state, value.set_state)
        elif isinstance(value, random.Random):
            self._place(name, value.getstate, value.setstate)
        elif isinstance(value, type):
            if not is_library(value):
                self._see_attributes(value.__name__, value, [k for k, v in vars(value).items() if _is_data(v)])
        elif not is_library(type(value)) or type(value) is types.SimpleNamespace:
            self._see_object(name, value)

    def _see_function(self, name: str, function: types.FunctionType) -> None:
        for label, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            where = f"{label} (closure of {function.__name__})"
            self._place(where, lambda cell=cell: _contents(cell), lambda held, cell=cell: _fill(cell, held))  # type: ignore[misc]
            self._see(label, _contents(cell))
        for part in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._see(f"a default of {function.__name__}", part)
        self._see_attributes(name, function, list(vars(function)))
        if is_library(function):
            return
        space, names = function.__globals__, _names(function.__code__)
        for label in names:
            if label.startswith("@"):  # put there by pytest for its assertions; no source can name it
                continue
            value = space.get(label, _MISSING)
            if isinstance(value, types.ModuleType):
                if not is_library(value):
                    self._see_attributes(label, value, [k for k in names if k in vars(value)])
            elif not hasattr(builtins, label):
                self._place(
                    f"global {label}",
                    lambda k=label: space.get(k, _MISSING),  # type: ignore[misc]
                    lambda held, k=label: _put_item(space, k, held),  # type: ignore[misc]
                )
                self._see(label, value)

    def _see_object(self, name: str, value: object) -> None:
        slots = [k for kind in type(value).__mro__ for k in _slots(kind)]
        if isinstance(getattr(value, "__dict__", None), dict):
            space = value.__dict__
            self._place(name, lambda: dict(space), lambda held: _refill(space, held))
            for label, part in list(space.items()):
                self._see(f"{name}.{label}", part)
        self._see_attributes(name, value, slots)
        self._see(type(value).__name__, type(value))
        self._see(f"{name}.__call__", vars(type(value)).get("__call__"))

    def _see_attributes(self, name: str, owner: object, labels: list[str]) -> None:
        for label in labels:
            self._place(
                f"{name}.{label}",
                lambda k=label: getattr(owner, k, _MISSING),  # type: ignore[misc]
                lambda held, k=label: _put_attribute(owner, k, held),  # type: ignore[misc]
            )
            self._see(f"{name}.{label}", getattr(owner, label, None))

    def _see_container(self, name: str, value: Any) -> None:
        kind = dict if isinstance(value, dict) else set if isinstance(value, set) else list
        self._place(name, lambda: kind(value), lambda held: _refill(value, held))
        for item in value.values() if isinstance(value, dict) else value:
            self._see(f"{name}[…]", item)

    def _see_array(self, name: str, value: NDArray[Any]) -> None:
        if value.dtype.hasobject:
            self._place(name, lambda: list(value.ravel()), lambda held: _put_objects(value, held))
        elif value.flags.writeable and value.nbytes <= LARGEST_COPIED_BYTES:
            self._place(name, value.copy, lambda held: np.copyto(value, held))


def _same(a: Any, b: Any) -> bool:
    """Return whether two pictures are equal: numbers and arrays by value, everything else by identity."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, _PLAIN):
        return bool(a == b) or (isinstance(a, float) and math.isnan(a) and math.isnan(b))
    if isinstance(a, np.ndarray):
        return not a.dtype.hasobject and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(v, b[k]) for k, v in a.items())
    if isinstance(a, (set, frozenset)):
        return bool(a == b)
    return False


def _changed_keys(held: dict[Any, Any], now: dict[Any, Any]) -> list[Any]:
    every = [*held, *(key for key in now if key not in held)]
    return [key for key in every if not _same(held.get(key, _MISSING), now.get(key, _MISSING))]


def _names(code: types.CodeType) -> list[str]:
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part)]
    return list(dict.fromkeys([*code.co_names, *inner]))


def _slots(kind: type) -> list[str]:
    given = vars(kind).get("__slots__", ())
    return [k for k in ((given,) if isinstance(given, str) else given) if k not in ("__dict__", "__weakref__")]


def _is_data(value: object) -> bool:
    return isinstance(value, (*_PLAIN, list, dict, set, np.ndarray)) and not isinstance(value, type(None))


def _contents(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _fill(cell: types.CellType, held: object) -> None:
    if held is _MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = held


def _put_item(space: dict[str, Any], name: str, held: object) -> None:
    if held is _MISSING:
        space.pop(name, None)
    else:
        space[name] = held


def _put_attribute(owner: object, name: str, held: object) -> None:
    if held is _MISSING:
        delattr(owner, name)
    elif isinstance(owner, (type, types.ModuleType)):
        setattr(owner, name, held)
    else:
        object.__setattr__(owner, name, held)  # frozen data is put back, too


def _put_objects(array: NDArray[Any], held: list[Any]) -> None:
    for index, item in zip(np.ndindex(array.shape), held, strict=True):
        array[index] = item


def _refill(container: Any, held: Any) -> None:
    container.clear()
    (container.extend if isinstance(container, (list, deque, bytearray)) else container.update)(held)


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
_MARK = "__armwright_pure__"
HOW_TO = (
    "write what it keeps as memory (return (tau, {'name': new}), memory={'name': start}), or vouch for it with "
    "armwright.pure if that is harmless, such as a cache"
)


class StatefulError(TraceError):
    """A function that keeps state in Python; traced it would be frozen."""


def pure(function: F) -> F:
    """Vouch that the result of a function depends on its arguments alone, so that it is traced without the check.

    For functions that change something harmless, such as a cache of their own: ``law = aw.pure(law)`` or ``@aw.pure``.
    """
    try:
        setattr(function, _MARK, True)
    except AttributeError:  # a method of an object

        @functools.wraps(function)
        def vouched(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        setattr(vouched, _MARK, True)
        return vouched  # type: ignore[return-value]
    return function


def is_trusted(function: object) -> bool:
    """Return whether a function is the library's own with nothing of the user's inside, or vouched for."""
    if getattr(function, _MARK, False) or function is None:
        return True
    if isinstance(function, functools.partial):
        return all(is_trusted(part) for part in (function.func, *function.args, *function.keywords.values()))
    if isinstance(function, types.FunctionType):
        enclosed = [cell.cell_contents for cell in function.__closure__ or () if _bound(cell)]
        return is_library(function) and all(is_trusted(part) for part in enclosed if callable(part))
    if isinstance(function, types.MethodType):
        return is_library(type(function.__self__)) and is_trusted(function.__func__)
    return is_library(type(function))


def _bound(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - asking is the test
    except ValueError:
        return False
    return True


def traced_purely(functions: Iterable[Any], trace: Callable[[], T], digest: Callable[[T], str], what: str) -> T:
    """Return what `trace` makes; where it runs functions of the user, trace twice and put back what that changed.

    Args:
        functions: those that `trace` runs; the library's own are trusted.
        trace: traces them.
        digest: digest of the program in what `trace` returns.
        what: the functions in words, for the message.

    Raises:
        StatefulError: they changed something that they can reach, or the two traces differ.
        TraceError: they cannot be traced.
    """
    watched = [function for function in functions if not is_trusted(function)]
    if not watched:
        return trace()
    for _ in range(ATTEMPTS):
        state = KeptState(watched)
        try:
            first = trace()
            changed = state.changed()
            second = first if changed else trace()
            changed = changed or state.changed()
        finally:
            state.restore()
        if not changed or not SHARED_GENERATORS.issuperset(changed):
            break
    if changed:
        places = ", ".join(changed[:3])
        raise StatefulError(f"{what} keeps state in Python ({places} changed when it was called); {HOW_TO}")
    if digest(first) != digest(second):
        raise StatefulError(
            f"{what} gives another result when it is called again with the same arguments (a clock, random numbers, a "
            f"counter); {HOW_TO}"
        )
    return first
