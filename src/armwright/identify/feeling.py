# SPDX-License-Identifier: Apache-2.0
"""`feel`: contacts in a log or a stream of positions, speeds and motor currents.

`Feeler` takes samples as they come. `feel` pushes a whole log through it at once, `feel_stream` one sample after
another. The numbers are the same, bit for bit, because interpolation and the compiled loop treat every tick alike,
however many come at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.even_ticks import Ticking
from armwright.identify.external_torque import (
    LOG_OBSERVER_GAIN,
    OBSERVER_RATE,
    carrying,
    detector_of,
    observer_of,
    wrench_of,
)
from armwright.identify.felt_contacts import FoundContact, Ticks, contacts_of
from armwright.identify.filtered_log import GAP
from armwright.identify.identified import Bands, Identified, PayloadEstimate
from armwright.identify.log_checks import check_log
from armwright.recording.sample_order import FOLLOWS, SampleOrder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class FeltLog:
    """What was felt in a whole log: its ticks and the contacts in them."""

    ticks: Ticks
    contacts: tuple[FoundContact, ...]

    def __repr__(self) -> str:
        """Return one line: how many contacts, in how long."""
        count = f"{len(self.contacts)} contact{'s' if len(self.contacts) != 1 else ''}"
        return f"FeltLog({count} in {60.0 * self.minutes:.1f} s)"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per contact."""
        from armwright.identify.felt_report import contact_table

        return contact_table(self)

    @property
    def minutes(self) -> float:
        """Return the length of the log [min]."""
        return float(self.ticks.t[-1] - self.ticks.t[0]) / 60.0 if len(self.ticks) else 0.0


class FeltTick:
    """What is felt at one tick: views into the row that the compiled tick left, by the names of `Ticks`."""

    __slots__ = ("_places", "_row", "q", "t")

    def __init__(self, t: float, q: Array, row: Array, places: dict[str, slice]) -> None:
        """Hold a row."""
        self.t, self.q, self._row, self._places = t, q, row, places

    def of(self, name: str) -> Array:
        """Return an output, flat: tau_ext, band, resting (n,), wrench, half (6,), covariance (36,), level, seen."""
        return self._row[self._places[name]]

    @property
    def level(self) -> float:
        """Return the largest |tau_ext|/band."""
        return float(self._row[self._places["level"]][0])

    @property
    def alarm(self) -> bool:
        """Return whether a contact is felt."""
        return bool(self._row[self._places["alarm"]][0] > 0.0)

    @property
    def reliable(self) -> bool:
        """Return whether every component of the tool's wrench is seen by the joints here."""
        return bool(self._row[self._places["seen"]][0] > SEEN_SHARE)


SEEN_SHARE = 0.95
"""Share of the worst seen component of a wrench above which it is shown: damping hides less than 5 % of it."""


