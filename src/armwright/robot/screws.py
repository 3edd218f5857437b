"""Product of exponentials: an arm as its joint screws and its tool pose at q = 0. Reader and writer for serial chains.

    T_base_tool(q) = exp(ξ̂₁ q₁) ⋯ exp(ξ̂ₙ qₙ) · home        (002 §3.3)

with space screws ξ = [v; w], **linear first**, in base coordinates at q = 0. Centres of mass and inertias are given in
base coordinates and base axes at q = 0 as well, so that no link frame is needed at all (002 §3.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.robot.assemble import Placement, assemble, chain_home, orthonormal, reexpressed
from armwright.robot.model import EARTH_GRAVITY
from armwright.robot.parts import Actuators, Friction, JointKind, Limits, Source, frozen, frozen_pose
from armwright.spatial import screw, slide, translation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]


def _read_screw(xi: Array, index: int) -> tuple[JointKind, Array, Array | None]:
    """Kind, unit axis and nearest point (None for a slide) of one unit screw."""
    where = f"screws: row {index + 1}"
    v, w = xi[:3], xi[3:]
    turning, sliding = float(np.linalg.norm(w)), float(np.linalg.norm(v))
    if turning == 0.0:
        if abs(sliding - 1.0) > 1e-9:
            raise InputError(f"{where}: a prismatic screw [v; 0] needs a unit v, got length {sliding}")
        return "prismatic", v / sliding, None
    if abs(turning - 1.0) > 1e-9:
        raise InputError(f"{where}: a revolute screw [v; w] needs a unit w (linear part first), got length {turning}")
    pitch = float(v @ w)
    if abs(pitch) > 1e-9 * max(1.0, sliding):
        raise NotSupportedError(f"{where}: pitch {pitch} m/rad; a joint must be revolute (pitch 0) or prismatic")
    return "revolute", w / turning, np.cross(w, v)


def from_screws(
    screws: ArrayLike,
    home: ArrayLike,
    *,
    name: str = "arm",
    masses: ArrayLike | None = None,
    coms: ArrayLike | None = None,
    inertias: ArrayLike | None = None,
    joint_names: Sequence[str] | None = None,
    body_names: Sequence[str] | None = None,
    limits: Sequence[Limits | tuple[float, float]] | None = None,
    friction: Sequence[Friction] | None = None,
    actuators: Actuators | None = None,
    gravity: ArrayLike = EARTH_GRAVITY,
    sources: dict[str, Source] | None = None,
    notes: str = "",
) -> Robot:
    """Build an arm from space screws and the tool's home pose.

    Link frames are parallel to the base frame at q = 0, with origins on the joint axes (nearest to the base origin;
    those of prismatic joints, whose axes have no place, stay at the previous link's).

    Args:
        screws: (n, 6), ``[v; w]`` linear first, base frame at q = 0. Revolute: unit w, v ⟂ w; prismatic: w = 0, unit v.
        home: T_base_tool at q = 0 (4, 4).
        name: of the arm.
        masses: (n,) [kg].
        coms: (n, 3) centres of mass in base coordinates at q = 0 [m].
        inertias: (n, 3, 3) about the centres of mass, in base axes at q = 0 [kg m²].
        joint_names: of the n joints; "joint_1", … if omitted.
        body_names: of the n links; "link_1", … if omitted.
        limits: one `Limits` or (lower, upper) a joint.
        friction: one `Friction` a joint.
        actuators: motors and gears.
        gravity: in the base frame [m/s²].
        sources: provenance by dotted path.
        notes: free text.
    """
    n = np.shape(screws)[0] if np.ndim(screws) else 0
    rows = frozen(np.reshape(screws, (0, 6)) if n == 0 else screws, (n, 6), "screws")
    T_home = frozen_pose(home, "home")
    kinds: list[JointKind] = []
    placements: list[Placement] = []
    origins: list[Array] = []
    before = np.zeros(3)
    for i, xi in enumerate(rows):
        kind, axis, point = _read_screw(xi, i)
        origin = before if point is None else point
        kinds.append(kind)
        placements.append(Placement(translation(origin - before), axis, np.eye(4)))
        origins.append(origin)
        before = origin
    local = None
    if coms is not None:
        local = frozen(coms, (n, 3), "coms") - np.array(origins).reshape(n, 3)
    elif masses is not None and np.any(np.asarray(masses)):
        raise InputError("coms: masses without centres of mass; give (n, 3) in base coordinates at q = 0")
    return assemble(
        placements, kinds, name=name, masses=masses, coms=local, inertias=inertias, joint_names=joint_names,
        body_names=body_names, limits=limits, friction=friction, actuators=actuators,
        tool=translation(-before) @ T_home, gravity=gravity, sources=sources, notes=notes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ScrewTable:
    """A serial chain as screws, home pose and inertias at q = 0, all in the base frame. `robot()` rebuilds the arm.

    Attributes:
        screws: (n, 6), ``[v; w]`` linear first.
        home: T_base_tool at q = 0 (4, 4).
        masses, coms, inertias: (n,), (n, 3), (n, 3, 3), base coordinates and axes at q = 0, inertias about the centres
            of mass.
    """

    screws: Array
    home: Array
    masses: Array
    coms: Array
    inertias: Array
    name: str
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    limits: tuple[Limits, ...]
    friction: tuple[Friction, ...]
    actuators: Actuators
    gravity: Array
    sources: dict[str, Source] = field(default_factory=dict)
    notes: str = ""

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for label in ("screws", "home", "masses", "coms", "inertias"):
            getattr(self, label).flags.writeable = False

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `from_screws`."""
        names = ("screws", "home", "name", "masses", "coms", "inertias", "joint_names", "body_names", "limits",
                 "friction", "actuators", "gravity", "sources", "notes")  # fmt: skip
        return {label: getattr(self, label) for label in names}

    def robot(self) -> Robot:
        """Build the arm: same forward kinematics, tool Jacobian and dynamics as the one that was converted."""
        return from_screws(**self.arguments())


def to_screws(robot: Robot) -> ScrewTable:
    """Write a serial chain as space screws and home pose (002 §4.1 shows one arm both ways)."""
    home = chain_home(robot, "to_screws")
    base = robot.T_base_root
    rows = []
    for joint, axis, point in zip(robot.joints, home.axes, home.points, strict=True):
        direction = base[:3, :3] @ axis
        place = base[:3, :3] @ point + base[:3, 3]
        rows.append(screw(place, direction) if joint.kind == "revolute" else slide(direction))
    links = [base @ T for T in home.links]
    masses, coms, inertias = reexpressed(robot, links)
    return ScrewTable(
        screws=np.array(rows).reshape(robot.n, 6),
        home=orthonormal((links[-1] if links else base) @ robot.T_tip_tool),
        masses=masses,
        coms=coms,
        inertias=inertias,
        name=robot.name,
        joint_names=tuple(joint.name for joint in robot.joints),
        body_names=tuple(body.name for body in robot.bodies),
        limits=tuple(joint.limits for joint in robot.joints),
        friction=tuple(joint.friction for joint in robot.joints),
        actuators=robot.actuators,
        gravity=robot.gravity,
        sources=dict(robot.sources),
        notes=robot.notes,
    )
