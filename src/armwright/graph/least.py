"""The smallest value of a function over many pairs: a configuration's records against a list of items.

Distances are of this kind: the links of an arm (records, which follow from q) against obstacles (items, of any number).
Both the records and the function of a pair are traced from NumPy source; the loops around them are compiled, so that
the code does not grow with the number of items and one configuration costs one call.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.graph import jit
from armwright.graph.emit.llvm_least import Group, least_ir
from armwright.graph.kernel import backend, compiled, make_kernel
from armwright.graph.program import trace
from armwright.graph.threads import run_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MOST_AT_ONCE = 8192  # rows that one thread takes
_P, _I = ctypes.c_void_p, ctypes.c_int64
_SIGNATURE = ctypes.CFUNCTYPE(_I, _P, _P, _I, _P, _P, ctypes.c_double)


class Pairs(NamedTuple):
    """A kind of pair: number of the table with its records, numbers of an item, value(record, item), bound or None.

    The bound is a cheaper function of the same arguments that is never above the value.
    """

    table: int
    size: int
    value: Callable[[Any, Any], Any]
    bound: Callable[[Any, Any], Any] | None = None


class LeastKernel:
    """A compiled least value: ``tables(q)`` gives arrays (records, numbers); `kinds` say what meets what."""

    def __init__(
        self, tables: Callable[..., Any], n: int, kinds: Sequence[Pairs], constants: Mapping[str, Any] | None = None
    ) -> None:
        """Trace; compiling waits for the first call.

        Args:
            tables: NumPy code of one configuration q (n,) that returns a tuple of arrays (records, numbers).
            n: size of q.
            kinds: of pairs.
            constants: other arguments of `tables`, folded in.
        """
        self.n, self.kinds = n, tuple(kinds)
        self.tables = trace(tables, {"q": (n,)}, constants=constants)
        self.groups = [self._group(kind) for kind in kinds]
        self._functions: dict[int, Any] = {}

    def _group(self, kind: Pairs) -> Group:
        shapes = {"record": (self.tables.outputs[kind.table].shape[1],), "item": (kind.size,)}
        bound = None if kind.bound is None else trace(kind.bound, shapes)
        return Group(kind.table, trace(kind.value, shapes), bound)

    def function(self, width: int) -> Any:
        """The compiled loops that take `width` rows at a time."""
        if width not in self._functions:
            parts = [(g.table, g.value.digest, g.bound and g.bound.digest) for g in self.groups]
            key = hashlib.blake2b(repr((self.tables.digest, parts)).encode(), digest_size=20).hexdigest()
            name = f"armwright_least_{key}_{width}"
            fma = jit.host().fma
            address = compiled((name,), name, lambda: least_ir(self.tables, self.groups, name, width=width, fma=fma))
            self._functions[width] = _SIGNATURE(address)
        return self._functions[width]

    def over(self, *items: Any) -> Least:
        """Return the function of q alone, for items (count, size), one array a kind."""
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
        self._pointers = (_P * len(self.items))(*(x.ctypes.data for x in self.items))
        self._counts = (_I * len(self.items))(*(len(x) for x in self.items))
        self._compiled = backend() == "llvm"
        self._width = jit.host().width if self._compiled else 0

    def __call__(self, q: Any, most: float = np.inf) -> Any:
        """Return the least value, or `most` where all are above it: what is asked for less is found sooner."""
        Q = np.ascontiguousarray(q, dtype=np.float64)
        n = self.kernel.n
        if not Q.ndim or Q.shape[-1] != n:
            raise InputError(f"q: expected shape (..., {n}), got {Q.shape}")
        out = np.empty(Q.shape[:-1])
        rows = out.size
        if not rows:
            return out
        if not self._compiled:
            self._check(Q)
            return self.reference(Q, most)
        if rows <= MOST_AT_ONCE:
            bad = self._run(Q, out, rows, most)
        else:
            flat, result = Q.reshape(rows, n), out.reshape(rows, 1)
            bad = run_rows(lambda i, o, count: self._run(i[0], o[0], count, most), [flat], [result], rows)
        if bad:
            self._check(Q)
        return out

    def _run(self, Q: Array, out: Array, rows: int, most: float) -> int:
        width = self._width
        if 1 < rows < width:  # lanes are there anyway: fill them
            filled, result = np.zeros((width, self.kernel.n)), np.empty(width)
            filled[:rows] = Q.reshape(rows, -1)
            bad = self._run(filled, result, width, most)
            out.reshape(-1)[:] = result[:rows]
            return bad
        run = self.kernel.function(1 if rows == 1 else width)
        return int(run(Q.ctypes.data, out.ctypes.data, rows, self._pointers, self._counts, most))

    def _check(self, Q: Array) -> None:
        bad = np.argwhere(~np.isfinite(Q))
        if len(bad):
            raise InputError(f"q[{', '.join(map(str, bad[0]))}] is {Q[tuple(bad[0])]}; entries must be finite")

    def reference(self, q: Any, most: float = np.inf) -> Any:
        """Return the same without compiled loops: every pair, by the kernels of the traced functions."""
        Q = np.asarray(q, dtype=np.float64)
        least = np.full(Q.shape[:-1], most)
        tables = make_kernel(self.kernel.tables)(Q)
        for group, items in zip(self.kernel.groups, self.items, strict=True):
            records = (tables if isinstance(tables, tuple) else (tables,))[group.table]
            if items.size and records.size:
                value = make_kernel(group.value)(records[..., None, :], items)
                least = np.minimum(least, value.min(axis=(-1, -2)))
        return least
