# SPDX-License-Identifier: Apache-2.0
"""The tool along a line or arc, as a motion of the joints, with its deviation from the path measured.

`PathTask` follows one branch of inverse kinematics from s = 0, with exact derivatives by s; `follow_path` joins its
knots to a trajectory for a law s(t) from `path_law`, and adds knots until the tool keeps to the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics import fk, ik, ik_class, jacobian, jacobian_dot
from armwright.kinematics.extent import SINGULAR_BELOW, full_rank, weights
from armwright.kinematics.ik_levenberg import GOAL_TOLERANCE
from armwright.kinematics.ik_limits import SLACK, TURN, turning
from armwright.motion.motion_inputs import joint_vector, positive
from armwright.motion.point_to_point import quintic, quintic_coefficients, trapezoid
from armwright.motion.trajectory import Trajectory
from armwright.spatial import log_so3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.kinematics.ik_result import IKBatch
    from armwright.motion.cartesian_path import CartesianPath
    from armwright.robot.model import Robot
    from armwright.types import Array

CLOSED_FORMS = ("ur", "spherical_wrist")
CONVERGED = GOAL_TOLERANCE
"""Error [m, rad] at which Newton's method has arrived: the same as in inverse kinematics."""
NEWTON_STEPS = 12
"""Steps in which it must arrive: the digits double each time, so four suffice from a good start."""
SEEN = 1e-12
"""Least singular value [-] that is divided by: far below `singular_below`, where the motion is refused."""


class Rates(NamedTuple):
    """Derivatives of the joints by s at N configurations.

    dq, ddq: (N, n) dq/ds and d²q/ds². ratio: (N,) smallest to largest singular value of the weighted Jacobian.
    mover: (N,) joint that leads the motion moving the tool least. sign: (N,) of det J, 0 where J is not square.
    """

    dq: Array
    ddq: Array
    ratio: Array
    mover: NDArray[np.int64]
    sign: Array


