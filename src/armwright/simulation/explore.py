"""The run of 000: go, bump, put it on the map, step back, plan around it, arrive.

The loop (reference → law → arm → observer → detector) is compiled; an alarm stops it, Python changes map and reference, and it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.contact.detectors import norm_detector
from armwright.contact.observers import closed_loop_error_observer
from armwright.contact.wrench_estimate import wrench_observer
from armwright.control import computed_torque
from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.kinematics import fk, ik, jacobian
from armwright.kinematics.forward import tool_pose
from armwright.kinematics.jacobian import frame_jacobian
from armwright.motion import Trajectory, piecewise_quintic
from armwright.planning.hopfield import Hopfield
from armwright.planning.marking import back_off, back_off_000, mark, patch_000
from armwright.simulation.exploration import Contact, Exploration
from armwright.simulation.signals import Signal
from armwright.simulation.simulate import prepare

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.control.law import Law
    from armwright.planning.occupancy import GridMap
    from armwright.planning.path_plan import GridPlanner, PathPlan
    from armwright.robot.model import Robot
    from armwright.simulation.session import Session

Reaction = Literal["back off", "stop", "retract"]
Cell = tuple[int, ...]
TOOL_DOWN = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0))  # R_t of 000 §3.10: flange z points down
BOUNCE = 0.1  # [s]
OMEGA_000 = (22.5, 22.5, 37.5, 60.0, 67.5, 75.0)  # natural frequencies of 000's controller [rad/s]


@dataclass(frozen=True, eq=False)
class Task:
    """Everything about a run that does not change on the way."""

    kinematics: Robot
    rotation: Any
    goal: Cell
    planner: GridPlanner
    reaction: Reaction
    seconds_per_cell: float
    published: bool
    force_kernel: Callable[[Any], Any]
    tolerance: float


def explore(
    robot: Robot,
    force: Callable[[Any], Any],
    start: Cell = (2, 11),
    goal: Cell = (18, 7),
    *,
    where: GridMap | None = None,
    observer: Monitor | Sequence[Monitor] | None = None,
    detector: Monitor | None = None,
    planner: GridPlanner | None = None,
    reaction: Reaction = "back off",
    law: Law | None = None,
    kinematics: Robot | None = None,
    seed_q: Any = (2.5511, -1.1193, 2.5706, 0.1196, 1.5708, -0.5905),
    rotation: Any = TOOL_DOWN,
    duration: float = 50.0,
    seconds_per_cell: float = 0.5,
    contact_budget: int = 200,
    rate: float = 500.0,
    substeps: int = 10,
    continuous: bool = True,
    published: bool = False,
    tolerance: float = 3e-3,
    progress: Callable[[float, int], None] | None = None,
    **options: Any,
) -> Exploration:
    """Send the arm from one cell of a map to another through surroundings that nobody told it about.

    Args:
        robot: the plant, and the controller's model unless ``model=`` is among the options.
        force: contact force on the tool as a traced function of the tool position (3,) → (3,) [N], base axes; for example
            `armwright.contact.tool_cylinders(world)`.
        start, goal: cells of the map.
        where: the map to begin with; the empty patch of 000 by default.
        observer: what gives ``tau_ext``; the closed-loop error estimate of 000 by default.
        detector: what raises the alarm; ‖F̂‖ > 12 N by default (000 §3.7).
        planner: on the grid; the converged Hopfield network by default.
        reaction: "back off" (one cell against the motion, then plan anew), "retract" (along the felt force), "stop".
        law: the controller; computed torque with the gains of 000 by default.
        kinematics: the arm that FK, IK and the contact see, where it differs from the plant's dynamics (000's published arm).
        seed_q: joint posture that chooses the IK branch; the run begins there if its tool is in the start cell.
        rotation: tool orientation (3, 3), kept throughout.
        duration, contact_budget: when to give up. seconds_per_cell: pace.
        rate, substeps, continuous: of the loop (500 ticks/s with ten RK4 steps each, law in continuous time, as 000 was simulated).
        published: 000's own rules where they differ: back-off clamp, no test whether start or goal are free.
        tolerance: distance to the goal that counts as arrived [m].
        progress: called with (fraction of the duration, contacts so far).
        **options: further options of `simulate` (model, sensors, friction, drive, seed, …).
    """
    kin = kinematics or robot
    w = np.array(OMEGA_000)
    control = law or computed_torque(w * w, 2.0 * w)
    watch = [closed_loop_error_observer(w * w)] if observer is None else [observer] if not isinstance(observer, Sequence) else list(observer)
    watch += [wrench_observer() if kinematics is None else _wrench_of(kin), detector or norm_detector(12.0, of="wrench_ext")]
    grid = where if where is not None else patch_000(ring=True)
    task = Task(kin, np.asarray(rotation, dtype=np.float64), goal, planner or Hopfield(), reaction, seconds_per_cell, published,
                compile_function(lambda p: np.array(force(p)), {"p": (3,)}, name="contact_force"), tolerance)  # fmt: skip
    q0 = np.asarray(seed_q, dtype=np.float64)
    if tuple(grid.grid.cell(fk(kin, q0)[:3, 3])) != tuple(start):
        q0 = _postures(task, grid.grid.centre(start)[None], q0, [f"start cell {start}"])[0]
    _postures(task, grid.grid.centre(goal)[None], q0, [f"goal cell {goal}"])
    session = prepare(robot, control, q0, q0=q0, rate=rate, substeps=substeps, continuous=continuous, monitors=watch,
                      external=_external(kin, force), **options)  # fmt: skip
    maps, plans, contacts, outcome = [grid], [], [], ""
    cell, q, qd = start, q0, np.zeros(robot.n)
    goal_point = grid.grid.centre(goal)
    while not outcome:
        plan = task.planner(maps[-1], cell, goal)
        plans.append(plan)
        if not plan.ok:
            outcome = f"{plan.status}: {plan.message}"
            break
        session.follow(_motion(task, maps[-1], plan, q, qd))
        outcome, contact = _until_contact(session, task, maps[-1], duration, goal_point, lambda f: progress and progress(f, len(contacts)))
        if contact is None:
            break
        contacts.append(contact)
        q, qd = _desired(session)
        maps.append(mark(maps[-1], contact.desired if published or task.reaction == "back off" else contact.actual).map)
        if reaction == "stop":
            outcome = "stopped at the first contact"
        elif len(contacts) >= contact_budget:
            outcome = f"contact budget of {contact_budget} used up"
        else:
            step = _step_back(task, maps[-1], contact, q, qd)
            if step is None:
                outcome = "boxed in: no free cell to step back to"
            else:
                cell = step
    return _result(session, task, maps, plans, contacts, goal_point, outcome)


def _wrench_of(kinematics: Robot) -> Monitor:
    """Tool force by the Jacobian of another arm than the controller's model (000's published dynamics)."""
    from armwright.contact.wrench_estimate import damped_wrench

    def estimate(q: Any, tau_ext: Any) -> Any:
        return {"wrench_ext": damped_wrench(kinematics, q, tau_ext, 0.02, 0.1, force_only=True)}

    return replace(wrench_observer(), function=kinematics._cache.setdefault("tool wrench", estimate))


def _external(kinematics: Robot, force: Callable[[Any], Any]) -> Callable[..., Any]:
    """Joint torque J_vᵀF(p) of the contact force at the tool (traced)."""

    def torque(q: Any) -> Any:
        p = tool_pose(kinematics, q)[:3, 3]
        return frame_jacobian(kinematics, q)[:3].T @ force(p)

    return kinematics._cache.setdefault(("contact torque", force), torque)


def _postures(task: Task, points: Any, near: Any, names: Sequence[str]) -> Any:
    """Joint postures (m, n) with the tool at `points` (m, 3), each on the branch nearest to the one before it."""
    T = np.tile(np.eye(4), (len(points), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = task.rotation, points
    found = ik(task.kinematics, T, seed=near, limits=False)
    out, q = [], near
    for k, name in enumerate(names):
        if found.count[k] == 0:
            raise InputError(f"explore: the {name} at {np.round(points[k], 4).tolist()} m cannot be reached: {found[k].message}")
        turned = found.solutions[k, : found.count[k]] - q
        turned = np.mod(turned + np.pi, 2.0 * np.pi) - np.pi
        q = q + turned[np.argmin(np.abs(turned).max(axis=1))]
        out.append(q)
    return np.array(out)


def _motion(task: Task, grid: GridMap, plan: PathPlan, q: Any, qd: Any) -> Trajectory:
    """Splines from the desired state (q, qd) through the centres of the path's cells (000 §3.10–3.12)."""
    cells = list(plan.path)
    here = fk(task.kinematics, q)[:3, 3]
    if np.linalg.norm(grid.grid.centre(cells[0]) - here) < 1e-6:
        cells = cells[1:]  # the arm is there already: a waypoint twice has no spline
    points = np.array([grid.grid.centre(cell) for cell in cells]).reshape(-1, 3)
    rows = np.concatenate([q[None], _postures(task, points, q, [f"cell {cell}" for cell in cells])]) if cells else np.array([q, q + 1e-9])
    seconds = float(np.floor(task.seconds_per_cell * len(rows) + 0.5)) or 1.0
    return piecewise_quintic(rows, seconds, qd0=qd)


