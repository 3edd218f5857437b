# SPDX-License-Identifier: Apache-2.0
"""RAPID's instructions that say how the arm moves, set outputs, wait or change variables."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    UnknownPart,
    Value,
    ValueTrouble,
    number_of,
    unknown_in,
)
from armwright.programs.interpreter.reading_notes import Obstacle
from armwright.programs.languages.program_draft import MM, PERCENT
from armwright.programs.languages.rapid_data import load_of, matrix
from armwright.programs.languages.rapid_quiet import GIVING
from armwright.programs.languages.rapid_values import RapidValues
from armwright.programs.program import Distance, Duration, Fraction, Payload, Stop, ToolRate
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Node
from armwright.syntax.scanner import Token
from armwright.types import Array

CHANGES = ("incr", "decr", "add", "clear")
PLAIN = ("num", "dnum", "string", "bool", "byte", "rawbytes", "")
"""Types of data that routines give back: counts, measurements, answers. Targets are most often what they lead to."""


class RapidSettings(RapidValues):
    """The controller's state and the instructions that change it."""

    def begin(self) -> None:
        """Begin as a controller does: full speed and acceleration, nothing gripped."""
        self.grip: Payload | Unknown | None = None
        self.share = Fraction(1.0)
        self.path_acceleration: ToolRate | None = None
        self.on_circles: Value = "with_path"
        self.override, self.most_speed = 1.0, 0.0
        self.watched = frozenset(("confj", "confl"))  # kinds of moves whose status counts: MoveJ, and those of the tool
        self.shift: Array | Unknown | None = None
        self.commands: dict[str, Callable[[Token, list[Argument], dict[str, Argument]], None]] = {
            "waittime": self.wait,
            "gripload": self.grip_load,
            "accset": self.acc_set,
            "velset": self.vel_set,
            "pathacclim": self.path_acc_lim,
            "cirpathmode": self.cir_path_mode,
            **dict.fromkeys(("confj", "confl"), self.watch_status),
            "pdispset": self.displace,
            "pdispon": self.displace,
            "pdispoff": self.displace,
            **dict.fromkeys(CHANGES, self.change),
            **dict.fromkeys(("set", "reset", "setdo", "setgo", "setao", "invertdo"), self.output),
            **dict.fromkeys(("waitdi", "waitdo", "waitgi", "waitgo", "waitai", "waitao"), self.wait_for),
            "waituntil": self.wait_until,
            "waitrob": self.wait_rob,
            "connect": self.connect,
            **dict.fromkeys(("trynext", "retry"), self.outside_handler),
            **dict.fromkeys(("stop", "stopmove", "break", "systemstopaction"), self.pause),
            **dict.fromkeys(("callbyvar", "%"), self.late_call),
        }

    def machine(self) -> Value:
        """Return the state that moves depend on."""
        names = (
            "grip",
            "share",
            "path_acceleration",
            "on_circles",
            "override",
            "most_speed",
            "shift",
            "external",
            "watched",
        )
        return {name: getattr(self, name) for name in (*names, "last")} | {"outputs": dict(self.outputs)}

    def set_machine(self, state: Value) -> None:
        """Set what `machine` returned."""
        for name, value in state.items():
            setattr(self, name, value)

    def given(self, argument: Argument, kind: str) -> Value:
        """Return an argument as data of a type; unknown parts make a gap."""
        value = self.value(argument.value)
        found = unknown_in(value)
        if found is not None:
            raise UnknownPart(found)
        made = self.fit(value, kind, argument.at)
        found = unknown_in(made)
        if found is not None:
            raise UnknownPart(found)
        return made

    def used(self, make: Callable[[RecordValue], Any], data: RecordValue, at: Token) -> Value:
        """Return what a record means; what does not fit is told where the record was written."""
        try:
            return self.notes.draft.cursor.located(data.at or at, make, data)
        except ValueTrouble as trouble:
            self.notes.obstacle(str(trouble), data.at or at, trouble.valid)

    def amount(self, argument: Argument) -> float:
        """Return an option's number."""
        value = self.value(argument.value) if argument.value is not None else Unknown(f"\\{argument.at.text} is empty")
        if isinstance(value, Unknown):
            raise UnknownPart(value)
        return float(number_of(value, f"a number for \\{argument.at.text}"))

    # --- settings -----------------------------------------------------------------------------------------------------

    def known_number(self, argument: Argument, what: str) -> float:
        """Return an argument that must be a known number."""
        value = self.value(argument.value)
        if isinstance(value, Unknown):
            self.notes.obstacle(f"{what} is not known: {value.reason}", argument.at, "a known number, or --define")
        return float(number_of(value, what))

    def grip_load(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """``GripLoad load``: in the frame of the tool that moves."""
        if not placed:
            self.notes.obstacle("GripLoad names no load", at, "load0 or another load")
        try:
            self.grip = self.used(load_of, self.given(placed[0], "loaddata"), at)
        except UnknownPart as gap:
            self.grip = gap.unknown
            self.notes.note(at.line, f"the load is not known: {gap.unknown.reason}", once=True)

    def watch_status(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        r"""``ConfJ`` and ``ConfL``: with ``\Off`` the status of targets does not count."""
        self.watched = self.watched - {at.key} if "off" in named else self.watched | {at.key}

    def acc_set(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """``AccSet acceleration, ramp`` in percent; the ramp is a matter of jerk and is left out."""
        if len(placed) != 2:
            self.notes.obstacle("AccSet needs two numbers", at, "percent, percent")
        percent, ramp = (self.known_number(a, "percent") for a in placed)
        percent = min(max(percent, 20.0), 100.0) if percent > 100.0 else percent
        self.share = self.notes.draft.cursor.located(at, Fraction, percent / PERCENT)
        if ramp != PERCENT:
            self.notes.note(at.line, "the ramp of AccSet is left out", once=True)

    def vel_set(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """``VelSet override, highest``: percent of every speed from here on, and mm/s that none exceeds."""
        if len(placed) != 2:
            self.notes.obstacle("VelSet needs two numbers", at, "percent, mm/s")
        percent, most = (self.known_number(a, what) for a, what in zip(placed, ("percent", "mm/s"), strict=True))
        self.override = self.notes.draft.cursor.located(at, Fraction, percent / PERCENT).value
        self.most_speed = most / MM

    def path_acc_lim(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        r"""``PathAccLim TRUE \AccMax:=a, TRUE \DecelMax:=d`` in m/s², for lines and circles."""
        limits = []
        for argument, name in zip(placed, ("accmax", "decelmax"), strict=False):
            if self.value(argument.value) is True:
                if name not in named:
                    self.notes.obstacle(f"{at.text} TRUE needs its size", argument.at, f"\\{name}:=… (m/s²)")
                limits.append(self.known_number(named[name], "m/s²"))
        self.path_acceleration = self.notes.draft.cursor.located(at, ToolRate, min(limits)) if limits else None
        if len(set(limits)) == 2:
            self.notes.note(at.line, "the smaller of AccMax and DecelMax is used for both")

    def cir_path_mode(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        r"""``CirPathMode \PathFrame`` or ``\ObjectFrame``."""
        if len(named) != 1:
            self.notes.obstacle("CirPathMode needs one option", at, "\\PathFrame or \\ObjectFrame")
        self.on_circles = "with_path" if "pathframe" in named else "slerp"
        if not named.keys() & {"pathframe", "objectframe"}:
            self.notes.note(at.line, f"CirPathMode \\{next(iter(named))} is taken as \\ObjectFrame", once=True)

    def displace(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Shift all targets that follow (``PDispSet pose``), or none any more."""
        if at.key == "pdispset" and placed:
            try:
                self.shift = self.used(matrix, self.given(placed[0], "pose"), at)
            except UnknownPart as gap:
                self.shift = gap.unknown
                self.notes.note(at.line, f"the displacement is not known: {gap.unknown.reason}", once=True)
        elif at.key == "pdispon":
            self.shift = Unknown("the displacement of PDispOn depends on where the arm stands", ("PDispOn",))
        else:
            self.shift = None

    def change(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """``Incr x``, ``Decr x``, ``Add x, y``, ``Clear x``."""
        if len(placed) != (2 if at.key == "add" else 1):
            self.notes.obstacle(f"{at.text} does not fit its arguments", at, "a variable")
        place = self.place(placed[0].value)
        by = self.value(placed[1].value) if at.key == "add" else {"incr": 1.0, "decr": -1.0}.get(at.key, 0.0)
        old = place.value
        if at.key == "clear":
            self.store(place, 0.0, at)
        elif isinstance(old, Unknown) or isinstance(by, Unknown):
            self.store(place, Unknown(f"{placed[0].at.text} is not known", (placed[0].at.text,)), at)
        else:
            self.store(place, number_of(old) + number_of(by), at)

    # --- signals and waiting ------------------------------------------------------------------------------------------

    def output(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Set an output, which a later test may read."""
        self.notes.note(at.line, f"{at.text} moves nothing and is left out", once=True)
        if placed and isinstance(placed[0].value, tree.Name):
            value: Value = {"set": 1.0, "reset": 0.0}.get(at.key)
            if value is None:
                value = self.value(placed[1].value) if len(placed) > 1 else Unknown("an output", (placed[0].at.text,))
            self.tell_unknown(value, placed[0].at)
            self.outputs[placed[0].at.key] = value

    def wait(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        r"""``WaitTime [\InPos,] seconds``."""
        value = self.value(placed[0].value) if placed else 0.0
        if isinstance(value, Unknown):
            self.notes.assume(at.line, f"how long this waits is not known ({value.reason}): 0 s", "--define")
            return
        seconds = self.notes.draft.cursor.located(at, Duration, float(number_of(value, "seconds")))
        self.notes.draft.add(at, kind="wait", target=None, speed=seconds)

    def wait_for(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Take an input for having the value that is waited for, from here on."""
        self.halted(at)
        if len(placed) < 2:
            return
        name, value = placed[0].at, self.value(placed[-1].value)
        self.notes.wait_of(self.options, at, (name.text,), f"{at.text} {name.text}")
        if isinstance(placed[0].value, tree.Name) and not isinstance(value, Unknown):
            self.outputs[name.key] = value
            self.inputs.pop(name.key, None)

    def wait_until(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Take a condition for met, and the inputs in it for having the values that are compared with."""
        self.halted(at)
        if not placed:
            return
        value = self.value(placed[-1].value)
        if isinstance(value, Unknown):
            names = ", ".join(value.names) or value.reason
            self.notes.wait_of(self.options, at, value.names, f"{at.text} {names}")
            self.met(placed[-1].value)

    def connect(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """``CONNECT number WITH trap``: the trap is not run; what it sets may be another value at any time."""
        self.notes.note(at.line, f"{at.text}: the interrupt never comes here", once=True)
        if placed:
            self.changed_by(placed[0].at.key, placed[0].at.text)

    def targets_of(self, statement: Node) -> list[Node]:
        """Return what a statement sets, instructions such as Incr and those that give something included."""
        if isinstance(statement, tree.Invoke) and (statement.at.key in CHANGES or statement.at.key in GIVING):
            return [argument.value for argument in statement.arguments]
        return super().targets_of(statement)

    def wait_rob(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        r"""``WaitRob \InPos`` or ``\ZeroSpeed``: the arm stands before the program goes on."""
        self.halted(at)
        self.notes.note(at.line, f"{at.text}: the arm stands there, and goes on", once=True)

    def met(self, node: Node) -> None:
        """Give the inputs of a condition the values with which it holds."""
        if isinstance(node, tree.Binary) and node.sign == "and":
            self.met(node.left)
            self.met(node.right)
        elif isinstance(node, tree.Binary) and node.sign == "=" and isinstance(node.left, tree.Name):
            self.becomes(node.left, self.value(node.right))
        elif isinstance(node, tree.Name):
            self.becomes(node, True)

    def becomes(self, name: tree.Name, value: Value) -> None:
        """Give an input, or a variable that an interrupt sets, the value that was waited for."""
        cell = self.scopes.find(self.frame, name.at.key)
        if isinstance(value, Unknown):
            return
        if cell is None:
            self.outputs[name.at.key] = value
        elif cell.changer and name.at.key not in self.inputs:
            cell.value = value

    def halted(self, at: Token) -> None:
        """Let the arm come to rest at the last target: a wait ends a zone."""
        moves = self.notes.draft.moves
        if moves and isinstance(moves[-1].blend, Distance):
            moves[-1] = replace(moves[-1], blend=Stop())
            self.notes.note(at.line, f"{at.text} ends the zone of the move before it: the arm stops there", once=True)

    def pause(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Go on behind a stop for the operator."""
        self.halted(at)
        self.notes.assume(at.line, f"{at.text} waits for a person and goes on; that time is not counted")

    def outside_handler(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Refuse what only the error part of a routine may have: those parts do not run, so this is outside of one."""
        first = self.frame.routine.at.line if self.frame.routine is not None else at.line
        message = f"{at.text} stands in no error part: is ERROR missing in lines {first} to {at.line}?"
        self.notes.obstacle(message, at, "ERROR before it")

    def late_call(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Call a routine whose name is worked out."""
        if at.key == "callbyvar" and not placed:
            self.notes.obstacle(f"{at.text} names no routine", at, 'CallByVar "name", number')
        name = self.value(named["%name"].value if at.key == "%" else placed[0].value)
        if at.key == "callbyvar" and isinstance(name, str) and len(placed) > 1:
            number = self.value(placed[1].value)
            name = number if isinstance(number, Unknown) else f"{name}{number_of(number):g}"
        if isinstance(name, Unknown) or not isinstance(name, str):
            self.notes.skip(at, "which routine is called here is not known; it may move the arm")
            return
        called = Token("name", name, name.lower(), at.line, at.column)
        self.statement(tree.Invoke(called, tuple(placed) if at.key == "%" else ()))

    def function(self, node: tree.FunctionCall) -> Value:
        """Return the value of a function of the language; StrToVal sets a variable, too."""
        return self.read_text(node) if node.at.key == "strtoval" else super().function(node)

    def read_text(self, node: tree.FunctionCall) -> Value:
        """``StrToVal(text, x)``: read a number; from a text that is not known, or not a number's, x is not known."""
        placed = [a for a in node.arguments if not a.name]
        text = self.value(placed[0].value) if len(placed) == 2 else None
        if isinstance(text, str):
            try:
                self.store(self.place(placed[1].value), float(text), node.at)
                return True
            except ValueError:
                if not text.strip():
                    return False
        self.forget(tuple(placed[1:]), node.at, "a text that is not known")
        return Unknown(f"{node.at.text} reads a text that is not known", (node.at.text,))

    def forget(
        self, arguments: tuple[Argument, ...], at: Token, what: str, kinds: Collection[str] | None = None
    ) -> None:
        """Take the variables that an instruction sets for not known; all of them, or those of some types."""
        for argument in arguments:
            node = argument.value
            if isinstance(node, tree.Name | tree.Index | tree.Member):
                try:
                    place = self.argument_place(node)
                    if place is not None and (kinds is None or place.kind in kinds):
                        name = argument.at.text
                        said = self.inputs.get(argument.at.key)
                        self.store(place, Unknown(f"{name} comes from {what}", (name,)) if said is None else said, at)
                except (ValueTrouble, Obstacle):
                    continue

    def spoil(self, arguments: tuple[Argument, ...]) -> None:
        """Forget the variables that a skipped routine may have changed; constants and targets stay."""
        if arguments:
            self.forget(arguments, arguments[0].at, "a routine that was skipped", PLAIN)
