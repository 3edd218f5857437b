# SPDX-License-Identifier: Apache-2.0
"""Whether a user's function depends on its arguments alone: one that keeps state in Python would be frozen by tracing.

A traced function runs once, on symbols. An integrator in ``self``, a counter in a closure, `rng.normal()` or
`time.time()` would give their first value for ever. So before such a function is trusted it is traced twice, alone:
what it can reach (`kept_state`) must be the same before and after, and both traces must be the same program. What
tracing has changed is put back.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from armwright.errors import TraceError
from armwright.graph.kept_state import KeptState, is_library

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
    """Vouch that the result of a function depends on its arguments alone, so that it is traced without being asked.

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


def is_trusted(function: Any) -> bool:
    """Whether a function is the library's own with nothing of the user's inside, or vouched for."""
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
    """Return what `trace` makes; where functions of the user's are in it, trace twice and put back what that changed.

    Args:
        functions: that `trace` runs; the library's own are trusted.
        trace: traces them.
        digest: of the program in what `trace` returns.
        what: the functions in words, for the message.

    Raises:
        StatefulError: they changed something that they can reach, or the two traces differ.
        TraceError: they cannot be traced.
    """
    watched = [function for function in functions if not is_trusted(function)]
    if not watched:
        return trace()
    state = KeptState(watched)
    try:
        first = trace()
        changed = state.changed()
        second = first if changed else trace()
        changed = changed or state.changed()
    finally:
        state.restore()
    if changed:
        places = ", ".join(changed[:3])
        raise StatefulError(f"{what} keeps state in Python ({places} changed when it was called); {HOW_TO}")
    if digest(first) != digest(second):
        raise StatefulError(
            f"{what} gives another result when it is called again with the same arguments (a clock, random numbers, a "
            f"counter); {HOW_TO}"
        )
    return first
