# SPDX-License-Identifier: Apache-2.0
"""URScript that nobody meant, against the virtual controller: what gets out but its own messages, what a tick costs.

python docs/measure_lab_texts.py TEXTS [SEED] [FILE.script …]

Texts are made by the grammar out of the table of functions, or are programs with words and letters changed: those of
`examples/programs`, and files given. Four in five go to a script port's reader, one in five line by line to interpreter
mode, each with some ticks of the controller. An *escape* is an exception of Python in the reader, the compiler or a
tick, or a message "internal_error"; compiling is done beside the clock in the lab, so it is not part of a tick here.
Printed are texts, escapes, ticks, and ticks above `MOST_CPU` of processor time; whatever was found is printed with its
text. A slow tick may be the machine's: its text is tried three times more, and what comes again is counted. The exit
code is 1 if there was an escape, or a slow tick that came again.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import armwright as aw
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.controller_messages import RuntimeExceptionMessage
from armwright.lab.controller.controller_states import ControllerState
from armwright.lab.controller.published import values
from armwright.lab.lab_plant import LabPlant
from armwright.lab.script.script_compiler import compile_script
from armwright.lab.script.script_faults import ScriptError
from armwright.lab.script.script_host import ScriptHost
from armwright.lab.stand import HOME
from armwright.lab.wire.interpreter_mode import InterpreterConnection
from armwright.lab.wire.primary import message
from armwright.lab.wire.script_stream import ScriptReader
from armwright.lab.wire.secondary import robot_state
from armwright.urscript import BUILTINS

MOST_CPU = 5e-3  # [s] of a tick
LONG_TEXT = 10_000  # bytes of a program that is taken only now and then: it takes 0.1 s to compile
LONG_SHARE = 0.01
TICKS, MANY_TICKS, MANY_SHARE = 5, 600, 0.003  # of the controller that a text gets
MOST_LINES = 30  # of a text that goes to interpreter mode
WORDS = (
    *("[", "]", "(", ")", "end", "while True:", "if", "=", "-", "1e9", '"', "p[", "global", "run", "\n", ":", "0"),
    *("kill", "def f():", "thread t():", "local", "return", "struct(", ".append(", "2147483647", "nan", "1e308", "'"),
    *("halt", "sync()", "break", "movej(", "servoj(", "q", "not", "xor", "%", "/ 0", "#", "$ 1", ";", ",", "join"),
)
LETTERS = (9, 34, 35, 39, 92, 233, 0x4E00, *range(32, 127))
ODD = ("sync()", "halt", "join h", "kill h", "run t()", "f(1)", "f(b=2, a=3)", "enter_critical", "sleep(0)")
VALUES = ("number", "number", "name", "text", "list", "pose", "joints", "truth", "sum", "call", "not")
NAMES = ("a", "b", "c", "q", "i", "f", "g", "t", "list", "str", "t0")


def mutated(text: str, chance: random.Random) -> str:
    """Return a text with some pieces taken out, put in, doubled or replaced."""
    for _ in range(chance.randint(1, 4)):
        at, kind, size = chance.randrange(len(text) or 1), chance.randrange(4), chance.choice((1, 1, 3, 20, 80))
        if kind == 0:
            text = text[:at] + text[at + size :]
        elif kind == 1:
            text = f"{text[:at]} {chance.choice(WORDS)} {text[at:]}"
        elif kind == 2:
            other = chance.randrange(len(text) or 1)
            text = text[:at] + text[other : other + size] + text[at:]
        else:
            text = text[:at] + chr(chance.choice(LETTERS)) + text[at + 1 :]
    return text or "a"


class ProgramMaker:
    """Makes programs by the grammar: they read well and mean nothing."""

    def __init__(self, chance: random.Random) -> None:
        """Take the source of chance."""
        self._chance = chance
        self._functions = [row for row in BUILTINS.values() if row.told]

    def program(self) -> str:
        """Return a program with a function and a thread."""
        parts = [f"  global {name} = {self.value(1)}\n" for name in self._chance.sample(NAMES[:5], 3)]
        parts += ["  def f(a, b=2):\n", self.block(2, 2), f"    return {self.value(2)}\n  end\n"]
        parts += ["  thread t():\n", self.block(2, 2), "  end\n", "  h = run t()\n", self.block(1, 3)]
        return f"def prog():\n{''.join(parts)}end\n"

    def block(self, depth: int, most: int) -> str:
        """Return statements."""
        return "".join(self.statement(depth) for _ in range(self._chance.randint(1, most + 1)))

    def statement(self, depth: int) -> str:
        """Return a statement, which may have a block."""
        chance, space = self._chance, "  " * depth
        kind = chance.choice(("set", "set", "call", "call", "call", "if", "while", "item", "part", "list", "odd"))
        if depth > 4 and kind in ("if", "while"):
            kind = "call"
        name = chance.choice(NAMES)
        if kind == "set":
            return f"{space}{chance.choice(('', '', 'local ', 'global '))}{name} = {self.value(0)}\n"
        if kind == "item":
            return f"{space}{name}[{self.value(1)}] = {self.value(1)}\n"
        if kind == "part":
            return f"{space}{name}.{chance.choice(NAMES)} = {self.value(1)}\n"
        if kind == "list":
            method = chance.choice(("append", "pop", "insert", "remove", "extend", "clear", "slice", "length", "zip"))
            return f"{space}{name}.{method}({self.values(chance.randrange(3))})\n"
        if kind == "if":
            other = f"{space}else:\n{self.block(depth + 1, 1)}" if chance.random() < 0.5 else ""
            return f"{space}if {self.value(0)}:\n{self.block(depth + 1, 2)}{other}{space}end\n"
        if kind == "while":
            return f"{space}while {self.value(0)}:\n{self.block(depth + 1, 2)}{space}end\n"
        if kind == "odd":
            said = (
                "sync()",
                "halt",
                "join h",
                "kill h",
                "run t()",
                "f(1)",
                "f(b=2, a=3)",
                "enter_critical",
                "sleep(0)",
            )
            return f"{space}{chance.choice(said)}\n"
        return f"{space}{self.call(0)}\n"

    def call(self, depth: int) -> str:
        """Return a call of a function of the table, mostly with as many arguments as fit."""
        row = self._chance.choice(self._functions)
        count = self._chance.randint(row.fewest, len(row.names)) + (self._chance.random() < 0.02)
        return f"{row.name}({self.values(count, depth + 1)})"

    def values(self, count: int, depth: int = 1) -> str:
        """Return values with commas between."""
        return ", ".join(self.value(depth) for _ in range(count))

    def value(self, depth: int) -> str:
        """Return a value of any kind, or what works one out."""
        chance = self._chance
        kind = chance.choice(
            ("number", "number", "name", "text", "list", "pose", "joints", "truth", "sum", "call", "not")
        )
        if depth > 3 and kind in ("sum", "call", "list", "not"):
            kind = "number"
        if kind == "number":
            return chance.choice(("0", "1", "-1", "2", "0.5", "100", "1e-9", "1e300", "-2147483648", "65537", "0.001"))
        if kind == "name":
            return chance.choice(NAMES)
        if kind == "text":
            return chance.choice(('"a"', '""', '"127.0.0.1"', '"(1, 2)"', '"é"', "'b'"))
        if kind == "list":
            return f"[{self.values(chance.randrange(4), depth + 1)}]"
        if kind == "pose":
            return "p[0.3, 0.2, 0.4, 0, 3.1, 0]" if chance.random() < 0.7 else f"p[{self.values(6, 4)}]"
        if kind == "joints":
            return f"[{', '.join(f'{chance.uniform(-2, 2):.2f}' for _ in range(6))}]"
        if kind == "truth":
            return chance.choice(("True", "False"))
        if kind == "call":
            return self.call(depth)
        if kind == "not":
            return f"{chance.choice(('not', '-'))} ({self.value(depth + 1)})"
        sign = chance.choice(("+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "and", "or", "xor", "^"))
        return f"({self.value(depth + 1)} {sign} {self.value(depth + 1)})"


class TriedController:
    """A controller without sockets that gets texts; see the module's text for what is counted."""

    def __init__(self) -> None:
        """Make the arm."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._plant = LabPlant(aw.load("ur5"), q0=HOME)
        self.counts: Counter[str] = Counter()
        self.found: list[dict[str, object]] = []
        self.slow: list[tuple[float, str]] = []
        self.worst = 0.0
        self._renew()

    def _renew(self) -> None:
        arm = self._plant
        arm.live.reset(HOME)
        arm.live.inputs["push"][...] = 0.0
        arm.told(0.0, np.zeros(3))
        arm.tcp[...] = 0.0
        self.c = Controller(arm, e_series=True, software="5.25.1")
        self.c.settle()
        self.host = ScriptHost(self.c)

    def close(self) -> None:
        """End its threads."""
        self.host.close()
        self.c.solver.close()

    def ticks(self, count: int, text: str) -> None:
        """Let time pass; measure each tick."""
        for _ in range(count):
            begun = time.thread_time()
            self.c.tick()
            records = self.c.outbox.take()
            said = b"".join(message(record, self.c.time) for record in records)
            cost = time.thread_time() - begun
            self.counts["ticks"] += 1
            self.counts["bytes said"] += len(said)
            self.worst = max(self.worst, cost)
            if cost > MOST_CPU:
                self.counts["slow ticks"] += 1
                self.slow.append((cost, text))
            for record in records:
                self.counts["messages"] += 1
                if isinstance(record, RuntimeExceptionMessage) and "internal_error" in record.text:
                    self.counts["escapes"] += 1
                    self.found.append({"escape": record.text, "text": text})

    def unit(self, unit: str, text: str, ticks: int) -> None:
        """Compile one program and let it run."""
        try:
            self.host._found.append(compile_script(unit, self.c.version))
        except ScriptError as error:
            self.host._found.append(error)
        self.host._waiting += 1
        self.counts["programs"] += 1
        self.ticks(ticks, text)

    def text(self, text: str, ticks: int) -> None:
        """Send a text to a script port."""
        reader, buffer = ScriptReader(), bytearray(text.encode() + b"\n")
        while True:
            before = len(buffer)
            try:
                unit = reader.take(buffer)
            except ValueError:  # too long: the connection ends
                return
            if unit is not None:
                self.unit(unit, text, ticks)
            elif len(buffer) == before:
                return

    def lines(self, text: str) -> None:
        """Send a text to interpreter mode, a line each."""
        self.unit("def inter():\n  interpreter_mode()\nend\n", text, 3)
        talk = InterpreterConnection(lambda: getattr(self.c.program, "interpreter", None))
        buffer = bytearray(text.encode() + b"\n")
        for _ in range(MOST_LINES):
            try:
                if talk.take(buffer) is None:
                    break
            except ValueError:
                break
            self.counts["statements"] += 1
            self.ticks(1, text)
        self.ticks(TICKS, text)

    def try_text(self, text: str, ticks: int, *, by_line: bool) -> None:
        """Send a text one way or the other; whatever comes out of it is counted."""
        self.counts["texts"] += 1
        try:
            if by_line:
                self.lines(text)
            else:
                self.text(text, ticks)
            robot_state(values(self.c))
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            self.counts["escapes"] += 1
            self.found.append({"escape": f"{error!r:.200}", "text": text})
            self._renew()
        if self.c.state not in (ControllerState.READY, ControllerState.PLAYING):
            self.counts["stopped arms"] += 1
            self.close()
            self._renew()


def again(slow: list[tuple[float, str]]) -> list[dict[str, object]]:
    """Try texts that had a slow tick three times each way; return those that have one again."""
    found: list[dict[str, object]] = []
    for cost, text in slow:
        for by_line in (False, True):
            count = 0
            for _ in range(3):
                lab = TriedController()
                lab.ticks(8, "")
                before = len(lab.slow)
                lab.try_text(text, MANY_TICKS, by_line=by_line)
                count += len(lab.slow) > before
                lab.close()
            if count:
                found.append({"tick ms": round(1e3 * cost, 2), "again, of three": count, "text": text})
    return found


def texts(chance: random.Random, files: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield texts without end, and whether they go to interpreter mode."""
    maker = ProgramMaker(chance)
    folder = Path(__file__).parents[1] / "examples" / "programs"
    programs = [Path(name).read_text(encoding="utf-8") for name in files]
    programs += [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.script"))]
    long = [text for text in programs if len(text) > LONG_TEXT]
    short = [text for text in programs if len(text) <= LONG_TEXT]
    pieces = [line for text in programs for line in text.splitlines(keepends=True)]
    while True:
        kind = chance.random()
        if long and kind < LONG_SHARE:
            text = mutated(chance.choice(long), chance)
        elif kind < 0.25:
            at = chance.randrange(len(pieces))
            text = mutated("".join(pieces[at : at + chance.randint(1, 25)]), chance)
        elif kind < 0.35:
            text = mutated(chance.choice(short), chance)
        else:
            text = maker.program()
            text = mutated(text, chance) if chance.random() < 0.5 else text
        yield text, chance.random() < 0.2


def main() -> int:
    """Try and print."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    chance = random.Random(seed)
    lab = TriedController()
    gc.freeze()
    gc.disable()  # as the lab's process does while it ticks
    told = tried = came = 0
    for number, (text, by_line) in enumerate(texts(chance, sys.argv[3:]), 1):
        lab.try_text(text, MANY_TICKS if chance.random() < MANY_SHARE else TICKS, by_line=by_line)
        if number % 200 == 0:
            gc.collect(1 if number % 4000 else 2)
        if number % 2500 == 0 or number == count:
            slow = again(lab.slow[tried:])
            tried, came = len(lab.slow), came + len(slow)
            tell = {"seed": seed, **lab.counts, "worst ms": round(1e3 * lab.worst, 2), "slow again": came}
            sys.stdout.write(json.dumps(tell) + "\n")
            for one in [*lab.found[told:], *slow]:
                sys.stdout.write(json.dumps(one, ensure_ascii=False) + "\n")
            told = len(lab.found)
            sys.stdout.flush()
        if number == count:
            break
    lab.close()
    return 1 if lab.found or came else 0


if __name__ == "__main__":
    raise SystemExit(main())
