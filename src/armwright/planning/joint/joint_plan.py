# SPDX-License-Identifier: Apache-2.0
"""The interface of sampling planners: a checked problem in configuration space, and a `JointPlan` as the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from armwright.arguments import frozen_numbers
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

Colliding = Callable[[Any], Any]
TOGETHER = 15  # shortcuts that are tried at once
SAVED = 1e-9  # share of the whole length that a shortcut must save
JointStatus = Literal["found", "gave up", "start blocked", "goal blocked"]


@dataclass(frozen=True, slots=True, eq=False)
class JointPlan:
    """The answer of a planner in configuration space.

    Attributes:
        status: "found", "start blocked", "goal blocked", or "gave up" (sampling cannot prove that no path exists).
        path: (N, n) configurations joined by straight lines; (0, n) if there is none.
        cost: length in joint space (Euclidean); inf without a path.
        expanded: nodes of the trees. checks: configurations tested, and motions that a proof was asked for.
        planner: its name. message: one sentence for a person.
    """

    status: JointStatus
    path: Array
    cost: float
    expanded: int
    checks: int
    planner: str
    message: str

    @property
    def ok(self) -> bool:
        """Whether there is a path."""
        return self.status == "found"


class Proof(Protocol):
    """Says how far straight motions are free, without gaps between samples: `WholeArm.free_until` is one."""

    def __call__(self, q0: Array, q1: Array, *, whole: bool) -> Array:
        """Return the free share (m,), from their start on, of the motions q0 → q1 (m, n).

        With `whole`, motions that are not free to their end may be given up sooner.
        """


class JointPlanner(Protocol):
    """Anything that plans in configuration space; it declares so by ``space = "joint"``."""

    space: ClassVar[str]

    def __call__(
        self, colliding: Colliding, start: ArrayLike, goal: ArrayLike, lower: ArrayLike, upper: ArrayLike
    ) -> JointPlan:
        """Plan from start to goal."""


class JointSpace:
    """The collision function with its inputs checked, its calls counted, and straight motions tested in batches."""

    def __init__(
        self,
        colliding: Colliding,
        start: ArrayLike,
        goal: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        resolution: float,
        proof: Proof | None,
    ) -> None:
        """Check the problem; `resolution` is the largest joint step between tests of a motion."""
        n = np.size(start)
        self.start, self.goal = (frozen_numbers(x, (n,), w) for x, w in ((start, "start"), (goal, "goal")))
        self.lower, self.upper = (frozen_numbers(x, (n,), w) for x, w in ((lower, "lower"), (upper, "upper")))
        if n == 0 or not (self.lower < self.upper).all():
            raise InputError(f"bounds: need lower < upper for every joint, got {self._bounds}")
        for what, q in (("start", self.start), ("goal", self.goal)):
            if not ((q >= self.lower) & (q <= self.upper)).all():
                raise InputError(f"{what}: {q.tolist()} lies outside the bounds {self._bounds}")
        if not (np.isfinite(resolution) and resolution > 0.0):
            raise InputError(f"resolution: must be finite and > 0, got {resolution!r}")
        self.n, self.resolution, self.checks = n, resolution, 0
        self._colliding, self.proof = colliding, proof

    @property
    def _bounds(self) -> str:
        return f"{self.lower.tolist()} … {self.upper.tolist()}"

    def colliding(self, Q: Array) -> NDArray[np.bool_]:
        """Test configurations (B, n)."""
        hit = np.asarray(self._colliding(Q))
        if hit.shape != Q.shape[:-1] or hit.dtype != np.bool_:
            raise InputError(
                f"colliding: must return bool of shape {Q.shape[:-1]} for q of shape {Q.shape}, "
                f"got {hit.dtype} {hit.shape}"
            )
        self.checks += len(Q)
        return hit

    def refused(self, planner: str) -> JointPlan | None:
        """Return the answer if an end collides."""
        hit = self.colliding(np.stack([self.start, self.goal]))
        if not hit.any():
            return None
        which = "start" if hit[0] else "goal"
        status: JointStatus = "start blocked" if hit[0] else "goal blocked"
        text = f"the {which} configuration collides"
        return JointPlan(status, np.zeros((0, self.n)), float("inf"), 0, self.checks, planner, text)

    def reach(self, a: Array, b: Array, *, whole: bool = False) -> Array:
        """Return how much (m,) of the motions a → b, both (m, n), is free from their start on: proved, or sampled.

        With `whole`, motions that are not free to their end may be given up sooner.
        """
        if self.proof is not None:
            self.checks += len(a)
            return np.asarray(self.proof(a, b, whole=whole))
        counts = np.maximum(1, np.ceil(np.abs(b - a).max(axis=1) / self.resolution).astype(np.int64))
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        motion = np.repeat(np.arange(len(a)), counts)
        k = np.arange(len(motion)) - first[motion]
        hit = self.colliding(a[motion] + (b - a)[motion] * ((k + 1) / counts[motion])[:, None])
        return np.asarray(np.minimum.reduceat(np.where(hit, k, counts[motion]), first) / counts)


def length(path: Array) -> float:
    """Return the Euclidean length of a polyline (N, n)."""
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def shortcut(space: JointSpace, path: Array, tries: int, rng: np.random.Generator) -> Array:
    """Replace stretches between random points of a polyline by straight motions where those are free and shorter.

    Several are tried at once; of those that are free the ones that save most are taken, as far as they do not overlap.
    """
    for begin in range(0, tries, TOGETHER):
        if len(path) < 3:
            break
        steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
        at = np.concatenate([[0.0], np.cumsum(steps)])
        cuts = np.sort(rng.uniform(0.0, at[-1], (min(TOGETHER, tries - begin), 2)), axis=1)
        corner = np.clip(np.searchsorted(at, cuts, side="right") - 1, 0, len(steps) - 1)
        ends = path[corner] + (path[corner + 1] - path[corner]) * ((cuts - at[corner]) / steps[corner])[..., None]
        saved = cuts[:, 1] - cuts[:, 0] - np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        order = np.argsort(-saved)
        order = order[(saved > SAVED * at[-1])[order]]
        if not len(order):
            continue
        order = order[space.reach(ends[order, 0], ends[order, 1], whole=True) >= 1.0]
        chosen: list[int] = []
        for k in order.tolist():
            if all(cuts[k, 1] <= cuts[c, 0] or cuts[k, 0] >= cuts[c, 1] for c in chosen):
                chosen.append(k)
        for k in sorted(chosen, key=lambda k: -cuts[k, 0]):  # from the end, so that earlier corners keep their numbers
            path = np.concatenate([path[: corner[k, 0] + 1], ends[k], path[corner[k, 1] + 1 :]])
        keep = np.concatenate([[True], np.abs(np.diff(path, axis=0)).max(axis=1) > 1e-12])
        path = path[keep]
    return path
