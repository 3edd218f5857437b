# SPDX-License-Identifier: Apache-2.0
"""Tables as MATLAB files (version 5, SciPy's writer): what MATLAB and Octave open with ``load``.

Numbers are columns or matrices (T, k), texts are texts, tables of either are structs. Reading such files back is left
to `scipy.io.loadmat`; nothing of ours reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armwright.errors import InputError
from armwright.files import replacing

if TYPE_CHECKING:
    from armwright.types import Array

Content: TypeAlias = "Mapping[str, Array | str | float | int | Mapping[str, Any]]"
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
MOST_VARIABLE_BYTES = 2**31 - 1  # of one variable: the format counts with 32 bits


def write_mat(path: str | Path, content: Content) -> Path:
    """Write variables by name; an older file is replaced when the new one is whole.

    Args:
        path: of the file, ``.mat``.
        content: name → array, text, number, or a table of such.

    Raises:
        InputError: a name that MATLAB cannot have, or a variable that the format cannot hold.
        WriteError: the file could not be written; nothing has changed at its place.

    Example:
        >>> write_mat("run.mat", {"t": t, "q": q, "units": {"q": "rad"}})
    """
    from scipy.io import savemat

    file = Path(path)
    _check(file, content, "")
    with replacing(file) as draft:
        savemat(draft, dict(content), appendmat=False, long_field_names=True, oned_as="column")
    return file


def _check(file: Path, content: Content, where: str) -> None:
    for name, value in content.items():
        if not IDENTIFIER.fullmatch(name):
            raise InputError(
                f"{file}: {where}{name!r:.80} is no name in MATLAB: a letter, then up to 62 letters, digits and _"
            )
        if isinstance(value, Mapping):
            _check(file, value, f"{where}{name}.")
        elif isinstance(value, np.ndarray) and value.nbytes > MOST_VARIABLE_BYTES:
            raise InputError(
                f"{file}: {where}{name} has {value.nbytes} bytes, MATLAB's format 5 at most {MOST_VARIABLE_BYTES}; "
                "parquet has no such limit"
            )
