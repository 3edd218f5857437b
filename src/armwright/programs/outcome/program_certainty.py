# SPDX-License-Identifier: Apache-2.0
"""How sure a verdict about a program can be: the answer with the widths of the sheet's numbers, and how it is worded.

With δ, the width of the worst class among the numbers that a torque is made of, a program is feasible if
use·(1 + δ) ≤ 1, not feasible if use·(1 − δ) > 1, and in between it cannot be told with these data. δ widens torques
alone: the speed limit of a joint is a setting that its controller keeps, and programs are planned up to it. A sheet
that says nothing of its classes has δ = 0, as before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from armwright.programs.motors.motor_limits import Basis
    from armwright.programs.outcome.program_run import Answer, ProgramRun
    from armwright.robot.model import Robot

NAMES = {"inertia": "masses", "effort": "joint efforts", "rotor": "rotors", "friction": "friction"}
USED: dict[str, tuple[str, ...]] = {"motors": tuple(NAMES), "joints": ("effort", "inertia"), "speeds": ()}


class Certainty(NamedTuple):
    """Relative width δ of torques over their limits, and the words for it; empty where the sheet says nothing."""

    width: float
    words: str


def certainty_of(robot: Robot, basis: Basis) -> Certainty:
    """Return the width of the worst class of what `basis` uses, and which classes these are."""
    used = {name: robot.provenance[name] for name in USED[basis] if name in robot.provenance}
    names = {**NAMES, "effort": "motor torques"} if basis == "motors" else NAMES
    width = max((said.width or 0.0 for said in used.values()), default=0.0)
    if not used:
        return Certainty(0.0, "")
    said: dict[str, list[str]] = {}
    for name, known in used.items():
        said.setdefault(known.words, []).append(names[name])
    told = ", ".join(f"{' and '.join(things)} {words}" for words, things in said.items())
    bare = basis == "joints" and not {"rotor", "friction"} & {*robot.provenance}
    alone = "; joint torque without rotors and friction" if bare else ""
    return Certainty(width, f"{told}, ± {100 * width:.3g} %{alone}")


def torques_usable(robot: Robot) -> bool:
    """Return whether no number that torques are made of is merely assumed."""
    return all(robot.provenance[name].width is not None for name in ("inertia", "effort") if name in robot.provenance)


def answer_of(outcome: ProgramRun) -> Answer:
    """Return the answer about a program that was run."""
    return "not feasible" if outcome.impossible else plan_answer(outcome)


def plan_answer(outcome: ProgramRun) -> Answer:
    """Return the answer about what of a program was planned: all but the moves that the arm cannot make."""
    width = certainty_of(outcome.robot, outcome.basis).width
    if width == 0.0:
        return "feasible" if outcome.wished.feasible else "not feasible"
    wished = outcome.wished
    use = float(wished.torque_use.max(initial=0.0))
    if wished.clipped.any() or use * (1.0 - width) > 1.0:
        return "not feasible"
    return "feasible" if outcome.wished.feasible and use * (1.0 + width) <= 1.0 else "cannot be told"


def open_words(outcome: ProgramRun, what: str, where: str) -> str:
    """Return the verdict of a program whose torques are too near their limits for the widths of the data."""
    use, width = outcome.wished.torque_use, certainty_of(outcome.robot, outcome.basis).width
    j = int(np.argmax(use.max(axis=0)))
    most = 100.0 * float(use[:, j].max())
    low, high = most * (1.0 - width), most * (1.0 + width)
    return (
        f"Cannot be told with these data: {what} asks {most:.3g} % of the torque of {outcome.robot.joints[j].name} in "
        f"{where}, which may be {low:.3g} to {high:.3g} %."
    )


def worst_move(outcome: ProgramRun) -> int:
    """Return the index of the move with the largest use of torque."""
    return int(outcome.wished.demand.moves[int(np.argmax(outcome.wished.torque_use.max(axis=1)))])


def with_class(outcome: ProgramRun, text: str) -> str:
    """Return a verdict whose first words name the classes of data that it rests on."""
    words = certainty_of(outcome.robot, outcome.basis).words
    first, colon, rest = text.partition(": ")
    return f"{first} ({words}){colon}{rest}" if words and colon else text


def more_payload_words(outcome: ProgramRun) -> str:
    """Return how much more the arm could carry; nothing where the maker's payload is unknown or already reached."""
    more, rated = outcome.works.more_payload, outcome.robot.rated_payload
    if answer_of(outcome) != "feasible" or math.isnan(more) or rated is None or more <= 0.0:
        return ""
    return f"It could carry {more:.3g} kg more (a point mass in the load's centre, or at the tool; rated {rated:g} kg)."


def overload_words(outcome: ProgramRun) -> str:
    """Return which load is above the arm's rated payload, if one is: the maker's figure, whatever torques allow."""
    rated = outcome.robot.rated_payload
    loads = [move.payload.mass if move.payload is not None else 0.0 for move in outcome.program.moves]
    if rated is None or max(loads, default=0.0) <= rated * (1.0 + 1e-9):
        return ""
    k = int(np.argmax(loads))
    line = outcome.program.moves[k].line
    where = f"line {line}" if line else f"move {k + 1}"
    return (
        f"It carries up to {loads[k]:.3g} kg ({where}), more than the {rated:g} kg for which its maker rates the arm."
    )


def within_rated(robot: Robot, carried: float, more: float) -> float:
    """Return a mass [kg] that may be added, cut where with the one that is carried it exceeds the rated payload."""
    return more if robot.rated_payload is None else min(more, max(0.0, robot.rated_payload - carried))
