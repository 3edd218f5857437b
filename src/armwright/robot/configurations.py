# SPDX-License-Identifier: Apache-2.0
"""Configurations that any arm has: the neutral one, and random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

SLIDE = 1.0
"""Travel [m] either way from 0 assumed for a sliding joint without limits: the size of a common arm."""


def neutral(robot: Robot) -> Array:
    """Return the configuration (n,) with every joint at 0, or in the middle of its range where that excludes 0."""
    lower, upper = sampling_range(robot)
    inside = (robot.lower <= 0.0) & (robot.upper >= 0.0)
    return np.where(inside, 0.0, 0.5 * (lower + upper))


def random_configuration(
    robot: Robot, rng: np.random.Generator | int | None = None, size: int | tuple[int, ...] = ()
) -> Array:
    """Draw configurations (*size, n), uniform within the limits of every joint; see `sampling_range`."""
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InputError(f"random_configuration: rng must be a Generator, a seed ≥ 0 or None, got {rng!r}") from error
    try:
        shape = (*np.atleast_1d(np.asarray(size, dtype=int)).tolist(), robot.n)
        return generator.uniform(*sampling_range(robot), size=shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"random_configuration: size must be whole numbers ≥ 0, got {size!r}") from error


def sampling_range(robot: Robot, slide: float = SLIDE) -> tuple[Array, Array]:
    """Return lower and upper ends (n,), finite, within which to look for configurations: the limits where there are.

    A joint without limits counts within ±π rad, or ±`slide` metres if it slides; with a limit on one side only, as far
    from there: 2π rad or 2·`slide`.
    """
    span = np.where([joint.kind == "prismatic" for joint in robot.joints], slide, np.pi)
    low, high = robot.lower, robot.upper
    lower = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0 * span, -span))
    return lower, np.where(np.isfinite(high), high, lower + 2.0 * span)
