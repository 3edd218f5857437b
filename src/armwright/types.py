# SPDX-License-Identifier: Apache-2.0
"""The few types that all rooms share. Shapes stand in the docstrings; NumPy's types do not carry them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
"""Real numbers, SI units."""

Traced: TypeAlias = Any
"""Floats or symbols: a number or array of either. Code with such arguments is traced into the graph, so it may use
arithmetic and NumPy functions only, and no `if` on values. Type checkers cannot say more: the same source runs on
`Array` and on `armwright.graph.array.TracedArray`."""
