# SPDX-License-Identifier: Apache-2.0
"""Threads of a URScript program that move the arm.

One that ends by itself and that the program waits for is a search (PolyScope writes its Until so): it is carried out
where it is run, to its end, which a note says. One that goes round without an end while the program does nothing but
wait for a test is a loop with that test (so PolyScope writes loops that it leaves at once). One that goes on while the
program moves, or that the program kills on its way, is a gap: how far it comes depends on both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from armwright.programs.interpreter.interpreter_scope import CallFrame
from armwright.programs.interpreter.program_values import Unknown, Value, truth_of
from armwright.programs.interpreter.tree_routines import LeaveFlow
from armwright.programs.languages.urscript_arm import UrscriptArm
from armwright.programs.reading import ReadOptions
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Block, Node, Routine
from armwright.syntax.scanner import Token
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, MOTION, Builtin

LED = frozenset(name for name, row in BUILTINS.items() if row.does == "led")
ENDLESS = ("True", "1")
ROUND = "round"  # what a thread leaves when the test fails that the program waits for


@dataclass(frozen=True, slots=True)
class Circling:
    """A thread that goes round: what it does first and in each round; what was known before it was carried out."""

    name: Token
    routine: Routine
    first: Block
    body: Block
    moves: int = -1  # -1: it was not carried out
    gaps: int = -1


@dataclass(frozen=True, slots=True)
class ToldEnd:
    """A search that ended where the user says: its thread, and how fast the tool met what ended it (3,) [m/s]."""

    thread: str
    speed: tuple[float, ...]


class UrscriptThreads(UrscriptArm):
    """What ``run``, ``join`` and ``kill`` do to what is known of the arm."""

    def __init__(self, module: ScriptModule, options: ReadOptions) -> None:
        """Begin without threads."""
        super().__init__(module, options)
        self.moving: dict[str, set[str]] = {}  # threads under way that move the arm, and the variables they set
        self.sought = ""  # the thread that is being carried out
        self.searching: dict[str, tuple[Token, int, int]] = {}  # those carried out; where, and what was known before
        self.unended: set[str] = set()  # searches that only contact or an input ends
        self.met: ToldEnd | None = None
        self.circling: dict[str, Circling] = {}  # those that go round until a test fails
        self.waits_for: tuple[Node, CallFrame] | None = None  # that test while its thread is carried out

    def run_thread(self, name: Token) -> None:
        """Leave out a thread; one that moves the arm is a search, or a gap until it has ended."""
        routine = self.routine(name.key)
        if routine is None and self.elsewhere(name.key):
            routine = self.routine(name.key)
        if routine is None:
            self.missing(name)
            return
        sets = _set_in(routine.body)
        if self.moves_in(routine.body, set()):
            self.changes += 1
            if not self.moving and self.ends(routine.body, set()):
                self.searching[name.key] = name, len(self.notes.draft.moves), len(self.notes.gaps)
                self.moving[name.key] = {at.key for at in sets}
                self.moving, under_way, self.sought = {}, self.moving, name.text
                try:
                    self.call(routine, (), name)
                finally:
                    self.moving, self.sought = under_way, ""
                return
            self.moving[name.key] = {at.key for at in sets}
            circling = None if len(self.moving) > 1 else self.circle_of(name, routine)
            if circling is not None:
                self.circling[name.key] = circling
                return
            self.beside(name)
        else:
            self.notes.note(name.line, f"thread {name.text} moves nothing and is left out", once=True)
        for at in sets:
            cell = self.scopes.find(self.frame, at.key)
            if cell is not None and at.key not in self.bound(routine):
                cell.value = Unknown(f"{at.text} is set by thread {name.text}", (at.text,), cell.value)

    def beside(self, name: Token) -> None:
        """Tell of a thread that moves the arm while the program goes on."""
        self.notes.gap(name, f"thread {name.text!r} moves the arm beside the program, and how far depends on both")
        self.last = None

    # --- threads that go round ----------------------------------------------------------------------------------------

    def circle_of(self, name: Token, routine: Routine) -> Circling | None:
        """Return a thread that goes round without an end, each round by its own targets; None if it is none."""
        if not routine.body or any(isinstance(s, tree.Leave | tree.Return) for s in tree.statements_in(routine.body)):
            return None
        *first, last = routine.body
        endless = isinstance(last, tree.While) and (last.test is None or last.test.at.text in ENDLESS)
        if not endless or not self.ends((*first, *last.body), set()):
            return None
        return Circling(name, routine, tuple(first), last.body)

    def apart(self, thread: str) -> None:
        """Take back what a thread did in its rounds: the program moves the arm, too, or ends it unseen."""
        circling = self.circling.pop(thread)
        if circling.moves >= 0:
            del self.notes.draft.moves[circling.moves :], self.notes.gaps[circling.gaps :]
        self.beside(circling.name)
        self.changes += 1

    def go_round(self, statement: tree.While, thread: str) -> None:
        """Carry out a thread's rounds while a test holds for which the program waits; an unknown one: one round.

        The round breaks off before the first move for which the test does not hold any more: the program kills it then.
        """
        circling = self.circling[thread]
        notes, test, routine = self.notes, statement.test, circling.routine
        self.circling[thread] = replace(circling, moves=len(notes.draft.moves), gaps=len(notes.gaps))
        under_way, self.moving = self.moving, {}
        asks = test is not None and self.asks(test)
        self.waits_for = None if test is None or asks else (test, self.frame)
        frame = CallFrame(routine.module, routine)
        names = [] if test is None else sorted(self.names_in(test))
        rounds, known = 0, self.loop_test(statement, 0, at_end=False)
        try:
            if known is not False:
                self.within(routine, frame, circling.first)
            while known is not False:
                self.step(statement.at)
                before = self.seen(names)
                self.within(routine, frame, circling.body)
                rounds += 1
                if known and not asks and before == self.seen(names):
                    notes.assume(statement.at.line, f"thread {thread} goes round without an end: one round")
                    break
                known = self.loop_test(statement, rounds, at_end=False)
        except LeaveFlow as leave:
            if leave.what != ROUND:
                raise
        finally:
            self.moving, self.waits_for = under_way, None
        if asks:
            self.last = None  # where in its round the thread is killed, nobody knows
        notes.assume(
            circling.name.line,
            f"thread {thread} goes round while the program waits in line {statement.at.line}: taken as a loop there",
        )

    def within(self, routine: Routine, frame: CallFrame, block: Block) -> None:
        """Carry out a part of a routine with variables that last from part to part."""
        outer, file = self.frame, self.notes.module
        self.frame, self.notes.module = frame, routine.module
        self.notes.called[routine.module.file, routine.at.key] = routine
        try:
            self.block(block)
        finally:
            self.frame, self.notes.module = outer, file

    def asks(self, test: Node) -> bool:
        """Return whether a test calls anything, so that it cannot be asked again and again."""
        if isinstance(test, tree.FunctionCall):
            return True
        return isinstance(test, tuple) and not isinstance(test, Token) and any(self.asks(part) for part in test)

    def check_round(self) -> None:
        """End a round where the test does not hold any more for which the program waits."""
        if self.waits_for is None:
            return
        test, frame = self.waits_for
        outer, self.frame = self.frame, frame
        try:
            value = self.value(test)
        finally:
            self.frame = outer
        if not isinstance(value, Unknown) and not truth_of(value):
            raise LeaveFlow(ROUND)

    # --- how threads end ----------------------------------------------------------------------------------------------

    def broken_off(self, thread: str, why: str) -> None:
        """Take back the moves of a search that does not come to its end; where the arm is then nobody knows."""
        name, moves, gaps = self.searching.pop(thread)
        if thread in self.unended:
            why += f"; {self.hint(thread)}"
        del self.notes.draft.moves[moves:], self.notes.gaps[gaps:]
        self.notes.gap(name, f"thread {name.text!r} {why}")
        self.last = None
        self.changes += 1

    def hint(self, thread: str) -> str:
        """Return how a user says where a search ends."""
        return f"--define {thread}=0.05 says after how many metres it ends"

    def has_met(self, thread: str) -> bool:
        """Return whether a search ended where the user says."""
        return self.met is not None and self.met.thread == thread

    def from_cell(self, row: Builtin, node: tree.FunctionCall) -> Value:
        """Return what the running cell would give; at the end of a search that the user told, what it has met."""
        if self.met is not None and row.name not in self.inputs:
            if row.name == "tool_contact":
                return 1
            if row.name == "get_target_tcp_speed":
                return [*self.met.speed, 0.0, 0.0, 0.0]
            if row.name == "get_actual_joint_positions_history":
                return self.state(BUILTINS["get_target_joint_positions"], node)
        return super().from_cell(row, node)

    def has_ended(self, thread: str, line: int) -> None:
        """Take a thread as ended."""
        del self.moving[thread]
        if self.searching.pop(thread, None) is None:
            return
        if self.has_met(thread):
            self.notes.assume(line, f"thread {thread} ends here by what it meets, after the way that --define says")
        else:
            self.notes.assume(
                line,
                f"the program waits here for thread {thread}, which is taken to come to its end: what could stop it "
                "on its way is taken as not met",
            )

    def end_thread(self, at: Token, handle: Node) -> None:
        """Take a thread that is killed or waited for as ended; all of them where the handle does not say which."""
        if not self.moving:
            return
        value = self.value(handle)
        named = value.names[0] if isinstance(value, Unknown) and value.names else ""
        ended = [named] if named in self.moving else [] if self.routine(named) is not None else list(self.moving)
        for thread in ended:
            circling = self.circling.get(thread)
            if circling is not None and at.key == "kill" and circling.moves >= 0:
                del self.circling[thread]
            elif circling is not None:
                self.apart(thread)
            if at.key == "kill" and thread in self.searching and not self.has_met(thread):
                self.broken_off(thread, "moves the arm until the program kills it: where that is depends on both")
            self.has_ended(thread, at.line)

    def _while(self, statement: tree.While) -> None:
        """Carry out a loop; one that waits for a thread has seen its end, whatever branch the reading took in it."""
        waiting = next((key for key, circling in self.circling.items() if circling.moves < 0), None)
        if waiting is not None and self.only_waits(statement):
            self.go_round(statement, waiting)
            return
        super()._while(statement)
        if not self.moving:
            return
        words = {s.at.key for s in tree.statements_in(statement.body) if isinstance(s, tree.Invoke)}
        asked = _tested_in(statement)
        for thread in [t for t, sets in self.moving.items() if words & {"kill", "join"} or asked & sets]:
            led = not self.has_met(thread) and not asked & self.moving[thread]
            if thread in self.searching and "join" not in words and led:
                self.broken_off(thread, "moves the arm until the program kills it: where that is depends on both")
            elif thread not in self.searching:
                said = f"this loop waits for thread {thread}: behind it the thread has ended"
                self.notes.assume(statement.at.line, said)
            self.has_ended(thread, statement.at.line)

    def only_waits(self, loop: tree.While) -> bool:
        """Return whether a loop moves nothing, ends by its test alone and has nothing to do with threads."""
        inside = list(tree.statements_in(loop.body))
        if any(isinstance(s, tree.Leave | tree.Return | tree.Jump) for s in inside) or self.moves_in(loop.body, set()):
            return False
        return not {s.at.key for s in inside if isinstance(s, tree.Invoke)} & {"run", "kill", "join"}

    def gives_up(self, block: Block) -> bool:
        """Return whether a block moves nothing and ends the program, as programs do about an error."""
        halts = any(isinstance(statement, tree.Leave) and statement.what == "program" for statement in block)
        return halts and not self.moves_in(block, set())

    def ends(self, node: Node, looked: set[str]) -> bool:
        """Return whether a stretch of program comes to its end and is led by its own targets alone."""
        if isinstance(node, tree.While) and (node.test is None or node.test.at.text in ENDLESS):
            return False
        if isinstance(node, tree.Invoke | tree.FunctionCall):
            if node.at.key in LED or node.at.key == "run":
                return False
            routine = self.routine(node.at.key)
            if routine is not None and node.at.key not in looked:
                looked.add(node.at.key)
                if not self.ends(routine.body, looked):
                    return False
        return not isinstance(node, tuple) or isinstance(node, Token) or all(self.ends(n, looked) for n in node)

    def moves_in(self, node: Node, looked: set[str]) -> bool:
        """Return whether a stretch of program may move the arm, functions that it calls included."""
        if isinstance(node, tree.Invoke | tree.FunctionCall):
            key = node.arguments[0].at.key if node.at.key == "run" else node.at.key
            routine = self.routine(key)
            if routine is not None and key not in looked:
                looked.add(key)
                if self.moves_in(routine.body, looked):
                    return True
            elif routine is None and key in MOTION:
                return True
        if isinstance(node, tree.NotUnderstood) and node.motion:
            return True
        return isinstance(node, tuple) and not isinstance(node, Token) and any(self.moves_in(n, looked) for n in node)


def _set_in(block: Node) -> list[Token]:
    """Return the names that statements set."""
    found = []
    for statement in tree.statements_in(block):
        target = statement.target if isinstance(statement, tree.Assign) else None
        while isinstance(target, tree.Index | tree.Member):
            target = target.base
        if isinstance(target, tree.Name):
            found.append(target.at)
        elif isinstance(statement, tree.Declare) and statement.storage == "global":
            found.append(statement.at)
    return found


def _tested_in(loop: tree.While) -> set[str]:
    """Return the names that a loop and the tests in it ask."""
    found: set[str] = set()
    waiting: list[Node] = [loop.test]
    for statement in tree.statements_in(loop.body):
        if isinstance(statement, tree.If):
            waiting += [test for test, _ in statement.branches]
        elif isinstance(statement, tree.While):
            waiting.append(statement.test)
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.Name):
            found.add(node.at.key)
        elif isinstance(node, tuple) and not isinstance(node, Token):
            waiting += node
    return found
