# SPDX-License-Identifier: Apache-2.0
"""A padded grid for the network's inner loops, compiled where LLVM is present, NumPy elsewhere: same numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.graph import jit
from armwright.graph.emit.llvm_grid_sweeps import DESCEND, RELAX, sweep_ir
from armwright.graph.kernel import backend, compiled
from armwright.planning.grid.neighbourhood import Neighbourhood, side_cells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

    Integers = NDArray[np.int64]
    Mask = NDArray[np.bool_]

BORDER_INPUT = -1e300  # input of the border: clamped to 0, as obstacles are
_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class Padded(NamedTuple):
    """Layout of a grid with a border as wide as the neighbourhood reaches.

    shape: padded; inner: slices of the true cells; offsets (K,) flat distances; costs (K,); moves: flat words whose bit
    k says that step k may be taken from a cell (side cells free), or one word of ones where every step is straight.
    """

    shape: tuple[int, ...]
    inner: tuple[slice, ...]
    offsets: Integers
    costs: Array
    moves: Integers

    @property
    def each(self) -> int:
        """1 if every cell has its own word of allowed steps, 0 if one serves all."""
        return int(self.moves.size > 1)

    def may(self, cells: ArrayLike) -> NDArray[np.bool_]:
        """Return which of the K steps may be taken from flat indices (...,): (..., K)."""
        words = self.moves[np.asarray(cells) * self.each]
        return np.asarray((words[..., None] >> np.arange(self.offsets.size)) & 1 == 1)

    def flat(self, cell: tuple[int, ...]) -> int:
        """Return the flat padded index of a cell."""
        reach, index = self.inner[0].start, 0
        for c, s in zip(cell, self.shape, strict=True):
            index = index * s + c + reach
        return int(index)

    def cells(self, flat: Integers) -> list[tuple[int, ...]]:
        """Return the cells of flat padded indices."""
        reach = self.inner[0].start
        return list(zip(*((c - reach).tolist() for c in np.unravel_index(flat, self.shape)), strict=True))


@lru_cache(maxsize=64)
def _layout(shape: tuple[int, ...], hood: Neighbourhood) -> Padded:
    reach = hood.reach
    padded = tuple(s + 2 * reach for s in shape)
    strides = np.ones(len(shape), dtype=np.int64)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * padded[k + 1]
    moves = np.array([-1], dtype=np.int64)
    inner = tuple(slice(reach, reach + s) for s in shape)
    return Padded(padded, inner, hood.offsets @ strides, hood.costs, moves)


def pad(blocked: Mask, hood: Neighbourhood) -> Padded:
    """Lay a grid out for sweeping with a neighbourhood."""
    layout = _layout(blocked.shape, hood)
    if not hood.diagonal or hood.squeeze:
        return layout
    wall = np.ones(layout.shape, dtype=bool)
    wall[layout.inner] = blocked
    word = np.zeros(blocked.shape, dtype=np.int64)
    for k, offset in enumerate(hood.offsets):
        clear = np.ones(blocked.shape, dtype=bool)
        for side in side_cells(offset):
            clear &= ~wall[tuple(slice(s.start + o, s.stop + o) for s, o in zip(layout.inner, side, strict=True))]
        word |= clear.astype(np.int64) << k
    full = np.zeros(layout.shape, dtype=np.int64)
    full[layout.inner] = word
    return layout._replace(moves=full.reshape(-1))


@lru_cache(maxsize=64)
def _function(kind: str, K: int = 0) -> Callable[..., int]:
    """Return a compiled loop: "relax", "descend", "clamped" or "weighted" (the last two for K neighbours)."""
    name = f"armwright_grid_{kind}_{K}"
    if kind in ("relax", "descend"):
        text = (RELAX if kind == "relax" else DESCEND).format(name=name)
        arguments = [_P] * 6 + [_I] * 4 if kind == "relax" else [_P, _P, _P, _P, _I, _I, _I, _P, _I, _I]
    else:
        text = sweep_ir(name, K, jit.host().width, kind == "weighted")
        arguments = [_P, _P, _P, _P, _P, _I, _I, _I, _D, _I, _I, _D]
    address = compiled(("grid", text), name, lambda: text)
    return ctypes.CFUNCTYPE(_I, *arguments)(address)


def relax(blocked: Mask, hood: Neighbourhood, goal: tuple[int, ...]) -> tuple[Array, int, Padded]:
    """Run the max-network until it rests: cost to go d (padded, flat; inf if unreachable, −inf if blocked).

    d_i = min over allowed steps k of (d_{i+k} + c_k), d_goal = 0. A cell is updated when a neighbour has changed, in
    the order of the changes, until none is left: the fixed point itself, not an approximation to it. Returns d, the
    number of updates, the layout.
    """
    p = pad(blocked, hood)
    full = np.full(p.shape, -np.inf)
    np.copyto(full[p.inner], np.inf, where=~blocked)
    d = full.reshape(-1)
    start = p.flat(goal)
    d[start] = 0.0
    if backend() == "numpy":
        return d, _relax_numpy(d, p, start), p
    queue, flag = np.empty(d.size, dtype=np.int64), np.zeros(d.size, dtype=np.uint8)
    queue[0], flag[start] = start, 1
    updates = _function("relax")(
        d.ctypes.data,
        p.moves.ctypes.data,
        queue.ctypes.data,
        flag.ctypes.data,
        p.offsets.ctypes.data,
        p.costs.ctypes.data,
        p.offsets.size,
        d.size,
        1,
        p.each,
    )
    return d, updates, p


def _relax_numpy(d: Array, p: Padded, start: int) -> int:
    """Find the same fixed point with NumPy, changed cells of one round together."""
    front, updates = np.array([start]), 0
    while front.size:
        updates += front.size
        changed = []
        for k, (offset, cost) in enumerate(zip(p.offsets, p.costs, strict=True)):
            j = front - offset
            nd = d[front] + cost
            good = (nd < d[j]) & p.may(j)[:, k]
            np.minimum.at(d, j[good], nd[good])
            changed.append(j[good])
        front = np.unique(np.concatenate(changed))
    return updates


def descend(d: Array, p: Padded, start: tuple[int, ...], goal: tuple[int, ...], costs: Array) -> list[tuple[int, ...]]:
    """Follow allowed steps of least d + cost from start to goal; ties keep the direction, else the first wins.

    Keeping the direction turns the zigzag of 000 into straight legs of the same length.
    """
    i, end = p.flat(start), p.flat(goal)
    if backend() == "numpy":
        path, last = [i], -1
        while i != end and len(path) <= d.size:
            value = d[i + p.offsets] + costs
            value[~p.may(i) | (value == -np.inf)] = np.inf
            choice = last if last >= 0 and value[last] == value.min() else int(np.argmin(value))
            if value[choice] == np.inf:
                break
            i, last = i + int(p.offsets[choice]), choice
            path.append(i)
        flat, count = np.array(path), len(path) if i == end else -1
    else:
        flat = np.empty(d.size, dtype=np.int64)
        count = _function("descend")(
            d.ctypes.data,
            p.moves.ctypes.data,
            p.offsets.ctypes.data,
            costs.ctypes.data,
            costs.size,
            i,
            end,
            flat.ctypes.data,
            flat.size,
            p.each,
        )
    if count < 0:
        raise AssertionError("a network at rest always leads to its goal")
    return p.cells(flat[:count])


def sweep(
    inputs: Array, hood: Neighbourhood, beta: float, sweeps: int, *, least: int = 0, tolerance: float = 0.0
) -> tuple[Array, int, bool]:
    """Sweep σ ← g(Tσ + I) synchronously from σ = 0 (000 eq. 6.1 and 6.3).

    Args:
        inputs: I per cell: large at the goal, very negative at obstacles.
        hood: the links T.
        beta: slope of g(x) = min(max(βx, 0), 1).
        sweeps: most sweeps.
        least: fewest.
        tolerance: relative change below which a cell counts as at rest.

    Returns:
        σ, the number of sweeps, and whether the last one changed nothing beyond the tolerance.
    """
    p = _layout(inputs.shape, hood)
    padded = np.full(p.shape, BORDER_INPUT)
    padded[p.inner] = inputs
    zero = np.zeros(padded.size)
    flat, n, rest = _sweep(zero, padded.reshape(-1), None, p, beta, sweeps, least, tolerance)
    return flat.reshape(p.shape)[p.inner].copy(), n, rest


def weighted_sweep(
    start: Array, inputs: Array, weights: Array, p: Padded, sweeps: int, tolerance: float
) -> tuple[Array, int, bool]:
    """Sweep m_i ← Σ_k w_ki m_{i+k} + I_i on padded flat arrays; weights (K, cells). Returns as `sweep` does."""
    return _sweep(start, inputs, weights, p, 1.0, sweeps, 0, tolerance)


def _sweep(
    start: Array,
    inputs: Array,
    weights: Array | None,
    p: Padded,
    beta: float,
    sweeps: int,
    least: int,
    tolerance: float,
) -> tuple[Array, int, bool]:
    cells, K, first = start.size, p.offsets.size, int(np.abs(p.offsets).max())
    if backend() == "numpy":
        return _sweep_numpy(start, inputs, weights, p, beta, sweeps, least, tolerance)
    width = jit.host().width
    blocks = max(1, -(-(cells - 2 * first) // width))
    room = cells + 2 * first + width  # vectors may run past the last cell, never past the arrays
    work = np.zeros((2, room))
    work[0, :cells] = start
    drive = np.full(room, BORDER_INPUT if weights is None else 0.0)
    drive[:cells] = inputs
    table = np.zeros((1, 1) if weights is None else (K, room))
    if weights is not None:
        table[:, :cells] = weights
    done = _function("clamped" if weights is None else "weighted", K)(
        work[0].ctypes.data,
        work[1].ctypes.data,
        drive.ctypes.data,
        table.ctypes.data,
        p.offsets.ctypes.data,
        first,
        blocks,
        room,
        beta,
        sweeps,
        least,
        tolerance,
    )
    n = abs(done)
    return work[n % 2][:cells], n, done > 0


def _sweep_numpy(
    start: Array,
    inputs: Array,
    weights: Array | None,
    p: Padded,
    beta: float,
    sweeps: int,
    least: int,
    tolerance: float,
) -> tuple[Array, int, bool]:
    first = int(np.abs(p.offsets).max())
    inside = slice(first, start.size - first)
    views: list[Any] = [slice(first + int(o), start.size - first + int(o)) for o in p.offsets]
    old, n, moved = start, 0, True
    while n < sweeps and (moved or n < least):
        total = np.zeros(start.size - 2 * first)
        for k, view in enumerate(views):
            total = total + (old[view] if weights is None else weights[k, inside] * old[view])
        total = total + inputs[inside]
        value = np.minimum(np.maximum(beta * total, 0.0), 1.0) if weights is None else total
        moved = bool((np.abs(value - old[inside]) > tolerance * value).any())
        old = np.zeros(start.size)
        old[inside] = value
        n += 1
    return old, n, not moved
