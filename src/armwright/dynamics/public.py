# SPDX-License-Identifier: Apache-2.0
"""Dynamics of an arm, compiled: what users call. Leading axes of q, qd, … are batch axes and broadcast.

Each function looks its kernel up in the robot and calls it; loops that count nanoseconds hold the kernel itself
(`inverse_dynamics_kernel`, `forward_dynamics_kernel`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit, numbers
from armwright.dynamics.coriolis import coriolis
from armwright.dynamics.derivatives import (
    ForwardDerivatives,
    InverseDerivatives,
    forward_derivatives,
    inverse_derivatives,
)
from armwright.dynamics.energy import Energy
from armwright.dynamics.energy import energy as energy_of
from armwright.dynamics.methods import METHODS, find
from armwright.dynamics.newton_euler import bias as bias_of
from armwright.dynamics.newton_euler import gravity_torque as gravity_of
from armwright.dynamics.newton_euler import reactions
from armwright.dynamics.regressor import parameter_names, parameters
from armwright.dynamics.regressor import regressor as regressor_of
from armwright.dynamics.terms import is_plain
from armwright.errors import InputError
from armwright.robot.inertia_needed import require_inertia
from armwright.robot.kernels import kernel
from armwright.robot.model import robot_needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.dynamics.regressor import BaseParameters
    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Array

ALWAYS_CRBA, ALWAYS_ABA = 7, 24  # joints on one path; in between both are traced and counted


def _unusable(robot: Any, error: Exception) -> InputError:
    """What to raise where a kernel could not even be looked up: not a robot, or options that are not plain values."""
    return InputError(robot_needed(robot) or f"options must be plain values ({error})")


def _place(robot: Robot, wrench: Any, *others: Any) -> str | None:
    """Tell a tool wrench (..., 6) from one wrench a body (..., nb, 6): the latter has one axis more than the batch."""
    if wrench is None:
        return None
    if wrong := robot_needed(robot):
        raise InputError(wrong)
    shape, bodies = numbers(wrench, "wrench").shape, len(robot.bodies)
    if shape == (6,):
        return "tool"
    batch = max(np.ndim(value) for value in others) - 1
    if shape[-2:] == (bodies, 6) and len(shape) > batch + 1:
        return "bodies"
    if shape[-1:] == (6,):
        return "tool"
    raise InputError(f"wrench: expected shape (..., 6) at the tool or (..., {bodies}, 6), one per body, got {shape}")


def _call(robot: Robot, name: str, function: Any, wrench: Any, *arrays: Any, regroup: bool, **constants: Any) -> Any:
    """Run the kernel of `function`, with the wrench as a further input if there is one; errors speak of `name`."""
    place = _place(robot, wrench, *arrays)
    key = (function, place, *constants.values())
    try:
        k = robot.known.get(key)
    except (AttributeError, TypeError) as error:
        raise _unusable(robot, error) from error
    if k is None:
        k = robot.memo(key, _kernel, name, function, place, regroup, constants)
    return k(*arrays) if wrench is None else k(*arrays, wrench)


def _kernel(
    robot: Robot, name: str, function: Any, place: str | None, regroup: bool, constants: dict[str, Any]
) -> Kernel:
    if function is not regressor_of:  # which holds for any inertia
        require_inertia(robot, name, forward=function is forward_derivatives)
    return kernel(robot, function, regroup=regroup, shapes=_shapes(robot, place), name=name, **constants)


def inverse_dynamics_kernel(
    robot: Robot,
    method: str = "rnea",
    *,
    wrench: str | None = None,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
    check_finite: bool = True,
) -> Kernel:
    """Kernel (q, qd, qdd[, wrench]) → tau. `wrench` adds an input: "tool" (6,) or "bodies" (nb, 6)."""
    function, options = find(robot, method, "inverse")
    return kernel(
        robot,
        function,
        regroup=True,
        check_finite=check_finite,
        shapes=_shapes(robot, wrench),
        name="inverse_dynamics",
        gravity=gravity,
        friction=friction,
        rotors=rotors,
        **options,
    )


def forward_dynamics_kernel(
    robot: Robot,
    method: str = "auto",
    *,
    wrench: str | None = None,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
    check_finite: bool = True,
) -> Kernel:
    """Kernel (q, qd, tau[, wrench]) → qdd. `wrench` adds an input: "tool" (6,) or "bodies" (nb, 6)."""
    shapes = _shapes(robot, wrench)

    def of(name: str) -> Kernel:
        function, options = find(robot, name, "forward")
        return kernel(
            robot,
            function,
            regroup=True,
            check_finite=check_finite,
            shapes=shapes,
            name="forward_dynamics",
            gravity=gravity,
            friction=friction,
            rotors=rotors,
            **options,
        )

    if method != "auto":
        return of(method)
    tree = robot.tree
    depth = max((len(tree.ancestors(i)) for i in range(tree.nb)), default=0)
    if depth <= ALWAYS_CRBA or not is_plain(tree):
        return of("crba")
    if depth > ALWAYS_ABA and np.count_nonzero(tree.armature - np.diag(np.diag(tree.armature))) == 0:
        return of("aba")
    return min(of("crba"), of("aba"), key=lambda k: k.counts.flops)


def _with_options(
    robot: Robot,
    of: Callable[..., Kernel],
    method: str,
    wrench: str | None,
    gravity: bool,
    friction: bool,
    rotors: bool,
    check_finite: bool,
) -> Kernel:
    return of(
        robot, method, wrench=wrench, gravity=gravity, friction=friction, rotors=rotors, check_finite=check_finite
    )


def _shapes(robot: Robot, wrench: str | None) -> dict[str, tuple[int, ...]] | None:
    known: dict[str | None, dict[str, tuple[int, ...]] | None] = {
        None: None,
        "tool": {"wrench": (6,)},
        "bodies": {"wrenches": (len(robot.bodies), 6)},
    }
    if wrench not in known:
        raise InputError(f"wrench: a kernel takes 'tool', 'bodies' or None, got {wrench!r}")
    return known[wrench]


def inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrench: ArrayLike | None = None,
    method: str = "rnea",
    *,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
    check_finite: bool = True,
) -> Array:
    """Actuator torques tau (..., n) that a motion needs.

    Args:
        robot: the arm.
        q: joint coordinates (..., n) [rad or m].
        qd: joint velocities (..., n).
        qdd: joint accelerations (..., n).
        wrench: what the world does to the arm, linear first [f; n], base axes: (..., 6) at the tool origin, or
            (..., nb, 6) one per body at the origin of its link frame (the batch axes of q, then nb).
        method: one of `METHODS`; all agree.
        gravity: let gravity act.
        friction: include viscous and Coulomb friction.
        rotors: include rotor inertia.
        check_finite: raise `InputError` on NaN or infinity.
    """
    if wrench is None and method == "rnea" and gravity and friction and rotors and check_finite:
        try:  # the usual call: a name is found quicker than a tuple
            k = robot.known.get("inverse_dynamics")
        except (AttributeError, TypeError) as error:
            raise _unusable(robot, error) from error
        if k is None:
            k = robot.memo("inverse_dynamics", inverse_dynamics_kernel)
        return k(q, qd, qdd)  # type: ignore[no-any-return]
    place = _place(robot, wrench, q, qd, qdd)
    key = ("inverse_dynamics", method, place, gravity, friction, rotors, check_finite)
    try:
        k = robot.known.get(key)
    except (AttributeError, TypeError) as error:
        raise _unusable(robot, error) from error
    if k is None:
        k = robot.memo(key, _with_options, inverse_dynamics_kernel, *key[1:])
    return k(q, qd, qdd) if place is None else k(q, qd, qdd, wrench)  # type: ignore[no-any-return]


def forward_dynamics(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrench: ArrayLike | None = None,
    method: str = "auto",
    *,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
    check_finite: bool = True,
) -> Array:
    """Joint accelerations qdd (..., n) that actuator torques tau (..., n) cause; other arguments as `inverse_dynamics`.

    ``method="auto"`` takes CRBA with LᵀDL or ABA, whichever needs fewer operations for this arm.
    """
    if wrench is None and method == "auto" and gravity and friction and rotors and check_finite:
        try:
            k = robot.known.get("forward_dynamics")
        except (AttributeError, TypeError) as error:
            raise _unusable(robot, error) from error
        if k is None:
            k = robot.memo("forward_dynamics", forward_dynamics_kernel)
        return k(q, qd, tau)  # type: ignore[no-any-return]
    place = _place(robot, wrench, q, qd, tau)
    key = ("forward_dynamics", method, place, gravity, friction, rotors, check_finite)
    try:
        k = robot.known.get(key)
    except (AttributeError, TypeError) as error:
        raise _unusable(robot, error) from error
    if k is None:
        k = robot.memo(key, _with_options, forward_dynamics_kernel, *key[1:])
    return k(q, qd, tau) if place is None else k(q, qd, tau, wrench)  # type: ignore[no-any-return]


def mass_matrix(
    robot: Robot, q: ArrayLike, method: str = "crba", *, rotors: bool = True, check_finite: bool = True
) -> Array:
    """Joint-space mass matrix M (..., n, n), symmetric positive definite, with rotor inertia unless switched off."""
    key = ("mass_matrix", method, rotors, check_finite)
    try:
        k = robot.known.get(key)
    except (AttributeError, TypeError) as error:
        raise _unusable(robot, error) from error
    if k is None:
        k = robot.memo(key, _mass_kernel, method, rotors, check_finite)
    return k(q)  # type: ignore[no-any-return]


def _mass_kernel(robot: Robot, method: str, rotors: bool, check_finite: bool) -> Kernel:
    function, options = find(robot, method, "mass")
    return kernel(
        robot, function, regroup=True, check_finite=check_finite, name="mass_matrix", rotors=rotors, **options
    )


def coriolis_matrix(robot: Robot, q: ArrayLike, qd: ArrayLike) -> Array:
    """Christoffel matrix C (..., n, n): C q̇ are the velocity torques and Ṁ − 2C is skew (000 §3.3, 004 eq. 2.66)."""
    return _call(robot, "coriolis_matrix", coriolis, None, q, qd, regroup=True)  # type: ignore[no-any-return]


def bias(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    wrench: ArrayLike | None = None,
    *,
    gravity: bool = True,
    friction: bool = True,
) -> Array:
    """Torque at zero acceleration (..., n): C q̇ + g − Jᵀw + friction, the u′ of 001 eq. 36."""
    options = {"gravity": gravity, "friction": friction}
    return _call(robot, "bias", bias_of, wrench, q, qd, regroup=True, **options)  # type: ignore[no-any-return]


def gravity_torque(robot: Robot, q: ArrayLike) -> Array:
    """Torque (..., n) that holds the arm still against gravity, g(q) = ∂V/∂q."""
    return _call(robot, "gravity_torque", gravity_of, None, q, regroup=True)  # type: ignore[no-any-return]


def energy(robot: Robot, q: ArrayLike, qd: ArrayLike, *, rotors: bool = True) -> Energy:
    """Kinetic, potential and total energy [J], each of the batch's shape; potential is 0 at the height of the base."""
    return Energy(*_call(robot, "energy", energy_of, None, q, qd, regroup=False, rotors=rotors))


