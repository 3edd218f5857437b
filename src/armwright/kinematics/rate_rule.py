# SPDX-License-Identifier: Apache-2.0
"""Joint velocities that follow a target: closed-loop inverse kinematics, with a secondary task in the null space.

q̇ = J⁺(ẋ_d + K e) + (1 − J⁺J) q̇₀ with q̇₀ = −α ∇H (003 eqs. 7 and 8; the feedback K e is not in 003). J and ∇H belong to
the configuration q at which they are used. What is asked of the tool are some axes of the target; e is the error along
them, in the axes of the target (of the base for a point). With the twist of the target fed forward as it shows in these
axes, ė = −K e holds exactly, whatever the axes, the size of the rotation and the secondary task, wherever J has full
rank and is not damped. `RateRule` is this formula for one arm; `joint_rates` calls it, `motion.track_path` integrates
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from armwright.arguments import matrix_of, names_culprit, number
from armwright.errors import InputError
from armwright.graph.array import has_symbols
from armwright.kinematics.extent import RANK_CONFIGURATIONS, SINGULAR_BELOW, characteristic_length
from armwright.kinematics.frame_names import finite, rigid
from armwright.kinematics.ik_goal import AXES, error_jacobian, pose_error
from armwright.kinematics.ik_preference import NAMES, cost_of
from armwright.kinematics.jacobians import pose_jacobian, turn_rows
from armwright.robot.kernels import as_robot
from armwright.robot.kernels import compile as compiled
from armwright.spatial.linear import cross, ltdl, ltdl_solve, singular_clearance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.kernel import Kernel
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

Prefer: TypeAlias = "str | ArrayLike | Callable[[Any], Any]"
"""A secondary task: "limits", "manipulability", a posture (n,), or a function of q: H(q), or the gradient of H."""
SINGULAR_DAMPING = 0.02
"""Least singular value, metres over half the reach, below which the inverse is damped, and the damping at 0: joints
then turn at most 25 times as fast as the tool moves. The same as in task-space laws."""


class TaskRows(NamedTuple):
    """Error along the axes asked for, e (m,) [m, rad]; ė = v − J q̇ with v (m,) and J (m, n)."""

    e: Traced
    v: Traced
    J: Traced


def task_rows(arm: Robot | Tree, q: Traced, goal: Traced, twist: Traced, axes: tuple[int, ...]) -> TaskRows:
    """Compare the tool at q (n,) with a target that moves.

    Args:
        arm: the arm.
        q: (n,).
        goal: a point (3,) [m], or a pose as rotation by rows and origin (12,), as `ik_numeric.goal_numbers` has it.
        twist: of the target, base axes: (3,) [m/s], or (6,) linear first.
        axes: indices of the axes that count, 0–2 position, 3–5 rotation.
    """
    T, J = pose_jacobian(arm, q)
    chosen = list(axes)
    if len(goal) == 3:
        e, both = goal - T[:3, 3], np.concatenate([J[:3], twist[:, None]], axis=1)
    else:
        target = np.array([[goal[3 * i], goal[3 * i + 1], goal[3 * i + 2], goal[9 + i]] for i in range(3)])
        e = pose_error(T, target)
        # in the target's axes, which turn: ė_p = Rᵀ(ṗ_d − ω_d × e_p − ṗ), ė_φ = Rᵀ J_r⁻¹(φ)(ω_d − ω)
        seen = np.concatenate([twist[:3] - cross(twist[3:], e[:3]), twist[3:]])
        both = np.concatenate([J, seen[:, None]], axis=1)
        both = turn_rows(target[:, :3], error_jacobian(e, both) if max(axes) > 2 else both)
        e = np.concatenate([target[:, :3].T @ e[:3], target[:, :3].T @ e[3:]])
    rows = both[chosen]
    return TaskRows(e[chosen], rows[:, -1], rows[:, :-1])


class SecondaryTask(NamedTuple):
    """Cost H(q, goal) and its gradient (n,), on floats, batches and symbols; `cost` is None where only ∇H is given.

    `stiffness` is the largest second derivative of H by a joint [1/rad²] where it is known, 0 otherwise.
    """

    cost: Callable[[Any, Any], Any] | None
    gradient: Callable[[Any, Any], Any]
    stiffness: float


class JointRates(NamedTuple):
    """Joint velocities qd (n,), the error e (m,), and how far J is from singular (`spatial.linear.Clearance`)."""

    qd: Traced
    e: Traced
    nearness: Traced


@dataclass(frozen=True, eq=False)
class RateRule:
    """The formula for one arm, one choice of axes and one secondary task.

    Attributes:
        robot: the arm. axes: indices of the axes asked for. points: whether targets are points, not poses.
        length: that weighs metres against radians [m]. damping: see `SINGULAR_DAMPING`. secondary: None for none.
    """

    robot: Robot
    axes: tuple[int, ...]
    points: bool
    length: float
    damping: float
    secondary: SecondaryTask | None

    @property
    def sizes(self) -> dict[str, int | tuple[int, ...]]:
        """Shapes of what `at` takes beside q."""
        return {"goal": 3 if self.points else 12, "twist": 3 if self.points else 6, "gain": (), "weight": ()}

    def at(self, q: Traced, goal: Traced, twist: Traced, gain: Traced, weight: Traced) -> JointRates:
        """Return the velocities of one configuration; gain K [1/s], weight α of the secondary task."""
        rows = task_rows(self.robot, q, goal, twist, self.axes)
        scale = np.array([1.0 / self.length if k < 3 else 1.0 for k in self.axes])
        A = rows.J * scale[:, None]
        G = A @ A.T
        clear = singular_clearance(G, self.damping or 1.0, self.damping)
        if self.damping:
            G = G + clear.damping * np.eye(len(G))
        wanted = scale * (rows.v + gain * rows.e)
        if self.secondary is None:
            return JointRates(A.T @ ltdl_solve(G, wanted), rows.e, clear.nearness)
        aside = -weight * self.secondary.gradient(q, goal)
        return JointRates(aside + A.T @ ltdl_solve(G, wanted - A @ aside), rows.e, clear.nearness)

    def kernel(self) -> Kernel:
        """Return the compiled `at`, of q, goal, twist, gain and weight."""

        def rates(q: Traced, goal: Traced, twist: Traced, gain: Traced, weight: Traced) -> JointRates:
            return self.at(q, goal, twist, gain, weight)

        return compiled(rates, self.robot, shapes=self.sizes, check_finite=False, name="joint_rates")


def rate_rule(
    robot: Robot, points: bool, axes: Sequence[str] | None, prefer: Prefer | None, damping: float
) -> tuple[RateRule, Kernel]:
    """Check what is asked for; return the rule and its kernel, made once per arm unless `prefer` is a function."""
    chosen = chosen_axes(robot, points, axes)
    damping = number(damping, "damping")
    if not (np.isfinite(damping) and damping >= 0.0):
        raise InputError(f"damping: expected a finite number ≥ 0, got {damping:g}")
    if prefer is not None and robot.n <= len(chosen):
        raise InputError(
            f"prefer: {robot.n} joints leave no freedom for a task of {len(chosen)} axes; ask for fewer axes (axes=…)"
        )
    if callable(prefer):
        return _made(robot, points, chosen, prefer, damping)
    if prefer is not None and not isinstance(prefer, str):
        prefer = tuple(finite(prefer, "prefer", (robot.n,)).tolist())  # a posture, as something to look up
    key = ("joint_rates", points, chosen, prefer, damping)
    return robot.memo(key, _made, points, chosen, prefer, damping)


def _made(
    robot: Robot, points: bool, axes: tuple[int, ...], prefer: Prefer | None, damping: float
) -> tuple[RateRule, Kernel]:
    secondary = None if prefer is None else secondary_task(robot, points, axes, prefer)
    rule = RateRule(robot, axes, points, characteristic_length(robot), damping, secondary)
    return rule, rule.kernel()


def chosen_axes(robot: Robot, points: bool, axes: Sequence[str] | None) -> tuple[int, ...]:
    """Return the indices of the axes asked for; refuse axes that the arm cannot move independently."""
    known = AXES[:3] if points else AXES
    wanted = known if axes is None else tuple(axes)
    if isinstance(axes, str) or not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(known):
        kind = "a path of points" if points else "a path of poses"
        raise InputError(f"axes: expected some of {', '.join(known)} for {kind}, each once, got {axes!r}")
    chosen = tuple(sorted(AXES.index(name) for name in wanted))
    possible = robot.memo(("possible axes", points, chosen), _independent, points, chosen)
    if len(possible) < len(chosen):
        asked, some = (", ".join(repr(AXES[k]) for k in which) for which in (chosen, possible))
        raise InputError(
            f"axes: {robot.name!r} with {robot.n} joints cannot move its tool along {asked} independently; "
            f"it can along axes=[{some}]"
        )
    return chosen


def _independent(robot: Robot, points: bool, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return those of the axes, first come first served, along which the tool can be moved independently in general."""
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (RANK_CONFIGURATIONS, robot.n))
    length = characteristic_length(robot)
    found: tuple[int, ...] = ()
    turned = []
    for configuration in q:
        T, J = pose_jacobian(robot, configuration)
        J = J if points else turn_rows(T[:3, :3], J)
        turned.append(np.asarray(J * np.array([1.0 / length] * 3 + [1.0] * 3)[:, None], dtype=np.float64))
    for k in axes:
        s = np.linalg.svd(np.array(turned)[:, [*found, k]], compute_uv=False)
        if s.shape[1] > len(found) and (s[:, -1] > SINGULAR_BELOW * s[:, 0]).any():
            found = (*found, k)
    return found


