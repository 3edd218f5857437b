# SPDX-License-Identifier: Apache-2.0
"""`ScriptMachine`: a program that runs, frame by frame, on a controller.

A frame is a step of the controller, 2 ms (8 ms on a CB3). In each every thread is resumed once, in the order in which
they were made, the main one first; one that is made in a frame runs in the next. A thread goes on until it waits: for
time, a motion, a socket, an answer. So nothing else runs within a critical section, which needs no lock.

Work is limited: a thread that has used up its share of a frame goes on in the next, and one that does so for
`LONGEST_LOOP` seconds without ever waiting ends the program.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from armwright.errors import ArmwrightError
from armwright.lab.controller.controller_messages import (
    PROGRAM_STARTED,
    PROGRAM_STOPPED,
    KeyMessage,
    LabelMessage,
    RuntimeExceptionMessage,
)
from armwright.lab.script import script_values as values
from armwright.lab.script.script_compiler import FILE, MAIN, compile_script
from armwright.lab.script.script_faults import ScriptFault, ScriptHalt, ThreadEnd
from armwright.lab.script.script_installation import leave_outputs
from armwright.lab.script.script_library import RUNS, WORK
from armwright.lab.script.script_lists import call_method
from armwright.lab.script.script_memory import MOST_KEPT, MemoryAccount
from armwright.lab.script.script_run import THREAD_WORK, ScriptRun

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.script.script_compiler import CompiledScript
    from armwright.lab.script.script_values import ScriptValue
    from armwright.lab.script.statement_queue import Statement

ScriptCode = Generator[object, None, "ScriptValue"]
BUSY = "busy"
"""What a thread yields that has used up its share of a frame; one that waits yields None."""
MISSING = None
"""What stands for an argument that is left out."""
FRAME_WORK, LEAST_WORK = 3000, 40  # passes of loops and calls in a frame: of all threads, of each at least
COUNTED_PER_WORK = 64  # items that are counted in the time of an empty pass of a loop
ORPHAN_BRAKING = 10.0  # [rad/s²] of a move whose thread was killed
LONGEST_LOOP = 0.5  # [s] that a thread may compute without waiting
KEPT_PLACES = 1000  # statements of interpreter mode whose places are remembered: functions may be among them
DEEPEST_CALL = 50
TERMS_PER_WORK, LISTED_PER_WORK = 4, 8
"""Terms of a product, items of a list that is put together, that take as long as an empty pass of a loop."""
MOST_THREADS = 64
HELPERS = "remainder positive exclusive less more at_most at_least truth item fitted part pose_value"
CHARGED_HELPERS = {"add": 8, "subtract": 8, "divide": 8, "negative": 8, "equal": 32}
"""Operators that take long with lists, and items that take as long as an empty pass of a loop."""
OWN_HELPERS = (
    *("spent", "entered", "run", "kill", "join", "label", "own", "struct", "method", "refused"),
    *("multiply", "set_item", "set_part", "list_of", "written"),
)


class ScriptThread:
    """One thread: its handle, its generator, how long it has not waited."""

    def __init__(self, handle: int, code: ScriptCode) -> None:
        """Begin with the first statement."""
        self.handle, self.code = handle, code
        self.ended = False
        self.busy = 0  # frames in which it only computed


class ScriptMachine(ScriptRun):
    """A program under way: its threads.

    Attributes:
        compiled: what runs. frames: so far. threads: that live. thread: which runs now. ended: whether all is over.
    """

    def __init__(
        self, controller: Controller, compiled: CompiledScript, *, hosts: frozenset[str] = frozenset()
    ) -> None:
        """Make the functions; nothing runs before `tick`. `hosts` may be dialled besides loopback."""
        super().__init__(controller, hosts, beside=compiled.kind == "sec")
        self.compiled = compiled
        self.frames = 0
        self.ended = self._failed = False
        self._handles = 0
        self.threads: list[ScriptThread] = []
        self.thread: ScriptThread | None = None
        self._ticks_per_frame = 1 if controller.e_series else 4
        self._ticks = 0
        self._places = {FILE: compiled.places}
        self._memory, self._left, self._turn = MemoryAccount(), 0, 0
        self._visible = self._names()
        for code in compiled.code:
            exec(code, self._visible)  # nodes that the compiler makes itself; no text, no builtins
        self._start(self._visible[MAIN])

    def statement(self, text: str, number: int) -> Statement:
        """See `ScriptRun`; the statement sees the program's variables and functions.

        Raises:
            ScriptError: it does not fit.
        """
        known = self.compiled
        found = compile_script(text, self.c.version, known, f"{FILE}{number}")
        self.compiled = known._replace(
            variables=known.variables | found.variables, heads={**known.heads, **found.heads}
        )

        def begin() -> ScriptCode:
            self._places[f"{FILE}{number}"] = found.places
            self._places.pop(f"{FILE}{number - KEPT_PLACES}", None)
            self._visible.update({f"b_{name}": self._function(name) for name in found.used})
            for code in found.code:
                exec(code, self._visible)  # as above
            made: ScriptCode = self._visible[MAIN](1)
            return made

        return begin

    def _names(self) -> dict[str, Any]:
        """Return all names that the code can see."""
        names: dict[str, Any] = {"__builtins__": {}, "h_busy": BUSY, "h_missing": MISSING, "h_halt": ScriptHalt}
        names["h_unset"] = NameError
        names |= {f"h_{name}": getattr(values, name) for name in HELPERS.split()}
        names |= {f"h_{name}": self._charged(getattr(values, name), most) for name, most in CHARGED_HELPERS.items()}
        names |= {f"h_{name}": getattr(self, name) for name in OWN_HELPERS}
        return names | {f"b_{name}": self._function(name) for name in self.compiled.used}

    def _charged(self, operator: Callable[..., ScriptValue], most: int) -> Callable[..., ScriptValue]:
        """Return an operator that charges the thread for every `most` items of lists; numbers cost nothing more."""

        def charged(a: ScriptValue, *more: ScriptValue) -> ScriptValue:
            if a.__class__ not in values.NUMBERS:
                for value in (a, *more):
                    if value.__class__ in values.CONTAINERS or value.__class__ is str:
                        self.work(values.weight(value) // most)
            return operator(a, *more)

        return charged

    def _function(self, name: str) -> Callable[..., ScriptValue]:
        """Return a function of the language; one that takes long is charged to the thread that calls it."""
        run, work = partial(RUNS[name], self), WORK.get(name)
        if work is None:
            return run

        def charged(*arguments: ScriptValue) -> ScriptValue:
            self.work(work + sum(values.weight(text) for text in arguments if text.__class__ is str))
            return run(*arguments)

        return charged

    # --- what code calls ----------------------------------------------------------------------------------------------

    def spent(self, work: int) -> bool:
        """Charge work to the thread; return whether it has used up its share of the frame."""
        self.budget -= work
        return self.budget < 0

    def entered(self, depth: int) -> bool:
        """Count a call at a depth; see `spent`."""
        if depth > DEEPEST_CALL:
            raise ScriptFault(f"recursion: more than {DEEPEST_CALL} calls inside one another")
        self.budget -= 1
        return self.budget < 0

    def own(self, value: ScriptValue) -> ScriptValue:
        """Return a value that shares nothing with `value`, charged to the thread."""
        if value.__class__ in values.CONTAINERS:
            self.work(values.weight(value) // 16)
            return values.own(value)
        if value is None:
            raise ScriptFault("type_error: this has no value")
        return value

    def multiply(self, a: ScriptValue, b: ScriptValue) -> ScriptValue:
        """Return a · b; a product of matrices is charged by its terms."""
        if a.__class__ in values.CONTAINERS or b.__class__ in values.CONTAINERS:
            rows = len(a) if a.__class__ is values.Rows else 1
            self.work((values.weight(a) + rows * values.weight(b)) // TERMS_PER_WORK)
        return values.multiply(a, b)

    def set_item(self, base: ScriptValue, index: ScriptValue, value: ScriptValue) -> None:
        """Put a value in the place of an item; the size of a list of lists is looked at as a whole."""
        if base.__class__ is values.Rows:
            self.charge(base)
        values.set_item(base, index, value)

    def set_part(self, base: ScriptValue, name: str, value: ScriptValue) -> None:
        """Put a value in the place of a part; the size of the structure is looked at as a whole."""
        self.charge(base)
        values.set_part(base, name, value)

    def list_of(self, items: list[ScriptValue]) -> ScriptValue:
        """Return a list of items, charged to the thread; the list itself is taken over."""
        self.work(sum(map(values.weight, items)) // LISTED_PER_WORK)
        return values.list_of(items)

    def written(self, items: list[ScriptValue]) -> ScriptValue:
        """Return a long list of numbers of the text, charged to the thread."""
        self.charge(items)
        return items

    def struct(self, names: tuple[str, ...], *parts: ScriptValue) -> ScriptValue:
        """Return a structure."""
        made = values.StructValue(dict(zip(names, parts, strict=True)))
        values.check_size(made)
        return made

    def method(self, name: str, base: ScriptValue, *arguments: ScriptValue) -> ScriptValue:
        """Return what a method of a list gives."""
        if base.__class__ is values.Rows or name == "slice":
            self.charge(base)
        return call_method(name, base, arguments)

    def refused(self, name: str) -> None:
        """Refuse a function that the language has and this controller has not."""
        raise ScriptFault(f"{name} is not available in this virtual controller")

    def label(self, number: int, text: str) -> None:
        """Say that the program comes to a line of PolyScope."""
        self.c.say(LabelMessage(number, text))

    def run(self, code: Callable[[int], ScriptCode]) -> int:
        """Start a thread and return its handle; it runs from the next frame on."""
        if self.beside:
            raise ScriptFault("a secondary program has no threads")
        if sum(not thread.ended for thread in self.threads) >= MOST_THREADS:
            raise ScriptFault(f"more than {MOST_THREADS} threads")
        return self._start(code)

    def _start(self, code: Callable[[int], ScriptCode]) -> int:
        self._handles += 1
        self.threads.append(ScriptThread(self._handles, code(1)))
        return self._handles

    def _found(self, handle: ScriptValue) -> ScriptThread | None:
        if handle.__class__ is not int:
            raise ScriptFault(f"type_error: a thread is told by a whole number, not a {values.kind_of(handle)}")
        return next((thread for thread in self.threads if thread.handle == handle and not thread.ended), None)

    def kill(self, handle: ScriptValue) -> None:
        """End a thread; one that is not there ends nothing."""
        thread = self._found(handle)
        if thread is self.thread and thread is not None:
            raise ThreadEnd
        if thread is not None:
            thread.ended = True
            thread.code.close()

    def join(self, handle: ScriptValue) -> ScriptCode:
        """Wait until a thread has ended."""
        thread = self._found(handle)
        while thread is not None and not thread.ended:
            yield None

    # --- frames -------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Go on by one tick of the controller."""
        self._ticks += 1
        if self._ticks % self._ticks_per_frame == 0 or self.frames == 0:
            self.frame()

    def frame(self) -> None:
        """Resume every thread once."""
        self.frames += 1
        self.sockets.poll()
        here = self.threads
        self._resume_in_turn()
        if self.ended:
            return
        if here[0].ended and not (self.c.moving and self.c.motion is self.passing):  # the radius of a last move is none
            self.finish()
            return
        self.threads = [thread for thread in self.threads if not thread.ended or thread is here[0]]
        if self.orphan is not None and self.c.motion is self.orphan:
            self.c.halt(ORPHAN_BRAKING)
        self.orphan = None

    def _resume_in_turn(self) -> None:
        """Resume the threads until the frame's work is done; those that had no turn come first in the next frame.

        What one overdraws is saved in the frames that follow.
        """
        here = self.threads[:]
        self._left = min(FRAME_WORK, self._left + FRAME_WORK)
        share = min(THREAD_WORK, max(LEAST_WORK, FRAME_WORK // max(1, len(here))))
        turn = self._turn if self._turn < len(here) else 0
        self._turn = 0
        for k, thread in enumerate((*here[turn:], *here[:turn])):
            if self._left <= 0:
                self._turn = (turn + k) % len(here)
                return
            if thread.ended:
                continue
            self.budget = share
            self._resume(thread)
            if self.ended:
                return
            used = share - self.budget
            self._left -= used
            if self._memory.spend(used) and self._counted_too_much():
                self._refuse_memory(thread)
                return

    def _counted_too_much(self) -> bool:
        variables = [value for name, value in self._visible.items() if name.startswith("v_")]
        too_much = self._memory.count(variables, [thread.code for thread in self.threads if not thread.ended])
        self._left -= self._memory.kept // COUNTED_PER_WORK
        return too_much

    def _refuse_memory(self, thread: ScriptThread) -> None:
        """End the program at the place of a thread, in whose turn its values have become too large."""
        fault = ScriptFault(f"out of memory: more than {MOST_KEPT} items in all values of the program")
        if thread.ended:
            self.fail(fault)
            return
        self.thread = thread
        try:
            thread.code.throw(fault)
        except (Exception, ScriptHalt) as error:  # noqa: BLE001 - the fault itself comes back
            self.fail(error if isinstance(error, ScriptFault) else fault)
        finally:
            self.thread = None
        if not self.ended:
            self.fail(fault)

    def _resume(self, thread: ScriptThread) -> None:
        self.thread, self.fed = thread, False
        try:
            said = next(thread.code)
            if said is BUSY:
                thread.busy = 0 if self.fed else thread.busy + 1
                if thread.busy * self.step_time > LONGEST_LOOP:
                    thread.code.throw(ScriptFault(f"infinite loop: no instruction takes time for {LONGEST_LOOP} s"))
            else:
                thread.busy = 0
                if self.beside:
                    thread.code.throw(ScriptFault("a secondary program takes no time"))
        except (StopIteration, ThreadEnd):
            thread.ended = True
        except ScriptHalt:
            self.finish()
        except Exception as error:  # noqa: BLE001 - whatever a program does, only that program ends
            self.fail(error)
        finally:
            self.thread = None

    def fail(self, error: Exception) -> None:
        """End the program by a fault: say where, and what."""
        line, column, word = self.place_of(error.__traceback__)
        self.c.say(RuntimeExceptionMessage(line, column, fault_words(error, word)))
        self._failed = True
        self.finish()

    def place_of(self, trace: TracebackType | None) -> tuple[int, int, str]:
        """Return line, column and word of the innermost place of the text in a traceback."""
        found, places = 1, self.compiled.places
        while trace is not None:
            own = self._places.get(trace.tb_frame.f_code.co_filename)
            if own is not None:
                found, places = trace.tb_lineno, own
            trace = trace.tb_next
        return places[found if 0 < found < len(places) else 0]

    @property
    def line(self) -> int:
        """Return the line at which the main thread is, 0 where it has ended."""
        code: Any = self.threads[0].code if self.threads else None
        found = 0
        while code is not None and getattr(code, "gi_frame", None) is not None:
            if code.gi_code.co_filename == FILE:
                found = code.gi_frame.f_lineno
            code = code.gi_yieldfrom
        return self.compiled.places[found][0] if 0 < found < len(self.compiled.places) else 0

    # --- its beginning and end ----------------------------------------------------------------------------------------

    def started(self) -> None:
        """Say that the program runs."""
        if not self.beside:
            self.c.say(KeyMessage(PROGRAM_STARTED, self.compiled.name))

    def close(self) -> None:
        """End all threads and sockets, and say so; the controller has dropped the program or is about to."""
        if self.ended:
            return
        self.ended = True
        for thread in self.threads:
            if thread is not self.thread:
                thread.ended = True
                thread.code.close()
        self.sockets.close()
        leave_outputs(self, failed=self._failed)
        if not self.beside:
            self.c.say(KeyMessage(PROGRAM_STOPPED, self.compiled.name))

    def finish(self) -> None:
        """End the program by itself; the arm brakes."""
        self.close()
        self.c.program_ended(self)


def fault_words(error: Exception, word: str) -> str:
    """Return what the controller says of a fault at a word."""
    if isinstance(error, ScriptFault):
        return str(error)
    if isinstance(error, NameError):  # of a variable: no other name can be missing
        return f"The variable '{word}' has no value yet"
    if isinstance(error, ArmwrightError):
        return str(error)
    return f"internal_error: {type(error).__name__}"
