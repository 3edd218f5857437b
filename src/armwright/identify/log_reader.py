# SPDX-License-Identifier: Apache-2.0
"""`read_log`: logs from files; the only part of the room that knows about files of measurements.

It reads CSV by a mapping of columns (`Columns`, written once for each kind of log), Parquet (ours or any table with our
column names), MCAP (ours, or ``/joint_states``) and NPZ recordings. What is sound is kept; what is dropped is counted
and shown with its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError, NotSupportedError
from armwright.files import read_regular
from armwright.identify.current_log import Dropped, Log, sound_log
from armwright.recording.recording import Recording

if TYPE_CHECKING:
    from armwright.types import Array

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
        """Return the factor from the table's unit to SI."""
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


MAX_BYTES = 2 * 2**30
LOOKED_AT = 50
"""Number of lines whose majority decides how many columns a table has."""
_CURRENTS = ("current", "motor_current", "i", "tau", "tau_measured", "tau_command", "effort")


@names_culprit
def read_log(source: str | Path | Recording, columns: Columns | str | None = None, *, name: str | None = None) -> Log:
    """Read a log of joint motion and motor currents.

    Args:
        source: a .csv/.txt, .parquet, .mcap or .npz file, or a `Recording`.
        columns: mapping of a table's columns, or the name of a built-in one (`LAYOUTS`). By default a CSV file with a
            header is read by its names (t, q_0, qd_0, current_0, …), one of 31 columns without header as "ur10e".
        name: of the log; the file's by default.

    Returns:
        The sound rows; `Log.dropped` says what was left out, where, and why.

    Raises:
        InputError: the file cannot be read, or nothing sound is in it.

    Example:
        >>> log = read_log("run.csv")
        >>> log = read_log("run.txt", Columns(time=0, q=range(1, 7), qd=range(7, 13), current=range(13, 19)))
    """
    if isinstance(source, Recording):
        return _from_recording(source, name or "recording")
    path = Path(source)
    mapping = _mapping(columns)
    title = name or path.stem
    suffix = path.suffix.lower()
    if suffix in (".mcap", ".npz"):
        return _recorded(path, title)
    if suffix == ".parquet":
        return _parquet(path, mapping, title)
    if mapping is None and path.with_name(path.name + ".meta").exists():
        return _recorded(path, title)
    return _csv(path, mapping, title)


def _mapping(columns: Columns | str | None) -> Columns | None:
    if not isinstance(columns, str):
        return columns
    if columns not in LAYOUTS:
        raise InputError(f"read_log: no layout {columns!r}; there are {', '.join(LAYOUTS)}, or give Columns(...)")
    return LAYOUTS[columns]


