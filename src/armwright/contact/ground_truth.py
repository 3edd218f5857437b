# SPDX-License-Identifier: Apache-2.0
"""Ground truth of contacts: which link touches which shape, where, how deep, with what force, over a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.contact_model import SLIP_SPEED, Pair, contact_pairs, touches
from armwright.errors import InputError
from armwright.robot.kernels import kernel
from armwright.world.arm_capsules import LinkCapsule
from armwright.world.shapes import HalfSpace, Mesh
from armwright.world.solid_clusters import beyond, solids_of
from armwright.world.world import World

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

    Indices = NDArray[np.int64]

STATES_AT_ONCE = 4096
"""States evaluated at once: a batch for the kernel, some megabytes of rows."""


@dataclass(frozen=True, eq=False)
class ContactReport:
    """All contacts of a series of states, one row each, in order of time.

    Attributes:
        steps: number of states looked at.
        step: (m,) index of the state.
        body: (m,) index of the link. shape: (m,) index of the shape in the world.
        point: (m, 3) on the shape's surface, base frame [m].
        normal: (m, 3) out of the shape, towards the link.
        depth: (m,) of penetration [m].
        force: (m, 3) on the link, base axes [N].
        links, shapes: names behind the indices.
    """

    steps: int
    step: Indices
    body: Indices
    shape: Indices
    point: Array
    normal: Array
    depth: Array
    force: Array
    links: tuple[str, ...]
    shapes: tuple[str, ...]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.step)

    @property
    def touching(self) -> NDArray[np.bool_]:
        """Return (steps,) whether anything touches at each state."""
        out = np.zeros(self.steps, dtype=bool)
        out[self.step] = True
        return out

    @property
    def total_force(self) -> Array:
        """Return (steps, 3) the sum of the contact forces on the arm, base axes [N]."""
        out = np.zeros((self.steps, 3))
        np.add.at(out, self.step, self.force)
        return out

    def rows(self, step: int) -> Indices:
        """Return the rows that belong to one state."""
        return np.flatnonzero(self.step == step)

    def pairs(self) -> list[tuple[str, str]]:
        """Return who touched what, (link, shape) by name, in order of first touch."""
        seen = dict.fromkeys(zip(self.body.tolist(), self.shape.tolist(), strict=True))
        return [(self.links[b], self.shapes[s]) for b, s in seen]


def touch_rows(arm: Robot | Tree, q: Traced, qd: Traced, pairs: tuple[Pair, ...], slip_speed: float) -> Traced:
    """Return all possible contacts at one state as rows (m, 11): point, normal, depth, force, number of the solid."""
    return np.stack(
        [
            np.concatenate([t.point, t.normal, np.array([t.depth]), t.force, np.array([t.solid])])
            for _, t in touches(arm, q, qd, pairs, slip_speed)
        ]
    )


def depth_rows(arm: Robot | Tree, q: Traced, pairs: tuple[Pair, ...]) -> Traced:
    """Return the depths (m,) of all possible contacts at one configuration; negative: apart."""
    zero = np.zeros(np.shape(q))
    return np.stack([touch.depth for _, touch in touches(arm, q, zero, pairs)])


def _split(pairs: tuple[Pair, ...]) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    smooth = tuple(pair for pair in pairs if not isinstance(pair.shape, Mesh))
    return smooth, tuple(pair for pair in pairs if isinstance(pair.shape, Mesh))


def _states(robot: Robot, q: ArrayLike, qd: ArrayLike | None) -> tuple[Array, Array]:
    positions = np.asarray(q, dtype=np.float64)
    speeds = np.zeros_like(positions) if qd is None else np.asarray(qd, dtype=np.float64)
    if positions.shape[-1:] != (robot.n,) or speeds.shape != positions.shape:
        raise InputError(
            f"contact report: q and qd must have shape (..., {robot.n}), got {positions.shape} and {speeds.shape}"
        )
    if not (np.isfinite(positions).all() and np.isfinite(speeds).all()):
        raise InputError("contact report: q and qd must be finite")
    return positions.reshape(-1, robot.n), speeds.reshape(-1, robot.n)


@names_culprit
def contact_report(
    robot: Robot,
    world: World,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    capsules: Sequence[LinkCapsule] | None = None,
    slip_speed: float = SLIP_SPEED,
) -> ContactReport:
    """Return what touches what at every state, by the same model that `contact_wrench` simulates.

    Args:
        robot: the arm.
        world: the shapes; meshes take part (through coal), state by state.
        q: joint coordinates (..., n); leading axes are flattened into `step`.
        qd: joint velocities, same shape; at rest if omitted.
        capsules: capsules of the links; `link_capsules(robot)` by default.
        slip_speed: as in `contact_wrench` [m/s].

    >>> contact_report(robot, world, run["q"]).pairs()  # who touched what
    """
    positions, speeds = _states(robot, q, qd)
    smooth, meshes = _split(contact_pairs(robot, world, capsules))
    labels = [pair for pair in smooth for _ in range(_contacts(pair))] + list(meshes)
    body = np.array([pair.capsule.body for pair in labels], dtype=np.int64)
    steps: list[Any] = [np.zeros(0, dtype=np.int64)]
    which: list[Any] = [np.zeros(0, dtype=np.int64)]
    rows: list[Any] = [np.zeros((0, 11))]
    for begin in range(0, len(positions), STATES_AT_ONCE):
        part = slice(begin, begin + STATES_AT_ONCE)
        found = [np.zeros((len(positions[part]), 0, 11))]
        if smooth:
            found.append(kernel(robot, touch_rows, pairs=smooth, slip_speed=slip_speed)(positions[part], speeds[part]))
        if meshes:
            found.append(
                np.stack(
                    [
                        touch_rows(robot, x, v, meshes, slip_speed)
                        for x, v in zip(positions[part], speeds[part], strict=True)
                    ]
                )
            )
        table = np.concatenate(found, axis=1)
        at, k = np.nonzero(table[:, :, 6] > 0.0)
        steps.append(at + begin)
        which.append(k)
        rows.append(table[at, k])
    chosen, table = np.concatenate(which), np.concatenate(rows)
    return ContactReport(
        len(positions),
        np.concatenate(steps),
        body[chosen],
        _shape_numbers(world, table[:, 10], table[:, :3]),
        table[:, :3],
        table[:, 3:6],
        table[:, 6],
        table[:, 7:10],
        tuple(b.name for b in robot.bodies),
        tuple(s.name for s in world.shapes),
    )


def _shape_numbers(world: World, number: Array, point: Array) -> Indices:
    """Return the world's shapes (m,) behind numbers of solids (m,): of merged boxes the one nearest to the point."""
    out = np.zeros(len(number), dtype=np.int64)
    for k, solid in enumerate(solids_of(world.shapes)):
        rows = number == float(k)
        if not rows.any():
            continue
        out[rows] = solid.parts[0]
        if len(solid.parts) > 1:
            far = [beyond(world.shapes[part], point[rows]) for part in solid.parts]
            out[rows] = np.array(solid.parts)[np.argmin(far, axis=0)]
    return out


def _contacts(pair: Pair) -> int:
    return 2 if isinstance(pair.shape, HalfSpace) and pair.capsule.length > 0.0 else 1  # both ends


@names_culprit
def clearance(robot: Robot, world: World, q: ArrayLike, *, capsules: Sequence[LinkCapsule] | None = None) -> Array:
    """Return the smallest distance (...) [m] between the arm and the world at q (..., n); negative: it penetrates.

    Infinite where nothing is within reach.

    >>> clearance(robot, world, q)  # [m]
    """
    positions, _ = _states(robot, q, None)
    smooth, meshes = _split(contact_pairs(robot, world, capsules))
    out = np.full(len(positions), np.inf)
    if smooth:
        out = -kernel(robot, depth_rows, pairs=smooth)(positions).max(axis=-1)
    if meshes:
        out = np.minimum(out, [-np.max(depth_rows(robot, x, meshes)) for x in positions])
    return cast("Array", out.reshape(np.shape(q)[:-1]))
