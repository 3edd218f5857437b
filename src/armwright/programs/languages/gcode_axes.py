# SPDX-License-Identifier: Apache-2.0
"""Where a G-code program is: its axes, units, work offsets, variables; and what is not known of them.

Positions are metres in the part frame. Axes that were not named yet are *free*: they count from where the arm stands
when the program begins. Axes are *lost* behind a move that is not known, until they are named again.
"""

from __future__ import annotations

import re
from typing import NoReturn

import numpy as np

from armwright.programs.interpreter.program_values import Unknown, UnknownPart, Value, ValueTrouble, is_number
from armwright.programs.interpreter.reading_notes import ReadingNotes
from armwright.programs.interpreter.told_inputs import ToldInputs
from armwright.programs.languages.gcode_dialects import DIALECTS, LENIENT, GcodeDialect, guess
from armwright.programs.languages.gcode_expression import worked_out
from armwright.programs.languages.gcode_words import Word
from armwright.programs.languages.program_draft import MM
from armwright.programs.reading import ReadOptions
from armwright.robot.parts import frozen_pose
from armwright.spatial import apply, inverse
from armwright.syntax.program_tree import Module, Node
from armwright.syntax.scanner import Token
from armwright.types import Array

INCH = 25.4
AXES = "XYZ"
SYSTEMS = ("G54", "G55", "G56", "G57", "G58", "G59", "G59.1", "G59.2", "G59.3")
UNTURNED = np.eye(4)


