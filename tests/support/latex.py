# SPDX-License-Identifier: Apache-2.0
"""Numbers from LaTeX: what the displays of `Equations.latex` say at given values."""

from __future__ import annotations

import math
import re

import numpy as np


def number_of(text: str, names: dict[str, float]) -> float:
    """Evaluate the arithmetic that the emitter writes: products, powers, fractions, parentheses, known symbols."""
    text = re.sub(r"\\bigl|\\bigr|\\left|\\right", "", text).replace(r" \times ", "*").replace(r" \, ", "*")
    text = re.sub(r"\\tfrac\{(\d+)\}\{(\d+)\}", r"(\1/\2)", text)
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, f"({names[name]!r})")
    text = re.sub(r"\^\{(-?\d+)\}", r"**(\1)", text)
    text = re.sub(r"\\(sin|cos) ?\(", r"\1(", text)
    assert "\\" not in text, text
    return float(eval(text, {"sin": math.sin, "cos": math.cos}))  # noqa: S307 - our own text


def display(text: str, names: dict[str, float]) -> dict[str, np.ndarray]:
    """Return the matrices of a display by letter, at the values of its symbols."""
    known = dict(names)
    body = re.search(r"\\begin\{align\*\}\n(.*)\n\\end\{align\*\}", text, re.S)[1]
    body = re.sub(r" \\\\\n&\\quad ", " ", body)  # broken lines
    body, _, angles = body.partition(r"& \text{with} \quad ")
    for row in re.split(r", \\quad |, \\\\\n& ", angles):
        name, _, value = row.partition(" = ")
        if value:
            known[name] = number_of(value, names)
    blocks: list[str] = []

    def keep(match: re.Match[str]) -> str:
        blocks.append(match[1])
        return f"BLOCK{len(blocks) - 1}"

    body = re.sub(r"\\begin\{pmatrix\}\n(.*?)\n\\end\{pmatrix\}", keep, body, flags=re.S)
    rows = [
        row.split(" &= ") for row in re.split(r" \\\\\n", body.strip().removesuffix("\\\\").strip()) if " &= " in row
    ]
    matrices = {}
    for left, right in rows:
        if right.startswith("BLOCK"):
            matrices[left.partition("(")[0]] = blocks[int(right[5:])]
        elif "(" in left:  # a scalar: K(q, q̇)
            matrices[left.partition("(")[0]] = right
        else:
            known[left] = number_of(right, known)
    return {
        letter: np.array([[number_of(cell, known) for cell in row.split(" & ")] for row in text.split(" \\\\\n")])
        for letter, text in matrices.items()
    }
