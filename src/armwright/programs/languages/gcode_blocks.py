# SPDX-License-Identifier: Apache-2.0
"""One block of G-code, carried out in the order of the controllers: modes, F, S, T, dwell, offsets, then the motion.

Two words of one group in a block contradict each other and are refused. M words move nothing: those with axis words
(M92, M201, M900, …) are settings.
"""

from __future__ import annotations

import re

import numpy as np

from armwright.programs.interpreter.program_values import UnknownPart, ValueTrouble
from armwright.programs.languages.gcode_axes import AXES, INCH, SYSTEMS
from armwright.programs.languages.gcode_cycles import CYCLES, GcodeCycles
from armwright.programs.languages.gcode_dialects import GROUP_OF, KNOWN, PAUSES, PRINTER, QUIET, UNSUPPORTED
from armwright.programs.languages.gcode_moves import FURTHER, TURNING, Words
from armwright.programs.languages.gcode_words import Block, Word
from armwright.programs.languages.program_draft import DEG, MM
from armwright.programs.program import Distance, Duration, Stop, Tangent
from armwright.spatial import pose, rotation_from_euler
from armwright.syntax.scanner import Token

MOTIONS = ("G0", "G1", "G2", "G3")
STRAIGHT = MOTIONS[:2]
PROBES = ("G31", "G38.2", "G38.3", "G38.4", "G38.5")
ALL_AXES = AXES + TURNING + FURTHER
SETTING_FROM = 92  # M words from here on own the axis words of their line
Codes = dict[str, Token]


