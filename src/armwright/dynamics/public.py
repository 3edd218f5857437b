# SPDX-License-Identifier: Apache-2.0
"""Dynamics of an arm, compiled: what users call. Leading axes of q, qd, … are batch axes and broadcast.

Each function looks its kernel up in the robot and calls it; loops that count nanoseconds hold the kernel itself
(`inverse_dynamics_kernel`, `forward_dynamics_kernel`). The same names serve in a law and in whatever else is traced:
called with symbols, or with the arm that a law is handed, they become part of it (`armwright.robot.kernels`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

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
from armwright.graph.array import cells, has_symbols
from armwright.robot.inertia_needed import require_inertia
from armwright.robot.kernels import Needs, kernel
from armwright.robot.model import robot_needed
from armwright.robot.tree import Tree, as_tree, robot_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.dynamics.regressor import BaseParameters
    from armwright.graph import Kernel
    from armwright.robot.kernels import TreeFunction
    from armwright.robot.model import Robot
    from armwright.types import Array

ALWAYS_CRBA, ALWAYS_ABA = 7, 24  # joints on one path; in between both are traced and counted


def public(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return the look-up behind a public function: ``found(arm, options, wrench, *arrays)``.

    Args:
        make: (arm, where the wrench acts, *options) → what is called with the arrays and the wrench. It is called once
            per robot and set of options.
    """

    def found(arm: Robot | Tree, options: tuple[Any, ...], wrench: ArrayLike | None, *arrays: ArrayLike) -> Any:
        place = None if wrench is None else _place(arm, wrench, *arrays)
        key = (make, place, *options)
        try:
            k = arm.known.get(key)  # type: ignore[union-attr]  # a tree has none: see below
        except (AttributeError, TypeError) as error:
            if not isinstance(arm, Tree):
                raise InputError(robot_needed(arm) or f"options must be plain values ({error})") from error
            k = make(arm, place, *options)  # the arm that a law is handed
        if k is None:
            k = arm.memo(key, make, place, *options)  # type: ignore[union-attr]
        return k(*arrays) if wrench is None else k(*arrays, wrench)

    return found


def _of(
    function: Callable[..., Any], name: str, *options: str, regroup: bool = True, needs: Needs = "joints"
) -> Callable[..., Any]:
    """Return the look-up of one traceable function; `options` are the names of its constants."""

    def make(arm: Robot | Tree, place: str | None, *values: Any) -> Kernel | TreeFunction:
        if function is not regressor_of:  # which holds for any inertia
            _require_inertia(arm, name, forward=function is forward_derivatives)
        constants = dict(zip(options, values, strict=True))
        return kernel(arm, function, regroup=regroup, needs=needs, shapes=_shapes(arm, place), name=name, **constants)

    return public(make)


def _require_inertia(arm: Robot | Tree, name: str, *, forward: bool) -> None:
    robot = robot_of(arm) if isinstance(arm, Tree) else arm
    if robot is not None:
        require_inertia(robot, name, forward=forward)


def _place(arm: Robot | Tree, wrench: ArrayLike, *others: Any) -> str:
    """Tell a tool wrench (..., 6) from one wrench a body (..., nb, 6): the latter has one axis more than the batch."""
    if not isinstance(arm, Tree) and (wrong := robot_needed(arm)):
        raise InputError(wrong)
    bodies = arm.nb if isinstance(arm, Tree) else len(arm.bodies)
    if isinstance(wrench, np.ndarray) and wrench.dtype == np.float64:
        shape = wrench.shape  # the usual call: nothing to convert
    else:
        shape = cells(wrench).shape if has_symbols(wrench) else numbers(wrench, "wrench").shape
    if shape == (6,):
        return "tool"
    batch = max(np.ndim(value) for value in others) - 1
    if shape[-2:] == (bodies, 6) and len(shape) > batch + 1:
        return "bodies"
    if shape[-1:] == (6,):
        return "tool"
    raise InputError(f"wrench: expected shape (..., 6) at the tool or (..., {bodies}, 6), one per body, got {shape}")


def _shapes(arm: Robot | Tree, wrench: str | None) -> dict[str, tuple[int, ...]] | None:
    if wrench not in (None, "tool", "bodies"):
        raise InputError(f"wrench: a kernel takes 'tool', 'bodies' or None, got {wrench!r}")
    if wrench is None:
        return None
    bodies = arm.nb if isinstance(arm, Tree) else len(arm.bodies)
    return {"wrench": (6,)} if wrench == "tool" else {"wrenches": (bodies, 6)}


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
    """Kernel (q, qd, qdd[, wrench]) → tau. `wrench` adds an input: "tool" (6,) or "bodies" (nb, 6).

    >>> inverse = inverse_dynamics_kernel(robot)  # for loops that count nanoseconds
    """
    return cast("Kernel", _inverse(robot, wrench, method, gravity, friction, rotors, check_finite))


