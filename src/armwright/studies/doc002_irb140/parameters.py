# SPDX-License-Identifier: Apache-2.0
"""Chapter 3 of 002: masses, cylinders and inertias (Table 3.1, sections 3.4 and 3.5)."""

from __future__ import annotations

import numpy as np

from armwright.kinematics import fk_all
from armwright.spatial import cylinder_inertia, is_physical, triangle_gap
from armwright.studies.doc002_irb140.kinematics import home_centres
from armwright.studies.doc002_irb140.setting import BASE_AXES, BASE_MASS, CYLINDERS, MASSES, a1, arm, e4
from armwright.studies.study import Claim, Formula, Item, Numbers, Shown
from armwright.types import Array

COMMON_DENSITY = 1500.0
DH_AXES = {1: "y", 2: "x", 4: "y", 6: "z"}


def densities() -> Array:
    """Return the mass over volume of the four cylinders [kg/m³]."""
    return np.array([MASSES[link] / (np.pi * r * r * h) for link, (r, h) in CYLINDERS.items()])


def inertias_as_published() -> Array:
    """Return cylinders in DH axes: ½ m r² along, m h²/12 + m r²/4 across (4, 3, 3)."""
    return np.array([_cylinder(link, DH_AXES[link]) for link in MASSES])


def _cylinder(link: int, axis: str) -> Array:
    m, (r, h) = MASSES[link], CYLINDERS[link]
    diagonal = [m * h * h / 12.0 + m * r * r / 4.0] * 3
    diagonal["xyz".index(axis)] = 0.5 * m * r * r
    return np.diag(diagonal)


def base_inertias() -> Array:
    """Return the inertias (4, 3, 3) of the links turned to base axes in the home pose, as the screw part wants them."""
    frames = fk_all(arm(), np.zeros(6))[:, :3, :3]
    return np.array([frames[k - 1] @ arm().bodies[k - 1].inertia @ frames[k - 1].T for k in MASSES])


def _notes() -> list[str]:
    out = []
    for link, rho in zip(MASSES, densities(), strict=True):
        J = cylinder_inertia(MASSES[link], *CYLINDERS[link], "z")
        out.append(f"link {link}: density {rho:.0f} kg/m³, axial {J[2, 2]:.6f}, across {J[0, 0]:.6f} kg m²")
    real = all(
        is_physical(arm().bodies[k - 1].inertia) and triangle_gap(arm().bodies[k - 1].inertia) > 0.0 for k in MASSES
    )
    out.append(f"the inertias are {'' if real else 'not '}those of bodies: positive definite, triangle inequality")
    weight = COMMON_DENSITY * sum(float(np.pi * r * r * h) for r, h in CYLINDERS.values())
    out.append(f"cylinders of this size at 1500 kg/m³ would weigh {weight:.0f} kg without the base")
    return out


def one_density() -> Shown:
    """Return whether every cylinder has 1500 kg/m³, to the two places that this number shows at least."""
    found = densities()
    return Shown(bool(np.abs(found - COMMON_DENSITY).max() < 50.0), ", ".join(f"{x:.0f}" for x in found) + " kg/m³")


def _beyond(item: str, link: int, name: str, text: str, joint: float) -> Item:
    return Item(
        item,
        f"constant {name} of the listing: centre of mass of link {link} beyond its joint, home pose",
        Numbers(text, "m"),
        None,
        lambda: float(home_centres()[link][0] - joint),
    )


ITEMS: tuple[Item, ...] = (
    Item(
        "T3.1",
        "total mass with base",
        Numbers("98", "kg"),
        None,
        lambda: sum(body.mass for body in arm().bodies) + BASE_MASS,
    ),
    Item(
        "T3.1a",
        "one common density",
        Claim("using a mutual mass density of 1500 kg/m³"),
        None,
        one_density,
        reason="only link 6 is near it; masses and cylinder sizes of Table 3.1 give 596 to 1537",
        faults=("section 3.5: one density of 1500 kg/m³",),
        rule="to 50 kg/m³, half a unit of the second place",
        notes=_notes,
    ),
    Item(
        "T3.1b",
        "inertias of the cylinders, DH axes",
        Formula("(3.49)–(3.54): ½ m r², m h²/12 + m r²/4", "kg m²"),
        inertias_as_published,
        lambda: np.array([arm().bodies[k - 1].inertia for k in MASSES]),
    ),
    Item(
        "T3.1c",
        "the same in base axes, home pose",
        Formula("(3.55)–(3.60): ½ m r² in z, z, x, x", "kg m²"),
        lambda: np.array([_cylinder(link, BASE_AXES[link]) for link in MASSES]),
        base_inertias,
    ),
    Item(
        "A3.p1",
        "constants r1c, r2c, r3c of the listing: home centre of mass of link 1",
        Numbers("(0.014, 0.067, 0.264)", "m"),
        None,
        lambda: home_centres()[1],
    ),
    _beyond("A3.p4", 4, "r6c", "0.080", a1),
    _beyond("A3.p6", 6, "r7c", "0.029", a1 + e4),
)
