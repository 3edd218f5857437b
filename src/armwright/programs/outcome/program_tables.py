# SPDX-License-Identifier: Apache-2.0
"""The outcome of a program as plain data: a dictionary for JSON, and a recording of its cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.kinematics import jacobian
from armwright.programs.motors import summarise
from armwright.programs.outcome.program_tracking import answers
from armwright.programs.program_push import pushes_in
from armwright.programs.reading_figures import reading_figures
from armwright.recording import Recording
from armwright.recording.signals import Signal
from armwright.simulation.rows_to_recording import units

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import MoveOutcome, ProgramRun, WhatWorks
    from armwright.programs.program_push import Push
    from armwright.types import Array

COMPONENTS = ("fx", "fy", "fz", "nx", "ny", "nz")


def figures(outcome: ProgramRun, *, works: bool = True) -> dict[str, Any]:
    """Return verdict, moves, events, motors, reactions and what would work; SI units, radians, names with units."""
    run, plan = outcome.motors, outcome.plan
    off = run.deviation
    out = {
        "program": {name: getattr(plan.program, name) for name in ("name", "language", "file", "robot")},
        "robot": outcome.robot.name,
        "basis": outcome.basis,
        "checked": run.drives.says,
        "missing": list(run.drives.missing),
        "feasible": outcome.answer == "feasible",
        "answer": outcome.answer,
        "verdict": outcome.verdict,
        "answers": answers(outcome),
        "tracking": outcome.settings["tracking"],
        "rule": outcome.settings.get("rule"),
        "cycle_s": plan.cycle,
        "override": outcome.settings["override"],
        "wrench": wrench_rows(outcome),
        "duration_s": plan.duration,
        "late_s": outcome.late,
        "cycles": run.demand.cycles,
        "flagged_cycles": int((outcome.wished.saturated | outcome.wished.clipped).any(axis=1).sum()),
        "deviation": {
            "position_m": float(off.position.max()),
            "angle_rad": float(off.angle.max()),
            "path_m": float(off.path.max()),
            "behind_m": float(off.behind.max()),
        },
        "energy_j": float(run.energy.sum()) if outcome.weighed else None,
        "regenerated_j": float(run.regenerated.sum()) if outcome.weighed else None,
        "motors": motor_rows(outcome),
        "reactions": reaction_rows(outcome),
        "moves": [_move(outcome, move) for move in outcome.moves],
        "events": [
            {
                **{name: getattr(event, name) for name in ("cause", "cycles", "asked", "limit", "use")},
                "joint": outcome.robot.joints[event.joint].name,
                "move": event.move + 1,
                "line": plan.program.moves[event.move].line,
                "start_s": event.start,
                "end_s": event.end,
                "worst_s": event.worst,
                "place_m": event.place,
                "parts_nm": event.parts,
            }
            for event in outcome.events
        ],
        "impossible": [
            {**one._asdict(), "move": one.move + 1, "line": plan.program.moves[one.move].line}
            for one in outcome.impossible
        ],
        "notes": [{"line": note.line, "message": note.message} for note in plan.notes],
        "read": reading_figures(plan.program),
    }
    return out | {"works": _works(outcome, outcome.works)} if works else out


def wrench_rows(outcome: ProgramRun) -> list[dict[str, Any]]:
    """Return what the world does to the tool, one row per stretch of moves, and what holding it takes.

    `torque_nm` are the motor torques K^-T (−JᵀF) (n,) by which the wrench changes those of the program at most, of
    either sense, friction and acceleration apart; `use` the same as shares of the torque limits.
    """
    out = []
    for push in pushes_in(outcome.program):
        change = _torques_of_the_world(outcome, push)
        most = np.abs(change).max(axis=0, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            use = np.nan_to_num(most / outcome.motors.limit.max(axis=0), posinf=0.0)
        out.append(
            {
                "moves": [push.first, push.last],
                "frame": push.frame,
                "force_n": push.wrench[:3],
                "moment_nm": push.wrench[3:],
                "torque_nm": most,
                "use": use,
            }
        )
    return out


def _torques_of_the_world(outcome: ProgramRun, push: Push) -> Array:
    """Return (T, n) K^-T (−JᵀF) in the cycles of a push [N m]; F at the arm's own tool frame, along the wish."""
    demand = outcome.demand
    assert demand.wrench is not None
    rows = np.isin(demand.moves + 1, np.arange(push.first or 1, (push.last or 0) + 1))
    q, F = demand.q[:-1][rows], demand.wrench[rows]
    torque = -np.einsum("tij,ti->tj", jacobian(outcome.robot, q), F)
    return np.asarray(torque @ np.linalg.inv(outcome.motors.drives.actuators.gear))


def motor_rows(outcome: ProgramRun) -> list[dict[str, Any]]:
    """Return one row per motor (per joint, where motors are unknown): torque, speed, heat and work of the program."""
    run, whole = outcome.motors, summarise(outcome.motors)
    drives, weighed = run.drives, outcome.weighed
    return [
        {
            "joint": joint.name,
            "torque_peak_nm": whole.peak[j] if weighed else None,
            "torque_rms_nm": whole.rms[j] if weighed else None,
            "torque_limit_nm": float(run.limit[:, j].max()),
            "continuous_torque_nm": float(1.0 / drives.per_continuous[j]) if drives.per_continuous[j] else None,
            "torque_wanted_nm": float(np.abs(outcome.wished.wanted[:, j]).max()) if weighed else None,
            "torque_use": float(outcome.wished.torque_use[:, j].max()) if weighed else None,
            "speed_peak": float(np.abs(run.motor_speed[:, j]).max()),
            "speed_limit": float(drives.actuators.speed_limit[j]),
            "speed_use": float(outcome.wished.speed_use[:, j].max()),
            "heat": whole.heat[j],
            "energy_j": whole.energy[j] if weighed else None,
            "regenerated_j": whole.regenerated[j] if weighed else None,
            "lag": float(outcome.tracked[0].lag[j]),
            "saturated_cycles": int(outcome.wished.saturated[:, j].sum()),
            "clipped_cycles": int(outcome.wished.clipped[:, j].sum()),
        }
        for j, joint in enumerate(outcome.robot.joints)
    ]