class GcodeBlocks(GcodeCycles):
    """Carries out blocks."""

    def carry_out(self, block: Block) -> Codes:
        """Carry out the words of a block; return its G and M words."""
        codes, words = self.sorted_words(block)
        if not codes and not words:
            return codes
        at = block.words[0].at
        self.last_line = at.line
        if self.own_words(codes, words, at):
            return codes
        if "M98" in codes:
            words = {letter: word for letter, word in words.items() if letter not in "PL"}
        self.check_groups(codes)
        try:
            self.modes(codes, words)
            done = self.once(codes, words, at)
            self.motion_of(codes, words, at, done)
        except ValueTrouble as trouble:
            self.obstacle(str(trouble), next(iter(codes.values()), at), trouble.valid)
        except UnknownPart as part:
            self.gap(at, f"it depends on {', '.join(part.unknown.names)}: {part.unknown.reason}")
            self.lose(AXES, f"behind line {at.line}, which depends on {', '.join(part.unknown.names)}")
        return codes

    def sorted_words(self, block: Block) -> tuple[Codes, Words]:
        """Return G and M words by name, and the others by letter."""
        codes: Codes = {}
        words: Words = {}
        for word in block.words:
            if word.letter in "GM":
                codes.setdefault(f"{word.letter}{round(self.number(word), 2):g}", word.at)
            elif word.letter not in words:
                words[word.letter] = word
            elif words[word.letter].value == word.value:
                self.notes.note(block.line, f"{word.letter} stands twice in this block, with one number")
            else:
                self.obstacle(f"{word.at.text} stands twice in this block", word.at, "each letter once per line")
        return codes, words

    def own_words(self, codes: Codes, words: Words, at: Token) -> bool:
        """Take note of M and T words; True if they own all words of the line, which then moves nothing."""
        settings = [
            name for name in codes if name[0] == "M" and float(name[1:]) >= SETTING_FROM and name not in ("M98", "M99")
        ]
        plain = not any(name[0] == "G" for name in codes)
        for name, place in codes.items():
            if name in PAUSES and name.lower() in (told.strip().lower() for told in self.options.waits):
                self.notes.wait_of(self.options, place, (name,), f"{name} stops for a person")
            elif name in PAUSES:
                self.notes.assume(
                    place.line, f"{name} stops for a person: the program goes on, and that time is left out"
                )
            elif name == "M6":
                self.notes.note(place.line, "M6 changes the tool: the same tool is taken for all moves", once=True)
            elif name[0] == "M" and name not in ("M2", "M30", "M98", "M99"):
                self.notes.note(place.line, f"{name} moves nothing and is left out", once=True)
        if "G65" in codes:  # a macro's arguments
            return True
        if self.dialect.one_command and plain and any(name[0] == "M" for name in codes):
            return True
        if settings and plain and any(letter in words for letter in ALL_AXES):
            self.notes.note(at.line, f"{settings[0]} is a setting: the words behind it move nothing")
            return True
        return False

    def check_groups(self, codes: Codes) -> None:
        """Refuse G words that are not known, and two of one group."""
        seen: dict[str, str] = {}
        for name, at in codes.items():
            if name[0] != "G":
                continue
            if self.dialect.one_command and name in PRINTER:
                continue
            if name in UNSUPPORTED:
                self.obstacle(f"unknown word {name}: {UNSUPPORTED[name]} is not followed", at, "G0, G1, G2, G3")
            if name not in KNOWN:
                self.obstacle(f"unknown word {name}", at, ", ".join(KNOWN[:12]))
            group = GROUP_OF.get(name, name)
            if group in seen:
                if {name, seen[group]} <= {"G80", *MOTIONS} and "G80" in (name, seen[group]):
                    continue  # G0 G80 stand together at the head of many programs: no cycle, then a rapid
                self.obstacle(f"{seen[group]} and {name} contradict each other ({group})", at, "one of them per line")
            seen[group] = name

    # --- modes --------------------------------------------------------------------------------------------------------

    def modes(self, codes: Codes, words: Words) -> None:
        """Set what stays in force."""
        for name in codes:
            if name in ("G20", "G21"):
                self.unit = MM / INCH if name == "G20" else MM
            elif name in ("G93", "G94", "G95") and name != self.feed_mode:
                self.feed_mode, self.feed = name, None
        if "S" in words and words["S"].value is not None:
            self.spindle = self.number(words["S"])
            self.notes.note(words["S"].at.line, "S words are left out", once=True)
        if "F" in words:
            self.set_feed(words["F"])
        for letter, why in (("T", "T words are left out: the arm's tool is --tool"), ("E", "E words are left out")):
            if letter in words:
                self.notes.note(words[letter].at.line, why, once=True)
        if "D" in words and not any(name in codes for name in ("G41", "G42")):
            self.notes.note(words["D"].at.line, "D words are left out", once=True)
        for name, at in codes.items():
            self.mode(name, at, words)

    def mode(self, name: str, at: Token, words: Words) -> None:
        """Set what one G word sets; motions and words for one block come later."""
        group = GROUP_OF.get(name)
        if name in QUIET:
            self.notes.note(at.line, f"{name} ({QUIET[name]}) is left out", once=True)
        elif group == "plane":
            self.plane = name
        elif group == "offsets":
            self.system = name
        elif group == "distance":
            self.absolute = name == "G90"
        elif group == "distance of arcs":
            self.arcs_absolute = name == "G90.1"
        elif group == "return":
            self.return_to = name
        elif group == "radius compensation":
            self.compensate(name, at, words)
        elif group == "length compensation":
            self.notes.note(at.line, f"{name}: the tool's length is that of the arm's tool (--tool)", once=True)
        elif name in ("G61", "G61.1"):
            self.blend = Stop()
        elif name == "G64":
            self.round_corners(at, words)
        elif name == "G68.2":
            self.tilted(words)
        elif name == "G69":
            self.change_tilt(np.eye(4))

    def compensate(self, name: str, at: Token, words: Words) -> None:
        """Begin or end the compensation of the cutter's radius."""
        if name == "G40":
            self.radius_side = ""
            return
        told = self.shared.get("d")
        if "D" in words and told is None and words["D"].value is not None:
            told = self.shared.get(f"d{self.number(words['D']):g}")
        self.radius_side = name
        if told == 0.0:
            self.radius_side = ""
            self.notes.note(at.line, f"{name} with a radius of 0: the program is of the cutter's centre")
        elif told is not None:
            self.notes.note(at.line, f"{name}: only a radius of 0 is followed")

    def round_corners(self, at: Token, words: Words) -> None:
        """Set what G64 says: pass corners, or round them within P."""
        self.blend = Tangent()
        word = words.pop("P", None)
        if word is not None:  # Q alone is no tolerance
            words.pop("Q", None)
        if word is not None:
            size = self.length(word)
            self.blend = Stop() if size == 0.0 else self.notes.draft.cursor.located(word.at, Distance, size)
            said = "G64 P: corners are rounded over P before and behind them, so by less than P"
            self.notes.note(at.line, said, once=True)

    def tilted(self, words: Words) -> None:
        """Set the frame of G68.2: origin, then Rz(I) Rx(J) Rz(K)."""
        missing = [letter for letter in "XYZIJK" if letter not in words]
        if missing:
            raise ValueTrouble(f"G68.2 lacks {', '.join(missing)}", "G68.2 X… Y… Z… I… J… K…")
        origin = [self.length(words.pop(letter)) for letter in "XYZ"]
        angles = [self.number(words.pop(letter)) * DEG for letter in "IJK"]
        self.change_tilt(np.asarray(pose(rotation_from_euler(np.array(angles), "zxz"), np.array(origin))))

    # --- words for one block ------------------------------------------------------------------------------------------

    def once(self, codes: Codes, words: Words, at: Token) -> bool:
        """Carry out G4, G10, G28, G30, G52, G53, G92 and a printer's own words; True if the axis words are used up."""
        for name, place in codes.items():
            if self.dialect.one_command and name in PRINTER:
                self.notes.assume(place.line, f"{name} ({PRINTER[name]}) has no path here and is left out")
                return True
            if name == "G4":
                self.wait(words, place)
                return True
            if name == "G10":
                self.set_offsets(words, place)
                return True
            if name in ("G28", "G30"):
                self.home(name, words, place)
                return True
            if name in ("G28.1", "G30.1"):
                self.notes.note(place.line, f"{name} is left out: --machine-home says where home is")
                return True
            if name == "G53":
                self.in_machine_axes(codes, words, place)
                return True
            if name.startswith("G92") or name == "G52":
                self.shift_zero(name, words)
                return True
        return False

    def wait(self, words: Words, at: Token) -> None:
        """Carry out G4."""
        letters = ("P", "S") if self.dialect.one_command else ("P", "X", "U")
        word = next((words[letter] for letter in letters if letter in words), None)
        if word is None:
            if self.dialect.one_command:
                return
            raise ValueTrouble("G4 does not say how long", "G4 P…")
        value = self.number(word)
        seconds = value
        if word.letter == "P":
            text = self.notes.module.lines[word.at.line - 1][word.at.column - 1 :]
            seconds = self.dwell(value, whole=re.match(r"[A-Za-z]\s*[-+]?\d+(?![.\d])", text) is not None)
        self.notes.draft.add(at, kind="wait", target=None, speed=self.notes.draft.cursor.located(at, Duration, seconds))

    def set_offsets(self, words: Words, at: Token) -> None:
        """Carry out G10 L2 (a system's origin in the machine) and L20 (the present place's numbers in it)."""
        table = round(self.number(words["L"])) if "L" in words else -1
        if table not in (2, 20):
            self.notes.note(at.line, "G10 without L2 or L20 sets no frame and is left out")
            return
        number = round(self.number(words["P"])) if "P" in words else 0
        if not 0 <= number <= len(SYSTEMS):
            raise ValueTrouble("P of G10 names a system", f"0 to {len(SYSTEMS)}")
        if "R" in words and self.number(words["R"]) != 0.0:
            raise ValueTrouble("G10 with a turned system is not followed", "G10 without R")
        self.unused({k: word for k, word in words.items() if k not in "LPR"}, "", at)
        name = SYSTEMS[number - 1] if number else self.system
        system = dict(self.systems.get(name, dict.fromkeys(AXES, 0.0)))
        for axis in AXES:
            if axis not in words:
                continue
            value = self.length(words[axis])
            if table == 20:
                if axis in self.lost:
                    raise ValueTrouble(f"G10 L20 where {axis} is not known: {self.lost[axis]}", "axes named before it")
                system[axis] = self.place[axis] - value - self.shift[axis] - self.local[axis]
                self.zeroed |= {axis} & self.free
            elif self.options.machine_frame is not None:
                raise ValueTrouble("G10 L2 in a machine frame of its own is not followed", "no --machine-frame")
            else:
                said = "G10 L2 counts from the machine's zero, taken where --part is"
                self.notes.assume(at.line, said, "--part")
                system[axis] = value + (0.0 if self.absolute else system[axis])
        self.systems[name] = system

    def shift_zero(self, name: str, words: Words) -> None:
        """Carry out G92, G92.1, G92.2, G92.3 and G52."""
        if name in ("G92.1", "G92.2"):
            self.kept_shift = dict(self.shift) if name == "G92.2" else dict.fromkeys(AXES, 0.0)
            self.shift = dict.fromkeys(AXES, 0.0)
            return
        if name == "G92.3":
            self.shift = dict(self.kept_shift)
            return
        for axis in AXES:
            if axis not in words:
                continue
            value = self.length(words[axis])
            if name == "G52":
                self.local[axis] = value
                continue
            if axis in self.lost:
                raise ValueTrouble(f"G92 where {axis} is not known: {self.lost[axis]}", "axes named before it")
            self.zeroed |= {axis} & self.free
            self.shift[axis] += self.place[axis] - self.offset(axis) - value

    def home(self, name: str, words: Words, at: Token) -> None:
        """Carry out G28 and G30: over the point that is named, then home in the axes that are named, or in all."""
        if self.dialect.homing:
            self.notes.assume(at.line, f"{name} looks for the machine's switches: no path here, the arm stays")
            return
        named = "".join(axis for axis in AXES if axis in words)
        machine = self.machine(at)
        home = self.options.machine_home
        if machine is None or home is None:
            self.gap(at, f"{name}: where home is, is in the controller; --machine-home and --machine-frame say it")
            self.lose(named or AXES, f"behind {name} of line {at.line}")
            return
        through = {axis: words[axis] for axis in named if words[axis].value is not None}
        start = self.point()
        free = set(self.free)
        self.travel(through)
        if not np.array_equal(start, self.point()) or free != self.free:
            self.straight(at, start, rapid=True)
        self.to_machine(at, dict(zip(AXES, home, strict=True)), named or AXES)

    def in_machine_axes(self, codes: Codes, words: Words, at: Token) -> None:
        """Carry out G53: numbers of the machine's axes, for this block."""
        named = "".join(axis for axis in AXES if axis in words)
        if not named:
            return
        motion = next((m for m in MOTIONS if m in codes), self.motion)
        self.motion = motion or "G0"
        if self.options.machine_frame is None:
            self.gap(at, "G53: where the machine's axes lie is not known; --machine-frame says it")
            self.lose(named, f"behind G53 of line {at.line}")
            return
        if motion not in ("G0", "G1"):
            raise ValueTrouble("G53 goes with G0 or G1", "G53 G0 Z0")
        self.to_machine(at, {axis: self.length(words[axis]) for axis in named}, named, rapid=motion == "G0")

    def to_machine(self, at: Token, numbers: dict[str, float], named: str, *, rapid: bool = True) -> None:
        """Move some axes to coordinates of the machine [m]."""
        machine = self.machine(at)
        assert machine is not None
        start = self.point()
        unsure = (self.free | set(self.lost)) - set(named)
        turned = not np.allclose(machine[:3, :3], self.frame()[:3, :3])
        if unsure and turned:
            self.gap(at, f"{', '.join(sorted(unsure))} was not named before it")
            self.lose(AXES, f"behind line {at.line}")
            return
        there = self.in_machine(machine, {axis: numbers[axis] for axis in named})
        for k, axis in enumerate(AXES):
            if axis in named or turned:
                self.place[axis] = float(there[k])
                self.free.discard(axis)
                self.lost.pop(axis, None)
        self.straight(at, start, rapid=rapid)

    # --- the motion ---------------------------------------------------------------------------------------------------

    def motion_of(self, codes: Codes, words: Words, at: Token, done: bool) -> None:
        """Carry out the block's motion, or that in force."""
        said = next((name for name in codes if GROUP_OF.get(name) == "motion" and name != "G80"), "")
        if self.motion in MOTIONS:
            self.motion_before = self.motion
        if "G80" in codes and not (self.dialect.one_command):
            self.end_cycle()
            self.motion = ""
        if said:
            if said != self.motion and said in MOTIONS:
                self.end_cycle()
            self.motion = said
        if done:
            if "G52" in codes or "G92" in codes:
                self.unused(words, said, at)
            return
        axes = [letter for letter in ALL_AXES if letter in words]
        first = codes.get(said, at)
        if self.motion in CYCLES and (axes or said):
            pecks = self.motion in ("G73", "G83")
            self.unused({k: word for k, word in words.items() if k == "Q" and not pecks}, said, at)
            self.cycle(words, first, self.motion)
            return
        # as on LinuxCNC and grbl, an arc in force goes on where an axis is named: R of "M73 P5 R10" is no radius
        turns = bool(axes or said) and self.motion in ("G2", "G3") and any(letter in words for letter in "IJKR")
        if not axes and not turns:
            self.unused(words, said, at)
            return
        if not self.motion:
            self.motion = self.motion_unsaid(at)
        if self.motion in PROBES:
            self.notes.assume(at.line, f"{self.motion} finds nothing on its way: its end is taken")
            probe, self.motion = self.motion, "G1"
            self.go(words, at, "G1")
            self.motion = self.motion_before if probe == "G31" else probe  # G31 is of its own block
        elif self.motion in ("G33", "G76"):
            self.travel(words)
            self.gap(at, f"{self.motion}: a thread follows the spindle")
        else:
            own = "IJKRP" if turns else ""
            self.unused({letter: word for letter, word in words.items() if letter not in own}, said, at)
            self.go(words, at, self.motion)

    def motion_unsaid(self, at: Token) -> str:
        """Return the motion of coordinates without a motion word, which controllers understand in different ways."""
        if not self.motion_before and self.without_word.power_on:
            found = self.without_word.power_on
            said = f"coordinates before the first motion word: {found}, in force when {self.without_word.name} starts"
        elif self.motion_before in STRAIGHT and self.without_word.own_cycles:
            found = self.motion_before
            said = f"coordinates behind G80: {found}, in force before the cycle, as {self.without_word.name} has it"
        else:
            self.obstacle("where to is said, but not how", at, "G0, G1, G2 or G3")
        self.notes.assume(at.line, said, "--dialect")
        self.notes.note(at.line, f"{said}; --dialect says otherwise")  # at each such line, not at the first alone
        return found

    def unused(self, words: dict[str, Word], said: str, at: Token) -> None:
        """Say which words mean nothing in their block."""
        idle = [letter for letter in words if letter in "IJKPQRL"]
        if idle:
            self.notes.leave_out(at.line, f"{', '.join(idle)} mean nothing in this line and are left out")
