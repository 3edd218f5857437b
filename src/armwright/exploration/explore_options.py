# SPDX-License-Identifier: Apache-2.0
"""Options of an exploration: small frozen objects that both kinds of run share.

`Sensing`, `Budget` and `ControlLoop` say how contacts are felt, when to give up, and how the arm is driven. `GridTask`
and `ArmTask` say what is to be done. `grid_task` and `arm_task` complete them from the world's file; what is missing
there is refused in a sentence that names what to give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.planning.grid.grid_map import GridMap, grid_map
from armwright.world.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.contact.monitor import Monitor
    from armwright.control.law import Law
    from armwright.robot.model import Robot
    from armwright.simulation.drives import Drive
    from armwright.simulation.friction_models import FrictionModel
    from armwright.simulation.sensors import JointSensors
    from armwright.types import Traced
    from armwright.world.world import ToolTask

Reaction = Literal["back off", "stop", "retract", "slide"]
Touching = Literal["tool", "links"]
Cell = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Sensing:
    """Options: how a contact is felt.

    Attributes:
        observer: what gives ``tau_ext``: a name of `armwright.choices.OBSERVERS` ("closed-loop" is the default on
            grids, "momentum" with the whole arm), or monitors.
        detector: what raises the alarm: a name of `armwright.choices.DETECTORS` ("norm", ‖F̂‖ > 12 N, is the default
            with "closed-loop" on grids; "adaptive" otherwise), or a monitor. All but "norm" learn their thresholds from
            contact-free motion first.
        sensors: joint sensors, as in `simulate`.
        learn_seed: of the motions that thresholds are learned from; the run's seed by default. Runs that share it (and
            arm, map, pace, …) learn once.
        load: "estimate": an alarm that a wrong model may explain (an unknown load, missing friction) is tried before
            the world is blamed; "none": the model is believed.
    """

    observer: str | Monitor | Sequence[Monitor] | None = None
    detector: str | Monitor | None = None
    sensors: JointSensors | None = None
    learn_seed: int | None = None
    load: Literal["estimate", "none"] = "estimate"

    def __post_init__(self) -> None:
        """Check the word."""
        if self.load not in ("estimate", "none"):
            raise InputError(f"sensing: load must be 'estimate' or 'none', got {self.load!r}")


@dataclass(frozen=True)
class Budget:
    """Options: when a run is given up, and what counts as arrived.

    Attributes:
        duration: [s] after which it is given up.
        contacts: after which it is given up.
        tolerance: distance of the tool to the goal that counts as arrived [m].
    """

    duration: float = 120.0
    contacts: int = 200
    tolerance: float = 3e-3

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("duration", "tolerance"):
            _positive(name, getattr(self, name))
        if isinstance(self.contacts, bool) or self.contacts != int(self.contacts) or self.contacts < 1:
            raise InputError(f"budget: contacts must be a whole number ≥ 1, got {self.contacts!r}")


@dataclass(frozen=True, eq=False)
class ControlLoop:
    """Options: how the arm is driven and simulated.

    Attributes:
        law: the controller; computed torque by default.
        model: the controller's and the observer's own model of the arm.
        drive, friction: as in `simulate`.
        rate: control ticks per second. substeps: RK4 steps per tick.
        continuous: the law acts all the time; by default only with the closed-loop estimate and without sensors, else
            the torque is held between ticks.
        slots: number of upright cylinders that the compiled loop has room for, so that worlds with fewer share it.
    """

    law: Law | None = None
    model: Robot | None = None
    drive: Drive | None = None
    friction: FrictionModel | None = None
    rate: float = 500.0
    substeps: int = 5
    continuous: bool | None = None
    slots: int | None = None


@dataclass(frozen=True, eq=False)
class GridTask:
    """The tool goes from cell to cell of a map; what is None comes from the world's file.

    Attributes:
        start, goal: cells, 2-D or 3-D.
        where: the map to begin with.
        near: configuration (n,) that chooses the branch of inverse kinematics; the run begins there if its tool is in
            the start cell.
        rotation: tool orientation (3, 3), kept throughout; that of `near` by default.
        contact: what touches: the "tool" point, or all "links" as capsules. The cell of the tool then stands for the
            whole configuration.
        pace: seconds per cell.
        kinematics: the arm that FK, IK and the contact see, where it differs from the plant's dynamics.
    """

    start: Cell | None = None
    goal: Cell | None = None
    where: GridMap | None = None
    near: Any = None
    rotation: Any = None
    contact: Touching = "tool"
    pace: float = 0.5
    kinematics: Robot | None = None

    def __post_init__(self) -> None:
        """Check the words and numbers."""
        if self.contact not in ("tool", "links"):
            raise InputError(f"contact must be 'tool' or 'links', got {self.contact!r}")
        _positive("pace", self.pace)


@dataclass(frozen=True, eq=False)
class ArmTask:
    """The whole arm goes from configuration to configuration; what is None comes from the world's file.

    Attributes:
        start: configuration (n,).
        goal: configuration (n,), tool pose (4, 4) or tool position (3,), solved by inverse kinematics.
        speed: pace of the arm's fastest part [m/s].
        margin: distance that the whole arm keeps to felt places [m].
    """

    start: ArrayLike | None = None
    goal: ArrayLike | None = None
    speed: float = 0.25
    margin: float = 0.015

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, least in (("speed", 0.0), ("margin", 1e-4)):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > least):
                raise InputError(f"explore: {name} must be finite and above {least:g}, got {value}")


def _positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(f"explore: {name} must be positive and finite, got {value}")


def map_of(task: ToolTask) -> GridMap:
    """Return the empty map that a world's file describes."""
    return grid_map(task.cells, task.origin, task.size, first=1, ring=task.ring)


