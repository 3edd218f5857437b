# SPDX-License-Identifier: Apache-2.0
"""Which accelerations come of it where a motor cannot give its torque (001 §3.11, steps 5 and 6 of Algorithm 1).

A rule takes the motor side of one cycle, the wished accelerations and the torques at hand, and says what really
happens. The rule that the document prints ("if i_ui = 1 then q̈_i takes the new value") is in `armwright.studies.erfd`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.spatial.linear import solve_from_last

if TYPE_CHECKING:
    from armwright.dynamics.actuator_side import ActuatorSide
    from armwright.types import Traced


class Limited(NamedTuple):
    """q̈ that happens, motor torques applied and wanted, 1.0 where a motor was at its limit; each (n,)."""

    qdd: Any
    torque: Any
    wanted: Any
    saturated: Any


Rule = Callable[["ActuatorSide", Any, Any], Limited]


def full(side: ActuatorSide, qdd: Traced, limit: Any) -> Limited:
    """Clip the torques and take every acceleration from the clipped system: the limits hold always."""
    wanted = side.torque(qdd)
    over = np.abs(wanted) > limit
    torque = np.clip(wanted, -limit, limit)
    happens = side.accelerations(torque)
    return Limited(np.where(np.any(over), happens, qdd), torque, wanted, np.where(over, 1.0, 0.0))


def partitioned(side: ActuatorSide, qdd: Traced, limit: Any) -> Limited:
    """Keep the wish of every axis whose motor can follow; solve for the others with their torques at the limit.

    With S the saturated motors and U the rest, H_SS q̈_S = (±M − u′)_S − H_SU q̈_U; motors of U that this drives beyond
    their limit join S, and again, n times at most. Motor i is taken to drive axis i before all others.
    """
    n = len(qdd)
    wanted = side.torque(qdd)
    held, torque, happens = wanted, wanted, qdd
    at_limit = np.abs(wanted) > limit
    eye = np.eye(n)
    for _ in range(n):
        held = np.where(at_limit, np.where(held > 0.0, limit, -limit), held)
        rows = [np.where(at_limit[i], side.H[i], eye[i]) for i in range(n)]
        happens = solve_from_last(np.array(rows), np.where(at_limit, held - side.u, qdd))
        needed = side.torque(happens)
        torque = np.where(at_limit, held, needed)
        held = torque
        at_limit = np.logical_or(at_limit, np.abs(needed) > limit * (1.0 + 1e-12))
    bound = np.any(np.abs(wanted) > limit)
    return Limited(np.where(bound, happens, qdd), np.where(bound, torque, wanted), wanted, np.where(at_limit, 1.0, 0.0))


def unlimited(side: ActuatorSide, qdd: Traced, limit: Any) -> Limited:
    """Take the wish as it is, and flag what the motors could not give: the program without Algorithm 1."""
    wanted = side.torque(qdd)
    return Limited(qdd, wanted, wanted, np.where(np.abs(wanted) > limit, 1.0, 0.0))


RULES: dict[str, Rule] = {"full": full, "partitioned": partitioned, "unlimited": unlimited}


def find_rule(rule: str | Rule) -> Rule:
    """Return a rule by name, or the rule itself."""
    if callable(rule):
        return rule
    if rule not in RULES:
        raise InputError(f"rule: {rule!r} is unknown; there are {', '.join(RULES)}")
    return RULES[rule]
