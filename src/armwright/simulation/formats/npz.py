"""NPZ: one array a signal, shapes kept, and the two descriptions as bytes. Written whole, read without pickle."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from armwright.errors import InputError, NotSupportedError
from armwright.simulation.formats import meta

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.simulation.recording import Recording

    Array = NDArray[np.float64]

HEAD, TAIL = "armwright_head", "armwright_tail"


class Sink:
    """NPZ files have their table of contents at the end: no streaming."""

    def __init__(self, path: Path, *_: Any, **__: Any) -> None:
        """Refuse."""
        raise NotSupportedError(f"{path}: .npz cannot be written piecewise; stream to .mcap, .parquet or .csv")


def write(recording: Recording, path: Path) -> None:
    """Write a whole recording."""
    texts = {HEAD: meta.head_of(recording), TAIL: meta.tail_text(len(recording), recording.events, recording.outcome)}
    arrays: dict[str, Any] = {name: np.frombuffer(text.encode(), dtype=np.uint8) for name, text in texts.items()}
    arrays |= {"t": recording.time, **{name: signal.values for name, signal in recording.signals.items()}}
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def read(path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read an NPZ recording; every size is checked against the file's own before memory is taken."""
    del recover  # all or nothing: the parts have no order in time
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(info.file_size for info in archive.infolist())
            if total > max_bytes:
                raise InputError(f"{path}: unpacks to {total} bytes; at most max_bytes = {max_bytes} are read")
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
            return meta.assemble(head, tail, columns, time, blocks, str(path))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged archive ({error})") from None


def _member(path: Path, archive: zipfile.ZipFile, name: str, dtype: Any) -> Any:
    try:
        info = archive.getinfo(f"{name}.npy")
        with archive.open(info) as stream:
            version = npy.read_magic(stream)
            read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, found = read_header(stream)
            size = int(np.prod(shape, dtype=object)) * 8
            if found != np.dtype(dtype) or (fortran and len(shape) > 1) or size // 8 * found.itemsize > info.file_size:
                raise InputError(
                    f"{path}: member {name!r} is {found} of shape {shape}; expected {np.dtype(dtype)} in C order"
                )
            data = stream.read(int(np.prod(shape, dtype=object)) * found.itemsize)
            return np.frombuffer(data, dtype=found).reshape(shape)
    except KeyError:
        raise InputError(f"{path}: member {name!r} is missing") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: member {name!r} is damaged ({error})") from None