def grid_task(task: GridTask, arm: Robot, world: World | Callable[[Traced], Traced]) -> GridTask:
    """Return the task with map, cells, configuration and orientation.

    Raises:
        InputError: neither the task nor the world's file says it; the message names what to give.
    """
    known = world.tool_task if isinstance(world, World) else None
    own_map = task.where is not None
    where = task.where if own_map else map_of(known) if known is not None else None
    if where is None:
        raise InputError(_lacks(world, "no map of its own", arm, "a map (where), start, goal and near"))
    for_arm = known is not None and arm.name in known.robots
    if task.near is None and not for_arm:
        made = f"a configuration to start near for {' and '.join(known.robots)} only" if known else "none to start near"
        raise InputError(
            _lacks(world, made, arm, f"near, {arm.n} joint coordinates of {arm.name!r} with the tool near the start")
        )
    near = known.near if known is not None and task.near is None else task.near
    q = np.asarray(near, dtype=np.float64)
    if q.shape != (arm.n,) or not np.isfinite(q).all():
        raise InputError(f"explore: near must hold {arm.n} finite numbers for robot {arm.name!r}, got shape {q.shape}")
    there = fk(task.kinematics or arm, q)
    start, goal = task.start, task.goal
    if known is not None and not own_map:
        goal = known.goal if goal is None else goal
        if start is None and task.near is None:  # another configuration begins where its tool is
            start = known.start
    if start is None:
        start = tuple(int(c) for c in where.grid.cell(there[:3, 3]))
    if goal is None:
        raise InputError("explore: say which goal cell; the map (where) is one of your own")
    rotation = task.rotation
    if rotation is None:
        rotation = known.rotation if known is not None and for_arm and known.rotation else there[:3, :3]
    return replace(task, start=start, goal=goal, where=where, near=q, rotation=np.asarray(rotation, dtype=np.float64))


def arm_task(task: ArmTask, arm: Robot, world: World) -> ArmTask:
    """Return the task with start and goal.

    Raises:
        InputError: neither the task nor the world's file says it.
    """
    if task.start is not None and task.goal is not None:
        return task
    known = world.task
    if known is None or known.robot != arm.name:
        made = "no start and goal of its own" if known is None else f"start and goal for {known.robot!r} only"
        raise InputError(_lacks(world, made, arm, f"start and goal, configurations of {arm.n} numbers"))
    return replace(
        task,
        start=known.start if task.start is None else task.start,
        goal=known.goal if task.goal is None else task.goal,
    )


def made_for(world: World | Callable[[Traced], Traced], arm: Robot) -> bool:
    """Return whether a world has a task for the whole of this arm."""
    return isinstance(world, World) and world.task is not None and world.task.robot == arm.name


def _lacks(world: World | Callable[[Traced], Traced], what: str, arm: Robot, give: str) -> str:
    name = f"world {world.name!r}" if isinstance(world, World) else "a force function"
    return f"explore: {name} has {what}, and the robot is {arm.name!r}; give {give}"
