# SPDX-License-Identifier: Apache-2.0
"""Kernels behave like the NumPy function they were traced from, on every kind of input and on every path."""

from __future__ import annotations

import gc
import os
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armwright.errors import InputError, TraceError
from armwright.graph import compile_function, set_threads
from armwright.graph import kernel as kernel_module


def reach(q, qd):
    """A little of everything: trigonometry, products, selection, several outputs."""
    s, c = np.sin(q), np.cos(q)
    return np.where(qd > 0.0, s * qd, c - qd), np.outer(s, c) + 1.0, np.sum(q * qd)


def reference(Q, QD):
    rows = [reach(q, qd) for q, qd in zip(Q.reshape(-1, 3), QD.reshape(-1, 3), strict=True)]
    return [np.array([np.asarray(row[k], dtype=float) for row in rows]) for k in range(3)]


@pytest.fixture(scope="module")
def k():
    return compile_function(reach, {"q": (3,), "qd": (3,)})


@pytest.fixture
def states():
    rng = np.random.default_rng(1)
    return rng.normal(size=(1003, 3)) * 4.0, rng.normal(size=(1003, 3))


def test_every_path_gives_the_numbers_of_the_source(k, states):
    Q, QD = states
    expected = reference(Q, QD)
    for rows in (1, 2, 5, 8, 1003):  # tails, exact groups, single rows in a batch
        for got, want in zip(k(Q[:rows], QD[:rows]), expected, strict=True):
            np.testing.assert_allclose(got, want[:rows], rtol=0, atol=4e-15)
    for got, want in zip(k(Q[7], QD[7]), expected, strict=True):  # one configuration: the vectorcall entry
        np.testing.assert_array_equal(got, k(Q, QD)[[3, 9, 1].index(want[7].size)][7])
    strided = np.zeros((1003, 6))
    strided[:, ::2] = Q
    np.testing.assert_array_equal(k(strided[:, ::2], QD)[0], k(Q, QD)[0])
    np.testing.assert_array_equal(k(Q.reshape(17, 59, 3), QD.reshape(17, 59, 3))[1].reshape(-1, 3, 3), k(Q, QD)[1])


def test_batch_axes_broadcast_in_blocks(k, states):
    Q, QD = states
    many = np.tile(Q, (10, 1))
    np.testing.assert_array_equal(k(many, QD[0])[0], k(many, np.broadcast_to(QD[0], many.shape))[0])
    np.testing.assert_array_equal(k(Q[:6, None], QD[None, :4])[2], [[k(q, qd)[2] for qd in QD[:4]] for q in Q[:6]])


@pytest.mark.parametrize(
    ("convert", "exact"),
    [
        (list, True),
        (lambda a: a.astype(np.float32), False),
        (lambda a: a.astype(np.int64), False),
        (np.asfortranarray, True),
        (lambda a: a.astype(">f8"), True),
        (lambda a: a.view(np.matrix) if a.ndim == 2 else a, True),
    ],
)
def test_anything_that_is_numbers_is_accepted(k, states, convert, exact):
    Q, QD = states[0][:4], states[1][:4]
    converted = convert(Q)
    np.testing.assert_array_equal(k(converted, QD)[0], k(np.asarray(converted, dtype=np.float64), QD)[0])
    if exact:
        np.testing.assert_array_equal(k(converted, QD)[0], k(Q, QD)[0])


