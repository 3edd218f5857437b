# SPDX-License-Identifier: Apache-2.0
"""The few types that all rooms share. Shapes stand in the docstrings; NumPy's types do not carry them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Real numbers, SI units."""

Traced: TypeAlias = NDArray[np.float64]
"""An array of floats or of symbols. Code with such arguments is traced into the graph, so it may use arithmetic and
NumPy functions only, and no `if` on values. An `armwright.graph.array.TracedArray` is an ndarray, so one annotation
serves both, and the checker sees swapped arguments, misspelt attributes and forgotten `None`."""

Scalar: TypeAlias = float | NDArray[np.float64]
"""One number or symbol."""

Outputs: TypeAlias = Mapping[str, Traced]
"""What a law or a monitor returns by name."""

Condition: TypeAlias = Any
"""True, False, or a comparison of traced values."""
Symbolic: TypeAlias = Any
"""An expression, a float, or an array of either: only in `graph` and `robot.symbolic`, where they are mixed."""
