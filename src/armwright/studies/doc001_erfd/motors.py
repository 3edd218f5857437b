# SPDX-License-Identifier: Apache-2.0
"""Appendix D and Algorithm 1 of 001: motor torques, saturation, and what the arm does then (Figs. A4, A6, A7).

`as_published` and `literal` are the motor side (D.3) and the saturation rule (Algorithm 1, step 6) as the document
prints them, for comparison only. `planned` is the demonstration as ``armwright run program`` plans and judges it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics.actuator_side import ActuatorSide, Motors, Side, actuator_side, consistent, friction_sense
from armwright.programs.motors.motor_cycle import Algorithm, Limited, Rule
from armwright.programs.motors.motor_demand import Demand
from armwright.programs.motors.motor_loop import run_motors
from armwright.programs.motors.motor_run import MotorRun
from armwright.programs.outcome import ProgramRun, run_program
from armwright.robot.load import load
from armwright.studies.doc001_erfd import demo
from armwright.studies.doc001_erfd.fig8_listing import program
from armwright.studies.doc001_erfd.setting import CYCLE_SECONDS, F_E, F_E_OF_THE_PAPER, QD, QDD, Q, arm, rated_move
from armwright.studies.study import Claim, Formula, Item, Picture, Shown, Supposed, Undetermined
from armwright.studies.study_pictures import curves, joint_panels
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from armwright.types import Traced


def as_published(motors: Motors, H: Traced, u: Traced, qd: Traced, qdd: Traced, dt: float) -> ActuatorSide:
    """Return (D.3): Λ⁻¹ in place of K^-T, and friction μ sign(q̇) u, frozen at the load that the wish would take.

    It drops what motors 3, 5 and 6 do to the joints before theirs, and where u < 0 friction *drives* the joint.
    """
    K = np.asarray(motors.gear)
    per_gear = 1.0 / np.diag(K)
    inertia = motors.rotor_inertia + dt * motors.viscous
    friction = motors.load_friction * np.sign(qd) * (H @ qdd + u)
    return ActuatorSide(
        per_gear[:, None] * H + inertia[:, None] * K, per_gear * (u + friction) + motors.viscous * (K @ qd)
    )


def opposing_friction(motors: Motors, H: Traced, u: Traced, qd: Traced, qdd: Traced, dt: float) -> ActuatorSide:
    """Return (D.3) with friction that opposes the motion and follows the load (S-form), the coupling Λ⁻¹ kept."""
    K = np.asarray(motors.gear)
    per_gear = 1.0 / np.diag(K)
    speed = K @ qd
    S = 1.0 + motors.load_friction * friction_sense(speed, per_gear * (H @ qdd + u))
    inertia = motors.rotor_inertia + dt * motors.viscous
    return ActuatorSide((S * per_gear)[:, None] * H + inertia[:, None] * K, S * per_gear * u + motors.viscous * speed)


def literal(side: ActuatorSide, qdd: Traced, limit: Traced) -> Limited:
    """Apply step 6 literally: solve the clipped system, take the new q̈ of flagged axes only.

    Torques are those that the mixture really needs; nothing keeps them within the limits.
    """
    wanted = side.torque(qdd)
    over = np.abs(wanted) > limit
    happens = np.where(over, side.accelerations(np.clip(wanted, -limit, limit)), qdd)
    return Limited(happens, side.torque(happens), wanted, np.where(over, 1.0, 0.0))


CATCH_UP_CYCLES = 100  # cycles after the move in which the arm may catch up
NEAR_CYCLES = 2  # cycles: a corner is felt in the cycle that holds it and the next one or two


@cache
def run(move: str, rule: str | Rule, side: Side = opposing_friction, *, catch_up: bool = True) -> MotorRun:
    """Run a motion: "rated" (point to point), "fast" (accelerations × 4, then held), "demo" (corners left sharp).

    Joint speeds are clipped, motor speeds are not, as in the document.
    """
    demand = {"rated": rated_move(), "fast": rated_move(4.0).held(CATCH_UP_CYCLES), "demo": demo.demand()}[move]
    algorithm = Algorithm(side=side, motor_speed=False, catch_up=catch_up)
    return run_motors(arm(), demand, rule, algorithm=algorithm)


def motor_torque(side: Side, qdd: Array = QDD, *, friction: bool = True) -> Array:
    """Return u_a at the golden state."""
    robot = arm()
    if not friction:
        robot = replace(robot, actuators=replace(robot.actuators, load_friction=np.zeros(6)))
    return np.asarray(actuator_side(robot, Q, QD, qdd, CYCLE_SECONDS, side=side).torque)


PUSH = np.array([0.0, -20.0, 0.0, 0.0, 0.0, 0.0])
"""Accelerations under which joint 2 is driven downwards: u_2 < 0 while q̇_2 < 0."""


def end_by_the_printed_index() -> Array:
    """Return where a move ends if step 7 wishes q̇(t_k) = (q(t_k+1) − q(t_k))/Δt, one cycle ahead."""
    q = rated_move().q
    ahead = np.concatenate([q[:1], q[0] + q[2:] - q[1]])
    return np.asarray(run_motors(arm(), Demand(CYCLE_SECONDS, ahead), "unlimited").q[-1])


def within_torque(move: str, rule: str | Rule) -> bool:
    """Return whether the motion that comes out takes no more torque than the motors have, in every cycle."""
    found = run(move, rule)
    return bool((np.abs(found.torque) <= found.limit * (1.0 + 1e-9)).all())


def within_speed(move: str, rule: str | Rule) -> bool:
    """Return whether no joint is faster than its limit in any cycle."""
    found = run(move, rule)
    return bool((np.abs(found.qd) <= found.drives.speed * (1.0 + 1e-9)).all())


def settles(side: Side, *, catch_up: bool = True) -> Shown:
    """Return whether the arm is back on its way `CATCH_UP_CYCLES` cycles after the fast move, to 0.01°."""
    left = np.abs(np.rad2deg(run("fast", "full", side, catch_up=catch_up).lag[-1]))
    return Shown(bool(left.max() < 0.01), f"left on axes 1–3 {_listed(left[:3])}°")


def keeps_speed(rule: str | Rule) -> Shown:
    """Return whether joint speeds stay within their limits along the demonstration, and the largest share of them."""
    found = run("demo", rule)
    most = float(np.abs(found.qd / found.drives.speed).max())
    return Shown(within_speed("demo", rule), f"up to {100 * most:.1f} % of a limit")


def sharp_corners() -> Shown:
    """Return whether motors reach their torque where the corners of the path are left as they are, and where."""
    free = run("demo", "unlimited")
    at = np.flatnonzero(free.saturated.any(axis=1))
    corners = np.flatnonzero(np.diff(free.demand.moves))
    near = int((np.abs(at[:, None] - corners).min(axis=1) <= NEAR_CYCLES).sum())
    text = f"in {at.size} of {free.demand.cycles} cycles, {near} of them within {NEAR_CYCLES} cycles of a corner"
    return Shown(bool(at.size), text)


@cache
def planned(f_e: tuple[float, ...] | None) -> ProgramRun:
    """Return the program of Fig. 8, mended, as ``armwright run program`` plans and judges it, from the zero posture.

    Args:
        f_e: (6,) what the tool does to the world, as the document counts; None for nothing.
    """
    return run_program(load("rl15"), program(), start_q=np.zeros(6), wrench=None if f_e is None else -np.array(f_e))


def blended_corners(f_e: Array | None) -> Shown:
    """Return whether motors reach their torque with corners as the library's planner passes them."""
    wished = planned(None if f_e is None else tuple(f_e)).wished
    return Shown(bool(wished.saturated.any()), f"at most {100 * wished.torque_use.max():.0f} % of a motor's torque")


