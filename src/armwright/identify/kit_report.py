# SPDX-License-Identifier: Apache-2.0
"""The page of an identification: what was read, what came of it, how well it holds, what is open and what would tell.

One HTML file: measured against predicted of each joint and log, what is left against speed and load, gains and
friction with their intervals and in the forms that controllers take, payloads with centre and inertia, bands for
`feel`, and for all that is undetermined the motion that would determine it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.filtered_log import even_samples
from armwright.identify.fit_report import currents, held_rows, joint_rows
from armwright.identify.gear_friction import TERMS
from armwright.identify.plain_friction import PlainFriction, friction_scales, plain_friction
from armwright.identify.validation import predict_currents
from armwright.packages import need
from armwright.recording.pictures.html_page import Page, list_of
from armwright.recording.pictures.style import compact_png
from armwright.recording.recording import versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.identify.current_log import Log
    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.identify.validation import Held, Prediction
    from armwright.types import Array

MOST_PICTURED = 3
"""Logs whose currents are drawn; the others are in the table of errors."""
MOST_DOTS = 3000
"""Dots of a joint in a picture; more cover each other."""
GOOD_ERROR, POOR_ERROR = 0.1, 1.0
"""Errors of a joint's current below and above which the page says so: a tenth, and more than the current itself."""
ALIKE_SPEED_SHARE = 0.3
"""A joint whose speeds stay below this share of its limit has shown little of its viscous friction."""
CSS = "td, th { font-variant-numeric: tabular-nums }"


def kit_report(
    identified: Identified,
    logs: Sequence[Log],
    path: str | Path,
    *,
    payloads: Sequence[PayloadEstimate | None] | None = None,
    held: Sequence[Held] = (),
) -> Path:
    """Write the page of an identification.

    Args:
        identified: the model.
        logs: that it was fitted to.
        path: of the page.
        payloads: what each log carried, as the fit weighed it.
        held: leave-one-out judgements, if there are any.

    Example:
        >>> kit_report(model, [log], "arm.html")
    """
    need("matplotlib", "plot", "drawing")
    carried = list(payloads or [None] * len(logs))
    seen = [predict_currents(identified, log, payload=load) for log, load in zip(logs, carried, strict=True)]
    plain = plain_friction(identified, logs)
    page = Page(f"{identified.robot.name}: identified", CSS).lead(_lead(identified, logs, seen))
    page.section("What was read")
    page.add(list_of(log.account or f"{log.name}: {len(log):,} rows over {log.duration:.1f} s" for log in logs))
    _add_joints(page, identified, plain, friction_scales(identified, plain, logs), logs)
    _add_predictions(page, identified, logs, seen, held)
    page.section("What is left, against speed and load")
    page.figure(compact_png(residual_picture(identified, seen, logs), 100), _LEFT_CAPTION)
    _add_payloads(page, identified)
    _add_bands(page, identified)
    _add_open(page, identified, logs)
    if identified.remarks:
        page.section("Remarks").add(list_of(identified.remarks))
    heads = ("parameter", "value ± two deviations", "unit")
    page.section("Base parameters").table(heads, [(e.name, e.cell, e.unit) for e in identified.base])
    page.made_with(versions())
    return page.write(path)


_LEFT_CAPTION = (
    "Measured less predicted torque of moving joints, left against speed, right against the torque of the motor. "
    "A slope or a step at the left is friction that the terms do not have; a V at the right is load friction."
)


def _unit(logs: Sequence[Log]) -> str:
    return "N m" if all(log.kind == "torque" for log in logs) else "A"


