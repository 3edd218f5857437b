# SPDX-License-Identifier: Apache-2.0
"""The runs of chapter 7 of 000 on two layouts in place of the lost one, and what is measured on them.

The report prints neither how its table of the desired motion is read nor when an alarm ends. `HELD` is the setting of
all figures unless another one is named: the table held, which alone explains the printed error of 1e-3 rad, and an
alarm that ends at 0.7 f_min, which is ours. `BARE` is without that; `SPLINE` follows the spline behind the table.

`tool_cylinders` is the contact model of document 000, exactly: the tool point against upright cylinders (section 7.1).

    v = [P_cyl,x − P_x, P_cyl,y − P_y, 0],  D = |v|
    F = −k (R − D) v/D   if D < R, else 0

summed over the cylinders; no moment, no friction, no damping; cylinders are infinitely tall.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from armwright.contact.detectors import norm_detector
from armwright.errors import InputError
from armwright.exploration.exploration_result import Exploration
from armwright.exploration.explore_options import Budget, Sensing
from armwright.exploration.surroundings import cylinder_forces, cylinder_table, upright_cylinders
from armwright.kinematics.forward import body_poses
from armwright.robot.model import Robot
from armwright.robot.tree import Tree, as_tree
from armwright.spatial.linear import cross
from armwright.studies.doc000_collision.rules import Published, explore_published
from armwright.studies.doc000_collision.setting import arm, f_min, reduced
from armwright.types import Array
from armwright.world.shapes import Cylinder
from armwright.world.world import World

if TYPE_CHECKING:
    from armwright.types import Scalar, Traced


def cylinders_of(world: World) -> tuple[Cylinder, ...]:
    """Return the world's cylinders; anything that model 000 does not know is refused."""
    found = upright_cylinders(world)
    if found is None:
        raise InputError(
            f"world {world.name!r} holds something that is not an upright, infinitely tall cylinder without damping "
            "and friction, which is all that the contact model of document 000 knows; use contact_wrench"
        )
    return found


@lru_cache(maxsize=256)
def tool_cylinders(world: World) -> Callable[..., Traced]:
    """Return the contact model of document 000 as ``wrench(arm, t, q, qd) -> (nb, 6)`` for ``simulate(…, wrench=…)``.

    Args:
        world: upright, infinitely tall cylinders, such as ``load_world("layout-a")``.

    Returns:
        The function; the same object for the same world, so that compiled loops are reused.

    Raises:
        InputError: the world holds something else.
    """
    table = cylinder_table(cylinders_of(world))

    def wrench(arm: Robot | Tree, t: Scalar, q: Traced, qd: Traced) -> Traced:
        tree = as_tree(arm)
        R, p = body_poses(tree, q, tree.ancestors(tree.tip))[tree.tip]
        F = cylinder_forces(table, p + R @ tree.T_tip_tool[:3, 3])
        lever = tree.T_tip_tool[:3, 3] - tree.T_body_link[tree.tip][:3, 3]
        moment = cross(R @ lever, F) if np.abs(lever).max() > 1e-15 else np.zeros(3)
        rows: list[Any] = [np.zeros(6) for _ in range(tree.nb)]
        rows[tree.tip] = np.concatenate([F, moment])
        return np.stack(rows)

    return wrench


LAYOUTS = "AB"
LIMIT = Budget(duration=50.0)


class RunReading(NamedTuple):
    """Choices that the report leaves open: how its table is read, the share of f_min that ends an alarm, the mark."""

    name: str
    table: Literal["hold", "spline"]
    release: float
    place: Literal["desired", "actual"] = "desired"


HELD = RunReading("table held, hysteresis (ours)", "hold", 0.7)
BARE = RunReading("table held, no hysteresis", "hold", 1.0)
SPLINE = RunReading("spline, hysteresis (ours)", "spline", 0.7)
READINGS = (BARE, HELD, SPLINE)
ARMS = {"as published": reduced, "correct": arm}


class Timed(NamedTuple):
    """A run and what it took to compute it [s]."""

    run: Exploration
    seconds: float


@cache
def timed(robot: Robot, layout: str, setting: RunReading = HELD) -> Timed:
    """Return one run by the report's own rules, 50 s and 200 contacts at most."""
    began = time.perf_counter()
    found = explored(robot, layout, setting)
    return Timed(found, time.perf_counter() - began)


def explored(robot: Robot, world: World | str, setting: RunReading) -> Exploration:
    """Return a run by the report's own rules among other obstacles."""
    return explore_published(
        robot,
        world,
        Published(table=setting.table, place=setting.place),
        budget=LIMIT,
        sensing=Sensing(detector=norm_detector(f_min, of="wrench_ext", release=setting.release)),
    )


def run(robot: Robot, layout: str, setting: RunReading = HELD) -> Exploration:
    """Return the same without the clock."""
    return timed(robot, layout, setting).run


