# SPDX-License-Identifier: Apache-2.0
"""Kernels: traced functions that run. One object serves single calls, batches, derivatives, counts and sources.

Results go into new arrays, or into the caller's own after a check. An output may be an input, or overlap one in any
way: the results are those of separate arrays (they take a detour through memory of their own), and inputs that are
refused are left as they were. Outputs must not overlap one another. A kernel that is called with symbols, in a function
that is being traced, becomes part of what is traced.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import too_much_memory
from armwright.errors import ArmwrightWarning, InputError
from armwright.graph import cache, fast_call, jit
from armwright.graph.array import has_symbols
from armwright.graph.by_name import call_by_name
from armwright.graph.derive import derivative_matrix
from armwright.graph.emit.llvm_call import NAME
from armwright.graph.kernel_arguments import as_float64, batch_axes, in_graph, over_rows
from armwright.graph.thread_pool import LOCK, once, run_rows
from armwright.graph.traced_program import Counts, TracedProgram, trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.types import Array, Symbolic

SEARCH = 10_000  # steps of the exact search for a common element; beyond, arrays are taken to overlap


def result_arrays(program: TracedProgram, batch: tuple[int, ...], out: Array | Sequence[Array] | None) -> list[Array]:
    """Return one array of shape batch + output.shape for every output: new, or those of `out`."""
    if out is None:
        return [_new(batch + s.shape) for s in program.outputs]
    try:
        given: list[Any] = [out] if program.single and not isinstance(out, tuple) else list(out)
    except TypeError:
        wanted = f"a tuple of {len(program.outputs)} float64 arrays"
        raise InputError(f"{program.name}: out must be {wanted}, got {type(out).__name__}") from None
    if len(given) != len(program.outputs):
        raise InputError(f"{program.name}: out must hold {len(program.outputs)} arrays, got {len(given)}")
    for array, s in zip(given, program.outputs, strict=True):
        plain = isinstance(array, np.ndarray) and (type(array) is np.ndarray or not np.ma.isMaskedArray(array))
        if not plain or array.dtype != np.float64 or array.shape != batch + s.shape:
            what = f"{array.dtype} {array.shape}" if plain else type(array).__name__
            raise InputError(
                f"{program.name}: out for {s.name} must be a float64 array of shape {batch + s.shape}, got {what}"
            )
        if not array.flags.writeable:
            raise InputError(f"{program.name}: out for {s.name} is read-only")
        if not _elements_apart(array):
            raise InputError(f"{program.name}: elements of out for {s.name} share memory; each needs its own")
    for (a, first), (b, second) in combinations(zip(given, program.outputs, strict=True), 2):
        if _share_memory(a, b):
            raise InputError(
                f"{program.name}: out for {first.name} and out for {second.name} share memory; each needs its own"
            )
    return given


def _new(shape: tuple[int, ...]) -> Array:
    try:
        return np.empty(shape)
    except ValueError:  # more bytes than there are addresses
        raise MemoryError(f"{8 * prod(shape) / 2**40:.3g} TiB for an array with shape {shape}") from None


def computed_into(results: list[Any], inputs: list[Any]) -> list[Any]:
    """Return the arrays to compute into: each result itself, or new memory if it has gaps or overlaps an input."""
    return [
        r if r.flags.c_contiguous and not any(np.may_share_memory(r, a) for a in inputs) else np.empty(r.shape)
        for r in results
    ]


def _share_memory(a: Array, b: Array) -> bool:
    if not np.may_share_memory(a, b):  # by bounds: quick
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=SEARCH))  # type: ignore[arg-type]  # any count is allowed
    except np.exceptions.TooHardError:
        return True


def _elements_apart(array: Array) -> bool:
    """Whether each step along an axis leads beyond all that the shorter steps reach."""
    if array.flags.c_contiguous:
        return True
    reach = array.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return False
        reach += stride * (length - 1)
    return True


EMITTER_VERSION = 3  # part of every cache key: raise it when the generated code changes
_warned = False


def compiled(key_parts: tuple[object, ...], name: str, ir: Callable[[], str]) -> int:
    """Return the address of function `name`: loaded before, from the cache, or compiled now."""
    with LOCK:
        return jit.loaded(name) or _compiled(key_parts, name, ir)


def _compiled(key_parts: tuple[object, ...], name: str, ir: Callable[[], str]) -> int:
    key = hashlib.blake2b(repr((EMITTER_VERSION, jit.host(), *key_parts)).encode(), digest_size=20).hexdigest()
    code = cache.load(key)
    if code is None or not jit.is_object(code, name):
        code = jit.compile_object(ir())
        cache.store(key, code)
    return jit.load_function(code, name)


def backend() -> str:
    """``llvm``, or ``numpy`` where llvmlite is missing or $ARMWRIGHT_BACKEND says so; the user is told once."""
    global _warned
    if os.environ.get("ARMWRIGHT_BACKEND", "llvm") != "numpy" and jit.binding() is not None:
        return "llvm"
    if not _warned:
        _warned = True
        warnings.warn(
            "kernels run on the NumPy tape (no llvmlite): same numbers, 10 to 100 times slower",
            ArmwrightWarning,
            stacklevel=3,
        )
    return "numpy"


class Kernel:
    """A compiled function of arrays.

    Call it with one array per input, positionally or by name; leading batch axes broadcast:
    ``k(q, qd, qdd)`` with shapes (n,) or (..., n). Results may be written in place: ``k(q, qd, qdd, out=tau)`` (a tuple
    for several outputs), and into the inputs themselves (see `armwright.graph.kernel`). The first call compiles, or
    loads from the cache on disk. Called with symbols, it takes part in the function that is being traced.

    Attributes:
        program: the graph behind it. counts: its operations. function, constants: what was traced.
    """

    def __init__(
        self,
        program: TracedProgram,
        *,
        check_finite: bool = True,
        retrace: Callable[[Callable[..., Any]], TracedProgram] | None = None,
    ) -> None:
        """Wrap a program; `compile_function` is the usual way to get one."""
        self.program = program
        self.check_finite = check_finite
        self._retrace = retrace
        self._rows: Callable[[list[Any], list[Any], int], int] | None = None
        self._connection: tuple[Any, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate; see the class."""
        return self.general_call(*args, **kwargs)

    @property
    def name(self) -> str:
        """Name of the traced function."""
        return self.program.name

    @property
    def counts(self) -> Counts:
        """Operations of the compiled code, by kind."""
        return self.program.counts

    def source(self, target: str, **options: Any) -> str:
        """Return the same computation as source text: c, numpy, sympy, latex, matlab, jax or llvm."""
        from armwright.graph.emit import source

        return source(self.program, target, **options)

    def derivative(self, wrt: str | tuple[str, ...]) -> Kernel:
        """Return a kernel of the exact derivatives ∂output/∂input, shape ``output.shape + input.shape``.

        Several outputs or several names give a tuple, outputs first: (∂y1/∂a, ∂y1/∂b, ∂y2/∂a, …).
        """
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        known = [signal.name for signal in self.program.inputs]
        for label in names:
            if label not in known:
                raise InputError(
                    f"{self.name}: no input named {label!r} to differentiate by; inputs are {', '.join(known)}"
                )
        if self._retrace is None:
            raise InputError(f"{self.name}: this kernel was built from a program alone and cannot be differentiated")
        first, retrace = _Derivative(names), self._retrace

        def again(second: Callable[..., Any]) -> TracedProgram:
            return retrace(lambda value, arguments: second(first(value, arguments), arguments))

        return make_kernel(retrace(first), check_finite=self.check_finite, retrace=again)

    def general_call(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate on anything that converts to float64 arrays (lists, integers, strided, batched), and on symbols."""
        try:
            return self._general_call(args, kwargs, kwargs.pop("out", None))
        except MemoryError as error:
            raise InputError(f"{self.name}: {too_much_memory(error)}") from error

    def _general_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        p = self.program
        if len(args) == len(p.inputs) + len(p.outputs) and out is None:
            args, out = args[: len(p.inputs)], (args[-1] if p.single else args[len(p.inputs) :])
        names = [signal.name for signal in p.inputs]
        if len(args) > len(names):
            raise InputError(f"{p.name} takes {len(names)} arrays ({', '.join(names)}), got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for label, value in kwargs.items():
            if label not in names or label in given:
                raise InputError(
                    f"{p.name}: argument {label!r} is {'given twice' if label in given else 'unknown'}; "
                    f"arguments are {', '.join(names)}"
                )
            given[label] = value
        if missing := [label for label in names if label not in given]:
            raise InputError(f"{p.name}: missing {', '.join(missing)}; arguments are {', '.join(names)}")
        try:
            arrays = [as_float64(given[s.name], f"{p.name}: {s.name}", s.shape) for s in p.inputs]
        except InputError:
            if has_symbols(*given.values()):
                if out is not None:
                    raise InputError(f"{p.name}: symbols have no values yet that could be written to out") from None
                return self.inlined(*(given[label] for label in names))
            raise
        batches, batch = batch_axes(p.name, p.inputs, arrays)
        results = result_arrays(p, batch, out)
        rows = prod(batch)
        if rows:
            flat = [_rows(a, b, batch, s.size) for a, b, s in zip(arrays, batches, p.inputs, strict=True)]
            targets = results if out is None else computed_into(results, arrays)
            views = [t.reshape(rows, s.size) for t, s in zip(targets, p.outputs, strict=True)]
            if run_rows(self._runner(), flat, views, rows) and self.check_finite:
                self._raise_not_finite(arrays)
            for result, target in zip(results, targets, strict=True):
                if result is not target:
                    result[...] = target
        return results[0] if p.single else tuple(results)

    def inlined(self, *values: Symbolic) -> Symbolic:
        """Return the results for symbols: the program's nodes, built again in the graph of the caller.

        Leading batch axes broadcast as in a call; numbers among the values are folded in.
        """

        def one(*row: Symbolic) -> Symbolic:
            made = in_graph(self.program, row)
            return self.general_call(*row) if made is None else made  # None: numbers in a batch of symbols

        return over_rows(one, self.name, self.program.inputs, values)

    def _raise_not_finite(self, arrays: list[Any]) -> None:
        for array, s in zip(arrays, self.program.inputs, strict=True):
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                place = ", ".join(map(str, bad[0]))
                raise InputError(
                    f"{self.name}: {s.name}[{place}] is {array[tuple(bad[0])]}; entries must be finite "
                    "(check_finite=False skips this check)"
                )

    def _runner(self) -> Callable[[list[Any], list[Any], int], int]:
        if self._rows is None:
            self._prepare()
        assert self._rows is not None
        return self._rows

    def _prepare(self) -> None:
        """Compile or load the one-row kernel, once, and let calls go straight to it."""
        if self._rows is None:
            with LOCK:  # a second table for the same instance would free the first, which calls may be reading
                if self._rows is None:
                    self._make_rows()

    def _make_rows(self) -> None:
        if backend() == "numpy":
            run, check = self._on_tape(), self.check_finite

            def on_tape(inputs: list[Any], outputs: list[Any], rows: int) -> int:
                run(inputs, outputs)
                return int(check and not all(np.isfinite(a).all() for a in inputs))

            self._rows = on_tape
            return
        one = self.function_address(1)
        if fast_call.can_connect(self, self.program):
            text = fast_call.trampoline(self)
            entry = compiled(("trampoline", text), NAME, lambda: text)
            self._connection = fast_call.connect(self, self.program, one, jit.host().width, entry, self.general_call)
        self._rows = _RowRunner(self, one)

    def _on_tape(self) -> Callable[[list[Any], list[Any]], None]:
        """What computes rows without machine code."""
        from armwright.graph.tape import Tape

        return Tape(self.program).run

    def function_address(self, width: int) -> int:
        """Return the address of the machine code that computes `width` rows at a time; compiled on first use."""
        from armwright.graph.emit.llvm import kernel_ir

        p = self.program
        name = f"armwright_{p.digest}_{width}_{int(self.check_finite)}"
        host = jit.host()
        return compiled(
            (name,), name, lambda: kernel_ir(p, name, width=width, check_finite=self.check_finite, fma=host.fma)
        )

    def __repr__(self) -> str:
        signature = ", ".join(f"{s.name} {s.shape}" for s in self.program.inputs)
        results = ", ".join(f"{s.name} {s.shape}" for s in self.program.outputs)
        return f"Kernel({self.name}: {signature} -> {results}; {self.counts.flops} flops)"


@once
def _kernel_type() -> type[Kernel]:
    return fast_call.fast_type(Kernel)


def make_kernel(
    program: TracedProgram,
    *,
    check_finite: bool = True,
    retrace: Callable[[Callable[..., Any]], TracedProgram] | None = None,
) -> Kernel:
    """Return a kernel of the fastest kind this interpreter allows."""
    return _kernel_type()(program, check_finite=check_finite, retrace=retrace)


class _RowRunner:
    """Runs rows of contiguous arrays: full SIMD groups by the batch kernel, the rest by the one-row kernel."""

    _signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

    def __init__(self, kernel: Kernel, one: int) -> None:
        self.kernel = kernel
        self.width = jit.host().width
        self.one = self._signature(one)
        self.many: Any = None

    def __call__(self, inputs: list[Any], outputs: list[Any], rows: int) -> int:
        whole = rows - rows % self.width
        status = 0
        if whole:
            if self.many is None:
                address = self.kernel.function_address(self.width)
                self.many = self._signature(address)
                fast_call.offer_batch(self.kernel._connection, address)
            status |= self.many(_pointers(inputs, 0), _pointers(outputs, 0), whole)
        if rows > whole:
            status |= self.one(_pointers(inputs, whole), _pointers(outputs, whole), rows - whole)
        return int(status)


def _pointers(arrays: list[Any], row: int) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data + row * a.strides[0] for a in arrays))


def _rows(array: Array, own: tuple[int, ...], batch: tuple[int, ...], size: int) -> Array:
    """View an array as (rows, size); a broadcast one keeps a single row (`run_rows` repeats it block by block)."""
    if own != batch:
        if prod(own) == 1:
            return np.ascontiguousarray(array).reshape(1, size)
        array = np.broadcast_to(array, batch + array.shape[len(own) :])
    return np.ascontiguousarray(array).reshape(prod(batch), size)


class _Derivative:
    """Marks a trace that returns derivatives of its function's outputs by the named inputs."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __call__(self, value: Any, arguments: Mapping[str, Any]) -> Any:
        outputs = value if isinstance(value, tuple) else (value,)
        parts = tuple(derivative_matrix(output, arguments[label]) for output in outputs for label in self.names)
        return parts if isinstance(value, tuple) or len(self.names) > 1 else parts[0]


def compile_function(
    function: Callable[..., Any],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    constants: Mapping[str, Any] | None = None,
    name: str | None = None,
    check_finite: bool = True,
) -> Kernel:
    """Trace `function` (see `armwright.graph.traced_program.trace`) and return its kernel.

    Args:
        function: NumPy code of one configuration.
        shapes: shape of every traced argument, in calling order.
        constants: the other arguments, folded in.
        name: of the kernel.
        check_finite: whether NaN and infinities in the inputs raise `InputError`.
    """
    label = name or getattr(function, "__name__", "function")

    def retrace(derivative: Callable[..., Any]) -> TracedProgram:
        def differentiated(**arguments: Any) -> Any:
            return derivative(call_by_name(function, arguments), arguments)

        return _trace_keywords(differentiated, f"d_{label}")

    def _trace_keywords(target: Callable[..., Any], title: str) -> TracedProgram:
        from inspect import Parameter, Signature

        every = [*shapes, *(constants or {})]
        target.__signature__ = Signature([Parameter(n, Parameter.KEYWORD_ONLY) for n in every])  # type: ignore[attr-defined]
        return trace(target, shapes, constants=constants, name=title)

    return make_kernel(
        trace(function, shapes, constants=constants, name=name), check_finite=check_finite, retrace=retrace
    )
