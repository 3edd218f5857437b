# SPDX-License-Identifier: Apache-2.0
"""Planar arms of the textbooks: links in the x-y plane, gravity along −y, every parameter a symbol unless given."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.errors import InputError
from armwright.robot.symbolic import SymbolicRobot, symbolic_chain
from armwright.robot.symbols import Entries, Entry, entries, symbols

# z of a sliding joint's frame lies along x of the link before it
ALONG_X = np.array([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


def planar(
    kinds: str = "RR",
    *,
    lengths: Entries | None = None,
    masses: Entries | None = None,
    centres: Entries | None = None,
    inertias: Entries | None = None,
    viscous: Entries | None = None,
    gravity: Entry = "g",
    name: str | None = None,
) -> SymbolicRobot:
    """Build a planar arm: "RR" is the textbook's two-link arm, "PR" a pendulum on a cart, "RP" an arm that extends.

    A revolute joint turns its link about z, a prismatic one slides it along the x axis of the link before (of the base,
    for the first). From its joint, link i reaches `lengths[i]` along its own x axis, and its centre of mass lies
    `centres[i]` along it; angles count from the x axis.

    Args:
        kinds: a letter a joint, R or P.
        lengths: (n,) [m]; symbols l1, l2, … if omitted (0 where the joint slides, whose coordinate is the length).
        masses: (n,) [kg]; m1, m2, … if omitted.
        centres: (n,) [m]; lc1, lc2, … if omitted (0 where the joint slides).
        inertias: (n,) about z at the centres of mass [kg m²]; I1, I2, … if omitted (0 for links that never turn).
        viscous: (n,) friction of the joints; none if omitted.
        gravity: along −y [m/s²]; the symbol g by default, 0 for an arm in a horizontal plane.
        name: of the arm; "planar_" and the letters, in lower case, if omitted.
    """
    if not isinstance(kinds, str) or not kinds or set(kinds) - {"R", "P"}:
        raise InputError(f"planar: kinds must be letters R and P, one a joint, as in 'RR'; got {kinds!r}")
    n = len(kinds)
    turns = [kind == "R" for kind in kinds]

    def of(values: Any, letter: str, present: list[bool]) -> Any:
        made = [symbols(f"{letter}{i + 1}") if present[i] else 0.0 for i in range(n)]
        return entries(made if values is None else values, (n,), letter)

    reach = of(lengths, "l", turns)
    com = of(centres, "lc", turns)
    inertia = of(inertias, "I", ["R" in kinds[: i + 1] for i in range(n)])
    poses = []
    for i in range(n):
        before = np.eye(4).astype(object)
        if i > 0:
            before[0, 3] = reach[i - 1]
        poses.append((before, np.eye(4)) if turns[i] else (before @ ALONG_X, ALONG_X.T))
    zero = [0.0] * n
    (pull,) = entries([gravity], (1,), "gravity")
    return symbolic_chain(
        poses,
        kinds=kinds,
        masses=of(masses, "m", [True] * n),
        coms=np.stack([com, zero, zero], axis=1),
        inertias=np.stack([zero, zero, inertia], axis=1),
        viscous=viscous,
        gravity=[0.0, -pull, 0.0],
        tool=[reach[-1], 0.0, 0.0],
        name=f"planar_{kinds.lower()}" if name is None else name,
    )
