# SPDX-License-Identifier: Apache-2.0
"""C that runs a tick for every row of a table, compiled alike for us and for peers, and called once for all rows."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.graph.emit.c_tick import FLAGS

if TYPE_CHECKING:
    from armwright.types import Array

COMPILER = "gcc"
ROWS_NOTE = f"{COMPILER} {FLAGS}"


class CompiledRows:
    """`void rows(long ticks, const double *in, double *out)` of some C files, as a call without arguments."""

    def __init__(self, folder: Path, sources: Mapping[str, bytes], rows: Array, width: int) -> None:
        """Compile, one unit for each .c file; LookupError without a compiler.

        Args:
            folder: a new one. sources: content by name; one of them defines `rows`.
            rows: (T, …) that go in. width: numbers that come out of a row.
        """
        if shutil.which(COMPILER) is None:
            raise LookupError(f"{COMPILER} is not installed")
        folder.mkdir()
        for name, content in sources.items():
            (folder / name).write_bytes(content)
        units = [name for name in sources if name.endswith(".c")]
        words = [COMPILER, *FLAGS.split(), "-shared", "-fPIC", *units, "-o", "rows.so", "-lm"]
        subprocess.run(words, cwd=folder, check=True)
        self._rows = np.ascontiguousarray(rows)
        self.out = np.zeros((len(rows), width))
        self._function = ctypes.CDLL(str(folder / "rows.so")).rows
        self._function.restype = None
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (self._rows, self.out))
        self._given = (ctypes.c_long(len(rows)), *pointers)

    def __call__(self) -> Array:
        """Run all rows from the start; return what came out (T, width)."""
        self._function(*self._given)
        return self.out
