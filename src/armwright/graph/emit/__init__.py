# SPDX-License-Identifier: Apache-2.0
"""Source code and equations from a program: one file per target."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from armwright.errors import InputError
from armwright.graph.emit.names import renamed
from armwright.graph.program import Program

# Loaded on demand: no target costs anything until it is asked for.
_EMITTERS = {
    "c": ("c", "emit"),
    "numpy": ("numpy_source", "emit"),
    "sympy": ("sympy_source", "emit"),
    "latex": ("latex", "emit"),
    "matlab": ("matlab", "emit"),
    "jax": ("jax_source", "emit"),
    "llvm": ("llvm", "module_text"),
}
TARGETS = tuple(_EMITTERS)


def source(
    program: Program, target: str, *, name: str | None = None, outputs: Sequence[str] | None = None, **options: Any
) -> str:
    """Return the program in the language `target`.

    Args:
        program: the traced function.
        target: one of `TARGETS`.
        name: of the generated function; the program's own if omitted.
        outputs: names of the outputs; the program's own if omitted (one named as the function itself becomes ``out``).
        options: of the target, for example ``digits`` of "latex".

    Raises:
        InputError: for an unknown target or a name that is no identifier.
    """
    if target not in _EMITTERS:
        raise InputError(f"there is no target {target!r}; valid targets: {', '.join(TARGETS)}")
    module, function = _EMITTERS[target]
    text: str = getattr(import_module(f"armwright.graph.emit.{module}"), function)(
        renamed(program, name=name, outputs=outputs), **options
    )
    return text
