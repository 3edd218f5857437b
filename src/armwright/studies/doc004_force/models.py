# SPDX-License-Identifier: Apache-2.0
"""Chapters 2 to 4 and appendix C of 004: kinematics, inertia tensors from cylinders, signs, the packet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics import gravity_torque
from armwright.kinematics import analytic_jacobian, fk, jacobian
from armwright.simulation import accelerometer
from armwright.spatial.inertia import two_cylinders
from armwright.studies.doc004_force.setting import PRINTED_WAYPOINT, model
from armwright.studies.study import Claim, Formula, Item, Numbers
from armwright.types import Array

if TYPE_CHECKING:
    from armwright.robot.model import Robot


G0 = np.array([0.0, 0.0, -9.81])
EULER = "angles of (2.2) and the rates of (2.33) are exchanged"
SIGN = "gravity with the wrong sign"


def euler_rate_as_published() -> Array:
    """Return B of (2.33), which multiplies (φ', θ', ψ')."""
    _, theta, psi = _zyz()
    c, s = np.cos, np.sin
    return np.array([[c(psi) * s(theta), -s(psi), 0], [s(psi) * s(theta), c(psi), 0], [c(theta), 0, 1.0]])


def _zyz() -> tuple[float, float, float]:
    R = fk(model("c"), PRINTED_WAYPOINT)[:3, :3]
    theta = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    return float(np.arctan2(R[1, 2], R[0, 2])), float(theta), float(np.arctan2(R[2, 1], -R[2, 0]))


def euler_rate() -> Array:
    """Return the same from the library: ω = B (φ', θ', ψ'), B = J_ω J_a,φ⁻¹."""
    arm = model("c")
    angular, rates = jacobian(arm, PRINTED_WAYPOINT)[3:], analytic_jacobian(arm, PRINTED_WAYPOINT)[3:]
    return np.asarray(angular @ np.linalg.pinv(rates))


def gravity_as_published() -> Array:
    """Return ∂P/∂q with P = Σ m g₀ᵀ r (2.62) and g₀ = (0, 0, −9.81) (5.10), by differences."""
    arm, step = model("c"), 1e-6
    out = []
    for k in range(6):
        q = [PRINTED_WAYPOINT + sign * step * np.eye(6)[k] for sign in (1.0, -1.0)]
        out.append((_potential(arm, q[0]) - _potential(arm, q[1])) / (2.0 * step))
    return np.array(out)


def _potential(arm: Robot, q: Array) -> float:
    from armwright.kinematics import fk_all

    T = fk_all(arm, q)
    centres = [T[i, :3, :3] @ body.com + T[i, :3, 3] for i, body in enumerate(arm.bodies)]
    return float(sum(body.mass * G0 @ r for body, r in zip(arm.bodies, centres, strict=True)))


def resting_acceleration_as_published() -> float:
    """Return ‖R f − g₀‖ of a sensor at rest (5.11)."""
    arm = model("c")
    f = accelerometer(arm, PRINTED_WAYPOINT, np.zeros(6), np.zeros(6))
    return float(np.linalg.norm(fk(arm, PRINTED_WAYPOINT)[:3, :3] @ f - G0))


def height() -> float:
    """Return the height of the upright arm: flange and the radius of the wrist [m]."""
    upright = np.array([0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0])
    return float(fk(model("c"), upright)[2, 3] + 0.0384)


def tensor(name: str, link: int) -> Array:
    """Return Ixx, Iyy, Izz of a model [kg m²]."""
    return np.diag(model(name).bodies[link].inertia)


def upper_arm_centre() -> float:
    """Return z of the centre of mass of link 2's five cylinders [mm] (tables C.3, C.4: offsets from 113.36 mm)."""
    masses = np.array([3.0, 0.7, 0.993, 3.0, 0.7])
    return float(113.36 + masses @ np.array([-16.26, 48.74, 21.64, -16.26, 48.74]) / masses.sum())


def linear_part_depends_on_euler_angles() -> bool:
    """Return whether rows 1–3 of J_a differ from J_g's anywhere: only then could its singularity spoil them."""
    arm = model("c")
    return not np.allclose(
        analytic_jacobian(arm, PRINTED_WAYPOINT)[:3], jacobian(arm, PRINTED_WAYPOINT)[:3], atol=1e-12
    )


def _heights(mass_1: float, mass_2: float, radius: float, height_: float, com: float) -> Array:
    return 1e3 * np.array(two_cylinders(mass_1, mass_2, radius, height_, com).heights)


_A = {1: "0.0084 0.0064 0.0084", 2: "0.0078 0.2100 0.2100", 3: "0.0016 0.0462 0.0462", 4: "0.0016 0.0016 0.0009"}
_A |= {5: "0.0016 0.0016 0.0009", 6: "0.0001 0.0001 0.0001"}
_C = {1: "0.0067 0.0064 0.0067", 2: "0.0149 0.3564 0.3553", 3: "0.0025 0.0551 0.0546", 4: "0.0012 0.0012 0.0009"}
_C |= {5: "0.0012 0.0012 0.0009", 6: "0.0001 0.0001 0.0001"}


def _tensors(label: str, name: str, printed: dict[int, str]) -> tuple[Item, ...]:
    return tuple(
        Item(
            f"{label}.{link}",
            f"inertia tensor of link {link}, model {name.upper()}",
            Numbers(text, "kg m²"),
            correct=partial(tensor, name, link - 1),
        )
        for link, text in printed.items()
    )


ITEMS = (
    Item(
        "2.33",
        "Euler-rate matrix B",
        Formula("ω = B [φ' θ' ψ']ᵀ, first row (cψ sθ, −sψ, 0)"),
        as_published=euler_rate_as_published,
        correct=euler_rate,
        reason="it belongs to R_z(ψ) R_y(θ) R_z(φ); for (2.2) φ and ψ change places",
        faults=(EULER,),
    ),
    Item(
        "2.62",
        "potential energy and g₀ of (5.10)",
        Formula("P = Σ m_i g₀ᵀ r_i, g₀ = (0, 0, −9.81)", tolerance=1e-6),
        as_published=gravity_as_published,
        correct=lambda: np.asarray(gravity_torque(model("c"), PRINTED_WAYPOINT)),
        reason="P = −Σ m g₀ᵀ r; as printed every gravity torque changes sign",
        faults=(SIGN,),
        rule="as printed by central differences, so equal to 1e-6",
    ),
    Item("4.1", "height of the upright arm", Numbers("1.04", "m"), correct=height),
    Item(
        "T4.3",
        "the listed fields are the packet",
        Claim("756 bytes"),
        correct=lambda: 4 + 8 + 8 * 48 + 24 + 120 + 3 * 48 == 756,
        reason="they add up to 684; digital inputs, temperatures, timer and a test value, 72 bytes, are not listed",
        faults=("72 bytes of the packet are not listed",),
    ),
    Item(
        "C.3a",
        "heights of the two cylinders of link 1",
        Numbers("54.19 75.81", "mm"),
        correct=lambda: _heights(3.0, 0.7, 0.0589, 0.130, 0.065 - 0.02561),
    ),
    Item(
        "C.3b",
        "heights of the two cylinders of links 4 and 5",
        Numbers("48.46 56.54", "mm"),
        correct=lambda: _heights(1.0, 0.219, 0.0384, 0.105, 0.050 - 0.01634),
    ),
    Item(
        "C.4",
        "the cylinders of link 2 have the manufacturer's centre of mass",
        Claim("z = 113.36 mm comes out"),
        correct=lambda: bool(abs(upper_arm_centre() - 113.36) < 0.005),
        reason="the tube is not centred: z = 112.43 mm comes out",
        faults=("the centre of mass of link 2 is 0.93 mm off",),
        rule="equal to the printed 0.01 mm",
    ),
    *_tensors("5.7", "a", _A),
    *_tensors("5.8", "c", _C),
    Item(
        "5.8.3xz",
        "product of inertia I_xz of link 3, model C",
        Numbers("0.0034", "kg m²"),
        correct=lambda: float(model("c").bodies[2].inertia[0, 2]),
    ),
    Item(
        "5.11",
        "acceleration of a sensor at rest",
        Formula("X_acc⁰ = R X_acc − g₀, g₀ = (0, 0, −9.81)", "m/s²"),
        as_published=resting_acceleration_as_published,
        correct=lambda: 0.0,
        reason="an accelerometer shows a − g, so a = R f + g₀; as printed a resting sensor has 19.62 m/s²",
        faults=(SIGN,),
    ),
    Item(
        "5.4",
        "the Euler singularity may spoil the linear acceleration",
        Claim("x, y, z may suffer, too"),
        correct=linear_part_depends_on_euler_angles,
        reason="the first three rows of J_a are those of J_g: no angle enters",
        faults=(EULER,),
    ),
)
