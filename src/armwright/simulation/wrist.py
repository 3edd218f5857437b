# SPDX-License-Identifier: Apache-2.0
"""What a sensor at the wrist feels: the wrench of the world on the tool, for a law in the loop and for a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.graph.by_name import call_by_name
from armwright.kinematics.forward import frame_pose, tool_pose
from armwright.recording.signals import Signal

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced

AXES = ("fx", "fy", "fz", "mx", "my", "mz")


def wrench_function(wrench: Any) -> Callable[..., Any] | None:
    """Return the wrench of `simulate` as a function; a constant one, (6,) at the tool or (nb, 6), gives itself."""
    if wrench is None:
        return None
    if callable(wrench):
        function: Callable[..., Any] = wrench
        return function
    constant = np.asarray(wrench, dtype=np.float64)
    if constant.shape[-1:] != (6,) or constant.ndim > 2 or not np.isfinite(constant).all():
        raise InputError(
            f"simulate: wrench must be (6,) or (nb, 6) finite numbers, or a function; got shape {constant.shape}"
        )
    return lambda: constant


def tool_wrench(function: Callable[..., Any], arm: Robot | Tree, t: Traced, q: Traced, qd: Traced) -> Traced:
    """World's wrench (6,) on the tool's link at the tool, base axes, from a wrench function of `simulate` (traced).

    A function that gives (nb, 6), one wrench a link at its origin, leaves out what touches the other links: a sensor
    between the arm and its tool does not feel that.
    """
    w = call_by_name(function, {"arm": arm, "t": t, "q": q, "qd": qd})
    if np.ndim(w) == 1:
        return w
    tip = arm.tip
    f, m = w[tip][:3], w[tip][3:]
    lever = frame_pose(arm, q, tip)[:3, 3] - tool_pose(arm, q)[:3, 3]
    return np.concatenate([f, m + np.cross(lever, f)])


@names_culprit
def with_wrench(recording: Recording, wrench: Any) -> Recording:
    """Add the world's wrench on the tool (T, 6) [N, N m], base axes, at the tool, along a run.

    Args:
        recording: with q and qd, and its robot.
        wrench: what `simulate` was given: (6,), (nb, 6) or a function of (arm, t, q, qd).
    """
    robot = recording.robot
    if robot is None:
        raise InputError("with_wrench: the recording does not know its robot")
    function = wrench_function(wrench)
    if function is None:
        raise InputError("with_wrench: no wrench given")

    def felt(t: Traced, q: Traced, qd: Traced) -> Traced:
        return np.array(tool_wrench(function, robot, t, q, qd))

    kernel = compile_function(felt, {"t": (), "q": (robot.n,), "qd": (robot.n,)}, name="tool_wrench")
    values = kernel(recording.time, recording["q"], recording["qd"])
    return recording.with_signals(wrench=Signal(values, "", AXES))
