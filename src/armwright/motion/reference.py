# SPDX-License-Identifier: Apache-2.0
"""What a controller is asked to follow at one instant."""

from __future__ import annotations

from typing import Any, NamedTuple


class Reference(NamedTuple):
    """Desired joint position, velocity and acceleration, each (..., n) [rad or m, and per second]."""

    q: Any
    qd: Any
    qdd: Any
