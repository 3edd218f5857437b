# SPDX-License-Identifier: Apache-2.0
"""Kernels as JAX functions: the kernel's own numbers under every transformation, its derivatives, its refusals."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, NotSupportedError
from armwright.graph import jax_call, jit

ROWS = 37  # groups of every width, and a rest


def several(x, A, s):
    """Several outputs, inputs of every number of axes."""
    total = np.sum(x) * s + np.sum(A)
    return np.sin(x) * total, A @ x * s, total * total


SHAPES = {"x": (3,), "A": (2, 3), "s": ()}


@pytest.fixture(scope="module")
def made():
    return aw.compile(several, shapes=SHAPES)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    return tuple(rng.uniform(-1.0, 1.0, (ROWS, *shape)) for shape in SHAPES.values())


@pytest.fixture
def function(jax64, made):
    return aw.graph.jax_function(made)


def test_every_way_to_run_it_gives_the_kernels_own_numbers(jax64, function, made, rows):
    wanted = made(*rows)
    for way in (function, jax64.jit(function), jax64.vmap(function), jax64.jit(jax64.vmap(function))):
        for a, b in zip(way(*rows), wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    one = function(*(row[0] for row in rows))
    for a, b in zip(one, made(*(row[0] for row in rows)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_axes_broadcast_and_nested_batches_keep_their_order(jax64, function, made, rows):
    x, A, s = rows
    grid = jax64.vmap(lambda a: jax64.vmap(lambda b: function(a, A[0], b))(s[:5]))(x[:4])
    wanted = made(x[:4, None], A[0], s[None, :5])
    for a, b in zip(grid, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(function(x, A[0], s=0.5), made(x, A[0], 0.5), strict=True):
        np.testing.assert_array_equal(a, b)
    assert function(x[:0], A[0], 0.5)[1].shape == (0, 2)


@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_jacobians_are_the_kernels_derivatives(jax64, function, made, rows, mode):
    jacobians = jax64.jit(jax64.vmap(getattr(jax64, mode)(function, (0, 1, 2))))(*rows)
    found = [matrix for output in jacobians for matrix in output]
    for a, b in zip(found, made.derivative(("x", "A", "s"))(*rows), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(b).max())


def test_only_what_is_asked_for_is_derived_and_second_derivatives_exist(jax64, function, rows):
    x, A, s = (row[0] for row in rows)
    curved = jax64.hessian(lambda y: function(y, A, s)[2])(x)
    np.testing.assert_allclose(curved, 2.0 * s * s * np.ones((3, 3)), rtol=1e-12)
    mixed = jax64.jacfwd(jax64.grad(lambda y, t: function(y, A, t)[2]), 1)(x, s)
    np.testing.assert_allclose(mixed, 2.0 * (2.0 * x.sum() * s + A.sum()) * np.ones(3), rtol=1e-12)


def test_an_arm_and_a_whole_step_with_their_own_derivatives(jax64, planar2):
    rng = np.random.default_rng(0)
    loop = aw.Loop.of(planar2)
    step = aw.graph.jax_function(loop.step(), derivative=loop.derivative("x", "u"))
    x, u = rng.uniform(-1.0, 1.0, (5, 4)), rng.uniform(-9.0, 9.0, (5, 2))
    _, by_x, by_u = loop.derivative("x", "u")(x, u)
    np.testing.assert_array_equal(step(x, u), loop.step()(x, u))
    for got, exact in zip(jax64.vmap(jax64.jacrev(step, (0, 1)))(x, u), (by_x, by_u), strict=True):
        np.testing.assert_allclose(got, exact, rtol=0, atol=1e-12 * np.abs(exact).max())
    with pytest.raises(InputError, match="built from a program alone"):
        jax64.grad(lambda a: aw.graph.jax_function(loop.step())(a, u[0])[0])(x[0])
    with pytest.raises(InputError, match="must return arrays"):
        aw.graph.jax_function(loop.step(), derivative=loop.step())
    other = aw.compile(lambda x: (x[:, None] * x, x[:, None] * x[:2]), shapes={"x": 4})
    with pytest.raises(InputError, match="take what the kernel takes"):
        aw.graph.jax_function(loop.step(), derivative=other)


def test_inputs_that_are_not_finite_are_an_error_of_jax_or_pass_if_asked(jax64, function, made, rows):
    x, A, s = (np.array(row) for row in rows)
    for row in (0, ROWS - 1):
        bad = x.copy()
        bad[row, 1] = np.nan
        with pytest.raises((jax64.errors.JaxRuntimeError, ValueError), match="several: an input is not finite"):
            jax64.block_until_ready(jax64.jit(function)(bad, A, s))
    free = aw.graph.jax_function(aw.compile(several, shapes=SHAPES, check_finite=False))
    passed = np.asarray(free(bad, A, s)[0])
    assert np.isnan(passed[ROWS - 1]).all() and np.isfinite(passed[:-1]).all()
    np.testing.assert_array_equal(function(x, A, s)[0], made(x, A, s)[0])  # an error leaves nothing behind


def test_wrong_arguments_are_refused_by_name(jax64, function, rows):
    x, A, s = rows
    for wrong, text in (
        ((x[:, :2], A, s), r"several: x: expected shape \(..., 3\), got \(37, 2\)"),
        ((x.astype(np.float32), A, s), r"several: x is float32; kernels compute in float64"),
        ((x, A.astype(complex), s), r"several: A is complex128"),
        ((x, A), "several: takes x, A, s"),
        ((x[:3], A, s), "several: batch axes do not broadcast"),
    ):
        with pytest.raises(InputError, match=text):
            function(*wrong)
        with pytest.raises(InputError, match=text):
            jax64.jit(function)(*wrong)
    with pytest.raises(InputError, match="takes x, A, s"):
        function(x, A, y=s)
    jax64.config.update("jax_enable_x64", False)
    with pytest.raises(InputError, match="jax_enable_x64"):
        aw.graph.jax_function(aw.compile(several, shapes=SHAPES))
    with pytest.raises(InputError, match="jax_enable_x64"):
        function(x, A, s)


def test_another_version_of_the_interface_is_refused(jax64, monkeypatch, tmp_path):
    header = tmp_path / "xla" / "ffi" / "api" / "c_api.h"
    header.parent.mkdir(parents=True)
    monkeypatch.setattr(jax64.ffi, "include_dir", lambda: str(tmp_path))
    with pytest.raises(NotSupportedError, match="does not tell the version"):
        jax_call.interface_version()
    header.write_text("#define XLA_FFI_API_MAJOR 1\n#define XLA_FFI_API_MINOR 4\n", encoding="utf-8")
    with pytest.raises(NotSupportedError, match=r"has version 1\.4 .* known are versions 0\.x"):
        jax_call.interface_version()
    header.write_text("#define XLA_FFI_API_MAJOR 0\n#define XLA_FFI_API_MINOR 7\n", encoding="utf-8")
    assert jax_call.interface_version() == 7


def test_buffers_of_another_layout_are_refused_by_the_machine_code(jax64, function, made, rows):
    target = jax_call.target_name(made)
    results = [jax64.ShapeDtypeStruct((ROWS, *s.shape), np.float64) for s in made.program.outputs]
    call = jax64.ffi.ffi_call(target, results, vmap_method="sequential")
    x, A, s = rows
    for wrong in ((x.astype(np.float32), A, s), (x[:, :2], A, s), (x[:-1], A, s), (x, A)):
        with pytest.raises((jax64.errors.JaxRuntimeError, ValueError), match="buffers must be float64"):
            jax64.block_until_ready(call(*wrong))


def test_without_machine_code_it_says_what_there_is_instead(jax64, made, monkeypatch):
    monkeypatch.setattr(jax_call, "backend", lambda: "numpy")
    other = aw.compile(lambda x: 3.0 * x, shapes={"x": 2}, name="unregistered")
    with pytest.raises(NotSupportedError, match=r"kernel\.source\('jax'\)"):
        aw.graph.jax_function(other)
    assert jit.host().width > 1
