# SPDX-License-Identifier: Apache-2.0
"""`excite`: a motion that makes an arm's parameters visible, a Fourier series with the largest information about them.

    q(t) = q₀ + Σ_k a_k sin(2πk t/T) + b_k cos(2πk t/T)

begins and ends at rest (q̇ = q̈ = 0), so that it can be repeated. Between N samples of a period, a trigonometric
polynomial of degree H exceeds them by at most the factor 1/cos(πH/N) (Ehlich and Zeller): limits hold everywhere.

The logarithm of the determinant of the information matrix, friction included, is maximised by L-BFGS from several
starts (D-optimal). Limits, torques and clearance are penalties during the search and conditions at the end: the motion
is then shrunk towards its centre until every one of them holds. Positions, speeds and accelerations hold at all times
(`Excitation.peaks`), torques and clearance at 4000 instants, clearance also between them (`WholeArm.motion_free`). The
arm keeps clear of shapes and of those of its own links that could touch, which random postures show (`own_pairs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics.public import inverse_dynamics, random_states
from armwright.errors import InputError
from armwright.identify.identifiable import Structure, structure
from armwright.kinematics.forward import link_poses
from armwright.motion.trajectory import Reference
from armwright.planning.joint.whole_arm import WholeArm
from armwright.planning.obstacles import Obstacles, contact_capsules, obstacles_of
from armwright.robot.kernels import compile as compiled
from armwright.world.arm_capsules import link_ends
from armwright.world.segments import segment_segment

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced
    from armwright.world import World
    from armwright.world.arm_capsules import LinkCapsules

RANDOM_GAP_STATES = 500
OFTEN_APART = 0.5
"""Share of random postures in which two links must be apart to be worth keeping apart: neighbours always overlap."""


def arm_among(robot: Robot, world: World | None = None) -> WholeArm:
    """Return the arm with a world's shapes around it, and with the pairs of its own links that could touch."""
    capsules = contact_capsules(robot)
    around = Obstacles() if world is None else obstacles_of(world)
    return WholeArm(robot, around, capsules, pairs=own_pairs(robot, capsules))


def own_pairs(robot: Robot, capsules: LinkCapsules) -> tuple[tuple[int, int], ...]:
    """Return pairs of capsules of different, not neighbouring bodies that are apart in most postures."""
    parent = [body.parent for body in robot.bodies]
    tried = []
    for i in range(len(capsules.body)):
        for j in range(i):
            one, other = int(capsules.body[i]), int(capsules.body[j])
            if one != other and parent[one] != other and parent[other] != one:
                tried.append((j, i))
    if not tried:
        return ()

    def gaps(arm: Robot | Tree, q: Traced) -> Traced:
        ends = link_ends(link_poses(arm, q), capsules)
        r = capsules.radius
        return np.array([segment_segment(*ends[i], *ends[j]) - r[i] - r[j] for i, j in tried])

    found = np.asarray(compiled(gaps, robot)(random_states(robot, RANDOM_GAP_STATES)[0]))
    apart = np.mean(found > 0.0, axis=0) >= OFTEN_APART
    return tuple(pair for pair, keep in zip(tried, apart, strict=True) if keep)


PEAK_SAMPLES = 4000
"""Samples of a period at which peaks are looked for."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that shows an arm's parameters.

    Attributes:
        period: T [s]. centre: q₀ (n,). sine, cosine: a, b (H, n) [rad].
        deviations: (p,) expected deviation of each parameter for the stated noise, white, at 100 Hz.
        names: of these parameters.
        condition: of the scaled information matrix' square root.
        clearance: smallest distance to itself and the given shapes on the way [m]; inf if none were given.
    """

    period: float
    centre: Array
    sine: Array
    cosine: Array
    deviations: Array
    names: tuple[str, ...]
    condition: float
    clearance: float = np.inf

    def reference(self, t: Array) -> Reference:
        """Return position, speed and acceleration (T, n) at times t (T,) [s]."""
        return Reference(*fourier(np.asarray(t, dtype=np.float64), self.period, self.centre, self.sine, self.cosine))

    def peaks(self) -> tuple[Array, Array, Array, Array]:
        """Return lowest and highest position, largest speed and acceleration (n,): bounds at all times."""
        t: Array = np.asarray(np.arange(PEAK_SAMPLES) * (self.period / PEAK_SAMPLES), dtype=np.float64)
        q, qd, qdd = self.reference(t)
        beyond = 1.0 / np.cos(np.pi * len(self.sine) / PEAK_SAMPLES)
        swing = q - self.centre
        low = self.centre - beyond * np.abs(np.minimum(swing, 0.0)).max(axis=0) - _slack(swing, beyond)
        high = self.centre + beyond * np.maximum(swing, 0.0).max(axis=0) + _slack(swing, beyond)
        return low, high, beyond * np.abs(qd).max(axis=0), beyond * np.abs(qdd).max(axis=0)


