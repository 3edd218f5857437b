# SPDX-License-Identifier: Apache-2.0
"""Many runs through random worlds: how often the arm arrives, and whether it is right when it says that it cannot.

The oracles that judge it are those of `cylinder_worlds`; `compare` has variants that are worth comparing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError
from armwright.exploration.explore import explore
from armwright.exploration.grid.cylinder_worlds import Oracle
from armwright.exploration.options import Budget

if TYPE_CHECKING:
    from armwright.exploration.result import Exploration
    from armwright.robot.model import Robot
    from armwright.world.world import World

OUTCOMES = ("reached", "declared unreachable", "gave up", "still in contact")
TRUTHS: tuple[Oracle, ...] = ("solvable", "narrow", "unsolvable")
COMPARED = ("contacts", "impulse_ns", "largest_force_n", "tool_path_m", "arrival_s", "median_delay_s")
FIGURES = (*COMPARED[1:], "first_delay_s", "largest_felt_n", "simulated_s")
PATIENT = Budget(duration=1200.0)  # [s] twenty minutes: a world that is left earlier was not given up for want of time


def kind_of_end(run: Exploration) -> str:
    """One of `OUTCOMES`: being in contact at the end counts for runs that neither arrived nor knew why."""
    if run.reached:
        return "reached"
    if run.outcome in ("unreachable", "boxed in"):
        return "declared unreachable"
    return "still in contact" if run.metrics()["in_contact_at_end"] else "gave up"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of many runs.

    Attributes:
        label: of the variant. rows: one dictionary a run: world, truth, end, and the metrics.
    """

    label: str
    rows: tuple[dict[str, Any], ...]

    def table(self) -> dict[Oracle, dict[str, int]]:
        """Runs by what the oracles say and how they ended."""
        return {t: {o: sum(r["truth"] == t and r["end"] == o for r in self.rows) for o in OUTCOMES} for t in TRUTHS}

    def missed(self) -> tuple[dict[str, Any], ...]:
        """Runs that were wrong: a solvable world not reached, an unsolvable one not declared, an arrival in one."""
        right = {"solvable": ("reached",), "unsolvable": ("declared unreachable",), "narrow": OUTCOMES[:2]}
        return tuple(r for r in self.rows if r["end"] not in right[r["truth"]])

    def arrived(self, among: Collection[str] | None = None) -> tuple[dict[str, Any], ...]:
        """Runs that reached the goal, in the worlds named by `among` or in all."""
        return tuple(r for r in self.rows if r["end"] == "reached" and (among is None or r["world"] in among))

    def summary(self, among: Collection[str] | None = None) -> dict[str, Any]:
        """Shares that were right, and medians and 95th percentiles over the runs that arrived (in worlds `among`)."""
        table, arrived = self.table(), self.arrived(among)
        solvable, unsolvable = sum(table["solvable"].values()), sum(table["unsolvable"].values())
        medians = {name: _quantile(arrived, name, 0.5) for name in COMPARED}
        high = {f"{name}_p95": _quantile(arrived, name, 0.95) for name in COMPARED}
        return {
            "label": self.label,
            "runs": len(self.rows),
            "compared": len(arrived),
            "solvable_reached": table["solvable"]["reached"] / solvable if solvable else float("nan"),
            "unsolvable_declared": table["unsolvable"]["declared unreachable"] / unsolvable
            if unsolvable
            else float("nan"),
            "most_contacts": max((r["contacts"] for r in self.rows), default=0),
            "largest_force_of_all_n": _quantile(self.rows, "largest_force_n", 1.0),
            "false_alarms": sum(r["false_alarms"] for r in self.rows),
            **medians,
            **high,
        }

    @property
    def right(self) -> bool:
        """Whether more than 99 % of the solvable worlds were reached and every unsolvable one was declared."""
        s = self.summary()
        return not s["solvable_reached"] <= 0.99 and not s["unsolvable_declared"] < 1.0


def _quantile(rows: Sequence[dict[str, Any]], name: str, q: float) -> float:
    values = np.array([r[name] for r in rows], dtype=np.float64)
    values = values[np.isfinite(values)]  # a run without a contact has no delay
    return float(np.quantile(values, q)) if len(values) else float("nan")


def explore_one(
    robot: Robot,
    world: World,
    truth: Oracle,
    **options: Any,
) -> dict[str, Any]:
    """Explore one world; return its row of `Outcomes`.

    Raises:
        KeyboardInterrupt: the run was interrupted, which says nothing about the world.
    """
    try:
        run = explore(robot, world, **{"budget": PATIENT, **options})
    except ArmwrightError as error:  # one that is refused must not end the others
        said = {"outcome": "refused", "message": str(error), "reached": False, "contacts": 0, "false_alarms": 0}
        figures = dict.fromkeys(FIGURES, float("nan"))
        return {"world": world.name, "truth": truth, "end": "gave up", **said, **figures}
    if run.outcome == "interrupted":
        raise KeyboardInterrupt
    return {"world": world.name, "truth": truth, "end": kind_of_end(run), **run.metrics()}
