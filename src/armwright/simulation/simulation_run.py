# SPDX-License-Identifier: Apache-2.0
"""`simulate`: compose a loop in a few lines, run it, get a recording.

The keyword options of `simulate`, for type checkers; its docstring says what they mean.

Where a simulation starts and what it follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import as_chain
from armwright.control.law import Law, as_law, check_gains
from armwright.control.simple_laws import zero
from armwright.errors import InputError, SimulationError
from armwright.motion import Trajectory
from armwright.motion.trajectory import Reference
from armwright.robot.inertia_needed import require_inertia
from armwright.robot.model import Robot
from armwright.robot.tree import tree_of
from armwright.simulation import simulate_checks as checks
from armwright.simulation.drives import Drive
from armwright.simulation.friction_models import FrictionModel
from armwright.simulation.integrators import method as find_method
from armwright.simulation.lanes import lanes_of
from armwright.simulation.loop_stages import Ingredients
from armwright.simulation.rows_to_recording import recording_of
from armwright.simulation.sensors import JointSensors, wrench_function
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.contact.monitor import Monitor
    from armwright.recording.batch import Recordings
    from armwright.recording.recording import Recording
    from armwright.types import Array, Traced

AtLimits = Literal["record", "clamp", "stop"]


class LoopOptions(TypedDict, total=False):
    """What `simulate` takes by name besides `count`."""

    q0: ArrayLike | None
    qd0: ArrayLike | None
    rate: float
    substeps: int
    integrator: str
    continuous: bool
    model: Robot | None
    drive: Drive | None
    friction: FrictionModel | None
    sensors: JointSensors | None
    wrench: Callable[..., Traced] | ArrayLike | None
    external: Callable[..., Traced] | None
    events: Mapping[str, Callable[..., Traced]] | None
    monitors: Sequence[Monitor]
    limits: AtLimits
    every: int
    seed: int | Sequence[int]
    check_step: bool
    save: str | Path | None
    keep: float | None
    progress: Callable[[float], None] | None


def start_positions(reference: Trajectory | ArrayLike | None, q0: ArrayLike | None, n: int) -> Array:
    """Initial positions (B, n)."""
    if q0 is None:
        if isinstance(reference, Trajectory):
            q0 = reference.evaluate(0.0).q
        else:
            q0 = np.zeros(n) if reference is None else reference
    return checks.rows_of(q0, n, "q0")


def start_states(q: Array, qd0: ArrayLike | None, n: int) -> Array:
    """Initial positions and velocities (B, 2n), one for each row of either."""
    qd = np.zeros((1, n)) if qd0 is None else checks.rows_of(qd0, n, "qd0")
    rows = max(len(q), len(qd))
    if len(q) not in (1, rows) or len(qd) not in (1, rows):
        raise InputError(f"simulate: q0 has {len(q)} rows, qd0 has {len(qd)}")
    return np.concatenate([np.broadcast_to(q, (rows, n)), np.broadcast_to(qd, (rows, n))], axis=1)


def reference_of(reference: Trajectory | ArrayLike | None, start: Array, n: int) -> Trajectory | Reference:
    """The motion to follow: a trajectory, a constant posture, or the start."""
    if isinstance(reference, Trajectory):
        if reference.n != n:
            raise InputError(f"simulate: the trajectory has {reference.n} joints, the robot {n}")
        return reference
    rows = start[:1] if reference is None else checks.rows_of(reference, n, "reference")
    if len(rows) > 1:
        raise InputError(f"simulate: one reference ({n},) serves all simulations, got {len(rows)}; q0 may differ")
    target = rows[0]
    return Reference(target, np.zeros(n), np.zeros(n))


@names_culprit
def prepare(
    robot: Robot | Sequence[Robot],
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    *,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    rate: float = 1000.0,
    substeps: int = 1,
    integrator: str = "rk4",
    continuous: bool = False,
    model: Robot | None = None,
    drive: Drive | None = None,
    friction: FrictionModel | None = None,
    sensors: JointSensors | None = None,
    wrench: Callable[..., Traced] | ArrayLike | None = None,
    external: Callable[..., Traced] | None = None,
    events: Mapping[str, Callable[..., Traced]] | None = None,
    monitors: Sequence[Monitor] = (),
    limits: AtLimits = "record",
    count: int | None = None,
    every: int = 1,
    seed: int | Sequence[int] = 0,
    check_step: bool = True,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    may_become: Sequence[Robot] = (),
) -> Session:
    """Compile a loop and set it to its start; `simulate` runs it to the end. See there for the arguments.

    Two more serve loops that are stepped by hand (`armwright.simulation.live_loop`): `inputs`, names and shapes of what
    `wrench` and `external` are given beside (arm, t, q, qd), zero until it is set; `may_become`, arms of the same shape
    that the plant may turn into while it runs (another payload): numbers in which they differ become inputs.
    """
    robots = checks.robots_of(robot)
    arm = robots[0]
    n = arm.n
    require_inertia(arm, "simulate", forward=True)
    rate, substeps, every = (
        checks.rate_of(rate),
        checks.whole(substeps, "substeps", checks.MOST_SUBSTEPS),
        checks.whole(every, "every"),
    )
    checks.check_parts(
        arm,
        {
            "model": (model, Robot),
            "drive": (drive, Drive),
            "friction": (friction, FrictionModel),
            "sensors": (sensors, JointSensors),
        },
    )
    checks.check_functions(events, external)
    if not isinstance(limits, str) or limits not in ("record", "clamp", "stop"):
        raise InputError(f"simulate: limits must be 'record', 'clamp' or 'stop', got {limits!r}")
    if continuous and sensors is not None:
        raise InputError("simulate: sensors sample once per tick; they need a law that is held (continuous=False)")
    chosen = as_law(law) if law is not None else zero()
    start = start_positions(reference, q0, n)
    x0 = start_states(start, qd0, n)
    checks.check_state(x0, arm)
    varying = checks.varying_gains(chosen)
    seeds = checks.seeds_of(seed)
    given = [("robots", len(robots)), ("initial states", len(x0)), ("seeds", len(seeds))]
    given += [(f"gain {k}", len(chosen.gains[k])) for k in varying]
    lanes = max(number for _, number in given) if count is None else checks.whole(count, "count")
    batch = lanes > 1 or count is not None or not isinstance(robot, Robot)
    checks.check_lanes(lanes, given, n)
    check_gains(chosen, n, batch=lanes if varying else None)
    gains = {
        k: np.broadcast_to(v, (lanes, chosen.sizes.get(k, n))) if k in varying else v for k, v in chosen.gains.items()
    }
    chosen = replace(chosen, gains=gains)
    watched = dict(events or {})
    if limits == "stop":
        outside = np.flatnonzero((x0[0, :n] > arm.upper) | (x0[0, :n] < arm.lower))
        if len(outside):
            raise InputError(
                f"simulate: joint {arm.joints[outside[0]].name} starts outside its limits; "
                "limits='stop' needs a start within"
            )
        watched["joint limit"] = arm.memo("limit event", _limit_event)
    if watched and batch:
        raise InputError("simulate: events stop one simulation; run batches without events (and without limits='stop')")
    plants = lanes_of([*robots, *may_become])
    plants = replace(plants, values=plants.values[: len(robots)])
    parts = Ingredients(
        lanes=plants,
        model=None if model is None else tree_of(model, regroup=True),
        law=chosen,
        method=find_method(integrator),
        period=1.0 / rate,
        continuous=continuous,
        drive=drive,
        friction=friction,
        sensors=sensors,
        wrenches=wrench_function(wrench),
        external=external,
        events=watched,
        clamp=(arm.lower, arm.upper) if limits == "clamp" else None,
        gains_vary=varying,
        model_key=model,
        monitors=() if isinstance(monitors, tuple | list) and not monitors else as_chain(monitors),
        stop_on_alarm=not batch,
        inputs=dict(inputs or {}),
    )
    seeds = seeds if len(seeds) == lanes else [seeds[0] + k for k in range(lanes)]
    session = Session(robots, parts, count=lanes, substeps=substeps, every=every, seeds=seeds, batch=batch)
    extra = np.zeros((len(x0), parts.size - 2 * n))
    session.follow(reference_of(reference, start, n))
    values = parts.lanes.values
    session.start(np.concatenate([x0, extra], axis=1), gains, values)
    if check_step:
        session.check_step()
    return session


@overload
def simulate(
    robot: Robot,
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    duration: float | None = None,
    *,
    count: None = None,
    **options: Unpack[LoopOptions],
) -> Recording: ...


@overload
def simulate(
    robot: Robot,
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    duration: float | None = None,
    *,
    count: int,
    **options: Unpack[LoopOptions],
) -> Recordings: ...


@overload
def simulate(
    robot: Sequence[Robot],
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    duration: float | None = None,
    *,
    count: int | None = None,
    **options: Unpack[LoopOptions],
) -> Recordings: ...


@names_culprit
def simulate(
    robot: Robot | Sequence[Robot],
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    duration: float | None = None,
    *,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    rate: float = 1000.0,
    substeps: int = 1,
    integrator: str = "rk4",
    continuous: bool = False,
    model: Robot | None = None,
    drive: Drive | None = None,
    friction: FrictionModel | None = None,
    sensors: JointSensors | None = None,
    wrench: Callable[..., Traced] | ArrayLike | None = None,
    external: Callable[..., Traced] | None = None,
    events: Mapping[str, Callable[..., Traced]] | None = None,
    monitors: Sequence[Monitor] = (),
    limits: AtLimits = "record",
    count: int | None = None,
    every: int = 1,
    seed: int | Sequence[int] = 0,
    check_step: bool = True,
    save: str | Path | None = None,
    keep: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Recording | Recordings:
    """Simulate an arm under a control law: reference → law → drive → arm → sensors, compiled into one step.

    Args:
        robot: the plant; a sequence of robots that differ in numbers only gives a batch.
        law: a control law (`armwright.control`) or a NumPy function of (q, qd, ref, …); zero torque if omitted. A
            function that cannot be traced is called from Python once per tick. A law that names ``wrench`` gets what
            a sensor at the wrist feels of `wrench`: (6,) at the tool, base axes.
        reference: a `Trajectory`, a constant configuration (n,), or None to hold the start.
        duration: [s], rounded to whole ticks; the trajectory's by default. A longer run holds the trajectory's end.
        q0: initial position, (n,) or (B, n) [rad or m]; the reference's start by default.
        qd0: initial velocity, (n,) or (B, n) [rad/s or m/s]; at rest by default.
        rate: control ticks per second; the torque is held between them.
        substeps: integrator steps per tick.
        integrator: "rk4", "semi-implicit" (dry friction that holds), "dopri5" (adaptive), "rodas3" and
            "rodas3-adaptive" (stiff).
        continuous: let the law act continuously instead of once per tick.
        model: the controller's own model of the arm; the plant itself by default (each its own in a batch of robots).
        drive: motors (`drive_of`); ideal torque sources by default.
        friction: a friction model replacing the robot's.
        sensors: `JointSensors`; the law sees the true state by default.
        wrench: external wrench [N, N m]: (6,) at the tool, (nb, 6) at the links, or a function of (arm, t, q, qd), base
            axes.
        external: external joint torque, a function of (arm, t, q, qd) → (n,); for forces known as torques.
        events: name → function of (arm, t, q, qd); the run stops where one rises through zero.
        monitors: observers and detectors (`armwright.contact`), once per tick after the law; outputs are recorded,
            and an "alarm" that rises through zero stops the run (of a single simulation).
        limits: what to do at joint limits: "record", "clamp" (mechanical stop) or "stop".
        count: number of simulations if the inputs do not tell; with it the result is a batch, of one as well.
        every: record every so many ticks.
        seed: of the sensor noise; simulation k of a batch has seed + k, or give one each.
        check_step: refuse steps that cannot be stable.
        save: file that is written while the run goes on (.mcap, .parquet, .csv): after Ctrl-C, a crash, a full disk
            it opens up to the last stretch.
        keep: with `save`, seconds of the run that stay in memory and are returned (to within a stretch of ticks);
            everything by default.
        progress: called with the fraction done.

    Returns:
        A `Recording`; `Recordings` for a batch: several robots, initial states or gains, or `count`. Type checkers see
        the robots and `count` only: give `count` along with several states or gains.

    Raises:
        SimulationError: the step cannot be stable, the state diverged, a law returned NaN or the disk is full;
            `.recording` holds what was recorded.
    """
    session = prepare(
        robot,
        law,
        reference,
        q0=q0,
        qd0=qd0,
        rate=rate,
        substeps=substeps,
        integrator=integrator,
        continuous=continuous,
        model=model,
        drive=drive,
        friction=friction,
        sensors=sensors,
        wrench=wrench,
        external=external,
        events=events,
        monitors=monitors,
        limits=limits,
        count=count,
        every=every,
        seed=seed,
        check_step=check_step,
    )
    length = _duration(duration, reference)
    if keep is not None and save is None:
        raise InputError("simulate: keep=… forgets what has been written; it needs a file to write to (save=…)")
    kept = length if keep is None else min(keep, length)
    rows = round(kept / session.parts.period) / session.every * session.count
    checks.check_rows(rows, session.parts.size + 2 * session.parts.n, session.every)
    settings = {"duration": length, "limits": limits, "every": session.every, "check_step": check_step}
    if save is not None:
        session.save(save, keep=keep, **settings)
    try:
        with session:
            try:
                session.run(length, progress)
            except KeyboardInterrupt:
                session.outcome = "interrupted"
    except SimulationError as error:
        error.recording = recording_of(session, settings)
        raise
    return recording_of(session, settings)


def _duration(duration: float | None, reference: Trajectory | ArrayLike | None) -> float:
    if duration is None:
        if not isinstance(reference, Trajectory):
            raise InputError("simulate: give a duration [s], or a trajectory as the reference")
        return float(reference.duration)
    if not (np.isfinite(duration) and duration > 0.0):
        raise InputError(f"simulate: duration must be positive and finite, got {duration}")
    return float(duration)


def _limit_event(robot: Robot) -> Callable[..., Traced]:
    lower, upper = robot.lower, robot.upper

    def beyond(q: Traced) -> Traced:
        worst: Traced = -1.0
        for k in range(len(lower)):
            if np.isfinite(upper[k]):
                worst = np.maximum(worst, q[k] - upper[k])
            if np.isfinite(lower[k]):
                worst = np.maximum(worst, lower[k] - q[k])
        return worst

    return beyond
