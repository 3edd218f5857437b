# SPDX-License-Identifier: Apache-2.0
"""What a log of an arm is: stamps, joint motion, motor currents, and what was not sound in the file it came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Array

FASTEST = 60.0
"""[rad/s] A joint angle that changes faster is in degrees, or not an angle."""
LARGEST_CURRENT = 500.0
"""[A] A larger motor current is in milliamperes."""
SLOWEST = 0.1
"""[s] Motion is not bridged between stamps further apart; where more than a fifth are, the log is too slow."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows of a file that were left out: how many, the first and last place ("line 17", "message 3"), and why."""

    count: int
    first: str
    last: str
    reason: str

    def __str__(self) -> str:
        """Return one line for people."""
        place = self.first if self.count == 1 else f"{self.count} rows, {self.first} to {self.last}"
        return f"{place}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Log:
    """A log of one arm.

    Attributes:
        t: (T,) stamps [s], strictly rising, not necessarily even.
        q: (T, n) joint positions [rad or m].
        qd: (T, n) joint speeds [rad/s or m/s].
        current: (T, n) measured motor currents [A]. A log of joint torques has them here, with a drive gain of 1.
        target_current: (T, n) what the controller asked for [A], None if not logged.
        target_torque: (T, n) what the controller's own model asked for [N m], None if not logged.
        name: of the log, for tables.
        dropped: what was not sound in the file.
    """

    t: Array
    q: Array
    qd: Array
    current: Array
    target_current: Array | None = None
    target_torque: Array | None = None
    name: str = "log"
    dropped: tuple[Dropped, ...] = field(default=())

    def __post_init__(self) -> None:
        """Check shapes, order of time and finiteness."""
        put = object.__setattr__
        t = _numbers(self.t, "t", self.name)
        if t.ndim != 1 or len(t) < 2:
            raise InputError(f"log {self.name!r}: t must be (T,) with at least 2 stamps, got shape {t.shape}")
        if (falls := np.diff(t) <= 0.0).any():
            k = int(np.argmax(falls))
            raise InputError(
                f"log {self.name!r}: time does not rise after row {k} (t = {t[k]:g} s); sort the rows by "
                "their stamps (read_log drops single rows that are out of order, but does not sort)"
            )
        put(self, "t", t)
        n = np.shape(self.q)[-1] if np.ndim(self.q) == 2 else 0
        for label in ("q", "qd", "current", "target_current", "target_torque"):
            if getattr(self, label) is None:
                continue
            array = _numbers(getattr(self, label), label, self.name)
            if array.shape != (len(t), n) or n == 0:
                raise InputError(f"log {self.name!r}: {label} must be ({len(t)}, n) as q, got {array.shape}")
            put(self, label, array)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def duration(self) -> float:
        """From the first to the last stamp [s]."""
        return float(self.t[-1] - self.t[0])

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        lost = sum(d.count for d in self.dropped)
        more = f", {lost} rows dropped" if lost else ""
        return f"Log({self.name!r}: {len(self)} rows over {self.duration:.1f} s, {self.n} joints{more})"

    def rows(self, chosen: Any) -> Log:
        """Return the log with only these rows (a slice, mask or indices)."""
        keep: dict[str, Any] = {"t": self.t[chosen]}
        for label in ("q", "qd", "current", "target_current", "target_torque"):
            value = getattr(self, label)
            keep[label] = None if value is None else value[chosen]
        return replace(self, **keep)


def _numbers(value: Any, label: str, name: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"log {name!r}: {label} must be numbers") from error
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InputError(
            f"log {name!r}: {label} holds NaN or infinities (first in row {row}); read_log drops such rows"
        )
    array.flags.writeable = False
    return array


def unit_doubts(log: Log) -> list[str]:
    """Return sentences about units that are probably not radians, seconds and amperes; none if all is plausible."""
    doubts = []
    span = float(np.abs(log.q).max())
    fast = float(np.abs(log.qd).max())
    if span > 4.0 * np.pi + 1e-9 or fast > FASTEST:
        doubts.append(
            f"log {log.name!r}: positions reach {span:.4g} and speeds {fast:.4g}; that looks like degrees, radians are "
            "needed (q·π/180)"
        )
    strong = float(np.abs(log.current).max())
    if strong > LARGEST_CURRENT:
        doubts.append(
            f"log {log.name!r}: currents reach {strong:.4g}; that looks like milliamperes, amperes are needed (i/1000)"
        )
    steps = np.diff(log.t)
    step = float(np.median(steps))
    if step >= 0.5:
        doubts.append(
            f"log {log.name!r}: stamps are {step:.4g} apart; that looks like milliseconds or microseconds, seconds are "
            "needed"
        )
    elif np.mean(steps > SLOWEST) > 0.2:
        doubts.append(
            f"log {log.name!r}: {1.0 / step:.3g} rows a second; more than {1.0 / SLOWEST:g} are needed, 100 are usual"
        )
    return doubts