def _slack(swing: Array, beyond: float) -> Array:
    """Return how far (n,) the motion may exceed its samples: (beyond − 1) times the largest |q − q₀|."""
    return np.asarray((beyond - 1.0) * np.abs(swing).max(axis=0))


def fourier(t: Array, period: float, centre: Array, sine: Array, cosine: Array) -> tuple[Array, Array, Array]:
    """Return position, speed, acceleration (..., T, n) of coefficients (..., H, n) and centres (..., n)."""
    w = 2.0 * np.pi / period * np.arange(1, sine.shape[-2] + 1)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = np.expand_dims(centre, -2) + s @ sine + c @ cosine
    return q, (w * c) @ sine - (w * s) @ cosine, -(w**2 * s) @ sine - (w**2 * c) @ cosine


def at_rest(harmonics: int) -> tuple[Array, Array]:
    """Return bases (H, H − 1) of sine and cosine coefficients that begin at rest: Σ k a_k = 0 and Σ k² b_k = 0."""
    if harmonics < 2:
        raise InputError(f"excite: at least 2 harmonics are needed to begin at rest, got {harmonics}")
    k = np.arange(1.0, harmonics + 1)
    bases = []
    for row in (k, k**2):
        _, _, Vt = np.linalg.svd(row[None])
        bases.append(Vt[1:].T)
    return bases[0], bases[1]


OPTIMISED_INSTANTS = 100
"""Instants at which the optimiser looks at a motion."""
STIFF = 400.0
"""Penalty of a limit that is exceeded by all of itself, relative to one unit of log-determinant per parameter."""
SHAPE_CLEARANCE = 0.02
"""[m] kept from shapes while optimising."""
JOINT_DIFFERENCE = 1e-4
"""[rad] of finite differences."""
AMPLITUDE_FACTOR = 0.97
SAGITTA = 1e-3
"""[m] of extra clearance about the chords between instants; the motion bulges by far less."""


