# SPDX-License-Identifier: Apache-2.0
"""What keeps an arm from what: the records of its links at one configuration, and their gaps to obstacles.

Traced and compiled together (`armwright.graph.least`): one configuration against all obstacles is one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.graph.least import LeastKernel, Pairs
from armwright.kinematics.forward import link_poses
from armwright.world.capsule_arrays import link_ends
from armwright.world.geometry import segment_box, segment_point, segment_segment

if TYPE_CHECKING:
    from armwright.planning.joint.capsules import Obstacles
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced
    from armwright.world.capsule_arrays import LinkCapsules

FAR = 1e3  # that links which half-spaces do not concern are taken to be above them [m]


def records(q: Traced, arm: Any, links: LinkCapsules, own: Any, ignore: Any, levers: Any) -> Traced:
    """Return the records of one configuration.

    Returns:
        Links (m, 8): both ends of the axis, radius, height above half-spaces that do not concern it. Gaps between
        pairs `own` of the arm's capsules (p, 1). The configuration in the metric of `levers` (1, n).
    """
    ends = link_ends(link_poses(arm, q), links)
    rows = [
        np.concatenate([x, y, [r, FAR if int(i) in ignore else 0.0]])
        for (x, y), r, i in zip(ends, links.radius, links.body, strict=True)
    ]
    gaps = [[segment_segment(*ends[i], *ends[j]) - links.radius[i] - links.radius[j]] for i, j in own]
    return (
        np.array(rows).reshape(len(rows), 8),
        np.array(gaps).reshape(len(gaps), 1),
        (q * np.asarray(levers)).reshape(1, -1),
    )


def ball_gap(record: Any, item: Any) -> Any:
    """Gap between a link and a ball: centre, radius (4,)."""
    return segment_point(record[:3], record[3:6], item[:3]) - record[6] - item[3]


def capsule_gap(record: Any, item: Any) -> Any:
    """Gap between a link and a capsule: ends, radius (7,)."""
    return segment_segment(record[:3], record[3:6], item[:3], item[3:6]) - record[6] - item[6]


def box_gap(record: Any, item: Any) -> Any:
    """Gap between a link and a box: centre, half edges, R by rows, rounding, half diagonal (17,)."""
    R = item[6:15].reshape(3, 3)
    a, b = R.T @ (record[:3] - item[:3]), R.T @ (record[3:6] - item[:3])
    return segment_box(a, b, item[3:6]) - record[6] - item[15]


def box_bound(record: Any, item: Any) -> Any:
    """No more than `box_gap`: the gap between a link and the ball around a box."""
    return segment_point(record[:3], record[3:6], item[:3]) - item[16] - record[6] - item[15]


def plane_gap(record: Any, item: Any) -> Any:
    """Gap between a link and a half-space: normal, offset (4,)."""
    n = item[:3]
    return np.minimum(n @ record[:3], n @ record[3:6]) - item[3] - record[6] + record[7]


def own_gap(record: Any, item: Any) -> Any:
    """Gap between two links, less a distance to keep (1,)."""
    return record[0] - item[0]


def configuration_gap(record: Any, item: Any) -> Any:
    """Σ levers |q − p| less its reach, for a configuration p times the levers, and the reach (n + 1,)."""
    away: Any = 0.0
    for k in range(len(record)):
        away = away + np.abs(record[k] - item[k])
    return away - item[len(record)]


def gap_kernel(
    robot: Robot,
    links: LinkCapsules,
    own: tuple[tuple[int, int], ...],
    ignore: tuple[int, ...],
    levers: tuple[float, ...],
) -> LeastKernel:
    """Return the compiled gaps of an arm, made once for the same arguments; levers are those of `configuration_gap`."""
    found: LeastKernel = robot.memo(("gaps", links, own, ignore, levers), _made, links, own, ignore, levers)
    return found


def _made(robot: Robot, links: LinkCapsules, own: Any, ignore: Any, levers: Any) -> LeastKernel:
    kinds = (
        Pairs(0, 4, ball_gap),
        Pairs(0, 7, capsule_gap),
        Pairs(0, 17, box_gap, box_bound),
        Pairs(0, 4, plane_gap),
        Pairs(1, 1, own_gap),
        Pairs(2, robot.n + 1, configuration_gap),
    )
    constants = {"arm": robot, "links": links, "own": own, "ignore": ignore, "levers": levers}
    return LeastKernel(records, robot.n, kinds, constants)


def obstacle_items(obstacles: Obstacles, margin: float) -> tuple[Array, Array, Array, Array]:
    """Return balls (., 4), other capsules (., 7), boxes (., 17) and half-spaces (., 4), each larger by `margin`."""
    o = obstacles
    points = (o.a == o.b).all(axis=1)
    radius = o.radius[:, None] + margin
    turned, diagonal = o.R.reshape(-1, 9), np.linalg.norm(o.half, axis=1)[:, None]
    return (
        np.hstack([o.a, radius])[points],
        np.hstack([o.a, o.b, radius])[~points],
        np.hstack([o.centre, o.half, turned, np.full_like(diagonal, margin), diagonal]),
        o.planes + np.array([0.0, 0.0, 0.0, margin]),
    )
