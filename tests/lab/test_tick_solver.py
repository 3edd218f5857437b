# SPDX-License-Identifier: Apache-2.0
"""`Solver`: every job is answered, a defect too; beside a clock with real-time scheduling its thread has it as well."""

from __future__ import annotations

import os
import threading

import pytest

from armwright.errors import ArmwrightError, InputError
from armwright.lab.controller.tick_solver import Solver
from armwright.lab.lab_clock import PRIORITY, is_real_time, real_time
from support.patience import until


def answers(solver, *jobs):
    """What the jobs came to, in order."""
    out = []
    for job in jobs:
        solver.ask(job, out.append)

    def delivered():
        solver.deliver()
        return len(out) == len(jobs)

    until(delivered, "an answer to every job")
    return out


def refuse():
    raise InputError("out of reach")


def deep(n=0):
    return deep(n + 1)


def test_every_job_is_answered_whatever_it_raises():
    solver = Solver()
    three, refused, divided, recursed, four = answers(solver, lambda: 3, refuse, lambda: 1 / 0, deep, lambda: 4)
    assert (three, four) == (3, 4) and not solver.busy
    assert isinstance(refused, InputError) and str(refused) == "out of reach"
    assert isinstance(divided, ArmwrightError) and "a defect of this program: ZeroDivisionError" in str(divided)
    assert "RecursionError" in str(recursed)
    solver.close()


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="this system has no SCHED_FIFO")
def test_its_thread_is_as_urgent_as_the_clock_and_below_it():
    seen = []

    def clock():
        if real_time(PRIORITY):
            seen.extend(answers(Solver(), is_real_time, lambda: os.sched_getparam(0).sched_priority))

    thread = threading.Thread(target=clock)
    thread.start()
    thread.join()
    if not seen:
        pytest.skip("SCHED_FIFO is not allowed here")
    assert seen[0] is True and 0 < seen[1] < PRIORITY
    assert answers(Solver(), is_real_time) == [is_real_time()]
