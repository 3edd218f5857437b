# SPDX-License-Identifier: Apache-2.0
"""LaTeX: the program as equations to read. Sines and cosines are s_2, c_{23}; shared terms are defined first.

`symbol`, `decimal` and `Symbols` write names as mathematics: q̇ for qd, s_2 for sin q_2, numbers with the digits that
are asked for. `LatexEquations` prints nodes, `emit` the whole program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from armwright.errors import InputError
from armwright.graph.emit.printing import (
    AND,
    ATOM,
    FACTOR,
    LOOSE,
    OR,
    PRODUCT,
    SUM,
    TRUTH,
    Namer,
    Printer,
    Rule,
    angle_elements,
    cost_text,
    named_nodes,
    operands,
    position,
)
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.simplify import merge_angles
from armwright.graph.traced_program import Node, ProgramSignal, TracedProgram

_WORDS = """
alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega Gamma Delta
Theta Lambda Xi Pi Sigma Phi Psi Omega
"""
GREEK = frozenset(_WORDS.split())
DOTTED = re.compile(rf"({'|'.join(sorted(GREEK))}|[A-Za-z])(d{{0,2}})")
NUMBERED = re.compile(rf"({'|'.join(sorted(GREEK))}|[A-Za-z])([A-Za-z]{{0,3}}\d+[A-Za-z]{{0,2}})")
DOTS = {"": "{}", "d": r"\dot{{{}}}", "dd": r"\ddot{{{}}}"}


def symbol(name: str) -> str:
    r"""Return a name as mathematics.

    qd → \dot{q}, tau → \tau, lc1 → l_{c1}, I2x → I_{2x}, T_base_tool → {T_{\mathrm{base},\mathrm{tool}}}.
    """
    stem, primes = name.rstrip("_"), "'" * (len(name) - len(name.rstrip("_")))
    head, *rest = stem.split("_")
    if match := DOTTED.fullmatch(head):
        text = DOTS[match[2]].format(_letter(match[1]))
    elif match := NUMBERED.fullmatch(head):
        text = f"{_letter(match[1])}_{{{match[2]}}}"
        text = f"{{{text}}}" if rest else text
    else:
        text = rf"\mathrm{{{head}}}"
    if rest:
        words = ",".join(rf"\mathrm{{{word}}}" for word in rest)
        text = f"{{{text}_{{{words}}}}}"
    return text + primes


def _letter(word: str) -> str:
    return rf"\{word}" if word in GREEK else word


def subscript(indices: Iterable[int]) -> str:
    """Return indices as one subscript: _{23}, with commas as soon as one has two digits; nothing for none."""
    words = [str(k) for k in indices]
    return f"_{{{('' if all(len(w) == 1 for w in words) else ',').join(words)}}}" if words else ""


def decimal(value: float | bool, digits: int) -> str:
    """Return a number to `digits` significant digits, with powers of ten written out."""
    if isinstance(value, bool):
        return r"\text{true}" if value else r"\text{false}"
    if math.isnan(value):
        return r"\text{undefined}"
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    if not exponent:
        return mantissa
    power = rf"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \times {power}"


class Symbols:
    """The symbol of every input element and of every definition."""

    def __init__(self, program: TracedProgram) -> None:
        """Choose letters that the program's own names leave free."""
        self.program = program
        namer = Namer(())  # an output with the name of an input gets a prime
        self.inputs = [namer(signal.name) for signal in program.inputs]
        self.outputs = [namer(signal.name) for signal in program.outputs]
        taken = {*self.inputs, *self.outputs}
        self.sine, self.cosine = ("s", "c") if not taken & {"s", "c"} else ("S", "C")
        self.term = next(letter for letter in ("x", "z", "y", "k", "w", r"\xi") if letter not in taken)
        angles = {
            k: elements
            for k, node in enumerate(program.nodes)
            if node.op in TRIGONOMETRIC and (elements := angle_elements(program, node.args[0]))
        }
        self.first = min((elements[0][0] for elements in angles.values()), default=-1)
        # s_2 is short for the sine of one vector's elements only
        self.angles = {
            k: [e for _, e in elements]
            for k, elements in angles.items()
            if elements[0][0] == self.first and len(program.inputs[self.first].shape) == 1
        }
        self.count = 0

    def element(self, name: str, signal: ProgramSignal, element: int) -> str:
        """Return one element of an input or output."""
        letter, index = symbol(name), subscript(position(signal, element, 1))
        return f"{{{letter}}}{index}" if index and "_" in letter and not letter.startswith("{") else letter + index

    def order(self, k: int) -> tuple[int, list[int], int]:
        """Sines and cosines of inputs first, in the order of their subscripts; the rest as computed."""
        if k in self.angles:
            return len(self.angles[k]), self.angles[k], int(self.program.nodes[k].op)
        return len(self.program.nodes), [], k

    def definition(self, k: int) -> str:
        """Return the symbol of node k: s_{2}, c_{23}, or the next x."""
        if k in self.angles:
            letter = self.sine if self.program.nodes[k].op is Op.SIN else self.cosine
            return letter + subscript(e + 1 for e in self.angles[k])
        self.count += 1
        return f"{self.term}_{{{self.count}}}"

    def angle(self, k: int) -> str:
        """Return the sine or cosine k of inputs in full."""
        name, signal = self.inputs[self.first], self.program.inputs[self.first]
        function = r"\sin" if self.program.nodes[k].op is Op.SIN else r"\cos"
        words = [self.element(name, signal, e) for e in self.angles[k]]
        return f"{function} {words[0]}" if len(words) == 1 else rf"{function}\left({' + '.join(words)}\right)"


