# SPDX-License-Identifier: Apache-2.0
"""The verdict of a program in three answers: the plan itself, what the arm makes of it, and the override that works.

`answers` has them as plain numbers, `tracking_words` the second one in sentences. The first alone decides whether a
program is feasible. The second hangs on a law that no maker publishes, so it is given for both ends of the range.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.public import gravity_torque
from armwright.kinematics import jacobian
from armwright.programs.motors.motor_run import loaded_robot

if TYPE_CHECKING:
    from armwright.programs.motors import Tracked
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.types import Array

UNKNOWN_RATIO = 2.0  # between the lags of two laws beyond which the lag is not known
NOTICED_LAG = 1e-3  # [rad or m] below which laws are not compared: a plan that is kept is tracked within 0.9 mrad
TRACKING_HEADS = (
    "law",
    "largest lag [mrad, mm]",
    "of joint",
    "late on the path [mm]",
    "off the path [mm]",
    "speed [%]",
    "arrives late [s]",
    "the drive would stop",
)


def standing_use(outcome: ProgramRun) -> Array:
    """Return (T, n) the torque K^-T (g − JᵀF) that holding takes at the beginning of each cycle, over its limit.

    0 where that is not known: arms without masses, joints without a limit of torque.
    """
    demand, drives, robot = outcome.demand, outcome.motors.drives, outcome.robot
    q = demand.q[:-1]
    tau = np.zeros_like(q)
    if not outcome.weighed:
        return tau
    if demand.payload is None:
        tau[:] = gravity_torque(robot, q)
    else:
        kinds, which = np.unique(demand.payload, axis=0, return_inverse=True)
        for k, kind in enumerate(kinds):
            rows = np.flatnonzero(which.reshape(-1) == k)
            tau[rows] = gravity_torque(loaded_robot(robot, kind), q[rows])
    if demand.wrench is not None:
        tau -= np.einsum("tij,ti->tj", jacobian(robot, q), demand.wrench)
    torque = np.abs(tau @ np.linalg.inv(drives.actuators.gear))
    limit = np.asarray(drives.torque_at(np.zeros(robot.n)), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(torque == 0.0, 0.0, torque / limit))


def lag_is_known(outcome: ProgramRun) -> bool:
    """Return whether all laws that were tried agree on the lag within a factor of `UNKNOWN_RATIO`, trips included."""
    lags = [float(one.lag.max()) for one in outcome.tracked]
    if len(lags) < 2 or max(lags) <= NOTICED_LAG:
        return True
    stops = {one.trip is not None for one in outcome.tracked}
    return len(stops) == 1 and max(lags) <= UNKNOWN_RATIO * min(lags)


def answers(outcome: ProgramRun) -> dict[str, Any]:
    """Return the three answers as plain numbers, SI units, for JSON."""
    plan, names = outcome.wished, [joint.name for joint in outcome.robot.joints]
    still = outcome.standing.max(axis=0)
    causes = {
        cause: {
            "use": float(use.max()),
            "joint": names[int(np.argmax(use.max(axis=0)))],
            "cycles": int(flags.any(axis=1).sum()),
        }
        for cause, use, flags in (
            ("torque", plan.torque_use, plan.saturated),
            ("speed", plan.speed_use, plan.clipped),
        )
    }
    return {
        "plan": {
            "feasible": outcome.feasible,
            "cycles": plan.demand.cycles,
            "causes": causes,
            "standing_use": float(still.max()),
            "standing_joint": names[int(np.argmax(still))],
        },
        "tracking": {
            "law": outcome.tracked[0].law.name,
            "lag_is_known": lag_is_known(outcome),
            "laws": [tracking_row(outcome, one) for one in outcome.tracked],
        },
        "override": outcome.override.program,
    }


def tracking_row(outcome: ProgramRun, one: Tracked) -> dict[str, Any]:
    """Return what the arm does under one law."""
    names, off, trip = [joint.name for joint in outcome.robot.joints], one.run.deviation, one.trip
    return {
        "law": one.law.name,
        "says": one.law.says,
        "gains_per_s": None if one.gains is None else list(one.gains),
        "lag": dict(zip(names, one.lag.tolist(), strict=True)),
        "lag_largest": float(one.lag.max()),
        "lag_joint": names[int(np.argmax(one.lag))],
        "speed_use": float(one.speed.max()),
        "behind_m": float(off.behind.max()),
        "path_m": float(off.path.max()),
        "position_m": float(off.position.max()),
        "angle_rad": float(off.angle.max()),
        "late_s": one.late,
        "trip": None
        if trip is None
        else {
            "time_s": trip.time,
            "joint": names[trip.joint],
            "cause": trip.cause,
            "value": trip.value,
            "limit": trip.limit,
        },
    }


def tracking_cells(outcome: ProgramRun) -> list[list[str]]:
    """Return one row per law."""
    out = []
    for row in (tracking_row(outcome, one) for one in outcome.tracked):
        trip = row["trip"]
        out.append(
            [
                row["law"],
                f"{1e3 * row['lag_largest']:.3g}",
                row["lag_joint"],
                f"{1e3 * row['behind_m']:.3g}",
                f"{1e3 * row['path_m']:.3g}",
                f"{100 * row['speed_use']:.4g}",
                "–" if trip else "does not" if math.isinf(row["late_s"]) else f"{row['late_s']:.3g}",
                "–" if trip is None else f"at {trip['time_s']:.3f} s, {trip['joint']}",
            ]
        )
    return out


def trip_words(outcome: ProgramRun, one: Tracked) -> str:
    """Return when the drive would stop, and why; empty if it would not."""
    trip = one.trip
    if trip is None:
        return ""
    joint = outcome.robot.joints[trip.joint]
    unit = "rad" if joint.kind == "revolute" else "m"
    why = (
        f"{joint.name} is more than {trip.limit:g} {unit} behind"
        if trip.cause == "lag"
        else f"{joint.name} is faster than {trip.limit:g} times its limit"
    )
    return f"the drive would stop here: at {trip.time:.3f} s {why}; nothing after it was simulated"


def tracking_words(outcome: ProgramRun) -> str:
    """Return the second answer: what the arm does under the law that was chosen, and the other end of the range."""
    said = [_law_words(outcome, outcome.tracked[0], "Under the law")]
    for other in outcome.tracked[1:]:
        if max(one.lag.max() for one in outcome.tracked) > NOTICED_LAG:
            said.append(_law_words(outcome, other, "At the other end of the range, under"))
    if not lag_is_known(outcome):
        said.append(
            "These differ by more than 2 times: the lag is not known, only that the plan is infeasible."
            if not outcome.wished.feasible
            else "These differ by more than 2 times: the lag is not known."
        )
    return " ".join(said)


def _law_words(outcome: ProgramRun, one: Tracked, head: str) -> str:
    row = tracking_row(outcome, one)
    until = " until then" if one.trip is not None else ""
    stops = trip_words(outcome, one)
    joint = outcome.robot.joints[int(np.argmax(one.lag))]
    unit = "mrad" if joint.kind == "revolute" else "mm"
    lag = f"the largest lag{until} is {1e3 * row['lag_largest']:.3g} {unit} ({row['lag_joint']})"
    tool = f"the tool is up to {1e3 * row['behind_m']:.3g} mm late and {1e3 * row['path_m']:.3g} mm off its path"
    arrives = (
        ""
        if one.trip is not None or one.late == 0.0
        else "; the arm does not arrive within two seconds after its end"
        if math.isinf(one.late)
        else f"; the arm arrives {one.late:.3g} s late"
    )
    return f"{head} {one.law.name!r} ({one.law.says}) {f'{stops}; ' if stops else ''}{lag}, {tool}{arrives}."
