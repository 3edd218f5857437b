# SPDX-License-Identifier: Apache-2.0
"""Kernels as JAX functions: XLA calls our machine code, ``vmap`` is a batch, ``grad`` uses our derivatives.

XLA calls a handler of its typed foreign-function interface, a C ABI that names its version. The handler is IR of ours
(`armwright.graph.emit.llvm_xla`), so that no compiler is needed; one per kernel, found under a name made of the
kernel's digest. Before the first use the version in the headers of the installed jaxlib is compared with the one whose
layout is known, and a small kernel runs through XLA and is compared with a plain call.

Derivatives are a rule for tangents, Σ ∂y/∂x ẋ, whose matrices come from kernels of their own: forward mode is that
rule, reverse mode its transpose.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.graph import jit
from armwright.graph.emit.llvm_xla import HANDLER, INTERFACE_MAJOR, MOST_BUFFERS, bound_handler_ir, handler_ir
from armwright.graph.kernel import Kernel, backend, compile_function, compiled
from armwright.graph.kernel_arguments import batch_axes, check_tail
from armwright.graph.thread_pool import LOCK, once
from armwright.packages import need

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import ArrayLike

    from armwright.graph.traced_program import ProgramSignal

JaxArray: TypeAlias = Any  # jax.Array
_PURPOSE = "jax_function"
_registered: dict[str, tuple[Any, ...]] = {}  # by name of the target: what its machine code refers to
_numbers = count()


def jax_function(kernel: Kernel, *, derivative: Kernel | None = None) -> Callable[..., JaxArray]:
    """Return a kernel as a JAX function of the same arrays, for ``jit``, ``vmap``, ``grad`` and their like.

    Arrays are float64 of shapes (..., *shape); leading batch axes broadcast. Inputs that are not finite are an error
    of JAX; compile the kernel with ``check_finite=False`` to let NaN pass. It runs on the processor ("cpu"), on the
    thread that XLA calls it from.

    Args:
        kernel: of `armwright.compile`, `Loop.step`, ….
        derivative: a kernel of the same inputs that returns ∂output/∂input, for every output by every input in order
            (after the outputs themselves, or without them). By default it is derived where it is asked for.

    Example:
        >>> f = jax_function(aw.compile(aw.forward_dynamics, robot))
        >>> jax.jit(jax.vmap(jax.jacobian(f)))(q, qd, tau)

    Raises:
        NotSupportedError: JAX is not installed, or its interface is not the one that is known; no llvmlite.
        InputError: JAX computes in float32 (set ``jax_enable_x64``).
    """
    jax = _jax()
    outputs, inputs = kernel.program.outputs, kernel.program.inputs
    if derivative is not None:
        _check_derivative(kernel, derivative)
    if len(inputs) + len(outputs) > MOST_BUFFERS or not inputs:
        raise NotSupportedError(
            f"{_PURPOSE}: {kernel.name} has {len(inputs)} inputs and {len(outputs)} outputs; "
            f"at least one input and at most {MOST_BUFFERS} arrays are possible"
        )
    _works()
    target = target_name(kernel)
    matrices: dict[tuple[str, ...], Callable[..., tuple[JaxArray, ...]]] = {}

    def plain(*arrays: JaxArray) -> tuple[JaxArray, ...]:
        batch = arrays[0].shape[: arrays[0].ndim - len(inputs[0].shape)]
        results = [jax.ShapeDtypeStruct(batch + s.shape, np.float64) for s in outputs]
        return tuple(jax.ffi.ffi_call(target, results, vmap_method="broadcast_all")(*arrays))

    def tangent_rule(
        primals: Sequence[JaxArray], tangents: Sequence[JaxArray]
    ) -> tuple[tuple[JaxArray, ...], tuple[JaxArray, ...]]:
        moving = [k for k, t in enumerate(tangents) if type(t) is not jax.custom_derivatives.SymbolicZero]
        names = tuple(inputs[k].name for k in moving)
        if names not in matrices:
            matrices[names] = _matrices(kernel, derivative, names)
        values = call(*primals)
        parts = iter(matrices[names](*primals))
        changes = []
        for output in outputs:
            terms = [_applied(jax, next(parts), tangents[k], output, inputs[k]) for k in moving]
            changes.append(sum(terms[1:], terms[0]))
        return values, tuple(changes)

    call = jax.custom_jvp(plain)
    call.defjvp(tangent_rule, symbolic_zeros=True)

    def function(*args: ArrayLike, **kwargs: ArrayLike) -> JaxArray | tuple[JaxArray, ...]:
        _require_double(jax)
        arrays = _arguments(jax, kernel.name, inputs, args, kwargs)
        _, batch = batch_axes(kernel.name, inputs, arrays)
        wide = [jax.numpy.broadcast_to(a, batch + s.shape) for a, s in zip(arrays, inputs, strict=True)]
        results = call(*wide)
        return results[0] if kernel.program.single else results

    function.__name__ = kernel.name
    function.__doc__ = f"{kernel!r} as a JAX function."
    return function


def _jax() -> ModuleType:
    jax = need("jax", "jax", _PURPOSE)
    need("jax.ffi", "jax", _PURPOSE)
    _require_double(jax)
    return jax


def _require_double(jax: ModuleType) -> None:
    if not jax.config.jax_enable_x64:
        raise InputError(
            f"{_PURPOSE}: JAX computes in float32 here, kernels in float64: "
            "call jax.config.update('jax_enable_x64', True) first"
        )


def _arguments(
    jax: ModuleType,
    name: str,
    inputs: Sequence[ProgramSignal],
    args: Sequence[ArrayLike],
    kwargs: Mapping[str, ArrayLike],
) -> list[JaxArray]:
    """Return one float64 array per input; refuse what is missing, unknown, of another type or shape, by name."""
    names = [s.name for s in inputs]
    given = dict(zip(names, args, strict=False))
    unknown = [label for label in kwargs if label not in names or label in given]
    given |= kwargs
    if len(args) > len(names) or unknown or len(given) < len(names):
        raise InputError(f"{name}: takes {', '.join(names)}, each once; got {len(args)} arrays, {', '.join(kwargs)}")
    arrays = []
    for s in inputs:
        value = given[s.name]
        kind = getattr(value, "dtype", None)
        if kind is not None and kind != np.float64 and kind.kind not in "iub":
            raise InputError(
                f"{name}: {s.name} is {kind}; kernels compute in float64: convert it with {s.name}.astype('float64')"
            )
        array = jax.numpy.asarray(value, dtype=np.float64)
        check_tail(array, f"{name}: {s.name}", s.shape)
        arrays.append(array)
    return arrays


def _applied(jax: ModuleType, matrix: JaxArray, change: JaxArray, output: ProgramSignal, by: ProgramSignal) -> JaxArray:
    """Σ over the axes of an input of ∂output/∂input · its change."""
    lead = matrix.ndim - len(output.shape) - len(by.shape)
    batch, rows = range(lead), range(lead, lead + len(output.shape))
    columns = range(matrix.ndim - len(by.shape), matrix.ndim)
    return jax.numpy.einsum(matrix, [*batch, *rows, *columns], change, [*batch, *columns], [*batch, *rows])


def _check_derivative(kernel: Kernel, derivative: Kernel) -> None:
    """Refuse a kernel that cannot be the derivatives of another, by shapes."""
    p, d = kernel.program, derivative.program
    shapes = [out.shape + by.shape for out in p.outputs for by in p.inputs]
    given = [s.shape for s in d.outputs]
    if given[len(given) - len(shapes) :] != shapes or len(given) not in (len(shapes), len(shapes) + len(p.outputs)):
        raise InputError(f"{_PURPOSE}: derivative must return arrays {shapes}, after the outputs or alone; got {given}")
    if [(s.name, s.shape) for s in p.inputs] != [(s.name, s.shape) for s in d.inputs]:
        raise InputError(
            f"{_PURPOSE}: derivative must take what the kernel takes: {', '.join(s.name for s in p.inputs)}"
        )


def _matrices(kernel: Kernel, derivative: Kernel | None, names: tuple[str, ...]) -> Callable[..., tuple[JaxArray, ...]]:
    """Return a JAX function of ∂output/∂input for all outputs and the named inputs, outputs first."""
    if derivative is None:
        made = kernel.derivative(names)
        one, single = jax_function(made), made.program.single
        return lambda *arrays: (one(*arrays),) if single else one(*arrays)
    every = jax_function(derivative)
    columns = [k for k, s in enumerate(kernel.program.inputs) if s.name in names]
    wide, number = len(kernel.program.inputs), len(kernel.program.outputs)

    def chosen(*arrays: JaxArray) -> tuple[JaxArray, ...]:
        found = every(*arrays)
        parts = (found,) if derivative.program.single else found
        parts = parts[len(parts) - wide * number :]
        return tuple(parts[row * wide + k] for row in range(number) for k in columns)

    return chosen


def target_name(kernel: Kernel) -> str:
    """Return the name under which XLA knows a kernel; it is compiled and registered on first use."""
    name = f"armwright_{kernel.name}_{kernel.program.digest}_{int(kernel.check_finite)}"
    with LOCK:
        if name not in _registered:
            if backend() != "llvm":
                raise NotSupportedError(
                    f"{_PURPOSE}: needs llvmlite, which is missing here; kernel.source('jax') gives JAX source instead"
                )
            width, p = jit.host().width, kernel.program
            finite = f"{kernel.name}: an input is not finite (check_finite=False skips this check)"
            strange = f"{kernel.name}: buffers must be float64 in C order; the interface of this jaxlib is not known"
            texts = [ctypes.c_char_p(text.encode()) for text in (finite, strange)]
            places = [ctypes.cast(text, ctypes.c_void_p).value or 0 for text in texts]
            one, many = kernel.function_address(1), kernel.function_address(width)
            sizes = [s.size for s in chain(p.inputs, p.outputs)]
            words = [len(p.inputs), len(p.outputs), one, many, width, interface_version(), *places, *sizes]
            table = (ctypes.c_int64 * len(words))(*words)
            entry = compiled(("xla", handler_ir()), HANDLER, handler_ir)
            label = f"armwright_xla_{next(_numbers)}"
            code = jit.compile_object(bound_handler_ir(label, entry, ctypes.addressof(table)))  # holds addresses
            jax = need("jax.ffi", "jax", _PURPOSE)
            jax.register_ffi_target(name, jax.pycapsule(jit.load_function(code, label)), platform="cpu")
            _registered[name] = (table, texts, kernel)
    return name


def interface_version() -> int:
    """Return the minor version of XLA's interface, from the headers of the installed jaxlib; refuse other layouts."""
    header = Path(need("jax.ffi", "jax", _PURPOSE).include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        text = header.read_text(encoding="utf-8")
        versions = [int(re.findall(rf"#define XLA_FFI_API_{part} (\d+)", text)[0]) for part in ("MAJOR", "MINOR")]
    except (OSError, IndexError) as error:
        raise NotSupportedError(
            f"{_PURPOSE}: this jaxlib does not tell the version of its interface ({error})"
        ) from error
    if versions[0] != INTERFACE_MAJOR:
        raise NotSupportedError(
            f"{_PURPOSE}: this jaxlib has version {versions[0]}.{versions[1]} of XLA's interface for foreign "
            f"functions, known are versions {INTERFACE_MAJOR}.x; kernel.source('jax') gives JAX source that needs none"
        )
    return versions[1]


@once
def _works() -> bool:
    """Try the entry code on a small kernel: groups, a rest, several arrays, and an input that is not finite."""
    jax = _jax()
    trial = compile_function(lambda x, y: (2.0 * x, x[0] * y), {"x": (3,), "y": (2, 2)}, name="trial")
    rows = jit.host().width + 3
    x, y = np.arange(3.0 * rows).reshape(rows, 3), np.arange(4.0 * rows).reshape(rows, 2, 2)
    results = [jax.ShapeDtypeStruct((rows, *s.shape), np.float64) for s in trial.program.outputs]
    call = jax.ffi.ffi_call(target_name(trial), results, vmap_method="broadcast_all")
    with jax.ensure_compile_time_eval():
        same = all(np.array_equal(a, b) for a, b in zip(call(x, y), trial(x, y), strict=True))
        x[rows - 1, 2] = np.nan
        try:
            jax.block_until_ready(call(x, y))
            refused = False
        except (RuntimeError, ValueError) as error:  # XLA chooses by when it is told
            refused = "trial: an input is not finite" in str(error)
    if not (same and refused):
        version = need("jaxlib", "jax", _PURPOSE).__version__
        raise NotSupportedError(
            f"{_PURPOSE}: XLA of jaxlib {version} does not call kernels as expected; "
            "kernel.source('jax') gives JAX source instead"
        )
    return True
