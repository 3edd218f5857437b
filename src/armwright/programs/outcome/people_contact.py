# SPDX-License-Identifier: Apache-2.0
"""What the tool would do to a person that it meets, by the contact model of ISO/TS 15066, annex A; no certification.

Two masses and a spring: the arm, of effective mass m_R along its motion, meets a region of the body of mass m_H and
spring constant k at speed v. All energy of the relative motion goes into the spring, F = v √(μ k) with
1/μ = 1/m_R + 1/m_H while the body can give way (transient), and μ = m_R where it is clamped (quasi-static). What the
drives push after contact, and how the arm brakes, are not in this model.

m_R is the reflected mass 1/(uᵀ J M⁻¹ Jᵀ u) along the tool's motion u, payload included, if the sheet knows all rotors.
Without them joints seem to give way that do not (0.4 kg for a UR5 from the side), so then it is the larger of that and
M/2 + m_L of the specification.

Masses and spring constants are those of table A.3 as found in public sources: the collision models of V. Gupta ("based
on ISO/TS 15066 for 75 kg", masses and springs) and a list of springs by InMotion (skull to abdomen), which agree. The
spring of the face is in the second alone, its mass half of what the first gives for head and face together. Limits of
force and pressure (table A.2) were found in no source that can be trusted, and several contradict each other: they are
not built in, and whoever asks gives them from his own copy. The factor 2 of transient limits is the specification's as
commonly cited; for the head it is 1 here, where it means no contact at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from armwright.dynamics.public import mass_matrix
from armwright.errors import InputError
from armwright.kinematics import fk, jacobian
from armwright.programs.motors.motor_run import loaded_robot

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.types import Array

TRANSIENT_FACTOR = 2.0  # of the quasi-static limits, for contact from which the body can give way; 1 for the head
STILL_SPEED = 1e-3  # [m/s] tool speed below which nothing is met


class BodyRegion(NamedTuple):
    """A region of the body: effective mass [kg], spring constant [N/m], factor of its transient limits."""

    mass: float
    stiffness: float
    transient: float = TRANSIENT_FACTOR


BODY_REGIONS = {
    "skull": BodyRegion(4.4, 150e3, 1.0),
    "face": BodyRegion(4.4, 75e3, 1.0),
    "neck": BodyRegion(1.2, 50e3),
    "back": BodyRegion(40.0, 35e3),
    "chest": BodyRegion(40.0, 25e3),
    "abdomen": BodyRegion(40.0, 10e3),
    "pelvis": BodyRegion(40.0, 25e3),
    "upper-arm": BodyRegion(3.0, 30e3),
    "lower-arm": BodyRegion(2.0, 40e3),
    "hand": BodyRegion(0.6, 75e3),
    "thigh": BodyRegion(75.0, 50e3),
    "lower-leg": BodyRegion(75.0, 60e3),
}


@dataclass(frozen=True, slots=True)
class RegionLimit:
    """Quasi-static limits of a region: force [N], and pressure [N/cm²] if known."""

    region: str
    force: float
    pressure: float | None = None

    def __post_init__(self) -> None:
        """Refuse regions that are not known and limits that are none."""
        if self.region not in BODY_REGIONS:
            raise InputError(f"people: no body region {self.region!r}; valid: {', '.join(BODY_REGIONS)}")
        if not all(np.isfinite(x) and x > 0.0 for x in (self.force, self.pressure) if x is not None):
            raise InputError(f"people: limits of {self.region} must be greater than 0, in N and N/cm²")

    def bound(self, area: float | None) -> float:
        """Return the quasi-static force [N] that keeps both limits on a contact area [cm²], the pressure even."""
        return self.force if area is None or self.pressure is None else min(self.force, self.pressure * area)


@dataclass(frozen=True, slots=True)
class PersonContact:
    """The worst contact of a move.

    Attributes:
        move: index. time: [s]. region, kind: what binds. speed: of the tool [m/s].
        mass: effective mass of the arm that was used [kg]. reflected: along the motion [kg]. rule_mass: M/2 + m_L [kg].
        force, limit: [N]. permissible: speed [m/s] at which the force would be at its limit.
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
    """Return the worst contact of every move in which the tool moves, planned motion, in the program's order."""
    if not limits:
        raise InputError("people: give at least one region with its limit of force")
    if area is not None and not area > 0.0:
        raise InputError(f"people: a contact area must be greater than 0 cm², got {area}")
    speed, reflected, rule = _tool_motion(outcome)
    known = bool((outcome.robot.actuators.rotor_inertia > 0.0).all())
    mass = reflected if known else np.maximum(reflected, rule)
    moves, time = outcome.demand.moves, outcome.plan.cycle * np.arange(outcome.demand.cycles)
    cases = [
        (limit.region, clamped, limit.bound(area) * (1.0 if clamped else BODY_REGIONS[limit.region].transient))
        for limit in limits
        for clamped in (False, True)
    ]
    uses = np.array([contact_force(speed, mass, BODY_REGIONS[r], clamped=c) / bound for r, c, bound in cases])
    out = []
    for move in np.unique(moves).tolist():
        rows = np.flatnonzero(moves == move)
        if not speed[rows].max() > STILL_SPEED:
            continue
        case, at = np.unravel_index(int(np.argmax(uses[:, rows])), (len(cases), rows.size))
        k, (region, clamped, bound) = rows[at], cases[int(case)]
        force = float(uses[case, k] * bound)
        out.append(
            PersonContact(
                move,
                float(time[k]),
                region,
                "quasi-static" if clamped else "transient",
                float(speed[k]),
                float(mass[k]),
                float(reflected[k]),
                float(rule[k]),
                force,
                bound,
                float(speed[k]) * bound / force,
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


def people_words(outcome: ProgramRun, found: Sequence[PersonContact]) -> tuple[str, ...]:
    """Return the first move that is too fast, or the one nearest to its limit, and what this is not."""
    from armwright.programs.outcome.program_words import place_words

    if not found:
        return ("The tool does not move: nobody is met.",)
    over = [row for row in found if row.use > 1.0]
    row = over[0] if over else max(found, key=lambda one: one.use)
    head = (
        f"{len(over)} of {len(found)} moves exceed a limit given for people; first" if over else "Nearest to a limit is"
    )
    return (
        f"{head} {place_words(outcome, row.move)} at {row.time:.3f} s: {row.region}, {row.kind}, {row.force:.3g} N of "
        f"{row.limit:.3g} N at {row.speed:.3g} m/s with {row.mass:.3g} kg (reflected: {row.reflected:.3g} kg); "
        f"{row.permissible:.3g} m/s would be permissible.",
        "A model of contact after ISO/TS 15066, with the limits that were given: no certification and no measurement.",
    )


def people_figures(outcome: ProgramRun, found: Sequence[PersonContact]) -> dict[str, Any]:
    """Return the worst contact of every move as plain numbers."""
    names = ("region", "kind", "use")
    return {
        "words": people_words(outcome, found),
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
