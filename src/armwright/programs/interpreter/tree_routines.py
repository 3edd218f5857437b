# SPDX-License-Identifier: Apache-2.0
"""Declarations, assignments and calls: what gives variables their values, and routines their parameters."""

from __future__ import annotations

from armwright.programs.interpreter.interpreter_scope import CallFrame, Cell, Element
from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    Value,
    ValueTrouble,
    number_of,
    unknown_in,
)
from armwright.programs.interpreter.tree_values import TreeValues
from armwright.programs.reading import Note
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Block, Node, Routine
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import meant, near

DEEPEST_CALL = 40


class ReturnFlow(Exception):  # noqa: N818 - flow, not an error
    """A routine ends with a value."""

    def __init__(self, value: Value) -> None:
        """Keep the value."""
        self.value = value


class LeaveFlow(Exception):  # noqa: N818 - flow, not an error
    """A loop or the program ends."""

    def __init__(self, what: str) -> None:
        """Keep which."""
        self.what = what


class JumpFlow(Exception):  # noqa: N818 - flow, not an error
    """The program goes on at a label."""

    def __init__(self, label: str, at: Token) -> None:
        """Keep the label and the jump's place; `unsure` if a test that is not known led here."""
        self.label, self.at, self.unsure = label, at, False


class RoundFlow(Exception):  # noqa: N818 - flow, not an error
    """Calls go on inside calls without an end: back to where a routine first called itself."""


