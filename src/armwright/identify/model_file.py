# SPDX-License-Identifier: Apache-2.0
"""Identified arms on disk: one JSON file with the sheet of the arm, its gains, friction, bands and deviations.

The sheet inside is a robot sheet like any other (`Identified.robot.to_sheet`), with the logs as sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.files import read_regular, write_file
from armwright.identify.consistent_bodies import pseudo_inertia
from armwright.identify.gear_friction import MOTOR_TERMS, TERMS, GearFriction
from armwright.identify.identified import Bands, Estimate, Identified
from armwright.identify.position_friction import PositionFriction, PositionTerm
from armwright.schema.checks import Check, Refuse, anything, below, listed, made, record, refuser, text

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.sheet.sheet_read import Implausible
    from armwright.types import Array

T = TypeVar("T")
FORMAT = "armwright-identified"
VERSION = 1
MAX_BYTES = 16 * 2**20
MOST_GAIN, MOST_FRICTION, MOST_MASS, LEAST_BAND, MOST_BAND, MOST_REST = 1e4, 1e5, 1e4, 1e-9, 1e5, 100.0


def to_text(identified: Identified) -> str:
    """Write a model as JSON text."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "logs": list(identified.logs),
        "remarks": list(identified.remarks),
        "gains": {"unit": "N m/A", "values": identified.gains.tolist()},
        "friction": {
            "terms": list(TERMS),
            "dahl": _one_or_all(identified.friction.travel),
            "coefficients": identified.friction.coefficients.tolist(),
        },
        "residual_current": identified.sigma.tolist(),
        "condition": identified.condition,
        "misfit": identified.misfit,
        "base": [_estimate(e) for e in identified.base],
        "gain_estimates": [_estimate(e) for e in identified.gain_estimates],
        "friction_estimates": [_estimate(e) for e in identified.friction_estimates],
        "undetermined": list(identified.undetermined),
        "hidden": list(identified.hidden),
        "payloads": [
            {"log": p.log, "parameters": p.parameters.tolist(), "covariance": _finite(p.covariance)}
            for p in identified.payloads
        ],
        "bands": None,
        "sheet": identified.robot.to_sheet(),
    }
    if len(identified.friction.turned):
        content["friction"]["motors"] = identified.friction.turned.tolist()
        content["friction"]["motor_coefficients"] = identified.friction.of_motors.tolist()
    if (bands := identified.bands) is not None:
        content["bands"] = {
            "sigma": _finite(bands.sigma),
            "largest": bands.largest.tolist(),
            "motion": bands.motion.tolist(),
            "rest": bands.rest,
            "seconds": bands.seconds,
        }
    if identified.position is not None:
        content["position"] = [term._asdict() for term in identified.position.terms]
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _one_or_all(values: Array) -> float | list[float]:
    """One number where all are equal, as files had before."""
    return float(values[0]) if (values == values[0]).all() else values.tolist()


def _finite(values: Array) -> list[Any]:
    """Nested lists with None for what is not finite, as JSON has no word for it."""
    return np.where(np.isfinite(values), values.astype(object), np.array(None)).tolist()


def _estimate(e: Estimate) -> dict[str, Any]:
    plain = {"name": e.name, "value": e.value, "deviation": e.deviation, "unit": e.unit}
    more = {"ratio": e.ratio, "within": e.within}
    return plain | ({"assumed": True} if e.assumed else {}) | {k: v for k, v in more.items() if v is not None}


@names_culprit
def save_model(identified: Identified, path: str | Path, *, implausible: Implausible = "refuse") -> Path:
    """Write a model to a JSON file that `load_model` reads.

    Args:
        identified: the model.
        path: of the file.
        implausible: "refuse" bodies that no matter can form, before anything is written, or "warn" and write them.

    Raises:
        InputError: what `load_model` would refuse.

    >>> save_model(aw.identify.fit(log, robot), "arm.json")
    """
    file, content = Path(path), to_text(identified)
    try:
        _model(json.loads(content), refuser(str(file)), str(file), implausible)
    except InputError as error:
        raise InputError(f"{error}; nothing was written, as no command would read it") from error
    write_file(file, content)
    return file