CASES = r"\begin{{cases}} {1} & \text{{if }} {0} \\ {2} & \text{{otherwise}} \end{{cases}}"
EQUATION_OPERATIONS = 40  # operations in one equation
EXPANDED = 2000  # the same, if shared terms are written out

RULES: dict[Op, Rule] = {
    Op.ADD: Rule("{} + {}", SUM, (SUM, SUM)),
    Op.SUB: Rule("{} - {}", SUM, (SUM, PRODUCT)),
    Op.DIV: Rule(r"\frac{{{}}}{{{}}}", FACTOR, (LOOSE, LOOSE)),
    Op.NEG: Rule("-{}", SUM, (PRODUCT,)),
    Op.SIN: Rule(r"\sin {}", FACTOR, (ATOM,)),
    Op.COS: Rule(r"\cos {}", FACTOR, (ATOM,)),
    Op.SQRT: Rule(r"\sqrt{{{}}}", ATOM, (LOOSE,)),
    Op.ABS: Rule(r"\left|{}\right|", ATOM, (LOOSE,)),
    Op.EXP: Rule(r"\exp\left({}\right)", FACTOR, (LOOSE,)),
    Op.LOG: Rule(r"\ln\left({}\right)", FACTOR, (LOOSE,)),
    Op.TANH: Rule(r"\tanh\left({}\right)", FACTOR, (LOOSE,)),
    Op.ATAN2: Rule(r"\operatorname{{atan2}}\left({}, {}\right)", FACTOR, (LOOSE, LOOSE)),
    Op.MIN: Rule(r"\min\left({}, {}\right)", FACTOR, (LOOSE, LOOSE)),
    Op.MAX: Rule(r"\max\left({}, {}\right)", FACTOR, (LOOSE, LOOSE)),
    Op.FLOOR: Rule(r"\left\lfloor {}\right\rfloor", ATOM, (LOOSE,)),
    Op.LT: Rule("{} < {}", TRUTH, (SUM, SUM)),
    Op.LE: Rule(r"{} \le {}", TRUTH, (SUM, SUM)),
    Op.EQ: Rule("{} = {}", TRUTH, (SUM, SUM)),
    Op.AND: Rule(r"{} \land {}", AND, (AND, TRUTH)),
    Op.OR: Rule(r"{} \lor {}", OR, (TRUTH, TRUTH)),
    Op.NOT: Rule(r"\lnot {}", FACTOR, (ATOM,)),
    Op.SELECT: Rule(CASES, LOOSE, (LOOSE, LOOSE, LOOSE)),
}


@dataclass
class LatexEquations(Printer):
    """Printer for readers: sums and products are associative, squares are powers."""

    parentheses = (r"\left(", r"\right)")

    def _spell(self, node: Node) -> tuple[str, int]:
        if node.op is Op.MUL:
            return self._product(node)
        if node.op in (Op.ADD, Op.SUB, Op.NEG):
            return self._sum(node), SUM
        signed = _sign_of(node, self.program.nodes)
        if signed is not None:
            return rf"\operatorname{{sgn}}({self.text(signed)})", FACTOR
        return super()._spell(node)

    def _sum(self, node: Node) -> str:
        """Write a sum of sums and differences as one row of terms."""
        terms: list[str] = []
        stack = [(k, 1) for k in reversed(operands(node, self.program.nodes))]
        if node.op is not Op.ADD:
            stack[0] = (stack[0][0], -1)  # the last operand; the only one of a sign change
        while stack:
            k, sign = stack.pop()
            inner = self.program.nodes[k]
            if inner.op in (Op.ADD, Op.SUB, Op.NEG) and k not in self.symbols:
                signs = (sign, -sign) if inner.op is Op.SUB else (-sign,) if inner.op is Op.NEG else (sign, sign)
                stack += reversed(list(zip(operands(inner, self.program.nodes), signs, strict=True)))
                continue
            text, level = self.render(k)
            negative = text.startswith("-")  # a product with a negative number
            text = text[1:] if negative else text
            text = text if level >= SUM else self.enclose(text)
            terms.append(f"{'-' if negative != (sign < 0) else '+'} {text}")
        first = terms[0].removeprefix("+ ").replace("- ", "-", 1) if terms[0][0] == "-" else terms[0][2:]
        return " ".join([first, *terms[1:]])

    def _product(self, node: Node) -> tuple[str, int]:
        """Write a product as number, then factors, equal ones as powers."""
        powers: dict[int, int] = {}
        number, stack = 1.0, [*reversed(node.args)]
        while stack:
            k = stack.pop()
            factor = self.program.nodes[k]
            if factor.op is Op.CONST:
                number *= factor.value
            elif factor.op is Op.MUL and k not in self.symbols:
                stack.extend(reversed(factor.args))
            else:
                powers[k] = powers.get(k, 0) + 1
        texts = [self._factor(k, power) for k, power in powers.items()]
        if number != 1.0 or not texts:
            texts.insert(0, self.constant(number))
        level = SUM if texts[0].startswith("-") else PRODUCT if len(texts) > 1 else FACTOR
        return r" \, ".join(texts), level

    def _factor(self, k: int, power: int) -> str:
        text, level = self.render(k)
        text = text if level >= (FACTOR if power == 1 else ATOM) else self.enclose(text)
        return text if power == 1 else f"{text}^{{{power}}}"