def _desired(session: Session) -> tuple[Any, Any]:
    ref = session.reference_at(np.array([session.time]))
    return ref.q[0], ref.qd[0]


def _until_contact(session: Session, task: Task, grid: GridMap, duration: float, goal: Any,
                   report: Callable[[float], Any]) -> tuple[str, Contact | None]:  # fmt: skip
    """Run until an alarm, the goal or the end of time; return (outcome or "", contact or None)."""
    _, motion = session._references[-1]
    length = motion.duration if isinstance(motion, Trajectory) else 0.0
    begun, first_row = session.time, sum(rows.shape[1] for rows in session.rows)
    while session.time < duration - 0.5 * session.parts.period:
        left = min(duration - session.time, max(0.5, length + 0.5 - (session.time - begun)))
        what = session.run(left)
        report(session.time / duration)
        if what == "alarm":
            return "", _contact(session, task, grid, first_row)
        position = fk(task.kinematics, session.state[0][: session.parts.n])[:3, 3]
        if session.time - begun > length and np.linalg.norm(position - goal) < task.tolerance:
            return "reached", None
    return "out of time", None


def _contact(session: Session, task: Task, grid: GridMap, first_row: int) -> Contact:
    n = session.parts.n
    q_ref, _ = _desired(session)
    q = session.state[0][:n]
    desired, actual = fk(task.kinematics, q_ref)[:3, 3], fk(task.kinematics, q)[:3, 3]
    rows = np.concatenate(session.rows, axis=1)[0, first_row:]
    tool = fk(task.kinematics, rows[:, 1 : 1 + n])[:, :3, 3]
    touched = rows[np.linalg.norm(_forces(task, tool), axis=1) > 0.0, 0]
    began = float("nan")
    if len(touched):  # the tool bounces: a gap shorter than `BOUNCE` belongs to the same episode
        gaps = np.flatnonzero(np.diff(touched) > BOUNCE)
        began = float(touched[gaps[-1] + 1 if len(gaps) else 0])
    marked = mark(grid, desired)
    felt = session.loop.get("wrench_ext")[0][:3]
    return Contact(session.time, began, marked.cell, marked.again, desired, actual, felt, _forces(task, actual[None])[0])


