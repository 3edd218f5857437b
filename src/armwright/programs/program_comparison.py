# SPDX-License-Identifier: Apache-2.0
"""Comparison of two programs, to rounding: targets in the arm's base, circles as circles, words as words."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.programs.program import Joints, Move, Pose, Program, Target
from armwright.programs.setting_words import setting_words
from armwright.spatial import rotation_angle

if TYPE_CHECKING:
    from armwright.types import Array

WORDS = ("speed", "acceleration", "blend", "orientation", "arc_angle")


@names_culprit
def program_differences(a: Program, b: Program, *, tolerance: float = 1e-9, words: bool = True) -> list[str]:
    """Return what differs between two programs, one line each; empty if nothing does.

    Args:
        a: a program.
        b: another.
        tolerance: for positions [m], angles [rad] and, relative to their size, all other numbers.
        words: compare speeds, blends, orientations, tools and loads, too; without, only the path: kinds and targets.

    Targets are compared in the arm's base, whatever frame they are given in. Arcs are compared by centre and way, as
    languages differ in which point of an arc they name.

    Example:
        >>> program = read_program("examples/programs/irb140_pick.mod")
        >>> program_differences(program, read_program(write_program(program, "rapid"), "rapid"))
        []
    """
    found = [] if len(a.moves) == len(b.moves) else [f"{len(a.moves)} moves and {len(b.moves)}"]
    start: Target | None = None
    for index, (one, two) in enumerate(zip(a.moves, b.moves, strict=False), 1):
        found += [f"move {index}: {text}" for text in _differences(one, two, start, tolerance, words)]
        start = None if one.target is None else _in_base(one)
    return found


def _in_base(move: Move) -> Target | None:
    """Return the target with its pose in the arm's base."""
    if isinstance(move.target, Pose):
        return dataclasses.replace(move.target, T=_pose_product(move.T_base_frame, move.target.T))
    return move.target


def _pose_product(A: Array, B: Array) -> Array:
    T: Array = A @ B
    return T


def _differences(one: Move, two: Move, start: Target | None, tolerance: float, words: bool) -> list[str]:
    if one.kind != two.kind:
        return [f"kind {one.kind} and {two.kind}"]
    turns = not one.orientation == two.orientation == "fixed"  # otherwise the targets' orientations are not used
    found = _targets(_in_base(one), _in_base(two), tolerance, turns)
    if one.via is not None and two.via is not None:
        found += _arcs(one, two, start, tolerance)
    if words:
        for name in WORDS:
            first, second = getattr(one, name), getattr(two, name)
            if not _alike(first, second, tolerance):
                per = "s²" if name == "acceleration" else "s"
                told = [setting_words(value, per=per) for value in (first, second)]
                if told[0] == told[1]:  # they differ in what the words leave out
                    told = [str(first), str(second)]
                found.append(f"{name} {told[0]} and {told[1]}")
        loads = [
            (move.T_flange_tool if move.T_flange_tool is not None else np.eye(4), move.payload, move.wrench)
            for move in (one, two)
        ]
        for what, first, second in zip(("tool", "payload", "wrench"), *loads, strict=True):
            if one.kind != "wait" and not _alike(first, second, tolerance):
                found.append(f"the {what} differs")
        if one.wrench is not None and two.wrench is not None and one.wrench_frame != two.wrench_frame:
            found.append(f"wrenches in {one.wrench_frame} and in {two.wrench_frame} axes")
    return found


def _targets(one: Target | None, two: Target | None, tolerance: float, turns: bool) -> list[str]:
    if type(one) is not type(two):
        return [f"a target of kind {type(one).__name__} and {type(two).__name__}"]
    if isinstance(one, Joints) and isinstance(two, Joints):
        (q1, known1), (q2, known2) = _listed(one), _listed(two)
        if known1 != known2:
            return ["other joints are known"]
        gap = float(np.abs(q1 - q2).max(initial=0.0))
        return [] if gap <= tolerance else [f"joints {gap:.3g} rad apart"]
    found = []
    if isinstance(one, Pose) and isinstance(two, Pose):
        if one.free != two.free:
            found.append("other coordinates are known")
        gap = float(np.linalg.norm(one.T[:3, 3] - two.T[:3, 3]))
        if not gap <= tolerance:
            found.append(f"targets {gap:.3g} m apart")
        if not turns:
            return found
        if one.oriented != two.oriented:
            found.append("only one target has an orientation")
        elif one.oriented:
            angle = float(rotation_angle(one.T[:3, :3].T @ two.T[:3, :3]))
            if not angle <= tolerance:
                found.append(f"orientations {angle:.3g} rad apart")
    return found


def _listed(target: Joints) -> tuple[Array, list[bool]]:
    """Return the joints up to the last that is known: later ones keep their value, said or unsaid."""
    known = list(target.known)
    while known and not known[-1]:
        known.pop()
    return target.q[: len(known)], known


def _arcs(one: Move, two: Move, start: Target | None, tolerance: float) -> list[str]:
    """Compare arcs of the same start and end by their circle; by the points on them where the start is not known."""
    points = []
    for move in (one, two):
        assert move.via is not None
        points.append((move.T_base_frame @ move.via.T)[:3, 3])
    end = _in_base(one)
    gap = float(np.linalg.norm(points[0] - points[1]))
    if gap <= tolerance:  # also where the circle is so large that its centre says nothing
        return []
    if not isinstance(start, Pose) or not isinstance(end, Pose):
        return [f"points on the arc {gap:.3g} m apart"]
    (centre, normal), (_, other) = (circle(start.T[:3, 3], via, end.T[:3, 3]) for via in points)
    if not np.isfinite(normal).all() or not np.isfinite(other).all():
        return [] if np.isnan(normal).all() and np.isnan(other).all() else ["only one arc is straight"]
    out, radius = points[1] - centre, float(np.linalg.norm(start.T[:3, 3] - centre))
    height = float(out @ normal)
    gap = math.hypot(height, float(np.linalg.norm(out - height * normal)) - radius)  # to the circle of the first
    found = [] if gap <= tolerance else [f"the arcs are {gap:.3g} m apart"]
    return found if float(normal @ other) > 0.0 else [*found, "the arcs turn in opposite ways"]


def circle(p: Array, m: Array, q: Array) -> tuple[Array, Array]:
    """Return centre and unit normal (by the sense of p → m → q) of the circle through three points; NaN on a line."""
    a, b = m - p, q - p
    n = np.cross(a, b)
    size = float(n @ n)
    if size <= 1e-24:
        return np.full(3, np.nan), np.full(3, np.nan)
    centre: Array = p + np.cross(float(a @ a) * b - float(b @ b) * a, n) / (2.0 * size)
    return centre, n / math.sqrt(size)


def _alike(a: object, b: object, tolerance: float) -> bool:
    """Return whether two words are the same, numbers to `tolerance` of their size (of 1, if larger)."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.abs(a - b).max() <= tolerance)
    if dataclasses.is_dataclass(a) and type(a) is type(b):
        return all(_alike(getattr(a, f.name), getattr(b, f.name), tolerance) for f in dataclasses.fields(a))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= tolerance * max(1.0, abs(a))
    return type(a) is type(b) and bool(a == b)
