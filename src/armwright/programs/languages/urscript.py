# SPDX-License-Identifier: Apache-2.0
"""URScript, the part that moves the arm: metres, radians, rotation vectors; ``#`` begins a comment.

    program   = {statement}                      a lone "def name(): … end" is run; further ones when they are called
    statement = ["global"|"local"] name "=" expr | call | "while" cond ":" … "end"
              | "if" cond ":" … {"elif" cond ":" …} ["else" ":" …] "end" | "break" | "halt"
    call      = movej(q|pose, a=1.4, v=1.05, t=0, r=0) | movel(pose, a=1.2, v=0.25, t=0, r=0) | movep(pose, a, v, r)
              | movec(via, to, a=1.2, v=0.25, r=0, mode=0) | set_tcp(pose) | set_payload(m, cog)
              | set_target_payload(m, cog, inertia) | sleep(t) | name()
    expr      = numbers, True, False, lists, p[x, y, z, rx, ry, rz], d2r, r2d, pose_trans, pose_inv

`v` and `a` of ``movej`` belong to the leading axis; `t` overrules both. ``movec`` in mode 1 keeps the orientation
relative to the arc, so that the target's own is not used. What sets outputs or writes messages is left out, with a
note; what depends on inputs is refused. `arguments` reads the arguments of a call by place or by name, `read_urscript`
a whole program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.programs.languages.expression import (
    Blocks,
    BreakLoop,
    Scope,
    condition,
    evaluate,
    finite,
    repeat,
    tuple_of,
)
from armwright.programs.languages.program_draft import Draft
from armwright.programs.languages.scanner import Cursor, Lexicon, Token
from armwright.programs.program import (
    Acceleration,
    Distance,
    Duration,
    Joints,
    LeadingAxis,
    Payload,
    Pose,
    Program,
    Speed,
    Stop,
    Target,
    ToolRate,
)
from armwright.spatial import exp_so3, inverse, pose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.types import Array

JOINTS = 6
MOST_TURNING = 628.0


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call by name, each with the place where it stands."""

    cursor: Cursor
    call: Token
    given: dict[str, tuple[Any, Token]]

    def place(self, name: str) -> Token:
        """Return where the argument stands; the call where it is not given."""
        return self.given[name][1] if name in self.given else self.call

    def value(self, name: str) -> object:
        """Return an argument that must be there."""
        if name not in self.given:
            self.cursor.fail(f"the call lacks {name!r}", at=self.call, valid=f"{name} = …")
        return self.given[name][0]

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        if default is not None and name not in self.given:
            return default
        return finite(self.cursor, self.value(name), f"a number for {name!r}", self.place(name))

    def numbers(self, name: str, count: int, default: Sequence[float]) -> list[float]:
        """Return a list of `count` numbers."""
        if name not in self.given:
            return list(default)
        value = self.given[name][0]
        if not isinstance(value, list) or len(value) != count:
            self.cursor.fail(f"{name!r} needs {count} numbers", at=self.place(name), valid=f"[…] of {count} numbers")
        return [finite(self.cursor, item, f"numbers for {name!r}", self.place(name)) for item in value]

    def pose(self, name: str) -> Array:
        """Return a pose (4, 4)."""
        value = self.value(name)
        if not isinstance(value, np.ndarray):
            self.cursor.fail(f"{name!r} needs a pose", at=self.place(name), valid="p[x, y, z, rx, ry, rz]")
        return value

    def target(self, name: str) -> Target:
        """Return a pose or joint angles."""
        value = self.value(name)
        if isinstance(value, np.ndarray):
            return Pose(value)
        if not isinstance(value, list):
            self.cursor.fail(f"{name!r} needs a target", at=self.place(name), valid="p[…] or a list of joint angles")
        if len(value) != JOINTS:
            few = "too few" if len(value) < JOINTS else "too many"
            self.cursor.fail(f"{few} joints: {len(value)}", at=self.place(name), valid=f"{JOINTS} joint angles [rad]")
        return Joints(np.array(self.numbers(name, JOINTS, ())))


