# SPDX-License-Identifier: Apache-2.0
"""The result of an exploration: maps, contacts (estimate and truth), metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.html_text import html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.exploration.arm.felt_places import ContactPlaces
    from armwright.exploration.exploration_run import ExplorationRun
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import PathPlan
    from armwright.recording.recording import Recording
    from armwright.simulation.session import Session
    from armwright.types import Array
    from armwright.world.world import World

Cell = tuple[int, ...]
OUTCOMES = (
    "reached",
    "unreachable",
    "boxed in",
    "contact budget",
    "out of time",
    "stopped",
    "start in contact",
    "chattering",
    "out of reach",
    "gave up",
    "diverged",
    "interrupted",
)


class Contact(NamedTuple):
    """One felt contact.

    Attributes:
        time: of the alarm [s]. began: when the arm first touched in this episode [s], NaN if it never did.
        cell: marked in the map. again: whether it was marked before.
        desired, actual: tool positions (3,) at the alarm [m].
        felt, true: estimated and true contact force on the arm (3,) [N].
        link, shape: what really touched what; "" if nothing did.
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


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """A run from start to goal that began with an empty map.

    Attributes:
        recording: everything over time, with ``force`` (true) and ``force_felt`` (estimated) at the tool, base axes,
            and the tool's position ``tool`` and desired position ``tool_ref``.
        maps: before the first contact and after every contact.
        plans: the path planned on each of those maps.
        contacts: what was felt, in order.
        start, goal: cells. goal_point: position (3,) [m].
        reached: whether the tool came within `tolerance` of the goal; arrival: when [s] (NaN if not).
        outcome: one of `OUTCOMES`. message: one sentence, "" if there is nothing to add.
        world: what really stood there; None for a force function.
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

        rows = [(k + 1, c.cell, f"{c.time:.2f}", c.link or "nothing") for k, c in enumerate(self.contacts)]
        table = html_table(repr(self), ("contact", "cell", "time [s]", "truly touched"), rows)
        stage = exploration_stage(self, repr(self))
        return table if stage is None else notebook_frame(stage) + table

    @property
    def cells(self) -> list[Cell]:
        """Return the marked cells, in order."""
        return [contact.cell for contact in self.contacts]

    def metrics(self) -> dict[str, Any]:
        """Return the figures of the run as plain numbers."""
        force = np.linalg.norm(self.recording["force"], axis=1)
        felt = np.linalg.norm(self.recording["force_felt"], axis=1)
        delays = [contact.delay for contact in self.contacts if np.isfinite(contact.delay)]
        tool, time = self.recording["tool"], self.recording.time
        return {
            "outcome": self.outcome,
            "message": self.message,
            "reached": self.reached,
            "arrival_s": self.arrival,
            "contacts": len(self.contacts),
            "distinct_cells": len(set(self.cells)),
            "cells_felt": int((np.asarray(self.maps[-1].felt) > 0).sum()),
            "false_alarms": sum(not np.isfinite(contact.began) for contact in self.contacts),
            "first_delay_s": delays[0] if delays else float("nan"),
            "median_delay_s": float(np.median(delays)) if delays else float("nan"),
            "largest_force_n": float(force.max(initial=0.0)),
            "largest_felt_n": float(felt.max(initial=0.0)),
            "impulse_ns": float(np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(time))),
            "tool_path_m": float(np.linalg.norm(np.diff(tool, axis=0), axis=1).sum()),
            "in_contact_at_end": bool(len(force) and force[-1] > 0.0),
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


def keep_recording(session: Session, error: Exception) -> None:
    """Attach what was recorded so far to an error in the middle of a run: ``error.recording``."""
    session.outcome = "failed"
    error.recording = session.recording()  # type: ignore[attr-defined]
    error.add_note(f"at {session.time:.3f} s of an exploration; what was recorded until then is kept: error.recording")


def arrival_of(run: ExplorationRun[Any], recording: Recording) -> float:
    """Return when the tool came within the tolerance of the goal for good [s]; NaN if it did not."""
    if run.outcome != "reached":
        return float("nan")
    away = np.flatnonzero(np.linalg.norm(recording["tool"] - run.goal_point, axis=1) >= run.budget.tolerance)
    return float(recording.time[min(away[-1] + 1 if len(away) else 0, len(recording) - 1)])
