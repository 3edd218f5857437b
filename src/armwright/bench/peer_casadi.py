# SPDX-License-Identifier: Apache-2.0
"""Worker for CasADi: spatial RNEA, CRBA and ABA as a user would write them, compiled with gcc where there is one.

Single calls go through FunctionBuffer (buffers preset), the quickest way CasADi has from Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import casadi as cs
import numpy as np

from armwright.bench.compiled_rows import ROWS_NOTE, CompiledRows
from armwright.bench.export_task import COMPARED_TICKS, GIVEN, OBSERVER_GAIN, load_export
from armwright.bench.loop_task import KD, KP, PERIOD
from armwright.bench.protocol import COMPARED_STATES, case, leave_out, serve, setup

folder, models = setup()
data = models["ur5"]
n = data["q"].shape[1]
R0, p0, offset, mass, first, second = (data[key] for key in ("R0", "p0", "offset", "m", "h", "I"))


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


inertia = [
    cs.sparsify(cs.DM(np.block([[second[i], skew(first[i])], [skew(first[i]).T, mass[i] * np.eye(3)]])))
    for i in range(n)
]
S = cs.sparsify(cs.DM([0, 0, 1, 0, 0, 0]))
q, qd, x = (cs.SX.sym(name, n) for name in ("q", "qd", "x"))


def rotation(i):
    c, s, zero = cs.cos(q[i] + offset[i]), cs.sin(q[i] + offset[i]), cs.SX(1, 1)
    Rz = cs.vertcat(cs.horzcat(c, -s, zero), cs.horzcat(s, c, zero), cs.horzcat(zero, zero, cs.SX(1)))
    return cs.sparsify(cs.DM(np.where(np.abs(R0[i]) < 1e-15, 0.0, R0[i]))) @ Rz


def transform(i):
    """Return the motion transform from the parent to body i, angular part first."""
    E = rotation(i).T
    return cs.vertcat(cs.horzcat(E, cs.SX(3, 3)), cs.horzcat(-E @ cs.sparsify(cs.DM(skew(p0[i]))), E))


def cross_motion(v):
    w, u = cs.skew(v[:3]), cs.skew(v[3:])
    return cs.vertcat(cs.horzcat(w, cs.SX(3, 3)), cs.horzcat(u, w))


X = [transform(i) for i in range(n)]
start = cs.sparsify(cs.DM(np.concatenate([np.zeros(3), -data["gravity"]])))


def rnea(acceleration, speed=qd, root=start):
    v, a, forces = cs.SX(6, 1), root, []
    for i in range(n):
        v = X[i] @ v + S * speed[i]
        a = X[i] @ a + S * acceleration[i] + cross_motion(v) @ (S * speed[i])
        forces.append(inertia[i] @ a - cross_motion(v).T @ (inertia[i] @ v))
    tau = [None] * n
    for i in reversed(range(n)):
        tau[i] = forces[i][2]
        if i:
            forces[i - 1] = forces[i - 1] + X[i].T @ forces[i]
    return cs.vertcat(*tau)


def crba():
    M, composite = cs.SX(n, n), list(inertia)
    for i in reversed(range(n)):
        if i:
            composite[i - 1] = composite[i - 1] + X[i].T @ composite[i] @ X[i]
        force = composite[i] @ S
        M[i, i] = force[2]
        for j in reversed(range(i)):
            force = X[j + 1].T @ force
            M[i, j] = M[j, i] = force[2]
    return cs.densify(M)


def aba(tau):
    v, velocities, c, bias = cs.SX(6, 1), [], [], []
    for i in range(n):
        v = X[i] @ v + S * qd[i]
        velocities.append(v)
        c.append(cross_motion(v) @ (S * qd[i]))
        bias.append(-cross_motion(v).T @ (inertia[i] @ v))
    IA, U, D, u = list(inertia), [None] * n, [None] * n, [None] * n
    for i in reversed(range(n)):
        U[i] = IA[i] @ S
        D[i], u[i] = U[i][2], tau[i] - bias[i][2]
        if i:
            rest = IA[i] - U[i] @ U[i].T / D[i]
            push = bias[i] + rest @ c[i] + U[i] * (u[i] / D[i])
            IA[i - 1] = IA[i - 1] + X[i].T @ rest @ X[i]
            bias[i - 1] = bias[i - 1] + X[i].T @ push
    a, qdd = start, []
    for i in range(n):
        a = X[i] @ a + c[i]
        qdd.append((u[i] - cs.dot(U[i], a)) / D[i])
        a = a + S * qdd[i]
    return cs.vertcat(*qdd)


def fkj():
    T = cs.SX(cs.DM(data["T_base_root"]))
    origins, axes = [], []
    for i in range(n):
        step = cs.vertcat(cs.horzcat(rotation(i), cs.DM(p0[i])), cs.DM([[0, 0, 0, 1]]))
        T = T @ step
        origins.append(T[:3, 3])
        axes.append(T[:3, 2])
    T = T @ cs.DM(data["T_tip_tool"])
    columns = [cs.vertcat(cs.cross(z, T[:3, 3] - p), z) for p, z in zip(origins, axes, strict=True)]
    return cs.densify(cs.horzcat(*columns)), cs.densify(T)


flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
compiler = shutil.which("gcc")


def build(function):
    if compiler is None:
        return function
    generator, here = cs.CodeGenerator(f"{function.name()}.c"), os.getcwd()
    generator.add(function)
    os.chdir(folder)
    try:
        generator.generate()
        subprocess.run([compiler, *flags, f"{function.name()}.c", "-o", f"{function.name()}.so", "-lm"], check=True)
    finally:
        os.chdir(here)
    return cs.external(function.name(), str(folder / f"{function.name()}.so"))


keep = []


def buffered(function, arrays, shapes):
    outs = [np.zeros(shape) for shape in shapes]
    buffer, evaluate = function.buffer()
    for k, array in enumerate(arrays):
        buffer.set_arg(k, memoryview(array))
    for k, out in enumerate(outs):
        buffer.set_res(k, memoryview(out))
    keep.append((buffer, function, arrays, outs))
    evaluate()
    return evaluate, outs[0]


tangents = [cs.jacobian(rnea(x), symbol) for symbol in (q, qd)]
accelerations = [cs.jacobian(aba(x), symbol) for symbol in (q, qd)]
note = "gcc " + " ".join(flags[:3]) if compiler else "CasADi's interpreter (no gcc)"
for label, symbols, outputs, sizes, key in (
    ("rnea", (q, qd, x), (rnea(x),), (n,), "tau"),
    ("fd", (q, qd, x), (aba(x),), (n,), "qdd"),
    ("mass", (q,), (crba(),), (n * n,), "M"),
    ("fkj", (q,), fkj(), (6 * n, 16), "J"),
):
    function = build(cs.Function(f"casadi_{label}", list(symbols), list(outputs)))
    names = ("q", "qd", "x")[: len(symbols)]
    expected = np.asarray(data[key])
    if expected.ndim == 3:  # CasADi stores columns first
        expected = expected.transpose(0, 2, 1).reshape(COMPARED_STATES, -1)
    run, out = buffered(function, [data[name][0].copy() for name in names], sizes)
    case(f"{label}/single_out", run, expected[0], got=out.copy(), note=note)
    count = len(data["q"])
    mapped, out = buffered(function.map(count), [data[name].copy() for name in names], [(count, k) for k in sizes])
    case(f"{label}/batch", mapped, expected, got=out[:COMPARED_STATES].copy(), items=count, note=f"map, {note}")
for label, outputs, keys in (
    ("drnea", tangents, ("dtau_dq", "dtau_dqd")),
    ("dfd", accelerations, ("dqdd_dq", "dqdd_dqd")),
):
    function = build(cs.Function(f"casadi_{label}", [q, qd, x], [cs.densify(cs.horzcat(*outputs))]))
    run, out = buffered(function, [data[name][0].copy() for name in ("q", "qd", "x")], [2 * n * n])
    expected = np.hstack([data[key] for key in keys]).T.ravel()
    case(f"{label}/single_out", run, expected, got=out.copy(), tolerance=1e-7, note=f"AD, {note}")


def controller():
    """Return a tick of computed torque and momentum observer: `GIVEN` and memory in, (tau, tau_ext, memory) out."""
    given = [q, qd, *(cs.SX.sym(name, n) for name in GIVEN[2:])]
    memory = cs.SX.sym("memory", 2 * n + 1)  # estimate, what is carried to the next tick, whether one has been
    r, carry, started = memory[:n], memory[n : 2 * n], memory[2 * n]
    _, _, q_ref, qd_ref, qdd_ref = given
    tau = rnea(qdd_ref + KP * (q_ref - q) + KD * (qd_ref - qd))
    rest, still = cs.SX(n, 1), cs.SX(6, 1)
    p = rnea(qd, rest, still)
    e = cs.gradient(cs.dot(qd, p) / 2, q) - rnea(rest, rest)
    d = p - carry - PERIOD / 2 * e
    keep = np.exp(-OBSERVER_GAIN * PERIOD)
    r = cs.if_else(started > 0, keep * r + (1 - keep) / PERIOD * d, 0)
    return cs.Function(
        "law", [*given, memory], [cs.densify(v) for v in (tau, r, cs.vertcat(r, p + PERIOD * (tau + e / 2), 1))]
    )


ROWS = """\
#include <string.h>
int law(const double **arg, double **res, long long *iw, double *w, int mem);

