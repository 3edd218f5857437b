# SPDX-License-Identifier: Apache-2.0
"""G-code as people have it: one block per line, letters with numbers, in the dialects of `gcode_dialects`.

    G0        rapid, read as a joint move at full speed        G20, G21   inches, millimetres (else mm, with a note)
    G1        line at F                                        G54–G59.3, G92, G10 L2/L20, G52  where zero is
    G2, G3    arc by I, J, K or R, helix, circle, turns P      G61, G61.1 stop at every target (also the default)
    G4        wait                                             G64, G64 P… pass targets, round corners within P
    G17–G19   plane of arcs and cycles: XY, ZX, YZ             G73, G81–G89, G80, G98, G99  canned cycles
    G28, G30, G53  places of the machine                       G90, G91   absolute, incremental
    G68.2 X Y Z I J K  tilted frame: origin, then Rz(I) Rx(J) Rz(K); G69 back to the part
    M98, M99, G65, O words, IF, WHILE, GOTO, # variables       M2, M30, % end

F is length per minute (G94), moves a minute (G93) or length per turn (G95). Where a program names all of A, B, C, they
are turns about X, Y, Z in degrees, R = Rz(C) Ry(B) Rx(A); else they are axes of a machine. `gcode_words` reads lines,
`gcode_blocks` carries them out, this file decides which comes next. What is not known is a gap or a note.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from armwright.programs.interpreter.program_files import Neighbours
from armwright.programs.interpreter.program_values import Unknown, UnknownPart, Value, guessed
from armwright.programs.interpreter.reading_notes import Obstacle
from armwright.programs.languages.gcode_blocks import Codes
from armwright.programs.languages.gcode_dialects import ENDS
from armwright.programs.languages.gcode_quick import GcodeQuick
from armwright.programs.languages.gcode_turning import turning_word
from armwright.programs.languages.gcode_words import O_WORDS, Block, parse_line, token
from armwright.programs.languages.program_draft import FEWER
from armwright.programs.program import Program
from armwright.programs.reading import Note, ReadOptions
from armwright.syntax.program_tree import Module, Node
from armwright.syntax.scanner import Token

SUFFIXES = (".nc", ".ngc", ".gcode", ".tap", ".cnc", ".gco", ".g")
DEEPEST_CALL = 40
MOST_PASSES = 2000  # of one loop; more are taken for a loop without an end
COMMANDS = re.compile(r"[ \t]*[$?!~]")  # lines that are for grbl's console
MACRO = {
    letter: number
    for number, letter in zip((1, 2, 3, 7, 8, 9, 11, 4, 5, 6, 13, 17, 18, 19, 20), "ABCDEFHIJKMQRST", strict=True)
}
MACRO |= {letter: number for number, letter in enumerate("UVWXYZ", 21)}


def read_gcode(text: str, file: str = "", options: ReadOptions | None = None) -> Program:
    """Read a G-code program; see the module's text for what it knows."""
    return GcodeReader(text, file, options or ReadOptions()).program()


class _Return(Exception):  # noqa: N818 - ends a subprogram
    """A subprogram ends."""


class _End(Exception):  # noqa: N818 - ends the program
    """The program ends."""


