# SPDX-License-Identifier: Apache-2.0
"""Section 6.2 of 004: forces from currents, without friction, with it, and by an observer (tables 6.1, 6.2)."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import DeadZoneFriction, momentum_observer
from armwright.kinematics import jacobian
from armwright.studies.doc004_force.setting import CURRENT_NOISE, DEAD, NU, PATH, B, K, friction, model, path, torque
from armwright.studies.study import Claim, Item
from armwright.types import Array

PUSHES = ((3.0, (30.0, 0.0, 0.0)), (9.0, (0.0, 40.0, 0.0)), (15.0, (0.0, 0.0, 25.0)))
"""Half-sines of 2 s, ours: begin [s] and force [N], base axes."""
SETTING = f"three pushes of 25–40 N for 2 s, Coulomb friction of the plant 10 % lower than the model's; {PATH}"
TABLE_MAE = {"u": (7.8240, 16.9189, 2.9237), "none": (37.8064, 52.3023, 10.0739), "friction": (6.1571, 8.6588, 5.6363)}
TABLE_MAX_Z = 28.1711
MOMENT_MAE = (0.9955, 1.1750, 1.2271)


def wrench() -> Array:
    """Return the true wrench (T, 6) that the world exerts."""
    t = path().t
    out = np.zeros((len(t), 6))
    for begin, force in PUSHES:
        inside = (t > begin) & (t < begin + 2.0)
        out[inside, :3] += np.sin(np.pi * (t[inside] - begin) / 2.0)[:, None] * np.array(force)
    return out


@cache
def errors() -> dict[str, Array]:
    """Return the MAE (6,) of the wrench: without friction (6.8), with it (6.9), by a momentum observer at 10 rad/s."""
    m, arm = path(), model("c")
    J = np.asarray(jacobian(arm, m.q))
    rng = np.random.default_rng(1)
    exact = wrench()
    rigid = torque(arm, m)
    plant = rigid + friction(m.qd, 0.9) - np.einsum("tij,ti->tj", J, exact)
    measured = K * ((plant - B) / K + CURRENT_NOISE * rng.normal(size=plant.shape)) + B
    observer = momentum_observer(10.0, friction=DeadZoneFriction(tuple(NU), tuple(NU), DEAD))
    frictionless = arm.with_parameters(_bare())
    seen = run_monitors(observer, frictionless, m.t, m.q, m.qd, measured)["tau_ext"]
    external = {"none": rigid - measured, "friction": rigid + friction(m.qd) - measured, "observer": seen}
    out = {}
    for name, tau in external.items():
        found = np.linalg.solve(np.swapaxes(J, 1, 2), tau[..., None])[..., 0]
        out[name] = np.abs(found - exact).mean(axis=0)
    return out


def _bare() -> Array:
    from armwright.dynamics.regressor import parameters

    p = parameters(model("c")).copy()
    p[60:] = 0.0
    return p


def friction_decides() -> bool:
    """Return whether the MAE falls by 3 in x and y, 1.5 in z, 1.2 in moments; below 10 N and 1.5 N m."""
    without, with_friction = errors()["none"], errors()["friction"]
    ratio = without / with_friction
    enough = (ratio >= [3.0, 3.0, 1.5, 1.2, 1.2, 1.2]).all()
    return bool(enough and (with_friction[:3] <= 10.0).all() and (with_friction[3:] <= 1.5).all())


def _notes() -> list[str]:
    return [f"MAE {name}: " + " ".join(f"{x:.2f}" for x in e) for name, e in errors().items()]


ITEMS = (
    Item(
        "T6.1",
        "friction decides",
        Claim("MAE 37.8, 52.3, 10.1 N without, 6.2, 8.7, 5.6 N with friction"),
        correct=friction_decides,
        rule=f"3 × less in x and y, 1.5 × in z, 1.2 × in moments, below 10 N and 1.5 N m; {SETTING}",
        notes=_notes,
    ),
    Item(
        "T6.1z",
        "the estimate with friction is best, especially in z",
        Claim("conclusion of the thesis"),
        correct=lambda: min(TABLE_MAE, key=lambda name: TABLE_MAE[name][2]) == "friction",
        reason="the controller's own estimate is better in z: 2.92 against 5.64 N",
        faults=("the conclusion contradicts table 6.1",),
    ),
    Item(
        "6.3",
        "forces of 10 N and more along z are reliably detected",
        Claim("|F_z| ≥ 10 N"),
        correct=lambda: TABLE_MAX_Z < 10.0,
        reason="its own largest error is 28.2 N: an estimate of 10 N can be no force at all",
        faults=("a threshold below the estimate's own largest error",),
    ),
    Item(
        "6.11",
        "the lever of the force sensor may be neglected",
        Claim("o_ft = 28.6 mm"),
        correct=lambda: bool(0.5 * min(MOMENT_MAE) > 0.0286 * 30.0),
        reason="30 N make 0.86 N m, as much as the mean error of the moments",
        faults=("the sensor's lever is left out",),
        rule="negligible: below half of the printed mean errors of the moments, at 30 N",
    ),
)
