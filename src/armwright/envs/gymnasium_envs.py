# SPDX-License-Identifier: Apache-2.0
"""Tasks as Gymnasium's environments: one arm, or many in the lanes of one compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from armwright.envs.learning_task import TaskLanes
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.envs.learning_task import LearningTask
    from armwright.types import Array


def spaces_of(task: LearningTask) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Spaces of observations and actions of one arm."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (task.observations,), np.float64)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float64)


class ArmEnv(gymnasium.Env):
    """One arm at a task.

    Attributes:
        lanes: the episode under way. observation_space, action_space: float64; actions in [−1, 1].
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self, task: LearningTask) -> None:
        """Compile the task for one arm."""
        self.lanes = TaskLanes(task, 1)
        self.observation_space, self.action_space = spaces_of(task)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; there are no options."""
        super().reset(seed=seed)
        self.lanes.begin(np.zeros(1, dtype=np.int64), [self.np_random])
        return self.lanes.look()[0], {}

    def step(self, action: ArrayLike) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Act (n,) for one step."""
        judged, late = self.lanes.step(np.asarray(action, dtype=np.float64)[None])
        figures = {name: value[0] for name, value in judged.figures.items()}
        ended = bool(judged.ended[0])
        return self.lanes.look()[0], float(judged.reward[0]), ended, bool(late[0]) and not ended, figures


class ArmVectorEnv(VectorEnv):
    """Many arms at a task, in the lanes of one compiled loop; an episode that has ended begins anew in the next step.

    With seed s arm k has the episodes of an `ArmEnv` of seed s + k.

    Attributes:
        lanes: the episodes under way. num_envs: arms. The spaces are as Gymnasium has them.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, task: LearningTask, num_envs: int) -> None:
        """Compile the task for `num_envs` arms."""
        self.lanes, self.num_envs = TaskLanes(task, num_envs), num_envs
        self.single_observation_space, self.single_action_space = spaces_of(task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._random = [seeding.np_random(None)[0] for _ in range(num_envs)]
        self._over = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin all episodes, or those of ``options={"reset_mask": (num_envs,) of bool}``."""
        mask: Any = np.ones(self.num_envs, dtype=np.bool_)
        if options and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
                raise InputError(f"reset: reset_mask must be ({self.num_envs},) of bool, got {mask.dtype} {mask.shape}")
        one = seed is None or isinstance(seed, int | np.integer)
        seeds: Any = [None if seed is None else int(seed) + k for k in range(self.num_envs)] if one else list(seed)  # type: ignore[arg-type]
        if len(seeds) != self.num_envs:
            raise InputError(f"reset: {self.num_envs} arms need as many seeds, got {len(seeds)}")
        for k in np.flatnonzero(mask):
            if seeds[k] is not None:
                self._random[k] = seeding.np_random(seeds[k])[0]
        self._begin(np.flatnonzero(mask))
        return self.lanes.look(), {}

    def _begin(self, which: NDArray[np.int64]) -> None:
        if len(which):
            self.lanes.begin(which, [self._random[k] for k in which])
            self._over[which] = False

    def step(self, actions: ArrayLike) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act (num_envs, n) for one step; arms whose episode ended in the last step begin anew instead."""
        begun = self._over.copy()
        judged, late = self.lanes.step(np.asarray(actions, dtype=np.float64))
        self._begin(np.flatnonzero(begun))
        reward = np.where(begun, 0.0, judged.reward)
        ended = judged.ended & ~begun
        late = late & ~ended & ~begun
        self._over = ended | late
        infos: dict[str, Any] = {}
        for name, value in judged.figures.items():
            infos |= {name: np.where(begun, 0, value), f"_{name}": ~begun}
        return self.lanes.look(), reward, ended, late, infos
