# SPDX-License-Identifier: Apache-2.0
"""KRL: programs with their data files, read by `krl_parser` and run by the interpreter; mm, degrees, $VEL.CP in m/s.

`krl_moves` has the moves, `krl_settings` BAS, inline forms and waits, `krl_values` values and the controller's
variables. The routine named like the file is run, else the first one. ``name.dat`` beside ``name.src`` belongs to it;
further files and ``$config.dat`` are looked at when a name is missing.
"""

from __future__ import annotations

import re
from pathlib import Path

from armwright.errors import ProgramError
from armwright.programs.interpreter.interpreter_scope import CallFrame, Cell
from armwright.programs.interpreter.program_files import Neighbours
from armwright.programs.interpreter.program_values import RecordValue, Value, ValueTrouble
from armwright.programs.interpreter.reading_notes import Obstacle
from armwright.programs.interpreter.told_expression import told_expression
from armwright.programs.languages.krl_factory import FACTORY, FACTORY_CONFIG
from armwright.programs.languages.krl_moves import KrlMoves
from armwright.programs.languages.krl_parser import KrlParser, parse_krl
from armwright.programs.languages.krl_settings import TABLES
from armwright.programs.program import Program
from armwright.programs.reading import ReadOptions
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Module, Routine
from armwright.syntax.scanner import Token

SUFFIXES = (".src", ".dat", ".sub", ".krl")
CONFIG = "$config.dat"
NEAR = (".", "System", "../System", "../../System", "../../R1/System", "R1/System")  # where it lies on a controller


def read_krl(text: str, file: str = "", options: ReadOptions | None = None) -> Program:
    """Read a KRL program; see the module's text for what is run."""
    return KrlReader(text, file, options or ReadOptions()).program()