def arguments(cursor: Cursor, scope: Scope, names: Sequence[str]) -> Arguments:
    """Read ``(…)``: first by place, then by name; without `names` anything is accepted and nothing kept."""
    call = cursor.words[cursor.index - 1]
    cursor.expect("(")
    given: dict[str, tuple[Any, Token]] = {}
    count = 0
    while not cursor.accept(")"):
        if count and not cursor.accept(","):
            cursor.expect(",", ")")
        at = cursor.word
        by_name = at.kind == "name" and cursor.ahead().key == "="
        if by_name:
            cursor.take(), cursor.take()
        elif len(given) < count:
            cursor.fail("an argument by place behind one by name", at=at, valid="name = …")
        name = at.key if by_name else (names[count] if count < len(names) else "")
        value = evaluate(cursor, scope, f"the argument {name}".rstrip())
        count += 1
        if not names:
            given[str(count)] = (value, at)
        elif name not in names:
            what = f"{call.text} has no argument {name!r}" if name else f"{call.text} takes {len(names)} arguments"
            cursor.unknown(what, names, at=at)
        elif name in given:
            cursor.fail(f"{name!r} is given twice", at=at, valid="each argument once")
        else:
            given[name] = (value, at)
    return Arguments(cursor, call, given)


def pose_value(cursor: Cursor, scope: Scope, at: Token) -> Array:
    """Read ``[x, y, z, rx, ry, rz]`` after ``p``: metres and a rotation vector [rad]."""
    x = tuple_of(cursor, 6, scope, "x, y, z, rx, ry, rz", "[]")
    if max(map(abs, x[3:])) > MOST_TURNING:
        cursor.fail("a rotation vector of more than a hundred turns", at=at, valid="radians, within ±2π mostly")
    T: Array = pose(exp_so3(np.array(x[3:])), np.array(x[:3]))
    return T


def _pose_trans(given: Arguments, word: Token) -> Array:
    T: Array = given.pose("a") @ given.pose("b")
    return T


def _pose_inv(given: Arguments, word: Token) -> Array:
    T: Array = inverse(given.pose("a"))
    return T


FUNCTIONS: dict[str, Callable[[Arguments, Token], Any]] = {
    "d2r": lambda given, word: math.radians(given.number("a")),
    "r2d": lambda given, word: math.degrees(given.number("a")),
    "pose_trans": _pose_trans,
    "pose_inv": _pose_inv,
}


LEXICON = Lexicon(line_comments=("#",), symbols=r"<=|>=|==|!=|[-+*/()\[\]=:,<>]", newlines=True)
BLOCKS = Blocks(("def", "while", "if", "thread", "sec"), ("end",))
INPUTS = ("get_", "read_", "is_", "rpc", "socket_", "rtde_", "tool_contact", "force")
SILENT = (
    "set_digital_out",
    "set_standard_digital_out",
    "set_tool_digital_out",
    "set_analog_out",
    "textmsg",
    "sync",
    "set_configurable_digital_out",
    "stopj",
    "stopl",
    "popup",
)
MAX_CALLS = 20


class _UrscriptHalt(Exception):  # noqa: N818 - not an error: the program ends here
    pass


def read_urscript(text: str, file: str = "") -> Program:
    """Read a URScript program; see the module for what it knows."""
    return _UrscriptReader(text, file).program()


