"""What a run through an unknown environment leaves behind: maps, contacts with truth beside estimate, metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from armwright.planning.occupancy import GridMap
    from armwright.planning.path_plan import PathPlan
    from armwright.simulation.recording import Recording

Cell = tuple[int, ...]


class Contact(NamedTuple):
    """One felt contact.

    Attributes:
        time: of the alarm [s]. began: when the tool first touched in this episode [s], NaN if it never did.
        cell: marked in the map. again: whether it was marked before.
        desired, actual: tool positions (3,) at the alarm [m].
        felt, true: estimated and true contact force on the arm (3,) [N].
    """

    time: float
    began: float
    cell: Cell
    again: bool
    desired: Any
    actual: Any
    felt: Any
    true: Any

    @property
    def delay(self) -> float:
        """From touching to the alarm [s]."""
        return self.time - self.began


@dataclass(frozen=True, eq=False)
class Exploration:
    """A run from start to goal that began with an empty map.

    Attributes:
        recording: everything over time, with ``force`` (true) and ``force_felt`` (estimated) at the tool, base axes.
        maps: before the first contact and after every contact.
        plans: the path planned on each of those maps.
        contacts: what was felt, in order.
        goal: position (3,) [m]. reached: whether the tool came within `tolerance` of it; arrival: when [s] (NaN if not).
        outcome: "reached", "unreachable: …", "out of time", "contact budget used up", or how it broke off.
    """

    recording: Recording
    maps: tuple[GridMap, ...]
    plans: tuple[PathPlan, ...]
    contacts: tuple[Contact, ...]
    goal: Any
    reached: bool
    arrival: float
    outcome: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> list[Cell]:
        """Cells marked, in order."""
        return [contact.cell for contact in self.contacts]

    def metrics(self) -> dict[str, Any]:
        """Figures of the run as plain numbers."""
        force = np.linalg.norm(self.recording["force"], axis=1)
        felt = np.linalg.norm(self.recording["force_felt"], axis=1)
        delays = [contact.delay for contact in self.contacts if np.isfinite(contact.delay)]
        tool = self.recording["tool"]
        return {
            "outcome": self.outcome,
            "reached": self.reached,
            "arrival_s": self.arrival,
            "contacts": len(self.contacts),
            "distinct_cells": len(set(self.cells)),
            "false_alarms": sum(not np.isfinite(contact.began) for contact in self.contacts),
            "first_delay_s": delays[0] if delays else float("nan"),
            "median_delay_s": float(np.median(delays)) if delays else float("nan"),
            "largest_force_n": float(force.max(initial=0.0)),
            "largest_felt_n": float(felt.max(initial=0.0)),
            "tool_path_m": float(np.linalg.norm(np.diff(tool, axis=0), axis=1).sum()),
            "simulated_s": float(self.recording.time[-1]) if len(self.recording) else 0.0,
        }
