# SPDX-License-Identifier: Apache-2.0
"""JAX: the program as a function that jit, vmap and grad accept, and as its source."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from armwright.errors import InputError, NotSupportedError
from armwright.graph.emit.python_source import Dialect, array_rules, python_function
from armwright.graph.ops import Op
from armwright.graph.traced_program import TracedProgram

DIALECT = Dialect("jnp", "import jax.numpy as jnp", array_rules("jnp"), functional=True)


def emit(program: TracedProgram) -> str:
    """Return the text of a module with one function on ``jax.numpy`` arrays ``(..., *shape)``.

    Double precision needs ``jax.config.update("jax_enable_x64", True)`` before the first array is made.
    """
    return python_function(program, DIALECT)


def _operations(jnp: ModuleType) -> dict[Op, Callable[..., Any]]:
    return {
        Op.ADD: lambda a, b: a + b,
        Op.SUB: lambda a, b: a - b,
        Op.MUL: lambda a, b: a * b,
        Op.DIV: lambda a, b: a / b,
        Op.NEG: lambda a: -a,
        Op.SIN: jnp.sin,
        Op.COS: jnp.cos,
        Op.SQRT: jnp.sqrt,
        Op.ABS: jnp.abs,
        Op.EXP: jnp.exp,
        Op.LOG: jnp.log,
        Op.TANH: jnp.tanh,
        Op.ATAN2: jnp.arctan2,
        Op.MIN: jnp.minimum,
        Op.MAX: jnp.maximum,
        Op.FLOOR: jnp.floor,
        Op.LT: lambda a, b: a < b,
        Op.LE: lambda a, b: a <= b,
        Op.EQ: lambda a, b: a == b,
        Op.AND: jnp.logical_and,
        Op.OR: jnp.logical_or,
        Op.NOT: jnp.logical_not,
        Op.SELECT: jnp.where,
    }


def to_jax(program: TracedProgram) -> Callable[..., Any]:
    """Return the program as a JAX function of its inputs, in order.

    It can be given to ``jax.jit``, ``jax.vmap`` and ``jax.grad``. Inputs have shape ``(..., *shape)``; batch axes
    broadcast. The result is an array, or a tuple of arrays if the traced function returned a tuple.

    Raises:
        NotSupportedError: if JAX is not installed.
    """
    try:
        import jax.numpy as jnp  # an extra, loaded on demand
    except ImportError as error:
        raise NotSupportedError("to_jax needs JAX; install armwright[jax]") from error
    meaning = _operations(jnp)
    jnp_: Any = jnp

    def function(*arguments: Any) -> Any:
        if len(arguments) != len(program.inputs):
            names = ", ".join(signal.name for signal in program.inputs)
            raise InputError(f"{program.name} takes {len(program.inputs)} arrays ({names}), got {len(arguments)}")
        flat, batches = [], []
        for signal, argument in zip(program.inputs, arguments, strict=True):
            array = jnp_.asarray(argument, dtype=float)
            lead = array.ndim - len(signal.shape)
            if lead < 0 or array.shape[lead:] != signal.shape:
                wanted = ", ".join(["...", *map(str, signal.shape)])
                raise InputError(f"{program.name}: {signal.name} must have shape ({wanted}), got {array.shape}")
            batches.append(array.shape[:lead])
            flat.append(array.reshape((*array.shape[:lead], signal.size)))
        batch = jnp_.broadcast_shapes(*batches)
        values: list[Any] = []
        for op, args, value in program.nodes:
            if op is Op.CONST:
                values.append(value)
            elif op is Op.INPUT:
                values.append(flat[value[0]][..., value[1]])
            else:
                values.append(meaning[op](*(values[a] for a in args)))
        outputs = tuple(
            jnp_.stack([jnp_.broadcast_to(values[k], batch) for k in result], axis=-1).reshape(batch + signal.shape)
            for signal, result in zip(program.outputs, program.results, strict=True)
        )
        return outputs[0] if program.single else outputs

    function.__name__ = program.name
    function.__doc__ = f"{program.name}({', '.join(signal.name for signal in program.inputs)}) on JAX arrays."
    return function
