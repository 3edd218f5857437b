# SPDX-License-Identifier: Apache-2.0
"""What the arm of a stand really touched: its states of the last minute are kept, contacts are worked out when asked.

Keeping a state costs a tick some microseconds. The contacts come from the same model that pushed the arm
(`armwright.contact.contact_report`), so they are the truth and no estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact import contact_report
from armwright.contact.contact_model import SLIP_SPEED, contact_pairs
from armwright.contact.ground_truth import touch_rows
from armwright.lab.controller.controller import CONTROLLER_TICK
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.contact import ContactReport
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

KEPT_TICKS = 30_000  # states that are kept: one minute of 2 ms
BOUNCE_TICKS = 25  # without contact that still belong to one touch: an arm that bounces touches once
FORCE = slice(7, 10)  # of a row of `touch_rows`


class Touched(NamedTuple):
    """One touch of a link and a shape of the world.

    Attributes:
        link, shape: their names.
        begin, end: controller time of the first and the last tick of it [s].
        largest: size of the largest force in it [N].
        force: that force on the arm (3,), base axes [N].
        point: where on the shape's surface it acted (3,), base frame [m].
    """

    link: str
    shape: str
    begin: float
    end: float
    largest: float
    force: Sequence[float]
    point: Sequence[float]


class TouchRecord:
    """States of an arm in a world, one a tick, the last `KEPT_TICKS` of them."""

    def __init__(self, robot: Robot, world: World) -> None:
        """Compile what is needed later, so that nobody waits for it."""
        self._robot, self._world = robot, world
        pairs = contact_pairs(robot, world)
        self._rows = kernel(robot, touch_rows, pairs=pairs, slip_speed=SLIP_SPEED) if pairs else None
        self._states = np.zeros((KEPT_TICKS, 2 * robot.n))
        self._ticks = np.full(KEPT_TICKS, -1)
        self.force(np.zeros(robot.n), np.zeros(robot.n))

    def force(self, q: Array, qd: Array) -> Array:
        """Return the force (3,) of the world on the arm at q, qd (n,), base axes [N]."""
        return np.zeros(3) if self._rows is None else np.sum(np.asarray(self._rows(q, qd))[:, FORCE], axis=0)

    def keep(self, ticks: int, q: Array, qd: Array) -> None:
        """Keep the state q, qd (n,) of a tick [rad, rad/s]."""
        at, n = ticks % KEPT_TICKS, self._robot.n
        self._ticks[at] = ticks
        self._states[at, :n] = q
        self._states[at, n:] = qd

    def since(self, ticks: int) -> tuple[Array, Array]:
        """Return a copy of what is kept from a tick on: numbers of the ticks (m,) and states (m, 2 n)."""
        chosen = np.flatnonzero((self._ticks >= ticks) & (self._ticks >= 0))
        chosen = chosen[np.argsort(self._ticks[chosen])]
        return self._ticks[chosen], self._states[chosen]

    def touches(self, ticks: Array, states: Array) -> list[Touched]:
        """Return every touch in ticks (m,) with states (m, 2 n), as `since` gives them, in order of time."""
        n = self._robot.n
        return touches_of(contact_report(self._robot, self._world, states[:, :n], states[:, n:]), ticks)


def touches_of(report: ContactReport, ticks: Array) -> list[Touched]:
    """Return the touches in a report whose states are those of `ticks` (m,), in order of time."""
    out = []
    for pair in sorted({*zip(report.body.tolist(), report.shape.tolist(), strict=True)}):
        rows = np.flatnonzero((report.body == pair[0]) & (report.shape == pair[1]))
        when = ticks[report.step[rows]]
        for part in np.split(rows, np.flatnonzero(np.diff(when) > BOUNCE_TICKS) + 1):
            steps, where = np.unique(report.step[part], return_inverse=True)  # both ends of a link may touch at once
            forces = np.zeros((len(steps), 3))
            np.add.at(forces, where, report.force[part])
            k = int(np.argmax(np.linalg.norm(forces, axis=1)))
            out.append(
                Touched(
                    report.links[pair[0]],
                    report.shapes[pair[1]],
                    float(ticks[steps[0]]) * CONTROLLER_TICK,
                    float(ticks[steps[-1]]) * CONTROLLER_TICK,
                    float(np.linalg.norm(forces[k])),
                    forces[k].tolist(),
                    report.point[part[int(np.argmax(where == k))]].tolist(),
                )
            )
    return sorted(out, key=lambda touch: touch.begin)
