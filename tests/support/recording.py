# SPDX-License-Identifier: Apache-2.0
"""Recordings for tests: a small one with everything awkward in it, and a free fall of a real arm."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

import armwright as aw
from armwright.dynamics import energy, forward_dynamics, mass_matrix
from armwright.recording.recording import Recording
from armwright.recording.signals import RecordedEvent, Signal


@functools.cache
def awkward(samples: int = 257, robot: str = "planar2") -> Recording:
    """Return all shapes, awkward floats, awkward texts."""
    arm, rng = aw.load(robot), np.random.default_rng(11)
    q = rng.normal(size=(samples, arm.n)) * 10.0 ** rng.integers(-300, 300, size=(samples, arm.n))
    q[3, 1], q[4, 0], q[5, 0], q[6, 0], q[7, 0] = np.nan, np.inf, -np.inf, -0.0, 5e-324
    names = tuple(joint.name for joint in arm.joints)
    signals = {
        "q": Signal(q, "rad", names),
        "qd": Signal(rng.normal(size=(samples, arm.n)), "rad/s", names),
        "energy": Signal(rng.normal(size=samples), "J"),
        "pose": Signal(rng.normal(size=(samples, 3, 4)), "m"),
        "many": Signal(rng.normal(size=(samples, 20)), "N m", tuple(f'größe {i}, "#"' for i in range(20))),
        "one": Signal(rng.normal(size=(samples, 1)), "A", ("2nd",)),
    }
    settings = {"law": "pd", "note": 'line\nbreak, "quotes" # ∞', "gains": np.eye(2), "horizon": np.inf, "on": True}
    events = (RecordedEvent(0.004, "touch", {"force": 1.5}), RecordedEvent(0.1, "stop"))
    return Recording(np.arange(samples) / 1000.0, signals, arm, settings, events, "finished: ok", 2**40 + 1)


@functools.cache
def falling(robot: str = "ur5", seconds: float = 1.0, step: float = 2e-3) -> Recording:
    """Return a free fall, integrated by RK4, with damping torques that the motors supply."""
    arm = aw.load(robot)
    count, n = round(seconds / step) + 1, arm.n
    q, qd, qdd, tau = (np.zeros((count, n)) for _ in range(4))
    q[0] = np.resize([0.3, -0.6, 0.8, -0.4, 0.5, 0.2], n)

    damping = 2.0 * np.diag(mass_matrix(arm, q[0]))  # as slow for light wrists as for the shoulder

    def slope(x: Any, v: Any) -> tuple[Any, Any]:
        torque = -damping * v
        return torque, forward_dynamics(arm, x, v, torque)

    for k in range(count):
        tau[k], qdd[k] = slope(q[k], qd[k])
        if k + 1 == count:
            break
        v1, a1 = qd[k], qdd[k]
        v2 = v1 + step / 2 * a1
        a2 = slope(q[k] + step / 2 * v1, v2)[1]
        v3 = v1 + step / 2 * a2
        a3 = slope(q[k] + step / 2 * v2, v3)[1]
        v4 = v1 + step * a3
        a4 = slope(q[k] + step * v3, v4)[1]
        q[k + 1] = q[k] + step / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
        qd[k + 1] = v1 + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    parts = energy(arm, q, qd)
    kinetic, potential = np.asarray(parts[0]), np.asarray(parts[1])
    time = np.arange(count) * step
    q_ref = q[0] + np.outer(np.minimum(time, 0.5), np.resize([0.4, 0.2, -0.4], n))
    names = tuple(joint.name for joint in arm.joints)
    units = {
        "q": (q, "rad"),
        "qd": (qd, "rad/s"),
        "qdd": (qdd, "rad/s^2"),
        "tau": (tau, "N m"),
        "q_ref": (q_ref, "rad"),
        "error": (q_ref - q, "rad"),
    }
    signals = {name: Signal(values, unit, names) for name, (values, unit) in units.items()}
    signals |= {
        "kinetic": Signal(kinetic, "J"),
        "potential": Signal(potential, "J"),
        "energy": Signal(kinetic + potential, "J"),
    }
    settings = {"law": "viscous damping", "step": step, "integrator": "rk4", "gains": {"Kd": 2.0}}
    events = (RecordedEvent(0.5, "reference ends"),)
    return Recording(time, signals, arm, settings, events, f"finished after {seconds:g} s", 1)


def files_of(path: Path) -> list[str]:
    """Return the names of the files that make up a saved recording."""
    return [path.name, f"{path.name}.meta"] if path.suffix == ".csv" else [path.name]


def names_in(folder: Path) -> list[str]:
    """Return the names of everything in a folder."""
    return sorted(entry.name for entry in folder.iterdir())


def assert_same(a: Recording, b: Recording) -> None:
    """Bits, units, labels and descriptions are the same."""
    assert a.time.tobytes() == b.time.tobytes()
    assert list(a.signals) == list(b.signals)
    for name in a.signals:
        assert a[name].shape == b[name].shape, name
        assert a[name].tobytes() == b[name].tobytes(), name
        assert (a.signals[name].unit, a.signals[name].labels) == (b.signals[name].unit, b.signals[name].labels)
    assert (a.settings, a.events, a.outcome, a.seed) == (b.settings, b.events, b.outcome, b.seed)
    assert a.versions == b.versions
    assert (a.robot is None) == (b.robot is None)
    if a.robot is not None and b.robot is not None:
        assert a.robot.to_sheet() == b.robot.to_sheet()
