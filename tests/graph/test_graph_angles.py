# SPDX-License-Identifier: Apache-2.0
"""Merging angles changes no value and finds what a person would write."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from armwright.graph.emit import source
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.simplify import merge_angles
from armwright.graph.traced_program import trace
from support.emit import SAMPLES, interpret, programs, split

Q = np.random.default_rng(4).uniform(-3.0, 3.0, (20, 3))


@given(programs())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_random_programs_keep_their_values(program):
    for actual, value in zip(
        interpret(merge_angles(program), split(SAMPLES)), interpret(program, split(SAMPLES)), strict=True
    ):
        np.testing.assert_allclose(actual, value, rtol=1e-10, atol=1e-10)


def turned(q, v, signs=(1.0, 1.0, 1.0)):
    """Turn a plane vector by one joint after the other, as a recursion does."""
    x, y = v
    for k, sign in enumerate(signs):
        c, s = np.cos(q[k]), sign * np.sin(q[k])
        x, y = c * x - s * y, s * x + c * y
    return np.array([x, y])


@pytest.mark.parametrize("signs", [(1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-1.0, -1.0, -1.0), (-1.0, 1.0, -1.0)])
def test_parallel_axes_become_one_angle(signs):
    program = trace(lambda q: turned(q, (2.5, 0.0), signs), {"q": (3,)})
    merged = merge_angles(program)
    (values,) = interpret(merged, [Q])
    total = Q @ signs
    np.testing.assert_allclose(values, 2.5 * np.stack([np.cos(total), np.sin(total)], axis=1), atol=1e-14)
    assert sum(node.op in TRIGONOMETRIC for node in merged.nodes) == 2
    assert merged.counts.mul == 2
    assert program.counts.mul > 6


def test_there_and_back_is_nothing():
    def there_and_back(q):
        x, y = turned(q, (3.0, 0.0))
        for k in (2, 1, 0):
            c, s = np.cos(q[k]), np.sin(q[k])
            x, y = c * x + s * y, c * y - s * x
        return np.array([x, y])

    merged = merge_angles(trace(there_and_back, {"q": (3,)}))
    assert [merged.nodes[k].op for k in merged.results[0]] == [Op.CONST, Op.CONST]
    assert [merged.nodes[k].value for k in merged.results[0]] == [3.0, 0.0]


def test_like_terms_and_offsets():
    def f(q):
        a = 2.0 * np.sin(q[0]) * q[1] - 0.5 * q[1] * np.sin(q[0])
        b = np.cos(q[0] + 0.3) * np.cos(q[1] - 0.1) - np.sin(q[0] + 0.3) * np.sin(q[1] - 0.1)
        return np.array([a, b])

    merged = merge_angles(trace(f, {"q": (2,)}))
    (values,) = interpret(merged, [Q[:, :2]])
    np.testing.assert_allclose(values, [f(q) for q in Q[:, :2]], rtol=1e-12, atol=1e-14)
    assert (merged.counts.mul, merged.counts.trig) == (2, 2)


def test_equations_show_the_sums():
    text = source(trace(lambda q: turned(q, (1.0, 0.0)), {"q": (3,)}), "latex", name="p", outputs=["p"])
    assert r"p_{1} &= c_{123}" in text
    assert r"s_{123} &= \sin\left(q_{1} + q_{2} + q_{3}\right)" in text
    plain = source(trace(lambda q: turned(q, (1.0, 0.0)), {"q": (3,)}), "latex", merge=False)
    assert "123" not in plain
