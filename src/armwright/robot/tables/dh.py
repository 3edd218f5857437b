# SPDX-License-Identifier: Apache-2.0
"""Denavit–Hartenberg tables, standard (distal) and modified (Craig, Khalil): readers and writers for serial chains.

    standard   A = Rz(theta + q) Tz(d) Tx(a) Rx(alpha)      columns theta, d, a, alpha
    modified   A = Rx(alpha) Tx(a) Rz(theta + q) Tz(d)      columns alpha, a, theta, d

(prismatic: q adds to d). A table has no room for where the chain starts and ends, so base and tool poses go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from armwright.arguments import refuse_masked
from armwright.errors import InputError, NotSupportedError, tell_user
from armwright.robot.link_frames import LinkFrames, mass_matrix
from armwright.robot.parts import JointKind
from armwright.robot.step import turn
from armwright.robot.tables.common_normal import Line, distal_frames, proximal_frames
from armwright.robot.tables.serial_chain import (
    ChainParts,
    ChainTable,
    Placement,
    assemble,
    chain_home,
    chain_tool,
    described,
    joint_kinds,
    orthonormal,
    reexpressed,
)
from armwright.schema.quantities import to_si, units_of
from armwright.spatial import inverse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

Convention = Literal["dh", "mdh"]
_Z = (0.0, 0.0, 1.0)
ANGLES = ("theta", "alpha")  # columns in the unit of angles, the others are lengths
FULL_TURN = 2.0 * np.pi + 1e-6  # rad: no table needs more, the offset of a joint is an angle within one turn


@dataclass(frozen=True)
class _AsPrinted:
    """How a table stands in its source: the order of its columns, and the units of its lengths and angles."""

    columns: str | Sequence[str] | None
    length: str
    angle: str

    def order(self, wanted: list[str]) -> list[str]:
        """Return the names of the columns in the order of the source."""
        given = self.columns.replace(",", " ").split() if isinstance(self.columns, str) else self.columns
        names = wanted if given is None else list(given)
        if sorted(names) != sorted(wanted):
            raise InputError(
                f"DH table: columns: expected theta, d, a and alpha in the order of your table, got {self.columns!r}"
            )
        return names

    def si(self, name: str, values: Array) -> list[float]:
        """Return the numbers of a column in SI; a quarter turn and 425 mm are exact."""
        unit = self.angle if name in ANGLES else self.length
        return [to_si(float(x), unit) for x in values]

    def check_units(self) -> None:
        """Refuse units that are none of angles or lengths."""
        for word, unit in (("angle", self.angle), ("length", self.length)):
            if unit not in (known := units_of("angle" if word == "angle" else "length")):
                raise InputError(f"DH table: {word}: unknown unit {unit!r}; valid: {', '.join(known)}")


def _rz_tz(theta: float, d: float) -> Array:
    c, s = turn(0.0, theta)
    return np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, d], [0.0, 0.0, 0.0, 1.0]])


def _tx_rx(a: float, alpha: float) -> Array:
    c, s = turn(0.0, alpha)
    return np.array([[1.0, 0.0, 0.0, a], [0.0, c, -s, 0.0], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, 1.0]])


def _rows(table: ArrayLike, columns: str, as_printed: _AsPrinted) -> Array:
    """Return the table (n, 4) in SI, its columns in this order, and warn of angles that look like degrees."""
    refuse_masked(table, "DH table")
    wanted = columns.split(", ")
    printed = as_printed.order(wanted)
    as_printed.check_units()
    columns = ", ".join(printed)
    try:
        rows = np.array(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"DH table: expected numbers of shape (n, 4), columns {columns}") from error
    if rows.size == 0:
        return np.zeros((0, 4))
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise InputError(f"DH table: expected shape (n, 4), columns {columns}; got {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError(f"DH table: row {int(np.argmin(np.isfinite(rows).all(axis=1))) + 1} is not finite")
    for k, name in enumerate(printed):
        worst = int(np.argmax(np.abs(rows[:, k])))
        if name in ANGLES and as_printed.angle == "rad" and abs(rows[worst, k]) > FULL_TURN:
            tell_user(
                f"DH table: {name} of row {worst + 1} is {rows[worst, k]:g}, more than a full turn; that looks like "
                'degrees, radians are expected; angle="deg" takes degrees'
            )
        rows[:, k] = as_printed.si(name, rows[:, k])
    return rows[:, [printed.index(name) for name in wanted]]


def from_dh(
    table: ArrayLike,
    *,
    kinds: Sequence[str] | None = None,
    T_base_root: ArrayLike | None = None,
    tool: ArrayLike | None = None,
    columns: str | Sequence[str] | None = None,
    length: str = "m",
    angle: str = "rad",
    **parts: Unpack[ChainParts],
) -> Robot:
    """Build an arm from a standard (distal) DH table, A = Rz(theta+q) Tz(d) Tx(a) Rx(alpha) (004 eq. 2.19).

    Args:
        table: (n, 4), columns theta offset [rad], d [m], a [m], alpha [rad].
        kinds: "revolute" or "prismatic" for each joint (also "R", "P"); all revolute if omitted.
        T_base_root: pose of DH frame 0 in the base frame.
        tool: pose of the tool in DH frame n, in m.
        columns: order of the columns of your table, such as "a alpha d theta"; as above if omitted.
        length: unit of the table's lengths, "m" or "mm".
        angle: unit of its angles, "rad" or "deg".
        **parts: name, masses, coms, inertias, limits, …; see `ChainParts`.

    >>> from_dh([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.5, 0.0]], masses=[2.0, 1.0])
    >>> from_dh([[0, 90, 100, 0], [350, 0, 0, 90]], columns="a alpha d theta", length="mm", angle="deg")
    """
    rows = _rows(table, "theta, d, a, alpha", _AsPrinted(columns, length, angle))
    placements = [Placement(np.eye(4), _Z, _rz_tz(theta, d) @ _tx_rx(a, alpha)) for theta, d, a, alpha in rows]
    return assemble(placements, joint_kinds(kinds, len(rows)), T_base_root, tool, **parts)


def from_mdh(
    table: ArrayLike,
    *,
    kinds: Sequence[str] | None = None,
    T_base_root: ArrayLike | None = None,
    tool: ArrayLike | None = None,
    columns: str | Sequence[str] | None = None,
    length: str = "m",
    angle: str = "rad",
    **parts: Unpack[ChainParts],
) -> Robot:
    """Build an arm from a modified (proximal) DH table, A = Rx(alpha) Tx(a) Rz(theta+q) Tz(d) (003 section 2.3).

    Args:
        table: (n, 4), columns alpha [rad], a [m], theta offset [rad], d [m]. (003 writes d for a and r for d.)
        kinds: "revolute" or "prismatic" for each joint (also "R", "P"); all revolute if omitted.
        T_base_root: pose of DH frame 0 in the base frame.
        tool: pose of the tool in DH frame n, in m.
        columns: order of the columns of your table, such as "a alpha d theta"; as above if omitted.
        length: unit of the table's lengths, "m" or "mm".
        angle: unit of its angles, "rad" or "deg".
        **parts: name, masses, coms, inertias, limits, …; see `ChainParts`.
    """
    rows = _rows(table, "alpha, a, theta, d", _AsPrinted(columns, length, angle))
    placements = [Placement(_tx_rx(a, alpha) @ _rz_tz(theta, d), _Z, np.eye(4)) for alpha, a, theta, d in rows]
    return assemble(placements, joint_kinds(kinds, len(rows)), T_base_root, tool, **parts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DHTable(ChainTable):
    """A serial chain as a DH table, with all that the table itself cannot hold. `robot()` rebuilds the arm.

    Attributes:
        convention: "dh" (columns theta, d, a, alpha) or "mdh" (columns alpha, a, theta, d).
        table: (n, 4) [rad, m].
        kinds: "revolute" or "prismatic", n entries.
        T_base_root: pose of DH frame 0 in the base frame.
        T_tip_tool: pose of the tool in DH frame n.
        masses, coms, inertias: (n,), (n, 3), (n, 3, 3), in DH link frames, inertias about the centres of mass.
    """

    convention: Convention
    table: Array
    kinds: tuple[JointKind, ...]
    T_base_root: Array
    T_tip_tool: Array

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for label in ("table", "T_base_root", "T_tip_tool", "masses", "coms", "inertias"):
            getattr(self, label).flags.writeable = False

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `from_dh` or `from_mdh`, whichever the convention is."""
        geometry = {label: getattr(self, label) for label in ("table", "kinds", "T_base_root")}
        return {**geometry, "tool": self.T_tip_tool, **self.parts()}

    def robot(self) -> Robot:
        """Build the arm: same forward kinematics, tool Jacobian and dynamics as the one that was converted."""
        return (from_dh if self.convention == "dh" else from_mdh)(**self.arguments())


