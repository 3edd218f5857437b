# SPDX-License-Identifier: Apache-2.0
"""Products of a number and factors, as the terms of collected equations: their order, and what several share."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

SAME_NUMBER_DIFFERENCE = 1e-12  # numbers that differ by rounding only
PARAMETER, OTHER, COORDINATE, WAVE, RATE = range(5)
Factor = tuple[int, tuple[int, ...]]
"""What factors are known and sorted by: their kind, then signal and element, number of the node, or angles."""


class Product(NamedTuple):
    """number · factors; equal factors are repeated, all in the order of printing."""

    number: float
    factors: tuple[Factor, ...]


def taken_out(products: list[Product]) -> tuple[tuple[Factor, ...], list[Product]]:
    """Return the factors that all products have in common, and the products without them."""
    common = Counter(products[0].factors)
    for product in products[1:]:
        common &= Counter(product.factors)
    rest = [Product(p.number, tuple(sorted((Counter(p.factors) - common).elements()))) for p in products]
    return tuple(sorted(common.elements())), rest


def place(product: Product) -> tuple[list[Factor], tuple[Factor, ...]]:
    """What products are sorted by: those without waves first."""
    return [factor for factor in product.factors if factor[0] == WAVE], product.factors


def ratio(a: list[Product], b: list[Product]) -> float | None:
    """Return the whole number, or one over it, by which sum a is a multiple of sum b; None if there is none."""
    if [p.factors for p in a] != [p.factors for p in b]:
        return None
    ratio = a[0].number / b[0].number
    whole = ratio if abs(ratio) >= 1.0 else 1.0 / ratio
    same = abs(whole - round(whole)) <= SAME_NUMBER_DIFFERENCE and all(
        math.isclose(p.number, ratio * r.number, rel_tol=SAME_NUMBER_DIFFERENCE) for p, r in zip(a, b, strict=True)
    )
    return ratio if same else None
