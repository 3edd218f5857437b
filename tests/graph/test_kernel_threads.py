# SPDX-License-Identifier: Apache-2.0
"""Several threads and forked processes compile, call and run batches as one thread does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from armwright.graph import compile_function, set_threads, threads
from armwright.graph.thread_pool import ROWS_PER_THREAD, run_jobs, run_rows
from support.patience import PATIENCE, until


def run(script: str, *arguments: str) -> str:
    """Run a script in a fresh process and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    return done.stdout


FIRST_CALLS = """
import threading, time
import numpy as np
import llvmlite.binding as llvm
from armwright.graph import compile_function

make, engines, asking = llvm.create_mcjit_compiler, [], []
def slowly(*arguments):  # a busy machine: every thread asks before the first engine is there
    engines.append(1)
    while len(asking) < 8:
        time.sleep(0.001)
    time.sleep(0.02)  # whoever has asked and does not wait comes here, too
    return make(*arguments)
llvm.create_mcjit_compiler = slowly

def scaled(q, a):
    return np.sin(q) * (a + 0.5)

kernels = [compile_function(scaled, {"q": (3,)}, constants={"a": a}) for a in range(4)]
q, results, barrier = np.array([0.1, 0.2, 0.3]), [None] * 8, threading.Barrier(8)
def work(k):
    barrier.wait()
    asking.append(k)
    results[k] = kernels[k % 4](q)
    for _ in range(100):
        assert np.array_equal(kernels[k % 4](q), results[k])
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
wrong = [k for k in range(8) if results[k] is None or not np.allclose(results[k], scaled(q, k % 4), rtol=1e-15)]
print("engines", len(engines), "wrong", wrong)
"""


def test_first_calls_of_several_threads_share_one_engine():
    for _ in range(3):
        assert run(FIRST_CALLS) == "engines 1 wrong []\n"


ONE_KERNEL = """
import sys, threading
import numpy as np
from armwright.graph import fast_call, compile_function

connect, tables = fast_call.connect, []
def recorded(*arguments):
    tables.append(connect(*arguments))
    return tables[-1]
fast_call.connect = recorded
sys.setswitchinterval(1e-6)
for turn in range(20):
    k = compile_function(lambda q, a: np.sin(q) * (a + 0.5), {"q": (3,)}, constants={"a": turn})
    q, results, barrier = np.ones(3), [], threading.Barrier(8)
    def work():
        barrier.wait()
        results.append(k(q).tolist())
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert results == [k(q).tolist()] * 8
print(len(tables))
"""


def test_a_kernel_is_connected_once_whichever_threads_call_it_first():
    # each table that machine code is pointed at must live as long as the kernel, which keeps one
    assert int(run(ONE_KERNEL)) <= 20


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

CHILD = """
import os, signal, sys, threading, time
import numpy as np
from armwright.graph import compile_function, set_threads

def in_child(work, seconds=120.0):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"
"""
AFTER_A_BATCH = (
    CHILD
    + """
import multiprocessing
set_threads(3)
k = compile_function(lambda q: np.sin(q) + q, {"q": (2,)})
Q = np.random.default_rng(1).normal(size=(50_000, 2))
expected = k(Q)

def same(_=0):
    return np.array_equal(k(Q), expected)

print(in_child(same), in_child(lambda: in_child(same) == 0))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map_async(same, range(4)).get(timeout=240), same())
"""
)


@forks
def test_a_forked_child_runs_batches_after_its_parent_did():
    assert run(AFTER_A_BATCH) == "0 0\n[True, True, True, True] True\n"


WHILE_COMPILING = (
    CHILD
    + """
def new(a):
    return compile_function(lambda q, a: np.sin(q) * a + np.cos(q - a), {"q": (6,)}, constants={"a": a})(np.ones(6))

at_work, compiled = True, threading.Event()
def compile_on():
    a = float(os.getpid())
    while at_work:
        new(a := a + 0.5)
        compiled.set()
thread = threading.Thread(target=compile_on)
thread.start()
compiled.wait()
codes = [in_child(lambda: np.isfinite(new(0.25 + k)).all()) for k in range(8)]
at_work = False
thread.join()
print(codes)
"""
)


@forks
def test_a_child_forked_while_another_thread_compiles_can_compile():
    assert run(WHILE_COMPILING) == f"{[0] * 8}\n"


@pytest.fixture
def several_threads():
    before = threads()
    set_threads(4)
    yield 4
    set_threads(before)


def test_the_number_of_threads_may_change_under_running_batches(several_threads):
    k = compile_function(lambda q: np.sin(q) * 3.0, {"q": (2,)}, name="changing")
    Q = np.random.default_rng(2).normal(size=(4 * ROWS_PER_THREAD, 2))
    expected, wrong = k(Q), []

    def batches():
        try:
            wrong.extend(turn for turn in range(100) if not np.array_equal(k(Q), expected))
        except RuntimeError as error:
            wrong.append(error)

    workers = [threading.Thread(target=batches) for _ in range(2)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        for count in (2, 4, 3):
            set_threads(count)
    assert not wrong


def test_when_a_job_fails_no_other_is_left_at_work(several_threads):
    begun, ended, failing = [], [], threading.Event()

    def work(k):
        """Fail, as the first, when all threads work; the others are still at work then."""
        if k == 0:
            until(lambda: len(begun) >= several_threads - 1, "all threads work")
            failing.set()
            raise ArithmeticError("job 0")
        begun.append(k)
        failing.wait()
        time.sleep(0.05)
        ended.append(k)

    with pytest.raises(ArithmeticError, match="job 0"):
        run_jobs(work, 200)
    assert sorted(begun) == sorted(ended)
    assert len(begun) < 150  # the other threads have that many before them: most were not begun for nothing

    begun, ended, failing = [], [], threading.Event()

    def runner(inputs, outputs, rows):
        work(int(inputs[0][0, 0]))
        return 0

    rows = several_threads * ROWS_PER_THREAD
    with pytest.raises(ArithmeticError, match="job 0"):
        run_rows(runner, [np.arange(rows, dtype=float)[:, None]], [np.zeros((rows, 1))], rows)
    assert sorted(begun) == sorted(ended) and len(begun) == several_threads - 1


NESTED = """
import numpy as np
from armwright.graph import compile_function, set_threads
from armwright.graph.thread_pool import run_jobs
set_threads(4)
k = compile_function(lambda q: np.cos(q) * 3.0, {"q": (2,)}, name="nested")
Q = np.random.default_rng(3).normal(size=(20_000, 2))
results = run_jobs(lambda _: k(Q), 12)
print(all(np.array_equal(result, results[0]) for result in results))
"""


def test_a_job_may_itself_run_a_batch():
    assert run(NESTED) == "True\n"