def _angle(value: float) -> float:
    """Round angles within 1e-14 of a quarter turn to it."""
    nearest = round(value / (0.5 * np.pi)) * 0.5 * np.pi
    return float(nearest) if abs(value - nearest) < 1e-14 else float(value)


def _distal_row(T: Array) -> tuple[float, float, float, float]:
    """Read theta, d, a, alpha from Rz Tz Tx Rx."""
    theta = _angle(np.arctan2(T[1, 0], T[0, 0]))
    c, s = turn(0.0, theta)
    return theta, T[2, 3], c * T[0, 3] + s * T[1, 3], _angle(np.arctan2(T[2, 1], T[2, 2]))


def _proximal_row(T: Array) -> tuple[float, float, float, float]:
    """Read alpha, a, theta, d from Rx Tx Rz Tz."""
    alpha = _angle(np.arctan2(-T[1, 2], T[2, 2]))
    c, s = turn(0.0, alpha)
    return alpha, T[0, 3], _angle(np.arctan2(-T[0, 1], T[0, 0])), c * T[2, 3] - s * T[1, 3]


def _to_table(robot: Robot, convention: Convention) -> DHTable:
    home = chain_home(robot, f"to_{convention}")
    n = robot.n
    root = np.eye(4)
    hints = [root, *home.links]
    axes = [Line(z, p) for z, p in zip(home.axes, home.points, strict=True)]
    frames = (distal_frames if convention == "dh" else proximal_frames)(axes, hints)
    read = _distal_row if convention == "dh" else _proximal_row
    size = max(1.0, float(np.abs(np.array([T[:3, 3] for T in hints])).max()))
    rows = np.array([read(inverse(frames[i]) @ frames[i + 1]) for i in range(n)]).reshape(n, 4)
    lengths = rows[:, [1, 2]] if convention == "dh" else rows[:, [1, 3]]
    lengths[np.abs(lengths) < 1e-15 * size] = 0.0
    rows[:, [1, 2] if convention == "dh" else [1, 3]] = lengths
    # Frames as the table makes them, so that rounding in the rows does not reach tool and inertias.
    T, made = frames[0], [frames[0]]
    for first, second, third, fourth in rows:
        step = (
            _rz_tz(first, second) @ _tx_rx(third, fourth)
            if convention == "dh"
            else (_tx_rx(second, first) @ _rz_tz(third, fourth))
        )
        T = T @ step
        made.append(T)
    masses, coms, inertias = reexpressed(robot, [inverse(made[i + 1]) @ home.links[i] for i in range(n)])
    tip = home.links[-1] if n else root
    result = DHTable(
        convention=convention,
        table=rows,
        kinds=tuple(joint.kind for joint in robot.joints),
        T_base_root=orthonormal(robot.T_base_root @ frames[0]),
        T_tip_tool=orthonormal(inverse(made[-1]) @ tip @ robot.T_tip_tool),
        masses=masses,
        coms=coms,
        inertias=inertias,
        **described(robot),
    )
    rebuilt = result.robot()
    probes = [np.cos(np.arange(n) + k) for k in range(3)]
    worst = max(max(_pose_error(rebuilt, robot, q) / size, _mass_error(rebuilt, robot, q)) for q in probes)
    if not worst <= 1e-10:
        raise NotSupportedError(
            f"to_{convention}: two successive axes of robot {robot.name!r} are so nearly parallel that their common "
            f"normal is lost to rounding (error {worst:.1e}); a DH table cannot hold this arm, screws can (to_screws)"
        )
    return result


