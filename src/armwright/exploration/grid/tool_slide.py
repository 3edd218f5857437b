# SPDX-License-Identifier: Apache-2.0
"""Sliding along what was touched, under force control (the future work of 000's author).

Hybrid position/force control by the reference: under computed torque the tool yields along the surface normal n like
a spring of compliance c_n = nᵀ J K_0⁻¹ M⁻¹ Jᵀ n (from 000 eq. 5.5). So a desired position that lies F·c_n behind the
surface presses with F. Every `STEP` seconds the normal is taken from the felt force, the depth is corrected by what
the felt force lacks (integral control), and the desired position moves along the tangent that the planner's way points
to.

A second surface (the corner between two walls, the notch between two cylinders) is met at the speed of sliding, and a
stiff one turns speed into force: v √(k m). So the desired position moves on from where it is, not from where the tool
bounced to; it never comes nearer to the surface faster than `APPROACH_SPEED_SHARE`, slows down as the felt force uses
up the `MARGIN` above the wanted one, and leads the tool by no more than what presses with `TOOL_PRESS_FORCE` against
whatever stops it. Every cell behind the surface is marked as it is passed: one contact shows a whole wall.

A tool that moves along a surface is dragged against its motion, by friction and by the observer's lag. The drag is no
part of the normal: the normal is the felt force across the motion of the tool, and all of it where the tool stands.
There it touches a second wall: the force of both turns the normal, and the tangent leads along the second one.

It ends when contact is lost (the corner has been rounded), when the way leads off the surface, when it makes no
headway, or when the surface has been known for `KNOWN_CELLS`. The reference then comes to rest where the tool is, and
the way off leads to a cell before every wall that was felt near there.

In a deep pocket that does not end well: the shortest way through what is not felt yet leads from wall to wall. So when
`STUCK_CONTACTS` contacts in a row have not made the way shorter than it had been, the surface is followed to its end,
whatever the planner's way says: to the side on which it is not known yet; if neither or both are known, in the other
direction than the one in which the arm got stuck, left the map, or found nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.monitor_makers import FORCE as ALARM
from armwright.errors import InputError
from armwright.exploration.exploration_run import DIRECTION_SMOOTHING, SLIDE_PATIENCE, SLIDE_STEP
from armwright.exploration.ride_steps import followed, glide, wait
from armwright.kinematics import jacobian
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Contact
    from armwright.exploration.grid.grid_run import GridRun
    from armwright.types import Array

STEP = SLIDE_STEP
TOOL_PRESS_FORCE = 8.0  # [N] to press with: twice `FIRM`, and a third below the threshold of 12 N that made the alarm
FIRM = 4.0  # [N], smoothed, below which there is no contact: jerks of the reference feel as strong at times
LOST = 0.5 * FIRM  # [N] below which a force has no direction
LOST_STEPS = 8  # steps without contact before it counts as lost: `DIRECTION_SMOOTHING` has then forgotten all but 6 %
DEPTH_CORRECTION = (
    0.25  # share of the missing depth that is corrected in a step: the arm follows a step late, so not all of it
)
AIM_CELLS = 3  # cells on the planned way to aim at: nearer ones make the tangent flicker between neighbours
LEAVE_NORMAL_COSINE = 0.6  # cosine to the normal above which the way leads off the surface: about 50 degrees
HEADWAY_CELLS = 0.25  # cells that must be gained within `SLIDE_PATIENCE`: a twelfth of the pace
TOOL_SLIDE_SECONDS = 60.0  # [s] of sliding: at half a second per cell farther than once around the UR5's map (68 cells)
SURFACE_DEPTH = (
    1e-3  # [m] behind the tool where the surface is put on the map: more would mark cells that nothing touches
)
OFF_SURFACE_COSINE = 0.5  # cosine to the normal of a way that leads off the surface: within 60 degrees of it
RETURN_CELLS = 0.3  # cells off the surface where the way back leads: clear of it, and still in the cell or the next
TOOL_PRESS_FACTOR = (
    2.0  # times `TOOL_PRESS_FORCE` that the desired position may press with at most: soft necks are not to be forced
)
LARGEST_PRESS_DEPTH = (
    0.02  # [m] of the desired position behind the surface: a UR5 yields by less under the hardest press
)
SHALLOWEST = -0.2  # cells; where a force is too large the desired position lies before the surface, by at most this
APPROACH_SPEED_SHARE, RETREAT_SPEED_SHARE = (
    0.5,
    2.0,
)  # of the sliding speed, along the normal, into the surface and away from it
MARGIN = ALARM  # [N] above `TOOL_PRESS_FORCE` at which sliding has slowed down to `SLOWEST_SPEED_SHARE`
SLOWEST_SPEED_SHARE = 0.2  # share of the sliding speed: enough to get away from what pushes
STUCK_CONTACTS = 3  # contacts that bring the goal no nearer, after which a surface is followed to its end
ROUND_TRIP_CELLS = 3.0  # cells that the arm must have been away before it can have come round: as far as it looks ahead
SIDE_CELLS = 1.5  # cells to either side where it is looked whether a surface is known: past the cell just felt
KNOWN_CELLS = 3.0  # cells along a surface that was on the map already, after which nothing new is to be expected
DRAGGED_SHARE = 0.3  # share of the wanted motion above which the tool moves: below, a second surface holds it
LET_GO = 0.3  # [s] to bring the reference to where the tool is: seven time constants of a UR5's slowest joint
FREE_SEARCH_CELLS = 2  # cells about the tool in which a free one is looked for
TOOL_COMPLIANCE = (
    1e-3  # [m/N] of a tool whose law says nothing about its stiffness: twice a UR5's under computed torque
)


def compliance(run: GridRun, q: Array, n: Array) -> float:
    """Return c_n [m/N] of the controlled tool along the unit vector n at q; `TOOL_COMPLIANCE` if the law has no K_0."""
    J = jacobian(run.held_tool.robot, q)[:3]
    yielding = run.ride.gives_way(q, J.T @ n)
    return TOOL_COMPLIANCE if yielding is None else float(n @ J @ yielding)


def slide(run: GridRun, contact: Contact) -> None:
    """Slide from a contact until free, off the planned way, or stuck; mark what is felt, and leave a way to go on."""
    grid = run.map.grid
    flat = grid.frame[:, : grid.dim] @ grid.frame[:, : grid.dim].T  # projector onto the map
    n = _first_normal(run, flat @ contact.felt, flat)
    if n is None:
        return
    state = _Slide(run, contact, n, flat)
    until = min(run.ride.time + TOOL_SLIDE_SECONDS, run.until - STEP)
    while run.ride.time < until:
        tangent = state.tangent()
        if tangent is None or not state.move(tangent) or not state.feel():
            break
    state.let_go()
    _leave(run, state.point, state.n, state.near_faces())


def _first_normal(run: GridRun, felt: Array, flat: Array) -> Array | None:
    """Return the normal to begin with (3,): the felt force, or against the motion where it is too faint to have one.

    Args:
        run: with the reference's position and velocity at the alarm.
        felt: force in the map (3,) [N].
        flat: projector onto the map (3, 3).
    """
    back = _unit(-flat @ jacobian(run.held_tool.robot, run.q)[:3] @ run.qd)
    if np.linalg.norm(felt) < LOST and back is not None:
        return np.asarray(back)
    return _unit(felt)


class _Slide:
    """A slide under way: the desired tool position `ref`, where the tool is, and what it feels."""

    n: Array
    along: Array | None

    def __init__(self, run: GridRun, contact: Contact, n: Array, flat: Array) -> None:
        self.run, self.n, self.flat = run, n, flat
        self.speed = run.size / run.pace
        self.q, self.qd = run.q, np.zeros(len(run.q))
        self.ref, self.point, self.felt = run.held_tool.place(self.q), np.array(contact.actual), flat @ contact.felt
        self.depth = min(max(float(n @ (self.point - self.ref)), 0.0), LARGEST_PRESS_DEPTH)
        self.soft = compliance(run, self.q, n)
        self.held, self.lost = max(float(n @ self.felt), FIRM), 0
        self.left_at = self.passed = self.first = self.point
        self.best, self.since, self.farthest = np.inf, run.ride.time, 0.0
        self.follow, self.along = _no_nearer(run, self.point), None  # to the surface's end, in the direction begun
        self.known = 0.0  # [m] since the map last grew
        self.faces: list[tuple[Array, Array]] = []  # points of surfaces that the tool moved along, and their normals

    def tangent(self) -> Array | None:
        """Return the direction (3,) to go on in; None where sliding ends."""
        run, n, size, time = self.run, self.n, self.run.size, self.run.ride.time
        aim, left = _aim(run, self.point)
        if aim is None:
            return None  # no way from here: step back and let the planner say so
        tangent = _unit(aim - n * float(n @ aim))
        if self.follow and self.along is not None:
            tangent = _unit(self.along - n * float(n @ self.along))
        elif self.follow and tangent is not None:
            tangent = _side(run, self.point, n, tangent) * tangent
        if tangent is None or (not self.follow and float(n @ aim) > LEAVE_NORMAL_COSINE * float(np.linalg.norm(aim))):
            return None
        gone = float(np.linalg.norm(self.point - self.first))
        self.farthest = max(self.farthest, gone)
        if self.follow and self.farthest > ROUND_TRIP_CELLS * size and gone < 0.5 * size:
            return None  # the surface has been followed all the way round
        moved = np.linalg.norm(self.point - self.passed) > HEADWAY_CELLS * size
        if moved if self.follow else left < self.best - HEADWAY_CELLS * size:
            self.best, self.since, self.passed = left, time, self.point
        if time - self.since > SLIDE_PATIENCE or self.known > KNOWN_CELLS * size:
            self._turn()
            return None
        self.along = tangent
        return tangent

    def _turn(self) -> None:
        """Follow the next surface that has to be followed the other way."""
        self.run.turned = -self.run.turned if self.follow else self.run.turned

    def _target(self, tangent: Array) -> Array:
        """Return where the tool shall be next (3,): along the tangent, deep enough behind the surface to press."""
        grid, step = self.run.map.grid, self.speed * STEP
        over = (float(np.linalg.norm(self.felt)) - TOOL_PRESS_FORCE) / MARGIN
        ahead = step * min(max(1.0 - over, SLOWEST_SPEED_SHARE), 1.0)
        lead = float(tangent @ (self.ref - self.point))
        most = TOOL_PRESS_FORCE * self.soft
        ahead = min(max(min(ahead, most - lead), -most - lead, -RETREAT_SPEED_SHARE * step), RETREAT_SPEED_SHARE * step)
        inward = min(
            max(float(self.n @ (self.ref - self.point)) + self.depth, -RETREAT_SPEED_SHARE * step),
            APPROACH_SPEED_SHARE * step,
        )
        target = self.ref + ahead * tangent - inward * self.n
        if grid.dim == 2:
            target = target - grid.frame[:, 2] * float(grid.frame[:, 2] @ (target - grid.origin))
        return target

    def move(self, tangent: Array) -> bool:
        """Move the desired position on by a step; False where it must not or cannot."""
        run, target = self.run, self._target(tangent)
        if not all(_allowed(run, p) for p in (self.point, target, target + self.depth * self.n)):
            self._turn()
            return False  # along a surface the tool would leave the map's bounds
        try:
            q = run.held_tool.configurations(target[None], self.q, ["point to slide to"])[0]
        except InputError:
            return False
        twist = np.concatenate([(target - self.ref) / STEP, np.zeros(3)])
        qd = np.linalg.lstsq(jacobian(run.held_tool.robot, q), twist, rcond=None)[0]
        followed(run.ride, glide(Reference(self.q, self.qd, 0.0 * self.qd), q, qd, STEP))
        wait(run.ride, STEP)
        run.tell()
        self.q, self.qd, self.ref = q, qd, target
        return True

    def feel(self) -> bool:
        """Learn normal and depth from the force, and mark the surface; False where contact is lost."""
        run, n, before = self.run, self.n, self.point
        self.point = run.tool()
        self.felt = self.flat @ run.ride.felt().wrench[:3]
        moved = self.point - before
        self.known += float(np.linalg.norm(moved))
        press = float(n @ self.felt)
        self.held += DIRECTION_SMOOTHING * (press - self.held)
        self.lost = self.lost + 1 if self.held < FIRM else 0
        if self.lost >= LOST_STEPS:
            return False
        turned = _unit(self.felt - self._drag(self.flat @ moved))
        if press >= LOST and turned is not None:
            self.n = n = _unit((1.0 - DIRECTION_SMOOTHING) * n + DIRECTION_SMOOTHING * turned)
            assert n is not None, "both point the same way"
            if self.held >= FIRM and self._moves(moved):
                self.faces.append((self.point, n))
            if self.held >= FIRM and _mark(run, self.point - SURFACE_DEPTH * n):
                self.known = 0.0
        self.left_at = _remember(run, self.point, n, self.left_at)
        self.soft = compliance(run, self.q, n)
        deepest = min(LARGEST_PRESS_DEPTH, TOOL_PRESS_FACTOR * TOOL_PRESS_FORCE * self.soft)
        depth = self.depth + DEPTH_CORRECTION * (TOOL_PRESS_FORCE - press) * self.soft
        self.depth = float(np.clip(depth, SHALLOWEST * run.size, deepest))
        return True

    def let_go(self) -> None:
        """Bring the reference to rest where the tool is: it presses no more, and the next motion begins smoothly."""
        run, ride = self.run, self.run.ride
        seconds = max(min(LET_GO, run.until - ride.time), STEP)
        q, still = ride.measured().q, np.zeros(len(self.q))
        followed(ride, glide(Reference(self.q, self.qd, still), q, still, seconds))
        wait(ride, seconds)
        run.q, run.qd, self.point = q, still, run.tool()

    def _drag(self, moved: Array) -> Array:
        """Return the part of the felt force (3,) that lies along the tool's motion (3,) of the last step."""
        return moved * (float(moved @ self.felt) / float(moved @ moved)) if self._moves(moved) else np.zeros(3)

    def _moves(self, moved: Array) -> bool:
        """Return whether the tool went on by a good part of what was wanted in the last step."""
        return bool(np.linalg.norm(moved) >= DRAGGED_SHARE * self.speed * STEP)

    def near_faces(self) -> list[tuple[Array, Array]]:
        """Return the faces within a cell of the tool: in a corner those of both walls."""
        return [face for face in self.faces if np.linalg.norm(face[0] - self.point) < self.run.size]


