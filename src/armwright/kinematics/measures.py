"""How well an arm can move from where it stands: manipulability ellipsoid, conditioning, distance to singularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.frames import FrameLike
from armwright.kinematics.jacobian import jacobian

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]

Part = Literal["linear", "angular", "full"]
ROWS = {"linear": slice(0, 3), "angular": slice(3, 6), "full": slice(0, 6)}
SINGULAR_BELOW = 1e-6
NEAR_BELOW = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """The set {J qd : ‖qd‖ ≤ 1} (003 §4.3).

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
        smallest, largest: extreme singular values of the Jacobian, rotation weighed with `length` [m].
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


def reach(robot: Robot, frame_offset: float = 0.0) -> float:
    """Upper bound on the distance from the first joint's axis point to the tool [m]: the sum of the link vectors.

    Prismatic joints count with their largest limit; the bound is infinite where such a joint has none.
    """
    tree = robot.tree
    path = tree.ancestors(tree.tip)
    total = float(np.linalg.norm(tree.T_tip_tool[:3, 3])) + frame_offset
    for i in path:
        if tree.parent[i] >= 0:
            total += float(np.linalg.norm(tree.p0[i]))
        if not tree.revolute[i]:
            limits = robot.joints[tree.joint[i]].limits
            ends = tree.ratio[i] * np.array([limits.lower, limits.upper]) + tree.offset[i]
            total += float(np.abs(ends).max())
    return total


def characteristic_length(robot: Robot) -> float:
    """Return a length that makes metres and radians comparable: half the reach, 1 m for an arm without extent."""
    size = reach(robot)
    return 0.5 * size if np.isfinite(size) and size > 0.0 else 1.0


def manipulability(robot: Robot, q: ArrayLike, part: Part = "linear", frame: FrameLike = None) -> Ellipsoid:
    """Return the velocity manipulability ellipsoid of a frame (003 §4.3).

    Args:
        robot: the arm.
        q: joint coordinates (..., n).
        part: "linear" (rows v), "angular" (rows w) or "full" (all six, mixed units as they are).
        frame: None for the tool, a link's name, or a body index.
    """
    if part not in ROWS:
        raise InputError(f"part must be 'linear', 'angular' or 'full', got {part!r}")
    J = jacobian(robot, q, frame)[..., ROWS[part], :]
    U, s, _ = np.linalg.svd(J, full_matrices=True)
    rows = J.shape[-2]
    half = np.zeros(J.shape[:-2] + (rows,))
    half[..., : s.shape[-1]] = s
    return Ellipsoid(axes=U, half_lengths=half, W=np.prod(half, axis=-1))


def smallest_singular_value(robot: Robot, q: ArrayLike, frame: FrameLike = None) -> Array:
    """Return the smallest singular value of the geometric Jacobian, (...,) for q of shape (..., n)."""
    return np.asarray(np.linalg.svd(jacobian(robot, q, frame), compute_uv=False).min(axis=-1, initial=np.inf))


def condition_number(robot: Robot, q: ArrayLike, frame: FrameLike = None) -> Array:
    """Return largest/smallest singular value of the geometric Jacobian, (...,); inf where it is singular."""
    s = np.linalg.svd(jacobian(robot, q, frame), compute_uv=False)
    low, high = s.min(axis=-1), s.max(axis=-1)
    # below rounding of the largest value the smallest is noise
    regular = low > 1e-15 * high
    return np.asarray(np.where(regular, high / np.where(regular, low, 1.0), np.inf))


def singularity(robot: Robot, q: ArrayLike, frame: FrameLike = None) -> Singularity:
    """Report how close one configuration q (n,) is to a singularity, and which motion is lost there."""
    q = np.asarray(q, dtype=np.float64)
    if q.ndim != 1:
        raise InputError(f"q: expected one configuration of shape ({robot.n},), got {q.shape}")
    J = jacobian(robot, q, frame)
    length = characteristic_length(robot)
    weigh = np.array([1.0 / length] * 3 + [1.0] * 3)
    U, s, Vt = np.linalg.svd(weigh[:, None] * J, full_matrices=True)
    largest = float(s.max(initial=0.0))
    smallest = float(s.min(initial=np.inf)) if s.size else 0.0
    ratio = smallest / largest if largest > 0.0 else 0.0
    rank = int((s > SINGULAR_BELOW * largest).sum()) if largest > 0.0 else 0
    status: Literal["regular", "near", "singular"] = "regular"
    if ratio < SINGULAR_BELOW:
        status = "singular"
    elif ratio < NEAR_BELOW:
        status = "near"
    k = s.size - 1
    lost = U[:, k] * weigh if k >= 0 else np.zeros(6)
    lost = lost / max(float(np.linalg.norm(lost)), 1e-300)
    free = Vt[k] if k >= 0 else np.zeros(robot.n)
    mover = robot.joints[int(np.argmax(np.abs(free)))].name if robot.n else "no joint"
    message = (
        f"{status}: rank {rank} of {min(J.shape)}, singular values {largest:.4g} … {smallest:.4g} "
        f"(1 : {1.0 / ratio:.3g}); " if ratio > 0.0 else f"{status}: rank {rank} of {min(J.shape)}; "
    ) + f"the joint motion that moves the frame least is led by {mover!r}"
    return Singularity(
        status=status,
        smallest=smallest,
        largest=largest,
        rank=rank,
        determinant=float(np.linalg.det(J)) if J.shape[0] == J.shape[1] else None,
        lost=lost,
        free=free,
        length=length,
        message=message,
    )