@dataclass(frozen=True, eq=False)
class MotionSpace:
    """Limits of a motion, (n,) each, and the arm among shapes."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    torque: Array
    among: WholeArm


@names_culprit
def excite(
    robot: Robot,
    *,
    seconds: float = 25.0,
    harmonics: int = 5,
    noise: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    world: World | None = None,
    starts: int = 2,
    iterations: int = 60,
    seed: int = 0,
) -> Excitation:
    """Propose a motion that identifies an arm well.

    Args:
        robot: the arm; torques are those of its description.
        seconds: period of the motion.
        harmonics: of that period.
        noise: (n,) deviation of the measured torques [N m]; a hundredth of the effort limits by default.
        lower: position limits (n,) [rad]; the robot's, at most ±π, by default.
        upper: position limits (n,) [rad].
        velocity: speed limits (n,); the robot's by default.
        acceleration: limits (n,); the robot's by default.
        torque: limits (n,) [N m]; the robot's efforts by default.
        world: shapes to keep clear of; the arm keeps clear of itself in any case.
        starts: random starting motions; the best wins.
        iterations: of the optimiser, each start.
        seed: of the starting motions.

    Raises:
        InputError: limits that leave no room, or a centre that touches something.

    Example:
        >>> motion = excite(aw.load("ur5"), seconds=10.0, harmonics=5)
        >>> motion.reference(np.arange(0.0, 10.0, 0.01)).q  # (1000, 6) [rad]
    """
    from scipy.optimize import minimize

    if not (np.isfinite(seconds) and seconds > 0.0) or starts < 1 or iterations < 1:
        raise InputError("excite: seconds, starts and iterations must be > 0")
    space = _space(robot, lower, upper, velocity, acceleration, torque, arm_among(robot, world))
    sigma = _noise(robot, noise)
    model = structure(robot)
    problem = _Problem(model, space, sigma, float(seconds), *at_rest(harmonics))
    rng = np.random.default_rng(seed)
    found: list[tuple[float, Excitation]] = []
    for _ in range(starts):
        x = minimize(
            problem.value_and_slope,
            problem.start(rng),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations, "maxcor": 30},
        ).x
        motion = problem.motion(x)
        fitted = _fitted(robot, motion, space)
        if fitted is not None:
            found.append(problem.judged(fitted))
    if not found:
        raise InputError("excite: no motion keeps clear of the given shapes; move the arm's centre or give more room")
    return min(found, key=lambda pair: pair[0])[1]


def _space(
    robot: Robot,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    arm: WholeArm,
) -> MotionSpace:
    def of(value: ArrayLike | None, default: Array, what: str) -> Array:
        array = np.broadcast_to(np.asarray(default if value is None else value, dtype=np.float64), (robot.n,))
        if np.isnan(array).any():
            raise InputError(f"excite: {what} must not be NaN")
        return np.asarray(array)

    low, high = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    limits = [joint.limits for joint in robot.joints]
    space = MotionSpace(
        of(lower, low, "lower"),
        of(upper, high, "upper"),
        of(velocity, np.array([x.velocity for x in limits]), "velocity"),
        of(acceleration, np.array([x.acceleration for x in limits]), "acceleration"),
        of(torque, np.array([x.effort for x in limits]), "torque"),
        arm,
    )
    if not (space.lower < space.upper).all() or min(space.velocity.min(), space.acceleration.min()) <= 0.0:
        raise InputError("excite: lower must be below upper, velocity and acceleration > 0")
    return space


def _noise(robot: Robot, noise: ArrayLike | None) -> Array:
    effort = np.array([joint.limits.effort for joint in robot.joints])
    default = np.where(np.isfinite(effort) & (effort > 0.0), 0.01 * effort, 1.0)
    sigma = np.broadcast_to(np.asarray(default if noise is None else noise, dtype=np.float64), (robot.n,))
    if not (np.isfinite(sigma) & (sigma > 0.0)).all():
        raise InputError(f"excite: noise must be > 0, got {sigma.tolist()}")
    return np.asarray(sigma)


class _Problem:
    """The objective over x = (centre, free sine, free cosine coefficients)."""

    def __init__(self, model: Structure, space: MotionSpace, sigma: Array, period: float, A: Array, B: Array) -> None:
        self.model, self.space, self.sigma, self.period = model, space, sigma, period
        self.A, self.B, self.n = A, B, model.robot.n
        self.t: Array = np.asarray(np.arange(OPTIMISED_INSTANTS) * (period / OPTIMISED_INSTANTS), dtype=np.float64)

    def start(self, rng: np.random.Generator) -> Array:
        half = 0.5 * (self.space.upper - self.space.lower)
        centre = 0.5 * (self.space.upper + self.space.lower) + rng.uniform(-0.3, 0.3, self.n) * half
        y = rng.normal(size=(2, len(self.A) - 1, self.n)) * (0.25 * half / np.sqrt(len(self.A)))
        return np.concatenate([centre, y.ravel()])

    def parts(self, X: Array) -> tuple[Array, Array, Array]:
        """Return centres (B, n), sine and cosine coefficients (B, H, n) of points X (B, size)."""
        free = X[:, self.n :].reshape(len(X), 2, len(self.A) - 1, self.n)
        return X[:, : self.n], self.A @ free[:, 0], self.B @ free[:, 1]

    def motion(self, x: Array) -> tuple[Array, Array, Array, float]:
        centre, sine, cosine = self.parts(x[None])
        return centre[0], sine[0], cosine[0], self.period

    def value_and_slope(self, x: Array) -> tuple[float, Array]:
        """Return objective and gradient by forward differences, all points in one batch of the compiled regressor."""
        X = np.concatenate([x[None], x + JOINT_DIFFERENCE * np.eye(len(x))])
        values = self.values(X)
        return float(values[0]), (values[1:] - values[0]) / JOINT_DIFFERENCE

    def values(self, X: Array) -> Array:
        q, qd, qdd = fourier(self.t, self.period, *self.parts(X))
        H, tau = information(self.model, q, qd, qdd, self.sigma)
        scale = 1.0 / np.sqrt(np.maximum(np.einsum("bii->bi", H[:1]), 1e-12))
        _, logdet = np.linalg.slogdet(H * scale[:, :, None] * scale[:, None, :] + 1e-10 * np.eye(H.shape[1]))
        # the scale is that of the first point: a constant for the differences
        size = H.shape[1]
        return np.asarray(-(logdet - 2.0 * np.log(scale).sum(axis=1)) / size + STIFF * self.excess(q, qd, qdd, tau))

    def excess(self, q: Array, qd: Array, qdd: Array, tau: Array) -> Array:
        """Return the mean square share (B,) by which limits are exceeded."""
        s = self.space
        half = 0.5 * (s.upper - s.lower)
        shares = [np.abs(q - 0.5 * (s.upper + s.lower)) / half, np.abs(qd) / s.velocity, np.abs(qdd) / s.acceleration]
        shares.append(np.abs(tau) / s.torque)
        total = sum(np.mean(np.maximum(share - 0.98, 0.0) ** 2, axis=(-2, -1)) for share in shares)
        near = np.maximum((SHAPE_CLEARANCE - s.among.clearance(q)) / 0.1, 0.0)
        return np.asarray(total + np.mean(near**2, axis=-1))

    def judged(self, motion: Excitation) -> tuple[float, Excitation]:
        """Return −log det of the motion's information, and the motion with its expected deviations."""
        t = np.arange(round(100.0 * self.period)) / 100.0
        q, qd, qdd = motion.reference(t)
        H, _ = information(self.model, q[None], qd[None], qdd[None], self.sigma)
        names = parameter_names(self.model)
        deviations, condition = expected_deviations(H[0])
        _, logdet = np.linalg.slogdet(H[0])
        return -float(logdet), replace(motion, deviations=deviations, names=names, condition=condition)


