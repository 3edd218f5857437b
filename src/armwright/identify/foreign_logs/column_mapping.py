# SPDX-License-Identifier: Apache-2.0
"""`Columns`: which columns of a table are which signal, in which units, on which side of the gears; as TOML, too.

A mapping file is what a reader found by looking, written down to be corrected:

    [time]
    column = "stamp"
    unit = "ms"

    [position]
    columns = ["q1", "q2"]
    unit = "deg"
    scale = [1, -1]          # by joint, sign included
    side = "motor"           # before the gears; joint is what is meant otherwise

    [gear]
    matrix = [[100, 0], [20, 80]]   # motor angles = matrix · joint angles
    offset = [0.0, 1.5708]          # [rad], added to the joint angles

    [torque]                 # or [current], or [effort] where it does not matter which
    columns = [4, 5]         # by number from 0, or by name
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.files import read_regular
from armwright.identify.foreign_logs.column_roles import UNITS_IN_NAMES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

Column = int | str
LOG_SIGNALS = ("q", "qd", "current", "target_current", "target_torque")
MEASURED = ("current", "torque", "effort")
"""What the motors' column can hold: currents [A], torques [N m], or one of the two, not said which."""
MAPPING_TABLES = {"q": "position", "qd": "speed", "target_current": "target_current", "target_torque": "target_torque"}
MOST_MAPPING = 1 << 20  # bytes


@dataclass(frozen=True)
class Columns:
    """Columns of a table by number (from 0) or by name in its header.

    Attributes:
        time: of the stamps; two columns are seconds and nanoseconds. None if the table has none: `rate` is needed.
        q, current: one per joint. qd: one per joint, empty if speeds are to be made from the positions.
        target_current, target_torque: one per joint, empty if the log has none.
        units: factors to SI by signal, e.g. ``{"time": 1e-3, "q": pi / 180}`` for milliseconds and degrees.
        kind: what `current` holds: "current" [A], "torque" [N m], or "effort", one of the two.
        rate: rows per second [Hz], where there is no time.
        scale: factors by signal and joint, signs included, after the units.
        offset: (n,) added to the joint angles [rad].
        gear: (n, n), motor angles = gear · joint angles; for signals in `motor_side`.
        motor_side: signals of the motors: "q", "qd", "current". Torques become gearᵀ · τ, other currents stay.
        separator, decimal: of the text, found by looking if not given.
    """

    time: Column | Sequence[Column] | None
    q: Sequence[Column]
    qd: Sequence[Column]
    current: Sequence[Column]
    target_current: Sequence[Column] = ()
    target_torque: Sequence[Column] = ()
    units: Mapping[str, float] | None = None
    kind: str = "current"
    rate: float | None = None
    scale: Mapping[str, Sequence[float]] | None = None
    offset: Sequence[float] = ()
    gear: ArrayLike | None = None
    motor_side: Sequence[str] = ()
    separator: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        """Check that every signal has as many columns as there are joints."""
        n = len(self.q)
        for label in LOG_SIGNALS[1:]:
            count = len(getattr(self, label))
            if count not in ((n,) if label == "current" else (0, n)):
                raise InputError(f"columns: {label} names {count} columns, q names {n}")
        strange = set(self.units or {}) - {"time", *LOG_SIGNALS}
        if strange or not n:
            raise InputError(
                f"columns: units of {', '.join(sorted(strange))} unknown" if strange else "columns: q names none"
            )
        if self.kind not in MEASURED:
            raise InputError(f"columns: kind must be one of {', '.join(MEASURED)}, got {self.kind!r}")
        if self.rate is not None and not (np.isfinite(self.rate) and self.rate > 0.0):
            raise InputError(f"columns: rate must be finite and > 0 Hz, got {self.rate}")
        self._check_joints(n)

    def _check_joints(self, n: int) -> None:
        for label, factors in (self.scale or {}).items():
            if label not in LOG_SIGNALS or np.shape(factors) != (n,) or not np.all(np.asarray(factors, float) != 0.0):
                raise InputError(
                    f"columns: scale of {label} must be {n} numbers other than 0, for one of {LOG_SIGNALS}"
                )
        if len(self.offset) not in (0, n) or not np.isfinite(np.asarray(self.offset, float)).all():
            raise InputError(f"columns: offset must be {n} finite numbers [rad]")
        if set(self.motor_side) - {"q", "qd", "current"}:
            raise InputError(f"columns: motor_side may name q, qd and current, got {', '.join(self.motor_side)}")
        if self.motor_side and self.gear is None:
            raise InputError("columns: signals of the motors need the gear matrix: motor angles = gear · joint angles")
        if self.gear is not None:
            matrix = np.asarray(self.gear, dtype=np.float64)
            if matrix.shape != (n, n) or not np.isfinite(matrix).all() or np.linalg.cond(matrix) > 1e9:
                raise InputError(f"columns: gear must be a {n}×{n} matrix with an inverse")

    def factor(self, signal: str) -> float:
        """Return the factor from the table's unit to SI."""
        return float((self.units or {}).get(signal, 1.0))

    def applied(self, signals: Mapping[str, Array]) -> dict[str, Array]:
        """Return raw signals (T, n) in SI, with signs, on the joints' side of the gears.

        θ = G q, so q = G⁻¹ θ + offset, q̇ = G⁻¹ θ̇, τ = Gᵀ τ_motor.
        """
        out = {}
        inverse = None if self.gear is None else np.linalg.inv(np.asarray(self.gear, dtype=np.float64))
        for label, raw in signals.items():
            value = raw * self.factor(label)
            if label in (self.scale or {}):
                value = value * np.asarray((self.scale or {})[label], dtype=np.float64)
            if label in self.motor_side and inverse is not None:
                value = value @ inverse.T if label != "current" else value @ np.asarray(self.gear, dtype=np.float64)
            if label == "q" and len(self.offset):
                value = value + np.asarray(self.offset, dtype=np.float64)
            out[label] = value
        return out


