# SPDX-License-Identifier: Apache-2.0
"""The smallest value of a function over many pairs: a configuration's records against a list of items.

Distances are of this kind: the links of an arm (records, which follow from q) against obstacles (items, of any number).
Both the records and the function of a pair are traced from NumPy source; the loops around them are compiled, so that
the code does not grow with the number of items and one configuration costs one call.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.graph import jit
from armwright.graph.emit.llvm_pair_minimum import LEEWAY, Group, least_ir
from armwright.graph.fast_call import data_word
from armwright.graph.kernel import backend, compiled, make_kernel
from armwright.graph.thread_pool import ROWS_PER_THREAD, run_rows
from armwright.graph.traced_program import trace

if TYPE_CHECKING:
    from armwright.types import Array, Symbolic

_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_SIGNATURES = {
    "rows": ctypes.CFUNCTYPE(_I, _P, _P, _I, _P, _P, _D),
    "ways": ctypes.CFUNCTYPE(_I, _P, _P, _P, _I, _P, _P, _P, _D, _I),
}


class Pairs(NamedTuple):
    """A kind of pair: number of the table with its records, numbers of an item, value(record, item), bound or None.

    The bound is a cheaper function of the same arguments that is never above the value.
    """

    table: int
    size: int
    value: Callable[[Any, Any], Any]
    bound: Callable[[Any, Any], Any] | None = None


class LeastKernel:
    """A compiled least value: ``tables(q)`` gives arrays (records, numbers); `kinds` say what is paired with what."""

    def __init__(
        self, tables: Callable[..., Any], n: int, kinds: Sequence[Pairs], constants: Mapping[str, Any] | None = None
    ) -> None:
        """Trace; compiling waits for the first call.

        Args:
            tables: NumPy code of one configuration q (n,) that returns a tuple of arrays (records, numbers).
            n: size of q.
            kinds: kinds of pairs.
            constants: other arguments of `tables`, folded in.
        """
        self.n, self.kinds = n, tuple(kinds)
        self.tables = trace(tables, {"q": (n,)}, constants=constants)
        self.groups = [self._group(kind) for kind in kinds]
        self._functions: dict[tuple[str, int], Any] = {}

    def _group(self, kind: Pairs) -> Group:
        shapes = {"record": (self.tables.outputs[kind.table].shape[1],), "item": (kind.size,)}
        bound = None if kind.bound is None else trace(kind.bound, shapes)
        return Group(kind.table, trace(kind.value, shapes), bound)

    def function(self, driver: Literal["rows", "ways"], width: int) -> Symbolic:
        """The compiled loops over `width` configurations at a time."""
        if (driver, width) not in self._functions:
            parts = [(g.table, g.value.digest, g.bound and g.bound.digest) for g in self.groups]
            key = hashlib.blake2b(repr((self.tables.digest, parts)).encode(), digest_size=20).hexdigest()
            name, fma = f"armwright_least_{driver}_{key}_{width}", jit.host().fma
            address = compiled(
                (name,), name, lambda: least_ir(self.tables, self.groups, name, driver, width=width, fma=fma)
            )
            self._functions[driver, width] = _SIGNATURES[driver](address)
        return self._functions[driver, width]

    def over(self, *items: Symbolic) -> Least:
        """Return the function of q alone, for items (count, size), one array per kind."""
        return Least(self, items)


class Least:
    """The least value over given items: ``least(q)`` is (...,) for q (..., n); inf where there is no pair."""

    def __init__(self, kernel: LeastKernel, items: Sequence[Any]) -> None:
        """Keep the items; see `LeastKernel.over`."""
        self.kernel = kernel
        self.items = tuple(
            np.ascontiguousarray(x, dtype=np.float64).reshape(-1, kind.size)
            for x, kind in zip(items, kernel.kinds, strict=True)
        )
        self._where = (
            (_P * len(self.items))(*(x.ctypes.data for x in self.items)),
            (_I * len(self.items))(*(len(x) for x in self.items)),
        )
        self._width = jit.host().width if backend() == "llvm" else 0

    def __call__(self, q: Symbolic, most: float = np.inf) -> Symbolic:
        """Return the least value, or `most` where all are above it: a smaller `most` is faster."""
        Q = np.ascontiguousarray(q, dtype=np.float64)
        n = self.kernel.n
        if not Q.ndim or Q.shape[-1] != n:
            raise InputError(f"q: expected shape (..., {n}), got {Q.shape}")
        out = np.empty(Q.shape[:-1])
        rows = out.size
        if rows == 1 and self._width:
            run = self.kernel.function("rows", 1)
            bad = run(data_word(Q), data_word(out), 1, *self._where, most)
        elif not rows:
            return out
        elif rows < 2 * ROWS_PER_THREAD:
            bad = self._rows(Q.reshape(rows, n), out.reshape(rows, 1), rows, most)
        else:
            flat, result = Q.reshape(rows, n), out.reshape(rows, 1)
            bad = run_rows(lambda i, o, count: self._rows(i[0], o[0], count, most), [flat], [result], rows)
        if bad:
            _refuse(Q, "q")
        return out

    def _rows(self, Q: Array, out: Array, rows: int, most: float) -> int:
        width = self._width
        if not width:
            out[:, 0] = self.reference(Q, most)
            return int(not np.isfinite(Q).all())
        if rows < width:  # the lanes are there anyway: fill them
            filled, result = np.zeros((width, self.kernel.n)), np.empty((width, 1))
            filled[:rows] = Q
            bad = self._rows(filled, result, width, most)
            out[:] = result[:rows]
            return bad
        run = self.kernel.function("rows", width)
        return int(run(data_word(Q), data_word(out), rows, *self._where, most))

    def ways(self, a: Symbolic, b: Symbolic, levers: Array, finest: float, *, whole: bool = False) -> Symbolic:
        """Return how much (m,) of the straight ways a → b (m, n) is proved to keep the least value above 0.

        See `proved_way`, which does the same in NumPy.

        Args:
            a: (m, n).
            b: (m, n).
            levers: (n,) bound on the change of the least value per change of each coordinate.
            finest: change of the least value below which a piece without proof is not halved any more.
            whole: only ways that are proved to their end matter: others may be given up sooner.
        """
        A, B = (np.ascontiguousarray(x, dtype=np.float64) for x in (a, b))
        if A.ndim != 2 or A.shape != B.shape or A.shape[1] != self.kernel.n:
            raise InputError(f"ways: expected two arrays (m, {self.kernel.n}), got {A.shape} and {B.shape}")
        out = np.empty(len(A))
        if not self._width:
            _refuse(A, "a")
            _refuse(B, "b")
            return np.array([proved_way(self, *row, levers, finest, whole) for row in zip(A, B, strict=True)])
        run = self.kernel.function("ways", self._width)
        words = (data_word(A), data_word(B), data_word(out))
        if len(A) and run(*words, len(A), *self._where, levers.ctypes.data, finest, int(whole)):
            _refuse(A, "a")
            _refuse(B, "b")
        return out

    def reference(self, q: Symbolic, most: float = np.inf) -> Symbolic:
        """Return the least value without compiled loops: every pair, by the kernels of the traced functions."""
        Q = np.asarray(q, dtype=np.float64)
        least = np.full(Q.shape[:-1], most)
        tables = make_kernel(self.kernel.tables, check_finite=False)(Q)
        for group, items in zip(self.kernel.groups, self.items, strict=True):
            records = (tables if isinstance(tables, tuple) else (tables,))[group.table]
            if items.size and records.size:
                value = make_kernel(group.value, check_finite=False)(records[..., None, :], items)
                least = np.minimum(least, value.min(axis=(-1, -2)))
        return least


def proved_way(
    least: Callable[..., Any], a: Array, b: Array, levers: Array, finest: float, whole: bool, lanes: int = 8
) -> float:
    """Return how much of the straight way a → b (n,) is proved to keep `least` above 0; 1 if all of it.

    The function changes by no more than levers·|Δq|. So a piece is free if the value at its middle exceeds what it can
    change by within half of it. As many neighbouring pieces as there are lanes are looked at together; those before the
    first that is not free are done with. Then pieces are halved, or doubled if all were free. It ends where a middle is
    not free, or where the value can change by less than `finest` within half a piece that is not proved free.
    """
    s, h, step = 0.0, 0.5 / lanes, b - a
    way, first = float(np.abs(step) @ levers), True
    while True:
        need = way * h
        place = np.minimum(s + h * (2.0 * np.arange(lanes) + 1.0), 1.0)
        value = np.asarray(least(a + step * place[:, None], LEEWAY * need + finest))
        fine = value > need
        lead = lanes if fine.all() else int(np.argmin(fine))
        s += 2.0 * lead * h
        if s >= 1.0:
            return 1.0
        if lead < lanes and (value[lead] <= 0.0 or need < finest):
            return s
        if whole and first and (value <= 0.0).any():
            return s
        h, first = h * (2.0 if lead == lanes else 0.5), False


def _refuse(Q: Array, what: str) -> None:
    """Raise if an entry is not finite."""
    bad = np.argwhere(~np.isfinite(Q))
    if len(bad):
        raise InputError(f"{what}[{', '.join(map(str, bad[0]))}] is {Q[tuple(bad[0])]}; entries must be finite")
