# SPDX-License-Identifier: Apache-2.0
"""What an alarm was, judged after the arm has backed off: a contact, a load, friction, or none of them.

Backing off takes the arm out of a contact, not out of a load. So the question is what is left afterwards. Stretches of
the way back and of the rest after it are compared with four explanations, each a normal distribution of the stacked
means e = r̄ − H̄ θ̂ (k·n,):

    contact    it went:        S = H̄ P H̄' + C
    load       it came along:  S + H̄_l Q_l H̄_l',   Q_l the prior of a load
    friction   the same with the friction of every joint
    unknown    it stayed, and neither explains it:  S + diag(scale²)

with C the noise and what the columns do not span, one offset for all stretches. The evidence of each is its density at
e: an explanation that could have been anything pays for it. Evidence at the alarm itself cannot tell a load from a
push: at 40 ms a load is a contact for anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.doubt.model_errors import LOAD, weight_scale
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.contact.doubt.doubt_filter import DoubtFilter
    from armwright.types import Array

CAUSES = ("contact", "load", "friction", "unknown")
STRETCH = 15
"""Samples of a stretch: 0.3 s."""
UNKNOWN_SHARE = 0.2
"""Size of a rest that nothing explains, as a share of the weight's torque on a joint."""


class Cause(NamedTuple):
    """What an alarm of one arm was.

    Attributes:
        name: of `CAUSES`. shares: posterior probability of each, all equally likely before.
        load, load_std: by how much the load has changed, if it has, and its deviation [kg].
    """

    name: str
    shares: dict[str, float]
    load: float
    load_std: float

    def said(self) -> str:
        """Return it in words."""
        if self.name == "load":
            more = "more" if self.load > 0.0 else "less"
            return f"a load of {abs(self.load):.1f} ± {1.96 * self.load_std:.1f} kg {more} at the tool explains it"
        words = {"contact": "it went when the arm backed off: a contact", "friction": "friction explains it"}
        return words.get(self.name, "it stayed when the arm backed off, and neither load nor friction explains it")


def alarm_causes(doubt: DoubtFilter, stretches: int = 2, samples: int = STRETCH) -> list[Cause]:
    """Judge what is left in the last samples of every arm of a filter, which must not have learned from them.

    Args:
        doubt: told all samples until now; the last ones are the way back and the rest after it.
        stretches: how many.
        samples: of each.
    """
    parts = doubt.stretches(stretches, samples)
    p, k = doubt.layout.size, len(parts)
    out = []
    for arm in range(doubt.count):
        H = np.concatenate([part[1][arm] for part in parts])
        e = np.concatenate([part[0][arm] for part in parts]) - H @ doubt.theta[arm]
        noise = np.concatenate([part[2][arm] + doubt.unspanned.white**2 / samples for part in parts])
        offset = np.tile(np.diag(doubt.unspanned.offset**2), (k, k))
        S = H @ doubt.P[arm, :p, :p] @ H.T + np.diag(noise) + offset
        out.append(_judged(doubt, e, H, S, k))
    return out


def _judged(doubt: DoubtFilter, e: Array, H: Array, S: Array, k: int) -> Cause:
    layout, prior = doubt.layout, doubt.prior
    load = slice(0, LOAD)
    rub = slice(layout.coulomb.start, layout.viscous.stop)
    scale = np.tile((UNKNOWN_SHARE * weight_scale(doubt.robot)) ** 2, k)
    carried = H[:, load] @ prior[load, load] @ H[:, load].T
    covariances = (S, S + carried, S + H[:, rub] @ prior[rub, rub] @ H[:, rub].T, S + np.diag(scale))
    logs = np.array([_log_density(e, C) for C in covariances])
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    gain = prior[load, load] @ H[:, load].T @ np.linalg.inv(S + carried)
    change = gain @ e
    spread = prior[load, load] - gain @ H[:, load] @ prior[load, load]
    best = int(np.argmax(shares))
    named = dict(zip(CAUSES, shares.tolist(), strict=True))
    return Cause(CAUSES[best], named, float(change[0]), float(np.sqrt(max(spread[0, 0], 0.0))))


def _log_density(e: Array, C: Array) -> float:
    sign, size = np.linalg.slogdet(C)
    if sign <= 0.0:
        raise InputError("alarm cause: a covariance is not positive; the filter's samples are not finite")
    return float(-0.5 * (e @ np.linalg.solve(C, e) + size))
