# SPDX-License-Identifier: Apache-2.0
"""Appendix B of 000: the printed M, C q̇ and g belong to another arm, without links 3 and 5."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from armwright.dynamics import energy, gravity_torque, inverse_dynamics, mass_matrix
from armwright.robot.model import Robot
from armwright.studies.doc000_collision import as_published
from armwright.studies.doc000_collision.setting import MISSING_LINKS, arm, postures, q_t, qd_t, qdd_t, reduced
from armwright.studies.study import Claim, Formula, Item, Numbers
from armwright.types import Array, Traced

UPPER, LOWER = ("m12", "m13", "m14", "m15", "m23", "m24", "m25"), ("m33", "m34", "m35", "m44", "m45", "m55")
WRIST = ("m16", "m26", "m36", "m46", "m56", "m66")
MISSING = "links 3 and 5 carry no mass force and no offset: m3 = m5 = 0, r_23 = r_45 = 0; I3 and I5 are there"


def printed(names: tuple[str, ...]) -> Callable[[], Array]:
    """Return a function that gives the printed closed forms of these entries at the test posture."""
    return lambda: np.array([(as_published.mass_entries(q_t) | as_published.gravity_entries(q_t))[k] for k in names])


def entries(robot: Robot, names: tuple[str, ...], q: Traced = q_t) -> Array:
    """Return the same entries of an arm, (len(names), ...)."""
    M, g = mass_matrix(robot, q), gravity_torque(robot, q)
    return np.array([M[..., int(k[1]) - 1, int(k[2]) - 1] if k[0] == "m" else g[..., int(k[1]) - 1] for k in names])


@cache
def distance(robot: Robot) -> dict[str, float]:
    """Return the largest difference between the printed M, g and an arm's, over 50 postures."""
    q = postures()
    M, g = as_published.mass_entries(q), as_published.gravity_entries(q)
    return {
        "M": float(np.abs(entries(robot, tuple(M), q) - np.array(list(M.values()))).max()),
        "g": float(np.abs(entries(robot, tuple(g), q) - np.array(list(g.values()))).max()),
    }


def whose_equations() -> str:
    """Return which arm has the printed M and g, to the ten digits of the print."""
    for name, robot in (("the arm of the tables", arm()), ("an arm with m3 = m5 = 0, r_23 = r_45 = 0", reduced())):
        if max(distance(robot).values()) < 1e-10:
            return name
    return "neither"


def second_harmonic(robot: Robot) -> float:
    """Return twice the coefficient of cos 2q2 in m11, that of sin(2q2) q̇1 q̇2 in (C q̇)_1, by exact averaging."""
    angle = 2.0 * np.pi * np.arange(6) / 6.0
    q2, q3, q4, q5 = (x.ravel() for x in np.meshgrid(angle, angle, angle, angle, indexing="ij"))
    q = np.stack([0.0 * q2, q2, q3, q4, q5, 0.0 * q2], axis=1)
    return float(2.0 * np.mean(mass_matrix(robot, q)[:, 0, 0] * 2.0 * np.cos(2.0 * q2)))


def mass_behind_m55() -> float:
    """Return the m5 [kg] whose cylinder I5 explains the printed m55; the rest are links 4 and 6 of the reduced arm."""
    I5, table = float(arm().bodies[4].inertia[1, 1]), arm().bodies[4].mass
    rest = float(mass_matrix(reduced(), q_t)[4, 4]) - I5
    return float(table * (as_published.mass_entries(q_t)["m55"] - rest) / I5)