def reaction_rows(outcome: ProgramRun) -> list[dict[str, Any]]:
    """Return one row per body: what its joint must carry, with the achieved accelerations; joint frame [N, N m].

    Empty for arms without masses.
    """
    if not outcome.weighed:
        return []
    wrench = outcome.motors.reactions
    force, moment = (np.linalg.norm(wrench[:, :, part], axis=2) for part in (slice(0, 3), slice(3, 6)))
    return [
        {
            "body": body.name,
            "force_n": float(force[:, k].max()),
            "moment_nm": float(moment[:, k].max()),
            "force_at_s": float(outcome.motors.time[int(np.argmax(force[:, k]))]),
            "moment_at_s": float(outcome.motors.time[int(np.argmax(moment[:, k]))]),
            **{name: [float(wrench[:, k, i].min()), float(wrench[:, k, i].max())] for i, name in enumerate(COMPONENTS)},
        }
        for k, body in enumerate(outcome.robot.bodies)
    ]


def _move(outcome: ProgramRun, move: MoveOutcome) -> dict[str, Any]:
    summary, weighed = move.summary, outcome.weighed
    return {
        **{
            name: getattr(move, name)
            for name in ("number", "line", "text", "kind", "cause", "use", "override", "flagged")
        },
        "start_s": move.start,
        "duration_s": move.duration,
        "length_m": move.length,
        "limiting": None if move.limiting is None else outcome.robot.joints[move.limiting].name,
        "position_m": 0.0 if summary is None else summary.position,
        "angle_rad": 0.0 if summary is None else summary.angle,
        "path_m": 0.0 if summary is None else summary.path,
        "energy_j": None if not weighed else 0.0 if summary is None else float(summary.energy.sum()),
        "regenerated_j": None if not weighed else 0.0 if summary is None else float(summary.regenerated.sum()),
        "rms_nm": None if summary is None or not weighed else summary.rms,
    }


def _works(outcome: ProgramRun, works: WhatWorks) -> dict[str, Any]:
    names = [joint.name for joint in outcome.robot.joints]
    by = works.override.limited_by
    return {
        "advice": outcome.advice,
        "override": works.override.program,
        "override_limited_by": None if by is None else {"move": by[0] + 1, "joint": names[by[1]]},
        "fastest_s": works.fastest,
        "fastest_clean_s": works.fastest_clean,
        "fastest_refused": works.fastest_refused,
        "motor_torque_factors": dict(zip(names, works.motors.torque.tolist(), strict=True)),
        "motor_speed_factors": dict(zip(names, works.motors.speed.tolist(), strict=True)),
        "torque_needed_nm": dict(zip(names, works.torque.tolist(), strict=True)) if outcome.weighed else None,
        "more_payload_kg": works.more_payload,
        "payload_share": works.payload_share,
        "sensitivity": [row._asdict() for row in works.sensitivity],
    }


def as_recording(outcome: ProgramRun) -> Recording:
    """Return the cycles as a recording: what was wished, what happened, flags, tool, reactions."""
    run = outcome.motors
    wished, got = outcome.tool_positions
    q, qd, qdd, _ = units(outcome.robot)
    lines = np.array([move.line for move in outcome.program.moves])
    columns = {
        "q": (run.q, q),
        "q_ref": (run.demand.q[1:], q),
        "qd": (run.qd, qd),
        "qdd": (run.qdd, qdd),
        "motor_torque": (run.torque, "N m"),
        "motor_torque_wanted": (run.wanted, "N m"),
        "motor_torque_limit": (run.limit, "N m"),
        "motor_speed": (run.motor_speed, "rad/s"),
        "saturated": (run.saturated, ""),
        "clipped": (run.clipped, ""),
        "heat": (np.where(run.drives.heat_is_known, run.heat, np.nan), ""),
        "tool": (got, "m"),
        "tool_ref": (wished, "m"),
        "deviation": (run.deviation.position, "m"),
        "deviation_angle": (run.deviation.angle, "rad"),
        "deviation_path": (run.deviation.path, "m"),
        "move": (run.demand.moves + 1, ""),
        "line": (lines[run.demand.moves], ""),
    }
    if outcome.weighed:
        columns["reaction"] = (run.reactions.reshape(run.demand.cycles, -1), "N, N m")
    if run.demand.wrench is not None:
        columns["wrench"] = (run.demand.wrench, "N, N m")
    through = tuple(f"{body.name} {name}" for body in outcome.robot.bodies for name in COMPONENTS)
    labels = {"reaction": through, "wrench": COMPONENTS}
    signals = {
        name: Signal(np.asarray(values, dtype=np.float64), unit, labels.get(name, ()))
        for name, (values, unit) in columns.items()
    }
    settings = {"program": outcome.program.name, "file": outcome.program.file, **outcome.settings}
    return Recording(run.time, signals, outcome.robot, settings, outcome=outcome.verdict)
