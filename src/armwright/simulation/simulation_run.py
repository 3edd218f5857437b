# SPDX-License-Identifier: Apache-2.0
"""`simulate`: compose a loop in a few lines, run it, get a recording.

`prepare` and `live` are the calls of before there was `Loop`; they are removed with the next release.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError, SimulationError
from armwright.motion import Trajectory
from armwright.simulation import simulate_checks as checks
from armwright.simulation.cancelling_verdict import note_worse_tracking
from armwright.simulation.contact_outcome import told_of_contacts
from armwright.simulation.control_loop import Loop, LoopOptions
from armwright.simulation.rows_to_recording import recording_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.control.law import Law
    from armwright.recording.batch import Recordings
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.simulation.live_loop import Live
    from armwright.simulation.session import Session


def _moved(words: str) -> None:
    warnings.warn(words, DeprecationWarning, stacklevel=4)


@names_culprit
def prepare(
    robot: Robot | Sequence[Robot],
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    **options: Any,
) -> Session:
    """Return ``Loop.of(robot, law, …).session(reference=reference, …)``."""
    _moved("simulation.prepare(robot, law, reference, …) is now Loop.of(robot, law, …).session(reference=reference, …)")
    parts = {name: options.pop(name) for name in LoopOptions.__annotations__ if name in options}
    return Loop.of(robot, law, **parts).session(reference=reference, **options)


@names_culprit
def live(
    robot: Robot, law: Law | Callable[..., Any], *, q0: ArrayLike, may_become: Sequence[Robot] = (), **options: Any
) -> Live:
    """Return ``Loop.of(robot, law, …).live(q0, …)``; 500 ticks per second of 4 steps, semi-implicit, by default."""
    _moved("simulation.live(robot, law, q0=q0, …) is now Loop.of(robot, law, …).live(q0, …)")
    check_step = options.pop("check_step", True)
    options = {"rate": 500.0, "substeps": 4, "integrator": "semi-implicit", **options}
    return Loop.of(robot, law, **options).live(q0, may_become=may_become, check_step=check_step)


class SimulateOptions(LoopOptions, total=False):
    """What `simulate` takes by name besides `count`."""

    q0: ArrayLike | None
    qd0: ArrayLike | None
    every: int
    seed: int | Sequence[int]
    check_step: bool
    save: str | Path | None
    keep: float | None
    progress: Callable[[float], None] | None


@overload
def simulate(
    robot: Robot,
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    duration: float | None = None,
    *,
    count: None = None,
    **options: Unpack[SimulateOptions],
) -> Recording: ...


@overload
def simulate(
    robot: Robot,
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    duration: float | None = None,
    *,
    count: int,
    **options: Unpack[SimulateOptions],
) -> Recordings: ...


@overload
def simulate(
    robot: Sequence[Robot],
    law: Law | Callable[..., Any] | None = None,
    reference: Trajectory | ArrayLike | None = None,
    duration: float | None = None,
    *,
    count: int | None = None,
    **options: Unpack[SimulateOptions],
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
    count: int | None = None,
    every: int = 1,
    seed: int | Sequence[int] = 0,
    check_step: bool = True,
    save: str | Path | None = None,
    keep: float | None = None,
    progress: Callable[[float], None] | None = None,
    **options: Unpack[LoopOptions],
) -> Recording | Recordings:
    """Simulate an arm under a control law: reference → law → drive → arm → sensors, compiled into one step.

    Args:
        robot: the plant; a sequence of robots that differ in numbers only gives a batch.
        law: a control law (`armwright.control`) or a NumPy function of (q, qd, ref, …); zero torque if omitted. A
            function that cannot be traced is called from Python once per tick. A law that names ``wrench`` gets what
            a sensor at the wrist feels of `wrench`: (6,) at the tool, base axes. One that names ``tau_ext`` gets what
            the observer among the monitors estimated the tick before.
        reference: a `Trajectory`, a constant configuration (n,), or None to hold the start.
        duration: [s], rounded to whole ticks; the trajectory's by default. A longer run holds the trajectory's end.
        q0: initial position, (n,) or (B, n) [rad or m]; the reference's start by default.
        qd0: initial velocity, (n,) or (B, n) [rad/s or m/s]; at rest by default.
        count: number of simulations if the inputs do not tell; with it the result is a batch, of one as well.
        every: ticks from one recorded row to the next.
        seed: of the sensor noise; simulation k of a batch has seed + k, or give one each.
        check_step: refuse steps that cannot be stable.
        save: file that is written while the run goes on (.mcap, .parquet, .csv): after Ctrl-C, a crash, a full disk
            it opens up to the last stretch.
        keep: with `save`, seconds of the run that stay in memory and are returned (to within a stretch of ticks);
            everything by default.
        progress: called with the fraction done.
        **options: what the loop is made of, each explained at `Loop`: `rate` (1000 ticks per second by default),
            `substeps`, `integrator`, `continuous`; `model`, `drive`, `friction`, `sensors`; `wrench`, `external`;
            `dry_friction`, `creep`; `events`, `monitors`, `limits`; `inputs`, `stop_on_alarm`, `strict`.

    A surface is a spring, and a spring can be pushed through. If `wrench` comes from `contact_wrench` and the tool or a
    link went through a shape, or a link's axis lies inside of one, the outcome is "pushed through" or "sunk" instead of
    "end", the events say when, and a batch warns and has its lanes in ``settings["contact_flags"]``. Judged are the
    recorded rows (`every`, `keep`).

    Returns:
        A `Recording`; `Recordings` for a batch: several robots, initial states or gains, or `count`. Type checkers see
        the robots and `count` only: give `count` along with several states or gains.

    Raises:
        SimulationError: the step cannot be stable, the state diverged, a law returned NaN or the disk is full;
            `.recording` holds what was recorded.

    >>> run = aw.simulate(aw.load("ur5"), pd_gravity(400.0, 40.0), path)  # run["q"], run.plot(), run.save("run.npz")
    """
    loop = Loop.of(robot, law, **options)
    session = loop.session(q0, qd0=qd0, reference=reference, count=count, every=every, seed=seed, check_step=check_step)
    length = _duration(duration, reference)
    if keep is not None and save is None:
        raise InputError("simulate: keep=… forgets what has been written; it needs a file to write to (save=…)")
    kept = length if keep is None else min(keep, length)
    rows = round(kept / session.parts.period) / session.every * session.count
    checks.check_rows(rows, session.parts.size + 2 * session.parts.n, session.every)
    settings = {"duration": length, "limits": loop.limits, "every": session.every, "check_step": check_step}
    if save is not None:
        session.save(save, keep=keep, **settings)
    try:
        with session:
            try:
                session.run(length, progress)
                note_worse_tracking(session, length, settings)
            except KeyboardInterrupt:
                session.outcome = "interrupted"
            settings.update(told_of_contacts(session, loop.wrench))
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
