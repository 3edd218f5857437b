# SPDX-License-Identifier: Apache-2.0
"""Cells of the table in which ``armwright show`` lists the moves of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armwright.programs import Speed
    from armwright.programs.program import Blend, Target


def where_cell(target: Target | None) -> str:
    """Return where a move leads [mm, °], in words."""
    import numpy as np

    from armwright.programs import Joints
    from armwright.spatial import euler_from_rotation

    if target is None:
        return "–"
    name = f"{target.name}: " if target.name else ""
    if isinstance(target, Joints):
        angles = [f"{np.degrees(q):.5g}" if known else "kept" for q, known in zip(target.q, target.known, strict=True)]
        return f"{name}joints {', '.join(angles)}"
    place = ", ".join(
        f"{1e3 * x:.5g}" if not free else f"{1e3 * x:+.5g} from here" if x else "kept"
        for x, free in zip(target.T[:3, 3], target.free, strict=True)
    )
    if not target.oriented:
        return f"{name}{place}"
    angles = [f"{a:.4g}" for a in np.degrees(euler_from_rotation(target.T[:3, :3], "zyx").angles)]
    return f"{name}{place}; zyx {', '.join(angles)}"


def speed_cell(speed: Speed) -> str:
    """Return how fast a move is, in words."""
    from armwright.programs import Duration, Fraction, LeadingAxis

    if isinstance(speed, Fraction):
        return f"{100 * speed.value:.4g} %"
    if isinstance(speed, LeadingAxis):
        return f"{speed.value:.4g} rad/s"
    if isinstance(speed, Duration):
        return f"{speed.seconds:.4g} s"
    return f"{1e3 * speed.linear:.4g} mm/s"


def blend_cell(blend: Blend) -> str:
    """Return what happens at the end of a move, in words."""
    from armwright.programs import BySpeed, Distance, Share, Stop

    if isinstance(blend, Stop):
        return "stop"
    if isinstance(blend, Distance):
        return f"round {1e3 * blend.position:.4g} mm"
    if isinstance(blend, Share):
        return f"round {100 * blend.value:.4g} % of half"
    if isinstance(blend, BySpeed):
        return f"round at {100 * blend.value:.4g} % speed"
    return "pass"
