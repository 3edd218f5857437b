# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments that all of kinematics shares: which frame, which configuration, which target."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import matrix_of
from armwright.errors import InputError
from armwright.robot.model import robot_needed
from armwright.robot.parts import RIGID
from armwright.robot.tree import Tree, link_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

FrameLike = str | int | None
ROTATION_TOLERANCE = RIGID
ROUNDED_TOLERANCE = 4e-6
"""Error of RᵀR where every entry of R may be off by 1e-6: 2·√3·1e-6, rounded up."""


def body_index(robot: Robot | Tree, frame: FrameLike) -> int | None:
    """Return the body whose link frame is meant, None for the tool; named frames are numbered after the nb bodies.

    Args:
        robot: the arm.
        frame: None or "tool" for the tool, a name among `Robot.frame_names`, or a body index 0…nb-1.
    """
    if frame is None:
        return None
    if isinstance(robot, Tree):
        arm = "arm of symbols" if robot.parts is None else robot.parts["name"]
        return _index_of(frame, _indices(link_names(robot)), robot.nb, arm)
    if wrong := robot_needed(robot):
        raise InputError(wrong)
    return _index_of(frame, robot.memo("frame indices", _by_name), len(robot.bodies), robot.name)


def _index_of(frame: str | int, known: dict[str, int | None], bodies: int, arm: str) -> int | None:
    if isinstance(frame, str):
        try:
            return known[frame]
        except KeyError:
            near = difflib.get_close_matches(frame, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(f"frame {frame!r} is not a frame of {arm!r}; {hint}valid: {', '.join(known)}") from None
    if isinstance(frame, bool) or not isinstance(frame, (int, np.integer)):
        raise InputError(f"frame must be None, a frame's name or a body's index, got {frame!r}")
    if not 0 <= frame < bodies:
        raise InputError(f"frame index {frame} must lie in 0…{bodies - 1} for robot {arm!r}")
    return int(frame)


def _by_name(robot: Robot) -> dict[str, int | None]:
    return _indices([body.name for body in robot.bodies] + [frame.name for frame in robot.frames])


def _indices(names: Sequence[str]) -> dict[str, int | None]:
    return {"tool": None} | {name: index for index, name in enumerate(names)}  # a link called "tool" comes first


def placement(tree: Tree, body: int | None) -> tuple[int, Array]:
    """Return the body that carries a frame (-1: the root) and the frame's constant pose in that body's axes."""
    if body is None:
        return tree.tip, tree.T_tip_tool
    return (body, tree.T_body_link[body]) if body < tree.nb else tree.frames[body - tree.nb]


def finite(value: ArrayLike, what: str, tail: tuple[int, ...]) -> Array:
    """Return `value` as float64 of shape (..., *tail), or raise `InputError` naming `what`."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected numbers of shape (..., {', '.join(map(str, tail))})") from error
    if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
        raise InputError(f"{what}: expected shape (..., {', '.join(map(str, tail))}), got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what}: every entry must be finite")
    return array


def _is_rigid(T: list[list[float]]) -> bool:
    """Return whether one pose is rigid beyond doubt; NaN and infinities are not."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = T
    off = max(
        abs(a * a + d * d + g * g - 1.0),
        abs(b * b + e * e + h * h - 1.0),
        abs(c * c + f * f + i * i - 1.0),
        abs(a * b + d * e + g * h),
        abs(b * c + e * f + h * i),
        abs(a * c + d * f + g * i),
    )
    turned = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) > 0.0
    finite = x - x == 0.0 and y - y == 0.0 and z - z == 0.0
    return off <= ROTATION_TOLERANCE and turned and finite and last == [0.0, 0.0, 0.0, 1.0]


def rigid(value: ArrayLike, what: str = "T", *, project: bool | None = None) -> Array:
    """Return poses of shape (..., 4, 4), refusing what is not a rigid motion to 1e-9.

    Args:
        value: the poses; SciPy's `RigidTransform` too.
        what: what errors call them.
        project: True takes rotations that are off by up to 1e-6 (rounded to six decimals, say) and replaces each by the
            nearest one, in the sense of least squares; False only says in the error that this exists.
    """
    if type(value) is np.ndarray and value.shape == (4, 4) and value.dtype == np.float64 and _is_rigid(value.tolist()):
        return value  # the usual call
    T = finite(matrix_of(value), what, (4, 4))
    if not np.array_equal(T[..., 3, :], np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*T.shape[:-2], 4))):
        raise InputError(f"{what}: the last row of a pose must be [0, 0, 0, 1]")
    R = T[..., :3, :3]
    off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    mirrored = bool((np.linalg.det(R) < 0.0).any())
    if off <= ROTATION_TOLERANCE and not mirrored:
        return T
    if project and off <= ROUNDED_TOLERANCE and not mirrored:
        U, _, Vt = np.linalg.svd(R)
        T = T.copy()
        T[..., :3, :3] = U @ Vt
        return T
    allowed = ROUNDED_TOLERANCE if project else ROTATION_TOLERANCE
    advice = "give more digits, or project it onto the rotations first"
    if project is False and off <= ROUNDED_TOLERANCE and not mirrored:
        advice = "give more digits, or take the nearest rotation with project=True"
    raise InputError(
        f"{what}: the upper-left 3×3 block must be a rotation (RᵀR = 1 to {allowed:g}, det R = +1), "
        f"RᵀR is off by {off:.3g}; {advice}"
    )