def joint_reactions(
    robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, wrench: ArrayLike | None = None, *, frame: str = "joint"
) -> Array:
    """Wrench [f; n] (..., nb, 6) that each body's parent exerts on it through the joint (001 eq. 32).

    Args:
        robot: the arm.
        q: joint coordinates (..., n).
        qd: joint velocities (..., n).
        qdd: joint accelerations (..., n).
        wrench: external wrench as in `inverse_dynamics`.
        frame: axes and moment point: "joint" (the moved joint frame, on the axis), "link" (the link's own frame),
            "parent" (the parent's link frame: frame i−1 of the document for standard DH).
    """
    name = "joint_reactions"
    return _call(robot, name, reactions, wrench, q, qd, qdd, regroup=False, frame=frame)  # type: ignore[no-any-return]


def regressor(robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Y (..., n, 10 nb + 4n) with ``tau = Y @ parameters(robot)``; see `armwright.dynamics.regressor` for the order."""
    return _call(robot, "regressor", regressor_of, None, q, qd, qdd, regroup=False)  # type: ignore[no-any-return]


def random_states(robot: Robot, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random q (inside the limits where finite), qd and qdd (count, n) for checks and excitation."""
    rng = np.random.default_rng(seed)
    reach = np.array([np.pi if joint.kind == "revolute" else 0.5 for joint in robot.joints])
    lower = np.maximum(np.where(np.isfinite(robot.lower), robot.lower, -reach), -2.0 * np.pi)
    upper = np.minimum(np.where(np.isfinite(robot.upper), robot.upper, reach), 2.0 * np.pi)
    q = lower + (upper - lower) * rng.random((count, robot.n))
    qd, qdd = rng.uniform(-2.0, 2.0, (2, count, robot.n))
    return q, qd, qdd


@names_culprit
def base_parameters(
    robot: Robot, *, samples: int | None = None, seed: int = 0, tolerance: float = 1e-9
) -> BaseParameters:
    """Identifiable combinations of the parameters, by QR of the regressor over random states (`BaseParameters`)."""
    from armwright.dynamics.regressor import find_base  # SciPy loads slowly, and few need it

    if not tolerance > 0.0:
        raise InputError(f"base_parameters: tolerance must be > 0, got {tolerance}")
    names = parameter_names(robot)
    count = samples if samples is not None else 4 * len(names)
    Y = regressor(robot, *random_states(robot, count, seed))
    return find_base(Y.reshape(-1, Y.shape[-1]), names, tolerance=tolerance)


def dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrench: ArrayLike | None = None,
    *,
    friction: bool = True,
    rotors: bool = True,
) -> ForwardDerivatives:
    """∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau (..., n, n) of forward dynamics, exact; wrenches are constant in base axes."""
    options = {"friction": friction, "rotors": rotors}
    name = "dynamics_derivatives"
    return ForwardDerivatives(*_call(robot, name, forward_derivatives, wrench, q, qd, tau, regroup=True, **options))


def inverse_dynamics_derivatives(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrench: ArrayLike | None = None,
    *,
    friction: bool = True,
    rotors: bool = True,
) -> InverseDerivatives:
    """∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd = M (..., n, n) of inverse dynamics, exact; wrenches are constant in base axes."""
    options = {"friction": friction, "rotors": rotors}
    name = "inverse_dynamics_derivatives"
    return InverseDerivatives(*_call(robot, name, inverse_derivatives, wrench, q, qd, qdd, regroup=True, **options))


__all__ = [
    "METHODS",
    "base_parameters",
    "bias",
    "coriolis_matrix",
    "dynamics_derivatives",
    "energy",
    "forward_dynamics",
    "forward_dynamics_kernel",
    "gravity_torque",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_kernel",
    "joint_reactions",
    "mass_matrix",
    "parameter_names",
    "parameters",
    "random_states",
    "regressor",
]
