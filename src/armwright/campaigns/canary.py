# SPDX-License-Identifier: Apache-2.0
"""A fingerprint of a machine's arithmetic: where it differs, the same item may get other digits."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np

from armwright.dynamics import forward_dynamics
from armwright.robot.load import load

STATES = 33  # not a multiple of any number of lanes, so that the tail is computed as well
DIFFERS = (
    "arithmetic differs from that of the campaign's first rows; rows of both would not be reproducible: "
    "run on machines of one kind, or allow it with --mixed"
)


@cache
def canary() -> str:
    """Return a fingerprint of compiled code (sines, divisions, lanes and tail) and of NumPy's linear algebra here."""
    q, qd, tau = np.random.default_rng(1).uniform(-3.0, 3.0, (3, STATES, 6))
    found = forward_dynamics(load("ur5"), q, qd, tau)
    product = q.T @ qd @ np.linalg.inv(tau.T @ tau)
    return hashlib.blake2b(found.tobytes() + product.tobytes(), digest_size=16).hexdigest()
