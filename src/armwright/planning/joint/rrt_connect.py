# SPDX-License-Identifier: Apache-2.0
"""RRT-Connect in configuration space: two trees that grow towards each other, any collision function, reproducible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.planning.joint.joint_plan import Colliding, JointPlan, JointSpace, Proof, length, shortcut

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


class _Tree:
    """Configurations with parents, in arrays that grow."""

    def __init__(self, root: Array) -> None:
        self.q = np.empty((256, root.size))
        self.parent = np.empty(256, dtype=np.int64)
        self.q[0], self.parent[0], self.size = root, -1, 1

    def add(self, q: Array, parent: int) -> int:
        if self.size == len(self.q):
            self.q = np.concatenate([self.q, np.empty_like(self.q)])
            self.parent = np.concatenate([self.parent, np.empty_like(self.parent)])
        self.q[self.size], self.parent[self.size] = q, parent
        self.size += 1
        return self.size - 1

    def nearest(self, q: Array) -> int:
        gap = self.q[: self.size] - q
        return int(np.argmin(np.einsum("ij,ij->i", gap, gap)))

    def branch(self, i: int) -> Array:
        rows = []
        while i >= 0:
            rows.append(self.q[i])
            i = int(self.parent[i])
        return np.array(rows)


def _extend(space: JointSpace, tree: _Tree, near: int, target: Array, step: float, whole: bool) -> tuple[int, bool]:
    """Grow from node `near` towards `target`: one step, or the whole way as far as it is free.

    Returns the last node, and whether the target was reached.
    """
    start = tree.q[near].copy()
    distance = float(np.linalg.norm(target - start))
    if distance == 0.0:
        return near, True
    if not whole and distance > step:
        target = start + (target - start) * (step / distance)
        distance = step
    fraction = float(space.reach(start[None], target[None])[0])
    steps = int(np.floor(fraction * distance / step + 1e-9))
    marks = [min(1.0, k * step / distance) for k in range(1, steps + 1)]
    if fraction == 1.0 and (not marks or marks[-1] < 1.0 - 1e-12):
        marks.append(1.0)
    node = near
    for mark in marks:
        node = tree.add(target if mark >= 1.0 - 1e-12 else start + (target - start) * mark, node)
    return node, fraction == 1.0


@names_culprit
def rrt_connect(
    colliding: Colliding,
    start: ArrayLike,
    goal: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    step: float = 0.3,
    resolution: float = 0.02,
    seed: int = 0,
    iterations: int = 5000,
    shortcuts: int = 150,
    proof: Proof | None = None,
) -> JointPlan:
    """Plan a collision-free joint path.

    Args:
        colliding: maps configurations (B, n) to bool (B,); `WholeArm` is one.
        start: (n,), inside the bounds.
        goal: (n,), inside the bounds.
        lower: bounds of the search (n,), finite.
        upper: (n,).
        step: longest edge of the trees, Euclidean [rad].
        resolution: largest joint change between two tests along a motion [rad].
        seed: seed of the random numbers; same seed, same path.
        iterations: samples before it gives up.
        shortcuts: attempts to shorten the path afterwards.
        proof: test of straight motions in place of sampling, e.g. `WholeArm.free_until`, which proves them free between
            all configurations.

    >>> plan = rrt_connect(arm, q, q + 0.5, lower=np.full(6, -3.0), upper=np.full(6, 3.0), proof=arm.free_until)
    """
    if not (np.isfinite(step) and step > 0.0) or iterations < 1 or shortcuts < 0:
        given = f"{step!r}, {iterations!r}, {shortcuts!r}"
        raise InputError(f"rrt_connect: need step > 0, iterations ≥ 1, shortcuts ≥ 0, got {given}")
    space = JointSpace(colliding, start, goal, lower, upper, resolution, proof)
    name = "rrt-connect"
    no = space.refused(name)
    if no is not None:
        return no
    rng = np.random.default_rng(seed)
    trees, swapped = [_Tree(space.start), _Tree(space.goal)], False
    target = space.goal
    for _ in range(iterations):
        grow, other = trees
        node, _ = _extend(space, grow, grow.nearest(target), target, step, False)
        q_new = grow.q[node].copy()
        last, met = _extend(space, other, other.nearest(q_new), q_new, step, True)
        if met:
            first, second = grow.branch(node)[::-1], other.branch(last)[1:]
            path = np.concatenate([first, second])
            path = path[::-1] if swapped else path
            raw = length(path)
            path = shortcut(space, path, shortcuts, rng)
            nodes = grow.size + other.size
            text = f"found: {len(path)} configurations, length {length(path):.4g} (before shortcuts {raw:.4g})"
            return JointPlan("found", path, length(path), nodes, space.checks, name, text)
        trees, swapped = [other, grow], not swapped
        target = rng.uniform(space.lower, space.upper)
    nodes = trees[0].size + trees[1].size
    text = f"gave up after {iterations} samples and {nodes} nodes; this does not prove that there is no path"
    return JointPlan("gave up", np.zeros((0, space.n)), float("inf"), nodes, space.checks, name, text)


def connected(
    colliding: Colliding,
    start: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    step: float = 0.3,
    resolution: float = 0.02,
    seed: int = 0,
    iterations: int = 300,
    proof: Proof | None = None,
) -> Array:
    """Return configurations (m, n) that free motions join to `start`: how far the arm gets from there.

    Arguments as in `rrt_connect`. A region that looks closed may have an exit that was not found.
    """
    space = JointSpace(colliding, start, start, lower, upper, resolution, proof)
    rng, tree = np.random.default_rng(seed), _Tree(space.start)
    for _ in range(iterations):
        target = rng.uniform(space.lower, space.upper)
        _extend(space, tree, tree.nearest(target), target, step, False)
    return tree.q[: tree.size].copy()


@dataclass(frozen=True, slots=True)
class RRTConnect:
    """`rrt_connect` with its options fixed: ``RRTConnect(seed=3)(colliding, start, goal, lower, upper)``."""

    space: ClassVar[str] = "joint"
    step: float = 0.3
    resolution: float = 0.02
    seed: int = 0
    iterations: int = 5000
    shortcuts: int = 150

    @property
    def name(self) -> str:
        """For tables."""
        return "rrt-connect"

    def __call__(
        self, colliding: Colliding, start: ArrayLike, goal: ArrayLike, lower: ArrayLike, upper: ArrayLike
    ) -> JointPlan:
        """Plan from start to goal; a `WholeArm`'s motions are proved free, not only sampled."""
        proof = getattr(colliding, "free_until", None)
        return rrt_connect(
            colliding,
            start,
            goal,
            lower,
            upper,
            step=self.step,
            resolution=self.resolution,
            seed=self.seed,
            iterations=self.iterations,
            shortcuts=self.shortcuts,
            proof=proof,
        )
