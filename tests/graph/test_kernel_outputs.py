# SPDX-License-Identifier: Apache-2.0
"""Results written into arrays of the caller's, however these overlap the inputs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.graph import kernel as kernel_module


def mixed(q, qd):
    """Every output element needs every input element, so that any order of writing shows."""
    total = np.sum(q * qd)
    return np.sin(q) + total, q[::-1] * 2.0 - qd + total


def product(q, qd):
    return mixed(q, qd)[0]


@pytest.fixture(params=["llvm", "numpy"])
def kernels(request, monkeypatch):
    monkeypatch.setenv("ARMWRIGHT_BACKEND", request.param)
    monkeypatch.setattr(kernel_module, "_warned", True)
    return [compile_function(f, {"q": (3,), "qd": (3,)}, name=f.__name__) for f in (product, mixed)]


def test_an_output_may_overlap_the_inputs_in_any_way(kernels):
    one, _ = kernels
    rng = np.random.default_rng(1)
    for rows in (0, 1, 2, 5, 8, 64, 203):  # 0: a single call
        shape = (rows, 3) if rows else (3,)
        size = int(np.prod(shape))
        for shift in (0, 1, 2, 3, 7, 24, size // 2, size - 1):  # 0: the very same array
            for call in (lambda q, qd, out: one(q, qd, out), lambda q, qd, out: one(q, qd, out=out)):
                memory, qd = rng.normal(size=2 * size + 64), rng.normal(size=shape)
                for q_at, out_at in ((0, shift), (shift, 0)):
                    block = memory.copy()
                    q = block[q_at : q_at + size].reshape(shape)
                    out = block[out_at : out_at + size].reshape(shape)
                    expected = one(q.copy(), qd)
                    assert call(q, qd, out) is out
                    np.testing.assert_array_equal(out, expected)


def test_in_place_and_backwards_are_defined(kernels):
    one, both = kernels
    rng = np.random.default_rng(2)
    for shape in ((3,), (1, 3), (100, 3)):
        q, qd = rng.normal(size=(2, *shape))
        expected = both(q.copy(), qd.copy())
        swapped = q.copy(), qd.copy()
        both(*swapped, out=swapped[::-1])
        np.testing.assert_array_equal(swapped[1], expected[0])
        np.testing.assert_array_equal(swapped[0], expected[1])
        once = q.copy()
        one(once, once, once[..., ::-1])
        np.testing.assert_array_equal(once[..., ::-1], one(q, q))


def test_inputs_that_are_refused_are_left_as_they_were(kernels):
    step = compile_function(lambda q: np.where(q > 0.0, 1.0, 2.0 * q), {"q": (3,)}, name="step")
    for shape in ((3,), (40, 3)):
        q = np.full(shape, -1.0)
        q[..., 0] = np.inf  # the result would be finite: written first, it would hide what was wrong
        for call in (lambda q: step(q, q), lambda q: step(q, out=q), lambda q: step(q, out=q[...])):
            given = q.copy()
            with pytest.raises(InputError, match="inf"):
                call(given)
            np.testing.assert_array_equal(given, q)


def test_outputs_must_not_share_memory_with_one_another_or_themselves(kernels):
    one, both = kernels
    for shape in ((3,), (50, 3)):
        q, qd = np.random.default_rng(3).normal(size=(2, *shape))
        memory = np.zeros(2 * q.size)
        first = memory[: q.size].reshape(shape)
        for start in (0, 1, q.size - 1):
            second = memory[start : start + q.size].reshape(shape)
            for call in (lambda a, b, q=q, qd=qd: both(q, qd, a, b), lambda a, b, q=q, qd=qd: both(q, qd, out=(a, b))):
                with pytest.raises(InputError, match=r"mixed_0.*mixed_1.*share memory"):
                    call(first, second)
        assert not memory.any()
        both(q, qd, first, memory[q.size :].reshape(shape))  # side by side they may lie,
        np.testing.assert_array_equal(memory.reshape(2, *shape), both(q, qd))
        woven = np.zeros((*shape, 2))
        both(q, qd, out=(woven[..., 0], woven[..., 1]))  # and between one another
        np.testing.assert_array_equal(np.moveaxis(woven, -1, 0), both(q, qd))
    for strides in ((0, 8), (8, 8), (16, 8)):
        with pytest.raises(InputError, match="elements of out"):
            one(np.ones((5, 3)), np.ones((5, 3)), out=as_strided(np.zeros(30), (5, 3), strides))
