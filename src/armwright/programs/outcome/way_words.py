# SPDX-License-Identifier: Apache-2.0
"""What the arm comes near along its way, and its margins: in sentences, in rows of tables, and as plain numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from armwright.programs.outcome.way_clearance import FLOOR, SURE_SHARE

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.programs.outcome.way_results import WayContact, WayMargin

SHAPES = "shapes are estimated from joints and inertia"
NEAR_HEADS = ("part", "comes near", "distance [mm]", "at [s]", "move")
MARGIN_HEADS = ("margin", "smallest", "share [%]", "at [s]", "move")


def with_clearance(outcome: ProgramRun, said: str) -> str:
    """Return the verdict on the motors with whether the arm collides: before it if it surely does, behind it if not."""
    words = clearance_words(outcome)
    return f"{words} {said}" if outcome.clearance.collides == "yes" else f"{said} {words}"


def clearance_words(outcome: ProgramRun) -> str:
    """Return whether the arm collides, with what, when and where."""
    found = outcome.clearance
    left_out = f" ({'; '.join(found.unchecked)})" if found.unchecked else ""
    if found.collides == "not checked":
        return f"Collisions not checked: {'; '.join(found.unchecked)}."
    against = ", ".join(found.checked)
    if found.collides == "no":
        near = found.closest[0] if found.closest else None
        told = "" if near is None else f"; nearest are {near.part} and {near.other}, {_mm(near.distance)} mm apart"
        return f"No collision with {against}{told} ({SHAPES}){left_out}."
    sure = [contact for contact in found.contacts if contact.sure]
    worst = max(sure or found.contacts, key=lambda contact: contact.depth)
    head = "Collides" if sure else "May collide"
    hedge = SHAPES if sure else f"{SHAPES}; with radii of {100 * SURE_SHARE:g} % they stay apart"
    if worst.other == FLOOR and outcome.floor == 0.0:
        hedge += f"; {FLOOR} is taken to be as high as the base: --floor Z, or none, says otherwise"
    count = len(found.contacts)
    return f"{head}, {count} time{'s' if count > 1 else ''}; at worst {contact_words(outcome, worst)} ({hedge})."


def contact_words(outcome: ProgramRun, contact: WayContact) -> str:
    """Return which parts overlap, how deep, when and in which move."""
    from armwright.programs.outcome.program_words import place_words

    where = place_words(outcome, contact.move)
    return f"{contact.part} is {_mm(contact.depth)} mm in {contact.other} at {contact.worst:.3f} s in {where}"


def margin_words(outcome: ProgramRun) -> tuple[str, ...]:
    """Return how near the way comes to ends of joints, singular postures and the arm's reach, one sentence each."""
    from armwright.programs.outcome.program_words import place_words

    found, said = outcome.margins, []

    def place(row: WayMargin) -> str:
        return f"at {row.time:.3f} s in {place_words(outcome, row.move)}"

    if (row := found.joint) is not None:
        left = f"{100 * row.share:.3g} % of its range left"
        if row.value < 0.0:
            left = f"beyond the end of its range by {-100 * row.share:.3g} % of it"
        said.append(f"Nearest to the end of its range is {row.what}, {left}, {place(row)}.")
    if (row := found.singular) is not None:
        said.append(f"Nearest to a singular posture, smallest singular value {row.value:.3g}, the arm is {place(row)}.")
    if (row := found.reach) is not None:
        said.append(f"It reaches {100 * (1.0 - row.share):.3g} % of its stretched length {place(row)}.")
    if not outcome.weighed:
        said.append("Energy is not known: the sheet has no masses and inertias.")
        return tuple(said)
    energy, back = outcome.motors.energy.sum(), outcome.motors.regenerated.sum()
    said.append(
        f"Energy of the {'motors' if outcome.basis == 'motors' else 'joints'}: {energy:.4g} J, {back:.4g} J back."
    )
    return tuple(said)


def near_cells(outcome: ProgramRun) -> list[list[str]]:
    """Return one row per pair of the nearest."""
    from armwright.programs.outcome.program_words import place_words

    return [
        [row.part, row.other, _mm(row.distance), f"{row.time:.3f}", place_words(outcome, row.move)]
        for row in outcome.clearance.closest
    ]


def margin_cells(outcome: ProgramRun) -> list[list[str]]:
    """Return one row per joint with a range, one for singular postures and one for the reach."""
    from armwright.programs.outcome.program_words import place_words

    kinds = {joint.name: joint.kind for joint in outcome.robot.joints}
    found, out = outcome.margins, []
    for row in (*found.joints, *(row for row in (found.singular, found.reach) if row is not None)):
        turns = kinds.get(row.what) == "revolute"
        value = f"{math.degrees(row.value):.4g}°" if turns else f"{row.value:.3g}"
        unit = "" if turns or row.what == "singular" else " m"
        cells = [row.what, value + unit, f"{100 * row.share:.3g}", f"{row.time:.3f}", place_words(outcome, row.move)]
        out.append(cells)
    return out


def way_figures(outcome: ProgramRun) -> dict[str, Any]:
    """Return collisions, margins and energy per joint as plain numbers, SI units."""
    found, margins = outcome.clearance, outcome.margins
    lines = [move.line for move in outcome.program.moves]

    def margin(row: WayMargin | None) -> dict[str, Any] | None:
        if row is None:
            return None
        place = {"time_s": row.time, "move": row.move + 1, "line": lines[row.move]}
        return {"what": row.what, "value": row.value, "share": row.share, **place}

    return {
        "collides": found.collides,
        "collisions": {
            "checked": list(found.checked),
            "unchecked": list(found.unchecked),
            "shapes": SHAPES if found.checked else None,
            "looks": found.looks,
            "closest": [
                {
                    "part": row.part,
                    "other": row.other,
                    "distance_m": row.distance,
                    "time_s": row.time,
                    "move": row.move + 1,
                    "line": lines[row.move],
                }
                for row in found.closest
            ],
            "events": [
                {
                    "part": row.part,
                    "other": row.other,
                    "sure": row.sure,
                    "start_s": row.start,
                    "end_s": row.end,
                    "worst_s": row.worst,
                    "depth_m": row.depth,
                    "move": row.move + 1,
                    "line": lines[row.move],
                }
                for row in found.contacts
            ],
        },
        "margins": {
            "joints": [margin(row) for row in margins.joints],
            "singular": margin(margins.singular),
            "reach": margin(margins.reach),
        },
    }


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.3g}"