def parameter_names(model: Structure) -> tuple[str, ...]:
    """Return the names of `information`'s parameters: base, then viscous, degressive, Coulomb, offset per joint."""
    terms = ("viscous", "degressive", "coulomb", "offset")
    return (*model.base.names, *(f"{joint.name}.{term}" for joint in model.robot.joints for term in terms))


def information(model: Structure, q: Array, qd: Array, qdd: Array, sigma: Array) -> tuple[Array, Array]:
    """Return the information (B, p, p) of motions (B, T, n) on base parameters and friction, and torques (B, T, n).

    Rows of joints that rest do not count, as in `fit`.
    """
    Y = model.columns(q, qd, qdd)
    tau = np.einsum("btjk,k->btj", Y, model.base.regrouping @ model.sheet())
    moving = 1.0 - np.exp(-((qd / 0.03) ** 2))
    n, rank = model.robot.n, model.rank
    H = np.zeros((len(q), rank + 4 * n, rank + 4 * n))
    for j in range(n):
        v = qd[..., j]
        F = np.stack([v, v * np.abs(v), np.tanh(v / 0.02), np.ones_like(v)], axis=-1)
        C = np.concatenate([Y[:, :, j], F], axis=-1) * (moving[..., j] / sigma[j])[..., None]
        G = np.swapaxes(C, 1, 2) @ C
        own = slice(rank + 4 * j, rank + 4 * j + 4)
        H[:, :rank, :rank] += G[:, :rank, :rank]
        H[:, :rank, own] = G[:, :rank, rank:]
        H[:, own, :rank] = G[:, rank:, :rank]
        H[:, own, own] = G[:, rank:, rank:]
    return H, tau


def expected_deviations(H: Array) -> tuple[Array, float]:
    """Return deviations (p,) for white noise, and the condition number of the scaled design."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    values = np.maximum(values, 1e-14 * values[-1])
    inverse = np.einsum("ik,k,ik->i", vectors, 1.0 / values, vectors)
    return scale * np.sqrt(inverse), float(np.sqrt(values[-1] / values[0]))


def _fitted(robot: Robot, motion: tuple[Array, Array, Array, float], space: MotionSpace) -> Excitation | None:
    """Shrink a motion about its centre until every limit holds; None if its centre itself is not free."""
    centre, sine, cosine, period = motion
    centre = np.clip(centre, space.lower + 1e-3, space.upper - 1e-3)
    nothing = np.zeros(0)
    for k in range(200):
        size = AMPLITUDE_FACTOR**k if k < 199 else 0.0
        found = Excitation(period, centre, size * sine, size * cosine, nothing, (), np.nan)
        low, high, speed, push = found.peaks()
        inside = (low >= space.lower).all() and (high <= space.upper).all()
        if not (inside and (speed <= space.velocity).all() and (push <= space.acceleration).all()):
            continue
        q, qd, qdd = found.reference(np.linspace(0.0, period, PEAK_SAMPLES + 1))
        if (np.abs(inverse_dynamics(robot, q, qd, qdd)) > space.torque).any():
            continue
        gap = float(space.among.clearance(q).min())
        if gap > SAGITTA and space.among.motion_free(q[:-1], q[1:]).all():
            return replace(found, clearance=gap)
    return None