def _forces(task: Task, points: Any) -> Any:
    """True contact force (m, 3) at tool positions (m, 3)."""
    return task.force_kernel(points)


def _step_back(task: Task, grid: GridMap, contact: Contact, q: Any, qd: Any) -> Cell | None:
    velocity = jacobian(task.kinematics, q)[:3] @ qd
    if task.published:
        return back_off_000(contact.cell, velocity)
    if task.reaction == "retract" and np.linalg.norm(contact.felt) > 0.0:
        velocity = -contact.felt
    return back_off(grid, contact.cell, velocity)


def _result(session: Session, task: Task, maps: list[Any], plans: list[Any], contacts: list[Contact], goal: Any, outcome: str) -> Exploration:
    recording = session.recording()
    tool = fk(task.kinematics, recording["q"])[:, :3, 3]
    wanted = fk(task.kinematics, recording["q_ref"])[:, :3, 3]
    axes = ("x", "y", "z")
    recording = recording.with_signals(
        tool=Signal(tool, "m", axes), tool_ref=Signal(wanted, "m", axes), force=Signal(_forces(task, tool), "N", axes),
        force_felt=Signal(recording["wrench_ext"][:, :3], "N", axes),
    )  # fmt: skip
    near = np.linalg.norm(tool - goal, axis=1) < task.tolerance
    arrival = float("nan")
    if outcome == "reached":
        away = np.flatnonzero(~near)
        arrival = float(recording.time[min(away[-1] + 1 if len(away) else 0, len(near) - 1)])
    return Exploration(recording, tuple(maps), tuple(plans), tuple(contacts), goal, outcome == "reached", arrival, outcome)
