# SPDX-License-Identifier: Apache-2.0
"""Sections 5.1, 5.2, 5.4 of 004: what the closed loop shows of models (Tables 5.1, 5.5, 5.6) and gains (C.1 to C.4)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from armwright.control import pid
from armwright.dynamics import forward_dynamics, gravity_torque, inverse_dynamics
from armwright.identify.controller_gains import pd_gains
from armwright.robot.model import Robot
from armwright.simulation import simulate
from armwright.studies.doc004_force.random_routes import THIS_MANY, how_often, routes, span
from armwright.studies.doc004_force.setting import DEAD, NU, PATH, ROUTE, model, path, torque, trapezoids
from armwright.studies.study import Claim, Item, Shown
from armwright.types import Array

GAINS = {
    "legacy": (
        69.0144,
        42.2086,
        23.9466,
        60.8311,
        93.1483,
        46.1087,
        69.6765,
        42.9010,
        24.3699,
        61.1925,
        94.1696,
        46.8422,
    ),
    "a": (38.1134, 11.2315, 12.9899, 8.0265, 53.3125, 44.5480, 38.7368, 11.8093, 31.3581, 30.9468, 34.7433, 10.0584),
    "b": (33.9094, 9.5467, 12.9338, 12.2111, 31.3581, 30.9468, 34.7433, 10.0584, 13.4388, 12.7900, 32.0208, 31.6278),
    "c": (47.1193, 10.1342, 11.8224, 45.1703, 83.5995, 53.4902, 48.0059, 10.5656, 12.2736, 46.7860, 84.4198, 54.2770),
}
"""(C.1) to (C.4): κ₀,₁ … κ₀,₆ [1/s²], κ₁,₁ … κ₁,₆ [1/s]."""
TABLE_5_6 = {
    "a": (0.3227, 1.8140, 1.9529, 0.2119, 0.2387, 0.0333),
    "b": (0.2973, 0.6082, 1.1918, 0.0808, 0.0393, 0.0333),
    "c": (0.2959, 0.5860, 1.2439, 0.0837, 0.0411, 0.0348),
}
"""MAE(τ̂_i) [N m]."""
MODELS = ("legacy", "a", "b", "c")
SERVO = 60.0
"""[rad/s] ours: natural frequency of each joint's own servo in `tracked_without_a_model`, and the inertia it is for."""
SERVO_INERTIA = np.array([1.7, 2.2, 0.7, 0.1, 0.1, 0.1])
ROTORS = 0.1
"""[kg m²] ours, as in the catalogue's sheet of the UR5."""
OTHER_PLANT = "against model C with another link 3 (2.33 kg at x = 0.15 m), in place of the controller's own model"


@cache
def torque_errors() -> dict[str, Array]:
    """Return the MAE of τ (6,) of each model against `plant` on the path [N m]."""
    exact = torque(plant(), path())
    return {name: np.abs(torque(model(name), path()) - exact).mean(axis=0) for name in MODELS}


@cache
def torque_errors_on_routes() -> dict[str, Array]:
    """Return the same (60, 6) on the random routes."""
    m = routes()
    exact = torque(plant(), m)
    return {name: np.abs(torque(model(name), m) - exact).mean(axis=1) for name in MODELS}


@cache
def plant() -> Robot:
    """Return model C with link 3 of 2.33 kg, centre at x = 0.15 m: the controller's own model is none of A, B, C."""
    robot = model("c")
    third = replace(robot.bodies[2], mass=2.33, com=np.array([0.15, 0.0, 0.0265]))
    return replace(robot, bodies=(*robot.bodies[:2], third, *robot.bodies[3:]))


def joints_2_and_3_stand_out(errors: Array) -> Array:
    """Return whether joints 2 and 3 have the two largest errors (..., 6)."""
    return np.asarray(errors[..., 1:3].min(axis=-1) > errors[..., [0, 3, 4, 5]].max(axis=-1))


def legacy_is_far_off() -> Shown:
    """Return whether the legacy model's errors stand out on joints 2 and 3, with their sizes [N m]."""
    e, all_ = torque_errors()["legacy"], torque_errors_on_routes()["legacy"]
    sizes = f"{e[1]:.1f} and {e[2]:.1f} N m, others up to {e[[0, 3, 4, 5]].max():.1f}"
    many = f"{how_often(joints_2_and_3_stand_out(all_))}: {span(all_[:, 1])} and {span(all_[:, 2])} N m"
    return Shown(bool(joints_2_and_3_stand_out(e)), f"{sizes}; {many}")


