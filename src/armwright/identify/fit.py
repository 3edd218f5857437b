# SPDX-License-Identifier: Apache-2.0
"""From logs to a model: base parameters, friction, drive gains and payloads at once, then bodies that can exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.identify.finish import finished
from armwright.identify.friction import DAHL
from armwright.identify.gains import Gains
from armwright.identify.identified import Identified, Load
from armwright.identify.log import Log
from armwright.identify.suspect import fit_loads

if TYPE_CHECKING:
    from armwright.robot.model import Robot


@names_culprit
def fit(
    logs: Log | Sequence[Log],
    robot: Robot,
    *,
    gains: Gains | None = None,
    payloads: Sequence[Load | None] | None = None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float = DAHL,
    prior: float = 1e-3,
) -> Identified:
    """Identify an arm from logs of its motion and motor currents.

    Args:
        logs: one or several; rows of resting joints are not used.
        robot: the description: its geometry is taken as it is, its inertias as the prior.
        gains: `Known`, `FromTargets` (default where a log has targets) or `Free` (with a load of known mass).
        payloads: one a log: None without, ``Load()`` or ``Load(mass)`` with a payload, estimated log by log. By
            default none carries any, unless they disagree about it: then the heavier get a ``Load()``, with a warning.
        rate: of the even samples [Hz], see `prepare`.
        cutoff: of the low-pass [Hz], None without.
        dahl: δ of the friction's hysteresis [rad].
        prior: weight of the description in the consistency step.

    Returns:
        An `Identified`; what the logs leave open is named there, not numbered.
    """
    many = (logs,) if isinstance(logs, Log) else tuple(logs)
    found, assumed = fit_loads(many, robot, gains, payloads, rate, cutoff, dahl)
    return finished(found, prior, dahl, assumed)
