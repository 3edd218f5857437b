# SPDX-License-Identifier: Apache-2.0
"""Worker for JAX: our kernel as a primitive of it, and the JAX source that we export, compiled by XLA."""

from __future__ import annotations

import os
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp

from armwright.bench.learning_cases import JAX_ROWS, load_learning
from armwright.bench.prepare_arms import arm
from armwright.bench.protocol import case, serve, setup
from armwright.dynamics.public import forward_dynamics_kernel
from armwright.graph.emit.jax_source import to_jax
from armwright.graph.jax_call import jax_function

jax.config.update("jax_enable_x64", True)
folder, models = setup()
if load_learning(folder) is not None:
    data = models["ur5"]
    kernel = forward_dynamics_kernel(arm("ur5"))
    arrays = [jnp.asarray(data[name][:JAX_ROWS]) for name in ("q", "qd", "x")]
    few = len(data["qdd"])
    for name, function, note in (
        ("learn/jax", jax_function(kernel), "primitive: XLA calls our machine code"),
        ("learn/jax_source", to_jax(kernel.program), "our exported source, compiled by XLA"),
    ):
        run = jax.jit(function)
        began = time.perf_counter()
        got = run(*arrays).block_until_ready()[:few]
        ready = time.perf_counter() - began
        case(
            name,
            lambda run=run: run(*arrays).block_until_ready(),
            data["qdd"][:few],
            got=got,
            items=JAX_ROWS,
            note=note,
            ready=ready,
        )
serve(jax.__version__)
