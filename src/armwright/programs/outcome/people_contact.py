# SPDX-License-Identifier: Apache-2.0
"""What the tool would do to a person that it meets, by the contact model of ISO/TS 15066, annex A; no certification.

Two masses and a spring: the arm, of effective mass m_R along its motion, meets a region of the body of mass m_H and
spring constant k at speed v. All energy of the relative motion goes into the spring, F = v √(μ k) with
1/μ = 1/m_R + 1/m_H while the body can give way (transient), and μ = m_R where it is clamped (quasi-static). What the
drives push after contact, and how the arm brakes, are not in this model.

m_R is the reflected mass 1/(uᵀ J M⁻¹ Jᵀ u) along the tool's motion u, payload included, if the sheet knows all rotors.
Without them joints seem to give way that do not (0.4 kg for a UR5 from the side), so then it is the larger of that and
M/2 + m_L of the specification.

Masses, springs and limits of the body are in `body_limits`, which names their sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.dynamics.public import mass_matrix
from armwright.errors import InputError
from armwright.kinematics import fk, jacobian
from armwright.programs.motors.motor_run import loaded_robot
from armwright.programs.outcome.body_limits import BODY_REGIONS, HEAD, ONE_SOURCE, BodyRegion, RegionLimit

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.types import Array

STILL_SPEED = 1e-3  # [m/s] tool speed below which nothing is met


@dataclass(frozen=True, slots=True)
class PersonContact:
    """The worst contact of a move.

    Attributes:
        move: index. time: [s]. region, kind: what binds. speed: of the tool [m/s].
        mass: effective mass of the arm that was used [kg]. reflected: along the motion [kg]. rule_mass: M/2 + m_L [kg].
        force, limit: [N]. permissible: speed [m/s] at which the force would be at its limit.
        area: the specific area of the region whose pressure binds; empty where the force does.
        pressed: whether pressure binds, on the contact area that was given.
    """

    move: int
    time: float
    region: str
    kind: Literal["transient", "quasi-static"]
    speed: float
    mass: float
    reflected: float
    rule_mass: float
    force: float
    limit: float
    permissible: float
    area: str = ""
    pressed: bool = False

    @property
    def use(self) -> float:
        """Return the force over its limit."""
        return self.force / self.limit


def contact_force(speed: Array | float, arm_mass: Array | float, region: BodyRegion, *, clamped: bool = False) -> Array:
    """Return the largest force [N] when an arm of effective mass [kg] meets a region at a speed [m/s]."""
    inverse = 1.0 / np.asarray(arm_mass) + (0.0 if clamped else 1.0 / region.mass)
    return np.asarray(np.abs(speed) * np.sqrt(region.stiffness / inverse))


def people_contacts(
    outcome: ProgramRun, limits: Sequence[RegionLimit], area: float | None = None
) -> tuple[PersonContact, ...]:
    """Return the worst contact of every move in which the tool moves, planned motion, in the program's order.

    Args:
        outcome: the run.
        limits: of regions that may be met, see `body_limits.limit_of_body`.
        area: of a contact [cm²]; None: pressure is not checked.
    """
    if not limits:
        raise InputError("people: give at least one region with its limit of force")
    if area is not None and not area > 0.0:
        raise InputError(f"people: a contact area must be greater than 0 cm², got {area}")
    speed, reflected, rule = _tool_motion(outcome)
    known = bool((outcome.robot.actuators.rotor_inertia > 0.0).all())
    mass = reflected if known else np.maximum(reflected, rule)
    moves, time = outcome.demand.moves, outcome.plan.cycle * np.arange(outcome.demand.cycles)
    cases = [
        (limit, clamped, limit.bound(area) * (1.0 if clamped else BODY_REGIONS[limit.region].transient))
        for limit in limits
        for clamped in (False, True)
    ]
    uses = np.array(
        [contact_force(speed, mass, BODY_REGIONS[one.region], clamped=c) / bound for one, c, bound in cases]
    )
    out = []
    for move in np.unique(moves).tolist():
        rows = np.flatnonzero(moves == move)
        if not speed[rows].max() > STILL_SPEED:
            continue
        case, at = np.unravel_index(int(np.argmax(uses[:, rows])), (len(cases), rows.size))
        k, (one, clamped, bound) = rows[at], cases[int(case)]
        force = float(uses[case, k] * bound)
        out.append(
            PersonContact(
                move,
                float(time[k]),
                one.region,
                "quasi-static" if clamped else "transient",
                float(speed[k]),
                float(mass[k]),
                float(reflected[k]),
                float(rule[k]),
                force,
                bound,
                float(speed[k]) * bound / force,
                one.area if one.by_pressure(area) else "",
                one.by_pressure(area),
            )
        )
    return tuple(out)


def _tool_motion(outcome: ProgramRun) -> tuple[Array, Array, Array]:
    """Return speed of the tool point (T,) [m/s], reflected mass along it and M/2 + m_L (T,) [kg], as planned."""
    robot, demand, plan = outcome.robot, outcome.demand, outcome.plan
    q, qd = demand.q[:-1], plan.qd[: demand.cycles]
    T = fk(robot, q)
    arm = np.zeros((len(q), 3)) if demand.tool is None else np.einsum("tij,tj->ti", T[:, :3, :3], demand.tool[:, :3, 3])
    J = jacobian(robot, q)
    point = J[:, :3] - np.cross(arm[:, :, None], J[:, 3:], axisa=1, axisb=1, axisc=1)
    velocity = np.einsum("tij,tj->ti", point, qd)
    speed = np.linalg.norm(velocity, axis=1)
    u = velocity / np.maximum(speed, 1e-12)[:, None]
    moving = float(sum(body.mass for body in robot.bodies))
    inverse, carried = np.empty(len(q)), np.zeros(len(q))
    loads = np.zeros((len(q), 10)) if demand.payload is None else demand.payload
    kinds, which = np.unique(loads, axis=0, return_inverse=True)
    for n, kind in enumerate(kinds):
        rows = np.flatnonzero(which.reshape(-1) == n)
        M = mass_matrix(loaded_robot(robot, kind), q[rows])
        along = np.einsum("tij,ti->tj", point[rows], u[rows])
        inverse[rows] = np.einsum("tj,tj->t", along, np.linalg.solve(M, along[:, :, None])[:, :, 0])
        carried[rows] = kind[0]
    return speed, 1.0 / np.maximum(inverse, 1e-12), 0.5 * moving + carried


PEOPLE_HEADS = ("move", "meets", "contact", "force [N]", "limit [N]", "use [%]", "speed [m/s]", "permissible [m/s]")


def place_on_body(row: PersonContact) -> str:
    """Return what is met, and what binds there."""
    if not row.pressed:
        return row.region
    return f"{row.region} (pressure{f' on the {row.area}' if row.area else ''})"


def people_words(
    outcome: ProgramRun, found: Sequence[PersonContact], limits: Sequence[RegionLimit] = (), area: float | None = None
) -> tuple[str, ...]:
    """Return the first move that is too fast, or the one nearest to its limit, and what this is not."""
    from armwright.programs.outcome.program_words import place_words, plain

    if not found:
        return ("The tool does not move: nobody is met.",)
    over = [row for row in found if row.use > 1.0]
    row = over[0] if over else max(found, key=lambda one: one.use)
    head = f"{len(over)} of {len(found)} moves exceed a limit for people; first" if over else "Nearest to a limit is"
    said = [
        f"{head} {place_words(outcome, row.move)} at {row.time:.3f} s: {place_on_body(row)}, {row.kind}, "
        f"{plain(row.force)} N of {plain(row.limit)} N at {row.speed:.3g} m/s with {row.mass:.3g} kg (reflected: "
        f"{row.reflected:.3g} kg); {row.permissible:.3g} m/s would be permissible."
    ]
    if any(limit.region in HEAD for limit in limits):
        said.append("No contact with the head is permissible, at any speed: its limits only tell how bad it would be.")
    if area is None and any(limit.pressure is not None for limit in limits):
        said.append("Pressure is not checked: --contact-area says on how many cm² the tool meets the body.")
    elif doubted := [limit.region for limit in limits if limit.region in ONE_SOURCE]:
        said.append(f"Limits of pressure found in one source alone: {', '.join(dict.fromkeys(doubted))}.")
    said.append(
        "A model of contact after ISO/TS 15066:2016, annex A, with limits as public sources cite them or as they were "
        "given: no certification and no measurement."
    )
    return tuple(said)


def people_cells(outcome: ProgramRun, found: Sequence[PersonContact]) -> list[list[str]]:
    """Return one row per move in which the tool moves."""
    from armwright.programs.outcome.program_words import place_words, plain

    numbers = [[row.force, row.limit, 100.0 * row.use, row.speed, row.permissible] for row in found]
    return [
        [place_words(outcome, row.move), place_on_body(row), row.kind, *(plain(x) for x in values)]
        for row, values in zip(found, numbers, strict=True)
    ]


def people_figures(
    outcome: ProgramRun, found: Sequence[PersonContact], limits: Sequence[RegionLimit] = (), area: float | None = None
) -> dict[str, Any]:
    """Return the limits and the worst contact of every move as plain numbers."""
    names = ("region", "area", "kind", "use")
    return {
        "words": people_words(outcome, found, limits, area),
        "contact_area_cm2": area,
        "limits": [
            {
                "region": limit.region,
                "force_n": limit.force,
                "pressure_n_cm2": limit.pressure,
                "area": limit.area,
                "transient_factor": BODY_REGIONS[limit.region].transient,
            }
            for limit in limits
        ],
        "moves": [
            {
                **{name: getattr(row, name) for name in names},
                "move": row.move + 1,
                "line": outcome.program.moves[row.move].line,
                "time_s": row.time,
                "speed_m_s": row.speed,
                "permissible_m_s": row.permissible,
                "mass_kg": row.mass,
                "reflected_mass_kg": row.reflected,
                "rule_mass_kg": row.rule_mass,
                "force_n": row.force,
                "limit_n": row.limit,
            }
            for row in found
        ],
    }