class KrlReader(KrlMoves):
    """Links the files of a program and runs it."""

    def __init__(self, text: str, file: str, options: ReadOptions) -> None:
        """Read the file, its data file and those that the user adds."""
        module = parse_krl(text, file)
        super().__init__(module, options)
        self.begin_values()
        self.begin()
        self.modules = []
        self.neighbours = Neighbours(file, SUFFIXES, options)
        self.looked: set[str] = set()
        self.config_read = False
        self.link(module)
        for path in options.more:
            if path.suffix.lower() in SUFFIXES:
                self.add_file(path)
        if options.config == Path(FACTORY) and not self.read_config():
            self.take_factory_config()
        elif options.config is not None:
            self.read_config(options.config)
        for name, value in options.define.items():
            self.defined(name, value)

    # --- files --------------------------------------------------------------------------------------------------------

    def link(self, module: Module, partner: Module | None = None) -> None:
        """Add a file, and the data file that belongs to it."""
        self.modules.append(module)
        self.records.update(module.records)
        self.enums.update(module.enums)
        public = Path(module.file).name.lower() == CONFIG
        seen: set[str] = set()
        for statement in module.data:
            if isinstance(statement, tree.Declare):
                if statement.at.key in seen:
                    continue
                seen.add(statement.at.key)
                hidden = not public and statement.storage != "global"
                self.scopes.add(module, statement, hidden=hidden, partner=partner)
        self.assignments(module)
        path = Path(module.file)
        if module.routines and module.file:
            twin = next((p for p in self.neighbours.paths if self.is_twin(p, path)), None)
            if twin is None and str(path.parent) != str(Path(self.notes.main.file).parent):
                twin = next((p for p in self.neighbours.far if self.is_twin(p, path)), None)
            loaded = next((m for m in self.modules if twin is not None and m.file == str(twin)), None)
            if loaded is not None:
                self.scopes.share(loaded, module)
            elif twin is not None:
                self.link(parse_krl(self.neighbours.text(twin), str(twin)), module)
                self.notes.files.setdefault(str(twin))

    def is_twin(self, path: Path, source: Path) -> bool:
        """Return whether a data file belongs to a source file."""
        same = path.stem.lower() == source.stem.lower() and path.parent == source.parent
        return same and path.suffix.lower() == ".dat"

    def assignments(self, module: Module) -> None:
        """Carry out the assignments of a data file; texts do not matter."""
        outer, file = self.frame, self.notes.module
        self.frame, self.notes.module = CallFrame(module, None), module
        obstacles = dict(self.notes.obstacles)
        for statement in module.data:
            if isinstance(statement, tree.Assign):
                text = isinstance(statement.value, tree.Literal) and isinstance(statement.value.value, str)
                try:
                    if not text or statement.value.value.startswith("#"):
                        self._assign(statement)
                except (ValueTrouble, Obstacle):
                    continue
        self.notes.obstacles = obstacles
        self.frame, self.notes.module = outer, file

    def _assign(self, statement: tree.Assign) -> None:
        if isinstance(statement.value, tree.Unary) and statement.value.sign == "signal":
            self.aliases[statement.target.at.key] = statement.value.operand
            return
        target = statement.target
        if isinstance(target, tree.Name) and target.at.key in ("pdat_act", "ldat_act", "fdat_act"):
            value = self.value(statement.value)
            self.scopes.shared[target.at.key] = Cell("", value)
            return
        super()._assign(statement)
        if isinstance(target, tree.Index) and isinstance(target.base, tree.Name):
            self.remember(target)

    def remember(self, target: tree.Index) -> None:
        """Keep frames that a program sets by number although their table is in no file."""
        if target.base.at.key in TABLES and len(target.indices) == 1:
            value = self.value(target)
            number = self.value(target.indices[0])
            if isinstance(value, RecordValue) and isinstance(number, int):
                self.system[f"{target.base.at.key}[{number}]"] = value

    def add_file(self, path: Path) -> None:
        """Link a further file."""
        if str(path) in {module.file for module in self.modules}:
            return
        try:
            self.link(parse_krl(self.neighbours.text(path), str(path)))
        except ProgramError as error:
            self.notes.note(0, f"{path.name} cannot be read: {error}")
            return
        self.notes.files.setdefault(str(path))

    def read_config(self, path: Path | None = None) -> bool:
        """Link the controller's ``$config.dat``: the given one, or one beside the program."""
        if self.config_read:
            return False
        self.config_read = True
        if path is None:
            named = [p for p in self.neighbours.paths if p.name.lower() == CONFIG]
            folder = Path(self.notes.main.file).parent
            beside = [] if not self.notes.main.file else [folder / near / CONFIG for near in NEAR]
            if self.neighbours.controller is not None:
                beside.append(self.neighbours.controller / "System" / CONFIG)
            found = named or [p for p in beside if p.is_file()]
            if not found:
                return False
            path = found[0]
        elif path.is_dir():
            path = path / CONFIG
        if not self.neighbours.text(path):
            message, valid = "the controller's data cannot be read", f"a readable {CONFIG}"
            raise ProgramError(message, file=str(path), valid=valid)
        self.add_file(path)
        return True

    def take_factory_config(self) -> None:
        """Link the defaults as the maker ships them, as the user asked."""
        self.link(parse_krl(FACTORY_CONFIG, f"{FACTORY}/{CONFIG}"))
        said = (
            f"no {CONFIG} is among the files: speeds, accelerations and corners that it would have are as shipped "
            "(DEF_VEL_CP 2 m/s, DEF_ACC_CP 2.3 m/s², PDEFAULT 100 %, …); tools, bases and home are not among them"
        )
        self.notes.assume(0, said, "--config FILE")

    def elsewhere(self, key: str) -> bool:
        """Link the file that declares a name: one beside the program, else ``$config.dat``."""
        if key in self.looked or key.startswith("$"):
            return False
        self.looked.add(key)
        word = re.escape(key)
        routine = re.compile(rf"(?im)^\s*(?:global\s+def(?:fct\s+\w+)?\s+{word}\s*\(|def(?:fct\s+\w+)?\s+{word}\s*\()")
        data = re.compile(rf"(?im)^\s*(?:decl\s+)?global\s+(?:decl\s+|const\s+)*\w+\s+(?:[^;\n=]*,\s*)?{word}\b")
        found = self.declaring(key, routine, data, far=False)
        if not found and self.read_config() and (key in self.scopes.shared or self.routine(key) is not None):
            return True
        found = found or self.declaring(key, routine, data, far=True)
        if len(found) > 1:
            names = ", ".join(p.name for p in found)
            at = Token("name", key, key, 0, 0)
            self.notes.obstacle(f"{key!r} is declared in several files: {names}", at, "one of them as a further file")
        for path in found:
            self.add_file(path)
        return bool(found)

    def declaring(self, key: str, routine: re.Pattern[str], data: re.Pattern[str], *, far: bool) -> list[Path]:
        """Return the files beside the program, or elsewhere on its controller, that declare a name for others."""
        loaded = {module.file for module in self.modules}
        return [
            path
            for path in self.neighbours.with_match(re.compile(re.escape(key), re.IGNORECASE), key, far=far)
            if str(path) not in loaded and path.name.lower() != CONFIG and self.declares(path, key, routine, data)
        ]

    def declares(self, path: Path, key: str, routine: re.Pattern[str], data: re.Pattern[str]) -> bool:
        """Return whether a file has a name that other files may use."""
        text = self.neighbours.text(path)
        match = routine.search(text)
        if match is not None:
            first = re.search(r"(?im)^\s*(?:global\s+)?def(?:fct\s+\w+)?\s+(\w+)", text)
            return "global" in match[0].lower() or (first is not None and first[1].lower() == key)
        return bool(data.search(text))

    def defined(self, name: str, value: Value) -> None:
        """Take over what a user defines; a text is read as KRL."""
        made = value
        if isinstance(value, str):
            made = self.value(told_expression(KrlParser, value, f"--define {name}"))
        key = name.lower()
        if key.startswith("$") or "[" in key:
            self.system[key] = made
        else:
            self.scopes.define(name, key, Cell("", made))

    # --- running ------------------------------------------------------------------------------------------------------

    def entry(self) -> Routine | None:
        """Return the routine to run."""
        own = self.notes.main.routines
        names = ", ".join(r.at.text for r in own.values()) or "none"
        if self.options.entry is not None:
            wanted = self.options.entry.lower()
            found = own.get(wanted) or next((m.routines[wanted] for m in self.modules if wanted in m.routines), None)
            if found is None:
                message = f"no routine {self.options.entry!r} to run"
                raise ProgramError(message, file=self.notes.main.file, valid=f"one of {names}")
            return found
        named = own.get(Path(self.notes.main.file).stem.lower())
        first = next((r for r in own.values() if r.kind == "def"), None)
        chosen = named if named is not None and named.kind == "def" else first
        return None if chosen is None or chosen.parameters else chosen

    def program(self) -> Program:
        """Run the program."""
        routine = self.entry()
        if routine is None:
            if not self.notes.main.routines and not self.notes.main.data:
                message, valid = "no program in this file", "DEF name() … END"
                raise ProgramError(message, file=self.notes.main.file, line=1, valid=valid)
            self.notes.note(1, "there is no routine to run: a file of data or of functions")
            return self.notes.finish("", self.modules)
        self.notes.draft.name = routine.at.text
        self.notes.main = self.notes.module = routine.module
        self.frame = CallFrame(routine.module, None)
        self.start(routine)
        moves = self.notes.draft.moves
        if any(move.T_flange_tool is None for move in moves):
            self.notes.note(1, "no $TOOL is set: targets are places of the arm's own tool frame")
        self.notes.check_told(self.options, self.inputs, self.scopes.unused)
        return self.notes.finish(routine.at.text, self.modules)
