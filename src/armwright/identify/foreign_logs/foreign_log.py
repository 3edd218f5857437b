# SPDX-License-Identifier: Apache-2.0
"""From tables of any dialect to a log: what was understood, said in one paragraph, asked where it is open.

`understood` looks at names and numbers and answers with `Columns`, notes and questions. `log_from` makes the log of a
table and its columns. `joined` puts tables side by side: positions in one file, currents in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.current_log import Log, sound_log
from armwright.identify.foreign_logs.column_choice import ColumnChoice, choose
from armwright.identify.foreign_logs.column_mapping import LOG_SIGNALS, Column, Columns
from armwright.identify.foreign_logs.column_roles import role_of
from armwright.identify.foreign_logs.made_speeds import cutoff_of, made_speeds, rough_speeds
from armwright.identify.foreign_logs.number_evidence import look
from armwright.identify.foreign_logs.text_table import TextTable

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

_NAMELESS = "{} columns without names: --columns FILE, or columns=Columns(…) in Python, says what they are"
ANGLES = ("radians", "degrees")
ROWS_LOOKED_AT = 200_000
"""Rows that units are found from."""
TIME_LIKE = 1e-3
"""Two tables with stamps fit together if these differ by less [s], row by row."""


@dataclass(frozen=True)
class LogWords:
    """What the user says about a log that the file does not.

    Attributes:
        rate: rows per second [Hz]. angles: "radians" or "degrees". effort: "current" or "torque".
    """

    rate: float | None = None
    angles: str | None = None
    effort: str | None = None

    def __post_init__(self) -> None:
        """Refuse words that are none."""
        if self.rate is not None and not (np.isfinite(self.rate) and self.rate > 0.0):
            raise InputError(f"log: rate must be finite and > 0 Hz, got {self.rate}")
        if self.angles not in (None, *ANGLES):
            raise InputError(f"log: angles must be {' or '.join(ANGLES)}, got {self.angles!r}")
        if self.effort not in (None, "current", "torque"):
            raise InputError(f"log: effort must be current or torque, got {self.effort!r}")


@dataclass(frozen=True)
class UnderstoodTable:
    """What was found in a table: columns (None if they cannot be told), notes, and questions that are open."""

    columns: Columns | None
    notes: tuple[str, ...]
    questions: tuple[str, ...]


def joined(tables: Sequence[TextTable]) -> TextTable:
    """Put tables side by side; their rows must be as many, and their stamps alike where they have some.

    A column gets its file's name in front, where its own does not say of what it is.
    """
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    names: list[str] = []
    words: dict[int, str] = {}
    parts: list[Array] = []
    for table in tables:
        if len(table.values) != len(first.values):
            counts = ", ".join(f"{t.path.name} {len(t.values)}" for t in tables)
            raise InputError(f"{first.path}: tables of one log must have as many rows: {counts}")
        own = table.names or tuple(str(k) for k in range(table.values.shape[1]))
        front = role_of(0, table.path.stem).stem or table.path.stem
        for k, name in enumerate(own):
            signal = role_of(k, name).signal
            if signal == "time" and table is not first:
                continue  # its stamps are those of the first table
            if k in table.words:
                words[len(names)] = table.words[k]
            bare = signal in ("", "?") or table.names is None
            names.append(f"{front}.{name}" if bare or name in names else name)
            parts.append(table.values[:, k])
    _check_stamps(tables)
    values = np.stack(parts, axis=1)
    dropped = tuple(entry for table in tables for entry in table.dropped)
    shown = " + ".join(table.first_line for table in tables)
    return replace(first, names=tuple(names), values=values, words=words, dropped=dropped, first_line=shown)


def _check_stamps(tables: Sequence[TextTable]) -> None:
    stamps = []
    for table in tables:
        times = [k for k, name in enumerate(table.names or ()) if role_of(k, name).signal == "time"]
        if times:
            stamps.append((table, table.values[:, times[0]]))
    for table, time in stamps[1:]:
        apart = float(np.nanmax(np.abs(time - stamps[0][1])))
        step = float(np.nanmedian(np.diff(stamps[0][1])))
        if apart > max(TIME_LIKE, 0.5 * abs(step)):
            raise InputError(
                f"{table.path}: its stamps differ by up to {apart:.4g} from those of {stamps[0][0].path.name}: "
                "not of one log"
            )


def understood(table: TextTable, said: LogWords, robot: Robot | None) -> UnderstoodTable:
    """Say what a table's columns are."""
    if table.names is None:
        return UnderstoodTable(None, (), (_NAMELESS.format(table.values.shape[1]),))
    joints = None if robot is None else [joint.name for joint in robot.joints]
    choice = choose(table.names, table.words, joints, _twice(table))
    if said.rate is not None:
        choice.time = ()
    questions, notes = list(choice.questions), list(choice.notes)
    if "q" not in choice.groups or "current" not in choice.groups:
        lacking = [w for w, s in (("positions", "q"), ("currents or torques", "current")) if s not in choice.groups]
        questions.insert(
            0,
            f"no column is told by its name to be {' or '.join(lacking)}; --columns FILE names them "
            "(armwright identify --explain LOG > FILE writes one to start from)",
        )
        return UnderstoodTable(None, tuple(notes), tuple(questions))
    parts = [choice.time, *(group.columns for group in choice.groups.values())]
    if bare := [k for part in parts for k in part if not np.isfinite(table.values[:, k]).any()]:
        questions.append(f"column {table.names[bare[0]]!r} holds no numbers; --columns FILE says which are used")
        return UnderstoodTable(None, tuple(notes), tuple(questions))
    if robot is not None and len(choice.groups["q"].columns) != robot.n and not questions:
        questions.append(
            f"{len(choice.groups['q'].columns)} positions ({choice.groups['q'].names[0]}, …), the arm has "
            f"{robot.n} joints; --columns FILE says which are its own"
        )
    columns, more, asked = _with_units(table, choice, said, robot if not questions else None)
    return UnderstoodTable(columns, tuple(notes + more), tuple(questions + asked))