def _tool_speed_notes() -> list[str]:
    plan = planned(None).plan
    speed = np.linalg.norm(np.diff(plan.T_base_tool[:, :3, 3], axis=0), axis=1) / plan.cycle
    words = [f"{k + 1}: {1000 * speed[plan.move[1:] == k].max():.0f}" for k in range(1, 10)]
    asked = ", ".join(f"{v:g}" for _, _, v, _ in demo.MOVES)
    return [
        f"largest tool speed of moves 2–10 by the library's planner: {', '.join(words)} mm/s; programmed {asked}",
        f"lowest on the way, between the first and the last quarter second of moves 1–10: "
        f"{1000 * speed[25 : int(plan.moves[9].end / plan.cycle) - 25].min():.0f} mm/s",
    ]


def _listed(values: ArrayLike, digits: int = 3) -> str:
    return "(" + ", ".join(f"{x:.{digits}g}" for x in np.atleast_1d(values)) + ")"


def _degrees(found: MotorRun) -> str:
    return _listed(np.rad2deg(np.abs(found.lag).max(axis=0)))


def _rated_notes() -> list[str]:
    found = run("rated", "unlimited", as_published)
    return [
        f"rated point-to-point move (the last of Fig. 8): {rated_move().cycles} cycles, demand as published "
        f"{_listed(np.abs(found.wanted).max(axis=0), 4)} N m: no motor at its limit",
        *_fast_notes(),
    ]


