# SPDX-License-Identifier: Apache-2.0
"""Words, tables and a picture of the smallest forces that an arm can tell from its currents."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.residual_windows import SETTLED_SECONDS, SPEED_EDGES, STATES, STILL_STATE
from armwright.packages import need
from armwright.recording.pictures.style import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.identify.force_observability import ForceObservability
    from armwright.identify.hidden_forces import HiddenForces
    from armwright.statistics import Interval
    from armwright.types import Array


def state_names() -> list[str]:
    """Return what a joint does, in words: standing, turning, and speeds."""
    edges = [f"{low:g}–{high:g}" for low, high in itertools.pairwise(SPEED_EDGES)]
    return [*STATES[:2], *edges, f"{SPEED_EDGES[-1]:g}–"]


def _cell(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "–"


def _direction(d: Array) -> str:
    return " ".join(f"{x:+.2f}" for x in d) if np.isfinite(d).all() else "–"


def torque_rows(study: ForceObservability) -> list[list[str]]:
    """Return one row per joint: smallest torque [N m] by state, and the speed from which its friction is known."""
    return [
        [name, *(_cell(x) for x in study.told.torque[:, j]), _cell(study.feasible[j])]
        for j, name in enumerate(study.joints)
    ]


def tool_rows(study: ForceObservability, kind: str = "force") -> list[list[str]]:
    """Return one row per state that was seen: best and worst, with directions, and along x, y, z of the base."""
    found: tuple[HiddenForces, ...] = study.force if kind == "force" else study.moment
    return [
        [name, _cell(f.best), _direction(f.best_direction), _cell(f.worst), _direction(f.worst_direction)]
        + [_cell(x) for x in f.along]
        for name, f in zip(state_names(), found, strict=True)
        if np.isfinite(f.best)
    ]


def percent(interval: Interval) -> str:
    """Return a share with its limits as a table shows it."""
    if not np.isfinite(interval.value):
        return "not seen"
    return f"{100.0 * interval.value:.1f} % ({100.0 * interval.low:.1f} to {100.0 * interval.high:.1f})"


def sentences(study: ForceObservability) -> list[str]:
    """Return what was claimed and what was found on windows that were not used."""
    out = [
        f"windows of {study.window:g} s behind {SETTLED_SECONDS:g} s; at most {100.0 * study.false_alarms:g} % of them "
        f"tell a contact that is none, and at least {100.0 * study.power:g} % of the contacts of these sizes are told",
        f"checked on windows that were not used: false alarms {percent(study.false_alarms_seen)}, forces of the told "
        f"size in random directions found {percent(study.power_seen)}"
        if study.power_seen.value >= 0.0
        else "not checked: these logs are too short to leave a part of them out; give more logs without contact",
        f"standing joints beyond their threshold: {percent(study.still_alarms)} of their windows",
    ]
    worse = [c.log for c in study.checked if c.false_alarms.low > study.false_alarms or c.found.high < study.power]
    if worse:
        out.append(
            f"worse than claimed on {', '.join(worse)}: the logs differ more than the others of them show (another "
            "day, another warmth, other joints); for such motion the sizes are too small"
        )
    if study.trained:
        out.append(
            f"the model was fitted to {', '.join(study.trained)}: on other logs it is worse; give logs that it has not "
            "seen"
        )
    return out


def as_plain(study: ForceObservability) -> dict[str, Any]:
    """Return everything as plain values, for JSON."""

    def tool(found: tuple[HiddenForces, ...]) -> list[dict[str, Any]]:
        return [{"state": name, **f._asdict()} for name, f in zip(state_names(), found, strict=True)]

    return {
        "robot": study.robot,
        "joints": list(study.joints),
        "q": study.q,
        "window": study.window,
        "false_alarms": study.false_alarms,
        "power": study.power,
        "states": state_names(),
        "torque": study.told.torque,
        "threshold": study.told.threshold,
        "windows": study.told.windows,
        "feasible_speed": study.feasible,
        "force": tool(study.force),
        "moment": tool(study.moment),
        "checked": {
            "false_alarms": study.false_alarms_seen._asdict(),
            "power": study.power_seen._asdict(),
            "still_alarms": study.still_alarms._asdict(),
            "logs": [
                {
                    "log": c.log,
                    "false_alarms": c.false_alarms._asdict(),
                    "found": c.found._asdict(),
                    "trials": c.trials,
                }
                for c in study.checked
            ],
        },
        "logs": list(study.logs),
        "trained": list(study.trained),
    }


def observability_markdown(study: ForceObservability) -> str:
    """Return the study as Markdown."""
    lines = [f"# {study.robot}: the smallest force that its currents tell", ""]
    lines += [f"Logs: {', '.join(study.logs)}.", "", *(f"- {text}" for text in sentences(study)), ""]
    lines += ["## Torques [N m], by the joint's own speed [rad/s]", ""]
    lines += _table(["joint", *state_names(), "friction known from rad/s"], torque_rows(study))
    q = ", ".join(f"{x:.3f}" for x in study.q)
    for kind, unit in (("force", "N"), ("moment", "N m")):
        lines += ["", f"## {kind.capitalize()} at the tool [{unit}], all joints alike, at q = {q}", ""]
        lines += _table(["state", "best", "along", "worst", "along", "x", "y", "z"], tool_rows(study, kind))
    lines += ["", "## Checked log by log", ""]
    rows = [[c.log, percent(c.false_alarms), percent(c.found), str(c.trials)] for c in study.checked]
    lines += _table(["log", "false alarms", "found", "forces"], rows)
    return "\n".join(lines) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def draw_observability(study: ForceObservability, path: str | Path | None = None) -> Figure:
    """Draw the smallest torques and forces against speed; write it if a path is given."""
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    joints, tool = figure.subplots(1, 2)
    names, at = state_names(), np.arange(len(STATES))
    for j, name in enumerate(study.joints):
        joints.plot(at, study.told.torque[:, j], marker="o", ms=4, lw=1.2, label=name)
    for kind, values in (
        ("worst direction", [f.worst for f in study.force]),
        ("best direction", [f.best for f in study.force]),
        *((f"along {axis}", [f.along[k] for f in study.force]) for k, axis in enumerate("xyz")),
    ):
        finite = np.where(np.isfinite(values), values, np.nan)
        strong = kind.endswith("direction")
        tool.plot(at, finite, marker="o", ms=4, lw=1.8 if strong else 0.9, ls="-" if strong else "--", label=kind)
    for axis, label in ((joints, "smallest torque that a joint tells [N m]"), (tool, "smallest force at the tool [N]")):
        axis.set_yscale("log")
        axis.set_xticks(at, names, rotation=40, fontsize=8)
        axis.axvspan(STILL_STATE - 0.5, STILL_STATE + 0.5, color="0.93", lw=0)
        axis.set_xlabel("own speed of the joint [rad/s]" if axis is joints else "speed of all joints [rad/s]")
        axis.set_ylabel(label)
        axis.grid(True, which="both", lw=0.3)
        axis.legend(fontsize=7)
    if path is not None:
        save_figure(figure, path, dpi=120)
    return figure
