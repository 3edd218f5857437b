# SPDX-License-Identifier: Apache-2.0
"""The contact model of document 000, exactly: the tool point against upright cylinders (000 §3.8).

    v = [P_cyl,x − P_x, P_cyl,y − P_y, 0],  D = |v|
    F = −k (R − D) v/D   if D < R, else 0

summed over the cylinders; no moment, no friction, no damping; cylinders are infinitely tall.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.surroundings import cylinder_forces, cylinder_table, upright_cylinders
from armwright.kinematics.forward import body_poses
from armwright.robot.tree import Tree, as_tree
from armwright.spatial.vectors import cross
from armwright.world.shapes import Cylinder
from armwright.world.world import World

if TYPE_CHECKING:
    from armwright.robot.model import Robot


def cylinders_of(world: World) -> tuple[Cylinder, ...]:
    """Return the world's cylinders; anything that model 000 does not know is refused."""
    found = upright_cylinders(world)
    if found is None:
        raise InputError(
            f"world {world.name!r} holds something that is not an upright, infinitely tall cylinder without damping "
            "and friction, which is all that the contact model of document 000 knows; use contact_wrench"
        )
    return found


@lru_cache(maxsize=256)
def tool_cylinders(world: World) -> Callable[..., Any]:
    """Return the contact model of document 000 as ``wrench(arm, t, q, qd) -> (nb, 6)`` for ``simulate(…, wrench=…)``.

    Args:
        world: upright, infinitely tall cylinders, such as ``load_world("layout-a")``.

    Returns:
        The function; the same object for the same world, so that compiled loops are reused.

    Raises:
        InputError: the world holds something else.
    """
    table = cylinder_table(cylinders_of(world))

    def wrench(arm: Robot | Tree, t: Any, q: Any, qd: Any) -> Any:
        tree = as_tree(arm)
        R, p = body_poses(tree, q, tree.ancestors(tree.tip))[tree.tip]
        F = cylinder_forces(table, p + R @ tree.T_tip_tool[:3, 3])
        lever = tree.T_tip_tool[:3, 3] - tree.T_body_link[tree.tip][:3, 3]
        moment = cross(R @ lever, F) if np.abs(lever).max() > 1e-15 else np.zeros(3)
        rows: list[Any] = [np.zeros(6) for _ in range(tree.nb)]
        rows[tree.tip] = np.concatenate([F, moment])
        return np.stack(rows)

    return wrench
