# SPDX-License-Identifier: Apache-2.0
"""NumPy source: a readable function on arrays with leading batch axes, which needs NumPy only."""

from __future__ import annotations

from armwright.graph.emit.python_source import Dialect, array_rules, python_function
from armwright.graph.program import Program

DIALECT = Dialect("np", "import numpy as np", array_rules("np"), functional=False)


def emit(program: Program) -> str:
    """Return the text of a module with one function; inputs ``(..., *shape)``, batch axes broadcast."""
    return python_function(program, DIALECT)
