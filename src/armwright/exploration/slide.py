# SPDX-License-Identifier: Apache-2.0
"""Sliding along what was touched, under force control (the future work of 000's author).

Hybrid position/force control by the reference: under computed torque the tool yields along the surface normal n like
a spring of compliance c_n = nᵀ J K_0⁻¹ M⁻¹ Jᵀ n (000 §3.7). So a desired position that lies F·c_n behind the surface
presses with F. Every `STEP` seconds the normal is taken from the felt force, the depth is corrected by what the felt
force lacks (integral control), and the desired position moves along the tangent that the planner's way points to.

A second surface (the corner between two walls, the notch between two cylinders) is met at the speed of sliding, and a
stiff one turns speed into force: v √(k m). So the desired position moves on from where it is, not from where the tool
bounced to; it never comes nearer to the surface faster than `APPROACH`, slows down as the felt force uses up the
`MARGIN` above the wanted one, and leads the tool by no more than what presses with `FORCE` against whatever stops it.
Every cell behind the surface is marked as it is passed: one contact shows a whole wall.

It ends when contact is lost (the corner has been rounded), when the way leads off the surface, or when it makes no
headway.

In a deep pocket that does not end well: the shortest way through what is not felt yet leads from wall to wall. So when
`STUCK` contacts in a row have not made the way shorter than it had been, the surface is followed to its end in one
direction, whatever the planner's way says; in the other one if the arm got stuck in the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics import mass_matrix
from armwright.errors import InputError
from armwright.exploration.motion import glide
from armwright.kinematics import jacobian
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.exploration.result import Contact
    from armwright.exploration.run import Run

STEP = 0.04  # [s]
FORCE = 8.0  # [N] to press with
LOST = 2.0  # [N] below which a force has no direction
FIRM = 4.0  # [N], smoothed, below which there is no contact: the reference's own jerks are felt with as much at times
LOST_STEPS = 8  # so many steps without contact before it counts as lost
INTEGRAL = 0.25  # share of the missing depth that is corrected in a step
SMOOTH = 0.3  # of a new normal
AHEAD = 3  # cells on the planned way to aim at
LEAVE = 0.6  # cosine to the normal above which the way leads off the surface
HEADWAY, PATIENCE = 0.25, 1.5  # cells that must be gained within so many seconds
LONGEST = 60.0  # [s]
BEHIND = 1e-3  # [m] behind the tool where the surface is put on the map: more would mark cells that nothing touches
AWAY = 0.5  # cosine to the normal of a way that leads off the surface
OFF = 0.3  # cells off the surface where the way back leads
HARDEST = 2.0  # times `FORCE` that the desired position may press with at most: soft necks are not to be forced
DEEPEST = 0.02  # [m] of the desired position behind the surface
APPROACH, RETREAT = 0.5, 2.0  # of the sliding speed, along the normal, into the surface and away from it
MARGIN = 12.0  # [N] above `FORCE` at which sliding has slowed down to
SLOWEST = 0.2  # of its speed
STUCK = 3  # contacts that bring the goal no nearer, after which a surface is followed to its end
ROUND = 3.0  # cells that the arm must have been away for before it can have come round


def compliance(run: Run, q: Any, n: Any) -> float:
    """c_n [m/N] of the controlled tool along the unit vector n at posture q; 1 mm/N if the law has no K_0."""
    kp = run.session.parts.law.gains.get("kp")
    if kp is None:
        return 1e-3
    J = jacobian(run.task.hand.robot, q)[:3]
    return float(n @ J @ (np.linalg.solve(mass_matrix(run.session.robot, q), J.T @ n) / np.broadcast_to(kp, (len(q),))))


def slide(run: Run, contact: Contact) -> None:
    """Slide from a contact until free, off the planned way, or stuck; mark what is felt, and leave a way to go on."""
    session, hand, grid = run.session, run.task.hand, run.map.grid
    flat = grid.frame[:, : grid.dim] @ grid.frame[:, : grid.dim].T  # projector onto the map
    n = _unit(flat @ contact.felt)
    if n is None:
        return
    size, speed = run.size, run.size / run.task.pace
    q_ref, qd_ref = run.q, np.zeros(len(run.q))
    ref, point, felt = hand.place(q_ref), np.array(contact.actual), flat @ contact.felt
    depth = min(max(float(n @ (point - ref)), 0.0), DEEPEST)
    soft = compliance(run, q_ref, n)
    began, lost, best, since, left_at = session.time, 0, np.inf, session.time, point
    held = max(float(n @ felt), FIRM)
    follow, along, farthest, first, passed = _no_nearer(run, point), None, 0.0, point, point
    while session.time < min(began + LONGEST, run.task.duration - STEP):
        aim, left = _aim(run, point)
        if aim is None:
            break  # no way from here: step back and let the planner say so
        tangent = _unit(aim - n * float(n @ aim))
        if follow and along is not None:
            tangent = _unit(along - n * float(n @ along))
        elif follow and tangent is not None:
            tangent = run.turned * tangent
        if tangent is None or (not follow and float(n @ aim) > LEAVE * float(np.linalg.norm(aim))):
            break
        gone = float(np.linalg.norm(point - first))
        farthest = max(farthest, gone)
        if follow and farthest > ROUND * size and gone < 0.5 * size:
            break  # all the way round
        if np.linalg.norm(point - passed) > HEADWAY * size if follow else left < best - HEADWAY * size:
            best, since, passed = left, session.time, point
        elif session.time - since > PATIENCE:
            run.turned = -run.turned if follow else run.turned
            break
        along = tangent
        over = (float(np.linalg.norm(felt)) - FORCE) / MARGIN
        ahead = speed * STEP * min(max(1.0 - over, SLOWEST), 1.0)
        lead = float(tangent @ (ref - point))
        most = FORCE * soft
        ahead = min(max(min(ahead, most - lead), -most - lead, -RETREAT * speed * STEP), RETREAT * speed * STEP)
        inward = min(max(float(n @ (ref - point)) + depth, -RETREAT * speed * STEP), APPROACH * speed * STEP)
        target = ref + ahead * tangent - inward * n
        if grid.dim == 2:
            target = target - grid.frame[:, 2] * float(grid.frame[:, 2] @ (target - grid.origin))
        if not all(_allowed(run, p) for p in (point, target, target + depth * n)):
            break  # along a surface it would get around the map's bounds
        try:
            q1 = hand.postures(target[None], q_ref, ["point to slide to"])[0]
        except InputError:
            break
        twist = np.concatenate([(target - ref) / STEP, np.zeros(3)])
        qd1 = np.linalg.lstsq(jacobian(hand.robot, q1), twist, rcond=None)[0]
        session.follow(glide(Reference(q_ref, qd_ref, 0.0 * qd_ref), q1, qd1, STEP))
        until = session.time + STEP
        while session.time < until - 0.5 * session.parts.period:
            session.run(until - session.time)
        run.task.progress(session.time / run.task.duration, len(run.contacts))
        q_ref, qd_ref, ref = q1, qd1, target
        point = hand.place(session.state[0][: session.parts.n])
        felt = flat @ session.loop.get("wrench_ext")[0][:3]
        press = float(n @ felt)
        held += SMOOTH * (press - held)
        lost = lost + 1 if held < FIRM else 0
        if lost >= LOST_STEPS:
            break
        turned = _unit(felt)
        if press >= LOST and turned is not None:
            n = _unit((1.0 - SMOOTH) * n + SMOOTH * turned)
            assert n is not None, "both point the same way"
            if held >= FIRM:
                _mark(run, point - BEHIND * n)
        left_at = _remember(run, point, n, left_at)
        soft = compliance(run, q1, n)
        deepest = min(DEEPEST, HARDEST * FORCE * soft)
        depth = float(np.clip(depth + INTEGRAL * (FORCE - press) * soft, -0.2 * size, deepest))
    run.q, run.qd = q_ref, 0.0 * q_ref
    _leave(run, point, n)


def _no_nearer(run: Run, point: Any) -> bool:
    """Whether the last contacts, this one included, did not make the way to the goal shorter than it had been."""
    run.ways.append(_aim(run, point)[1])
    return min(run.ways[-STUCK:]) > min(run.ways[:-STUCK], default=np.inf) - run.size


def _allowed(run: Run, point: Any) -> bool:
    """Whether a point lies within the map, the ring that bounds it excluded."""
    grid = run.map.grid
    cell = grid.cell(point)
    edge = np.asarray(grid.shape) - 1 + grid.first
    on_ring = run.map.ring and bool(((cell == grid.first) | (cell == edge)).any())
    return bool(grid.inside(cell)) and not on_ring


def _aim(run: Run, point: Any) -> tuple[Any, float]:
    """Vector (3,) to a place on the planned way a little ahead, and the length of the way; None if there is no way."""
    grid = run.map.grid
    cell = tuple(int(c) for c in grid.cell(point))
    start = cell if grid.inside(cell) and not run.map.blocked()[grid.index(cell)] else _beside(run, point)
    if start is None:
        return None, np.inf
    plan = run.task.planner(run.map, start, run.task.goal)
    if not plan.ok:
        return None, np.inf
    ahead = plan.path[min(AHEAD, len(plan.path) - 1)]
    return grid.centre(ahead) - point, plan.cost * run.size


def _beside(run: Run, point: Any, n: Any = None) -> Any:
    """The free cell whose centre is nearest to a point within two cells, None if all are blocked.

    With a surface normal n only cells that lie away from the surface count: others may be behind it.
    """
    grid = run.map.grid
    cell, blocked = grid.cell(point), run.map.blocked()
    around = np.stack(np.meshgrid(*[np.arange(-2, 3)] * grid.dim, indexing="ij"), -1).reshape(-1, grid.dim) + cell
    around = around[grid.inside(around)]
    free = around[~blocked[tuple((around - grid.first).T)]]
    way = grid.centre(free) - point
    away = (way**2).sum(axis=1)
    if n is not None:
        ahead = way @ n > AWAY * np.sqrt(away)
        free, away = free[ahead], away[ahead]
    if not len(free):
        return None
    return tuple(int(c) for c in free[int(np.argmin(away))])


def _mark(run: Run, point: Any) -> None:
    """Put the surface behind the tool on the map, unless that cell is known already."""
    grid = run.map.grid
    cell = tuple(int(c) for c in grid.cell(point))
    if cell != run.task.goal and grid.inside(cell) and not np.asarray(run.map.felt)[grid.index(cell)]:
        run.maps[-1] = run.map.with_felt(cell)


def _remember(run: Run, point: Any, n: Any, last: Any) -> Any:
    """Put a posture just off the surface on the trail every half cell, so that the way back follows the surface."""
    if np.linalg.norm(point - last) < 0.5 * run.size or not _allowed(run, point + OFF * run.size * n):
        return last
    try:
        run.trail.append(
            run.task.hand.postures((point + OFF * run.size * n)[None], run.q, ["point beside the surface"])[0]
        )
    except InputError:
        return last
    return point


def _leave(run: Run, point: Any, n: Any) -> None:
    """Put the way off the surface on the trail: where the arm is, and the centre of the free cell beside it."""
    cell = _beside(run, point, n)
    if cell is None:
        return
    try:
        run.trail.append(run.task.hand.postures(run.map.grid.centre(cell)[None], run.q, [f"cell {cell}"])[0])
    except InputError:
        return


def _unit(v: Any) -> Any:
    size = float(np.linalg.norm(v))
    return None if size < 1e-6 else v / size
