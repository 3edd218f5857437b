"""Several threads and forked processes compile, call and run batches as one thread does."""

from __future__ import annotations

import subprocess
import sys

TIMEOUT = 120  # guards against a hang, measures nothing


def run(script: str, *arguments: str) -> str:
    """Run a script in a fresh process and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    return done.stdout


FIRST_CALLS = """
import threading, time
import numpy as np
import llvmlite.binding as llvm
from armwright.graph import compile_function

make, engines = llvm.create_mcjit_compiler, []
def slowly(*arguments):  # a busy machine: every thread gets here before the first engine is there
    engines.append(1)
    time.sleep(0.05)
    return make(*arguments)
llvm.create_mcjit_compiler = slowly

def scaled(q, a):
    return np.sin(q) * (a + 0.5)

kernels = [compile_function(scaled, {"q": (3,)}, constants={"a": a}) for a in range(4)]
q, results, barrier = np.array([0.1, 0.2, 0.3]), [None] * 8, threading.Barrier(8)
def work(k):
    barrier.wait()
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
from armwright.graph import call, compile_function

connect, tables = call.connect, []
def recorded(*arguments):
    tables.append(connect(*arguments))
    return tables[-1]
call.connect = recorded
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