def _fast_notes() -> list[str]:
    wanted = _listed(np.abs(run("fast", "unlimited").wanted).max(axis=0))
    return [
        f"the same, accelerations × 4: {rated_move(4.0).cycles} cycles, demand {wanted} N m",
        f"Full: largest lag {_degrees(run('fast', 'full'))}°, Partitioned: {_degrees(run('fast', 'partitioned'))}°, "
        f"left at the end {np.rad2deg(np.abs(run('fast', 'full').lag[-1]).max()):.1g}°",
        f"Literal: torques up to {_listed(np.abs(run('fast', literal).torque).max(axis=0))} N m",
        "as published (friction of D.3), Full: left at the end "
        f"{_listed(np.rad2deg(run('fast', 'full', as_published).lag[-1]))}°",
    ]


def _demo_notes() -> list[str]:
    free, kept = run("demo", "unlimited"), run("demo", "full")
    speed, off = np.abs(kept.qd / kept.drives.speed).max(axis=0), kept.deviation
    return [
        f"moves 2–10 without blending take {demo.law()[1]:.4f} s, {free.demand.cycles} cycles",
        f"cycles beyond the torque of motors 1–6: {_listed(free.saturated.sum(axis=0))}; axis 4 asks for "
        f"{np.abs(np.diff(free.demand.q[:, 3])).max() / CYCLE_SECONDS:.2f} rad/s of 2.66",
        f"largest demand {_listed(np.abs(free.wanted).max(axis=0))} N m",
        f"with Algorithm 1 (Full): largest lag {_degrees(kept)}°, left at the end "
        f"{np.rad2deg(np.abs(kept.lag[-1]).max()):.1g}°; tool up to {1000 * off.position.max():.1f} mm behind, "
        f"{1000 * off.path.max():.1f} mm off its path and {np.rad2deg(off.angle.max()):.1f}° turned",
        f"largest |q̇|/limit, Full: {_listed(speed, 4)}; Partitioned stays within",
        f"with friction and coupling consistent: largest lag "
        f"{_degrees(run_motors(arm(), demo.demand(), 'full', algorithm=Algorithm(motor_speed=False)))}°",
    ]


def _torque_picture() -> Figure:
    free, kept = run("demo", "unlimited"), run("demo", "full")
    limit = kept.drives.actuators.torque_limit
    shown = {"without": np.clip(free.wanted, -2.2 * limit, 2.2 * limit), "with Algorithm 1": kept.torque}
    return joint_panels(free.time, shown, arm(), quantity="motor torque [N m]", limits=(-limit, limit))


def _lag_picture() -> Figure:
    kept = run("demo", "full")
    return curves([(f"axis {i + 1}", kept.time, np.rad2deg(kept.lag[:, i])) for i in range(6)], "time [s]", "lag [°]")


def _settling_picture() -> Figure:
    one, other = run("fast", "full"), run("fast", "full", as_published)
    return curves(
        [
            ("axis 2, friction opposes", one.time, np.rad2deg(one.lag[:, 1])),
            ("axis 3, friction opposes", one.time, np.rad2deg(one.lag[:, 2])),
            ("axis 2, as published", other.time, np.rad2deg(other.lag[:, 1])),
            ("axis 3, as published", other.time, np.rad2deg(other.lag[:, 2])),
        ],
        "time [s]",
        "lag [°]",
    )


_PLAIN = "moves 2–10 by our plainest reading of the program, without blending; the document's planner is not printed"

