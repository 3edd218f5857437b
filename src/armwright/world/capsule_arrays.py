# SPDX-License-Identifier: Apache-2.0
"""The links' capsules as arrays, and where they are: for whatever looks at all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import frozen_numbers
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array, Traced


@dataclass(frozen=True, slots=True, eq=False)
class LinkCapsules:
    """Capsules fixed to links: body (m,) index, ends a, b (m, 3) in the link's frame, radius (m,) [m]."""

    body: NDArray[np.int64]
    a: Array
    b: Array
    radius: Array

    def __post_init__(self) -> None:
        """Check and freeze."""
        body = np.array(self.body, dtype=np.int64).reshape(-1)
        m = body.size
        object.__setattr__(self, "body", body)
        for name, shape in (("a", (m, 3)), ("b", (m, 3)), ("radius", (m,))):
            object.__setattr__(self, name, frozen_numbers(getattr(self, name), shape, f"capsules.{name}"))
        if (self.radius < 0.0).any():
            raise InputError(f"capsules.radius: must be ≥ 0 [m], got {self.radius.tolist()}")

    def _content(self) -> tuple[bytes, ...]:
        return tuple(np.asarray(getattr(self, name)).tobytes() for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        """Compare by value, so that equal capsules share their compiled tests."""
        return isinstance(other, LinkCapsules) and self._content() == other._content()

    def __hash__(self) -> int:
        """Hash by value."""
        return hash(self._content())


def link_ends(poses: Traced, links: LinkCapsules) -> Traced:
    """Return the ends of the capsules in the base frame [m], floats or symbols.

    Args:
        poses: of all links, T_base_link (..., nb, 4, 4): of `fk_all`, or of `link_poses` where it is traced.
        links: the capsules, m of them.

    Returns:
        (..., m, 2, 3): start and end of every axis.
    """
    T = poses[..., links.body, :, :]
    ends = np.stack([links.a, links.b], axis=1)  # (m, 2, 3)
    return ends @ np.swapaxes(T[..., :3, :3], -1, -2) + T[..., None, :3, 3]
