# SPDX-License-Identifier: Apache-2.0
"""`feel`: contacts in a log or a stream of positions, speeds and motor currents.

`Feeler` takes samples as they come. `feel` pushes a whole log through it at once, `feel_stream` one sample after
another. The numbers are the same, bit for bit, because interpolation and the compiled loop treat every tick alike,
however many come at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.external_torque import (
    LOG_OBSERVER_GAIN,
    OBSERVER_RATE,
    Ticking,
    carrying,
    detector_of,
    observer_of,
)
from armwright.identify.felt_contacts import FoundContact, Ticks, contacts_of
from armwright.identify.identified import Bands, Identified, PayloadEstimate
from armwright.identify.log_checks import check_log

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class FeltLog:
    """What was felt in a whole log: its ticks and the contacts in them."""

    ticks: Ticks
    contacts: tuple[FoundContact, ...]

    @property
    def minutes(self) -> float:
        """Return the length of the log [min]."""
        return float(self.ticks.t[-1] - self.ticks.t[0]) / 60.0 if len(self.ticks) else 0.0


class Feeler:
    """Feels contacts as samples come in; causal."""

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
        monitors = (observer_of(identified, gain), detector_of(identified, known))
        self._ticking = Ticking(monitors, carrying(identified, payload), OBSERVER_RATE)

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
        tau = self.identified.motor_torque(*parts)
        ticks, at, out = self._ticking.push(stamps, parts[0], parts[1], tau)
        alarm = out["alarm"] > 0.0
        return Ticks(ticks, at, out["tau_ext"], out["band"], out["level"], alarm, out["resting"])


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
