# SPDX-License-Identifier: Apache-2.0
"""How fast a program could run: the same way, at the limit of its motors, whatever its words say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, ProgramError
from armwright.kinematics import fk
from armwright.motion.path_limits import PathLimits, path_limits
from armwright.motion.reachability import largest_speeds
from armwright.motion.speed import speed_limits
from armwright.motion.speed_profile import Profile
from armwright.motion.time_optimal import iterate, split
from armwright.motion.torque import torque_limits
from armwright.programs.legs import refusal, tool_of
from armwright.programs.timing import joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.trajectory import Trajectory
    from armwright.programs.program import Payload, Program
    from armwright.programs.route import Route
    from armwright.robot.model import Robot
    from armwright.types import Array

SPACING, LEAST = 0.003, 100  # of even grid points [m], and how many a section has at least


def fastest_law(robot: Robot, program: Program, route: Route, *, share: float = 1.0) -> Profile:
    """Return the time-optimal law on a route, from stop to stop, under motor torques and joint and motor speeds.

    Gears, coupling, rotors, viscous and load-proportional friction, each move's payload and wrench count. The limits
    hold at the grid points; between them they may be passed by a little, so a check cycle by cycle belongs behind it.

    Args:
        robot: the arm; joint efforts serve where it has no motor data.
        program: for payloads, wrenches and lines.
        route: its way.
        share: of every torque limit that may be used, in (0, 1].
    """
    if not 0.0 < share <= 1.0:
        raise InputError(f"share: expected a share of the torque limits in (0, 1], got {share!r}")
    if not (np.isfinite(robot.actuators.torque_limit).any() or any(np.isfinite(j.limits.effort) for j in robot.joints)):
        raise InputError(
            f"law 'fastest': the sheet of {robot.name!r} has neither motor torques nor joint efforts, so nothing is "
            "known of what its motors can do; use law 'words'"
        )
    limits = torque_limits(robot)
    limits = replace(limits, bound=share * limits.bound)
    speeds, free = speed_limits(robot), np.full(robot.n, np.inf)
    parts = []
    for first, last in route.sections:
        start = route.curve.breaks[first]
        section = route.part(first, last)
        pieces = split(section, max(LEAST, int(section.duration / SPACING)), limits)
        middle = 0.5 * (pieces.breaks[1:] + pieces.breaks[:-1])
        origin = first + np.searchsorted(section.breaks[1:-1], middle, side="right")
        owner = route.owner[origin]
        wrench = flange_wrench(robot, program, pieces.within([0.0, 1.0]).q, np.stack([owner, owner], axis=1))
        rows = None
        for load in {program.moves[k].payload: None for k in owner}:  # in order, each once
            with_load = path_limits(loaded(robot, load), pieces, limits, speeds, free, wrench=wrench)
            carried = np.array([program.moves[k].payload == load for k in owner])
            rows = with_load if rows is None else _mixed(rows, with_load, carried)
        assert rows is not None
        try:
            x, _ = iterate(largest_speeds, pieces.breaks, rows, 40, 1e-6)
        except InputError as error:
            raise _too_weak(program, robot, route, owner, pieces, error) from error
        parts.append(Profile(start + pieces.breaks, x, origin))
    return joined(parts)


def loaded(robot: Robot, payload: Payload | None) -> Robot:
    """The arm with what a move lets it carry."""
    if payload is None or payload.mass == 0.0:
        return robot
    return robot.with_payload(payload.mass, payload.com, payload.inertia)


def flange_wrench(robot: Robot, program: Program, q: Array, move: NDArray[np.int64]) -> Array | None:
    """What the world does to the arm (..., 6) at joints q (..., n) during moves (...), at the frame it calls its tool.

    Wrenches of a program act at its own tool point; None if there are none at all.
    """
    wrench = np.array([np.zeros(6) if m.wrench is None else m.wrench for m in program.moves])[move]
    if not wrench.any():
        return None
    arm = np.array([tool_of(m)[:3, 3] for m in program.moves])[move]
    arm = np.einsum("...ij,...j->...i", fk(robot, q)[..., :3, :3], arm)
    force, moment = wrench[..., :3], wrench[..., 3:]
    return np.concatenate([force, moment + np.cross(arm, force)], axis=-1)


def _mixed(a: PathLimits, b: PathLimits, take: NDArray[np.bool_]) -> PathLimits:
    """Limits of a where `take` (N,) is False, of b where it is True."""
    names = ("inertia", "curve", "viscous", "gravity", "coulomb")
    parts: dict[str, Any] = {}
    for name in names:
        old, new = getattr(a, name), getattr(b, name)
        parts[name] = np.where(take.reshape(-1, *[1] * (old.ndim - 1)), new, old)
    return replace(a, **parts)


def _too_weak(
    program: Program, robot: Robot, route: Route, owner: NDArray[np.int64], pieces: Trajectory, error: InputError
) -> ProgramError:
    """The error for a place at which the motors cannot hold the arm at any speed."""
    text = str(error)
    place = text.partition("s = ")[2].partition(" ")[0]
    at = float(place) if place else 0.0
    k = min(int(np.searchsorted(pieces.breaks[1:-1], at, side="right")), owner.size - 1)
    move = program.moves[int(owner[k])]
    return refusal(
        program,
        move,
        f"the motors of {robot.name!r} cannot carry the arm along this move at any speed ({text})",
        "a smaller payload or wrench, or stronger motors",
    )