def _twice(table: TextTable) -> list[int]:
    """Return columns that have name and numbers of an earlier one."""
    out, names = [], list(table.names or ())
    for k, name in enumerate(names):
        first = names.index(name)
        if name and first < k and np.array_equal(table.values[:, k], table.values[:, first], equal_nan=True):
            out.append(k)
    return out


def _with_units(
    table: TextTable, choice: ColumnChoice, said: LogWords, robot: Robot | None
) -> tuple[Columns, list[str], list[str]]:
    values = table.values[:ROWS_LOOKED_AT]
    at = {label: list(group.columns) for label, group in choice.groups.items()}
    time = stamps_of(values, choice.time) if choice.time else None
    needed = [
        values[:, at["q"]],
        *([values[:, at["qd"]]] if "qd" in at else []),
        *([time[:, None]] if time is not None else []),
    ]
    sound = np.isfinite(np.concatenate(needed, axis=1)).all(axis=1)
    revolute = None
    if robot is not None:
        revolute = np.array([joint.kind == "revolute" for joint in robot.joints])
    told: dict[str, float | None] = {label: choice.groups[label].factor for label in ("q", "qd") if label in at}
    told["time"] = choice.time_factor
    seen = look(
        None if time is None else time[sound],
        values[sound][:, at["q"]],
        values[sound][:, at["qd"]] if "qd" in at else None,
        told=told,
        rate=said.rate,
        angles=said.angles,
        revolute=revolute,
    )
    names = list(table.names or ())
    units = {"time": seen.time or 1.0, "q": seen.q, "qd": seen.qd}
    for label in ("current", "target_current", "target_torque"):
        if label in choice.groups and choice.groups[label].factor is not None:
            units[label] = float(choice.groups[label].factor or 1.0)
    kind, questions = choice.kind, list(seen.questions)
    if kind == "effort" and said.effort is not None:
        kind = said.effort
    picked = {label: tuple(_name(names, k) for k in columns) for label, columns in at.items()}
    if not seen.qd_sound:
        picked.pop("qd", None)
    stamps = tuple(_name(names, k) for k in choice.time)
    columns = Columns(
        None if seen.rate is not None or not stamps else stamps[0] if len(stamps) == 1 else stamps,
        picked["q"],
        picked.get("qd", ()),
        picked["current"],
        picked.get("target_current", ()),
        picked.get("target_torque", ()),
        {label: factor for label, factor in units.items() if factor != 1.0},
        kind,
        seen.rate,
        {"qd": tuple(seen.turned.tolist())} if seen.qd_sound and "qd" in picked and (seen.turned < 0.0).any() else None,
    )
    return columns, seen.notes, questions


def _name(names: Sequence[str], column: int) -> int | str:
    """Return a column's name, its number if another column has the same."""
    return names[column] if names[column] and list(names).count(names[column]) == 1 else column


def stamps_of(values: Array, columns: Sequence[int]) -> Array:
    """Return the stamps (T,) of one column, or of one of seconds and one of nanoseconds, from the first on."""
    time = values[:, columns[0]]
    start = float(time[np.isfinite(time)][0]) if np.isfinite(time).any() else 0.0
    if len(columns) == 1:
        return np.asarray(time - start if abs(start) > 1e6 else time)
    return np.asarray((time - start) + 1e-9 * values[:, columns[1]])


