# SPDX-License-Identifier: Apache-2.0
"""Which columns of a table are what: a small mapping, written once for each kind of log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armwright.errors import InputError

Column = int | str


@dataclass(frozen=True)
class Columns:
    """Columns of a table by number (from 0) or by name in its header.

    Attributes:
        time: of the stamps.
        q, qd, current: one per joint.
        target_current, target_torque: one per joint, empty if the log has none.
        units: factors to SI by signal, e.g. ``{"time": 1e-3, "q": pi / 180}`` for milliseconds and degrees.
    """

    time: Column
    q: Sequence[Column]
    qd: Sequence[Column]
    current: Sequence[Column]
    target_current: Sequence[Column] = ()
    target_torque: Sequence[Column] = ()
    units: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        """Check that every signal has as many columns as there are joints."""
        n = len(self.q)
        for label in ("qd", "current", "target_current", "target_torque"):
            count = len(getattr(self, label))
            if count not in ((n,) if label in ("qd", "current") else (0, n)):
                raise InputError(f"columns: {label} names {count} columns, q names {n}")
        strange = set(self.units or {}) - {"time", *SIGNALS}
        if strange or not n:
            raise InputError(
                f"columns: units of {', '.join(sorted(strange))} unknown" if strange else "columns: q names none"
            )

    def factor(self, signal: str) -> float:
        """Factor from the table's unit to SI."""
        return float((self.units or {}).get(signal, 1.0))


SIGNALS = ("q", "qd", "current", "target_current", "target_torque")


def _run(first: int, n: int) -> tuple[int, ...]:
    return tuple(range(first, first + n))


UR10E = Columns(0, _run(1, 6), _run(7, 6), _run(13, 6), _run(19, 6), _run(25, 6))
"""31 columns without header: time, q, qd, actual current, target current, target torque of six joints."""

LAYOUTS: Mapping[str, Columns] = {"ur10e": UR10E}
"""Layouts by name, for ``read_log(..., columns="ur10e")`` and the command line."""


def named_columns(header: Sequence[str]) -> Columns | None:
    """Guess the mapping from a header that uses our own names: t, q_0 … qd_0 … current_0 …; None if it does not.

    Names may count from 0 or 1, with ``_``, ``.``, ``[…]`` or nothing between; ``actual_``/``target_`` prefixes as
    RTDE writes them are known.
    """
    plain = [name.strip().lower().replace("[", "_").replace("]", "").replace(".", "_") for name in header]
    times = [k for k, name in enumerate(plain) if name in ("t", "time", "timestamp", "time_s")]
    found = {signal: _numbered(plain, stems) for signal, stems in _STEMS.items()}
    if not times or not found["q"] or any(len(found[s]) != len(found["q"]) for s in ("qd", "current")):
        return None
    n = len(found["q"])
    i, tau = (found[s] if len(found[s]) == n else () for s in ("target_current", "target_torque"))
    return Columns(times[0], found["q"], found["qd"], found["current"], i, tau)


_STEMS = {
    "q": ("q", "actual_q", "position"),
    "qd": ("qd", "actual_qd", "velocity"),
    "current": ("current", "actual_current", "i", "motor_current"),
    "target_current": ("target_current", "i_target"),
    "target_torque": ("target_torque", "target_moment", "tau_target"),
}


def _numbered(names: Sequence[str], stems: Sequence[str]) -> tuple[int, ...]:
    for stem in stems:
        by_number = {}
        for k, name in enumerate(names):
            tail = name.removeprefix(stem).removeprefix("_")
            if name.startswith(stem) and tail.isdigit():
                by_number[int(tail)] = k
        if by_number and sorted(by_number) == list(range(min(by_number), min(by_number) + len(by_number))):
            return tuple(by_number[k] for k in sorted(by_number))
    return ()
