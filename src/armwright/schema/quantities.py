# SPDX-License-Identifier: Apache-2.0
"""Quantities of a sheet as numbers in SI: shape, unit, finiteness and sign are checked here and nowhere else.

Sheets keep numbers as their documents print them (millimetres, degrees, 1/min), so that a reader can hold sheet and
document side by side; everything else in Armwright is SI and radians. A number is converted exactly once, here: `to_si`
converts, `scalar`, `vector`, `matrix`, `per_joint` and `columns_of` read what a `Quantity` holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.errors import DescriptionError
from armwright.schema.toml_text import Quantity, Table

if TYPE_CHECKING:
    from armwright.types import Array

Dimension = Literal[
    "number",
    "length",
    "angle",
    "mass",
    "inertia",
    "torque",
    "force",
    "time",
    "speed",
    "angular speed",
    "acceleration",
    "angular acceleration",
    "current",
    "torque constant",
    "rotary damping",
    "linear damping",
]

_TURN = 2.0 * math.pi

# unit → (dimension, factor as numerator and denominator). Two numbers, because 425/1000 is correctly rounded and
# 425·0.001 is not: converted numbers equal the literals a reader would type in SI.
UNITS: dict[str, tuple[Dimension, float, float]] = {
    "-": ("number", 1.0, 1.0),
    "m": ("length", 1.0, 1.0),
    "mm": ("length", 1.0, 1000.0),
    "rad": ("angle", 1.0, 1.0),
    "deg": ("angle", math.pi, 180.0),
    "kg": ("mass", 1.0, 1.0),
    "g": ("mass", 1.0, 1000.0),
    "kg m^2": ("inertia", 1.0, 1.0),
    "g mm^2": ("inertia", 1.0, 1e9),
    "N m": ("torque", 1.0, 1.0),
    "N": ("force", 1.0, 1.0),
    "s": ("time", 1.0, 1.0),
    "ms": ("time", 1.0, 1000.0),
    "m/s": ("speed", 1.0, 1.0),
    "mm/s": ("speed", 1.0, 1000.0),
    "rad/s": ("angular speed", 1.0, 1.0),
    "deg/s": ("angular speed", math.pi, 180.0),
    "rpm": ("angular speed", _TURN, 60.0),
    "1/min": ("angular speed", _TURN, 60.0),
    "m/s^2": ("acceleration", 1.0, 1.0),
    "mm/s^2": ("acceleration", 1.0, 1000.0),
    "rad/s^2": ("angular acceleration", 1.0, 1.0),
    "deg/s^2": ("angular acceleration", math.pi, 180.0),
    "A": ("current", 1.0, 1.0),
    "N m/A": ("torque constant", 1.0, 1.0),
    "N m s/rad": ("rotary damping", 1.0, 1.0),
    "N s/m": ("linear damping", 1.0, 1.0),
}


def units_of(*dimensions: Dimension) -> list[str]:
    """Return the names of the units that measure any of `dimensions`."""
    return [name for name, (dimension, _, _) in UNITS.items() if dimension in dimensions]


def to_si(value: float, unit: str) -> float:
    """Convert one number from `unit` to SI; 90 deg gives exactly π/2, 425 mm exactly 0.425 m."""
    _, up, down = UNITS[unit]
    if up == 1.0:
        return value if down == 1.0 else value / down
    # angles: keep quarter turns exact, as math.pi / 2 is
    return value / down * up


def check_unit(unit: object, allowed: tuple[Dimension, ...], refuse: Callable[[str, str], DescriptionError]) -> str:
    """Return `unit` if it is known and measures one of `allowed`; else raise what `refuse(message, rule)` makes."""
    if isinstance(unit, str) and unit in UNITS and UNITS[unit][0] in allowed:
        return unit
    valid = ", ".join(units_of(*allowed))
    if not isinstance(unit, str):
        raise refuse(f"a unit must be given as text, one of: {valid}", "unit")
    if unit not in UNITS:
        raise refuse(f"unknown unit {unit!r}; valid here: {valid}", "unit")
    raise refuse(f"unit {unit!r} measures {UNITS[unit][0]}, expected {' or '.join(allowed)}: {valid}", "unit")


Dimensions = tuple[Dimension, ...]
SMALLEST_MAGNITUDE, LARGEST_MAGNITUDE = 1e-100, 1e12
"""Magnitudes beyond these would overflow somewhere downstream; no robot has them."""
NO_ROBOTS_NUMBER = f"is no robot's number; magnitudes go from {SMALLEST_MAGNITUDE:g} to {LARGEST_MAGNITUDE:g}"
MAX_ROWS = 200


def real(value: object, q: Quantity, *, infinite: bool = False) -> float:
    """Return `value` as a float; text, booleans, dates, NaN and (unless allowed) infinities are refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise q.refuse(f"expected a number, got {value!r:.80}", "number")
    try:
        number = float(value)
    except OverflowError:
        raise q.refuse("integer too large", "number") from None
    if math.isnan(number) or (math.isinf(number) and not infinite):
        raise q.refuse(f"numbers must be finite, got {number}", "finite")
    if not (is_of_a_robot(number) or math.isinf(number)):
        raise q.refuse(f"{number:g} {NO_ROBOTS_NUMBER}", "magnitude")
    return number


