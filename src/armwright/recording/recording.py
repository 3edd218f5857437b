# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: named, unit-carrying columns over time, with everything that made them.

`to_pandas` gives it as a pandas table: a row per sample, a column per component, named after the joints.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.packages import need
from armwright.pickling import Rebuilt
from armwright.recording.signals import RecordedEvent, Signal, as_event, check_signals, plain, read_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.shapes import Shape


def versions() -> dict[str, str]:
    """Return the versions that decide the numbers of a run: Armwright, NumPy, Python, platform."""
    from armwright import __version__

    return {
        "armwright": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


@dataclass(frozen=True, eq=False)
class Recording(Rebuilt):
    """A recorded run.

    Attributes:
        time: (T,) [s], finite and not falling.
        signals: by name, all with T samples.
        robot: the arm, None if unknown.
        settings: what the run was asked to do; anything JSON can hold.
        events: what happened on the way, in order of time.
        outcome: how it ended, in words.
        seed: seed of the random numbers, None if there were none.
        versions: versions of the software that made it.
    """

    time: Array
    signals: Mapping[str, Signal]
    robot: Robot | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[RecordedEvent, ...] = ()
    outcome: str = ""
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        """Freeze everything and check that the pieces fit together."""
        put = object.__setattr__
        time = read_only(self.time, "time")
        if time.ndim != 1:
            raise InputError(f"time: expected shape (T,), got {time.shape}")
        if not np.isfinite(time).all():
            raise InputError(f"time: sample {int(np.argmin(np.isfinite(time)))} is not finite")
        if len(time) > 1 and (falls := np.diff(time) < 0.0).any():
            raise InputError(
                f"time: falls after sample {int(np.argmax(falls))} (t = {time[int(np.argmax(falls))]!r} s)"
            )
        put(self, "time", time)
        put(self, "signals", MappingProxyType(check_signals(self.signals, len(time))))
        put(self, "settings", MappingProxyType(plain(self.settings)))
        put(self, "events", tuple(as_event(event) for event in self.events))
        if self.seed is not None:
            if isinstance(self.seed, bool) or not isinstance(self.seed, (int, np.integer)):
                raise InputError(f"seed: expected a whole number or None, got {self.seed!r}")
            put(self, "seed", int(self.seed))
        put(self, "outcome", str(self.outcome))
        put(self, "versions", MappingProxyType({str(k): str(v) for k, v in self.versions.items()}))

    def __getitem__(self, name: str) -> Array:
        """Return the values of a signal, (T, ...)."""
        try:
            return self.signals[name].values
        except KeyError:
            raise InputError(
                f"no signal {name!r} in this recording; it has: {', '.join(self.signals) or 'none'}"
            ) from None

    def __getattr__(self, name: str) -> Any:
        """Say where a name that is no attribute stands: a signal is ``run["q"]``, the time ``run.time``."""
        signals = self.__dict__.get("signals", {})
        where = f'run["{name}"]' if name in signals else "run.time" if name in ("t", "times") else ""
        hint = f"; it is {where}" if where else ""
        raise AttributeError(f"a recording has no attribute {name!r}{hint}", name=name, obj=self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the recording as plain data, for copies and for other processes."""
        parts = (self.time, dict(self.signals), self.robot, dict(self.settings), self.events, self.outcome, self.seed)
        return Recording, (*parts, dict(self.versions))

    def __contains__(self, name: object) -> bool:
        return name in self.signals

    def __iter__(self) -> Iterator[str]:
        return iter(self.signals)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        arm = f"{self.robot.name!r}, " if self.robot else ""
        columns = sum(signal.width for signal in self.signals.values())
        end = f", outcome={self.outcome!r}" if self.outcome else ""
        return (
            f"Recording({arm}{len(self)} samples over {self.duration:g} s, {columns} columns: {', '.join(self)}{end})"
        )

    def _repr_html_(self) -> str:
        """Return what notebooks show: the replay, where there is an arm to be seen, and a row per signal."""
        from armwright.recording.replay.replay_page import notebook_page

        return notebook_page(self)

    @property
    def duration(self) -> float:
        """From the first to the last sample [s]."""
        return float(self.time[-1] - self.time[0]) if len(self.time) else 0.0

    def unit(self, name: str) -> str:
        """Return the unit of a signal."""
        self[name]
        return self.signals[name].unit

    def labels(self, name: str) -> tuple[str, ...]:
        """Return one label per component of a signal: as recorded, else joint names where they fit, else numbers."""
        self[name]
        signal = self.signals[name]
        if signal.labels:
            return signal.labels
        if self.robot is not None and signal.shape == (self.robot.n,) and signal.unit != "m":
            return tuple(joint.name for joint in self.robot.joints)
        return tuple(str(i) for i in range(signal.width))

    def select(self, t0: float = -np.inf, t1: float = np.inf) -> Recording:
        """Return the part with t0 ≤ t ≤ t1 [s], and the events in it; values are views."""
        if not t0 <= t1:
            raise InputError(f"select: t0 ({t0}) must not exceed t1 ({t1})")
        first, last = np.searchsorted(self.time, t0, "left"), np.searchsorted(self.time, t1, "right")
        kept = tuple(event for event in self.events if t0 <= event.time <= t1)
        return replace(self._rows(slice(int(first), int(last))), events=kept)

    def decimate(self, k: int) -> Recording:
        """Return every k-th sample, beginning with the first; values are views (no filter is applied)."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise InputError(f"decimate: k must be a whole number ≥ 1, got {k!r}")
        return self._rows(slice(None, None, int(k)))

    def _rows(self, rows: slice) -> Recording:
        signals = {name: replace(signal, values=signal.values[rows]) for name, signal in self.signals.items()}
        return replace(self, time=self.time[rows], signals=signals)

    def with_signals(self, **signals: Signal) -> Recording:
        """Return the recording with further (or replaced) signals."""
        return replace(self, signals={**self.signals, **signals})

    def summary(self) -> dict[str, Any]:
        """Return duration, peaks, errors, torques against limits, energy change; see `pictures.run_figures.summary`."""
        from armwright.recording.pictures.run_figures import summary

        return summary(self)

    def save(self, path: str | Path, world: Iterable[Shape] = ()) -> Path:
        """Write to .mcap, .parquet, .csv or .npz, by suffix; see `recording.formats.save`."""
        from armwright.recording.formats import save

        return save(self, path, world)

    @staticmethod
    def load(path: str | Path, **options: Any) -> Recording:
        """Read a file that `save` or `RecordingWriter` wrote; see `recording.formats.load`."""
        from armwright.recording.formats import load

        return load(path, **options)

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame`` with joint names in its columns; see `recording.recording.to_pandas`."""
        from armwright.recording.recording import to_pandas

        return to_pandas(self)

    def plot(self, what: str | Sequence[str] = "joints", path: str | Path | None = None, **options: Any) -> Figure:
        """Draw signals into a matplotlib Figure; see `recording.pictures.plots.plot`."""
        from armwright.recording.pictures.plots import plot

        return plot(self, what, path, **options)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Draw the moving arm to GIF or MP4; see `recording.pictures.animation.animate`."""
        from armwright.recording.pictures.animation import animate

        return animate(self, path, **options)

    def replay(self, path: str | Path, world: Iterable[Shape] = (), *, title: str = "") -> Path:
        """Write a page that shows the run: the arm in 3-D, plots and events, to be played and scrubbed through.

        One file that needs neither a network nor a server.

        Args:
            path: path of the page.
            world: shapes around the arm, or a `World`.
            title: title of the page; the robot's name by default.
        """
        from armwright.recording.replay.replay_page import write_replay
        from armwright.recording.replay.replay_stage import stage_of

        return write_replay(stage_of(self, tuple(world), title=title), path)

    def to_rerun(self, path: str | Path, world: Iterable[Shape] = ()) -> Path:
        """Write an .rrd file for the Rerun viewer; see `recording.viewers.rerun_log.write_rerun`."""
        from armwright.recording.viewers.rerun_log import write_rerun

        return write_rerun(self, path, world)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML page; see `recording.pictures.html_page.report`."""
        from armwright.recording.pictures.html_page import report

        return report(self, path, **options)


def column_names(recording: Recording, name: str) -> tuple[str, ...]:
    """Return names of a signal's columns, ``q_elbow`` …; ``q_0`` … without a label per column; a scalar's own name."""
    signal = recording.signals[name]
    labels = recording.labels(name)
    if not signal.shape or len(set(labels)) < len(labels):
        return signal.names(name)
    return tuple(f"{name}_{label}" for label in labels)


def to_pandas(recording: Recording) -> Any:
    """Return a ``pandas.DataFrame`` over the time [s] (extra ``[table]``); ``frame.attrs["units"]`` has the units."""
    pandas = need("pandas", "table", "a table of a recording")
    columns, units = {}, {}
    for name, signal in recording.signals.items():
        for column, values in zip(column_names(recording, name), signal.flat().T, strict=True):
            columns[column], units[column] = values, signal.unit
    frame = pandas.DataFrame(columns, index=pandas.Index(recording.time, name="t"))
    frame.attrs["units"] = units
    return frame
