# SPDX-License-Identifier: Apache-2.0
"""What an arm may meet in a detection study; six numbers of a lane say where and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.jacobian import pose_jacobian

if TYPE_CHECKING:
    from armwright.simulation.detection.touched_tree import TouchedTree
    from armwright.types import Traced


@dataclass(frozen=True)
class Wall:
    """A plane across the tool's way, met at the trajectory's highest tool speed: F = stiffness · depth, no friction."""

    stiffness: float = 1e5

    def __post_init__(self) -> None:
        """Refuse what is no wall."""
        if not (np.isfinite(self.stiffness) and self.stiffness > 0.0):
            raise InputError(f"wall: stiffness must be positive [N/m], got {self.stiffness}")


@dataclass(frozen=True)
class Push:
    """A force in a random direction: rises linearly within `rise` seconds and stays. `Push(40, 2)` ramps by 20 N/s.

    Attributes:
        force: [N].
        rise: [s].
        link: body whose link frame's origin is pushed, from 0; the tool if None.
    """

    force: float = 30.0
    rise: float = 0.01
    link: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no push."""
        if not (np.isfinite(self.force) and self.force > 0.0 and np.isfinite(self.rise) and self.rise > 0.0):
            raise InputError(f"push: force [N] and rise [s] must be positive, got {self.force} and {self.rise}")
        if self.link is not None and self.link < 0:
            raise InputError(f"push: link must be the number of a body, from 0; got {self.link}")


Contact = Wall | Push
LATE = 0.05  # [s] after the planned time, by which an arm that lags must have met its wall


def walling(arm: TouchedTree, q: Traced) -> Traced:
    """The wrench function of a wall: (6,) at the tool."""
    normal, offset, stiffness = arm.contact[:3], arm.contact[3], arm.contact[4]
    depth = offset - normal @ pose_jacobian(arm, q)[0][:3, 3]
    force = stiffness * np.maximum(depth, 0.0)
    return np.concatenate([force * normal, np.zeros(3)])


def _share(arm: TouchedTree, t: Traced) -> Traced:
    return np.minimum(np.maximum((t - arm.contact[3]) * arm.contact[4], 0.0), 1.0)


def _push(arm: TouchedTree, t: Traced) -> Traced:
    return np.concatenate([_share(arm, t) * arm.contact[:3], np.zeros(3)])


@lru_cache(maxsize=64)
def pushing(link: int | None) -> Callable[..., Any]:
    """The wrench function of a push: (6,) at the tool, or (nb, 6) with one row that is not zero."""
    if link is None:
        return _push

    def push(arm: TouchedTree, t: Traced) -> Traced:
        if link >= arm.nb:
            raise InputError(f"push: link {link} of an arm with {arm.nb} bodies (counted from 0)")
        rows = [np.zeros(6)] * arm.nb
        rows[link] = _push(arm, t)
        return np.array(rows)

    return push
