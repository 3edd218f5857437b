# SPDX-License-Identifier: Apache-2.0
"""A run with the whole arm: plan in joint space, and block the configuration in which something was felt.

Every contact blocks the configuration in which it was felt together with all within a fixed distance of motion, or
blocks more around one that was blocked before. The space of configurations is bounded, so a run ends after finitely
many contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.exploration.arm.arm_job import reach_grid
from armwright.exploration.arm.felt_places import FeltContact, contact_of, listen
from armwright.exploration.arm.plan_arm import arm_motion, go, plan_anew, retract, still_touching
from armwright.exploration.arm.touch_map import TouchMap, empty_map, ends_at, thinned
from armwright.exploration.exploration_run import SET_OUT_SECONDS, ExplorationRun, Progress
from armwright.exploration.ride_steps import advance, followed
from armwright.kinematics import fk
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.exploration.arm.arm_job import ArmJob
    from armwright.exploration.arm.felt_places import ContactPlaces
    from armwright.exploration.exploration_result import Contact
    from armwright.exploration.ride import Ride
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.joint.joint_plan import JointPlan
    from armwright.types import Array

DOUBT = 0.05  # [s] before an alarm in which the arm may already have touched: ten times the delay of an alarm
TRAIL_SPACING = 0.01  # [m] of motion between configurations of the trail: two thirds of the ball about a felt place
ARM_ROW_STRIDE = 5  # every fifth recorded row is used: 2.5 mm apart at 0.25 m/s and 500 Hz
ALONG = np.linspace(0.0, 1.0, 7)  # points along a link's axis for the drawn grid: 7 cm apart on a UR5's upper arm


class ArmRun(ExplorationRun[FeltContact]):
    """The state of a run with the whole arm."""

    def __init__(self, job: ArmJob, ride: Ride, progress: Progress | None = None) -> None:
        """Begin at rest, knowing nothing."""
        super().__init__(ride, job.budget, progress)
        self.job, self.reaction, self.goal_point = job, job.reaction, job.place
        self.maps: list[TouchMap] = [empty_map(job.believed, job.q0, job.goals, job.margin)]
        self.grids: list[GridMap] = [reach_grid(job.believed)]
        self.plans: list[JointPlan] = []
        q0 = ride.reference().q
        self.trail: list[Array] = [q0]  # driven through without contact, the last one free as far as known
        self.planning = 0.0  # [s] spent on planning

    @property
    def map(self) -> TouchMap:
        """Return what is known now."""
        return self.maps[-1]

    def tool(self) -> Array:
        """Return the tool's position (3,) [m]."""
        return np.asarray(fk(self.job.believed, self.ride.measured().q)[:3, 3])

    def felt_settings(self) -> dict[str, Any]:
        """Return what the settings of a run say about planning and feeling."""
        return {"planning_s": self.planning, "torque_std": np.sqrt(np.diag(self.job.noise.soon)).tolist()}

    def begin(self) -> None:
        """Listen before the arm moves."""
        q0 = self.trail[0]
        self.set_out_at = followed(self.ride, Reference(q0, np.zeros(len(q0)), np.zeros(len(q0))))
        if advance(self.ride, min(SET_OUT_SECONDS, self.budget.duration)) == "alarm":
            self.notice("alarm")
            self.touched(self.place())

    def set_out(self) -> float | None:
        """Step back to where a plan begins, and follow it."""
        found = plan_anew(self)
        if found is None:
            return None
        if self.contacts:
            end = len(self.trail) - found.back
            there = go(self, np.array(self.trail[end - 1 :][::-1]))
            del self.trail[end:]
            if self.out_of_time() or self._still_touching(there):
                return None
        if self.out_of_time():
            return None
        self.plans[len(self.maps) - 1 :] = [found.plan]
        motion = arm_motion(self.job.believed, self.map.links, found.plan.path, self.job.speed, found.known)
        self.set_out_at = self.since = followed(self.ride, motion)
        return motion.duration

    def _still_touching(self, there: bool) -> bool:
        """Return whether the arm still touches after stepping back; if it does all the way, it is boxed in."""
        if not still_touching(self, there):
            return False
        if not self.trail:
            self.end("boxed in", "still in contact after going back all the way to the start")
        return True

    def resume(self) -> None:
        """Put what the arm drove through and where it stands on the trail."""
        self._sweep(0.0)
        self.trail.append(self.ride.reference().q)

    def place(self) -> FeltContact:
        """Brake, listen, and find the places that explain the torques."""
        return listen(self)

    def record(self, felt: FeltContact) -> Contact:
        """Return the contact; what the arm drove through until shortly before it counts as free space."""
        contact = contact_of(self, felt)
        self._sweep(self.ride.time - felt.time + max(DOUBT, self.ride.lag))
        return contact

    def loudest(self, felt: FeltContact) -> float:
        """Return the instant while listening at which the torque was largest."""
        return felt.heard

    def loudness(self, felt: FeltContact) -> str:
        """Return the torque of the joint that felt most, as text."""
        return f"{np.abs(felt.tau).max():.1f} N m"

    def arrive(self) -> None:
        """Mark what the arm drove through as free space."""
        self._sweep(0.0)

    def _sweep(self, doubt: float) -> None:
        """Mark what the arm drove through in this leg as free space, and put it on the trail."""
        passed = self.ride.passed(self.since)
        rows = passed.q[passed.t < self.ride.time - doubt]
        rows = thinned(self.job.believed, self.map.links, rows[::ARM_ROW_STRIDE], TRAIL_SPACING)
        self.since = self.ride.time
        if not len(rows):
            return
        self.trail.extend(rows[1:])
        self.maps[-1] = self.map.with_swept(rows)
        ends = ends_at(self.job.believed, self.map.links, rows)
        points = ends[:, :, 0, None] + ALONG[:, None] * (ends[:, :, 1] - ends[:, :, 0])[:, :, None]
        grid = self.grids[-1]
        inside = points.reshape(-1, 3)[grid.grid.inside(grid.grid.cell(points.reshape(-1, 3)))]
        self.grids[-1] = grid.sweep(inside) if len(inside) else grid

    def mark(self, felt: FeltContact) -> None:
        """Put a new contact on new maps."""
        self.maps.append(self.map)
        self.grids.append(self.grids[-1])
        self.mark_places(felt.places, felt.q)

    def mark_places(self, places: ContactPlaces, q: Array) -> None:
        """Put places that were felt in a configuration (n,) on the present maps."""
        number, trail = len(self.contacts) - 1, np.array(self.trail)
        known = self.map.with_contact(places.points, places.share, places.sure, number, q, trail)
        grid = self.grids[-1]
        cells = [tuple(c) for c in grid.grid.cell(places.points).tolist()] if len(places.points) else []
        cells = [c for c in dict.fromkeys(cells) if grid.grid.inside(np.array(c))]
        self.maps[-1], self.grids[-1] = known, grid.with_felt(*cells) if cells else grid

    def retract(self, felt: FeltContact) -> None:
        """Give way to the felt torque first."""
        retract(self, felt.q, felt.tau)

    def slide(self, felt: FeltContact) -> None:
        """Slide along the surface."""
        from armwright.exploration.arm.arm_slide import slide

        slide(self, felt)
