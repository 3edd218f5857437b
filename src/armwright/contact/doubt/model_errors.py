# SPDX-License-Identifier: Apache-2.0
"""What a model may be wrong in, as numbers: a load on the tool, moments of the links, gains of the drives, friction.

The errors are one vector θ, in this order:

| entries | what | unit |
|---|---|---|
| 4 | load on the tool that the model does not have: mass m, moment m·c in the tool frame | kg, kg m |
| up to two per body | regrouped moment across the joint's axis that it lacks (prismatic: mass) | kg m (kg) |
| n | share by which a drive gives more torque than it is told | – |
| n | Coulomb friction that the model lacks | N m |
| n | viscous friction that the model lacks | N m s |

Torques are linear in θ. Mass and moment along the axis of a revolute body act as moments of the body before it (base
parameters), so two moments per body span every error of masses and centres as far as gravity feels it; a first body
that turns about the vertical is not felt at all. `prior_of` says how large the errors may be before anything was seen:
the covariance of the moments follows from shares of the masses and shifts of the centres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.robot.tree import Tree, tree_of
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

LOAD = 4
"""Entries of θ that are the load: mass [kg], moment (3,) [kg m]."""
LEVEL = 1e-9
"""Sine of the angle between a first axis and gravity below which no torque shows the moments of the first body."""


class BodyMoment(NamedTuple):
    """An entry of θ that belongs to a body: its number, and which moment (0 … 2), or −1 for its mass."""

    body: int
    axis: int


def moments_of(tree: Tree) -> tuple[BodyMoment, ...]:
    """Return the regrouped moments and masses of the bodies that gravity can show, base to tool."""
    out: list[BodyMoment] = []
    for i in range(tree.nb):
        if not tree.revolute[i]:
            out.append(BodyMoment(i, -1))
            continue
        up = tree.R0[i][:, 2]
        if tree.parent[i] < 0 and np.linalg.norm(np.cross(up, tree.gravity)) <= LEVEL * np.linalg.norm(tree.gravity):
            continue
        out += [BodyMoment(i, 0), BodyMoment(i, 1)]
    return tuple(out)


@dataclass(frozen=True)
class ErrorLayout:
    """Where the entries of θ are.

    Attributes:
        n: number of joints. moments: entries that belong to bodies.
    """

    n: int
    moments: tuple[BodyMoment, ...]

    @property
    def bodies(self) -> int:
        """Number of entries of load and moments: those with a full column (n,) of torques."""
        return LOAD + len(self.moments)

    @property
    def size(self) -> int:
        """Number of entries of θ."""
        return self.bodies + 3 * self.n

    @property
    def gain(self) -> slice:
        """The gains of the drives."""
        return slice(self.bodies, self.bodies + self.n)

    @property
    def coulomb(self) -> slice:
        """Coulomb friction."""
        return slice(self.bodies + self.n, self.bodies + 2 * self.n)

    @property
    def viscous(self) -> slice:
        """Viscous friction."""
        return slice(self.bodies + 2 * self.n, self.size)


def layout_of(robot: Robot) -> ErrorLayout:
    """Return the layout of θ for an arm.

    Raises:
        NotSupportedError: no joint moves the tool.
    """
    if robot.tip < 0:
        raise NotSupportedError(f"doubt: the tool of {robot.name!r} is on its fixed root link; no joint feels a load")
    return ErrorLayout(robot.n, moments_of(tree_of(robot, regroup=True)))


def unit_trees(tree: Tree, moments: tuple[BodyMoment, ...]) -> list[Tree]:
    """Return arms without mass but for one unit of one error: load mass, load moments, moments of the bodies."""
    zero: Any = np.zeros((tree.nb, 3, 3))
    bare = replace(tree, m=zero[:, 0, 0], h=zero[:, 0], J=zero, armature=0.0 * tree.armature, parts=None)
    return [_with(bare, *_unit(tree, moments, k)) for k in range(LOAD + len(moments))]


def _unit(tree: Tree, moments: tuple[BodyMoment, ...], k: int) -> tuple[int, float, Array, Array]:
    """Return body, mass, moment (3,) and inertia (3, 3) about the body's origin of one unit of entry k."""
    if k >= LOAD:
        body, axis = moments[k - LOAD]
        return body, 1.0 if axis < 0 else 0.0, np.eye(3)[axis] if axis >= 0 else np.zeros(3), np.zeros((3, 3))
    R, p = tree.T_tip_tool[:3, :3], tree.T_tip_tool[:3, 3]
    if k == 0:
        return tree.tip, 1.0, p, -skew(p) @ skew(p)
    h = R[:, k - 1]
    return tree.tip, 0.0, h, -(skew(p) @ skew(h) + skew(h) @ skew(p))


