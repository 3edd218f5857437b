# SPDX-License-Identifier: Apache-2.0
"""The description in a recording's file: two JSON texts, one at its beginning and one at its end.

The first (robot, settings, signals) is known when a run starts, the second (events, outcome) when it ends; a file of a
run that was cut short has only the first. Each text ends with its own checksum, so that no format need provide one.
"""

from __future__ import annotations

import json
import math
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, ArmwrightWarning, InputError
from armwright.recording.recording import Recording
from armwright.recording.signals import NAME, RecordedEvent, Signal

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.shapes import Shape

FORMAT = 1
MAX_TEXT = 64 * 2**20
MAX_COLUMNS = 100_000
INTERRUPTED = "interrupted"
TOO_MUCH = "more than is read of such a file; load(..., max_bytes=...) reads more"
_SEAL = ', "crc32": '


@dataclass(frozen=True)
class Column:
    """One signal as a file sees it: name, unit, labels and shape of a sample."""

    name: str
    unit: str = ""
    labels: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Number of flat columns."""
        return math.prod(self.shape)

    def names(self) -> tuple[str, ...]:
        """Names of the flat columns."""
        return (self.name,) if not self.shape else tuple(f"{self.name}_{i}" for i in range(self.width))


@dataclass(frozen=True, eq=False)
class DrawnScene:
    """What viewers draw: the arm, and shapes around it. Only MCAP has a place for it."""

    robot: Robot
    world: tuple[Shape, ...] = ()


def columns_of(recording: Recording) -> tuple[Column, ...]:
    """Return the columns that a recording writes."""
    return tuple(Column(name, s.unit, s.labels, s.shape) for name, s in recording.signals.items())


def head_text(
    columns: tuple[Column, ...],
    robot: Robot | None,
    settings: Mapping[str, Any],
    seed: int | None,
    versions: Mapping[str, str],
) -> str:
    """Return the first text: one line of JSON."""
    signals = [{"name": c.name, "unit": c.unit, "labels": list(c.labels), "shape": list(c.shape)} for c in columns]
    head = {
        "armwright_recording": FORMAT,
        "signals": signals,
        "seed": seed,
        "settings": dict(settings),
        "versions": dict(versions),
        "robot": robot.to_sheet() if robot else None,
    }
    return sealed(head)


def head_of(recording: Recording) -> str:
    """Return the first text of a recording."""
    return head_text(columns_of(recording), recording.robot, recording.settings, recording.seed, recording.versions)


def tail_of(samples: int, events: tuple[RecordedEvent, ...], outcome: str) -> dict[str, Any]:
    """Return what the second text says; a format may add checksums of its own before it is `sealed`."""
    listed = [{"time": e.time, "name": e.name, "detail": e.detail} for e in events]
    return {"samples": samples, "events": listed, "outcome": outcome}


def sealed(content: Mapping[str, Any]) -> str:
    """Return one line of JSON that ends with the checksum of what stands before it."""
    text = json.dumps(content, ensure_ascii=True)
    return f"{text[:-1]}{_SEAL}{zlib.crc32(text.encode())}}}"


def parse(text: str | bytes, where: str) -> dict[str, Any]:
    """Read one of the texts and compare its checksum, if it has one (older files do not); errors name `where`."""
    if len(text) > MAX_TEXT:
        raise InputError(f"{where}: description of {len(text)} bytes; at most {MAX_TEXT} are read")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: the description is damaged ({error})") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected a JSON object, got {type(value).__name__}")
    crc = value.pop("crc32", None)
    if crc is not None:
        plain = text if isinstance(text, str) else text.decode()
        if zlib.crc32(f"{plain.rpartition(_SEAL)[0]}}}".encode()) != crc:
            raise InputError(f"{where}: the description is damaged (its checksum does not fit)")
    return value


def checksums(
    time: Array, blocks: list[Array], columns: tuple[Column, ...], before: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return the CRC-32 of the numbers of every signal, continued from those of the samples `before`."""
    series = zip(("t", *(column.name for column in columns)), (time, *blocks), strict=True)
    start = before or {}
    return {name: zlib.crc32(np.ascontiguousarray(v, "<f8").data, start.get(name, 0)) for name, v in series}


def columns_from(head: Mapping[str, Any], where: str) -> tuple[Column, ...]:
    """Return the columns that a first text declares, checked."""
    if head.get("armwright_recording") != FORMAT:
        raise InputError(f"{where}: not a recording of a known format (armwright_recording = {FORMAT})")
    columns, total = [], 0
    try:
        for entry in head["signals"]:
            shape = tuple(int(size) for size in entry["shape"])
            column = Column(str(entry["name"]), str(entry["unit"]), tuple(map(str, entry["labels"])), shape)
            if not NAME.fullmatch(column.name) or min(shape, default=0) < 0 or max(shape, default=0) > MAX_COLUMNS:
                raise InputError(f"{where}: signal {column.name!r} of shape {shape} is not valid")
            total += column.width
            columns.append(column)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ArmwrightError):
            raise
        raise InputError(f"{where}: the list of signals is damaged ({error!r})") from None
    if total > MAX_COLUMNS:
        raise InputError(f"{where}: {total} columns declared; at most {MAX_COLUMNS} are read")
    return tuple(columns)


def assemble(
    head: Mapping[str, Any],
    tail: Mapping[str, Any] | None,
    columns: tuple[Column, ...],
    time: Array,
    blocks: list[Array],
    where: str,
    *,
    recover: bool = False,
) -> Recording:
    """Build the recording: blocks are (T, width) each. Without `tail` the outcome says that the run was cut short.

    Where `tail` tells how many samples there are, and their checksums, these must fit; unless `recover`, which then
    leaves out the tail.
    """
    if tail is not None and (wrong := _wrong(tail, columns, time, blocks)):
        if not recover:
            raise InputError(f"{where}: damaged, {wrong}. load(..., recover=True) takes what there is")
        tail = None
    if tail is None:
        kept = f"{len(time)} samples" + (f" up to t = {time[-1]:g} s" if len(time) else "")
        tail = {"events": [], "outcome": f"{INTERRUPTED}: the file has no end; {kept} were kept"}
    try:
        signals = {
            c.name: Signal(block.reshape(len(time), *c.shape), c.unit, c.labels)
            for c, block in zip(columns, blocks, strict=True)
        }
        return Recording(
            time,
            signals,
            _robot(head.get("robot"), where),
            head.get("settings") or {},
            tuple(tail.get("events") or ()),
            str(tail.get("outcome", "")),
            head.get("seed"),
            head.get("versions") or {},
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{where}: the description is damaged ({error!r})") from None


def _wrong(tail: Mapping[str, Any], columns: tuple[Column, ...], time: Array, blocks: list[Array]) -> str:
    """Return how the samples differ from those that were written; "" if they do not."""
    if tail.get("samples", len(time)) != len(time):
        return f"{tail['samples']} samples were written, {len(time)} are there"
    if "numbers" in tail and tail["numbers"] != checksums(time, blocks, columns):
        return "these are not the numbers that were written (their checksum does not fit)"
    return ""


def _robot(sheet: object, where: str) -> Robot | None:
    if not isinstance(sheet, str) or not sheet:
        return None
    from armwright.robot.sheet.sheet_read import robot_from_text

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ArmwrightWarning)  # whoever recorded it had already accepted the arm
            return robot_from_text(sheet, f"{where}: robot", implausible="warn")
    except ArmwrightError as error:
        warnings.warn(
            f"{where}: the numbers were read, the robot could not be: {error}", ArmwrightWarning, stacklevel=4
        )
        return None
