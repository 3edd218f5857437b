r"""LaTeX: the program as equations one can read. Sines and cosines are s_2, c_{23}; shared terms are defined first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from armwright.errors import InputError
from armwright.graph.emit.infix import AND, ATOM, FACTOR, LOOSE, OR, PRODUCT, SUM, TRUTH, Printer, Rule
from armwright.graph.emit.names import Namer, cost_text, position, signature
from armwright.graph.emit.walk import angle_elements, named_nodes
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.program import Node, Program, Signal

_WORDS = """
alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega Gamma Delta
Theta Lambda Xi Pi Sigma Phi Psi Omega
"""
GREEK = frozenset(_WORDS.split())
DOTTED = re.compile(rf"({'|'.join(sorted(GREEK))}|[A-Za-z])(d{{0,2}})")
DOTS = {"": "{}", "d": r"\dot{{{}}}", "dd": r"\ddot{{{}}}"}
CASES = r"\begin{{cases}} {1} & \text{{if }} {0} \\ {2} & \text{{otherwise}} \end{{cases}}"
LIMIT = 40  # operations in one equation

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


def symbol(name: str) -> str:
    r"""Return a name as mathematics: qd → \dot{q}, tau → \tau, T_base_tool → {T_{\mathrm{base},\mathrm{tool}}}."""
    stem, primes = name.rstrip("_"), "'" * (len(name) - len(name.rstrip("_")))
    head, *rest = stem.split("_")
    match = DOTTED.fullmatch(head)
    if match:
        letter = rf"\{match[1]}" if match[1] in GREEK else match[1]
        text = DOTS[match[2]].format(letter)
    else:
        text = rf"\mathrm{{{head}}}"
    if rest:
        words = ",".join(rf"\mathrm{{{word}}}" for word in rest)
        text = f"{{{text}_{{{words}}}}}"
    return text + primes


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


@dataclass
class Equations(Printer):
    """Prints for the eye: sums and products are associative, squares are powers."""

    parentheses = (r"\left(", r"\right)")

    def _spell(self, node: Node) -> tuple[str, int]:
        if node.op is Op.MUL:
            return self._product(node)
        text, level = super()._spell(node)
        # a + (−b + c) was printed without parentheses: join the signs
        return (text.replace(" + -", " - ", 1) if node.op is Op.ADD else text), level

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
        text, level = self._render(k)
        text = text if level >= (FACTOR if power == 1 else ATOM) else self.enclose(text)
        return text if power == 1 else f"{text}^{{{power}}}"


class _Symbols:
    """The symbol of every input element and of every definition."""

    def __init__(self, program: Program) -> None:
        self.program = program
        _, self.inputs, self.outputs = signature(program, Namer(()))
        taken = {*self.inputs, *self.outputs}
        self.sine, self.cosine = ("s", "c") if not taken & {"s", "c"} else ("S", "C")
        self.term = next(letter for letter in ("x", "z", "y", "k", "w", r"\xi") if letter not in taken)
        angles = [self._angle(k) for k, node in enumerate(program.nodes) if node.op in TRIGONOMETRIC]
        self.angle_signal = min((elements[0][0] for elements in angles if elements), default=-1)
        self.count = 0

    def _angle(self, k: int) -> list[tuple[int, int]] | None:
        return angle_elements(self.program, self.program.nodes[k].args[0])

    def element(self, name: str, signal: Signal, element: int) -> str:
        return symbol(name) + subscript(position(signal, element, 1))

    def definition(self, k: int) -> str:
        node = self.program.nodes[k]
        elements = self._angle(k) if node.op in TRIGONOMETRIC else None
        if elements and elements[0][0] == self.angle_signal and len(self.program.inputs[self.angle_signal].shape) == 1:
            return (self.sine if node.op is Op.SIN else self.cosine) + subscript(e + 1 for _, e in elements)
        self.count += 1
        return f"{self.term}_{{{self.count}}}"


def emit(
    program: Program, *, digits: int = 6, environment: str = "align*", limit: int = LIMIT, width: int = 120
) -> str:
    r"""Return the program as LaTeX equations (needs amsmath): definitions of shared terms, then the outputs.

    Args:
        program: what to print. Elements are numbered from 1; qd and qdd are \dot q and \ddot q.
        digits: significant digits of numbers.
        environment: amsmath environment around the equations, with `&` alignment.
        limit: most operations in one equation; longer ones are cut into definitions.
        width: characters of source after which an equation goes on in a new line, at a sign.

    Raises:
        InputError: if digits, limit or width is not positive.
    """
    if min(digits, limit, width) < 1:
        raise InputError(f"digits, limit and width must be at least 1, got {digits}, {limit} and {width}")
    symbols = _Symbols(program)
    printer = Equations(program, RULES, lambda value: decimal(value, digits))
    for k, node in enumerate(program.nodes):
        if node.op is Op.INPUT:
            signal, element = node.value
            printer.symbols[k] = symbols.element(symbols.inputs[signal], program.inputs[signal], element)
    rows = []
    # an entry that occurs twice among the outputs, as in a symmetric matrix, is no reason for a definition
    once = replace(program, results=(tuple({k for result in program.results for k in result}),))
    for k in named_nodes(once, limit=limit, squares=True):
        text = printer.definition(k)
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
