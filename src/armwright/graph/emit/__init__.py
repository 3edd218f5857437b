# SPDX-License-Identifier: Apache-2.0
"""Source code and equations of a program: one file per target."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any

from armwright.errors import InputError
from armwright.graph.emit.printing import renamed
from armwright.graph.simplify import cheapest
from armwright.graph.traced_program import TracedProgram

# Loaded on demand: no target costs anything until it is asked for.
_EMITTERS = {
    "c": ("c_source", "emit"),
    "numpy": ("python_source", "emit"),
    "sympy": ("sympy_source", "emit"),
    "latex": ("latex", "emit"),
    "matlab": ("matlab_source", "emit"),
    "jax": ("jax_source", "emit"),
    "llvm": ("llvm", "module_text"),
}
TARGETS = tuple(_EMITTERS)


def source(
    program: TracedProgram,
    target: str,
    *,
    name: str | None = None,
    outputs: Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Return the program in the language `target`.

    Args:
        program: the traced function.
        target: one of `TARGETS`.
        name: name of the generated function; the program's own if omitted.
        outputs: names of the outputs; the program's own if omitted (one named as the function itself becomes ``out``).
        options: options of the target, for example ``digits`` of "latex".

    Code for machines is written in the cheaper of two forms, as traced or with angles merged (`cheapest`).

    Raises:
        InputError: for an unknown target or a name that is no identifier.

    >>> source(trace(lambda x: x @ x, {"x": (3,)}), "c", name="square")
    """
    if target not in _EMITTERS:
        raise InputError(f"there is no target {target!r}; valid targets: {', '.join(TARGETS)}")
    module, function = _EMITTERS[target]
    program = renamed(program, name=name, outputs=outputs)
    if target not in ("latex", "llvm"):
        program = cheapest(program)
    text: str = getattr(import_module(f"armwright.graph.emit.{module}"), function)(program, **options)
    return text


def sources(
    programs: Sequence[TracedProgram], target: str, *, name: str, prefix: str = "", values: Collection[str] = ()
) -> str:
    """Return several functions as one file, as they are.

    Args:
        programs: the functions.
        target: c, matlab, numpy, jax or sympy; llvm for one function.
        name: name of the file, without its ending.
        prefix: prefix that the names of the functions have in common.
        values: scalar inputs that C passes by value.

    Raises:
        InputError: for a target that cannot hold several functions.
    """
    if target in ("c", "matlab"):
        several = import_module(f"armwright.graph.emit.{_EMITTERS[target][0]}").emit_several
        text: str = several(programs, name=name, prefix=prefix, values=values)
        return text
    if target not in _EMITTERS or target == "latex" or (target == "llvm" and len(programs) > 1):
        raise InputError(f"{target!r} cannot hold these functions; valid targets: c, matlab, numpy, jax, sympy")
    module, function = _EMITTERS[target]
    emit = getattr(import_module(f"armwright.graph.emit.{module}"), function)
    heads, bodies = zip(*(emit(program).split("\n\n\n", 1) for program in programs), strict=True)
    return "\n\n\n".join([heads[0], *(body.rstrip("\n") for body in bodies)]) + "\n"