def secondary_task(robot: Robot, points: bool, axes: tuple[int, ...], prefer: Prefer) -> SecondaryTask:
    """Return the secondary task that `prefer` names or is; gradients come exact from the graph."""
    if callable(prefer):
        return _of_function(robot, prefer)
    if isinstance(prefer, str) and prefer == "manipulability":
        size = 3 if points else 12

        def lost(q: Traced, goal: Traced) -> Traced:
            J = task_rows(robot, q, goal, np.zeros(3 if points else 6), axes).J
            total: Any = 0.0
            for pivot in ltdl(J @ J.T).d:
                total = total - 0.5 * np.log(pivot)
            return total

        volume = compiled(lost, robot, shapes={"goal": size}, check_finite=False, name="manipulability of the task")
        return SecondaryTask(volume, volume.derivative("q"), 0.0)
    if isinstance(prefer, str) and prefer not in NAMES:
        raise InputError(
            f"prefer: expected {', '.join(map(repr, NAMES))}, a posture ({robot.n},) or a function of q, got {prefer!r}"
        )
    cost, gradient = cost_of(robot, None, prefer)
    curved = np.asarray(gradient(np.ones(robot.n)) - gradient(np.zeros(robot.n)))  # a sum of squares: linear
    return SecondaryTask(lambda q, _: cost(q), lambda q, _: gradient(q), float(curved.max()))


