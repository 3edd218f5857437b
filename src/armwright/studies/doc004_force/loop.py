# SPDX-License-Identifier: Apache-2.0
"""Chapter 5 of 004: what the closed loop shows of the models (tables 5.1, 5.5, 5.6) and of the gains (C.1 to C.4)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from armwright.dynamics import forward_dynamics, inverse_dynamics
from armwright.identify.controller_gains import pd_gains
from armwright.robot.model import Robot
from armwright.studies.doc004_force.setting import PATH, model, path, torque
from armwright.studies.study import Claim, Item
from armwright.types import Array

GAINS_A = (38.1134, 11.2315, 12.9899, 8.0265, 53.3125, 44.5480, 38.7368, 11.8093, 31.3581, 30.9468, 34.7433, 10.0584)
GAINS_B = (33.9094, 9.5467, 12.9338, 12.2111, 31.3581, 30.9468, 34.7433, 10.0584, 13.4388, 12.7900, 32.0208, 31.6278)
UNKNOWN = "gains that the data do not show are printed with six digits"


@cache
def torque_errors() -> dict[str, Array]:
    """Return the MAE of τ (6,) of each model against a plant like model C with link 3 of newer tables [N m]."""
    exact = torque(plant(), path())
    names = ("legacy", "a", "b", "c")
    return {name: np.abs(torque(model(name), path()) - exact).mean(axis=0) for name in names}


@cache
def plant() -> Robot:
    """Return model C with link 3 of 2.33 kg, centre at x = 0.15 m: the controller's own model is none of A, B, C."""
    robot = model("c")
    third = replace(robot.bodies[2], mass=2.33, com=np.array([0.15, 0.0, 0.0265]))
    return replace(robot, bodies=(*robot.bodies[:2], third, *robot.bodies[3:]))


def legacy_is_far_off() -> bool:
    """Return whether, as in T5.1, the MAE is 15–40 N m at joint 2 and 10–16 N m at joint 3."""
    e = torque_errors()["legacy"]
    return bool(15.0 <= e[1] <= 40.0 and 10.0 <= e[2] <= 16.0)


def mean_elbow_torque(name: str) -> float:
    """Return the mean torque of joint 3 [N m]."""
    return float(torque(model(name), path())[:, 2].mean())


def closed_loop_differs() -> bool:
    """Return whether any model's closed loop answers an acceleration command other than by that acceleration."""
    m = path()
    rows = slice(0, len(m.t), 50)
    for name in ("legacy", "a", "b", "c"):
        arm = model(name)
        tau = inverse_dynamics(arm, m.q[rows], m.qd[rows], m.qdd[rows], friction=False)
        back = forward_dynamics(arm, m.q[rows], m.qd[rows], tau, friction=False)
        if not np.allclose(back, m.qdd[rows], atol=1e-8):
            return True
    return False


@cache
def gains_from_tracking() -> str:
    """Return what a fit says of data like table 5.1's: errors of 2e-4 rad and 3e-3 rad/s, nothing to decay."""
    rng = np.random.default_rng(0)
    t = path().t
    found = pd_gains(t, 2e-4 * rng.normal(size=len(t)), 3e-3 * rng.normal(size=len(t)), bounds=(0.1, 120.0))
    return found.verdict.split(":")[0]


ITEMS = (
    Item(
        "T5.1a",
        "the legacy model misses tens of newton metres on joints 2 and 3",
        Claim("MAE 25.8 and 14.3 N m"),
        correct=legacy_is_far_off,
        rule=f"joint 2 in 15–40, joint 3 in 10–16 N m; {PATH}",
    ),
    Item(
        "T5.1b",
        "the legacy model has next to no mean torque on joint 3",
        Claim("0.1680 against 14.4607 N m"),
        correct=lambda: bool(abs(mean_elbow_torque("legacy")) < 0.5 and mean_elbow_torque("c") > 10.0),
        rule=f"below 0.5 N m, where model C has more than 10 N m; {PATH}",
    ),
    Item(
        "5.1q",
        "small errors of q and q̇ confirm the model and the control structure",
        Claim("shown by the simulations"),
        correct=closed_loop_differs,
        reason="with exact linearisation ë + K₁ė + K₀e = 0 whatever D, C and g are: the legacy model tracks as well",
        faults=("tracking errors are taken for evidence about the model",),
    ),
    Item(
        "T5.6a",
        "model A is clearly worse than C on joints 2 and 3",
        Claim("1.81 and 1.95 against 0.59 and 1.24 N m"),
        correct=lambda: bool((torque_errors()["a"][1:3] > 1.4 * torque_errors()["c"][1:3]).all()),
        rule=f"by a factor of 1.4 at least, against a plant whose link 3 is none of the models'; {PATH}",
    ),
    Item(
        "T5.6b",
        "models B and C are a tie",
        Claim("within a few per cent"),
        correct=lambda: bool((np.abs(torque_errors()["b"] - torque_errors()["c"]) <= 0.05).all()),
        rule=f"within 0.05 N m on every joint; {PATH}",
    ),
    Item(
        "C.2",
        "the gains of model A",
        Claim("k₁,₃ … k₁,₆ are its own"),
        correct=lambda: GAINS_A[8:] != GAINS_B[4:8],
        reason="digit for digit k₀,₅, k₀,₆, k₁,₁, k₁,₂ of model B",
        faults=("four gains of model A are copied from model B",),
    ),
    Item(
        "5.3",
        "the controller's gains are estimated",
        Claim("C.1 to C.4", "determined"),
        correct=gains_from_tracking,
        reason="tracking data do not excite the error dynamics: the cost is flat along k₁ ≈ k₀ + c",
        faults=(UNKNOWN,),
        rule="errors of the size of table 5.1, white, 22.4 s; undetermined: two deviations beyond ±50 %, or a bound",
    ),
)