def _notes() -> list[str]:
    out = []
    for name, robot in (("arm with m3 = m5 = 0, r_23 = r_45 = 0", reduced()), ("arm of the tables", arm())):
        d = distance(robot)
        out.append(f"printed entries against the {name}: M to {d['M']:.1e} kg m², g to {d['g']:.1e} N m (50 postures)")
    q = np.random.default_rng(1).uniform(-np.pi, np.pi, (20000, 6))
    dM = np.abs(mass_matrix(arm(), q) - mass_matrix(reduced(), q)).max(axis=0)
    dg = np.abs(gravity_torque(arm(), q) - gravity_torque(reduced(), q)).max(axis=0)
    out.append(f"the two arms differ by up to {dM.max():.2f} kg m² in M (m23 {dM[1, 2]:.2f}) and {dg[1]:.1f} N m in g2")
    for name, robot in (("printed", reduced()), ("tables", arm())):
        M, g = np.diag(mass_matrix(robot, np.zeros(6))), gravity_torque(robot, np.zeros(6))
        out.append(f"{name}: diag M(0) = (" + ", ".join(f"{x:.5f}" for x in M) + ") kg m²")
        out.append(f"{name}: g(0) = (" + ", ".join(f"{x + 0.0:.3f}" for x in np.round(g, 9)) + ") N m")
    return out


def _item(name: str, title: str, text: str, names: tuple[str, ...], unit: str, reason: str = MISSING) -> Item:
    shown = f"{text}: " + ", ".join(names)
    return Item(
        name,
        title,
        Formula(shown, unit, 1e-8),
        printed(names),
        lambda: entries(arm(), names),
        reason=reason,
        faults=(MISSING_LINKS,),
        rule="to 1e-8: the printed coefficients have nine digits and more",
    )


ITEMS: tuple[Item, ...] = (
    Item(
        "3.K",
        "kinetic energy",
        Formula("K = ½ q̇ᵀM(q)q̇, M(q) by (3.5)", "J"),
        lambda: as_published.kinetic_by_jacobians(arm(), q_t, qd_t),
        lambda: energy(arm(), q_t, qd_t).kinetic,
        rule="at a state without symmetries; ours is the sum over the links, from their velocities",
    ),
    Item(
        "B.arm",
        "whose dynamics are printed",
        Claim("the UR5 of the tables", "the arm of the tables"),
        None,
        whose_equations,
        reason="the framework's lines for links 3 and 5 leave out the mass forces and the accelerations of the offsets",
        faults=(MISSING_LINKS,),
        notes=_notes,
    ),
    Item(
        "B.tau",
        "joint torques of the framework at a state",
        Formula("recursion with shortened lines for links 3 and 5", "N m"),
        lambda: inverse_dynamics(reduced(), q_t, qd_t, qdd_t),
        lambda: inverse_dynamics(arm(), q_t, qd_t, qdd_t),
        reason=MISSING,
        faults=(MISSING_LINKS,),
    ),
    _item("B.Ma", "inertia matrix, first rows", "closed forms", UPPER, "kg m²"),
    _item("B.Mb", "inertia matrix, diagonal block", "closed forms", LOWER, "kg m²"),
    _item("B.Mc", "inertia matrix, entries of joint 6", "closed forms", WRIST, "kg m²"),
    Item(
        "B.m5",
        "mass of link 5 in the table, and in the printed m55",
        Numbers("1.11884", "kg"),
        None,
        mass_behind_m55,
        notes=lambda: ["so the table's value was used; it is likely a slip for 1.1884, the mass of the equal link 4"],
    ),
    Item(
        "B.C",
        "coefficient of q̇1 q̇2 sin 2q2 in C q̇",
        Numbers("0.827284", "kg m²", up_to_sign=True),
        lambda: second_harmonic(reduced()),
        lambda: second_harmonic(arm()),
        reason=MISSING,
        faults=(MISSING_LINKS,),
    ),
    Item(
        "B.K",
        "kinetic energy of the framework at a state",
        Formula("Ekin = ½ q̇ᵀ M0 q̇", "J"),
        lambda: energy(reduced(), q_t, qd_t).kinetic,
        lambda: energy(arm(), q_t, qd_t).kinetic,
        reason=MISSING,
        faults=(MISSING_LINKS,),
    ),
    _item("B.ga", "gravity torque, joints 2 to 5", "closed forms", ("g2", "g3", "g4", "g5"), "N m"),
    Item(
        "B.gb",
        "joints 1 and 6 carry no weight",
        Claim("g1 = g6 = 0"),
        lambda: bool(np.abs(gravity_torque(reduced(), postures())[:, [0, 5]]).max() < 1e-12),
        lambda: bool(np.abs(gravity_torque(arm(), postures())[:, [0, 5]]).max() < 1e-12),
    ),
)
