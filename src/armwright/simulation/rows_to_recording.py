# SPDX-License-Identifier: Apache-2.0
"""From the rows of a run to a recording: names, units, references, and energies computed afterwards in one batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.law import Law, run_storage
from armwright.control.tick_function import initial_memory
from armwright.dynamics import energy, forward_dynamics
from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.kinematics import fk
from armwright.motion.trajectory import Reference
from armwright.recording.batch import Recordings
from armwright.recording.recording import Recording
from armwright.recording.signals import RecordedEvent, Signal
from armwright.recording.writer import empty

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.simulation.friction_models import FrictionModel
    from armwright.simulation.running_loop import RunningLoop
    from armwright.types import Array, Traced


def units(robot: Robot) -> tuple[str, str, str, str]:
    """Units of q, qd, qdd and tau: of a revolute arm, or of a gantry; mixed arms are labelled as revolute ones."""
    if robot.joints and all(joint.kind == "prismatic" for joint in robot.joints):
        return "m", "m/s", "m/s^2", "N"
    return "rad", "rad/s", "rad/s^2", "N m"


def columns_of(running: RunningLoop, rows: Array, given: Array) -> dict[str, tuple[Any, str]]:
    """Name the columns of rows (B, T, columns) and of what all lanes were given (T, columns): values, unit by name."""
    parts, n = running.parts, running.parts.n
    u = units(running.robot)
    columns: dict[str, tuple[Any, str]] = {
        "q": (rows[..., 1 : 1 + n], u[0]),
        "qd": (rows[..., 1 + n : 1 + 2 * n], u[1]),
        "tau": (rows[..., 1 + parts.size : 1 + parts.size + n], u[3]),
    }
    if parts.drive is not None:
        columns["tau_command"] = columns["tau"]
        columns["tau"] = (_applied(running, rows), u[3])
    shape = columns["q"][0].shape
    for k, name in enumerate(("q_ref", "qd_ref", "qdd_ref")):
        columns[name] = (np.broadcast_to(given[:, 1 + k * n : 1 + (k + 1) * n], shape), u[k])
    columns["error"] = (np.subtract(columns["q_ref"][0], columns["q"][0], out=empty(shape)), u[0])
    for k, name in enumerate(parts.extra_names):
        columns[name] = (rows[..., 1 + (2 + k) * n : 1 + (3 + k) * n], "N m" if name == "motor_torque" else "rad")
    start = 1 + parts.size + n
    for slot in running.loop.plan.record[3:]:
        size = running.loop.plan.slots[slot]
        columns[slot] = (rows[..., start : start + size], u[3] if slot == "tau_ext" else "")
        start += size
    return columns


def signals_of(running: RunningLoop, rows: Array, given: Array) -> dict[str, Signal]:
    """Signals of rows: (T, …) of a single simulation, (B, T, …) of a batch."""
    labels = tuple(joint.name for joint in running.robot.joints)
    return {
        name: Signal(values if running.batch else values[0], unit, labels if values.shape[-1] == len(labels) else ())
        for name, (values, unit) in columns_of(running, rows, given).items()
    }


def settings_of(running: RunningLoop, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a session was asked to do, as it is written into recordings."""
    parts = running.parts
    return {
        "law": parts.law.name,
        "gains": {k: np.asarray(v).tolist() for k, v in parts.law.gains.items() if np.ndim(v) < 2},
        "integrator": parts.method.name,
        "rate": 1.0 / parts.period,
        "substeps": running.substeps,
        "continuous": parts.continuous,
        **({} if parts.friction is None else {"friction": _friction_values(parts.friction)}),
        **settings,
    }


def _friction_values(friction: FrictionModel) -> dict[str, Any]:
    """Name and values of a friction model, and whether it can only take energy where that depends on them."""
    parameters = fields(friction)  # type: ignore[arg-type]
    values = {each.name: np.asarray(getattr(friction, each.name)).tolist() for each in parameters}
    values = {name: value for name, value in values.items() if np.isfinite(value).all()}  # files have no infinity
    passive = getattr(friction, "passive", None)
    return {
        "model": type(friction).__name__,
        **values,
        **({} if passive is None else {"passive": bool(np.all(passive))}),
    }


def closing(running: RunningLoop) -> tuple[Array, Array] | None:
    """The row of the present moment and what is given then, (B, 1, columns) and (1, columns); None if it is no new one.

    There is none after a divergence, before the first row, or where an interrupt left the state ahead of the clock.
    """
    log = running.log
    if not log.count or not running.consistent:
        return None
    row, given = running.closing_row(), running.shared_table(1)
    new = np.isfinite(row).all() and running.time > float(log.given(log.count - 1)[0, 0])
    return (row, given) if new else None


