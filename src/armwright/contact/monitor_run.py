# SPDX-License-Identifier: Apache-2.0
"""Monitors run on recorded arrays at once.

`run_monitors` applies monitors to recordings by one compiled loop over ticks, with SIMD lanes over runs. Next to a live
arm `MonitorStream` (simulation/monitor_stream.py) gives the same numbers, sample by sample.
"""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor, as_chain, run_chain
from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph import trace
from armwright.graph.fingerprint import NotComparable, fingerprint
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage
from armwright.graph.purity import traced_purely
from armwright.robot.tree import tree_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

NUMBERS_AT_ONCE = 20_000_000
"""Numbers passed to the loop at once: 160 MB, whatever the length of the recording."""
REFERENCES = ("q_ref", "qd_ref", "qdd_ref")


@names_culprit
def run_monitors(
    monitors: Monitor | Sequence[Monitor],
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    ref: Reference | None = None,
    *,
    keep: Sequence[str] | None = None,
) -> dict[str, Array]:
    """Apply monitors to recorded motion, tick by tick, as they would have run with the controller.

    Args:
        monitors: one, or several in order (observer before detector).
        robot: the monitors' model of the arm.
        t: (T,) [s], equally spaced, T ≥ 2.
        q: measured positions, (T, n), or (B, T, n) for many runs at once.
        qd: measured velocities, as q.
        tau: torque commanded at each tick and held until the next, as q (or the torque from motor currents).
        ref: desired motion, each part (T, n) for all runs or (B, T, n); needed by monitors that read it.
        keep: recorded names to return (see `armwright.contact.monitor.labels`); all by default.

    Returns:
        Outputs by name, (T, …) or (B, T, …).

    >>> monitors = [momentum_observer(50.0), joint_detector(5.0)]
    >>> run_monitors(monitors, robot, run.time, run["q"], run["qd"], run["tau"])["alarm"]
    """
    chain = as_chain(monitors)
    n = robot.n
    signals = {label: _stack(value, n, label) for label, value in (("q", q), ("qd", qd), ("tau", tau))}
    single = np.ndim(q) == 2
    runs, ticks = max(a.shape[0] for a in signals.values()), signals["q"].shape[1]
    wanted = {label for monitor in chain for label in inspect.signature(monitor.function).parameters}
    shared: list[str] = []
    lanes = [label for label in signals if label in wanted]
    for label, part in zip(REFERENCES, ref or (None,) * 3, strict=True):
        if label not in wanted:
            continue
        if part is None:
            raise InputError(f"monitors: {label} is read; give ref=Reference(q, qd, qdd)")
        signals[label] = _stack(part, n, label)
        (shared if len(signals[label]) == 1 and runs > 1 else lanes).append(label)
    for label, array in signals.items():
        if array.shape[0] not in (1, runs) or array.shape[1] != ticks:
            raise InputError(f"monitors: {label} is {array.shape[:2]} (runs, ticks), expected ({runs}, {ticks})")
    time = _times(t, ticks)
    dt = float(time[-1] - time[0]) / (ticks - 1)
    names, shapes, plan = monitor_plan(
        chain, robot, dt, tuple(shared), tuple(lanes), None if keep is None else tuple(keep)
    )
    loop = CompiledLoop(plan, runs)
    for k, monitor in enumerate(chain):
        for label, value in initial_memory(monitor, n).items():
            loop.set(f"memory_{k}_{label}", np.ravel(value))
    rows = []
    chunk = max(1, NUMBERS_AT_ONCE // max(1, runs * (n * len(lanes) + len(plan.record_slots))))
    for start in range(0, ticks, chunk):
        part = slice(start, min(start + chunk, ticks))
        length = part.stop - part.start
        common = np.concatenate([time[part, None], *(signals[k][0, part] for k in shared)], axis=1)
        table = None
        if lanes:
            table = np.concatenate([np.broadcast_to(signals[k][:, part], (runs, length, n)) for k in lanes], axis=2)
        rows.append(loop.run(length, shared=common, lanes=table)[0])
    record = np.concatenate(rows, axis=1)
    out, column = {}, 0
    for name, shape in zip(names, shapes, strict=True):
        size = int(np.prod(shape, dtype=int))
        values = record[..., column : column + size].reshape(runs, ticks, *shape)
        out[name] = values[0] if single and runs == 1 else values
        column += size
    return out


def _stack(value: ArrayLike, n: int, what: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim not in (2, 3) or array.shape[-1] != n or 0 in array.shape:
        raise InputError(f"monitors: {what} must be (T, {n}) or (B, T, {n}), got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"monitors: {what} holds NaN or infinite entries")
    return array if array.ndim == 3 else array[None]


def _times(t: ArrayLike, ticks: int) -> Array:
    time = np.asarray(t, dtype=np.float64)
    if time.shape != (ticks,) or ticks < 2 or not np.isfinite(time).all():
        raise InputError(f"monitors: t must hold the {ticks} times of the samples (at least 2), got shape {time.shape}")
    steps = np.diff(time)
    if steps.min() <= 0.0 or np.ptp(steps) > 1e-6 * float(steps.mean()) + 1e-9:
        raise InputError("monitors: t must rise by equal steps (the control period); resample the recording first")
    return time


def monitor_plan(
    chain: tuple[Monitor, ...],
    robot: Robot,
    dt: float,
    shared: tuple[str, ...],
    lanes: tuple[str, ...],
    keep: tuple[str, ...] | None,
) -> tuple[list[str], list[tuple[int, ...]], LoopPlan]:
    """Trace the chain into one stage, or take what an earlier call traced for this robot."""
    dt = float(f"{dt:.9g}")  # the same period from a longer recording is the same loop
    try:
        key = ("monitors", tuple(_key(monitor) for monitor in chain), dt, shared, lanes, keep)
    except NotComparable:
        return _traced(chain, robot, dt, shared, lanes, keep)
    return robot.memo(key, lambda _: _traced(chain, robot, dt, shared, lanes, keep))


def _traced(
    chain: tuple[Monitor, ...],
    robot: Robot,
    dt: float,
    shared: tuple[str, ...],
    lanes: tuple[str, ...],
    keep: tuple[str, ...] | None,
) -> tuple[list[str], list[tuple[int, ...]], LoopPlan]:
    n, tree = robot.n, tree_of(robot, regroup=True)
    start = [initial_memory(monitor, n) for monitor in chain]
    shapes: dict[str, tuple[int, ...]] = {"t": (1,), **dict.fromkeys((*shared, *lanes), (n,))}
    shapes |= {f"memory_{k}_{label}": v.shape for k, memory in enumerate(start) for label, v in memory.items()}
    found_shapes: dict[str, tuple[int, ...]] = {}

    def tick(**slots: Traced) -> tuple[Any, ...]:
        signals = {"arm": tree, "t": slots["t"][0], "dt": dt, **{k: slots[k] for k in (*shared, *lanes)}}
        memories = [{label: slots[f"memory_{k}_{label}"] for label in memory} for k, memory in enumerate(start)]
        outputs, kept = run_chain(chain, signals, memories)
        unknown = [] if keep is None else [name for name in keep if name not in outputs]
        if unknown:
            raise InputError(f"monitors: no output {', '.join(unknown)}; there are {', '.join(outputs)}")
        chosen = outputs if keep is None else {name: outputs[name] for name in keep}
        found_shapes.update({name: np.shape(value) for name, value in chosen.items()})
        result = {f"output_{i}": value for i, value in enumerate(chosen.values())}
        result |= {f"memory_{k}_{label}": v for k, memory in enumerate(kept) for label, v in memory.items()}
        return namedtuple("Slots", list(result))(**result)  # names are known only now

    parameters = [inspect.Parameter(label, inspect.Parameter.KEYWORD_ONLY) for label in shapes]
    tick.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    program = traced_purely(
        [monitor.function for monitor in chain],
        lambda: trace(tick, shapes, name="monitors"),
        lambda made: made.digest,
        f"monitors ({', '.join(monitor.name for monitor in chain)}): one of them",
    )
    part = stage(program, "before")
    slots = {part.reads[s.name]: s.size for s in part.program.inputs}
    slots |= {part.writes[s.name]: s.size for s in part.program.outputs}
    record = tuple(f"output_{i}" for i in range(len(found_shapes)))
    plan = LoopPlan(slots, (part,), shared=("t", *shared), lanes=lanes, record=record)
    return list(found_shapes), list(found_shapes.values()), plan


def _key(monitor: Monitor) -> tuple[Any, ...]:
    gains = tuple((k, v.shape, v.tobytes()) for k, v in monitor.gains.items())
    memory = tuple((k, v.shape) for k, v in monitor.memory.items())
    return (monitor.name, fingerprint(monitor.function), gains, memory, monitor.outputs)


def rising_edges(alarm: ArrayLike) -> NDArray[np.bool_]:
    """Return where an alarm (..., T) begins: True at samples ≥ 0 whose predecessor is < 0 (or that are the first)."""
    on = np.asarray(alarm, dtype=np.float64) >= 0.0
    before = np.concatenate([np.zeros((*on.shape[:-1], 1), dtype=bool), on[..., :-1]], axis=-1)
    return np.asarray(on & ~before)
