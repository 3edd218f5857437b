# SPDX-License-Identifier: Apache-2.0
"""Rehearsal on the wire: move where nothing is, in the way of the task, and learn what free motion feels like.

Bands belong to an arm, its load, its temperature, and to the servo and the speed that they were learned with. So every
job begins with a rehearsal: a minute of motion whose residuals set the bands (`learned`), and another one, felt with
those bands, in which no alarm may come.

Ways of a task on a map are planned as the run plans them, on the same map lifted above everything. Those of the whole
arm stay within a box of joint angles about the start. Every joint is moved: one that never moves has no band. And
joints rest, as they will in the task: friction leaves a resting one anywhere in its own band, and seldom at the edge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from armwright.contact.detectors.friction_band import LASTING
from armwright.dynamics import gravity_torque
from armwright.errors import InputError
from armwright.exploration.arm.plan_arm import arm_motion
from armwright.exploration.grid.held_tool import paced, path_rows
from armwright.exploration.ride_steps import RideRefusedError, advance, followed
from armwright.identify.identified import RESTING_BAND_FACTOR, Bands
from armwright.kinematics.jacobians import frame_jacobian
from armwright.live.wire_feeling import WireFeeling, surely
from armwright.live.wire_rows import DRIVEN, PLACES
from armwright.motion import piecewise_quintic
from armwright.planning import AStar
from armwright.planning.obstacles import contact_capsules
from armwright.planning.waypoints import densified
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from armwright.exploration.grid.held_tool import HeldTool
    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.live.wire_ride import WireRide
    from armwright.motion.trajectory import Trajectory
    from armwright.planning.grid.grid_map import GridMap, Integers
    from armwright.robot.model import Robot
    from armwright.types import Array

REHEARSED_SECONDS = 60.0  # of motion that bands are learned from, and as long again to try them
BAND_MARGIN = 1.3  # band over the largest residual: a minute does not show the largest of an hour
CAP_MARGIN = 2.0  # of the torque that is given way to at once, without waiting: over the largest residual
FIRST_WIDTH = 2.0  # times the bands of the model's file, until there are any of today
WIGGLE, WIGGLE_TOOL = 0.12, 0.03  # [rad] of a joint by itself, and most that the tool moves by it [m]
WIGGLE_SPEED = 0.15  # [rad/s]
BREAK_OFF_SECONDS = 1.5  # of a motion that may be broken off by the reflex
PAUSE_SECONDS = 0.25  # after a motion
STANDING_PAUSE = 1.5  # [s] after a motion of the whole arm, whose planner thinks for seconds while it stands
RESTING_SHARE = 0.5  # of its ways on which some joints rest, and of the joints that do: at rest friction is felt most
UPWARDS = np.array([0.0, 0.0, 1.0])
LEAST_MOVING = 3.0  # [s] of motion of a joint below which its band is what its friction hides
TRIES = 40  # cells that are tried for one way: inverse kinematics may find none at many of them
NARROW_BAND = 1e-6  # [N m] bands of which every residual is beyond


class LearnedBands(NamedTuple):
    """What free motion has shown.

    Attributes:
        bands: of the detector. torque: (n,) external torque, beyond what stiction can hold, that is given way to at
            once [N m].
        force: largest force on the tool that free motion was felt as, stiction left out [N]; noticed: with it.
    """

    bands: Bands
    torque: Array
    force: float
    noticed: float


class WayMaker(Protocol):
    """Makes free motions, one after another, and the way home."""

    @property
    def anywhere(self) -> bool:
        """Whether the next motion may begin anywhere on the last one."""
        ...

    @property
    def pause(self) -> float:
        """Return the time to stand after a motion [s]."""
        ...

    def next(self, q: Array) -> Trajectory:
        """Return the next motion, from rest at q (n,)."""
        ...

    def home(self, q: Array) -> list[Trajectory]:
        """Return the motions from rest at q (n,) back to where the rehearsal began."""
        ...


def lifted(where: GridMap, lift: float) -> GridMap:
    """Return an empty map of the same cells, `lift` [m] above."""
    grid = replace(where.grid, origin=np.asarray(where.grid.origin) + lift * UPWARDS)
    return replace(where, grid=grid, felt=None, swept=None)


def wiggles(robot: Robot, q: Array) -> list[Trajectory]:
    """Return motions of one joint after another, to both sides and back, that hardly move the tool."""
    levers = np.linalg.norm(np.asarray(kernel(robot, frame_jacobian)(q))[:3], axis=0)
    out = []
    for j in range(robot.n):
        size = min(WIGGLE, WIGGLE_TOOL / max(float(levers[j]), 1e-9))
        rows = np.tile(q, (5, 1))
        rows[1:4, j] = np.clip(q[j] + size * np.array([1.0, 0.0, -1.0]), robot.lower[j], robot.upper[j])
        out.append(piecewise_quintic(rows, max(0.5, size / WIGGLE_SPEED)))
    return out


class MapWays:
    """Ways of a tool over the lifted map, planned as those of a run.

    Attributes:
        up: the configuration (n,) above the start.
    """

    pause = PAUSE_SECONDS

    def __init__(self, tool: HeldTool, where: GridMap, q0: Array, lift: float, pace: float, seed: int) -> None:
        """Find the way up.

        Raises:
            InputError: there is none: a place above the start is out of reach.
        """
        self._tool, self._map, self._pace = tool, lifted(where, lift), pace
        self._size = float(np.min(np.asarray(where.grid.cell_size)))
        self._rng, self._planner = np.random.default_rng([seed, 29]), AStar()
        start = tool.place(q0)
        points = densified(np.stack([start, start + lift * UPWARDS]), self._size)[1:]
        self._rise = np.vstack([q0, tool.configurations(points, q0, ["lifted start"] * len(points))])
        self.up = self._rise[-1]
        self._first = [self._paced(self._rise), *wiggles(tool.robot, self.up)]
        self._free = np.argwhere(~self._map.blocked()) + where.grid.first

    def _paced(self, rows: Array) -> Trajectory:
        return paced(self._tool, rows, self._pace, self._size)[0]

    def _rows(self, q: Array, cell: Integers) -> Array:
        """Return rows from q to the middle of a cell.

        Raises:
            InputError: there is no way, or a place on it is out of reach.
        """
        here = tuple(int(c) for c in self._map.grid.cell(self._tool.place(q)))
        plan = self._planner(self._map, here, tuple(int(c) for c in cell))
        if not plan.ok:
            raise InputError(f"rehearsal: {plan.message}")
        return np.vstack([q, path_rows(self._tool, self._map, plan, q, cut=True)])

    @property
    def anywhere(self) -> bool:
        """Whether rise and single joints are over."""
        return not self._first

    def next(self, q: Array) -> Trajectory:
        """Return the rise and the single joints first, then ways to random cells."""
        if self._first:
            return self._first.pop(0)
        for _ in range(TRIES):
            cell = self._free[self._rng.integers(len(self._free))]
            try:
                rows = self._rows(q, cell)
            except InputError:
                continue
            if len(rows) > 2:
                return self._paced(rows)
        raise InputError(f"rehearsal: no way over the lifted map was found in {TRIES} tries; another lift or map")

    def home(self, q: Array) -> list[Trajectory]:
        """Return the way to above the start, then down."""
        if self._first:  # the rise was interrupted, or is still to come
            k = int(np.argmin(np.linalg.norm(self._rise - q, axis=1)))
            return [self._paced(np.vstack([q, self._rise[k::-1]]))]
        cell = self._map.grid.cell(self._tool.place(self.up))
        rows = np.vstack([self._rows(q, cell), self.up])
        return [self._paced(rows), self._paced(self._rise[::-1])]


class JointWays:
    """Ways of the whole arm within a box of joint angles about the start."""

    anywhere, pause = True, STANDING_PAUSE

    def __init__(self, robot: Robot, q0: Array, free: float, speed: float, seed: int) -> None:
        self._robot, self._q0, self._speed = robot, q0, speed
        self.lower, self.upper = np.maximum(q0 - free, robot.lower), np.minimum(q0 + free, robot.upper)
        self._links, self._rng = contact_capsules(robot), np.random.default_rng([seed, 29])

    def _way(self, rows: Array) -> Trajectory:
        return arm_motion(self._robot, self._links, rows, self._speed)

    def next(self, q: Array) -> Trajectory:
        """Return a way through two random places of the box, on which some joints may rest."""
        rows = self._rng.uniform(self.lower, self.upper, (2, self._robot.n))
        resting = self._rng.random(self._robot.n) < RESTING_SHARE
        if self._rng.random() < RESTING_SHARE and not resting.all():
            rows[:, resting] = q[resting]
        return self._way(np.vstack([q, rows]))

    def home(self, q: Array) -> list[Trajectory]:
        """Return the way to the start."""
        return [self._way(np.vstack([q, self._q0]))]


def rehearse(ride: WireRide, ways: WayMaker, seconds: float, rng: np.random.Generator) -> bool:
    """Move for so long, return to the start; return whether no alarm came. It stops at the first, and goes home.

    Every other motion is broken off by the reflex, as a contact would: what the arm feels while it gives way to
    nothing and sets out anew is free motion, too.

    Raises:
        RideOverError: the ride is over.
        RideRefusedError: no motion was allowed.
    """
    until, quiet, refused = ride.stamp + seconds, True, 0
    while quiet and ride.stamp < until:
        motion = ways.next(ride.reference().q)
        try:
            followed(ride, motion)
        except RideRefusedError:
            refused += 1
            if refused > TRIES:
                raise
            continue
        if ways.anywhere and motion.duration > BREAK_OFF_SECONDS and rng.random() < 0.5:
            quiet = went(ride, rng.uniform(0.3, 0.9) * motion.duration)
            if quiet:
                ride.practise()
        else:
            quiet = went(ride, motion.duration + ways.pause)
    for motion in ways.home(ride.reference().q):
        followed(ride, motion)
        quiet = went(ride, motion.duration + PAUSE_SECONDS) and quiet
    return quiet


def went(ride: WireRide, seconds: float) -> bool:
    """Go on for so long; return whether no alarm came."""
    until = ride.time + seconds
    while ride.time < until - 0.5 * ride.period:
        if advance(ride, until - ride.time) == "alarm":
            return False
    return True


def learned(
    identified: Identified, rows: Array, period: float, payload: PayloadEstimate | Array | None = None
) -> LearnedBands:
    """Learn from the rows (T, `wire_rows.WIDTH`) of free motion; more of them may be stacked.

    The observers are run again over the rows and begin anew where they did on the ride. The band of a moving joint is
    `BAND_MARGIN` times its largest residual, that of resting ones as many times what lasted, in Coulomb bands.
    """
    n = identified.n
    feeling = WireFeeling(identified, Bands(np.ones(n), np.ones(n), np.full(n, NARROW_BAND)), period, payload=payload)
    tau, band, force = np.zeros((len(rows), n)), np.zeros((len(rows), n)), np.zeros((len(rows), 2))
    stamps, kinds = rows[:, PLACES["device_time"].start], rows[:, PLACES["kind"].start]
    q, qd, current = (rows[:, PLACES[name]] for name in ("q", "qd", "current"))
    driven, last = kinds == DRIVEN, -np.inf
    for k in range(len(rows)):
        if not 0.0 < stamps[k] - last < 3.0 * period or (driven[k] and not driven[k - 1]):
            feeling.reset()
        last = stamps[k]
        now = feeling.feel(q[k], qd[k], current[k])
        tau[k], band[k] = now.tau_ext, now.band
        force[k] = np.linalg.norm(surely(feeling, q[k], now.tau_ext, now.band)), np.linalg.norm(now.force)
    if not driven.any():
        raise InputError("rehearsal: nothing was recorded that bands could be learned from")
    moving = (band <= NARROW_BAND * 1.001) & driven[:, None]
    size = np.abs(tau)
    in_motion = np.where(moving, size, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma = np.sqrt((in_motion**2).sum(axis=0) / moving.sum(axis=0))
        shares = np.where(driven[:, None] & ~moving, size / (band / RESTING_BAND_FACTOR), 0.0)
    unseen = RESTING_BAND_FACTOR * np.maximum(identified.friction.coefficients[:, 2], 1e-3)
    known = np.maximum(BAND_MARGIN * in_motion.max(axis=0), 1e-3)
    motion = np.where(moving.sum(axis=0) * period > LEAST_MOVING, known, np.maximum(known, unseen))
    rest = max(RESTING_BAND_FACTOR, BAND_MARGIN * float(_lasting(shares, LASTING, period).max()))
    held = np.where(moving, 0.0, rest * band / RESTING_BAND_FACTOR)
    largest = np.where(driven[:, None], np.maximum(size - held, 0.0), 0.0).max(axis=0)
    bands = Bands(sigma, largest, motion, rest, float(driven.sum() * period))
    caps = CAP_MARGIN * np.maximum(largest, motion / BAND_MARGIN)
    return LearnedBands(bands, caps, *(float(f) for f in force[driven].max(axis=0)))


def _lasting(shares: Array, seconds: float, period: float) -> Array:
    """Return the largest values (T', n) that lasted for so long."""
    width = min(len(shares), max(1, round(seconds / period)))
    return np.asarray(np.lib.stride_tricks.sliding_window_view(shares, width, axis=0).min(axis=-1))


def first_bands(identified: Identified) -> Bands:
    """Return the bands to rehearse with: those of the file, widened, or what friction and weight suggest."""
    if identified.bands is not None:
        known = identified.bands
        return replace(known, motion=FIRST_WIDTH * known.motion, rest=FIRST_WIDTH * known.rest)
    c = np.maximum(identified.friction.coefficients, 0.0)
    weight = np.abs(np.asarray(gravity_torque(identified.robot, np.zeros(identified.n))))
    return Bands(np.ones(identified.n), np.ones(identified.n), 2.0 * c[:, 2] + 0.1 * weight + 1.0)
