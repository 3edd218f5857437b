# SPDX-License-Identifier: Apache-2.0
"""Chapter 2, section 5.3 and appendix C of 004: kinematics, inertia tensors from cylinders, signs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics import gravity_torque
from armwright.kinematics import analytic_jacobian, fk, jacobian
from armwright.spatial.inertia import two_cylinders
from armwright.spatial.poses import inverse
from armwright.studies.doc004_force.setting import PRINTED_WAYPOINT, model
from armwright.studies.study import Claim, Formula, Item, Numbers, Shown, Supposed
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


def tensor(name: str, link: int) -> Array:
    """Return Ixx, Iyy, Izz of a model [kg m²]."""
    return np.diag(model(name).bodies[link].inertia)


UPPER_ARM = 113.36
"""[mm] z of link 2's centre of mass (Table 4.2); offsets of Table C.4 are from there."""
TUBE = 21.64
"""[mm] offset of link 2's tube (Table C.4): at z = 135 mm, the middle of the motors' housings."""


def upper_arm_centre(tube: float = TUBE) -> float:
    """Return z of the centre of mass of link 2's five cylinders [mm] (Tables C.3, C.4)."""
    masses = np.array([3.0, 0.7, 0.993, 3.0, 0.7])
    return float(UPPER_ARM + masses @ np.array([-16.26, 48.74, tube, -16.26, 48.74]) / masses.sum())


def tube_wanted() -> float:
    """Return z of the tube [mm] that would give the manufacturer's centre of mass: the masses' moments vanish."""
    return float(UPPER_ARM + (UPPER_ARM - upper_arm_centre(0.0)) * 8.393 / 0.993)


def transforms_as_published(q: Array) -> Array:
    """Return the six matrices (6, 4, 4) of (5.2), with the lengths that they print."""
    d, a = (0.08916, 0.0, 0.0, 0.1092, 0.0947, 0.0823), (0.0, -0.425, -0.392, 0.0, 0.0, 0.0)
    twists = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)
    c, s = np.cos, np.sin
    rows = [
        [
            [c(x), -s(x) * c(al), s(x) * s(al), ai * c(x)],
            [s(x), c(x) * c(al), -c(x) * s(al), ai * s(x)],
            [0.0, s(al), c(al), di],
            [0.0, 0.0, 0.0, 1.0],
        ]
        for x, di, ai, al in zip(q, d, a, twists, strict=True)
    ]
    return np.array(rows)


def tool_pose_as_published() -> Array:
    """Return T₆⁰ of (5.3), the product of (5.2), at the printed waypoint."""
    return np.asarray(np.linalg.multi_dot(list(transforms_as_published(PRINTED_WAYPOINT))))


def third_case(exchanged: bool) -> Shown:
    """Return whether (2.17) holds for T₁³, i > j: T = T⁻¹ as our text has it, or with the indices exchanged."""
    up = transforms_as_published(PRINTED_WAYPOINT)
    T_1_3 = up[1] @ up[2]
    wanted = inverse(T_1_3)  # of frame 1 with respect to frame 3
    printed = inverse(T_1_3) if exchanged else inverse(wanted)
    gap = float(np.abs(printed - wanted).max())
    return Shown(gap < 1e-12, f"T₁³ is off by {gap:.2g} in its largest entry")


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
        "2.17",
        "transformation from a later to an earlier frame",
        Claim("T_j^i = (T_j^i)⁻¹ if i > j"),
        readings=(
            Supposed("as our text of the thesis has it", partial(third_case, False)),
            Supposed("(T_i^j)⁻¹", partial(third_case, True)),
        ),
        reason="T = T⁻¹ cannot be meant; our text is a transcription that garbles indices elsewhere (2.2, 2.19), and "
        "the thesis never uses this case",
    ),
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
        correct=lambda: np.round(gravity_torque(model("c"), PRINTED_WAYPOINT), 9),
        reason="P = −Σ m g₀ᵀ r; as printed every gravity torque changes sign. A slip of the print: errors of 0.59 N m "
        "(Table 5.6) do not come from it",
        faults=(SIGN,),
        rule="as printed by central differences, so equal to 1e-6",
    ),
    Item(
        "5.2",
        "lengths in A₁ … A₆ from Table 5.2",
        Numbers("0.08916 -0.425 -0.392 0.1092 0.0947 0.0823", "m"),
        correct=lambda: 1e-3 * np.array([89.16, -425.0, -392.25, 109.15, 94.65, 82.3]),
    ),
    Item(
        "T5.2",
        "T₆⁰ from the DH table, at the waypoint of Figure 4.5",
        Formula("T₆⁰ = A₁ A₂ A₃ A₄ A₅ A₆", tolerance=5e-4),
        as_published=tool_pose_as_published,
        correct=lambda: np.asarray(fk(model("c"), PRINTED_WAYPOINT)),
        rule="(5.2) rounds lengths to 3 or 4 digits, by 0.25 mm at most, so equal to 0.5 mm",
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
        "centre of mass of link 2 from its five cylinders",
        Numbers("113.36", "mm"),
        correct=lambda: Shown(upper_arm_centre(), f"the tube would have to lie at {tube_wanted():.1f} mm"),
        reason="said to come out “equal”: two motors at 109.40 mm and 0.993 kg of tube at 135 mm give 112.43 mm",
        faults=("the centre of mass of link 2 is 0.93 mm off",),
    ),
    *_tensors("5.7", "a", _A),
    *_tensors("5.8", "c", _C),
    Item(
        "5.8.3xz",
        "product of inertia I_xz of link 3, model C",
        Numbers("0.0034", "kg m²"),
        correct=lambda: float(model("c").bodies[2].inertia[0, 2]),
    ),
)