def test_read_only_inputs_and_empty_batches_are_fine(k, states):
    q = states[0][0].copy()
    q.flags.writeable = False
    assert k(q, q)[0].shape == (3,)
    assert [a.shape for a in k(np.empty((0, 3)), np.empty((0, 3)))] == [(0, 3), (0, 3, 3), (0,)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0, 2.0], [1.0, 2.0, 3.0]), ["q", "(..., 3)", "(2,)"]),
        (([1.0, np.nan, 3.0], [1.0, 2.0, 3.0]), ["q[1]", "nan", "finite"]),
        ((np.ones(3), np.array([1.0, 2.0, np.inf])), ["qd[2]", "inf"]),
        ((np.ones((5, 3)), np.full((5, 3), -np.inf)), ["qd[0, 0]", "-inf"]),
        ((np.ones(3) * 1j, np.ones(3)), ["q", "complex128"]),
        ((["a", "b", "c"], np.ones(3)), ["q", "real numbers"]),
        (([[1.0], [2.0, 3.0]], np.ones(3)), ["q"]),
        ((None, np.ones(3)), ["q"]),
        ((np.ones((4, 3)), np.ones((5, 3))), ["broadcast", "(4, 3)", "(5, 3)"]),
        ((np.ones(3),), ["missing qd"]),
        ((np.ones(3),) * 9, ["takes 2 arrays"]),
    ],
)
def test_bad_input_says_what_where_and_what_would_be_valid(k, arguments, words):
    with pytest.raises(InputError) as error:
        k(*arguments)
    assert all(word in str(error.value) for word in ["reach", *words]), str(error.value)


def test_a_single_nan_anywhere_in_a_large_batch_is_found(k, states):
    Q, QD = states
    for row, column in ((0, 0), (511, 2), (1002, 1)):
        bad = Q.copy()
        bad[row, column] = np.nan
        with pytest.raises(InputError, match=rf"q\[{row}, {column}\]"):
            k(bad, QD)
    unchecked = compile_function(reach, {"q": (3,), "qd": (3,)}, check_finite=False)
    assert np.isnan(unchecked(bad, QD)[0][1002]).any()


def test_results_can_be_written_in_place(k, states):
    q, qd = states[0][0].copy(), states[1][0].copy()
    out = np.empty(3), np.empty((3, 3)), np.empty(())
    for call in (lambda: k(q, qd, *out), lambda: k(q, qd, out=out), lambda: k(qd=qd, q=q, out=out)):
        for array in out:
            array[...] = np.nan
        assert all(a is b for a, b in zip(call(), out, strict=True))
        np.testing.assert_array_equal(out[0], k(q, qd)[0])
    wide = np.zeros((1003, 6))
    one = compile_function(lambda q: np.sin(q), {"q": (3,)}, name="sines")
    one(states[0], out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], one(states[0]))
    frozen = np.empty(3)
    frozen.flags.writeable = False
    for bad in (frozen, np.empty(4), np.empty(3, dtype=np.float32), [0.0, 0.0, 0.0]):
        with pytest.raises(InputError, match="sines: out"):
            one(q, out=bad)
    q_copy = q.copy()
    one(q_copy, out=q_copy)  # input and output may be the same array
    np.testing.assert_array_equal(q_copy, one(q))


def test_derivatives_are_exact(k, states):
    q, qd = states[0][0], states[1][0]
    step = 1e-6
    d = k.derivative(("q", "qd"))(q, qd)
    assert [a.shape for a in d] == [(3, 3), (3, 3), (3, 3, 3), (3, 3, 3), (3,), (3,)]
    for j in range(3):
        e = step * np.eye(3)[j]
        for output in range(3):
            numeric = (k(q + e, qd)[output] - k(q - e, qd)[output]) / (2 * step)
            np.testing.assert_allclose(d[2 * output][..., j], numeric, atol=1e-8)
    with pytest.raises(InputError, match="no input named 'tau'"):
        k.derivative("tau")


def test_threads_and_the_numpy_tape_agree_with_one_thread(k, states, monkeypatch):
    Q, QD = np.tile(states[0], (20, 1)), np.tile(states[1], (20, 1))
    try:
        set_threads(1)
        one = k(Q, QD)
        set_threads(3)
        for a, b in zip(one, k(Q, QD), strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(InputError, match="at least 1"):
            set_threads(0)
        with pytest.raises(InputError, match="whole number"):
            set_threads(2.0)
    finally:
        set_threads(max(1, os.cpu_count() or 1))
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    monkeypatch.setattr(kernel_module, "_warned", False)
    slow = compile_function(reach, {"q": (3,), "qd": (3,)})
    with pytest.warns(UserWarning, match="NumPy tape"):
        for a, b in zip(slow(Q, QD), one, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=4e-15)
    with pytest.raises(InputError, match=r"q\[0\]"):
        slow([np.nan, 0, 0], QD[0])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e8, 1e8), min_size=3, max_size=3))
