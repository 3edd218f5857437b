# SPDX-License-Identifier: Apache-2.0
"""Impedance control of the tool: a spring and a damper in space, with the arm's own inertia or a chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.friction_cancelling import cancelling_rnea, friction_speed
from armwright.control.law import Law
from armwright.control.task_error import damped_inverse, rotation_vector_task, spring_moment
from armwright.control.tick_function import gain
from armwright.control.two_velocities import passive_torque
from armwright.dynamics.energy import kinetic_energy
from armwright.errors import InputError
from armwright.kinematics.frame_names import rigid
from armwright.motion.trajectory import Reference
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced


def _six(value: Scalar) -> Traced:
    """A gain as six values."""
    return value * np.ones(6)


def spring_wrench(e: Traced, stiffness: Traced) -> Traced:
    """Wrench (6,) of the spring ½ eᵀK e at e = [p_d − p; log(R_d Rᵀ)], base axes."""
    k = _six(stiffness)
    return np.concatenate([k[:3] * e[:3], spring_moment(e[3:], k[3:])])


@names_culprit
def impedance(
    stiffness: ArrayLike,
    damping: ArrayLike,
    *,
    inertia: ArrayLike | None = None,
    joint_damping: ArrayLike = 0.0,
    null_damping: ArrayLike = 2.0,
    goal: ArrayLike | None = None,
    threshold: float = 0.02,
    singular_damping: float = 0.02,
    friction: bool | str = "reference",
) -> Law:
    """Impedance of the tool, x̃ = [p_d − p; log(R_d Rᵀ)] in base axes, X_d from the joint reference or `goal`.

    Without `inertia` the arm keeps its own: tau = M q̈_d + C(q, q̇)q̇_d + g + Jᵀ(K x̃ + D x̃̇) + D_q(q̇_d − q̇). No
    force sensor, no inverse of J, good in singularities, any number of joints. Storage: V = ½ėᵀM ė + ½x̃ᵀK x̃.
    Claim, for a constant reference: V̇ = −ẋᵀDẋ − q̇ᵀD_q q̇ + ẋᵀw, the arm is passive towards the wrench w that the
    world exerts, so it is stable in contact with every passive environment.

    With `inertia` M_d: tau = M a_q + C q̇ + g − Jᵀw, a_q = z + J⁺(ẍ_d + M_d⁻¹(K x̃ + D x̃̇ + w) − J̇q̇ − J z), z =
    −D_n q̇. Claim, with w measured (signal ``wrench``), an exact model and away from singularities: M_d x̃̈ + D x̃̇
    + K x̃ = −w. V = ½x̃̇ᵀM_d x̃̇ + ½x̃ᵀK x̃, V̇ = −x̃̇ᵀDx̃̇ − x̃̇ᵀw. Without a measured wrench the world meets the
    inertia Λ = (J M⁻¹Jᵀ)⁻¹ instead, and stiffness and damping appear as Λ M_d⁻¹K, Λ M_d⁻¹D.

    Anisotropic rotational stiffness acts by the exact gradient of ½φᵀKφ; both claims hold then for constant references.

    Args:
        stiffness: K ≥ 0 [N/m, N m/rad], scalar or (6,).
        damping: D ≥ 0 [N s/m, N m s/rad], scalar or (6,).
        inertia: M_d > 0 [kg, kg m²], scalar or (6,).
        joint_damping: D_q ≥ 0 [N m s/rad], scalar or (n,); calms joints that the tool does not need. Only without
            `inertia`.
        null_damping: D_n ≥ 0 [1/s], scalar or (n,); the same task with `inertia`.
        goal: constant pose (4, 4) instead of the reference's.
        threshold: singular value of J below which J⁺ is damped (with `inertia`).
        singular_damping: size of that damping at the singularity.
        friction: the model's friction that is added: at the speed "reference" (q̇_d; none with
            a `goal`, which rests: the hand feels the arm's own friction), "measured" (q̇), "smooth" or "none"
            (`armwright.control.friction_cancelling`).

    >>> law = impedance(stiffness=[500.0] * 3 + [50.0] * 3, damping=[100.0] * 3 + [10.0] * 3)
    """
    fixed = None if goal is None else rigid(goal, "goal")
    gains = {"stiffness": gain(stiffness, "stiffness", size=6), "damping": gain(damping, "damping", size=6)}
    sizes, doc = {"stiffness": 6, "damping": 6, "inertia": 6}, impedance.__doc__ or ""

    how = friction_speed(friction)

    def at_rest(q: Traced, ref: Reference) -> Reference:
        return ref if fixed is None else Reference(q, 0.0 * q, 0.0 * q)

    def natural_law(how: str) -> Callable[..., Traced]:
        def natural(
            arm: Robot | Tree,
            q: Traced,
            qd: Traced,
            ref: Reference,
            stiffness: Traced,
            damping: Traced,
            joint_damping: Traced,
        ) -> Traced:
            tree, ref = as_tree(arm), at_rest(q, ref)
            task = rotation_vector_task(tree, q, qd, ref, fixed)
            wrench = spring_wrench(task.e, stiffness) + damping * task.ed
            tau = passive_torque(tree, q, qd, ref.qd, ref.qdd, friction=how)
            return tau + task.J.T @ wrench + joint_damping * (ref.qd - qd)

        return natural

    def natural_storage(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, stiffness: Traced) -> Traced:
        ref = at_rest(q, ref)
        e = rotation_vector_task(as_tree(arm), q, qd, ref, fixed).e
        return kinetic_energy(arm, q, ref.qd - qd) + 0.5 * (e @ (stiffness * e))

    def shaped_law(how: str) -> Callable[..., Traced]:
        def shaped(
            arm: Robot | Tree,
            q: Traced,
            qd: Traced,
            ref: Reference,
            stiffness: Traced,
            damping: Traced,
            inertia: Traced,
            null_damping: Traced,
            wrench: Traced | None = None,
        ) -> Traced:
            tree = as_tree(arm)
            if tree.n < 6:
                raise InputError(
                    f"impedance: a chosen inertia needs at least 6 joints, the arm has {tree.n}; leave inertia out"
                )
            task = rotation_vector_task(tree, q, qd, ref, fixed)
            push = spring_wrench(task.e, stiffness) + damping * task.ed
            push = push if wrench is None else push + wrench
            z = -(null_damping * qd)
            a_q = z + damped_inverse(task.J, threshold, singular_damping) @ (
                task.a + push / inertia - task.drift - task.J @ z
            )
            return cancelling_rnea(tree, q, qd, a_q, at_rest(q, ref).qd, how, wrench)

        return shaped

    def shaped_storage(
        arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, stiffness: Traced, inertia: Traced
    ) -> Traced:
        task = rotation_vector_task(as_tree(arm), q, qd, ref, fixed)
        return 0.5 * (task.ed @ (inertia * task.ed)) + 0.5 * (task.e @ (stiffness * task.e))

    if inertia is None:
        gains["joint_damping"] = gain(joint_damping, "joint_damping")
        del sizes["inertia"]
        return Law(
            "impedance",
            natural_law(how),
            gains,
            storage=natural_storage,
            doc=doc,
            sizes=sizes,
            friction=how,
            cancelling=natural_law if fixed is None else None,
        )
    if np.any(np.asarray(joint_damping)):
        raise InputError("impedance: joint_damping and inertia exclude each other")
    gains |= {
        "inertia": gain(inertia, "inertia", size=6, positive=True),
        "null_damping": gain(null_damping, "null_damping"),
    }
    return Law(
        "impedance with inertia shaping",
        shaped_law(how),
        gains,
        storage=shaped_storage,
        doc=doc,
        sizes=sizes,
        friction=how,
        cancelling=shaped_law if fixed is None else None,
    )
