# SPDX-License-Identifier: Apache-2.0
"""`read_log`: logs from files; the only door of the room to files of measurements.

It reads text of any dialect (`foreign_logs`), Parquet (ours or any table), MCAP (ours, or ``/joint_states``) and NPZ
recordings. What columns are is found by looking, said in `Log.account`, or asked; a mapping (`Columns`, also as a TOML
file) decides where it is given. What is sound is kept; what is dropped is counted and shown with its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError, NotSupportedError
from armwright.identify.current_log import Log, sound_log
from armwright.identify.foreign_logs.column_mapping import Columns, mapping_text, read_mapping
from armwright.identify.foreign_logs.foreign_log import LogWords, joined, log_from, open_questions, understood
from armwright.identify.foreign_logs.number_evidence import LEAST_SPEED_LIKENESS, slopes
from armwright.identify.foreign_logs.text_table import TextTable, read_text_table
from armwright.recording.recording import Recording

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


def _run(first: int, n: int) -> tuple[int, ...]:
    return tuple(range(first, first + n))


UR10E = Columns(0, _run(1, 6), _run(7, 6), _run(13, 6), _run(19, 6), _run(25, 6))
"""31 columns without header: time, q, qd, actual current, target current, target torque of six joints."""

LAYOUTS: Mapping[str, Columns] = {"ur10e": UR10E}
"""Layouts by name, for ``read_log(..., columns="ur10e")`` and the command line."""
_CURRENTS = ("current", "motor_current", "i", "tau", "tau_measured", "tau_command", "effort")
_TORQUES = ("tau", "tau_measured", "tau_command")


@names_culprit
def read_log(
    source: str | Path | Sequence[str | Path] | Recording,
    columns: Columns | str | Path | None = None,
    *,
    name: str | None = None,
    robot: Robot | None = None,
    rate: float | None = None,
    angles: str | None = None,
    effort: str | None = None,
) -> Log:
    """Read a log of joint motion and motor currents or torques.

    Args:
        source: a text, .parquet, .mcap or .npz file, several tables of one log side by side, or a `Recording`.
        columns: mapping of a table's columns, the path of one (.toml), or the name of a built-in one (`LAYOUTS`).
            By default what the columns are is found by looking.
        name: of the log; the file's by default.
        robot: the arm, if it is known: columns are put into the order of its joints, and others left out.
        rate: rows per second [Hz], for tables without a time.
        angles: "radians" or "degrees", where the file does not say.
        effort: "current" or "torque": what a column called effort holds.

    Returns:
        The sound rows; `Log.account` says what was understood, `Log.dropped` what was left out, where, and why.

    Raises:
        InputError: the file cannot be read, nothing sound is in it, or something cannot be decided by looking.

    Example:
        >>> log = read_log("run.csv")
        >>> log = read_log(["position.csv", "current.csv"], rate=5000.0)
        >>> log = read_log("run.txt", Columns(time=0, q=range(1, 7), qd=range(7, 13), current=range(13, 19)))
    """
    if isinstance(source, Recording):
        return _from_recording(source, name or "recording")
    said = LogWords(rate, angles, effort)
    paths = [Path(source)] if isinstance(source, (str, Path)) else [Path(one) for one in source]
    if not paths:
        raise InputError("read_log: no files given")
    mapping = _mapping(columns)
    title = name or "+".join(path.stem for path in paths)
    path, suffix = paths[0], paths[0].suffix.lower()
    if len(paths) == 1 and (
        suffix in (".mcap", ".npz") or (mapping is None and path.with_name(path.name + ".meta").exists())
    ):
        return _with_effort(_recorded(path, title), effort)
    tables = [_table(one, mapping) for one in paths]
    if len(tables) == 1 and tables[0] is None:
        return _recorded(path, title)
    table = joined([one for one in tables if one is not None])
    if mapping is None and table.names is None and _is_ur10e(table):
        mapping = UR10E
    if mapping is not None:
        changed = replace(mapping, rate=mapping.rate if rate is None else rate)
        return log_from(table, changed, title, ("as the mapping says",) if columns is not None else ("layout ur10e",))
    found = understood(table, said, robot)
    if found.questions or found.columns is None:
        raise open_questions(table, found)
    return log_from(table, found.columns, title, found.notes)


def explain_log(
    source: str | Path | Sequence[str | Path], *, robot: Robot | None = None, rate: float | None = None
) -> str:
    """Return a mapping file to start from: what was found by looking, what is open as comments.

    Raises:
        InputError: not a table, or no column of it can be told.

    Example:
        >>> print(explain_log("run.csv"))  # as map.toml, to be corrected and given as `columns`
    """
    paths = [Path(source)] if isinstance(source, (str, Path)) else [Path(one) for one in source]
    table = joined([one for path in paths if (one := _table(path, None)) is not None])
    what = " + ".join(path.name for path in paths)
    if table.names is None and _is_ur10e(table):
        return mapping_text(UR10E, what, ("layout ur10e",))
    found = understood(table, LogWords(rate), robot)
    names = table.names or tuple(str(k) for k in range(table.values.shape[1]))
    remarks = [f"its columns: {', '.join(names)}", *found.notes, *(f"open: {question}" for question in found.questions)]
    columns = found.columns
    if columns is None:
        columns = Columns(None, ("the first joint's position", "the second's"), (), ("its current", "the second's"))
    dialect = table.dialect
    if dialect is not None:
        columns = replace(columns, separator=dialect.separator, decimal=dialect.decimal)
    return mapping_text(columns, what, remarks)


def _mapping(columns: Columns | str | Path | None) -> Columns | None:
    if isinstance(columns, Path) or (isinstance(columns, str) and columns.endswith(".toml")):
        return read_mapping(columns)
    if not isinstance(columns, str):
        return columns
    if columns not in LAYOUTS:
        raise InputError(
            f"read_log: no layout {columns!r}; there are {', '.join(LAYOUTS)}, or a mapping FILE.toml, or Columns(...)"
        )
    return LAYOUTS[columns]


def _is_ur10e(table: TextTable) -> bool:
    """Whether a table without names has the layout's 31 columns, and no joint's speeds contradict its positions."""
    if table.values.shape[1] != 31 or len(table.values) < 2:
        return False
    sound = table.values[np.isfinite(table.values).all(axis=1)]
    ratio, alike = slopes(sound[:, 0], sound[:, 1:7], sound[:, 7:13])
    told = ratio[np.abs(np.nan_to_num(alike)) >= LEAST_SPEED_LIKENESS]  # a joint that rests tells nothing
    return bool((np.abs(told - 1.0) < 0.2).all())


def _table(path: Path, mapping: Columns | None) -> TextTable | None:
    """Read one table; None for a recording of ours in Parquet."""
    if path.suffix.lower() != ".parquet":
        text = (None, None) if mapping is None else (mapping.separator, mapping.decimal)
        return read_text_table(path, *text)
    return _parquet(path)


def _with_effort(log: Log, effort: str | None) -> Log:
    return replace(log, kind=effort) if log.kind == "effort" and effort is not None else log


def _parquet(path: Path) -> TextTable | None:
    from armwright.packages import need

    tables = need("pyarrow.parquet", "log", "reading .parquet")
    try:
        table = tables.read_table(path)
    except Exception as error:  # noqa: BLE001 - pyarrow's errors are its own
        raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0][:160]})") from None
    if b"armwright.head" in (table.schema.metadata or {}):
        return None
    names, columns = tuple(str(c) for c in table.column_names), []
    for k in range(len(names)):
        try:
            columns.append(np.asarray(table.column(k).to_numpy(), dtype=np.float64))
        except (TypeError, ValueError):  # words; a mapping that names it finds no number in its rows
            columns.append(np.full(table.num_rows, np.nan))
    values = np.stack(columns, axis=1) if columns else np.zeros((0, 0))
    return TextTable(path, None, names, ", ".join(names)[:120], values, {}, range(1, len(values) + 1), ())


def _recorded(path: Path, name: str) -> Log:
    from armwright.recording.formats import load

    if path.suffix.lower() == ".mcap":
        from armwright.identify.read_ros_log import holds_recording, joint_states

        if not holds_recording(path):
            return joint_states(path, name)
    return _from_recording(load(path, recover=True), name)


def _from_recording(recording: Recording, name: str) -> Log:
    """Take q, qd and the first of the current or torque signals that is there.

    A ride on the wire has a clock of its own, which goes with its motions; the arm's is in ``device_time``.
    """
    stamped = "device_time" in recording
    time = recording["device_time"] if stamped else recording.time
    signals: dict[str, Array] = {"time": np.ravel(np.asarray(time))}
    missing = [label for label in ("q", "qd") if label not in recording]
    effort = next((label for label in _CURRENTS if label in recording), None)
    if missing or effort is None:
        lacking = ", ".join([*missing, *(["current or tau"] if effort is None else [])])
        raise NotSupportedError(f"{name}: this recording lacks {lacking}; it has {', '.join(recording)}")
    kind = "torque" if effort in _TORQUES else "effort" if effort == "effort" else "current"
    signals |= {"q": recording["q"], "qd": recording["qd"], "current": recording[effort]}
    signals |= {label: recording[label] for label in ("target_current", "target_torque") if label in recording}
    widths: Any = {label: np.shape(value) for label, value in signals.items() if label != "time"}
    if len(set(widths.values())) != 1:
        raise InputError(f"{name}: the signals do not fit together: {widths}")
    return replace(sound_log(signals, lambda row: f"sample {row}", name), kind=kind)