def mapping_text(columns: Columns, source: str, remarks: Sequence[str] = ()) -> str:
    """Write a mapping as TOML that `read_mapping` reads; remarks become comments."""
    lines = [f"# Columns of {source}: what was found by looking. Correct what is wrong, then give --columns FILE."]
    lines += [f"# {remark}" for remark in remarks]
    if columns.separator is not None or columns.decimal is not None:
        lines += ["", "[table]"]
        lines += [f"separator = {_toml(columns.separator)}"] if columns.separator is not None else []
        lines += [f"decimal = {_toml(columns.decimal)}"] if columns.decimal is not None else []
    lines += ["", "[time]"]
    if columns.time is not None:
        if isinstance(columns.time, (int, str)):
            lines.append(f"column = {_toml(columns.time)}")
        else:
            lines.append(f"columns = {_toml(list(columns.time))}")
        lines += [f"unit = {_toml(_unit('time', columns.factor('time')))}"]
    lines += [f"rate = {columns.rate:.10g}"] if columns.rate is not None else []
    if columns.time is None and columns.rate is None:
        lines += ["# rate = 500.0   # rows per second: this table has no column of time"]
    for label, table in (
        ("q", "position"),
        ("qd", "speed"),
        ("current", columns.kind),
        *list(MAPPING_TABLES.items())[2:],
    ):
        names = getattr(columns, label)
        if not names:
            lines += ["", "# [speed]   # none: speeds are made from the positions"] if label == "qd" else []
            continue
        lines += ["", f"[{table}]", f"columns = {_toml(list(names))}"]
        lines += [f"unit = {_toml(_unit(label if label in ('q', 'qd') else table, columns.factor(label)))}"]
        if label in (columns.scale or {}):
            lines += [f"scale = {_toml([float(x) for x in (columns.scale or {})[label]])}"]
        lines += ['side = "motor"'] if label in columns.motor_side else []
    if columns.gear is not None or len(columns.offset):
        lines += ["", "[gear]"]
        matrix = None if columns.gear is None else np.asarray(columns.gear, dtype=np.float64).tolist()
        lines += [f"matrix = {_toml(matrix)}"] if matrix is not None else []
        lines += [f"offset = {_toml([float(x) for x in columns.offset])}"] if len(columns.offset) else []
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)


_SI = {"time": "s", "q": "rad", "qd": "rad/s", "current": "A", "torque": "N m", "effort": "SI"}
_FACTORS = {
    ("time", 1e-3): "ms",
    ("time", 1e-6): "us",
    ("time", 1e-9): "ns",
    ("q", np.pi / 180.0): "deg",
    ("qd", np.pi / 180.0): "deg/s",
    ("current", 1e-3): "mA",
    ("torque", 1e-3): "mN m",
    ("target_current", 1e-3): "mA",
}


