"""As published: the reference table of 5.2 ms rows is held between rows, and the arm trails behind its steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.signal import cont2discrete

from armwright.dynamics import mass_matrix
from armwright.kinematics import jacobian
from armwright.simulation.exploration.result import Exploration
from armwright.studies.collision.setting import K_0, K_1, arm

ROWS = 100  # of the table per segment


class Held(NamedTuple):
    """Largest |q̃| [rad] and ‖F̂‖ of the three forces [N]."""

    error: float
    force: float


def held_error(run: Exploration) -> Held:
    """Follow the reference of a free run, held, through the closed loop q̈ = q̈_d − K_1(q̇ − q̇_d) − K_0(q − q_d).

    With the controller's model equal to the plant C and g cancel exactly, so each joint is linear and its response to
    a held reference is exact. q̃ is taken at the end of each row, before the next one comes in.
    """
    rec, segments = run.recording, len(run.plans[0].path)
    dt = np.floor((segments + 1) / 2.0 + 0.5) / (segments * ROWS)
    t = np.arange(0.0, rec.time[-1], dt)
    ref = {k: np.stack([np.interp(t, rec.time, x) for x in rec[k].T], axis=1) for k in ("q_ref", "qd_ref", "qdd_ref")}
    q = np.empty_like(ref["q_ref"])
    for j, (k0, k1) in enumerate(zip(K_0, K_1, strict=True)):
        A, B, *_ = cont2discrete(
            (np.array([[0.0, 1.0], [-k0, -k1]]), np.array([[0.0], [1.0]]), np.eye(2), np.zeros((2, 1))), dt
        )
        push = ref["qdd_ref"][:, j] + k1 * ref["qd_ref"][:, j] + k0 * ref["q_ref"][:, j]
        x = np.array([ref["q_ref"][0, j], ref["qd_ref"][0, j]])
        for i, u in enumerate(push):
            x = A @ x + B[:, 0] * u
            q[i, j] = x[0]
    e = q - ref["q_ref"]
    tau = np.einsum("tij,tj->ti", mass_matrix(arm(), q), K_0 * e)
    F = np.linalg.solve(np.swapaxes(jacobian(arm(), q), -1, -2), tau[..., None])[..., 0]
    return Held(float(np.abs(e).max()), float(np.linalg.norm(F[:, :3], axis=1).max()))
