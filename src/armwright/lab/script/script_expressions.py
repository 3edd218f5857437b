# SPDX-License-Identifier: Apache-2.0
"""Values of a program's tree become Python's expressions: names, operators, items, calls. See `script_compiler`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from armwright.lab.script.script_calls import CallMatcher
from armwright.lab.script.script_faults import ScriptError, not_found
from armwright.lab.script.script_values import LARGEST_WHOLE
from armwright.syntax import program_tree as tree

if TYPE_CHECKING:
    from armwright.lab.script.script_values import ScriptValue
    from armwright.syntax.program_tree import Node, Routine
    from armwright.syntax.scanner import Token
    from armwright.urscript import Builtin, ScriptModule

LOAD, STORE = ast.Load(), ast.Store()
LISTS_GROW_SINCE = (5, 15)  # software; lists keep their first length before, and have no methods
DEEPEST_EXPRESSION = 150  # operations inside one another: below what Python's own compiler takes
NODES_PER_WORK = 8  # nodes that take as long as an empty pass of a loop
OPERATORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "remainder",
    "xor": "exclusive",
    "==": "equal",
    "<": "less",
    ">": "more",
    "<=": "at_most",
    ">=": "at_least",
}
LONG_LIST = 64  # numbers in the text, from which on a list is charged
TESTS = frozenset(("==", "!=", "<", ">", "<=", ">=", "and", "or", "xor", "not"))


class FunctionHead(NamedTuple):
    """What calls must know of a function: its kind ("def", "thread", "sec", "program"), parameters, optional ones."""

    kind: str
    parameters: tuple[str, ...]
    optional: frozenset[str]


class ExpressionCompiler:
    """Compiles the values of one program."""

    def __init__(self, module: ScriptModule, version: tuple[int, ...]) -> None:
        """Take a tree without statements that were set aside, and the controller's version."""
        self.module = module
        self.places: list[tuple[int, int, str]] = [(1, 1, "")]  # Python's lines count from 1
        self.calls = CallMatcher(version)
        self.grows = version[:2] >= LISTS_GROW_SINCE
        self.own: set[str] = set()
        self.depth = self.loops = 0
        self.program: Routine | None = None
        self.heads: dict[str, FunctionHead] = {}
        self.program_names: set[str] = set()

    def fail(self, words: str, at: Token) -> NoReturn:
        """Refuse the program."""
        raise ScriptError(words, at.line, at.column)

    # --- places and names ---------------------------------------------------------------------------------------------

    def at(self, token: Token) -> dict[str, Any]:
        """Return the line of a node that stands for a word."""
        self.places.append((token.line, token.column, token.text))
        line = len(self.places) - 1
        return {"lineno": line, "col_offset": 0, "end_lineno": line, "end_col_offset": 0}

    def helper(self, name: str, arguments: list[ast.expr], at: Token) -> ast.expr:
        """Return a call of what the machine does."""
        place = self.at(at)
        return ast.Call(ast.Name(f"h_{name}", LOAD, **place), arguments, [], **place)

    def constant(self, value: ScriptValue, at: Token) -> ast.expr:
        """Return a constant."""
        return ast.Constant(value, **self.at(at))

    def look(self, at: Token, nodes: int) -> ast.stmt:
        """Return a look at the budget, charged by so many nodes: ``if h_spent(work): yield h_busy``."""
        place = self.at(at)
        work = ast.Constant(1 + nodes // NODES_PER_WORK, **place)
        wait = ast.Expr(ast.Yield(ast.Name("h_busy", LOAD, **place), **place), **place)
        return ast.If(self.helper("spent", [work], at), [wait], [], **place)

    def rooted(self, target: tree.Index) -> tuple[ast.expr, ast.expr]:
        """Return what holds an item, and the item's index."""
        base = self.expression(target.base)
        if not target.indices:
            self.fail("syntax_error: which item?", target.at)
        for index in target.indices[:-1]:
            base = self.helper("item", [base, self.expression(index)], target.at)
        return base, self.expression(target.indices[-1])

    # --- expressions --------------------------------------------------------------------------------------------------

    def test(self, node: Node) -> ast.expr:
        """Return a condition."""
        made = self.expression(node)
        if isinstance(node, tree.Binary | tree.Unary) and node.sign in TESTS:
            return made
        if isinstance(node, tree.Literal) and isinstance(node.value, bool):
            return made
        return self.helper("truth", [made], node.at)

    def kept(self, node: Node) -> ast.expr:
        """Return a value that somebody keeps: one that another has already is copied."""
        made = self.expression(node)
        return self.helper("own", [made], node.at) if isinstance(node, tree.Name | tree.Index | tree.Member) else made

    def expression(self, node: Node) -> ast.expr:
        """Return a value."""
        self.depth += 1
        if self.depth > DEEPEST_EXPRESSION:
            self.fail(f"compile_error: more than {DEEPEST_EXPRESSION} operations inside one another", node.at)
        made = self._expression(node)
        self.depth -= 1
        return made

    def _expression(self, node: Node) -> ast.expr:
        at = node.at
        if isinstance(node, tree.Literal):
            return self.constant(self.literal(node.value, at), at)
        if isinstance(node, tree.Name):
            return self.variable(at)
        if isinstance(node, tree.Unary):
            return self.unary(node)
        if isinstance(node, tree.Binary):
            return self.binary(node)
        if isinstance(node, tree.Index):
            base, last = self.rooted(node)
            return self.helper("item", [base, last], at)
        if isinstance(node, tree.Member):
            return self.helper("part", [self.expression(node.base), self.constant(node.name, at)], at)
        if isinstance(node, tree.ListOf):
            return self.list_of(node)
        if isinstance(node, tree.FunctionCall):
            return self.call(at, node.arguments)
        raise ScriptError("syntax_error: this value is not known", at.line, at.column)

    def list_of(self, node: tree.ListOf) -> ast.expr:
        """Return a list; one of plain numbers needs no look at its items."""
        place = self.at(node.at)
        if all(plain(item) for item in node.items):
            numbers: list[ast.expr] = [ast.Constant(self.plain_number(item), **place) for item in node.items]
            made = ast.List(numbers, LOAD, **place)
            return made if len(numbers) < LONG_LIST else self.helper("written", [made], node.at)
        items = ast.List([self.kept(item) for item in node.items], LOAD, **place)
        return self.helper("list_of", [items], node.at)

    def plain_number(self, node: Node) -> int | float:
        """Return a number of the text with its sign."""
        if isinstance(node, tree.Unary):
            return -self.plain_number(node.operand)
        number: int | float = self.literal(node.value, node.at)
        return number

    def literal(self, value: ScriptValue, at: Token) -> ScriptValue:
        """Return a number, text or truth value of the text."""
        if isinstance(value, int) and not isinstance(value, bool) and value > LARGEST_WHOLE - 1:
            return float(value)
        if isinstance(value, float) and not value < float("inf"):
            self.fail(f"syntax_error: no such number: {at.text[:40]}", at)
        return value

    def variable(self, at: Token) -> ast.expr:
        """Return the value of a variable."""
        key = at.key
        if key not in self.own and key not in self.program_names:
            raise not_found(at.text, at.line, at.column)
        return ast.Name(f"v_{key}", LOAD, **self.at(at))

    def unary(self, node: tree.Unary) -> ast.expr:
        """Return ``-x``, ``+x``, ``not x``."""
        if node.sign == "not":
            return ast.UnaryOp(ast.Not(), self.test(node.operand), **self.at(node.at))
        if plain(node):
            return self.constant(self.plain_number(node), node.at)
        name = "negative" if node.sign == "-" else "positive"
        return self.helper(name, [self.expression(node.operand)], node.at)

    def binary(self, node: tree.Binary) -> ast.expr:
        """Return ``left sign right``."""
        at = node.at
        if node.sign in ("and", "or"):
            both: list[ast.expr] = [self.test(node.left), self.test(node.right)]
            return ast.BoolOp(ast.And() if node.sign == "and" else ast.Or(), both, **self.at(at))
        left, right = self.expression(node.left), self.expression(node.right)
        if node.sign == "!=":
            return ast.UnaryOp(ast.Not(), self.helper("equal", [left, right], at), **self.at(at))
        if node.sign not in OPERATORS:
            self.fail(f"syntax_error: {node.sign} is no operator of the language", at)
        return self.helper(OPERATORS[node.sign], [left, right], at)

    # --- calls --------------------------------------------------------------------------------------------------------

    def invocation(self, node: tree.Invoke) -> ast.expr:
        """Return a call that stands alone."""
        at = node.at
        if at.key == "$":
            said = [(a.at.kind, a.value.value) for a in node.arguments]
            number = next((int(min(float(n), LARGEST_WHOLE - 1)) for kind, n in said if kind == "number"), 0)
            text = next((t for kind, t in said if kind == "string"), "")
            return self.helper("label", [self.constant(number, at), self.constant(text, at)], at)
        if at.key == "join":
            return self.waiting(self.helper("join", [self.expression(node.arguments[0].value)], at), at)
        if at.key == "kill":
            return self.helper("kill", [self.expression(node.arguments[0].value)], at)
        return self.call(at, node.arguments)

    def waiting(self, call: ast.expr, at: Token) -> ast.expr:
        """Return a call that may wait."""
        return ast.YieldFrom(call, **self.at(at))

    def call(self, at: Token, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return a call of a function of the program or of the language."""
        if at.key == "run":
            return self.started(arguments[0].at)
        if at.key == "p[":
            if len(arguments) != 6:
                self.fail(f"syntax_error: a pose has six numbers, not {len(arguments)}", at)
            return self.helper("pose_value", [self.expression(a.value) for a in arguments], at)
        if at.key == "struct":
            return self.structure(at, arguments)
        if at.key.startswith("."):
            return self.method(at, arguments)
        head = self.heads.get(at.key)
        if head is not None:
            return self.own_call(at, head, arguments)
        row = self.calls.row(at)
        if at.key not in self.calls.used:  # known, but nobody has made it: refused where the program comes to it
            return self.helper("refused", [self.constant(at.text, at)], at)
        return self.builtin(at, row, arguments)

    def started(self, at: Token) -> ast.expr:
        """Return ``run thread()``."""
        head = self.heads.get(at.key)
        if head is None:
            raise not_found(at.text, at.line, at.column)
        if head.kind != "thread":
            self.fail(f"compile_error: {at.text} is no thread", at)
        return self.helper("run", [ast.Name(f"f_{at.key}", LOAD, **self.at(at))], at)

    def own_call(self, at: Token, head: FunctionHead, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return a call of a function of the program."""
        if head.kind != "def":
            self.fail(f"compile_error: {at.text} cannot be called", at)
        names = head.parameters
        given = self.calls.matched(at, arguments, names, [name for name in names if name not in head.optional])
        place = self.at(at)
        deeper = ast.BinOp(ast.Name("d", LOAD, **place), ast.Add(), ast.Constant(1, **place), **place)
        missing = ast.Name("h_missing", LOAD, **place)
        values = [self.kept(given[name].value) if name in given else missing for name in names]
        made = ast.Call(ast.Name(f"f_{at.key}", LOAD, **place), [deeper, *values], [], **place)
        return self.waiting(made, at)

    def builtin(self, at: Token, row: Builtin, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return a call of a function of the language; what is left out is its default, or `h_missing`."""
        given = self.calls.matched(at, arguments, row.names, row.names[: row.fewest])
        place = self.at(at)
        values: list[ast.expr] = []
        for name in row.names:
            if name in given:
                values.append(self.expression(given[name].value))
            elif (default := row.default(name)) is None:
                values.append(ast.Name("h_missing", LOAD, **place))
            elif isinstance(default, list):
                items: list[ast.expr] = [ast.Constant(number, **place) for number in default]
                values.append(ast.List(items, LOAD, **place))
            else:
                values.append(ast.Constant(cast(Any, default), **place))
        made = ast.Call(ast.Name(f"b_{at.key}", LOAD, **place), values, [], **place)
        return self.waiting(made, at) if row.waits else made

    def structure(self, at: Token, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return ``struct(name = value, …)``."""
        if not all(a.name for a in arguments):
            self.fail("compile_error: the parts of a structure have names", at)
        values: list[ast.expr] = [self.constant(tuple(a.name for a in arguments), at)]
        return self.helper("struct", [*values, *(self.kept(a.value) for a in arguments)], at)

    def method(self, at: Token, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return ``value.method(…)``: lists know some, nothing else does."""
        if not self.grows:
            raise not_found(at.text, at.line, at.column)
        if any(a.name for a in arguments):
            self.fail(f"compile_error: {at.text} takes no named arguments", at)
        base = self.expression(arguments[0].value)
        rest = [self.kept(a.value) for a in arguments[1:]]
        return self.helper("method", [self.constant(at.text, at), base, *rest], at)


def plain(node: Node) -> bool:
    """Return whether an expression is a number of the text, with or without a sign."""
    if isinstance(node, tree.Unary):
        return node.sign == "-" and plain(node.operand)
    return isinstance(node, tree.Literal) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
