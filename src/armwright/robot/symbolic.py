# SPDX-License-Identifier: Apache-2.0
"""An arm whose numbers may be symbols: `SymbolicRobot`, from DH tables or as a planar arm.

It is a description only. `armwright.equations` derives M, C, g, J, … of it, with the symbols as further inputs;
`SymbolicRobot.robot` gives the symbols values and returns an ordinary `Robot`. `symbols` makes parameters that stay
symbols (m1, l1, I1, …), from which others can be computed before an arm is made of them; a symbol is known by its name:
``symbols("m1")`` gives the same one every time, as in SymPy. `planar` builds the planar arms of the textbooks: links in
the x-y plane, gravity along −y, every parameter a symbol unless given.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armwright.errors import InputError
from armwright.graph.array import cos, sin
from armwright.graph.emit.printing import Printer
from armwright.graph.emit.python_source import array_rules
from armwright.graph.expr import NUMBER, Expr, Graph, Value, rebuilt
from armwright.graph.ops import Op
from armwright.graph.traced_program import ProgramSignal, finish
from armwright.robot.parts import Friction, JointKind
from armwright.robot.step import turn
from armwright.robot.tables.serial_chain import Placement, assemble, joint_kinds
from armwright.robot.tree import Tree
from armwright.spatial import skew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Symbolic

Entry: TypeAlias = float | str | Expr
"""A number, a symbol or an expression of symbols, or the name of a symbol."""
Entries: TypeAlias = "Sequence[Entry] | Sequence[Sequence[Entry]] | Sequence[Sequence[Sequence[Entry]]] | NDArray[Any]"

TAKEN = frozenset({"q", "qd", "qdd", "tau", "wrench", "wrenches", "point", "T"})


class _Parameters(Graph):
    """Every symbol and every expression of symbols that the process has made; element k of input 0 is ``names[k]``."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.lock = threading.RLock()

    def node(self, op: Op, args: tuple[int, ...] = (), value: Value = None) -> Expr:
        with self.lock:
            return super().node(op, args, value)

    def describe(self, node: Expr) -> str:
        """Write an expression of symbols as a user would type it."""
        program = finish(self, "f", [ProgramSignal("p", (len(self.names),))], [("f", node)], single=True)
        printer = Printer(program, array_rules("np"), lambda value: f"{value:g}")
        for k, (op, _, value) in enumerate(program.nodes):
            if op is Op.INPUT:
                printer.symbols[k] = self.names[value[1]]
        return printer.text(program.results[0][0])

    def symbol(self, name: str) -> Expr:
        if not (name.isidentifier() and name.isascii()) or name in TAKEN:
            raise InputError(
                f"{name!r} cannot name a parameter; use letters, digits and underscores, and not "
                f"{', '.join(sorted(TAKEN))}; make an expression of symbols: a, b = aw.symbols('a b'), then b - a"
            )
        with self.lock:
            if name not in self.names:
                self.names.append(name)
            return self.input(0, self.names.index(name))


_PARAMETERS = _Parameters()


def symbols(names: str) -> Symbolic:
    """Return one symbol, or a tuple of several.

    ``m1, l1 = aw.symbols("m1 l1")``. Symbols take part in arithmetic and in NumPy functions, ``m1 * l1**2 / 12``, and
    stand for numbers in `SymbolicRobot`.
    """
    words = names.replace(",", " ").split()
    if not words:
        raise InputError("symbols: give at least one name, as in symbols('m1 l1 I1')")
    made = tuple(_PARAMETERS.symbol(word) for word in words)
    return made[0] if len(made) == 1 else made


def entries(value: Symbolic, shape: tuple[int, ...], what: str) -> NDArray[np.object_]:
    """Return numbers, symbols, expressions of symbols and names of symbols as an object array of `shape`."""
    try:
        array = np.array(value, dtype=object)
    except ValueError as error:
        raise InputError(f"{what}: expected numbers or symbols of shape {shape} ({error})") from error
    if array.shape != shape:
        raise InputError(f"{what}: expected numbers or symbols of shape {shape}, got shape {array.shape}")
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        out[index] = _entry(array[index], what)
    out.flags.writeable = False
    return out


def _entry(item: Symbolic, what: str) -> Symbolic:
    if isinstance(item, str):
        return _PARAMETERS.symbol(item)
    if isinstance(item, Expr) and item.graph is _PARAMETERS:
        return float(item) if item.is_constant else item
    if isinstance(item, NUMBER) and np.isfinite(item):
        return float(item)
    raise InputError(f"{what}: {item!r} is neither a finite number nor a symbol; make symbols with armwright.symbols")


