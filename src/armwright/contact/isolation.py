"""Which link was touched, where on it, and with what force, from an estimate of the external joint torques.

A contact on link k loads only the joints that carry link k; the torques beyond must vanish. That alone cannot tell a
push on link k from one further out that happens to pass through an axis, so the links are compared by how well a push
*anywhere on their surface* explains the estimate: each surface point c with outward normal m contributes

    tau ~ N(0, Σ + J_cᵀ P J_c),   P = σ_f² (m mᵀ + μ²/2 (1 − m mᵀ)),   as far as the force pushes (−m·f > 0)

with Σ the covariance of the estimate, μ the friction and σ_f a range of force levels. The sum over a link's surface is
its evidence: a link needs to explain the torques without coincidence. Shares of evidence are the probabilities; before
the torques are seen, every patch of surface is as likely as any other of the same area.

Where on the link: the best point of that surface (a contact is five unknowns: two of place, three of force). A link
with k joints gives at most k numbers, so whether the place is known depends on pose, noise and link; the result tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import chi2, norm

from armwright.arguments import names_culprit
from armwright.contact.capsules import LinkCapsule, fixed_column, link_capsules
from armwright.contact.isolation_surface import Surface, force_line, line_meets_capsule, pushes, surfaces
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]

Outcome = Literal["no contact", "ambiguous", "link", "located"]
FORCES = (15.0, 40.0, 100.0, 250.0)
"""Levels of force that are considered alike [N]."""
SPACING, AROUND = 0.03, 16
UNKNOWNS = 5
RESOLUTION = 0.003
"""Share of the largest torque below which differences say nothing about the link: the grid is no finer."""


@dataclass(frozen=True)
class Candidate:
    """A link that could have been touched, with its share of the evidence."""

    body: int
    link: str
    probability: float


@dataclass(frozen=True, eq=False)
class Isolation:
    """What the torques say about a contact.

    Attributes:
        outcome: "no contact" (the torques are within their noise), "ambiguous" (several links explain them), "link"
            (known, but the place on it is not), "located" (both are).
        candidates: links with a probability above 1 − confidence, likeliest first; empty without contact.
        point: likeliest point on the likeliest link's surface, base frame [m]; None without contact.
        normal: outward normal of the link there.
        force: force on the link there, base axes [N].
        place_std: standard deviation of the point along the link and around it [m].
        rank: how many of the five unknowns (two of place, three of force) the torques fix better than was known before.
        significance: χ² of the torques against their noise.
        reason: in words, why it is not more certain.
    """

    outcome: Outcome
    candidates: tuple[Candidate, ...]
    point: Array | None
    normal: Array | None
    force: Array | None
    place_std: tuple[float, float]
    rank: int
    significance: float
    reason: str

    @property
    def body(self) -> int | None:
        """Index of the likeliest link, None without contact."""
        return self.candidates[0].body if self.candidates else None

    @property
    def link(self) -> str | None:
        """Name of the likeliest link, None without contact."""
        return self.candidates[0].link if self.candidates else None


@dataclass(frozen=True, eq=False)
class Setting:
    """What all hypotheses share; `W` whitens torques: W Σ Wᵀ = 1."""

    robot: Robot
    q: Array
    W: Array
    y: Array
    friction: float


_Place = tuple["Array | None", "Array | None", "Array | None", tuple[float, float], int]
_NOWHERE: _Place = (None, None, None, (np.inf, np.inf), 0)


def evidence(
    now: Setting, surface: Surface, u: Array, theta: Array, cell: tuple[float, float] = (0.0, 0.0)
) -> tuple[Array, Array]:
    """Return log evidence (m, levels) and mean force (m, levels, 3) of pushes at surface points."""
    points, normals = surface.at(u, theta)
    linear, angular = pushes(now.robot, now.q, surface.body, points)
    tangent = now.friction / np.sqrt(2.0)
    mm = normals[:, :, None] * normals[:, None, :]
    root = tangent * np.eye(3) + (1.0 - tangent) * mm  # square root of P/σ²
    A = now.W @ np.swapaxes(linear, -1, -2) @ root
    # a cell stands for pushes up to half its size away, along the link and around it: moments across and about its axis
    turn = (now.W @ angular.T).T
    axis, share = surface.R[:, 2], 1.0 / np.sqrt(12.0)
    aside = share * cell[0] * np.cross(axis, normals) @ turn
    about = share * cell[1] * axis @ turn
    B = A @ np.swapaxes(A, -1, -2) + aside[:, :, None] * aside[:, None, :] + np.outer(about, about)
    eigenvalues, V = np.linalg.eigh(B)
    square = np.array(FORCES) ** 2
    scale = 1.0 + square[:, None] * np.maximum(eigenvalues, 0.0)[:, None, :]
    z = (now.y @ V)[:, None, :]
    log = -0.5 * np.sum(z * z / scale + np.log(scale), axis=-1)
    inner = np.einsum("mij,mlj->mli", V, z / scale)
    force = square[:, None] * np.einsum("mij,mkj,mlk->mli", root, A, inner)
    left = _variance(A, root, normals, V, scale, square)
    push = -np.einsum("mli,mi->ml", force, normals) / np.sqrt(np.maximum(left, 1e-12))
    return log + np.log(2.0) + log_ndtr(push), force


def _variance(A: Array, root: Array, normals: Array, V: Array, scale: Array, square: Array) -> Array:
    """Variance (m, levels) that the normal force keeps once the torques are known."""
    a = np.einsum("mij,mj->mi", A, np.einsum("mij,mj->mi", root, normals))
    seen = np.einsum("mij,mi->mj", V, a)
    return np.asarray(square - square**2 * np.sum(seen[:, None, :] ** 2 / scale, axis=-1))


def logsum(values: Array) -> float:
    """Logarithm of the sum of exponentials."""
    top = float(np.max(values))
    return top + float(np.log(np.sum(np.exp(values - top))))


def checked(robot: Robot, q: ArrayLike, tau: ArrayLike, noise: ArrayLike) -> tuple[Array, Array, Array]:
    """Return q, tau_ext and the matrix that whitens it, or say what is wrong with them."""
    n = robot.n
    x, t, S = (np.asarray(value, dtype=np.float64) for value in (q, tau, noise))
    for name, value in (("q", x), ("tau_ext", t)):
        if value.shape != (n,) or not np.isfinite(value).all():
            raise InputError(f"isolate: {name} must be {n} finite numbers, got shape {value.shape}")
    if S.shape in ((), (n,)):
        if (S <= 0.0).any():
            raise InputError("isolate: noise must be positive standard deviations, or a covariance matrix")
        S = np.diag(np.broadcast_to(S, (n,)) ** 2)
    if S.shape != (n, n) or not np.isfinite(S).all():
        raise InputError(
            f"isolate: noise must be one number, ({n},) standard deviations or an ({n}, {n}) covariance, "
            f"got shape {S.shape}"
        )
    try:
        W = np.linalg.inv(np.linalg.cholesky(0.5 * (S + S.T)))
    except np.linalg.LinAlgError:
        raise InputError("isolate: the noise covariance must be positive definite") from None
    return x, t, W


@names_culprit
def isolate(
    robot: Robot,
    q: ArrayLike,
    tau_ext: ArrayLike,
    noise: ArrayLike,
    *,
    capsules: Sequence[LinkCapsule] | None = None,
    friction: float = 0.5,
    confidence: float = 0.95,
    alarm: float = 1e-3,
    place: float = 0.03,
    locate: bool = True,
) -> Isolation:
    """Find the link that was touched, the place and the force, from one estimate of external joint torque.

    Args:
        robot: the arm.
        q: joint coordinates (n,).
        tau_ext: external joint torque, what the world does to the arm (n,) [N m].
        noise: of that estimate: a standard deviation, one a joint (n,), or a covariance (n, n) (`torque_covariance`).
        capsules: surfaces of the links; `link_capsules(robot)` by default.
        friction: coefficient that bounds how far forces lean from the normal [-].
        confidence: probability from which the link counts as known.
        alarm: probability at which pure noise may pass for a contact.
        place: largest standard deviation [m] at which the place counts as known.
        locate: whether to look for the place and the force too; the link alone takes a third of the time.

    Returns:
        An `Isolation`; its outcome and reason say what is not known.
    """
    x, tau, W = checked(robot, q, tau_ext, noise)
    if not (0.5 < confidence < 1.0 and 0.0 < alarm < 1.0 and place > 0.0 and friction >= 0.0):
        raise InputError("isolate: need 0.5 < confidence < 1, 0 < alarm < 1, place > 0 and friction ≥ 0")
    y = W @ tau
    level = float(y @ y)
    largest = float(np.max(np.abs(tau) / np.sqrt(np.diag(np.linalg.inv(W.T @ W)))))
    if level < chi2.isf(alarm, robot.n) and largest < norm.isf(0.5 * alarm / robot.n):
        return Isolation(
            "no contact", (), None, None, None, (np.inf, np.inf), 0, level, "the torques are within their noise"
        )
    parts = link_capsules(robot) if capsules is None else tuple(capsules)
    still = fixed_column(robot, parts)
    found = surfaces(robot, x, tuple(part for part in parts if part not in still))
    now = Setting(robot, x, W, y, max(friction, 0.02))
    # the grid cannot follow torques more finely than this
    coarse = np.linalg.inv(W.T @ W) + (RESOLUTION * float(np.max(np.abs(tau)))) ** 2 * np.eye(robot.n)
    V = np.linalg.inv(np.linalg.cholesky(coarse))
    rough = Setting(robot, x, V, V @ tau, now.friction)
    per_link: dict[int, list[tuple[Array, Surface, Array, Array]]] = {}
    mass: dict[int, list[float]] = {}
    for surface in found:
        u, theta, cell = surface.grid(SPACING, AROUND)
        log, _ = evidence(rough, surface, u, theta, cell)
        area = (surface.high - surface.low) * max(surface.radius, 1e-3) / log.size
        per_link.setdefault(surface.body, []).append((log, surface, u, theta))
        mass.setdefault(surface.body, []).append(logsum(log) + float(np.log(area)))
    bodies = list(per_link)
    logs = np.array([logsum(np.array(mass[b])) for b in bodies])
    share = np.exp(logs - logsum(logs))
    order = np.argsort(-share)
    candidates = tuple(
        Candidate(bodies[k], robot.bodies[bodies[k]].name, float(share[k]))
        for k in order
        if share[k] > 1.0 - confidence or k == order[0]
    )
    point, normal, force, std, rank = _locate(now, tau, per_link[bodies[order[0]]]) if locate else _NOWHERE
    name = candidates[0].link
    if candidates[0].probability < confidence:
        others = ", ".join(f"{c.link} {c.probability:.0%}" for c in candidates)
        outcome: Outcome = "ambiguous"
        reason = f"several links explain the torques: {others}"
    elif point is None:
        outcome, reason = "link", "the place was not looked for"
    elif max(std) > place or rank < 3:
        outcome = "link"
        joints = len(robot.tree.ancestors(candidates[0].body))
        reason = (
            f"{joints} joints carry {name}; their torques fix {rank} of {UNKNOWNS} unknowns, the place is known within "
            f"{1e3 * std[0]:.0f} mm along and {1e3 * std[1]:.0f} mm around"
        )
    else:
        outcome, reason = "located", ""
    return Isolation(outcome, candidates, point, normal, force, std, rank, level, reason)


def _locate(now: Setting, tau: Array, link: list[tuple[Array, Surface, Array, Array]]) -> _Place:
    """Refine the best surface point of a link; return point, normal, force, standard deviations and rank."""
    starts: list[tuple[float, Surface, float, float]] = []
    for log, surface, u, theta in link:
        best = log.max(axis=1)
        for k in np.argsort(-best)[:3]:
            starts.append((float(best[k]), surface, float(u[k]), float(theta[k])))
        meeting = _on_force_line(now, tau, surface)
        if meeting is not None:
            value = evidence(now, surface, np.array([meeting[0]]), np.array([meeting[1]]))[0].max()
            starts.append((float(value), surface, *meeting))
    starts.sort(key=lambda entry: -entry[0])
    result: tuple[float, Surface, float, float] | None = None
    for _, surface, u0, theta0 in starts[:3]:
        found = _refine(now, surface, u0, theta0)
        if result is None or found[0] > result[0]:
            result = (found[0], surface, found[1], found[2])
    assert result is not None
    _, face, along, around = result
    log, forces = evidence(now, face, np.array([along]), np.array([around]))
    force = forces[0, int(np.argmax(log[0]))]
    points, normals = face.at(np.array([along]), np.array([around]))
    std, rank = _certainty(now, face, along, around, force)
    return points[0], normals[0], force, std, rank


def _refine(now: Setting, surface: Surface, u: float, theta: float) -> tuple[float, float, float]:
    """Climb to the likeliest place nearby on ever finer 5×5 patches; return log evidence, u and theta."""
    width, size = SPACING, max(surface.radius, 0.01)
    patch = np.linspace(-1.0, 1.0, 5)
    best = -np.inf
    while width > 1e-4:
        us = np.clip(np.repeat(u + width * patch, 5), surface.low, surface.high)
        thetas = np.tile(theta + width / size * patch, 5)
        log = evidence(now, surface, us, thetas)[0].max(axis=1)
        k = int(np.argmax(log))
        edge = k // 5 in (0, 4) or k % 5 in (0, 4)
        if log[k] <= best:
            width *= 0.5
            continue
        best, u, theta = float(log[k]), float(us[k]), float(thetas[k])
        width *= 0.8 if edge else 0.5
    return best, u, theta


def _on_force_line(now: Setting, tau: Array, surface: Surface) -> tuple[float, float] | None:
    """Where the line of the only wrench that explains the torques enters the link, if its Jacobian has full rank."""
    linear, angular = pushes(now.robot, now.q, surface.body, np.zeros((1, 3)))
    J = np.concatenate([linear[0], angular])  # a point at the base's origin: moments are about it
    s = np.linalg.svd(now.W @ J.T, compute_uv=False)
    if len(s) < 6 or s[5] < 1e-3 * s[0]:
        return None
    wrench = np.linalg.lstsq(now.W @ J.T, now.W @ tau, rcond=None)[0]
    if float(wrench[:3] @ wrench[:3]) < 1e-6:
        return None
    point, along, _ = force_line(wrench[:3], wrench[3:])
    hit = line_meets_capsule(surface, point, along)
    if hit is None:
        return None
    u, theta = surface.find(hit)
    return float(np.clip(u, surface.low, surface.high)), theta


def _certainty(now: Setting, surface: Surface, u: float, theta: float, force: Array) -> tuple[tuple[float, float], int]:
    """Standard deviations of the place (along, around) and the number of unknowns that the torques fix."""
    size, h = max(surface.radius, 1e-3), 1e-4
    places = [(u, theta), (u + h, theta), (u - h, theta), (u, theta + h / size), (u, theta - h / size)]
    points, normals = surface.at(np.array([p[0] for p in places]), np.array([p[1] for p in places]))
    # the force keeps its lean: it turns with the normal from place to place
    tangents = np.cross(surface.R[:, 2], normals)
    tangents /= np.maximum(np.linalg.norm(tangents, axis=1, keepdims=True), 1e-9)
    frames = np.stack([normals, tangents, np.cross(normals, tangents)], axis=-1)
    forces = frames @ (frames[0].T @ force)
    linear, _ = pushes(now.robot, now.q, surface.body, points)
    torque = np.einsum("mkn,mk->mn", linear, forces) @ now.W.T
    G = np.column_stack([(torque[1] - torque[2]) / (2 * h), (torque[3] - torque[4]) / (2 * h), now.W @ linear[0].T])
    normal = normals[0]
    level = max(float(np.linalg.norm(force)), 10.0)
    lean = max(now.friction / np.sqrt(2.0), 0.02)
    prior = np.zeros((UNKNOWNS, UNKNOWNS))
    prior[0, 0] = max((surface.high - surface.low) ** 2 / 12.0, 1e-8)
    prior[1, 1] = (np.pi * size) ** 2 / 3.0
    prior[2:, 2:] = level**2 * (lean**2 * np.eye(3) + (1.0 - lean**2) * np.outer(normal, normal))
    root = np.linalg.cholesky(prior)
    informed = np.linalg.svd(G @ root, compute_uv=False)
    left = np.linalg.inv(np.linalg.inv(prior) + G.T @ G)
    return (float(np.sqrt(left[0, 0])), float(np.sqrt(left[1, 1]))), int(np.sum(informed > 1.0))
