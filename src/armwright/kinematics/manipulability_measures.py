# SPDX-License-Identifier: Apache-2.0
"""Measures of how well an arm can move at a configuration: manipulability ellipsoid, conditioning, singularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.graph.array import has_symbols
from armwright.graph.kernel_arguments import over_rows
from armwright.graph.traced_program import ProgramSignal
from armwright.kinematics.extent import SINGULAR_BELOW, characteristic_length, full_rank, weights
from armwright.kinematics.frame_names import FrameLike, body_index
from armwright.kinematics.jacobians import jacobian
from armwright.robot.kernels import as_robot, refuse_symbols
from armwright.spatial.linear import left_singular

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

Part = Literal["linear", "angular", "full"]
ROUNDING_OF_ZERO = 1e-15
"""Share of the largest singular value that rounding makes of a zero: four units in the last place."""
ROWS = {"linear": slice(0, 3), "angular": slice(3, 6), "full": slice(0, 6)}
NEAR_BELOW = 0.05
"""Ratio of singular values, metres weighted, below which a configuration is called near a singularity: joints
then turn 20 times as fast as elsewhere for the same motion. A word of the report; nothing else depends on it."""


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """The set {J qd : ‖qd‖ ≤ 1} (003 eqs. 5 and 6).

    Attributes:
        axes: (..., m, m), column k is the direction of half-axis k (its sign is arbitrary), longest first.
        half_lengths: (..., m) singular values of J, longest first; zeros where J has no rank.
        W: (...,) volume measure sqrt(det(J Jᵀ)), the product of the half lengths.
    """

    axes: Array
    half_lengths: Array
    W: Array


@dataclass(frozen=True, slots=True, eq=False)
class Singularity:
    """How close one configuration is to a singularity.

    Attributes:
        status: "regular", "near" (conditioning worse than 1 : 20) or "singular" (rank lost to 1e-6).
        smallest, largest: extreme singular values of the Jacobian with its linear rows divided by `length`; smallest
            among those that the arm has in general (a planar arm never has six).
        rank: number of singular values above 1e-6 of the largest.
        determinant: det J (square Jacobians, unweighed), None otherwise.
        lost: (6,) unit twist direction [v; w] that is hardest to produce, base axes.
        free: (n,) unit joint direction that moves the frame least.
        length: characteristic length used to compare metres with radians.
        message: one sentence for a person.
    """

    status: Literal["regular", "near", "singular"]
    smallest: float
    largest: float
    rank: int
    determinant: float | None
    lost: Array
    free: Array
    length: float
    message: str


@names_culprit
def manipulability(robot: Robot | Tree, q: ArrayLike, part: Part = "linear", frame: FrameLike = None) -> Ellipsoid:
    """Return the velocity manipulability ellipsoid of a frame (003 eqs. 5 and 6).

    Args:
        robot: the arm.
        q: joint coordinates (..., n).
        part: "linear" (rows v), "angular" (rows w) or "full" (all six, mixed units as they are).
        frame: None for the tool, a link's name, or a body index.

    >>> aw.manipulability(robot, q).half_lengths  # [m/s] per unit of joint speed, longest first
    """
    if part not in ROWS:
        raise InputError(f"part must be 'linear', 'angular' or 'full', got {part!r}")
    J = jacobian(robot, q, frame)[..., ROWS[part], :]
    if has_symbols(J):
        return Ellipsoid(*over_rows(_ellipsoid, "manipulability", [ProgramSignal("J", J.shape[-2:])], [J]))
    U, s, _ = np.linalg.svd(J, full_matrices=True)
    rows = J.shape[-2]
    half = np.zeros((*J.shape[:-2], rows))
    half[..., : s.shape[-1]] = s
    return Ellipsoid(axes=U, half_lengths=half, W=np.prod(half, axis=-1))


def _ellipsoid(J: Traced) -> tuple[Traced, Traced, Traced]:
    """Axes, half lengths and volume measure of one Jacobian (m, n) of symbols."""
    found = left_singular(J)
    rows, columns = J.shape
    half = np.array([found.s[k] if k < columns else 0.0 for k in range(rows)])
    return found.U, half, np.prod(half)


def _singular_values(robot: Robot | Tree, q: ArrayLike, frame: FrameLike) -> NDArray[np.floating[Any]]:
    """Singular values (..., min(6, n)) of the geometric Jacobian, largest first, of numbers or symbols."""
    J = jacobian(robot, q, frame)
    if not has_symbols(J):
        return np.linalg.svd(J, compute_uv=False)
    low = J if J.shape[-2] <= J.shape[-1] else np.swapaxes(J, -1, -2)  # as few rows to turn as there are values
    return over_rows(lambda J: left_singular(J).s, "singular values", [ProgramSignal("J", low.shape[-2:])], [low])


@names_culprit
def smallest_singular_value(robot: Robot | Tree, q: ArrayLike, frame: FrameLike = None) -> Array:
    """Return the smallest singular value of the geometric Jacobian, (...,) for q of shape (..., n).

    >>> smallest_singular_value(robot, q)  # 0 at a singularity
    """
    s = _singular_values(robot, q, frame)
    return cast("Array", s[..., -1]) if has_symbols(s) else np.asarray(s.min(axis=-1, initial=np.inf))


@names_culprit
def condition_number(robot: Robot | Tree, q: ArrayLike, frame: FrameLike = None) -> Array:
    """Return largest/smallest singular value of the geometric Jacobian, (...,); inf where it is singular.

    >>> condition_number(robot, q) < 100.0  # False near a singularity
    """
    s = _singular_values(robot, q, frame)
    traced = has_symbols(s)
    low, high = (s[..., -1], s[..., 0]) if traced else (s.min(axis=-1), s.max(axis=-1))
    regular = low > ROUNDING_OF_ZERO * high
    ratio = np.where(regular, high / np.where(regular, low, 1.0), np.inf)
    return cast("Array", ratio) if traced else np.asarray(ratio)


@names_culprit
def singularity(robot: Robot | Tree, q: ArrayLike, frame: FrameLike = None) -> Singularity:
    """Report how close one configuration q (n,) is to a singularity, and which motion is lost there.

    >>> aw.singularity(robot, q).message
    """
    why = "its answer is a report in words; smallest_singular_value and condition_number can be traced"
    refuse_symbols("singularity", why, q)
    robot = as_robot(robot, "singularity")
    q = np.asarray(q, dtype=np.float64)
    if q.ndim != 1:
        raise InputError(f"q: expected one configuration of shape ({robot.n},), got {q.shape}")
    J = jacobian(robot, q, frame)
    weigh = weights(robot)
    U, s, Vt = np.linalg.svd(weigh[:, None] * J, full_matrices=True)
    needed = full_rank(robot, body_index(robot, frame))
    if needed == 0:
        raise InputError(f"no joint of {robot.name!r} moves this frame")
    k = needed - 1
    largest, smallest = float(s[0]), float(s[k])
    ratio = smallest / largest
    rank = int((s > SINGULAR_BELOW * largest).sum())
    status: Literal["regular", "near", "singular"] = "regular"
    if ratio < SINGULAR_BELOW:
        status = "singular"
    elif ratio < NEAR_BELOW:
        status = "near"
    lost = U[:, k] * weigh
    mover = robot.joints[int(np.argmax(np.abs(Vt[k])))].name
    message = (
        f"{status}: rank {rank} of {needed}, singular values {largest:.4g} … {smallest:.4g} (ratio {ratio:.3g}); "
        f"the joint motion that moves the frame least is led by {mover!r}"
    )
    return Singularity(
        status=status,
        smallest=smallest,
        largest=largest,
        rank=rank,
        determinant=float(np.linalg.det(J)) if J.shape[0] == J.shape[1] else None,
        lost=lost / np.linalg.norm(lost),
        free=Vt[k],
        length=characteristic_length(robot),
        message=message,
    )
