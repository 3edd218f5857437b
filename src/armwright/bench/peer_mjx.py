# SPDX-License-Identifier: Apache-2.0
"""Worker for MJX: MuJoCo's forward dynamics of many states, compiled by XLA."""

from __future__ import annotations

import os
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

from importlib.metadata import version

import jax
import jax.numpy as jnp
import mujoco
from mujoco import mjx

from armwright.bench.learning_cases import JAX_ROWS, load_learning
from armwright.bench.protocol import case, serve, setup

jax.config.update("jax_enable_x64", True)
folder, models = setup()
if load_learning(folder) is not None:
    data = models["ur5"]
    model = mjx.put_model(mujoco.MjModel.from_xml_path(str(folder / "ur5.xml")))
    blank = mjx.make_data(model)

    def forward(q, qd, tau):
        return mjx.forward(model, blank.replace(qpos=q, qvel=qd, qfrc_applied=tau)).qacc

    run = jax.jit(jax.vmap(forward))
    arrays = [jnp.asarray(data[name][:JAX_ROWS]) for name in ("q", "qd", "x")]
    began = time.perf_counter()
    got = run(*arrays).block_until_ready()[: len(data["qdd"])]
    ready = time.perf_counter() - began
    case(
        "learn/jax",
        lambda: run(*arrays).block_until_ready(),
        data["qdd"],
        got=got,
        items=JAX_ROWS,
        note="jit(vmap(mjx.forward))",
        ready=ready,
    )
serve(version("mujoco-mjx"))