def _with(bare: Tree, body: int, m: float, h: Array, J: Array) -> Tree:
    ms, hs, Js = np.array(bare.m), np.array(bare.h), np.array(bare.J)
    ms[body], hs[body], Js[body] = m, h, J
    return replace(bare, m=ms, h=hs, J=Js)


@dataclass(frozen=True)
class Doubts:
    """How wrong a model may be before anything was seen: one standard deviation each.

    Attributes:
        load: of an unknown load [kg]. lever: of its centre from the tool frame's origin [m].
        mass: share of each link's mass. centre: shift of each link's centre, per axis [m].
        gain: share of a drive's torque.
        coulomb: missing dry friction as a share of the sheet's; at least `dry` of the scale of friction.
        viscous: the same of viscous friction [shares]; at least `wet` of that scale, per rad/s.

    The scale of friction is the torque of the arm's weight on a joint, and 15 % of that of the most loaded joint: gears
    of light joints have friction, too.
    """

    load: float = 3.0
    lever: float = 0.13
    mass: float = 0.1
    centre: float = 0.01
    gain: float = 0.03
    coulomb: float = 0.4
    dry: float = 0.1
    viscous: float = 0.4
    wet: float = 0.05

    def __post_init__(self) -> None:
        """Refuse what is no deviation."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(f"doubts: {name} must be positive and finite, got {value}")


def prior_of(robot: Robot, doubts: Doubts) -> Array:
    """Return the covariance (p, p) of θ before anything was seen."""
    layout, tree = layout_of(robot), tree_of(robot, regroup=True)
    P = np.zeros((layout.size, layout.size))
    P[range(LOAD), range(LOAD)] = np.array([doubts.load, *[doubts.load * doubts.lever] * 3]) ** 2
    A = _moment_map(robot, tree, layout.moments, doubts)
    bodies = slice(LOAD, layout.bodies)
    P[bodies, bodies] = A @ A.T
    heavy = weight_scale(robot)
    heavy = heavy + 0.15 * heavy.max()
    dry = np.maximum(doubts.coulomb * tree.coulomb, doubts.dry * heavy)
    wet = np.maximum(doubts.viscous * np.diag(tree.viscous), doubts.wet * heavy)
    for part, value in ((layout.gain, np.full(robot.n, doubts.gain)), (layout.coulomb, dry), (layout.viscous, wet)):
        P[part, part] = np.diag(value**2)
    return P


def _moment_map(robot: Robot, tree: Tree, moments: tuple[BodyMoment, ...], doubts: Doubts) -> Array:
    """Return what one deviation of every mass (shares) and centre (m) does to the regrouped moments (len, 4 nb)."""

    def read(other: Robot) -> Array:
        made = tree_of(other, regroup=True)
        return np.array([made.m[b] if axis < 0 else made.h[b][axis] for b, axis in moments])

    columns, base = [], read(robot)
    for b, body in enumerate(robot.bodies):
        changes: list[dict[str, Any]] = [{"mass": (1.0 + doubts.mass) * body.mass}]
        changes += [{"com": np.asarray(body.com) + doubts.centre * e} for e in np.eye(3)]
        for change in changes:
            bodies = tuple(replace(x, **change) if k == b else x for k, x in enumerate(robot.bodies))
            columns.append(read(replace(robot, bodies=bodies)) - base)
    return np.array(columns).reshape(-1, len(moments)).T


def weight_scale(robot: Robot) -> Array:
    """Return the torque (n,) that a stretched arm's weight could put on each joint, at least a hundredth of the most.

    It is the scale by which friction and other errors of joints of different size are compared [N m, or N].
    """
    tree, g = robot.tree, float(np.linalg.norm(robot.gravity)) or 9.81
    out = np.zeros(robot.n)
    for i in range(tree.nb):
        beyond = [k for k in range(tree.nb) if i in tree.ancestors(k)]
        total = 0.0
        for k in beyond:
            path = [j for j in tree.ancestors(k) if j > i and i in tree.ancestors(j)]
            reach = sum(float(np.linalg.norm(tree.p0[j])) for j in path)
            mass = float(tree.m[k])
            centre = float(np.linalg.norm(tree.h[k]))
            total += g * (mass * reach + centre) if tree.revolute[i] else g * mass
        out[tree.joint[i]] = max(out[tree.joint[i]], abs(float(tree.ratio[i])) * total)
    most = float(out.max(initial=0.0))
    return np.maximum(out, 0.01 * most if most > 0.0 else 1.0)