class GcodeAxes:
    """Axes, offsets and variables of a program while it runs."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Begin with what a controller has at first."""
        self.options = options
        self.notes = ReadingNotes(Module(file, text.split("\n")), "g-code")
        self.notes.draft.most_moves = options.moves
        self.dialect = self._dialect(text)
        self.unit: float | None = None  # divisor of lengths: MM, or MM / 25.4
        self.absolute, self.arcs_absolute = True, False
        self.place = dict.fromkeys(AXES, 0.0)
        self.free = set(AXES)
        self.zeroed: set[str] = set()  # free axes whose numbers a G92 has set
        self.lost: dict[str, str] = {}
        self.turned: dict[str, float] = {}  # A, B, C [deg], and further axes
        self.system = "G54"
        self.systems: dict[str, dict[str, float]] = {"G54": dict.fromkeys(AXES, 0.0)}
        self.shift = dict.fromkeys(AXES, 0.0)  # G92
        self.kept_shift = dict(self.shift)
        self.local = dict.fromkeys(AXES, 0.0)  # G52
        self.part: Array = np.eye(4) if options.part is None else np.asarray(options.part)
        self.tilt: Array = np.eye(4)
        self.eye: Array = np.eye(3)
        self._frame: Array | None = None
        self.shared: dict[str, Value] = {}
        self.scopes: list[dict[str, Value]] = [{}]
        self.changes = 0  # of variables
        for name, value in options.define.items():
            self._define(name.strip(), value)
        self.readings = ToldInputs(options.inputs)

    def _dialect(self, text: str) -> GcodeDialect:
        said = self.options.dialect
        if said is not None:
            self.without_word = DIALECTS[said]
            return self.without_word
        dialect, why = guess(text)
        self.without_word = dialect if why else DIALECTS[LENIENT]  # how coordinates without a motion word are read
        told = f", for it has {why!r}" if why else ", as nothing in it tells"
        self.notes.assume(1, f"read as G-code of {dialect.name}{told}", "--dialect")
        return dialect

    def _define(self, name: str, value: Value) -> None:
        if name.upper() in SYSTEMS:
            numbers = [float(part) for part in str(value).split(",")] if not is_number(value) else []
            if len(numbers) != 3:
                raise ValueTrouble(f"--define {name}: three numbers in mm are needed", "x,y,z")
            self.systems[name.upper()] = {axis: v / MM for axis, v in zip(AXES, numbers, strict=True)}
        else:
            self.shared[name.lower().lstrip("#")] = float(value)

    def obstacle(self, message: str, at: Token, valid: str) -> NoReturn:
        """Say what is in the way, and end this line."""
        self.notes.obstacle(message, at, valid)

    # --- numbers ------------------------------------------------------------------------------------------------------

    def number(self, word: Word) -> float:
        """Return the number of a word; an unknown one makes the move unknown."""
        value = word.value
        if isinstance(value, float):
            return value
        if value is None:
            self.obstacle(f"{word.letter} needs a number", word.at, f"{word.letter}1.5")
        found = self.value(value, word.at)
        if isinstance(found, Unknown):
            raise UnknownPart(found)
        if found is None:
            self.obstacle(f"{word.letter}: a variable that was never set", word.at, "a variable with a value")
        return float(found)

    def value(self, node: Node, at: Token) -> Value:
        """Return the value of an expression, which may be unknown, or None for a variable of Fanuc without one."""
        try:
            return worked_out(node, lambda which: self.variable(which, at), self._exists)
        except ValueTrouble as trouble:
            self.obstacle(str(trouble), at, trouble.valid)

    def key(self, which: Node, at: Token) -> str:
        """Return the name of a variable: its number, or <name>."""
        if isinstance(which, str):
            return which
        number = self.value(which, at)
        if isinstance(number, Unknown):
            raise UnknownPart(number)
        if number is None or abs(number - round(number)) > 1e-4:
            self.obstacle(f"a variable's number is whole, not {number}", at, "#100")
        return f"{round(number)}"

    def variable(self, which: Node, at: Token) -> Value:
        """Return a variable's value."""
        key = self.key(which, at)
        if key == "0":
            return None
        told = self.readings.get(f"#{key}", self.readings.get(key))
        if told is not None:
            if isinstance(told, list):
                return float(told.pop(0)) if len(told) > 1 else float(told[0])
            return float(told)
        for values in (self.scopes[-1], self.shared):
            if key in values:
                return values[key]
        system = self._system_variable(key)
        if system is not None:
            return system
        if self.dialect.name == "fanuc" and key.isdigit() and int(key) < 1000:
            return None
        self.obstacle(f"#{key} was never set", at, f"#{key} = … before it, or --define '#{key}=…'")

    def _system_variable(self, key: str) -> Value:
        place = {"5420": "X", "5421": "Y", "5422": "Z", "<_x>": "X", "<_y>": "Y", "<_z>": "Z"}
        if self.dialect.name == "fanuc":
            place = {"5001": "X", "5002": "Y", "5003": "Z", "5041": "X", "5042": "Y", "5043": "Z"}
        axis = place.get(key)
        if axis is not None and self.unit is not None and axis not in self.lost and axis not in self.free - self.zeroed:
            return (self.place[axis] - self.offset(axis)) * self.unit
        of_controller = re.fullmatch(r"<_\w+>|<_hal.*>|<_ini.*>", key) or (key.isdigit() and int(key) >= 1000)
        if axis is not None or of_controller:
            return Unknown(f"#{key} is of the controller", (f"#{key}",), 0.0)
        return None

    def _exists(self, name: str) -> bool:
        return name in self.scopes[-1] or name in self.shared

    def assign(self, which: Node, value: Value, at: Token) -> None:
        """Give a variable a value; those of a subprogram are its own."""
        key = self.key(which, at)
        own = (key.isdigit() and int(key) <= 30) or (key.startswith("<") and not key.startswith("<_"))
        values = self.scopes[-1] if own else self.shared
        if values.get(key, self) != value:
            self.changes += 1
        values[key] = value

    def length(self, word: Word) -> float:
        """Return a length [m]."""
        return self.metres(self.number(word), word.at)

    def metres(self, value: float, at: Token) -> float:
        """Return a number of the program's unit in metres; without a unit it is mm, and a note says so."""
        if self.unit is None:
            self.unit = MM
            self.notes.assume(at.line, "no unit was said: millimetres", "--define inches=1")
            if self.shared.get("inches"):
                self.unit = MM / INCH
        return value / self.unit

    # --- places -------------------------------------------------------------------------------------------------------

    def offset(self, axis: str) -> float:
        """Return where the program's zero lies in the part frame [m]."""
        return self.systems.get(self.system, {}).get(axis, 0.0) + self.shift[axis] + self.local[axis]

    @property
    def system_unknown(self) -> str:
        """Why the work offset is not known; empty if it is."""
        if self.system in self.systems:
            return ""
        if self.options.assume_frames:
            self.notes.assume(0, f"{self.system} is taken for G54")
            return ""
        return f"where {self.system} lies is in the controller: --define {self.system}=x,y,z (mm from G54) says it"

    def towards(self, axis: str, amount: float) -> None:
        """Bring one axis to where a word says [m]."""
        if self.absolute:
            if axis not in self.zeroed:
                self.free.discard(axis)
            self.lost.pop(axis, None)
            self.place[axis] = amount + self.offset(axis)
            if self.system_unknown:
                self.lost[axis] = self.system_unknown
        else:
            self.place[axis] += amount

    def lose(self, axes: str, why: str) -> None:
        """Forget where axes are."""
        for axis in axes:
            self.lost[axis] = why

    def point(self) -> Array:
        """Return the place (3,) [m] in the frame of moves; free axes count from the start."""
        return np.array([self.place[axis] for axis in AXES])

    def frame(self) -> Array:
        """Return T_base_frame (4, 4) of the moves."""
        if self._frame is None:
            self._frame = frozen_pose(self.part @ self.tilt, "the part's frame")
        return self._frame

    def change_tilt(self, tilt: Array) -> None:
        """Express the place in another frame: the tool does not move by this."""
        old, self.tilt, self._frame = self.tilt, tilt, None
        if self.free or self.lost:
            self.lose(AXES, "the frame was tilted before all axes had been named")
            self.free.clear()
        else:
            moved = apply(inverse(tilt) @ old, self.point())
            self.place = dict(zip(AXES, moved.tolist(), strict=True))

    def machine(self, at: Token) -> Array | None:
        """Return T_base_machine (4, 4), if it is told."""
        if self.options.machine_frame is not None:
            return np.asarray(self.options.machine_frame)
        if self.options.machine_home is not None:
            self.notes.assume(at.line, "the machine's axes are taken for the part's", "--machine-frame")
            return self.part
        return None

    def in_machine(self, T_machine: Array, numbers: dict[str, float]) -> Array:
        """Return the point (3,) [m] in the frame of moves whose coordinates in the machine are partly given."""
        T = inverse(T_machine) @ self.frame()
        there = apply(T, self.point())
        for axis, value in numbers.items():
            there[AXES.index(axis)] = value
        return np.asarray(apply(inverse(T), there))

    def located(self, p: Array, R: Array) -> Array:
        """Return a pose (4, 4)."""
        T = UNTURNED.copy()
        if R is not self.eye:
            T[:3, :3] = R
        T[:3, 3] = p
        return T
