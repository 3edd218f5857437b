# SPDX-License-Identifier: Apache-2.0
"""Multiplying out and collecting changes no value, finds every identity of angles, and writes what authors write."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armwright.graph.collect import collect
from armwright.graph.emit import source
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.simplify import cheapest, cost, readable, without_idle
from armwright.graph.traced_program import trace
from support.emit import SAMPLES, interpret, programs, split

Q = np.random.default_rng(4).uniform(-3.0, 3.0, (20, 3))


@pytest.mark.parametrize("to_read", [True, False])
@given(program=programs())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_random_programs_keep_their_values(to_read, program):
    collected = collect(program, to_read=to_read)
    if collected is None:
        return  # too long to be read; `readable` then keeps the shared terms
    actual, expected = interpret(collected, split(SAMPLES)), interpret(program, split(SAMPLES))
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


IDENTITIES = [
    lambda q: np.sin(q[0]) ** 2 + np.cos(q[0]) ** 2 - 1.0,
    lambda q: np.cos(q[0]) * np.cos(q[1]) - np.sin(q[0]) * np.sin(q[1]) - np.cos(q[0] + q[1]),
    lambda q: np.sin(q[0] - q[1]) + np.sin(q[1]) * np.cos(q[0]) - np.cos(q[1]) * np.sin(q[0]),
    lambda q: np.cos(3.0 * q[0]) - 4.0 * np.cos(q[0]) ** 3 + 3.0 * np.cos(q[0]),
    lambda q: np.sin(q[0] + q[1] + q[2]) ** 2 - 0.5 + 0.5 * np.cos(2.0 * (q[0] + q[1] + q[2])),
    lambda q: (q[0] + q[1]) ** 3 - q[0] ** 3 - 3.0 * q[0] * q[1] * (q[0] + q[1]) - q[1] ** 3,
    lambda q: np.cos(q[0] + 0.7) - np.cos(0.7) * np.cos(q[0]) + np.sin(0.7) * np.sin(q[0]),
]


@pytest.mark.parametrize("identity", IDENTITIES)
def test_what_is_zero_for_every_angle_becomes_the_number_zero(identity):
    (node,) = collect(trace(identity, {"q": (3,)})).nodes
    assert (node.op, node.value) == (Op.CONST, 0.0)


def written(function, shapes) -> str:
    """The right side of the first output, in LaTeX."""
    program = readable(trace(function, shapes, name="f"))
    text = source(program, "latex", merge=False, expand=True, outputs=["f"])
    return next(row for row in text.split("\n") if row.startswith("f")).partition("&= ")[2].rstrip(" \\")


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda q, a, b: a * np.sin(q[0]) ** 2 + b * np.cos(q[0]) ** 2, r"b \, c_{1}^{2} + a \, s_{1}^{2}"),
        (lambda q, a: a * np.sin(2.0 * q[0]), r"2 \, a \, c_{1} \, s_{1}"),
        (lambda q, a: a * (np.cos(2.0 * q[0] + q[1]) + np.cos(q[1])), r"2 \, a \, c_{1} \, c_{12}"),
        # not parallel: both q1 + q2 and q1 − q2 would occur
        (lambda q, a: np.cos(q[0]) * np.sin(q[1]) * a, r"a \, c_{1} \, s_{2}"),
        (lambda q, a, b: a * b * q[2] + a * q[2] * np.cos(q[0]), r"a \, q_{3} \, \left(b + c_{1}\right)"),
    ],
)
def test_sines_and_cosines_are_those_that_authors_write(function, text):
    names = function.__code__.co_varnames
    assert written(function, {"q": (3,)} | dict.fromkeys(names[1:], ())) == text


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda q, m, a, b: m * (a - b) ** 2, r"m \, (a - b)^{2}"),
        (lambda q, a, b, c: (a + b - c) ** 2 + q[0], r"q_{1} + (a + b - c)^{2}"),
        (lambda q, a, b: 3.0 * (a + b) ** 2 + a**2, r"a^{2} + 3 \, (a + b)^{2}"),
        (lambda q, m, a, b, d: m * (a - b) ** 2 + d, r"m \, (a - b)^{2} + d"),
        (
            lambda q, m, a, b, d: m * (a**2 + b**2 + 2 * a * b * np.cos(q[0])) + d,
            r"m \, (a^{2} + b^{2} + 2 \, a \, b \, c_{1}) + d",
        ),
        (lambda q, m, a, b, d: m * (a**2 + a * b + b**2) + d, r"m \, (a^{2} + a \, b + b^{2}) + d"),
        (lambda q, m, a, b, d: m * (a**2 - b**2 - 2 * a * b) + d, r"m \, (a^{2} - 2 \, a \, b - b^{2}) + d"),
    ],
)
def test_squares_of_sums_are_written_as_such_and_others_are_not(function, text):
    names = function.__code__.co_varnames
    found = written(function, {"q": (3,)} | dict.fromkeys(names[1:], ()))
    assert found.replace(r"\left", "").replace(r"\right", "") == text


@given(weights=st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_sums_of_squares_keep_their_values(weights):
    def quadratic(p):
        return np.sum((np.array(weights, dtype=float) @ p) ** 2) * p[0] + p[1]

    values = np.random.default_rng(7).uniform(-2.0, 2.0, (5, 4))
    program = trace(quadratic, {"p": (4,)})
    collected = collect(program)
    for value in values:
        (a,), (b,) = interpret(collected, [value[None]]), interpret(program, [value[None]])
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_rates_have_their_coefficients_once():
    def torque(q, qd, m, l):  # noqa: E741
        h = m * l * np.sin(q[1])
        return -h * qd[0] * qd[1] - h * qd[1] * (qd[0] + qd[1]) + m * l**2 * qd[0] ** 2

    text = written(torque, {"q": (2,), "qd": (2,), "m": (), "l": ()})
    rates = r"\left(2 \, \dot{q}_{1} \, \dot{q}_{2} + \dot{q}_{2}^{2}\right)"
    assert text == rf"m \, l^{{2}} \, \dot{{q}}_{{1}}^{{2}} - m \, l \, s_{{2}} \, {rates}"


def test_the_cheapest_form_is_never_dearer_and_never_another_function():
    def f(q):
        x, y = 1.3, 0.0
        for k in range(3):
            x, y = np.cos(q[k]) * x - np.sin(q[k]) * y, np.sin(q[k]) * x + np.cos(q[k]) * y
        return np.array([x, y, (q[0] - q[1]) ** 2])

    program = trace(f, {"q": (3,)})
    for multiply_out in (False, True):
        form = cheapest(program, multiply_out=multiply_out)
        assert cost(form) < cost(program)
        assert sum(node.op in TRIGONOMETRIC for node in form.nodes) == 2
        np.testing.assert_allclose(interpret(form, [Q])[0], interpret(program, [Q])[0], rtol=1e-12, atol=1e-12)


def test_what_does_not_multiply_out_keeps_its_shared_terms():
    def tower(q):
        x = q[0]
        for k in range(40):
            x = x * x + q[k % 3]
        return x

    program = trace(tower, {"q": (3,)})
    assert collect(program) is None
    assert readable(program).counts.flops <= program.counts.flops


def test_inputs_that_are_not_read_can_be_left_out():
    program = trace(lambda q, a, b, c: q * b + 0.0 * a, {"q": (2,), "a": (), "b": (), "c": ()})
    kept = without_idle(program, ("a", "b", "c"))
    assert [signal.name for signal in kept.inputs] == ["q", "b"]
    (values,) = interpret(kept, [np.array([[2.0, 3.0]]), np.array([[5.0]])])
    assert values.tolist() == [[10.0, 15.0]]
