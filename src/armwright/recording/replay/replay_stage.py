# SPDX-License-Identifier: Apache-2.0
"""What a replay shows, as frozen data: an arm over time, its surroundings, a map that grows, forces, plots, events.

`stage_of` makes one from a recording; jobs that know more (a map, a path with a meaning, places of contacts) add it
with `dataclasses.replace`. `plot` makes a recording of poses: an arm in one, or in several one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit, numbers
from armwright.errors import InputError
from armwright.recording.recording import Recording
from armwright.recording.signals import RecordedEvent, Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.arm_capsules import LinkCapsule
    from armwright.world.shapes import Shape

MOST_PAGE_SAMPLES = 3_000
"""Samples on a page: enough for a plot as wide as a screen, and few enough for a file of a few hundred kilobytes."""
SECONDS_BEFORE_EVENT, SECONDS_AFTER_EVENT = 0.1, 0.3
"""[s] around an event in which samples are closer: the length of a bump and of the reaction to it."""
MOST_PLOTS = 4
MOST_EVENTS = 500


@dataclass(frozen=True, eq=False)
class Curves:
    """One plot: `values` (T, k) with a label each, in one unit. Colours by meaning: "felt", "true" or None."""

    title: str
    unit: str
    labels: tuple[str, ...]
    values: Array
    colours: tuple[str | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Arrows:
    """A force over time: `values` (T, 3) [N], base axes, drawn from `origin` (T, 3) [m]; None: from the tool point."""

    name: str
    values: Array
    colour: str
    origin: Array | None = None


@dataclass(frozen=True, eq=False)
class Growing:
    """A map over time: places (m, 3) [m], and what is known from which time on.

    Attributes:
        name: what the places are, for the legend.
        points: (m, 3) [m], base frame.
        times: (s,) [s]. shown: for each of them the indices of the places that are known from then on.
        size: edges (3,) [m] of the box at each place, along the columns of `rotation` (R_base_cell); None for balls.
        radius: radius of the ball at each place [m].
    """

    name: str
    points: Array
    times: Array
    shown: tuple[tuple[int, ...], ...]
    size: Array | None = None
    rotation: Array | None = None
    radius: float = 0.0


@dataclass(frozen=True, eq=False)
class Coloured:
    """Colours of the tool's path: `values` (T,), from blue at `low` to red at `high`."""

    name: str
    unit: str
    values: Array
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ListedLine:
    """A line of a text: `mark` is "kept", "over", "open", "gap", "idle" or "" and colours it, `note` says why."""

    text: str
    mark: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A text beside a replay: its lines, and (time [s], line from 1, or 0 for none of them) in order of time.

    From each of these times on its line is lit; a click on a line leads to its time.
    """

    lines: tuple[ListedLine, ...]
    steps: tuple[tuple[float, int], ...]


@dataclass(frozen=True, eq=False)
class ReplayStage:
    """A replay. Times (T,) [s] do not fall; q (T, n). See the classes above for the rest.

    `endless` says from where to where [m] along their axes endless cylinders are drawn. `touched` (T,) is the index
    of the body that is felt to be touched, -1 for none.
    """

    robot: Robot
    time: Array
    q: Array
    title: str = ""
    world: tuple[Shape, ...] = ()
    capsules: tuple[LinkCapsule, ...] | None = None
    events: tuple[RecordedEvent, ...] = ()
    plots: tuple[Curves, ...] = ()
    arrows: tuple[Arrows, ...] = ()
    map: Growing | None = None
    path: Coloured | None = None
    endless: tuple[float, float] | None = None
    touched: Array | None = None
    listing: Listing | None = None


def can_show(recording: Recording) -> bool:
    """Return whether a recording says where an arm was: its robot, and finite joint coordinates for it."""
    robot = recording.robot
    if robot is None or not robot.n or not len(recording) or "q" not in recording:
        return False
    q = recording["q"]
    return q.shape[1:] == (robot.n,) and bool(np.isfinite(q).all())


def stage_of(recording: Recording, world: Sequence[Shape] = (), *, title: str = "") -> ReplayStage:
    """Return the replay of a recording.

    Args:
        recording: with its robot and the signal ``q``; ``force`` and ``force_felt`` [N] become arrows at the tool.
        world: what stands around the arm.
        title: title of the page; the robot's name by default.
    """
    if not can_show(recording):
        raise InputError("replay: the recording needs its robot and finite joint coordinates `q` of shape (T, n)")
    robot = recording.robot
    assert robot is not None
    return ReplayStage(
        robot,
        recording.time,
        recording["q"],
        title or robot.name,
        tuple(world),
        events=recording.events[:MOST_EVENTS],
        plots=_plots(recording),
        arrows=_forces(recording),
    )


def _forces(recording: Recording) -> tuple[Arrows, ...]:
    pairs = (("force", "true force", "true"), ("force_felt", "felt force", "felt"))
    return tuple(
        Arrows(label, np.asarray(recording[name]), colour)
        for name, label, colour in pairs
        if name in recording and recording[name].shape[1:] == (3,)
    )


_PLOTS = (
    ("q", "joint positions"),
    ("error", "tracking error"),
    ("tau", "joint torques"),
    ("tau_ext", "external torque, felt"),
    ("qd", "joint speeds"),
)


def _plots(recording: Recording) -> tuple[Curves, ...]:
    """Return the plots that say most: forces first, then joints; energies where there are some."""
    out = []
    forces = _forces(recording)
    if forces:
        sizes = np.stack([np.linalg.norm(part.values, axis=1) for part in forces], axis=1)
        out.append(Curves("contact force", "N", tuple(f.name for f in forces), sizes, tuple(f.colour for f in forces)))
    energies = [name for name in ("kinetic", "potential", "energy") if name in recording]
    for name, title in _PLOTS:
        if name in recording and recording[name].ndim == 2 and recording[name].shape[1] <= 12:
            out.append(curves(recording, name, title))
    out = out[: MOST_PLOTS - bool(energies)]
    if energies:
        values = np.stack([recording[name] for name in energies], axis=1)
        out.append(Curves("energy", "J", tuple(energies), values))
    return tuple(out)


def curves(recording: Recording, name: str, title: str) -> Curves:
    """Return one signal of a recording as a plot."""
    unit = recording.unit(name).replace("^2", "²").replace("N m", "N·m")
    return Curves(title, unit, recording.labels(name), recording.signals[name].flat())


def thinned(stage: ReplayStage, most: int = MOST_PAGE_SAMPLES) -> ReplayStage:
    """Return the stage with at most `most` of its samples, every one of them a true sample.

    Of every stretch of time two are kept: its first, and the one in which the curves of the first plot differ most from
    their mean there, so that short peaks stay. Of the other curves at least the extremes of the whole run are kept.
    Around events samples are closer, and those at events are always kept.
    """
    rows = _kept(stage, most)
    if rows is None:
        return stage
    return replace(
        stage,
        time=stage.time[rows],
        q=stage.q[rows],
        plots=tuple(replace(plot, values=plot.values[rows]) for plot in stage.plots),
        arrows=tuple(
            replace(a, values=a.values[rows], origin=None if a.origin is None else a.origin[rows]) for a in stage.arrows
        ),
        path=None if stage.path is None else replace(stage.path, values=stage.path.values[rows]),
        touched=None if stage.touched is None else stage.touched[rows],
    )


def _around(stage: ReplayStage, most: int) -> list[Array]:
    """Return rows around every event: its own, and a third of all samples shared among the events."""
    times = np.array([event.time for event in stage.events])
    if not len(times):
        return []
    last = len(stage.time) - 1
    first, at, end = (
        np.searchsorted(stage.time, times + shift) for shift in (-SECONDS_BEFORE_EVENT, 0.0, SECONDS_AFTER_EVENT)
    )
    share = np.linspace(0.0, 1.0, max(1, most // 3 // len(times)))
    rows = np.rint(first[:, None] + share * (end - first)[:, None])
    return [np.minimum(rows.ravel(), last), np.minimum(at, last)]


def _kept(stage: ReplayStage, most: int) -> NDArray[np.int64] | None:
    count = len(stage.time)
    if count <= most:
        return None
    columns = [plot.values.reshape(count, -1) for plot in stage.plots]
    extremes = [np.unique(pick(np.nan_to_num(c), axis=0)) for c in columns for pick in (np.argmax, np.argmin)]
    ends = np.unique(np.concatenate([[0, count - 1], *extremes, *_around(stage, most)]).astype(np.int64))
    length = -(-count // max(1, (most - len(ends)) // 2))  # of a stretch, in samples
    firsts = np.arange(0, count, length)
    if not columns:
        return np.union1d(firsts, ends)
    values = np.nan_to_num(columns[0])
    sizes = np.diff(np.append(firsts, count))
    means = np.repeat(np.add.reduceat(values, firsts, axis=0) / sizes[:, None], sizes, axis=0)
    spread = np.maximum(np.ptp(values, axis=0), 1e-12)
    padded = np.full(len(firsts) * length, -1.0)
    padded[:count] = np.max(np.abs(values - means) / spread, axis=1)
    peaks = firsts + np.argmax(padded.reshape(len(firsts), length), axis=1)
    return np.unique(np.concatenate([firsts, peaks, ends]))


@names_culprit
def plot(robot: Robot, q: ArrayLike | None = None, *, dt: float = 0.05) -> Recording:
    """Show an arm in 3-D, in a pose or moving: notebooks show the replay page, ``.replay("page.html")`` writes it.

    Args:
        robot: the arm.
        q: configuration (n,) or several (T, n); the neutral one by default.
        dt: time between two of them [s].

    Returns:
        A `Recording` of q.

    >>> plot(robot, np.linspace(q, q + 0.5, 20)).replay("poses.html")
    """
    rows = numbers(robot.neutral() if q is None else q, "q")
    if rows.ndim not in (1, 2) or rows.shape[-1] != robot.n or not rows.size:
        raise InputError(f"plot: q must have shape ({robot.n},) or (T, {robot.n}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError("plot: q must be finite")
    if not 0.0 < dt < np.inf:
        raise InputError(f"plot: dt must be finite and > 0 s, got {dt}")
    rows = np.atleast_2d(rows)
    rows = np.repeat(rows, 2, axis=0) if len(rows) == 1 else rows  # a replay has a beginning and an end
    metres = all(joint.kind == "prismatic" for joint in robot.joints)
    time = np.asarray(dt * np.arange(len(rows)), dtype=np.float64)
    return Recording(time, {"q": Signal(rows, "m" if metres else "rad")}, robot=robot)