def recording_of(running: RunningLoop, settings: Mapping[str, Any]) -> Recording | Recordings:
    """Return the `Recording` (one simulation) or `Recordings` (a batch) of what a session recorded so far."""
    log, end = running.log, closing(running)
    since = log.first
    if end is not None:
        last, given = log.tail(1)
        last[...], given[...] = end
        log.commit(1)
    rows, table = log.rows(since), log.given(since)
    if end is not None:
        log.commit(-1)  # the recording looks at it; the log goes on without
        log.seal()
    signals, asked = signals_of(running, rows, table), settings_of(running, settings)
    if running.batch:
        whole = np.isfinite(rows[..., : 1 + running.parts.size]).all(axis=-1).sum(axis=1)
        lengths = () if (whole == len(table)).all() else tuple(int(k) for k in whole)
        return Recordings(
            table[:, 0], signals, robots=running.robots, lengths=lengths, seeds=running.seeds, settings=asked
        )
    events = tuple(RecordedEvent(t, name) for t, name in sorted(running.happened + running.flagged))
    return Recording(
        table[:, 0],
        signals,
        robot=running.robot,
        events=events,
        outcome=running.outcome,
        seed=running.seeds[0],
        settings=asked,
    )


def _applied(running: RunningLoop, rows: Array) -> Array:
    """Joint torques (B, T, n) that the drive made of the commands, from recorded rows."""
    parts, n = running.parts, running.parts.n
    assert parts.drive is not None
    flat = rows.reshape(-1, rows.shape[-1]).T[1:]  # joints first, as the drive's formulas have them
    states = {name: flat[(2 + k) * n : (3 + k) * n] for k, name in enumerate(parts.extra_names)}
    tau, _ = parts.drive.torque(flat[parts.size : parts.size + n], flat[n : 2 * n], states)
    return np.asarray(tau).T.reshape(*rows.shape[:2], n)


@names_culprit
def with_energy(recording: Recording) -> Recording:
    """Add kinetic, potential and total energy [J] of a recording's robot, from one batched kernel."""
    assert recording.robot is not None
    e = energy(recording.robot, recording["q"], recording["qd"])
    return recording.with_signals(
        kinetic=Signal(e.kinetic, "J"), potential=Signal(e.potential, "J"), energy=Signal(e.total, "J")
    )


@names_culprit
def with_tool_path(recording: Recording) -> Recording:
    """Add where the tool was, ``tool`` (T, 3) [m] in base axes, and where it should have been, ``tool_ref``."""
    assert recording.robot is not None
    paths = {name: recording[q] for name, q in (("tool", "q"), ("tool_ref", "q_ref")) if q in recording}
    places = {name: fk(recording.robot, q)[..., :3, 3] for name, q in paths.items()}
    return recording.with_signals(**{name: Signal(place, "m", ("x", "y", "z")) for name, place in places.items()})


@names_culprit
def with_acceleration(recording: Recording) -> Recording:
    """Add qdd, the acceleration that the recorded torques cause (without external wrenches)."""
    assert recording.robot is not None
    qdd = forward_dynamics(recording.robot, recording["q"], recording["qd"], recording["tau"])
    return recording.with_signals(
        qdd=Signal(qdd, units(recording.robot)[2], tuple(j.name for j in recording.robot.joints))
    )


@names_culprit
def with_storage(recording: Recording, law: Law) -> Recording:
    """Add the law's Lyapunov or storage function along the run, with the memory that it had at every instant."""
    robot = recording.robot
    assert robot is not None
    n, start = robot.n, initial_memory(law, robot.n)
    missing = [name for name in start if f"memory_{name}" not in recording]
    if missing:
        raise InputError(f"with_storage: law {law.name!r} needs its recorded memory: {', '.join(missing)}")
    sizes = [value.size for value in start.values()]

    def storage(t: Traced, q: Traced, qd: Traced, ref: Traced, memory: Traced) -> Traced:
        parts = np.split(memory, np.cumsum(sizes)[:-1]) if sizes else []
        kept = {name: part.reshape(value.shape) for (name, value), part in zip(start.items(), parts, strict=True)}
        signals = {"arm": robot, "t": t, "q": q, "qd": qd, "ref": Reference(ref[:n], ref[n : 2 * n], ref[2 * n :])}
        return run_storage(law, signals, law.gains, kept)

    k = compile_function(storage, {"t": (), "q": (n,), "qd": (n,), "ref": (3 * n,), "memory": (sum(sizes),)})
    ref = np.concatenate([recording["q_ref"], recording["qd_ref"], recording["qdd_ref"]], axis=-1)
    memory = np.concatenate([np.zeros((len(recording), 0)), *(recording[f"memory_{name}"] for name in start)], axis=-1)
    value = k(recording.time, recording["q"], recording["qd"], ref, memory)
    return recording.with_signals(storage=Signal(value, "J"))
