# SPDX-License-Identifier: Apache-2.0
"""Moves of G-code: rapids, lines, arcs, and what they need: feed, blend, orientation, compensation.

A move whose axes, offset, speed or tool radius are not known is a gap; nothing is taken for zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armwright.programs.interpreter.program_values import UnknownPart, ValueTrouble
from armwright.programs.languages.gcode_arcs import PLANES, ArcShape, arc_by_centre, arc_by_radius
from armwright.programs.languages.gcode_axes import AXES, GcodeAxes
from armwright.programs.languages.gcode_words import Word
from armwright.programs.languages.program_draft import DEG
from armwright.programs.program import Blend, Duration, Fraction, Pose, Speed, Stop, Tangent, ToolRate
from armwright.programs.reading import ReadOptions
from armwright.spatial import rotation_from_euler
from armwright.syntax.scanner import Token
from armwright.types import Array

TURNING = "ABC"
FURTHER = "UVW"
NOWHERE = np.zeros(3)
Words = dict[str, Word]


class GcodeMoves(GcodeAxes):
    """Carries out motions."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Begin without a motion."""
        super().__init__(text, file, options)
        self.motion, self.plane, self.feed_mode = "", "G17", "G94"
        self.motion_before = ""  # last of G0 to G3
        self.feed: float | None = None  # m/s; 1/min under G93; m a turn under G95
        self.feed_unknown = ""
        self.spindle: float | None = None  # turns a minute
        self.blend: Blend = Stop()
        self.radius_side = ""  # G41 or G42
        letters = {sign for line in self.notes.main.lines for sign in "ABC" if _names(line, sign)}
        self.oriented = letters == set("ABC")
        self.rotation = _tool_rotation(options)
        if "f" in self.shared:
            self.feed = float(self.shared["f"]) / 1000.0 / 60.0

    # --- speeds -------------------------------------------------------------------------------------------------------

    def speed(self, at: Token) -> Speed | str:
        """Return the speed of a feed move, or why it is not known."""
        if self.feed is None:
            if self.feed_unknown:
                return f"its feed is not known: {self.feed_unknown}"
            return "no feed was said before it; --define F=… (mm a minute) says it"
        if self.feed_mode == "G93":
            return Duration(60.0 / self.feed)
        if self.feed_mode == "G95":
            if not self.spindle:
                return "its feed is by turn of the spindle, whose speed was not said"
            return ToolRate(self.feed * self.spindle / 60.0)
        return ToolRate(self.feed)

    def set_feed(self, word: Word) -> None:
        """Set what F says."""
        try:
            value = self.number(word)
        except UnknownPart as part:
            self.feed, self.feed_unknown = None, part.unknown.reason
            return
        if not value > 0.0:
            if self.dialect.one_command and value == 0.0:
                self.notes.note(word.at.line, "F0 is left out: the feed stays")
                return
            self.obstacle("the feed must be above 0", word.at, "F in length a minute, above 0")
        if self.feed_mode == "G93":
            self.feed = value
        else:
            self.feed = self.metres(value, word.at) / (60.0 if self.feed_mode == "G94" else 1.0)

    # --- one move -----------------------------------------------------------------------------------------------------

    def gap(self, at: Token, reason: str) -> None:
        """Remember a move that is not known."""
        self.notes.gap(at, reason)

    def go(self, words: Words, at: Token, motion: str) -> None:
        """Carry out G0, G1, G2, G3 to where the axis words say."""
        start, free = self.point(), set(self.free)
        before = dict(self.lost)
        self.travel(words)
        if self.turn_axes(words, at):
            return
        if motion in ("G2", "G3"):
            self.arc(words, at, motion, start, free, before)
        else:
            rapid = motion == "G0" and not (self.dialect.one_command and self.feed is not None)
            self.straight(at, start, rapid=rapid)

    def travel(self, words: Words) -> None:
        """Bring the axes to where the words say."""
        unknown = None
        for axis in AXES:
            word = words.get(axis)
            if word is None:
                continue
            try:
                self.towards(axis, self.length(word))
            except UnknownPart as part:
                self.lose(axis, part.unknown.reason)
                unknown = part
        if unknown is not None and not self.lost:
            raise unknown

    def turn_axes(self, words: Words, at: Token) -> bool:
        """Take note of A, B, C and further axes; True if the move is a gap because of them."""
        gap = False
        for letter in TURNING + FURTHER:
            if letter not in words:
                continue
            value = self.number(words[letter]) + (0.0 if self.absolute else self.turned.get(letter, 0.0))
            same = value == self.turned.get(letter, 0.0)
            self.turned[letter] = value
            if letter in TURNING and self.oriented:
                continue
            if self.options.lock_external or same:
                self.notes.note(at.line, f"{letter} is an axis of the machine that does not carry the arm", once=True)
                continue
            gap = True
            self.gap(at, f"{letter} is a further axis of the machine; --lock-external takes it for standing still")
        if not gap and not self.options.lock_external and not self.oriented:
            moved = [letter for letter, value in self.turned.items() if value != 0.0]
            if moved:
                gap = True
                self.gap(
                    at, f"{', '.join(moved)} of the machine is turned; --lock-external takes it for standing still"
                )
        return gap

    def unknown_here(self) -> str:
        """Why a move to the present place is not known; empty if it is."""
        if self.lost:
            axis, why = next(iter(self.lost.items()))
            return f"{axis} is not known: {why}" if len(self.lost) < 3 else why
        if self.system_unknown:
            return self.system_unknown
        if self.radius_side:
            return (
                f"{self.radius_side}: the way of the cutter's centre depends on its radius; "
                "--define D=0 says that the program is of the centre"
            )
        return ""

    def straight(self, at: Token, start: Array, *, rapid: bool, blend: Blend | None = None) -> None:
        """Add a line, or a rapid, from `start` (3,) to the present place."""
        why = self.unknown_here()
        if why:
            self.gap(at, why)
            return
        speed: Speed | str = Fraction(1.0) if rapid else self.speed(at)
        if isinstance(speed, str):
            self.gap(at, speed)
            return
        if rapid:
            self.notes.note(at.line, "G0 is read as a joint move at full speed", once=True)
        self.add(at, "joint" if rapid else "line", self.target(self.point(), start), speed, blend=blend)

    def target(self, p: Array, start: Array) -> Pose:
        """Return the pose of a place (3,) [m]; free axes count from `start` (3,)."""
        R, oriented = self.orientation()
        return Pose(self.located(p - self.free_part(start), R), oriented=oriented, free=self.free_marks())

    def orientation(self) -> tuple[Array, bool]:
        """Return the tool's rotation (3, 3), and whether it is said; the identity stands for one that is not."""
        if self.oriented and self.turned:
            missing = [letter for letter in TURNING if letter not in self.turned]
            if missing:
                raise ValueTrouble("an orientation needs A, B and C", "all three, or none")
            return rotation_from_euler(np.array([self.turned[letter] * DEG for letter in "CBA"]), "zyx"), True
        return (self.eye, False) if self.rotation is None else (self.rotation, True)

    def free_part(self, start: Array) -> Array:
        """Return `start` (3,) in the free axes, zero in the others."""
        if not self.free:
            return NOWHERE
        return np.array([start[k] if axis in self.free else 0.0 for k, axis in enumerate(AXES)])

    def free_marks(self) -> tuple[bool, bool, bool]:
        """Return which of x, y, z are free."""
        if self.free:
            self.notes.assume(
                self.last_line, "axes that were not named yet stay where the arm stands at first", "--start"
            )
            return "X" in self.free, "Y" in self.free, "Z" in self.free
        return False, False, False

    last_line = 0

    def add(
        self, at: Token, kind: str, target: Pose, speed: Speed, *, blend: Blend | None = None, **parts: Any
    ) -> None:
        """Add a move to the program."""
        self.notes.draft.add(
            at,
            kind=kind,
            target=target,
            speed=speed,
            blend=self.blend if blend is None else blend,
            orientation="slerp" if target.oriented else "fixed",
            T_base_frame=self.frame(),
            **parts,
        )

    # --- arcs ---------------------------------------------------------------------------------------------------------

    def arc(self, words: Words, at: Token, motion: str, start: Array, free: set[str], before: dict[str, str]) -> None:
        """Add an arc from `start` (3,); what was free or lost before tells whether its start is known."""
        why = self.unknown_here()
        if before:
            why = f"an arc from a place that is not known: {next(iter(before.values()))}"
        elif free != self.free:
            why = "an arc from a place of which not all axes were named"
        if why:
            self.gap(at, why)
            return
        speed = self.speed(at)
        if isinstance(speed, str):
            self.gap(at, speed)
            return
        shape = self.arc_shape(words, motion, start)
        pieces = shape.pieces()
        if len(pieces) > 1 and isinstance(speed, Duration):
            speed = Duration(speed.seconds / len(pieces))
        here, marks = start, self.free_marks()
        R, oriented = self.orientation()  # once: a helix has many pieces
        for number, (via, end, angle) in enumerate(pieces, 1):
            blend = self.blend if number == len(pieces) else Tangent()
            kept = self.free_part(here)
            middle = Pose(self.located(via - kept, self.eye), oriented=False, free=marks)
            target = Pose(self.located(end - kept, R), oriented=oriented, free=marks)
            more = {} if angle is None else {"arc_angle": angle}
            self.add(at, "arc", target, speed, blend=blend, via=middle, **more)
            here = end

    def arc_shape(self, words: Words, motion: str, start: Array) -> ArcShape:
        """Return the arc that R, or I, J, K, give."""
        end, clockwise = self.point(), motion == "G2"
        u, v, _ = PLANES[self.plane]
        turns = round(self.number(words["P"])) if "P" in words else 1
        if not 1 <= turns <= 1000:
            raise ValueTrouble("P of an arc counts its turns", "1 or more")
        if "R" in words:
            return arc_by_radius(start, end, self.length(words["R"]), self.plane, clockwise, turns)
        offsets = {axis: self.length(words["IJK"[axis]]) for axis in (u, v) if "IJK"[axis] in words}
        if not offsets:
            letters = " and ".join("IJK"[axis] for axis in sorted((u, v)))
            raise ValueTrouble("an arc without a centre or radius", f"{letters}, or R")
        centre = np.array(start)
        for axis in (u, v):
            if self.arcs_absolute:
                if axis not in offsets:
                    raise ValueTrouble("G90.1: a centre needs both its coordinates", "two of I, J, K")
                centre[axis] = offsets[axis] + self.offset(AXES[axis])
            else:
                centre[axis] += offsets.get(axis, 0.0)
        return arc_by_centre(start, end, centre, self.plane, clockwise, turns)


def _names(line: str, letter: str) -> bool:
    """Return whether a line has a word of this letter, comments apart."""
    if letter not in line and letter.lower() not in line:
        return False
    text = line.split(";")[0].split("(")[0].upper()
    at = text.find(letter)
    return at >= 0 and text[at + 1 : at + 2] in tuple("-+.0123456789 ") and (at == 0 or not text[at - 1].isalpha())


def _tool_rotation(options: ReadOptions) -> Array | None:
    """Return the rotation (3, 3) of the tool in the part: its z along `tool_axis`, turned about it by `spin` [rad]."""
    if options.tool_axis is None:
        return None
    z = np.asarray(options.tool_axis, dtype=np.float64)
    z = z / np.linalg.norm(z)
    near = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = near - z * float(near @ z)
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    c, s = math.cos(options.spin), math.sin(options.spin)
    return np.column_stack([c * x + s * y, c * y - s * x, z])
