# SPDX-License-Identifier: Apache-2.0
"""URScript's instructions: moves, what later moves depend on, waits, and those that move nothing.

`v` and `a` of ``movej`` belong to the leading axis; `t` overrules both. ``movec`` in mode 1 keeps the orientation
relative to the arc, so that the target's own is not used. What contact or the running cell leads is a gap.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

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
from armwright.programs.languages.unit_limits import LIMITS
from armwright.programs.languages.urscript_arm import JOINTS
from armwright.programs.languages.urscript_grippers import works_a_gripper
from armwright.programs.languages.urscript_threads import ToldEnd, UrscriptThreads
from armwright.programs.languages.urscript_values import matrix_of
from armwright.programs.program import Distance, Duration, Joints, LeadingAxis, Payload, Pose, Stop, ToolRate
from armwright.programs.reading import ReadOptions
from armwright.spatial import inverse
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import near
from armwright.types import Array
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, MOTION, Builtin

FORCE = "force_mode"


class UrscriptMoves(UrscriptThreads):
    """The instructions of URScript."""

    def __init__(self, module: ScriptModule, options: ReadOptions) -> None:
        """Begin without tool and load, the arm somewhere."""
        super().__init__(module, options)
        self.payload: Payload | Unknown | None = None
        self.label = ""
        self.load_at_tool = False  # the load's centre of mass is the tool point
        self.pressed = False  # force_mode is on

    def machine(self) -> Value:
        """Return the state of the controller that moves depend on."""
        threads = dict(self.moving), dict(self.searching), dict(self.circling)
        return self.tool, self.payload, self.last, self.pressed, self.load_at_tool, self.met, threads

    def set_machine(self, state: Value) -> None:
        """Set what `machine` returned."""
        self.tool, self.payload, self.last, self.pressed, self.load_at_tool, self.met, threads = state
        self.moving, self.searching, self.circling = (dict(one) for one in threads)

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
                self.end_thread(at, arguments[0].value)
            return True
        if key.startswith("."):
            self.method(tree.FunctionCall(at, arguments))
            return True
        row = BUILTINS.get(key)
        if row is None and works_a_gripper(key):
            for argument in arguments:
                self.value(argument.value)
            said = f"{at.text} works a gripper, moves no axis of the arm and is left out, with its time"
            self.notes.note(at.line, said, once=True)
            self.asked_outside(at)
            return True
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
            if row.does != "set":
                self.check_round()
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
        """Tell of a stretch that something else leads; force_mode leads nowhere if the user says so."""
        told = self.scopes.find(self.frame, FORCE) if row.name == FORCE else None
        if told is not None and told.value == 0:
            said = "in force_mode the tool goes where the moves lead it, as told: what contact changes is left out"
            self.notes.assume(at.line, said)
            return
        self.pressed = self.pressed or row.name == FORCE
        reason = {
            FORCE: f"{FORCE}: the way depends on contact; --define {FORCE}=0 takes the moves in it as they are written",
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
                raise UnknownPart(Unknown("in force_mode the way depends on contact", (FORCE,)))
            if self.moving:
                thread = next(iter(self.moving))
                if thread in self.searching:
                    self.broken_off(thread, "moves the arm while the program does, too: how far depends on both")
                if thread in self.circling:
                    self.apart(thread)
                raise UnknownPart(Unknown(f"thread {thread!r} moves the arm at the same time"))
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
        parts["target"] = self.as_far_as_told(parts["target"], v)
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
        self.met = self.met if self.sought else None
        if isinstance(target, Joints):
            self.last = target
        else:
            self.last = target.T @ inverse(self.tool) if isinstance(self.tool, np.ndarray) else target.T
        if self.label:
            moves = self.notes.draft.moves
            moves[-1] = replace(moves[-1], text=f"{self.label}: {moves[-1].text}")
            self.label = ""

    def as_far_as_told(self, target: Joints | Pose, speed: float) -> Joints | Pose:
        """Return where a move of a search ends; only the user knows it where the program means no end of it.

        PolyScope's direction without a distance is 1000 m, and contact or an input ends the thread on its way.
        """
        away = float(np.abs(target.T[:3, 3]).max()) if self.sought and isinstance(target, Pose) else 0.0
        if not isinstance(target, Pose) or away <= LIMITS["target"].most:
            return target
        self.unended.add(self.sought)
        told, start = self.scopes.find(self.frame, self.sought), self.tool_place()
        if told is None or not is_number(told.value) or start is None:
            why = f"thread {self.sought!r} leads {away:.4g} m away, that is until something stops it"
            raise UnknownPart(Unknown(f"{why}; {self.hint(self.sought)}", (self.sought,)))
        along = target.T[:3, 3] - start[:3, 3]
        along /= np.linalg.norm(along)
        T = target.T.copy()
        T[:3, 3] = start[:3, 3] + float(number_of(told.value)) * along
        self.met = ToldEnd(self.sought, tuple(speed * along))
        return Pose(T)

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
            self.last = None if self.pressed else self.last
            self.pressed = False
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
