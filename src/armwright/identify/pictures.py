# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification: measured and predicted currents, and the timeline of what was felt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.optional import need

if TYPE_CHECKING:
    from armwright.identify.feel import Felt
    from armwright.identify.identified import Identified
    from armwright.identify.predict import Prediction


def _figure(rows: int) -> tuple[Any, Any]:
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 1.6 * rows + 0.8), layout="constrained")
    return figure, figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]


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
