"""Recordings on disk: MCAP, Parquet, CSV and NPZ, chosen by suffix. Never pickle.

=========  =======================================================  =========================================
suffix     opens in                                                 a run that dies while writing
=========  =======================================================  =========================================
.mcap      Foxglove, PlotJuggler (protobuf, schema in the file)     keeps every chunk written
.parquet   pandas, DuckDB, MATLAB, PlotJuggler                      keeps every chunk, in ``.parquet.partial``
.csv       everything; far slower and twice as large                keeps every line
.npz       NumPy                                                    cannot be written piecewise
=========  =======================================================  =========================================

Every format gives back the same float64 bits (CSV: except the payload bits of a NaN).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from armwright.errors import ArmwrightError, InputError
from armwright.simulation.recording import Recording

SUFFIXES = {".mcap": "mcap_log", ".parquet": "parquet", ".csv": "csv_text", ".npz": "npz"}
MAX_BYTES = 8 * 2**30


def module_for(path: Path) -> Any:
    """Return the module that reads and writes files of this suffix."""
    try:
        return import_module(f"armwright.simulation.formats.{SUFFIXES[path.suffix.lower()]}")
    except KeyError:
        raise InputError(f"{path}: unknown suffix {path.suffix!r}; valid: {', '.join(SUFFIXES)}") from None


def save(recording: Recording, path: str | Path) -> Path:
    """Write a recording; an existing file is replaced at once, when the new one is complete.

    Args:
        recording: what to write.
        path: its suffix chooses the format: .mcap, .parquet, .csv, .npz.

    Returns:
        The path.

    Raises:
        ArmwrightError: the file could not be written; nothing is left behind and an older file stays as it was.
    """
    file = Path(path)
    write: Callable[[Recording, Path], None] = module_for(file).write
    draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
    try:
        write(recording, draft)
        os.replace(draft, file)
    except OSError as error:
        raise ArmwrightError(
            f"{file}: could not be written ({error.strerror or error}); nothing was changed there"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
    return file


def load(path: str | Path, *, recover: bool = False, max_bytes: int = MAX_BYTES) -> Recording:
    """Read a recording that `save` or `RecordingWriter` wrote.

    A file without an end (the run was killed, the disk was full) is read up to its last whole chunk, and the outcome
    says so. Damage inside a file is an error.

    Args:
        path: the file.
        recover: keep what precedes the damage instead of refusing the file.
        max_bytes: refuse files, or arrays that a file declares, larger than this.

    Raises:
        InputError: naming the file, the place in it and the reason.
    """
    file = Path(path)
    module = module_for(file)
    source = file
    partial = file.with_name(file.name + ".partial")
    if not file.exists() and partial.exists():
        source = partial
    try:
        size = source.stat().st_size
        if source.is_dir():
            raise InputError(f"{source}: is a directory, expected a recording")
        if size > max_bytes:
            raise InputError(f"{source}: {size} bytes; at most max_bytes = {max_bytes} are read")
        loaded: Recording = module.read(source, recover=recover, max_bytes=max_bytes)
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror or error})") from error
    except MemoryError as error:
        raise InputError(f"{source}: does not fit into memory") from error
    return loaded
