# SPDX-License-Identifier: Apache-2.0
"""How costs grow, in 3.1.3 and 7.3 of 000: the two formulations with the joints, the network with the dimensions.

Operations are counted as the written loops perform them, for chains of the arm's links, two to eight of them. Such
counts are polynomials of n; `degree` says of which degree, by differences.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from armwright.dynamics.lagrange import lagrange_inverse
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators
from armwright.studies.doc000_collision.setting import arm
from armwright.studies.operation_counts import bare, loops_of, pair
from armwright.studies.study import Claim, Item, Numbers, Shown

METHODS_COMPARED = {"Euler–Lagrange": lagrange_inverse, "Newton–Euler": rnea}


def chain(n: int) -> Robot:
    """Return an arm of n links: those of the UR5, and after the sixth the first again."""
    links = bare(arm())
    joints = tuple(replace(links.joints[i % 6], name=f"joint {i + 1}") for i in range(n))
    bodies = tuple(replace(links.bodies[i % 6], name=f"link {i + 1}", parent=i - 1, joint=i) for i in range(n))
    return replace(
        links,
        name=f"{n} links",
        joints=joints,
        bodies=bodies,
        tip=n - 1,
        T_tip_tool=np.eye(4),
        measured=None,
        actuators=Actuators.none(n),
    )


@cache
def operations(method: str) -> tuple[int, ...]:
    """Return multiplications and additions of inverse dynamics with 2 to 8 joints."""
    function = METHODS_COMPARED[method]
    return tuple(sum(pair(loops_of(function, chain(n), "q qd qdd"))) for n in range(2, 9))


def degree(counts: tuple[int, ...]) -> int:
    """Return the degree of the polynomial that runs through counts at n, n + 1 and so on."""
    for k in range(len(counts) - 1):
        if not np.diff(counts, k + 1).any():
            return k
    raise InputError(f"{counts}: no polynomial of degree {len(counts) - 2} or less")


def growth(method: str) -> Shown:
    """Return the degree, with the counts."""
    counts = operations(method)
    return Shown(degree(counts), ", ".join(f"{x:,}" for x in counts) + " operations with 2 to 8 joints")


def neurons(dimensions: int) -> int:
    """Return the cells of a grid with 20 along each axis."""
    return 20**dimensions


def _neuron_notes() -> list[str]:
    cells = neurons(6)
    return [
        f"σ as doubles: {8e-9 * cells:.2f} GB; 199 sweeps over twelve neighbours: {199 * 12 * cells:.1e} additions "
        f"({199 * 4 * neurons(2):,} in the plane)"
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "3.1a",
        "cost of inverse dynamics by Euler–Lagrange, (3.5)–(3.8), power of n",
        Claim("O(n⁴)", 4),
        None,
        lambda: growth("Euler–Lagrange"),
        rule="counted in our source, as its loops are written; the report cites Hollerbach for another one",
    ),
    Item(
        "3.1b",
        "cost of inverse dynamics by Newton–Euler, (3.9)–(3.15), power of n",
        Claim("O(n)", 1),
        None,
        lambda: growth("Newton–Euler"),
        rule="counted in our source, as its loops are written; the report cites Hollerbach",
    ),
)
NEURONS: tuple[Item, ...] = (
    Item(
        "7.3n",
        "neurons of a collision space of six dimensions, 20 along each",
        Numbers("6.4e7"),
        None,
        lambda: neurons(6),
        notes=_neuron_notes,
    ),
)
