# SPDX-License-Identifier: Apache-2.0
"""`explore`: send an arm through surroundings that nobody told it about. Go, bump, mark, plan around, arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors import check_above_noise
from armwright.contact.monitor import as_chain
from armwright.control import computed_torque
from armwright.control.law import as_law, check_gains
from armwright.errors import InputError
from armwright.exploration.field import Field, Touching, field_of, find_world
from armwright.exploration.joints.explore import chosen_planner, explore_joints, plans_joints
from armwright.exploration.learn import learned_thresholds
from armwright.exploration.motion import Hand
from armwright.exploration.names import (
    find_detector,
    find_observer,
    find_planner,
    needs_learning,
    omega,
    tool_estimate,
)
from armwright.exploration.result import Exploration
from armwright.exploration.run import Run
from armwright.exploration.task import Published, Task
from armwright.kinematics import fk
from armwright.planning.grid.marking import GOAL_000, START_000, patch_000
from armwright.planning.waypoints import TOOL_DOWN_000
from armwright.recording.signals import Signal
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.tree import tree_of
from armwright.simulation.integrators import method as find_method
from armwright.simulation.loop_stages import Ingredients
from armwright.simulation.session import Session
from armwright.world.world import World

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.control.law import Law
    from armwright.planning.grid.occupancy import GridMap
    from armwright.planning.grid.path_plan import GridPlanner
    from armwright.planning.joint.plan import JointPlanner
    from armwright.simulation.drives import Drive
    from armwright.simulation.friction import FrictionModel
    from armwright.simulation.sensors import JointSensors

Reaction = Literal["back off", "stop", "retract", "slide"]
REACTIONS = ("back off", "stop", "retract", "slide")
Cell = tuple[int, ...]
SEED_000 = (2.5511, -1.1193, 2.5706, 0.1196, 1.5708, -0.5905)
PUBLISHED = {"ur5-ragazzon-published": "ur5-ragazzon"}  # dynamics → the arm that FK, IK and contact see (000 §3.4)


@names_culprit
def explore(
    robot: Robot | str,
    world: World | str | Path | Callable[[Any], Any],
    start: Any = None,
    goal: Any = None,
    *,
    where: GridMap | None = None,
    observer: str | Monitor | Sequence[Monitor] | None = None,
    detector: str | Monitor | None = None,
    planner: str | GridPlanner | JointPlanner | None = None,
    reaction: Reaction = "back off",
    contact: Touching | None = None,
    law: Law | None = None,
    kinematics: Robot | None = None,
    model: Robot | None = None,
    seed_q: Any = SEED_000,
    rotation: Any = TOOL_DOWN_000,
    duration: float = 120.0,
    seconds_per_cell: float = 0.5,
    contact_budget: int = 200,
    rate: float = 500.0,
    substeps: int = 5,
    continuous: bool | None = None,
    published: bool | Published = False,
    tolerance: float = 3e-3,
    drive: Drive | None = None,
    friction: FrictionModel | None = None,
    sensors: JointSensors | None = None,
    seed: int = 0,
    learn_seed: int | None = None,
    slots: int | None = None,
    speed: float = 0.25,
    margin: float = 0.015,
    progress: Callable[[float, int], Any] | None = None,
) -> Exploration:
    """Send the arm from one cell of a map to another through surroundings that nobody told it about.

    With a planner in joint space, start and goal are postures and the whole arm finds its way, see `joints`:
    what any link touches is located as far as the joint torques tell, and the path keeps the whole arm clear of it.

    Args:
        robot: the plant, and the controller's model unless `model` is given; a catalogue name or a `Robot`.
        world: shapes: a `World`, the name of one ("A" and "B" are the layouts of 000), a .toml file; or the contact
            force on the tool as a traced function of its position (3,) → (3,) [N], base axes.
        start: cell of the map, 2-D or 3-D; (2, 11) of 000's patch by default. In joint space a posture (n,), by
            default that of the world's file.
        goal: cell of the map; (18, 7) by default. In joint space a posture (n,), a tool pose (4, 4) or a tool position
            (3,), solved by inverse kinematics; by default that of the world's file.
        where: the map to begin with; the empty patch of 000 by default.
        observer: what gives ``tau_ext``: "closed-loop" (000, the default), "momentum", "kalman", "disturbance",
            "scaled-error", or monitors.
        detector: what raises the alarm: "norm" (‖F̂‖ > 12 N, 000 §3.7; default with "closed-loop"), "adaptive"
            (default otherwise), "joints", "cusum", whose thresholds are learned from contact-free motion first, or a
            monitor.
        planner: on the grid: "hopfield" (default), "dijkstra", "astar", … or a planner. In joint space: "rrt-connect",
            "ompl", or a planner such as `RRTConnect(seed=3)`.
        reaction: to a contact: "back off" (along the way that was driven, to the first free cell, then plan anew),
            "retract" (along the felt force first), "slide" (along the surface under force control, see
            `slide`), "stop".
        contact: what touches: the "tool" point (000) or all "links" as capsules. The cell of the tool then stands for
            the whole posture, and the desired cell is marked; else the cell where the tool is. By default the tool on
            grids, the links in joint space.
        law: the controller; computed torque with the gains of 000 by default.
        kinematics: the arm that FK, IK and the contact see, where it differs from the plant's dynamics (000's
            published arm).
        model: the controller's and the observer's own model of the arm.
        seed_q: joint posture that chooses the IK branch; the run begins there if its tool is in the start cell.
        rotation: tool orientation (3, 3), kept throughout.
        duration: [s] after which the run is given up.
        seconds_per_cell: pace.
        contact_budget: contacts after which the run is given up.
        rate: control ticks per second.
        substeps: RK4 steps per tick.
        continuous: the law acts all the time, as 000 was simulated; by default only with the closed-loop estimate and
            without sensors, else the torque is held between ticks.
        published: 000's own rules where they differ: the desired cell is marked, its back-off rule and clamp, its
            planner, the state of the reference taken over at a trigger, no test whether start or goal are free. What
            the report leaves open is chosen by `Published` in place of True.
        tolerance: distance to the goal that counts as arrived [m].
        drive: motors, as in `simulate`.
        friction: friction model, as in `simulate`.
        sensors: joint sensors, as in `simulate`.
        seed: of noise and, unless `learn_seed` is given, of the motions that thresholds are learned from.
        learn_seed: of those motions alone: runs that share it (and arm, map, pace, …) learn once.
        slots: room for so many cylinders in the compiled loop, so that worlds with fewer share it.
        speed: in joint space: pace of the arm's fastest part [m/s].
        margin: in joint space: distance that the whole arm keeps to felt places [m].
        progress: called with (fraction of the duration, contacts so far).

    Returns:
        An `Exploration` with a named outcome; a `JointExploration` for a run in joint space.

    Raises:
        InputError: before anything is run: a start or goal outside the grid, blocked or out of reach, shapes over the
            robot's base, thresholds below the noise floor, …
    """
    arm = arm_of(robot)
    if kinematics is None and arm.name in PUBLISHED:
        kinematics = arm_of(PUBLISHED[arm.name])
    planner = chosen_planner(planner, arm, world, start, goal, where, contact, bool(published))
    if plans_joints(planner):
        _check(arm, reaction, duration, seconds_per_cell, contact_budget, tolerance, np.zeros(arm.n))
        if published or kinematics is not None or where is not None or contact == "tool":
            raise InputError(
                "explore: planning in joint space is for the whole arm: contact='links', without a map (where), "
                "published or kinematics"
            )
        there, joints = find_world(world) if isinstance(world, (str, Path)) else world, cast("JointPlanner", planner)
        return explore_joints(
            arm,
            there,
            start,
            goal,
            planner=joints,
            observer=observer,
            detector=detector,
            reaction=reaction,
            law=law,
            model=model,
            duration=duration,
            contact_budget=contact_budget,
            rate=rate,
            substeps=substeps,
            tolerance=tolerance,
            drive=drive,
            friction=friction,
            sensors=sensors,
            seed=seed,
            learn_seed=seed if learn_seed is None else learn_seed,
            speed=speed,
            margin=margin,
            progress=progress,
        )
    contact = contact or "tool"
    start, goal = START_000 if start is None else start, GOAL_000 if goal is None else goal
    _check(arm, reaction, duration, seconds_per_cell, contact_budget, tolerance, seed_q)
    if reaction == "slide" and contact == "links":
        raise InputError(
            "explore: on a grid of tool cells only the tool can slide (contact='tool'); with the whole arm plan in "
            "joint space (planner='rrt-connect')"
        )
    kin, believed = kinematics or arm, model or arm
    field = field_of(arm, kin, find_world(world) if isinstance(world, (str, Path)) else world, contact, slots=slots)
    grid = where if where is not None else patch_000(ring=True)
    hand = Hand(kin, np.asarray(rotation, dtype=np.float64))
    q0 = _ends(hand, grid, start, goal, np.asarray(seed_q, dtype=np.float64), bool(published))
    w = omega(arm.n)
    control = as_law(law) if law is not None else computed_torque(w * w, 2.0 * w)
    check_gains(control, arm.n)
    rules = published if isinstance(published, Published) else Published()
    published = bool(published)
    plain = sensors is None and rules.table == "spline" and (observer is None or observer == "closed-loop")
    acts = continuous if continuous is not None else plain
    if acts and sensors is not None:
        raise InputError("explore: sensors sample once a tick; they need a law that is held (continuous=False)")
    watch = find_observer(observer, believed, q0, control.gains.get("kp", w * w), rate)
    parts = Ingredients(
        lanes=field.lanes,
        model=tree_of(believed, regroup=True),
        law=control,
        method=find_method("rk4"),
        period=1.0 / rate,
        continuous=acts,
        drive=drive,
        friction=friction,
        sensors=sensors,
        wrenches=field.wrenches,
        external=field.external,
        model_key=believed,
    )
    fit = None
    if needs_learning(detector, observer):
        fit = learned_thresholds(
            arm,
            believed,
            replace(parts, monitors=as_chain(watch)),
            hand,
            grid,
            q0,
            seconds_per_cell,
            substeps,
            seed if learn_seed is None else learn_seed,
        )
    watch = [*watch, tool_estimate(kinematics), find_detector(detector, watch, fit)]
    if sensors is not None:
        noise = {
            name: getattr(sensors, name)
            for name in ("position_noise", "velocity_noise", "position_resolution", "velocity_resolution")
        }
        check_above_noise(watch[:-1], watch[-1], believed, q0, rate=rate, seed=seed, **noise)
    session = Session(
        [arm], replace(parts, monitors=as_chain(watch)), count=1, substeps=int(substeps), every=1, seeds=[seed]
    )
    session.start(np.concatenate([q0, np.zeros(parts.size - arm.n)]), {}, field.lanes.values)
    on_grid = find_planner(cast("str | GridPlanner | None", planner), published=published)
    task = Task(
        hand,
        field,
        contact == "links",
        tuple(goal),
        on_grid,
        reaction,
        seconds_per_cell,
        published,
        duration,
        contact_budget,
        tolerance,
        progress or (lambda fraction, contacts: None),
        rules,
    )
    run = Run(task, session, grid, tuple(start), q0)
    run.drive()
    settings = {
        "robot": arm.name,
        "world": field.world.name if field.world is not None else "force function",
        "observer": watch[0].name,
        "detector": watch[-1].name,
        "planner": task.planner.name,
        "reaction": reaction,
        "contact": contact,
        "published": published,
        **({"trigger": rules.trigger, "table": rules.table, "place": rules.place} if published else {}),
        "seconds_per_cell": seconds_per_cell,
        "contact_budget": contact_budget,
        "tolerance": tolerance,
        "start": list(start),
        "goal": list(goal),
        "detector_gains": {k: np.asarray(v).tolist() for k, v in watch[-1].gains.items()},
    }
    return _result(run, field, start, settings)


@lru_cache(maxsize=8)
def _catalogued(name: str) -> Robot:
    return load(name)


def arm_of(robot: Robot | str) -> Robot:
    """Return the arm; one by name from the catalogue is the same object every time, and with it its compiled loops."""
    if not isinstance(robot, str):
        return robot
    return load(robot) if Path(robot).suffix else _catalogued(robot)


def _check(arm: Robot, reaction: str, duration: float, pace: float, budget: int, tolerance: float, seed_q: Any) -> None:
    if reaction not in REACTIONS:
        raise InputError(f"explore: reaction must be one of {', '.join(REACTIONS)}; got {reaction!r}")
    for name, value in (("duration", duration), ("seconds_per_cell", pace), ("tolerance", tolerance)):
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"explore: {name} must be positive and finite, got {value}")
    if isinstance(budget, bool) or budget != int(budget) or budget < 1:
        raise InputError(f"explore: contact_budget must be a whole number ≥ 1, got {budget!r}")
    q = np.asarray(seed_q, dtype=np.float64)
    if q.shape != (arm.n,) or not np.isfinite(q).all():
        raise InputError(
            f"explore: seed_q must hold {arm.n} finite numbers for robot {arm.name!r}, got shape {q.shape}"
        )


def _ends(hand: Hand, grid: GridMap, start: Cell, goal: Cell, seed_q: Any, published: bool) -> Any:
    """Check both ends and return the posture (n,) to begin in."""
    g = grid.grid
    if max(g.shape) < 2:
        raise InputError(f"explore: a grid of shape {g.shape} has one cell only; there is nowhere to go")
    blocked = grid.blocked()
    for what, cell in (("start", start), ("goal", goal)):
        index = g.index(cell, f"explore: {what} cell")
        if blocked[index] and not published:
            known = (
                "in the ring that bounds the map"
                if grid.ring and not np.asarray(grid.felt)[index]
                else "in a known obstacle"
            )
            raise InputError(f"explore: the {what} cell {tuple(cell)} is {known}; choose a free one")
    if tuple(start) == tuple(goal):
        raise InputError(f"explore: start and goal are the same cell {tuple(start)}")
    there = fk(hand.robot, seed_q)
    posed = (
        tuple(int(c) for c in g.cell(there[:3, 3])) == tuple(start)
        and np.abs(there[:3, :3] - hand.rotation).max() < 1e-3
    )
    offset = float(np.abs(there[:3, 3] - g.centre(g.cell(there[:3, 3]))).max()) if posed else 0.0
    q0 = (
        seed_q
        if posed and offset < 0.5 * float(np.min(np.asarray(g.cell_size)))
        else hand.postures(g.centre(start)[None], seed_q, [f"start cell {tuple(start)}"])[0]
    )
    hand.postures(g.centre(goal)[None], q0, [f"goal cell {tuple(goal)}"])
    return q0


def _result(run: Run, field: Field, start: Cell, settings: dict[str, Any]) -> Exploration:
    session, hand, goal = run.session, run.task.hand, run.goal_point
    session.outcome = run.outcome
    recording = session.recording(**settings)
    tool, axes = hand.place(recording["q"]), ("x", "y", "z")
    felt = recording["wrench_ext"][:, :3] if "wrench_ext" in recording else np.zeros((len(recording), 3))
    recording = recording.with_signals(
        tool=Signal(tool, "m", axes),
        tool_ref=Signal(hand.place(recording["q_ref"]), "m", axes),
        force=Signal(field.truth(recording["q"], recording["qd"]).force, "N", axes),
        force_felt=Signal(felt, "N", axes),
    )
    if run.task.hand.robot is not recording.robot and recording.robot is not None:
        recording = replace(recording, robot=hand.robot)  # what is drawn is what FK and IK saw
    arrival = float("nan")
    if run.outcome == "reached":
        away = np.flatnonzero(np.linalg.norm(tool - goal, axis=1) >= run.task.tolerance)
        arrival = float(recording.time[min(away[-1] + 1 if len(away) else 0, len(tool) - 1)])
    return Exploration(
        recording,
        tuple(run.maps),
        tuple(run.plans),
        tuple(run.contacts),
        tuple(start),
        run.task.goal,
        goal,
        run.outcome == "reached",
        arrival,
        run.outcome,
        run.message,
        field.world,
        settings,
    )
