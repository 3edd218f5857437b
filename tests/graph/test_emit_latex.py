# SPDX-License-Identifier: Apache-2.0
"""LaTeX reads like equations, and means the numbers of the program."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.graph.emit import source
from armwright.graph.emit.latex import decimal, subscript, symbol
from armwright.graph.traced_program import trace

SHAPES = {"q": (2,), "qd": (2,), "qdd": (2,)}


def planar(q, qd, qdd):
    """A planar arm with two links: shared terms, sums of angles, squares."""
    h = 0.6 * np.sin(q[1])
    a, b = 1.5 + 0.7 * np.cos(q[1]), 0.3 + 0.35 * np.cos(q[1])
    c12 = np.cos(q[0] + q[1])
    return np.array(
        [
            a * qdd[0] + b * qdd[1] - h * (2.0 * qd[0] * qd[1] + qd[1] ** 2) + 9.81 * (2.0 * np.cos(q[0]) + 0.4 * c12),
            b * qdd[0] + 0.3 * qdd[1] + h * qd[0] ** 2 + 3.924 * c12 / (1.0 + np.sqrt(qd[0] ** 2 + 1e-7)) ** 3,
        ]
    )


def value_of(text: str, names: dict[str, float]) -> float:
    """Evaluate the arithmetic subset of LaTeX that the emitter writes."""
    text = text.replace(r"\left(", "(").replace(r"\right)", ")").replace(r" \times ", "*").replace(r" \, ", "*")
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, f"({names[name]!r})")
    text = re.sub(r"\\(sin|cos) ?(\((?:[^()]|\([^()]*\))*\))", r"\1\2", text)
    text = re.sub(r"\^\{(-?\d+)\}", r"**(\1)", text)  # no braces are left but those of roots and fractions
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text)
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    assert "\\" not in text, text
    return eval(text, {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt})  # noqa: S307 - our own text


def equations(text: str) -> list[tuple[str, str]]:
    body = re.search(r"\\begin\{align\*\}\n(.*)\n\\end\{align\*\}", text, re.S)[1]
    body = re.sub(r"\s*\\\\\n&\\quad ", " ", body)
    return [tuple(row.split(" &= ")) for row in body.split(" \\\\\n")]


@pytest.mark.parametrize("limit", [3, 8, 40])
def test_equations_evaluate_to_the_function(limit):
    rng = np.random.default_rng(1)
    text = source(trace(planar, SHAPES), "latex", outputs=["tau"], digits=17, limit=limit, width=60)
    for _ in range(3):
        q, qd, qdd = rng.uniform(-2, 2, (3, 2))
        names = {
            f"{s}_{{{k + 1}}}": x[k] for s, x in (("q", q), (r"\dot{q}", qd), (r"\ddot{q}", qdd)) for k in range(2)
        }
        for left, right in equations(text):
            names[left] = value_of(right, {k: float(v) for k, v in names.items()})
        np.testing.assert_allclose([names[r"\tau_{1}"], names[r"\tau_{2}"]], planar(q, qd, qdd), rtol=1e-12)


def test_it_reads_like_a_textbook():
    text = source(trace(planar, SHAPES), "latex", outputs=["tau"], digits=4)
    rows = dict(equations(text))
    assert rows["c_{12}"] == r"\cos\left(q_{1} + q_{2}\right)"
    assert rows["s_{2}"] == r"\sin q_{2}"
    assert r"\dot{q}_{1}^{2}" in text
    assert r"2 \, \dot{q}_{1} \, \dot{q}_{2}" in text or r"2 \, \dot{q}_{2} \, \dot{q}_{1}" in text
    assert r"\frac{3.924 \, c_{12}}" in text
    assert text.count(r"\left(") == text.count(r"\right)")
    assert "+ -" not in text


def test_expanded_equations_need_no_shared_terms():
    rows = equations(source(trace(planar, SHAPES), "latex", outputs=["tau"], digits=17, expand=True))
    assert [left for left, _ in rows] == ["c_{1}", "s_{2}", "c_{2}", "c_{12}", r"\tau_{1}", r"\tau_{2}"]
    (q, qd, qdd) = np.random.default_rng(2).uniform(-2, 2, (3, 2))
    names = {f"{s}_{{{k + 1}}}": x[k] for s, x in (("q", q), (r"\dot{q}", qd), (r"\ddot{q}", qdd)) for k in range(2)}
    for left, right in rows:
        names[left] = value_of(right, {k: float(v) for k, v in names.items()})
    np.testing.assert_allclose([names[r"\tau_{1}"], names[r"\tau_{2}"]], planar(q, qd, qdd), rtol=1e-12)


def test_entries_of_a_symmetric_matrix_are_written_once():
    def M(q):
        m = 2.0 + 0.1 * np.cos(q[0])
        return np.array([[m, 0.5], [0.5, m]])

    rows = dict(equations(source(trace(M, {"q": (1,)}), "latex", name="f", outputs=["M"])))
    assert rows == {
        "c_{1}": r"\cos q_{1}",
        "M_{11}": r"0.1 \, c_{1} + 2",
        "M_{12}": "0.5",
        "M_{21}": "0.5",
        "M_{22}": "M_{11}",
    }


def test_signs_are_signs():
    text = source(trace(lambda x: 2.0 * np.sign(x), {"x": ()}), "latex", outputs=["f"])
    assert r"f &= 2 \, \operatorname{sgn}(x)" in text
    assert "cases" in source(trace(lambda x: np.where(x > 0.0, 1.0, -1.0), {"x": ()}), "latex")


def test_choices_and_conditions():
    def f(x, y):
        return np.where((x[0] > 0.0) & ~(x[1] <= y), np.maximum(x[0], y), -np.abs(x[1])) + np.floor(y)

    text = source(trace(f, {"x": (2,), "y": ()}), "latex")
    assert r"\begin{cases} \max\left(" in text
    assert r"0 < x_{1} \land \lnot \left(x_{2} \le y\right)" in text
    assert r"-\left|x_{2}\right| & \text{otherwise} \end{cases}" in text
    assert r"\left\lfloor y\right\rfloor" in text


@pytest.mark.parametrize(
    "name, text",
    [
        ("q", "q"),
        ("qd", r"\dot{q}"),
        ("qdd", r"\ddot{q}"),
        ("tau", r"\tau"),
        ("thetad", r"\dot{\theta}"),
        ("wrench", r"\mathrm{wrench}"),
        ("T_base_tool", r"{T_{\mathrm{base},\mathrm{tool}}}"),
        ("tau_", r"\tau'"),
    ],
)
def test_symbols(name, text):
    assert symbol(name) == text


def test_numbers_and_subscripts():
    assert [decimal(v, 3) for v in (0.5, 2.0, -1.23456, 1e-7, 2.5e12)] == [
        "0.5",
        "2",
        "-1.23",
        "10^{-7}",
        r"2.5 \times 10^{12}",
    ]
    assert subscript([2, 3]) == "_{23}"
    assert subscript([2, 13]) == "_{2,13}"
    assert subscript([]) == ""
    with pytest.raises(InputError, match="digits"):
        source(trace(planar, SHAPES), "latex", digits=0)
