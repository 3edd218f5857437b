# SPDX-License-Identifier: Apache-2.0
"""The result of a detection study: false alarms, missed contacts and delays of every detector, over its whole range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.html_text import html_table
from armwright.recording.pictures.style import save_figure
from armwright.statistics import CONVENTION, Interval, quantile, rate, share

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from armwright.contact.detectors import ThresholdFit
    from armwright.types import Array


LINES = ("-", "--", "-.", ":")


class OperatingPoint(NamedTuple):
    """One setting of a detector.

    Attributes:
        scale: factor on the detector's thresholds.
        false_alarms: per hour of motion without contact. missed: share of contacts not found within the horizon.
        early: share of contact runs that ended in a false alarm before the contact.
        delay, slow: median and 95th percentile from touch to alarm [s], missed contacts counted as infinite.
        force: median force of the contact at the alarm [N], infinite where it was missed.
        alarms, hours: that the rate of false alarms comes from.
    """

    scale: float
    false_alarms: Interval
    missed: Interval
    early: Interval
    delay: Interval
    slow: Interval
    force: Interval
    alarms: int
    hours: float

    def said(self) -> str:
        """Return count and rate of false alarms in words: none in a short study is a limit, not a rate of zero."""
        limit = f"below {self.false_alarms.high:.3g} per hour at 95 %"
        if self.alarms == 0:
            return f"no false alarm in {self.hours:.3g} h: {limit} (one-sided)"
        return f"{self.alarms} false alarms in {self.hours:.3g} h: {self.false_alarms.value:.3g} per hour, {limit}"


@dataclass(frozen=True, eq=False)
class DetectorCurve:
    """One observer with one detector, its thresholds multiplied by each of S scales. A run ends at its first alarm.

    Attributes:
        observer, detector: names.
        scales: (S,).
        alarms, hours: (S,) contact-free runs that ended in an alarm; hours of motion until then.
        delays: (R, S) [s] from touch to alarm; inf where it was missed, NaN where a false alarm came first.
        fit: thresholds learned for this observer.
        forces: (R, S) [N] of the contact at the alarm, as `delays`.
    """

    observer: str
    detector: str
    scales: Array
    alarms: Array
    hours: Array
    delays: Array
    fit: ThresholdFit | None = None
    forces: Array | None = None

    def point(self, index: int) -> OperatingPoint:
        """Return the detector at ``scales[index]``, with 95 % intervals."""
        delays = self.delays[:, index]
        judged = delays[~np.isnan(delays)]
        lost = int(np.isinf(judged).sum())
        return OperatingPoint(
            float(self.scales[index]),
            rate(int(self.alarms[index]), float(self.hours[index])),
            share(lost, len(judged)),
            share(int(np.isnan(delays).sum()), len(delays)),
            quantile(judged, 0.5),
            quantile(judged, 0.95),
            quantile([] if self.forces is None else self.forces[:, index], 0.5),
            int(self.alarms[index]),
            float(self.hours[index]),
        )

    def points(self) -> list[OperatingPoint]:
        """Return the whole curve."""
        return [self.point(k) for k in range(len(self.scales))]

    def nearest(self, scale: float = 1.0) -> OperatingPoint:
        """Return the detector with its thresholds multiplied by about `scale`: 1 is as learned."""
        return self.point(int(np.argmin(np.abs(np.log(self.scales / scale)))))

    def at(self, rate: float = 1.0, *, sure: bool = True) -> OperatingPoint | None:
        """Return the most sensitive setting with at most `rate` false alarms per hour; None if too little was run.

        Args:
            rate: [1/h].
            sure: ask the upper end of the 95 % interval, not the estimate itself, to stay below.
        """
        fits = [p for p in self.points() if (p.false_alarms.high if sure else p.false_alarms.value) <= rate]
        return min(fits, key=lambda p: p.scale, default=None)


@dataclass(frozen=True, eq=False)
class DetectionStudy:
    """Result of `armwright.detection.contact_study.detection_study`.

    Attributes:
        curves: one for every observer and detector.
        settings: what was run (JSON-able). contacts: contact runs in which the contact happened.
        hours: of contact-free motion. seconds: of computing. outcome: "end" or "interrupted".
    """

    curves: tuple[DetectorCurve, ...]
    settings: Mapping[str, Any]
    contacts: int
    hours: float
    seconds: float
    outcome: str = "end"

    def __getitem__(self, names: tuple[str, str]) -> DetectorCurve:
        """Return the curve of (observer, detector)."""
        for curve in self.curves:
            if (curve.observer, curve.detector) == tuple(names):
                return curve
        raise InputError(f"no curve {names}; there are {', '.join(f'{c.observer}/{c.detector}' for c in self.curves)}")

    def __repr__(self) -> str:
        """Return one line per curve."""
        head = f"DetectionStudy({self.contacts} contacts, {self.hours:.2f} h without, {self.seconds:.1f} s, "
        head += f"{self.outcome})"
        return "\n".join([head, *(_line(curve) for curve in self.curves)])

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per observer and detector, as learned."""
        title = repr(self).partition("\n")[0]
        points = [curve.nearest() for curve in self.curves]
        rows = [
            (curve.observer, curve.detector, p.said(), f"{100.0 * p.missed.value:.3g} %", f"{1e3 * p.delay.value:.3g}")
            for curve, p in zip(self.curves, points, strict=True)
        ]
        return html_table(title, ("observer", "detector", "without contact", "missed", "median delay [ms]"), rows)

    def to_dict(self, rate: float = 1.0) -> dict[str, Any]:
        """Return everything as plain numbers, for JSON; operating points are those of `rate` false alarms per hour."""
        curves = []
        for curve in self.curves:
            best = curve.at(rate)
            curves.append(
                {
                    "observer": curve.observer,
                    "detector": curve.detector,
                    "points": [_plain(p) for p in curve.points()],
                    "operating point": None if best is None else _plain(best),
                }
            )
        return {
            "settings": dict(self.settings),
            "contacts": self.contacts,
            "hours": self.hours,
            "seconds": self.seconds,
            "outcome": self.outcome,
            "rate": rate,
            "intervals": CONVENTION,
            "curves": curves,
        }

    def plot(self, path: str | Path | None = None, *, rate: float = 1.0) -> Figure:
        """Draw found contacts and median delay against false alarms, and the delays at `rate` alarms per hour.

        Args:
            path: where to save the figure (.png, .pdf, .svg); it is returned in any case.
            rate: false alarms per hour for the third panel, upper end of the interval.
        """
        from armwright.recording.pictures.style import COLOURS, STYLE, blank_figure

        figure = blank_figure("figures", figsize=(10.0, 3.4), layout="constrained")
        with _style(STYLE):
            axes = figure.subplots(1, 3)
            observers = list(dict.fromkeys(curve.observer for curve in self.curves))
            detectors = list(dict.fromkeys(curve.detector for curve in self.curves))
            for curve in self.curves:  # a colour per observer, a line style per detector
                colour = COLOURS[observers.index(curve.observer) % len(COLOURS)]
                _draw(axes, curve, colour, LINES[detectors.index(curve.detector) % len(LINES)], rate)
            for part, label in zip(axes[:2], ("contacts found", "median delay [ms]"), strict=True):
                part.set_xscale("symlog", linthresh=0.1)
                part.set_xlim(-0.02, 4000.0)
                part.set_xlabel("false alarms per hour of motion")
                part.set_ylabel(label)
                part.axvline(rate, color="#5f6975", linewidth=0.7, linestyle=":")
            axes[0].set_ylim(-0.02, 1.02)
            axes[1].set_yscale("log")
            axes[1].yaxis.set_major_formatter("{x:g}")
            axes[2].set_xlabel("delay [ms]")
            axes[2].set_ylabel(f"contacts found at ≤ {rate:g} false alarms/h")
            axes[2].set_ylim(0.0, 1.02)
            axes[2].set_xlim(left=0.0)
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(
                handles,
                labels,
                loc="outside lower center",
                ncols=min(4, len(labels)),
                frameon=False,
                fontsize=7.5,
                handlelength=3.0,
            )
        if path is not None:
            save_figure(figure, path)
        return figure


