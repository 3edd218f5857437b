# SPDX-License-Identifier: Apache-2.0
"""What a controller can tell about its arm beyond `PublishedState`, as one kernel that runs only when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.dynamics.centroidal import momentum
from armwright.dynamics.newton_euler import efforts, motions
from armwright.dynamics.terms import body_loads
from armwright.graph import compile_function
from armwright.kinematics.forward import link_poses
from armwright.kinematics.frame_motion import point_jacobian_dot
from armwright.kinematics.jacobians import point_jacobian
from armwright.robot.measured import carrying
from armwright.robot.step import steps
from armwright.spatial import inverse

if TYPE_CHECKING:
    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Traced

ELBOW = 2  # the joint whose axis is the elbow, from 0


class PlantDetail(NamedTuple):
    """Base axes. Wrench [f; n] that the moving arm is to exert on what it stands on, at the origin of its base.

    `momentum` (3,) [kg m/s] of arm and told load; `elbow`, `elbow_speed` (3,): where the axis of the third joint is met
    by its link; `acceleration`, `target_acceleration` (6,): of the TCP, linear first; `base_wrench` (6,) as wanted.
    """

    momentum: Traced
    elbow: Traced
    elbow_speed: Traced
    acceleration: Traced
    target_acceleration: Traced
    base_wrench: Traced


def detail_kernel(robot: Robot) -> Kernel:
    """(q, qd, qdd, ref, tcp, load) → `PlantDetail`; ref (3 n,): wanted q, q̇, q̈; load (4,): see `carrying`."""
    n = robot.n
    elbow_point = inverse(robot.bodies[ELBOW].T_joint_link)[:3, 3]

    def detail(q: Traced, qd: Traced, qdd: Traced, ref: Traced, tcp: Traced, load: Traced) -> PlantDetail:
        tree = carrying(robot.tree, load)
        elbow = link_poses(robot, q)[ELBOW]
        J_elbow = point_jacobian(robot, q, elbow_point, ELBOW)
        wanted, speed, change = ref[:n], ref[n : 2 * n], ref[2 * n :]
        at = steps(tree, wanted)
        # only the first body hangs on the base; its parent's axes are those of the root link
        f, m = efforts(tree, at, motions(tree, at, speed, change, gravity=True), body_loads(tree, at, None, None))[0]
        f, m = at[0].up(f), at[0].up(m)
        m = m + np.cross(at[0].p, f)
        R, p = tree.T_base_root[:3, :3], tree.T_base_root[:3, 3]
        f, m = R @ f, R @ m
        return PlantDetail(
            momentum(tree, q, qd)[:3],
            elbow[:3, :3] @ elbow_point + elbow[:3, 3],
            J_elbow[:3] @ qd,
            point_jacobian(robot, q, tcp[:3]) @ qdd + point_jacobian_dot(robot, q, qd, tcp[:3]) @ qd,
            point_jacobian(robot, wanted, tcp[:3]) @ change + point_jacobian_dot(robot, wanted, speed, tcp[:3]) @ speed,
            -np.concatenate([f, m + np.cross(p, f)]),
        )

    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("q", "qd", "qdd"), (n,))
    shapes |= {"ref": (3 * n,), "tcp": (6,), "load": (4,)}
    return compile_function(detail, shapes, name="lab detail", check_finite=False)
