# SPDX-License-Identifier: Apache-2.0
"""Section 6.1 of 004: torque against current, without and with friction, and what a straight line makes of it."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.drive_gains import regress_current
from armwright.studies.doc004_force.random_routes import SEED, THIS_MANY, how_often, routes, span
from armwright.studies.doc004_force.setting import (
    CURRENT_NOISE,
    DEAD,
    PATH,
    B,
    K,
    SampledMotion,
    currents,
    currents_of,
    friction,
    model,
    path,
    torque,
)
from armwright.studies.study import Claim, Item, Numbers, Picture, Shown, Supposed
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUIET_NOISE = 0.03
"""[A] ours: the other reading of "noisy"."""
PLANT = f"currents of a plant with the printed k, b and friction; {PATH}"
NO_LINE = 0.5
"""Ours: R² below which there is no line, the current explaining less than half of the torque's variance."""


def _squared_correlation(x: Array, y: Array) -> Array:
    """R² (..., 6) along time."""
    x, y = x - x.mean(axis=-2, keepdims=True), y - y.mean(axis=-2, keepdims=True)
    return np.asarray((x * y).sum(axis=-2) ** 2 / ((x**2).sum(axis=-2) * (y**2).sum(axis=-2)))


def _lines(m: SampledMotion, i: Array) -> tuple[Array, Array]:
    rigid = torque(model("c"), m)
    return _squared_correlation(i, rigid), _squared_correlation(i, rigid + friction(m.qd))


@cache
def lines(noise: float = CURRENT_NOISE) -> tuple[Array, Array]:
    """Return R² (6,) of torque on current, without and with friction."""
    return _lines(path(), currents(noise))


@cache
def lines_on_routes() -> tuple[Array, Array]:
    """Return the same (60, 6) on the random routes."""
    return _lines(routes(), currents_of(routes(), CURRENT_NOISE, SEED))


def line_with_friction_only(without: Array, with_friction: Array) -> Array:
    """Return whether R² (..., 6) is below `NO_LINE` on five joints or six without friction, larger with it on all."""
    none = np.count_nonzero(without < NO_LINE, axis=-1) >= 5
    return np.asarray(none & (with_friction > without).all(axis=-1))


def friction_makes_the_line(noise: float) -> Shown:
    """Return whether there is a line with friction only, with R² of the joints."""
    text = f"R² {_row(lines(noise)[0])} without, {_row(lines(noise)[1])} with friction"
    if noise == CURRENT_NOISE:
        without = lines_on_routes()[0]
        text += f"; {how_often(line_with_friction_only(*lines_on_routes()))}, joint 2 {span(without[:, 1])} without"
    return Shown(bool(line_with_friction_only(*lines(noise))), text)


def slopes(noise: float = CURRENT_NOISE) -> Array:
    """Return K (6,) of the straight line of torque on current (6.5), the thesis's way."""
    m, i = path(), currents(noise)
    tau = torque(model("c"), m) + friction(m.qd)
    return np.array([np.polyfit(i[:, j], tau[:, j], 1)[0] for j in range(6)])


def line_gives_k(noise: float) -> Shown:
    """Return whether the line's slope is k to 10 % on every joint, with the slopes."""
    k = slopes(noise)
    return Shown(bool((np.abs(k / K - 1.0) < 0.1).all()), f"{_row(k)} for {_row(K)} N m/A")


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


def k6_with(factor: float) -> Shown:
    """Return k of joint 6 [N m/A] if its friction is `factor` times that of (6.2): i regressed on τ_μ + τ_fr."""
    m, i = path(), currents()
    tau = (torque(model("c"), m) + factor * friction(m.qd))[:, 5]
    k = 1.0 / float(np.polyfit(tau, i[:, 5], 1)[0])
    return Shown(k, f"R² {np.corrcoef(tau, i[:, 5])[0, 1] ** 2:.4f}")


def cost_has_a_minimum() -> Shown:
    """Return whether the signed sum (6.1) of joint 2 rises on both sides of the right k̃."""
    m, i = path(), currents()
    tau = (torque(model("c"), m) + friction(m.qd))[:, 1]
    low, right, high = (float(np.mean(tau - k * i[:, 1] - B[1])) for k in (0.5 * K[1], K[1], 1.5 * K[1]))
    text = f"joint 2, per sample: {low:.2f} N m at half the right k̃, {right:.2f} at it, {high:.2f} at 1.5 times it"
    return Shown(right < min(low, high), text)


def _row(values: Array) -> str:
    return " ".join(f"{x:.2f}" for x in values)


def _notes() -> list[str]:
    k, _, share = inverse_regression()
    return [
        f"k by regressing the current instead: {_row(k[:5])}, relative deviation {_row(share[:5])}",
        f"joint 6: relative deviation {share[5]:.1f}, since it carries no rigid-body torque",
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
        Claim("min Σ (τ_μ + τ_fr − k̃ i)"),
        correct=cost_has_a_minimum,
        reason="a signed sum has no minimum: it is linear in k̃ and falls for ever as k̃ grows; squares are missing",
        faults=("the cost (6.1) is not squared",),
        rule="whatever the data: the sum is linear; shown on a plant with the printed k, b and friction",
    ),
    Item(
        "6.2f",
        "current and torque, without and with friction",
        Claim("no linear relationship without (Figure 6.1), “clearly recognizable” with friction (Figure 6.2)"),
        readings=(
            Supposed(f"noise of {CURRENT_NOISE} A", partial(friction_makes_the_line, CURRENT_NOISE)),
            Supposed("no noise", partial(friction_makes_the_line, 0.0)),
        ),
        rule=f"R² below {NO_LINE} on five joints of six without friction, larger with it on all; {PLANT}; {THIS_MANY}",
        pictures=(Picture("current and torque of joint 1, without and with friction", _picture),),
    ),
    Item(
        "6.5",
        "a straight line of torque on current gives k",
        Claim("“a linear model with offset is used to fit the data”, k_τ of (6.6)"),
        readings=(
            Supposed(f"noise of {QUIET_NOISE} A", partial(line_gives_k, QUIET_NOISE)),
            Supposed(f"noise of {CURRENT_NOISE} A", partial(line_gives_k, CURRENT_NOISE)),
        ),
        reason="“the current measurements are noisy” (6.2), how noisy is not said; noise in i flattens a line of τ on "
        "i, most on the small joints; regressing i on τ has no such error",
        rule=f"within 10 % on every joint; {PLANT}",
        notes=_notes,
    ),
    Item(
        "6.6k6",
        "k of joint 6",
        Numbers("3.4", "N m/A"),
        readings=(
            Supposed("friction of joint 6 as chosen by hand in (6.2), 0.65", partial(k6_with, 1.0)),
            Supposed("twice that", partial(k6_with, 2.0)),
        ),
        reason="joint 6 carries next to no rigid-body torque: only ν/k shows, every pair fits alike, and ν was put in "
        "by hand; a known load is needed",
        rule=PLANT,
    ),
)
