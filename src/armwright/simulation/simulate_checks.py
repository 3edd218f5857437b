# SPDX-License-Identifier: Apache-2.0
"""What `simulate` is given, checked before anything is compiled or allocated; every message names the culprit."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.robot.model import Robot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from armwright.simulation.friction_models import FrictionModel
    from armwright.types import Array

MOST_NUMBERS = 50_000_000  # kept in memory by one run
MOST_SUBSTEPS = 100_000
PLAUSIBLE = 1e6  # rad, rad/s (m, m/s): beyond this a state is a slip of the pen, or a result of divergence


def robots_of(robot: object, what: str = "robot") -> list[Robot]:
    """Return the arms to simulate: one, or several that have joints."""
    arms = [robot] if isinstance(robot, Robot) else robot if isinstance(robot, (list, tuple)) else None
    if arms is None or not all(isinstance(arm, Robot) for arm in arms):
        raise InputError(
            f"simulate: {what} must be a Robot or several in a list, got {robot!r:.60}; load one by name or file: "
            'armwright.load("ur5")'
        )
    if not arms:
        raise InputError("simulate: no robot given")
    for arm in arms:
        if arm.n == 0:
            raise InputError(f"simulate: robot {arm.name!r} has no joints, so nothing can move")
    return list(arms)


def whole(value: Any, name: str, most: float = np.inf) -> int:
    """Return a whole number from 1 to `most`."""
    try:
        number = int(value)
        fits = number == value and 1 <= number <= most
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        span = "≥ 1" if most == np.inf else f"from 1 to {most:g}"
        raise InputError(f"simulate: {name} must be a whole number {span}, got {value!r}")
    return number


def rate_of(rate: Any) -> float:
    """Return the control ticks per second."""
    if isinstance(rate, (str, bool)) or np.ndim(rate) or not (np.isfinite(rate) and 0.0 < rate <= 1e9):
        raise InputError(f"simulate: rate must be a positive number of ticks per second, at most 1e9, got {rate!r}")
    return float(rate)


def check_parts(arm: Robot, parts: Mapping[str, tuple[Any, type]]) -> None:
    """Check kind and size of drive, friction, sensors and model: parameters are scalars or one per joint."""
    for name, (part, kind) in parts.items():
        if part is None:
            continue
        if not isinstance(part, kind):
            raise InputError(f"simulate: {name} must be a {kind.__name__}, got {part!r:.60} ({type(part).__name__})")
        if isinstance(part, Robot):
            if part.n != arm.n:
                raise InputError(f"simulate: the {name} {part.name!r} has {part.n} joints, the robot {arm.n}")
            continue
        for field in fields(part):  # type: ignore[arg-type]
            shape = np.shape(getattr(part, field.name))
            wanted = [(arm.n, arm.n)] if field.name == "gear" else [(), (arm.n,)]
            if shape not in wanted:
                words = " or ".join(map(str, wanted))
                raise InputError(f"simulate: {name}.{field.name} must have shape {words} for {arm.name!r}, got {shape}")


def check_holding(friction: FrictionModel | None, integrator: str) -> None:
    """Check that friction which only says what holds a joint meets the integrator that solves for it."""
    if friction is not None and friction.only_held and integrator != "semi-implicit":
        raise InputError(
            f"simulate: {type(friction).__name__} friction holds joints at rest, which only "
            f'integrator="semi-implicit" solves for; got {integrator!r}'
        )


def check_functions(
    events: Mapping[str, Callable[..., Any]] | None, external: Callable[..., Any] | None, name: str = "external"
) -> None:
    """Check that what will be called can be."""
    for event, function in (events or {}).items():
        if not callable(function):
            raise InputError(f"simulate: event {event!r} must be a function of (arm, t, q, qd), got {function!r:.60}")
    if external is not None and not callable(external):
        raise InputError(f"simulate: {name} must be a function of (arm, t, q, qd, tau) → (n,), got {external!r:.60}")


def check_lanes(lanes: int, given: Sequence[tuple[str, int]], n: int) -> None:
    """Check that as many of everything are given as simulations are asked for, and that they fit into memory."""
    if 2 * n * lanes > MOST_NUMBERS:
        raise InputError(
            f"simulate: count = {lanes} simulations of {n} joints do not fit into memory; "
            f"run at most {MOST_NUMBERS // (2 * n)} at once"
        )
    for what, number in given:
        if number not in (1, lanes):
            raise InputError(f"simulate: {number} {what} for {lanes} simulations; give 1 or {lanes}")


def check_rows(rows: float, columns: int, every: int) -> None:
    """Check that what will be recorded fits into memory."""
    if rows * columns > MOST_NUMBERS:
        raise InputError(
            f"simulate: {rows * columns:.3g} numbers would be recorded; raise every (now {every}), shorten the run, "
            "or write it to a file and keep little of it in memory (save=…, keep=…)"
        )


def rows_of(value: ArrayLike, n: int, what: str) -> Array:
    """Return (B, n) from (n,) or (B, n) plausible numbers."""
    try:
        array = np.atleast_2d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"simulate: {what} must hold {n} finite numbers, or (B, {n}); got {value!r:.60}") from error
    if array.ndim != 2 or array.shape[1] != n or not np.isfinite(array).all():
        raise InputError(f"simulate: {what} must hold {n} finite numbers, or (B, {n}); got shape {np.shape(value)}")
    return array


def check_state(x0: Array, arm: Robot) -> None:
    """Check that the initial states (B, 2n) are of this world."""
    wild = np.argwhere(np.abs(x0) > PLAUSIBLE)
    if len(wild):
        lane, k = wild[0].tolist()
        what, unit = ("q0", "rad or m") if k < arm.n else ("qd0", "rad/s or m/s")
        raise InputError(
            f"simulate: {what} of joint {arm.joints[k % arm.n].name} is {x0[lane, k]:g}; no arm goes beyond "
            f"{PLAUSIBLE:g} {unit}"
        )


def seeds_of(seed: object) -> list[int]:
    """Return the seeds of the noise, one or one for each simulation."""
    values = np.ravel(np.asarray(seed))
    if len(values) == 0 or values.dtype.kind not in "iu" or (values < 0).any():
        raise InputError(
            f"simulate: seed must be a whole number from 0 to 2^64 - 1, or one for each simulation; got {seed!r}"
        )
    return [int(value) for value in values]
