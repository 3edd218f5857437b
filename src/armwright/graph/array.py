# SPDX-License-Identifier: Apache-2.0
"""Arrays of expressions that NumPy functions understand.

`TracedArray` is an ndarray of dtype object whose elements are `Expr`. Through NumPy's protocols (NEP 13 and 18) the
ordinary functions — np.sin, np.where, np.maximum, @, np.cross — work on it: one source serves floats and symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import TraceError
from armwright.graph.expr import Expr, Graph, truth
from armwright.graph.ops import MEANING, Op

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from armwright.types import Symbolic


def graph_of(*values: Symbolic) -> Graph | None:
    """Return the graph of the expressions among `values`, None if there are none; refuse a mixture of two graphs."""
    graphs = {id(value.graph): value.graph for value in values if isinstance(value, Expr)}
    if len(graphs) > 1:
        raise TraceError("two traced values of different functions were mixed; trace them together")
    return next(iter(graphs.values()), None)


def _lift(graph: Graph, value: Symbolic) -> Expr:
    return value.as_number() if isinstance(value, Expr) else graph.constant(float(value))


def _unary(op: Op) -> Callable[[Any], Any]:
    def function(x: Symbolic) -> Symbolic:
        return x.graph.apply(op, x.as_number()) if isinstance(x, Expr) else MEANING[op](float(x))

    return function


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    def function(x: Symbolic, y: Symbolic) -> Symbolic:
        graph = graph_of(x, y)
        if graph is None:
            return MEANING[op](float(x), float(y))
        return graph.apply(op, _lift(graph, x), _lift(graph, y))

    return function


def sin(x: Symbolic) -> Symbolic:
    """Sine of an expression or a number."""
    return x.graph.sine(x.as_number()) if isinstance(x, Expr) else float(np.sin(x))


def cos(x: Symbolic) -> Symbolic:
    """Cosine of an expression or a number."""
    return x.graph.cosine(x.as_number()) if isinstance(x, Expr) else float(np.cos(x))


sqrt, absolute, exp, log, tanh, floor = map(_unary, (Op.SQRT, Op.ABS, Op.EXP, Op.LOG, Op.TANH, Op.FLOOR))
arctan2, minimum, maximum = map(_binary, (Op.ATAN2, Op.MIN, Op.MAX))


def where(condition: Symbolic, x: Symbolic, y: Symbolic) -> Symbolic:
    """Choose one element: x where the condition holds, y elsewhere."""
    graph = graph_of(condition, x, y)
    if graph is None:
        return x if condition else y
    return graph.select(truth(graph, condition), _lift(graph, x), _lift(graph, y))


def sign(x: Symbolic) -> Symbolic:
    """Return −1, 0 or 1; 0 at 0."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0))


_LOGIC: dict[Any, Callable[..., Any]] = {
    np.logical_and: lambda x, y: x & y if isinstance(x, Expr) or isinstance(y, Expr) else bool(x and y),
    np.logical_or: lambda x, y: x | y if isinstance(x, Expr) or isinstance(y, Expr) else bool(x or y),
    np.logical_not: lambda x: ~x if isinstance(x, Expr) else not x,
}
_ELEMENTWISE: dict[Any, Callable[..., Any]] = {
    np.sin: sin,
    np.cos: cos,
    np.tan: lambda x: sin(x) / cos(x),
    np.sqrt: sqrt,
    np.absolute: absolute,
    np.fabs: absolute,
    np.exp: exp,
    np.log: log,
    np.tanh: tanh,
    np.floor: floor,
    np.arctan2: arctan2,
    np.arctan: lambda x: arctan2(x, 1.0),
    np.arcsin: lambda x: arctan2(x, sqrt(1.0 - x * x)),
    np.arccos: lambda x: arctan2(sqrt(1.0 - x * x), x),
    np.sinh: lambda x: 0.5 * (exp(x) - exp(-x)),
    np.cosh: lambda x: 0.5 * (exp(x) + exp(-x)),
    np.hypot: lambda x, y: sqrt(x * x + y * y),
    np.square: lambda x: x * x,
    np.reciprocal: lambda x: 1.0 / x,
    np.minimum: minimum,
    np.maximum: maximum,
    np.fmin: minimum,
    np.fmax: maximum,
    np.sign: sign,
    np.deg2rad: lambda x: x * (np.pi / 180.0),
    np.radians: lambda x: x * (np.pi / 180.0),
    np.rad2deg: lambda x: x * (180.0 / np.pi),
    np.degrees: lambda x: x * (180.0 / np.pi),
    **_LOGIC,
}
_REDUCED = {np.minimum, np.maximum, np.logical_and, np.logical_or}
_ARITHMETIC = {
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.negative,
    np.positive,
    np.power,
    np.float_power,
    np.matmul,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.equal,
    np.not_equal,
    np.bitwise_and,
    np.bitwise_or,
    np.invert,
    np.vecdot if hasattr(np, "vecdot") else np.matmul,
}


