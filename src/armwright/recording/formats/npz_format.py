# SPDX-License-Identifier: Apache-2.0
"""NPZ: one array per signal, shapes kept, and the two descriptions as bytes. Written whole, read without pickle."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from armwright.errors import InputError, NotSupportedError
from armwright.recording.formats import file_header as meta

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from armwright.recording.recording import Recording

HEAD, TAIL = "armwright_head", "armwright_tail"


class Sink:
    """NPZ files have their table of contents at the end: no streaming."""

    def __init__(self, path: Path, *_: Any, **__: Any) -> None:
        """Refuse to stream."""
        raise NotSupportedError(f"{path}: .npz cannot be written piecewise; stream to .mcap, .parquet or .csv")


def write(recording: Recording, path: Path) -> None:
    """Write a whole recording."""
    tail = meta.tail_of(len(recording), recording.events, recording.outcome)
    texts = {HEAD: meta.head_of(recording), TAIL: meta.sealed(tail)}
    arrays: dict[str, Any] = {name: np.frombuffer(text.encode(), dtype=np.uint8) for name, text in texts.items()}
    signals = {name: np.ascontiguousarray(signal.values) for name, signal in recording.signals.items()}
    arrays |= {"t": recording.time, **signals}
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def read(file: BinaryIO, path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read an NPZ recording; every size is checked against the file's own before memory is taken."""
    try:
        with zipfile.ZipFile(file) as archive:
            total = sum(info.file_size for info in archive.infolist())
            if total > max_bytes:
                raise InputError(f"{path}: unpacks to {total} bytes, {meta.TOO_MUCH}")
            if f"{HEAD}.npy" not in archive.namelist():
                raise InputError(f"{path}: an archive, but not an Armwright recording (no member {HEAD!r})")
            head = meta.parse(_member(path, archive, HEAD, np.uint8).tobytes(), f"{path}: {HEAD}")
            tail = meta.parse(_member(path, archive, TAIL, np.uint8).tobytes(), f"{path}: {TAIL}")
            columns = meta.columns_from(head, f"{path}: {HEAD}")
            time = _member(path, archive, "t", np.float64)
            blocks = []
            for column in columns:
                values = _member(path, archive, column.name, np.float64)
                if values.shape != (*time.shape, *column.shape):
                    raise InputError(f"{path}: member {column.name!r} has shape {values.shape}, not as described")
                blocks.append(values.reshape(len(time), column.width))
            return meta.assemble(head, tail, columns, time, blocks, str(path), recover=recover)
    except InputError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
    ) as error:
        raise InputError(f"{path}: damaged archive ({error})") from None


def _member(path: Path, archive: zipfile.ZipFile, name: str, dtype: DTypeLike) -> NDArray[Any]:
    """Return one array of the archive, read to its last byte: only then does the archive compare its checksum."""
    where = f"{path}: member {name!r}"
    try:
        info = archive.getinfo(f"{name}.npy")
    except KeyError:
        raise InputError(f"{where} is missing") from None
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{where} is packed in a way that is not read; valid: stored or deflated")
    try:
        with archive.open(info) as stream:
            version = npy.read_magic(stream)
            read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, found = read_header(stream)
            size = math.prod(shape) * found.itemsize
            if found != np.dtype(dtype) or not 0 <= size <= info.file_size:
                raise InputError(f"{where} is {found} of shape {shape}; expected {np.dtype(dtype)}")
            data = stream.read(size)
            if stream.read(1):
                raise InputError(f"{where} is longer than its shape {shape}")
            return np.frombuffer(data, dtype=found).reshape(shape, order="F" if fortran else "C")
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where} is damaged ({error})") from None
