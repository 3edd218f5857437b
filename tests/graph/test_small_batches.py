# SPDX-License-Identifier: Apache-2.0
"""Small batches enter machine code directly: the same numbers, refusals and arrays as on the general path."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.graph import compile_function, jit
from armwright.graph import kernel as kernel_module
from armwright.graph.fast_call import SMALL_ROWS, layout_is_known


def several(q, A, s):
    """Inputs and outputs of every number of axes; every output needs every input."""
    total = np.sum(q) * s + np.sum(A)
    return np.sin(q) + total, A @ q * total, total


SHAPES = {"q": (3,), "A": (2, 3), "s": ()}


@pytest.fixture
def made(monkeypatch):
    """A kernel, and the list of calls that did not stay in machine code."""
    if kernel_module.backend() != "llvm" or not layout_is_known():
        pytest.skip("calls of this interpreter always take the general path")
    slow = []
    general = kernel_module.Kernel.general_call

    def counted(self, *args, **kwargs):
        slow.append(args)
        return general(self, *args, **kwargs)

    monkeypatch.setattr(kernel_module.Kernel, "general_call", counted)
    kernel = compile_function(several, SHAPES)
    batch = arrays(jit.host().width)
    kernel(*batch)  # compiles the one-row and the batch kernel
    assert len(slow) == 1
    slow.clear()
    return kernel, slow


def arrays(rows: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rows, *shape)) for shape in SHAPES.values()]


def test_every_number_of_rows_gives_the_numbers_of_the_general_path(made):
    kernel, slow = made
    width = jit.host().width
    for rows in (*range(1, 4 * width + 2), SMALL_ROWS):
        given = arrays(rows, rows)
        quick = kernel(*given)
        assert not slow, rows
        for got, want in zip(quick, kernel.general_call(*given), strict=True):
            assert got.flags.owndata and got.flags.c_contiguous and got.flags.writeable
            np.testing.assert_array_equal(got, want, strict=True)
        slow.clear()


def test_results_go_into_the_arrays_of_the_caller(made):
    kernel, slow = made
    for rows in (1, 5, 8, 21):
        given = arrays(rows, rows)
        out = np.full((rows, 3), np.nan), np.full((rows, 2), np.nan), np.full(rows, np.nan)
        answer = kernel(*given, *out)
        assert not slow and all(a is b for a, b in zip(answer, out, strict=True))
        for got, want in zip(out, kernel.general_call(*given), strict=True):
            np.testing.assert_array_equal(got, want)
        slow.clear()


@pytest.mark.parametrize(
    "change",
    [
        lambda q, A, s: (q[0], A, s),  # broadcasts
        lambda q, A, s: (q, A[:1], s),
        lambda q, A, s: (q, A, s[0]),
        lambda q, A, s: (q[:, None], A[:, None], s[:, None]),  # two batch axes
        lambda q, A, s: (q.tolist(), A, s),
        lambda q, A, s: (q.astype(np.float32), A, s),
        lambda q, A, s: (np.repeat(q, 2, axis=1)[:, ::2], A, s),
        lambda q, A, s: (q, np.asfortranarray(A), s),
        lambda q, A, s: (q.view(np.matrix), A, s),
        lambda q, A, s: (q.astype(">f8"), A, s),
        lambda q, A, s: tuple(np.tile(a, (SMALL_ROWS, *[1] * (a.ndim - 1))) for a in (q, A, s)),
        lambda q, A, s: (q[:0], A[:0], s[:0]),
    ],
)
def test_other_arrays_take_the_general_path(made, change):
    kernel, slow = made
    given = change(*arrays(8))
    answer = kernel(*given)
    assert len(slow) == 1
    wide = [np.asarray(a, dtype=np.float64) for a in given]
    batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(wide, SHAPES.values(), strict=True)))
    assert [a.shape for a in answer] == [(*batch, 3), (*batch, 2), batch]
    rows = [np.ascontiguousarray(np.broadcast_to(a, batch + s)) for a, s in zip(wide, SHAPES.values(), strict=True)]
    for index in list(np.ndindex(*batch))[:8]:
        for got, want in zip(answer, kernel(*(a[index] for a in rows)), strict=True):
            np.testing.assert_allclose(got[index], want, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, A, s: (q, A, s[:4]), ["broadcast", "(8, 3)", "(4,)"]),
        (lambda q, A, s: (q[:, :2], A, s), ["q", "(8, 2)"]),
        (lambda q, A, s: (np.ma.masked_less(q, 0.0), A, s), ["q", "mask"]),
        (lambda q, A, s: (q * 1j, A, s), ["q", "complex"]),
        (lambda q, A, s: (np.where(np.arange(24).reshape(8, 3) == 20, np.nan, q), A, s), ["q[6, 2]", "nan"]),
        (lambda q, A, s: tuple(np.append(a, np.full_like(a[:1], np.inf), axis=0) for a in (q, A, s)), ["q[8, 0]"]),
    ],
)
def test_refusals_say_what_they_say_on_the_general_path(made, change, words):
    kernel, slow = made
    with pytest.raises(InputError) as error:
        kernel(*change(*arrays(8)))
    assert len(slow) == 1 and all(word in str(error.value) for word in words), str(error.value)


def test_outputs_that_overlap_inputs_or_do_not_fit_take_the_general_path(made):
    kernel, slow = made
    q, A, s = arrays(8)
    memory = np.zeros(8 * 3 + 7)
    memory[:24] = q.ravel()
    out = memory[7:].reshape(8, 3), np.empty((8, 2)), np.empty(8)  # overlaps the rows of q beyond the third
    want = kernel.general_call(q, A, s)
    slow.clear()
    kernel(memory[:24].reshape(8, 3), A, s, *out)
    assert len(slow) == 1
    np.testing.assert_array_equal(out[0], want[0])
    for wrong in ((np.empty((7, 3)), np.empty((8, 2)), np.empty(8)), (np.empty(3), np.empty(2), np.empty(()))):
        with pytest.raises(InputError, match=r"out for several_0 must be .* \(8, 3\)|out for"):
            kernel(q, A, s, *wrong)


def test_the_first_batch_of_a_kernel_that_was_only_called_with_single_rows(made, monkeypatch):
    _, slow = made
    fresh = compile_function(several, SHAPES, name="fresh")
    fresh(*(a[0] for a in arrays(1)))
    slow.clear()
    first, second = fresh(*arrays(9)), fresh(*arrays(9))
    assert len(slow) == 1  # the first one compiled the batch kernel
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_reference_is_lost_or_kept(made):
    kernel, slow = made
    given, out = arrays(9), (np.empty((9, 3)), np.empty((9, 2)), np.empty(9))
    bad = [a.copy() for a in given]
    bad[0][8, 1] = np.nan
    counted = [*given, *bad, *out]

    def use(rounds: int) -> None:
        for _ in range(rounds):
            kernel(*given)
            kernel(*given, *out)
            with pytest.raises(InputError):
                kernel(*bad)
            slow.clear()
        gc.collect()

    use(100)
    before, blocks = [sys.getrefcount(a) for a in counted], sys.getallocatedblocks()
    use(1000)
    assert [sys.getrefcount(a) for a in counted] == before
    assert sys.getallocatedblocks() - blocks < 500  # an array lost in every round would leave 1,000 and more


def test_a_large_program_has_shorter_small_batches(made):
    _, slow = made

    def heavy(x):
        for _ in range(1500):
            x = x * 1.0000001 + 0.1 * x * x[::-1]
        return x

    kernel = compile_function(heavy, {"x": (2,)})
    most = (1 << 20) // kernel.counts.flops
    x = np.full((most + 1, 2), 1e-9)
    kernel(x)
    slow.clear()
    kernel(x[:most])
    assert not slow
    kernel(x)
    assert len(slow) == 1
