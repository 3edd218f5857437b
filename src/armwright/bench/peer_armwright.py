# SPDX-License-Identifier: Apache-2.0
"""Worker for this library: one kernel object serves single calls (new arrays, or `out` given) and batches."""

from __future__ import annotations

import numpy as np

from armwright import __version__
from armwright.bench.export_task import load_export
from armwright.bench.learning_cases import load_learning
from armwright.bench.loop_task import load_task
from armwright.bench.prepare_arms import arm
from armwright.bench.protocol import COMPARED_STATES, case, serve, setup
from armwright.dynamics.crba import crba
from armwright.dynamics.derivatives import forward_derivatives, inverse_derivatives
from armwright.dynamics.public import forward_dynamics_kernel, inverse_dynamics_kernel
from armwright.kinematics.jacobians import pose_jacobian
from armwright.robot.kernels import kernel

folder, models = setup()
robots = {name: arm(name) for name in models}


for name, data in models.items():
    robot, prefix = robots[name], "" if name == "ur5" else f"{name}/"
    Q, V, X = (data[key] for key in ("q", "qd", "x"))
    q, v, x = Q[0].copy(), V[0].copy(), X[0].copy()
    single = {
        "rnea": (inverse_dynamics_kernel(robot), (Q, V, X), (q, v, x), "tau"),
        "fd": (forward_dynamics_kernel(robot), (Q, V, X), (q, v, x), "qdd"),
    }
    if name == "ur5":
        single["mass"] = (kernel(robot, crba, regroup=True), (Q,), (q,), "M")
        single["fkj"] = (kernel(robot, pose_jacobian), (Q,), (q,), "J")
    for label, (k, arrays, one, key) in single.items():
        pick = (lambda r: r[1]) if label == "fkj" else (lambda r: r)
        whole = k(*arrays)
        buffers = tuple(np.empty_like(part) for part in whole) if isinstance(whole, tuple) else np.empty_like(whole)

        def batch(k=k, arrays=arrays, out=buffers):
            return k(*arrays, out=out)

        case(
            f"{prefix}{label}/batch",
            batch,
            data[key],
            got=pick(whole)[:COMPARED_STATES],
            items=len(Q),
            note=f"{k.counts.flops} flops",
        )
        if name != "ur5":
            continue
        case(f"{label}/single", lambda k=k, one=one: k(*one), data[key][0], got=pick(k(*one)), note=k.name)
        given = k(*one)
        args = (*one, *given) if isinstance(given, tuple) else (*one, given)
        case(f"{label}/single_out", lambda k=k, args=args: k(*args), data[key][0], got=pick(given))

robot, data = robots["ur5"], models["ur5"]
one = tuple(data[key][0].copy() for key in ("q", "qd", "x"))
for label, function, keys in (
    ("drnea", inverse_derivatives, ("dtau_dq", "dtau_dqd")),
    ("dfd", forward_derivatives, ("dqdd_dq", "dqdd_dqd")),
):
    k = kernel(robot, function, regroup=True)
    expected = np.stack([data[key] for key in keys])
    result = k(*one)
    args = (*one, *result)
    case(f"{label}/single", lambda k=k: k(*one), expected, got=np.stack(result[:2]), tolerance=1e-7)
    case(f"{label}/single_out", lambda k=k, args=args: k(*args), expected, got=np.stack(result[:2]), tolerance=1e-7)

task = load_task(folder)
if task is not None:
    from armwright.bench.loop_armwright import register

    register(task)

learning = load_learning(folder)
if learning is not None:
    from armwright.bench.learning_cases import register as register_learning

    register_learning(learning, models["ur5"])

exported = load_export(folder)
if exported is not None:
    from armwright.bench.export_cases import register as register_export

    register_export(folder, exported)

serve(__version__)
