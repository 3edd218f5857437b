# SPDX-License-Identifier: Apache-2.0
"""The tree of a program, one for all languages: expressions, statements, routines and modules.

Every node keeps the word `at` which it begins (file line, column, text). Nodes are tuples: made quickly, never changed.
What only one language has (moves, waits, settings) is an `Invoke` with arguments, so that the interpreter's flow knows
nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from armwright.syntax.scanner import Token

Node = Any
"""Any of the nodes below."""

# --- expressions ------------------------------------------------------------------------------------------------------


class Literal(NamedTuple):
    """A number, text or truth value; nested lists of numbers, too."""

    at: Token
    value: Any


class Name(NamedTuple):
    """A name, by ``at.key``."""

    at: Token


class Index(NamedTuple):
    """``base[i, j]``; without indices the whole array (KRL's ``a[]``)."""

    at: Token
    base: Node
    indices: tuple[Any, ...]


class Member(NamedTuple):
    """``base.name``."""

    at: Token
    base: Node
    name: str


class FunctionCall(NamedTuple):
    """``name(arguments)`` as a value."""

    at: Token
    arguments: tuple[Argument, ...]


class Unary(NamedTuple):
    """``-x``, ``not x``."""

    at: Token
    sign: str
    operand: Node


class Binary(NamedTuple):
    """``left sign right``; `at` is the sign."""

    at: Token
    sign: str
    left: Node
    right: Node


class ListOf(NamedTuple):
    """``[a, b, …]``."""

    at: Token
    items: tuple[Any, ...]


class RecordOf(NamedTuple):
    """``{kind: name value, …}``."""

    at: Token
    kind: str
    parts: tuple[tuple[Token, Any], ...]


class Argument(NamedTuple):
    """An argument; `name` is empty where its place counts, `value` None where the name alone says it."""

    at: Token
    name: str
    value: Node


# --- statements -------------------------------------------------------------------------------------------------------


class Declare(NamedTuple):
    """A declaration; `sizes` of an array, `value` None if not given; `storage` as the language calls it."""

    at: Token
    kind: str
    sizes: tuple[Any, ...]
    value: Node
    storage: str
    typed: Token | None = None  # where the type stands


class Assign(NamedTuple):
    """``target = value``."""

    at: Token
    target: Node
    value: Node


class Invoke(NamedTuple):
    """A routine or an instruction, ``at.key``, with its arguments."""

    at: Token
    arguments: tuple[Argument, ...]


class If(NamedTuple):
    """Tests with their blocks, in order, and what runs if none holds."""

    at: Token
    branches: tuple[tuple[Any, Block], ...]
    otherwise: Block


class For(NamedTuple):
    """A counted loop; `step` None if not given."""

    at: Token
    counter: Token
    first: Node
    last: Node
    step: Node
    body: Block


class While(NamedTuple):
    """A loop with its test at the beginning, or (`until`) at the end, where it says when to leave; None: no test."""

    at: Token
    test: Node
    body: Block
    until: bool


class Switch(NamedTuple):
    """Cases with their values, and what runs if none fits."""

    at: Token
    subject: Node
    cases: tuple[tuple[tuple[Any, ...], Block], ...]
    otherwise: Block


class Return(NamedTuple):
    """The end of a routine, with its value."""

    at: Token
    value: Node


class Leave(NamedTuple):
    """The end of a loop (`what` "loop") or of the program ("program")."""

    at: Token
    what: str


class Jump(NamedTuple):
    """GOTO."""

    at: Token
    label: str


class Label(NamedTuple):
    """Where a jump leads."""

    at: Token
    name: str


class NotUnderstood(NamedTuple):
    """A statement that was set aside; `motion` if it begins like a move, so that it must not be skipped."""

    at: Token
    message: str
    valid: str
    motion: bool


Block = tuple[Any, ...]


# --- routines and modules ---------------------------------------------------------------------------------------------


class RoutineParameter(NamedTuple):
    """A parameter; `shared` if the routine works on the caller's variable, `optional` if it may be left out."""

    at: Token
    kind: str
    shared: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Routine:
    """A procedure, function or trap; `kind` as the language calls it, `result` the type of a function's value."""

    at: Token
    kind: str
    parameters: tuple[RoutineParameter, ...]
    result: str
    body: Block
    last_line: int
    module: Module = field(repr=False)
    hidden: bool = False  # other modules do not see it


@dataclass
class Module:
    """One file or module: data in the order of their declaration, routines and record types by key."""

    file: str
    lines: list[str] = field(repr=False)
    name: str = ""
    data: list[Any] = field(default_factory=list)
    routines: dict[str, Routine] = field(default_factory=dict)
    records: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    enums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    set_aside: list[NotUnderstood] = field(default_factory=list)
    remarks: list[tuple[Token, str]] = field(default_factory=list)  # valid, but it looks as if a word were missing
    doubled: dict[str, Token] = field(default_factory=dict)  # routines that are declared twice: the later one

    def text_of(self, line: int) -> str:
        """Return a line as it was written."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""


def statements_in(block: Block) -> Iterator[Node]:
    """Yield every statement of a block, those inside others included."""
    for statement in block:
        yield statement
        for inner in blocks_of(statement):
            yield from statements_in(inner)


def blocks_of(statement: Node) -> tuple[Block, ...]:
    """Return the blocks of a statement."""
    if isinstance(statement, If):
        return (*(block for _, block in statement.branches), statement.otherwise)
    if isinstance(statement, Switch):
        return (*(block for _, block in statement.cases), statement.otherwise)
    if isinstance(statement, For | While):
        return (statement.body,)
    return ()
