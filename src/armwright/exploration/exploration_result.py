# SPDX-License-Identifier: Apache-2.0
"""The result of an exploration: maps, contacts (estimate and truth), metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.html_text import html_table
from armwright.recording.signals import RecordedEvent
from armwright.statistics import quantile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.contact.contact_flags import ContactFlag
    from armwright.exploration.arm.felt_places import ContactPlaces
    from armwright.exploration.exploration_run import ExplorationRun
    from armwright.exploration.ride import Ride
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import PathPlan
    from armwright.recording.recording import Recording
    from armwright.types import Array
    from armwright.world.world import World

Cell = tuple[int, ...]
HARD_FORCE = 100.0  # [N] of true contact force above which a result warns: robots beside people are held to about this
STANDS_WITHIN = 5e-3  # [m] a tool that stays within this does not move on: a tenth of a second at the pace of a run
STAND_SAMPLE = 0.04  # [s] between looks at whether the arm stands: a step of a slide
OUTCOMES = (
    "reached",
    "pushed through",
    "not arrived",
    "unreachable",
    "boxed in",
    "contact budget",
    "out of time",
    "stopped",
    "start in contact",
    "chattering",
    "out of reach",
    "gave up",
    "model in doubt",
    "diverged",
    "interrupted",
    "protective stop",
    "stopped by a person",
    "lost",
)


class Contact(NamedTuple):
    """One felt contact.

    What really happened is told after the run, if anybody knows it: a run never sees it.

    Attributes:
        time: of the alarm [s]. began: when the arm first touched in this episode [s], NaN if it never did or nobody
            knows.
        cell: marked in the map. again: whether it was marked before.
        desired, actual: tool positions (3,) at the alarm [m].
        felt, true: estimated and true contact force on the arm (3,) [N]; the true one is NaN if nobody knows it.
        link, shape: what really touched what; "" if nothing did or nobody knows.
        q: configuration (n,) in which it was felt, where the whole arm is explored with.
        places: where it may have been, see `ContactPlaces`; None for contacts of the tool.
        true_point: where it really was (3,) [m], None if nothing touched or only the tool could.
    """

    time: float
    began: float
    cell: Cell
    again: bool
    desired: Array
    actual: Array
    felt: Array
    true: Array
    link: str = ""
    shape: str = ""
    q: Any = None
    places: ContactPlaces | None = None
    true_point: Array | None = None

    @property
    def delay(self) -> float:
        """Return the time from touching to the alarm [s]."""
        return self.time - self.began

    @property
    def touched(self) -> str:
        """Return what really touched what, as text: "nothing" for a false alarm, "not known" if nobody tells."""
        if self.link:
            return f"{self.link} – {self.shape}"
        return "nothing" if np.isfinite(self.true).all() else "not known"


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """A run from start to goal that began with an empty map.

    Attributes:
        recording: everything over time, with ``force_felt`` (estimated) at the tool, base axes, the tool's position
            ``tool`` and desired position ``tool_ref``, and where anybody knows it the true ``force``.
        maps: before the first contact and after every contact.
        plans: the path planned on each of those maps.
        contacts: what was felt, in order.
        start, goal: cells. goal_point: position (3,) [m].
        reached: whether the tool came within `tolerance` of the goal; arrival: when [s] (NaN if not).
        outcome: one of `OUTCOMES`; "pushed through": the arm came to the goal, but through a solid (see `warnings`);
            "not arrived": the arm stands off the goal, and felt nothing that holds it.
        message: why, and how far from the goal the tool stands; "" if there is nothing to say.
        world: what really stood there; None for a force function, or if nobody knows.
        settings: JSON-able.
    """

    recording: Recording
    maps: tuple[GridMap, ...]
    plans: tuple[PathPlan, ...]
    contacts: tuple[Contact, ...]
    start: Cell
    goal: Cell
    goal_point: Array
    reached: bool
    arrival: float
    outcome: str
    message: str = ""
    world: World | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return one line: which arm, where, how it ended."""
        who = self.settings.get("robot", "an arm")
        where = f" in {self.world.name!r}" if self.world is not None else ""
        end = f"{len(self.contacts)} contacts, {self.recording.duration:.1f} s"
        return f"{type(self).__name__}({who!r}{where}: {self.outcome}, {end})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the replay, the line, and a row per contact."""
        from armwright.exploration.pictures.exploration_report import exploration_stage
        from armwright.recording.replay.replay_page import notebook_frame

        rows = [(k + 1, c.cell, f"{c.time:.2f}", c.link or c.touched) for k, c in enumerate(self.contacts)]
        table = html_table(repr(self), ("contact", "cell", "time [s]", "truly touched"), rows)
        stage = exploration_stage(self, repr(self))
        return table if stage is None else notebook_frame(stage) + table

    @property
    def truth_known(self) -> bool:
        """Return whether somebody told what really touched the arm."""
        return "force" in self.recording

    @property
    def cells(self) -> list[Cell]:
        """Return the marked cells, in order."""
        return [contact.cell for contact in self.contacts]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what the outcome alone does not say: one sentence each, () if there is nothing."""
        told = tuple(
            f"at {event.time:.2f} s: {event.name}"
            for event in self.recording.events
            if event.name.startswith(("pushed through", "sunk"))
        )
        force = np.linalg.norm(self.recording["force" if self.truth_known else "force_felt"], axis=1)
        if not (force > HARD_FORCE).any():
            return told
        k, lasted = int(np.argmax(force)), float(np.mean(force > HARD_FORCE)) * self.recording.duration
        how = "was pushed with" if self.truth_known else "felt a push of"
        text = f"the arm {how} up to {force[k]:.0f} N at {self.recording.time[k]:.2f} s"
        return (*told, f"{text}, and for {lasted:.3f} s with more than {HARD_FORCE:g} N")

    def metrics(self) -> dict[str, Any]:
        """Return the figures of the run as plain numbers; NaN where only the truth would tell."""
        known, unknown = self.truth_known, float("nan")
        force = np.linalg.norm(self.recording["force"], axis=1) if known else np.zeros(len(self.recording))
        felt = np.linalg.norm(self.recording["force_felt"], axis=1)
        delays = [contact.delay for contact in self.contacts if np.isfinite(contact.delay)]
        tool, time = self.recording["tool"], self.recording.time
        return {
            "outcome": self.outcome,
            "message": self.message,
            "warnings": list(self.warnings),
            "reached": self.reached,
            "arrival_s": self.arrival,
            "goal_error_m": float(np.linalg.norm(tool[-1] - self.goal_point)) if len(tool) else float("nan"),
            "contacts": len(self.contacts),
            "distinct_cells": len(set(self.cells)),
            "cells_felt": int((np.asarray(self.maps[-1].felt) > 0).sum()),
            "false_alarms": sum(not np.isfinite(contact.began) for contact in self.contacts) if known else unknown,
            "first_delay_s": delays[0] if delays else float("nan"),
            "median_delay_s": quantile(delays, 0.5).value,
            "largest_force_n": float(force.max(initial=0.0)) if known else unknown,
            "largest_felt_n": float(felt.max(initial=0.0)),
            "impulse_ns": float(np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(time))) if known else unknown,
            "tool_path_m": float(np.linalg.norm(np.diff(tool, axis=0), axis=1).sum()),
            "longest_stand_s": longest_stand(time, tool, force) if known else unknown,
            "in_contact_at_end": bool(len(force) and force[-1] > 0.0) if known else unknown,
            "simulated_s": float(time[-1]) if len(self.recording) else 0.0,
        }

    def replay(self, path: str | Path, *, title: str = "") -> Path:
        """Write a page that shows the run: arm, surroundings, the map as it grows, forces, to be scrubbed through."""
        from armwright.errors import InputError
        from armwright.exploration.pictures.exploration_report import exploration_stage
        from armwright.recording.replay.replay_page import write_replay

        stage = exploration_stage(self, title or repr(self))
        if stage is None:
            raise InputError("replay: the run was interrupted before anything was recorded")
        return write_replay(stage, path)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write a self-contained HTML page; see `exploration_report`."""
        from armwright.exploration.pictures.exploration_report import exploration_report

        return exploration_report(self, path, **options)

    def plot(self, what: str = "path", path: str | Path | None = None) -> Figure:
        """Draw "maps", "path", "forces", "zoom" or "errors"; see `map_figures.draw`."""
        from armwright.exploration.pictures.map_figures import draw

        return draw(self, what, path)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Draw the arm in motion among its obstacles with the growing map; see `exploration_film.film`."""
        from armwright.exploration.pictures.exploration_film import film

        return film(self, path, **options)


def longest_stand(time: Array, tool: Array, force: Array) -> float:
    """Return the longest time [s] in contact within `STANDS_WITHIN` of one place: an arm that does not know what to do.

    Args:
        time: (T,) [s].
        tool: its positions (T, 3) [m].
        force: size of the true contact force (T,) [N]; gaps shorter than `STAND_SAMPLE` do not count.
    """
    if len(time) < 2:
        return 0.0
    rows = max(1, round(STAND_SAMPLE * (len(time) - 1) / float(time[-1] - time[0])))
    touched = np.maximum.reduceat(force, np.arange(0, len(time), rows)) > 0.0
    longest, begun, place = 0.0, float(time[0]), tool[0]
    for on, at, point in zip(touched.tolist(), time[::rows].tolist(), tool[::rows], strict=True):
        if not on or np.linalg.norm(point - place) > STANDS_WITHIN:
            begun, place = at, point
        longest = max(longest, at - begun)
    return longest


def told_of_solids(
    recording: Recording, outcome: str, message: str, flags: Sequence[ContactFlag]
) -> tuple[Recording, str, str]:
    """Return recording, outcome and message of a run with what surfaces did not hold back told in them.

    The events of the recording get one line each. A run that "reached" its goal through a solid was "pushed through".
    """
    if not flags:
        return recording, outcome, message
    events = sorted([*recording.events, *(RecordedEvent(f.time, f.words) for f in flags)], key=lambda e: e.time)
    through = [flag for flag in flags if flag.kind == "pushed through"]
    if outcome == "reached" and through:
        outcome, message = (
            "pushed through",
            f"the tool stands at its goal, but at {through[0].time:.2f} s it was "
            + (f"{through[0].words}: the surface is a spring and did not hold"),
        )
    return replace(recording, events=tuple(events), outcome=outcome), outcome, message


def with_errors(recording: Recording) -> Recording:
    """Return a recording with the joint errors q_ref − q, where it does not have them."""
    if "error" in recording:
        return recording
    q = recording.signals["q"]
    return recording.with_signals(error=replace(q, values=recording["q_ref"] - recording["q"]))


def keep_recording(ride: Ride, error: Exception) -> None:
    """Attach what was recorded so far to an error in the middle of a run: ``error.recording``."""
    error.recording = ride.recording("failed")  # type: ignore[attr-defined]
    error.add_note(f"at {ride.time:.3f} s of an exploration; what was recorded until then is kept: error.recording")


def arrival_of(run: ExplorationRun[Any], recording: Recording) -> float:
    """Return when the tool came within the tolerance of the goal for good [s]; NaN if it did not."""
    if run.outcome != "reached":
        return float("nan")
    away = np.flatnonzero(np.linalg.norm(recording["tool"] - run.goal_point, axis=1) >= run.budget.tolerance)
    return float(recording.time[min(away[-1] + 1 if len(away) else 0, len(recording) - 1)])
