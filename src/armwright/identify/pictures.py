# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification: currents, friction under load, deviations, and the timeline of what was felt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.optional import need

if TYPE_CHECKING:
    from armwright.identify.feel import Felt
    from armwright.identify.identified import Identified
    from armwright.identify.log import Log
    from armwright.identify.predict import Prediction


def _figure(rows: int, *, sharex: bool = True) -> tuple[Any, Any]:
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 1.6 * rows + 0.8), layout="constrained")
    return figure, figure.subplots(rows, 1, sharex=sharex, squeeze=False)[:, 0]


def timeline(felt: Felt, identified: Identified, path: str | Path | None = None) -> Any:
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


def currents(prediction: Prediction, identified: Identified, path: str | Path | None = None) -> Any:
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


def _written(figure: Any, path: str | Path | None) -> Any:
    if path is not None:
        figure.savefig(Path(path), dpi=120)
    return figure


def load_friction(identified: Identified, log: Log, path: str | Path | None = None) -> Any:
    """Draw what is left of the torque without load friction, times the direction of motion, against the load.

    A V-shaped or rising cloud is friction that grows with load; the line is what was identified.
    """
    from armwright.identify.accumulate import chunks
    from armwright.identify.prepare import prepare
    from armwright.identify.structure import structure

    model, prepared = structure(identified.robot), prepare(log)
    v, beta = identified.vectors(), identified.beta
    at = model.rank + 3  # the load column
    figure, axes = _figure(identified.n, sharex=False)
    parts = list(chunks(prepared, model, beta, dahl=identified.friction.dahl))
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


def deviations(identified: Identified, path: str | Path | None = None) -> Any:
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
