# SPDX-License-Identifier: Apache-2.0
"""Kernels as PyTorch functions on the processor: tensors share their memory with our arrays, gradients are ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from armwright.errors import InputError
from armwright.graph.kernel import Kernel
from armwright.packages import need

Tensor: TypeAlias = Any  # torch.Tensor, or what it keeps for the way back


def torch_function(kernel: Kernel) -> Callable[..., Tensor]:
    """Return a kernel as a function of float64 tensors (..., *shape) with gradients of any order that kernels have.

    Leading batch axes broadcast. Tensors on other devices or of other types are refused.
    >>> f = torch_function(aw.compile(aw.forward_dynamics, robot))
    >>> f(q, qd, tau).sum().backward()
    """
    torch = need("torch", "torch", "torch_function")
    inputs, outputs = kernel.program.inputs, kernel.program.outputs
    derived = cache(lambda names: torch_function(kernel.derivative(names)))

    class Function(torch.autograd.Function):  # type: ignore[name-defined, misc]  # torch is found at run time
        @staticmethod
        def forward(ctx: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
            ctx.save_for_backward(*tensors)
            found = kernel(*(tensor.detach().numpy() for tensor in tensors))
            return tuple(torch.from_numpy(result) for result in ((found,) if kernel.program.single else found))

        @staticmethod
        def backward(ctx: Tensor, *changes: Tensor) -> tuple[Tensor | None, ...]:
            moving = [k for k, needed in enumerate(ctx.needs_input_grad) if needed]
            found = derived(tuple(inputs[k].name for k in moving))(*ctx.saved_tensors)
            matrices: Any = (found,) if len(outputs) * len(moving) == 1 else found
            gradients: list[Any] = [None] * len(inputs)
            for place, k in enumerate(moving):
                for s, change, matrix in zip(outputs, changes, matrices[place :: len(moving)], strict=True):
                    flat = matrix.reshape(*change.shape[: change.ndim - len(s.shape)], s.size, inputs[k].size)
                    part = (change.reshape(*flat.shape[:-2], 1, s.size) @ flat).reshape(ctx.saved_tensors[k].shape)
                    gradients[k] = part if gradients[k] is None else gradients[k] + part
            return tuple(gradients)

    def function(*tensors: Tensor) -> Tensor:
        if len(tensors) != len(inputs):
            raise InputError(f"{kernel.name}: takes {', '.join(s.name for s in inputs)}, got {len(tensors)} tensors")
        pairs = list(zip(inputs, tensors, strict=True))
        for s, t in pairs:
            given = t.dtype, tuple(t.shape[max(0, t.ndim - len(s.shape)) :]), t.device.type
            if given != (wanted := (torch.float64, s.shape, "cpu")):
                raise InputError(f"{kernel.name}: {s.name} must be {wanted} (after batch axes), got {given}")
        batch = torch.broadcast_shapes(*(t.shape[: t.ndim - len(s.shape)] for s, t in pairs))
        results = Function.apply(*(t.expand(batch + s.shape) for s, t in pairs))
        return results[0] if kernel.program.single else results

    return function
