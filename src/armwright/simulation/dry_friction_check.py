# SPDX-License-Identifier: Apache-2.0
"""Dry friction that a step or a held law cannot follow, found before a run.

Coulomb friction c jumps with the sign of the speed. Two things go wrong where one step or tick h can change the speed
of a joint, moved alone, by more than a creep: c·h·((M + hD)⁻¹)_ii.

- An explicit or linearly implicit integrator evaluates the sign at the beginning of a step. A joint that should rest is
  thrown from one side to the other. The semi-implicit integrator solves for the friction and holds it.
- A law that adds c·sign(q̇) holds the sign of the last measurement for a tick. It pushes where friction has turned
  round, and blocks a joint that should.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics.crba import crba
from armwright.errors import SimulationError
from armwright.simulation.integrators import SEMI_IMPLICIT
from armwright.simulation.step_advice import Remedy, more_substeps, tried

if TYPE_CHECKING:
    from armwright.robot.tree import Tree
    from armwright.simulation.running_loop import RunningLoop
    from armwright.types import Array

    LawOf = Callable[[int], Callable[[Array], Array]]

KICK_SPEED = 0.3  # rad/s (m/s): more than this in one step is no friction any more, it drives the joint
MOST_KICKED = 64  # simulations of a batch that are looked at
SMALL_SPEED = 1e-6  # rad/s: on either side of rest, where a jump is looked for


def plant_of(running: RunningLoop, lane: int) -> Tree:
    """The plant of one simulation."""
    values = running.parts.lanes.values
    return running.parts.lanes.fill(values[min(lane, len(values) - 1)])


def has_dry_friction(running: RunningLoop) -> bool:
    """Whether the plant has Coulomb friction of its own, in any simulation."""
    parts = running.parts
    varies = any(name == "coulomb" for name, _ in parts.lanes.places)
    return parts.friction is None and (varies or bool(np.any(parts.lanes.tree.coulomb != 0.0)))


def holding_remedies(running: RunningLoop, substeps: int) -> list[Remedy]:
    """The integrator that holds dry friction, and a law that cancels it without a switch."""
    options = {"integrator": "semi-implicit", "substeps": substeps}
    words = f'integrator="semi-implicit" with substeps={substeps}, which holds dry friction'
    alone = [Remedy(words, options)]
    if running.parts.law.friction in ("none", "reference"):
        return alone
    return [*alone, Remedy(f'{words}, and the law\'s friction="reference"', options, "reference")]


def switching(running: RunningLoop, law_of: LawOf) -> tuple[str, list[Remedy]] | None:
    """What a step or a held law does with dry friction, and what may help; None if both can follow it."""
    parts, n = running.parts, running.parts.n
    model = parts.lanes.tree if parts.model_tree is None else parts.model_tree
    dry = has_dry_friction(running)
    if not dry and not np.any(model.coulomb != 0.0):
        return None
    x = running.state
    for lane in range(min(running.count, MOST_KICKED)):
        plant = plant_of(running, lane)
        M = np.asarray(crba(plant, x[lane, :n]), dtype=np.float64)
        if dry and parts.method is not SEMI_IMPLICIT:
            found = _thrown(running, plant, M)
            if found is not None:
                return found
        if not parts.continuous:
            found = _pushed(running, plant, M, _jumps(law_of(lane), x[lane], n))
            if found is not None:
                return found
    return None


def check_dry_friction(running: RunningLoop, law_of: LawOf, sound: Callable[[RunningLoop], bool]) -> None:
    """Raise `SimulationError` if a step or a held law cannot follow dry friction; what runs instead was tried."""
    found = switching(running, law_of)
    if found is None:
        return
    said, remedies = found
    if running.advises:
        said += f"; {tried(running, remedies, (running.state, running.following[1]), sound)}"
    raise SimulationError(said)


def _reach(M: Array, D: Array, h: float) -> Array:
    """Speed that a unit torque gives each joint in time h (n,): h·((M + hD)⁻¹)_ii."""
    return h * np.diag(np.linalg.inv(M + h * np.asarray(D, dtype=np.float64)))


def _thrown(running: RunningLoop, plant: Tree, M: Array) -> tuple[str, list[Remedy]] | None:
    """The joint that a step of the integrator throws about, if there is one."""
    parts, h = running.parts, running.step
    D = np.asarray(plant.viscous, dtype=np.float64)
    kick = np.asarray(plant.coulomb, dtype=np.float64) * _reach(M, D if parts.method.stiff else 0.0 * D, h)
    kick = np.where(kick > np.asarray(plant.dead_zone), kick, 0.0)
    k = int(np.argmax(kick))
    if kick[k] <= KICK_SPEED:
        return None
    said = (
        f"{parts.method.name} with a step of {h * 1e3:.4g} ms cannot hold dry friction here: the "
        f"{float(plant.coulomb[k]):.3g} N m of joint {running.robot.joints[k].name} change its speed by {kick[k]:.2g} "
        "rad/s in one step"
    )
    fastest = max(float(np.abs(np.linalg.eigvals(np.linalg.solve(M, D))).max()), 1e-9)
    return said, holding_remedies(running, max(running.substeps, more_substeps(running, 1.8 / fastest)))


def _jumps(law: Callable[[Array], Array], x: Array, n: int) -> Array:
    """How far the law's torque jumps with the sign of each joint's speed (n,) [N m], > 0 along the speed."""
    out = []
    for k in range(n):
        near, far = x.copy(), x.copy()
        near[n : 2 * n] = far[n : 2 * n] = 0.0
        near[n + k], far[n + k] = SMALL_SPEED, -SMALL_SPEED
        here = law(near)[k] - law(far)[k]
        near[n + k], far[n + k] = 0.1 * SMALL_SPEED, -0.1 * SMALL_SPEED
        there = law(near)[k] - law(far)[k]
        out.append(there if abs(there) > 0.5 * abs(here) else 0.0)  # a slope would leave a tenth
    return np.array(out)


def _pushed(running: RunningLoop, plant: Tree, M: Array, jumps: Array) -> tuple[str, list[Remedy]] | None:
    """The joint that a held law pushes after its friction has turned round, if there is one."""
    period = running.parts.period
    kick = 0.5 * jumps * _reach(M, plant.viscous, period)
    k = int(np.argmax(kick))
    if kick[k] <= KICK_SPEED:
        return None
    said = (
        f"law {running.parts.law.name!r} cancels dry friction with the sign of the measured speed, "
        f"{0.5 * jumps[k]:.3g} N m at joint {running.robot.joints[k].name}; held for {period * 1e3:.4g} ms that "
        f"changes its speed by {kick[k]:.2g} rad/s after the sign has turned"
    )
    stiff = {"continuous": True, "integrator": "rodas3"}
    return said, [
        Remedy('friction cancelled at the speed of the reference (the law\'s friction="reference")', {}, "reference"),
        Remedy('the law acting continuously (continuous=True) with integrator="rodas3"', stiff),
    ]
