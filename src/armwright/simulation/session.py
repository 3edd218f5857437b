"""A simulation under way: run, stop at events, change the reference, go on."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.law import initial_memory, run
from armwright.errors import ArmwrightWarning, InputError, SimulationError, TraceError
from armwright.graph.kernel import make_kernel
from armwright.graph.loop import Loop, LoopPlan, Outcome
from armwright.motion import Trajectory
from armwright.motion.reference import Reference
from armwright.simulation import stability
from armwright.simulation.plan import Ingredients, loop_plan, step_program
from armwright.simulation.system import System

if TYPE_CHECKING:
    from armwright.robot.model import Robot

CHUNK = 2048  # ticks between looks at the clock, the progress bar and the disk
Progress = Callable[[float], None]


class Session:
    """The state of a loop, its clock, its reference and what it recorded.

    Attributes:
        time: simulated time [s]. rows: recorded chunks (B, rows, columns). outcome: why the last run stopped.
    """

    def __init__(self, robots: list[Robot], parts: Ingredients, *, count: int, substeps: int, every: int, seed: int) -> None:
        """Compile the loop; a law that cannot be traced is called once a tick instead, which the user is told."""
        self.robots, self.robot, self.parts, self.count = tuple(robots), robots[0], parts, count
        self.substeps, self.every = substeps, every
        self.step = parts.period / substeps
        self.noise = np.random.Generator(np.random.Philox(seed))
        self.time = 0.0
        self.tick = 0
        self.phase = 0
        self.outcome = "ready"
        self.callback = False
        self.rows: list[Any] = []
        self.happened: list[tuple[float, str]] = []
        self.seed = seed
        self._references: list[tuple[float, Trajectory | Reference]] = [(0.0, Reference(*np.zeros((3, parts.n))))]
        try:
            plan = self._plan(parts)
        except TraceError as error:
            if parts.continuous or count > 1:
                raise
            self.callback = True
            warnings.warn(f"law {parts.law.name!r} cannot be traced ({error}); it is called from Python once a tick, "
                          "which costs microseconds a tick instead of a fraction of one", ArmwrightWarning, stacklevel=4)  # fmt: skip
            plan = loop_plan(parts, law_in_loop=False)
        self.loop = Loop(plan, count)
        self._step_kernel: Any = None
        self._wanted: tuple[str, ...] | None = None

    def _plan(self, parts: Ingredients) -> LoopPlan:
        """Trace the loop, or take the one that an earlier simulation of this robot traced."""
        key = ("loop", *parts.key())
        plan: LoopPlan | None = self.robot._cache.get(key)
        if plan is None or parts.lanes.places:
            plan = loop_plan(parts)
            self.robot._cache[key] = plan
        return plan

    def start(self, x: Any, gains: Mapping[str, Any], parameters: Any) -> None:
        """Set the initial state (size,) or (B, size), the varying gains and parameters."""
        loop, plan = self.loop, self.loop.plan
        loop.set("x", x)
        loop.set("h", [self.step])
        self._memory: dict[str, Any] = dict(initial_memory(self.parts.law, self.parts.n))
        for name, value in self._memory.items():
            if f"memory_{name}" in plan.slots:
                loop.set(f"memory_{name}", np.ravel(value))
        for name in self.parts.gains_vary:
            loop.set(f"gain_{name}", gains[name].reshape(self.count, -1))
        if "parameters" in plan.slots:
            loop.set("parameters", parameters)
        if "line" in plan.slots:
            assert self.parts.sensors is not None
            n = self.parts.n
            loop.set("line", np.tile(np.atleast_2d(x)[:, : 2 * n], (1, self.parts.sensors.delay + 1)))
        if self.parts.events:
            loop.set("event", self._event_values())

    @property
    def state(self) -> Any:
        """Present state x, (B, size)."""
        return self.loop.get("x")

    def follow(self, reference: Trajectory | Reference) -> None:
        """Follow another reference from now on; its time starts at the present moment."""
        self._references.append((self.time, reference))

    def reference_at(self, t: Any) -> Reference:
        """The reference at simulated times t (m,)."""
        start, reference = self._references[-1]
        return self._evaluate(start, reference, t)

    def reference_log(self, t: Any) -> Reference:
        """The references that were followed at recorded times t (m,), whichever it was then."""
        parts = [np.zeros((len(t), self.parts.n)) for _ in range(3)]
        for start, reference in self._references:
            later = np.asarray(t) >= start - 1e-12
            for part, values in zip(parts, self._evaluate(start, reference, t[later]), strict=True):
                part[later] = values
        return Reference(*parts)

    def _evaluate(self, start: float, reference: Trajectory | Reference, t: Any) -> Reference:
        if isinstance(reference, Trajectory):
            return reference.evaluate(np.asarray(t) - start)
        return Reference(*(np.broadcast_to(part, (*np.shape(t), self.parts.n)) for part in reference))

    def run(self, duration: float, progress: Progress | None = None) -> str:
        """Run for `duration` seconds or until an event; return "end" or the event's name."""
        remaining = round(duration / self.parts.period)
        total = max(1, remaining)
        while remaining > 0:
            ticks = min(CHUNK, remaining)
            done = self._callback_ticks(ticks) if self.callback else self._compiled_ticks(ticks)
            remaining -= ticks
            if progress is not None:
                progress(1.0 - remaining / total)
            if done != "end":
                self.outcome = done
                return done
        self.outcome = "end"
        return "end"

    def closing_row(self) -> Any:
        """The state at the end (B, 1, columns), after the last tick; torque and memory are the last ones."""
        names = self.loop.plan.record
        columns = [np.full((self.count, 1), self.time), *(self.loop.get(name) for name in names[1:])]
        return np.concatenate(columns, axis=1)[:, None]

    def _tables(self, ticks: int) -> tuple[Any, Any]:
        n, dt, plan = self.parts.n, self.parts.period, self.loop.plan
        t = self.time + dt * np.arange(ticks + 1)
        ref = np.concatenate(self.reference_at(t), axis=-1)
        columns = [t[:-1, None], ref[:-1]]
        if "ref_next" in plan.shared:
            columns.append(ref[1:])
        if "fresh" in plan.shared:
            assert self.parts.sensors is not None
            columns.append(((np.arange(ticks) + self.tick) % self.parts.sensors.every == 0)[:, None])
        lanes = None
        if plan.lanes:
            noisy = self.parts.sensors is not None and self.parts.sensors.noisy
            lanes = self.noise.standard_normal((ticks, self.count, 2 * n)).transpose(1, 0, 2) if noisy else np.zeros((self.count, ticks, 2 * n))
        return np.concatenate(columns, axis=1), lanes

    def _compiled_ticks(self, ticks: int) -> str:
        shared, lanes = self._tables(ticks)
        most = 100_000 if self.parts.method.adaptive else self.substeps
        record, outcomes = self.loop.run(ticks, substeps=most, shared=shared, lanes=lanes, every=self.every, phase=self.phase)
        done = min(outcomes, key=lambda outcome: outcome.ticks)
        self._keep(record, ticks, outcomes)
        self._advance(ticks if done.reason == "end" else done.ticks)
        if done.reason == "not finite":
            self._diverged(outcomes)
        if done.reason == "event":
            return self._locate_event(done)
        return "end"

    def _keep(self, record: Any, ticks: int, outcomes: list[Outcome]) -> None:
        shortest = min(outcome.ticks for outcome in outcomes)
        if shortest < ticks and self.count == 1:
            started = shortest + 1  # the tick in which it stopped has been recorded too
            record = record[:, : (started + self.phase + self.every - 1) // self.every - (self.phase + self.every - 1) // self.every]
        self.rows.append(record)

    def _advance(self, ticks: int) -> None:
        self.tick += ticks
        self.phase = (self.phase + ticks) % self.every
        self.time += ticks * self.parts.period

    def _callback_ticks(self, ticks: int) -> str:
        """Call the law from Python, once a tick, and let the compiled step do the rest."""
        parts, n = self.parts, self.parts.n
        step = self._single_step()
        x = self.loop.get("x")[0]
        h, record = np.array([self.step]), []
        ref = self.reference_at(self.time + parts.period * np.arange(ticks))
        size = 1 + len(x) + n
        for k in range(ticks):
            t = self.time + k * parts.period
            row = Reference(ref.q[k], ref.qd[k], ref.qdd[k])
            tau = self._call_law(t, x[:n], x[n : 2 * n], row)
            if not np.isfinite(tau).all():
                self._stop_callback(x, record, size, k)
                joint = self.robot.joints[int(np.argmin(np.isfinite(tau)))].name
                raise SimulationError(f"law {parts.law.name!r} returned {tau.tolist()} at t = {t:.6g} s (joint {joint}); torques must be finite")
            if (k + self.phase) % self.every == 0:
                record.append(np.concatenate([[t], x, tau]))
            now = np.array([t])
            for s in range(self.substeps):
                x = step(x, h, np.array([s * self.step]), now, tau)
            if not np.isfinite(x).all():
                self._stop_callback(x, record, size, k)
                self._diverged([Outcome(k, "not finite", 0)])
        self._stop_callback(x, record, size, ticks)
        return "end"

    def _call_law(self, t: float, q: Any, qd: Any, ref: Reference) -> Any:
        """Call the law's own function with just the parameters it names (looked up once)."""
        law = self.parts.law
        if self._wanted is None:
            self._wanted = tuple(inspect.signature(law.function).parameters)
        values = {"arm": self.robot, "t": t, "q": q, "qd": qd, "ref": ref, "dt": self.parts.period, **law.gains, **self._memory}
        answer = law.function(**{name: values[name] for name in self._wanted if name in values})
        if isinstance(answer, tuple):
            answer, kept = answer
            self._memory = {**self._memory, **kept}
        return np.asarray(answer, dtype=np.float64)

    def _stop_callback(self, x: Any, record: list[Any], size: int, ticks: int) -> None:
        self.loop.set("x", x)
        if record:
            self.loop.set("tau", record[-1][-self.parts.n :])
        self.rows.append(np.array(record).reshape(1, -1, size))
        self._advance(ticks)

    def _single_step(self) -> Any:
        """The inside stage as a kernel of its own: x, h, past, t, tau → x (and more)."""
        if self._step_kernel is None:
            program = step_program(self.parts, command="law" if self.parts.continuous else "held")
            kernel = make_kernel(program, check_finite=False)
            index = [s.name for s in program.outputs].index("x")
            order = [s.name for s in program.inputs]
            self._step_kernel = _StepCall(kernel, order, index)
        return self._step_kernel

    def _event_values(self) -> Any:
        from armwright.graph.program import call_by_name

        n, x = self.parts.n, self.loop.get("x")[0]
        given = {"arm": self.parts.lanes.tree, "t": self.time, "q": x[:n], "qd": x[n : 2 * n]}
        return np.array([float(call_by_name(f, given)) for f in self.parts.events.values()])

    def _locate_event(self, outcome: Outcome) -> str:
        """Shrink the last substep until the event's value is zero at its end (regula falsi), and stop there."""
        loop, names = self.loop, list(self.parts.events)
        values_after, x_before = loop.get("event")[0], loop.get("x_before")[0]
        x_after, past = loop.get("x")[0], float(loop.get("past")[0, 0])
        values_before = self._values_at(x_before)
        k = int(np.argmax((values_before < 0.0) & (values_after >= 0.0)))
        low, high, f_low, f_high = 0.0, self.step, values_before[k], values_after[k]
        x = x_after
        if not self.parts.method.adaptive:
            for _ in range(30):
                if high - low < 1e-12 or f_high == 0.0:
                    break
                h = low + (high - low) * float(np.clip(-f_low / (f_high - f_low), 0.05, 0.95))
                trial = self._single_step().by_name(self._slots(x_before, h, past - self.step))
                value = self._values_at(trial)[k]
                if value >= 0.0:
                    high, f_high, x = h, value, trial
                else:
                    low, f_low = h, value
            past = past - self.step + high
        loop.set("x", x)
        loop.set("event", self._values_at(x))
        self.time += past
        self.happened.append((self.time, names[k]))
        return names[k]

    def _slots(self, x: Any, h: float, past: float) -> dict[str, Any]:
        plan = self.loop.plan
        slots = {name: self.loop.get(name)[0] for name in plan.slots}
        return slots | {"x": x, "h": np.array([h]), "past": np.array([past])}

    def _values_at(self, x: Any) -> Any:
        keep = self.loop.get("x")
        self.loop.set("x", x)
        values = self._event_values()
        self.loop.set("x", keep)
        return values

    def check_step(self) -> None:
        """Raise `SimulationError` if the step cannot be stable at the present state (see `stability`)."""
        if self.callback or self.parts.method.adaptive:
            return
        keep = self.loop._memory.copy()
        x = self.state[0]
        shared, _ = self._tables(1)
        N = len(x)
        probe = Loop(self.loop.plan, 1) if self.count > 1 else self.loop
        if probe is not self.loop:
            probe._memory[0, :, 0] = keep[0, :, 0]
        base = probe._memory.copy()

        def tick(states: Any) -> Any:
            after = np.empty_like(states)
            lanes = np.zeros((1, 1, len(probe.plan.lane_slots))) if probe.plan.lanes else None
            for k, state in enumerate(states):
                probe._memory[...] = base
                probe.set("x", state)
                probe.run(1, substeps=self.substeps, shared=shared, lanes=lanes)
                after[k] = probe.get("x")[0]
            return after

        radius, direction = stability.growth(stability.tick_jacobian(tick, x))
        self.loop._memory[...] = keep
        if np.log(radius) <= stability.IMPLAUSIBLE_RATE * self.parts.period:
            return
        joint = self.robot.joints[int(np.argmax(direction[:N])) % self.parts.n].name
        raise SimulationError(self.explain(x, joint))

    def explain(self, x: Any, joint: str) -> str:
        """Say what step would be stable at x."""
        parts = self.parts
        n, ref = parts.n, Reference(*(part[0] for part in self.reference_at(np.array([self.time]))))

        def law(z: Any) -> Any:
            signals = {"arm": parts.model, "t": self.time, "q": z[:n], "qd": z[n : 2 * n], "ref": ref, "dt": parts.period}
            gains = {k: v[0] if k in parts.gains_vary else v for k, v in parts.law.gains.items()}
            return np.asarray(run(parts.law, signals, gains, self._memory).tau, dtype=np.float64)

        extra = {name: slice((2 + k) * n, (3 + k) * n) for k, name in enumerate(parts.extra_names)}

        def derivative(z: Any, u: Any) -> Any:
            return System(parts.lanes.tree, lambda *_: u, parts.drive, parts.friction, None, extra).derivative(0.0, z)

        linear = stability.linearise(derivative, law, x, law(x))
        return stability.explain(linear, parts.method, period=parts.period, step=self.step, continuous=parts.continuous, joint=joint)

    def _diverged(self, outcomes: list[Outcome]) -> None:
        """Say when, which joint, and the likely cause."""
        last = next((rows[0][np.isfinite(rows[0]).all(axis=1)] for rows in reversed(self.rows) if np.isfinite(rows[0]).all(axis=1).any()), None)
        n = self.parts.n
        self.outcome = "diverged"
        if last is None:
            raise SimulationError(f"the state is not finite after the first tick (t = {self.time:.6g} s): check gains and initial state")
        qd = last[-1][1 + n : 1 + 2 * n]
        joint = self.robot.joints[int(np.argmax(np.abs(qd)))].name
        try:
            cause = self.explain(last[max(0, len(last) - 10)][1 : 1 + self.parts.size], joint)
        except (FloatingPointError, np.linalg.LinAlgError, ValueError):
            cause = "the state grew without bound"
        raise SimulationError(f"diverged at t = {self.time:.6g} s: joint {joint} reached {np.abs(qd).max():.3g} rad/s; likely cause: {cause}")


class _StepCall:
    """The step kernel with its inputs in a fixed order, returning the next state only."""

    def __init__(self, kernel: Any, order: list[str], index: int) -> None:
        self.kernel, self.order, self.index = kernel, order, index
        self.single = kernel.program.single

    def by_name(self, slots: Mapping[str, Any]) -> Any:
        """Call with a dictionary of slots."""
        result = self.kernel(*(slots[name] for name in self.order))
        return result if self.single else result[self.index]

    def __call__(self, x: Any, h: Any, past: Any, t: Any, tau: Any) -> Any:
        """Call with the slots of a held torque."""
        return self.kernel(x, h, past, t, tau)[self.index]
