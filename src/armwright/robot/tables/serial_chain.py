# SPDX-License-Identifier: Apache-2.0
"""Serial chains from and to lists, one entry per joint: what DH, modified DH and screw readers and writers share.

`ChainParts` and `ChainTable` hold what a chain has in addition to its geometry: the keywords of its builders, and the
columns of its written tables. `assemble` builds the robot, `chain_home` gives the geometry of one at q = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.robot.model import EARTH_GRAVITY, Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint, JointKind, Limits, frozen, frozen_pose
from armwright.schema.toml_text import Source
from armwright.spatial import axis_angle, pose, rotation_pose, translation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


class ChainParts(TypedDict, total=False):
    """Keywords of `from_dh`, `from_mdh` and `from_screws`; what is omitted is massless, unlimited, frictionless, ideal.

    name: name of the arm; "arm" if omitted.
    masses: (n,) [kg].
    coms: (n, 3) centres of mass [m], in link frames (screws: in base coordinates at q = 0).
    inertias: (n, 3, 3) about the centres of mass [kg m²], in link axes (screws: in base axes at q = 0).
    joint_names: names of the n joints; "joint_1", … if omitted.
    body_names: names of the n links; "link_1", … if omitted.
    limits: one `Limits` or (lower, upper) per joint.
    friction: one `Friction` per joint.
    actuators: motors and gears.
    gravity: in the base frame [m/s²]; the Earth's, downwards, if omitted.
    sources: provenance by dotted path.
    notes: free text.
    """

    name: str
    masses: ArrayLike | None
    coms: ArrayLike | None
    inertias: ArrayLike | None
    joint_names: Sequence[str] | None
    body_names: Sequence[str] | None
    limits: Sequence[Limits | tuple[float, float]] | None
    friction: Sequence[Friction] | None
    actuators: Actuators | None
    gravity: ArrayLike
    sources: dict[str, Source] | None
    notes: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChainTable:
    """A serial chain written as a table: its `ChainParts`, whole. Subclasses hold the geometry."""

    name: str
    masses: Array
    coms: Array
    inertias: Array
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    limits: tuple[Limits, ...]
    friction: tuple[Friction, ...]
    actuators: Actuators
    gravity: Array
    sources: dict[str, Source] = field(default_factory=dict)
    notes: str = ""

    def parts(self) -> dict[str, Any]:
        """Keywords that give a builder what is not geometry."""
        return {part.name: getattr(self, part.name) for part in fields(ChainTable)}


def described(robot: Robot) -> dict[str, Any]:
    """Return names, limits, friction, motors, gravity, sources and notes of a robot, as keywords of a `ChainTable`."""
    return {
        "name": robot.name,
        "joint_names": tuple(joint.name for joint in robot.joints),
        "body_names": tuple(body.name for body in robot.bodies),
        "limits": tuple(joint.limits for joint in robot.joints),
        "friction": tuple(joint.friction for joint in robot.joints),
        "actuators": robot.actuators,
        "gravity": robot.gravity,
        "sources": dict(robot.sources),
        "notes": robot.notes,
    }


T = TypeVar("T")
_REVOLUTE: JointKind = "revolute"
_KINDS: dict[str, JointKind] = {"revolute": "revolute", "R": "revolute", "prismatic": "prismatic", "P": "prismatic"}


class Placement(NamedTuple):
    """Where a joint sits: `Body.T_parent_joint`, `Body.axis`, `Body.T_joint_link`."""

    T_parent_joint: Array
    axis: Any
    T_joint_link: Array


class ChainHome(NamedTuple):
    """A serial chain at q = 0 in the **root** link's frame: axis directions and points (n, 3), link poses (n, 4, 4)."""

    axes: Array
    points: Array
    links: Array


def joint_kinds(kinds: Sequence[str] | None, n: int) -> tuple[JointKind, ...]:
    """Read n joint kinds: "revolute"/"prismatic" or the letters R/P ("RRP"); all revolute if omitted."""
    if kinds is None:
        return (_REVOLUTE,) * n
    if len(kinds) != n:
        raise InputError(f"kinds: expected {n} entries, one per joint, got {len(kinds)}")
    for kind in kinds:
        if kind not in _KINDS:
            raise InputError(f"kinds: expected 'revolute' or 'prismatic' (or 'R', 'P'), got {kind!r}")
    return tuple(_KINDS[kind] for kind in kinds)


def _listed(values: Sequence[T] | None, n: int, what: str, default: Callable[[int], T]) -> list[T]:
    if values is None:
        return [default(i) for i in range(n)]
    if len(values) != n:
        raise InputError(f"{what}: expected {n} entries, one per joint, got {len(values)}")
    return list(values)


def _limits(value: Limits | tuple[float, float]) -> Limits:
    """Accept `Limits` or a pair (lower, upper)."""
    return value if isinstance(value, Limits) else Limits(lower=float(value[0]), upper=float(value[1]))


