# SPDX-License-Identifier: Apache-2.0
r"""LaTeX for the page: outputs as matrices, long entries below them in lines broken at signs, s_2 and c_{23} last.

M(q) &= \begin{pmatrix} M_{11} & M_{12} \\ M_{12} & I_{2} \end{pmatrix} \\ M_{11} &= …

`breadth` and `broken` lay out the lines of a displayed equation: how wide LaTeX text is in print, and where it breaks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from armwright.errors import InputError
from armwright.graph.emit.latex import EQUATION_OPERATIONS, EXPANDED, RULES, LatexEquations, Symbols, decimal, symbol
from armwright.graph.emit.printing import named_nodes, simple_fraction
from armwright.graph.ops import Op
from armwright.graph.traced_program import TracedProgram

WORDS = re.compile(r"\\(?:dot|ddot|mathrm|text|bigl|bigr|left|right|,|quad|begin|end)|[{}^&]")
TOKEN = re.compile(r" [+-] |[{}()]")
FULL = 0.6  # of a line: from here on a break between outer terms is better than a later one inside parentheses


def breadth(text: str) -> float:
    """Return the approximate width in letters of a printed formula; subscripts count for two thirds."""
    small = sum(len(match) for match in re.findall(r"[_^]\{([^{}]*)\}", text))
    plain = WORDS.sub("", text).replace("_", "")
    plain = re.sub(r"\\(sin|cos|ln|exp|tanh|min|max) ?", r"\1", plain)
    plain = re.sub(r"\\[A-Za-z]+", "x", plain)  # a Greek letter, a root, a fraction bar
    signs = len(re.findall(r" [+-] ", plain))
    return len(plain.replace(" ", "")) - small / 3.0 + 1.5 * signs + text.count(r"\,") / 3.0


def broken(left: str, right: str, width: int) -> list[str]:
    r"""Return ``left &= right`` as rows of an aligned display, broken before signs."""
    pieces = _pieces(right)
    room = width - breadth(left) - 2.0
    rows: list[str] = []
    start = 0
    while start < len(pieces):
        reach = [0.0, *itertools.accumulate(breadth(piece) for piece, _ in pieces[start:])]
        fitting = max(1, sum(width <= room for width in reach[1:]))
        if start + fitting < len(pieces):  # of the signs at the end of the line, that in the fewest parentheses
            late = [k for k in range(1, fitting + 1) if reach[k] >= FULL * room] or [fitting]
            fitting = min(late, key=lambda k: (pieces[start + k][1], -k))
        line = "".join(piece for piece, _ in pieces[start : start + fitting]).strip()
        rows.append(rf"&\quad {line}" if rows else f"{left} &= {line}")
        start += fitting
    return rows


def _pieces(text: str) -> list[tuple[str, int]]:
    """Cut a formula before its signs; each piece with the number of parentheses that are open where it begins."""
    pieces: list[tuple[str, int]] = []
    braces = depth = start = begun = 0
    for match in TOKEN.finditer(text):
        word = match[0]
        if word in "{}":
            braces += 1 if word == "{" else -1
        elif word in "()":
            depth += 1 if word == "(" else -1
        elif braces == 0:
            pieces.append((text[start : match.start()], begun))
            start, begun = match.start(), depth
    return [*pieces, (text[start:], begun)]


MOST_REPEATED = 4  # times the operations, if every shared term is written out where it occurs
PAGE_LINES = 45  # lines; longer displays may be broken over pages


@dataclass
class PageEquations(LatexEquations):
    """Equations whose parentheses may be broken over lines."""

    def enclose(self, text: str) -> str:
        """Return the text in parentheses, larger ones around those that hold others."""
        return rf"\bigl({text}\bigr)" if "(" in text else f"({text})"


def emit_matrices(
    programs: Sequence[TracedProgram],
    letters: Sequence[Sequence[str]],
    below: Sequence[str],
    *,
    title: str,
    digits: int = 6,
    width: int = 80,
) -> str:
    r"""Return programs as one display of equations (needs amsmath).

    Args:
        programs: in their readable form. Scalars among the inputs are parameters: simple fractions are then written as
            such, ``\tfrac{1}{2} m_{1}``.
        letters: what the outputs of each are called.
        below: a line to follow each, or nothing.
        title: for the comment at the top.
        digits: significant digits of numbers.
        width: letters on a line.

    Raises:
        InputError: if digits or width is not positive.
    """
    if min(digits, width) < 1:
        raise InputError(f"digits and width must be at least 1, got {digits} and {width}")
    rows: list[str] = []
    angles: dict[str, tuple[tuple[int, ...], str]] = {}
    terms = 0
    for program, names, line in zip(programs, letters, below, strict=True):
        page = _Page(program, digits, width, terms)
        rows += page.definitions
        for k, name in enumerate(names):
            rows += page.output(k, name)
        rows += [line] if line else []
        angles |= page.angles
        terms = page.symbols.count
    if angles:
        words = [f"{name} = {text}" for name, (_, text) in sorted(angles.items(), key=lambda item: item[1][0])]
        rows += _listed(words, width)
    body = " \\\\\n".join(rows)
    text = f"\\begin{{align*}}\n{body}\n\\end{{align*}}\n"
    if body.count("\\\\") > PAGE_LINES:
        text = f"\\begingroup\\allowdisplaybreaks\n{text}\\endgroup\n"
    asked = ", ".join(name for names in letters for name in names)
    return f"% {title}: {asked}. Generated by Armwright; needs amsmath.\n{text}"


class _Page:
    """The symbols and the text of one program."""

    def __init__(self, program: TracedProgram, digits: int, width: int, terms: int) -> None:
        self.program, self.width = program, width
        self.symbols = symbols = Symbols(program)
        symbols.count = terms
        symbolic = any(not signal.shape for signal in program.inputs)
        self.printer = PageEquations(program, RULES, lambda value: _number(value, digits, symbolic))
        for k, node in enumerate(program.nodes):
            if node.op is Op.INPUT:
                signal, element = node.value
                # an output may have a parameter's letter: g(q) is not g
                self.printer.symbols[k] = symbols.element(program.inputs[signal].name, program.inputs[signal], element)
        once = replace(program, results=(tuple({k for result in program.results for k in result}),))
        share = _repeated(program) > MOST_REPEATED * program.counts.flops + 500
        named = named_nodes(
            once,
            limit=EQUATION_OPERATIONS if share else EXPANDED,
            keep=(),
            squares=True,
            share=share,
            whole=symbols.angles,
        )
        self.angles: dict[str, tuple[tuple[int, ...], str]] = {}
        for k in sorted(symbols.angles, key=symbols.order):
            name = self.printer.symbols[k] = symbols.definition(k)
            place = (len(symbols.angles[k]), *symbols.angles[k], int(program.nodes[k].op))
            self.angles[name] = place, symbols.angle(k)
        self.definitions = []
        for k in named:
            if k not in self.printer.symbols:
                text = self.printer.definition(k)
                self.printer.symbols[k] = symbols.definition(k)
                self.definitions += broken(self.printer.symbols[k], text, width)

    def _read(self, result: Sequence[int]) -> list[int]:
        """Return the inputs that some nodes are computed from."""
        seen, stack = set[int](), list(result)
        while stack:
            k = stack.pop()
            if k not in seen:
                seen.add(k)
                stack.extend(self.program.nodes[k].args)
        return sorted({self.program.nodes[k].value[0] for k in seen if self.program.nodes[k].op is Op.INPUT})

    def output(self, number: int, name: str) -> list[str]:
        """Return the lines of one output."""
        signal, result = self.program.outputs[number], self.program.results[number]
        letter = symbol(name)
        inputs = self.program.inputs
        read = [k for k in self._read(result) if inputs[k].shape]
        if not read and any(signal.name == name for signal in inputs):
            read = [0]  # g(q) = (m g, 0) is not g, even if it is constant
        vectors = [symbol(inputs[k].name) for k in read]
        left = f"{letter}({', '.join(vectors)})" if vectors else letter
        if not signal.shape:
            return broken(left, self.printer.text(result[0]), self.width)
        texts = {k: self.printer.text(k) for k in dict.fromkeys(result)}
        columns = signal.shape[1] if len(signal.shape) == 2 else 1
        cells = dict(texts)
        names: dict[int, str] = {}
        for element, k in enumerate(result):
            names.setdefault(k, self.symbols.element(name, signal, element))
        while breadth(left) + _wide(cells, result, columns) > self.width:
            k = max(texts, key=lambda k: (cells[k] != names[k], breadth(cells[k])))
            if breadth(cells[k]) <= breadth(names[k]):
                break
            cells[k] = names[k]
        grid = [" & ".join(cells[k] for k in result[r : r + columns]) for r in range(0, len(result), columns)]
        matrix = "\\begin{pmatrix}\n" + " \\\\\n".join(f"  {row}" for row in grid) + "\n\\end{pmatrix}"
        rows = [f"{left} &= {matrix}"]
        for k, text in texts.items():
            if cells[k] != text:
                rows += broken(names[k], text, self.width)
        return rows


def _wide(cells: dict[int, str], result: Sequence[int], columns: int) -> float:
    """Return how wide a matrix is, in letters."""
    widths = [max(breadth(cells[k]) for k in result[c::columns]) for c in range(columns)]
    return sum(widths) + 2.5 * columns + 4.0


def _repeated(program: TracedProgram) -> int:
    """Return how many operations are written if every shared term is written out, sines apart."""
    size = [0] * len(program.nodes)
    for k, node in enumerate(program.nodes):
        if node.args and node.op not in (Op.SIN, Op.COS):
            size[k] = 1 + sum(size[a] for a in node.args)
    return sum(size[k] for result in program.results for k in set(result))


def _number(value: float | bool, digits: int, symbolic: bool) -> str:
    fraction = simple_fraction(value) if symbolic else None
    if fraction is not None and fraction.denominator > 1:
        sign = "-" if fraction < 0 else ""
        return rf"{sign}\tfrac{{{abs(fraction.numerator)}}}{{{fraction.denominator}}}"
    return decimal(value, digits)


def _listed(words: list[str], width: int) -> list[str]:
    """Return definitions side by side, as many as fit on a line."""
    lines: list[list[str]] = [[]]
    for word in words:
        if lines[-1] and sum(breadth(w) + 4.0 for w in ["with", *lines[-1], word]) > width:
            lines.append([])
        lines[-1].append(word)
    rows = [r", \quad ".join(line) for line in lines]
    return [r"& \text{with} \quad " + ", \\\\\n& ".join(rows)]
