# SPDX-License-Identifier: Apache-2.0
"""A loop stepped tick by tick from outside: for a controller on the wire, a page that is looked at, a hand that pushes.

`simulate` knows its reference beforehand and keeps every row. `Live` is given the reference at each tick, takes inputs
at run time (pushes, another payload) and keeps nothing but the present. Everything is compiled when it has been made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.control.tick_function import initial_memory
from armwright.errors import InputError, SimulationError
from armwright.robot.tree import tree_of
from armwright.simulation.lanes import lanes_of
from armwright.simulation.loop_stages import slot_name
from armwright.simulation.simulate_checks import robots_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.simulation.control_loop import Loop
    from armwright.simulation.session import Session
    from armwright.types import Array


class Live:
    """The present state of a loop, as views: they change with every step; copy what is to be kept.

    Attributes:
        robot: the plant as it was compiled. n: its joints. period: of a tick [s]. time: simulated [s]. ticks: so far.
        q, qd: true joint positions and velocities (n,). tau: torque commanded at the last tick (n,).
        ref: the reference (3n,) of the next tick; `step` writes it.
        inputs: by name, arrays of the declared shapes that may be written at any time between two steps.
        outputs: of the monitors, by name ("tau_ext", "alarm", …).
        gains: of the law, by name, those that were given as (1, n): they may be written like inputs.
        memory: of the law, by name. watching: memory of every monitor, by the monitor's name, then by name.
    """

    def __init__(self, session: Session) -> None:
        """Take over a prepared session; it must have one lane, a traced law and sensors without noise."""
        parts, loop = session.parts, session.loop
        if session.called:
            raise InputError("live: the law cannot be traced; Python would have to be called inside the tick")
        if parts.continuous:
            raise InputError("live: a law that acts continuously knows its reference beforehand; use continuous=False")
        if parts.stops:
            raise InputError("live: events stop a run; look at the state between two steps instead")
        self._session, self.robot, self.n, self.period = session, session.robot, parts.n, parts.period
        n = self.n
        self._row = np.zeros(len(loop.plan.shared_slots))
        self.ref = self._row[1 : 1 + 3 * n]
        self._tick = loop.ticker(self._row, session.most_substeps)
        self._x = loop.view("x")
        self.q, self.qd, self.tau = self._x[:n], self._x[n : 2 * n], loop.view("tau")
        self.inputs = {k: loop.view(f"input_{k}").reshape(shape) for k, shape in parts.inputs.items()}
        names = [slot_name(output) for monitor in parts.monitors for output in monitor.outputs]
        self.outputs = {name: loop.view(name) for name in names if name in loop.plan.slots}
        self.gains = {k: loop.view(f"gain_{k}") for k in parts.gains_vary if f"gain_{k}" in loop.plan.slots}
        self.memory = {k: loop.view(f"memory_{k}") for k in parts.law.memory}
        self.watching = {
            monitor.name: {name: loop.view(f"monitor{k}_{name}") for name in monitor.memory}
            for k, monitor in enumerate(parts.monitors)
        }
        self.time, self.ticks = 0.0, 0
        self.ref[:n] = self.q
        with loop.trial():  # the first call of all is not the first one that somebody waits for
            self._tick()

    def step(self, q: Array | None = None, qd: Array | None = None, qdd: Array | None = None) -> None:
        """Go on by one tick, following q, qd, qdd (n,); what is left out keeps its value.

        Raises:
            SimulationError: the state or the torque is not finite any more; nothing moves until `reset`.
        """
        n = self.n
        if q is not None:
            self.ref[:n] = q
        if qd is not None:
            self.ref[n : 2 * n] = qd
        if qdd is not None:
            self.ref[2 * n :] = qdd
        self._row[0] = self.time
        if self._tick() != "end":
            raise SimulationError(f"live: the arm's state is not finite any more at t = {self.time:.4g} s")
        self.ticks += 1
        self.time = self.ticks * self.period

    def reset(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Put the arm at q (n,) [rad] with velocity qd; law and monitors forget; the clock goes on."""
        loop, parts = self._session.loop, self._session.parts
        self._x[...] = 0.0
        self.q[...] = self.ref[: self.n] = q
        self.qd[...] = 0.0 if qd is None else qd
        self.ref[self.n :] = 0.0
        for name, value in initial_memory(parts.law, self.n).items():
            self.memory[name][...] = np.ravel(value)
        for monitor in parts.monitors:
            for name, value in initial_memory(monitor, self.n).items():
                self.watching[monitor.name][name][...] = np.ravel(value)
        loop.set("tau", np.zeros(self.n))

    def become(self, robot: Robot) -> None:
        """Let the plant be another arm from now on, one that differs only as declared by `may_become`.

        Raises:
            InputError: it differs in something else.
        """
        lanes = self._session.parts.lanes
        other = lanes_of([self.robot, robot])
        strange = sorted({name for name, _ in set(other.places) - set(lanes.places)})
        if strange:
            raise InputError(f"live: the new arm differs in {', '.join(strange)}, which were not declared to change")
        if lanes.places:
            tree = tree_of(robot, regroup=True)
            self._session.loop.set("parameters", [np.ravel(getattr(tree, name))[k] for name, k in lanes.places])


def start_live(loop: Loop, q0: ArrayLike, may_become: Sequence[Robot], check_step: bool) -> Live:
    """Compile a loop to be stepped by hand; see `Loop.live`."""
    others = robots_of(list(may_become), "may_become") if len(may_become) else []
    plants = lanes_of([*loop.robots, *others])
    plants = replace(plants, values=plants.values[: len(loop.robots)])
    return Live(replace(loop, plant=plants).session(q0, count=1, check_step=check_step))


def loaded(robot: Robot) -> Robot:
    """Return an arm with a payload that differs in every number: as `may_become`, it lets any payload be carried."""
    return robot.with_payload(1.0, (0.01, 0.02, 0.03), np.diag([1e-3, 2e-3, 3e-3]))
