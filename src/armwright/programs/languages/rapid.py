# SPDX-License-Identifier: Apache-2.0
"""RAPID: whole modules, read by `rapid_parser` and run by the interpreter; mm, degrees, quaternions w, x, y, z.

`rapid_moves` has the instructions, `rapid_values` values and functions, `rapid_data` the types. ``main`` is run; else
the routine that is named like the file, else the only one that nobody calls, else ``entry`` says which.
Names that the file does not declare are looked for in further modules of its folder.
"""

from __future__ import annotations

import re
from pathlib import Path

from armwright.errors import ProgramError
from armwright.programs.interpreter.interpreter_scope import CallFrame, Cell
from armwright.programs.interpreter.program_entry import entry_of
from armwright.programs.interpreter.program_files import Neighbours
from armwright.programs.interpreter.program_values import Value
from armwright.programs.interpreter.reading_notes import Obstacle
from armwright.programs.interpreter.told_expression import told_expression
from armwright.programs.languages.rapid_moves import PLACES, RapidMoves
from armwright.programs.languages.rapid_parser import RapidParser, parse_rapid
from armwright.programs.program import Program
from armwright.programs.reading import ReadOptions
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Module, Routine
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import near

FLOW = ("return", "exit", "exitcycle", "goto", "raise", "trynext", "retry")
MAY_MOVE = (*PLACES, "searchl", "searchc", "callbyvar", "%")  # moves, and calls of what the text does not name
SUFFIXES = (".mod", ".modx", ".prg", ".sys", ".sysx")


def read_rapid(text: str, file: str = "", options: ReadOptions | None = None) -> Program:
    """Read a RAPID program; see the module's text for what is run."""
    return RapidReader(text, file, options or ReadOptions()).program()


class RapidReader(RapidMoves):
    """Links the modules of a program and runs it."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Read the file and those that the user adds."""
        modules = parse_rapid(text, file)
        super().__init__(modules[0], options)
        self.begin_values()
        self.begin()
        self.modules = []
        for module in modules:
            self.link(module)
        self.neighbours = Neighbours(file, SUFFIXES, options)
        self.looked: set[str] = set()
        for path in options.more:
            if path.suffix.lower() in SUFFIXES:
                for module in parse_rapid(self.neighbours.text(path), str(path)):
                    self.link(module)
                    self.notes.files.setdefault(str(path))
        for name, value in options.define.items():
            self.scopes.define(name, name.lower(), self.defined(name, value))

    def link(self, module: Module) -> None:
        """Add a module: its data are worked out when they are used."""
        self.modules.append(module)
        self.records.update(module.records)
        seen: dict[str, Token] = {}
        for declare in module.data:
            if declare.at.key in seen:
                declare = declare._replace(storage=f"{declare.storage} twice")
            seen[declare.at.key] = declare.at
            hidden = declare.storage.startswith("local")
            self.scopes.add(module, declare, hidden=hidden)

    def declared(self, statement: tree.Declare) -> Value:
        """Return the variable of a declaration; one of two with the same name is in the way."""
        if statement.storage.endswith("twice"):
            self.notes.obstacle(f"{statement.at.text!r} is declared twice", statement.at, "another name")
        return super().declared(statement)

    def defined(self, name: str, value: Value) -> Cell:
        """Return the variable that a user defines; a text is read as RAPID."""
        if not isinstance(value, str):
            return Cell("", float(value) if not isinstance(value, bool) else value)
        node = told_expression(RapidParser, value, f"--define {name}")
        made = self.value(node)
        kind = (
            {3: "tooldata", 5: "wobjdata", 4: "robtarget", 2: "jointtarget"}.get(len(made), "")
            if isinstance(made, list)
            else ""
        )
        if kind == "robtarget" and not isinstance(made[0], list):
            kind = "speeddata"
        try:
            return Cell(kind, self.fit(made, kind, node.at))
        except Obstacle as misfit:
            raise ProgramError(f"--define {name}: {misfit}", valid=f"a {kind or 'value'}") from None

    def elsewhere(self, key: str) -> bool:
        """Link the module of this folder that declares a name; two that do are in the way."""
        if key in self.looked or key in self.outputs or key in self.predefined:
            return False
        self.looked.add(key)
        word = re.escape(key)
        pattern = re.compile(
            rf"(?im)^[^!\n]*\b(?:(?:proc|trap|func\s+\w+)\s+{word}\b|(?:const|var|pers)\s+\w+\s+{word}\b)"
        )
        loaded = {module.file for module in self.modules}
        found = [p for p in self.neighbours.with_match(pattern, key) if str(p) not in loaded]
        if len(found) > 1:
            names = ", ".join(p.name for p in found)
            at = Token("name", key, key, 0, 0)
            self.notes.obstacle(f"{key!r} is declared in several files: {names}", at, "one of them as a further file")
        for path in found:
            try:
                modules = parse_rapid(self.neighbours.text(path), str(path))
            except ProgramError:
                self.notes.note(0, f"{path.name} has {key!r} but cannot be read")
                return False
            for module in modules:
                self.link(module)
            self.notes.files.setdefault(str(path))
        return bool(found)

    def tell_misspelt(self) -> None:
        """Tell of calls that look like a misspelt RETURN, also where they did not run: a loop lacks its end."""
        for routine in self.notes.called.values():
            for statement in tree.statements_in(routine.body) if routine.module is self.notes.main else ():
                at = statement.at
                like = near(at.key, FLOW, 0.8) if isinstance(statement, tree.Invoke) and at.key not in FLOW else ""
                if like and self.routine(at.key) is None:
                    self.notes.note(at.line, f"{at.text}: did you mean {like!r}?")

    def tell_entry(self, routine: Routine) -> None:
        """Say which of several routines is run."""
        said = f"of the routines that nobody calls, {routine.at.text} alone moves the arm, and is run"
        self.notes.assume(routine.at.line, said, "--entry")

    def program(self) -> Program:
        """Run the program."""
        name = Path(self.notes.main.file).stem
        routine = entry_of(self.modules, self.options.entry, name, ("proc",), motion=MAY_MOVE, tell=self.tell_entry)
        if routine is None:
            self.notes.note(1, "there is no routine to run: a file of data or of functions")
            return self.notes.finish("", self.modules)
        self.notes.draft.name = routine.module.name or routine.at.text
        self.notes.main = self.notes.module = routine.module
        self.frame = CallFrame(routine.module, None)
        self.start(routine)
        self.tell_misspelt()
        self.notes.check_told(self.options, self.inputs, self.scopes.unused)
        return self.notes.finish(routine.at.text, self.modules)
