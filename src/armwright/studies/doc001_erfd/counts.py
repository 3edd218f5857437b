# SPDX-License-Identifier: Apache-2.0
"""Tables 1, 2 and C1 of 001: what ERFD costs, compared with our own counts.

`TableC1Row` holds Table C1 as printed: operations of every term of ERFD for RL15, M/A; rows, row totals, grand total.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics import inverse_dynamics
from armwright.dynamics.mrnea import mrnea_forward
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Joint
from armwright.robot.tree import tree_of
from armwright.studies.doc001_erfd.setting import QD, QDD, Q, arm
from armwright.studies.operation_counts import TABLE_1, TABLE_2, bare, by_hand, growth, named, pair, table_1, table_2
from armwright.studies.study import Claim, Item, Numbers, Picture, Shown, Supposed, Undetermined
from armwright.studies.study_pictures import curves
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TableC1Row(NamedTuple):
    """One block: the printed terms "M/A", and the total printed for them."""

    block: str
    terms: str
    total: tuple[int, int]

    def sum(self) -> tuple[int, int]:
        """Return what the terms add up to."""
        pairs = [(int(m), int(a)) for m, a in re.findall(r"(\d+)/(\d+)", self.terms)]
        return sum(m for m, _ in pairs), sum(a for _, a in pairs)


ROWS = (
    TableC1Row(
        "geometry",
        "r1 4/2 r2 12/5 r3 12/7 r4 19/9 r5 21/12 r6 21/12 pe 9/6 l1 0/2 l2 2/3 l3 0/3 p1 2/0 p2 3/0 p3 6/2",
        (109, 63),
    ),
    TableC1Row("inertias", "6/3 11/6 13/6 36/12 36/12 36/12", (138, 51)),
    TableC1Row("b, link 1", "b11 0/2", (0, 2)),
    TableC1Row("b, link 2", "b21 3/2 b22 5/4 b212 5/2 b222 2/0", (15, 8)),
    TableC1Row("b, link 3", "b31 2/4 b32 4/3 b33 4/3 b312 4/3 b313 2/2 b322 2/3 b323 3/0 b333 2/0", (23, 18)),
    TableC1Row(
        "b, link 4",
        "b41 0/2 b42 4/1 b43 3/1 b44 6/3 b412 2/2 b413 2/0 b414 2/0 b422 2/3 b423 3/0 b433 2/0 b424 10/7 b444 6/3",
        (42, 22),
    ),
    TableC1Row(
        "b, link 5",
        "b51 0/2 b52 4/5 b53 3/1 b54 6/3 b55 6/3 b512 2/2 b514 2/0 b515 2/0 b522 2/3 b523 3/0 b524 10/7 b525 7/2 "
        "b533 2/0 b544 6/3 b545 9/3 b555 6/3",
        (70, 38),
    ),
    TableC1Row(
        "b, link 6",
        "b61 0/2 b62 4/3 b63 3/2 b64 6/3 b65 6/3 b66 6/3 b612 2/2 b613 2/0 b614 2/0 b615 2/0 b616 2/0 b622 2/3 "
        "b623 3/0 b624 10/7 b625 7/2 b626 5/1 b633 2/0 b644 2/1 b645 9/3 b646 18/12 b655 6/3 b656 27/15",
        (126, 65),
    ),
    TableC1Row("e, link 1", "6/0 2/0", (8, 0)),
    TableC1Row("e, link 2", "9/5 2/0 3/0", (14, 5)),
    TableC1Row("e, link 3", "18/13 2/0 3/0 3/0", (26, 13)),
    TableC1Row("e, link 4", "26/26 2/0 3/0 3/0 3/0", (37, 26)),
    TableC1Row("e, link 5", "41/35 2/0 3/0 3/0 3/0 3/0", (55, 35)),
    TableC1Row("e, link 6", "59/50 2/0 3/0 3/0 3/0 3/0 3/0", (76, 50)),
    TableC1Row("d, link 2", "d2 6/3 d22 6/3 d212 5/3 d222 4/2", (21, 11)),
    TableC1Row("d, link 3", "d3 11/9 d32 6/3 d312 5/3 d322 4/3 d323 3/0", (26, 18)),
    TableC1Row(
        "d, link 4", "d4 20/17 d42 6/3 d44 9/6 d412 2/2 d414 9/3 d422 4/2 d423 3/0 d424 19/16 d444 6/3", (78, 52)
    ),
    TableC1Row(
        "d, link 5",
        "d5 32/30 d52 6/3 d54 9/6 d55 9/6 d512 2/2 d514 7/3 d515 8/3 d522 4/2 d523 3/0 d524 21/18 d525 19/16 d544 6/3 "
        "d545 21/18 d555 6/3",
        (153, 113),
    ),
    TableC1Row(
        "d, link 6",
        "d6 56/53 d62 6/3 d64 9/6 d65 9/6 d66 9/6 d612 2/2 d614 7/3 d615 7/3 d616 6/3 d622 4/2 d623 3/0 d624 21/18 "
        "d625 19/16 d626 13/7 d644 6/3 d645 21/18 d646 15/9 d655 6/3 d656 27/15",
        (246, 176),
    ),
    TableC1Row("n'_c", "12/12 6/9 6/9 12/24 12/18 4/6", (52, 78)),
    TableC1Row("n'_a1", "34/34 28/43 22/34 16/25 10/16 2/3", (112, 155)),
    TableC1Row("n'_a2", "22/33 16/24 4/8", (42, 65)),
    TableC1Row("n'_a3", "8/7 18/13 8/9", (34, 29)),
    TableC1Row("u", "6/9 20/22 20/20 27/15 27/15 27/15", (127, 97)),
    TableC1Row("solve", "106/91", (106, 91)),
)
TOTAL = (1735, 1275)
TAKEN_OUT = (247, 114)
"""What the text then takes out (r_i, p_e, I_i), leaving "1480M 1152A"."""


def wrong_rows() -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
    """Return the blocks whose terms do not add up to their total: printed, right."""
    return {row.block: (row.total, row.sum()) for row in ROWS if row.sum() != row.total}


def total_of_rows() -> tuple[int, int]:
    """Return what the printed row totals add up to."""
    return sum(row.total[0] for row in ROWS), sum(row.total[1] for row in ROWS)


def gauss(n: int) -> tuple[int, int]:
    """Return the operations of Gaussian elimination with one right-hand side (001, Section 4)."""
    return (n**3 + 3 * n**2 - n) // 3, (2 * n**3 + 3 * n**2 - 5 * n) // 6


@cache
def ours_1() -> list[dict[str, Any]]:
    """Return Table 1 with our counts for the first 3…6 joints of RL15."""
    return table_1(load("rl15"))


@cache
def ours_2() -> dict[str, dict[str, Any]]:
    """Return Table 2 with our counts for RL15, by method."""
    return {str(row["method"]): row for row in table_2(load("rl15"))}


def generic_arm(n: int) -> Robot:
    """Return a chain of n revolute joints none of whose numbers is 0 or 1."""
    rng = np.random.default_rng(n)
    bodies = []
    for i in range(n):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = turn * np.sign(np.linalg.det(turn)), rng.uniform(0.1, 0.5, 3)
        A = rng.normal(size=(3, 3))
        bodies.append(Body(f"b{i}", i - 1, i, T, mass=rng.uniform(1, 2), com=rng.uniform(0.1, 0.2, 3), inertia=A @ A.T))
    return bare(Robot("generic", tuple(Joint(f"j{i}") for i in range(n)), tuple(bodies), Actuators.none(n), tip=n - 1))


@cache
def generic_counts(n: int, *, expanded: bool) -> tuple[int, int]:
    """Return (M, A) by hand of forward dynamics by mRNEA of a chain without special numbers."""
    tree = tree_of(generic_arm(n))
    shapes = dict.fromkeys(("q", "qd", "tau"), (n,))
    return pair(by_hand(named(lambda **x: mrnea_forward(tree, **x, expanded=expanded), shapes), shapes))


@cache
def order(expanded: bool) -> str:
    """Return the order of the number of multiplications: the degree in n through six counts, n = 4…9."""
    M = np.array([generic_counts(n, expanded=expanded)[0] for n in range(4, 10)])
    degree = 0
    while np.ptp(M):
        M, degree = np.diff(M), degree + 1
    return "O(n)" if degree == 1 else f"O(n^{degree})"


def order_of_the_print() -> str:
    """Return whether Table 1 itself is linear: equal steps from n to n + 1."""
    M = np.array([m for m, _ in TABLE_1.values()])
    return "O(n)" if np.ptp(np.diff(M)) == 0 else f"grows as n^{growth(ours_1()):.2f}"


def cheapest() -> bool:
    """Return whether ERFD needs the fewest operations of all methods that we can count on RL15 by the same rule."""
    total = {name: sum(row["by_hand"]) for name, row in ours_2().items() if row["by_hand"] is not None}
    return min(total, key=lambda name: total[name]) == "ERFD (mRNEA)"


def inverse_dynamics_calls(*, again_for_u: bool) -> Shown:
    """Count inverse dynamics in one cycle of a simulation by Walker and Orin's method 1 (001, Section 3), on RL15.

    u′ takes one, H one per column. u, the input of the forward dynamics, takes another one, or is H q̈ + u′ (34).
    """
    robot, calls = arm(), 0

    def inverse(qd: Array, qdd: Array, *, gravity: bool) -> Array:
        nonlocal calls
        calls += 1
        return np.asarray(inverse_dynamics(robot, Q, qd, qdd, gravity=gravity, friction=False, rotors=False))

    bias, still = inverse(QD, np.zeros(6), gravity=True), np.zeros(6)
    H = np.stack([inverse(still, column, gravity=False) for column in np.eye(6)], axis=1)
    u = inverse(QD, QDD, gravity=True) if again_for_u else H @ QDD + bias
    back = np.linalg.solve(H, u - bias)
    return Shown(calls, f"q̈ comes back to {np.abs(back - QDD).max():.0e} rad/s²")


def _slash(counts: tuple[int, int] | None) -> str:
    return "–" if counts is None else f"{counts[0]}/{counts[1]}"


def _table_1_notes() -> list[str]:
    rows = [
        f"n = {r['n']}: printed {_slash(r['printed'])}; ours, the printed sums {_slash(r['as_published'])}, lean "
        f"{_slash(r['lean'])}, compiled {_slash(r['compiled'])}"
        for r in ours_1()
    ]
    generic = [f"n = {n}: {_slash(generic_counts(n, expanded=True))}" for n in range(4, 10)]
    cubic = [np.diff([generic_counts(n, expanded=way)[0] for n in range(4, 10)], 3)[0] / 6 for way in (True, False)]
    return [
        *rows,
        "chains without special numbers, the printed sums by hand: " + ", ".join(generic),
        f"leading term {cubic[0]:.3g} n³; with the velocities' part by one recursion, not by all products, "
        f"{cubic[1]:.2g} n³, which is the solution's",
    ]


def _table_2_notes() -> list[str]:
    return [
        f"{name}: printed {_slash(row['printed'])} ({row['meaning']}); ours by hand {_slash(row['by_hand'])}, "
        f"compiled {_slash(row['compiled'])}"
        for name, row in ours_2().items()
    ]


def _growth_picture() -> Figure:
    n = list(TABLE_1)
    return curves(
        [
            ("printed", n, [m for m, _ in TABLE_1.values()]),
            ("linear from n = 3", n, [TABLE_1[3][0] * k / 3 for k in n]),
            ("ours, the printed sums", n, [r["as_published"][0] for r in ours_1()]),
            ("ours, compiled", n, [r["compiled"][0] for r in ours_1()]),
        ],
        "joints n",
        "multiplications",
        markers=True,
    )


def _law_item(k: int, letter: str) -> Item:
    row = TABLE_2[k]
    return Item(
        f"T2{letter}",
        f"operations of {row.method} at n = 6",
        Numbers(f"{row.printed[0]} {row.printed[1]}", "M, A"),
        lambda: np.array(row.at(12)),
        lambda: np.array(row.at(6)),
        reason="the printed pair is the method's linear law at n = 12, not 6",
        faults=("Table 2: counts at n = 12 beside counts at n = 6",),
        rule="the law is that of the wider literature; its original was not consulted",
    )


ITEMS: tuple[Item, ...] = (
    Item(
        "T1a",
        "order of the algorithm",
        Claim("O(n)", "O(n)"),
        order_of_the_print,
        lambda: order(True),
        reason="all products of two joint speeds are formed link by link; the print's own numbers grow as n^2.5",
        faults=("O(n) said of an O(n³) algorithm",),
        rule="degree of the polynomial through the counted multiplications of chains without special numbers, n = 4…9",
        notes=_table_1_notes,
        pictures=(Picture("Table 1: multiplications over the number of joints.", _growth_picture),),
    ),
    *(
        Item(
            f"T1{letter}",
            f"operations of ERFD, n = {n}",
            Undetermined(f"{m} {a}", "M, A"),
            reason="counted for the first joints of RL15 with r, p_e, I and the transforms for nothing and half of H; "
            "which products were shared is not printed",
        )
        for letter, (n, (m, a)) in zip("bcde", TABLE_1.items(), strict=True)
    ),
    *(_law_item(k, letter) for k, letter in ((3, "a"), (4, "b"), (5, "c"))),
    *(
        Item(
            f"T2{letter}",
            f"operations of {TABLE_2[k].method}",
            Undetermined(f"{TABLE_2[k].printed[0]} {TABLE_2[k].printed[1]}", "M, A"),
            reason="the count of an implementation of 1982 that is not printed",
        )
        for k, letter in ((0, "d"), (1, "e"), (2, "f"))
    ),
    Item(
        "T2g",
        "ERFD needs the fewest operations",
        Claim("dossier: the most efficient of all existing methods"),
        None,
        cheapest,
        reason="counted by one rule on the same arm, composite bodies and articulated bodies in link frames need less "
        "than half; the paper is more careful: “one of the most efficient”",
        faults=("Table 2: counts at n = 12 beside counts at n = 6",),
        rule="complete cost from q, q̇, u to q̈ on RL15, zeros and ones free for every method alike",
        notes=_table_2_notes,
    ),
    Item(
        "3.n",
        "inverse dynamics in a cycle of a simulation by Walker and Orin's method 1, n = 6",
        Claim("“has to solve ID in every interpolation cycle n + 2 times”", 8),
        readings=(
            Supposed(
                "counted as Section 3 lays it out: u′, n columns of H, u",
                lambda: inverse_dynamics_calls(again_for_u=True),
            ),
            Supposed("what it has to: u = H q̈ + u′, as in (34)", lambda: inverse_dynamics_calls(again_for_u=False)),
        ),
        reason="as laid out it is n + 2. It has to be n + 1: with H and u′ at hand u costs n² products in any method, "
        "so that to need no inverse dynamics for u is no advantage of ERFD alone",
    ),
    Item(
        "C1a",
        "terms of Table C1 add up to their row totals",
        Claim("25 totals in the last column"),
        None,
        lambda: not wrong_rows(),
        reason="four rows do not: geometry, b of link 5, d of link 3, u",
        faults=("Table C1: sums",),
        notes=lambda: [f"{b}: printed {_slash(p)}, terms add to {_slash(r)}" for b, (p, r) in wrong_rows().items()],
    ),
    Item(
        "C1b",
        "total of Table C1",
        Numbers(f"{TOTAL[0]} {TOTAL[1]}", "M, A"),
        None,
        lambda: np.array(total_of_rows()),
        reason="the printed rows add to 1736 and 1281",
        faults=("Table C1: sums",),
    ),
    Item(
        "C1c",
        "Gaussian elimination, 6 × 6",
        Numbers("106 91", "M, A"),
        None,
        lambda: np.array(gauss(6)),
        reason="n³/3 + n²/2 − 5n/6 additions are 85",
        faults=("Table C1: additions of the elimination",),
    ),
    Item(
        "C1d",
        "total without r, p_e, I",
        Numbers("1480 1152", "M, A"),
        None,
        lambda: np.array(TOTAL) - np.array(TAKEN_OUT),
        reason="1735 − 247 and 1275 − 114, the numbers of the text, are 1488 and 1161",
        faults=("Table C1: sums",),
    ),
)
