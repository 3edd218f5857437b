# SPDX-License-Identifier: Apache-2.0
"""Reaction of the whole arm to a contact: step back or give way, and plan a new motion around what it felt.

`plan_anew` plans from the nearest free configuration on the trail,
first around everything that may have been touched, then with less and less `Caution`. `arm_motion` turns a joint path
into a spline at the pace of the arm's fastest part. `retract` gives way to the felt torque (000 eq. 5.5).
"""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.dynamics import mass_matrix
from armwright.exploration.arm.touch_map import PASSED_DEPTH, RADIUS, ends_at
from armwright.exploration.ride_steps import followed, hold, wait
from armwright.motion import time_scaled
from armwright.motion.scaling import velocity_factor
from armwright.planning.joint.rrt_connect import connected
from armwright.planning.motion_plan import drawn_to
from armwright.planning.waypoints import waypoint_motion

if TYPE_CHECKING:
    from armwright.exploration.arm.arm_run import ArmRun
    from armwright.exploration.arm.touch_map import TouchMap, Trust
    from armwright.motion import Trajectory
    from armwright.planning.joint.joint_plan import JointPlan
    from armwright.planning.joint.whole_arm import KnownArm
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.arm_capsules import LinkCapsules


NARROW = RADIUS / 3.0  # [m] radius about a likely place where there is little room
LEAST = PASSED_DEPTH  # [m] radius about a sure place where there is hardly any room: a link may scratch this deep


class Caution(NamedTuple):
    """A degree of caution: which known places to keep away from, and how far: their radius, and the margin's share.

    Crowded: whether crowds of configurations count. Patient: worth all the planner's time.
    """

    trust: Trust
    radius: float
    share: float
    crowded: bool
    patient: bool

    def arm(self, known: TouchMap, margin: float) -> KnownArm:
        """Return the arm among what is known."""
        return known.arm(margin=self.share * margin, trust=self.trust, radius=self.radius, crowded=self.crowded)


CAUTIONS = (
    Caution("all", RADIUS, 1.0, True, False),
    Caution("likely", RADIUS, 1.0, True, True),
    Caution("likely", NARROW, 0.4, True, False),
    Caution("sure", RADIUS, 0.5, True, False),
    Caution("sure", LEAST, 0.0, False, True),
    Caution("confirmed", LEAST, 0.0, False, True),
)


WAYPOINT_SPACINGS = (0.3, 0.15, 0.08, 0.04)  # [rad] between waypoints: the planners' longest edge, then halves of it
MERGED_SPACING_SHARE = 0.1  # of that spacing: waypoints no farther apart count as one, a spline through both would loop
RAMP_SECONDS = 0.25  # [s] from rest to the full pace: at 0.25 m/s an acceleration of 1 m/s²
SAME_WAYPOINT_DISTANCE = 1e-6  # [rad] waypoints nearer than this are one: below what joint sensors resolve
SPLINE_LOOK_DISTANCE = 0.01  # [m] of motion between looks at the spline, less than the ball about a felt place
FEWEST_LOOKS = 20  # looks at a spline, however short
METRES_PER_RADIAN = 0.1  # [m/rad] lever of a joint that moves no link's end, such as the last one: it needs a pace, too


def arm_motion(
    robot: Robot, links: LinkCapsules, path: Array, speed: float, known: KnownArm | None = None
) -> Trajectory:
    """Return a motion from rest to rest along a joint path (N, n).

    Args:
        robot: the arm, whose limits on joint speed and acceleration hold.
        links: its capsules; none of their ends moves faster than about `speed`.
        path: straight pieces; the spline is drawn to them by more waypoints until it stays free. Of waypoints that
            nearly coincide, one is kept.
        speed: [m/s].
        known: what must not be touched; None: not looked at.
    """
    kv = np.array([joint.limits.velocity for joint in robot.joints])
    ka = np.array([joint.limits.acceleration for joint in robot.joints])
    keep = np.concatenate([[True], np.abs(np.diff(path, axis=0)).max(axis=1) > SAME_WAYPOINT_DISTANCE])
    path = path[keep] if keep.sum() > 1 else np.vstack([path[:1], path[:1] + SAME_WAYPOINT_DISTANCE])

    def make(rows: Array) -> Trajectory:
        motion = waypoint_motion(robot, rows, times=_times(robot, links, rows, speed))
        factor = velocity_factor(motion, kv, ka)
        return motion if factor <= 1.0 else time_scaled(motion, factor)

    def free(motion: Trajectory) -> bool:
        if known is None:
            return True
        looks = max(FEWEST_LOOKS, int(motion.duration * speed / SPLINE_LOOK_DISTANCE))
        return bool((known.clearance(motion.evaluate(np.linspace(0.0, motion.duration, looks)).q) > 0.0).all())

    return drawn_to(path, WAYPOINT_SPACINGS, make, free, close=MERGED_SPACING_SHARE)[0]


