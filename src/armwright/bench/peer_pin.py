# SPDX-License-Identifier: Apache-2.0
"""Worker for Pinocchio: single calls as a user writes them; batches by its own parallel functions, on one thread."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from armwright.bench.learning_cases import SMALL_BATCHES, load_learning
from armwright.bench.loop_task import CHECKED_TICKS, load_task, python_loop
from armwright.bench.protocol import COMPARED_STATES, case, serve, setup

folder, models = setup()
LOOP = 200  # configurations of a batch that Pinocchio has no batch function for; times are per configuration

for name, data in models.items():
    model = pin.buildModelFromUrdf(str(folder / f"{name}.urdf"))
    n = model.nv
    Q, V, X = (np.asfortranarray(data[key].T) for key in ("q", "qd", "x"))
    pool, out = pin.ModelPool(model, 1), np.zeros((n, Q.shape[1]), order="F")
    prefix = "" if name == "ur5" else f"{name}/"
    for label, function, key in (("rnea", pin.rneaInParallel, "tau"), ("fd", pin.abaInParallel, "qdd")):

        def batch(function=function, pool=pool, arrays=(Q, V, X), out=out):
            function(1, pool, *arrays, out)
            return out.T[:COMPARED_STATES].copy() if batch.first else None

        batch.first = True
        case(f"{prefix}{label}/batch", batch, data[key], items=Q.shape[1], note=function.__name__)
        batch.first = False

data = models["ur5"]
m = pin.buildModelFromUrdf(str(folder / "ur5.urdf"))
d = m.createData()
q, v, x = (data[key][0].copy() for key in ("q", "qd", "x"))
rnea, aba, crba = pin.rnea, pin.aba, pin.crba
case("rnea/single", lambda: rnea(m, d, q, v, x), data["tau"][0])
case("fd/single", lambda: aba(m, d, q, v, x), data["qdd"][0], note="ABA")
case("mass/single", lambda: crba(m, d, q), data["M"][0])

jacobians, frame_jacobian, world = pin.computeJointJacobians, pin.getFrameJacobian, pin.LOCAL_WORLD_ALIGNED
pin.computeJointJacobians(m, d, q)
pin.updateFramePlacements(m, d)
errors = [np.abs(frame_jacobian(m, d, k, world) - data["J"][0]).max() for k in range(m.nframes)]
tool = int(np.argmin(errors))


def fkj(q=q):
    jacobians(m, d, q)
    return frame_jacobian(m, d, tool, world)


case("fkj/single", fkj, data["J"][0], note="computeJointJacobians + getFrameJacobian")
rows = [data["q"][k].copy() for k in range(LOOP)]


def many_mass():
    for row in rows:
        crba(m, d, row)


def many_fkj():
    for row in rows:
        fkj(row)


case("mass/batch", many_mass, data["M"][0], got=crba(m, d, q), items=LOOP, note="Python loop")
case("fkj/batch", many_fkj, data["J"][0], got=fkj(), items=LOOP, note="Python loop")


def derivatives(function):
    result = function(m, d, q, v, x)
    return np.stack([result[0], result[1]])


for label, function, keys in (
    ("drnea", pin.computeRNEADerivatives, ("dtau_dq", "dtau_dqd")),
    ("dfd", pin.computeABADerivatives, ("dqdd_dq", "dqdd_dqd")),
):
    expected = np.stack([data[key] for key in keys])
    case(
        f"{label}/single",
        lambda function=function: function(m, d, q, v, x),
        expected,
        got=derivatives(function),
        tolerance=1e-7,
        note="analytic",
    )

task = load_task(folder)
if task is not None:

    def loop(*ticks):
        return python_loop(lambda q, v, a: rnea(m, d, q, v, a), lambda q, v, x: aba(m, d, q, v, x), task, *ticks)

    case("loop/computed_torque", loop, task["state"], got=loop(CHECKED_TICKS), note="rnea and aba in a Python loop")

if load_learning(folder) is not None:
    for size in SMALL_BATCHES:
        arrays = [np.asfortranarray(data[key][:size].T) for key in ("q", "qd", "x")]
        pool, out = pin.ModelPool(m, 1), np.zeros((m.nv, size), order="F")

        def few(arrays=arrays, pool=pool, out=out):
            pin.abaInParallel(1, pool, *arrays, out)

        few()
        case(f"learn/fd_{size}", few, data["qdd"][:size], got=out.T.copy(), note="abaInParallel")

serve(pin.__version__)