def _csv(path: Path, mapping: Columns | None, name: str) -> Log:
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    lines = text.splitlines()
    cut = bool(text) and not text.endswith(("\n", "\r"))
    filled = [k for k, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    if not filled:
        raise InputError(f"{path}: no rows in it")
    mark, width = _shape([lines[k] for k in filled[:LOOKED_AT]])
    first = next(k for k in filled if lines[k].count(mark) + 1 == width)
    head = [cell.strip() for cell in lines[first].split(mark)]
    has_header = all(_value(cell) is None for cell in head if cell)
    if mapping is None:
        mapping = named_columns(head) if has_header else LAYOUTS["ur10e"] if len(head) == 31 else None
    if mapping is None:
        shown = ", ".join(head[:8]) + (", …" if len(head) > 8 else "")
        raise InputError(f"{path}, line {first + 1}: {len(head)} columns ({shown}); give columns=Columns(...) for them")
    at = _positions(path, mapping, head if has_header else None, len(head))
    begin, stop = first + has_header, len(lines) - cut
    dropped = [_narrow(k, lines[k].count(mark) + 1, width) for k in filled if k < first]
    if cut:
        last = f"line {len(lines)}"
        dropped.append(Dropped(1, last, last, "no end of line: the file was cut short there"))
    table, where, more = _rows(lines, begin, stop, mark, len(head))
    dropped += more
    signals = {label: table[:, where_] * mapping.factor(label) for label, where_ in at.items()}
    signals["time"] = signals["time"][:, 0]
    return sound_log(signals, lambda row: f"line {where[row]}", name, tuple(dropped))


def _shape(lines: list[str]) -> tuple[str, int]:
    """Return separator and number of columns of most lines: the first may be a greeting, or cut."""
    mark = max(",;\t", key=lambda m: sum(line.count(m) for line in lines))
    return mark, Counter(line.count(mark) + 1 for line in lines).most_common(1)[0][0]


def _narrow(line: int, found: int, width: int) -> Dropped:
    return Dropped(1, f"line {line + 1}", f"line {line + 1}", f"{found} columns instead of {width}")


def _rows(lines: list[str], begin: int, stop: int, mark: str, width: int) -> tuple[Array, list[int], list[Dropped]]:
    """Parse lines into a table (T, width), the line number of each row, and what was not a row."""
    try:  # the usual file: every line is a whole row of numbers
        table = np.loadtxt(lines[begin:stop], delimiter=mark, comments=None, ndmin=2)
        if table.shape == (stop - begin, width):
            return table, list(range(begin + 1, stop + 1)), []
    except ValueError:
        pass
    values: list[list[float]] = []
    where: list[int] = []
    dropped: list[Dropped] = []
    for k in range(begin, stop):
        cells = lines[k].split(mark)
        if not lines[k].strip() or lines[k].startswith("#"):
            continue
        if len(cells) != width:
            dropped.append(_narrow(k, len(cells), width))
            continue
        values.append([np.nan if (x := _value(cell)) is None else x for cell in cells])
        where.append(k + 1)
    return np.array(values, dtype=np.float64).reshape(-1, width), where, dropped


def _value(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _positions(path: Path, mapping: Columns, header: list[str] | None, width: int) -> dict[str, list[int]]:
    """Return column numbers by signal, "time" included."""
    out = {}
    for label, wanted in (("time", (mapping.time,)), *((s, getattr(mapping, s)) for s in SIGNALS)):
        numbers = []
        for column in wanted:
            if isinstance(column, str):
                if header is None or column not in header:
                    known = "no header" if header is None else ", ".join(header[:12])
                    raise InputError(f"{path}: no column {column!r} for {label}; the file has {known}")
                column = header.index(column)
            if not 0 <= column < width:
                raise InputError(f"{path}: {label} is column {column}, the file has {width} (counted from 0)")
            numbers.append(column)
        if numbers:
            out[label] = numbers
    return out


def _parquet(path: Path, mapping: Columns | None, name: str) -> Log:
    from armwright.packages import need

    tables = need("pyarrow.parquet", "log", "reading .parquet")
    try:
        table = tables.read_table(path)
    except Exception as error:  # noqa: BLE001 - pyarrow's errors are its own
        raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0][:160]})") from None
    if b"armwright.head" in (table.schema.metadata or {}):
        return _recorded(path, name)
    header = list(table.column_names)
    mapping = mapping or named_columns(header)
    if mapping is None:
        raise InputError(f"{path}: columns {', '.join(header[:8])} …; give columns=Columns(...) for them")
    at = _positions(path, mapping, header, len(header))
    try:
        read = {k: np.asarray(table.column(k).to_numpy(), dtype=np.float64) for c in at.values() for k in c}
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: a column of the mapping does not hold numbers ({error})") from None
    signals = {label: np.stack([read[k] for k in c], axis=1) * mapping.factor(label) for label, c in at.items()}
    signals["time"] = signals["time"][:, 0]
    return sound_log(signals, lambda row: f"row {row + 1}", name)


def _recorded(path: Path, name: str) -> Log:
    from armwright.recording.formats import load

    if path.suffix.lower() == ".mcap":
        from armwright.identify.read_ros_log import holds_recording, joint_states

        if not holds_recording(path):
            return joint_states(path, name)
    return _from_recording(load(path, recover=True), name)


def _from_recording(recording: Recording, name: str) -> Log:
    """Take q, qd and the first of the current or torque signals that is there."""
    signals: dict[str, Array] = {"time": np.asarray(recording.time)}
    missing = [label for label in ("q", "qd") if label not in recording]
    effort = next((label for label in _CURRENTS if label in recording), None)
    if missing or effort is None:
        lacking = ", ".join([*missing, *(["current or tau"] if effort is None else [])])
        raise NotSupportedError(f"{name}: this recording lacks {lacking}; it has {', '.join(recording)}")
    signals |= {"q": recording["q"], "qd": recording["qd"], "current": recording[effort]}
    signals |= {label: recording[label] for label in ("target_current", "target_torque") if label in recording}
    widths: Any = {label: np.shape(value) for label, value in signals.items() if label != "time"}
    if len(set(widths.values())) != 1:
        raise InputError(f"{name}: the signals do not fit together: {widths}")
    return sound_log(signals, lambda row: f"sample {row}", name)
