# SPDX-License-Identifier: Apache-2.0
"""Identified arms on disk: one JSON file with the sheet of the arm, its gains, friction, bands and deviations.

The sheet inside is a robot sheet like any other (`Identified.robot.to_sheet`), with the logs as sources.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import ArmwrightError, InputError
from armwright.files import read_regular
from armwright.identify.consistent_bodies import pseudo_inertia
from armwright.identify.gear_friction import TERMS, GearFriction
from armwright.identify.identified import Bands, Estimate, Identified, PayloadEstimate

if TYPE_CHECKING:
    from armwright.types import Array

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
            "dahl": identified.friction.dahl,
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
    if (bands := identified.bands) is not None:
        content["bands"] = {
            "sigma": _finite(bands.sigma),
            "largest": bands.largest.tolist(),
            "motion": bands.motion.tolist(),
            "rest": bands.rest,
            "seconds": bands.seconds,
        }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(values: Array) -> Any:
    """Nested lists with None for what is not finite, as JSON has no word for it."""
    return np.where(np.isfinite(values), values.astype(object), np.array(None)).tolist()


def _estimate(e: Estimate) -> dict[str, Any]:
    plain = {"name": e.name, "value": e.value, "deviation": e.deviation, "unit": e.unit}
    return plain | ({"assumed": True} if e.assumed else {})


@names_culprit
def save_model(identified: Identified, path: str | Path) -> Path:
    """Write a model to a JSON file."""
    file = Path(path)
    try:
        file.write_text(to_text(identified), encoding="utf-8")
    except OSError as error:
        raise ArmwrightError(f"{file}: could not be written ({error.strerror or error})") from error
    return file


@names_culprit
def load_model(path: str | Path) -> Identified:
    """Read a model that `save_model` wrote.

    Raises:
        InputError: what does not make sense in the file, by its place: it may have been edited.
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
    return _ModelReader(file, content).model()


