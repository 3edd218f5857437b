# SPDX-License-Identifier: Apache-2.0
"""Threads of a URScript program that move the arm.

One that ends by itself and that the program waits for is a search (PolyScope writes its Until so): it is carried out
where it is run, to its end, which a note says. One that never ends, that goes on while the program moves, or that the
program kills on its way is a gap: how far it comes depends on both.
"""

from __future__ import annotations

from armwright.programs.interpreter.program_values import Unknown
from armwright.programs.languages.urscript_arm import UrscriptArm
from armwright.programs.reading import ReadOptions
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Block, Node
from armwright.syntax.scanner import Token
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, MOTION

LED = frozenset(name for name, row in BUILTINS.items() if row.does == "led")
ENDLESS = ("True", "1")


class UrscriptThreads(UrscriptArm):
    """What ``run``, ``join`` and ``kill`` do to what is known of the arm."""

    def __init__(self, module: ScriptModule, options: ReadOptions) -> None:
        """Begin without threads."""
        super().__init__(module, options)
        self.moving: dict[str, set[str]] = {}  # threads under way that move the arm, and the variables they set
        self.sought = ""  # the thread that is being carried out
        self.searching: dict[str, tuple[Token, int, int]] = {}  # those carried out; where, and what was known before

    def run_thread(self, name: Token) -> None:
        """Leave out a thread; one that moves the arm is a search, or a gap until it has ended."""
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
            self.notes.gap(name, f"thread {name.text!r} moves the arm beside the program, and how far depends on both")
            self.moving[name.key] = {at.key for at in sets}
            self.last = None
        else:
            self.notes.note(name.line, f"thread {name.text} moves nothing and is left out", once=True)
        for at in sets:
            cell = self.scopes.find(self.frame, at.key)
            if cell is not None and at.key not in self.script.bound.get(name.key, ()):
                cell.value = Unknown(f"{at.text} is set by thread {name.text}", (at.text,), cell.value)

    def broken_off(self, thread: str, why: str) -> None:
        """Take back the moves of a search that does not come to its end; where the arm is then nobody knows."""
        name, moves, gaps = self.searching.pop(thread)
        del self.notes.draft.moves[moves:], self.notes.gaps[gaps:]
        self.notes.gap(name, f"thread {name.text!r} {why}")
        self.last = None
        self.changes += 1

    def has_ended(self, thread: str, line: int) -> None:
        """Take a thread as ended."""
        del self.moving[thread]
        if self.searching.pop(thread, None) is not None:
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
            if at.key == "kill" and thread in self.searching:
                self.broken_off(thread, "moves the arm until the program kills it: where that is depends on both")
            self.has_ended(thread, at.line)

    def _while(self, statement: tree.While) -> None:
        """Carry out a loop; one that waits for a thread has seen its end, whatever branch the reading took in it."""
        super()._while(statement)
        if not self.moving:
            return
        words = {s.at.key for s in tree.statements_in(statement.body) if isinstance(s, tree.Invoke)}
        asked = _tested_in(statement)
        for thread in [t for t, sets in self.moving.items() if words & {"kill", "join"} or asked & sets]:
            if thread in self.searching and "join" not in words and not asked & self.moving[thread]:
                self.broken_off(thread, "moves the arm until the program kills it: where that is depends on both")
            elif thread not in self.searching:
                said = f"this loop waits for thread {thread}: behind it the thread has ended"
                self.notes.assume(statement.at.line, said)
            self.has_ended(thread, statement.at.line)

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
