# SPDX-License-Identifier: Apache-2.0
"""What leaves the computer, for everyone who writes it: computed torque and a momentum observer on a UR5, as C.

Measured positions and speeds follow a spline with waves on them, so that feedback and observer have work. Peers get
inputs as rows, and must make the torques and estimates that the NumPy source makes of them. As WebAssembly everyone
runs the closed loop of `loop_task`, without an observer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.bench.loop_task import DURATION, KD, KP, PERIOD, made_task, waypoints

if TYPE_CHECKING:
    from armwright.types import Array


OBSERVER_GAIN = 30.0  # 1/s
EXPORTED_TICKS, COMPARED_TICKS = 1000, 64
GIVEN = ("q", "qd", "q_ref", "qd_ref", "qdd_ref")
"""What a row holds, six numbers each, in this order."""


def prepare_export(folder: Path) -> None:
    """Write export/task.npz: rows (T, 30), tau and tau_ext (64, 12) that come out of the first, and the closed loop."""
    from armwright.bench.prepare_arms import arm
    from armwright.contact.observers import momentum_observer
    from armwright.dynamics.newton_euler import rnea
    from armwright.motion import quintic_spline

    tree, observe = arm("ur5").tree, momentum_observer(OBSERVER_GAIN).function
    t = PERIOD * np.arange(EXPORTED_TICKS)
    ref = quintic_spline(waypoints(), DURATION).evaluate(t)
    rate = 9.0 + np.arange(6.0)  # rad/s, of the waves
    q = ref.q + 0.02 * np.sin(t[:, None] * rate)
    qd = ref.qd + 0.02 * rate * np.cos(t[:, None] * rate)
    memory: dict[str, Array] = {"r": np.zeros(6), "carry": np.zeros(6), "started": np.zeros(1)}
    made = []
    for k in range(COMPARED_TICKS):
        wanted = ref.qdd[k] + KP * (ref.q[k] - q[k]) + KD * (ref.qd[k] - qd[k])
        tau = rnea(tree, q[k], qd[k], wanted)
        said = observe(tree, PERIOD, q[k], qd[k], tau, OBSERVER_GAIN, **memory)
        memory = {name: said[name] for name in memory}
        made.append(np.concatenate([tau, said["tau_ext"]]))
    (folder / "export").mkdir()
    rows = np.hstack([q, qd, ref.q, ref.qd, ref.qdd])
    np.savez(folder / "export" / "task.npz", rows=rows, made=np.array(made), **made_task())


def load_export(folder: Path) -> dict[str, Any] | None:
    """Return what was prepared, or None where this is not to be measured."""
    path = folder / "export" / "task.npz"
    return dict(np.load(path)) if path.exists() else None