def _style(values: Mapping[str, Any]) -> AbstractContextManager[None]:
    import matplotlib as mpl

    chosen: Any = dict(values)
    return mpl.rc_context(chosen)


def _draw(axes: Sequence[Axes], curve: DetectorCurve, colour: str, line: str, rate: float) -> None:
    # where most runs end in a false alarm before the contact, the few that are left tell nothing
    points = [p for p in curve.points() if np.isfinite(p.missed.value) and p.early.value < 0.5]
    if not points:
        return
    x = np.array([p.false_alarms.value for p in points])
    found = np.array([[1.0 - p.missed.value, 1.0 - p.missed.high, 1.0 - p.missed.low] for p in points])
    delay = 1e3 * np.array([list(p.delay) for p in points])
    axes[0].plot(x, found[:, 0], line, color=colour, label=f"{curve.observer} / {curve.detector}")
    axes[0].fill_between(x, found[:, 1], found[:, 2], color=colour, alpha=0.15, linewidth=0.0)
    shown = np.isfinite(delay).all(axis=1)
    axes[1].plot(x[shown], delay[shown, 0], line, color=colour)
    axes[1].fill_between(x[shown], delay[shown, 1], delay[shown, 2], color=colour, alpha=0.15, linewidth=0.0)
    best = curve.at(rate)
    if best is not None:
        values = curve.delays[:, int(np.argmin(np.abs(curve.scales - best.scale)))]
        values = np.sort(values[~np.isnan(values)])
        seen = values[np.isfinite(values)]
        axes[2].step(1e3 * seen, np.arange(1, len(seen) + 1) / len(values), line, color=colour, where="post")


def _plain(point: OperatingPoint) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in point._asdict().items():
        out[name] = (
            {end: _number(v) for end, v in value._asdict().items()} if isinstance(value, Interval) else _number(value)
        )
    return out


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _line(curve: DetectorCurve) -> str:
    best = curve.at(1.0) or curve.nearest(1.0)
    low, high = 1e3 * best.delay.low, 1e3 * best.delay.high
    return (
        f"  {curve.observer} / {curve.detector}: median delay {1e3 * best.delay.value:.1f} ms [{low:.1f}, {high:.1f}], "
        f"95th percentile {1e3 * best.slow.value:.1f} ms, {best.force.value:.1f} N at the alarm, missed "
        f"{100 * best.missed.value:.2f} %, {best.said()}, thresholds × {best.scale:.2f}"
    )