def _unit(signal: str, factor: float) -> str | float:
    """Return the unit's word, or the factor itself where it has none."""
    if factor == 1.0:
        return _SI.get(signal.removeprefix("target_"), "SI")
    return next((word for (s, f), word in _FACTORS.items() if s == signal and np.isclose(f, factor)), factor)


def read_mapping(path: str | Path) -> Columns:
    """Read a mapping file.

    Raises:
        InputError: what is wrong in it, by table and key.
    """
    file = Path(path)
    try:
        content = tomllib.loads(read_regular(file, MOST_MAPPING).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file}: not a mapping of columns (no TOML: {error})") from None
    known = {"table", "time", "position", "speed", "gear", *MEASURED, "target_current", "target_torque"}
    if strange := set(content) - known:
        raise InputError(f"{file}: table [{sorted(strange)[0]}] unknown; there are {', '.join(sorted(known))}")
    for name, table in content.items():
        _check_table(file, name, table)
    held = [kind for kind in MEASURED if kind in content]
    if "position" not in content or len(held) != 1:
        wanted = "one of " + ", ".join(f"[{kind}]" for kind in MEASURED)
        raise InputError(
            f"{file}: needs [position] and {wanted}; it has {', '.join(f'[{t}]' for t in content) or 'none'}"
        )
    return _made(file, content, held[0])


_KEYS = {"table": {"separator", "decimal"}, "time": {"column", "columns", "unit", "rate"}, "gear": {"matrix", "offset"}}


def _check_table(file: Path, name: str, table: object) -> None:
    allowed = _KEYS.get(name, {"columns", "unit", "scale", "side"})
    if not isinstance(table, dict) or set(table) - allowed:
        strange = "" if not isinstance(table, dict) else f" {sorted(set(table) - allowed)[0]!r}"
        raise InputError(f"{file}: [{name}]{strange} unknown; it may have {', '.join(sorted(allowed))}")
    if name not in _KEYS and not (isinstance(table.get("columns"), list) and table["columns"]):
        raise InputError(f"{file}: [{name}] needs columns, a list of names or numbers")
    if table.get("side", "joint") not in ("joint", "motor"):
        raise InputError(f'{file}: [{name}] side must be "joint" or "motor", got {table["side"]!r}')


def _made(file: Path, content: Mapping[str, Any], kind: str) -> Columns:
    tables = {"q": "position", "qd": "speed", "current": kind, "target_current": "target_current"}
    tables |= {"target_torque": "target_torque"}
    parts = {label: content[table] for label, table in tables.items() if table in content}
    time, text, gear = content.get("time", {}), content.get("table", {}), content.get("gear", {})
    units = {
        label: _factor(file, table, parts[label]["unit"])
        for label, table in tables.items()
        if label in parts and "unit" in parts[label]
    }
    if "unit" in time:
        units["time"] = _factor(file, "time", time["unit"])
    try:
        return Columns(
            time.get("column", time.get("columns")),
            **{label: parts.get(label, {}).get("columns", ()) for label in LOG_SIGNALS},
            units=units,
            kind=kind,
            rate=None if "rate" not in time else float(time["rate"]),
            scale={label: part["scale"] for label, part in parts.items() if "scale" in part},
            offset=gear.get("offset", ()),
            gear=gear.get("matrix"),
            motor_side=tuple(label for label, part in parts.items() if part.get("side") == "motor"),
            separator=text.get("separator"),
            decimal=text.get("decimal"),
        )
    except (InputError, TypeError, ValueError) as error:
        raise InputError(f"{file}: {error}") from None


def _factor(file: Path, table: str, unit: object) -> float:
    """Return the factor of a unit: its word, or a number that is the factor itself."""
    if isinstance(unit, (int, float)) and not isinstance(unit, bool) and np.isfinite(unit) and unit != 0.0:
        return float(unit)
    word = str(unit).lower().replace(" ", "")
    if word == "si":
        return 1.0
    wanted = {"position": ("q",), "speed": ("qd",)}.get(table, (table.removeprefix("target_"), "current", "torque"))
    if word in UNITS_IN_NAMES and UNITS_IN_NAMES[word][0] in wanted:
        return UNITS_IN_NAMES[word][1]
    valid = sorted(w for w, (signal, _) in UNITS_IN_NAMES.items() if signal in wanted)
    raise InputError(f"{file}: [{table}] unit {unit!r} unknown; it may be {', '.join(valid)}, or a factor to SI")