ITEMS: tuple[Item, ...] = (
    Item(
        "D.3a",
        "motor torques from joint torques, without dry friction",
        Formula("(D.3): h_aij = h_ij/k_i, u′_ai = [u′_i + …]/k_i, of the own axis alone", "N m"),
        lambda: motor_torque(as_published, friction=False),
        lambda: motor_torque(consistent, friction=False),
        reason="virtual work asks for u = Kᵀτ: motors 5 and 6 load joint 4, motor 6 joint 5, motor 3 joint 2",
        faults=("(D.3): coupling of the gears without its reaction",),
    ),
    Item(
        "D.3b",
        "dry friction in the motor torques",
        Formula("(D.3): μ_si sign(q̇_i) u_i", "N m"),
        lambda: motor_torque(as_published, PUSH),
        lambda: motor_torque(opposing_friction, PUSH),
        reason="where u < 0 it pushes the joint on: |u| is meant; and it stays at the wished load after the torque was "
        "cut",
        faults=("(D.3): sign of dry friction",),
        notes=lambda: [
            "golden state, as published " + _listed(motor_torque(as_published), 10),
            "golden state, consistent " + _listed(motor_torque(consistent), 10),
        ],
    ),
    Item(
        "Alg1a",
        "end of a move by the printed index of the wished speed",
        Formula("q̇(t_k) = (q(t_k+1) − q(t_k))/Δt", "rad"),
        end_by_the_printed_index,
        lambda: rated_move().q[-1],
        reason="step 7 goes from t_k to t_k+1 with the speed of t_k+1: the wish is the backward difference; with the "
        "printed index the first increment is lost",
        faults=("Algorithm 1: index of the wished speed",),
    ),
    Item(
        "Alg1b",
        "Algorithm 1 asks for torques that the motors have",
        Claim("“only attainable motor velocities and positions are sent”"),
        lambda: within_torque("fast", literal),
        lambda: within_torque("fast", "full") and within_torque("fast", "partitioned"),
        reason="step 6 to the letter, new accelerations for flagged axes only, needs ten times the torque on axis 2; "
        "taking all of them from the clipped system (Full), or solving for the flagged ones (Partitioned), keeps it",
        rule="a move with four times the rated accelerations: with the rated ones no motor is at its limit",
        notes=_rated_notes,
    ),
    Item(
        "Alg1c",
        "what a saturation leaves behind",
        Claim("“produces delays in the programmed link movements”: and no more than delays"),
        readings=(
            Supposed("friction by (D.3), sent to the wished place in every cycle", lambda: settles(as_published)),
            Supposed("friction that opposes, the same", lambda: settles(opposing_friction)),
            Supposed(
                "friction that opposes, only the planned speed is wished (steps 1–8)",
                lambda: settles(opposing_friction, catch_up=False),
            ),
        ),
        reason="the document does not say how an axis that fell behind catches up; Algorithm 1 by itself has no such "
        "step, and keeps the lag. With one, friction as printed leaves the arm behind all the same",
        rule="accelerations four times the rated ones, then 100 cycles; made good is 0.01°",
        pictures=(
            Picture(
                "The fast move: lag of axes 2 and 3, with friction that opposes and as published.", _settling_picture
            ),
        ),
    ),
    Item(
        "A4",
        "velocity v_ee of the end effector (Fig. A4)",
        Undetermined("a curve"),
        reason="no number can be read from it, and the planner is not defined",
        notes=_tool_speed_notes,
    ),
    Item(
        "A6a",
        "motors cannot follow in some cycles of the program (Fig. A6a)",
        Claim("“for certain interpolation cycles, the actuators cannot achieve the required torques”"),
        readings=(
            Supposed("corners of moves 2–10 left sharp, f_e of the dossier", sharp_corners),
            Supposed("the program by `armwright run program`, f_e of the dossier", lambda: blended_corners(F_E)),
            Supposed("the same, f_e of the paper", lambda: blended_corners(F_E_OF_THE_PAPER)),
            Supposed("the same, no load", lambda: blended_corners(None)),
        ),
        reason="not reproduced. How the document's planner passes corners is not printed, and the corners decide: "
        "left sharp they take all the torque there is, blended no motor is at its limit in any cycle. Which cycles "
        "and which motors Fig. A6 shows cannot be read",
        notes=_demo_notes,
        pictures=(
            Picture(
                "Moves 2–10, corners left sharp: motor torques without (cut off beyond 2.2 limits) and with Algorithm "
                "1.",
                _torque_picture,
            ),
        ),
    ),
    Item(
        "A7a",
        "joint speeds stay within their limits (Fig. A7)",
        Claim("“calculates only achievable joint velocities”"),
        readings=(
            Supposed("step 6 to the letter, new accelerations for flagged axes only", lambda: keeps_speed(literal)),
            Supposed("all accelerations from the clipped system (Full)", lambda: keeps_speed("full")),
            Supposed("those of the flagged axes solved for (Partitioned)", lambda: keeps_speed("partitioned")),
        ),
        reason="the clip of step 1 binds the wish, not what step 6 makes of it. To the letter speeds are kept and "
        "torques are not (Alg1b); of the two rules that keep the torques one keeps the speeds, too",
        rule=f"{_PLAIN}. That Partitioned passes and Full does not was found by running them: neither was laid down "
        "before",
    ),
    Item(
        "A7b",
        "deviation of the path (Fig. A7)",
        Undetermined("“differs slightly from the programmed path”"),
        reason="no number is printed and the planner is not defined",
        notes=lambda: [f"ours without blending: {1000 * run('demo', 'full').deviation.position.max():.1f} mm"],
        pictures=(Picture("The same: wished minus achieved position of each axis, Full.", _lag_picture),),
    ),
    Item(
        "10",
        "plots and three-dimensional view (Figs. 10, 11)",
        Undetermined("screenshots"),
        reason="pictures of a user interface without numbers",
    ),
)