class _ModelReader:
    def __init__(self, file: Path, content: dict[str, Any]) -> None:
        self.file, self.content = file, content

    def at(self, place: str) -> Any:
        """Value by dotted place."""
        value: Any = self.content
        for key in place.split("."):
            if not isinstance(value, dict) or key not in value:
                raise InputError(f"{self.file}: {place} is missing")
            value = value[key]
        return value

    def numbers(self, place: str, shape: tuple[int, ...], *, gaps: bool = False) -> Array:
        found = self.at(place)
        try:
            if not _only_numbers(found):
                raise TypeError
            array = np.array(found, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{self.file}: {place} must be numbers of shape {shape}") from None
        if array.shape != shape or not (gaps or np.isfinite(array).all()):
            raise InputError(f"{self.file}: {place} must be finite numbers of shape {shape}, got shape {array.shape}")
        return array

    def number(self, place: str) -> float:
        return float(self.numbers(place, ()))

    def words(self, place: str) -> tuple[str, ...]:
        found = self.at(place)
        if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
            raise InputError(f"{self.file}: {place} must be a list of texts")
        return tuple(found)

    def estimates(self, place: str, count: int | None = None) -> tuple[Estimate, ...]:
        try:
            found = tuple(read_estimate(e) for e in self.at(place))
        except (TypeError, KeyError, ValueError) as error:
            raise InputError(
                f"{self.file}: {place} must list estimates: name, value, deviation ≥ 0 (null if unknown), unit"
            ) from error
        if count is not None and len(found) != count:
            raise InputError(f"{self.file}: {place} must list {count} estimates, got {len(found)}")
        return found

    def model(self) -> Identified:
        from armwright.robot.sheet.sheet_read import robot_from_text

        sheet = self.at("sheet")
        if not isinstance(sheet, str):
            raise InputError(f"{self.file}: sheet must be the text of a robot sheet")
        try:
            robot = robot_from_text(sheet, f"{self.file}, sheet")
        except ArmwrightError as error:
            raise InputError(f"{self.file}: the sheet in it is not one: {error}") from error
        n = robot.n
        gains = self.numbers("gains.values", (n,))
        if not ((gains > 0.0) & (gains < MOST_GAIN)).all():
            raise InputError(
                f"{self.file}: gains.values must lie between 0 and {MOST_GAIN:g} N m/A, got {gains.tolist()}"
            )
        if self.words("friction.terms") != TERMS:
            raise InputError(f"{self.file}: friction.terms must be {', '.join(TERMS)}, in this order")
        coefficients = self.numbers("friction.coefficients", (n, len(TERMS)))
        if np.abs(coefficients).max(initial=0.0) > MOST_FRICTION or (coefficients[:, 2] < 0.0).any():
            raise InputError(
                f"{self.file}: friction.coefficients: Coulomb friction must not be negative, nothing above "
                f"{MOST_FRICTION:g}"
            )
        sigma = self.numbers("residual_current", (n,))
        if not (sigma > 0.0).all():
            raise InputError(f"{self.file}: residual_current must be > 0")
        _check_bodies(self.file, robot)
        try:
            return Identified(
                robot=robot,
                gains=gains,
                friction=GearFriction(coefficients, self.number("friction.dahl")),
                sigma=sigma,
                base=self.estimates("base"),
                gain_estimates=self.estimates("gain_estimates", n),
                friction_estimates=self.estimates("friction_estimates", n * len(TERMS)),
                hidden=self.words("hidden"),
                payloads=self.payloads(),
                logs=self.words("logs"),
                remarks=self.words("remarks"),
                condition=self.number("condition"),
                misfit=self.number("misfit"),
                bands=self.bands(n),
            )
        except InputError as error:
            text = str(error)
            raise InputError(text if text.startswith(str(self.file)) else f"{self.file}: {text}") from error

    def payloads(self) -> tuple[PayloadEstimate, ...]:
        from armwright.identify.model_fit import payload_estimate

        out = []
        listed = self.at("payloads")
        if not isinstance(listed, list):
            raise InputError(f"{self.file}: payloads must be a list")
        for one in listed:
            reader = _ModelReader(self.file, {"payloads": one})
            p = reader.numbers("payloads.parameters", (10,))
            if not 0.0 < abs(p[0]) < MOST_MASS:  # negative ones happen, and the remarks of the fit say so
                raise InputError(f"{self.file}: payloads.parameters: a mass of {p[0]:g} kg cannot be")
            spread = reader.numbers("payloads.covariance", (10, 10), gaps=True)
            if not _is_covariance(spread):
                raise InputError(f"{self.file}: payloads.covariance must be symmetric and positive semidefinite")
            out.append(payload_estimate(str(reader.at("payloads.log")), p, np.where(np.isnan(spread), np.inf, spread)))
        return tuple(out)

    def bands(self, n: int) -> Bands | None:
        if self.at("bands") is None:
            return None
        for part in ("sigma", "largest", "motion"):
            values = self.numbers(f"bands.{part}", (n,), gaps=part == "sigma")
            least = LEAST_BAND if part == "motion" else 0.0
            if (values < least).any() or (values > MOST_BAND).any():
                raise InputError(f"{self.file}: bands.{part} must lie between {least:g} and {MOST_BAND:g} N m")
        if not (self.number("bands.rest") <= MOST_REST and self.number("bands.seconds") >= 0.0):
            raise InputError(f"{self.file}: bands: rest must not exceed {MOST_REST:g}, seconds not be negative")
        return Bands(
            self.numbers("bands.sigma", (n,), gaps=True),
            self.numbers("bands.largest", (n,)),
            self.numbers("bands.motion", (n,)),
            self.number("bands.rest"),
            self.number("bands.seconds"),
        )


def _only_numbers(value: Any) -> bool:
    """Whether nested lists hold numbers and None alone: NumPy would take true and "1" for numbers, too."""
    if isinstance(value, list):
        return all(_only_numbers(x) for x in value)
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def read_estimate(e: Any) -> Estimate:
    """An estimate from its plain data; ValueError, TypeError or KeyError where it makes none."""
    value, deviation, assumed = e["value"], e["deviation"], e.get("assumed", False)
    plain = not isinstance(value, list) and not isinstance(deviation, list) and _only_numbers([value, deviation])
    if not (plain and isinstance(assumed, bool) and (value is None) == (deviation is None)):
        raise ValueError
    if value is not None and not (np.isfinite(value) and np.isfinite(deviation) and deviation >= 0.0):
        raise ValueError
    return Estimate(str(e["name"]), value, deviation, str(e["unit"]), assumed)


def _is_covariance(spread: Array) -> bool:
    """Whether the finite part, where all of it is, is symmetric and not negative."""
    if not np.isfinite(spread).all():
        return bool((np.diag(spread)[np.isfinite(np.diag(spread))] >= 0.0).all())
    scale = np.sqrt(np.maximum(np.diag(spread), 1e-300))
    scaled = spread / np.outer(scale, scale)
    return bool(np.abs(scaled - scaled.T).max() < 1e-6 and np.linalg.eigvalsh(scaled)[0] > -1e-6)


def _check_bodies(file: Path, robot: Any) -> None:
    """Refuse bodies that cannot exist."""
    from armwright.dynamics.regressor import parameters

    bodies = parameters(robot)[: 10 * len(robot.bodies)].reshape(-1, 10)
    for body, p in zip(robot.bodies, bodies, strict=True):
        if not np.linalg.eigvalsh(pseudo_inertia(p))[0] > 0.0:
            raise InputError(
                f"{file}: body {body.name!r} cannot exist: its pseudo-inertia is not positive definite (mass, centre "
                "and inertia do not fit together)"
            )
