# SPDX-License-Identifier: Apache-2.0
"""The report of an identification: words, tables and pictures.

`summary` and `markdown` say what is known, how well, what stays open, and how the model does on each log. The pictures
show currents, friction under load, deviations, and the timeline of what was felt.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.gear_friction import TERMS
from armwright.identify.identified import Estimate, Identified
from armwright.identify.position_friction import position_rows
from armwright.packages import need
from armwright.recording.pictures.style import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.identify.current_log import Log
    from armwright.identify.feeling import FeltLog
    from armwright.identify.validation import Held, Prediction


SINGULAR_CONDITION = 1e6
"""Condition number from which it says only that something is not excited."""


def _figure(rows: int, *, sharex: bool = True) -> tuple[Any, Any]:
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 1.6 * rows + 0.8), layout="constrained")
    return figure, figure.subplots(rows, 1, sharex=sharex, squeeze=False)[:, 0]


def timeline(felt: FeltLog, identified: Identified, path: str | Path | None = None) -> Figure:
    """Draw the external torque of each joint, its band, and the contacts; write it if a path is given."""
    ticks = felt.ticks
    figure, axes = _figure(identified.n)
    t = ticks.t - ticks.t[0]
    for j, (axis, joint) in enumerate(zip(axes, identified.robot.joints, strict=True)):
        axis.fill_between(t, -ticks.band[:, j], ticks.band[:, j], color="0.88", lw=0)
        axis.plot(t, ticks.tau_ext[:, j], lw=0.9, color="C0")
        for c in felt.contacts:
            axis.axvspan(c.start - ticks.t[0], c.end - ticks.t[0], color="C3", alpha=0.15, lw=0)
        axis.set_ylabel(f"{joint.name}\nN m", fontsize=8)
    for c in felt.contacts:
        axes[0].annotate(c.link or "?", (c.start - ticks.t[0], axes[0].get_ylim()[1]), fontsize=7, va="bottom")
    axes[-1].set_xlabel("time from the start [s]")
    return _written(figure, path)


def currents(prediction: Prediction, identified: Identified, path: str | Path | None = None) -> Figure:
    """Draw measured and predicted currents of each joint; parts in which the joint rests are pale."""
    figure, axes = _figure(identified.n)
    t = prediction.t - prediction.t[0]
    for j, (axis, joint) in enumerate(zip(axes, identified.robot.joints, strict=True)):
        axis.plot(t, prediction.measured[:, j], lw=0.9, color="0.6", label="measured")
        moving = np.where(prediction.moving[:, j], prediction.predicted[:, j], np.nan)
        axis.plot(t, moving, lw=0.9, color="C3", label="predicted")
        error = prediction.error[j]
        told = f"{100.0 * error:.1f} %" if np.isfinite(error) else "at rest"
        axis.set_ylabel(f"{joint.name}\n[A]  {told}", fontsize=8)
    axes[0].legend(loc="upper right", fontsize=7, ncols=2)
    axes[-1].set_xlabel("time from the start [s]")
    return _written(figure, path)


def _written(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        save_figure(figure, path, 120)
    return figure


def load_friction(identified: Identified, log: Log, path: str | Path | None = None) -> Figure:
    """Draw what is left of the torque without load friction, times the direction of motion, against the load.

    A V-shaped or rising cloud is friction that grows with load; the line is what was identified.
    """
    from armwright.identify.filtered_log import even_samples
    from armwright.identify.gram_matrices import chunks
    from armwright.identify.identifiable import structure

    model, prepared = structure(identified.robot), even_samples(log)
    v, beta = identified.vectors(), identified.beta
    at = model.rank + 3  # the load column
    figure, axes = _figure(identified.n, sharex=False)
    parts = list(chunks(prepared, model, beta, dahl=identified.friction.travel))
    C, moving = np.concatenate([p.columns for p in parts]), np.concatenate([p.moving for p in parts])
    rest = identified.gains * (np.einsum("tjm,jm->tj", C, -v) + C[..., at] * v[:, at])
    rigid = np.einsum("tjm,m->tj", C[..., : model.rank], beta)
    turn = np.sign(C[..., model.rank])
    for j, (axis, joint) in enumerate(zip(axes, identified.robot.joints, strict=True)):
        use = moving[:, j]
        axis.plot((rigid * turn)[use, j], (rest * turn)[use, j], ".", ms=1.5, color="0.5")
        load = np.array([(rigid * turn)[use, j].min(initial=0.0), 0.0, (rigid * turn)[use, j].max(initial=0.0)])
        axis.plot(load, identified.friction.coefficients[j, 3] * np.abs(load), color="C3")
        axis.set_ylabel(f"{joint.name}\nN m", fontsize=8)
    axes[-1].set_xlabel("rigid-body torque times direction [N m]")
    return _written(figure, path)


def deviations(identified: Identified, path: str | Path | None = None) -> Figure:
    """Draw two deviations of every base parameter against its size; pale if not told from 0, grey if undetermined."""
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 0.22 * len(identified.base) + 1.0), layout="constrained")
    axis = figure.subplots()
    for k, e in enumerate(identified.base):
        if e.value is None or e.deviation is None:
            axis.barh(k, 1.0, color="0.85")
        else:
            share = 2.0 * e.deviation / max(abs(e.value), 1e-12)
            axis.barh(k, min(1.0, share), color="C0" if share < 1.0 else "#c6d9ea")
    axis.set_yticks(range(len(identified.base)), [e.name for e in identified.base], fontsize=7)
    axis.set(xlim=(0.0, 1.0), xlabel="two deviations against the value (pale: not told from 0; grey: undetermined)")
    axis.invert_yaxis()
    return _written(figure, path)


def summary(identified: Identified) -> dict[str, Any]:
    """Return the identification as plain data; undetermined estimates have a null value."""
    out: dict[str, Any] = {
        "robot": identified.robot.name,
        "logs": list(identified.logs),
        "joints": [joint.name for joint in identified.robot.joints],
        "gains": [_plain(e) for e in identified.gain_estimates],
        "friction": [_plain(e) for e in identified.friction_estimates],
        "base": [_plain(e) for e in identified.base],
        "undetermined": list(identified.undetermined),
        "hidden": list(identified.hidden),
        "payloads": [
            {"log": p.log, "mass": _plain(p.mass), "com": [_plain(e) for e in p.com]} for p in identified.payloads
        ],
        "condition": identified.condition,
        "residual_current": identified.sigma.tolist(),
        "misfit_of_consistency": identified.misfit,
        "masses": {body.name: body.mass for body in identified.robot.bodies},
        "remarks": list(identified.remarks),
    }
    if identified.position is not None:
        out["position"] = [{**t._asdict(), "amplitude": t.amplitude} for t in identified.position.terms]
    if identified.bands is not None:
        out["bands"] = {"motion": identified.bands.motion.tolist(), "rest": identified.bands.rest}
    return out


def _plain(e: Estimate) -> dict[str, Any]:
    plain = {"name": e.name, "value": e.value, "deviation": e.deviation, "unit": e.unit, "assumed": e.assumed}
    more = {"ratio_deviation": e.ratio, "deviation_within_day": e.within}
    return plain | {key: value for key, value in more.items() if value is not None}


def told_condition(identified: Identified) -> str:
    """Return the condition number in three digits, or what a larger one means."""
    condition = identified.condition
    return f"{condition:.3g}" if condition < SINGULAR_CONDITION else "singular: some directions are not excited"


def joint_head(identified: Identified) -> list[str]:
    """Return the head of the table of joints; logs of torques have gains of 1."""
    unit = "N m" if (identified.gains == 1.0).all() else "A"
    return ["joint", "gain N m/A", *TERMS, f"residual {unit}"]


def joint_rows(identified: Identified) -> list[list[str]]:
    """Return one row per joint: name, gain, the five friction terms, residual current [A]."""
    rows = []
    terms = len(TERMS)
    for j, joint in enumerate(identified.robot.joints):
        friction = identified.friction_estimates[terms * j : terms * (j + 1)]
        rows.append(
            [joint.name, identified.gain_estimates[j].cell, *(e.cell for e in friction), f"{identified.sigma[j]:.3g}"]
        )
    return rows


def held_rows(held: Sequence[Held]) -> list[list[str]]:
    """Return rows of a leave-one-out table: log, whose, and per cent per joint; a dash where the joint never moves."""
    rows = []
    for h in held:
        for label, values in (("model", h.error), ("controller", h.controller), ("floor", h.floor)):
            if values is not None:
                rows.append([h.log, label, *("–" if np.isnan(x) else f"{100.0 * x:.1f}" for x in values)])
    return rows


def markdown(identified: Identified, held: Sequence[Held] = ()) -> str:
    """Return the whole report as Markdown."""
    names = [joint.name for joint in identified.robot.joints]
    lines = [f"# {identified.robot.name}, identified", "", f"Logs: {', '.join(identified.logs)}.", ""]
    lines += _table(joint_head(identified), joint_rows(identified))
    if identified.payloads:
        rows = [[p.log, p.mass.cell, *(e.cell for e in p.com)] for p in identified.payloads]
        lines += ["", "## Payloads", "", *_table(["log", "mass kg", "x m", "y m", "z m"], rows)]
    if identified.position is not None and identified.position.terms:
        rows = position_rows(identified.position, names)
        head = ["joint", "kind", "cycles a turn", "amplitude N m", "gain on logs left out, %"]
        lines += ["", "## Friction against position", "", *_table(head, rows)]
    if held:
        title = "## On logs that were left out (error, % of the current, moving joints)"
        lines += ["", title, "", *_table(["log", "", *names], held_rows(held))]
    lines += ["", f"## Base parameters (condition {told_condition(identified)})", ""]
    lines += _table(["parameter", "value", "unit"], [[e.name, e.cell, e.unit] for e in identified.base])
    lines += [
        "",
        "A regrouped parameter is a combination of those of several links, not the mass or inertia of one.",
        "",
    ]
    lines += ["## Bodies (consistent; only their base parameters are known)", ""]
    bodies = [[b.name, f"{b.mass:.3f}", " ".join(f"{x:.4f}" for x in b.com)] for b in identified.robot.bodies]
    lines += _table(["body", "mass kg", "centre m"], bodies)
    lines += ["", "## What cannot be known", ""]
    opened = ", ".join(identified.undetermined)
    lines.append(f"Undetermined by these logs: {opened}." if opened else "These logs determine every base parameter.")
    lines.append(f"Known only in combination, whatever the motion: {', '.join(identified.hidden)}.")
    if identified.remarks:
        lines += ["", "## Remarks", "", *(f"- {text}" for text in identified.remarks)]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(row) + " |" for row in rows]
