# SPDX-License-Identifier: Apache-2.0
"""`Clock`: the one clock of the lab, a thread that sleeps to absolute deadlines and records how late it was.

Python cannot promise real time, but it can be measured. A tick that is late is made up for as soon as clients stand it:
they get their packets at least `SPACING` apart, and no sample is lost by the device's clock. Where the machine stood
still for longer than `CATCH_UP`, the deadlines move on instead, and that is counted as a stall.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

CATCH_UP = 0.25  # [s]
EDGES = (50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3, 0.1, CATCH_UP)
SPACING = 1e-3  # [s] from the end of a tick to the next: some clients take two packets within that for one
PRIORITY = 20  # of SCHED_FIFO, where it is allowed
PRIORITY_BESIDE = PRIORITY - 2  # of threads that share Python's lock with the clock
LOCK_SECONDS = 5e-4  # [s] for which another thread may keep Python's lock when the clock wants it; by default 5 ms


@dataclass
class Lateness:
    """Histogram of late ticks: `counts[k]` at most `EDGES[k]` late, the last more; the worst [s]; stalls; long gaps."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(EDGES) + 1))
    worst: float = 0.0
    stalls: int = 0
    stalled: float = 0.0
    gaps: int = 0

    def add(self, late: float) -> None:
        """Count one tick."""
        self.worst = max(self.worst, late)
        for k, edge in enumerate(EDGES):
            if late <= edge:
                self.counts[k] += 1
                return
        self.counts[-1] += 1

    def table(self) -> str:
        """Return the histogram as text."""
        total = max(1, sum(self.counts))
        names = [f"≤ {edge * 1e3:g} ms" for edge in EDGES] + [f"> {EDGES[-1] * 1e3:g} ms"]
        lines = [f"{n:>10} {c:8d} {100 * c / total:6.2f} %" for n, c in zip(names, self.counts, strict=True) if c]
        lines.append(f"worst {self.worst * 1e3:.3g} ms, {self.gaps} gaps > 2 periods, {self.stalls} stalls")
        return "\n".join(lines)


class Clock:
    """Calls `tick` every period in a thread of its own until `stop`.

    Attributes:
        period: [s]. spacing: between ticks that are late [s]; none at paces that leave no room for it.
        ticks: so far. late: the histogram. lag: how late the present tick is [s].
        fifo: whether the thread runs under SCHED_FIFO. wants_fifo: whether it asks for it.
        error: what ended it, if `tick` raised.
    """

    def __init__(self, tick: Callable[[], None], period: float, *, fifo: bool = True) -> None:
        self._tick, self.period, self.wants_fifo = tick, period, fifo
        self.spacing = SPACING if period >= 2.0 * SPACING else 0.0
        self.ticks, self.late, self.lag, self.fifo = 0, Lateness(), 0.0, False
        self.error: Exception | None = None
        self._end = threading.Event()
        self._hold = 0.0
        self._thread = threading.Thread(target=self._run, name="lab clock", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the present tick; wait for it."""
        self._end.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def stall(self, seconds: float) -> None:
        """Stand still for `seconds` at the next tick: a fault for tests."""
        self._hold = seconds

    def _run(self) -> None:
        if self.wants_fifo:
            self.fifo = real_time(PRIORITY)
        due = last = free = time.monotonic()
        try:
            while not self._end.is_set():
                now = time.monotonic()
                if now < max(due, free):
                    time.sleep(max(due, free) - now)
                    continue
                if self._hold:
                    held, self._hold = self._hold, 0.0
                    self._end.wait(held)
                    now = time.monotonic()
                self.lag = late = now - due
                self.late.add(late)
                self.late.gaps += now - last > 2.0 * self.period
                last = now
                if late > CATCH_UP:
                    self.late.stalls += 1
                    self.late.stalled += late
                    due = now
                self._tick()
                self.ticks += 1
                due += self.period
                free = time.monotonic() + self.spacing
        except Exception as error:  # noqa: BLE001 - kept for whoever asks; a thread has no caller
            self.error = error
            self._end.set()

    @property
    def running(self) -> bool:
        """Return whether it still ticks."""
        return self._thread.is_alive() and not self._end.is_set()


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Look for no circular garbage meanwhile: a full collection takes longer than a controller waits."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def live_beside_clock(*, fifo: bool) -> None:
    """Prepare a process that serves: its other threads give Python's lock back soon, and this one is not put aside.

    What the start has made stays, and Python no longer looks through it for circular garbage: while it does, which
    took 60 ms, nothing else runs.

    Args:
        fifo: whether the clock asks for SCHED_FIFO.
    """
    gc.freeze()
    sys.setswitchinterval(LOCK_SECONDS)
    if fifo:
        real_time(PRIORITY_BESIDE)


def is_real_time() -> bool:
    """Return whether this thread runs under SCHED_FIFO."""
    try:
        return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
    except (AttributeError, OSError):  # not on this system
        return False


def real_time(priority: int) -> bool:
    """Ask for SCHED_FIFO for this thread, not for those that it starts; False where that is not allowed.

    A thread that shares Python's lock with the clock should ask, too: an ordinary one that is preempted while it holds
    the lock on a busy machine delays the clock by tens of milliseconds.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except (AttributeError, OSError):  # not on this system, or not allowed
        return False
    return True
