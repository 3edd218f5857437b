# SPDX-License-Identifier: Apache-2.0
"""§7.3 of 000: what happens when the actual position is marked and started from, which the report tried and gave up."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from armwright.robot.model import Robot
from armwright.studies.doc000_collision.runs import ARMS, BARE, HELD, LAYOUTS, READINGS, SPLINE, RunReading, run
from armwright.studies.doc000_collision.setting import arm, reduced
from armwright.studies.study import Claim, Item, Shown, Supposed

ACTUAL = tuple(s._replace(name=f"{s.name}, actual position", place="actual") for s in (HELD, SPLINE))
LAST_CONTACTS = 10  # contacts at the end of a run that are examined


def repeats(robot: Robot, layout: str, setting: RunReading) -> int:
    """Return how many contacts are registered in the cell of the one before."""
    return sum(a == b for a, b in pairwise(run(robot, layout, setting).cells))


def loops(robot: Robot, layout: str, setting: RunReading) -> bool:
    """Return whether a run that never arrives ends by going between cells it had marked before, not on one spot."""
    found = run(robot, layout, setting)
    cells = found.cells
    known, last = set(cells[:-LAST_CONTACTS]), cells[-LAST_CONTACTS:]
    return bool(not found.reached and len(cells) > LAST_CONTACTS and set(last) <= known and len(set(last)) > 1)


def repeats_somewhere(robot: Robot) -> bool:
    """Return whether contacts repeat in the same cell in some run."""
    return any(repeats(robot, w, s) > 0 for s in ACTUAL for w in LAYOUTS)


def loops_somewhere(robot: Robot) -> bool:
    """Return whether some run gets stuck in a loop."""
    return any(loops(robot, w, s) for s in ACTUAL for w in LAYOUTS)


def cured(robot: Robot, setting: RunReading) -> bool:
    """Return whether with the desired position marked no contact repeats and both layouts are crossed."""
    return all(run(robot, w, setting).reached and repeats(robot, w, setting) == 0 for w in LAYOUTS)


def cure(setting: RunReading) -> Shown:
    """Return whether both arms are cured, and the contacts that repeat."""
    text = ", ".join(
        f"{name} {w} {repeats(robot(), w, setting)} repeated"
        f"{'' if run(robot(), w, setting).reached else ', not at P_d'}"
        for name, robot in ARMS.items()
        for w in LAYOUTS
    )
    return Shown(all(cured(robot(), setting) for robot in ARMS.values()), text)


def _notes() -> list[str]:
    out = []
    for setting in (*ACTUAL, HELD, BARE, SPLINE):
        for name, robot in ARMS.items():
            for w in LAYOUTS:
                found = run(robot(), w, setting)
                end = f"at P_d after {found.arrival:.1f} s" if found.reached else f"never arrives ({found.outcome})"
                out.append(
                    f"{setting.name}, layout {w}, {name}: {len(found.contacts)} contacts in {len(set(found.cells))} "
                    f"cells, {repeats(robot(), w, setting)} in the cell of the one before; {end}"
                )
    return out


MAY = "“may”: in one run at least (two arms, two stand-in layouts, table held and spline)"
ITEMS: tuple[Item, ...] = (
    Item(
        "7.3k",
        "actual position: collisions are detected again and again at the same position",
        Claim("may result"),
        lambda: repeats_somewhere(reduced()),
        lambda: repeats_somewhere(reduced()) or repeats_somewhere(arm()),
        rule=MAY,
        notes=_notes,
    ),
    Item(
        "7.3l",
        "actual position: the manipulator gets stuck in a loop",
        Claim("may get stuck"),
        lambda: loops_somewhere(reduced()),
        lambda: loops_somewhere(reduced()) or loops_somewhere(arm()),
        rule=f"{MAY}; a loop: the last {LAST_CONTACTS} contacts go between cells marked before, "
        "and P_d is not reached in 50 s",
    ),
    Item(
        "7.3m",
        "with the desired position both problems are gone",
        Claim("eliminated"),
        readings=tuple(Supposed(setting.name, partial(cure, setting)) for setting in READINGS),
        reason="the report says neither how its table is read nor when an alarm ends, and the claim turns on both: "
        "with the table held, as the printed error of 1e-3 rad suggests, F̂ jitters across f_min and contacts "
        "repeat unless there is a hysteresis",
        rule="both arms, two stand-in layouts: P_d reached, no contact in the cell of the one before",
    ),
)