def test_sine_and_cosine_are_good_to_two_ulps(angles):
    k = compile_function(lambda q: (np.sin(q), np.cos(q)), {"q": (3,)}, name="sincos")
    q = np.array(angles)
    for rows in (q, np.tile(q, (9, 1))):
        s, c = k(rows)
        assert np.all(np.abs(s - np.sin(rows)) <= 2 * np.spacing(np.abs(np.sin(rows))) + 1e-24)
        assert np.all(np.abs(c - np.cos(rows)) <= 2 * np.spacing(np.abs(np.cos(rows))) + 1e-24)


def test_functions_that_cannot_be_traced_say_why():
    def branches(q):
        return q if q[0] > 0 else -q

    def leaves_numpy(q):
        return float(q[0])

    def writes_into_floats(q):
        out = np.zeros(3)
        out[0] = q[0]
        return out

    for function, words in (
        (branches, "np.where"),
        (leaves_numpy, "symbolic"),
        (writes_into_floats, "symbolic"),
        (lambda q: np.linalg.inv(np.outer(q, q)), "linear"),
        (lambda q: None, "ret"),
        (lambda q: (), "empty tuple"),
    ):
        with pytest.raises(TraceError, match=words):
            compile_function(function, {"q": (3,)})


def test_kernels_are_collected_and_calls_leave_nothing_behind(k, states):
    import tracemalloc

    q, qd = states[0][0].copy(), states[1][0].copy()
    bad = np.full(3, np.nan)

    def use(times):
        for _ in range(times):
            k(q, qd)
        for _ in range(times // 100):
            k(list(q), qd)
            with pytest.raises(InputError):
                k(bad, qd)

    use(1000)
    gc.collect()
    before = sys.getrefcount(q), sys.getrefcount(None)
    tracemalloc.start()
    use(20_000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert sys.getrefcount(q) == before[0]
    assert grown < 100_000
    count = sum(isinstance(o, kernel_module.Kernel) for o in gc.get_objects())
    for _ in range(3):
        compile_function(reach, {"q": (3,), "qd": (3,)})(q, qd)
    gc.collect()
    assert sum(isinstance(o, kernel_module.Kernel) for o in gc.get_objects()) == count


def test_several_threads_may_compile_and_call_at_once(states):
    kernels = [
        compile_function(lambda q, a=a: np.sin(q) * (a + 0.25), {"q": (3,)}, constants={"a": a}, name="race")
        for a in range(4)
    ]
    wrong = []

    def work(index):
        for _ in range(200):
            if not np.allclose(kernels[index](states[0][0]), np.sin(states[0][0]) * (index + 0.25)):
                wrong.append(index)

    workers = [threading.Thread(target=work, args=(i % 4,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_interrupting_a_compilation_leaves_the_kernel_usable(monkeypatch):
    from armwright.graph import jit

    k = compile_function(lambda q: np.sin(q) + 18.0625, {"q": (2,)}, name="interrupted")
    compile_object = jit.compile_object

    def interrupted(ir):
        raise KeyboardInterrupt

    monkeypatch.setattr(jit, "compile_object", interrupted)
    monkeypatch.setattr(kernel_module.cache, "load", lambda key: None)
    with pytest.raises(KeyboardInterrupt):
        k([0.0, 0.0])
    monkeypatch.setattr(jit, "compile_object", compile_object)
    np.testing.assert_allclose(k([0.0, 0.0]), 18.0625)
