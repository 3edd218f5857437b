# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics by one function: closed form with all branches where the geometry allows it, numeric otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.arguments import matrix_of, names_culprit, number
from armwright.errors import InputError, NotSupportedError
from armwright.kinematics.frame_names import FrameLike, body_index, finite, rigid
from armwright.kinematics.ik_classification import HomeAxes, IKClass, analyse
from armwright.kinematics.ik_closed_form import solve_closed
from armwright.kinematics.ik_goal import POSITION, aim_of
from armwright.kinematics.ik_limits import middle
from armwright.kinematics.ik_numeric import RESTARTS, IkSearch, goal_numbers, solve_numeric, solve_one
from armwright.kinematics.ik_preference import with_preference
from armwright.kinematics.ik_result import IKBatch, IKResult
from armwright.robot.kernels import as_robot, refuse_symbols

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array

Method = Literal["auto", "closed", "numeric"]


def _goals(T: ArrayLike, position_only: bool, project: bool) -> Array:
    """Return targets as poses (..., 4, 4); with `position_only` points (..., 3) are accepted too."""
    if not position_only:
        return rigid(T, "T", project=project)
    array: Any = np.asarray(matrix_of(T))
    if array.ndim >= 2 and array.shape[-2:] == (4, 4):
        return rigid(T, "T", project=project)
    points = finite(T, "T (position only)", (3,))
    goals = np.zeros((*points.shape[:-1], 4, 4))
    goals[...] = np.eye(4)
    goals[..., :3, 3] = points
    return goals


def _analysed(robot: Robot, frame: FrameLike) -> tuple[IKClass, HomeAxes | None]:
    return robot.memo(("ik_class", body_index(robot, frame)), analyse, frame)


@names_culprit
def ik(
    robot: Robot | Tree,
    T: ArrayLike,
    *,
    method: Method = "auto",
    frame: FrameLike = None,
    seed: ArrayLike | None = None,
    limits: bool = True,
    position_only: bool = False,
    axes: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    elbow: float | None = None,
    prefer: str | ArrayLike | None = None,
    restarts: int = RESTARTS,
    project: bool = False,
) -> IKResult | IKBatch:
    """Find joint coordinates that bring a frame to a target pose.

    Args:
        robot: the arm.
        T: target T_base_frame (..., 4, 4), rigid to 1e-9 or `project`ed; with `position_only` also points (..., 3) [m].
        method: "closed" (all branches; UR family and spherical wrists, see `ik_class`), "numeric" (any chain, one
            solution), or "auto": closed where there is one.
        frame: None for the tool, a link's name, or a body index.
        seed: (n,) or (..., n); solutions are ordered by distance from it, the numeric search starts there, and joints
            that a singular target leaves free take their value from it. Default: the middle of the joint ranges.
        limits: respect the joint limits; solutions outside are reported but flagged. False ignores them.
        position_only: ask only for the frame's origin; numeric.
        axes: ask only for some of "x", "y", "z", "rx", "ry", "rz", in the axes of the **target**: without "rz" the
            frame may turn about the target's z axis (a drill, a spray gun); numeric. Errors cover these axes only.
        weights: (6,), one per axis, for the closest approach to a target out of reach; 1 by default.
        elbow: angle of the elbow [rad] of an arm with a spherical shoulder and wrist, see `elbow_angle`; numeric.
        prefer: what to do with joints to spare: "limits" (stay in the middle of the ranges), "manipulability", or a
            posture (n,) to be near; from the solution found, the nearest one that is best. Numeric.
        restarts: random starts (reproducible) for targets that the seed does not solve.
        project: accept rotations whose entries are off by up to 1e-6, as six printed decimals are, and aim at the
            nearest rotation instead.

    Returns:
        `IKResult` for one target, `IKBatch` for a batch. Its status is "solved", "singular", "out_of_limits",
        "unreachable" or "not_converged"; where there is no solution it carries the closest approach and its error.

    >>> aw.ik(robot, aw.fk(robot, q)).solutions  # every branch, (k, n)
    """
    if method not in ("auto", "closed", "numeric"):
        raise InputError(f"method must be 'auto', 'closed' or 'numeric', got {method!r}")
    if isinstance(restarts, bool) or not isinstance(restarts, (int, np.integer)) or restarts < 0:
        raise InputError(f"restarts must be an integer ≥ 0, got {restarts!r}")
    why = (
        "it searches, and what it returns depends on what it finds; call it before, outside of the traced function, "
        "and hand over the joint positions, or let the law move along `jacobian`"
    )
    refuse_symbols("ik", why, T, seed, weights, elbow)
    robot = as_robot(robot, "ik")
    if robot.n == 0:
        raise InputError(f"robot {robot.name!r} has no joints, so nothing can be solved for")
    aim = aim_of(axes, weights, position_only, elbow is not None)
    goals = _goals(T, aim.axes == POSITION.axes, project)
    shape = goals.shape[:-2]
    start = middle(robot) if seed is None else finite(seed, "seed", (robot.n,))
    if shape or start.shape != (robot.n,):
        try:
            start = np.broadcast_to(start, (*shape, robot.n))
        except ValueError as error:
            raise InputError(f"seed: shape {start.shape} does not fit targets of shape {shape}") from error
    start = start.reshape(-1, robot.n)
    flat = goals.reshape(-1, 4, 4)
    body = body_index(robot, frame)
    kind, home = _analysed(robot, frame)
    plain = aim.whole and prefer is None
    if method == "closed" and (home is None or not plain):
        part = "a position alone" if aim.axes == POSITION.axes else "such a task"
        why = kind.reason if plain else f"{part} has infinitely many solutions"
        raise NotSupportedError(f"no closed form for {robot.name!r}: {why}; use method='numeric'")
    if home is not None and plain and method != "numeric":
        batch = solve_closed(robot, body, kind.name, home, flat, start, limits=limits, restarts=int(restarts))
        return batch[0] if shape == () else batch.reshape(shape)
    asked = IkSearch(aim, limits, int(restarts))
    numbers = goal_numbers(flat, elbow if elbow is None else number(elbow, "elbow"))
    if shape == () and prefer is None and (found := solve_one(robot, body, numbers[0], start[0], asked)) is not None:
        return found
    batch = solve_numeric(robot, body, numbers, start, asked)
    if prefer is not None:
        batch = with_preference(robot, body, numbers, batch, asked, prefer)
    return batch[0] if shape == () else batch.reshape(shape)
