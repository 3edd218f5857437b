# SPDX-License-Identifier: Apache-2.0
"""The nine formulations by name, with the document each one follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from armwright.dynamics.aba import aba
from armwright.dynamics.crba import crba, crba_forward, crba_inverse
from armwright.dynamics.lagrange import lagrange_forward, lagrange_inverse, lagrange_mass
from armwright.dynamics.mrnea import mrnea_forward, mrnea_inverse, mrnea_mass
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.poe import poe_forward, poe_inverse, poe_mass
from armwright.dynamics.terms import is_plain
from armwright.dynamics.walker_orin import walker_orin_forward, walker_orin_inverse, walker_orin_mass
from armwright.errors import InputError, NotSupportedError
from armwright.robot.inertia_needed import require_inertia
from armwright.robot.tree import Tree, as_tree, robot_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Method:
    """One formulation.

    Attributes:
        name: as given to ``method=``.
        title: for people.
        document: where its equations stand.
        inverse, forward, mass: functions (arm, q, qd, qdd), (arm, q, qd, tau), (arm, q); None where it has none.
        options: constants for all three.
        mimic: whether it takes joints that mimic each other.
    """

    name: str
    title: str
    document: str
    inverse: Function | None
    forward: Function | None
    mass: Function | None
    options: dict[str, Any] = field(default_factory=dict)
    mimic: bool = True


def _walker_orin(variant: int) -> Method:
    return Method(
        f"walker-orin-{variant}",
        f"Walker–Orin, method {variant}",
        "001 Table 2",
        walker_orin_inverse,
        walker_orin_forward,
        walker_orin_mass,
        {"variant": variant},
    )


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("rnea", "recursive Newton–Euler", "000 eq. 3.9–3.15, 002 eq. 2.31–2.48, 001 eq. 4–33", rnea, None, None),
        Method(
            "lagrange",
            "Euler–Lagrange, Christoffel symbols",
            "000 eq. 3.5–3.8, 004 eq. 2.64–2.67",
            lagrange_inverse,
            lagrange_forward,
            lagrange_mass,
        ),
        Method("poe", "product of exponentials", "002 eq. 2.50–2.59", poe_inverse, poe_forward, poe_mass),
        Method("crba", "composite rigid bodies, LᵀDL", "001 Table 2", crba_inverse, crba_forward, crba),
        Method("aba", "articulated bodies", "001 Table 2", None, aba, None, mimic=False),
        _walker_orin(1),
        _walker_orin(2),
        _walker_orin(3),
        Method("mrnea", "modified Newton–Euler, ERFD", "001 Section 4", mrnea_inverse, mrnea_forward, mrnea_mass),
    )
}


def find(arm: Robot | Tree, name: str, job: str) -> tuple[Function, dict[str, Any]]:
    """Return function and options of method `name` for `job` ("inverse", "forward", "mass"), or say why not."""
    method = METHODS.get(name)
    able = [m.name for m in METHODS.values() if getattr(m, job) is not None]
    if method is None:
        called = "mass_matrix" if job == "mass" else f"{job}_dynamics"
        raise InputError(f"{called}: unknown method {name!r}; methods are {', '.join(able)}")
    function: Function | None = getattr(method, job)
    if function is None:
        raise NotSupportedError(f"method {name!r} has no {job} form; methods that have one are {', '.join(able)}")
    if not method.mimic and not is_plain(as_tree(arm)):
        raise NotSupportedError(f"method {name!r} cannot take joints that mimic each other; use method='crba'")
    robot = robot_of(arm) if isinstance(arm, Tree) else arm
    if robot is not None:
        require_inertia(robot, "mass_matrix" if job == "mass" else f"{job}_dynamics", forward=job == "forward")
    return function, method.options