_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}


def plain(value: Symbolic) -> Symbolic:
    """View traced arrays and scalars as ordinary object arrays."""
    if isinstance(value, np.generic):
        return value.item()  # NumPy's scalars would call the ufunc again, without end
    if isinstance(value, TracedArray):
        return value.view(np.ndarray)
    if isinstance(value, Expr):
        cell = np.empty((), dtype=object)
        cell[()] = value
        return cell
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value) if not hasattr(value, "_fields") else value
    return value


def has_symbols(*values: Symbolic) -> bool:
    """Whether an expression stands somewhere in the values: numbers, expressions, arrays and lists of either."""
    return any(isinstance(item, Expr) for value in values for item in _items(value))


def cells(value: Symbolic) -> NDArray[np.object_]:
    """Return numbers, expressions, arrays and lists of either as an ordinary array of objects."""
    return np.asarray(value, dtype=object)


def _items(value: Symbolic) -> list[Any]:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return []
    try:
        return list(np.ravel(cells(value)))
    except ValueError:  # lists of differing lengths
        return []


def traced(value: Symbolic) -> Symbolic:
    """View an object array as `TracedArray`; unwrap zero-dimensional ones; leave the rest alone."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value[()] if value.ndim == 0 else value.view(TracedArray)
    if isinstance(value, tuple):
        return tuple(traced(item) for item in value)
    return value


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Symbolic:
    """Run a NumPy ufunc on traced values."""
    out = kwargs.pop("out", None)
    arrays = [plain(value) for value in inputs]
    if method == "__call__" and ufunc in _ELEMENTWISE:
        function = np.frompyfunc(_ELEMENTWISE[ufunc], len(arrays), 1)
        if "where" in kwargs:
            raise TraceError(f"np.{ufunc.__name__}(where=…) cannot be traced; use np.where")
        result = function(*arrays)
    elif method == "reduce" and ufunc in _REDUCED:
        kwargs.pop("dtype", None)
        result = np.frompyfunc(_ELEMENTWISE[ufunc], 2, 1).reduce(*arrays, **kwargs)
    elif ufunc in _ARITHMETIC or method in ("reduce", "outer", "accumulate"):
        kwargs.pop("dtype", None)
        if ufunc in _COMPARISONS:
            kwargs["dtype"] = object  # else NumPy asks every result for its truth
        result = getattr(ufunc, method)(*(np.asarray(value, dtype=object) for value in arrays), **kwargs)
    else:
        raise TraceError(f"np.{ufunc.__name__} cannot be traced")
    if out is None:
        return traced(result)
    target = plain(out[0])
    if target.dtype != object:
        raise TraceError(
            "a traced value is written into an array of floats (x[...] = or +=); collect values in a list and "
            "use np.array or np.stack at the end"
        )
    target[...] = result
    return out[0]


def _where(condition: Symbolic, x: Symbolic = None, y: Symbolic = None) -> Symbolic:
    if x is None or y is None:
        raise TraceError("np.where(condition) alone cannot be traced; give both alternatives")
    return np.frompyfunc(where, 3, 1)(plain(condition), plain(x), plain(y))


def _clip(a: Symbolic, a_min: Symbolic = None, a_max: Symbolic = None, out: Symbolic = None, **kwargs: Any) -> Symbolic:
    low, high = kwargs.get("min", a_min), kwargs.get("max", a_max)
    result = a if low is None else np.maximum(a, low)
    return result if high is None else np.minimum(result, high)


def _norm(x: Symbolic, ord: float | str | None = None, axis: int | None = None, keepdims: bool = False) -> Symbolic:  # noqa: A002 - as NumPy names it
    if ord not in (None, 2) or (axis is None and np.ndim(plain(x)) != 1):
        raise TraceError("np.linalg.norm can be traced for the 2-norm of vectors only (give an axis for several)")
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def _reduction(ufunc: np.ufunc) -> Callable[..., Any]:
    def function(a: Symbolic, axis: int | None = None, keepdims: bool = False) -> Symbolic:
        return apply_ufunc(ufunc, "reduce", (a,), {"axis": axis, "keepdims": keepdims})

    return function


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.linalg.norm: _norm,
    np.max: _reduction(np.maximum),
    np.min: _reduction(np.minimum),
    np.all: _reduction(np.logical_and),
    np.any: _reduction(np.logical_or),
}
_REFUSED = {
    np.linalg.solve,
    np.linalg.inv,
    np.linalg.det,
    np.linalg.pinv,
    np.linalg.eigh,
    np.linalg.eig,
    np.linalg.svd,
    np.linalg.lstsq,
    np.linalg.qr,
    np.linalg.cholesky,
    np.allclose,
    np.isclose,
    np.array_equal,
    np.argmax,
    np.argmin,
    np.sort,
    np.argsort,
}


def apply_function(function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> Symbolic:
    """Run any other NumPy function on traced values: our own version, or NumPy's on object arrays."""
    if function in _FUNCTIONS:
        return traced(_FUNCTIONS[function](*args, **kwargs))
    if function in _REFUSED:
        raise TraceError(
            f"np.{function.__name__} cannot be traced; armwright.spatial.linear has straight-line solvers for "
            "symmetric positive definite systems"
        )
    return traced(function(*(plain(value) for value in args), **{name: plain(value) for name, value in kwargs.items()}))


