# SPDX-License-Identifier: Apache-2.0
"""The result of a batch: many runs over one time axis, stacked, each of them a `Recording` on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from armwright.errors import InputError
from armwright.html_text import html_table
from armwright.pickling import Rebuilt
from armwright.recording.recording import Recording, versions
from armwright.recording.signals import RecordedEvent, Signal, plain, read_only

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class Recordings(Rebuilt):
    """B runs of one loop: ``runs["q"]`` is (B, T, n), ``runs[3]`` a `Recording` (views, no copies).

    Attributes:
        time: (T,) [s], common to all.
        signals: by name, values (B, T, ...), labels for the last axes.
        robots: one arm for all, or B arms, or none.
        settings: common settings; `each` holds what differs, by name, B entries each (gains, initial states).
        lengths: samples kept of every run (a run may stop early; the rest of its rows means nothing); () for all.
        events, outcomes, seeds: one entry per run, or ().
    """

    time: Array
    signals: Mapping[str, Signal]
    robots: tuple[Robot, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    each: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()
    events: tuple[tuple[RecordedEvent, ...], ...] = ()
    outcomes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        """Check that all stacks have the same B and T."""
        put = object.__setattr__
        put(self, "time", read_only(self.time, "time"))
        if not self.signals:
            raise InputError("recordings: at least one signal is needed to know how many runs there are")
        sizes = {name: signal.values.shape[:2] for name, signal in self.signals.items()}
        first = next(iter(sizes.values()))
        for name, size in sizes.items():
            if size != first or len(size) != 2 or size[1] != len(self.time):
                raise InputError(f"recordings: signal {name!r} is {size}, expected ({first[0]}, {len(self.time)}, ...)")
        put(self, "signals", MappingProxyType(dict(self.signals)))
        put(self, "settings", MappingProxyType(plain(self.settings)))
        put(self, "robots", tuple(self.robots))
        for what in ("lengths", "events", "outcomes", "seeds"):
            put(self, what, tuple(getattr(self, what)))
            if len(getattr(self, what)) not in (0, len(self)):
                raise InputError(
                    f"recordings: {what} needs one entry per run ({len(self)}), got {len(getattr(self, what))}"
                )
        if len(self.robots) not in (0, 1, len(self)):
            raise InputError(
                f"recordings: expected no robot, one, or one per run ({len(self)}), got {len(self.robots)}"
            )
        for name, values in self.each.items():
            if len(values) != len(self):
                raise InputError(f"recordings: each[{name!r}] needs one entry per run ({len(self)}), got {len(values)}")

    def __len__(self) -> int:
        return int(next(iter(self.signals.values())).values.shape[0])

    @overload
    def __getitem__(self, key: str) -> Array: ...

    @overload
    def __getitem__(self, key: int) -> Recording: ...

    def __getitem__(self, key: str | int) -> Array | Recording:
        """Return a signal of all runs, (B, T, ...), or one run."""
        if isinstance(key, str):
            if key not in self.signals:
                raise InputError(f"no signal {key!r} in these recordings; they have: {', '.join(self.signals)}")
            return self.signals[key].values
        if not -len(self) <= key < len(self):
            raise IndexError(f"run {key} of {len(self)}")  # ends `for run in runs` as for any sequence
        i = int(key) % len(self)
        rows = slice(self.lengths[i]) if self.lengths else slice(None)
        signals = {name: Signal(s.values[i, rows], s.unit, _labels(s)) for name, s in self.signals.items()}
        arms = self.robots
        own = {name: values[i] for name, values in self.each.items()}
        return Recording(
            self.time[rows],
            signals,
            (arms[i] if len(arms) > 1 else arms[0]) if arms else None,
            {**self.settings, **own, "run": i},
            self.events[i] if self.events else (),
            self.outcomes[i] if self.outcomes else "",
            self.seeds[i] if self.seeds else None,
            self.versions,
        )

    def __iter__(self) -> Iterator[Recording]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Recordings({len(self)} runs, {len(self.time)} samples, {', '.join(self.signals)})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per signal."""
        rows = [(name, signal.unit or "–", signal.values.shape) for name, signal in self.signals.items()]
        return html_table(repr(self), ("signal", "unit", "shape"), rows)

    def select(self, runs: Sequence[int]) -> Recordings:
        """Return some of the runs, in the order given."""
        index = [int(i) for i in runs]
        if not index or not all(-len(self) <= i < len(self) for i in index):
            raise InputError(f"select: expected run numbers within 0…{len(self) - 1}, got {list(runs)}")

        def pick(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[i] for i in index) if len(values) == len(self) else tuple(values)

        signals = {name: replace(s, values=s.values[index]) for name, s in self.signals.items()}
        return replace(
            self,
            signals=signals,
            robots=pick(self.robots),
            each={k: pick(v) for k, v in self.each.items()},
            lengths=pick(self.lengths),
            events=pick(self.events),
            outcomes=pick(self.outcomes),
            seeds=pick(self.seeds),
        )


def _labels(signal: Signal) -> tuple[str, ...]:
    """Labels of one run's components; those of the stack if they fit."""
    width = int(np.prod(signal.values.shape[2:], dtype=int))
    return signal.labels if len(signal.labels) == width else ()
