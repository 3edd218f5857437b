# SPDX-License-Identifier: Apache-2.0
"""Section 6.2 of 004: forces from currents, without friction, with it, and by an observer (Tables 6.1, 6.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np

from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import DeadZoneFriction, momentum_observer
from armwright.identify.filtered_log import low_pass
from armwright.kinematics import fk, jacobian
from armwright.studies.doc004_force.random_routes import SEED, THIS_MANY, how_often, routes
from armwright.studies.doc004_force.setting import (
    CURRENT_NOISE,
    DEAD,
    LOG_RATE,
    NU,
    PATH,
    B,
    K,
    SampledMotion,
    friction,
    model,
    path,
    torque,
)
from armwright.studies.study import Claim, Item, Shown, Supposed
from armwright.types import Array

PUSHES = ((3.0, (30.0, 0.0, 0.0)), (9.0, (0.0, 40.0, 0.0)), (15.0, (0.0, 0.0, 25.0)))
"""Half-sines of 2 s, ours: begin [s] and force [N], base axes."""
SETTING = f"three pushes of 25–40 N for 2 s, Coulomb friction of the plant 10 % lower than the model's; {PATH}"
TABLE_MEAN = {
    "u": (7.8240, 16.9189, 2.9237, 2.6154, 3.4000, 1.9967),
    "none": (37.8064, 52.3023, 10.0739, 3.1774, 3.8464, 1.4735),
    "friction": (6.1571, 8.6588, 5.6363, 0.9955, 1.1750, 1.2271),
}
"""Table 6.1: MAE of F̂ᵘ (the robot's own), F̂ (no friction), F̂* (friction) [N], [N m]."""
TABLE_LARGEST = {
    "u": (25.0072, 48.8422, 21.1399, 8.7412, 9.9929, 5.8017),
    "none": (139.499, 98.0112, 35.3182, 7.1011, 11.7200, 6.3418),
    "friction": (32.0353, 27.7541, 28.1711, 6.2946, 5.0910, 2.1928),
}
"""Table 6.2: largest absolute errors of the same."""
LEVER = 0.0286
"""[m] (6.10)."""
FILTER = (1.454 / (2.0 * np.pi), 5)
"""[Hz] and order of the thesis's low-pass (section 6.2)."""
SPARSE = 7
"""Every 7th sample of the random routes is solved for a wrench."""


def wrench(t: Array) -> Array:
    """Return the true wrench (T, 6) that the world exerts."""
    out = np.zeros((len(t), 6))
    for begin, force in PUSHES:
        inside = (t > begin) & (t < begin + 2.0)
        out[inside, :3] += np.sin(np.pi * (t[inside] - begin) / 2.0)[:, None] * np.array(force)
    return out


def _measured(m: SampledMotion, J: Array, seed: int) -> Array:
    """Return k i + b (..., T, 6) [N m] of a plant with less friction than the model, pushed."""
    plant = torque(model("c"), m) + friction(m.qd, 0.9) - np.einsum("...ij,...i->...j", J, wrench(m.t))
    noise = CURRENT_NOISE * np.random.default_rng(seed).normal(size=plant.shape)
    return np.asarray(K * ((plant - B) / K + noise) + B)


@cache
def estimates() -> dict[str, Array]:
    """Return the wrench (T, 6) on the path: without friction (6.8), with it (6.9), by a momentum observer, 10 rad/s."""
    m, arm = path(), model("c")
    J = np.asarray(jacobian(arm, m.q))
    measured = _measured(m, J, 1)
    rigid = torque(arm, m)
    observer = momentum_observer(10.0, friction=DeadZoneFriction(tuple(NU), tuple(NU), DEAD))
    frictionless = arm.with_parameters(_bare())
    seen = run_monitors(observer, frictionless, m.t, m.q, m.qd, measured)["tau_ext"]
    external = {"none": rigid - measured, "friction": rigid + friction(m.qd) - measured, "observer": seen}
    turned = np.swapaxes(J, 1, 2)
    return {name: np.asarray(np.linalg.solve(turned, tau[..., None])[..., 0]) for name, tau in external.items()}


def _bare() -> Array:
    from armwright.dynamics.regressor import parameters

    p = parameters(model("c")).copy()
    p[60:] = 0.0
    return p


@cache
def errors(filtered: bool = False) -> dict[str, Array]:
    """Return |F − F̂| (T, 6) of the estimates; filtered: estimate and truth alike, without delay."""
    exact = wrench(path().t)
    smooth = low_pass(LOG_RATE, *FILTER).without_phase
    out = {name: found - exact for name, found in estimates().items()}
    return {name: np.abs(smooth(e) if filtered else e) for name, e in out.items()}


@cache
def errors_on_routes() -> dict[str, Array]:
    """Return |F − F̂| (60, T/7, 6) without and with friction on the random routes, unfiltered."""
    m = routes()
    m = SampledMotion(m.t[::SPARSE], *(x[:, ::SPARSE] for x in (m.q, m.qd, m.qdd)))
    J = np.asarray(jacobian(model("c"), m.q))
    tau = torque(model("c"), m) - _measured(m, J, SEED)
    both = np.stack([tau, tau + friction(m.qd)], axis=-1)
    found = np.linalg.solve(np.swapaxes(J, -1, -2), both)
    off = np.abs(found - wrench(m.t)[..., None])
    return {"none": off[..., 0], "friction": off[..., 1]}


def friction_decides(largest: bool, filtered: bool) -> Shown:
    """Return whether friction in the model lowers all six errors, the means or the largest, with the values."""

    def of(e: Array) -> Array:
        return np.asarray(e.max(axis=-2) if largest else e.mean(axis=-2))

    without, with_friction = (of(errors(filtered)[name]) for name in ("none", "friction"))
    text = f"{_row(without)} without, {_row(with_friction)} with friction (N, N m)"
    if not filtered:
        a, b = (of(errors_on_routes()[name]) for name in ("none", "friction"))
        text += f"; all six fall {how_often((b < a).all(axis=1))}, the forces {how_often((b < a)[:, :3].all(axis=1))}"
    return Shown(bool((with_friction < without).all()), text)


def _row(values: Array) -> str:
    return " ".join(f"{x:.1f}" if abs(x) >= 10 else f"{x:.2f}" for x in values)


def _notes() -> list[str]:
    return [f"MAE {name}: {_row(e.mean(axis=0))}" for name, e in errors().items()]


def _best(table: Mapping[str, Sequence[float]], row: int) -> str:
    return min(table, key=lambda name: table[name][row])


def _worst(table: Mapping[str, Sequence[float]], row: int) -> str:
    return max(table, key=lambda name: table[name][row])


def frictionless_is_worst() -> Shown:
    """Return whether F̂ has the largest force errors of both tables."""
    worst = [[_worst(table, row) == "none" for row in range(6)] for table in (TABLE_MEAN, TABLE_LARGEST)]
    forces, moments = (sum(sum(rows[part]) for rows in worst) for part in (slice(3), slice(3, 6)))
    return Shown(forces == 6, f"in {forces} of 6 rows of forces; in {moments} of 6 rows of moments")


def z_is_best(table: Mapping[str, Sequence[float]]) -> Shown:
    """Return whether of every method's three forces z has the smallest error."""
    text = "; ".join(" ".join(f"{x:.2f}" for x in values[:3]) for values in table.values())
    return Shown(all(values[2] == min(values[:3]) for values in table.values()), f"x, y, z: {text} N")


def lever_moment() -> Shown:
    """Return whether the pushes' mean moment over 28.6 mm is below half the smallest mean error of the moments."""
    R = np.asarray(fk(model("c"), path().q))[:, :3, :3]
    force = wrench(path().t)[:, :3]
    moment = np.cross(LEVER * R[:, :, 2], force)
    mean, peak, half = np.abs(moment).mean(axis=0).max(), np.linalg.norm(moment, axis=1).max(), 0.5 * min(MOMENTS)
    bound = LEVER * np.linalg.norm(force, axis=1).mean()
    text = f"mean {mean:.3f} N m on the worst axis, {bound:.3f} at most, {half:.2f} allowed"
    limit = f"{half / LEVER:.0f} N all the time would exceed it; the peak is {peak:.2f} N m"
    return Shown(bool(bound < half), f"{text}; {limit}")


MOMENTS = TABLE_MEAN["friction"][3:]
ITEMS = (
    Item(
        "T6.1",
        "mean errors without and with friction, all six",
        Claim(
            "37.8064 52.3023 10.0739 N, 3.1774 3.8464 1.4735 N m without, 6.1571 8.6588 5.6363 N, 0.9955 1.1750 1.2271 "
            "N m with friction"
        ),
        readings=(
            Supposed("estimates unfiltered", partial(friction_decides, False, False)),
            Supposed("estimates and sensor filtered alike", partial(friction_decides, False, True)),
        ),
        rule=f"all six errors fall; {SETTING}; {THIS_MANY}",
        notes=_notes,
    ),
    Item(
        "T6.2",
        "largest errors without and with friction, all six",
        Claim(
            "139.499 98.0112 35.3182 N, 7.1011 11.7200 6.3418 N m without, 32.0353 27.7541 28.1711 N, 6.2946 5.0910 "
            "2.1928 N m with friction"
        ),
        readings=(
            Supposed("estimates unfiltered", partial(friction_decides, True, False)),
            Supposed("estimates and sensor filtered alike", partial(friction_decides, True, True)),
        ),
        rule=f"all six errors fall; {SETTING}; {THIS_MANY}",
    ),
    Item(
        "T6.1f",
        "the estimate without friction in both tables",
        Claim("F̂ “has the largest error”"),
        correct=frictionless_is_worst,
        rule="of the forces, which the sentences after it are about",
    ),
    Item(
        "T6.1u",
        "the robot's own estimate in both tables",
        Claim("F̂ᵘ “has the lowest MAE for F̂_z and the lowest maximum absolute error for F̂_x and F̂_z”"),
        correct=lambda: Shown(
            (_best(TABLE_MEAN, 2), _best(TABLE_LARGEST, 0), _best(TABLE_LARGEST, 2)) == ("u", "u", "u"),
            "2.92 N; 25.0 and 21.1 N",
        ),
    ),
    Item(
        "T6.1y",
        "forces along y in both tables",
        Claim("F̂*_y “shows the lowest error”, F̂ᵘ “takes the middle position”"),
        correct=lambda: Shown(
            all(t["friction"][1] < t["u"][1] < t["none"][1] for t in (TABLE_MEAN, TABLE_LARGEST)),
            "8.66 < 16.92 < 52.30 N; 27.8 < 48.8 < 98.0 N",
        ),
    ),
    Item(
        "T6.1z",
        "forces along z, of the thesis's own two estimates",
        Claim(
            "“among the methods that were implemented in this thesis” the one with friction is “the most accurate” in z"
        ),
        correct=lambda: Shown(
            TABLE_MEAN["friction"][2] < TABLE_MEAN["none"][2],
            "5.64 against 10.07 N; the robot's own has 2.92 N, as the thesis says (T6.1u)",
        ),
    ),
    Item(
        "T6.1n",
        "moments in both tables",
        Claim("MAEs and maximum absolute errors “are higher for n̂ᵘ and n̂ than for n̂*”"),
        correct=lambda: Shown(
            all(_best(table, row) == "friction" for table in (TABLE_MEAN, TABLE_LARGEST) for row in (3, 4, 5)),
            "in all 6 rows",
        ),
    ),
    Item(
        "6.2z",
        "forces along z against those along x and y",
        Claim("“in z-direction are the most accurate for all of the force estimation methods”"),
        readings=(
            Supposed("by the mean, Table 6.1", partial(z_is_best, TABLE_MEAN)),
            Supposed("by the largest, Table 6.2", partial(z_is_best, TABLE_LARGEST)),
        ),
        reason="which table is meant is not said; with friction the largest error along y, 27.75 N, is below that "
        "along z",
    ),
    Item(
        "6.2d",
        "forces of 10 N and more along z",
        Claim("“forces ≥ 10 N are detected reliably”"),
        readings=(
            Supposed(
                "reliably: above the mean error",
                lambda: Shown(TABLE_MEAN["friction"][2] < 10.0, f"{TABLE_MEAN['friction'][2]} N"),
            ),
            Supposed(
                "reliably: above the largest error",
                lambda: Shown(TABLE_LARGEST["friction"][2] < 10.0, f"{TABLE_LARGEST['friction'][2]} N"),
            ),
        ),
        reason="how many pushes there were, how many were noticed and how many alarms were false is not said",
    ),
    Item(
        "6.11",
        "the lever of the force sensor",
        Claim("“only a small distance”, 28.6 mm, “which was neglected”"),
        correct=lever_moment,
        rule="mean against mean: below half of the smallest MAE of the moments of F̂*; forces are not touched by the "
        "lever; "
        f"three pushes of 25–40 N for 2 s; {PATH}",
    ),
)