def _side(run: GridRun, point: Array, n: Array, tangent: Array) -> float:
    """Return 1 to follow a surface along a tangent, −1 against it: to where it is not on the map yet."""
    grid, felt = run.map.grid, np.asarray(run.map.felt)

    def known(side: float) -> bool:
        cell = grid.cell(point - SURFACE_DEPTH * n + side * SIDE_CELLS * run.size * tangent)
        return not grid.inside(cell) or bool(felt[grid.index(cell)])

    ahead, behind = known(1.0), known(-1.0)
    return run.turned if ahead == behind else (-1.0 if ahead else 1.0)


def _no_nearer(run: GridRun, point: Array) -> bool:
    """Return whether the last contacts, this one included, did not make the way to the goal shorter."""
    run.ways.append(_aim(run, point)[1])
    return min(run.ways[-STUCK_CONTACTS:]) > min(run.ways[:-STUCK_CONTACTS], default=np.inf) - run.size


def _allowed(run: GridRun, point: Array) -> bool:
    """Return whether a point lies within the map, the ring that bounds it excluded."""
    grid = run.map.grid
    cell = grid.cell(point)
    edge = np.asarray(grid.shape) - 1 + grid.first
    on_ring = run.map.ring and bool(((cell == grid.first) | (cell == edge)).any())
    return bool(grid.inside(cell)) and not on_ring


