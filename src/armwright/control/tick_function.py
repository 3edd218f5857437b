# SPDX-License-Identifier: Apache-2.0
"""What a control law and a monitor have in common: a pure NumPy function of one control tick, its gains, its memory.

The function names what it wants and is given just that (`armwright.graph.by_name`): signals, gains and memory. Written
with NumPy alone and without branches on values it runs on floats and is traced into the compiled loop. `gain` and
`choice` check what the constructors of laws are given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armwright.errors import InputError
from armwright.graph.by_name import call_by_name
from armwright.motion.trajectory import Reference
from armwright.pickling import Rebuilt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from armwright.types import Array, Traced


def gain(
    value: ArrayLike | Sequence[ArrayLike], name: str, *, size: int | None = None, positive: bool = False
) -> Array:
    """Return a gain as an array: finite, ≥ 0 (> 0 if `positive`), at most two axes, the last of length `size` (or 1).

    The number of joints is not known where a law is made; `armwright.control.law.check_gains` checks it later.
    """
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers, got {value!r}") from error
    if not np.isfinite(array).all() or (array < 0.0).any() or (positive and (array == 0.0).any()):
        raise InputError(f"{name}: every entry must be finite and {'>' if positive else '≥'} 0, got {array.tolist()}")
    if array.ndim > 2 or (size is not None and array.ndim and array.shape[-1] not in (1, size)):
        wanted = "(n,), (B, n)" if size is None else f"({size},), (B, {size})"
        raise InputError(f"{name}: expected a scalar, {wanted}, got {array.shape}")
    return array


def choice(value: object, name: str, valid: tuple[str, ...]) -> str:
    """Return one of the `valid` words."""
    if value not in valid:
        raise InputError(f"{name}: expected one of {', '.join(map(repr, valid))}, got {value!r}")
    return str(value)


@dataclass(frozen=True, eq=False)
class TickFunction(Rebuilt):
    """A named function with gains and memory; base of `Law` and `Monitor`.

    Attributes:
        name: for messages and recordings.
        function: function of signals, gains and memory, by name.
        gains: constants by name.
        memory: initial values by name. A scalar stands for one value per joint and is stretched to (n,)
            (`initial_memory`); other shapes are kept.
    """

    kind: ClassVar[str]
    signals: ClassVar[tuple[str, ...]]

    name: str
    function: Callable[..., Any]
    gains: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse names that clash or are not used."""
        if not callable(self.function):
            raise InputError(f"{self.title}: expected a function, got {type(self.function).__name__}")
        for what in ("gains", "memory"):
            given = getattr(self, what).items()
            values = {label: finite_numbers(value, f"{self.title}: {label}") for label, value in given}
            object.__setattr__(self, what, MappingProxyType(values))
        taken = [*self.signals, *self.gains, *self.memory, *self.further_names()]
        clash = sorted({label for label in taken if taken.count(label) > 1})
        if clash:
            raise InputError(
                f"{self.title}: {', '.join(clash)} is named twice; gains, memory and outputs need names of their own, "
                f"which are not already a signal ({', '.join(self.signals)})"
            )
        wanted = inspect.signature(self.function).parameters
        known = {label for function in self.functions() for label in inspect.signature(function).parameters}
        unused = sorted({*self.gains, *self.memory} - known)
        if unused:
            raise InputError(
                f"{self.title}: the function has no parameter {', '.join(unused)}; it takes {', '.join(wanted)}"
            )

    @property
    def title(self) -> str:
        """How messages call it."""
        return f"{self.kind} {self.name!r}"

    def functions(self) -> tuple[Callable[..., Traced], ...]:
        """All functions that may use gains and memory."""
        return (self.function,)

    def further_names(self) -> tuple[str, ...]:
        """Names that it provides in addition to gains and memory."""
        return ()

    def __repr__(self) -> str:
        """Return the name and the gains."""
        values = ", ".join(f"{label}={np.array2string(value)}" for label, value in self.gains.items())
        return f"{type(self).__name__}({self.name}: {values})"


def finite_numbers(value: ArrayLike, what: str) -> Array:
    """Return finite numbers as an array that cannot be written to; `what` names them in a message."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected numbers, got {value!r}") from error
    if not np.isfinite(array).all():
        raise InputError(f"{what}: every entry must be finite")
    array.setflags(write=False)
    return array


def initial_memory(part: TickFunction, n: int) -> dict[str, Array]:
    """Return the initial memory for an arm with n joints: scalars become (n,)."""
    return {label: np.full(n, float(v)) if v.ndim == 0 else v.copy() for label, v in part.memory.items()}


def call(
    part: TickFunction, signals: Mapping[str, Any], gains: Mapping[str, Traced], memory: Mapping[str, Traced]
) -> Traced:
    """Call the function with whatever it names, on floats or on symbols; it may look at signals, not change them."""
    given = {label: locked(value) for label, value in signals.items() if value is not None}
    try:
        return call_by_name(part.function, {**given, **gains, **memory}, part.title)
    except ValueError as error:
        refuse_in_place(error, part.title)
        raise


def new_memory(part: TickFunction, memory: Mapping[str, Traced], kept: Mapping[str, Traced]) -> dict[str, Traced]:
    """Return the memory for the next tick; raise `InputError` if what was kept has changed its shape."""
    for label, new in kept.items():
        if np.shape(new) != np.shape(memory[label]):
            raise InputError(
                f"{part.title}: memory {label} starts as {np.shape(memory[label])}, became {np.shape(new)}"
            )
    return {**memory, **kept}


def refuse_unknown(part: TickFunction, what: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise `InputError` if `given` names something that is not in `known` (its gains or its memory)."""
    strange = sorted(set(given) - set(known))
    if strange:
        raise InputError(f"{part.title}: no {what} {', '.join(strange)}; it has {', '.join(known) or 'none'}")


def locked(value: Any) -> Any:
    """Return a view that cannot be written to: nobody may change what was measured."""
    if isinstance(value, Reference):
        return Reference(*(locked(part) for part in value))
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def refuse_in_place(error: ValueError, what: str) -> None:
    """Say what to do where a function has tried to write to what it was given (`locked`); else do nothing."""
    if "read-only" in str(error):
        raise InputError(
            f"{what} changes what it was given in place ({error}); write to a copy: q = q.copy(), or q = q - 1.0"
        ) from error
