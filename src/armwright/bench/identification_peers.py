# SPDX-License-Identifier: Apache-2.0
"""Identification compared with others, in one process, on the same logs of virtual arms: error on other motion, CPU.

An arm whose masses, rotors and friction differ from its sheet is moved through two random motions, with noise; one is
fitted, the other predicted. All are given the sheet, and samples that passed the same filter. The friction is of the
family that `fit` assumes (with memory, load and v|v|), which the others do not have: the figures say what that is
worth, not who estimates better. Peers: ordinary and weighted least squares on base parameters with viscous, Coulomb and
offset terms (always), FIGAROH's regressor and base parameters, and MuJoCo's system identification: pseudo-inertias, to
which armature, viscous and Coulomb friction and offset are added as parameters. Errors are rms(τ − τ̂)/rms(τ) of moving
rows in percent, joint by joint.

python -m armwright.bench.identification_peers [seeds]
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics import inverse_dynamics
from armwright.identify.current_log import Log
from armwright.identify.drive_gains import Known
from armwright.identify.filtered_log import even_samples
from armwright.identify.gear_friction import TERMS, GearFriction, hysteresis
from armwright.identify.gram_matrices import MOVING_SPEED, chunks
from armwright.identify.identifiable import Structure, structure
from armwright.identify.model_fit import fit
from armwright.identify.validation import predict_currents
from armwright.robot.load import load
from armwright.robot.mjcf.mjcf_write import write_mjcf
from armwright.robot.urdf.urdf_write import write_urdf

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

IDENTIFIED_ARMS = ("ur5", "panda")
LOG_SECONDS, MOTION_RATE = 30.0, 100.0  # of each motion
NOISE_SHARE = 0.02  # of a joint's rms torque
PLAIN = ("viscous", "coulomb", "offset")
MUJOCO_EVERY, MUJOCO_STEPS = 20, 20  # of the samples, and at most: its Jacobian is by differences
RUBBING = (
    ("armature", 0.2, 0.0, 5.0),
    ("viscous", 1.0, 0.0, 50.0),
    ("coulomb", 1.0, 0.0, 50.0),
    ("offset", 0.0, -9.0, 9.0),
)
"""What MuJoCo's toolkit finds of every joint besides inertias: name, start, bounds."""
LOADED_PASSES, WEIGHINGS = 4, 3  # passes over the data


class JudgedWay(NamedTuple):
    """One way to identify: error on the other motion (n,) [%], CPU time [s]."""

    error: Array
    cpu: float


