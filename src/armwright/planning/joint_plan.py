"""What sampling planners take and return: a checked problem in configuration space and a `JointPlan`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from armwright.errors import InputError
from armwright.planning.grid import frozen_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

Colliding = Callable[[Any], Any]
EdgeFree = Callable[[Any, Any], bool]
JointStatus = Literal["found", "gave up", "start blocked", "goal blocked"]


@dataclass(frozen=True, slots=True, eq=False)
class JointPlan:
    """The answer of a planner in configuration space.

    Attributes:
        status: "found", "start blocked", "goal blocked", or "gave up" (sampling cannot prove that no path exists).
        path: (N, n) configurations joined by straight lines; (0, n) if there is none.
        cost: length in joint space (Euclidean); inf without a path.
        expanded: nodes of the trees. checks: configurations tested.
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


class JointPlanner(Protocol):
    """Anything that plans in configuration space."""

    def __call__(self, colliding: Colliding, start: ArrayLike, goal: ArrayLike, lower: ArrayLike,
                 upper: ArrayLike) -> JointPlan:  # fmt: skip
        """Plan from start to goal."""


class Space:
    """The collision function with its inputs checked, its calls counted, and straight motions tested in batches."""

    def __init__(self, colliding: Colliding, start: ArrayLike, goal: ArrayLike, lower: ArrayLike, upper: ArrayLike,
                 resolution: float, edge_free: EdgeFree | None) -> None:  # fmt: skip
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
        self._colliding, self.edge_free = colliding, edge_free

    @property
    def _bounds(self) -> str:
        return f"{self.lower.tolist()} … {self.upper.tolist()}"

    def colliding(self, Q: Array) -> NDArray[np.bool_]:
        """Test configurations (B, n)."""
        hit = np.asarray(self._colliding(Q))
        if hit.shape != Q.shape[:-1] or hit.dtype != np.bool_:
            raise InputError(f"colliding: must return bool of shape {Q.shape[:-1]} for q of shape {Q.shape}, "
                             f"got {hit.dtype} {hit.shape}")  # fmt: skip
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

    def reach(self, a: Array, b: Array) -> float:
        """Return the fraction of the motion a → b that is free from its start on; 1 if all of it is."""
        span = float(np.abs(b - a).max())
        count = max(1, int(np.ceil(span / self.resolution)))
        s = np.arange(1, count + 1) / count
        hit = self.colliding(a + (b - a) * s[:, None])
        return float(np.argmax(hit)) / count if hit.any() else 1.0

    def free(self, a: Array, b: Array) -> bool:
        """Return whether the motion a → b is free, by the user's proof if there is one."""
        if self.reach(a, b) < 1.0:
            return False
        return self.edge_free is None or bool(self.edge_free(a, b))


def length(path: Array) -> float:
    """Return the Euclidean length of a polyline (N, n)."""
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def shortcut(space: Space, path: Array, rounds: int, rng: np.random.Generator) -> Array:
    """Replace stretches between random points of a polyline by straight motions where those are free and shorter."""
    for _ in range(rounds):
        if len(path) < 3:
            break
        steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
        at = np.concatenate([[0.0], np.cumsum(steps)])
        u, v = np.sort(rng.uniform(0.0, at[-1], 2))
        i, j = (int(np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(steps) - 1)) for x in (u, v))
        if i == j:
            continue
        a = path[i] + (path[i + 1] - path[i]) * (u - at[i]) / steps[i]
        b = path[j] + (path[j + 1] - path[j]) * (v - at[j]) / steps[j]
        if np.linalg.norm(b - a) < (v - u) * (1.0 - 1e-9) and space.free(a, b):
            path = np.concatenate([path[: i + 1], [a, b], path[j + 1 :]])
            keep = np.concatenate([[True], np.abs(np.diff(path, axis=0)).max(axis=1) > 1e-12])
            path = path[keep]
    return path
