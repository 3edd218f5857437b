"""From the rows of a run to a recording: names, units, references, and energies computed afterwards in one batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.law import run_storage
from armwright.dynamics import energy, forward_dynamics
from armwright.graph import compile_function
from armwright.motion.reference import Reference
from armwright.simulation.recording import Recording
from armwright.simulation.recordings import Recordings
from armwright.simulation.signals import Event, Signal

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.simulation.session import Session


def units(robot: Robot) -> tuple[str, str, str, str]:
    """Units of q, qd, qdd and tau: of a revolute arm, or of a gantry; mixed arms are labelled as revolute ones."""
    if robot.joints and all(joint.kind == "prismatic" for joint in robot.joints):
        return "m", "m/s", "m/s^2", "N"
    return "rad", "rad/s", "rad/s^2", "N m"


def recording_of(session: Session, settings: Mapping[str, Any]) -> Any:
    """Return the `Recording` (one simulation) or `Recordings` (a batch) of what a session recorded so far."""
    robot, parts, n = session.robot, session.parts, session.parts.n
    width = 1 + parts.size + n
    last = session.closing_row()
    latest = max((float(np.nanmax(chunk[..., 0])) for chunk in session.rows if chunk.size), default=-1.0)
    new = session.rows and session.consistent and np.isfinite(last).all() and session.time > latest
    ends = [last[..., : session.rows[-1].shape[-1]]] if new else []
    rows = np.concatenate([*session.rows, *ends], axis=1) if session.rows else np.zeros((session.count, 0, width))
    time = rows[..., 0].max(axis=0, initial=-np.inf, where=np.isfinite(rows[..., 0]))
    labels = tuple(joint.name for joint in robot.joints)
    u = units(robot)
    ref = session.reference_log(time)
    columns: dict[str, tuple[Any, str]] = {
        "q": (rows[..., 1 : 1 + n], u[0]),
        "qd": (rows[..., 1 + n : 1 + 2 * n], u[1]),
        "tau": (rows[..., 1 + parts.size : 1 + parts.size + n], u[3]),
    }
    if parts.drive is not None:
        columns["tau_command"] = columns["tau"]
        columns["tau"] = (_applied(session, rows), u[3])
    shape = columns["q"][0].shape
    for name, values, unit in zip(("q_ref", "qd_ref", "qdd_ref"), ref, u[:3], strict=True):
        columns[name] = (np.broadcast_to(values, shape), unit)
    columns["error"] = (columns["q_ref"][0] - columns["q"][0], u[0])
    for k, name in enumerate(parts.extra_names):
        columns[name] = (rows[..., 1 + (2 + k) * n : 1 + (3 + k) * n], "N m" if name == "motor_torque" else "rad")
    memory_start = width
    for slot in session.loop.plan.record[3:]:
        size = session.loop.plan.slots[slot]
        columns[slot] = (rows[..., memory_start : memory_start + size], "")
        memory_start += size
    signals = {
        name: Signal(values if session.count > 1 else values[0], unit, labels if values.shape[-1] == n else ())
        for name, (values, unit) in columns.items()
    }
    meta: dict[str, Any] = {
        "settings": {"law": parts.law.name,
                     "gains": {k: np.asarray(v).tolist() for k, v in parts.law.gains.items() if np.ndim(v) < 2},
                     "integrator": parts.method.name, "rate": 1.0 / parts.period, "substeps": session.substeps,
                     "continuous": parts.continuous, **settings},
    }  # fmt: skip
    if session.count > 1:
        whole = np.isfinite(rows[..., : 1 + parts.size]).all(axis=-1).sum(axis=1)
        lengths = () if (whole == len(time)).all() else tuple(int(k) for k in whole)
        return Recordings(time, signals, robots=session.robots, lengths=lengths, seeds=session.seeds, **meta)
    events = tuple(Event(t, name) for t, name in session.happened)
    return Recording(time, signals, robot=robot, events=events, outcome=session.outcome, seed=session.seeds[0], **meta)


def _applied(session: Session, rows: Any) -> Any:
    """Joint torques (B, T, n) that the drive made of the commands, from recorded rows."""
    parts, n = session.parts, session.parts.n
    assert parts.drive is not None
    flat = rows.reshape(-1, rows.shape[-1]).T[1:]  # joints first, as the drive's formulas have them
    states = {name: flat[(2 + k) * n : (3 + k) * n] for k, name in enumerate(parts.extra_names)}
    tau, _ = parts.drive.torque(flat[parts.size : parts.size + n], flat[n : 2 * n], states)
    return tau.T.reshape(*rows.shape[:2], n)


def with_energy(recording: Recording) -> Recording:
    """Add kinetic, potential and total energy [J] of a recording's robot, from one batched kernel."""
    assert recording.robot is not None
    e = energy(recording.robot, recording["q"], recording["qd"])
    return recording.with_signals(
        kinetic=Signal(e.kinetic, "J"), potential=Signal(e.potential, "J"), energy=Signal(e.total, "J")
    )


def with_acceleration(recording: Recording) -> Recording:
    """Add qdd, the acceleration that the recorded torques cause (without external wrenches)."""
    assert recording.robot is not None
    qdd = forward_dynamics(recording.robot, recording["q"], recording["qd"], recording["tau"])
    return recording.with_signals(
        qdd=Signal(qdd, units(recording.robot)[2], tuple(j.name for j in recording.robot.joints))
    )


def with_storage(recording: Recording, law: Any) -> Recording:
    """Add the law's Lyapunov or storage function along the run."""
    robot = recording.robot
    assert robot is not None
    n = robot.n

    def storage(t: Any, q: Any, qd: Any, ref: Any) -> Any:
        signals = {"arm": robot, "t": t, "q": q, "qd": qd, "ref": Reference(ref[:n], ref[n : 2 * n], ref[2 * n :])}
        return run_storage(law, signals, law.gains, law.memory)

    k = compile_function(storage, {"t": (), "q": (n,), "qd": (n,), "ref": (3 * n,)})
    ref = np.concatenate([recording["q_ref"], recording["qd_ref"], recording["qdd_ref"]], axis=-1)
    return recording.with_signals(storage=Signal(k(recording.time, recording["q"], recording["qd"], ref), "J"))
