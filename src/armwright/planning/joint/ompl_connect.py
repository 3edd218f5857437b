# SPDX-License-Identifier: Apache-2.0
"""OMPL's RRT-Connect behind the same interface, where the package is installed (extra ``[plan]``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.planning.joint.joint_plan import Colliding, JointPlan, JointSpace, length, shortcut

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class OMPLConnect:
    """OMPL's bidirectional tree planner: ``OMPLConnect()(colliding, start, goal, lower, upper) -> JointPlan``.

    OMPL asks for one configuration at a time, so with a batched collision function `RRTConnect` is usually quicker.

    Attributes:
        step: longest edge.
        resolution: largest joint change between two tests along a motion [rad].
        seconds: time before it gives up.
        shortcuts: attempts to shorten the path afterwards (as in `RRTConnect`).
        seed: seed of the random numbers.
    """

    space: ClassVar[str] = "joint"
    step: float = 0.3
    resolution: float = 0.02
    seconds: float = 10.0
    shortcuts: int = 150
    seed: int = 0

    @property
    def name(self) -> str:
        """For tables."""
        return "ompl-rrt-connect"

    def __call__(
        self, colliding: Colliding, start: ArrayLike, goal: ArrayLike, lower: ArrayLike, upper: ArrayLike
    ) -> JointPlan:
        """Plan from start to goal."""
        if not (self.seconds > 0.0 and self.step > 0.0):
            raise InputError(f"OMPLConnect: seconds and step must be > 0, got {self.seconds!r}, {self.step!r}")
        base, geometric = _ompl(self.seed)
        proof = getattr(colliding, "free_until", None)
        space = JointSpace(colliding, start, goal, lower, upper, self.resolution, proof)
        no = space.refused(self.name)
        if no is not None:
            return no
        n = space.n
        vectors, bounds = base.RealVectorStateSpace(n), base.RealVectorBounds(n)
        for k in range(n):
            bounds.setLow(k, float(space.lower[k]))
            bounds.setHigh(k, float(space.upper[k]))
        vectors.setBounds(bounds)
        setup = geometric.SimpleSetup(vectors)
        setup.setStateValidityChecker(lambda s: not bool(space.colliding(np.array([[s[k] for k in range(n)]]))[0]))
        ends = []
        for q in (space.start, space.goal):
            state = vectors.allocState()
            for k in range(n):
                state[k] = float(q[k])
            ends.append(state)
        setup.setStartAndGoalStates(*ends)
        information = setup.getSpaceInformation()
        information.setStateValidityCheckingResolution(self.resolution / float(vectors.getMaximumExtent()))
        planner = geometric.RRTConnect(information)
        planner.setRange(self.step)
        setup.setPlanner(planner)
        solved = bool(setup.solve(self.seconds)) and setup.haveExactSolutionPath()
        if not solved:
            text = f"gave up after {self.seconds} s; this does not prove that there is no path"
            return JointPlan("gave up", np.zeros((0, n)), float("inf"), 0, space.checks, self.name, text)
        states = setup.getSolutionPath().getStates()
        path = np.array([[s[k] for k in range(n)] for s in states])
        path[0], path[-1] = space.start, space.goal
        raw = length(path)
        path = shortcut(space, path, self.shortcuts, np.random.default_rng(self.seed))
        text = f"found: {len(path)} configurations, length {length(path):.4g} (before shortcuts {raw:.4g})"
        return JointPlan("found", path, length(path), len(states), space.checks, self.name, text)


def _ompl(seed: int) -> tuple[Any, Any]:
    try:
        from ompl import base, geometric, util
    except ImportError as error:
        raise NotSupportedError("OMPL is not installed (extra 'plan'); RRTConnect plans without it") from error
    util.setLogLevel(util.LOG_NONE)
    util.RNG.setSeed(seed + 1)  # OMPL takes 0 for "random"
    return base, geometric
