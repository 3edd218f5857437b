# SPDX-License-Identifier: Apache-2.0
"""The arm of one run of a detection study: its contact and its drift are numbers of the lane, like its masses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from armwright.robot.tree import Tree
from armwright.types import Traced


@dataclass(frozen=True, slots=True, eq=False)
class TouchedTree(Tree):
    """An arm, the contact that it will meet (6,), and the factor that its friction drifts to (1,)."""

    contact: Traced = field(default_factory=lambda: np.zeros(6))
    drift: Traced = field(default_factory=lambda: np.ones(1))
