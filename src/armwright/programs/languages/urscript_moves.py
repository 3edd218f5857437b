# SPDX-License-Identifier: Apache-2.0
"""URScript's instructions: moves, what later moves depend on, waits, and those that move nothing.

`v` and `a` of ``movej`` belong to the leading axis; `t` overrules both. ``movec`` in mode 1 keeps the orientation
relative to the arc, so that the target's own is not used. What contact or the running cell leads is a gap.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from armwright.kinematics import fk
from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    UnknownPart,
    Value,
    ValueTrouble,
    is_number,
    number_of,
    unknown_in,
)
from armwright.programs.languages.urscript_values import UrscriptValues, matrix_of, pose_from, pose_of
from armwright.programs.program import Distance, Duration, Joints, LeadingAxis, Payload, Pose, Stop, ToolRate
from armwright.programs.reading import ReadOptions
from armwright.spatial import inverse
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Node
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import near
from armwright.types import Array
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, MOTION, Builtin

JOINTS = 6


class UrscriptMoves(UrscriptValues):
    """The instructions of URScript."""

    def __init__(self, module: ScriptModule, options: ReadOptions) -> None:
        """Begin without tool and load, the arm somewhere."""
        super().__init__(module, options)
        self.tool: Array | Unknown | None = None
        self.payload: Payload | Unknown | None = None
        self.last: Joints | Array | None = None  # joints, or T_base_flange (4, 4)
        self.robot = options.robot if options.robot is not None and options.robot.n == JOINTS else None
        if self.robot is not None and options.start_q is not None:
            self.last = Joints(options.start_q)
        self.label = ""
        self.load_at_tool = False  # the load's centre of mass is the tool point
        self.pressed = False  # force_mode is on
        self.moving: dict[str, set[str]] = {}  # threads under way that move the arm, and the variables they set

    def machine(self) -> Value:
        """Return the state of the controller that moves depend on."""
        return self.tool, self.payload, self.last, self.pressed, self.load_at_tool, dict(self.moving)

    def set_machine(self, state: Value) -> None:
        """Set what `machine` returned."""
        self.tool, self.payload, self.last, self.pressed, self.load_at_tool, moving = state
        self.moving = dict(moving)

    # --- instructions -------------------------------------------------------------------------------------------------

    def instruction(self, at: Token, arguments: tuple[Argument, ...]) -> bool:
        """Carry out an instruction; False if the language has none of this name."""
        key = at.key
        if key == "$":
            texts = [a.value.value for a in arguments if a.at.kind == "string"]
            self.label = texts[0] if texts else ""
            return True
        if key in ("run", "join", "kill"):
            if key == "run":
                self.run_thread(arguments[0].at)
            elif arguments:
                self.end_thread(arguments[0].value)
            return True
        if key.startswith("."):
            self.method(tree.FunctionCall(at, arguments))
            return True
        row = BUILTINS.get(key)
        if row is None:
            return False
        if row.does == "led":
            for argument in arguments:
                self.value(argument.value)
            self.led(row, at)
        elif row.does in ("quiet", "cell", "value", "state"):
            for argument in arguments:
                self.value(argument.value)
            stops = "; it stops for a person" if key == "popup" else ""
            if key != "textmsg" or not stops:
                self.notes.note(at.line, f"{at.text} moves nothing and is left out{stops}", once=True)
            if row.does == "cell":
                self.asked_outside(at)
        else:
            given = self.sorted_arguments(at, arguments, list(row.names), row.fewest)
            values = {name: self.value(a.value) for name, a in given.items()}
            places = {name: a.value.at for name, a in given.items()} | {f"{n} name": a.at for n, a in given.items()}
            if row.does == "move":
                self.move(at, values, places)
            elif row.does == "wait":
                self.wait(at, values)
            else:
                self.setting(at, values)
        return True

    def led(self, row: Builtin, at: Token) -> None:
        """Tell of a stretch that something else leads."""
        self.pressed = self.pressed or row.name == "force_mode"
        reason = {
            "force_mode": "force_mode: the way depends on contact",
            "freedrive_mode": "freedrive_mode: a person leads the arm",
            "teach_mode": "teach_mode: a person leads the arm",
        }.get(row.name, f"{row.name} follows a reference that runs with time or contact")
        self.notes.gap(at, reason)
        self.last = None
        self.changes += 1

    def missing(self, at: Token) -> None:
        """Skip a function that no file has; one that looks like a misspelt move is not skipped."""
        like = near(at.text, MOTION, 0.75)
        if like:
            self.notes.obstacle(f"unknown word; did you mean {like!r}?", at, "movej, movel, movep, movec")
        super().missing(at)
        self.last = None

    def run_thread(self, name: Token) -> None:
        """Leave out a thread; the moves of one are a gap, and those of the program until it has ended."""
        routine = self.routine(name.key)
        if routine is None:
            self.missing(name)
            return
        sets = _set_in(routine.body)
        if self.moves_in(routine.body, set()):
            self.notes.gap(name, f"thread {name.text!r} moves the arm beside the program, and how far depends on both")
            self.moving[name.key] = {at.key for at in sets}
            self.last = None
            self.changes += 1
        else:
            self.notes.note(name.line, f"thread {name.text} moves nothing and is left out", once=True)
        for at in sets:
            cell = self.scopes.find(self.frame, at.key)
            if cell is not None and at.key not in self.script.bound.get(name.key, ()):
                cell.value = Unknown(f"{at.text} is set by thread {name.text}", (at.text,), cell.value)

    def end_thread(self, handle: Node) -> None:
        """Take a thread that is killed or waited for as ended; all of them where the handle does not say which."""
        if not self.moving:
            return
        value = self.value(handle)
        named = value.names[0] if isinstance(value, Unknown) and value.names else ""
        if named in self.moving:
            del self.moving[named]
        elif self.routine(named) is None:
            self.moving.clear()

    def _while(self, statement: tree.While) -> None:
        """Carry out a loop; one that waits for a thread has seen its end, whatever branch the reading took in it."""
        super()._while(statement)
        if not self.moving:
            return
        inside = tree.statements_in(statement.body)
        ends = any(isinstance(s, tree.Invoke) and s.at.key in ("kill", "join") for s in inside)
        asked = _tested_in(statement)
        for thread in [t for t, sets in self.moving.items() if ends or asked & sets]:
            self.notes.assume(statement.at.line, f"this loop waits for thread {thread}: behind it the thread has ended")
            del self.moving[thread]

    def moves_in(self, node: Node, looked: set[str]) -> bool:
        """Return whether a stretch of program may move the arm, functions that it calls included."""
        if isinstance(node, tree.Invoke | tree.FunctionCall):
            key = node.arguments[0].at.key if node.at.key == "run" else node.at.key
            routine = self.routine(key)
            if routine is not None and key not in looked:
                looked.add(key)
                if self.moves_in(routine.body, looked):
                    return True
            elif routine is None and key in MOTION:
                return True
        if isinstance(node, tree.NotUnderstood) and node.motion:
            return True
        return isinstance(node, tuple) and not isinstance(node, Token) and any(self.moves_in(n, looked) for n in node)

    # --- state --------------------------------------------------------------------------------------------------------

    def state(self, row: Builtin, node: tree.FunctionCall) -> Value:
        """Return where the arm is, as far as its last target says; other instructions are carried out."""
        name, at = row.name, node.at
        if row.does != "state":
            self.instruction(at, node.arguments)
            return Unknown(f"{name} gives nothing that is known", (name,))
        if name == "get_tcp_offset":
            if isinstance(self.tool, Unknown):
                return self.tool
            return pose_of([0.0] * 6) if self.tool is None else pose_from(self.tool)
        if name in self.inputs:
            return self.input_value(name)
        planned = "where the arm is follows from its last target: planned, not measured"
        if "joint" in name and isinstance(self.last, Joints):
            self.notes.note(at.line, planned, once=True)
            return [float(angle) for angle in self.last.q]
        if "pose" in name and isinstance(self.last, np.ndarray) and not isinstance(self.tool, Unknown):
            self.notes.note(at.line, planned, once=True)
            return pose_from(self.last if self.tool is None else self.last @ self.tool)
        if "pose" in name and isinstance(self.last, Joints):
            self.notes.note(at.line, planned, once=True)
            return self.pose_at([float(angle) for angle in self.last.q], self.tool)
        if "joint" in name and isinstance(self.last, np.ndarray) and not isinstance(self.tool, Unknown):
            return RecordValue("ik", {"pose": pose_from(self.last if self.tool is None else self.last @ self.tool)})
        example = "p[x, y, z, rx, ry, rz]" if "pose" in name else "[q1, …, q6]"
        return Unknown(f"{name} is only known while the cell runs; --input {name}={example} says it", (name,))

    def forward_kin(self, values: dict[str, Value], at: Token) -> Value:
        """Return the pose of joints: a move can use it, a sum would need the arm."""
        tool = matrix_of(values["tcp"]) if "tcp" in values else self.tool
        if "tcp" in values and (self.robot is None or "q" not in values):
            return Unknown("get_forward_kin with another tool needs the arm and its joint angles", ("get_forward_kin",))
        if "q" not in values:
            row = BUILTINS["get_target_tcp_pose"]
            return self.state(row, tree.FunctionCall(at, ()))
        if isinstance(values["q"], RecordValue) and values["q"].kind == "ik":
            return values["q"].parts["pose"]
        return self.pose_at(values["q"], tool)

    def pose_at(self, q: Value, tool: Array | Unknown | None) -> Value:
        """Return the pose of joint angles (6,) [rad]: with the arm its numbers, else one that a move can use."""
        if self.robot is None or not isinstance(q, list) or len(q) != JOINTS or not all(is_number(n) for n in q):
            return RecordValue("fk", {"q": q})
        if isinstance(tool, Unknown):
            return tool
        T = fk(self.robot, np.array([float(number_of(n)) for n in q]))
        return pose_from(T if tool is None else T @ tool)

    def asked_outside(self, at: Token) -> None:
        """End the rounding of the last corner: the arm stops where the program asks the cell."""
        moves = self.notes.draft.moves
        if moves and isinstance(moves[-1].blend, Distance):
            moves[-1] = replace(moves[-1], blend=Stop())
            self.notes.note(at.line, f"{at.text} before the next move: the corner before it is not rounded", once=True)

    # --- moves --------------------------------------------------------------------------------------------------------

    def move(self, at: Token, values: dict[str, Value], places: dict[str, Token]) -> None:
        """Add a move; one of which a part is not known is a gap."""
        try:
            if self.pressed:
                raise UnknownPart(Unknown("in force_mode the way depends on contact"))
            if self.moving:
                raise UnknownPart(Unknown(f"thread {next(iter(self.moving))!r} moves the arm at the same time"))
            for value in (*values.values(), self.tool):
                unknown = unknown_in(value)
                if unknown is not None:
                    raise UnknownPart(unknown)
            self.known_move(at, values, places)
        except UnknownPart as gap:
            self.notes.gap(at, gap.unknown.reason)
            self.last = None
            self.changes += 1

    def known_move(self, at: Token, values: dict[str, Value], places: dict[str, Token]) -> None:
        """Add a move whose parts are known."""
        located = self.notes.draft.cursor.located
        joint = at.key == "movej"
        amounts = {n: self.amount(values, n, places) for n in ("a", "v", "t", "r", "mode") if n in values}
        rate = LeadingAxis if joint else ToolRate
        v, a = amounts.get("v", 1.05 if joint else 0.25), amounts.get("a", 1.4 if joint else 1.2)
        seconds, radius = amounts.get("t", 0.0), amounts.get("r", 0.0)
        of_what = "joint" if joint else "tool"
        for letter, what in (("v", f"{of_what} speed"), ("a", f"{of_what} acceleration"), ("r", "rounding")):
            if letter in amounts and not (seconds and letter != "r"):  # `t` overrules the others
                self.notes.draft.check_amount(what, amounts[letter], places[f"{letter} name"])
        parts: dict[str, Any] = {"kind": "joint" if joint else "line"}
        if at.key == "movec":
            mode = amounts.get("mode", 0.0)
            if mode not in (0.0, 1.0):
                self.notes.obstacle(f"movec has no mode {mode:g}", places["mode"], "0 or 1")
            via, to = (self.target(values[n], places[n]) for n in ("pose_via", "pose_to"))
            if not (isinstance(via, Pose) and isinstance(to, Pose)):
                raise UnknownPart(Unknown("movec by joint angles: where they lead follows from the arm"))
            parts |= {
                "kind": "arc",
                "via": Pose(via.T, oriented=False),
                "target": Pose(to.T, oriented=mode == 0.0),
                "orientation": "with_path" if mode else "slerp",
            }
        else:
            name = "q" if joint else "pose"
            parts["target"] = self.target(values[name], places[name])
        if at.key == "movep":
            self.notes.note(at.line, "movep is read as a line at constant tool speed", once=True)
        self.notes.draft.add(
            at,
            speed=located(places.get("t name", at), Duration, seconds)
            if seconds
            else located(places.get("v name", at), rate, v),
            acceleration=located(places.get("a name", at), rate, a),
            blend=located(places.get("r name", at), Distance, radius) if radius else Stop(),
            T_flange_tool=self.tool,
            payload=None if isinstance(self.payload, Unknown) else self.payload,
            **parts,
        )
        self.changes += 1
        target = parts["target"]
        if isinstance(target, Joints):
            self.last = target
        else:
            self.last = target.T @ inverse(self.tool) if isinstance(self.tool, np.ndarray) else target.T
        if self.label:
            moves = self.notes.draft.moves
            moves[-1] = replace(moves[-1], text=f"{self.label}: {moves[-1].text}")
            self.label = ""

    def amount(self, values: dict[str, Value], name: str, places: dict[str, Token]) -> float:
        """Return an argument that is a number."""
        if not is_number(values[name]):
            self.notes.obstacle(f"{name!r} needs a number", places[name], "a number")
        return float(number_of(values[name]))

    def target(self, value: Value, at: Token) -> Joints | Pose:
        """Return a pose or joint angles."""
        if isinstance(value, RecordValue) and value.kind == "ik":
            value = value.parts["pose"]
        if isinstance(value, RecordValue) and value.kind == "fk":
            value = value.parts["q"]
        if isinstance(value, RecordValue) and value.kind == "pose":
            try:
                return Pose(matrix_of(value))
            except ValueTrouble as trouble:
                self.notes.obstacle(str(trouble), at, trouble.valid)
        if not isinstance(value, list):
            self.notes.obstacle("this is no target", at, "p[…] or a list of joint angles")
        if len(value) != JOINTS:
            few = "too few" if len(value) < JOINTS else "too many"
            self.notes.obstacle(f"{few} joints: {len(value)}", at, f"{JOINTS} joint angles [rad]")
        if not all(is_number(n) for n in value):
            self.notes.obstacle("joint angles are numbers", at, f"{JOINTS} joint angles [rad]")
        return Joints(np.array([float(number_of(n)) for n in value]))

    # --- settings and waits -------------------------------------------------------------------------------------------

    def setting(self, at: Token, values: dict[str, Value]) -> None:
        """Set tool, load, or the end of force control."""
        self.changes += 1
        if at.key == "end_force_mode":
            self.pressed = False
            self.last = None
            return
        unknown = next((u for v in values.values() if (u := unknown_in(v)) is not None), None)
        if at.key == "set_tcp":
            self.tool = unknown if unknown is not None else matrix_of(values["pose"])
            if isinstance(self.tool, np.ndarray):
                self.notes.draft.check_amount("tool point", float(np.abs(self.tool[:3, 3]).max()), at)
            if self.load_at_tool and isinstance(self.payload, Payload):
                self.payload = replace(self.payload, com=self.tool_point())
                self.notes.note(at.line, "the load moves with the tool point: set_payload named no centre of mass")
            return
        if unknown is not None:
            self.payload = unknown
            self.notes.note(at.line, f"the load is not known and left out: {unknown.reason}", once=True)
            return
        held = self.payload if isinstance(self.payload, Payload) else None
        mass = float(number_of(values["m"])) if "m" in values else held.mass if held is not None else 0.0
        if "cog" in values:
            com = np.array(_numbers(values["cog"], 3, "cog"))
        elif at.key == "set_payload_mass" and held is not None:
            com = held.com
        else:
            com = self.tool_point()
            where = "the arm's own tool frame" if self.tool is None else "the tool point"
            said = f"{at.text} without a centre of mass: {where} is taken; some versions keep the one before"
            self.notes.assume(at.line, said)
        self.load_at_tool = at.key == "set_payload" and "cog" not in values
        tensor = None
        if "inertia" in values:
            xx, yy, zz, xy, xz, yz = _numbers(values["inertia"], 6, "inertia")
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        self.payload = self.notes.draft.cursor.located(at, Payload, mass, com, tensor)

    def tool_point(self) -> Array:
        """Return where the tool point is in the flange (3,) [m]."""
        return np.zeros(3) if self.tool is None or isinstance(self.tool, Unknown) else self.tool[:3, 3]

    def wait(self, at: Token, values: dict[str, Value]) -> None:
        """Wait; one of unknown length takes no time, with a note."""
        if at.key == "sync":
            return
        seconds = values["t"]
        if isinstance(seconds, Unknown):
            self.asked_outside(at)  # a wait of known length ends the rounding when the program is planned
            self.notes.assume(at.line, f"this wait depends on {', '.join(seconds.names)}: no time is taken")
            return
        duration = self.notes.draft.cursor.located(at, Duration, float(number_of(seconds)))
        self.notes.draft.add(at, kind="wait", target=None, speed=duration)


def _numbers(value: Value, count: int, name: str) -> list[float]:
    if not isinstance(value, list) or len(value) != count:
        raise ValueTrouble(f"{name!r} needs {count} numbers", f"[…] of {count} numbers")
    return [float(number_of(n)) for n in value]


def _set_in(block: Node) -> list[Token]:
    """Return the names that statements set."""
    found = []
    for statement in tree.statements_in(block):
        target = statement.target if isinstance(statement, tree.Assign) else None
        while isinstance(target, tree.Index | tree.Member):
            target = target.base
        if isinstance(target, tree.Name):
            found.append(target.at)
        elif isinstance(statement, tree.Declare) and statement.storage == "global":
            found.append(statement.at)
    return found


def _tested_in(loop: tree.While) -> set[str]:
    """Return the names that a loop and the tests in it ask."""
    found: set[str] = set()
    waiting: list[Node] = [loop.test]
    for statement in tree.statements_in(loop.body):
        if isinstance(statement, tree.If):
            waiting += [test for test, _ in statement.branches]
        elif isinstance(statement, tree.While):
            waiting.append(statement.test)
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.Name):
            found.add(node.at.key)
        elif isinstance(node, tuple) and not isinstance(node, Token):
            waiting += node
    return found
