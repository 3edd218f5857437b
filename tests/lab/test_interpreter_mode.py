# SPDX-License-Identifier: Apache-2.0
"""Dialogues of the interpreter mode's port: numbers, reasons, states; and streams of strangers."""

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.lab.wire.interpreter_mode import MOST_STATEMENT, NOT_IN_MODE, InterpreterConnection


class Taker:
    """Takes statements that end with a bracket, three at most."""

    def __init__(self):
        self.waiting, self.done = [], []
        self.last_interpreted = self.last_executed = self.last_cleared = 0

    @property
    def unexecuted(self):
        return len(self.waiting)

    def accept(self, statement):
        if not statement.endswith(")"):
            raise InputError("syntax error on\nline 1")
        if len(self.waiting) == 3:
            raise InputError("too many wait")
        self.last_interpreted += 1
        self.waiting.append(statement)
        return self.last_interpreted

    def skip(self):
        self.last_cleared, self.waiting = self.last_interpreted, []
        return self.last_cleared

    def abort(self):
        self.done.append("stopped")
        return self.last_interpreted


def dialogue(talk, text):
    buffer, out = bytearray(text.encode()), b""
    while (said := talk.take(buffer)) is not None:
        out += said
    return out.decode().splitlines()


def test_statements_are_numbered_or_discarded_with_the_reason():
    taker = Taker()
    talk = InterpreterConnection(lambda: taker)
    said = dialogue(
        talk, "movej(a)\n  movel(b)  \nmovel(\n\nstateunexecuted\nstatelastinterpreted\nsleep(1)\nsleep(2)\n"
    )
    assert said == [
        "ack: 1: movej(a)",
        "ack: 2: movel(b)",
        "discard: syntax error on line 1: movel(",
        "state: 2: stateunexecuted",
        "state: 2: statelastinterpreted",
        "ack: 3: sleep(1)",
        "discard: too many wait: sleep(2)",
    ]


def test_what_waits_can_be_skipped_and_aborted():
    taker = Taker()
    talk = InterpreterConnection(lambda: taker)
    assert dialogue(talk, "a()\nskipbuffer\nstatelastcleared\nb()\nabort\nstatelastexecuted\n") == [
        "ack: 1: a()",
        "ack: 1: skipbuffer",
        "state: 1: statelastcleared",
        "ack: 2: b()",
        "ack: 2: abort",
        "state: 0: statelastexecuted",
    ]
    assert taker.done == ["stopped"] and taker.waiting == ["b()"]


def test_without_a_program_in_interpreter_mode_everything_is_discarded():
    takers = []
    talk = InterpreterConnection(lambda: takers[0] if takers else None)
    assert dialogue(talk, "movej(a)\nabort\n") == [
        f"discard: {NOT_IN_MODE}: movej(a)",
        f"discard: {NOT_IN_MODE}: abort",
    ]
    takers.append(Taker())  # it is looked for anew with every line
    assert dialogue(talk, "movej(a)\n") == ["ack: 1: movej(a)"]


def test_every_line_gets_one_line():
    random, talk = np.random.default_rng(6), InterpreterConnection(Taker)
    for _ in range(500):
        line = random.integers(0, 256, int(random.integers(1, 300))).astype(np.uint8).tobytes().replace(b"\n", b"")
        said = talk.take(bytearray(line + b"\n"))
        assert said == b"" or (said.count(b"\n") == 1 and said.split(b":")[0] in (b"ack", b"discard"))
    with pytest.raises(ValueError, match="line"):
        talk.take(bytearray(b"x" * (MOST_STATEMENT + 2)))