@names_culprit
def load_model(path: str | Path, *, implausible: Implausible = "refuse") -> Identified:
    """Read a model that `save_model` wrote.

    Args:
        path: of the file.
        implausible: "refuse" bodies that no matter can form, or "warn" and take them as written.

    Raises:
        InputError: what does not make sense in the file, by its place: it may have been edited.

    >>> load_model("arm.json").robot
    """
    file = Path(path)
    try:
        content = json.loads(read_regular(file, MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: not a model of ours (not JSON: {error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{file}: not a model of ours; save_model and `armwright identify --out` write them")
    if content.get("version") != VERSION:
        raise InputError(f"{file}: version {content.get('version')!r}; this program reads {VERSION}")
    return _model(content, refuser(str(file)), str(file), implausible)


def _model(content: dict[str, Any], refuse: Refuse, file: str, implausible: Implausible) -> Identified:
    from armwright.identify.finished_fit import payload_estimate
    from armwright.robot.sheet.sheet_read import robot_from_text

    sheet = made(text(), lambda found: robot_from_text(found, f"{file}, sheet", implausible=implausible), "sheet")
    robot = sheet(content.get("sheet"), below(refuse, "sheet"))
    found = _keys(robot.n)(content, refuse)
    _check_bodies(file, robot)
    friction, bands = found["friction"], found["bands"]
    spreads = [np.where(np.isnan(p["covariance"]), np.inf, p["covariance"]) for p in found["payloads"]]
    same = ("base", "gain_estimates", "friction_estimates", "hidden", "logs", "remarks")
    try:
        return Identified(
            robot=robot,
            gains=found["gains"]["values"],
            friction=_friction(robot.n, friction),
            sigma=found["residual_current"],
            payloads=tuple(
                payload_estimate(str(p["log"]), p["parameters"], spread)
                for p, spread in zip(found["payloads"], spreads, strict=True)
            ),
            condition=float(found["condition"]),
            misfit=float(found["misfit"]),
            position=_position(robot.n, found.get("position")),
            bands=bands and Bands(**bands | {key: float(bands[key]) for key in ("rest", "seconds")}),
            **{key: found[key] for key in same},
        )
    except InputError as error:
        raise refuse(str(error), "model") from error


def _friction(n: int, told: dict[str, Any]) -> GearFriction:
    """Return the friction of n joints, and of motors that turn with several of them."""
    rows, own = (np.array(told.get(key, []), dtype=np.float64) for key in ("motors", "motor_coefficients"))
    if (own < 0.0).any():
        raise InputError("friction: motor_coefficients must not be negative")
    if not rows.size:
        return GearFriction(told["coefficients"], told["dahl"])
    return GearFriction(told["coefficients"], told["dahl"], rows.reshape(len(rows), -1), own.reshape(len(own), -1))


def _position(n: int, terms: list[dict[str, Any]] | None) -> PositionFriction | None:
    if terms is None:
        return None
    return PositionFriction(
        n,
        tuple(
            PositionTerm(
                int(t["joint"]),
                str(t["kind"]),
                int(t["cycles"]),
                *(float(t[key]) for key in ("sine", "cosine", "deviation", "gain")),
            )
            for t in terms
        ),
    )


def _keys(n: int) -> Check[dict[str, Any]]:
    """Return the check of what `to_text` writes about an arm of n joints."""
    words, count = listed(text()), n * len(TERMS)
    gains = _that(_array(n), lambda x: (x > 0.0) & (x < MOST_GAIN), f"must lie between 0 and {MOST_GAIN:g} N m/A")
    band = _that(_array(n), _inside(0.0, MOST_BAND), f"must lie between 0 and {MOST_BAND:g} N m")
    spread = _that(_array(n, gaps=True), lambda x: ~((x < 0.0) | (x > MOST_BAND)), f"must lie up to {MOST_BAND:g} N m")
    motion = f"must lie between {LEAST_BAND:g} and {MOST_BAND:g} N m"
    coulomb = f"Coulomb friction must not be negative, nothing above {MOST_FRICTION:g}"
    bands = record(
        {
            "sigma": spread,
            "largest": band,
            "motion": _that(_array(n), _inside(LEAST_BAND, MOST_BAND), motion),
            "rest": _that(_array(), lambda x: x <= MOST_REST, f"must not exceed {MOST_REST:g}"),
            "seconds": _that(_array(), lambda x: x >= 0.0, "must not be negative"),
        }
    )
    mass = f"the first is a mass, not 0 and below {MOST_MASS:g} kg"  # negative ones happen; remarks of the fit say so
    payload = record(
        {
            "log": anything,
            "parameters": _that(_array(10), lambda p: 0.0 < abs(p[0]) < MOST_MASS, mass),
            "covariance": _that(
                _array(10, 10, gaps=True), _is_covariance, "must be symmetric and positive semidefinite"
            ),
        }
    )
    return record(
        {
            **dict.fromkeys(("format", "version", "sheet"), anything),
            **dict.fromkeys(("logs", "remarks", "undetermined", "hidden"), words),
            "gains": record({"values": gains}, {"unit": text()}),
            "friction": record(
                {
                    "terms": _that(words, lambda x: x == TERMS, f"must be {', '.join(TERMS)}, in this order"),
                    "dahl": lambda value, refuse: _array(*np.shape(value)[:1])(value, refuse),
                    "coefficients": _that(_array(n, len(TERMS)), _is_friction, coulomb),
                },
                {"motors": listed(_array(n)), "motor_coefficients": listed(_array(len(MOTOR_TERMS)))},
            ),
            "residual_current": _that(_array(n), lambda x: x > 0.0, "must be > 0"),
            "condition": _array(),
            "misfit": _array(),
            "base": listed(_estimate_of),
            "gain_estimates": listed(_estimate_of, n, least=n),
            "friction_estimates": listed(_estimate_of, count, least=count),
            "payloads": listed(payload),
            "bands": lambda value, refuse: None if value is None else bands(value, refuse),
        },
        {"position": listed(_harmonic)},
    )


def _harmonic(value: object, refuse: Refuse) -> dict[str, Any]:
    """One harmonic of a joint's angle."""
    whole = _that(_array(), lambda x: x == np.round(x), "must be a whole number")
    keys = {"joint": whole, "cycles": whole, "kind": text()}
    return record(keys | dict.fromkeys(("sine", "cosine", "deviation", "gain"), _array()))(value, refuse)


def _array(*shape: int, gaps: bool = False) -> Check[Array]:
    """An array of numbers, finite ones unless it may have gaps (null)."""

    def check(value: object, refuse: Refuse) -> Array:
        try:
            array = np.array(value if _only_numbers(value) else None, dtype=np.float64)
        except (ValueError, OverflowError):
            array = np.array(np.nan)
        if array.shape != shape or not (gaps or np.isfinite(array).all()):
            raise refuse(f"must be finite numbers of shape {shape}, got {value!r:.60}", "array")
        return array

    return check


def _that(check: Check[T], fits: Callable[[T], Any], wanted: str) -> Check[T]:
    """A checked value that fits, everywhere if it is an array."""

    def same(value: T) -> T:
        if not np.all(fits(value)):
            raise InputError(wanted)
        return value

    return made(check, same, "range")


def _inside(low: float, high: float) -> Callable[[Array], Any]:
    return lambda x: (x >= low) & (x <= high)


def _is_friction(coefficients: Array) -> bool:
    return bool((np.abs(coefficients) <= MOST_FRICTION).all() and (coefficients[:, 2] >= 0.0).all())


def _estimate_of(value: Any, refuse: Refuse) -> Estimate:
    try:
        return read_estimate(value)
    except (TypeError, KeyError, ValueError):
        raise refuse("must have name, value, deviation ≥ 0 (null if unknown) and unit", "estimate") from None


def _only_numbers(value: object) -> bool:
    """Whether nested lists hold numbers and None alone: NumPy would take true and "1" for numbers, too."""
    if isinstance(value, list):
        return all(_only_numbers(x) for x in value)
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def read_estimate(e: Any) -> Estimate:
    """An estimate from its plain data; ValueError, TypeError or KeyError where it makes none."""
    value, deviation, assumed = e["value"], e["deviation"], e.get("assumed", False)
    numbers = (value, deviation, *(more := (e.get("ratio"), e.get("within"))))
    plain = not any(isinstance(x, list) for x in numbers) and _only_numbers(list(numbers))
    if not (plain and isinstance(assumed, bool) and (value is None) == (deviation is None)):
        raise ValueError
    if value is not None and not (np.isfinite(value) and np.isfinite(deviation) and deviation >= 0.0):
        raise ValueError
    if any(x is not None and not (np.isfinite(x) and x >= 0.0) for x in more):
        raise ValueError
    return Estimate(str(e["name"]), value, deviation, str(e["unit"]), assumed, *more)


def _is_covariance(spread: Array) -> bool:
    """Whether the finite part, where all of it is, is symmetric and not negative."""
    if not np.isfinite(spread).all():
        return bool((np.diag(spread)[np.isfinite(np.diag(spread))] >= 0.0).all())
    scale = np.sqrt(np.maximum(np.diag(spread), 1e-300))
    scaled = spread / np.outer(scale, scale)
    return bool(np.abs(scaled - scaled.T).max() < 1e-6 and np.linalg.eigvalsh(scaled)[0] > -1e-6)


def _check_bodies(file: str, robot: Robot) -> None:
    """Refuse bodies that cannot exist."""
    from armwright.dynamics.regressor import parameters

    bodies = parameters(robot)[: 10 * len(robot.bodies)].reshape(-1, 10)
    for body, p in zip(robot.bodies, bodies, strict=True):
        if not np.linalg.eigvalsh(pseudo_inertia(p))[0] > 0.0:
            raise InputError(
                f"{file}: body {body.name!r} cannot exist: its pseudo-inertia is not positive definite (mass, centre "
                "and inertia do not fit together)"
            )
