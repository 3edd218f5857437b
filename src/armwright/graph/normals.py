# SPDX-License-Identifier: Apache-2.0
"""Standard normals that need no memory: each is a function of a seed, a tick and a component.

Threefry-2x64 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) turns the counter
(tick div 2, pair) under the key (seed, stream) into two words, one for an even tick and one for the odd tick after it;
Box and Muller's formula turns a word into the components 2·pair and 2·pair + 1. A run can therefore be repeated or
continued from any tick, and the numbers do not depend on how ticks, lanes and threads are cut. Compiled
(`emit.llvm_normals`); without a compiler NumPy gives the same words and, up to the rounding of log, sin and cos, the
same numbers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.graph import jit
from armwright.graph.emit.llvm_normals import PARITY, PI_HALF, ROTATIONS, ROUNDS, noise_ir
from armwright.graph.kernel import backend, compiled
from armwright.graph.thread_pool import run_jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    from armwright.types import Array

STREAM = 0x6A6F696E74730001  # second word of the key: noise of joint sensors; other uses take other streams
MOST_SEED = 2**64 - 1
TICKS_AHEAD = 256  # ticks that `NormalSource.row` computes at once
_P, _I, _U = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64


def keys(seeds: Sequence[int] | Any) -> Words:
    """Return seeds as words (B,); raise `InputError` unless all are whole numbers from 0 to 2⁶⁴ − 1."""
    values: list[Any] = [seeds] if np.ndim(seeds) == 0 else list(seeds)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= MOST_SEED:
            raise InputError(f"noise: seeds must be whole numbers from 0 to 2^64 - 1 = {MOST_SEED}, got {value!r}")
    if not values:
        raise InputError("noise: at least one seed is needed")
    return np.array([int(value) for value in values], dtype=np.uint64)


def threefry(counter: tuple[Any, Any], key: tuple[Any, Any]) -> tuple[Words, Words]:
    """Threefry-2x64-20 in NumPy: two words of a counter under a key, arrays that broadcast."""
    schedule = [np.asarray(word, dtype=np.uint64) for word in key]
    schedule.append(schedule[0] ^ schedule[1] ^ np.uint64(PARITY))
    with np.errstate(over="ignore"):  # words wrap
        x0 = np.asarray(counter[0], dtype=np.uint64) + schedule[0]
        x1 = np.asarray(counter[1], dtype=np.uint64) + schedule[1]
        for turn in range(ROUNDS):
            by = ROTATIONS[turn % 8]
            x0 = x0 + x1
            x1 = ((x1 << np.uint64(by)) | (x1 >> np.uint64(64 - by))) ^ x0
            if turn % 4 == 3:
                n = turn // 4 + 1
                x0 = x0 + schedule[n % 3]
                x1 = x1 + (schedule[(n + 1) % 3] + np.uint64(n))
    return x0, x1


def normals(
    seeds: Sequence[int] | Any, first: int, ticks: int, width: int, out: Array | None = None, *, stream: int = STREAM
) -> Array:
    """Return standard normals (B, ticks, width): `width` components at ticks first, first + 1, … of each seed.

    Args:
        seeds: (B,) whole numbers from 0 to 2⁶⁴ − 1, or what `keys` made of them.
        first: number of the first tick, ≥ 0.
        ticks: how many.
        width: components of a tick.
        out: a C-contiguous float64 array (B, ticks, width) to fill.
        stream: another stream gives other numbers for the same seeds.
    """
    words = seeds if isinstance(seeds, np.ndarray) and seeds.dtype == np.uint64 else keys(seeds)
    _check(first, ticks, width)
    out = _target(out, (len(words), ticks, width))
    if width % 2:  # the last pair of every tick gives one number only
        out[...] = normals(words, first, ticks, width + 1, stream=stream)[..., :width]
    elif backend() == "numpy":
        out[...] = _numpy_normals(words, first, ticks, width, stream)
    elif out.size:
        key, start, size = words.ctypes.data, out.ctypes.data, out[0].nbytes

        def job(lane: int, _keep: tuple[Any, ...] = (words, out)) -> None:
            _fill(1, key + 8 * lane, stream, first, ticks, width // 2, start + lane * size)

        run_jobs(job, len(words))
    return out


def _fill(side: int, key: int, stream: int, first: int, ticks: int, pairs: int, target: int) -> None:
    """Write (ticks, 2·pairs, side) numbers to an address; the function makes two ticks at a time, from an even one."""
    function, row = _function(side), 16 * pairs * side
    spare = (ctypes.c_double * (4 * pairs * side))() if first % 2 or (first + ticks) % 2 else None
    at = ctypes.addressof(spare) if spare is not None else 0
    if first % 2:
        function(key, stream, first // 2, pairs, pairs, at)
        ctypes.memmove(target, at + row, row)
        first, ticks, target = first + 1, ticks - 1, target + row
    function(key, stream, first // 2, pairs, ticks // 2 * pairs, target)
    if ticks % 2:
        function(key, stream, (first + ticks) // 2, pairs, pairs, at)
        ctypes.memmove(target + (ticks - 1) * row, at, row)


class NormalSource:
    """The noise of a batch of simulations, written to the same memory again and again.

    Attributes:
        words: the seeds (B,) as words. width: components of a tick.
    """

    def __init__(self, seeds: Sequence[int] | Any, width: int) -> None:
        """Check the seeds; nothing is drawn yet."""
        self.words, self.width = keys(seeds), width
        self._table: Any = np.empty((len(self.words), 0, width))
        self._rows: Array | None = None
        self._first = 0

    def table(self, first: int, ticks: int) -> Array:
        """Normals (B, ticks, width); valid until the next call."""
        if self._table.shape[1] != ticks:
            self._table = np.empty((len(self.words), ticks, self.width))
        return normals(self.words, first, ticks, self.width, self._table)

    def filler(self, first: int, ticks: int, side: int) -> Callable[[int, int], None]:
        """Return a function that writes the numbers of one group of lanes where a loop reads them.

        ``fill(group, address)`` writes float64 (ticks, width, side): the same numbers as `table` in another order, of
        the lanes group·side …; idle lanes of the last group repeat the last one. The width must be even.
        """
        words = np.concatenate([self.words, np.repeat(self.words[-1:], -len(self.words) % side)])
        if backend() == "numpy":

            def slow(group: int, address: int) -> None:
                drawn = _numpy_normals(words[group * side : (group + 1) * side], first, ticks, self.width, STREAM)
                flat = np.ascontiguousarray(drawn.transpose(1, 2, 0))
                ctypes.memmove(address, flat.ctypes.data, flat.nbytes)

            return slow
        key, step, pairs = words.ctypes.data, 8 * side, self.width // 2

        def fill(group: int, address: int, _keep: Words = words) -> None:
            _fill(side, key + group * step, STREAM, first, ticks, pairs, address)

        return fill

    def row(self, tick: int) -> Array:
        """Normals (width,) of the first simulation at one tick; those of the next ticks are computed with them."""
        if self._rows is None or not 0 <= tick - self._first < TICKS_AHEAD:
            self._rows, self._first = normals(self.words[:1], tick, TICKS_AHEAD, self.width)[0], tick
        row: Array = self._rows[tick - self._first]
        return row


@lru_cache(maxsize=8)
def _function(side: int) -> Callable[..., None]:
    """Return the compiled loop for `side` lanes side by side."""
    host = jit.host()
    width = max(2 * host.width, side)  # two registers at a time: measured best of 1, 2, 3, 4, 6, 8
    if width % side:
        width = side
    name = f"armwright_noise_{side}"
    text = noise_ir(name, side=side, width=width, fma=host.fma, register=host.width)
    return ctypes.CFUNCTYPE(None, _P, _U, _I, _I, _I, _P)(compiled(("noise", text), name, lambda: text))


def _numpy_normals(words: Words, first: int, ticks: int, width: int, stream: int) -> Array:
    """Return the same numbers from NumPy (B, ticks, width), width even."""
    tick = np.arange(ticks, dtype=np.uint64)[:, None] + np.uint64(first)
    pair = np.arange(width // 2, dtype=np.uint64)
    both = threefry((tick >> np.uint64(1), pair), (words[:, None, None], np.uint64(stream)))
    word = np.where(tick % np.uint64(2) == 0, *both)
    u = 1.0 - (word >> np.uint64(12)).astype(np.float64) * 2.0**-52  # exact, in (0, 1]
    angle = ((word % np.uint64(1 << 30)).astype(np.float64) * 2.0**-30 - 0.5) * PI_HALF
    cosine = np.where(word & np.uint64(1 << 30), -np.cos(angle), np.cos(angle))
    sine, turned = np.sin(angle), (word & np.uint64(1 << 31)) != 0
    radius = np.sqrt(-2.0 * np.log(u))
    parts = [radius * np.where(turned, sine, cosine), radius * np.where(turned, cosine, sine)]
    return np.stack(parts, axis=-1).reshape(len(words), ticks, width)


def _check(first: int, ticks: int, width: int) -> None:
    for what, value, least in (("first", first, 0), ("ticks", ticks, 0), ("width", width, 1)):
        if int(value) != value or not least <= value < 1 << 62:
            raise InputError(f"noise: {what} must be a whole number ≥ {least} (below 2^62), got {value!r}")


def _target(out: Array | None, shape: tuple[int, ...]) -> Array:
    if out is None:
        return np.empty(shape)
    good = isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.c_contiguous and out.flags.writeable
    if not good or out.shape != shape:
        raise InputError(f"noise: out must be a writeable, C-contiguous float64 array of shape {shape}")
    return out
