# SPDX-License-Identifier: Apache-2.0
"""What an arm is to learn: a loop, how an episode begins, what is seen, what it is worth, when it ends.

A task works on all lanes at once, in NumPy; `TaskLanes` runs it. Environments of Gymnasium are wrapped around that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from armwright.envs.lane_simulation import LaneSimulation
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.simulation.control_loop import Loop
    from armwright.types import Array

MOST_ARMS_LEARNING = 100_000  # of one vector environment: their memory stays below a gigabyte


class StepWorth(NamedTuple):
    """What a step was worth: reward (B,), which episodes ended by it (B,), and figures (B,) by name."""

    reward: Array
    ended: NDArray[np.bool_]
    figures: dict[str, Array]


class LearningTask(Protocol):
    """A task.

    Attributes:
        name: for the registry. loop: what runs, with the gain "action" (1, actions) of its law.
        ticks: control ticks of one step. horizon: steps of an episode at most.
        actions, observations: how many numbers; actions are in [−1, 1].
        watched: slots that are recorded at every tick for `judge`.
    """

    name: str
    loop: Loop
    ticks: int
    horizon: int
    actions: int
    observations: int
    watched: tuple[str, ...]

    def begin(self, rng: np.random.Generator) -> dict[str, Array]:
        """Numbers of a new episode by name: those of the loop's slots ("x", gains, inputs), and the task's own."""

    def look(self, lanes: TaskLanes) -> Array:
        """Observations (B, observations)."""

    def judge(self, lanes: TaskLanes, watched: dict[str, Array]) -> StepWorth:
        """What the step that has just been made was worth."""


class TaskLanes:
    """Episodes of a task in lanes; none begins anew by itself.

    Attributes:
        task, count: what, and how many. simulation: the lanes.
        numbers: by name (B, size), what episodes have begun with and what the task keeps.
        steps: of the present episodes (B,).
    """

    def __init__(self, task: LearningTask, count: int) -> None:
        """Compile the task's loop for `count` lanes."""
        if not 1 <= count <= MOST_ARMS_LEARNING:
            raise InputError(f"environments: count must be 1 to {MOST_ARMS_LEARNING}, got {count}")
        self.task, self.count = task, count
        self.simulation = LaneSimulation(task.loop, count, task.ticks, watched=task.watched)
        self._slots = self.simulation.slots
        self.numbers: dict[str, Array] = {}
        self.steps = np.zeros(count, dtype=np.int64)

    @property
    def x(self) -> Array:
        """Copy of the states (B, size), q and qd first."""
        return self.simulation.get("x")

    def begin(self, lanes: NDArray[np.int64], rngs: Sequence[np.random.Generator]) -> None:
        """Begin episodes in these lanes (k,), each with its own generator; the others go on."""
        rows = [self.task.begin(rng) for rng in rngs]
        numbers = {name: np.array([np.ravel(row[name]) for row in rows], dtype=np.float64) for name in rows[0]}
        self.simulation.put(lanes, {name: value for name, value in numbers.items() if name in self._slots})
        for name, value in numbers.items():
            kept = self.numbers.setdefault(name, np.zeros((self.count, value.shape[1])))
            kept[lanes] = value
        self.steps[lanes] = 0

    def look(self) -> Array:
        """Observations (B, observations)."""
        return self.task.look(self)

    def step(self, actions: Array) -> tuple[StepWorth, NDArray[np.bool_]]:
        """Act (B, actions) for one step; what it was worth, and which episodes have reached their horizon (B,)."""
        wanted = (self.count, self.task.actions)
        if np.shape(actions) != wanted:
            raise InputError(f"{self.task.name}: actions must have shape {wanted}, got {np.shape(actions)}")
        if not np.isfinite(actions).all():
            raise InputError(f"{self.task.name}: actions must be finite")
        self.simulation.set("gain_action", np.clip(actions, -1.0, 1.0))
        watched = self.simulation.run()
        self.steps += 1
        judged = self.task.judge(self, watched)
        lost: Any = ~np.isfinite(self.x).all(axis=1)
        if lost.any():  # an arm that has flown apart ends its own episode alone, and is seen where it began
            self.simulation.put(np.flatnonzero(lost), {"x": self.numbers["x"][lost]})
            reward = np.where(lost, -self.task.horizon, judged.reward)
            judged = judged._replace(reward=reward, ended=judged.ended | lost)
        return judged, self.steps >= self.task.horizon
