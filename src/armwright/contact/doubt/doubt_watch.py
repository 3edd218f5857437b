# SPDX-License-Identifier: Apache-2.0
"""Observer, doubt and detector on samples of B arms, sample by sample of the filter: recorded runs or a live arm.

The monitors run in a compiled loop at the rate of the controller; between slices of about `SAMPLE` seconds the filter
reads the observer's columns from the loop's memory, and writes back what it knows: θ̂, and how unsure it is. It is told
means over a slice, which gear ripple disturbs less than single ticks.

An alarm comes from the quick channel (the detector, every tick) or from the tests of the filter (every slice). While
one lasts nothing is learned; one that lasts too long is overruled (`DoubtFilter.reopen`), and the detector forgets it.
Until the filter is ready the quick channel says nothing: its thresholds are those of an arm that knows its model, and
an alarm would keep it from getting to know it. Nor does it when the estimate jumps, as it does with everything that is
learned: the offset that the channel follows jumps along, because nothing was felt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.doubt.doubt_filter import SAMPLE, TESTS, DoubtFilter, full_columns
from armwright.contact.doubt.model_columns import doubt_monitors
from armwright.contact.monitor import Monitor, as_chain
from armwright.contact.monitor_run import monitor_plan
from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph.loop import CompiledLoop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.types import Array

DETECTOR = 3  # its place in the chain: residual, columns, difference, detector


def sample_ticks(dt: float) -> int:
    """Return the ticks of dt [s] that make a sample of the filter: `SAMPLE` seconds, or a little more."""
    if not (np.isfinite(dt) and 0.0 < dt <= SAMPLE):
        raise InputError(f"doubt: the control period must lie in (0, {SAMPLE:g}] s, got {dt}")
    return int(np.ceil(SAMPLE / dt - 1e-9))


class Watched(NamedTuple):
    """What was said of B runs of T ticks, S = T // ticks per sample.

    Attributes:
        tau_ext: (B, T, n) with the errors taken out that were known by then.
        level: (B, T) of detector and tests together, 1 at the threshold; 0 without both.
        excess: (B, S, `TESTS`) D² of the tests.
        load: (B, S, 2) mass and its standard deviation [kg].
        still: (B, S, n) as in `DoubtFilter`. unsure: (B, S, n), what widened the detector's thresholds in a sample.
        jumps: (B, S, n) by how much `tau_ext` fell after a sample because the estimate changed [N m].
    """

    tau_ext: Array
    level: Array
    excess: Array
    load: Array
    still: Array
    unsure: Array
    jumps: Array

    def felt(self) -> Array:
        """Return `tau_ext` (B, T, n) without the jumps of the estimate: what the quick channel looks at."""
        before = np.cumsum(self.jumps, axis=1) - self.jumps
        ticks = self.tau_ext.shape[1] // max(1, before.shape[1])
        return np.asarray(self.tau_ext + np.repeat(before, ticks, axis=1))


class DoubtWatch:
    """Watches B arms of one model.

    Attributes:
        filter: what is known of the model's errors. limits: (`TESTS`,) of D. ticks: in a sample.
        ready: time [s] before which the quick channel says nothing.
    """

    def __init__(
        self,
        doubt: DoubtFilter,
        dt: float,
        gain: float,
        detector: Monitor | None = None,
        limits: Array | None = None,
        ready: float = 0.0,
    ) -> None:
        """Compile the monitors.

        Args:
            doubt: the filter; its `sample` must be `sample_ticks(dt)` ticks.
            dt: control period [s].
            gain: of the observer [1/s].
            detector: one of `doubting_detector`, the quick channel.
            limits: (`TESTS`,) of D = √D² above which a test alarms; none of them does by default.
            ready: time [s] since the beginning, or since `restart`, before which the detector says nothing.
        """
        self.filter, self.ready, robot = doubt, ready, doubt.robot
        self.ticks = sample_ticks(dt)
        if abs(self.ticks * dt - doubt.sample) > 1e-9:
            raise InputError(
                f"doubt: a filter for samples of {doubt.sample:g} s cannot watch at {dt:g} s; {self.ticks * dt:g} s fit"
            )
        if limits is not None and (np.shape(limits) != (TESTS,) or not (np.asarray(limits) > 0.0).all()):
            raise InputError(f"doubt: limits must be {TESTS} positive numbers, got {limits!r:.80}")
        self.limits = np.full(TESTS, np.inf) if limits is None else np.asarray(limits, dtype=np.float64)
        self.chain = as_chain([*doubt_monitors(robot, gain), *([] if detector is None else [detector])])
        keep = ("residual", "tau_ext", *([] if detector is None else ["level"]))
        self._refs = detector is not None
        refs = ("q_ref", "qd_ref", "qdd_ref") if self._refs else ()
        _, _, plan = monitor_plan(self.chain, robot, dt, refs, ("q", "qd", "tau"), keep)
        self._loop = CompiledLoop(plan, doubt.count)
        self.kept: list[tuple[Array, Array]] | None = None  # r (B, n) and H (B, n, p) of every sample, if asked for
        self.restart()

    def restart(self) -> None:
        """Let the monitors begin anew, for samples that do not follow those before; what was learned stays."""
        for k, monitor in enumerate(self.chain):
            for label, value in initial_memory(monitor, self.filter.robot.n).items():
                self._loop.set(f"memory_{k}_{label}", np.ravel(value))
        self._columns: tuple[Array, Array] | None = None
        self._slow = np.zeros(self.filter.count)
        self.filter.interrupt()

    def run(
        self, t: Array, q: Array, qd: Array, tau: Array, ref: Reference | None, *, held: NDArray[np.bool_] | None = None
    ) -> Watched:
        """Watch T ticks: t (T,), q, qd, tau (B, T, n), reference (T, n) each.

        Args:
            t: times [s].
            q: measured positions.
            qd: measured velocities.
            tau: torques, held until the next tick.
            ref: needed where there is a detector.
            held: samples (B, S) from which nothing is to be learned, as a contact is felt elsewhere.
        """
        B, n = self.filter.count, self.filter.layout.n
        if self._refs and ref is None:
            raise InputError("doubt: a detector needs the reference of the motion")
        count = len(t) // self.ticks
        wide, narrow = (B, count * self.ticks), (B, count)
        shapes = ((*wide, n), wide, (*narrow, TESTS), (*narrow, 2), *[(*narrow, n)] * 3)
        out = Watched(*(np.zeros(shape) for shape in shapes))
        for s in range(count):
            part = slice(s * self.ticks, (s + 1) * self.ticks)
            common = [t[part, None], *([x[part] for x in ref] if self._refs and ref is not None else [])]
            lanes = np.concatenate([x[:, part] for x in (q, qd, tau)], axis=2)
            out.unsure[:, s] = self.filter.unsure()
            rows, _ = self._loop.run(self.ticks, shared=np.concatenate(common, axis=1), lanes=lanes)
            out.tau_ext[:, part] = rows[..., n : 2 * n]
            quick = rows[..., 2 * n] if self._refs and not self._early else 0.0
            out.level[:, part] = np.maximum(quick, self._slow[:, None])
            known = self.filter.theta.copy()
            out.excess[:, s] = self._told(
                rows[..., :n].mean(axis=1), qd[:, part][:, -1], None if held is None else held[:, s]
            )
            out.jumps[:, s] = self._jumped(known, rows[..., n : 2 * n].mean(axis=1))
            out.level[:, part.stop - 1] = np.maximum(out.level[:, part.stop - 1], self._slow)
            out.load[:, s, 0], out.load[:, s, 1] = self.filter.theta[:, 0], self.filter.load_std
            out.still[:, s] = self.filter.still
        return out

    @property
    def _early(self) -> bool:
        """Whether the sample that comes next begins before the filter is ready."""
        return self.filter.samples * self.filter.sample < self.ready

    def _told(self, r: Array, qd: Array, elsewhere: NDArray[np.bool_] | None) -> Array:
        """Tell the filter a sample and the loop what the filter knows; return D² (B, `TESTS`)."""
        B, n, loop = self.filter.count, self.filter.layout.n, self._loop
        now = loop.get("memory_1_columns").reshape(B, n, -1), loop.get("memory_1_drives").reshape(B, 3, n)
        before = self._columns or now
        columns, drives = (0.5 * (x + y) for x, y in zip(before, now, strict=True))
        self._columns = now  # copies: `get` makes them
        held = self._slow >= 1.0 if elsewhere is None else (self._slow >= 1.0) | elsewhere
        if self.kept is not None:
            self.kept.append((r.copy(), full_columns(self.filter.layout, columns, drives)))
        self._silent = np.full(B, self._early)
        if self._refs:
            held = held | ((loop.get(f"memory_{DETECTOR}_active")[:, 0] > 0.0) & ~self._silent)
        excess = self.filter.push(r, columns, drives, qd, held)
        self._silent |= self.filter.overruled
        self._slow = (np.sqrt(np.maximum(excess, 0.0)) / self.limits).max(axis=1)
        return excess

    def _jumped(self, known: Array, tau_ext: Array) -> Array:
        """Tell the loop the estimate; return by how much `tau_ext` (B, n) falls, θ̂ having been `known` before.

        The offset of the quick channel falls by as much. Where the channel is silent it forgets what it felt: its
        offset is the mean over the sample, tau_ext. A single tick's would be as noisy as the tick.
        """
        loop, columns = self._loop, self._columns
        assert columns is not None  # a sample was told
        loop.set("memory_1_theta", self.filter.theta)
        change = (self.filter.theta - known)[..., None]
        jump = np.asarray((full_columns(self.filter.layout, *columns) @ change)[..., 0])
        if self._refs:
            bias, low, active = (loop.get(f"memory_{DETECTOR}_{name}") for name in ("bias", "low", "active"))
            silent = self._silent[:, None]
            loop.set(f"memory_{DETECTOR}_bias", np.where(silent, tau_ext, bias) - jump)
            loop.set(f"memory_{DETECTOR}_low", np.where(silent, 0.0, low))
            loop.set(f"memory_{DETECTOR}_active", np.where(silent, 0.0, active))
            loop.set(f"memory_{DETECTOR}_unsure", self.filter.unsure())
        return jump


def residual_with(
    robot: Robot, theta: Array, dt: float, gain: float, t: Array, q: Array, qd: Array, tau: Array
) -> Array:
    """Return what the observer says (B, T, n) of runs, less what errors θ (B, p) explain, known all the time."""
    count, chain = len(q), as_chain(list(doubt_monitors(robot, gain)))
    _, _, plan = monitor_plan(chain, robot, dt, (), ("q", "qd", "tau"), ("tau_ext",))
    loop = CompiledLoop(plan, count)
    for k, monitor in enumerate(chain):
        for label, value in initial_memory(monitor, robot.n).items():
            loop.set(f"memory_{k}_{label}", np.ravel(value))
    loop.set("memory_1_theta", theta)
    rows, _ = loop.run(len(t), shared=t[:, None], lanes=np.concatenate([q, qd, tau], axis=2))
    return np.asarray(rows)
