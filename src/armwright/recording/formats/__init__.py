# SPDX-License-Identifier: Apache-2.0
"""Recordings on disk: MCAP, Parquet, CSV and NPZ, chosen by suffix. Never pickle.

=========  =======================================================  =========================================
suffix     opens in                                                 a run that dies while writing
=========  =======================================================  =========================================
.mcap      Foxglove, PlotJuggler (protobuf, schema in the file)     keeps every chunk written
.parquet   pandas, DuckDB, MATLAB, PlotJuggler                      keeps every chunk, in ``.parquet.partial``
.csv       everything; far slower and twice as large, and its       keeps every line
           description in a second file, ``.csv.meta``
.npz       NumPy                                                    cannot be written piecewise
=========  =======================================================  =========================================

Every format gives back the same float64 bits (CSV: except the payload bits of a NaN), or refuses the file: counts and
checksums tell if a bit of it has changed. The one file without is the CSV of a run that was cut short.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from armwright.choices import FORMATS
from armwright.errors import InputError
from armwright.files import open_regular, replacing
from armwright.recording.recording import Recording

if TYPE_CHECKING:
    from types import ModuleType

    from armwright.world.shapes import Shape

MAX_BYTES = 8 * 2**30
# a file may unpack to this many bytes, or this many times its own size; we write without packing
UNPACKED, TIMES = 64 * 2**20, 16


def module_for(path: Path) -> ModuleType:
    """Return the module that reads and writes files of this suffix."""
    return FORMATS.find(
        path.suffix.lower(), lambda valid: InputError(f"{path}: unknown suffix {path.suffix!r}; valid: {valid}")
    )


def beside(path: Path) -> tuple[str, ...]:
    """Return the endings of the files that stand next to a recording while it is written piece by piece."""
    return tuple(getattr(module_for(path).Sink, "beside", ()))


def discard(path: Path) -> None:
    """Remove a recording, with the files that stand next to it."""
    for ending in ("", *beside(path)):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def save(recording: Recording, path: str | Path, world: Iterable[Shape] = ()) -> Path:
    """Write a recording; an existing file is replaced at once, when the new one is complete.

    Args:
        recording: what to write.
        path: its suffix chooses the format: .mcap, .parquet, .csv, .npz.
        world: shapes around the arm, or a `World`, for the 3-D panels of what opens .mcap; no other format has a place
            for it.

    Returns:
        The path.

    Raises:
        ArmwrightError: the file could not be written; nothing is left behind and an older file stays as it was.

    >>> save(run, "run.parquet")
    """
    file = Path(path)
    write: Callable[..., None] = module_for(file).write
    with replacing(file) as draft:
        if file.suffix.lower() == ".mcap":
            write(recording, draft, world)
        else:
            write(recording, draft)
    return file


def load(path: str | Path, *, recover: bool = False, max_bytes: int | None = None) -> Recording:
    """Read a recording that `save` or `RecordingWriter` wrote.

    A file without an end (the run was killed, the disk was full) is read up to its last whole chunk, and the outcome
    says so. Damage inside a file is an error.

    Args:
        path: the file, a regular one.
        recover: keep what precedes the damage instead of refusing the file.
        max_bytes: refuse files, or arrays that a file declares, larger than this. By default a file may have 8 GiB, and
            unpack to 64 MiB or 16 times its size.

    Raises:
        InputError: naming the file, the place in it and the reason.

    >>> load("run.npz").duration
    """
    file = Path(path)
    module = module_for(file)
    source = file
    partial = file.with_name(file.name + ".partial")
    if not file.exists() and partial.exists():
        source = partial
    most = MAX_BYTES if max_bytes is None else max_bytes
    try:
        with open_regular(source, most) as stream:
            size = os.fstat(stream.fileno()).st_size
            if not size:
                raise InputError(f"{source}: the file is empty")
            room = min(most, max(UNPACKED, TIMES * size)) if max_bytes is None else max_bytes
            loaded: Recording = module.read(stream, source, recover=recover, max_bytes=room)
    except OSError as error:
        more = " (load(..., max_bytes=...) reads more)" if error.errno == errno.EFBIG else ""
        raise InputError(f"{source}: cannot be read: {error.strerror or error}{more}") from error
    except MemoryError as error:
        raise InputError(f"{source}: does not fit into memory") from error
    return loaded
