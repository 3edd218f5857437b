# SPDX-License-Identifier: Apache-2.0
"""Section 6.1 of 004: torque against current, without and with friction, and what a straight line makes of it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.drive_gains import regress_current
from armwright.studies.doc004_force.setting import CURRENT_NOISE, DEAD, PATH, K, currents, friction, model, path, torque
from armwright.studies.study import Claim, Item, Picture
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLANT = f"currents of a plant with the printed k, b and friction, {CURRENT_NOISE} A of noise; {PATH}"


def _squared_correlation(x: Array, y: Array) -> float:
    return float(np.corrcoef(x, y)[0, 1] ** 2)


@cache
def lines() -> tuple[Array, Array]:
    """Return R² (6,) of torque on current, without and with friction."""
    m, i = path(), currents()
    rigid = torque(model("c"), m)
    full = rigid + friction(m.qd)
    without = np.array([_squared_correlation(i[:, j], rigid[:, j]) for j in range(6)])
    return without, np.array([_squared_correlation(i[:, j], full[:, j]) for j in range(6)])


def slopes() -> Array:
    """Return K (6,) of the straight line of torque on current (6.5), the thesis's way."""
    m, i = path(), currents()
    tau = torque(model("c"), m) + friction(m.qd)
    return np.array([np.polyfit(i[:, j], tau[:, j], 1)[0] for j in range(6)])


@cache
def inverse_regression() -> tuple[Array, Array, Array]:
    """Return k, b (6,) from regressing the noisy variable, i on τ_μ, sgn, q̇ and 1, and the relative deviation of k."""
    m, i = path(), currents()
    rigid = torque(model("c"), m)
    k, b, share = np.zeros(6), np.zeros(6), np.zeros(6)
    for j in range(6):
        dry = np.sign(m.qd[:, j]) * (np.abs(m.qd[:, j]) > DEAD)
        k[j], share[j], b[j], *_ = regress_current(rigid[:, j], dry, m.qd[:, j], i[:, j])
    return k, b, share


def cost_has_a_minimum() -> bool:
    """Return whether the signed sum (6.1) of joint 2 is smaller at the right k̃ than at a tenth and ten times of it."""
    m, i = path(), currents()
    tau = (torque(model("c"), m) + friction(m.qd))[:, 1]
    low, right, high = (float(np.sum(tau - k * i[:, 1])) for k in (0.1 * K[1], K[1], 10.0 * K[1]))
    return right <= min(low, high)


def _row(values: Array) -> str:
    return " ".join(f"{x:.2f}" for x in values)


def _notes() -> list[str]:
    without, with_friction = lines()
    k, _, share = inverse_regression()
    return [
        f"R² without friction: {_row(without)}; with: {_row(with_friction)}",
        f"k of the straight line: {_row(slopes())}; true: {_row(K)}",
        f"k by regressing the current: {_row(k[:5])}, relative deviation {_row(share[:5])}; joint 6: undetermined",
    ]


def _picture() -> Figure:
    from matplotlib.figure import Figure

    m, i = path(), currents()
    rigid = torque(model("c"), m)
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True)
    for axis, tau, title in zip(axes, (rigid, rigid + friction(m.qd)), ("τ_μ", "τ_μ + τ_fr"), strict=True):
        axis.plot(i[:, 0], tau[:, 0], ".", ms=1.5)
        axis.set(xlabel="current of joint 1 [A]", ylabel=f"{title} [N m]")
    return figure


ITEMS = (
    Item(
        "6.1",
        "the cost by which friction was tuned",
        Claim("Σ (τ_μ + τ_fr − k̃ i) is small at the right values"),
        correct=cost_has_a_minimum,
        reason="a signed sum has no minimum: it falls for ever as k̃ grows; squares are missing",
        faults=("the cost (6.1) is not squared",),
        rule=PLANT,
    ),
    Item(
        "6.2f",
        "no line without friction, a clear line with it",
        Claim("figures 6.1 and 6.2"),
        correct=lambda: bool((lines()[1] - lines()[0] >= 0.4).all()),
        rule=f"R² larger by 0.4 on every joint; {PLANT}",
        pictures=(Picture("current and torque of joint 1, without and with friction", _picture),),
    ),
    Item(
        "6.5",
        "a straight line of torque on current gives k",
        Claim("k_τ of (6.6)"),
        correct=lambda: bool((np.abs(slopes() / K - 1.0) < 0.1).all()),
        reason="noise in i flattens the line: k comes out 20–30 % low on joints 4–6; regress the current instead",
        faults=("torque is regressed on the noisy current",),
        rule=f"within 10 % on every joint; {PLANT}",
        notes=_notes,
    ),
    Item(
        "6.6k6",
        "k of joint 6",
        Claim("3.4 N m/A"),
        correct=lambda: bool(inverse_regression()[2][5] < 0.25),
        reason="joint 6 carries no rigid-body torque: only ν/k shows; a known load is needed",
        faults=("k of joint 6 rests on the friction that was put in by hand",),
        rule=f"determined: two deviations within ±50 %; {PLANT}",
    ),
)
