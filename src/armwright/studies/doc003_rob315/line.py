# SPDX-License-Identifier: Apache-2.0
"""Q9–Q10 of 003: inverse kinematic model along a straight line at 1 m/s (Code 6), and the joint limits on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage
from armwright.graph.traced_program import trace
from armwright.kinematics import fk, manipulability
from armwright.studies.doc003_rob315.inverse import newton, newton_as_published
from armwright.studies.doc003_rob315.setting import T_e, V, X_df, X_di, arm, draw_paths, eps_x, k_max, q_i
from armwright.studies.study import Claim, Item, Picture
from armwright.studies.study_pictures import joint_panels
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.types import Traced


@cache
def line() -> Array:
    """Return the samples X_k (1271, 3): steps of V T_e along the line, the last one forced to X_df."""
    L = float(np.linalg.norm(X_df - X_di))
    n = int(np.ceil(L / (V * T_e)))
    X = X_di + np.arange(n)[:, None] * (V * T_e) * (X_df - X_di) / L
    X[-1] = X_df
    return np.asarray(X, dtype=np.float64)


@cache
def _plan(update: Callable[..., Any]) -> LoopPlan:
    """Return one tick per sample: the IGM of Q8, compiled, repeated until its error is at most ε_x."""
    robot = arm()

    def begin(x: Traced) -> Traced:
        return 1.0 + 0.0 * x[:1]  # at least one update

    def repeat(q: Traced, x: Traced) -> tuple[Traced, Traced]:
        after, error = update(robot, q, x)
        return after, np.array([error - eps_x])

    inside = trace(repeat, {"q": (6,), "x": (3,)})
    names = [signal.name for signal in inside.outputs]
    first = trace(begin, {"x": (3,)})
    return LoopPlan(
        slots={"x": 3, "q": 6, "more": 1},
        stages=(
            stage(first, "before", writes={first.outputs[0].name: "more"}),
            stage(inside, "inside", writes={names[0]: "q", names[1]: "more"}),
        ),
        shared=("x",),
        record=("q",),
        state=("q",),
        until="more",
    )


@cache
def _loop(update: Callable[..., Any]) -> CompiledLoop:
    return CompiledLoop(_plan(update))


def ikm(update: Callable[..., Any], X: Array, q0: Array) -> Array:
    """Return q_k = IGM(X_k, q_{k-1}) for all samples, (len(X), 6)."""
    loop = _loop(update)
    loop.set("q", q0)
    record, _ = loop.run(len(X), substeps=k_max - 1, shared=X)
    return np.concatenate([record[0, 1:], loop.get("q")])


class Path(NamedTuple):
    """Joint path (1271, 6), and how far the tool is from X_k (1271,) [m]."""

    q: Array
    error: Array


@cache
def path(method: str = "as published") -> Path:
    """Return the path of Q9, with the authors' Jacobian ("as published") or the clean one ("correct")."""
    q = ikm(newton_as_published if method == "as published" else newton, line(), q_i)
    return Path(q, np.linalg.norm(line() - fk(arm(), q)[:, :3, 3], axis=1))


class Violation(NamedTuple):
    """Per joint (6,): how far beyond its limits it goes [rad], and at how many samples."""

    worst: Array
    samples: Array


def violation(q: Array) -> Violation:
    """Measure a joint path (T, 6) against the limits; touching a limit is no violation."""
    beyond = np.maximum(arm().lower - q, q - arm().upper)
    return Violation(np.maximum(beyond, 0.0).max(axis=0), (beyond > 1e-12).sum(axis=0))


def limits_are_kept(q: Array) -> bool:
    """Return whether no joint leaves its limits."""
    return bool((violation(q).samples == 0).all())


def ikm_seconds(repeats: int = 20) -> float:
    """Return the time of the whole inverse kinematic model, compiled, best of `repeats` [s]."""
    X, best = line(), np.inf
    ikm(newton_as_published, X, q_i)
    for _ in range(repeats):
        start = time.perf_counter()
        ikm(newton_as_published, X, q_i)
        best = min(best, time.perf_counter() - start)
    return best


def _notes() -> list[str]:
    out = [f"{len(line())} samples; all of them in {1e3 * ikm_seconds():.2f} ms, compiled"]
    for method in ("as published", "correct"):
        found = path(method)
        last = ", ".join(f"{x:.5f}" for x in found.q[-1])
        out.append(f"Jacobian {method}: tool within {1e6 * found.error.max():.2f} µm of the line; last q ({last})")
    q = path().q
    W = np.asarray(manipulability(arm(), q).W)
    speed = np.abs(np.diff(q, axis=0)) / T_e
    out.append(
        f"W falls to {W.min():.4f} at t = {T_e * int(W.argmin()):.2f} s; fastest joint {speed.max():.2f} rad/s "
        f"(joint {int(speed.max(axis=0).argmax()) + 1}, in the last step, which is 1.118 mm long; "
        f"{speed[:-1].max():.2f} before it)"
    )
    return out


def _limit_notes() -> list[str]:
    out = []
    for method in ("as published", "correct"):
        q = path(method).q
        found = violation(q)
        for j in np.flatnonzero(found.samples):
            out.append(
                f"Jacobian {method}: joint {j + 1} leaves its limits by {found.worst[j]:.4f} rad, "
                f"{found.samples[j]} of {len(q)} samples"
            )
    q = path().q
    out.append("least q: (" + ", ".join(f"{x:.4f}" for x in q.min(axis=0)) + ")")
    out.append("largest q: (" + ", ".join(f"{x:.4f}" for x in q.max(axis=0)) + ")")
    return out


def _picture() -> Figure:
    t = np.asarray(T_e * np.arange(len(line())), dtype=np.float64)
    return joint_panels(t, {"as published": path().q, "clean Jacobian": path("correct").q}, arm())


def _tool() -> Figure:
    return draw_paths({"line": line(), "tool, Q9": fk(arm(), path().q)[:, :3, 3]})


ITEMS: tuple[Item, ...] = (
    Item(
        "Q9",
        "the tool goes along the straight line (Fig. 5.1)",
        Claim("a straight line from X_di to X_df"),
        lambda: bool(path().error.max() <= eps_x),
        lambda: bool(path("correct").error.max() <= eps_x),
        rule="no sample farther from its point of the line than ε_x = 1 mm, which the report gives",
        notes=_notes,
        pictures=(Picture("Path of the tool from above and from the side; line of Q9 and its joint path.", _tool),),
    ),
    Item(
        "Q10",
        "the joint limits are respected",
        Claim("“not very well respected”", False),
        lambda: limits_are_kept(path().q),
        lambda: limits_are_kept(path("correct").q),
        notes=_limit_notes,
        pictures=(
            Picture("Joints along the line; limits dashed, beyond them shaded. Only joint 5 leaves them.", _picture),
        ),
    ),
)
