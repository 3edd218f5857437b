# SPDX-License-Identifier: Apache-2.0
"""Contact where an external torque leaves what friction can hide (at rest) or what the model gets wrong (in motion).

A resting joint holds anything within its Coulomb band c + l |g(q)| without a trace in its current's mean, so only more
than that is a contact, and only if it lasts: an arm that stops within one sample shows an impulse that its currents
miss. A moving joint's friction is known, and the band is a multiple of the residual that contact-free
motion has shown. Between rest and motion the wider band holds until the observer has settled.

A joint that has just stopped is still taken to rub against its last motion. If its friction turns round meanwhile, as
after a push that bent the arm, the residual has the sign of that motion and up to twice the size: there the band is
twice as wide. A wall in the way gives the other sign.

An alarm ends when no joint shows more than its friction can hold by itself: a servo leaves the friction of a resting
joint near the edge c + l |g(q)| of what it can be, touched or not. So an alarm ends below a share of what the band adds
to that edge, not of the band.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.joint_threshold import worst
from armwright.contact.monitor import Monitor
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Outputs, Scalar, Traced

SETTLING_SECONDS = 0.3
"""Time [s] without rest after which a joint counts as moving."""
BRIEF = 0.025
"""Time [s] for which a moving joint's torque must stay outside its band: the joint may have stopped meanwhile."""
LASTING = 0.08
"""Time [s] for which a resting joint's torque must stay outside its band to be a contact."""
ALARM_HOLD_SECONDS = 0.2
"""Time [s] below `BAND_RELEASE_SHARE` after which an alarm ends."""
BAND_RELEASE_SHARE = 0.6
"""Share of a band, beyond what stiction can hold, below which an alarm begins to end."""


def _detect(
    arm: Robot | Tree,
    dt: float,
    q: Traced,
    tau_ext: Traced,
    resting: Traced,
    side: Traced,
    motion: Traced,
    coulomb: Traced,
    load: Traced,
    factor: Scalar,
    going: Traced,
    over: Traced,
    quiet: Traced,
    on: Traced,
) -> Outputs:
    going = np.where(resting > 0.0, 0.0 * going, going + dt)
    hanging = gravity_torque(arm, q)
    bands, released, n = [], [], len(motion)
    for j in range(n):
        stiction = coulomb[j] + load[j] * np.abs(hanging[j])
        turned = np.maximum(side[j] * np.sign(tau_ext[j]), 0.0 * side[j])
        stiction = stiction * np.where(resting[j] > 0.0, 1.0 + turned, 1.0 + 0.0 * turned)
        still = np.maximum(factor * stiction, motion[j])
        moves = going[j] > SETTLING_SECONDS
        bands.append(np.where(moves, motion[j], still))
        held = np.where(moves, 0.0 * still, np.minimum(stiction, still))
        released.append(held + BAND_RELEASE_SHARE * (bands[j] - held))
    band = np.array(bands)
    shares = np.abs(tau_ext) / band
    level = worst(shares)
    over = np.where(shares > 1.0, over + dt, 0.0 * over)
    needed = [np.where(going[j] > SETTLING_SECONDS, BRIEF, LASTING) for j in range(n)]
    lasting = worst(np.array([np.where(over[j] > needed[j], shares[j], 0.0) for j in range(n)]))
    loudest = worst(np.abs(tau_ext) / np.array(released))
    quiet = np.where(loudest < 1.0, quiet + dt, 0.0 * quiet)
    on = np.where(lasting > 1.0, 0.0 * on + 1.0, np.where(quiet > ALARM_HOLD_SECONDS, 0.0 * on, on))
    alarm = on[0] - 0.5
    return {"band": band, "level": level, "alarm": alarm, "going": going, "over": over, "quiet": quiet, "on": on}


@names_culprit
def friction_band_detector(
    motion: ArrayLike, coulomb: ArrayLike, load: ArrayLike, *, rest_factor: float = 1.4
) -> Monitor:
    """Detect contacts against the Coulomb band at rest and a learned band in motion; reads a geared observer.

    Args:
        motion: (n,) band of moving joints [N m].
        coulomb: (n,) Coulomb friction [N m].
        load: (n,) friction per load [-].
        rest_factor: band of resting joints, in Coulomb bands.

    Outputs: band (n,) [N m]; level, the largest |tau_ext|/band; alarm, +0.5 during a contact, else −0.5.
    """
    parts = {"motion": motion, "coulomb": coulomb, "load": load}
    values = {label: np.array(value, dtype=np.float64) for label, value in parts.items()}
    if not all(np.isfinite(v).all() and v.ndim == 1 and (v >= 0.0).all() for v in values.values()):
        raise InputError("friction band: motion, coulomb and load must be (n,), finite and ≥ 0")
    if not (values["motion"] > 0.0).all() or not rest_factor > 0.0:
        raise InputError("friction band: motion and rest_factor must be > 0")
    return Monitor(
        "friction band",
        _detect,
        {**values, "factor": float(rest_factor)},
        {"going": 0.0, "over": 0.0, "quiet": [0.0], "on": [0.0]},
        ("band", "level", "alarm"),
        friction_band_detector.__doc__ or "",
    )