def elbow_means(name: str) -> tuple[float, Array]:
    """Return the mean torque of joint 3 on the path and on the routes (60,) [N m]."""
    return float(torque(model(name), path())[:, 2].mean()), torque(model(name), routes())[..., 2].mean(axis=1)


def legacy_elbow_is_idle() -> Shown:
    """Return whether the legacy model's mean torque of joint 3 is below a tenth of the other's."""
    (old, old_all), (new, new_all) = elbow_means("legacy"), elbow_means("c")
    holds = np.abs(old_all) < 0.1 * np.abs(new_all)
    many = f"{how_often(holds)}: model C has {span(new_all)} N m"
    return Shown(abs(old) < 0.1 * abs(new), f"{old:.2f} against {new:.2f} N m; {many}")


def gravity_near_zero() -> Shown:
    """Return whether some entries of the legacy g(q) stay small wherever the arm is, and model C's do not."""
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (5000, 6))
    old, new = (np.abs(gravity_torque(model(name), q)).max(axis=0) for name in ("legacy", "c"))
    text = f"joints 3 and 4: at most {old[2]:.2f} and {old[3]:.2f} N m, model C {new[2]:.1f} and {new[3]:.1f}"
    return Shown(bool((old[2:4] < 0.05 * new[2]).all()), text)


@cache
def closed_loop_gap() -> float:
    """Return by how much any model's closed loop misses the acceleration that its controller asks for [rad/s²]."""
    m = path()
    rows = slice(0, len(m.t), 50)
    gaps = []
    for name in MODELS:
        tau = inverse_dynamics(model(name), m.q[rows], m.qd[rows], m.qdd[rows], friction=False)
        back = forward_dynamics(model(name), m.q[rows], m.qd[rows], tau, friction=False)
        gaps.append(float(np.abs(back - m.qdd[rows]).max()))
    return max(gaps)


def same_loop_for_every_model() -> Shown:
    """Return whether the models' closed loops are one and the same double integrator."""
    return Shown(closed_loop_gap() < 1e-8, f"q̈ = a_q to {closed_loop_gap():.0e} rad/s² with every model")


@cache
def tracked_without_a_model() -> tuple[Array, Array]:
    """Return MAE of q and q̇ (6,) between the thesis's closed loop and an arm under a PID of each joint by itself.

    The thesis's loop (2.80) starts on its reference and stays there, q̂ = q^d, whatever its gains: what is compared with
    the measurement is how well the arm follows, and any stiff servo does.
    """
    arm = model("c").with_rotors(ROTORS).with_friction(NU, NU, DEAD)
    kp = SERVO_INERTIA * SERVO**2
    law = pid(kp=kp, ki=0.1 * SERVO * kp, kd=2.0 * SERVO_INERTIA * SERVO)
    reference = trapezoids(ROUTE)
    run = simulate(arm, law, reference, every=8)
    wanted = reference.evaluate(run.time)
    return np.abs(run["q"] - wanted.q).mean(axis=0), np.abs(run["qd"] - wanted.qd).mean(axis=0)


def structure_shows() -> Shown:
    """Return whether an arm without any linearisation would have been told apart by errors beyond the printed ones."""
    q, qd = tracked_without_a_model()
    text = f"a PID of each joint, no model in it, leaves {q.max():.4f} rad and {qd.max():.4f} rad/s at most"
    return Shown(bool(q.max() > 0.0005 or qd.max() > 0.0148), text)


def a_is_worse() -> Shown:
    """Return whether A errs more than B and C on joints 2 to 5."""

    def worse(e: dict[str, Array]) -> Array:
        others = np.maximum(e["b"], e["c"])
        return np.asarray((e["a"][..., 1:5] > others[..., 1:5]).all(axis=-1))

    e, many = torque_errors(), torque_errors_on_routes()
    text = f"{_row(e['a'][1:5])} against C's {_row(e['c'][1:5])} N m on joints 2–5; {how_often(worse(many))}"
    return Shown(bool(worse(e)), text)


def b_and_c_tie() -> Shown:
    """Return whether B and C differ by no more than in Table 5.6 on any joint."""
    printed = np.abs(np.subtract(TABLE_5_6["b"], TABLE_5_6["c"])).max()
    e, many = torque_errors(), torque_errors_on_routes()
    gap, gaps = np.abs(e["b"] - e["c"]).max(), np.abs(many["b"] - many["c"]).max(axis=1)
    text = f"{gap:.3f} N m apart at most, printed {printed:.3f}; {how_often(gaps <= printed)}: {span(gaps)} N m"
    return Shown(bool(gap <= printed), text)


