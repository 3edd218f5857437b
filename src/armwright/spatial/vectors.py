# SPDX-License-Identifier: Apache-2.0
"""Products of small vectors, written out: quicker than NumPy's on single vectors, and the same on symbols."""

from __future__ import annotations

import numpy as np

from armwright.types import Traced


def dot(a: Traced, b: Traced) -> Traced:
    """Scalar product of two vectors of the same length (k,); of (k, ...) along the first axis."""
    total = a[0] * b[0]
    for k in range(1, len(a)):
        total = total + a[k] * b[k]
    return total


def cross(a: Traced, b: Traced) -> Traced:
    """Vector product a × b of two vectors (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
