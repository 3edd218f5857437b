# SPDX-License-Identifier: Apache-2.0
"""A loop whose numbers may change while it runs: gains of law and monitors, the load at the tool, friction.

    gains      those of law and monitors that the code does not depend on; a law's gain is one number per joint
    payload    mass, centre of mass and inertia of a load at the tool, in place of none
    friction   viscous and Coulomb friction of the joints

They become slots of the loop (`gain_*`, `parameters` of the arm, `model` of the controller's model), which a session
starts at the values that the loop has: what is exported with parameters has a strict loop of its own as its twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, InputError, NotSupportedError
from armwright.robot.loaded_tree import PAYLOAD_SIZE, loaded
from armwright.robot.tree import tree_of
from armwright.simulation.lanes import Lanes
from armwright.simulation.loop_stages import law_stage, monitor_stage

if TYPE_CHECKING:
    from armwright.robot.tree import Tree
    from armwright.simulation.control_loop import Loop
    from armwright.types import Traced

TUNABLE = ("gains", "payload", "friction")


@dataclass(frozen=True, eq=False)
class TunableArm(Lanes):
    """An arm whose load and friction are numbers given at run time.

    Attributes:
        places: ("payload", k) for the ten numbers of `loaded`, ("viscous", joint) and ("coulomb", joint).
    """

    def fill(self, parameters: Traced | None) -> Tree:
        """Return the tree with the load and the friction in `parameters` (k,), symbols or floats."""
        assert parameters is not None
        kind = np.float64 if np.asarray(parameters).dtype == np.float64 else object
        tree, given = self.tree, dict(zip(self.places, parameters, strict=True))
        if ("viscous", 0) in given:
            viscous, coulomb = np.array(tree.viscous, dtype=kind), np.array(tree.coulomb, dtype=kind)
            for k in range(tree.n):
                viscous[k, k], coulomb[k] = given["viscous", k], given["coulomb", k]
            tree = replace(tree, viscous=viscous, coulomb=coulomb)
        if ("payload", 0) in given:
            tree = loaded(tree, np.array([given["payload", k] for k in range(PAYLOAD_SIZE)], dtype=kind))
        return tree

    def common(self) -> tuple[Any, ...]:
        """Return all that does not change, hashable."""
        without = tuple(place for place in self.places if place[0] != "payload")
        diagonal = [("viscous", k * (self.tree.n + 1)) if name == "viscous" else (name, k) for name, k in without]
        return ("tunable", self.places, *Lanes(self.tree, tuple(diagonal), self.values).common())


def tunable_arm(tree: Tree, tune: Sequence[str]) -> TunableArm | None:
    """Return the arm of a tree with the load or friction that `tune` names as its numbers; None if it names neither."""
    places: list[tuple[str, int]] = []
    values: list[float] = []
    if "payload" in tune:
        if tree.tip < 0:
            raise NotSupportedError("tune: the tool is on the fixed root link; no joint feels a payload")
        places += [("payload", k) for k in range(PAYLOAD_SIZE)]
        values += [0.0] * PAYLOAD_SIZE
    if "friction" in tune:
        places += [(name, k) for name in ("viscous", "coulomb") for k in range(tree.n)]
        values += [*np.diag(tree.viscous), *tree.coulomb]
    return TunableArm(tree, tuple(places), np.array([values])) if places else None


def tunable_loop(loop: Loop, tune: Sequence[str] = TUNABLE) -> Loop:
    """Return the loop with numbers that may change while it runs.

    Args:
        loop: one arm.
        tune: what may change, of `TUNABLE`.

    Gains on which the code itself depends stay constants. With "payload" or "friction", arm and controller's model have
    numbers of their own: what changes at one does not change the other.
    """
    strange = [word for word in tune if word not in TUNABLE]
    if strange:
        raise InputError(f"tune: {strange[0]!r} is none of {', '.join(TUNABLE)}")
    if len(loop.robots) > 1 or loop.batch or loop.believed is not None or loop.lanes.places:
        raise NotSupportedError("tune: the loop of one arm, with a model of its own")
    if "gains" in tune:
        loop = _with_monitor_gains(_with_law_gains(loop))
    plant = tunable_arm(loop.lanes.tree, tune)
    if plant is None:
        return loop
    model = loop.lanes.tree if loop.model is None else tree_of(loop.model, regroup=True)
    return replace(loop, plant=plant, believed=tunable_arm(model, tune))


def _with_law_gains(loop: Loop) -> Loop:
    """Let as many gains of the law vary as can be traced."""
    law = loop.law

    def varying(names: Sequence[str]) -> Loop:
        rows = {name: np.broadcast_to(law.gains[name], (1, law.sizes.get(name, loop.n))) for name in names}
        return replace(loop, law=replace(law, gains={**law.gains, **rows}))

    fit = [name for name, value in law.gains.items() if value.shape in ((), (1,), (law.sizes.get(name, loop.n),))]
    return _most(varying, fit, lambda made: law_stage(made, measured=True))


def _with_monitor_gains(loop: Loop) -> Loop:
    """Let as many gains of every monitor vary as can be traced."""

    def varying(k: int, before: Loop, names: Sequence[str]) -> Loop:
        chain = list(before.monitors)
        chain[k] = replace(chain[k], vary=tuple(names))
        return replace(before, monitors=tuple(chain))

    for k, monitor in enumerate(loop.monitors):
        loop = _most(partial(varying, k, loop), tuple(monitor.gains), monitor_stage)
    return loop


def _most(varying: Callable[[Sequence[str]], Loop], names: Sequence[str], stage: Callable[[Loop], Any]) -> Loop:
    """Return the loop with all of `names` varying, or with those of them that can vary by themselves."""

    def traces(some: Sequence[str]) -> bool:
        try:
            stage(varying(some))
        except (ArmwrightError, TypeError, ValueError):  # a gain decides what the code is
            return False
        return True

    return varying(names if traces(names) else [name for name in names if traces([name])])
