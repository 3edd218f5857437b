# SPDX-License-Identifier: Apache-2.0
"""The dynamics as a linear function of its parameters, tau = Y(q, q̇, q̈) π, and which of them torques can show.

Parameters, in this order: for every body m, m·c_x, m·c_y, m·c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz, about the origin
of its **link frame** in link axes (the order of Pinocchio); then for every joint the viscous and for every joint the
Coulomb coefficient; then for every motor its rotor inertia and for every motor its viscous coefficient (motor side).
`find_base` finds the base parameters: the combinations of π that the joint torques depend on (numerical, by QR).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics.newton_euler import motions
from armwright.dynamics.terms import ZERO, Z, coulomb_sign, gather
from armwright.errors import InputError
from armwright.robot.kernels import as_robot
from armwright.robot.step import steps
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

INERTIAL = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def _inertia_columns(w: Traced) -> Traced:
    """L(ω) (3, 6) with J ω = L(ω) [Ixx, Ixy, Iyy, Ixz, Iyz, Izz]."""
    x, y, z = w
    return np.array([[x, y, 0.0, z, 0.0, 0.0], [0.0, x, y, 0.0, z, 0.0], [0.0, 0.0, 0.0, x, y, z]])


def _body_columns(w: Traced, wd: Traced, a: Traced, U: Traced) -> tuple[Traced, Traced]:
    """Force and moment (3, 10 each) about the origin whose acceleration is a: U h + m a and h × a + J ω̇ + ω × J ω."""
    force = np.concatenate([a.reshape(3, 1), U, np.zeros((3, 6))], axis=1)
    gyroscopic = _inertia_columns(wd) + skew(w) @ _inertia_columns(w)
    return force, np.concatenate([np.zeros((3, 1)), -skew(a), gyroscopic], axis=1)


def body_regressor(arm: Robot | Tree, q: Traced, qd: Traced, qdd: Traced, *, gravity: bool = True) -> Traced:
    """Y of the inertial parameters (n, 10 nb): tau of the rigid bodies is ``Y @ π``. q, qd, qdd are (n,)."""
    tree = as_tree(arm)
    st = steps(tree, q)
    blocks = []
    for i, (w, wd, a, U) in enumerate(motions(tree, st, qd, qdd, gravity=gravity)):
        R, p = tree.T_body_link[i][:3, :3], tree.T_body_link[i][:3, 3]
        force, moment = _body_columns(R.T @ w, R.T @ wd, R.T @ (a + U @ p), R.T @ U @ R)
        rows: list[Any] = [np.zeros(10)] * tree.nb
        for k in tree.ancestors(i):
            # the motion (v, w) of link frame i for a unit rate of joint k alone, carried outwards along the path
            v, turn = (ZERO, Z) if tree.revolute[k] else (Z, ZERO)
            for j in (j for j in reversed(tree.ancestors(i)) if j > k):
                v, turn = st[j].down(v + cross(turn, st[j].p)), st[j].down(turn)
            v, turn = R.T @ (v + cross(turn, p)), R.T @ turn
            rows[k] = v @ force + turn @ moment
        blocks.append(gather(tree, rows).reshape(tree.n, 10))
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((tree.n, 0))


def drive_regressor(robot: Robot, qd: Traced, qdd: Traced) -> Traced:
    """Y of friction and rotors (n, 4n): viscous and Coulomb per joint, rotor inertia and viscous per motor."""
    K, eye = robot.actuators.gear, np.eye(robot.n)
    signs = coulomb_sign(robot.tree, qd)
    # motor a turns by (K q)_a and loads the joints through its row of K: column a is Kᵀ e_a (K x)_a
    return np.concatenate([eye * qd, eye * signs, K.T * (K @ qdd), K.T * (K @ qd)], axis=1)


def regressor(robot: Robot, q: Traced, qd: Traced, qdd: Traced) -> Traced:
    """Y (n, 10 nb + 4n) of all parameters, tau = ``Y @ parameters(robot)``; q, qd, qdd are (n,)."""
    return np.concatenate([body_regressor(robot, q, qd, qdd), drive_regressor(robot, qd, qdd)], axis=1)


@names_culprit
def parameters(robot: Robot | Tree) -> NDArray[np.float64]:
    """Parameter vector π (10 nb + 4n,) of `robot`, in the order of the module text.

    >>> aw.regressor(robot, q, qd, qdd) @ parameters(robot)  # equals aw.inverse_dynamics(robot, q, qd, qdd)
    """
    robot, out = as_robot(robot, "parameters"), list[float]()
    for body in robot.bodies:
        m, c = body.mass, body.com
        J = body.inertia - m * skew(c) @ skew(c)
        out += [m, *(m * c), J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]]
    out += [joint.friction.viscous for joint in robot.joints]
    out += [joint.friction.coulomb for joint in robot.joints]
    return np.array([*out, *robot.actuators.rotor_inertia, *robot.actuators.viscous], dtype=np.float64)


def parameter_names(robot: Robot | Tree) -> list[str]:
    """Names of the parameters, e.g. ``upper_arm.mcx``, ``elbow.viscous``, ``elbow.rotor``.

    >>> parameter_names(robot)[0]
    'shoulder.m'
    """
    robot = as_robot(robot, "parameter_names")
    names = [f"{body.name}.{label}" for body in robot.bodies for label in INERTIAL]
    drives = ("viscous", "coulomb", "rotor", "motor_viscous")
    return names + [f"{joint.name}.{label}" for label in drives for joint in robot.joints]


@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """Result of `find_base`: tau = Y[:, independent] @ (regrouping @ π).

    Attributes:
        rank: number of base parameters.
        independent: columns of the regressor that were kept, ascending (rank,).
        regrouping: (rank, len(π)): base parameters are ``regrouping @ π``; the kept columns form an identity in it.
        condition: condition number of the kept columns, each scaled to unit norm.
        names: names of the kept parameters.
    """

    rank: int
    independent: NDArray[np.intp]
    regrouping: Array
    condition: float
    names: tuple[str, ...]


def find_base(Y: Array, names: list[str], *, tolerance: float = 1e-9) -> BaseParameters:
    """Reduce a stacked regressor Y (samples, parameters) to independent columns.

    QR with column pivoting on columns scaled to unit norm; a column counts as dependent when its pivot is below
    `tolerance` times the largest. The dependent columns are then expressed by the kept ones, which regroups them.
    """
    from scipy.linalg import qr, solve_triangular  # imported here: half a second that few calls need

    if Y.ndim != 2 or Y.shape[0] < Y.shape[1]:
        raise InputError(f"base parameters: need at least as many rows as parameters, got shape {Y.shape}")
    norm = np.linalg.norm(Y, axis=0)
    seen = norm > tolerance * max(float(norm.max(initial=0.0)), 1e-300)
    scale = np.where(seen, norm, 1.0)
    _, R, order = qr(np.where(seen, Y / scale, 0.0), mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.sum(pivots > tolerance * max(float(pivots.max(initial=0.0)), 1e-300)))
    kept, rest = order[:rank], order[rank:]
    regrouping = np.zeros((rank, Y.shape[1]))
    regrouping[np.arange(rank), kept] = 1.0
    if rank and len(rest):
        combination = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        combination = combination * scale[rest] / scale[kept][:, None]
        combination[np.abs(combination) < 1e-12] = 0.0
        regrouping[:, rest] = combination
    ascending = np.argsort(kept)
    singular = np.linalg.svd(R[:rank, :rank], compute_uv=False) if rank else np.ones(1)
    return BaseParameters(
        rank=rank,
        independent=np.asarray(kept[ascending], dtype=np.intp),
        regrouping=regrouping[ascending],
        condition=float(singular[0] / singular[-1]),
        names=tuple(names[k] for k in kept[ascending]),
    )
