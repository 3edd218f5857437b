# SPDX-License-Identifier: Apache-2.0
"""Chapter 5 of 004 on a recorded run: the torques of several models against the controller's own, and its gains.

004 closes the loop (2.80) around each model, drives it with the logged targets, and lists mean absolute errors of
position, speed and torque (5.1; Tables 5.1, 5.5, 5.6). The torque it compares with is the controller's target torque: a
model, not a measurement. Feedback linearisation leaves ë + K₁ė + K₀e = 0 whatever the model is (2.74): a loop that
starts on its target stays there, q̂ = q^d. So errors of q and q̇ are how far the arm was from its targets, the same for
every model; and what tells models apart is τ̂ = D q̈^d + C q̇^d + g at the targets.

The gains K₀, K₁ are asked of the same errors (section 5.1), by `identify.pd_gains`, which says whether the data know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics import inverse_dynamics
from armwright.errors import InputError
from armwright.identify.controller_gains import PdGains, pd_gains
from armwright.robot.measured import same_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.lab.experiment.run_data import Data, Weight
    from armwright.robot.model import Robot
    from armwright.types import Array

WITH_ALL = "{}, tool and rotors"
DESCRIBED = "description, tool and rotors"


@dataclass(frozen=True, eq=False)
class ModelTorques:
    """One run: the controller's torque and those of models, and how far the arm was from its targets.

    Attributes:
        t: (T,) [s]. controller: (T, n) its target torque [N m].
        torques: by name (T, n): each model as it is given, rigid bodies alone; those with the arm's own axes also with
            the tool that the sensor weighed and the rotors of the description; at last the description with both.
        q_error, qd_error: (n,) mean absolute distance from the targets [rad], [rad/s].
        gains: of each joint, from these distances; a text where they could not be asked.
    """

    run: str
    t: Array
    controller: Array
    torques: dict[str, Array]
    q_error: Array
    qd_error: Array
    gains: tuple[PdGains | str, ...]

    def mean_error(self, name: str) -> Array:
        """Return the mean absolute difference (n,) of a model's torque from the controller's (5.1) [N m]."""
        return np.asarray(np.abs(self.torques[name] - self.controller).mean(axis=0))


def model_torques(
    data: Data, models: Sequence[tuple[str, Robot]], described: Robot, weight: Weight | None
) -> ModelTorques | None:
    """Compare the torques of models along one run; None where the recording has no targets.

    Args:
        data: the run.
        models: by name, as they are given.
        described: the arm of the description, with its rotors and the tool that was weighed.
        weight: that tool.
    """
    targets, controller = data.targets, data.log.target_torque
    if targets is None or controller is None:
        return None
    motion = (targets.q, targets.qd, targets.qdd)
    torques = {name: np.asarray(inverse_dynamics(arm, *motion, friction=False, rotors=False)) for name, arm in models}
    rotors = rotors_of(described)
    for name, arm in models:
        if rotors is not None and same_axes(arm, described):
            whole = (weight.carried_by(arm) if weight is not None else arm).with_rotors(rotors)
            torques[WITH_ALL.format(name)] = np.asarray(inverse_dynamics(whole, *motion, friction=False))
    torques[DESCRIBED] = np.asarray(inverse_dynamics(described, *motion, friction=False))
    e, ed = data.log.q - targets.q, data.log.qd - targets.qd
    gains = tuple(_gains(data.log.t, e[:, j], ed[:, j]) for j in range(described.n))
    return ModelTorques(
        data.name,
        data.log.t,
        np.asarray(controller),
        torques,
        np.abs(e).mean(axis=0),
        np.abs(ed).mean(axis=0),
        gains,
    )


def rotors_of(robot: Robot) -> Array | None:
    """Return the rotor inertias (n,) of an arm as felt at its joints [kg m²]; None if its gears are coupled."""
    gear = robot.actuators.gear
    if np.any(gear - np.diag(np.diag(gear))):
        return None
    return np.asarray(robot.actuators.rotor_inertia * np.diag(gear) ** 2)


def _gains(t: Array, e: Array, ed: Array) -> PdGains | str:
    try:
        return pd_gains(t, e, ed)
    except InputError as error:
        return f"undetermined: {error}"


def gains_verdict(gains: Sequence[PdGains | str]) -> str:
    """Return in a sentence what the data say of the controller's gains."""
    known = [
        j for j, found in enumerate(gains, start=1) if isinstance(found, PdGains) and found.verdict == "determined"
    ]
    if not known:
        return f"undetermined in all {len(gains)} joints: a small tracking error says nothing of gains, nor of models"
    rest = len(gains) - len(known)
    named = ", ".join(map(str, known))
    return f"determined in joint{'s' if len(known) > 1 else ''} {named}, undetermined in the other {rest}"