def _lead(identified: Identified, logs: Sequence[Log], seen: Sequence[Prediction]) -> str:
    seconds = sum(log.duration for log in logs)
    errors = np.array([p.error for p in seen])
    with np.errstate(all="ignore"):
        worst = np.nanmax(errors, axis=0) if np.isfinite(errors).any() else np.full(identified.n, np.nan)
    names = [joint.name for joint in identified.robot.joints]
    poor = [names[j] for j in np.flatnonzero(worst > POOR_ERROR)]
    told = ", ".join(f"{100.0 * e:.1f}" if np.isfinite(e) else "–" for e in worst)
    text = (
        f"{len(logs)} log{'s' if len(logs) != 1 else ''}, {seconds:.0f} s. The model's currents are off by {told} % of "
        "the measured ones, by joint, in the worst log."
    )
    if poor:
        text += f" Of {', '.join(poor)} it predicts less than nothing: do not use it there."
    if identified.undetermined:
        text += f" {len(identified.undetermined)} numbers stay undetermined; below stands which motion would tell them."
    return text


def _add_joints(page: Page, identified: Identified, plain: PlainFriction, scales: Array, logs: Sequence[Log]) -> None:
    page.section("Joints, with two deviations")
    page.table(("joint", "gain N m/A", *TERMS, f"residual {_unit(logs)}"), joint_rows(identified))
    page.section("Friction as controllers and simulators take it")
    page.paragraph(
        "Viscous and Coulomb friction that come nearest to the terms above along these logs: damping and friction of "
        "URDF, damping and frictionloss of MuJoCo. The scales are shares of what the arm's own controller compensates, "
        "where its targets show it: viscous_scale and coulomb_scale of URScript's direct_torque."
    )
    heads = ("joint", "viscous N m s", "Coulomb N m", "missed N m", "viscous scale", "Coulomb scale")
    cells = zip(identified.robot.joints, *plain, *scales, strict=True)
    page.table(heads, [(joint.name, *(_cell(x) for x in values)) for joint, *values in cells])


