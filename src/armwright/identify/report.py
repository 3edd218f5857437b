# SPDX-License-Identifier: Apache-2.0
"""An identification in words and tables: what is known, how well, what stays open, and how it does on each log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.friction import TERMS
from armwright.identify.identified import Estimate, Identified

if TYPE_CHECKING:
    from armwright.identify.validate import Held


def summary(identified: Identified) -> dict[str, Any]:
    """The identification as plain data; undetermined estimates have a null value."""
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
    if identified.bands is not None:
        out["bands"] = {"motion": identified.bands.motion.tolist(), "rest": identified.bands.rest}
    return out


def _plain(e: Estimate) -> dict[str, Any]:
    return {"name": e.name, "value": e.value, "deviation": e.deviation, "unit": e.unit, "assumed": e.assumed}


def joint_rows(identified: Identified) -> list[list[str]]:
    """One row per joint: name, gain, the five friction terms, residual current [A]."""
    rows = []
    terms = len(TERMS)
    for j, joint in enumerate(identified.robot.joints):
        friction = identified.friction_estimates[terms * j : terms * (j + 1)]
        rows.append(
            [joint.name, identified.gain_estimates[j].cell, *(e.cell for e in friction), f"{identified.sigma[j]:.3g}"]
        )
    return rows


def held_rows(held: Sequence[Held]) -> list[list[str]]:
    """Rows of a leave-one-out table: log, whose, and per cent a joint; a dash where the joint never moves."""
    rows = []
    for h in held:
        for label, values in (("model", h.error), ("controller", h.controller), ("floor", h.floor)):
            if values is not None:
                rows.append([h.log, label, *("–" if np.isnan(x) else f"{100.0 * x:.1f}" for x in values)])
    return rows


def markdown(identified: Identified, held: Sequence[Held] = ()) -> str:
    """The whole report as Markdown."""
    names = [joint.name for joint in identified.robot.joints]
    lines = [f"# {identified.robot.name}, identified", "", f"Logs: {', '.join(identified.logs)}.", ""]
    lines += _table(["joint", "gain N m/A", *TERMS, "residual A"], joint_rows(identified))
    if identified.payloads:
        rows = [[p.log, p.mass.cell, *(e.cell for e in p.com)] for p in identified.payloads]
        lines += ["", "## Payloads", "", *_table(["log", "mass kg", "x m", "y m", "z m"], rows)]
    if held:
        title = "## On logs that were left out (error, % of the current, moving joints)"
        lines += ["", title, "", *_table(["log", "", *names], held_rows(held))]
    lines += ["", f"## Base parameters (condition {identified.condition:.0f})", ""]
    lines += _table(["parameter", "value", "unit"], [[e.name, e.cell, e.unit] for e in identified.base])
    lines += ["", "## Bodies (consistent; only their base parameters are known)", ""]
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
