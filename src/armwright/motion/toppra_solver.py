# SPDX-License-Identifier: Apache-2.0
"""The problem of `reachability`, handed to toppra: an independent solver of the same limits (extra ``[time]``).

Measured with toppra 0.6.10: its two-variable solver works with absolute tolerances and calls feasible problems
infeasible when speeds are large numbers, so time is rescaled first; importing it imports matplotlib. That is why it is
the second solver here and not the first.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, NotSupportedError

if TYPE_CHECKING:
    from armwright.types import Array


def largest_speeds_toppra(s: Array, a: Array, b: Array, c: Array) -> Array:
    """Return x = ṡ² (N+1,) as `armwright.motion.reachability.largest_speeds` does, by toppra.

    Args:
        s: grid (N+1,).
        a: coefficients of u = s̈ (N, k).
        b: coefficients of x at the interval's start (N, k).
        c: constants (N, k).

    Raises:
        InputError: no speed profile from rest to rest exists.
        NotSupportedError: toppra is not installed.
    """
    try:
        import toppra.algorithm as algorithm
        from toppra.constraint import LinearConstraint
    except ImportError as error:
        raise NotSupportedError(
            f"solver 'toppra' needs toppra and what it imports ({error}): pip install 'armwright[time,plot]'; "
            "the default solver 'reachability' works without it"
        ) from error
    # in this unit of time limits are of the order of one at speeds of the order of one
    unit = 1.0 / float(np.median(np.maximum(np.abs(a), np.abs(b)).max(axis=1)))
    logging.getLogger("toppra").setLevel(logging.ERROR)  # failures are reported by the exception below

    class Given(LinearConstraint):  # type: ignore[misc]
        """Limits computed beforehand, interval by interval; the last grid point repeats the last interval."""

        def __init__(self) -> None:
            super().__init__()
            self.identical = True

        def get_dof(self) -> int:
            return 1

        def compute_constraint_params(self, path: Any, gridpoints: Any, *args: Any, **kwargs: Any) -> Any:
            last = (np.concatenate([value, value[-1:]]) for value in (unit * a, unit * b, c))
            k = a.shape[1]
            return *last, np.eye(k), np.zeros(k), None, None

    class Parameter:
        """A stand-in for a geometric path: only its interval is asked for."""

        dof = 1
        path_interval = np.array([s[0], s[-1]])
        duration = float(s[-1] - s[0])

    problem = algorithm.TOPPRA([Given()], Parameter(), gridpoints=s.copy(), solver_wrapper="seidel")
    _, sd, _ = problem.compute_parameterization(0.0, 0.0)
    if sd is None or not np.isfinite(sd).all() or not (np.maximum(sd[1:], sd[:-1]) > 0.0).all():
        raise InputError("no speed profile from rest to rest exists on this grid")
    x = unit * np.asarray(sd, dtype=np.float64) ** 2
    x[0] = x[-1] = 0.0
    return x
