# SPDX-License-Identifier: Apache-2.0
"""Canned cycles of G-code: a hole in one line. Rapid to X and Y, rapid to R, feed to Z, out to R (G99) or where Z was.

82, 86, 88 and 89 wait at the bottom; 83 pecks by Q and comes out between, 73 pecks and lifts a little; 74 and 84 to 89
come out at the feed. R, Z, P and Q stay until G80; L (Fanuc: K) repeats. With G91, R counts from where Z is, Z from R.
"""

from __future__ import annotations

from armwright.programs.interpreter.program_values import ValueTrouble
from armwright.programs.languages.gcode_arcs import PLANES
from armwright.programs.languages.gcode_axes import AXES
from armwright.programs.languages.gcode_moves import GcodeMoves, Words
from armwright.programs.program import Duration
from armwright.programs.reading import ReadOptions
from armwright.syntax.scanner import Token

CYCLES = ("G73", "G74", *(f"G{code}" for code in range(81, 90)))
FEED_OUT = ("G74", "G84", "G85", "G86", "G87", "G88", "G89")
DWELLS = ("G82", "G86", "G88", "G89")
PECK_CLEARANCE = 0.254e-3  # m: above the last depth, LinuxCNC's hundredth of an inch
MOST_PECKS = 1000
MOST_REPEATS = 1000


class GcodeCycles(GcodeMoves):
    """Carries out canned cycles."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Begin without a cycle."""
        super().__init__(text, file, options)
        self.return_to = "G98"
        self.sticky: dict[str, float] = {}
        self.old_level: float | None = None

    def end_cycle(self) -> None:
        """Forget what a cycle kept."""
        self.sticky, self.old_level = {}, None

    def cycle(self, words: Words, at: Token, motion: str) -> None:
        """Carry out a cycle at each of its places."""
        w = PLANES[self.plane][2]
        axis = AXES[w]
        if motion == "G87" and any(letter in words for letter in "IJK"):
            self.gap(at, "back boring moves as its controller likes")
            self.lose(AXES, "behind a back boring")
            return
        self.keep(words, axis)
        for letter in "RZ":
            if letter not in self.sticky:
                raise ValueTrouble(f"{motion} lacks {letter}", f"{motion} X… Y… Z… R…")
        if self.old_level is None:
            self.old_level = self.place[axis]
        if axis in self.free | set(self.lost) and (not self.absolute or self.return_to == "G98"):
            self.gap(at, f"a cycle from a height {axis} that was not named")
            self.lose(AXES, "behind a cycle from a height that is not known")
            return
        repeats = round(self.number(words[self.dialect.repeat])) if self.dialect.repeat in words else 1
        if not 0 <= repeats <= MOST_REPEATS:
            raise ValueTrouble(f"{self.dialect.repeat} repeats a cycle", f"0 to {MOST_REPEATS}")
        others = {name: words[name] for name in AXES if name in words and name != axis}
        for _ in range(repeats):
            level = self.place[axis]
            clear = self.sticky["R"] + (self.offset(axis) if self.absolute else level)
            depth = self.sticky["Z"] + (self.offset(axis) if self.absolute else clear)
            if not depth <= clear:
                raise ValueTrouble("the hole's bottom lies above R", f"{axis} below R")
            self.hole(others, at, motion, axis, clear, depth)

    def keep(self, words: Words, axis: str) -> None:
        """Remember R, Z, P and Q."""
        for name, letter in (("R", "R"), ("Z", axis), ("Q", "Q")):
            if letter in words:
                self.sticky[name] = self.length(words[letter])
        if "P" in words:
            self.sticky["P"] = self.number(words["P"])

    def level_to(self, axis: str, height: float, at: Token, *, rapid: bool) -> None:
        """Move along the cycle's axis."""
        start = self.point()
        known = axis not in self.free and axis not in self.lost
        if known and abs(height - self.place[axis]) < 1e-12:
            return
        self.free.discard(axis)
        self.lost.pop(axis, None)
        self.place[axis] = height
        self.straight(at, start, rapid=rapid)

    def hole(self, others: Words, at: Token, motion: str, axis: str, clear: float, depth: float) -> None:
        """Drill one hole."""
        if self.place[axis] < clear or axis in self.free:
            self.level_to(axis, clear, at, rapid=True)
        if others:
            start = self.point()
            self.travel(others)
            self.straight(at, start, rapid=True)
        self.level_to(axis, clear, at, rapid=True)
        if motion in ("G73", "G83"):
            self.pecks(at, motion, axis, clear, depth)
        else:
            self.level_to(axis, depth, at, rapid=False)
        if motion in DWELLS and self.sticky.get("P"):
            self.notes.draft.add(at, kind="wait", target=None, speed=Duration(self.dwell(self.sticky["P"])))
        assert self.old_level is not None
        out = clear if self.return_to == "G99" else max(clear, self.old_level)
        if motion in FEED_OUT:
            self.level_to(axis, clear, at, rapid=False)
        self.level_to(axis, out, at, rapid=True)

    def pecks(self, at: Token, motion: str, axis: str, clear: float, depth: float) -> None:
        """Go down by Q at a time."""
        step = self.sticky.get("Q", 0.0)
        if not step > 0.0 or (clear - depth) / step > MOST_PECKS:
            raise ValueTrouble(f"{motion} needs Q, how deep a peck is", "Q above 0")
        self.notes.note(at.line, f"{motion}: {1e3 * PECK_CLEARANCE:g} mm of clearance between pecks", once=True)
        reached = clear
        while reached > depth + 1e-12:
            reached = max(reached - step, depth)
            self.level_to(axis, reached, at, rapid=False)
            if reached > depth + 1e-12:
                if motion == "G83":
                    self.level_to(axis, clear, at, rapid=True)
                self.level_to(axis, min(reached + PECK_CLEARANCE, clear), at, rapid=True)

    def dwell(self, value: float, *, whole: bool = True) -> float:
        """Return how long P waits [s]."""
        if self.dialect.name == "fanuc" and (not whole or value != int(value)):
            return value
        return value * self.dialect.dwell