def _row(values: Array) -> str:
    return " ".join(f"{x:.2f}" for x in values)


@cache
def gains_from_tracking() -> Shown:
    """Return whether data like Table 5.1's show the gains: errors of 2e-4 rad and 3e-3 rad/s, nothing to decay."""
    rng = np.random.default_rng(0)
    t = path().t
    found = pd_gains(t, 2e-4 * rng.normal(size=len(t)), 3e-3 * rng.normal(size=len(t)), bounds=(0.1, 120.0))
    low, high = (f([GAINS[name][:6] for name in MODELS], axis=0) for f in (np.min, np.max))
    joint = int(np.argmax(high / low))
    text = f"of one and the same loop κ₀,{joint + 1} is {low[joint]:.1f} to {high[joint]:.1f} in the four fits"
    return Shown(found.verdict.split(":")[0], text)


ITEMS = (
    Item(
        "T5.1a",
        "where the legacy model's torques err most",
        Claim("“most evident are the MAEs for τ̂₂ and τ̂₃”, 25.8024 and 14.2721 N m"),
        correct=legacy_is_far_off,
        rule=f"the two largest errors; {OTHER_PLANT}; {PATH}; {THIS_MANY}",
    ),
    Item(
        "T5.1b",
        "mean torque of joint 3, legacy model and controller",
        Claim("0.1680 and 14.4607, “a clear disparity”"),
        correct=legacy_elbow_is_idle,
        rule=f"below a tenth; model C for the controller's; {PATH}; {THIS_MANY}",
    ),
    Item(
        "T5.1g",
        "gravity in the legacy model",
        Claim("“some of the entries of the gravity vector … allow only values that are close to zero”"),
        correct=gravity_near_zero,
        rule="below a twentieth of model C's joint 3, at 5000 random configurations",
    ),
    Item(
        "5.1q",
        "small errors of q and q̇ and the control structure",
        Claim("“shown that the control structure can be assumed to be a feedback linearization” with a PD controller"),
        correct=structure_shows,
        reason="the modelled loop sits on its reference, so MAE(q̂), MAE(q̂̇) are how well the arm follows; any stiff "
        "servo does, with errors of the printed size",
        faults=("tracking errors are taken for evidence about the control structure",),
        rule="an arm with friction (6.2) under a PID of each joint, 60 rad/s, ours; told apart: errors beyond the "
        "largest of "
        f"Table 5.5, 0.0005 rad and 0.0148 rad/s; {PATH}",
    ),
    Item(
        "T5.5",
        "errors of q and q̇ of models A, B, C",
        Claim("differences “between the different models are not significant”"),
        correct=same_loop_for_every_model,
    ),
    Item(
        "T5.6a",
        "model A against B and C",
        Claim("“higher torque modeling errors than Model B and C”: 1.8140, 1.9529 against 0.5860, 1.2439 N m"),
        correct=a_is_worse,
        rule=f"on joints 2 to 5; {OTHER_PLANT}; {PATH}; {THIS_MANY}",
    ),
    Item(
        "T5.6b",
        "models B and C",
        Claim("“none of the two models outperforms the other”"),
        correct=b_and_c_tie,
        rule=f"no joint further apart than the largest difference of Table 5.6; {OTHER_PLANT}; {PATH}; {THIS_MANY}",
    ),
    Item(
        "C.2",
        "the gains of model A",
        Claim("κ₁,₃ … κ₁,₆ “as estimated in Section 5.3 for Model A”"),
        correct=lambda: Shown(GAINS["a"][8:] != GAINS["b"][4:8], "31.3581 30.9468 34.7433 10.0584 stand in (C.3), too"),
        reason="digit for digit κ₀,₅, κ₀,₆, κ₁,₁, κ₁,₂ of model B",
        faults=("four gains of model A are copied from model B",),
    ),
    Item(
        "C.1",
        "the controller's gains",
        Claim("“PD control parameters could be estimated”", "determined"),
        correct=gains_from_tracking,
        reason="the closed loop is the same whatever the model (T5.5), so four fits of it should agree; tracking data "
        "do not excite the error dynamics, and the cost is flat along κ₁ ≈ κ₀ + c",
        faults=("gains that the data do not show are printed with six digits",),
        rule="a fit to white errors of the size of Table 5.1, 22.4 s; undetermined: two deviations beyond ±50 %, or a "
        "bound",
    ),
)
