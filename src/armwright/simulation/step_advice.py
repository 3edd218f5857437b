# SPDX-License-Identifier: Apache-2.0
"""What would run where a loop was refused: options of `Loop`, each tried before it is offered.

A limit that comes from a linear loop is right near where it was linearised. Contacts, dry friction and drives are not
linear, so nobody is told to take another step, rate or integrator before a trial with it has passed the same checks and
has run for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.law import with_friction
from armwright.errors import ArmwrightError

if TYPE_CHECKING:
    from armwright.motion import Trajectory
    from armwright.motion.trajectory import Reference
    from armwright.simulation.running_loop import RunningLoop
    from armwright.types import Array

TRIAL_TIME = 0.1  # s of simulated time: hundreds of time constants of what is too fast for a step
TRIAL_TICKS = 400  # at most
STEP_MARGIN = 1.1  # a step this much below its limit: the limit moves with the state
TRIAL_SPEED = 100.0  # rad/s (m/s): an arm that reaches it in a trial runs off


@dataclass(frozen=True)
class Remedy:
    """Options of `Loop` that should run.

    Attributes:
        words: as they are offered. options: fields of `Loop`.
        friction: another speed at which the law cancels friction.
    """

    words: str
    options: dict[str, Any]
    friction: str | None = None


def more_substeps(running: RunningLoop, limit: float) -> int:
    """Integrator steps per tick that keep a step below its limit [s]."""
    return int(np.ceil(STEP_MARGIN * running.parts.period / limit))


def higher_rate(limit: float) -> float:
    """A rate whose period is below its limit [s], in two digits that anyone can remember [1/s]."""
    rate = STEP_MARGIN / limit
    digit = 10.0 ** (np.floor(np.log10(rate)) - 1)
    return float(np.ceil(rate / digit) * digit)


def tried(
    running: RunningLoop,
    remedies: Sequence[Remedy],
    start: tuple[Array, Trajectory | Reference],
    sound: Callable[[RunningLoop], bool],
) -> str:
    """Offer the remedies that ran, or say that none did.

    Args:
        running: the loop that was refused.
        remedies: what may help.
        start: states x (B, size) and the reference from there on.
        sound: the check that the loop was refused by.
    """
    good = [remedy.words for remedy in remedies if runs(running, remedy, start, sound)]
    if good:
        return f"{', or '.join(good)} (tried)"
    names = ", ".join(remedy.words for remedy in remedies)
    return f"nothing simple helps ({names}: tried in vain); look at the gains and the inertia of the joint"


def runs(
    running: RunningLoop,
    remedy: Remedy,
    start: tuple[Array, Trajectory | Reference],
    sound: Callable[[RunningLoop], bool],
) -> bool:
    """Whether the loop runs with a remedy: it passes the check, and no joint runs off within `TRIAL_TIME`."""
    parts: Any = running.parts
    law = parts.law if remedy.friction is None else with_friction(parts.law, remedy.friction)
    if law is None:
        return False
    try:
        loop = replace(parts, law=law, stop_on_alarm=False, **remedy.options)
        session: Any = type(running)
        trial = session(loop, count=running.count, every=1, seeds=running.seeds)
        trial.advises = False  # a trial that fails gives no advice of its own
        trial.follow(start[1])
        trial.start(start[0])
        if not sound(trial):
            return False
        trial.run(loop.period * min(TRIAL_TICKS, max(1, round(TRIAL_TIME / loop.period))))
    except (ArmwrightError, FloatingPointError, np.linalg.LinAlgError):
        return False
    n = parts.n
    moving = np.abs(np.asarray(trial.state)[:, n : 2 * n])
    return bool(
        np.isfinite(moving).all() and moving.max() < max(TRIAL_SPEED, 2.0 * np.abs(start[0][:, n : 2 * n]).max())
    )