void rows(long ticks, const double *in, double *out)
{
    double memory[MEMORY] = { 0 };
    double next[MEMORY];
    double w[W + 1];
    long long iw[IW + 1];
    const double *arg[ARG];
    double *res[RES];
    long k;
    int i;

    for (k = 0; k < ticks; ++k) {
        for (i = 0; i < 5; ++i) {
            arg[i] = in + 5 * N * k + N * i;
        }
        arg[5] = memory;
        res[0] = out + 2 * N * k;
        res[1] = out + 2 * N * k + N;
        res[2] = next;
        law(arg, res, iw, w, 0);
        memcpy(memory, next, sizeof memory);
    }
}
"""
exported = load_export(folder)
if exported is not None:
    law = controller()
    sizes = {"N": n, "MEMORY": 2 * n + 1, "ARG": law.sz_arg(), "RES": law.sz_res(), "W": law.sz_w(), "IW": law.sz_iw()}
    here = os.getcwd()
    os.chdir(folder / "export")
    try:
        law.generate("law.c")
    finally:
        os.chdir(here)
    defined = "".join(f"#define {name} {size}\n" for name, size in sizes.items())
    sources = {"law.c": (folder / "export" / "law.c").read_bytes(), "rows.c": (defined + ROWS).encode()}
    try:
        ticks = CompiledRows(folder / "export" / "casadi", sources, exported["rows"], 2 * n)
    except LookupError as error:
        leave_out("export/c_tick", str(error))
    else:
        got = ticks()[:COMPARED_TICKS].copy()
        case("export/c_tick", ticks, exported["made"], got=got, items=len(exported["rows"]), note=ROWS_NOTE)
serve(cs.__version__)
