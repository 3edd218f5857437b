# SPDX-License-Identifier: Apache-2.0
"""Product of exponentials: an arm as its joint screws and its tool pose at q = 0. Reader and writer for serial chains.

    T_base_tool(q) = exp(ξ̂₁ q₁) ⋯ exp(ξ̂ₙ qₙ) · home        (002 eq. 2.18)

with space screws ξ = [v; w], **linear first**, in base coordinates at q = 0. Centres of mass and inertias are given in
base coordinates and base axes at q = 0 as well, so that no link frame is needed at all (002, section 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.robot.parts import JointKind, frozen, frozen_pose
from armwright.robot.tables.serial_chain import (
    ChainParts,
    ChainTable,
    Placement,
    assemble,
    chain_home,
    described,
    orthonormal,
    reexpressed,
)
from armwright.spatial import screw, slide, translation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


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


def from_screws(screws: ArrayLike, home: ArrayLike, **parts: Unpack[ChainParts]) -> Robot:
    """Build an arm from space screws and the tool's home pose.

    Link frames are parallel to the base frame at q = 0, with origins on the joint axes (nearest to the base origin;
    those of prismatic joints, whose axes have no place, stay at the previous link's).

    Args:
        screws: (n, 6), ``[v; w]`` linear first, base frame at q = 0. Revolute: unit w, v ⟂ w; prismatic: w = 0, unit v.
        home: T_base_tool at q = 0 (4, 4).
        **parts: name, masses, coms, inertias, limits, …; see `ChainParts`. Centres of mass and inertias in base
            coordinates and axes at q = 0.
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
    coms = parts.get("coms")
    if coms is not None:
        parts["coms"] = frozen(coms, (n, 3), "coms") - np.array(origins).reshape(n, 3)
    elif np.any(np.asarray(parts.get("masses", 0.0), dtype=np.float64)):
        raise InputError("coms: masses without centres of mass; give (n, 3) in base coordinates at q = 0")
    return assemble(placements, kinds, None, translation(-before) @ T_home, **parts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScrewTable(ChainTable):
    """A serial chain as screws, home pose and inertias at q = 0, all in the base frame. `robot()` rebuilds the arm.

    Attributes:
        screws: (n, 6), ``[v; w]`` linear first.
        home: T_base_tool at q = 0 (4, 4).
        masses, coms, inertias: (n,), (n, 3), (n, 3, 3), base coordinates and axes at q = 0, inertias about the centres
            of mass.
    """

    screws: Array
    home: Array

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for label in ("screws", "home", "masses", "coms", "inertias"):
            getattr(self, label).flags.writeable = False

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `from_screws`."""
        return {"screws": self.screws, "home": self.home, **self.parts()}

    def robot(self) -> Robot:
        """Build the arm: same forward kinematics, tool Jacobian and dynamics as the one that was converted."""
        return from_screws(**self.arguments())


def to_screws(robot: Robot) -> ScrewTable:
    """Write a serial chain as space screws and home pose (002, section 3.3, has one arm both ways).

    >>> to_screws(robot).home  # T_base_tool at q = 0
    """
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
        **described(robot),
    )