def _cell(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "–"


def _add_predictions(
    page: Page, identified: Identified, logs: Sequence[Log], seen: Sequence[Prediction], held: Sequence[Held]
) -> None:
    names = [joint.name for joint in identified.robot.joints]
    page.section("Measured against predicted")
    rows = [
        (log.name, *(f"{100.0 * e:.1f}" if np.isfinite(e) else "–" for e in p.error))
        for log, p in zip(logs, seen, strict=True)
    ]
    page.paragraph("Error of each joint's current, in % of the current, while the joint moves.")
    page.table(("log", *names), rows)
    if held:
        page.paragraph("The same on logs that were left out of the fit.")
        page.table(("log", "whose", *names), held_rows(held))
    for log, prediction in list(zip(logs, seen, strict=True))[:MOST_PICTURED]:
        caption = f"{log.name}: measured (grey) and predicted (red); where a joint rests nothing is predicted."
        page.figure(compact_png(currents(prediction, identified), 90), caption)


def residual_picture(identified: Identified, seen: Sequence[Prediction], logs: Sequence[Log]) -> Figure:
    """Draw what is left of each joint's torque against its speed and against its motor's torque."""
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    n = identified.n
    figure = Figure(figsize=(9.0, 1.7 * n + 0.6), layout="constrained")
    axes = figure.subplots(n, 2, squeeze=False, sharey="row")
    speeds = [_speeds_at(log, p) for log, p in zip(logs, seen, strict=True)]
    for j, joint in enumerate(identified.robot.joints):
        for prediction, speed in zip(seen, speeds, strict=True):
            use = np.flatnonzero(prediction.moving[:, j])
            use = use[:: max(1, len(use) * len(seen) // MOST_DOTS)]
            left = identified.gains[j] * (prediction.measured - prediction.predicted)[use, j]
            axes[j, 0].plot(speed[use, j], left, ".", ms=1.6, color="C0", alpha=0.5)
            axes[j, 1].plot(identified.gains[j] * prediction.measured[use, j], left, ".", ms=1.6, color="C0", alpha=0.5)
        axes[j, 0].set_ylabel(f"{joint.name}\nN m", fontsize=8)
        for axis in axes[j]:
            axis.axhline(0.0, color="0.6", lw=0.6)
    axes[-1, 0].set_xlabel("speed [rad/s]")
    axes[-1, 1].set_xlabel("torque of the motor [N m]")
    return figure


def _speeds_at(log: Log, prediction: Prediction) -> Array:
    prepared = even_samples(log)
    t = np.concatenate([piece.t for piece in prepared.pieces])
    qd = np.concatenate([piece.qd for piece in prepared.pieces])
    return np.stack([np.interp(prediction.t, t, column) for column in qd.T], axis=1)


def _add_payloads(page: Page, identified: Identified) -> None:
    if not identified.payloads:
        return
    page.section("Payloads, in the frame of the link that carries the tool")
    rows = []
    for p in identified.payloads:
        m, mc = p.parameters[0], p.parameters[1:4]
        xx, xy, yy, xz, yz, zz = p.parameters[4:10]
        c = mc / m
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (float(c @ c) * np.eye(3) - np.outer(c, c))
        spread = 2.0 * np.sqrt(np.maximum(np.diag(p.covariance)[4:10], 0.0))
        moments = ", ".join(f"{x:.3g}" for x in np.diag(about))
        rows.append(
            (p.log, p.mass.cell, ", ".join(e.cell for e in p.com), moments, f"± {np.nanmax(spread[[0, 2, 5]]):.2g}")
        )
    heads = ("log", "mass kg", "centre x, y, z m", "moments about the centre xx, yy, zz kg m²", "of them, at most")
    page.table(heads, rows)


def _add_bands(page: Page, identified: Identified) -> None:
    bands = identified.bands
    if bands is None:
        return
    page.section("What feel takes for noise")
    page.paragraph(
        f"External torque beyond these bands counts as contact; at rest {bands.rest:g} Coulomb bands. Learned from "
        f"{bands.seconds:.0f} s of motion without contact."
    )
    rows = zip(identified.robot.joints, bands.sigma, bands.largest, bands.motion, strict=True)
    heads = ("joint", "rms N m", "largest N m", "band in motion N m")
    page.table(heads, [(joint.name, *(_cell(x) for x in values)) for joint, *values in rows])


def _add_open(page: Page, identified: Identified, logs: Sequence[Log]) -> None:
    page.section("What is open, and which motion would tell it")
    asked = open_motions(identified, logs)
    if asked:
        page.table(("undetermined", "what would tell it"), asked)
    else:
        page.paragraph("These logs determine every base parameter, gain and friction term.")
    hidden = ", ".join(identified.hidden) or "nothing"
    page.paragraph(f"Known only in combination with others, whatever the motion: {hidden}.")


def open_motions(identified: Identified, logs: Sequence[Log]) -> list[tuple[str, str]]:
    """Return for each undetermined number what motion would determine it; the command that makes one stands in it.

    Example:
        >>> open_motions(model, [log])
        [('elbow.viscous', 'elbow at …')]
    """
    robot, out = identified.robot, []
    fastest = np.max([np.abs(log.qd).max(axis=0) for log in logs], axis=0)
    limits = np.array([joint.limits.velocity for joint in robot.joints])
    command = f"armwright excite {robot.name} --duration 50"
    gains = {e.name for e in identified.gain_estimates}
    friction = {e.name for e in identified.friction_estimates}
    for name in identified.undetermined:
        j = next((k for k, joint in enumerate(robot.joints) if name.startswith(f"{joint.name}.")), None)
        if name in gains:
            text = "a log with a load of known mass beside one without (--load LOG=KG --gains free), or a data sheet"
        elif name in friction and j is not None and fastest[j] < ALIKE_SPEED_SHARE * limits[j]:
            text = f"{robot.joints[j].name} faster: it reached {fastest[j]:.2g} of {limits[j]:.2g} rad/s; {command}"
        elif name in friction:
            text = f"the joint at several steady speeds in both directions, for a minute; {command}"
        else:
            text = f"a longer motion of all joints at once, with large accelerations; {command}"
        out.append((name, text))
    return out