def is_of_a_robot(number: float) -> bool:
    """Whether a number is 0 or of a magnitude that a sheet holds."""
    return number == 0.0 or SMALLEST_MAGNITUDE <= abs(number) <= LARGEST_MAGNITUDE


def in_si(value: object, q: Quantity, unit: str, *, infinite: bool = False) -> float:
    """Return `value` as a float in SI; in that unit, too, it must be a robot's number."""
    number = to_si(real(value, q, infinite=infinite), unit)
    if not (is_of_a_robot(number) or math.isinf(number)):
        raise q.refuse(f"{number:g} in SI {NO_ROBOTS_NUMBER}", "magnitude")
    return number


def take(table: Table, key: str, *extras: str) -> Quantity | None:
    """Return the quantity at `key` (None if absent) after checking that it has value, unit and only known keys."""
    q = table.entries.get(key)
    if q is None:
        return None
    if not isinstance(q, Quantity):
        raise table.refuse(
            f'{key} must be written with its unit: {key} = {{ value = …, unit = "…", source = "…" }}', "quantity", key
        )
    allowed = ("value", "unit", *extras)
    for name in q.entries:
        if name not in allowed:
            raise q.refuse(
                f"unknown key {name!r}; valid keys here: {', '.join((*allowed, 'source', 'note'))}", "unknown key"
            )
    return q


def scalar(q: Quantity, dimension: Dimensions, *, minimum: float = -math.inf) -> float:
    """Return one number in SI; below `minimum` is an error."""
    unit = check_unit(q.entries.get("unit"), dimension, q.refuse)
    number = in_si(q.entries["value"], q, unit)
    if number < minimum:
        raise q.refuse(f"must be at least {minimum:g}, got {number:g}", "range")
    return number


def vector(q: Quantity, length: int, dimension: Dimensions) -> Array:
    """Return `length` numbers in SI."""
    unit = check_unit(q.entries.get("unit"), dimension, q.refuse)
    values = listed(q.entries["value"], length, q)
    return np.array([in_si(v, q, unit) for v in values], dtype=np.float64)


def listed(value: object, length: int, q: Quantity) -> Sequence[Any]:
    """Return `value` if it is a list of `length` entries."""
    if not isinstance(value, list) or len(value) != length:
        got = f"{len(value)} entries" if isinstance(value, list) else repr(value)[:60]
        raise q.refuse(f"expected a list of {length} numbers, got {got}", "length")
    return value


def matrix(q: Quantity, value: object, rows: int, columns: int) -> list[list[float]]:
    """Return a rows × columns list of finite floats, without conversion."""
    return [[real(v, q) for v in listed(row, columns, q)] for row in listed(value, rows, q)]


def per_joint(
    q: Quantity | None,
    dimensions: Sequence[Dimensions],
    default: float,
    *,
    minimum: float = -math.inf,
    infinite: bool = False,
) -> Array:
    """Return one number per joint in SI: a single value serves all joints, a list has one entry (and unit) each.

    Args:
        q: the quantity, or None for `default` everywhere.
        dimensions: what the number measures, joint by joint (angles for revolute, lengths for prismatic).
        default: value where nothing is written.
        minimum: smallest valid value.
        infinite: whether ``inf`` (no limit) is allowed.
    """
    n = len(dimensions)
    if q is None:
        return np.full(n, default)
    value, unit = q.entries["value"], q.entries.get("unit")
    values = listed(value, n, q) if isinstance(value, list) else [value] * n
    units = listed(unit, n, q) if isinstance(unit, list) else [unit] * n
    out = []
    for v, u, dimension in zip(values, units, dimensions, strict=True):
        out.append(in_si(v, q, check_unit(u, dimension, q.refuse), infinite=infinite))
        if out[-1] < minimum:
            raise q.refuse(f"must be at least {minimum:g}, got {out[-1]:g}", "range")
    return np.array(out, dtype=np.float64)


def columns_of(q: Quantity, columns: Mapping[str, Dimensions | None]) -> list[dict[str, Any]]:
    """Read a table of rows: ``columns`` names the columns in any order, ``units`` their units, ``rows`` the numbers.

    Args:
        q: the quantity made from ``columns``, ``units`` and ``rows``.
        columns: the names that must occur, with what they measure; None marks a column of text.

    Returns:
        One dictionary per row, numbers in SI.
    """
    names, units, rows = q.entries.get("columns"), q.entries.get("units"), q.entries["rows"]
    if not isinstance(names, list) or any(not isinstance(n, str) for n in names) or sorted(names) != sorted(columns):
        raise q.refuse(f"columns must name each of {', '.join(columns)} once, in any order", "columns")
    if not isinstance(units, list) or len(units) != len(names):
        raise q.refuse(f"units must have {len(names)} entries, one per column", "length")
    for name, unit in zip(names, units, strict=True):
        check_unit(unit, columns[name] or ("number",), q.refuse)
    if not isinstance(rows, list) or len(rows) > MAX_ROWS:
        raise q.refuse(f"rows must be a list of at most {MAX_ROWS} rows", "rows")
    out = []
    for row in rows:
        entry: dict[str, Any] = {}
        for name, unit, v in zip(names, units, listed(row, len(names), q), strict=True):
            if columns[name] is None:
                if not isinstance(v, str):
                    raise q.refuse(f"column {name!r} holds text, got {v!r:.60}", "type")
                entry[name] = v
            else:
                entry[name] = in_si(v, q, unit)
        out.append(entry)
    return out