@dataclass(frozen=True, slots=True, eq=False)
class PathTask:
    """What is asked of the arm: a path, all six components or position alone, joint limits respected or not."""

    robot: Robot
    path: CartesianPath
    position_only: bool
    limits: bool

    @property
    def rows(self) -> int:
        """Number of task components."""
        return 3 if self.position_only else 6

    @property
    def rank(self) -> int:
        """Rank that the task's Jacobian has in general."""
        return full_rank(self.robot, None, self.rows)

    @property
    def closed(self) -> bool:
        """Return whether all branches come in closed form."""
        return not self.position_only and ik_class(self.robot).name in CLOSED_FORMS

    def rates(self, s: Array, q: Array) -> Rates:
        """Derivatives by s at s (N,), q (N, n).

        q' = A⁺x' and q'' = A⁺(x'' − J'q') + (1 − A⁺A) A'ᵀ A⁺ᵀ q' with A = W J: the second term is the exact derivative
        of the pseudo-inverse and vanishes unless the arm is redundant. J' is the derivative of J along q'.
        """
        robot, rows, rank = self.robot, self.rows, self.rank
        w = weights(robot)[:rows]
        point = self.path.at(s)
        A = jacobian(robot, q)[:, :rows] * w[:, None]
        U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
        pinv = np.einsum("nki,nk,njk->nij", Vt[:, :rank], 1.0 / np.maximum(sigma[:, :rank], SEEN), U[:, :, :rank])
        dq = np.einsum("nij,nj->ni", pinv, w * point.dX[:, :rows])
        dA = jacobian_dot(robot, q, dq)[:, :rows] * w[:, None]
        ddq = np.einsum("nij,nj->ni", pinv, w * point.ddX[:, :rows] - np.einsum("nij,nj->ni", dA, dq))
        if robot.n > rank:
            pull = np.einsum("nji,nj->ni", dA, np.einsum("nji,nj->ni", pinv, dq))
            ddq = ddq + pull - np.einsum("nij,njk,nk->ni", pinv, A, pull)
        ratio = sigma[:, rank - 1] / sigma[:, 0]
        sign = np.sign(np.linalg.det(A)) if A.shape[1] == A.shape[2] == rank else np.zeros(q.shape[0])
        return Rates(dq, ddq, ratio, np.argmax(np.abs(Vt[:, rank - 1]), axis=1), sign)

    def error(self, s: Array, q: Array) -> Array:
        """Pose error (N, rows) of configurations q (N, n) against the path at s (N,): what is missing, base axes."""
        goal, T = self.path.at(s).T, fk(self.robot, q)
        out = goal[:, :3, 3] - T[:, :3, 3]
        if self.position_only:
            return out
        R = goal[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)
        return np.concatenate([out, log_so3(np.moveaxis(R, 0, -1)).T], axis=1)

    def start(self, q0: Array | None) -> Array:
        """Configuration at s = 0 nearest to q0; raises with the solver's own message if there is none."""
        found = ik(self.robot, self.path.T_start, seed=q0, limits=self.limits, position_only=self.position_only)
        return np.asarray(found.q, dtype=np.float64)

    def track(self, s: Array, q_start: Array) -> tuple[Array, int]:
        """Follow the branch of `q_start` along s (N,) from s[0] = 0.

        Returns:
            q (N, n) and the number of leading rows that were reached (N if all were).
        """
        return self._track_closed(s, q_start) if self.closed else self._track_numeric(s, q_start)

    def _track_closed(self, s: Array, q_start: Array) -> tuple[Array, int]:
        """All branches at once in closed form, then the nearest to where the joints were heading."""
        # limits are judged by the caller on the branch that is followed, not by the choice of branch
        batch: IKBatch = ik(  # type: ignore[assignment]
            self.robot, self.path.at(s).T, method="closed", seed=q_start, limits=False, restarts=0
        )
        may_turn = turning(self.robot)
        q = np.empty((s.size, self.robot.n))
        q[0] = q_start
        for k in range(1, s.size):
            count = int(batch.count[k])
            if count == 0:
                return q, k
            ahead = q[k - 1] + (s[k] - s[k - 1]) * self.rates(s[k - 1 : k], q[k - 1 : k]).dq[0]
            options = batch.solutions[k, :count]
            options = options + np.where(may_turn, TURN * np.round((ahead - options) / TURN), 0.0)
            q[k] = options[np.argmin(np.linalg.norm(options - ahead, axis=1))]
        return q, s.size

    def _track_numeric(self, s: Array, q_start: Array) -> tuple[Array, int]:
        """Integrate q' = A⁺x' by one RK4 step per knot, then return to the path by Newton steps."""
        q = np.empty((s.size, self.robot.n))
        q[0] = q_start

        def slope(at: float, here: Array) -> Array:
            return np.asarray(self.rates(np.array([at]), here[None]).dq[0])

        for k in range(1, s.size):
            a, h, x = float(s[k - 1]), float(s[k] - s[k - 1]), q[k - 1]
            k1 = slope(a, x)
            k2 = slope(a + 0.5 * h, x + 0.5 * h * k1)
            k3 = slope(a + 0.5 * h, x + 0.5 * h * k2)
            k4 = slope(a + h, x + h * k3)
            new = self._correct(float(s[k]), x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
            if new is None:
                return q, k
            q[k] = new
        return q, s.size

    def _correct(self, s: float, q: Array) -> Array | None:
        """Newton steps with the pseudo-inverse onto the path at s; None if they do not arrive."""
        w = weights(self.robot)[: self.rows]
        at = np.array([s])
        for _ in range(NEWTON_STEPS):
            e = w * self.error(at, q[None])[0]
            if not np.isfinite(e).all():
                return None
            if np.abs(e).max() < CONVERGED:
                return q
            A = jacobian(self.robot, q)[: self.rows] * w[:, None]
            U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
            r = self.rank
            q = q + Vt[:r].T @ ((U[:, :r].T @ e) / np.maximum(sigma[:r], SINGULAR_BELOW * sigma[0]))
        return None


Profile = Literal["quintic", "trapezoid", "constant"]
FIRST_PIECES = 24
"""Pieces to begin with; those that leave the tolerance are halved, so this only saves the first rounds."""
BRANCH_DISAGREEMENT = 0.1
"""Disagreement [rad, m] of a step with its slopes from which on its ends may lie on two branches: branches that are
nearer to each other meet in a singularity, which is refused anyhow. A false suspicion costs a finer step."""
COARSE_STEP = 1e-4
"""Step of s below which Newton's method fails because the path leaves the workspace, not because the step was long."""
SMALLEST_STEP = 1e-6
"""Step of s at which a jump that is still there is a real one."""
MOST_PATH_PIECES = 4000
"""Pieces at which the search ends: a hundred times what a move across the workspace needs at 1 µm."""
LOOK = np.linspace(0.0, 1.0, 17)
"""Fractions of a piece where its deviation is measured. Between knots with exact q, q̇, q̈ it is a polynomial of degree
six to leading order, with one maximum in the middle; 17 points find it to 1 %."""
ENDS = 1e-9
"""How far a law s(t) may miss 0 and 1 [-]: 1 nm of a metre."""


@dataclass(frozen=True, slots=True, eq=False)
class CartesianMotion:
    """A Cartesian move as the joints perform it.

    Attributes:
        trajectory: joints over time: quintic pieces through exact q, qd, qdd at the knots.
        path: the geometry asked for.
        law: s(t), a trajectory of one coordinate from 0 to 1.
        position_deviation: largest distance [m] between tool and path at the same instant, measured.
        rotation_deviation: largest angle [rad] likewise; 0 if only position was asked.
        conditioning: smallest ratio of singular values of the weighted Jacobian met on the way (0 is singular).
    """

    trajectory: Trajectory
    path: CartesianPath
    law: Trajectory
    position_deviation: float
    rotation_deviation: float
    conditioning: float

    def __repr__(self) -> str:
        """Return one line: duration, deviations, conditioning."""
        off = f"{self.position_deviation:.2g} m, {self.rotation_deviation:.2g} rad off the path"
        return f"CartesianMotion({self.trajectory.duration:.6g} s, {off}, conditioning {self.conditioning:.2g})"


@names_culprit
def path_law(
    path: CartesianPath,
    profile: Profile = "quintic",
    *,
    duration: float | None = None,
    speed: float | None = None,
    acceleration: float | None = None,
) -> Trajectory:
    """Return the law s(t) from 0 to 1 along a path.

    Args:
        path: the geometry; speeds are of its tool origin [m/s], for a turn on the spot of the rotation [rad/s].
        profile: "quintic" (rest to rest; `duration`, or `speed` as the peak), "trapezoid" (rest to rest; `speed` and
            `acceleration`, optionally a longer `duration`), "constant" (full speed from start to end; `duration` or
            `speed`).
        duration: [s].
        speed: [m/s] or [rad/s].
        acceleration: [m/s²] or [rad/s²].

    >>> path_law(line(aw.fk(robot, q), aw.fk(robot, q + 0.1)), "trapezoid", speed=0.2, acceleration=1.0)
    """
    size = path.length or float(np.linalg.norm(path.turn))
    rate = None if speed is None else positive(speed, "speed", "m/s") / size
    if profile == "trapezoid":
        if rate is None or acceleration is None:
            raise InputError("profile 'trapezoid' needs speed and acceleration")
        return trapezoid([0.0], [1.0], rate, positive(acceleration, "acceleration", "m/s^2") / size, duration=duration)
    if profile not in ("quintic", "constant"):
        raise InputError(f"profile must be 'quintic', 'trapezoid' or 'constant', got {profile!r}")
    if acceleration is not None or (duration is None) == (rate is None):
        raise InputError(f"profile {profile!r} needs either duration or speed, and no acceleration")
    if profile == "constant":
        T = positive(duration, "duration") if duration is not None else 1.0 / (rate or 1.0)
        return Trajectory(np.array([0.0, T]), np.array([[[0.0], [1.0 / T]]]))
    return quintic([0.0], [1.0], positive(duration, "duration") if duration is not None else 1.875 / (rate or 1.0))


@names_culprit
def follow_path(
    robot: Robot,
    path: CartesianPath,
    law: Trajectory,
    *,
    q0: ArrayLike | None = None,
    position_only: bool = False,
    limits: bool = True,
    tolerance: float = 1e-6,
    singular_below: float = 1e-3,
) -> CartesianMotion:
    """Move the tool along a Cartesian path, staying on one branch of inverse kinematics.

    An unreachable point, a joint limit, a singularity or a jump between branches is an error that names the path
    parameter s and the joint. Knots are added until the tool keeps to the path within `tolerance`.

    Args:
        robot: the arm. Redundant arms (and `position_only`) move with the least joint speed, without drift in theory.
        path: from `line`, `circle_via` or `circle_about`.
        law: s(t) from 0 to 1, for example from `path_law`.
        q0: (n,) where the arm is: the branch nearest to it is taken; default the middle of the joint ranges.
        position_only: leave the orientation free.
        limits: refuse to leave the joint limits.
        tolerance: largest deviation [m] and [rad].
        singular_below: conditioning (smallest/largest weighted singular value) that counts as a singularity.

    >>> path = line(aw.fk(robot, q), aw.fk(robot, q + 0.1))
    >>> motion = follow_path(robot, path, path_law(path, "quintic", duration=2.0), q0=q).trajectory
    """
    positive(tolerance, "tolerance", "m")
    if law.n != 1 or abs(float(law.start.q[0])) > ENDS or abs(float(law.end.q[0]) - 1.0) > ENDS:
        raise InputError("law: expected a trajectory of one coordinate from 0 to 1, see `path_law`")
    if law.peaks().q_lower[0] < -ENDS or law.peaks().q_upper[0] > 1.0 + ENDS:
        raise InputError("law: s(t) must stay inside [0, 1]")
    task = PathTask(robot, path, position_only, limits)
    q_start = task.start(None if q0 is None else joint_vector(q0, "q0", robot.n))
    t = np.unique(
        np.concatenate(
            [
                np.linspace(a, b, 2 + int(np.ceil(FIRST_PIECES * (b - a) / law.duration)))
                for a, b in zip(law.breaks[:-1], law.breaks[1:], strict=True)
            ]
        )
    )
    while True:
        s = np.clip(law.evaluate(t).q[:, 0], 0.0, 1.0)
        q, reached = task.track(s, q_start)
        rates = task.rates(s[:reached], q[:reached])
        jump = _first_jump(s[:reached], q[:reached], rates)
        trusted = reached if jump is None else jump + 1  # beyond a jump the joints may be on another branch
        _check(task, s[:trusted], q[:trusted], rates, singular_below)
        if jump is None and reached < s.size:
            if task.closed or s[reached] - s[reached - 1] < COARSE_STEP:
                _unreachable(task, float(s[reached - 1]), float(s[reached]), q[reached - 1], int(rates.mover[-1]))
            jump = reached - 1  # Newton's method may have failed because the step was long
        if jump is not None:
            if s[jump + 1] - s[jump] < SMALLEST_STEP or t.size > MOST_PATH_PIECES:
                _jump(task, s[jump : jump + 2], q[jump : jump + 2])
            t = np.sort(np.concatenate([t, np.linspace(t[jump], t[jump + 1], 5)[1:-1]]))
            continue
        motion = _hermite(t, q, rates, law)
        off = _deviation(task, motion, law, LOOK)
        bad = (off > tolerance).any(axis=(1, 2))
        if not bad.any():
            break
        if t.size > MOST_PATH_PIECES:
            k = int(np.argmax(off.max(axis=(1, 2))))
            raise InputError(
                f"path: {MOST_PATH_PIECES} pieces do not keep to tolerance {tolerance:g}, worst near s = {s[k]:.4f}"
            )
        t = np.sort(np.concatenate([t, (0.5 * (t[1:] + t[:-1]))[bad]]))
    between = motion.breaks[:-1, None] + np.diff(motion.breaks)[:, None] * LOOK
    _check_limits(task, law.evaluate(between.reshape(-1)).q[:, 0], motion.within(LOOK).q.reshape(-1, robot.n))
    worst = off.max(axis=(0, 1))
    return CartesianMotion(motion, path, law, float(worst[0]), float(worst[1]), float(rates.ratio.min()))


def _hermite(t: Array, q: Array, rates: Rates, law: Trajectory) -> Trajectory:
    """Quintic pieces with qd = q'ṡ, qdd = q''ṡ² + q's̈; ṡ and s̈ as each piece sees them, for s̈ may jump between."""
    h = np.diff(t)
    piece = np.searchsorted(law.breaks[1:-1], 0.5 * (t[1:] + t[:-1]), side="right")
    ends = []
    for at, k in ((t[:-1], slice(None, -1)), (t[1:], slice(1, None))):
        _, sd, sdd = law.on_pieces(piece, at - law.breaks[piece])
        ends.append((rates.dq[k] * sd, rates.ddq[k] * sd**2 + rates.dq[k] * sdd))
    (v0, a0), (v1, a1) = ends
    return Trajectory(t, quintic_coefficients(h, q[:-1], q[1:], v0, v1, a0, a1))


def _deviation(task: PathTask, motion: Trajectory, law: Trajectory, fractions: Array) -> Array:
    """Distance and angle (m, F, 2) between tool and path at fractions of every piece."""
    q = motion.within(fractions).q
    t = motion.breaks[:-1, None] + np.diff(motion.breaks)[:, None] * fractions
    s = np.clip(law.evaluate(t).q[..., 0], 0.0, 1.0)
    e = task.error(s.reshape(-1), q.reshape(-1, motion.n)).reshape(*t.shape, -1)
    return np.stack([np.linalg.norm(e[..., :3], axis=-1), np.linalg.norm(e[..., 3:], axis=-1)], axis=-1)


def _first_jump(s: Array, q: Array, rates: Rates) -> int | None:
    """First interval whose ends do not belong together: det J changes sign, or the step disagrees with the slopes."""
    trapezium = 0.5 * np.diff(s)[:, None] * (rates.dq[1:] + rates.dq[:-1])
    odd = np.abs(np.diff(q, axis=0) - trapezium).max(axis=1) > BRANCH_DISAGREEMENT
    odd |= rates.sign[1:] * rates.sign[:-1] < 0.0
    return int(np.argmax(odd)) if odd.any() else None


def _check(task: PathTask, s: Array, q: Array, rates: Rates, singular_below: float) -> None:
    """Raise at the first singularity or joint limit met."""
    robot = task.robot
    singular = rates.ratio[: s.size] < singular_below
    outside = np.zeros(q.shape, dtype=bool)
    if task.limits:
        outside = (q < robot.lower - SLACK) | (q > robot.upper + SLACK)
    first_out = int(np.argmax(outside.any(axis=1))) if outside.any() else s.size
    first_singular = int(np.argmax(singular)) if singular.any() else s.size
    if first_singular < min(first_out + 1, s.size):
        k = first_singular
        j = int(rates.mover[k])
        raise InputError(
            f"path: singularity of {robot.name!r} at s = {s[k]:.4f}: the motion led by joint {j} "
            f"({robot.joints[j].name!r}) no longer moves the tool (conditioning {rates.ratio[k]:.2g}); take another "
            "branch (q0), another orientation, or a joint-space move past it"
        )
    _check_limits(task, s, q)


def _check_limits(task: PathTask, s: Array, q: Array) -> None:
    """Raise at the first of s (N,) where a joint of q (N, n) is outside its limits."""
    robot = task.robot
    outside = (q < robot.lower - SLACK) | (q > robot.upper + SLACK)
    if not (task.limits and outside.any()):
        return
    k = int(np.argmax(outside.any(axis=1)))
    j = int(np.argmax(outside[k]))
    raise InputError(
        f"path: joint {j} ({robot.joints[j].name!r}) of {robot.name!r} leaves its limits "
        f"[{robot.lower[j]:.4g}, {robot.upper[j]:.4g}] at s = {s[k]:.4f} (needs {q[k, j]:.4g}); "
        "start from another branch or turn (q0), or pass limits=False"
    )


def _unreachable(task: PathTask, low: float, high: float, q: Array, j: int) -> NoReturn:
    """Find by bisection where the path leaves the workspace, and say so."""
    robot, options = task.robot, {"limits": False, "position_only": task.position_only}
    for _ in range(20):
        middle = 0.5 * (low + high)
        found = ik(robot, task.path.at(middle).T, seed=q, restarts=0, **options)  # type: ignore[arg-type]
        low, high = (middle, high) if found.status in ("solved", "singular") else (low, middle)
    raise InputError(
        f"path: {robot.name!r} cannot reach the path beyond s = {low:.4f} on the branch it follows (position or "
        f"orientation is out of its reach); joint {j} ({robot.joints[j].name!r}) leads the motion that is lost there"
    )


def _jump(task: PathTask, s: Array, q: Array) -> NoReturn:
    step = np.abs(q[1] - q[0])
    j = int(np.argmax(step))
    raise InputError(
        f"path: the branch of inverse kinematics jumps between s = {s[0]:.6f} and {s[1]:.6f}: joint {j} "
        f"({task.robot.joints[j].name!r}) would turn by {step[j]:.3g}; start from another branch (q0) or change "
        "the path"
    )
