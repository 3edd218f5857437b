# SPDX-License-Identifier: Apache-2.0
"""Arms that differ in their numbers, not in their shape: one compiled loop for a Monte Carlo over masses and friction.

Entries of the tree that are equal in all robots stay constants and fold; those that differ become inputs of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.robot.tree import Tree, link_names, trees_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Traced

_VARIABLE = ("m", "h", "J", "armature", "viscous", "coulomb", "p0", "gravity", "T_tip_tool")
_FIXED = ("parent", "revolute", "joint", "tip", "n")
_COMMON = ("R0", "ratio", "offset", "dead_zone", "T_base_root")


@dataclass(frozen=True, eq=False)
class Lanes:
    """The common tree, where its varying entries sit (field, flat index), and their values (B, k)."""

    tree: Tree
    places: tuple[tuple[str, int], ...]
    values: Any

    def fill(self, parameters: Traced | None) -> Tree:
        """Return the tree with its varying entries replaced by `parameters` (k,), symbols or floats; None for none."""
        if not self.places:
            return self.tree
        assert parameters is not None
        filled: dict[str, Any] = {}
        kind = np.float64 if np.asarray(parameters).dtype == np.float64 else object
        for value, (name, index) in zip(parameters, self.places, strict=True):
            if name not in filled:
                filled[name] = np.array(getattr(self.tree, name), dtype=kind)
            filled[name].ravel()[index] = value
        return replace(self.tree, **filled)

    def common(self) -> tuple[Any, ...]:
        """Return all that is equal in the lanes, hashable: batches that agree in it share one traced loop."""
        content: list[Any] = []
        for part in fields(self.tree):
            if part.name == "frames":
                content.append(tuple((carrier, pose.tobytes()) for carrier, pose in self.tree.frames))
                continue
            if part.name == "parts":  # a law may name links and frames; all else is in the other fields
                content.append(link_names(self.tree))
                continue
            values = np.array(getattr(self.tree, part.name))
            for name, index in self.places:
                if name == part.name:
                    values.ravel()[index] = 0.0
            content.append(values.tobytes())
        return (self.tree.n, self.places, *content)


def lanes_of(robots: Sequence[Robot]) -> Lanes:
    """Compare robots of one shape; raise `InputError` if their structure or joint frames differ."""
    trees = trees_of(robots)
    first = trees[0]
    for k, tree in enumerate(trees[1:], start=1):
        same = all(getattr(tree, name) == getattr(first, name) for name in _FIXED)
        if not same:
            raise InputError(f"batch: robot {k} differs from robot 0 in structure; only numbers may differ")
        for name in _COMMON:
            here, there = getattr(tree, name), getattr(first, name)
            if here is not there and not np.allclose(here, there, rtol=0.0, atol=1e-12):
                raise InputError(
                    f"batch: robot {k} differs from robot 0 in {name}; only {', '.join(_VARIABLE)} may differ"
                )
        placed = [(carrier, np.round(pose, 12).tolist()) for carrier, pose in tree.frames]
        if placed != [(carrier, np.round(pose, 12).tolist()) for carrier, pose in first.frames]:
            raise InputError(f"batch: robot {k} differs from robot 0 in its named frames")
    places, columns = [], []
    for name in _VARIABLE:
        stacked = np.array([np.asarray(getattr(tree, name), dtype=np.float64).ravel() for tree in trees])
        for index in np.flatnonzero((stacked != stacked[0]).any(axis=0)):
            places.append((name, int(index)))
            columns.append(stacked[:, index])
    common = first if all(tree is first for tree in trees) else replace(first)  # a mixture is the tree of no robot
    return Lanes(common, tuple(places), np.array(columns).T if columns else np.zeros((len(trees), 0)))
