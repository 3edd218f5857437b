# SPDX-License-Identifier: Apache-2.0
"""The momentum observer's view of each error of the model, and its output with the known errors taken out.

An arm that differs from its model by θ (`model_errors`) lets the momentum observer say, where nothing touches it,

    r = H θ,   H = F_K [ −Y_bodies,  diag(tau),  −diag(σ(q̇)),  −diag(q̇) ]

with F_K the observer's own first-order filter. The columns of bodies need no acceleration: each is what the observer
says of an arm that consists of one unit of that error alone, moved by no torque, with the opposite sign. σ is the sign
of the velocity, 0 below `CREEP` and whole from twice that on: a joint that creeps says nothing about dry friction.

Three monitors in a row: `residual_observer` gives r as ``residual``; `model_columns` keeps H in its memory and gives
``explained = H θ̂``; `less_explained` gives ``tau_ext = r − H θ̂`` to the detectors. The estimate θ̂ is memory, too, and
is written by whoever estimates (`doubt_filter`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.doubt.model_errors import ErrorLayout, layout_of, unit_trees
from armwright.contact.monitor import Monitor
from armwright.contact.observers.momentum import generalised_momentum, momentum_function, momentum_observer
from armwright.control.tick_function import gain as checked
from armwright.dynamics.newton_euler import gravity_torque
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Outputs, Scalar, Traced

CREEP = 0.02
"""Speed [rad/s] below which nothing is learned about the sign of dry friction; above twice that, everything."""


def dry_sign(qd: Traced) -> Traced:
    """Return the sign of each velocity (n,), faded in between `CREEP` and twice that."""
    share = np.minimum(np.maximum(np.abs(qd) * (1.0 / CREEP) - 1.0, 0.0), 1.0)
    return share * np.sign(qd)


def body_columns(arm: Robot | Tree, layout: ErrorLayout, q: Traced, qd: Traced) -> tuple[Traced, Traced]:
    """Return momentum p and e = Cᵀq̇ − g, (n, bodies) each, of one unit of every load and moment."""
    tree, p, e = as_tree(arm), [], []
    for unit in unit_trees(tree, layout.moments):
        momentum = generalised_momentum(unit, q, qd)
        p.append(momentum.p)
        e.append(momentum.transport - gravity_torque(unit, q))
    return np.array(p).T, np.array(e).T


@lru_cache(maxsize=64)
def _function(layout: ErrorLayout) -> Callable[..., Any]:
    n, bodies = layout.n, layout.bodies

    def watch(
        arm: Robot | Tree,
        dt: float,
        q: Traced,
        qd: Traced,
        tau: Traced,
        gain: Traced,
        theta: Traced,
        columns: Traced,
        carry: Traced,
        drives: Traced,
        last: Traced,
        started: Traced,
    ) -> Outputs:
        a = np.exp(-gain * dt) * np.ones(n)
        p, e = body_columns(arm, layout, q, qd)
        d = p - carry - 0.5 * dt * e
        begun = started[0] > 0.0
        rows = [np.where(begun, a[j] * columns[j] - (1.0 - a[j]) / dt * d[j], 0.0 * columns[j]) for j in range(n)]
        now = np.array([last, -dry_sign(qd), -qd])
        drive = np.where(begun, a * drives + (1.0 - a) * now, 0.0 * drives)
        known = [_times(rows[j], theta[:bodies]) for j in range(n)]
        for k in range(3):
            at = bodies + k * n
            known = [known[j] + drive[k][j] * theta[at + j] for j in range(n)]
        return {
            "explained": np.array(known),
            "columns": np.array(rows),
            "carry": p + 0.5 * dt * e,
            "drives": drive,
            "last": tau,
            "started": 0.0 * started + 1.0,
        }

    return watch


def _times(row: Traced, theta: Traced) -> Scalar:
    out: Any = 0.0
    for k in range(len(theta)):
        out = out + row[k] * theta[k]
    return out


def residual_observer(gain: float) -> Monitor:
    """Return the momentum observer under another name: ``residual`` (n,) is all that the model does not explain."""
    plain = momentum_observer(gain)
    return Monitor("residual", _renamed, plain.gains, plain.memory, ("residual",), residual_observer.__doc__ or "")


def _renamed(**given: Traced) -> Outputs:
    out = dict(momentum_function(True)(**given))
    return {"residual": out.pop("tau_ext"), **out}


# monitors are called by the names in their signature; functions have the attribute, their type does not
_renamed.__signature__ = inspect.signature(momentum_function(True))  # type: ignore[attr-defined]


def model_columns(robot: Robot, gain: float) -> Monitor:
    """Keep the columns of a model's errors, seen through an observer of this gain [1/s]; give what they explain.

    Memory: ``theta`` (p,), the errors that are known; ``columns`` (n, bodies) and ``drives`` (3, n), the columns H.
    Output: ``explained`` (n,), H θ̂ [N m].
    """
    layout = layout_of(robot)
    shape = (layout.n, layout.bodies)
    memory = {
        "theta": np.zeros(layout.size),
        "columns": np.zeros(shape),
        "carry": np.zeros(shape),
        "drives": np.zeros((3, layout.n)),
        "last": 0.0,
        "started": [0.0],
    }
    gains = {"gain": checked(gain, "gain", positive=True)}
    return Monitor("doubt", _function(layout), gains, memory, ("explained",), model_columns.__doc__ or "")


def less_explained() -> Monitor:
    """Return the monitor of ``tau_ext`` (n,): the residual without what the errors of the model explain."""
    return Monitor("less explained", _less, {}, {}, ("tau_ext",), less_explained.__doc__ or "")


def _less(residual: Traced, explained: Traced) -> Outputs:
    return {"tau_ext": residual - explained}


def doubt_monitors(robot: Robot, gain: float) -> tuple[Monitor, Monitor, Monitor]:
    """Return the momentum observer with a doubt about its model: residual, columns, and ``tau_ext`` without both.

    >>> run_monitors(doubt_monitors(robot, 50.0), robot, run.time, run["q"], run["qd"], run["tau"])["tau_ext"]
    """
    return residual_observer(gain), model_columns(robot, gain), less_explained()
