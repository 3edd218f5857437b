# SPDX-License-Identifier: Apache-2.0
"""The pieces of a recording: a signal with its unit and labels, an event, and what may be written as settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import refuse_masked
from armwright.errors import InputError
from armwright.pickling import Rebuilt

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
RESERVED = ("t", "time")
_DEPTH = 32


def read_only(values: ArrayLike, what: str) -> Array:
    """Return `values` as a read-only float64 array; no copy where they are one already."""
    refuse_masked(values, what)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected an array of numbers, got {type(values).__name__}") from error
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Signal(Rebuilt):
    """One named quantity over time.

    Attributes:
        values: (T, ...), one row per time; NaN is allowed (a quantity that was not known then).
        unit: in ASCII with blanks as products, for example "rad/s^2" or "N m"; "" for a pure number.
        labels: one per component (joint names for joint quantities), in C order; () if none were given.
    """

    values: Array
    unit: str = ""
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Freeze the values and check the labels."""
        put = object.__setattr__
        put(self, "values", read_only(self.values, "signal"))
        put(self, "labels", tuple(str(label) for label in self.labels))
        if self.values.ndim == 0:
            raise InputError("signal: expected values of shape (T, ...), got a single number")
        shape = self.values.shape
        # a stack of runs (B, T, k) carries the labels of its last axes
        if self.labels and len(self.labels) not in {int(np.prod(shape[i:], dtype=int)) for i in (1, 2)}:
            raise InputError(f"signal: {len(self.labels)} labels for {self.width} components")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return self.values.shape[1:]

    @property
    def width(self) -> int:
        """Number of components of one sample."""
        return int(np.prod(self.values.shape[1:], dtype=int))

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names of the flat columns: `name` alone for a scalar, else ``name_0 … name_k``."""
        return (name,) if not self.shape else tuple(f"{name}_{i}" for i in range(self.width))

    def flat(self) -> Array:
        """Return the values as (T, width)."""
        return self.values.reshape(len(self.values), self.width)


@dataclass(frozen=True)
class RecordedEvent:
    """Something that happened: when [s], its name, and details that can be written as JSON."""

    time: float
    name: str
    detail: dict[str, Any] = field(default_factory=dict)


def as_event(value: Any) -> RecordedEvent:
    """Accept a `RecordedEvent`, a mapping or dataclass with ``time`` and ``name``, or (time, name[, detail])."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields") and 2 <= len(value) <= 3:
        value = dict(zip(("time", "name", "detail"), value, strict=False))
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if not isinstance(value, Mapping) or "name" not in value or not ("time" in value or "t" in value):
        raise InputError(f"event: expected a time and a name, got {value!r}")
    rest = dict(value)
    name, time = str(rest.pop("name")), rest.pop("time", None)
    try:
        time = float(rest.pop("t") if time is None else time)
    except (TypeError, ValueError) as error:
        raise InputError(f"event {name!r}: its time must be a number") from error
    detail = rest.pop("detail", None) or {}
    if not isinstance(detail, Mapping):
        detail = {"detail": detail}
    return RecordedEvent(time, name, plain({**rest, **detail}, f"event {name!r}"))


def plain(value: Any, where: str = "settings", depth: int = 0) -> Any:
    """Return `value` as dicts, lists, texts, numbers, booleans and None only, or say which entry cannot be."""
    if depth > _DEPTH:
        raise InputError(f"{where}: nested deeper than {_DEPTH} levels")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), where, depth)
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, (tuple, list, set, frozenset)):
        return [plain(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise InputError(
        f"{where}: a {type(value).__name__} cannot be written; valid are numbers, texts, lists, dicts, arrays"
    )


def check_signals(signals: Mapping[str, Signal], samples: int) -> dict[str, Signal]:
    """Return the signals as a dict after checking names, lengths and that flat column names are unique."""
    if not isinstance(signals, Mapping):
        raise InputError(f"signals: expected a mapping of names to Signal, got {type(signals).__name__}")
    taken: dict[str, str] = {}
    for name, signal in signals.items():
        if not isinstance(signal, Signal):
            raise InputError(f"signal {name!r}: expected a Signal(values, unit, labels), got {type(signal).__name__}")
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in RESERVED:
            raise InputError(
                f"signal {name!r}: a name is a letter, then letters, digits and _; not {' or '.join(RESERVED)}"
            )
        if len(signal.values) != samples:
            raise InputError(f"signal {name!r}: {len(signal.values)} samples, but time has {samples}")
        if signal.labels and len(signal.labels) != signal.width:
            raise InputError(f"signal {name!r}: {len(signal.labels)} labels for {signal.width} components")
        for column in signal.names(name):
            if column in taken:
                raise InputError(f"signals {taken[column]!r} and {name!r} would both write a column {column!r}")
            taken[column] = name
    return dict(signals)