def _sign_of(node: Node, nodes: Sequence[Node]) -> int | None:
    """Return the node x of ``1 if 0 < x else (−1 if x < 0 else 0)``, which np.sign(x) is traced to; None for others."""
    if node.op is not Op.SELECT:
        return None
    above, one, rest = (nodes[k] for k in node.args)
    if rest.op is not Op.SELECT or above.op is not Op.LT:
        return None
    below, minus, zero = (nodes[k] for k in rest.args)
    x = above.args[1]
    numbers = [(one, 1.0), (minus, -1.0), (zero, 0.0), (nodes[above.args[0]], 0.0)]
    fits = below.op is Op.LT and below.args[0] == x and nodes[below.args[1]].value == 0.0
    return x if fits and all(n.op is Op.CONST and n.value == value for n, value in numbers) else None


def emit(
    program: TracedProgram,
    *,
    digits: int = 6,
    expand: bool = False,
    merge: bool = True,
    environment: str = "align*",
    limit: int | None = None,
    width: int = 120,
) -> str:
    r"""Return the program as LaTeX equations (needs amsmath): definitions of shared terms, then the outputs.

    Args:
        program: what to print. Elements are numbered from 1; qd and qdd are \dot q and \ddot q.
        digits: significant digits of numbers.
        expand: write shared terms out wherever they occur; outputs then depend on inputs, sines and cosines alone.
        merge: use the addition theorems first, so that parallel axes give c_{23} (see `merge_angles`).
        environment: amsmath environment around the equations, with `&` alignment.
        limit: most operations in one equation; longer ones are cut into definitions.
        width: characters of source after which an equation continues in a new line, at a sign.

    Raises:
        InputError: if digits, limit or width is not positive.
    """
    limit = (EXPANDED if expand else EQUATION_OPERATIONS) if limit is None else limit
    if min(digits, limit, width) < 1:
        raise InputError(f"digits, limit and width must be at least 1, got {digits}, {limit} and {width}")
    program = merge_angles(program) if merge else program
    symbols = Symbols(program)
    printer = LatexEquations(program, RULES, lambda value: decimal(value, digits))
    for k, node in enumerate(program.nodes):
        if node.op is Op.INPUT:
            signal, element = node.value
            printer.symbols[k] = symbols.element(symbols.inputs[signal], program.inputs[signal], element)
    rows = []
    # an entry that occurs twice among the outputs, as in a symmetric matrix, is no reason for a definition
    once = replace(program, results=(tuple({k for result in program.results for k in result}),))
    named = named_nodes(once, limit=limit, squares=True, share=not expand, whole=symbols.angles)
    for k in sorted(named, key=symbols.order):
        text = symbols.angle(k) if k in symbols.angles else printer.definition(k)
        printer.symbols[k] = symbols.definition(k)
        rows.append(_equation(printer.symbols[k], text, width))
    for name, signal, result in zip(symbols.outputs, program.outputs, program.results, strict=True):
        for element, k in enumerate(result):
            left = symbols.element(name, signal, element)
            rows.append(_equation(left, printer.text(k), width))
            if program.nodes[k].args and k not in printer.symbols:
                printer.symbols[k] = left
    head = f"% {program.name}: {cost_text(program)}"
    body = " \\\\\n".join(rows)
    return f"{head}\n\\begin{{{environment}}}\n{body}\n\\end{{{environment}}}\n"


def _equation(left: str, right: str, width: int) -> str:
    first, *rest = _terms(right)
    line, lines = f"{left} &= {first}", list[str]()
    for part in rest:
        if len(line) + len(part) > width:
            lines.append(line.rstrip())
            line = r"&\quad "
        line += part
    return " \\\\\n".join([*lines, line])


def _terms(text: str) -> list[str]:
    """Cut a sum before the signs that stand outside all brackets."""
    parts, depth, start = [], 0, 0
    for match in re.finditer(r"\\left|\\begin|\\right|\\end|[{}]| [+-] ", text):
        word = match[0]
        if word in (" + ", " - "):
            if depth == 0:
                parts.append(text[start : match.start() + 1])
                start = match.start() + 1
        else:
            depth += 1 if word in (r"\left", r"\begin", "{") else -1
    return [*parts, text[start:]]
