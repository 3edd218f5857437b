# SPDX-License-Identifier: Apache-2.0
"""Recording during a run: a writer that loses at most the current chunk, whatever ends the run.

`empty` gives the memory for samples and uses it again: large blocks that nothing refers to any more serve the next run.
The system hands out fresh memory page by page, each with a fault, which takes as long as the simulation that fills it.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, InputError, tell_user
from armwright.files import Uninterrupted, free_name, place_of, take_place
from armwright.recording.formats import beside, discard, module_for
from armwright.recording.formats.file_header import Column, DrawnScene, head_text, tail_of
from armwright.recording.recording import Recording, versions
from armwright.recording.signals import RecordedEvent, Signal, as_event, check_signals, plain, read_only

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.shapes import Shape

SMALL_BLOCK_NUMBERS = 8192  # numbers that are not worth keeping
KEPT_NUMBERS, KEPT_BLOCKS = 8_000_000, 64  # most numbers and blocks that are kept
BLOCK_SLACK_FACTOR = 2  # a block may have this many times the size needed
_blocks: list[Array] = []  # given out before, the latest last; some are still in use
_lock = threading.Lock()


def _references(blocks: list[Array], k: int) -> int:
    return sys.getrefcount(blocks[k])


_ALONE = _references([np.empty(1)], 0)  # when only the list refers to a block; every view refers to it too


def empty(shape: tuple[int, ...]) -> Array:
    """Return an uninitialised array, like `numpy.empty`; its memory is used again when no view of it is left.

    Blocks are found free when the next is asked for. Nothing is called when a view dies: Ctrl-C in such a call would be
    swallowed, since Python has nobody to raise it to.
    """
    need = int(np.prod(shape, dtype=np.int64))
    if need < SMALL_BLOCK_NUMBERS:
        return np.empty(shape)
    with _lock:
        sizes = [block.size for block in _blocks]
        near = [k for k, size in enumerate(sizes) if need <= size <= BLOCK_SLACK_FACTOR * need]
        fitting = [k for k in near if _references(_blocks, k) == _ALONE]
        memory = _blocks.pop(min(fitting, key=sizes.__getitem__)) if fitting else np.empty(need)
        _blocks.append(memory)
        total = sum(sizes) + (0 if fitting else need)
        while _blocks and (total > KEPT_NUMBERS or len(_blocks) > KEPT_BLOCKS):
            total -= _blocks.pop(0).size
    return memory[:need].reshape(shape)


class RecordingWriter:
    """Writes a recording piece by piece.

        with RecordingWriter("run.mcap", {"q": Signal(np.empty((0, 6)), "rad", names)}, robot=robot) as writer:
            for ...:
                writer.append(time, {"q": q})

    Samples are gathered into chunks of `chunk` rows. A whole chunk is on the system's side at once, so it survives the
    death of the process; it is forced to disk every `sync_every` seconds, so it survives a power cut. After a full disk
    the file opens up to the last whole chunk; after Ctrl-C or an error in the ``with`` block with all that was given.

    Where an older file has the name already, it stays until this recording is whole, and for good if that does not
    happen: the samples are then in `place`.

    Attributes:
        path: the file; .mcap, .parquet or .csv.
        place: where the samples are until the end: `path`, or ``….partial.mcap`` next to an older file.
    """

    def __init__(
        self,
        path: str | Path,
        signals: Mapping[str, Signal],
        *,
        robot: Robot | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int | None = None,
        chunk: int = 1000,
        sync_every: float | None = 1.0,
        world: Iterable[Shape] = (),
    ) -> None:
        """Create the file.

        Args:
            path: where to write; an existing file is replaced at the end.
            signals: by name, what will come: unit, labels, and a sample's shape, of `values` with no rows (0, ...).
            robot: the arm.
            settings: what the run was asked to do; anything JSON can hold.
            seed: seed of the random numbers.
            chunk: samples per chunk.
            sync_every: seconds between forced writes to disk; None leaves them to the system.
            world: shapes around the arm, for viewers of .mcap.
        """
        if chunk < 1:
            raise InputError(f"chunk: expected at least 1 sample, got {chunk}")
        self.path = Path(path)
        self._written = -np.inf  # time of the last sample in the file
        rows = {len(signal.values) for signal in signals.values()}
        checked = check_signals(signals, rows.pop() if len(rows) == 1 else 0)
        self._columns = tuple(Column(name, s.unit, s.labels, s.shape) for name, s in checked.items())
        self._chunk = int(chunk)
        # times, signals, samples up to there; one list: an interrupt finds a piece in it or not
        self._gathered: list[tuple[Array, list[Array], int]] = []
        self._open = True
        head = head_text(self._columns, robot, plain(settings or {}), seed, versions())
        sink = module_for(self.path).Sink
        self._beside = beside(self.path)
        scene = None if robot is None else DrawnScene(robot, tuple(world))
        try:
            self._target = place_of(self.path, regular=True)
            self.place = free_name(self._target, self._beside)
            try:
                with Uninterrupted():  # no file without its description
                    self._sink = sink(self.place, self._columns, head, sync_every, scene)
            except KeyboardInterrupt:  # it came meanwhile; nothing is recorded yet
                if hasattr(self, "_sink"):
                    self._abandon()
                discard(self.place)
                raise
        except OSError as error:
            raise ArmwrightError(f"{self.path}: cannot be written ({error.strerror or error})") from error

    @property
    def open(self) -> bool:
        """Return whether more can be appended: not closed, and no write has failed."""
        return self._open

    @property
    def samples(self) -> int:
        """Samples that are safely in the file."""
        return int(self._sink.samples)

    def append(self, time: ArrayLike, values: Mapping[str, ArrayLike] | Recording) -> None:
        """Add samples: time (T,) [s] and every signal (T, ...), or a single sample () and (...)."""
        if not self._open:
            raise InputError(f"{self.path}: this writer is closed")
        t = np.atleast_1d(read_only(time, "time"))
        last, count = self._written, 0
        if self._gathered:
            last, count = float(self._gathered[-1][0][-1]), self._gathered[-1][2]
        if t.ndim != 1 or not np.isfinite(t).all() or (np.diff(t, prepend=last) < 0.0).any():
            raise InputError(f"append: time must be finite and not fall, after t = {last!r} s")
        names = {column.name for column in self._columns}
        if set(values) != names:
            wrong = sorted(names.symmetric_difference(values))
            raise InputError(
                f"append: missing or unknown signals: {', '.join(wrong)}; expected {', '.join(sorted(names))}"
            )
        blocks = []
        for column in self._columns:
            block = read_only(values[column.name], f"signal {column.name!r}")
            if block.shape not in ((len(t), *column.shape), column.shape if len(t) == 1 else None):
                raise InputError(f"append: signal {column.name!r} is {block.shape}, expected {(len(t), *column.shape)}")
            blocks.append(block.reshape(len(t), column.width).copy())  # the caller may go on using its array
        if not len(t):
            return
        self._gathered.append((t.copy(), blocks, count + len(t)))
        if count + len(t) >= self._chunk:
            self.flush()

    def flush(self) -> None:
        """Write what has been gathered as one chunk. Ctrl-C takes effect after it.

        Raises:
            ArmwrightError: disk full or another failure; the message says how much was kept. The writer is closed then.
        """
        with Uninterrupted():
            if not self._gathered:
                return
            times, parts, _ = zip(*self._gathered, strict=True)
            time, blocks = np.concatenate(times), [np.concatenate(part) for part in zip(*parts, strict=True)]
            try:
                self._sink.append(time, blocks)
            except OSError as error:
                self._abandon()
                raise ArmwrightError(
                    f"{self.path}: {error.strerror or error} while writing the samples from t = {time[0]:g} s on; "
                    f"{self._kept()}"
                ) from error
            except BaseException:
                self._abandon()
                raise
            self._gathered, self._written = [], float(time[-1])

    def close(self, outcome: str = "", events: Iterable[Any] = (), *, whole: bool = True) -> None:
        """Write what remains, the events and the outcome; safe to call twice. Ctrl-C takes effect after it.

        Args:
            outcome: how the run ended.
            events: of the run.
            whole: whether this is what was wanted; what is not does not replace an older file.
        """
        with Uninterrupted():
            if not self._open:
                return
            listed: tuple[RecordedEvent, ...] = tuple(as_event(event) for event in events)
            self.flush()
            self._open = False
            try:
                self._sink.close(tail_of(self.samples, listed, outcome))
                if self.place != self._target and whole:
                    take_place(self.place, self._target, self._beside)
                    self.place = self._target
            except OSError as error:
                self._abandon()
                raise ArmwrightError(
                    f"{self.path}: {error.strerror or error} while closing; {self._kept()}, without events and outcome"
                ) from error
            except BaseException:
                self._abandon()
                raise
            if self.place != self._target:
                tell_user(f"{self.path}: the older file stays; what was recorded is in {self.place}")

    def _kept(self) -> str:
        if self.place == self._target:
            return f"the file opens with the first {self.samples} samples"
        return f"the older file stays, {self.place} opens with the first {self.samples} samples"

    def _abandon(self) -> None:
        self._open = False
        with contextlib.suppress(OSError):
            self._sink.abandon()

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; after an exception the outcome names it, and a second failure does not hide the first."""
        if kind is None:
            self.close()
            return
        with contextlib.suppress(ArmwrightError):
            self.close(f"interrupted by {kind.__name__}" + (f": {error}" if str(error) else ""), whole=False)