class TracedArray(np.ndarray):
    """An array of expressions. Made by tracing; slices and results of NumPy functions stay `TracedArray`."""

    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Symbolic, **kwargs: Any) -> Symbolic:
        """See `apply_ufunc`."""
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Iterable[Any], kwargs: Mapping[str, Any]
    ) -> Symbolic:
        """See `apply_function`."""
        return apply_function(func, args, kwargs)


def _expr_ufunc(self: Expr, ufunc: np.ufunc, method: str, *inputs: Symbolic, **kwargs: Any) -> Symbolic:
    return apply_ufunc(ufunc, method, inputs, kwargs)


def _expr_function(
    self: Expr, func: Callable[..., Any], types: Iterable[type], args: Iterable[Any], kwargs: Mapping[str, Any]
) -> Symbolic:
    return apply_function(func, args, kwargs)


# A single element takes part in the same protocols; plain object arrays look for methods of these names instead.
Expr.__array_ufunc__ = _expr_ufunc  # type: ignore[attr-defined]
Expr.__array_function__ = _expr_function  # type: ignore[attr-defined]
for _ufunc, _function in _ELEMENTWISE.items():
    setattr(Expr, _ufunc.__name__, _function)
Expr.conjugate = lambda self: self  # type: ignore[attr-defined]


def inputs_of(graph: Graph, signal: int, shape: tuple[int, ...]) -> Symbolic:
    """Return input number `signal` as an array of `shape` (an `Expr` for shape ())."""
    size = int(np.prod(shape))
    cells = np.empty(size, dtype=object)
    cells[:] = [graph.input(signal, k) for k in range(size)]
    return traced(cells.reshape(shape))