def _aim(run: GridRun, point: Array) -> tuple[Array | None, float]:
    """Return the vector (3,) to a place a little ahead on the planned way, and the way's length; None without a way."""
    grid = run.map.grid
    cell = tuple(int(c) for c in grid.cell(point))
    start = cell if grid.inside(cell) and not run.map.blocked()[grid.index(cell)] else _beside(run, point)
    if start is None:
        return None, np.inf
    plan = run.planner(run.map, start, run.goal)
    if not plan.ok:
        return None, np.inf
    ahead = plan.path[min(AIM_CELLS, len(plan.path) - 1)]
    return grid.centre(ahead) - point, plan.cost * run.size


def _beside(
    run: GridRun, point: Array, n: Array | None = None, faces: Sequence[tuple[Array, Array]] = ()
) -> tuple[int, ...] | None:
    """Return the free cell whose centre is nearest to a point within `FREE_SEARCH_CELLS` cells; None if none is.

    With a surface normal n only cells that lie away from the surface count: others may be behind it. So do only cells
    before all `faces`, points with normals: n may be that of one wall of a corner.
    """
    grid = run.map.grid
    cell, blocked = grid.cell(point), run.map.blocked()
    steps = [np.arange(-FREE_SEARCH_CELLS, FREE_SEARCH_CELLS + 1)] * grid.dim
    around = np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(-1, grid.dim) + cell
    around = around[grid.inside(around)]
    free = around[~blocked[tuple((around - grid.first).T)]]
    way = grid.centre(free) - point
    away = (way**2).sum(axis=1)
    if n is not None:
        ahead = way @ n > OFF_SURFACE_COSINE * np.sqrt(away)
        for at, normal in faces:
            ahead &= (grid.centre(free) - at) @ normal > 0.0
        free, away = free[ahead], away[ahead]
    if not len(free):
        return None
    return tuple(int(c) for c in free[int(np.argmin(away))])


