# SPDX-License-Identifier: Apache-2.0
"""Whether cancelling dry friction did more harm than good: the same run once more, by the same law without it.

A law that cancels friction it knows should track better than one that knows none. Where it does not, the friction of
the model is too large, or the law cancels what has turned round by the time it acts. Only a run with Coulomb friction
in the law's model that tracks badly is worth the second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.law import with_friction
from armwright.errors import ArmwrightError, tell_user
from armwright.simulation.rows_to_recording import recording_of

if TYPE_CHECKING:
    from armwright.simulation.session import Session
    from armwright.types import Array

BAD_ERROR = 5e-3  # rad (m): below it the tracking is good enough not to be looked at
CLEARLY_WORSE = 1.1  # times the error without cancelling


def note_worse_tracking(session: Session, duration: float, settings: Mapping[str, Any]) -> None:
    """Run the law without its friction cancelling too, and say in the outcome if that tracks better.

    Single simulations of laws with a choice of friction (`Law.cancelling`), that ran to their end with everything kept.

    Args:
        session: the run that has ended.
        duration: its length [s].
        settings: of its recording.
    """
    parts = session.parts
    model = parts.lanes.tree if parts.model_tree is None else parts.model_tree
    bare = None if parts.law.friction == "none" else with_friction(parts.law, "none")
    kept = session.log.first == 0 and session.outcome == "end" and session.following[0] == 0.0
    if bare is None or session.batch or session.called or not kept or not np.any(model.coulomb != 0.0):
        return
    error = _errors(session, settings)
    if error.max() < BAD_ERROR:
        return
    twin = type(session)(replace(parts, law=bare), count=1, every=session.every, seeds=session.seeds)
    twin.advises = False
    twin.follow(session.following[1])
    twin.start(session.log.rows()[:, 0, 1 : 1 + parts.size])
    try:
        if twin.run(duration) != "end":
            return
    except ArmwrightError:
        return  # without cancelling it does not even run
    without = _errors(twin, settings)
    worse = np.where(error >= np.maximum(CLEARLY_WORSE * without, BAD_ERROR), error - without, 0.0)
    if not np.any(worse > 0.0):
        return
    kind, k = np.unravel_index(int(np.argmax(worse)), worse.shape)
    name, how = session.robot.joints[int(k)].name, ("rms", "at most")[int(kind)]
    words = (
        f"cancelling friction ({parts.law.friction}) made the tracking worse: joint {name} is off by "
        f"{error[kind, k]:.3g} {how}, {without[kind, k]:.3g} without"
    )
    session.outcome = f"end; warning: {words}"
    better = "none" if parts.law.friction == "reference" else "reference"
    tell_user(f'{words}; give the law friction="{better}"')


def _errors(session: Session, settings: Mapping[str, Any]) -> Array:
    """Root of the mean square and largest of |q − q_d| (2, n) [rad or m]."""
    run: Any = recording_of(session, settings)
    off = np.abs(run["q"] - run["q_ref"])
    return np.stack([np.sqrt(np.mean(off**2, axis=0)), off.max(axis=0)])
