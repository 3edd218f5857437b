# SPDX-License-Identifier: Apache-2.0
"""Adaptive control after Slotine and Li: the arm learns its inertial parameters while it tracks.

`Parameters` chooses which parameters are estimated and gives the regressor that belongs to them; `adaptive` is the law;
`adaptive_parameters` and `adaptation_rates` give first estimates and rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.friction_cancelling import LAYERED, cancelled_friction, smooth_sign
from armwright.control.law import Law
from armwright.control.tick_function import choice, gain
from armwright.control.two_velocities import passive_regressor, sliding, sliding_energy
from armwright.dynamics.public import random_states
from armwright.dynamics.regressor import INERTIAL, body_regressor, find_base
from armwright.dynamics.terms import coulomb_sign
from armwright.errors import InputError
from armwright.robot.kernels import kernel
from armwright.robot.tree import as_tree
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

KINDS = ("m", "h", "h", "h", "I", "I", "I", "I", "I", "I")


def link_parameters(arm: Robot | Tree) -> Array:
    """Ten inertial parameters per body (10 nb,), about the link frame's origin.

    They stand in the order of `armwright.dynamics.regressor`. A regrouped tree gives other numbers, the same torques.
    """
    tree = as_tree(arm)
    out: list[float] = []
    for i in range(tree.nb):
        R, p = tree.T_body_link[i][:3, :3], tree.T_body_link[i][:3, 3]
        m, h = float(tree.m[i]), tree.h[i]
        J = R.T @ (tree.J[i] + skew(h) @ skew(p) + skew(p) @ skew(h) - m * skew(p) @ skew(p)) @ R
        out += [m, *(R.T @ (h - m * p)), J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]]
    return np.array(out, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Parameters:
    """A choice of parameters π.

    Attributes:
        columns: used columns of the full regressor (n, 10 nb). regrouping: (len(columns), 10 nb), π = regrouping @
            (10 nb values).
        friction: "known", "adapt" or "none". friction_at: the speed it is computed at, "reference" or "measured".
        names: names of the parameters. kinds: "m", "h", "I", "viscous" or "coulomb", one per parameter.
    """

    columns: NDArray[np.intp]
    regrouping: Array
    friction: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    friction_at: str = "reference"

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.names)

    def true(self, arm: Robot | Tree) -> Array:
        """Return the values that `arm` has (size,)."""
        tree = as_tree(arm)
        inertial = self.regrouping @ link_parameters(tree)
        return np.concatenate([inertial, np.diag(tree.viscous), tree.coulomb]) if self.friction == "adapt" else inertial

    def regressor(self, arm: Robot | Tree, q: Traced, qd: Traced, qd_r: Traced, qdd_r: Traced) -> Traced:
        """Y (n, size)."""
        tree = as_tree(arm)
        Y = passive_regressor(tree, q, qd, qd_r, qdd_r)[:, self.columns]
        if self.friction != "adapt":
            return Y
        eye, measured = np.eye(tree.n), self.friction_at == "measured"
        v, sign = (qd, coulomb_sign(tree, qd)) if measured else (qd_r, smooth_sign(qd_r))
        return np.concatenate([Y, eye * v, eye * sign], axis=1)

    def known(self, arm: Robot | Tree, qd: Traced, qd_r: Traced, qdd_r: Traced) -> Traced:
        """Return the torque that is not estimated (n,): rotors, and friction where it is known."""
        tree = as_tree(arm)
        tau = tree.armature @ qdd_r
        at = LAYERED if self.friction_at == "reference" else self.friction_at
        return tau + cancelled_friction(tree, qd, qd_r, at) if self.friction == "known" else tau


def parameters_of(robot: Robot, form: str, friction: str, friction_at: str = "reference") -> Parameters:
    """Choose the parameters of `robot`: form "links" or "base", friction "known", "adapt" or "none"."""
    choice(friction_at, "friction_at", ("reference", "measured"))
    choice(form, "form", ("links", "base"))
    choice(friction, "friction", ("known", "adapt", "none"))
    names = [f"{body.name}.{label}" for body in robot.bodies for label in INERTIAL]
    columns, regrouping = np.arange(len(names)), np.eye(len(names))
    if form == "base":
        Y = kernel(robot, body_regressor, regroup=False)(*random_states(robot, 4 * len(names)))
        base = find_base(Y.reshape(-1, len(names)), names)
        columns, regrouping = base.independent, base.regrouping
    kinds = [KINDS[k % 10] for k in columns]
    chosen = [names[k] for k in columns]
    if friction == "adapt":
        for kind in ("viscous", "coulomb"):
            chosen += [f"{joint.name}.{kind}" for joint in robot.joints]
            kinds += [kind] * robot.n
    return Parameters(columns, regrouping, friction, tuple(chosen), tuple(kinds), friction_at)


@names_culprit
def adaptive(
    robot: Robot,
    k: ArrayLike,
    lam: ArrayLike,
    gamma: ArrayLike,
    *,
    form: str = "links",
    friction: str = "known",
    friction_at: str = "reference",
    start: ArrayLike | None = None,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
) -> Law:
    """Slotine–Li: tau = Y(q, q̇, q̇_r, q̈_r) π̂ − K s, d π̂/dt = −Γ Yᵀ s; s, q̇_r, q̈_r as in `sliding_mode`.

    Storage: V = ½sᵀM s + ½π̃ᵀΓ⁻¹π̃, π̃ = π̂ − π, with π the parameters of the arm that the storage is asked for.
    Claim: V̇ ≤ −sᵀKs whatever π is, so s → 0 and q → q_d for every bounded reference; π̂ converges to π only where
    the motion excites it. Projection onto the box [lower, upper] keeps V̇ ≤ −sᵀKs if π is inside. π̂ advances by
    one explicit Euler step each period. Rotor inertia is known.

    Args:
        robot: gives the geometry, the number of parameters and, without `start`, their first estimate.
        k: K ≥ 0 [N m s/rad], scalar or (n,).
        lam: Λ > 0 [1/s], scalar or (n,).
        gamma: adaptation rates Γ > 0, scalar or (m,), in units of the parameters squared over those of V;
            `adaptation_rates` gives rates in proportion.
        form: "links", ten parameters per body, or "base", the combinations that torques can show (fewer states).
        friction: "known" (the model's is cancelled), "adapt" (viscous and Coulomb coefficients per joint join π), or
            "none".
        friction_at: the speed at which it is: "reference" (q̇_r: V̇ ≤ −sᵀKs, what is left of the friction damps s) or
            "measured" (q̇: V̇ = −sᵀKs where the law acts continuously).
        start: first estimate (m,), see `adaptive_parameters`.
        lower: smallest values allowed, scalar or (m,).
        upper: largest values allowed, scalar or (m,).

    >>> law = adaptive(robot, k=20.0, lam=10.0, gamma=adaptation_rates(robot, 1.0))
    """
    parameters = parameters_of(robot, form, friction, friction_at)
    m = parameters.size
    first = parameters.true(robot) if start is None else np.array(start, dtype=np.float64)
    low, high = (_bound(value, m, label) for value, label in ((lower, "lower"), (upper, "upper")))
    if first.shape != (m,):
        raise InputError(
            f"adaptive: start must have shape ({m},), one per parameter ({form}, friction {friction}); "
            f"got {first.shape}"
        )
    if (first < low).any() or (first > high).any():
        worst = int(np.argmax(np.maximum(low - first, first - high)))
        raise InputError(
            f"adaptive: start of {parameters.names[worst]} is {first[worst]:g}, "
            f"outside [{low[worst]:g}, {high[worst]:g}]"
        )

    def adapt(
        arm: Robot | Tree,
        q: Traced,
        qd: Traced,
        ref: Reference,
        dt: Traced,
        k: Traced,
        lam: Traced,
        gamma: Traced,
        estimate: Traced,
    ) -> tuple[Traced, dict[str, Traced]]:
        s, qd_r, qdd_r = sliding(q, qd, ref, lam)
        Y = parameters.regressor(arm, q, qd, qd_r, qdd_r)
        tau = Y @ estimate + parameters.known(arm, qd, qd_r, qdd_r) - k * s
        return tau, {"estimate": _inside(estimate - dt * (gamma * (s @ Y)), low, high)}

    def storage(
        arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, lam: Traced, gamma: Traced, estimate: Traced
    ) -> Traced:
        error = estimate - parameters.true(arm)
        return sliding_energy(arm, q, qd, ref, lam) + 0.5 * (error @ (error / gamma))

    gains = {
        "k": gain(k, "k"),
        "lam": gain(lam, "lam", positive=True),
        "gamma": gain(gamma, "gamma", size=m, positive=True),
    }
    return Law("adaptive", adapt, gains, {"estimate": first}, storage, adaptive.__doc__ or "", {"gamma": m})


@names_culprit
def adaptive_parameters(robot: Robot, *, form: str = "links", friction: str = "known") -> dict[str, float]:
    """Return names and values of the parameters that `adaptive` estimates, in its order, for `robot`.

    >>> adaptive_parameters(robot)["shoulder.m"]
    """
    parameters = parameters_of(robot, form, friction)
    return dict(zip(parameters.names, parameters.true(robot).tolist(), strict=True))


@names_culprit
def adaptation_rates(
    robot: Robot, rate: float = 1.0, *, form: str = "links", friction: str = "known"
) -> NDArray[np.float64]:
    """Return rates Γ (m,) = rate · (size of the parameter)², so that parameters of different units learn alike.

    The size is the parameter's own value, but at least a tenth of the largest of its kind (mass, moment, inertia, …).

    >>> law = adaptive(robot, k=20.0, lam=10.0, gamma=adaptation_rates(robot, 0.5))
    """
    parameters = parameters_of(robot, form, friction)
    values, kinds = np.abs(parameters.true(robot)), parameters.kinds
    size = np.array(
        [
            max(values[i], 0.1 * max(values[j] for j in range(len(kinds)) if kinds[j] == kinds[i]), 1e-6)
            for i in range(len(kinds))
        ]
    )
    return float(gain(rate, "rate", positive=True)) * size**2


def _bound(value: ArrayLike, m: int, label: str) -> NDArray[np.float64]:
    array = np.array(value, dtype=np.float64)
    if array.shape not in ((), (m,)) or np.isnan(array).any():
        raise InputError(f"adaptive: {label} must be a scalar or ({m},) without NaN, got {array.shape}")
    return np.broadcast_to(array, (m,))


def _inside(x: Traced, low: NDArray[np.float64], high: NDArray[np.float64]) -> Traced:
    """Projection onto the box; sides at infinity cost nothing."""
    out = [np.maximum(v, a) if np.isfinite(a) else v for v, a in zip(x, low, strict=True)]
    return np.array([np.minimum(v, b) if np.isfinite(b) else v for v, b in zip(out, high, strict=True)])


__all__ = ["Parameters", "adaptation_rates", "adaptive", "adaptive_parameters"]