def assemble(
    placements: Sequence[Placement],
    kinds: Sequence[JointKind],
    T_base_root: ArrayLike | None = None,
    tool: ArrayLike | None = None,
    **parts: Unpack[ChainParts],
) -> Robot:
    """Put a serial chain together; poses that are omitted are the identity, for the rest see `ChainParts`."""
    strange = sorted(set(parts) - ChainParts.__optional_keys__)
    if strange:
        raise InputError(
            f"unknown: {', '.join(strange)}; a chain takes {', '.join(sorted(ChainParts.__optional_keys__))}"
        )
    n = len(placements)
    masses, coms, inertias = parts.get("masses"), parts.get("coms"), parts.get("inertias")
    m = np.zeros(n) if masses is None else frozen(masses, (n,), "masses")
    c = np.zeros((n, 3)) if coms is None else frozen(coms, (n, 3), "coms")
    inertia = np.zeros((n, 3, 3)) if inertias is None else frozen(inertias, (n, 3, 3), "inertias")
    joint_labels = _listed(parts.get("joint_names"), n, "joint_names", lambda i: f"joint_{i + 1}")
    body_labels = _listed(parts.get("body_names"), n, "body_names", lambda i: f"link_{i + 1}")
    ranges = _listed(parts.get("limits"), n, "limits", lambda i: Limits())
    frictions = _listed(parts.get("friction"), n, "friction", lambda i: Friction())
    actuators = parts.get("actuators")
    bodies = tuple(
        Body(body_labels[i], i - 1, i, *placement, mass=float(m[i]), com=c[i], inertia=inertia[i])
        for i, placement in enumerate(placements)
    )
    return Robot(
        name=parts.get("name", "arm"),
        joints=tuple(Joint(joint_labels[i], kinds[i], _limits(ranges[i]), frictions[i]) for i in range(n)),
        bodies=bodies,
        actuators=Actuators.none(n) if actuators is None else actuators,
        T_base_root=np.eye(4) if T_base_root is None else frozen_pose(T_base_root, "T_base_root"),
        tip=n - 1,
        T_tip_tool=np.eye(4) if tool is None else frozen_pose(tool, "tool"),
        gravity=frozen(parts.get("gravity", EARTH_GRAVITY), (3,), "gravity"),
        sources=dict(parts.get("sources") or {}),
        notes=parts.get("notes", ""),
    )


def displacement(kind: JointKind, axis: Array, amount: float) -> Array:
    """Pose (4, 4) of a joint moved by `amount` [rad or m] along or about its unit axis (3,)."""
    moved = rotation_pose(axis_angle(axis, amount)) if kind == "revolute" else translation(amount * axis)
    return np.asarray(moved, dtype=np.float64)


def home_links(robot: Robot) -> tuple[list[Array], list[Array]]:
    """Poses in the root link's frame, at q = 0, of every body's joint (before its displacement) and link."""
    joints: list[Array] = []
    links: list[Array] = []
    for body in robot.bodies:
        before = links[body.parent] if body.parent >= 0 else np.eye(4)
        joints.append(before @ body.T_parent_joint)
        moved = joints[-1]
        if body.offset != 0.0:
            moved = moved @ displacement(robot.joints[body.joint].kind, body.axis, body.offset)
        links.append(moved @ body.T_joint_link)
    return joints, links


def chain_tool(robot: Robot, q: Array) -> Array:
    """Pose T_base_tool of a serial chain at q (n,), by plain multiplication."""
    T = robot.T_base_root
    for body, joint, amount in zip(robot.bodies, robot.joints, q, strict=True):
        moved = displacement(joint.kind, body.axis, amount + body.offset)
        T = T @ body.T_parent_joint @ moved @ body.T_joint_link
    return np.asarray(T @ robot.T_tip_tool)


def chain_home(robot: Robot, what: str) -> ChainHome:
    """Home geometry of a serial chain; raise `NotSupportedError` in the name of `what` for trees and mimic joints."""
    for i, body in enumerate(robot.bodies):
        if body.parent != i - 1 or body.joint != i or body.ratio != 1.0:
            raise NotSupportedError(
                f"{what}: robot {robot.name!r} is not a serial chain with one joint a body (see body {body.name!r}); "
                "cut a chain out of it first (armwright.robot.variations.chain)"
            )
    if robot.tip != len(robot.bodies) - 1:
        raise NotSupportedError(f"{what}: the tool of robot {robot.name!r} is not on its last body; cut a chain first")
    joints, links = home_links(robot)
    n = len(links)
    axes = [T[:3, :3] @ body.axis for T, body in zip(joints, robot.bodies, strict=True)]
    return ChainHome(
        np.array(axes).reshape(n, 3),
        np.array([T[:3, 3] for T in joints]).reshape(n, 3),
        np.array(links).reshape(n, 4, 4),
    )


def reexpressed(robot: Robot, T_new_link: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Masses (n,), centres of mass (n, 3) and inertias about them (n, 3, 3) in new link frames ``T_new_link``."""
    n = len(robot.bodies)
    coms = [T[:3, :3] @ body.com + T[:3, 3] for T, body in zip(T_new_link, robot.bodies, strict=True)]
    tensors = [T[:3, :3] @ body.inertia @ T[:3, :3].T for T, body in zip(T_new_link, robot.bodies, strict=True)]
    return (
        np.array([body.mass for body in robot.bodies]),
        np.array(coms).reshape(n, 3),
        np.array([0.5 * (tensor + tensor.T) for tensor in tensors]).reshape(n, 3, 3),
    )


def orthonormal(T: Array) -> Array:
    """Return the rigid transform nearest to a product of many, so that rounding does not add up; clean ones as is."""
    if np.abs(T[:3, :3].T @ T[:3, :3] - np.eye(3)).max() < 1e-15:
        return T
    U, _, Vt = np.linalg.svd(T[:3, :3])
    return np.asarray(pose(U @ Vt, T[:3, 3]), dtype=np.float64)
