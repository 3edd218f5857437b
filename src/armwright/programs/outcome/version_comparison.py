# SPDX-License-Identifier: Apache-2.0
"""Two versions of a program on the same arm: what changed in its moves, its time, its torques and its path.

Moves are aligned by kind and target, as texts are by lines, so that a move more does not change all that follow. Paths
are compared by place, not by time: the largest distance of a point on either path from the other path (Hausdorff). It
does not tell a path from the same path driven backwards; the moves do.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.kinematics import fk
from armwright.programs.legs import tool_of
from armwright.programs.outcome.program_run import limit_of
from armwright.programs.program import Duration, Joints, Pose
from armwright.programs.program_comparison import program_differences
from armwright.programs.timing import when

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.programs.program import Move, Program
    from armwright.types import Array

SAME_TARGET_DIGITS = 6  # decimals [m, rad] to which targets are the same when moves are aligned
SAME_WORDS = 1e-9  # tolerance of positions [m], angles [rad] and words within aligned moves
SPACING = 1e-3  # [m] between the places of a path that are compared
MOST_PLACES = 20_000
SAME_PATH = 1e-4  # [m] below which paths are called the same: what chords of 1 mm can hide in a corner
CHANGE_HEADS = ("what", "line before", "line after", "move", "time before [s]", "time after [s]", "differs in")


@dataclass(frozen=True, slots=True)
class MoveChange:
    """One move that is not as it was.

    Attributes:
        kind: "added", "removed" or "changed".
        before, after: index of the move in the old and the new program; None where it is not.
        what: what differs, in words; empty for moves that were added or removed.
    """

    kind: Literal["added", "removed", "changed"]
    before: int | None
    after: int | None
    what: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PathDistance:
    """Largest distance between two paths [m]: at `time` [s] and `move` (index) of the old or the new program (`of`)."""

    value: float
    of: Literal["before", "after"]
    time: float
    move: int


@dataclass(frozen=True, eq=False)
class VersionComparison:
    """Two versions of a program, run on the same arm: what changed in its moves, and how far its path moved."""

    before: ProgramRun
    after: ProgramRun
    changes: tuple[MoveChange, ...]
    path: PathDistance

    @property
    def same(self) -> bool:
        """Return whether no move changed and the paths are the same."""
        return not self.changes and self.path.value <= SAME_PATH


def compare_versions(before: ProgramRun, after: ProgramRun) -> VersionComparison:
    """Compare two runs of versions of a program; see the module's first lines."""
    return VersionComparison(before, after, move_changes(before.program, after.program), path_distance(before, after))


def move_changes(before: Program, after: Program) -> tuple[MoveChange, ...]:
    """Align the moves of two programs and return those that were added, removed or changed, in the programs' order."""
    out: list[MoveChange] = []
    keys = [[_key(move) for move in program.moves] for program in (before, after)]
    for tag, a, b, c, d in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        shared = min(b - a, d - c)
        for i, j in zip(range(a, a + shared), range(c, c + shared), strict=True):
            what = _differences(before, i, after, j)
            if tag != "equal" or what:
                out.append(MoveChange("changed", i, j, what))
        out += [MoveChange("removed", i, None) for i in range(a + shared, b)]
        out += [MoveChange("added", None, j) for j in range(c + shared, d)]
    return tuple(out)


def _key(move: Move) -> tuple[object, ...]:
    """Return what says whether two moves are the same move: its kind and where it goes."""
    target = move.target
    if isinstance(target, Joints):
        return move.kind, tuple(np.round(target.q, SAME_TARGET_DIGITS).tolist())
    if isinstance(target, Pose):
        T = move.T_base_frame @ target.T
        return move.kind, tuple(np.round(T, SAME_TARGET_DIGITS).ravel().tolist())
    return (move.kind,)


def _differences(before: Program, i: int, after: Program, j: int) -> tuple[str, ...]:
    """Return what differs between two moves; arcs are compared with the moves that lead to them."""
    first, second = (tuple(program.moves[max(k - 1, 0) : k + 1]) for program, k in ((before, i), (after, j)))
    size = min(len(first), len(second))
    pair = [type(before)(moves[-size:]) for moves in (first, second)]
    told = program_differences(*pair, tolerance=SAME_WORDS)
    mark = f"move {size}: "
    return tuple(line.removeprefix(mark) for line in told if line.startswith(mark))


def path_distance(before: ProgramRun, after: ProgramRun) -> PathDistance:
    """Return the largest distance of the tool's path in either plan from the other's."""
    ways = {"before": _tool_path(before), "after": _tool_path(after)}
    found = [
        _farthest("before", ways["before"], ways["after"][0]),
        _farthest("after", ways["after"], ways["before"][0]),
    ]
    return max(found, key=lambda row: row.value)


def _farthest(
    of: Literal["before", "after"], way: tuple[Array, Array, NDArray[np.int64]], other: Array
) -> PathDistance:
    """Return where a way is farthest from another path (N, 3)."""
    points, time, move = way
    away = _from_path(points, other)
    k = int(np.argmax(away))
    return PathDistance(float(away[k]), of, float(time[k]), int(move[k]))