class GcodeReader(GcodeQuick):
    """Runs the lines of a program, from the first on."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Begin at the first line."""
        super().__init__(text, file, options)
        self.blocks: dict[str, dict[int, Block]] = {}
        self.loops: dict[tuple[str, int], float] = {}
        self.passed: dict[tuple[str, int], int] = {}
        self.taken: dict[tuple[str, int], int] = {}
        self.rounds: dict[tuple[str, int], int] = {}
        self.depth = self.steps = 0
        self.neighbours = Neighbours(file, SUFFIXES, options)
        self.text = text

    def program(self) -> Program:
        """Run the program."""
        with suppress(_End, _Return, Obstacle):
            self.refuse_turning()
            self.run(0)
        self.notes.module = self.notes.main
        self.notes.note(1, "targets are places of the arm's own tool frame, or of --tool; G-code names no tool")
        self.notes.check_told(self.options, self.readings)
        return self.notes.finish("", [self.notes.main])

    def refuse_turning(self) -> None:
        """Refuse a lathe's program."""
        line, column, word = (0, 0, "") if "turning" in self.shared else turning_word(self.text)
        if line:
            said = "this is a lathe's program: X counts diameters there, and G98 and G99 are kinds of feed"
            self.obstacle(said, token(word, line, column), "a mill's program; --define turning=0 says that it is one")

    def block(self, index: int) -> Block:
        """Return a line's block."""
        module = self.notes.module
        blocks = self.blocks.get(module.file)
        if blocks is None:
            blocks = self.blocks[module.file] = {}
        found = blocks.get(index)
        if found is None:
            raw = module.lines[index]
            if COMMANDS.match(raw) and self.dialect.name == "grbl":
                found = Block(index + 1, remarks=["a line for the controller's console is left out"])
            else:
                found = parse_line(raw, index + 1, self.dialect.one_command)
            if found.flow is not None or self.depth:
                blocks[index] = found  # lines that run once need not be kept
        return found

    def run(self, index: int) -> None:
        """Run lines from an index on until the program, or the subprogram, ends."""
        began = False
        size = len(self.notes.module.lines)
        while index < size:
            if self.plain and self.steps < self.options.statements and self.quick(index + 1):
                self.steps, began, index = self.steps + 1, True, index + 1
                continue
            block = self.block(index)
            self.passed[self.notes.module.file, index] = self.changes
            if block.percent:
                if began:
                    return
                index += 1
                continue
            began = began or bool(block.words or block.flow or block.assigns)
            self.step(block)
            try:
                index = self.one(block, index)
            except Obstacle:
                if len(self.notes.draft.moves) >= self.options.moves:
                    raise _End from None  # said once, not for each of the lines that follow
                index += 1
            except UnknownPart as part:
                self.notes.note(block.line, f"left out, for it depends on {', '.join(part.unknown.names)}")
                index += 1
            self.look(block)

    def step(self, block: Block) -> None:
        """Count a line; what does not end is refused."""
        self.steps += 1
        self.notes.ran_line(block.line)
        at = token("", block.line, 0)
        over = len(self.notes.draft.moves) + len(self.notes.gaps) > self.options.moves
        if self.steps > self.options.statements or over:
            what = f"{self.options.moves} moves" if over else f"{self.options.statements} lines were carried out"
            self.notes.obstacles.clear()
            try:
                self.obstacle(
                    f"endless loop? more than {what}", at, FEWER if over else "a loop that ends, or a shorter program"
                )
            except Obstacle:
                self.notes.refuse_if_needed()

    def one(self, block: Block, index: int) -> int:
        """Carry out one line; return the index of the next."""
        for remark in block.remarks:
            self.notes.note(block.line, remark)
        if block.skip:
            if self.readings.get("/"):
                return index + 1
            self.notes.assume(block.line, "lines that begin with / run", "--input /=1")
        if block.trouble is not None:
            self.obstacle(block.trouble[0], block.trouble[1], block.trouble[2])
        if block.flow is not None and block.flow[0] != "number":
            return self.flow(block, index)
        if block.flow is not None and not block.words and not block.assigns:
            return index + 1
        if block.flow is not None and any(word.value is None for word in block.words):
            word = block.words[0]
            self.obstacle(f"unknown word {word.at.text!r} behind a number of O", word.at, ", ".join(O_WORDS))
        if block.assigns:
            block = self.settled(block)
            self.assign_all(block)
        codes = self.carry_out(block) if block.words else {}
        self.calls(codes, block)
        return index + 1

    def settled(self, block: Block) -> Block:
        """Return a block whose words have numbers: the values before its own assignments."""
        words = [replace(w, value=w.value if w.value is None else self.number(w)) for w in block.words]
        return replace(block, words=words)

    def assign_all(self, block: Block) -> None:
        """Carry out the assignments of a line, all with the values before it."""
        made = [(target, self.value(node, at), at) for target, node, at in block.assigns]
        for target, value, at in made:
            self.assign(target[1], value, at)

    # --- subprograms --------------------------------------------------------------------------------------------------

    def calls(self, codes: Codes, block: Block) -> None:
        """Carry out M98, G65, M99 and the ends of the program."""
        if any(name in codes for name in ENDS):
            raise _End
        if "M99" in codes:
            if not self.depth:
                self.notes.assume(block.line, "M99 runs the program again: one pass")
            raise _Return
        words = {word.letter: word for word in block.words}
        if "M98" in codes or "G65" in codes:
            at = codes.get("M98", codes.get("G65", block.words[0].at))
            if "P" not in words:
                self.obstacle("a call that does not say which program", at, "M98 P1000")
            called = round(self.number(words["P"]))
            times = round(self.number(words["L"])) if "L" in words else 1
            if times == 1 and "M98" in codes and called > 9999 and f"{called}" not in self.numbers():
                times, called = divmod(called, 10000)
            own = {f"{MACRO[w.letter]}": self.number(w) for w in block.words if w.letter in MACRO and "G65" in codes}
            self.call(f"{called}", times, own if "G65" in codes else None, at)

    def numbers(self) -> dict[str, int]:
        """Return the index of every O number of the file under way."""
        found: dict[str, int] = {}
        for index, line in enumerate(self.notes.module.lines):
            match = re.match(r"[ \t]*(?:N\d+[ \t]*)?[O:][ \t]*0*(\d+)", line, re.IGNORECASE)
            if match:
                found.setdefault(match[1], index)
        return found

    def call(self, label: str, times: int, own: dict[str, Value] | None, at: Token) -> None:
        """Run a subprogram by its number."""
        index = self.numbers().get(label)
        module = self.notes.module
        if index is None:
            pattern = re.compile(rf"(?im)^[ \t]*[O:][ \t]*0*{re.escape(label)}(?!\d)")
            found = self.neighbours.with_match(pattern, label)
            if len(found) != 1:
                several = (
                    f" is in several files: {', '.join(p.name for p in found)}" if found else " is in no file here"
                )
                self.notes.skip(at, f"program {label}{several}: skipped, it may move the arm; --more gives its file")
                return
            self.notes.files.setdefault(str(found[0]))
            self.notes.module = Module(str(found[0]), self.neighbours.text(found[0]).split("\n"))
            index = self.numbers()[label]
        for _ in range(min(times, self.options.statements)):
            self.enter(index + 1, own, at)
        self.notes.module = module

    def enter(self, index: int, own: dict[str, Value] | None, at: Token) -> None:
        """Run a subprogram once; with variables of its own if it has arguments."""
        self.depth += 1
        if self.depth > DEEPEST_CALL:
            self.obstacle(f"more than {DEEPEST_CALL} calls within each other", at, "fewer of them")
        if own is not None:
            self.scopes.append(dict(own))
        try:
            self.run(index)
        except _Return:
            pass
        finally:
            self.depth -= 1
            if own is not None:
                self.scopes.pop()

    # --- flow ---------------------------------------------------------------------------------------------------------

    def test(self, node: Node, at: Token, *, branch: bool = True) -> bool:
        """Return the answer of a test; an unknown one takes its guess, with a note."""
        value = self.value(node, at)
        if isinstance(value, Unknown):
            names = ", ".join(value.names)
            taken = bool(guessed(value))
            if branch:
                taken = bool(self.notes.decide(self.options, at, 0, names, ("false", "true"), int(taken)))
            option = f"--input {value.names[0]}=…" if value.names else ""
            self.notes.assume(at.line, f"this test depends on {names}: taken as {str(taken).lower()}", option)
            return taken
        return bool(value)

    def flow(self, block: Block, index: int) -> int:
        """Carry out a word of flow; return the index of the next line."""
        assert block.flow is not None
        kind, label, arguments, at = block.flow
        if block.words:
            said = " ".join(word.letter for word in block.words)
            self.obstacle(f"{said} stands in the line of a test or jump", block.words[0].at, "a line of its own for it")
        if kind == "then":
            if self.test(arguments[0], at):
                self.assign_all(block)
            return index + 1
        if kind == "goto":
            return self.jump(arguments, at, index)
        if kind == "while":
            if self.test(arguments[0], at, branch=False) and self.may_repeat(index, at):
                return index + 1
            return self.find(index, (("end", label),), at) + 1
        if kind == "end":
            return self.back(index, ("while", label), at)
        return self.o_word(kind, label, arguments, at, index)

    def jump(self, arguments: list[Node], at: Token, index: int) -> int:
        """Carry out GOTO: forwards first; backwards as long as variables change."""
        test, target = arguments
        if test is not None and not self.test(test, at):
            return index + 1
        value = self.value(target, at)
        if not isinstance(value, float):
            self.obstacle("where to jump is not known", at, "GOTO with a number")
        lines = self.notes.module.lines
        pattern = re.compile(rf"[ \t]*/?[ \t]*N0*{round(value)}(?!\d)", re.IGNORECASE)
        places = [*range(index + 1, len(lines)), *range(index)]
        found = next((k for k in places if pattern.match(lines[k])), None)
        if found is None:
            self.obstacle(f"there is no line N{round(value)}", at, "GOTO with the number of a line")
        if found <= index and not self.may_repeat(found, at):
            return index + 1
        return found

    def may_repeat(self, index: int, at: Token) -> bool:
        """Return whether a loop that begins at a line goes on: not if its pass changed no variable."""
        key = (self.notes.module.file, index)
        before = self.taken.get(key)
        self.taken[key] = self.changes
        self.rounds[key] = self.rounds.get(key, 0) + 1
        if self.rounds[key] > MOST_PASSES:
            self.notes.obstacles.clear()
            with suppress(Obstacle):
                loop = f"endless loop? more than {MOST_PASSES} passes of lines {index + 1} to {at.line}"
                self.obstacle(loop, at, "a loop that ends")
            self.notes.refuse_if_needed()
        backwards = self.passed.get(key) if index + 1 != at.line else before
        if backwards is not None and backwards == self.changes and (before is not None or index + 1 != at.line):
            self.taken.pop(key, None)
            self.notes.assume(at.line, "this loop has no end: one pass")
            return False
        return True

    def find(self, index: int, wanted: tuple[tuple[str, str], ...], at: Token) -> int:
        """Return the index of the next line with one of some words of flow."""
        lines, word = len(self.notes.module.lines), wanted[-1][0].lstrip("o")
        slip = ""
        for k in range(index + 1, lines):
            block = self.block(k)
            if block.flow is not None and (block.flow[0], block.flow[1]) in wanted:
                return k
            if block.trouble is not None and not slip:
                slip = f"; line {k + 1} is not understood: {block.trouble[0]}"
        self.obstacle(f"a block that is never closed by {word} in lines {at.line} to {lines}{slip}", at, word)

    def back(self, index: int, wanted: tuple[str, str], at: Token) -> int:
        """Return the index of the line before with a word of flow."""
        for k in range(index - 1, -1, -1):
            flow = self.block(k).flow
            if flow is not None and (flow[0], flow[1]) == wanted:
                return k
        self.obstacle(f"no {wanted[0].lstrip('o')} opens this block", at, wanted[0].lstrip("o"))

    def o_word(self, kind: str, label: str, arguments: list[Node], at: Token, index: int) -> int:
        """Carry out O words: sub, if, while, do, repeat, call."""
        if kind in ("oif", "oelseif", "owhile", "orepeat") and not arguments:
            self.obstacle(f"{kind[1:]} without its condition", at, f"{kind[1:]} […]")
        if kind == "osub":
            return self.find(index, (("oendsub", label),), at) + 1
        if kind in ("oendsub", "oreturn"):
            raise _Return
        if kind == "ocall":
            self.call_named(label, [self.value(node, at) for node in arguments], at)
        elif kind == "oif":
            return self.branch(index, label, arguments[0], at)
        elif kind in ("oelse", "oelseif"):
            return self.find(index, (("oendif", label),), at) + 1
        elif kind == "owhile":
            closing = self.loop_pair(index, label, at)
            if closing < index:  # the end of do … while
                again = self.test(arguments[0], at, branch=False) and self.may_repeat(closing, at)
                return closing + 1 if again else index + 1
            going = self.test(arguments[0], at, branch=False) and self.may_repeat(index, at)
            return index + 1 if going else closing + 1
        elif kind == "oendwhile":
            return self.back(index, ("owhile", label), at)
        elif kind == "orepeat":
            return self.repeat(index, label, arguments[0], at)
        elif kind == "oendrepeat":
            return self.back(index, ("orepeat", label), at)
        elif kind == "obreak":
            self.loops.pop((self.notes.module.file, self.opening(index, label, at)), None)
            return self.find(index, (("oendwhile", label), ("oendrepeat", label), ("owhile", label)), at) + 1
        elif kind == "ocontinue":
            return self.opening(index, label, at)
        return index + 1

    def opening(self, index: int, label: str, at: Token) -> int:
        """Return the index of the line that opens the loop around a line."""
        for k in range(index - 1, -1, -1):
            flow = self.block(k).flow
            if flow is not None and flow[1] == label and flow[0] in ("owhile", "orepeat", "odo"):
                return k
        self.obstacle("this stands in no loop", at, "while, do or repeat with the same number before it")

    def loop_pair(self, index: int, label: str, at: Token) -> int:
        """Return the index of a while's endwhile, or of the do before it."""
        for k in range(index - 1, -1, -1):
            flow = self.block(k).flow
            if flow is not None and flow[1] == label:
                if flow[0] == "odo":
                    return k
                break
        return self.find(index, (("oendwhile", label),), at)

    def branch(self, index: int, label: str, test: Node, at: Token) -> int:
        """Return the index of the branch that runs."""
        wanted = (("oelseif", label), ("oelse", label), ("oendif", label))
        while not self.test(test, at):
            first = index + 1
            index = self.find(index, wanted, at)
            flow = self.block(index).flow
            assert flow is not None
            if index > first:
                self.notes.left_out.append((first + 1, index, f"line {at.line} to hold"))
                self.passed_over(range(first, index), at)
            if flow[0] != "oelseif":
                break
            if not flow[2]:
                self.obstacle("elseif without its condition", flow[3], "elseif […]")
            test, at = flow[2][0], flow[3]
        return index + 1

    def passed_over(self, lines: range, at: Token) -> None:
        """Tell of lines that are not understood in a branch that does not run: one may be where the branch ends."""
        for index in lines:
            trouble = self.block(index).trouble
            if trouble is not None:
                said = f"not understood, and passed over in the branch of line {at.line}: {trouble[0]}"
                self.notes.note(index + 1, said)
                place = (self.notes.module.file, index + 1)
                self.notes.set_aside[place] = Note(index + 1, self.notes.message(said))

    def repeat(self, index: int, label: str, count: Node, at: Token) -> int:
        """Return the index of the next line of a repeat."""
        key = (self.notes.module.file, index)
        if key not in self.loops:
            value = self.value(count, at)
            if isinstance(value, Unknown):
                self.notes.assume(at.line, f"how often this repeats depends on {', '.join(value.names)}: one pass")
                value = 1.0
            self.loops[key] = float(value or 0.0)
        self.loops[key] -= 1.0
        if self.loops[key] < 0.0:
            del self.loops[key]
            return self.find(index, (("oendrepeat", label),), at) + 1
        return index + 1

    def call_named(self, label: str, arguments: list[Value], at: Token) -> None:
        """Run ``O<name> call […] […]``: its arguments are #1, #2 and so on."""
        own: dict[str, Value] = {f"{k}": 0.0 for k in range(1, 31)}
        own |= {f"{k}": value for k, value in enumerate(arguments, 1)}
        module, found = self.notes.module, self.sub(label)
        if found is None:
            name = label.strip("<>")
            paths = [p for p in self.neighbours.paths if p.stem.lower() == name]
            if len(paths) == 1:
                self.notes.files.setdefault(str(paths[0]))
                self.notes.module = Module(str(paths[0]), self.neighbours.text(paths[0]).split("\n"))
                found = self.sub(label)
        if found is None:
            self.notes.module = module
            self.notes.skip(at, f"subprogram {label} is in no file here: skipped, it may move the arm; --more gives it")
            return
        try:
            self.enter(found + 1, own, at)
        finally:
            self.notes.module = module

    def sub(self, label: str) -> int | None:
        """Return the index of the line that opens a subprogram of the file under way."""
        for index, line in enumerate(self.notes.module.lines):
            if "sub" in line.lower() and line.lstrip()[:1] in ("o", "O"):
                flow = self.block(index).flow
                if flow is not None and flow[0] == "osub" and flow[1] == label:
                    return index
        return None