class _UrscriptReader:
    def __init__(self, text: str, file: str) -> None:
        self.cursor = Cursor(text, LEXICON, file)
        self.draft = Draft(self.cursor, "urscript")
        self.scope = Scope(atom=self.atom, inputs=INPUTS, what="variable")
        self.functions: dict[str, int] = {}
        self.calls = 0
        self.tool: Array | None = None
        self.payload: Payload | None = None
        self.commands: dict[str, Callable[[Token], None]] = {
            "movej": self.movej,
            "movel": self.movel,
            "movep": self.movel,
            "movec": self.movec,
            "set_tcp": self.set_tcp,
            "set_payload": self.set_payload,
            "set_target_payload": self.set_payload,
            "sleep": self.sleep,
        }

    def program(self) -> Program:
        cursor = self.cursor
        try:
            self.statements()
            if cursor.word.kind != "end":
                cursor.fail("no block is open here", valid="a statement")
            if not self.draft.moves and len(self.functions) == 1:
                ((name, start),) = self.functions.items()
                self.draft.name = name
                cursor.index = start
                self.statements("end")
        except _UrscriptHalt:
            pass
        except BreakLoop:
            cursor.fail("'break' outside of a loop", valid="break inside while … end")
        if self.tool is None:
            self.draft.note(1, "no set_tcp: targets are places of the arm's own tool frame")
        return self.draft.finish()

    def statements(self, *ends: str) -> None:
        """Carry out statements up to one of `ends` or the end of the file, not taking it."""
        cursor = self.cursor
        cursor.deeper()
        while cursor.word.kind != "end" and not cursor.at("end", "else", "elif"):
            if not cursor.accept("\n"):
                self.statement()
        if ends and not cursor.at(*ends):
            cursor.fail(f"the block is never closed by {ends[-1]!r}", valid=" or ".join(map(repr, ends)))
        cursor.higher()

    def statement(self) -> None:
        cursor = self.cursor
        at = cursor.word
        self.draft.step(at)
        if cursor.accept("def"):
            self.definition(at)
        elif cursor.accept("while"):
            repeat(self.draft, at, self.scope.values, self.test, lambda: self.statements("end"), self.leave(at))
        elif cursor.accept("if"):
            self.branch(at)
        elif cursor.accept("halt"):
            raise _UrscriptHalt
        elif cursor.accept("break"):
            raise BreakLoop
        elif cursor.at("thread", "sec", "return", "join", "kill", "run"):
            cursor.fail("threads and returned values are not followed", valid="statements of one sequence")
        else:
            self.assignment_or_call(at)
        if cursor.word.kind != "end":
            cursor.expect("\n")

    def leave(self, at: Token) -> Callable[[], None]:
        def go() -> None:
            BLOCKS.skip(self.cursor, at, "end")
            self.cursor.take()

        return go

    def test(self) -> bool:
        value = condition(self.cursor, self.scope)
        self.cursor.expect(":")
        return value

    def definition(self, at: Token) -> None:
        cursor = self.cursor
        name = cursor.expect_name("the function's name")
        if name.key in self.functions or name.key in self.commands:
            cursor.fail(f"{name.text!r} is defined twice", at=name, valid="another name")
        cursor.expect("(")
        if not cursor.at(")"):
            cursor.fail("functions with parameters are not followed", valid="')'")
        cursor.take()
        cursor.expect(":")
        self.functions[name.key] = cursor.index
        self.leave(at)()

    def branch(self, at: Token) -> None:
        cursor, done = self.cursor, False
        while True:
            if self.test() and not done:
                done = True
                self.statements("elif", "else", "end")
            else:
                BLOCKS.skip(cursor, at, "elif", "else", "end")
            if not cursor.accept("elif"):
                break
        if cursor.accept("else"):
            cursor.expect(":")
            if done:
                BLOCKS.skip(cursor, at, "end")
            else:
                self.statements("end")
        cursor.expect("end")

    def assignment_or_call(self, at: Token) -> None:
        cursor = self.cursor
        declared = cursor.accept("global", "local")
        name = cursor.expect_name("a statement")
        if cursor.accept("="):
            self.scope.values[name.key] = evaluate(cursor, self.scope)
        elif declared is None and cursor.at("(") and name.key in self.commands:
            self.commands[name.key](name)
        elif declared is None and cursor.at("(") and name.key in self.functions:
            self.call(name)
        elif declared is None and cursor.at("(") and name.key in SILENT:
            arguments(cursor, self.scope, ())
            self.draft.note(name.line, f"{name.text} moves nothing and is left out")
        elif name.key.startswith(INPUTS):
            cursor.fail(f"{name.text!r} is only known while the cell runs", at=name, valid="numbers of the program")
        else:
            cursor.unknown("unknown word", [*self.commands, *self.functions, "while", "if", "name = …"], at=name)

    def call(self, name: Token) -> None:
        cursor = self.cursor
        cursor.expect("(")
        cursor.expect(")")
        self.calls += 1
        if self.calls > MAX_CALLS:
            cursor.fail(f"calls inside calls, more than {MAX_CALLS} deep: endless?", at=name, valid="fewer calls")
        after, cursor.index = cursor.index, self.functions[name.key]
        self.statements("end")
        cursor.index = after
        self.calls -= 1

    def atom(self, cursor: Cursor) -> object:
        """Read lists, poses and the functions of the language."""
        word = cursor.word
        if cursor.at("p") and cursor.ahead().key == "[":
            cursor.take()
            return pose_value(cursor, self.scope, word)
        if cursor.accept("["):
            values = [evaluate(cursor, self.scope)]
            while cursor.accept(","):
                values.append(evaluate(cursor, self.scope))
            cursor.expect("]")
            return values
        if word.kind == "name" and word.key in FUNCTIONS and cursor.ahead().key == "(":
            cursor.take()
            return FUNCTIONS[word.key](arguments(cursor, self.scope, ("a", "b")), word)
        return None

    # --- commands -----------------------------------------------------------------------------------------------------

    def move(self, at: Token, given: Arguments, speed: Speed, acceleration: Acceleration, **parts: Any) -> None:
        cursor = self.cursor
        seconds = given.number("t", 0.0)
        radius = given.number("r", 0.0)
        self.draft.add(
            at,
            speed=cursor.located(given.place("t"), Duration, seconds) if seconds else speed,
            acceleration=acceleration,
            blend=cursor.located(given.place("r"), Distance, radius) if radius else Stop(),
            T_flange_tool=self.tool,
            payload=self.payload,
            **parts,
        )

    def movej(self, at: Token) -> None:
        given = arguments(self.cursor, self.scope, ("q", "a", "v", "t", "r"))
        speed = self.cursor.located(given.place("v"), LeadingAxis, given.number("v", 1.05))
        acceleration = self.cursor.located(given.place("a"), LeadingAxis, given.number("a", 1.4))
        self.move(at, given, speed, acceleration, kind="joint", target=given.target("q"))

    def tool_rates(self, given: Arguments) -> tuple[ToolRate, ToolRate]:
        speed = self.cursor.located(given.place("v"), ToolRate, given.number("v", 0.25))
        return speed, self.cursor.located(given.place("a"), ToolRate, given.number("a", 1.2))

    def movel(self, at: Token) -> None:
        names = ("pose", "a", "v", "t", "r") if at.key == "movel" else ("pose", "a", "v", "r")
        given = arguments(self.cursor, self.scope, names)
        if at.key == "movep":
            self.draft.note(at.line, "movep is read as a line at constant tool speed", once=True)
        self.move(at, given, *self.tool_rates(given), kind="line", target=given.target("pose"))

    def movec(self, at: Token) -> None:
        given = arguments(self.cursor, self.scope, ("pose_via", "pose_to", "a", "v", "r", "mode"))
        mode = given.number("mode", 0.0)
        if mode not in (0.0, 1.0):
            self.cursor.fail(f"movec has no mode {mode:g}", at=given.place("mode"), valid="0 or 1")
        parts: dict[str, Any] = {
            "via": Pose(given.pose("pose_via"), oriented=False),
            "target": Pose(given.pose("pose_to"), oriented=mode == 0.0),
            "orientation": "with_path" if mode else "slerp",
        }
        self.move(at, given, *self.tool_rates(given), kind="arc", **parts)

    def set_tcp(self, at: Token) -> None:
        self.tool = arguments(self.cursor, self.scope, ("pose",)).pose("pose")

    def set_payload(self, at: Token) -> None:
        given = arguments(self.cursor, self.scope, ("m", "cog", "inertia"))
        com = given.numbers("cog", 3, (0.0, 0.0, 0.0))
        six = given.numbers("inertia", 6, ())
        tensor = None
        if six:
            xx, yy, zz, xy, xz, yz = six
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        self.payload = self.cursor.located(at, Payload, given.number("m"), np.asarray(com), tensor)

    def sleep(self, at: Token) -> None:
        seconds = arguments(self.cursor, self.scope, ("t",)).number("t")
        wait = self.cursor.located(at, Duration, seconds)
        self.draft.add(at, kind="wait", target=None, speed=wait)