def _times(robot: Robot, links: LinkCapsules, rows: Array, speed: float) -> Array:
    """Return the times (N,) [s] to be at the rows; the pace rises and falls evenly at the ends."""
    ends = ends_at(robot, links, rows).reshape(len(rows), -1, 3)
    turned = np.abs(np.diff(rows, axis=0)).max(axis=1)
    way = np.maximum(np.linalg.norm(np.diff(ends, axis=0), axis=-1).max(axis=1), METRES_PER_RADIAN * turned)
    s = np.concatenate([[0.0], np.cumsum(way)])
    total = float(s[-1])
    ramp = min(0.5 * speed * RAMP_SECONDS, 0.5 * total)  # distance of a ramp
    top = speed * np.sqrt(ramp / (0.5 * speed * RAMP_SECONDS))
    rate = top * top / (2.0 * ramp)
    begin, end = np.sqrt(2.0 * s / rate), np.sqrt(2.0 * np.maximum(total - s, 0.0) / rate)
    duration = 2.0 * top / rate + (total - 2.0 * ramp) / top
    return np.asarray(
        np.where(s <= ramp, begin, np.where(s >= total - ramp, duration - end, top / rate + (s - ramp) / top))
    )


AT_END = 1e-3  # [rad, m] between where the arm is asked to be and the end of its way
FORGET = 0.1  # [s] for the observer to forget: ten time constants of its gain of 100 /s
RETRACT_DISTANCE = 0.05  # [m] that the arm's fastest part gives way: three times the ball about a felt place
TAKE_OFF = 0.04  # [m] of the trail that is no longer trusted if the arm still touches there; less than `OFF`
MOST_TURN = 0.6  # [rad, m] that a joint gives way at most, where its lever is short
DIFFERENCE_STEP = 1e-3  # [rad, m] for a derivative by differences


def yielding(run: ArmRun, q: Array, tau: Array) -> Array:
    """Return the direction (n,) in which the controlled arm gives way to joint torques: K_0⁻¹ M⁻¹ tau (000 eq. 5.5).

    Under computed torque the arm rests at q_ref − q = −K_0⁻¹ M⁻¹ tau_ext, so this is also the offset of the reference
    that presses back with the same torques. Where nothing is known of K_0, only its direction tells something.
    """
    offset = run.ride.gives_way(q, tau)
    return np.asarray(np.linalg.solve(mass_matrix(run.job.believed, q), tau)) if offset is None else offset


def given_way(run: ArmRun, q: Array, tau: Array, distance: float = RETRACT_DISTANCE) -> Array:
    """Return the configuration (n,) that q yields to under `tau`, when the fastest part has moved `distance` [m]."""
    job, links = run.job, run.map.links
    d = yielding(run, q, tau)
    size = float(np.abs(d).max())
    if size < 1e-12:
        return q
    d = d / size
    h = DIFFERENCE_STEP
    moved = np.linalg.norm(ends_at(job.believed, links, q + h * d) - ends_at(job.believed, links, q), axis=-1).max()
    step = min(distance * h / max(float(moved), 1e-9), MOST_TURN)
    return np.clip(q + step * d, job.lower, job.upper)


def go(run: ArmRun, rows: Array) -> bool:
    """Move from the present reference through rows (m, n), whatever is felt: the way is known.

    Returns:
        Whether the arm is asked to be at its end: a reflex of the ride's own has taken it back.
    """
    now = run.ride.reference().q
    motion = arm_motion(run.job.believed, run.map.links, np.vstack([now, rows]), run.job.speed)
    followed(run.ride, motion)
    left = run.until - run.ride.time
    if left > FORGET:
        wait(run.ride, min(motion.duration + FORGET, left))
    return run.ride.goes_on or float(np.abs(run.ride.reference().q - rows[-1]).max()) < AT_END


def still_touching(run: ArmRun, there: bool = True) -> bool:
    """Return whether the arm has not come free, or did not get `there`; if so, the end of the trail is given up."""
    if there and not run.ride.alarmed:
        return False
    ends = ends_at(run.job.believed, run.map.links, np.array(run.trail)).reshape(len(run.trail), -1, 3)
    far = np.linalg.norm(ends - ends[-1], axis=-1).max(axis=1)
    keep = np.flatnonzero(far > TAKE_OFF)
    del run.trail[int(keep[-1]) + 1 if len(keep) else 0 :]
    return True


def retract(run: ArmRun, q: Array, tau: Array) -> None:
    """Give way to the felt torque, and trust where that leads if nothing known is there and no alarm stays on."""
    target = given_way(run, q, tau)
    if run.map.arm(margin=0.0).clearance(target) <= 0.0:
        return
    go(run, target[None])
    if not run.ride.alarmed:
        run.trail.append(target)


SPARE = 0.004  # [m] of extra margin: planners test configurations 0.02 rad apart, not what lies between
CONFINED = 0.12  # [m]: an arm of which no part gets farther is boxed in; the width of a UR5's links
GOALS = 2  # goal configurations that are planned to: a third is farther, and costs as much time
RETREAT_CONFIGURATIONS = 20  # configurations of the trail (0.2 m of motion) to go back where there is no way


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
    """Return the bounds of the search; a contact may have pushed the arm beyond them, and it starts where it is."""
    return np.minimum(run.job.lower, start), np.maximum(run.job.upper, start)


def _no_way(run: ArmRun, last: tuple[KnownArm, Array] | None, blocked: bool) -> None:
    if run.contacts:
        hold(run.ride)
        if len(run.trail) > 1:
            go(run, np.array(run.trail[-2::-1][:RETREAT_CONFIGURATIONS]))
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
