# SPDX-License-Identifier: Apache-2.0
"""What every worker starts from: the same arms as URDF, MJCF and arrays, the same inputs, reference results.

References are the library's NumPy source run on floats (no compiler), with LAPACK for the linear solve and fourth-order
differences for derivatives; a worker that disagrees with them is not timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import bias, rnea
from armwright.kinematics.forward import tool_pose
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.load import load
from armwright.robot.mjcf.mjcf_write import write_mjcf
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Joint, Limits
from armwright.robot.tree import Tree
from armwright.robot.urdf.urdf_write import write_urdf
from armwright.studies.operation_counts import bare

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.types import Array


PREPARED_STATES = 64
BATCH = {"ur5": 10_000, "n30": 2_048, "n50": 2_048}


def random_arm(n: int, seed: int) -> Robot:
    """Return a serial arm of n revolute joints with general twists, offsets and full inertia tensors."""
    rng = np.random.default_rng(seed)
    bodies = []
    for i in range(n):
        alpha, theta = rng.uniform(-np.pi, np.pi, 2)
        ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        T = np.eye(4)
        T[:3, :3] = np.array([[ct, -st, 0], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]])
        T[:3, 3] = rng.uniform(-0.3, 0.3, 3)
        A = rng.normal(size=(3, 3))
        second = A @ A.T  # covariance of the mass: any positive one gives a tensor that obeys the triangle inequality
        inertia = 0.02 * (np.trace(second) * np.eye(3) - second)
        bodies.append(
            Body(
                f"link{i + 1}",
                i - 1,
                i,
                T,
                mass=float(rng.uniform(0.5, 3.0)),
                com=rng.uniform(-0.1, 0.1, 3),
                inertia=0.5 * (inertia + inertia.T),
            )
        )
    joints = tuple(Joint(f"joint{i + 1}", limits=Limits(-100.0, 100.0)) for i in range(n))
    return Robot(f"n{n}", joints, tuple(bodies), Actuators.none(n), tip=n - 1)


def arm(name: str) -> Robot:
    """Return one of the arms that are measured."""
    return bare(load("ur5")) if name == "ur5" else random_arm(int(name[1:]), int(name[1:]))


def differences(function: Callable[[Array], Array], x: Array, h: float = 1e-3) -> Array:
    """Return the Jacobian of function(x) by fourth-order central differences."""
    columns = []
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = h
        near, far = function(x + e) - function(x - e), function(x + 2 * e) - function(x - 2 * e)
        columns.append((8.0 * near - far) / (12.0 * h))
    return np.stack(columns, axis=-1)


def forward(tree: Tree, q: Array, qd: Array, tau: Array) -> Any:
    """Return forward dynamics by LAPACK."""
    return np.linalg.solve(crba(tree, q), tau - bias(tree, q, qd))


def slopes(tree: Tree, q: Array, qd: Array, x: Array) -> dict[str, Any]:
    """Return derivatives of inverse and forward dynamics at one state."""
    return {
        "dtau_dq": differences(lambda v: rnea(tree, v, qd, x), q),
        "dtau_dqd": differences(lambda v: rnea(tree, q, v, x), qd),
        "dqdd_dq": differences(lambda v: forward(tree, v, qd, x), q),
        "dqdd_dqd": differences(lambda v: forward(tree, q, v, x), qd),
    }


def prepare(folder: Path, names: Sequence[str]) -> None:
    """Write <arm>.urdf, <arm>.xml and <arm>.npz for every arm."""
    for name in names:
        robot = arm(name)
        (folder / f"{name}.urdf").write_text(write_urdf(robot), encoding="utf-8")
        (folder / f"{name}.xml").write_text(write_mjcf(robot), encoding="utf-8")
        rng, n, tree = np.random.default_rng(7), robot.n, robot.tree
        q, qd, x = (rng.uniform(-3.0, 3.0, (BATCH[name], n)) for _ in range(3))
        few = [(q[k], qd[k], x[k]) for k in range(PREPARED_STATES)]
        M = np.array([crba(tree, a) for a, _, _ in few])
        qdd = np.array([forward(tree, *row) for row in few])
        derivatives = slopes(tree, *few[0]) if name == "ur5" else {}
        np.savez(
            folder / f"{name}.npz",
            q=q,
            qd=qd,
            x=x,
            M=M,
            qdd=qdd,
            tau=np.array([rnea(tree, *row) for row in few]),
            T=np.array([tool_pose(tree, row[0]) for row in few]),
            J=np.array([frame_jacobian(tree, row[0]) for row in few]),
            R0=tree.R0,
            p0=tree.p0,
            offset=tree.offset,
            m=tree.m,
            h=tree.h,
            I=tree.J,
            gravity=tree.gravity,
            T_base_root=tree.T_base_root,
            T_tip_tool=tree.T_tip_tool,
            **derivatives,
        )