def names_in(arrays: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of the symbols in object arrays, in the order in which they occur."""
    found: dict[str, None] = {}
    for item in (item for array in arrays for item in np.ravel(array)):
        if isinstance(item, Expr):
            for k in _needed(item):
                if _PARAMETERS.ops[k] is Op.INPUT:
                    found[_PARAMETERS.names[_PARAMETERS.values[k][1]]] = None
    return tuple(found)


def _needed(item: Expr) -> list[int]:
    """Return the numbers of the nodes that an expression consists of, operands first."""
    seen, stack = set[int](), [item.index]
    while stack:
        k = stack.pop()
        if k not in seen:
            seen.add(k)
            stack.extend(_PARAMETERS.args[k])
    return sorted(seen)


class Substitution:
    """Replaces symbols by values: floats, or the inputs of a function that is being traced."""

    def __init__(self, values: Mapping[str, Symbolic]) -> None:
        """Take a value for every symbol, by name."""
        self.values = values
        known = [value for value in values.values() if isinstance(value, Expr)]
        self.graph = known[0].graph if known else Graph()
        self.made: dict[int, Expr] = {}

    def __call__(self, array: Symbolic) -> Symbolic:
        """Return an array of the same shape: floats if no symbol is left in it, else expressions and floats."""
        out = np.empty(np.shape(array), dtype=object)
        for index in np.ndindex(out.shape):
            item = np.asarray(array, dtype=object)[index]
            item = self._value(item) if isinstance(item, Expr) else item
            out[index] = float(item) if not isinstance(item, Expr) or item.is_constant else item
        plain = all(isinstance(item, float) for item in out.ravel())
        return out.astype(np.float64) if plain else out

    def _value(self, item: Expr) -> Expr:
        for k in _needed(item):
            if k not in self.made:
                self.made[k] = self._node(k)
        return self.made[item.index]

    def _node(self, k: int) -> Expr:
        op, value = _PARAMETERS.ops[k], _PARAMETERS.values[k]
        if op is Op.INPUT:
            given = self.values[_PARAMETERS.names[value[1]]]
            return given if isinstance(given, Expr) else self.graph.constant(float(given))
        return rebuilt(self.graph, op, [self.made[a] for a in _PARAMETERS.args[k]], value)


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Symbolic

    Objects = NDArray[np.object_]

Z = (0.0, 0.0, 1.0)
DOWN = (0.0, 0.0, -9.81)
GEOMETRY = ("T_parent_joint", "T_joint_link", "tool")
INERTIA = ("masses", "coms", "inertias", "viscous", "gravity")


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicRobot:
    """A serial chain; entries of the arrays are floats, symbols (`armwright.symbols`) or expressions of symbols.

    Attributes:
        name: name of the arm, and the prefix of functions exported for it.
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

    def tree(self, values: Mapping[str, Symbolic]) -> Tree:
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
        name: name of the arm.
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


def _rows(table: Symbolic, columns: str) -> Objects:
    n = len(table) if isinstance(table, Sequence | np.ndarray) else 0
    if n == 0:
        raise InputError(f"DH table: give at least one row of {columns}")
    return entries(table, (n, 4), f"DH table (columns {columns})")


def _turn(angle: Symbolic) -> tuple[Symbolic, Symbolic]:
    """Return cos and sin, exact at quarter turns."""
    return (cos(angle), sin(angle)) if isinstance(angle, Expr) else turn(0.0, angle)


def _rz_tz(theta: Symbolic, d: Symbolic) -> Objects:
    c, s = _turn(theta)
    return np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, d], [0.0, 0.0, 0.0, 1.0]], dtype=object)


def _tx_rx(a: Symbolic, alpha: Symbolic) -> Objects:
    c, s = _turn(alpha)
    return np.array([[1.0, 0.0, 0.0, a], [0.0, c, -s, 0.0], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, 1.0]], dtype=object)


# z of a sliding joint's frame lies along x of the link before it
ALONG_X = np.array([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


def planar(
    kinds: str = "RR",
    *,
    lengths: Entries | None = None,
    masses: Entries | None = None,
    centres: Entries | None = None,
    inertias: Entries | None = None,
    viscous: Entries | None = None,
    gravity: Entry = "g",
    name: str | None = None,
) -> SymbolicRobot:
    """Build a planar arm: "RR" is the textbook's two-link arm, "PR" a pendulum on a cart, "RP" an arm that extends.

    A revolute joint turns its link about z, a prismatic one slides it along the x axis of the link before (of the base,
    for the first). From its joint, link i reaches `lengths[i]` along its own x axis, and its centre of mass lies
    `centres[i]` along it; angles count from the x axis.

    Args:
        kinds: one letter per joint, R or P.
        lengths: (n,) [m]; symbols l1, l2, … if omitted (0 where the joint slides, whose coordinate is the length).
        masses: (n,) [kg]; m1, m2, … if omitted.
        centres: (n,) [m]; lc1, lc2, … if omitted (0 where the joint slides).
        inertias: (n,) about z at the centres of mass [kg m²]; I1, I2, … if omitted (0 for links that never turn).
        viscous: (n,) friction of the joints; none if omitted.
        gravity: along −y [m/s²]; the symbol g by default, 0 for an arm in a horizontal plane.
        name: name of the arm; "planar_" and the letters, in lower case, if omitted.

    >>> aw.equations(aw.planar("RR"), "M").latex()
    """
    if not isinstance(kinds, str) or not kinds or set(kinds) - {"R", "P"}:
        raise InputError(f"planar: kinds must be letters R and P, one per joint, as in 'RR'; got {kinds!r}")
    n = len(kinds)
    turns = [kind == "R" for kind in kinds]

    def of(values: Symbolic, letter: str, present: list[bool]) -> Objects:
        made = [symbols(f"{letter}{i + 1}") if present[i] else 0.0 for i in range(n)]
        return entries(made if values is None else values, (n,), letter)

    reach = of(lengths, "l", turns)
    com = of(centres, "lc", turns)
    inertia = of(inertias, "I", ["R" in kinds[: i + 1] for i in range(n)])
    poses = []
    for i in range(n):
        before = np.eye(4).astype(object)
        if i > 0:
            before[0, 3] = reach[i - 1]
        poses.append((before, np.eye(4)) if turns[i] else (before @ ALONG_X, ALONG_X.T))
    zero = [0.0] * n
    (pull,) = entries([gravity], (1,), "gravity")
    return symbolic_chain(
        poses,
        kinds=kinds,
        masses=of(masses, "m", [True] * n),
        coms=np.stack([com, zero, zero], axis=1),
        inertias=np.stack([zero, zero, inertia], axis=1),
        viscous=viscous,
        gravity=[0.0, -pull, 0.0],
        tool=[reach[-1], 0.0, 0.0],
        name=f"planar_{kinds.lower()}" if name is None else name,
    )
