# SPDX-License-Identifier: Apache-2.0
"""URScript, read by `urscript_parser` and run by the interpreter: metres, radians, rotation vectors.

Statements outside of functions run in order. If they move nothing, the program is the one function that nobody calls
(PolyScope writes programs so); ``entry`` names one of several. A file whose functions move nothing, or all want
arguments, is a library: it is read and has no moves. A function that the file lacks is looked for in the scripts beside
it, and in those that the user names: such a file is taken in whole, as PolyScope does with its script files.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from armwright.errors import ProgramError
from armwright.programs.interpreter.interpreter_scope import CallFrame, Cell
from armwright.programs.interpreter.program_files import Neighbours
from armwright.programs.interpreter.program_values import Value
from armwright.programs.interpreter.reading_notes import Obstacle
from armwright.programs.interpreter.told_expression import told_expression
from armwright.programs.interpreter.tree_routines import LeaveFlow, ReturnFlow
from armwright.programs.languages.urscript_moves import UrscriptMoves
from armwright.programs.program import Program
from armwright.programs.reading import ReadOptions
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Node, Routine
from armwright.syntax.scanner import Token
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_parser import UrscriptParser, parse_urscript

MOST_LISTED = 12  # functions in a message
SUFFIXES = (".script", ".urscript")


def read_urscript(text: str, file: str = "", options: ReadOptions | None = None) -> Program:
    """Read a URScript program; see the module's text for what is run."""
    return UrscriptReader(text, file, options or ReadOptions()).program()


class UrscriptReader(UrscriptMoves):
    """Runs the statements of a file and its program."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Read the file."""
        super().__init__(parse_urscript(text, file), options)
        self.neighbours = Neighbours(file, SUFFIXES, options)
        self.looked: set[str] = set()
        for name, value in options.define.items():
            self.scopes.define(name, name, Cell("", self.defined(f"--define {name}", value)))
        for name, said in self.inputs.items():
            if isinstance(said, str) and re.match(r"\s*p?\s*\[", said):  # other texts are texts, as a socket sends them
                made = self.defined(f"--input {name}", said)
                self.inputs[name] = [made] if isinstance(made, list) else made  # one reading that is a list

    def defined(self, option: str, value: Value) -> Value:
        """Return what a user says by an option; a text is read as URScript."""
        if not isinstance(value, str):
            return value
        return self.value(told_expression(UrscriptParser, value, option))

    # --- further files ------------------------------------------------------------------------------------------------

    def elsewhere(self, key: str) -> bool:
        """Link the script that has a function as one of its outermost; two that do are in the way."""
        if key in self.looked:
            return False
        self.looked.add(key)
        pattern = re.compile(rf"(?m)^[ \t]*(?:def|thread)[ \t]+{re.escape(key)}[ \t]*\(")
        loaded = {module.file for module in self.modules}
        found = []
        for path in self.neighbours.with_match(pattern, key):
            try:
                module = None if str(path) in loaded else parse_urscript(self.neighbours.text(path), str(path))
            except ProgramError:
                self.notes.note(0, f"{path.name} has {key!r} but cannot be read")
                continue
            if module is not None and key in module.outer:
                found.append(module)
        told = [module for module in found if Path(module.file) in self.options.more]
        found = told or found
        if len(found) > 1:
            names = ", ".join(Path(module.file).name for module in found)
            at = Token("name", key, key, 0, 0)
            self.notes.obstacle(f"{key!r} is a function of several files: {names}", at, "one of them as a further file")
        for module in found:
            self.take_in(module)
        return bool(found)

    def take_in(self, module: ScriptModule) -> None:
        """Link a script: its functions, and the variables that it sets outside of them."""
        self.modules.append(module)
        self.notes.files.setdefault(module.file)
        outer, file = self.frame, self.notes.module
        self.frame, self.notes.module = CallFrame(module, None), module
        try:
            self.block(tuple(s for s in module.top if isinstance(s, tree.Assign | tree.Declare)))
        finally:
            self.frame, self.notes.module = outer, file

    # --- running ------------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Run the program."""
        module, wanted = self.script, self.options.entry
        self.notes.draft.name = Path(module.file).stem if module.file else ""
        entry = ""
        if wanted is not None:
            found = module.routines.get(wanted)
            if found is None:
                names = ", ".join(list(module.routines)[:MOST_LISTED]) or "none"
                raise ProgramError(f"no function {wanted!r} to run", file=module.file, valid=f"one of {names}")
            entry = self.run_entry(found)
        else:
            begin = Token("name", "program", "program", 1, 1)
            whole = Routine(begin, "top", (), "", module.top, len(module.lines), module)
            self.notes.called[module.file, ""] = whole
            self.frame = CallFrame(module, None)
            calls = {s.at.key for s in tree.statements_in(module.top) if isinstance(s, tree.Invoke)}
            ended = False
            try:
                self.block(module.top)
            except (LeaveFlow, ReturnFlow, Obstacle):
                ended = True
            if not ended and not calls & set(module.outer) and not self.moves_in(module.top, set()):
                routine = self.entry()
                entry = "" if routine is None else self.run_entry(routine)
            elif len(calls & set(module.outer)) == 1:
                (entry,) = calls & set(module.outer)
                self.notes.draft.name = entry
        for thread in list(self.searching):
            self.broken_off(thread, "moves the arm until the program ends: how far depends on both")
        for thread in [key for key, circling in self.circling.items() if circling.moves < 0]:
            self.apart(thread)
        if self.tool is None:
            self.notes.note(1, "no set_tcp: targets are places of the arm's own tool frame")
        self.notes.check_told(self.options, self.inputs, self.scopes.unused)
        return self.notes.finish(entry, self.modules)

    def run_entry(self, routine: Routine) -> str:
        """Run the program's function."""
        self.notes.draft.name = routine.at.text
        with contextlib.suppress(LeaveFlow, Obstacle):
            self.call(routine, (), routine.at)
        return routine.at.text

    def entry(self) -> Routine | None:
        """Return the function that is the program; None for a library."""
        module = self.script
        outer = [module.routines[key] for key in module.outer if module.routines[key].kind == "def"]
        free = [r for r in outer if len(module.defaults.get(r.at.key, {})) == len(r.parameters)]
        called: set[str] = set()
        for routine in module.routines.values():
            called |= {name for name in _called(routine.body) if name != routine.at.key}
        top = [r for r in free if r.at.key not in called] or free
        for name in ("main", Path(module.file).stem):
            named = [r for r in top if r.at.key == name]
            if named:
                return named[0]
        moving = [r for r in top if self.moves_in(r.body, set())]
        if len(moving) > 1:
            names = ", ".join(r.at.text for r in moving[:MOST_LISTED])
            raise ProgramError(
                "which function is the program? Several move the arm and are called by nobody",
                file=module.file,
                line=moving[0].at.line,
                valid=f"--entry with one of {names}",
            )
        if moving or len(top) == 1:
            return (moving or top)[0]
        self.notes.note(1, "there is no program to run: a file of functions")
        return None


def _called(node: Node) -> set[str]:
    found: set[str] = set()
    if isinstance(node, tree.Invoke | tree.FunctionCall):
        found.add(node.at.key)
    if isinstance(node, tuple) and not isinstance(node, Token):
        for part in node:
            found |= _called(part)
    return found
