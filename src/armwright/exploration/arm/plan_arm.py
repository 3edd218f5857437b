# SPDX-License-Identifier: Apache-2.0
"""Planning anew with the whole arm: with all that may have been touched, then with less and less caution."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.exploration.arm.caution import CAUTIONS
from armwright.exploration.arm.react import go
from armwright.exploration.arm.touch_map import ends_at
from armwright.exploration.driving import hold
from armwright.planning.joint.sampling import connected

if TYPE_CHECKING:
    from armwright.exploration.arm.arm_run import ArmRun
    from armwright.planning.joint.known_arm import KnownArm
    from armwright.planning.joint.plan import JointPlan
    from armwright.types import Array

SPARE = 0.004  # [m] more than is asked for: planners look at configurations 0.02 rad apart, not at what lies between
CONFINED = 0.12  # [m]: an arm of which no part gets farther is boxed in; the width of a UR5's links
GOALS = 2  # of the configurations that will do, how many are planned to: a third is farther, and costs as much time
RETREAT = 20  # configurations of the trail, 0.2 m of motion, that the arm goes back where there is no way


class Planned(NamedTuple):
    """A plan, by how many configurations of the trail to step back first, and what was planned against."""

    plan: JointPlan
    back: int
    known: KnownArm


def plan_anew(run: ArmRun) -> Planned | None:
    """Plan to a goal from the nearest configuration back along the trail that is free as far as known.

    With all places that may have been touched; if that leaves no way, with the likely ones, then with those that
    are sure, then closer to them, at last with those that more than one contact told of: a mark that nothing else
    speaks for is touched again before it decides how the run ends.

    Returns:
        The plan; None if the run ends for want of a way.
    """
    began = clock.perf_counter()
    found = _search(run)
    run.planning += clock.perf_counter() - began
    return found


def _search(run: ArmRun) -> Planned | None:
    job, refused, last = run.job, 0, None
    goals = np.asarray(job.goals)
    if run.map.shut(goals):
        _no_way(run, None, True)
        return None
    for caution in CAUTIONS:
        known = caution.arm(run.map, job.margin)
        free = np.flatnonzero(~known(np.array(run.trail)))
        if not len(free):
            refused, last = 0, None
            continue
        start, back = run.trail[int(free[-1])], len(run.trail) - 1 - int(free[-1])
        open_ = goals[~known(goals)]
        refused = len(goals) - len(open_)
        last = last if last and caution.trust == "confirmed" else (known, start)
        for goal in open_[:GOALS]:
            plan = _planned(run, known, start, goal, caution.patient)
            if plan.ok:
                return Planned(plan, back, known)
        if not len(run.map.points) and not len(run.map.configurations):
            break
    _no_way(run, last, refused == len(goals))
    return None


def _planned(run: ArmRun, known: KnownArm, start: Array, goal: Array, patient: bool) -> JointPlan:
    """Plan by looking at configurations a few hundredths of a radian apart, with something to spare in between."""
    planner = run.job.planner if patient else run.job.quick
    wide = known.wider(SPARE)
    chosen = known if wide(np.stack([start, goal])).any() else wide
    return planner(chosen.__call__, start, goal, *_bounds(run, start))


def _bounds(run: ArmRun, start: Array) -> tuple[Array, Array]:
    """Bounds of the search; a contact may have pushed the arm beyond them, and it has to start from where it is."""
    return np.minimum(run.job.lower, start), np.maximum(run.job.upper, start)


def _no_way(run: ArmRun, last: tuple[KnownArm, Array] | None, blocked: bool) -> None:
    if run.contacts:
        hold(run.session)
        if len(run.trail) > 1:
            go(run, np.array(run.trail[-2::-1][:RETREAT]))
    if last is None and not blocked:
        return run.end("boxed in", "every configuration on the way back to the start has been felt to be blocked")
    if last is None or blocked:
        return run.end("unreachable", "the goal configuration itself, or one hardly different, touches what was felt")
    known, start = last
    for what, q in (("boxed in", start), ("unreachable", np.asarray(run.job.goals)[0])):
        if known(q):
            continue
        nodes = connected(known.__call__, q, *_bounds(run, q))
        here = ends_at(run.job.believed, run.map.links, q)
        far = np.linalg.norm(ends_at(run.job.believed, run.map.links, nodes) - here, axis=-1).max()
        if far < CONFINED:
            where = "the arm" if what == "boxed in" else "around the goal it"
            return run.end(
                what,
                f"{where} can move by no more than {1e3 * far:.0f} mm among what was felt, as far as sampling tells",
            )
    return run.end("gave up", "the planner found no way around what was felt; sampling cannot prove that there is none")
