# SPDX-License-Identifier: Apache-2.0
"""Squares of sums among the terms of a sum: a² − 2ab + b² + c is (a − b)² + c, as authors write it.

A term that is the square of a root (l², l²c²) may belong to a square; two roots belong together if the term with their
product has twice their number. Roots that all belong to each other, with signs that fit, make one square. What a
square does not use of a term stays: 2a² + 2ab + b² is a² + (a + b)².
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from armwright.graph.products import SAME_NUMBER_DIFFERENCE, Factor, Product

Root = tuple[Factor, ...]


class Square(NamedTuple):
    """number · (Σ sign · root)²; `first` is the first of its terms, with that number."""

    first: Product
    roots: tuple[tuple[float, Root], ...]


def whole_squares(products: Sequence[Product]) -> tuple[list[Square], list[Product]]:
    """Return squares of sums, and what is left of the products, in their order."""
    left = {product.factors: product.number for product in products}
    roots = {root: factors for factors in left if (root := _root(factors)) and left[factors] > 0.0}
    squares = []
    for a, b in itertools.combinations(roots, 2):
        number = abs(left.get(_product(a, b), 0.0)) / 2.0
        if number == 0.0:
            continue
        signs = _belonging(a, number, roots, left)
        used_up = any(left[roots[root]] <= number * (1.0 + SAME_NUMBER_DIFFERENCE) for root in signs)
        if b not in signs or not used_up:  # a² + ab + b² is no shorter as (a² + (a + b)² + b²)/2
            continue
        for root in signs:
            _take(left, roots[root], number)
        for one, other in itertools.combinations(signs, 2):
            del left[_product(one, other)]
        squares.append(Square(Product(number, roots[a]), tuple((sign, root) for root, sign in signs.items())))
    return squares, [Product(left[product.factors], product.factors) for product in products if product.factors in left]


def _belonging(first: Root, number: float, roots: dict[Root, Root], left: dict[Root, float]) -> dict[Root, float]:
    """Return roots with their signs, all of whose products with each other are ±2·number, with `first` as +."""
    signs: dict[Root, float] = {}
    for root in (first, *(root for root in roots if root != first)):
        if left.get(roots[root], 0.0) < number * (1.0 - SAME_NUMBER_DIFFERENCE):
            continue
        crossed = {left.get(_product(other, root), 0.0) / (2.0 * number * sign) for other, sign in signs.items()}
        sign = 1.0 if min(crossed, default=1.0) > 0.0 else -1.0
        if all(abs(x - sign) <= SAME_NUMBER_DIFFERENCE for x in crossed):
            signs[root] = sign
    return signs if first in signs else {}


def _take(left: dict[Root, float], factors: Root, number: float) -> None:
    rest = left.pop(factors) - number
    if abs(rest) > SAME_NUMBER_DIFFERENCE * number:
        left[factors] = rest


def _root(factors: Root) -> Root | None:
    """Return the product whose square this is, None if it is none."""
    counts = Counter(factors)
    if not factors or any(count % 2 for count in counts.values()):
        return None
    return tuple(sorted(factor for factor, count in counts.items() for _ in range(count // 2)))


def _product(a: Root, b: Root) -> Root:
    return tuple(sorted((*a, *b)))