class TreeRoutines(TreeValues):
    """Variables and routines of an interpreter."""

    def block(self, statements: Block) -> None:
        """Carry out statements one after the other."""
        raise NotImplementedError

    def stop(self, message: str, at: Token, valid: str) -> None:
        """Give up the whole reading here."""
        raise NotImplementedError

    def kept(self) -> Value:
        """Return everything that a pass may change."""
        raise NotImplementedError

    def restore(self, kept: Value) -> None:
        """Go back to what `kept` returned."""
        raise NotImplementedError

    unsure_tests = 0  # how many tests were not known so far
    rounds = 0  # calls under way of routines that were under way already

    # --- declarations, assignments, calls -----------------------------------------------------------------------------

    def _declare(self, statement: tree.Declare) -> None:
        key = statement.at.key
        known = self.frame.cells.get(key)
        given = self.frame.routine is not None and any(p.at.key == key for p in self.frame.routine.parameters)
        if known is not None and not given and known.declared and known.declared != statement.at.line:
            self.notes.obstacle(f"{statement.at.text!r} is declared twice", statement.at, "another name")
        if known is None or statement.value is not None or not self.keeps_parameters:
            self.frame.cells[key] = self.declared(statement)
        elif statement.kind and known.kind != statement.kind:
            known.kind = statement.kind
            if not isinstance(known.value, Unknown | list):
                known.value = self.fit(known.value, statement.kind, statement.at)

    keeps_parameters = False  # a declaration may name the type of a parameter

    def declared(self, statement: tree.Declare) -> Cell:
        """Return the variable that a declaration makes."""
        cell = Cell(statement.kind, None, declared=statement.at.line)
        self.fill(cell, statement)
        if statement.value is not None:
            self.tell_unknown(cell.value, statement.at)
        self.named(cell.value, statement.at)
        return cell

    def fill(self, cell: Cell, statement: tree.Declare) -> None:
        """Give a variable the value that its declaration says."""
        if statement.sizes:
            sizes = [self.value(size) for size in statement.sizes]
            cell.kind = statement.kind
            if any(isinstance(size, Unknown) for size in sizes):
                cell.value = Unknown(f"the size of {statement.at.text} is not known", (statement.at.text,))
                self.tell_unknown(cell.value, statement.at)
            elif statement.value is None:
                cell.value = self.array(statement, [int(number_of(size)) for size in sizes])
            else:
                at = statement.value.at
                cell.value = self.fit_array(self.value(statement.value), statement.kind, len(sizes), at)
        elif statement.value is None:
            cell.value = self.blank(statement.kind, statement.at)
        else:
            cell.value = self.copy(self.fit(self.value(statement.value), statement.kind, statement.value.at))

    def tell_unknown(self, value: Value, at: Token) -> None:
        """Say at its line that a variable gets a value that is not known: what depends on it may be far away."""
        unknown = unknown_in(value)
        if unknown is not None:
            self.notes.note(at.line, f"the value of {at.text} is not known: {unknown.reason}", once=True)

    def named(self, value: Value, at: Token) -> None:
        """Tell a record the name that it was declared with."""
        if isinstance(value, RecordValue):
            value.name = at.text

    def array(self, statement: tree.Declare, sizes: list[int]) -> Value:
        """Return an array without values."""
        total = 1
        for size in sizes:
            total *= max(size, 0)
        if total > self.options.statements:
            self.notes.obstacle(f"an array of {total} items", statement.at, f"at most {self.options.statements}")
        if not sizes:
            return self.blank(statement.kind, statement.at)
        return [self.array(statement, sizes[1:]) for _ in range(sizes[0])]

    def fit_array(self, value: Value, kind: str, depth: int, at: Token) -> Value:
        """Return nested lists whose items are of a type."""
        if depth == 0 or isinstance(value, Unknown) or not isinstance(value, list):
            return self.copy(self.fit(value, kind, at))
        return [self.fit_array(item, kind, depth - 1, at) for item in value]

    def _assign(self, statement: tree.Assign) -> None:
        try:
            value = self.value(statement.value)
        except ValueTrouble as trouble:
            self.notes.note(statement.at.line, f"the value is not known: {trouble}")
            value = Unknown(str(trouble), tuple(sorted(self.names_in(statement.target))))
        else:
            self.tell_unknown(value, statement.at)
        if self.set_system(statement.target, value, statement.at):
            return
        try:
            self.store(self.place(statement.target), value, statement.value.at)
        except ValueTrouble as trouble:
            if not self.unsure_tests:
                raise
            self.impossible(statement.at, trouble)

    def impossible(self, at: Token, trouble: ValueTrouble) -> None:
        """Leave out a statement that what was taken for unknown inputs makes impossible; it is told, and no more."""
        said = f"cannot be carried out as the unknown tests before it were taken: {trouble}"
        self.notes.note(at.line, said)
        place = (self.notes.module.file, at.line)
        self.notes.set_aside.setdefault(place, Note(at.line, self.notes.message(said)))

    def store(self, cell: Value, value: Value, at: Token) -> None:
        """Set a variable, or a part of one."""
        old = cell.value
        if not isinstance(value, Unknown) and cell.kind and not isinstance(old, list):
            value = self.fit(value, cell.kind, at)
        value = self.copy(value)
        if isinstance(value, RecordValue) and isinstance(old, RecordValue):
            value.name = ""
        if type(old) is not type(value) or old != value:
            self.changes += 1
        cell.value = value

    def place(self, node: Node) -> Value:
        """Return the variable, or the part of one, that an expression names."""
        if isinstance(node, tree.Name):
            cell = self.cell(node.at)
            if cell is None:
                cell = self.scopes.shared[node.at.key] = Cell("", Unknown(f"{node.at.text} is not declared"))
                self.notes.note(node.at.line, f"{node.at.text} is declared in none of the files", once=True)
            return cell
        if isinstance(node, tree.Index):
            base = self.place(node.base)
            for position in node.indices:
                base = Element(self, base, self.value(position), node.at)
            return base
        if isinstance(node, tree.Member):
            base = self.place(node.base)
            held = base.value
            self.check_part(held.kind if isinstance(held, RecordValue) else base.kind, node.name, node.at)
            return Element(self, base, node.name, node.at)
        self.notes.obstacle("this cannot be set", node.at, "a variable")

    def cell(self, at: Token) -> Cell | None:
        """Return the variable of a name, from this file or from a further one."""
        found = self.scopes.find(self.frame, at.key)
        if found is None and self.elsewhere(at.key):
            found = self.scopes.find(self.frame, at.key)
        if found is not None and found.pending is not None:
            self.settle(found)
        return found

    def settle(self, cell: Cell) -> None:
        """Work out a module's data when it is first used; data that depends on itself has no value."""
        declare, module = cell.pending  # type: ignore[misc]
        cell.pending = None
        cell.value = Unknown(f"{declare.at.text} depends on itself", (declare.at.text,))
        outer, file = self.frame, self.notes.module
        self.frame, self.notes.module = CallFrame(module, None), module
        try:
            made = self.declared(declare)
            cell.value, cell.kind = made.value, made.kind
        except ValueTrouble as trouble:
            self.notes.obstacle(str(trouble), declare.at, trouble.valid)
        finally:
            self.frame, self.notes.module = outer, file

    def _invoke(self, statement: tree.Invoke) -> None:
        routine = self.routine(statement.at.key)
        if routine is not None:
            self.call(routine, statement.arguments, statement.at)
        elif not self.instruction(statement.at, statement.arguments):
            if self.elsewhere(statement.at.key):
                routine = self.routine(statement.at.key)
                if routine is not None:
                    self.call(routine, statement.arguments, statement.at)
                    return
            self.missing(statement.at)
            self.spoil(statement.arguments)

    def spoil(self, arguments: tuple[Argument, ...]) -> None:
        """Forget the variables that a skipped routine may have changed."""

    def missing(self, at: Token) -> None:
        """Skip a routine that no file has."""
        said = f"{at.text} is in none of the files and is skipped; it may move the arm"
        own = {key.lower(): r for module in reversed(self.modules) for key, r in module.routines.items()}
        like = near(at.key, own, 0.6)
        self.notes.skip(
            at, said + (f"; did you mean {own[like].at.text!r} of line {own[like].at.line}?" if like else "")
        )

    def routine(self, key: str) -> Routine | None:
        """Return a routine that can be called from here: one's own, then those of other files."""
        own = self.frame.module.routines.get(key)
        if own is not None:
            return own
        for module in self.modules:
            found = module.routines.get(key)
            if found is not None and not found.hidden:
                return found
        return None

    def call(self, routine: Routine, arguments: tuple[Argument, ...], at: Token) -> Value:
        """Run a routine and return its value."""
        doubled = routine.module.doubled.get(routine.at.key)
        if doubled is not None:
            self.notes.obstacle(f"{routine.at.text!r} is declared twice", doubled, "another name")
        if self.calls >= DEEPEST_CALL:
            if self.rounds:
                raise RoundFlow
            self.calls = 0
            self.stop(f"calls inside calls, more than {DEEPEST_CALL} deep: endless?", at, "fewer calls")
        if routine.parameters or self.under_way.count(id(routine)) != 1:
            return self._carried_out(routine, arguments, at)
        kept = self.kept()
        self.rounds += 1
        try:
            return self._carried_out(routine, arguments, at)
        except RoundFlow:
            if self.rounds > 1:
                raise
            self.restore(kept)
            said = f"{at.text} is under way already and is called without an end: the program begins anew, one pass"
            self.notes.assume(at.line, said)
            raise LeaveFlow("program") from None
        finally:
            self.rounds -= 1

    def _carried_out(self, routine: Routine, arguments: tuple[Argument, ...], at: Token) -> Value:
        frame = CallFrame(routine.module, routine)
        self.bind(frame, routine, arguments, at)  # may fail: the call was not made then
        self.calls += 1
        outer, file = self.frame, self.notes.module
        self.frame, self.notes.module = frame, routine.module
        self.notes.called[routine.module.file, routine.at.key] = routine
        self.notes.files.setdefault(routine.module.file)
        self.under_way.append(id(routine))
        try:
            self.block(routine.body)
        except ReturnFlow as back:
            value = back.value
            return self.fit(value, routine.result, at) if routine.result and not isinstance(value, Unknown) else value
        except JumpFlow as jump:
            labels = {s.name for s in tree.statements_in(routine.body) if isinstance(s, tree.Label) and s.name}
            said = f"no place {jump.label!r} to jump to: the routine ends there"
            self.notes.skip(jump.at, said + meant(jump.label, labels))
        finally:
            self.frame, self.notes.module = outer, file
            self.under_way.pop()
            self.calls -= 1
        return Unknown(f"{routine.at.text} returns no value", (routine.at.text,))

    def bind(self, frame: CallFrame, routine: Routine, arguments: tuple[Argument, ...], at: Token) -> None:
        """Give the parameters of a routine their values, by place or by name."""
        placed = [a for a in arguments if not a.name]
        named = {a.name: a for a in arguments if a.name}
        for parameter in routine.parameters:
            given = named.pop(parameter.at.key, None) if parameter.optional else placed.pop(0) if placed else None
            if given is None:
                if not parameter.optional:
                    self.notes.note(at.line, f"{at.text} is called without {parameter.at.text}")
                frame.cells[parameter.at.key] = Cell(parameter.kind, Unknown(f"{parameter.at.text} is not given"))
                frame.absent.add(parameter.at.key)
            elif parameter.shared and isinstance(given.value, tree.Name | tree.Index | tree.Member):
                place = self.argument_place(given.value)
                frame.cells[parameter.at.key] = place if place is not None else Cell(parameter.kind, None)
                if place is None:
                    frame.cells[parameter.at.key].value = self.value(given.value)
            else:
                value = True if given.value is None else self.value(given.value)
                if not isinstance(value, Unknown) and parameter.kind and not isinstance(value, list):
                    value = self.fit(value, parameter.kind, given.at)
                frame.cells[parameter.at.key] = Cell(parameter.kind, self.copy(value))
        if placed or named:
            self.notes.note(at.line, f"{at.text} is called with more than it takes")

    def argument_place(self, node: Node) -> Value:
        """Return the caller's variable for a shared parameter; None if the name is no variable."""
        base = node
        while isinstance(base, tree.Index | tree.Member):
            base = base.base
        if not isinstance(base, tree.Name) or self.cell(base.at) is None:
            return None
        place = self.place(node.base if isinstance(node, tree.Index) and not node.indices else node)
        return place

    # --- interrupts ---------------------------------------------------------------------------------------------------

    def changed_by(self, routine: str, interrupt: str) -> None:
        """Mark the data that an interrupt's routine sets, itself or by others: another value at any time."""
        waiting, seen = [routine], set[str]()
        while waiting:
            key = waiting.pop()
            found = None if key in seen else self.routine(key)
            seen.add(key)
            if found is None:
                continue
            for statement in tree.statements_in(found.body):
                if isinstance(statement, tree.Invoke):
                    waiting.append(statement.at.key)
                for target in self.set_by(statement):
                    cell = self.scopes.find(CallFrame(found.module, None), target.at.key)
                    if isinstance(cell, Cell) and cell.kind != "intnum":
                        cell.changer = interrupt

    def set_by(self, statement: Node) -> list[tree.Name]:
        """Return the variables that a statement sets."""
        targets = self.targets_of(statement)
        found = []
        for target in targets:
            while isinstance(target, tree.Index | tree.Member):
                target = target.base
            if isinstance(target, tree.Name):
                found.append(target)
        return found

    def targets_of(self, statement: Node) -> list[Node]:
        """Return what a statement sets, as it is written: also what routines get that work on the caller's data."""
        if isinstance(statement, tree.Assign):
            return [statement.target]
        if not isinstance(statement, tree.Invoke):
            return []
        called = self.routine(statement.at.key)
        shared = () if called is None else called.parameters
        return [a.value for a, p in zip(statement.arguments, shared, strict=False) if p.shared]
