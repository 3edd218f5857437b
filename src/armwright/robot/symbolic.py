# SPDX-License-Identifier: Apache-2.0
"""An arm whose numbers may be symbols: `SymbolicRobot`, from DH tables or as a planar arm.

It is a description only. `armwright.equations` derives M, C, g, J, … of it, with the symbols as further inputs;
`SymbolicRobot.robot` gives the symbols values and returns an ordinary `Robot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.graph.array import cos, sin
from armwright.graph.expr import Expr
from armwright.robot.parts import Friction, JointKind
from armwright.robot.step import turn
from armwright.robot.symbols import Entries, Substitution, entries, names_in
from armwright.robot.tables.assemble import Placement, assemble, joint_kinds
from armwright.robot.tree import Tree
from armwright.spatial import skew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Traced

    Objects = NDArray[np.object_]

Z = (0.0, 0.0, 1.0)
DOWN = (0.0, 0.0, -9.81)
GEOMETRY = ("T_parent_joint", "T_joint_link", "tool")
INERTIA = ("masses", "coms", "inertias", "viscous", "gravity")


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicRobot:
    """A serial chain; entries of the arrays are floats, symbols (`armwright.symbols`) or expressions of symbols.

    Attributes:
        name: of the arm, and the prefix of functions exported for it.
        kinds: "revolute" or "prismatic", n entries; joint i turns about or slides along the z of its frame.
        T_parent_joint, T_joint_link: pose of the joint in the previous link's frame, and of the link's frame in the
            moved joint's, (n, 4, 4) each.
        masses, coms, inertias: (n,) [kg], (n, 3) [m] in link frames, (n, 3, 3) about the centres of mass in link axes
            [kg m²].
        viscous: coefficients of viscous friction in the joints (n,).
        gravity: in the base frame (3,) [m/s²].
        tool: pose of the tool in the last link's frame (4, 4).
    """

    name: str
    kinds: tuple[JointKind, ...]
    T_parent_joint: Objects
    T_joint_link: Objects
    masses: Objects
    coms: Objects
    inertias: Objects
    viscous: Objects
    gravity: Objects
    tool: Objects

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kinds)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the symbols: of masses first, then lengths, centres of mass, inertias, friction, gravity."""
        labels = ("masses", *GEOMETRY, *INERTIA[1:])
        return names_in(getattr(self, label) for label in labels)

    def __repr__(self) -> str:
        """Return one line: name, joints, symbols."""
        letters = "".join(kind[0].upper() for kind in self.kinds)
        return f"SymbolicRobot({self.name!r}, {letters}, {', '.join(self.parameters) or 'no symbols'})"

    @classmethod
    def from_dh(cls, table: Entries, **parts: Any) -> SymbolicRobot:
        """Build a chain from standard DH rows (theta, d, a, alpha) of numbers or symbols; see `symbolic_chain`."""
        rows = _rows(table, "theta, d, a, alpha")
        return symbolic_chain([(np.eye(4), _rz_tz(t, d) @ _tx_rx(a, alpha)) for t, d, a, alpha in rows], **parts)

    @classmethod
    def from_mdh(cls, table: Entries, **parts: Any) -> SymbolicRobot:
        """Build a chain from modified DH rows (alpha, a, theta, d) of numbers or symbols; see `symbolic_chain`."""
        rows = _rows(table, "alpha, a, theta, d")
        return symbolic_chain([(_tx_rx(a, alpha) @ _rz_tz(t, d), np.eye(4)) for alpha, a, t, d in rows], **parts)

    def robot(self, values: Mapping[str, float] | None = None, **more: float) -> Robot:
        """Return the arm with numbers in the place of its symbols: ``arm.robot(m1=1.2, l1=0.4, …)``."""
        given = {**(values or {}), **more}
        missing = [name for name in self.parameters if name not in given]
        strange = [name for name in given if name not in self.parameters]
        if missing or strange:
            wrong = f"no value for {', '.join(missing)}" if missing else f"no symbol {', '.join(strange)}"
            raise InputError(f"{self.name}: {wrong}; its symbols are {', '.join(self.parameters) or 'none'}")
        value = Substitution(given)
        poses = zip(value(self.T_parent_joint), value(self.T_joint_link), strict=True)
        return assemble(
            [Placement(before, Z, after) for before, after in poses],
            self.kinds,
            tool=value(self.tool),
            name=self.name,
            masses=value(self.masses),
            coms=value(self.coms),
            inertias=value(self.inertias),
            friction=[Friction(viscous=b) for b in value(self.viscous)],
            gravity=value(self.gravity),
        )

    def tree(self, values: Mapping[str, Traced]) -> Tree:
        """Return the arm as the recursions see it, with `values` (traced ones, mostly) in the place of the symbols."""
        value, n = Substitution(values), self.n
        before, after = value(self.T_parent_joint), value(self.T_joint_link)
        steps = [before[i] if i == 0 else after[i - 1] @ before[i] for i in range(n)]
        m, h, J = [], [], []
        masses, coms, inertias = value(self.masses), value(self.coms), value(self.inertias)
        for i, T in enumerate(after):
            com = T[:3, :3] @ coms[i] + T[:3, 3]
            m.append(masses[i])
            h.append(masses[i] * com)
            J.append(T[:3, :3] @ inertias[i] @ T[:3, :3].T - masses[i] * (skew(com) @ skew(com)))
        zero, tool = np.zeros(n), value(self.tool)
        return Tree(
            n=n,
            parent=tuple(range(-1, n - 1)),
            revolute=tuple(kind == "revolute" for kind in self.kinds),
            joint=tuple(range(n)),
            ratio=np.ones(n),
            offset=zero,
            R0=np.array([T[:3, :3] for T in steps]),
            p0=np.array([T[:3, 3] for T in steps]),
            m=np.array(m),
            h=np.array(h),
            J=np.array(J),
            gravity=value(self.gravity),
            armature=np.zeros((n, n)),
            viscous=np.diag(value(self.viscous)),
            coulomb=zero,
            dead_zone=zero,
            T_base_root=np.eye(4),
            T_body_link=after,
            tip=n - 1,
            T_tip_tool=after[-1] @ tool,
        )


