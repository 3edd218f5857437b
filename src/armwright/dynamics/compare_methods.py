# SPDX-License-Identifier: Apache-2.0
"""Comparison of every formulation on the same random states: how far they disagree, and what each costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics.methods import METHODS, Method
from armwright.dynamics.public import forward_dynamics_kernel, inverse_dynamics_kernel, random_states
from armwright.dynamics.terms import is_plain
from armwright.graph import Counts, trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Array

REFERENCE_INVERSE, REFERENCE_FORWARD = "rnea", "crba"


@dataclass(frozen=True, slots=True)
class Job:
    """One direction (inverse or forward dynamics) of one formulation.

    Attributes:
        error: worst disagreement with the reference, relative to the largest entry of that state's result.
        naive: operations as the written loops count them, nothing shared or folded; None if not asked for.
        compiled: operations of the compiled code (base inertial parameters, constants folded, terms shared).
        ns: nanoseconds per evaluation in a batch, best of several; None if not timed.
    """

    error: float
    naive: Counts | None
    compiled: Counts
    ns: float | None


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One formulation: its name, the document it follows, and what it can do (None: no such form, see `note`)."""

    method: str
    title: str
    document: str
    inverse: Job | None
    forward: Job | None
    note: str = ""


def _worst(result: Array, reference: Array) -> float:
    scale = np.maximum(np.abs(reference).max(axis=-1, initial=0.0), 1e-12)
    return float((np.abs(result - reference).max(axis=-1, initial=0.0) / scale).max(initial=0.0))


def _nanoseconds(kernel: Kernel, arrays: tuple[Array, ...], batch: int, repeats: int = 7) -> float:
    """Best time per evaluation over a batch of `batch` states (the given ones, repeated)."""
    count = arrays[0].shape[0]
    big = [np.ascontiguousarray(np.resize(array, (max(batch, count), array.shape[1]))) for array in arrays]
    kernel(*big)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        kernel(*big)
        best = min(best, time.perf_counter() - start)
    return float(best / big[0].shape[0] * 1e9)


def naive_counts(robot: Robot, method: Method, job: str) -> Counts | None:
    """Operations of one evaluation as written: no folding, no sharing, unregrouped inertias."""
    function = getattr(method, job)
    if function is None:
        return None
    names = ("q", "qd", "qdd" if job == "inverse" else "tau")
    shapes = dict.fromkeys(names, (robot.n,))
    return trace(function, shapes, constants={"arm": robot.tree, **method.options}, naive=True).counts


def _job(
    robot: Robot, method: Method, kind: str, inputs: tuple[Array, ...], reference: Array, *, naive: bool, batch: int
) -> Job | None:
    if getattr(method, kind) is None:
        return None
    kernel = (inverse_dynamics_kernel if kind == "inverse" else forward_dynamics_kernel)(robot, method.name)
    return Job(
        error=_worst(kernel(*inputs), reference),
        naive=naive_counts(robot, method, kind) if naive else None,
        compiled=kernel.counts,
        ns=_nanoseconds(kernel, inputs, batch) if batch else None,
    )


@names_culprit
def compare(
    robot: Robot,
    states: int = 100,
    seed: int = 0,
    *,
    methods: Iterable[str] | None = None,
    naive: bool = True,
    batch: int = 4096,
) -> list[MethodRow]:
    """Run the formulations on random states and compare them with `rnea` (torques) and `crba` (accelerations).

    Args:
        robot: the arm.
        states: number of random states (positions inside the limits).
        seed: seed of the random numbers.
        methods: names out of `METHODS`; all if omitted.
        naive: also count the operations as written, which is slow for the Lagrangian forms of long arms.
        batch: states per timed call; 0 leaves the timing out.

    >>> worst_disagreement(compare(robot, states=10, batch=0))  # about 1e-14
    """
    q, qd, qdd = random_states(robot, states, seed)
    tau = inverse_dynamics_kernel(robot, REFERENCE_INVERSE)(q, qd, qdd)
    back = forward_dynamics_kernel(robot, REFERENCE_FORWARD)(q, qd, tau)
    rows = []
    for name in methods if methods is not None else METHODS:
        method = METHODS[name]
        if not method.mimic and not is_plain(robot.tree):
            rows.append(
                MethodRow(name, method.title, method.document, None, None, "not for joints that mimic each other")
            )
            continue
        inverse = _job(robot, method, "inverse", (q, qd, qdd), tau, naive=naive, batch=batch)
        forward = _job(robot, method, "forward", (q, qd, tau), back, naive=naive, batch=batch)
        rows.append(MethodRow(name, method.title, method.document, inverse, forward))
    return rows


def worst_disagreement(rows: Iterable[MethodRow]) -> float:
    """Largest relative error over all formulations and directions."""
    return max((job.error for row in rows for job in (row.inverse, row.forward) if job is not None), default=0.0)
