# SPDX-License-Identifier: Apache-2.0
"""Chapter 4 of 000: the closed loop of inverse dynamics, (4.5) with the gains of (4.6), against the simulated arm."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.control import computed_torque
from armwright.recording import Recording
from armwright.robot.model import Robot
from armwright.simulation import simulate
from armwright.studies.doc000_collision.runs import ARMS
from armwright.studies.doc000_collision.setting import K_0, K_1, arm, omega, q_0
from armwright.studies.study import Formula, Item
from armwright.types import Array

ERROR = np.array([0.2, -0.15, 0.1, 0.2, -0.3, 0.25])
"""q̃ [rad] from which the arm is let go."""
ERROR_SPEED = np.array([0.5, 0.3, -0.4, 1.0, 0.0, -2.0])
"""q̃̇ [rad/s] at that moment."""


@cache
def released(robot: Robot) -> Recording:
    """Return half a second of the controlled arm, let go with an error; its controller has the arm's own model."""
    found: Recording = simulate(
        robot,
        computed_torque(K_0, K_1),
        q_0,
        0.5,
        q0=q_0 + ERROR,
        qd0=ERROR_SPEED,
        rate=4000.0,
        continuous=True,
        every=40,
        check_step=False,
    )
    return found


def measured(robot: Robot) -> Array:
    """Return q̃ (T, 6) [rad] of that motion."""
    return np.asarray(released(robot)["q"] - q_0)


def closed_form() -> Array:
    """Return q̃ (T, 6) of (4.5): every joint by itself, critically damped, (a + (b + ω a) t) exp(−ω t)."""
    t = released(arm()).time[:, None]
    return np.asarray((ERROR + (ERROR_SPEED + omega * ERROR) * t) * np.exp(-omega * t))


def _notes() -> list[str]:
    return [
        f"{name}: q̃ of all joints within {np.abs(measured(robot()) - closed_form()).max():.0e} rad of it over 0.5 s; "
        "the controller cancels its own model, so that a wrong one does not show"
        for name, robot in ARMS.items()
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "4.5",
        "closed loop: every joint by itself, critically damped, with its natural frequency ω_i",
        Formula("q̃̈ + K_1 q̃̇ + K_0 q̃ = 0, K_0 = diag(ω_i²), K_1 = diag(2 ω_i)", "rad", tolerance=1e-6),
        closed_form,
        lambda: measured(arm()),
        rule="to 1e-6 of the largest error: the motion is integrated in steps of 0.25 ms",
        notes=_notes,
    ),
)