def _pose_error(rebuilt: Robot, robot: Robot, q: Array) -> float:
    return float(np.abs(chain_tool(rebuilt, q) - chain_tool(robot, q)).max())


def _mass_error(rebuilt: Robot, robot: Robot, q: Array) -> float:
    """Largest difference of the mass matrices, relative to the largest entry."""
    ours, theirs = (mass_matrix(arm, LinkFrames(arm, q)) for arm in (rebuilt, robot))
    return float(np.abs(ours - theirs).max(initial=0.0) / max(1e-300, np.abs(theirs).max(initial=0.0)))


def to_dh(robot: Robot) -> DHTable:
    """Write a serial chain as a standard DH table. Frames that the convention leaves open follow the robot's own.

    The common normal of nearly parallel axes lies far away, so rounding grows as the inverse of their angle: exact to
    1e-12 down to about 1e-4 rad; `NotSupportedError` where tool pose or mass matrix would be off by more than 1e-10.

    >>> to_dh(robot).table  # (n, 4): theta, d, a, alpha
    """
    return _to_table(robot, "dh")


def to_mdh(robot: Robot) -> DHTable:
    """Write a serial chain as a modified DH table. Frames that the convention leaves open follow the robot's own.

    The common normal of nearly parallel axes lies far away, so rounding grows as the inverse of their angle: exact to
    1e-12 down to about 1e-4 rad; `NotSupportedError` where tool pose or mass matrix would be off by more than 1e-10.
    """
    return _to_table(robot, "mdh")