class Feeler:
    """Feels contacts as samples come in; causal. What wires do is counted in `counts` (`SampleOrder`), never an error.

    Attributes:
        identified: the model. counts: how many samples were repeated, old, not finite, …
    """

    def __init__(
        self,
        identified: Identified,
        *,
        bands: Bands | None = None,
        payload: PayloadEstimate | ArrayLike | None = None,
        gain: float = LOG_OBSERVER_GAIN,
    ) -> None:
        """Prepare for an arm; arguments as `feel`."""
        known = bands or identified.bands
        if known is None:
            raise InputError("feel: this model has no bands; learn_bands(model, contact_free_logs) gives them")
        if len(known.motion) != identified.n:
            raise InputError(f"feel: bands of {len(known.motion)} joints, the arm has {identified.n}")
        self.identified = identified
        monitors = (observer_of(identified, gain), detector_of(identified, known), wrench_of(identified, known, gain))
        self._ticking = Ticking(monitors, carrying(identified, payload), OBSERVER_RATE)
        self._places = self._ticking.monitors.places
        self._order = SampleOrder(None, pause=GAP)
        self.counts = self._order.counts

    def push(self, t: ArrayLike, q: ArrayLike, qd: ArrayLike, current: ArrayLike) -> Ticks:
        """Take the next samples, t (k,) [s] and q, qd, current (k, n); return the ticks that are known by now."""
        n = self.identified.n
        stamps = np.atleast_1d(np.asarray(t, dtype=np.float64))
        parts = [np.atleast_2d(np.asarray(x, dtype=np.float64)) for x in (q, qd, current)]
        for label, part in zip(("q", "qd", "current"), parts, strict=True):
            if part.ndim != 2 or part.shape[1] != n:
                raise InputError(f"feel: {label} must be (k, {n}), a number for each joint, got {np.shape(part)}")
        if any(len(part) != len(stamps) for part in parts):
            raise InputError(
                f"feel: {len(stamps)} stamps, but {', '.join(str(len(p)) for p in parts)} rows of q, qd, i"
            )
        sums = np.concatenate(parts, axis=1) @ np.zeros(3 * n)  # NaN where a number is not finite
        finite = [x == 0.0 for x in sums.tolist()]
        said = [self._order.judge(a, finite=b) for a, b in zip(stamps.tolist(), finite, strict=True)]
        keep = np.array([word in FOLLOWS for word in said], dtype=bool)
        if not keep.all():
            stamps, parts = stamps[keep], [part[keep] for part in parts]
        tau = self.identified.motor_torque(*parts)
        ticks, at, out = self._ticking.push(stamps, parts[0], parts[1], tau)
        felt = {name: out[name] for name in ("resting", "wrench", "half", "covariance", "seen")}
        return Ticks(ticks, at, out["tau_ext"], out["band"], out["level"], out["alarm"] > 0.0, **felt)

    def take(self, t: float, q: Array, qd: Array, current: Array) -> list[FeltTick]:
        """Take one sample, t [s] and arrays (n,); return the ticks that are known by now: the numbers of `push`.

        Nothing is checked but the order and finiteness: for loops beside a robot.
        """
        row = np.concatenate((q, qd, current))
        n = self.identified.n
        if self._order.judge(t, finite=isfinite(float(row @ row))) not in FOLLOWS:
            return []
        row[2 * n :] = self.identified.motor_torque(row[:n], row[n : 2 * n], row[2 * n :])
        places = self._places
        return [FeltTick(tick, at[:n], record, places) for tick, at, record in self._ticking.one(t, row)]


@names_culprit
def feel(
    identified: Identified,
    log: Log,
    *,
    bands: Bands | None = None,
    payload: PayloadEstimate | ArrayLike | None = None,
    gain: float = LOG_OBSERVER_GAIN,
    isolate: bool = True,
) -> FeltLog:
    """Feel the contacts in a log.

    Args:
        identified: the model, with bands.
        log: as read.
        bands: what does not count as contact; those of the model by default.
        payload: what the tool carries: a `PayloadEstimate` or its (10,) parameters.
        gain: of the observer [1/s].
        isolate: find the touched link and, where it carries the tool, the wrench.

    Example:
        >>> for contact in feel(model, log).contacts:
        ...     print(contact.start, contact.link)
    """
    check_log(log, identified.robot)
    feeler = Feeler(identified, bands=bands, payload=payload, gain=gain)
    ticks = feeler.push(log.t, log.q, log.qd, log.current)
    known = bands or identified.bands
    assert known is not None
    return FeltLog(ticks, contacts_of(identified, known, ticks, isolate=isolate))


def feel_stream(
    identified: Identified,
    samples: Iterable[tuple[float, ArrayLike, ArrayLike, ArrayLike]],
    *,
    bands: Bands | None = None,
    payload: PayloadEstimate | ArrayLike | None = None,
    gain: float = LOG_OBSERVER_GAIN,
) -> Iterator[Ticks]:
    """Feel as samples (t, q, qd, current) come; yields the ticks that each sample completes. Arguments as `feel`.

    Example:
        >>> for ticks in feel_stream(model, samples):
        ...     print(ticks.alarm)
    """
    feeler = Feeler(identified, bands=bands, payload=payload, gain=gain)
    for t, q, qd, current in samples:
        ticks = feeler.push(np.atleast_1d(t), q, qd, current)
        if len(ticks):
            yield ticks
