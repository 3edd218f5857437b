"""A law that cannot be traced: called from Python once a tick, the rest of the loop stays compiled."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, SimulationError
from armwright.graph.loop import Outcome
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.simulation.session import Session


class Caller:
    """Calls the law with just the parameters it names, and keeps its memory and the sensors' delay line."""

    def __init__(self, session: Session, x: Any) -> None:
        """Look the parameters up once; sensors start with the initial state x (size,)."""
        parts = session.parts
        self.session, self.law, self.n = session, parts.law, parts.n
        wanted = inspect.signature(self.law.function).parameters
        fixed = {"arm": parts.model_key or session.robot, "dt": parts.period, **self.law.gains}
        self.wanted = tuple(wanted)
        self.fixed = {name: fixed[name] for name in wanted if name in fixed}
        self.memory: dict[str, Any] = dict(session.memory)
        delay = 0 if parts.sensors is None else parts.sensors.delay
        self.line = [x[: 2 * self.n]] * (delay + 1)

    def torque(self, t: float, x: Any, ref: Reference) -> Any:
        """Torque (n,) at one tick; raise `SimulationError` if it is not a finite torque a joint."""
        n = self.n
        seen = self._sense(x)
        values = {"t": t, "q": seen[:n], "qd": seen[n:], "ref": ref, **self.memory}
        answer = self.law.function(**self.fixed, **{name: values[name] for name in self.wanted if name in values})
        if isinstance(answer, tuple):
            answer, kept = answer
            self.memory = {**self.memory, **kept}
        try:
            tau = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"law {self.law.name!r} must return {n} torques, got {answer!r}") from error
        if tau.shape != (n,):
            raise InputError(f"law {self.law.name!r}: must return a torque a joint, shape ({n},), got {tau.shape}")
        if not np.isfinite(tau).all():
            joint = self.session.robot.joints[int(np.argmin(np.isfinite(tau)))].name
            raise SimulationError(f"law {self.law.name!r} returned {tau.tolist()} at t = {t:.6g} s (joint {joint}); torques must be finite")
        return tau

    def _sense(self, x: Any) -> Any:
        session, sensors, n = self.session, self.session.parts.sensors, self.n
        if sensors is None:
            return x[: 2 * n]
        noise = session.noise[0].standard_normal(2 * n) if sensors.noisy else np.zeros(2 * n)
        fresh = session.tick % sensors.every == 0
        seen = np.concatenate(sensors.read(x[:n], x[n : 2 * n], noise)) if fresh else self.line[0]
        self.line = [seen, *self.line[:-1]]
        return self.line[-1]


def run_ticks(session: Session, ticks: int) -> str:
    """Run up to `ticks` ticks; return "end" or the name of an event. What was recorded is kept whatever happens."""
    record: list[Any] = []
    if session.caller is None:
        session.caller = Caller(session, session.state[0])
    parts = session.parts
    plain = not (parts.events or parts.method.adaptive)
    try:
        return (_fast if plain else _general)(session, ticks, record)
    finally:
        width = 1 + parts.size + parts.n
        if record:
            session.rows.append(np.array(record).reshape(1, -1, width))


def _fast(session: Session, ticks: int, record: list[Any]) -> str:
    """Fixed steps without events: the step alone, from Python."""
    parts, caller, step = session.parts, session.caller, session.single_step()
    x, h = session.state[0], np.array([session.step])
    ref = session.reference_at(session.times(ticks))
    pasts = [np.array([s * session.step]) for s in range(session.substeps)]
    tau = session.loop.get("tau")[0]
    try:
        for k in range(ticks):
            t = session.time
            tau = caller.torque(t, x, Reference(ref.q[k], ref.qd[k], ref.qdd[k]))
            if session.phase == 0:
                record.append(np.concatenate([[t], x, tau]))
            now, after = np.array([t]), x
            for past in pasts:
                after = step(after, h, past, now, tau)
            if not np.isfinite(after).all():
                session.rows.append(np.array(record).reshape(1, -1, 1 + len(x) + parts.n))
                record.clear()
                x = after
                session.diverged([Outcome(k, "not finite", 0)])
            x = after
            session.advance(1)
    finally:
        session.loop.set("x", x)
        session.loop.set("tau", tau)
    return "end"


def _general(session: Session, ticks: int, record: list[Any]) -> str:
    """Tick by tick through the compiled loop, which knows about events and adaptive steps."""
    caller, loop = session.caller, session.loop
    for _ in range(ticks):
        shared, _ = session.tables(1)
        n, row = session.parts.n, shared[0]
        tau = caller.torque(session.time, loop.get("x")[0], Reference(row[1 : 1 + n], row[1 + n : 1 + 2 * n], row[1 + 2 * n : 1 + 3 * n]))
        loop.set("tau", tau)
        rows, outcomes = loop.run(1, substeps=session.most_substeps, shared=shared)
        if session.phase == 0:
            record.append(rows[0, 0])
        if outcomes[0].reason == "event":
            return session.stop_at_event()
        if outcomes[0].reason != "end":
            session.rows.append(np.array(record))
            record.clear()
            session.diverged(outcomes)
        session.advance(1)
    return "end"
