# SPDX-License-Identifier: Apache-2.0
"""The wrench at the tool from external joint torques, and which directions of it can be known.

tau_ext = JᵀF. The singular values of J say how well each direction of F is seen: near a singularity one tends to zero,
and the plain inverse F̂ = J⁻ᵀ tau_ext (000 eq. 5.2) explodes. Directions seen worse than `rcond` times the best are here
left out of the estimate and reported, those near that limit are damped, and the residual tells what no tool wrench
explains (a contact elsewhere on the arm). Moments are divided by a length so that newtons and newton metres compare.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.errors import InputError
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.kernels import kernel
from armwright.spatial import ltdl_solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

LENGTH = 0.5
"""[m] a force of 1 N counts like a moment of 0.5 N m: the lever of a tool on the joints of an arm of 1 m."""
RCOND = 0.005
"""Share of the best seen direction below which one is not seen: an error of 0.1 N m would become 40 N where the best
lever is `LENGTH`."""
ROUNDING_SHARE = 1e-14
"""Share of the largest singular value that is rounding, so that the condition is infinite: 50 units of rounding."""
LEVER_DAMPING = 0.02
"""Damping of the least squares [m]: forces with levers ≥ 0.2 m come out within 1 %, and 1 N m gives 25 N at most."""


class WrenchEstimate(NamedTuple):
    """A tool wrench and how far to trust it; leading batch axes as the inputs.

    Attributes:
        wrench: (..., 6) [f; n] that the world exerts on the tool, base axes at the tool origin; unobservable parts are
            0. A force-only estimate has n = 0.
        condition: (...) largest over smallest singular value of the (weighed) Jᵀ; inf where J has lost rank.
        observable: (..., 6, 6) projector onto the observable wrenches: ``observable @ F`` is the part of a true F that
            the estimate can show (without damping).
        rank: (...) number of observable directions.
        reliable: (...) True where every direction is observable and none is damped.
        residual: (...) norm of the torque [N m] that no such wrench explains.
    """

    wrench: Array
    condition: Array
    observable: Array
    rank: NDArray[np.int64]
    reliable: Any
    residual: Array


@names_culprit
def tool_wrench(
    robot: Robot,
    q: ArrayLike,
    tau_ext: ArrayLike,
    *,
    force_only: bool = False,
    rcond: float = RCOND,
    length: float = LENGTH,
) -> WrenchEstimate:
    """Estimate the wrench at the tool from external joint torques (000 eq. 5.2; 004 eq. 6.8 with the opposite sign).

    Args:
        robot: the arm.
        q: (..., n) joint positions.
        tau_ext: (..., n) external joint torques [N m].
        force_only: take the moment for zero: a point contact at the tool. Better conditioned, three unknowns.
        rcond: directions with a singular value below rcond·largest are dropped; up to three times that, damped.
        length: [m] weighs moments against forces.

    >>> tool_wrench(robot, q, tau_ext, force_only=True).wrench[:3]  # [N]
    """
    if not (0.0 < rcond < 1.0 and length > 0.0):
        raise InputError(f"tool wrench: need 0 < rcond < 1 and length > 0, got {rcond} and {length}")
    angles, torque = np.asarray(q, dtype=np.float64), np.asarray(tau_ext, dtype=np.float64)
    if angles.shape[-1:] != (robot.n,) or torque.shape[-1:] != (robot.n,) or not np.isfinite(torque).all():
        raise InputError(
            f"tool wrench: q and tau_ext must be (..., {robot.n}), finite; got {angles.shape}, {torque.shape}"
        )
    shape = np.broadcast_shapes(angles.shape, torque.shape)
    angles, torque = np.broadcast_to(angles, shape), np.broadcast_to(torque, shape)
    J = np.asarray(kernel(robot, frame_jacobian)(angles))
    size = 3 if force_only else 6
    weight = np.array([1.0, 1.0, 1.0, length, length, length])[:size]
    A = np.swapaxes(J[..., :size, :] / weight[:, None], -1, -2)  # tau = A (weight · F)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    s = np.concatenate([s, np.zeros((*s.shape[:-1], size - s.shape[-1]))], axis=-1)  # fewer joints than unknowns
    best = s[..., :1]
    limit = np.maximum(rcond * best, np.finfo(float).tiny)
    seen = s > limit
    # 1/s where well seen; falls smoothly to 0 at the limit, so that the estimate does not jump when a direction goes
    fade = np.clip((s / limit - 1.0) / 2.0, 0.0, 1.0)
    inverse = np.where(seen, fade * fade * (3.0 - 2.0 * fade) / np.maximum(s, limit), 0.0)
    m = U.shape[-1]
    along = np.einsum("...ji,...j->...i", U, torque)
    weighed = np.einsum("...ij,...i->...j", Vt, inverse[..., :m] * along)
    P = np.einsum("...ij,...ik->...jk", np.where(seen[..., :m, None], Vt, 0.0), Vt)
    wrench, observable = np.zeros((*shape[:-1], 6)), np.zeros((*shape[:-1], 6, 6))
    wrench[..., :size] = weighed / weight
    observable[..., :size, :size] = P / weight[:, None] * weight
    explained = np.einsum("...ij,...j->...i", A, weighed)
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = np.where(s[..., -1] > ROUNDING_SHARE * best[..., 0], best[..., 0] / s[..., -1], np.inf)
    return WrenchEstimate(
        wrench,
        condition,
        observable,
        seen.sum(axis=-1),
        (fade >= 1.0).all(axis=-1),
        np.linalg.norm(torque - explained, axis=-1),
    )


def damped_wrench(
    arm: Robot | Tree, q: Traced, tau_ext: Traced, damping: float, length: float, *, force_only: bool
) -> Traced:
    """Tool wrench (6,) or force (3,) by damped least squares, min ‖tau − JᵀF‖² + damping² ‖W F‖²; floats or symbols.

    ‖F̂‖ ≤ ‖tau‖/(2 damping), whatever the pose; where singular values are large against `damping` the error is
    (damping/s)² of the value.
    """
    size = 3 if force_only else 6
    J = frame_jacobian(arm, q)[:size]
    weight = np.array([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length])[:size]
    B = np.array([J[i] * weight[i] for i in range(size)])
    return ltdl_solve(B @ B.T + damping**2 * np.eye(size), B @ tau_ext) * weight


@lru_cache(maxsize=16)
def _function(force_only: bool, damping: float, length: float) -> Callable[..., Any]:
    def estimate(arm: Robot | Tree, q: Traced, tau_ext: Traced) -> dict[str, Traced]:
        return {"wrench_ext": damped_wrench(arm, q, tau_ext, damping, length, force_only=force_only)}

    return estimate


@names_culprit
def wrench_observer(*, force_only: bool = True, damping: float = LEVER_DAMPING, length: float = LENGTH) -> Monitor:
    """Tool wrench at every tick from the ``tau_ext`` of an earlier observer: output ``wrench_ext``, (3,) or (6,).

    Args:
        force_only: the force alone, moment taken for zero; otherwise [f; n].
        damping: damping of the least squares [m]; bounds the estimate near singularities by ‖tau_ext‖/(2 damping).
        length: [m] weighs moments against forces.

    >>> monitors = [momentum_observer(50.0), wrench_observer()]
    """
    if not (damping > 0.0 and length > 0.0 and np.isfinite(damping + length)):
        raise InputError(f"wrench observer: damping and length must be positive, got {damping} and {length}")
    return Monitor(
        "tool wrench",
        _function(force_only, float(damping), float(length)),
        {},
        {},
        ("wrench_ext",),
        wrench_observer.__doc__ or "",
    )
