# SPDX-License-Identifier: Apache-2.0
"""Computed torque in task space: 004 eq. 2.77–2.79, with rotation vectors instead of Euler angles by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.control.friction_cancelling import cancelling_rnea, friction_speed
from armwright.control.law import Law
from armwright.control.task_error import ROTATION_VECTOR, TaskError, damped_inverse, euler_task, rotation_vector_task
from armwright.control.tick_function import choice, gain
from armwright.errors import InputError
from armwright.kinematics.frame_names import rigid
from armwright.robot.tree import as_tree
from armwright.spatial.euler import EULER_SETS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


@names_culprit
def task_space(
    kp: ArrayLike,
    kd: ArrayLike,
    *,
    orientation: str = ROTATION_VECTOR,
    axes: Sequence[int] = (0, 1, 2, 3, 4, 5),
    goal: ArrayLike | None = None,
    kp_null: ArrayLike | None = None,
    kd_null: ArrayLike | None = None,
    threshold: float = 0.02,
    damping: float = 0.02,
    friction: bool | str = "reference",
) -> Law:
    """Task-space computed torque: tau = M a_q + C q̇ + g, a_q = z + J⁺(a_X − J̇q̇ − J z) (004 eq. 2.77–2.79).

    a_X = Ẍ_d + K_0 X̃ + K_1 X̃̇.

    X̃ = [p_d − p; log(R_d Rᵀ)] in base axes, X̃̇ the difference of the twists, J geometric; or, with an Euler set
    as `orientation`, the document's X = [p; angles] and analytic J. X_d is the tool pose of the joint reference, or
    `goal`. J⁺ is J⁻¹ (the pseudo-inverse for more joints than axes) away from singularities and damped within
    `threshold` of them. z = q̈_d − K_n q̃ − K_d,n q̃̇ is what is left to joints that the task does not need:
    redundant ones, and those of a direction lost in a singularity. With a `goal`, z = −K_d,n q̇.

    Claim, for an exact model away from singularities: Ẍ = a_X. Positions and Euler angles obey ẍ + K_1 ẋ + K_0 x =
    0 exactly; so does the rotation to first order, and V = ½X̃̇ᵀX̃̇ + ½X̃ᵀK_0 X̃ has V̇ = −X̃̇ᵀK_1 X̃̇ at any size
    (rotation vector: with equal K_0 on its axes).

    Args:
        kp: K_0 ≥ 0 [1/s²], scalar or one per axis, (6,).
        kd: K_1 ≥ 0 [1/s], scalar or one per axis, (6,).
        orientation: "rotation vector" or the name of an Euler set, "zyz" in the document.
        axes: rows of X that are controlled, 0–2 position, 3–5 orientation; all six by default. Arms with fewer
            joints need fewer.
        goal: constant pose (4, 4) of the tool instead of the reference's.
        kp_null: K_n ≥ 0 [1/s²], scalar or (n,); the smallest kp if omitted.
        kd_null: K_d,n ≥ 0 [1/s], scalar or (n,); the smallest kd if omitted.
        threshold: singular value of J [m and 1 mixed] below which damping sets in.
        damping: its size at the singularity itself.
        friction: the model's friction that is added: at the speed "reference" (q̇_d; none with
            a `goal`, which rests), "measured" (q̇), "smooth" or "none"
            (`armwright.control.friction_cancelling`).

    >>> law = task_space(kp=225.0, kd=30.0)
    """
    choice(orientation, "orientation", (ROTATION_VECTOR, *EULER_SETS))
    rows = list(axes)
    if not rows or sorted(set(rows)) != sorted(rows) or not set(rows) <= set(range(6)):
        raise InputError(f"axes: expected different numbers from 0 (x) to 5 (last orientation), got {tuple(axes)}")
    if not (threshold > 0.0 and damping > 0.0):
        raise InputError(f"threshold and damping must be > 0, got {threshold} and {damping}")
    fixed = None if goal is None else rigid(goal, "goal")
    size, how = len(rows), friction_speed(friction)
    gains = {"kp": gain(kp, "kp", size=size), "kd": gain(kd, "kd", size=size)}
    gains["kp_null"] = gain(gains["kp"].min() if kp_null is None else kp_null, "kp_null")
    gains["kd_null"] = gain(gains["kd"].min() if kd_null is None else kd_null, "kd_null")

    def state(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference) -> TaskError:
        tree = as_tree(arm)
        if tree.n < size:
            raise InputError(
                f"task_space: {size} task axes need at least {size} joints, the arm has {tree.n}; give axes=…"
            )
        if orientation == ROTATION_VECTOR:
            task = rotation_vector_task(tree, q, qd, ref, fixed)
        else:
            task = euler_task(tree, q, qd, ref, orientation, fixed)
        return task if size == 6 and rows == sorted(rows) else TaskError(*(part[rows] for part in task))

    def cancelling(how: str) -> Callable[..., Traced]:
        def task_torque(
            arm: Robot | Tree,
            q: Traced,
            qd: Traced,
            ref: Reference,
            kp: Traced,
            kd: Traced,
            kp_null: Traced,
            kd_null: Traced,
        ) -> Traced:
            task = state(arm, q, qd, ref)
            a_x = task.a + kp * task.e + kd * task.ed
            rest = -(kd_null * qd) if fixed is not None else ref.qdd + kp_null * (ref.q - q) + kd_null * (ref.qd - qd)
            a_q = rest + damped_inverse(task.J, threshold, damping) @ (a_x - task.drift - task.J @ rest)
            return cancelling_rnea(arm, q, qd, a_q, ref.qd if fixed is None else 0.0 * qd, how)

        return task_torque

    def storage(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced) -> Traced:
        task = state(arm, q, qd, ref)
        return 0.5 * (task.ed @ task.ed) + 0.5 * (task.e @ (kp * task.e))

    return Law(
        "task-space computed torque",
        cancelling(how),
        gains,
        storage=storage,
        doc=task_space.__doc__ or "",
        sizes={"kp": size, "kd": size},
        friction=how,
        cancelling=cancelling if fixed is None else None,
    )
