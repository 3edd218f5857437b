# SPDX-License-Identifier: Apache-2.0
"""Chapter 4 of 004: the arm (Figure 4.1, Table 4.1) and the inertial unit (Tables 4.4, 4.5)."""

from __future__ import annotations

import numpy as np

from armwright.dynamics import gravity_torque, mass_matrix
from armwright.kinematics import fk
from armwright.studies.doc004_force.setting import NU, PRINTED_WAYPOINT, K, model
from armwright.studies.study import Claim, Item, Numbers, Shown, Undetermined
from armwright.types import Array

BIG_TORQUE, BIG_ACCELERATION = 150.0, 25.0
"""[N m], [rad/s²] of joints 1 to 3 (Table 4.1)."""
TORQUE_CONSTANTS = np.array([0.13, 0.13, 0.13, 0.14, 0.14, 0.14])
"""Table 4.1, without a unit."""
ACCELERATION_NOISE = 0.002
"""[m/s²/√Hz] Table 4.5."""


def height() -> float:
    """Return the height of the upright arm: flange and the radius of the wrist [m]."""
    upright = np.array([0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0])
    return float(fk(model("c"), upright)[2, 3] + 0.0384)


def reachable_accelerations(q: Array) -> Array:
    """Return what joints 1 to 3 (3,) reach alone from rest with 150 N m, less gravity and Coulomb friction [rad/s²]."""
    left = BIG_TORQUE - np.abs(gravity_torque(model("c"), q)) - NU
    return np.asarray((left / np.diag(mass_matrix(model("c"), q)))[:3])


def big_joints_reach_25() -> Shown:
    """Return whether 150 N m suffice for 25 rad/s² on every big joint, at the waypoint of Figure 4.5."""
    here, stretched = reachable_accelerations(PRINTED_WAYPOINT), reachable_accelerations(np.zeros(6))
    text = f"{_row(here)} rad/s² at the waypoint of Figure 4.5, {_row(stretched)} with the arm stretched"
    return Shown(bool((here >= BIG_ACCELERATION).all()), text)


def _row(values: Array) -> str:
    return " ".join(f"{x:.0f}" for x in values)


def _table_4_1() -> list[str]:
    ratios = " ".join(f"{x:.1f}" for x in K / TORQUE_CONSTANTS)
    return [f"taken as N m/A at the motor they would need gears of {ratios} to give k of (6.6)"]


def filtered_noise() -> float:
    """Return the deviation [m/s²] of Table 4.5's noise after the low-pass of section 5.5, by its noise bandwidth."""
    order, cutoff = 8, 4.7
    bandwidth = cutoff / (2.0 * np.pi) * (np.pi / (2 * order)) / np.sin(np.pi / (2 * order))
    return float(ACCELERATION_NOISE * np.sqrt(bandwidth))


ITEMS = (
    Item("4.1", "height of the upright arm", Numbers("1.04", "m"), correct=height),
    Item(
        "T4.1",
        "the manufacturer's joint data",
        Undetermined("±2π rad, ±3.2 rad/s, ±15 and ±25 rad/s², 150 and 28 N m; friction; torque constants 0.13, 0.14"),
        reason="the manufacturer's figures; friction and torque constants have no unit, and the thesis uses neither",
        notes=_table_4_1,
    ),
    Item(
        "T4.1a",
        "accelerations of the big joints",
        Claim("“tests have shown that the big joints reach accelerations up to ±25 rad/s²”"),
        correct=big_joints_reach_25,
        rule="whether the printed 150 N m suffice: model C, one joint alone from rest, Coulomb friction of (6.2)",
    ),
    Item(
        "T4.4",
        "the inertial unit: accuracy and rates",
        Undetermined("< 0.5°, < 1°; 0.05°; ±90°, ±180°; 256 Hz, 512 Hz; 16 bits"),
        reason="the manufacturer's figures; the thesis uses no attitude, and the rate at which it read the unit is not "
        "said",
    ),
    Item(
        "T4.5",
        "the inertial unit: full scale of the acceleration",
        Numbers("50", "m/s²", reading=(2.0,)),
        correct=lambda: 5.0 * 9.81,
        rule="the text has “5g ≈ 50 m/s²”: equal to the 2 m/s² that ≈ may hide",
        notes=lambda: [
            f"its noise of 0.002 m/s²/√Hz is {1e3 * filtered_noise():.1f} mm/s² after the filter of section 5.5"
        ],
    ),
)
