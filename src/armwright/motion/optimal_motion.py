# SPDX-License-Identifier: Apache-2.0
"""The motion of least effort to a goal, within the limits of torque, speed and position: iLQR on the plant itself.

    minimise ½ effort Σ_k |u_k|² h + ½ position |q_N − goal|² + ½ speed |q̇_N|²

over N torques, each held for h = `plant.period`, with the plant's own step and its exact derivatives (shooting.py).
Torques keep their limits in every iterate. Limits of speed and position at the nodes are met by augmented Lagrangians:
the bounds of a node are moved by its multipliers λ/ρ, ρ grows while what lies beyond does not shrink.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics.public import inverse_dynamics
from armwright.errors import InputError, NotSupportedError
from armwright.motion.motion_inputs import bounds, joint_vector, numbers, positive
from armwright.motion.point_to_point import quintic
from armwright.motion.shooting import FAR_BOUND, Rollout, Shooting
from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.shooting import Stepped
    from armwright.robot.model import Robot
    from armwright.types import Array

MOST_NODES = 10_000
FIRST_WEIGHT, GROWTH, MOST_WEIGHT = 1e-2, 10.0, 1e8  # of what lies beyond the bounds, times the position weight
ROUGH, FINER = 1e-3, 0.1  # relative change of cost at which the first multipliers are set, and its factor each time
SHRINKS = 0.25  # what lies beyond must shrink by this factor for its weight to stay
SMALLEST_DAMPING, LARGEST_DAMPING = 1e-9, 1e9  # damping of the sweep back, relative to the effort of a node


@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """What `optimal_motion` found.

    Attributes:
        period: time of a node [s]. n: number of joints.
        x: (N+1, m) states [q, q̇, …] at the nodes. u: (N, n) torques [N m or N], each held for a period.
        K: (N, n, m) feedback: near the motion u + K (x − x_k) is optimal too.
        gradient: (N, n) of the cost by the torques, dynamics and bounds included.
        cost: the objective of the module text, without what bounds add to it.
        excess: how far the states at the nodes lie beyond their bounds, at most [rad or m, and per second].
        iterations: sweeps back and forth. converged: whether the next one was expected to change nothing.
    """

    period: float
    n: int
    x: Array
    u: Array
    K: Array
    gradient: Array
    cost: float
    excess: float
    iterations: int
    converged: bool

    @property
    def duration(self) -> float:
        """Length in time [s]."""
        return self.period * len(self.u)

    @property
    def trajectory(self) -> Trajectory:
        """The motion as a reference: cubics through positions and speeds at the nodes, at rest where that is held."""
        n, h = self.n, self.period
        q, v = self.x[:, :n], h * self.x[:, n : 2 * n]
        d = np.diff(q, axis=0)
        c = [q[:-1], v[:-1], 3.0 * d - 2.0 * v[:-1] - v[1:], v[:-1] + v[1:] - 2.0 * d]
        scaled = np.stack([part / h**k for k, part in enumerate(c)], axis=1)
        return Trajectory(h * np.arange(float(len(q))), scaled)

    def __repr__(self) -> str:
        """Name size and success; the arrays would fill pages."""
        end = "converged" if self.converged else "not converged"
        return (
            f"OptimalMotion({self.n} joints, {self.duration:.6g} s, {len(self.u)} nodes, cost {self.cost:.6g}, "
            f"{self.iterations} iterations, {end})"
        )


@names_culprit
def optimal_motion(
    plant: Stepped,
    start: ArrayLike,
    goal: ArrayLike,
    duration: float,
    *,
    effort: ArrayLike = 1e-3,
    position: ArrayLike = 1e4,
    speed: ArrayLike = 1e2,
    torque_limit: ArrayLike | None = None,
    speed_limit: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    guess: ArrayLike | None = None,
    tolerance: float = 1e-7,
    excess: float = 1e-5,
    most_iterations: int = 500,
) -> OptimalMotion:
    """Find the torques that bring a plant from `start` at rest to `goal` at rest with the least effort.

    Args:
        plant: a `Loop`; one of its ticks is a node, so `Loop.of(robot, rate=50)` has nodes of 20 ms.
        start: position (n,) [rad or m], at rest, or a whole state (m,).
        goal: position (n,) [rad or m].
        duration: whole number of periods [s].
        effort: weight of torques, scalar or (n,) [1/(N m)²/s].
        position: weight of the error at the end, scalar or (n,) [1/rad² or 1/m²].
        speed: weight of the speed at the end, scalar or (n,) [s²/rad² or s²/m²].
        torque_limit: scalar or (n,) [N m or N]; the arm's own by default, `inf` for none.
        speed_limit: scalar or (n,) [rad/s or m/s]; the joints' own by default, `inf` for none.
        lower: bound of the positions, scalar or (n,); the arm's own by default.
        upper: the same above.
        guess: torques (N, n) to begin with; those of a quintic by default.
        tolerance: a change of cost that does not count any more, relative to the cost.
        excess: how far states at the nodes may lie beyond their bounds [rad or m, and per second].
        most_iterations: sweeps back and forth; what was found then is returned, not `converged`.

    >>> motion = optimal_motion(aw.Loop.of(robot, rate=50.0), q0, q1, 0.6)
    """
    n, m, h = plant.n, plant.size, plant.period
    robot = plant.robot
    steps = _steps(duration, h)
    x0 = np.zeros(m)
    given = numbers(start, "start", 1, f"positions ({n},) or a state ({m},)")
    if given.size not in (n, m):
        raise InputError(f"start: expected positions ({n},) or a state ({m},), got {given.shape}")
    x0[: given.size] = given
    end = joint_vector(goal, "goal", n)
    most = bounds(_own(robot, "speed_limit") if speed_limit is None else speed_limit, "speed_limit", n)
    limit = bounds(_own(robot, "torque_limit") if torque_limit is None else torque_limit, "torque_limit", n)
    low = _bound(robot.lower if lower is None else lower, "lower", n)
    high = _bound(robot.upper if upper is None else upper, "upper", n)
    if not (low < high).all() or not ((low <= x0[:n]) & (x0[:n] <= high)).all():
        raise InputError(f"lower, upper: start {x0[:n].tolist()} must lie between {low.tolist()} and {high.tolist()}")
    weights = {name: _weight(value, name, n) for name, value in (("position", position), ("speed", speed))}
    heavy = _weight(effort, "effort", n)
    if not (heavy > 0.0).all():
        raise InputError(f"effort: must be > 0, got {heavy.tolist()}")

    shooting = Shooting(plant, steps, limit)
    nodes, at = shooting.nodes, shooting.node
    nodes[:, at.goal][:, :n] = end
    nodes[:, at.R] = h * heavy
    nodes[-1, at.Q.start : at.Q.start + 2 * n] = np.concatenate([weights["position"], weights["speed"]])
    free = np.full(m - 2 * n, FAR_BOUND)
    box = (
        np.minimum(np.concatenate([high, most, free]), FAR_BOUND),
        np.maximum(np.concatenate([low, -most, -free]), -FAR_BOUND),
    )
    u = np.clip(_guess(plant, x0, end, steps) if guess is None else _torques(guess, steps, n), -limit, limit)
    return _Search(shooting, box, float(weights["position"].max()), tolerance, excess, most_iterations).run(x0, u)


class _Search:
    """The iterations: iLQR inside, multipliers outside."""

    def __init__(
        self,
        shooting: Shooting,
        box: tuple[Array, Array],
        weight: float,
        tolerance: float,
        excess: float,
        most: int,
    ) -> None:
        self.shooting, self.box, self.weight = shooting, box, max(weight, 1.0)
        self.tolerance, self.excess, self.most = positive(tolerance, "tolerance", "1"), positive(excess, "excess"), most
        self.count = 0

    def run(self, x0: Array, u: Array) -> OptimalMotion:
        shooting, at = self.shooting, self.shooting.node
        upper, lower = self.box
        bounded = bool((np.abs(np.concatenate(self.box)) < FAR_BOUND).any())
        above = np.zeros((shooting.steps + 1, shooting.m))
        below, rho, before = above.copy(), FIRST_WEIGHT * self.weight if bounded else 0.0, np.inf
        tolerance = max(ROUGH, self.tolerance) if bounded else self.tolerance
        while True:
            over = rho if rho > 0.0 else 1.0
            shooting.nodes[:, at.upper] = upper - above / over
            shooting.nodes[:, at.lower] = lower + below / over
            shooting.give(rho)
            found, converged = self._descend(shooting.rollout(x0, u), tolerance)
            x, u = found.x, found.u
            beyond = np.maximum(np.maximum(x - upper, lower - x), 0.0)
            beyond[0] = 0.0  # the start is given
            worst = float(beyond.max())
            fine = worst <= self.excess and tolerance <= self.tolerance
            if not bounded or fine or self.count >= self.most:
                break
            above = np.maximum(above + rho * (x - upper), 0.0)
            below = np.maximum(below + rho * (lower - x), 0.0)
            if worst > SHRINKS * before:
                rho = min(rho * GROWTH, MOST_WEIGHT * self.weight)
            before, tolerance = worst, max(tolerance * FINER, self.tolerance)
        good = converged and worst <= self.excess
        steps, n = shooting.steps, shooting.n
        R, Q = shooting.nodes[:steps, at.R], shooting.nodes[-1, at.Q]
        cost = 0.5 * float((R * u**2).sum() + (Q * (x[-1] - shooting.nodes[-1, at.goal]) ** 2).sum())
        K = shooting.K.reshape(steps, n, shooting.m).copy()
        return OptimalMotion(
            float(shooting.period), n, x, u, K, shooting.gradient.copy(), cost, worst, self.count, good
        )

    def _descend(self, now: Rollout, tolerance: float) -> tuple[Rollout, bool]:
        """ILQR for one set of multipliers; the gains of the last sweep back are those of what is returned."""
        if not np.isfinite(now.cost):
            raise InputError(
                "optimal_motion: the simulation of the first torques diverged; give a better `guess`, a shorter "
                "duration, or a plant with a higher rate or more substeps"
            )
        shooting, mu = self.shooting, 0.0
        scale = float(shooting.nodes[:-1, shooting.node.R].max())
        while True:
            linear, quadratic = shooting.sweep_back(now.x, now.u, mu)
            self.count += 1
            if -(linear + quadratic) <= tolerance * (1e-9 + abs(now.cost)):
                return now, True
            if self.count >= self.most:
                return now, False
            new = shooting.sweep_ahead(now.x, now.u)
            promised = -(new.alpha * linear + new.alpha**2 * quadratic)
            if np.isfinite(new.cost) and now.cost - new.cost > 1e-4 * promised:
                now, mu = new, (0.0 if mu <= SMALLEST_DAMPING * scale else mu / GROWTH)
                continue
            if mu >= LARGEST_DAMPING * scale:
                return now, False
            mu = max(SMALLEST_DAMPING * scale, mu * GROWTH)


def _steps(duration: float, h: float) -> int:
    length = positive(duration, "duration")
    steps = round(length / h)
    if abs(steps * h - length) > 1e-6 * h or not 1 <= steps <= MOST_NODES:
        raise InputError(f"duration: expected 1 to {MOST_NODES} periods of {h:g} s, got {length!r}")
    return steps


def _own(robot: Robot, name: str) -> Array:
    """The arm's own limits of torque or speed at the joints (n,), those of its motors included."""
    gear, motor = np.asarray(robot.actuators.gear), np.asarray(getattr(robot.actuators, name), dtype=np.float64)
    limits = [joint.limits for joint in robot.joints]
    joint = np.array([each.effort if name == "torque_limit" else each.velocity for each in limits])
    ratio = np.abs(np.diag(gear))
    if np.isfinite(motor).any():
        if (gear != np.diag(np.diag(gear))).any():
            raise NotSupportedError(f"{name}: the gears of {robot.name!r} couple its joints; give limits of the joints")
        joint = np.minimum(joint, motor * ratio if name == "torque_limit" else motor / ratio)
    return joint


def _weight(value: ArrayLike, what: str, n: int) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)) or not np.isfinite(array).all() or (array < 0.0).any():
        raise InputError(f"{what}: expected a weight ≥ 0 or {n} of them, got {value!r}")
    return np.broadcast_to(array, (n,)).copy()


def _bound(value: ArrayLike, what: str, n: int) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)) or np.isnan(array).any():
        raise InputError(f"{what}: expected a position or {n} of them, ±inf for none, got {value!r}")
    return np.broadcast_to(array, (n,)).copy()


def _torques(guess: ArrayLike, steps: int, n: int) -> Array:
    array = numbers(guess, "guess", 2, f"torques ({steps}, {n})")
    if array.shape != (steps, n):
        raise InputError(f"guess: expected torques ({steps}, {n}), got {array.shape}")
    return array


def _guess(plant: Stepped, x0: Array, goal: Array, steps: int) -> Array:
    """Torques of the arm's rigid bodies along a quintic, in the middle of every period (N, n)."""
    ref = quintic(x0[: plant.n], goal, steps * plant.period).evaluate(plant.period * (np.arange(steps) + 0.5))
    return np.asarray(inverse_dynamics(plant.robot, ref.q, ref.qd, ref.qdd))