def _inverse(arm: Robot | Tree, place: str | None, method: str, *options: bool) -> Kernel | TreeFunction:
    return _method(arm, "inverse", method, place, *options)


def _method(
    arm: Robot | Tree,
    job: str,
    method: str,
    place: str | None,
    gravity: bool,
    friction: bool,
    rotors: bool,
    check_finite: bool,
) -> Any:
    function, options = find(arm, method, job)
    return kernel(
        arm,
        function,
        regroup=True,
        check_finite=check_finite,
        shapes=_shapes(arm, place),
        name=f"{job}_dynamics",
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
    """Kernel (q, qd, tau[, wrench]) → qdd. `wrench` adds an input: "tool" (6,) or "bodies" (nb, 6).

    >>> forward = forward_dynamics_kernel(robot)  # for loops that count nanoseconds
    """
    return cast("Kernel", _forward(robot, wrench, method, gravity, friction, rotors, check_finite))


def _forward(arm: Robot | Tree, place: str | None, method: str, *options: bool) -> Kernel | TreeFunction:
    if method == "auto":
        method = _quickest(arm, place, *options)
    return _method(arm, "forward", method, place, *options)


def _quickest(arm: Robot | Tree, place: str | None, *options: bool) -> str:
    """Return "crba" or "aba", whichever needs fewer operations for forward dynamics of this arm."""
    tree = as_tree(arm)
    depth = max((len(tree.ancestors(i)) for i in range(tree.nb)), default=0)
    if depth <= ALWAYS_CRBA or not is_plain(tree):
        return "crba"
    if depth > ALWAYS_ABA and np.count_nonzero(tree.armature - np.diag(np.diag(tree.armature))) == 0:
        return "aba"
    robot = robot_of(arm) if isinstance(arm, Tree) else arm
    if robot is None:
        return "crba"
    return min(("crba", "aba"), key=lambda name: _method(robot, "forward", name, place, *options).counts.flops)


def _mass(arm: Robot | Tree, place: None, method: str, rotors: bool, check_finite: bool) -> Kernel | TreeFunction:
    function, options = find(arm, method, "mass")
    return kernel(arm, function, regroup=True, check_finite=check_finite, name="mass_matrix", rotors=rotors, **options)


USUAL = (True, True, True, True)  # gravity, friction, rotors, check_finite
_inverse_found, _forward_found, _mass_found = public(_inverse), public(_forward), public(_mass)
_coriolis_found = _of(coriolis, "coriolis_matrix")
_bias_found = _of(bias_of, "bias", "gravity", "friction")
_gravity_found = _of(gravity_of, "gravity_torque")
_energy_found = _of(energy_of, "energy", "rotors", regroup=False, needs="bodies")
_reactions_found = _of(reactions, "joint_reactions", "frame", regroup=False, needs="robot")
_regressor_found = _of(regressor_of, "regressor", regroup=False, needs="robot")
_forward_derivatives_found = _of(forward_derivatives, "dynamics_derivatives", "friction", "rotors", needs="robot")
_inverse_derivatives_found = _of(
    inverse_derivatives, "inverse_dynamics_derivatives", "friction", "rotors", needs="robot"
)


def inverse_dynamics(
    robot: Robot | Tree,
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
        robot: the arm; in a law, the `arm` that the law is handed.
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

    >>> tau = aw.inverse_dynamics(robot, q, qd, qdd)
    """
    if wrench is None and method == "rnea" and gravity and friction and rotors and check_finite:
        try:  # the usual call: a name is found quicker than a tuple
            k = robot.known["inverse_dynamics"]  # type: ignore[union-attr]
        except KeyError:
            k = robot.memo("inverse_dynamics", _inverse, None, method, *USUAL)  # type: ignore[union-attr]
        except (AttributeError, TypeError):  # a tree, or no arm at all
            return cast("Array", _inverse_found(robot, (method, *USUAL), None, q, qd, qdd))
        return k(q, qd, qdd)
    options = (method, gravity, friction, rotors, check_finite)
    return cast("Array", _inverse_found(robot, options, wrench, q, qd, qdd))


def forward_dynamics(
    robot: Robot | Tree,
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

    >>> qdd = aw.forward_dynamics(robot, q, qd, tau)
    """
    if wrench is None and method == "auto" and gravity and friction and rotors and check_finite:
        try:
            k = robot.known["forward_dynamics"]  # type: ignore[union-attr]
        except KeyError:
            k = robot.memo("forward_dynamics", _forward, None, method, *USUAL)  # type: ignore[union-attr]
        except (AttributeError, TypeError):
            return cast("Array", _forward_found(robot, (method, *USUAL), None, q, qd, tau))
        return k(q, qd, tau)
    options = (method, gravity, friction, rotors, check_finite)
    return cast("Array", _forward_found(robot, options, wrench, q, qd, tau))


def mass_matrix(
    robot: Robot | Tree, q: ArrayLike, method: str = "crba", *, rotors: bool = True, check_finite: bool = True
) -> Array:
    """Joint-space mass matrix M (..., n, n), symmetric positive definite, with rotor inertia unless switched off.

    >>> aw.mass_matrix(robot, q) @ qdd  # torque of the inertia alone [N m]
    """
    if rotors and check_finite and isinstance(method, str) and method == "crba":
        try:
            k = robot.known["mass_matrix"]  # type: ignore[union-attr]
        except KeyError:
            k = robot.memo("mass_matrix", _mass, None, method, True, True)  # type: ignore[union-attr]
        except (AttributeError, TypeError):
            return cast("Array", _mass_found(robot, (method, True, True), None, q))
        return k(q)
    return cast("Array", _mass_found(robot, (method, rotors, check_finite), None, q))


def coriolis_matrix(robot: Robot | Tree, q: ArrayLike, qd: ArrayLike) -> Array:
    """Christoffel matrix C (..., n, n): C q̇ are the velocity torques and Ṁ − 2C is skew (000 eq. 3.7, 004 eq. 2.66).

    >>> aw.coriolis_matrix(robot, q, qd) @ qd  # Coriolis and centrifugal torques [N m]
    """
    return cast("Array", _coriolis_found(robot, (), None, q, qd))


def bias(
    robot: Robot | Tree,
    q: ArrayLike,
    qd: ArrayLike,
    wrench: ArrayLike | None = None,
    *,
    gravity: bool = True,
    friction: bool = True,
) -> Array:
    """Torque at zero acceleration (..., n): C q̇ + g − Jᵀw + friction, the u′ of 001 eq. 36.

    >>> aw.bias(robot, q, qd)  # equals aw.inverse_dynamics(robot, q, qd, np.zeros(robot.n))
    """
    return cast("Array", _bias_found(robot, (gravity, friction), wrench, q, qd))


def gravity_torque(robot: Robot | Tree, q: ArrayLike) -> Array:
    """Torque (..., n) that holds the arm still against gravity, g(q) = ∂V/∂q.

    >>> aw.gravity_torque(robot, q)  # what holds the arm at rest [N m]
    """
    return cast("Array", _gravity_found(robot, (), None, q))


def energy(robot: Robot | Tree, q: ArrayLike, qd: ArrayLike, *, rotors: bool = True) -> Energy:
    """Kinetic, potential and total energy [J], each of the batch's shape; potential is 0 at the height of the base.

    >>> aw.energy(robot, q, qd)  # kinetic and potential [J]
    """
    return Energy(*_energy_found(robot, (rotors,), None, q, qd))


def joint_reactions(
    robot: Robot | Tree,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrench: ArrayLike | None = None,
    *,
    frame: str = "joint",
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

    >>> joint_reactions(robot, q, qd, qdd)[0]  # on the first body
    """
    return cast("Array", _reactions_found(robot, (frame,), wrench, q, qd, qdd))


def regressor(robot: Robot | Tree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Y (..., n, 10 nb + 4n) with ``tau = Y @ parameters(robot)``; see `armwright.dynamics.regressor` for the order.

    >>> aw.regressor(robot, q, qd, qdd) @ aw.dynamics.parameters(robot)  # equals aw.inverse_dynamics(…)
    """
    return cast("Array", _regressor_found(robot, (), None, q, qd, qdd))


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
    robot: Robot | Tree,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrench: ArrayLike | None = None,
    *,
    friction: bool = True,
    rotors: bool = True,
) -> ForwardDerivatives:
    """∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau (..., n, n) of forward dynamics, exact; wrenches are constant in base axes.

    >>> dynamics_derivatives(robot, q, qd, tau)
    """
    return ForwardDerivatives(*_forward_derivatives_found(robot, (friction, rotors), wrench, q, qd, tau))


def inverse_dynamics_derivatives(
    robot: Robot | Tree,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrench: ArrayLike | None = None,
    *,
    friction: bool = True,
    rotors: bool = True,
) -> InverseDerivatives:
    """∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd = M (..., n, n) of inverse dynamics, exact; wrenches are constant in base axes.

    >>> inverse_dynamics_derivatives(robot, q, qd, qdd)
    """
    return InverseDerivatives(*_inverse_derivatives_found(robot, (friction, rotors), wrench, q, qd, qdd))


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