def _of_function(robot: Robot, function: Callable[[Any], Any]) -> SecondaryTask:
    def of_q(q: Traced) -> Traced:
        return cast("Traced", function(q))

    name = getattr(function, "__name__", "prefer")
    made = compiled(of_q, shapes={"q": robot.n}, check_finite=False, name=name)
    shape = made.program.outputs[0].shape if made.program.single else None
    if shape == (robot.n,):
        return SecondaryTask(None, lambda q, _: made(q), 0.0)
    if shape != ():
        raise InputError(
            f"prefer: {name!r} must return one number H(q) or its gradient ({robot.n},), got shape {shape}"
        )
    slope = made.derivative("q")
    return SecondaryTask(lambda q, _: made(q), lambda q, _: slope(q), 0.0)


def is_points(value: object, what: str) -> bool:
    """Return whether targets are points (..., 3) rather than poses (..., 4, 4)."""
    shape = np.shape(matrix_of(value))
    if len(shape) >= 2 and shape[-2:] == (4, 4):
        return False
    if len(shape) >= 1 and shape[-1] == 3:
        return True
    raise InputError(f"{what}: expected points (..., 3) or poses (..., 4, 4), got shape {shape}")


def flat_goal(goal: Array, points: bool) -> Array:
    """Return points (..., 3) as they are, poses (..., 4, 4) as (..., 12): rotation by rows, then origin."""
    if points:
        return goal
    return np.concatenate([goal[..., :3, :3].reshape(*goal.shape[:-2], 9), goal[..., :3, 3]], axis=-1)


@names_culprit
def joint_rates(
    robot: Robot | Tree,
    q: ArrayLike,
    goal: ArrayLike,
    twist: ArrayLike | None = None,
    *,
    gain: ArrayLike,
    axes: Sequence[str] | None = None,
    prefer: Prefer | None = None,
    weight: ArrayLike = 1.0,
    damping: float = SINGULAR_DAMPING,
) -> Array:
    """Return the joint velocities (..., n) that bring the tool to a target and keep it there as the target moves.

    q̇ = J⁺(ẋ_d + K e) − α (1 − J⁺J) ∇H (003 eqs. 7 and 8, with feedback): the error decays as exp(−K t), and the
    secondary task uses only joint motion that the tool does not feel. Works on batches, and inside traced functions.

    Args:
        robot: the arm.
        q: (..., n) where it is.
        goal: a point (..., 3) [m] or a pose T_base_tool (..., 4, 4).
        twist: velocity of the target, base axes: (..., 3) for a point, (..., 6) linear first for a pose; 0 if omitted.
        gain: K ≥ 0 [1/s]; a loop of step h needs K h < 2.
        axes: only some of "x", "y", "z", "rx", "ry", "rz", in the axes of the target pose (of the base for a point).
        prefer: what joints to spare do: "limits" (H = ½ Σ ((q − middle)/width)², joints without limits do not count),
            "manipulability" (of these axes), a posture (n,) to be near (H = ½ ‖q − posture‖²), or a function of q that
            returns H, or its gradient (n,).
        weight: α ≥ 0 [1/s] of the secondary task.
        damping: least singular value, metres over half the reach, below which J⁺ is damped; 0 for never.

    >>> qd = joint_rates(robot, q, aw.fk(robot, q + 0.1), gain=5.0)
    """
    arm = as_robot(robot, "joint_rates")
    points = is_points(goal, "goal")
    traced = has_symbols(goal)
    target: Any = goal if traced else finite(goal, "goal", (3,)) if points else rigid(goal, "goal")
    rule, rates = rate_rule(arm, points, axes, prefer, damping)
    moving: Any = np.zeros(rule.sizes["twist"]) if twist is None else twist
    if not has_symbols(gain, weight):
        for name, value in (("gain", gain), ("weight", weight)):
            given = finite(value, name, ())
            if (given < 0.0).any():
                raise InputError(f"{name}: must be ≥ 0, got {given.min():g}")
    if not has_symbols(q, moving):
        finite(q, "q", (arm.n,))
        finite(moving, "twist", (rule.sizes["twist"],))  # type: ignore[arg-type]
    return JointRates(*rates(q, flat_goal(target, points), moving, gain, weight)).qd