def _tool_path(run: ProgramRun) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return places (N, 3) of the tool about every `SPACING` of its way, when it is there, and in which move."""
    plan, curve = run.plan, run.plan.route.curve
    count = int(np.clip(np.ceil(curve.duration / SPACING), 1, MOST_PLACES))
    s = np.union1d(np.linspace(0.0, curve.duration, count + 1), curve.breaks)
    piece = np.minimum(np.searchsorted(curve.breaks[1:-1], s, side="right"), len(plan.route.owner) - 1)
    q = curve.on_pieces(piece, s - curve.breaks[piece])[0]
    move = plan.route.owner[piece]
    tools = np.array([tool_of(one) for one in plan.program.moves])
    places = (fk(run.robot, q) @ tools[move])[:, :3, 3]
    return places, np.interp(s, curve.breaks, when(plan.route, plan.time)), move


def _from_path(points: Array, path: Array) -> Array:
    """Return the distances (N,) of points from a polyline; looked for beside the corners that are nearest."""
    from scipy.spatial import cKDTree

    k = np.asarray(cKDTree(path).query(points)[1])
    least = np.linalg.norm(points - path[k], axis=1)
    for low in (k - 1, k):
        a, b = path[np.clip(low, 0, len(path) - 1)], path[np.clip(low + 1, 0, len(path) - 1)]
        d = b - a
        square = np.einsum("ij,ij->i", d, d)
        share = np.clip(np.einsum("ij,ij->i", points - a, d) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
        least = np.minimum(least, np.linalg.norm(points - a - share[:, None] * d, axis=1))
    return least


def version_words(found: VersionComparison) -> tuple[str, ...]:
    """Return what changed, one sentence per subject."""
    before, after = found.before, found.after
    counts = {kind: sum(c.kind == kind for c in found.changes) for kind in ("added", "removed", "changed")}
    moves = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    times = before.plan.duration, after.plan.duration
    said = [f"Moves: {moves}." if moves else "No move changed."]
    said.append(f"Time: {times[0]:.3f} s before, {times[1]:.3f} s after ({times[1] - times[0]:+.3f} s).")
    uses = [
        (run.robot.joints[k].name, cause, use) for run in (before, after) for k, cause, use in (limit_of(run.wished),)
    ]
    told = [f"{100 * use:.3g} % of the {cause} of {name}" for name, cause, use in uses]
    said.append(f"Most used: {told[0]} before, {told[1]} after.")
    energies = [float(run.motors.energy.sum()) for run in (before, after)]
    if before.weighed and after.weighed:
        said.append(f"Energy: {energies[0]:.4g} J before, {energies[1]:.4g} J after.")
    if found.path.value <= SAME_PATH:
        said.append("The tool's path is the same.")
    else:
        run = before if found.path.of == "before" else after
        line = run.program.moves[found.path.move].line
        where = f"line {line}" if line else f"move {found.path.move + 1}"
        at = f"at {found.path.time:.3f} s {found.path.of}, in {where}"
        said.append(f"The paths are up to {1e3 * found.path.value:.3g} mm apart: {at}.")
    said.append(
        f"Verdicts: {before.answer} before, {after.answer} after; collides: "
        f"{before.clearance.collides} before, {after.clearance.collides} after."
    )
    return tuple(said)


def change_cells(found: VersionComparison) -> list[list[str]]:
    """Return one row per move that is not as it was."""
    out = []
    for row in found.changes:
        both = ((found.before, row.before), (found.after, row.after))
        lines = ["–" if k is None else str(run.program.moves[k].line or k + 1) for run, k in both]
        times = ["–" if k is None else f"{_duration(run, k):.3f}" for run, k in both]
        run, k = both[0] if row.after is None else both[1]
        assert k is not None
        text = " ".join(run.program.moves[k].text.split()) or run.program.moves[k].kind
        out.append([row.kind, *lines, text[:48], *times, "; ".join(row.what)])
    return out


def _duration(run: ProgramRun, k: int) -> float:
    part, move = run.plan.moves[k], run.program.moves[k]
    return move.speed.seconds if move.kind == "wait" and isinstance(move.speed, Duration) else part.end - part.start


def version_figures(found: VersionComparison) -> dict[str, Any]:
    """Return what changed as plain numbers and texts, SI units, for JSON."""

    def side(run: ProgramRun) -> dict[str, Any]:
        names = [joint.name for joint in run.robot.joints]
        return {
            "file": run.program.file,
            "answer": run.answer,
            "collides": run.clearance.collides,
            "moves": len(run.program.moves),
            "duration_s": run.plan.duration,
            "torque_use": dict(zip(names, run.wished.torque_use.max(axis=0).tolist(), strict=True)),
            "speed_use": dict(zip(names, run.wished.speed_use.max(axis=0).tolist(), strict=True)),
            "energy_j": float(run.motors.energy.sum()) if run.weighed else None,
            "regenerated_j": float(run.motors.regenerated.sum()) if run.weighed else None,
        }

    def move(run: ProgramRun, k: int | None) -> dict[str, Any] | None:
        if k is None:
            return None
        told = run.program.moves[k]
        return {"move": k + 1, "line": told.line, "text": told.text, "kind": told.kind, "duration_s": _duration(run, k)}

    run = found.before if found.path.of == "before" else found.after
    return {
        "same": found.same,
        "robot": found.before.robot.name,
        "before": side(found.before),
        "after": side(found.after),
        "time_s": found.after.plan.duration - found.before.plan.duration,
        "path": {
            "distance_m": found.path.value,
            "of": found.path.of,
            "time_s": found.path.time,
            "move": found.path.move + 1,
            "line": run.program.moves[found.path.move].line,
        },
        "changes": [
            {
                "kind": c.kind,
                "before": move(found.before, c.before),
                "after": move(found.after, c.after),
                "what": c.what,
            }
            for c in found.changes
        ],
        "words": version_words(found),
    }