def log_from(table: TextTable, columns: Columns, name: str, notes: Sequence[str] = ()) -> Log:
    """Make the log of a table; speeds are made from positions where it has none."""
    at = positions(table, columns)
    raw = {label: table.values[:, where] for label, where in at.items() if label != "time"}
    signals = columns.applied(raw)
    if columns.rate is not None or "time" not in at:
        if columns.rate is None:
            raise InputError(f"{table.path}: no column of time; --rate HZ says how many rows a second there are")
        time = np.array([float(line) for line in table.lines]) if table.dialect is not None else None
        time = np.arange(len(table.values), dtype=np.float64) if time is None else time - time[0]
        signals["time"] = time / columns.rate
    else:
        signals["time"] = stamps_of(table.values, at["time"]) * columns.factor("time")
    made = "qd" not in signals
    if made:
        sound = np.isfinite(np.concatenate([signals["q"], signals["time"][:, None]], axis=1)).all(axis=1)
        signals["qd"] = np.zeros_like(signals["q"])
        order = np.concatenate([[True], np.diff(signals["time"][sound]) > 0.0]) if sound.any() else np.zeros(0, bool)
        rows = np.flatnonzero(sound)[order]
        signals["qd"][rows] = rough_speeds(signals["time"][rows], signals["q"][rows])
    ordered = {label: signals[label] for label in ("time", *LOG_SIGNALS) if label in signals}
    log = sound_log(ordered, table.place, name, table.dropped)
    said = [] if table.dialect is None else [table.dialect.words]
    more = list(notes)
    if made:
        log = replace(log, qd=made_speeds(log.t, log.q))
        more.append(
            f"speeds made from positions (Butterworth, fourth order, {cutoff_of(log.t):.3g} Hz, without delay, "
            "differentiated)"
        )
    return replace(log, kind=columns.kind, account=_account(table, columns, log, said, more))


def _account(table: TextTable, columns: Columns, log: Log, said: Sequence[str], notes: Sequence[str]) -> str:
    """Return one paragraph: rows, rate, columns, what they were taken as."""
    rate = 1.0 / float(np.median(np.diff(log.t)))
    parts = [f"read {len(log):,} rows at {rate:,.5g} Hz" + (f" ({', '.join(said)})" if said else "")]
    taken = []
    if columns.time is not None and columns.rate is None:
        taken.append(f"time {_listed(_as_list(columns.time))}")
    taken += [f"positions {_listed(columns.q)}"]
    taken += [f"speeds {_listed(columns.qd)}"] if columns.qd else []
    taken += [f"{columns.kind}s {_listed(columns.current)}"]
    taken += [f"target currents {_listed(columns.target_current)}"] if columns.target_current else []
    taken += [f"target torques {_listed(columns.target_torque)}"] if columns.target_torque else []
    parts.append("columns: " + ", ".join(taken))
    units = [] if not columns.units else [f"{label} × {factor:.4g}" for label, factor in columns.units.items()]
    if units:
        parts.append("factors to SI: " + ", ".join(units))
    if columns.motor_side:
        parts.append(f"of the motors, taken through the gears: {', '.join(columns.motor_side)}")
    if notes:
        parts.append("taken as: " + "; ".join(notes))
    gaps = int((np.diff(log.t) > 0.1).sum())
    if gaps:
        parts.append(f"{gaps} pauses of more than 0.1 s")
    lost = sum(d.count for d in log.dropped)
    if lost:
        reasons = sorted({d.reason.split(",")[0].split(" instead")[0] for d in log.dropped})
        parts.append(f"{lost} rows dropped ({'; '.join(reasons[:3])})")
    return f"{table.path.name}: " + ". ".join(part[0].upper() + part[1:] for part in parts) + "."


def _as_list(value: Column | Sequence[Column]) -> list[Column]:
    return [value] if isinstance(value, (int, str)) else list(value)


def _listed(columns: Sequence[int | str]) -> str:
    names = [str(name) for name in columns]
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}" if len(names) > 3 else ", ".join(names)


def positions(table: TextTable, columns: Columns) -> dict[str, list[int]]:
    """Return column numbers by signal, "time" included.

    Raises:
        InputError: a column that the table does not have.
    """
    out = {}
    width = table.values.shape[1]
    stamps = [] if columns.time is None or columns.rate is not None else _as_list(columns.time)
    for label, wanted in (("time", stamps), *((s, getattr(columns, s)) for s in LOG_SIGNALS)):
        numbers = []
        for column in wanted:
            if isinstance(column, str):
                if table.names is None or column not in table.names:
                    known = "no header" if table.names is None else ", ".join(table.names[:12])
                    raise InputError(f"{table.path}: no column {column!r} for {label}; the file has {known}")
                column = table.names.index(column)
            if not 0 <= column < width:
                raise InputError(f"{table.path}: {label} is column {column}, the file has {width} (counted from 0)")
            numbers.append(column)
        if numbers:
            out[label] = numbers
    return out


def open_questions(table: TextTable, found: UnderstoodTable) -> InputError:
    """Return the error that asks what is open."""
    asked = " ".join(f"({k}) {question}." for k, question in enumerate(found.questions, start=1))
    seen = f"; its columns: {', '.join(table.names[:8])}{', …' if len(table.names) > 8 else ''}" if table.names else ""
    return InputError(
        f"{table.path}, line {table.lines[0] if len(table.lines) else 1}: cannot be decided by looking{seen}. {asked}"
    )
