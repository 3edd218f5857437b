# SPDX-License-Identifier: Apache-2.0
"""Numbers as a document prints them, and whether a computed value is what the print says.

The tolerance is half a unit in the last printed place. Values that were cut off instead of rounded are recognised as
such. Where a document prints no digits to go by and something had to be chosen, the item says what and why
(`Item.rule`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Match = Literal["rounded", "truncated", "no"]
_NUMBER = re.compile(r"[-+−]?\d+(?:\.(?P<decimals>\d*))?(?:[eE](?P<power>[-+−]?\d+))?")


class PrintedNumbers(NamedTuple):
    """Printed values (m,) and the unit of the last printed place of each (m,)."""

    values: NDArray[np.float64]
    units: NDArray[np.float64]


def read_numbers(text: str) -> PrintedNumbers:
    """Read every number of a printed scalar, vector or table.

    Whole numbers among numbers with decimals count as printed to the same place: (0.35, 0, -1) has two decimals
    everywhere.
    """
    values, units, whole = [], [], []
    for found in _NUMBER.finditer(text):
        values.append(float(found[0].replace("−", "-")))
        power = int((found["power"] or "0").replace("−", "-"))
        units.append(10.0 ** (power - len(found["decimals"] or "")))
        whole.append(found["decimals"] is None and found["power"] is None)
    if not values:
        raise InputError(f"printed value {text!r} holds no number")
    finest = min(units)
    return PrintedNumbers(np.array(values), np.array([finest if w else u for w, u in zip(whole, units, strict=True)]))


def match(printed: PrintedNumbers, value: ArrayLike, *, up_to_sign: bool = False) -> Match:
    """Tell whether `value`, scalar or of any shape, is what is printed, to half a unit in the last place.

    Args:
        printed: the print.
        value: as many numbers as printed.
        up_to_sign: whether the negative of the whole is as good (directions).
    """
    x = np.asarray(value, dtype=np.float64).ravel()
    if x.shape != printed.values.shape:
        raise InputError(f"{printed.values.size} numbers are printed, {x.size} were computed")
    if up_to_sign:
        ways = {_match(printed, x), _match(printed, -x)}
        return "rounded" if "rounded" in ways else "truncated" if "truncated" in ways else "no"
    return _match(printed, x)


def _match(printed: PrintedNumbers, x: NDArray[np.float64]) -> Match:
    p, u = printed
    rounding = 1e-9 * u + 1e-12 * np.abs(p)
    rounded = np.abs(x - p) <= 0.5 * u + rounding
    # cut off: the printed digits are those of the value, the rest was dropped
    cut = (np.sign(p) * x - np.abs(p) >= -rounding) & (np.sign(p) * x - np.abs(p) < u - rounding) & (p != 0.0)
    cut |= (p == 0.0) & (np.abs(x) < u)
    if rounded.all():
        return "rounded"
    return "truncated" if (rounded | cut).all() else "no"


def write_value(value: ArrayLike | None, unit_in_last_place: float | None = None) -> str:
    """Write a computed value with two digits more than are printed (six significant ones if nothing is)."""
    if value is None:
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str | int):
        return str(value)
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return _number(float(array), unit_in_last_place)
    if array.ndim == 1:
        return "(" + ", ".join(_number(float(x), unit_in_last_place) for x in array) + ")"
    rows = "×".join(str(n) for n in array.shape)
    return f"{rows} array, norm {np.linalg.norm(array):.6g}"


def _number(x: float, unit: float | None) -> str:
    if not np.isfinite(x):
        return "∞" if x > 0 else "-∞" if x < 0 else "undefined"
    if unit is None:
        return f"{x + 0.0:.6g}"
    decimals = max(0, 2 - round(np.floor(np.log10(unit * 1.0000001))))
    if decimals > 7 or (x != 0.0 and abs(x) < 10.0**-decimals and abs(x) > 1e-12):
        return f"{x:.3e}"
    if abs(x) < 0.5 * 10.0**-decimals:
        x = 0.0
    return f"{x:.{decimals}f}"
