# SPDX-License-Identifier: Apache-2.0
"""One interpreter for all languages: scopes, calls, flow, and values that are not known.

A language adds what its instructions do (`instruction`), its own functions (`function`), its types (`fit`, `blank`)
and names that need no declaration (`known_name`). Rules that all share:

* what cannot be known is `Unknown`; a test on it takes the guess (inputs are off), and a note names line and input;
* a loop whose test cannot change is run `passes` times, once by default, unless it leaves itself by known values;
* a loop that neither moves nor changes anything waits for something outside: one pass;
* whatever stands in the way is collected, and told at once at the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from armwright.errors import ProgramError
from armwright.programs.interpreter.branch_needs import needed, written
from armwright.programs.interpreter.interpreter_scope import Cell
from armwright.programs.interpreter.program_values import (
    Unknown,
    Value,
    ValueTrouble,
    compared,
    guessed,
    number_of,
    truth_of,
)
from armwright.programs.interpreter.reading_notes import Obstacle
from armwright.programs.interpreter.tree_routines import JumpFlow, LeaveFlow, ReturnFlow, TreeRoutines
from armwright.programs.languages.program_draft import FEWER
from armwright.programs.reading import Note, ReadOptions
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Block, Module, Node, Routine
from armwright.syntax.scanner import Token

PASSES_TO_LEAVE = 1000  # of a loop that may leave itself; then it is taken for one without an end
MOVES_TO_LEAVE = 500  # moves of such a loop, after which it is, too
IDLE_PASSES = 2  # of a loop without an end that move nothing but set something: the next one may move the arm
MOST_JUMPS = 1000
MOST_WORK = 2_000_000  # values worked out and parts copied: seconds; no text without a loop has half of them
WORK_A_MOVE = 40  # of programs whose user said how many moves they make
MOVES_AT_LEAST, MOVES_PER_LINE = 5000, 10  # of a program: more, and it is taken for one that does not end


class Interpreter(TreeRoutines):
    """Runs a program of one language; see the module's text."""

    def __init__(self, module: Module, options: ReadOptions) -> None:
        """Know what to do with every kind of statement."""
        super().__init__(module, options)
        self.endless: set[int] = set()  # loops and jumps that were found not to end
        self.run: dict[type, Callable[[Any], None]] = {
            tree.Declare: self._declare,
            tree.Assign: self._assign,
            tree.Invoke: self._invoke,
            tree.If: self._if,
            tree.For: self._for,
            tree.While: self._while,
            tree.Switch: self._switch,
            tree.Return: self._return,
            tree.Leave: self._leave,
            tree.Jump: self._jump,
            tree.Label: lambda statement: None,
            tree.NotUnderstood: self._not_understood,
        }

    # --- running ------------------------------------------------------------------------------------------------------

    def start(self, routine: Routine) -> None:
        """Run a program from its first routine to its end."""
        with contextlib.suppress(Obstacle, LeaveFlow):
            self.call(routine, (), routine.at)

    def step(self, at: Token) -> None:
        """Count a statement; what does not end is refused."""
        self.steps += 1
        if self.steps > self.options.statements:
            message = f"endless loop? more than {self.options.statements} statements were carried out"
            self.notes.obstacles.clear()
            self.stop(message, at, "a loop that ends after a known number of passes")
        if self.work > (max(MOST_WORK, WORK_A_MOVE * self.options.moves) if self.options.moves_told else MOST_WORK):
            self.notes.obstacles.clear()
            self.stop("endless loop? its expressions and lists take too long", at, "fewer passes, smaller lists")
        most = self.options.moves
        if not self.options.moves_told:
            most = min(most, MOVES_AT_LEAST + MOVES_PER_LINE * len(self.notes.main.lines))
        if len(self.notes.draft.moves) + len(self.notes.gaps) > most:
            self.notes.obstacles.clear()
            self.stop(f"endless loop? more than {most} moves", at, f"fewer passes; {FEWER}")

    def stop(self, message: str, at: Token, valid: str) -> None:
        """Give up the whole reading here."""
        try:
            self.notes.obstacle(message, at, valid)
        except Obstacle:
            self.notes.refuse_if_needed()

    def block(self, statements: Block) -> None:
        """Carry out statements one after the other; jumps into this block are followed here."""
        labels = {s.name: i for i, s in enumerate(statements) if type(s) is tree.Label}
        if not labels:
            for statement in statements:
                self.statement(statement)
            return
        index, jumps, before, moves = 0, 0, self.changes, len(self.notes.draft.moves)
        kept, since = None, 0
        while index < len(statements):
            try:
                self.statement(statements[index])
            except JumpFlow as jump:
                to = labels.get(jump.label)
                if to is None:
                    raise
                jumps += 1
                backward = to <= index
                still = self.changes == before and len(self.notes.draft.moves) == moves
                before, moves = self.changes, len(self.notes.draft.moves)
                here = id(statements[index])
                once = type(statements[index]) is tree.Jump or still or jump.unsure or here in self.endless
                if backward and kept is None and not once:
                    kept, since = self.kept(), moves
                if backward and not once and (jumps > MOST_JUMPS or moves - since > MOVES_TO_LEAVE):
                    self.restore(kept)
                    self.endless.add(here)
                    before, moves = self.changes, len(self.notes.draft.moves)
                if backward and (once or here in self.endless):
                    line = statements[index].at.line
                    self.notes.assume(line, f"the way back to {jump.label!r} is not taken: one pass")
                else:
                    index = to
            index += 1

    def statement(self, statement: Node) -> None:
        """Carry out one statement; what stands in its way is remembered, and the next one runs."""
        self.step(statement.at)
        self.notes.ran_line(statement.at.line)
        try:
            self.run[type(statement)](statement)
        except Obstacle:
            pass
        except ValueTrouble as trouble:
            if self.unsure_tests and isinstance(statement, tree.If | tree.For | tree.While | tree.Switch):
                self.impossible(statement.at, trouble)
                return
            with contextlib.suppress(Obstacle):
                self.notes.obstacle(str(trouble), statement.at, trouble.valid)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            if isinstance(error, ProgramError) or not self.forgiving:
                raise
            with contextlib.suppress(Obstacle):  # values of kinds that no statement of this name takes
                self.notes.obstacle("the values in this statement do not fit", statement.at, "as the manual has them")

    forgiving = True  # whether a slip of this interpreter becomes a refusal at its line; tests see it as it is

    def _not_understood(self, said: tree.NotUnderstood) -> None:
        if said.motion:
            self.notes.obstacle(said.message, said.at, said.valid)
        place = (self.notes.module.file, said.at.line)
        if place not in self.notes.set_aside:
            text = f"not understood and left out: {said.message}"
            self.notes.note(said.at.line, text)
            self.notes.set_aside[place] = Note(said.at.line, self.notes.message(text))

    def _return(self, statement: tree.Return) -> None:
        raise ReturnFlow(None if statement.value is None else self.value(statement.value))

    def _leave(self, statement: tree.Leave) -> None:
        raise LeaveFlow(statement.what)

    def _jump(self, statement: tree.Jump) -> None:
        raise JumpFlow(statement.label, statement.at)

    # --- tests --------------------------------------------------------------------------------------------------------

    def test(
        self, node: Node, at: Token, what: str, part: int = 0, *, ending: tuple[bool, bool] = (False, False)
    ) -> bool | None:
        """Return whether a test holds; None where it is not known and nothing can be taken for it.

        `ending`: whether the program gives up where it does not hold, and where it does; the other way is taken then.
        """
        value = self.value(node)
        if not isinstance(value, Unknown):
            return truth_of(value)
        self.unsure_tests += 1
        names = ", ".join(value.names) or value.reason
        taken = None if value.guess is None else truth_of(value.guess)
        option = f"--input {value.names[0]}=…" if value.names else ""
        ends = ending[bool(taken)] and not ending[not taken]
        taken = not taken if ends else taken
        way = bool(self.notes.decide(self.options, at, part, names, ("false", "true"), int(bool(taken))))
        why = ", for the program would end otherwise" if ends and way == taken else ""
        self.notes.assume(at.line, f"{what} depends on {names}: taken as {self.truths[way]}{why}", option)
        return taken if way == bool(taken) else way

    def _if(self, statement: tree.If) -> None:
        unsure = False
        for part, (test, block) in enumerate(statement.branches):
            before = self.unsure_tests
            last = part + 1 == len(statement.branches)
            ending = (last and self.gives_up(statement.otherwise), self.gives_up(block))
            holds = self.test(test, statement.at, "this test", part, ending=ending)
            unsure = unsure or self.unsure_tests > before
            if holds:
                if last:
                    self.missed(statement.otherwise, test, holds=False)
                self.branch(block, unsure)
                return
            self.missed(block, test)
        self.branch(statement.otherwise, unsure)

    def branch(self, block: Block, unsure: bool) -> None:
        """Carry out a branch; jumps out of one that a test led to which is not known are marked."""
        try:
            self.block(block)
        except JumpFlow as jump:
            jump.unsure = jump.unsure or unsure
            raise

    def missed(self, block: Block, test: Node, *, holds: bool = True, cases: tuple[Node, ...] = ()) -> None:
        """Remember what a block that did not run needs: a test that holds, or not, or a subject with these values."""
        if block:
            subject, values = written(test), [written(value) for value in cases]
            text = f"{subject} = {' or '.join(values)}" if cases and subject and all(values) else ""
            text = (
                text
                or ("" if cases else needed(test, holds=holds, truths=self.tested_truths))
                or ", ".join(sorted(self.names_in(test)))
            )
            self.notes.needs.setdefault((self.notes.module.file, block[0].at.line), text)

    def gives_up(self, block: Block) -> bool:
        """Return whether a block moves nothing and ends the program, as programs do about an error."""
        return False

    def _switch(self, statement: tree.Switch) -> None:
        subject = self.value(statement.subject)
        if isinstance(subject, Unknown):
            self.unsure_tests += 1
            names = ", ".join(subject.names) or subject.reason
            option = f"--input {subject.names[0]}=…" if subject.names else ""
            self.notes.assume(statement.at.line, f"this choice depends on {names}", option)
        chosen = len(statement.cases)
        for part, (values, _) in enumerate(statement.cases):
            if any(self.same(guessed(subject), self.value(value)) for value in values):
                chosen = part
                break
        if isinstance(subject, Unknown):
            ways = tuple(
                " or ".join(written(v) for v in values) or f"case {part}"
                for part, (values, _) in enumerate(statement.cases, 1)
            )
            chosen = self.notes.decide(self.options, statement.at, 0, names, (*ways, "none of the cases"), chosen)
        for part, (values, block) in enumerate(statement.cases):
            if part != chosen:
                self.missed(block, statement.subject, cases=values)
        self.block(statement.otherwise if chosen == len(statement.cases) else statement.cases[chosen][1])

    def same(self, left: Value, right: Value) -> bool:
        """Return whether two values are equal; what is not known equals nothing."""
        left, right = guessed(left), guessed(right)
        return left is not None and right is not None and compared("==", left, right)

    # --- loops --------------------------------------------------------------------------------------------------------

    def _for(self, statement: tree.For) -> None:
        first, last = self.value(statement.first), self.value(statement.last)
        step = None if statement.step is None else self.value(statement.step)
        hidden = self.frame.cells.get(statement.counter.key)
        cell = self.counter(statement.counter)
        try:
            self.count(statement, cell, first, last, step)
        finally:
            if self.counter_is_own:
                self.frame.cells.pop(statement.counter.key, None)
                if hidden is not None:
                    self.frame.cells[statement.counter.key] = hidden

    def count(self, statement: tree.For, cell: Cell, first: Value, last: Value, step: Value) -> None:
        """Carry out a counted loop; one whose count is not known makes one pass."""
        unknown = next((v for v in (first, last, step) if isinstance(v, Unknown)), None)
        if unknown is not None:
            names = ", ".join(unknown.names) or unknown.reason
            self.notes.assume(statement.at.line, f"this loop's count depends on {names}: one pass", "--define")
            self.store(cell, first, statement.counter)
            self.loop_body(statement.body)
            return
        number_of(first), number_of(last)
        by = self.default_step(first, last) if step is None else number_of(step)
        if by == 0:
            self.notes.obstacle("endless loop: STEP 0", statement.at, "a step that is not 0")
        while (first <= last) if by > 0 else (first >= last):
            self.step(statement.at)
            self.store(cell, first, statement.counter)
            if not self.loop_body(statement.body):
                return
            first = first + by
        if self.counter_goes_on:
            self.store(cell, first, statement.counter)

    counter_is_own = False  # the counter belongs to the loop and hides others of its name
    counter_goes_on = False  # after the loop the counter has the first value that did not fit

    def default_step(self, first: Value, last: Value) -> Value:
        """Return the step of a counted loop that names none."""
        return 1

    def counter(self, name: Token) -> Cell:
        """Return the variable of a counted loop."""
        cell = self.scopes.find(self.frame, name.key)
        if cell is None:
            cell = self.frame.cells[name.key] = Cell("", 0)
        return cell

    def loop_body(self, body: Block) -> bool:
        """Carry out one pass; False if the loop was left."""
        try:
            self.block(body)
        except LeaveFlow as leave:
            if leave.what != "loop":
                raise
            return False
        return True

    def _while(self, statement: tree.While) -> None:
        leaves = any(isinstance(s, tree.Leave | tree.Return | tree.Jump) for s in tree.statements_in(statement.body))
        names = sorted(self.names_in(statement.test)) if statement.test is not None else []
        passes, fixed, kept, since, idle = 0, 0, None, 0, 0
        begun = len(self.notes.draft.moves) + len(self.notes.gaps)
        while True:
            self.step(statement.at)
            told = self.inputs.left()
            known = self.loop_test(statement, passes, at_end=False)
            read = told != self.inputs.left()
            if known is False:
                break
            before, gaps = self.changes, len(self.notes.gaps)
            moves = len(self.notes.draft.moves) + gaps
            state = self.seen(names)
            if not self.loop_body(statement.body):
                return
            passes += 1
            told = self.inputs.left()
            if statement.until and self.loop_test(statement, passes, at_end=True) is False:
                return
            if known is None and not statement.until:
                continue  # decided again: still unknown means that one pass was enough
            if read or told != self.inputs.left():
                fixed, kept = 0, None
                continue  # the test has used up one of the readings that the user said
            still = self.changes == before and len(self.notes.draft.moves) + len(self.notes.gaps) == moves
            if leaves and not still and self.changes == before and len(self.notes.gaps) == gaps:
                still = all(move.kind == "wait" for move in self.notes.draft.moves[moves - gaps :])  # it only waits
            if still:
                if statement.test is not None:
                    what = ", ".join(names) or "something outside"
                    self.notes.assume(statement.at.line, f"this loop waits for {what}: one pass")
                return
            if state == self.seen(names):
                fixed += 1
                if fixed == self.options.passes:
                    kept, since = self.kept(), len(self.notes.draft.moves) + len(self.notes.gaps)
                more = len(self.notes.draft.moves) + len(self.notes.gaps) - since
                tried = fixed >= PASSES_TO_LEAVE or more > MOVES_TO_LEAVE or id(statement) in self.endless
                if fixed >= self.options.passes and (not leaves or tried):
                    if idle < IDLE_PASSES and begun == len(self.notes.draft.moves) + len(self.notes.gaps):
                        idle, fixed, kept = idle + 1, fixed - 1, None
                        continue
                    self.restore(kept)
                    self.endless.add(id(statement))
                    count = self.options.passes + idle
                    times = "one pass" if count == 1 else f"{count} passes"
                    self.notes.assume(statement.at.line, f"this loop has no end: {times}", "--passes")
                    return
            else:
                fixed, kept = 0, None

    def loop_test(self, statement: tree.While, passes: int, *, at_end: bool) -> bool | None:
        """Return whether the loop goes on; None: not known, one pass."""
        if statement.test is None or statement.until != at_end:
            return True
        unsure = self.unsure_tests
        value = self.value(statement.test)
        if isinstance(value, Unknown):
            names = ", ".join(value.names) or value.reason
            option = f"--input {value.names[0]}=…" if value.names else ""
            self.notes.assume(statement.at.line, f"this loop depends on {names}: one pass", option)
            return False if passes else None
        goes_on = truth_of(value) != statement.until
        if goes_on and self.unsure_tests > unsure:  # a routine that it asks had to take something for its answer
            self.notes.assume(statement.at.line, "this loop depends on what its test asks for: one pass")
            return False if passes else None
        return goes_on

    def seen(self, names: list[str]) -> list[Any]:
        """Return the values of the variables of a test, to see whether a pass changes them."""
        cells = [self.scopes.find(self.frame, name.lower()) for name in names]
        return [None if cell is None else self.copy(cell.value) for cell in cells]

    def kept(self) -> Value:
        """Return everything that a pass may change."""
        draft = self.notes.draft
        cells = self.scopes.all_cells(self.frame)
        self.work += len(cells)
        return len(draft.moves), len(self.notes.gaps), [(cell, self.copy(cell.value)) for cell in cells], self.machine()

    def restore(self, kept: Value) -> None:
        """Go back to what `kept` returned."""
        if kept is None:
            return
        moves, gaps, cells, machine = kept
        del self.notes.draft.moves[moves:], self.notes.gaps[gaps:]
        for cell, value in cells:
            cell.value = value
        self.set_machine(machine)

    truths = ("false", "true")  # as the language writes them
    tested_truths = ("0", "1")  # of a name that is a test by itself: an input, mostly
    external: list[float] | None = None  # where the external axes stand

    def check_external(self, axes: list[float], at: Token) -> None:
        """Tell of external axes; those that move are in the way unless the user locks them."""
        if not any(axes) and self.external is None:
            return
        moved = self.external is not None and axes != self.external and any(axes)
        if moved and not self.options.lock_external:
            message = "external axes move: an arm on a track would be somewhere else"
            self.notes.obstacle(message, at, "--lock-external, if they do not carry the arm")
        self.notes.note(at.line, "external axes are left out", once=True)
        self.external = axes

    def machine(self) -> Value:
        """Return the state of the controller that moves depend on."""
        return None

    def set_machine(self, state: Value) -> None:
        """Set what `machine` returned."""