@cache
def free_run(robot: Robot, setting: RunReading = HELD) -> Exploration:
    """Return the same motion with nothing in the way."""
    return explore_published(robot, World(name="empty"), Published(table=setting.table))


def reaches(robot: Robot, setting: RunReading = HELD) -> bool:
    """Return whether the arm comes to P_d on both layouts."""
    return all(run(robot, w, setting).reached for w in LAYOUTS)


def arrivals(robot: Robot, setting: RunReading = HELD) -> Array:
    """Return the arrival at P_d on layouts A and B [s]; NaN if never."""
    return np.array([run(robot, w, setting).arrival for w in LAYOUTS])


def counts(robot: Robot, setting: RunReading = HELD) -> Array:
    """Return the detected contacts on layouts A and B."""
    return np.array([float(len(run(robot, w, setting).contacts)) for w in LAYOUTS])


def depth_of_corners(found: Exploration, obstacles: tuple[Cylinder, ...]) -> Array:
    """Return the depth [m] of each marked cell's least deep corner in the obstacles; negative where a cell is cut."""
    grid = found.maps[0].grid
    corner = 0.5 * np.array(grid.cell_size)[:2] * np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    points = grid.centre(np.array(found.cells))[:, None, None, :2] + corner[:, None]
    radius = np.array([s.radius for s in obstacles])
    depth = radius - np.linalg.norm(points - np.array([s.centre[:2] for s in obstacles]), axis=-1)
    return np.asarray(depth.max(axis=2).min(axis=1))


class UnnoticedTouch(NamedTuple):
    """A touch without alarm: when it began [s] and the largest ‖F̂‖ in the 2 s after it [N]."""

    began: float
    felt: float


def unregistered(robot: Robot, layout: str, setting: RunReading = HELD) -> list[UnnoticedTouch]:
    """Return touches, at least 0.1 s after the one before, that no alarm follows within 2 s."""
    rec = run(robot, layout, setting).recording
    t, felt = rec.time, np.linalg.norm(rec["force_felt"], axis=1)
    touching = t[np.linalg.norm(rec["force"], axis=1) > 0.0]
    begins = touching[np.concatenate([[True], np.diff(touching) > 0.1])]
    alarms = np.array([c.time for c in run(robot, layout, setting).contacts])
    missed = [b for b in begins if not ((alarms >= b) & (alarms < b + 2.0)).any()]
    return [UnnoticedTouch(float(b), float(felt[(t >= b) & (t < b + 2.0)].max())) for b in missed]


def missed(robot: Robot) -> Array:
    """Return the number of such touches on layouts A and B."""
    return np.array([float(len(unregistered(robot, w))) for w in LAYOUTS])


class Spike(NamedTuple):
    """The first bounce: its peak [N], and ‖F̂‖ [N] at the peak and until the arm is off the wall again."""

    peak: float
    felt_at_peak: float
    felt_at_end: float


def spike(robot: Robot, layout: str, setting: RunReading = HELD) -> Spike:
    """Measure the first bounce off the first obstacle."""
    rec = run(robot, layout, setting).recording
    force, felt = np.linalg.norm(rec["force"], axis=1), np.linalg.norm(rec["force_felt"], axis=1)
    first = int(np.argmax(force > 0.0))
    off = first + int(np.argmax(force[first:] == 0.0))
    top = first + int(np.argmax(force[first:off]))
    return Spike(float(force[top]), float(felt[top]), float(felt[off]))


def spike_is_missed(robot: Robot, setting: RunReading = HELD) -> bool:
    """Return whether F̂ shows less than a twentieth of the first peak when it happens, on both layouts."""
    return all(spike(robot, w, setting).felt_at_peak < 0.05 * spike(robot, w, setting).peak for w in LAYOUTS)


def correlation(robot: Robot, layout: str, setting: RunReading = HELD) -> tuple[float, float, float]:
    """Return correlation, RMS difference and mean of 0.2 s averages of ‖F‖ and ‖F̂‖ in contact (mean ‖F‖ > 0.5 N)."""
    rec = run(robot, layout, setting).recording
    width = round(0.2 / (rec.time[1] - rec.time[0]))
    end = len(rec.time) // width * width
    a, b = (np.linalg.norm(rec[k][:end], axis=1).reshape(-1, width).mean(axis=1) for k in ("force", "force_felt"))
    a, b = a[a > 0.5], b[a > 0.5]
    return float(np.corrcoef(a, b)[0, 1]), float(np.sqrt(np.mean((a - b) ** 2))), float(a.mean())


def follows(robot: Robot, setting: RunReading = HELD) -> bool:
    """Return whether the slow parts of ‖F‖ and ‖F̂‖ go together: more than half of the variance is common."""
    return all(correlation(robot, w, setting)[0] ** 2 > 0.5 for w in LAYOUTS)


@cache
def fast_run() -> Exploration:
    """Return layout A with the momentum observer that the report gave up, thresholds learned from free motion."""
    return explore_published(arm(), "A", budget=LIMIT, sensing=Sensing("momentum"))
