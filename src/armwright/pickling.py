# SPDX-License-Identifier: Apache-2.0
"""How the library's frozen data is pickled and copied: as the arguments of its constructor, and nothing else.

Arrays come back read-only, checks run again, and what was computed on the way (compiled code above all) stays behind.
Functions travel by name. One that stands inside another function is named by the way to its code and rebuilt with the
values that it encloses; the code itself is never carried, so both processes must import the same source.

Armwright pickles nothing of its own accord and reads no pickles: this serves ``multiprocessing`` and ``copy``.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import importlib
import types
from dataclasses import dataclass, fields
from typing import Any, Self

from armwright.errors import NotSupportedError


class Rebuilt:
    """Base of frozen dataclasses that are pickled and copied as the arguments of their constructor."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments by name."""
        what = f"{type(self).__name__} {getattr(self, 'name', '')!r}"
        return _rebuild, (type(self), {name: _sent(value, what) for name, value in _arguments(self).items()})

    def __copy__(self) -> Self:
        """Return itself, as every immutable object does."""
        return self

    def __deepcopy__(self, known: dict[int, Any]) -> Self:
        """Return an equal object that shares no array; functions are shared."""
        return type(self)(**{name: copy.deepcopy(value, known) for name, value in _arguments(self).items()})


def _arguments(value: Any) -> dict[str, Any]:
    """Arguments of the constructor by name; read-only views of dictionaries as dictionaries."""
    given = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
    return {name: dict(part) if isinstance(part, types.MappingProxyType) else part for name, part in given.items()}


def _rebuild(kind: type[Any], arguments: dict[str, Any]) -> Any:
    return kind(**{name: _received(value) for name, value in arguments.items()})


@dataclass(frozen=True, slots=True)
class _Inner:
    """A function inside a function: module, outermost name, way down the code, check of the code, what it encloses."""

    module: str
    outer: tuple[str, ...]
    way: tuple[int, ...]
    check: str
    enclosed: tuple[Any, ...]
    defaults: tuple[Any, ...] | None
    keyword_defaults: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Partial:
    """A `functools.partial` whose function may be an inner one."""

    function: Any
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def _sent(value: object, what: str) -> object:
    """What is pickled in place of `value`."""
    if isinstance(value, functools.partial):
        args = tuple(_sent(part, what) for part in value.args)
        return _Partial(_sent(value.func, what), args, {k: _sent(v, what) for k, v in value.keywords.items()})
    if not isinstance(value, types.FunctionType) or "<" not in value.__qualname__:
        return value
    names = tuple(value.__qualname__.split(".<locals>", 1)[0].split("."))
    try:
        way = _way(_outer_code(value.__module__, names), value.__code__)
        enclosed = tuple(_sent(cell.cell_contents, what) for cell in value.__closure__ or ())
    except (ImportError, AttributeError, ValueError):
        way = None
    if way is None:
        raise NotSupportedError(
            f"{what} cannot be pickled: its function {value.__qualname__!r} cannot be found again by importing "
            f"{value.__module__!r}; define it with def, in a module, and give what it needs as gains"
        )
    defaults = value.__defaults__ and tuple(_sent(part, what) for part in value.__defaults__)
    return _Inner(value.__module__, names, way, _check(value.__code__), enclosed, defaults, value.__kwdefaults__)


def _received(value: Any) -> Any:
    if isinstance(value, _Partial):
        keywords = {name: _received(part) for name, part in value.keywords.items()}
        return functools.partial(_received(value.function), *map(_received, value.args), **keywords)
    if not isinstance(value, _Inner):
        return value
    try:
        code = _outer_code(value.module, value.outer)
        for k in value.way:
            code = _inner_codes(code)[k]
    except (ImportError, AttributeError, IndexError) as error:
        raise NotSupportedError(_changed(value)) from error
    if _check(code) != value.check:
        raise NotSupportedError(_changed(value))
    cells = tuple(types.CellType(_received(part)) for part in value.enclosed)
    space = vars(importlib.import_module(value.module))
    defaults = value.defaults and tuple(_received(part) for part in value.defaults)
    function = types.FunctionType(code, space, code.co_name, defaults, cells)
    function.__kwdefaults__ = value.keyword_defaults
    function.__qualname__ = code.co_qualname
    return function


def _changed(value: _Inner) -> str:
    place = f"{value.module}.{'.'.join(value.outer)}"
    return f"a function inside {place} cannot be rebuilt: its source here is not the one it was pickled with"


def _outer_code(module: str, names: tuple[str, ...]) -> types.CodeType:
    found: Any = importlib.import_module(module)
    for name in names:
        found = getattr(found, name)
    code: types.CodeType = getattr(found, "__wrapped__", found).__code__
    return code


def _inner_codes(code: types.CodeType) -> list[types.CodeType]:
    return [part for part in code.co_consts if isinstance(part, types.CodeType)]


def _way(outer: types.CodeType, code: types.CodeType) -> tuple[int, ...] | None:
    """Which of the inner codes to take, level by level, to come from `outer` to `code`; None if there is no way."""
    for k, part in enumerate(_inner_codes(outer)):
        rest = () if part == code else _way(part, code)
        if rest is not None:
            return (k, *rest)
    return None


def _check(code: types.CodeType) -> str:
    """Digest of a code: two versions of a source that differ in it cannot be taken for each other."""
    plain = [part for part in code.co_consts if not isinstance(part, types.CodeType | frozenset)]
    inner = [_check(part) for part in _inner_codes(code)]
    text = repr((code.co_code, plain, inner, code.co_names, code.co_varnames, code.co_freevars))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
