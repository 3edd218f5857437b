# SPDX-License-Identifier: Apache-2.0
"""Lines of numbers as a table, and the table as the columns of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.recording.formats import meta

if TYPE_CHECKING:
    from armwright.types import Array


def names_of(columns: tuple[meta.Column, ...]) -> list[str]:
    """Return the names of all flat columns, time first."""
    return ["t", *(name for column in columns for name in column.names())]


def blocks_of(table: Array, columns: tuple[meta.Column, ...]) -> tuple[Array, list[Array]]:
    """Divide a table (T, columns) into time (T,) and one block (T, width) a signal."""
    ends = np.cumsum([1, *(column.width for column in columns)])
    blocks = [np.ascontiguousarray(block) for block in np.split(table, ends, axis=1)[:-1]]
    return blocks[0].ravel(), blocks[1:]


def table_of(path: Path, lines: list[tuple[int, str]], names: list[str], recover: bool, max_bytes: int) -> Array:
    """Return the numbers of lines, each given with how many precede it in the file; up to a bad line if `recover`."""
    width = len(names)
    if len(lines) * width * 8 > max_bytes:
        raise InputError(f"{path}: {len(lines)} samples of {width} columns, {meta.TOO_MUCH}")
    if not lines:
        return np.empty((0, width))
    try:
        table = np.loadtxt([line for _, line in lines], delimiter=",", ndmin=2, dtype=np.float64, comments=None)
        if table.shape == (len(lines), width):
            return table
    except ValueError:
        pass
    rows = []
    for before, line in lines:  # slowly, to name the first bad line
        fields = line.split(",")
        try:
            if len(fields) != width:
                raise ValueError(f"{len(fields)} numbers instead of {width}")
            rows.append([float(field) for field in fields])
        except ValueError as error:
            if recover:
                break
            where = f"{path}, line {before + 1}"
            raise InputError(f"{where}: {error}. load(..., recover=True) keeps what precedes") from None
    return np.array(rows).reshape(-1, width)
