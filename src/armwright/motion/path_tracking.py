# SPDX-License-Identifier: Apache-2.0
"""Follow a path of the tool with feedback, while the joints to spare do something else: closed-loop inverse kinematics.

`track_path` integrates `kinematics.joint_rates` along samples of a path: the whole loop is compiled, paths and settings
side by side in lanes. Between samples the target moves evenly (its orientation along the great circle), so that the
velocity fed forward is exact and the integrators keep their order. J and ∇H are taken where the arm is at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from armwright.arguments import names_culprit, number
from armwright.errors import InputError
from armwright.graph.kernel import Kernel, backend
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, Slots, stage, traced_stage
from armwright.kinematics import ik
from armwright.kinematics.frame_names import finite, rigid
from armwright.kinematics.ik_goal import AXES
from armwright.kinematics.rate_rule import (
    SINGULAR_DAMPING,
    JointRates,
    Prefer,
    RateRule,
    is_points,
    rate_rule,
    task_rows,
)
from armwright.motion.cartesian_path import turning
from armwright.motion.motion_inputs import positive
from armwright.motion.path_error import PathError, joint_name
from armwright.motion.tracked_path import TrackedPath
from armwright.robot.kernels import as_robot, refuse_symbols
from armwright.spatial import exp_so3, log_so3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

Integrator = Literal["euler", "heun", "rk4"]
STABLE_BELOW = {"euler": 2.0, "heun": 2.0, "rk4": 2.785}
"""K h at which an error that decays as exp(−K t) no longer decays in steps h: |1 − z| = 1, |1 − z + z²/2| = 1, …"""
ERROR_SHARE_PER_STEP = 0.1
"""Share of the error that the default gain takes away in a step: far from the limits above, and from doing nothing."""
NEAR_SINGULAR = 0.01
"""Singular value, metres over half the reach, below which a lost path is blamed on a singularity: joints turn a hundred
times as fast as the tool moves."""
LARGEST_TURN = 0.5 * np.pi
"""Largest turn from sample to sample [rad]: beyond half a turn nobody could tell which way it goes."""


class PathTargets(NamedTuple):
    """Targets as the loop takes them: goal (..., N, 3 or 12) and twist until the next one (..., N, 3 or 6)."""

    goal: Array
    twist: Array


def targets(path: Array, points: bool, h: float, parts: int) -> PathTargets:
    """Return a path (..., T, 3) or (..., T, 4, 4) in steps of h, `parts` of them from sample to sample.

    The last row repeats the twist that led to it.
    """
    share = (np.arange(parts) / parts)[:, None]

    def evenly(a: Array, step: Array, last: Array) -> Array:
        filled = a[..., :-1, None, :] + share * step[..., :, None, :]
        return np.concatenate([filled.reshape(*a.shape[:-2], -1, a.shape[-1]), last], axis=-2)

    def held(rate: Array) -> Array:
        return np.concatenate([np.repeat(rate, parts, axis=-2), rate[..., -1:, :]], axis=-2) / (parts * h)

    p = path if points else path[..., :3, 3]
    moved = np.diff(p, axis=-2)
    where, v = evenly(p, moved, p[..., -1:, :]), held(moved)
    if points:
        return PathTargets(where, v)
    R = path[..., :3, :3]
    relative = R[..., 1:, :, :] @ np.swapaxes(R[..., :-1, :, :], -1, -2)
    phi = np.moveaxis(np.asarray(log_so3(np.moveaxis(relative, (-2, -1), (0, 1)))), 0, -1)
    largest = np.linalg.norm(phi, axis=-1).max()
    if largest > LARGEST_TURN:
        raise InputError(
            f"path: the target turns by {largest:.3g} rad between two samples; give samples closer together"
        )
    turns = share * phi[..., :, None, :]
    zero = np.zeros_like(turns)
    between = turning(turns, zero, zero, np.broadcast_to(R[..., :-1, None, :, :], (*turns.shape, 3))).R
    numbers = between.reshape(*path.shape[:-3], -1, 9)
    last = R[..., -1, :, :].reshape(*path.shape[:-3], 1, 9)
    goal = np.concatenate([np.concatenate([numbers, last], axis=-2), where], axis=-1)
    return PathTargets(goal, np.concatenate([v, held(phi)], axis=-1))


def _moved(goal: Traced, twist: Traced, time: Traced) -> Traced:
    """Return where a target (3,) or (12,) is after some time of an even motion."""
    if len(goal) == 3:
        return goal + time * twist
    R = exp_so3(time * twist[3:]) @ goal[:9].reshape(3, 3)
    return np.concatenate([R.reshape(9), goal[9:] + time * twist[:3]])


def tracking_plan(robot: Robot, rule: RateRule, integrator: Integrator, common: bool) -> LoopPlan:
    """Return one step of the integrator as a loop over targets, `common` to all lanes or one path for each.

    Gain, weight and step are slots.
    """
    n, sizes = robot.n, rule.sizes

    def step(s: Slots) -> Slots:
        q, h = s["q"], s["h"][0]

        def rate(at: Traced, share: float) -> Traced:
            goal = _moved(s["goal"], s["twist"], share * h) if share else s["goal"]
            return rule.at(at, goal, s["twist"], s["gain"][0], s["weight"][0]).qd

        k1 = rate(q, 0.0)
        if integrator == "euler":
            return {"q": q + h * k1}
        if integrator == "heun":
            return {"q": q + 0.5 * h * (k1 + rate(q + h * k1, 1.0))}
        k2 = rate(q + 0.5 * h * k1, 0.5)
        k3 = rate(q + 0.5 * h * k2, 0.5)
        return {"q": q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(q + h * k3, 1.0))}

    slots = {"goal": sizes["goal"], "twist": sizes["twist"], "q": n, "gain": 1, "weight": 1, "h": 1}
    shapes = {name: (size,) for name, size in slots.items()}
    inside = traced_stage(step, shapes, f"track_{integrator}")  # type: ignore[arg-type]
    return LoopPlan(
        slots,  # type: ignore[arg-type]
        (stage(inside, "inside", writes={inside.outputs[0].name: "q"}),),
        shared=("goal", "twist") if common else (),
        lanes=() if common else ("goal", "twist"),
        record=("q",),
        state=("q",),
    )


def run_tracking(plan: LoopPlan, first: dict[str, Array], samples: PathTargets, every: int) -> Array:
    """Return q (B, T, n) at one of `every` steps and at the end; NaN from where a lane is no longer finite.

    Args:
        plan: from `tracking_plan`.
        first: q (B, n), gain, weight (B, 1), h (1,).
        samples: goal and twist (B, N, …), or (1, N, …) of a path common to all; the last row is where it ends.
        every: steps from sample to sample.
    """
    count, ticks = len(first["q"]), samples.goal.shape[1] - 1
    table = np.concatenate(samples, axis=-1)[:, :-1]
    if backend() != "llvm":
        return _on_tape(plan, first, table, every)
    loop = CompiledLoop(plan, count)
    for name, value in first.items():
        loop.set(name, value)
    common = bool(plan.shared)
    record, _ = loop.run(ticks, every=every, shared=table[0] if common else None, lanes=None if common else table)
    return np.concatenate([record, loop.get("q")[:, None]], axis=1)


def _on_tape(plan: LoopPlan, first: dict[str, Array], table: Array, every: int) -> Array:
    """Run the same steps where there is no compiler."""
    step = Kernel(plan.stages[0].program, check_finite=False)
    cut = plan.slots["goal"]
    fixed = {name: np.broadcast_to(value, (len(first["q"]), value.shape[-1])) for name, value in first.items()}
    q, out = fixed.pop("q"), []
    for k in range(table.shape[1]):
        if k % every == 0:
            out.append(q)
        found: Any = step(q=q, goal=table[:, k, :cut], twist=table[:, k, cut:], **fixed)
        q = found[0] if isinstance(found, tuple) else found
    return np.stack([*out, q], axis=1)


@names_culprit
def track_path(
    robot: Robot,
    path: ArrayLike,
    step: float,
    q0: ArrayLike | None = None,
    *,
    gain: ArrayLike | None = None,
    axes: Sequence[str] | None = None,
    prefer: Prefer | None = None,
    weight: ArrayLike = 1.0,
    integrator: Integrator = "rk4",
    substeps: int = 1,
    damping: float = SINGULAR_DAMPING,
    tolerance: float = 1e-3,
) -> TrackedPath:
    """Follow a path of points or poses by closed-loop inverse kinematics, with a secondary task in the null space.

    q̇ = J⁺(ẋ_d + K e) − α (1 − J⁺J) ∇H (003 eqs. 7 and 8, with feedback), integrated from q0; J and ∇H are those of the
    configuration that is integrated. The error decays as exp(−K t); the secondary task disturbs it only by what the
    integrator leaves (a step of Euler h²/2, …). Limits are sought by the secondary task, not enforced: see `margin`.

    Args:
        robot: the arm.
        path: points (..., T, 3) [m] or poses T_base_tool (..., T, 4, 4), evenly spaced in time, T ≥ 2.
        step: time from sample to sample [s].
        q0: (..., n) where the arm starts; by default the solution of `ik` for the first sample.
        gain: K ≥ 0 [1/s], (...); a tenth of the error per step of the integrator by default. 0 feeds nothing back.
        axes: only some of "x", "y", "z", "rx", "ry", "rz", in the axes of the target pose (of the base for points). An
            arm in a plane needs it.
        prefer: what joints to spare do, see `joint_rates`: "limits", "manipulability", a posture (n,), or a function.
        weight: α ≥ 0 [1/s], (...) of the secondary task.
        integrator: "euler", "heun" or "rk4": order 1, 2 or 4.
        substeps: steps of the integrator from sample to sample.
        damping: see `joint_rates`; 0 for none.
        tolerance: error [m] and [rad] that is not accepted, at the start or on the way; `np.inf` for any.

    Raises:
        InputError: a start off the path, K h that cannot be stable, no freedom for `prefer`, wrong shapes or values.
        PathError: the tool lost the path: out of reach, singular, or too little gain; with the place.

    >>> line = np.linspace(aw.fk(robot, q)[:3, 3], aw.fk(robot, q)[:3, 3] + [0.0, 0.1, 0.0], 201)
    >>> track_path(robot, line, 5e-3, q, prefer="limits", weight=2.0)
    """
    why = "it integrates over time; inside a traced function call `joint_rates`"
    refuse_symbols("track_path", why, path, q0, gain, weight)
    arm = as_robot(robot, "track_path")
    points = is_points(path, "path")
    given = finite(path, "path", (3,)) if points else rigid(path, "path")
    tail = 2 if points else 3
    if given.ndim < tail or given.shape[-tail] < 2:
        raise InputError(
            f"path: expected two samples or more, (..., T, {'3' if points else '4, 4'}), got {given.shape}"
        )
    if isinstance(substeps, bool) or not isinstance(substeps, (int, np.integer)) or substeps < 1:
        raise InputError(f"substeps: expected a whole number ≥ 1, got {substeps!r}")
    if integrator not in get_args(Integrator):
        raise InputError(f"integrator: expected 'euler', 'heun' or 'rk4', got {integrator!r}")
    tolerance = number(tolerance, "tolerance")
    if not tolerance > 0.0:
        raise InputError(f"tolerance: expected a number > 0 [m, rad], got {tolerance:g}")
    h = positive(step, "step") / int(substeps)
    rule, rates = rate_rule(arm, points, axes, prefer, damping)
    K = finite(ERROR_SHARE_PER_STEP / h if gain is None else gain, "gain", ())
    alpha = finite(weight, "weight", ())
    start = np.zeros(arm.n) if q0 is None else finite(q0, "q0", (arm.n,))
    try:
        batch = np.broadcast_shapes(given.shape[:-tail], start.shape[:-1], K.shape, alpha.shape)
    except ValueError as misfit:
        shapes = f"path {given.shape[:-tail]}, q0 {start.shape[:-1]}, gain {K.shape}, weight {alpha.shape}"
        raise InputError(f"batch: leading axes do not fit each other: {shapes}") from misfit
    if 0 in batch:
        raise InputError(f"batch: nothing to do, the batch has shape {batch}")
    _refuse_unstable(rule, K, alpha, h, integrator)
    if q0 is None:
        start = _start(arm, given[..., 0, :] if points else given[..., 0, :, :], rule)
    size = int(np.prod(batch))
    common = given.ndim == tail
    wide = given[None]
    if not common:
        wide = np.broadcast_to(given, (*batch, *given.shape[-tail:])).reshape(size, *given.shape[-tail:])
    first = {
        "q": np.broadcast_to(start, (*batch, arm.n)).reshape(size, arm.n),
        "gain": np.broadcast_to(K, batch).reshape(size, 1),
        "weight": np.broadcast_to(alpha, batch).reshape(size, 1),
        "h": np.array([h]),
    }
    coarse = targets(wide, points, h * int(substeps), 1)
    away = JointRates(*rates(first["q"], coarse.goal[:, 0], coarse.twist[:, 0], 0.0, 0.0)).e
    _refuse_start(rule, away, tolerance)
    plan = (
        tracking_plan(arm, rule, integrator, common)
        if callable(prefer)
        else arm.memo(("tracking", rule, integrator, common), tracking_plan, rule, integrator, common)
    )
    q = run_tracking(plan, first, targets(wide, points, h, int(substeps)), int(substeps))
    finite_q = np.where(np.isfinite(q), q, 0.0)
    found = JointRates(*rates(finite_q, coarse.goal, coarse.twist, first["gain"], first["weight"]))
    error = np.where(np.isfinite(q).all(axis=-1, keepdims=True), found.e, np.nan)
    _refuse_lost(rule, coarse, TrackedState(q, error, found.nearness), tolerance, step)
    cost = None
    if rule.secondary is not None and rule.secondary.cost is not None:
        cost = np.asarray(rule.secondary.cost(q, coarse.goal))

    def shaped(a: Array) -> Array:
        return np.ascontiguousarray(a).reshape(*batch, *a.shape[1:])

    return TrackedPath(
        t=step * np.arange(given.shape[-tail], dtype=np.float64),
        q=shaped(q),
        qd=shaped(found.qd),
        error=shaped(error),
        axes=tuple(AXES[k] for k in rule.axes),
        margin=shaped(np.minimum(q - arm.lower, arm.upper - q)),
        cost=None if cost is None else shaped(cost),
        nearness=shaped(found.nearness),
        damping=rule.damping,
        joints=tuple(joint.name for joint in arm.joints),
    )


def _start(robot: Robot, first: Array, rule: RateRule) -> Array:
    """Return the solution of `ik` for the first sample, or raise with its own message."""
    goal = first
    if rule.points:
        goal = np.zeros((*first.shape[:-1], 4, 4))
        goal[...] = np.eye(4)
        goal[..., :3, 3] = first
    whole = len(rule.axes) == 6
    return np.asarray(ik(robot, goal, axes=None if whole else [AXES[k] for k in rule.axes]).q, dtype=np.float64)


def _refuse_unstable(rule: RateRule, K: Array, alpha: Array, h: float, integrator: Integrator) -> None:
    """Refuse gains that a loop of step h cannot be stable with: the error, and the secondary task itself."""
    if K.min() < 0.0 or alpha.min() < 0.0:
        name, value = ("gain", K.min()) if K.min() < 0.0 else ("weight", alpha.min())
        raise InputError(f"{name}: must be ≥ 0 [1/s], got {value:g}")
    most = STABLE_BELOW[integrator]
    stiffness = 0.0 if rule.secondary is None else rule.secondary.stiffness
    for name, value, slope in (("gain", float(K.max()), 1.0), ("weight", float(alpha.max()), stiffness)):
        share = value * slope * h
        if share >= most:
            raise InputError(
                f"{name}: {value:g} 1/s with steps of {h:g} s cannot be stable: each takes {share:.3g} times what is "
                f"left, {integrator!r} stands less than {most:g}; stable below {most / (slope * h):.4g} 1/s, or with "
                f"{int(share / most) + 1} times the substeps"
            )


def _off(rule: RateRule, error: Array) -> tuple[Array, Array]:
    """Return distance [m] and angle [rad] (...) of errors (..., m)."""
    linear = [k < 3 for k in rule.axes]
    return np.linalg.norm(error[..., linear], axis=-1), np.linalg.norm(error[..., np.logical_not(linear)], axis=-1)


def _refuse_start(rule: RateRule, away: Array, tolerance: float) -> None:
    metres, angle = _off(rule, away)
    lane = int(np.argmax(np.maximum(metres, angle)))
    if max(metres[lane], angle[lane]) > tolerance:
        raise InputError(
            f"q0: the tool starts {1e3 * metres[lane]:.4g} mm and {angle[lane]:.4g} rad off the first sample of the "
            f"path{f' (path {lane} of the batch)' if len(away) > 1 else ''}; start from a solution of `ik`, or give a "
            "larger tolerance, and the feedback brings it there"
        )


class TrackedState(NamedTuple):
    """What is known of the arm at the samples: q (B, T, n), error (B, T, m), nearness (B, T)."""

    q: Array
    error: Array
    nearness: Array


def _refuse_lost(rule: RateRule, path: PathTargets, found: TrackedState, tolerance: float, step: float) -> None:
    """Raise where the error is beyond the tolerance, or q no longer finite, first; say why."""
    off = np.maximum(*_off(rule, found.error))
    lost = ~(off <= tolerance) if np.isfinite(tolerance) else ~np.isfinite(off)
    if not lost.any():
        return
    lane, k = min(np.argwhere(lost).tolist(), key=lambda at: at[1])
    # from where the tool was last on the path: a singularity behind it is to blame as well
    good = np.flatnonzero(off[lane, :k] <= 0.1 * tolerance)
    begin = int(good[-1]) if good.size else 0
    known = np.isfinite(found.q[lane]).all(axis=-1)
    window = begin + np.flatnonzero(known[begin : k + 1])
    worst = int(window[np.argmin(found.nearness[lane, window])])
    metres, angle = (float(x) for x in _off(rule, found.error[lane, k]))
    what = (
        f"the tool is {1e3 * metres:.3g} mm and {angle:.3g} rad off the path, tolerance {tolerance:g}"
        if known[k]
        else "the joints are no longer finite"
    )
    where = f"sample {k}, {k * step:.4g} s" + (f", path {lane} of the batch" if len(off) > 1 else "")
    q, goal = found.q[lane, window[-1]], path.goal[lane if len(path.goal) > 1 else 0]
    joint, reason, why = _why(rule, goal[k], q, goal[worst], found.q[lane, worst], float(found.nearness[lane, worst]))
    p = goal[: k + 1, -3:]
    sigma = float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum())
    raise PathError(f"({where}) {what}: {why}", sigma=sigma, joint=joint, reason=reason, q=q)


def _why(
    rule: RateRule, goal: Array, q: Array, worst_goal: Array, worst_q: Array, nearness: float
) -> tuple[int, str, str]:
    """Return the joint to blame, the reason as a word, and in words."""
    robot = rule.robot
    scale = np.array([1.0 / rule.length if k < 3 else 1.0 for k in rule.axes])
    rows = task_rows(robot, worst_q, worst_goal, np.zeros(3 if rule.points else 6), rule.axes)
    Vt = np.linalg.svd(np.asarray(rows.J, dtype=np.float64) * scale[:, None])[2]
    joint = int(np.argmax(np.abs(Vt[len(scale) - 1])))
    missed = _missed(rule, goal, q)
    if missed is not None:
        return joint, "reach", f"the sample is out of reach of {robot.name!r} by {missed}"
    if nearness < max(rule.damping, NEAR_SINGULAR):
        why = (
            f"{robot.name!r} is near a singularity, where the motion led by {joint_name(robot, joint)} hardly moves "
            f"the tool (singular value {nearness:.1g})"
        )
        return joint, "singular", why
    return joint, "lag", "give a higher gain, more substeps, a lower weight, or integrator='rk4'"


def _missed(rule: RateRule, goal: Array, q: Array) -> str | None:
    """Return by how much a target is out of reach, limits aside; None if it can be reached."""
    T = np.eye(4)
    T[:3, 3] = goal[-3:]
    if not rule.points:
        T[:3, :3] = goal[:9].reshape(3, 3)
    whole = len(rule.axes) == 6
    found: Any = ik(rule.robot, T, seed=q, limits=False, axes=None if whole else [AXES[k] for k in rule.axes])
    if found.status != "unreachable":
        return None
    return f"{1e3 * found.closest_position_error:.3g} mm and {found.closest_rotation_error:.3g} rad"
