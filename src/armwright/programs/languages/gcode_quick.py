# SPDX-License-Identifier: Apache-2.0
"""The short way for what most lines are: G0 or G1 with numbers, when all axes, the feed and the offsets are known.

It does what `gcode_blocks` would do, several times as fast; whatever is not plain goes the long way.
"""

from __future__ import annotations

import re

import numpy as np

from armwright.programs.languages.gcode_blocks import GcodeBlocks
from armwright.programs.languages.gcode_words import Block
from armwright.programs.languages.unit_limits import FARTHEST_POSITION
from armwright.programs.program import Fraction, Move, Pose, Speed, ToolRate
from armwright.programs.reading import ReadOptions
from armwright.types import Array

PLAIN = re.compile(
    r"[ \t]*(?:N\d+[ \t]*)?(?:G0?([01])(?![.\d])[ \t]*)?((?:[XYZFE][-+]?(?:\d+\.?\d*|\.\d+)[ \t]*)+)(?:;.*)?"
)
NUMBERS = re.compile(r"([XYZFE])([-+.\d]+)")
RAPID = Fraction(1.0)


class GcodeQuick(GcodeBlocks):
    """Carries out plain lines."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Begin with the long way."""
        super().__init__(text, file, options)
        self.seen: set[str] = set()  # words that went the long way once, where their notes are made
        self.plain = False
        self.template: Array = np.eye(4)
        self.base: Array = np.eye(4)
        self.rate: Speed = RAPID

    def look(self, block: Block) -> None:
        """Find out, after a block went the long way, whether the next one may go the short way."""
        if self.motion in ("G0", "G1"):
            self.seen |= {self.motion, *(word.letter for word in block.words)}
        self.plain = (
            self.motion in ("G0", "G1")
            and self.feed is not None
            and self.feed_mode == "G94"
            and self.unit is not None
            and not (self.lost or self.radius_side or self.turned)
            and self.system in self.systems
        )
        if self.plain and self.feed is not None:
            if self.rotation is not None:
                self.template[:3, :3] = self.rotation
            self.base, self.rate = self.frame(), ToolRate(self.feed)

    def quick(self, line: int) -> bool:
        """Carry out a line if it is plain; False if it has to go the long way."""
        raw = self.notes.module.lines[line - 1]
        match = PLAIN.fullmatch(raw)
        if match is None:
            return False
        motion = f"G{match[1]}" if match[1] else self.motion
        found = NUMBERS.findall(match[2])
        words = dict(found)
        if len(words) != len(found) or motion not in self.seen or not words.keys() <= self.seen:
            return False
        if motion != self.motion and self.sticky:
            return False
        assert self.unit is not None
        place, moved = dict(self.place), False
        for axis in "XYZ":
            text = words.get(axis)
            if text is not None:
                if axis in self.free:
                    return False
                moved = True
                amount = float(text) / self.unit
                place[axis] = amount + self.offset(axis) if self.absolute else place[axis] + amount
                if not abs(place[axis]) <= FARTHEST_POSITION:
                    return False
        if "F" in words:
            feed = float(words["F"]) / self.unit / 60.0
            if not feed > 0.0:
                return False
            if feed != self.feed:
                self.feed, self.rate = feed, ToolRate(feed)
        self.motion, self.place = motion, place
        if not moved:
            return True
        moves = self.notes.draft.moves
        if len(moves) >= self.options.moves:
            return False
        T = self.template.copy()
        if self.free:
            self.last_line = line
            T[:3, 3] = [0.0 if axis in self.free else place[axis] for axis in "XYZ"]  # free axes keep what they have
        else:
            T[:3, 3] = place["X"], place["Y"], place["Z"]
        rapid = motion == "G0" and not self.dialect.one_command
        oriented = self.rotation is not None
        moves.append(
            Move(
                "joint" if rapid else "line",
                Pose(T, oriented=oriented, free=self.free_marks()),
                RAPID if rapid else self.rate,
                blend=self.blend,
                orientation="slerp" if oriented else "fixed",
                T_base_frame=self.base,
                line=line,
                text=raw.strip(),
            )
        )
        return True
