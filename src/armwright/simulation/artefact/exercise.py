# SPDX-License-Identifier: Apache-2.0
"""Inputs that exercise an artefact: what its files are checked with, wherever they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armwright.graph.tick_program import Port, TickProgram
    from armwright.types import Array

SWAY = 0.3  # rad or m of the reference about its start
FASTEST_RATE = 8.0  # rad/s, of the joint that sways fastest
LAG_SECONDS = (
    0.02  # of the measured motion behind the reference: errors of a few hundredths, so that laws have work to do
)
OTHER_AMPLITUDE = 0.5  # amplitude of what is no motion: forces, noise, inputs of the user
GOLDEN = 0.6180339887498949  # of phases and rates, so that no two joints go together


def exercise(program: TickProgram, ticks: int) -> dict[str, Array]:
    """Return inputs by name, (ticks, *shape): a smooth motion of the joints, measured with an error."""
    t = np.arange(ticks, dtype=np.float64) * program.period
    return {port.name: _rows(port, t) for port in program.inputs}


def _rows(port: Port, t: Array) -> Array:
    """One smooth wave per element; the reference and what is measured of it have the same waves."""
    order = {"q": 0, "q_ref": 0, "qd": 1, "qd_ref": 1, "qdd_ref": 2}.get(port.name)
    share = (GOLDEN * np.arange(1, port.size + 1)) % 1.0
    rate, phase = FASTEST_RATE * (0.3 + 0.7 * share), 2.0 * np.pi * share[::-1]
    at = t[:, None] - (LAG_SECONDS if port.name in ("q", "qd") else 0.0)
    angle = rate * at + phase
    if order is None:
        wave = OTHER_AMPLITUDE * np.sin(angle + len(port.name))
    else:
        wave = SWAY * rate**order * (np.sin(angle), np.cos(angle), -np.sin(angle))[order]
        wave = wave - SWAY * np.sin(phase) * (order == 0)  # it begins where the port starts
    return (np.ravel(port.start) + wave).reshape(len(t), *port.shape)