def virtual_motion(n: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Times (T,) and a random motion of ten harmonics of 0.05 Hz: q, qd, qdd (T, n)."""
    rng, t = np.random.default_rng(seed), np.arange(round(LOG_SECONDS * MOTION_RATE)) / MOTION_RATE
    w, (a, b) = 2.0 * np.pi * 0.05 * np.arange(1, 11), rng.normal(size=(2, 10, n))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = s @ a + c @ b, (w * c) @ a - (w * s) @ b, -(w**2 * s) @ a - (w**2 * c) @ b
    size = 1.2 / np.abs(q).max(axis=0)
    return t, q * size, qd * size, qdd * size


def virtual_log(sheet: Robot, seed: int, part: int) -> Log:
    """A log of torques of the arm that `seed` makes of a sheet, along its motion `part`."""
    rng = np.random.default_rng(seed)
    bodies = []
    for body in sheet.bodies:
        k = 1.0 + rng.uniform(-0.1, 0.1)
        bodies.append(replace(body, mass=k * body.mass, inertia=k * body.inertia))
    arm = replace(sheet, bodies=tuple(bodies)).with_rotors(rng.uniform(0.1, 0.5, sheet.n))
    size = rng.uniform(0.3, 1.0, sheet.n)[:, None] * np.linspace(1.0, 0.3, sheet.n)[:, None]
    friction = GearFriction(size * np.array([[6.0, -1.5, 5.0, 0.0, 0.3]]) + np.array([[0.0, 0.0, 0.0, 0.03, 0.0]]))
    t, q, qd, qdd = virtual_motion(sheet.n, 1000 * (part + 1) + seed)
    q = q + (sheet.lower + sheet.upper)[None] / 2.0
    rigid = np.asarray(inverse_dynamics(arm, q, qd, qdd, friction=False))
    tau = rigid + friction.torque(qd, hysteresis(qd, 1.0 / MOTION_RATE, friction.joint_travel), rigid)
    tau = tau + NOISE_SHARE * np.sqrt(np.mean(tau**2, axis=0)) * np.random.default_rng(seed + part).normal(size=q.shape)
    return Log(t, q, qd, tau, name=f"motion {part}")


def columns(log: Log, model: Structure, beta: Array) -> tuple[Array, Array]:
    """Return filtered columns (K, n, m) and moving rows (K, n) of a log."""
    parts = list(chunks(even_samples(log), model, beta))
    return np.concatenate([p.columns for p in parts]), np.concatenate([p.moving for p in parts])


def least_squares_error(
    train: Log, test: Log, robot: Robot, gains: Array, terms: Sequence[str] = PLAIN, *, weighted: bool
) -> Array:
    """Solve ordinary or weighted least squares on the currents; return the error (n,) on the other log [%]."""
    model, n, kept = structure(robot), robot.n, [TERMS.index(word) for word in terms]
    rank, more = model.rank, model.width - model.rank - len(TERMS) - 1
    size = rank + len(kept) * n + more

    def rows(C: Array, moving: Array, j: int) -> tuple[Array, Array]:
        X = C[moving[:, j], j]
        A = np.zeros((len(X), size))
        A[:, :rank] = X[:, :rank] / gains[j]
        A[:, rank + len(kept) * j : rank + len(kept) * (j + 1)] = X[:, [rank + k for k in kept]]
        A[:, size - more :] = X[:, rank + len(TERMS) : -1] / gains[j]
        return A, X[:, -1]

    beta = model.base.regrouping @ model.sheet()
    for _ in range(LOADED_PASSES if "load" in terms else 1):
        C, moving = columns(train, model, beta)
        parts, sigma = [rows(C, moving, j) for j in range(n)], np.ones(n)
        for _ in range(WEIGHINGS if weighted else 1):
            A = np.concatenate([a / s for (a, _), s in zip(parts, sigma, strict=True)])
            b = np.concatenate([y / s for (_, y), s in zip(parts, sigma, strict=True)])
            x = np.linalg.lstsq(A, b, rcond=1e-10)[0]
            sigma = np.array([np.sqrt(np.mean((a @ x - y) ** 2)) for a, y in parts])
        beta = x[:rank]
    C, moving = columns(test, model, beta)
    judged = [rows(C, moving, j) for j in range(n)]
    return np.array([100.0 * np.sqrt(np.mean((a @ x - y) ** 2) / np.mean(y**2)) for a, y in judged])


def fit_error(train: Log, test: Log, robot: Robot) -> Array:
    """Error of `fit` (n,) [%]."""
    return 100.0 * predict_currents(fit(train, robot, gains=Known(np.ones(robot.n))), test).error


def smooth_samples(log: Log) -> tuple[Array, Array, Array, Array]:
    """q, qd, qdd and torque (K, n) of a log, each through the filter that `fit` uses."""
    prepared = even_samples(log)
    smooth, (piece,) = prepared.filter.without_phase, prepared.pieces
    return smooth(piece.q), smooth(piece.qd), smooth(piece.qdd), smooth(piece.current)


def relative_error(tau: Array, left: Array, qd: Array) -> Array:
    """rms of what is left over that of the torque (n,) [%], moving rows."""
    moving = np.abs(qd) > MOVING_SPEED
    return np.asarray(100.0 * np.sqrt(np.sum(left**2 * moving, axis=0) / np.sum(tau**2 * moving, axis=0)))


def figaroh_error(train: Log, test: Log, robot: Robot) -> Array:
    """Error of FIGAROH's base parameters with friction, rotors and offsets (n,) [%]."""
    from figaroh.tools.qrdecomposition import build_baseRegressor, get_baseIndex
    from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced, get_index_eliminate
    from figaroh.tools.robot import Robot as FigarohRobot

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        file.write_text(write_urdf(robot), encoding="utf-8")
        arm = FigarohRobot(str(file), folder)
    parts = ("has_friction", "has_actuator_inertia", "has_joint_offset", "is_joint_torques")
    words: dict[str, object] = {"is_external_wrench": False, "act_idxv": list(range(robot.n))}
    words.update(dict.fromkeys(parts, True))
    q, qd, qdd, tau = smooth_samples(train)
    W = build_regressor_basic(arm, q, qd, qdd, words)
    gone, kept = get_index_eliminate(W, dict.fromkeys(range(W.shape[1]), 0.0), 1e-6)
    kept = [str(k) for k in kept]
    reduced = build_regressor_reduced(W, gone)
    base = get_baseIndex(reduced, kept)
    x = np.linalg.lstsq(build_baseRegressor(reduced, base), tau.T.ravel(), rcond=None)[0]
    q, qd, qdd, tau = smooth_samples(test)
    other = build_baseRegressor(build_regressor_reduced(build_regressor_basic(arm, q, qd, qdd, words), gone), base)
    return relative_error(tau, tau - (other @ x).reshape(robot.n, -1).T, qd)


def mujoco_error(train: Log, test: Log, robot: Robot) -> Array:
    """Error of MuJoCo's system identification on inverse dynamics (n,) [%]."""
    from mujoco import sysid

    mujoco: Any = import_module("mujoco")  # its stubs lack most of it

    if not hasattr(sysid, "optimize"):
        raise ImportError("mujoco.sysid needs what mujoco[sysid] installs")
    spec = mujoco.MjSpec.from_string(write_mjcf(robot))
    model, n = spec.compile(), robot.n
    data, words = mujoco.MjData(model), sysid.ParameterDict()
    bodies = [body.name for body in spec.bodies[1:] if float(model.body(body.name).mass[0]) > 0.0]
    for name in bodies:
        words.add(sysid.body_inertia_param(spec, model, name, sysid.InertiaType.Pseudo))
    for name, start, low, high in RUBBING:
        words.add(sysid.Parameter(name, np.full(n, start), np.full(n, low), np.full(n, high)))

    def left(params: sysid.ParameterDict, samples: tuple[Array, ...]) -> Array:
        for name in bodies:
            pi = sysid.model_modifier.pi_from_theta(params[f"{name}_inertia"].value)
            body, c = model.body(name), pi[1:4] / pi[0]
            values, axes = np.linalg.eigh(pi[4:].reshape(3, 3) - pi[0] * (c @ c * np.eye(3) - np.outer(c, c)))
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            body.mass[:], body.ipos[:], body.inertia[:] = pi[0], c, values
            mujoco.mju_mat2Quat(body.iquat, axes.ravel())
        out = np.empty_like(samples[0])
        for k, (q, qd, qdd) in enumerate(zip(*samples[:3], strict=True)):
            data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
            mujoco.mj_inverse(model, data)
            out[k] = data.qfrc_inverse
        _, qd, qdd, tau = samples
        armature, viscous, coulomb, offset = (params[name].value for name, *_ in RUBBING)
        return tau - out - armature * qdd - viscous * qd - coulomb * np.tanh(qd / MOVING_SPEED) - offset

    some = tuple(x[::MUJOCO_EVERY] for x in smooth_samples(train))
    scale = np.sqrt(np.mean(some[3] ** 2, axis=0))

    def residual(x: Array, params: sysid.ParameterDict) -> tuple[list[Array], None, None]:
        found = []
        for one in np.atleast_2d(np.asarray(x).T):  # its minimiser may ask for many at once, one a column
            params.update_from_vector(one)
            found.append((left(params, some) / scale).ravel())
        return [found[0] if np.ndim(x) == 1 else np.array(found).T], None, None

    with contextlib.redirect_stdout(sys.stderr):  # its minimiser reports every step
        best, _ = sysid.optimize(words, residual, optimizer="mujoco", verbose=False, max_iters=MUJOCO_STEPS)
    samples = smooth_samples(test)
    return relative_error(samples[3], left(best, samples), samples[1])


def identification_figures(
    seeds: int = 1, arms: Sequence[str] = IDENTIFIED_ARMS, tell: Callable[[str], None] = lambda text: None
) -> dict[str, dict[str, Any]]:
    """Return, per arm and way, error [%] of the joints, its geometric mean, CPU [s]; report who is missing."""
    ways: dict[str, Callable[[Log, Log, Robot], Array]] = {
        "armwright": fit_error,
        "least squares": lambda a, b, arm: least_squares_error(a, b, arm, np.ones(arm.n), weighted=False),
        "weighted least squares": lambda a, b, arm: least_squares_error(a, b, arm, np.ones(arm.n), weighted=True),
        "figaroh": figaroh_error,
        "mujoco": mujoco_error,
    }
    found: dict[str, list[JudgedWay]] = {}
    for name in arms:
        robot = load(name)
        sheet = robot.with_friction(np.zeros(robot.n), np.zeros(robot.n))
        for seed in range(seeds):
            train, test = (virtual_log(sheet, seed, part) for part in (0, 1))
            for way, judge in list(ways.items()):
                begun = time.process_time()
                try:
                    error = judge(train, test, sheet)
                except ImportError as missing:
                    tell(f"identification: {way} skipped ({missing})")
                    del ways[way]
                    continue
                found.setdefault(f"{name}/{way}", []).append(JudgedWay(error, time.process_time() - begun))
                tell(f"identification: {name}, seed {seed}, {way}: {np.exp(np.mean(np.log(error))):.2f} %")
    return {
        key: {
            "error": np.mean([one.error for one in rows], axis=0).round(3).tolist(),
            "mean": float(np.exp(np.mean([np.log(one.error) for one in rows]))),
            "cpu": min(one.cpu for one in rows),
            "seeds": len(rows),
        }
        for key, rows in found.items()
    }


if __name__ == "__main__":
    import json

    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print(json.dumps(identification_figures(asked, tell=lambda text: print(text, file=sys.stderr)), indent=2))
