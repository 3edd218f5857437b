# SPDX-License-Identifier: Apache-2.0
"""Which parameters an adaptive law estimates, and the regressor that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.control.checks import choice
from armwright.control.two_velocities import passive_regressor
from armwright.dynamics.api import random_states
from armwright.dynamics.identifiable import find_base
from armwright.dynamics.regressor import INERTIAL, body_regressor
from armwright.dynamics.terms import coulomb_sign, friction_torque
from armwright.robot.kernels import kernel
from armwright.robot.tree import as_tree
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        columns: of the full regressor (n, 10 nb) that are used. regrouping: (len(columns), 10 nb), π = regrouping @
            (10 nb values).
        friction: "known", "adapt" or "none".
        names: of the parameters. kinds: "m", "h", "I", "viscous" or "coulomb", one per parameter.
    """

    columns: NDArray[np.intp]
    regrouping: Array
    friction: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]

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
        eye = np.eye(tree.n)
        return np.concatenate([Y, eye * qd, eye * coulomb_sign(tree, qd)], axis=1)

    def known(self, arm: Robot | Tree, qd: Traced, qdd_r: Traced) -> Traced:
        """Return the torque that is not estimated (n,): rotors, and friction where it is known."""
        tree = as_tree(arm)
        tau = tree.armature @ qdd_r
        return tau + friction_torque(tree, qd) if self.friction == "known" else tau


def parameters_of(robot: Robot, form: str, friction: str) -> Parameters:
    """Choose the parameters of `robot`: form "links" or "base", friction "known", "adapt" or "none"."""
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
    return Parameters(columns, regrouping, friction, tuple(chosen), tuple(kinds))
