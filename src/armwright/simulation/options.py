# SPDX-License-Identifier: Apache-2.0
"""The keyword options of `simulate`, for type checkers; its docstring says what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from armwright.contact.monitor import Monitor
    from armwright.robot.model import Robot
    from armwright.simulation.drives import Drive
    from armwright.simulation.friction import FrictionModel
    from armwright.simulation.sensors import JointSensors
    from armwright.types import Traced

AtLimits = Literal["record", "clamp", "stop"]


class LoopOptions(TypedDict, total=False):
    """What `simulate` takes by name besides `count`."""

    q0: ArrayLike | None
    qd0: ArrayLike | None
    rate: float
    substeps: int
    integrator: str
    continuous: bool
    model: Robot | None
    drive: Drive | None
    friction: FrictionModel | None
    sensors: JointSensors | None
    wrench: Callable[..., Traced] | ArrayLike | None
    external: Callable[..., Traced] | None
    events: Mapping[str, Callable[..., Traced]] | None
    monitors: Sequence[Monitor]
    limits: AtLimits
    every: int
    seed: int | Sequence[int]
    check_step: bool
    save: str | Path | None
    keep: float | None
    progress: Callable[[float], None] | None
