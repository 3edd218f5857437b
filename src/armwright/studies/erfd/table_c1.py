# SPDX-License-Identifier: Apache-2.0
"""Table C1 of 001 as printed: operations of every term of ERFD for RL15, M/A; rows, row totals, the grand total."""

from __future__ import annotations

import re
from typing import NamedTuple


class Row(NamedTuple):
    """One block: the printed terms "M/A", and the total printed for them."""

    block: str
    terms: str
    total: tuple[int, int]

    def sum(self) -> tuple[int, int]:
        """What the terms add up to."""
        pairs = [(int(m), int(a)) for m, a in re.findall(r"(\d+)/(\d+)", self.terms)]
        return sum(m for m, _ in pairs), sum(a for _, a in pairs)


ROWS = (
    Row(
        "geometry",
        "r1 4/2 r2 12/5 r3 12/7 r4 19/9 r5 21/12 r6 21/12 pe 9/6 l1 0/2 l2 2/3 l3 0/3 p1 2/0 p2 3/0 p3 6/2",
        (109, 63),
    ),
    Row("inertias", "6/3 11/6 13/6 36/12 36/12 36/12", (138, 51)),
    Row("b, link 1", "b11 0/2", (0, 2)),
    Row("b, link 2", "b21 3/2 b22 5/4 b212 5/2 b222 2/0", (15, 8)),
    Row("b, link 3", "b31 2/4 b32 4/3 b33 4/3 b312 4/3 b313 2/2 b322 2/3 b323 3/0 b333 2/0", (23, 18)),
    Row(
        "b, link 4",
        "b41 0/2 b42 4/1 b43 3/1 b44 6/3 b412 2/2 b413 2/0 b414 2/0 b422 2/3 b423 3/0 b433 2/0 b424 10/7 b444 6/3",
        (42, 22),
    ),
    Row(
        "b, link 5",
        "b51 0/2 b52 4/5 b53 3/1 b54 6/3 b55 6/3 b512 2/2 b514 2/0 b515 2/0 b522 2/3 b523 3/0 b524 10/7 b525 7/2 "
        "b533 2/0 b544 6/3 b545 9/3 b555 6/3",
        (70, 38),
    ),
    Row(
        "b, link 6",
        "b61 0/2 b62 4/3 b63 3/2 b64 6/3 b65 6/3 b66 6/3 b612 2/2 b613 2/0 b614 2/0 b615 2/0 b616 2/0 b622 2/3 "
        "b623 3/0 b624 10/7 b625 7/2 b626 5/1 b633 2/0 b644 2/1 b645 9/3 b646 18/12 b655 6/3 b656 27/15",
        (126, 65),
    ),
    Row("e, link 1", "6/0 2/0", (8, 0)),
    Row("e, link 2", "9/5 2/0 3/0", (14, 5)),
    Row("e, link 3", "18/13 2/0 3/0 3/0", (26, 13)),
    Row("e, link 4", "26/26 2/0 3/0 3/0 3/0", (37, 26)),
    Row("e, link 5", "41/35 2/0 3/0 3/0 3/0 3/0", (55, 35)),
    Row("e, link 6", "59/50 2/0 3/0 3/0 3/0 3/0 3/0", (76, 50)),
    Row("d, link 2", "d2 6/3 d22 6/3 d212 5/3 d222 4/2", (21, 11)),
    Row("d, link 3", "d3 11/9 d32 6/3 d312 5/3 d322 4/3 d323 3/0", (26, 18)),
    Row("d, link 4", "d4 20/17 d42 6/3 d44 9/6 d412 2/2 d414 9/3 d422 4/2 d423 3/0 d424 19/16 d444 6/3", (78, 52)),
    Row(
        "d, link 5",
        "d5 32/30 d52 6/3 d54 9/6 d55 9/6 d512 2/2 d514 7/3 d515 8/3 d522 4/2 d523 3/0 d524 21/18 d525 19/16 d544 6/3 "
        "d545 21/18 d555 6/3",
        (153, 113),
    ),
    Row(
        "d, link 6",
        "d6 56/53 d62 6/3 d64 9/6 d65 9/6 d66 9/6 d612 2/2 d614 7/3 d615 7/3 d616 6/3 d622 4/2 d623 3/0 d624 21/18 "
        "d625 19/16 d626 13/7 d644 6/3 d645 21/18 d646 15/9 d655 6/3 d656 27/15",
        (246, 176),
    ),
    Row("n'_c", "12/12 6/9 6/9 12/24 12/18 4/6", (52, 78)),
    Row("n'_a1", "34/34 28/43 22/34 16/25 10/16 2/3", (112, 155)),
    Row("n'_a2", "22/33 16/24 4/8", (42, 65)),
    Row("n'_a3", "8/7 18/13 8/9", (34, 29)),
    Row("u", "6/9 20/22 20/20 27/15 27/15 27/15", (127, 97)),
    Row("solve", "106/91", (106, 91)),
)
TOTAL = (1735, 1275)
FREE = (247, 114)
"""What the text then takes out (r_i, p_e, I_i), leaving "1480M 1152A"."""


def wrong_rows() -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
    """Blocks whose terms do not add up to their total: printed, right."""
    return {row.block: (row.total, row.sum()) for row in ROWS if row.sum() != row.total}


def total_of_rows() -> tuple[int, int]:
    """What the printed row totals add up to."""
    return sum(row.total[0] for row in ROWS), sum(row.total[1] for row in ROWS)


def gauss(n: int) -> tuple[int, int]:
    """Operations of Gaussian elimination with one right-hand side (001 §3.7)."""
    return (n**3 + 3 * n**2 - n) // 3, (2 * n**3 + 3 * n**2 - 5 * n) // 6
