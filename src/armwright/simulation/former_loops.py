# SPDX-License-Identifier: Apache-2.0
"""`prepare` and `live` as they were called before there was `Loop`; they go with the next release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from armwright.arguments import names_culprit
from armwright.simulation.control_loop import Loop, LoopOptions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.control.law import Law
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation.live_loop import Live
    from armwright.simulation.session import Session


def _moved(words: str) -> None:
    warnings.warn(words, DeprecationWarning, stacklevel=4)


@names_culprit
def prepare(
    robot: Robot | Sequence[Robot],
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    **options: Any,
) -> Session:
    """Return ``Loop.of(robot, law, …).session(reference=reference, …)``."""
    _moved("simulation.prepare(robot, law, reference, …) is now Loop.of(robot, law, …).session(reference=reference, …)")
    parts = {name: options.pop(name) for name in LoopOptions.__annotations__ if name in options}
    return Loop.of(robot, law, **parts).session(reference=reference, **options)


@names_culprit
def live(
    robot: Robot, law: Law | Callable[..., Any], *, q0: ArrayLike, may_become: Sequence[Robot] = (), **options: Any
) -> Live:
    """Return ``Loop.of(robot, law, …).live(q0, …)``; 500 ticks per second of 4 steps, semi-implicit, by default."""
    _moved("simulation.live(robot, law, q0=q0, …) is now Loop.of(robot, law, …).live(q0, …)")
    check_step = options.pop("check_step", True)
    options = {"rate": 500.0, "substeps": 4, "integrator": "semi-implicit", **options}
    return Loop.of(robot, law, **options).live(q0, may_become=may_become, check_step=check_step)