def _mark(run: GridRun, point: Array) -> bool:
    """Put the surface behind the tool on the map; return False if that cell is known already."""
    grid = run.map.grid
    cell = tuple(int(c) for c in grid.cell(point))
    if cell == run.goal or not grid.inside(cell) or np.asarray(run.map.felt)[grid.index(cell)]:
        return False
    run.maps[-1] = run.map.with_felt(cell)
    return True


def _remember(run: GridRun, point: Array, n: Array, last: Array) -> Array:
    """Put a configuration just off the surface on the trail every half cell: the way back follows the surface."""
    if np.linalg.norm(point - last) < 0.5 * run.size or not _allowed(run, point + RETURN_CELLS * run.size * n):
        return last
    try:
        run.trail.append(
            run.held_tool.configurations(
                (point + RETURN_CELLS * run.size * n)[None], run.q, ["point beside the surface"]
            )[0]
        )
    except InputError:
        return last
    return point


def _leave(run: GridRun, point: Array, n: Array, faces: list[tuple[Array, Array]]) -> None:
    """Put the way off the surface on the trail: the centre of the free cell next to the tool, before all `faces`."""
    cell = _beside(run, point, n, faces)
    if cell is None:
        return
    try:
        run.trail.append(run.held_tool.configurations(run.map.grid.centre(cell)[None], run.q, [f"cell {cell}"])[0])
    except InputError:
        return


def _unit(v: Array) -> Array | Any:
    size = float(np.linalg.norm(v))
    return None if size < 1e-6 else v / size
