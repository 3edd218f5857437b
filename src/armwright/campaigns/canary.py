# SPDX-License-Identifier: Apache-2.0
"""A fingerprint of a machine's arithmetic and of what writes its files: where it differs, bytes may differ."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np

from armwright.campaigns.chunk_file import writer

STATES = 33  # not a multiple of any number of lanes, so that the tail is computed as well
DIFFERS = (
    "arithmetic differs from that of the campaign's first rows, or its pyarrow does; files of both would not be "
    "reproducible: run on machines of one kind with the same packages, or allow it with --mixed"
)


@cache
def canary() -> str:
    """Return a fingerprint of compiled code (sines, divisions, lanes and tail), NumPy's linear algebra and pyarrow."""
    from armwright.dynamics import forward_dynamics  # imported here: a coordinator computes nothing itself
    from armwright.robot.load import load

    q, qd, tau = np.random.default_rng(1).uniform(-3.0, 3.0, (3, STATES, 6))
    found = forward_dynamics(load("ur5"), q, qd, tau)
    product = q.T @ qd @ np.linalg.inv(tau.T @ tau)
    parts = (found.tobytes(), product.tobytes(), writer().encode())
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()
