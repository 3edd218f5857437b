# SPDX-License-Identifier: Apache-2.0
"""Kernels as PyTorch functions: numbers and gradients of the kernel, checked by PyTorch's own checker."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError

torch = pytest.importorskip("torch", reason="needs PyTorch")


def pair(x, y):
    return np.sin(x) * y[0], x[0] * y


def test_numbers_gradients_and_second_gradients():
    kernel = aw.compile(pair, shapes={"x": 3, "y": 2})
    f = aw.graph.torch_function(kernel)
    rng = np.random.default_rng(1)
    x, y = (torch.tensor(rng.uniform(-1, 1, shape), requires_grad=True) for shape in ((4, 3), (2,)))
    for a, b in zip(f(x, y), kernel(x.detach().numpy(), y.detach().numpy()), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b)
    assert torch.autograd.gradcheck(f, (x, y)) and torch.autograd.gradgradcheck(f, (x, y))


def test_an_arms_gradient_is_ours(ur5):
    kernel = aw.compile(aw.forward_dynamics, ur5)
    q, qd, tau = (torch.tensor(a) for a in np.random.default_rng(0).uniform(-1, 1, (3, 5, 6)))
    q.requires_grad_(True)
    aw.graph.torch_function(kernel)(q, qd, tau).sum().backward()
    exact = kernel.derivative("q")(q.detach().numpy(), qd.numpy(), tau.numpy()).sum(axis=1)
    np.testing.assert_allclose(q.grad.numpy(), exact, rtol=0, atol=1e-12 * np.abs(exact).max())


def test_other_types_and_shapes_are_refused_by_name():
    f = aw.graph.torch_function(aw.compile(pair, shapes={"x": 3, "y": 2}))
    x, y = torch.zeros(4, 3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for wrong, text in (((x.float(), y), "x must be .torch.float64"), ((x, x), "y must be"), ((x,), "takes x, y")):
        with pytest.raises(InputError, match=text):
            f(*wrong)