def symbolic_chain(
    poses: Sequence[tuple[Any, Any]],
    *,
    kinds: Sequence[str] | None = None,
    masses: Entries | None = None,
    coms: Entries | None = None,
    inertias: Entries | None = None,
    viscous: Entries | None = None,
    gravity: Entries = DOWN,
    tool: Entries | None = None,
    name: str = "arm",
) -> SymbolicRobot:
    """Build a chain of joints about (or along) the z axes of their frames; what is omitted is 0.

    Args:
        poses: per joint its pose in the previous link's frame, and the pose of its link's frame behind the motion.
        kinds: "revolute" or "prismatic" for each joint (also "R", "P"); all revolute if omitted.
        masses: (n,) [kg]. Entries here and below are numbers, symbols, expressions of symbols, or names of symbols.
        coms: (n, 3) centres of mass in link frames [m].
        inertias: (n, 3, 3) about them, link axes [kg m²], or (n, 3): the diagonals.
        viscous: (n,) viscous friction of the joints.
        gravity: (3,) in the base frame [m/s²]; the Earth's, along −z, if omitted.
        tool: pose of the tool in the last link's frame (4, 4), or its position there (3,).
        name: of the arm.
    """
    n = len(poses)
    tensors = np.zeros((n, 3, 3)) if inertias is None else np.array(inertias, dtype=object)
    if tensors.shape == (n, 3):
        diagonals, tensors = tensors, np.zeros((n, 3, 3)).astype(object)
        for i in range(3):
            tensors[:, i, i] = diagonals[:, i]
    end = np.eye(4) if tool is None else np.array(tool, dtype=object)
    if end.shape == (3,):
        position, end = end, np.eye(4).astype(object)
        end[:3, 3] = position
    return SymbolicRobot(
        name=name,
        kinds=joint_kinds(kinds, n),
        T_parent_joint=entries([before for before, _ in poses], (n, 4, 4), "poses"),
        T_joint_link=entries([after for _, after in poses], (n, 4, 4), "poses"),
        masses=entries(np.zeros(n) if masses is None else masses, (n,), "masses"),
        coms=entries(np.zeros((n, 3)) if coms is None else coms, (n, 3), "coms"),
        inertias=entries(tensors, (n, 3, 3), "inertias"),
        viscous=entries(np.zeros(n) if viscous is None else viscous, (n,), "viscous"),
        gravity=entries(gravity, (3,), "gravity"),
        tool=entries(end, (4, 4), "tool"),
    )


def _rows(table: Any, columns: str) -> Objects:
    n = len(table) if isinstance(table, Sequence | np.ndarray) else 0
    if n == 0:
        raise InputError(f"DH table: give at least one row of {columns}")
    return entries(table, (n, 4), f"DH table (columns {columns})")


def _turn(angle: Traced) -> tuple[Traced, Traced]:
    """Return cos and sin, exact at quarter turns."""
    return (cos(angle), sin(angle)) if isinstance(angle, Expr) else turn(0.0, angle)


def _rz_tz(theta: Traced, d: Traced) -> Objects:
    c, s = _turn(theta)
    return np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, d], [0.0, 0.0, 0.0, 1.0]], dtype=object)


def _tx_rx(a: Traced, alpha: Traced) -> Objects:
    c, s = _turn(alpha)
    return np.array([[1.0, 0.0, 0.0, a], [0.0, c, -s, 0.0], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, 1.0]], dtype=object)
